"""Which dynamics to run, and how finely. The equations themselves live beside this file.

SGD             widelimit.dynamics.sgd       fresh samples
GD              widelimit.dynamics.gd        the same steps with the population gradient
ParticleFlow    widelimit.dynamics.particle_flow   steps to 0
NonlinearFlow   widelimit.dynamics.nonlinear_flow   the neurons no longer feel each other, only the limit
MeanField       widelimit.dynamics.mean_field   the limit itself, carried by points
FiniteVolume    widelimit.dynamics.finite_volume   the limit on a grid, with and without noise
JKO             widelimit.dynamics.jko         the limit as a sequence of minimisations
TangentFlow     widelimit.dynamics.tangent_flow   the particle flow of the network linearised at its start
TangentSGD      widelimit.dynamics.tangent_sgd   SGD of the network linearised at its start
"""

from __future__ import annotations

from collections.abc import Sequence

from widelimit.errors import is_finite, require, require_count, require_positive
from widelimit.frozen import Value, count, one_of, positive, static, yes_or_no

COORDINATES = ("full", "reduced")
PLACEMENTS = ("quantile", "equal", "gauss")


def _check_cells(name: str, cells: int | None) -> None:
    if cells is not None:
        require_count(name, cells, "400")
        require(cells >= 4, "cells must be at least 4", cells, "try cells=400")


def _check_stiff(name: str, stiff: bool | None) -> None:
    good = stiff is None or isinstance(stiff, bool)
    require(good, f"{name} must be True or False, or be left out", stiff, f"try {name}=True")


def _is_side(side: object) -> bool:
    pair = isinstance(side, Sequence) and len(side) == 2 and all(map(is_finite, side))
    return pair and side[0] < side[1]  # type: ignore[index]


class SGD(Value):
    """Stochastic gradient descent: n neurons, one fresh sample (or a fresh batch) per step.

    n         number of neurons
    step      ε, so that step k happens at time kε
    batch     samples per step
    dtype     "float64" or "float32" (which draws samples of its own)
    stepwise  whether to go step by step instead of in blocks, which are faster; with noise, the normals are then those
              of `GD` with the same seed and step

    >>> SGD(n=800, step=1e-4)
    SGD(n=800, step=0.0001)
    """

    n: int = count("800")
    step: float = positive("1e-4")
    batch: int = count("1", default=1)
    dtype: str = one_of("dtype", ("float32", "float64"), default="float64")
    stepwise: bool = yes_or_no(default=False)


class GD(Value):
    """Gradient descent on the population risk, on the clock of SGD.

    Networks of 256 neurons and more take many small steps at once, on Gaussian inputs in full coordinates, without
    noise and at a constant rate.

    n            number of neurons
    step         ε, so that step k happens at time kε
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii), where each neuron stands for all its rotations
    rtol         how far many steps at once may be from the single ones each time, in units of 1 + |θ|

    >>> GD(n=200, step=0.001, coordinates="reduced")
    GD(n=200, step=0.001, coordinates='reduced')
    """

    n: int = count("200")
    step: float = positive("1e-3")
    coordinates: str = one_of("coordinates", COORDINATES, default="full")
    rtol: float = positive("1e-8", default=1e-8)


class ParticleFlow(Value):
    """Gradient flow of n interacting neurons on the population risk.

    n            number of neurons
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii), where each neuron stands for all its rotations
    rtol, atol   tolerances of the adaptive solver, per step, without noise
    noise_step   time step of the noise, whose increments over it are those of `GD` with this step and the same seed
    substeps     steps of the splitting scheme in each noise_step
    stiff        whether the solver begins implicitly, for rates of the blocks that differ by orders of magnitude; if
                 left out it decides by itself; with noise the scheme is explicit

    >>> ParticleFlow(n=200).rtol
    1e-08
    """

    n: int = count("200")
    coordinates: str = one_of("coordinates", COORDINATES, default="full")
    rtol: float = positive("1e-8", default=1e-8)
    atol: float = positive("1e-10", default=1e-10)
    noise_step: float = positive("1e-3", default=1e-3)
    stiff: bool | None = static(_check_stiff, default=None)
    substeps: int = count("1", default=1)


class NonlinearFlow(Value):
    """n independent neurons, passive tracers in the field of the limit, which is solved beside them.

    n            number of tracers
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii)
    points       points that carry the limit; with noise these are random and the field has an error of order
                 points^(−1/2)
    placement    of the points, as in `MeanField`
    rtol, atol   tolerances of the adaptive solver, per step, without noise
    noise_step   time step of the noise, whose increments over it are those of `GD` with this step and the same seed
    substeps     steps of the splitting scheme in each noise_step
    stiff        whether the solver begins implicitly, for rates of the blocks that differ by orders of magnitude; if
                 left out it decides by itself; with noise the scheme is explicit
    check        whether, with noise, a run in the field of half the points goes along, to know the error of the risk

    >>> NonlinearFlow(n=200).points
    400
    """

    n: int = count("200")
    coordinates: str = one_of("coordinates", COORDINATES, default="full")
    points: int = count("400", default=400)
    placement: str = one_of("placement", PLACEMENTS, default="quantile")
    rtol: float = positive("1e-8", default=1e-8)
    atol: float = positive("1e-10", default=1e-10)
    noise_step: float = positive("1e-3", default=1e-3)
    stiff: bool | None = static(_check_stiff, default=None)
    substeps: int = count("1", default=1)
    check: bool = yes_or_no(default=False)


class MeanField(Value):
    """The limit itself: the PDE in reduced coordinates, carried by weighted points placed on ρ_0 deterministically.

    With noise every point has its own, from the random stream "field", and the risk has an error of order
    points^(−1/2), which ``check`` measures; in one or two coordinates `FiniteVolume` knows it much better.

    points      how many; where ρ_0 has two or more random coordinates rounded up to a power of two
    placement   "quantile" (weights that make moments of ρ_0 exact, with 400 points up to order 8 in one to three
                coordinates; also good where the mass splits), "equal" (equal weights) or, where ρ_0 has one random
                coordinate, "gauss" (Gauss nodes, many more digits while the flow map is smooth)
    rtol, atol  tolerances of the adaptive solver, per step
    stiff       whether the solver begins implicitly, for rates of the blocks that differ by orders of magnitude; found
                out by itself if left out
    check       whether a run with half the points goes along, to know the error of the risk
    noise_step  time step of the splitting scheme, with noise
    substeps    into which each of them is cut

    >>> MeanField(points=100)
    MeanField(points=100)
    """

    points: int = count("400", default=400)
    placement: str = one_of("placement", PLACEMENTS, default="quantile")
    rtol: float = positive("1e-8", default=1e-8)
    atol: float = positive("1e-10", default=1e-10)
    stiff: bool | None = static(_check_stiff, default=None)
    check: bool = yes_or_no(default=True)
    noise_step: float = positive("1e-3", default=1e-3)
    substeps: int = count("1", default=1)


class FiniteVolume(Value):
    """The limit on a grid, with or without noise, in one or two reduced coordinates.

    cells      for each coordinate (400 in one dimension, 100 in two)
    box        (low, high) for each coordinate, where mass is held back; by default around the start, and it grows
    step       fixed time step; by default steps adapt
    tolerance  error of an adaptive step: with noise that of the masses, summed; without that of f, root mean square
    check      whether a run with half the cells goes along, to know the error of the risk

    >>> FiniteVolume(cells=100, box=((0, 5),)).box
    ((0.0, 5.0),)
    """

    cells: int | None = static(_check_cells, default=None)
    box: tuple[tuple[float, float], ...] | None = None
    step: float | None = None
    tolerance: float = positive("1e-4", default=1e-4)
    check: bool = yes_or_no(default=False)

    def validate(self) -> None:
        """A step and a box, if they are given."""
        if self.step is not None:
            require_positive("step", self.step, "1e-3")
        if self.box is not None:
            good = isinstance(self.box, Sequence) and bool(self.box) and all(map(_is_side, self.box))
            require(good, "box must hold (low, high) for each coordinate", self.box, "try box=((0.0, 5.0),)")
            self.settle(box=tuple((float(low), float(high)) for low, high in self.box))


class JKO(Value):
    """The limit by minimising movements: every step minimises the (free) energy plus a transport cost.

    step   time step on the clock of the other dynamics; any step lowers the energy, the error is of order 1 in it
    cells  pieces of ρ: points without noise (400), quantile cells with noise in one reduced coordinate (400), cells
           of a grid for each coordinate with noise in two (40)
    check  whether a run with half the step goes along, to know the error of the risk

    >>> JKO(step=0.05)
    JKO(step=0.05)
    """

    step: float = positive("1e-2")
    cells: int | None = static(_check_cells, default=None)
    check: bool = yes_or_no(default=False)


class TangentFlow(Value):
    """Gradient flow of the network linearised at its start, from the neurons of `ParticleFlow` with the same seed.

    n            number of neurons
    coordinates  "full" (a, b, w), on a data set or draws, or "reduced" (a, b, radii), exactly
    rtol, atol   tolerances of the adaptive solver, per step
    stiff        whether the solver begins implicitly; if left out it decides by itself

    >>> TangentFlow(n=200, coordinates="reduced")
    TangentFlow(n=200, coordinates='reduced')
    """

    n: int = count("200")
    coordinates: str = one_of("coordinates", COORDINATES, default="full")
    rtol: float = positive("1e-8", default=1e-8)
    atol: float = positive("1e-10", default=1e-10)
    stiff: bool | None = static(_check_stiff, default=None)


class TangentSGD(Value):
    """Stochastic gradient descent of the network linearised at its start, on the samples of `SGD` with the same seed.

    n      number of neurons
    step   ε, so that step k happens at time kε
    batch  samples per step

    >>> TangentSGD(n=100, step=1e-3)
    TangentSGD(n=100, step=0.001)
    """

    n: int = count("800")
    step: float = positive("1e-4")
    batch: int = count("1", default=1)


Limit = MeanField | FiniteVolume | JKO  # these have no neurons and no replicas, and run in reduced coordinates
Tangent = TangentFlow | TangentSGD
Method = SGD | GD | ParticleFlow | NonlinearFlow | Limit | Tangent
