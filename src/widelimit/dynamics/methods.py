"""Which dynamics to run, and how finely. The equations themselves live beside this file.

SGD             widelimit.dynamics.sgd       fresh samples
GD              widelimit.dynamics.gd        the same steps with the population gradient
ParticleFlow    widelimit.dynamics.flow      steps to 0
NonlinearFlow   widelimit.dynamics.tracers   the neurons no longer feel each other, only the limit
MeanField       widelimit.dynamics.mean_field   the limit itself
"""

from __future__ import annotations

from dataclasses import dataclass

from widelimit.errors import require, require_count, require_known, require_positive

COORDINATES = ("full", "reduced")
PLACEMENTS = ("gauss", "quantile")


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent: n neurons, one fresh sample (or a fresh batch) per step.

    n      number of neurons
    step   ε, so that step k happens at time kε
    batch  samples per step
    dtype  "float64" or "float32" (which draws samples of its own)
    """

    n: int
    step: float
    batch: int = 1
    dtype: str = "float64"

    def __post_init__(self) -> None:
        require_count("n", self.n, "800")
        require_positive("step", self.step, "1e-4")
        require_count("batch", self.batch, "1")
        require_known("dtype", self.dtype, ("float32", "float64"))


@dataclass(frozen=True)
class GD:
    """Gradient descent on the population risk, on the clock of SGD.

    n            number of neurons
    step         ε, so that step k happens at time kε
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii), where each neuron stands for all its rotations
    """

    n: int
    step: float
    coordinates: str = "full"

    def __post_init__(self) -> None:
        require_count("n", self.n, "200")
        require_positive("step", self.step, "1e-3")
        require_known("coordinates", self.coordinates, COORDINATES)


@dataclass(frozen=True)
class ParticleFlow:
    """Gradient flow of n interacting neurons on the population risk.

    n            number of neurons
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii), where each neuron stands for all its rotations
    rtol, atol   tolerances of the adaptive solver, per step, without noise
    noise_step   time step of the splitting scheme, with noise
    stiff        an implicit solver, for rates of the blocks that differ by orders of magnitude; not with noise
    """

    n: int
    coordinates: str = "full"
    rtol: float = 1e-8
    atol: float = 1e-10
    noise_step: float = 1e-3
    stiff: bool = False

    def __post_init__(self) -> None:
        require_count("n", self.n, "200")
        require_known("coordinates", self.coordinates, COORDINATES)
        _check_solver(self.rtol, self.atol, self.stiff)
        require_positive("noise_step", self.noise_step, "1e-3")


@dataclass(frozen=True)
class NonlinearFlow:
    """n independent neurons, passive tracers in the field of the limit, which is solved beside them.

    n            number of tracers
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii)
    points       points that carry the limit; with noise these are random and the field has an error of order
                 points^(−1/2)
    placement    of the points, as in `MeanField`
    rtol, atol   tolerances of the adaptive solver, per step, without noise
    noise_step   time step of the splitting scheme, with noise
    stiff        an implicit solver, for rates of the blocks that differ by orders of magnitude; not with noise
    """

    n: int
    coordinates: str = "full"
    points: int = 400
    placement: str = "quantile"
    rtol: float = 1e-8
    atol: float = 1e-10
    noise_step: float = 1e-3
    stiff: bool = False

    def __post_init__(self) -> None:
        require_count("n", self.n, "200")
        require_known("coordinates", self.coordinates, COORDINATES)
        _check_points(self.points, self.placement)
        _check_solver(self.rtol, self.atol, self.stiff)
        require_positive("noise_step", self.noise_step, "1e-3")


@dataclass(frozen=True)
class MeanField:
    """The limit itself: the PDE in reduced coordinates, carried by weighted points placed on ρ_0 deterministically.

    points      how many (rounded up to a power of two where ρ_0 has two or more random coordinates)
    placement   where ρ_0 has one random coordinate: "quantile" (equal weights, also good where the mass splits)
                or "gauss" (weighted Gauss nodes, many more digits while the flow map is smooth)
    rtol, atol  tolerances of the adaptive solver, per step
    stiff       an implicit solver, for rates of the blocks that differ by orders of magnitude
    """

    points: int = 400
    placement: str = "quantile"
    rtol: float = 1e-8
    atol: float = 1e-10
    stiff: bool = False

    def __post_init__(self) -> None:
        _check_points(self.points, self.placement)
        _check_solver(self.rtol, self.atol, self.stiff)


def _check_points(points: int, placement: str) -> None:
    require_count("points", points, "400")
    require_known("placement", placement, PLACEMENTS)


def _check_solver(rtol: float, atol: float, stiff: bool) -> None:
    require_positive("rtol", rtol, "1e-8")
    require_positive("atol", atol, "1e-10")
    require(isinstance(stiff, bool), "stiff must be True or False", stiff, "try stiff=True")


Method = SGD | GD | ParticleFlow | NonlinearFlow | MeanField
