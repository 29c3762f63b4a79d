"""Which dynamics to run, and how finely. The equations themselves live beside this file.

SGD            widelimit.dynamics.sgd
ParticleFlow   widelimit.dynamics.flow
MeanField      widelimit.dynamics.mean_field
"""

from __future__ import annotations

from dataclasses import dataclass

from widelimit.errors import require_count, require_known, require_positive


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
class ParticleFlow:
    """Gradient flow of n interacting neurons on the population risk.

    n            number of neurons
    coordinates  "full" (a, b, w) or "reduced" (a, b, radii), where each neuron stands for all its rotations
    rtol, atol   tolerances of the adaptive solver, per step
    """

    n: int
    coordinates: str = "full"
    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        require_count("n", self.n, "200")
        require_known("coordinates", self.coordinates, ("full", "reduced"))
        require_positive("rtol", self.rtol, "1e-8")
        require_positive("atol", self.atol, "1e-10")


@dataclass(frozen=True)
class MeanField:
    """The limit itself: the PDE in reduced coordinates, carried by weighted points placed on ρ_0 deterministically.

    points      how many (rounded up to a power of two where ρ_0 has two or more random coordinates)
    placement   where ρ_0 has one random coordinate: "quantile" (equal weights, also good where the mass splits)
                or "gauss" (weighted Gauss nodes, many more digits while the flow map is smooth)
    rtol, atol  tolerances of the adaptive solver, per step
    """

    points: int = 400
    placement: str = "quantile"
    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        require_count("points", self.points, "400")
        require_known("placement", self.placement, ("gauss", "quantile"))
        require_positive("rtol", self.rtol, "1e-8")
        require_positive("atol", self.atol, "1e-10")


Method = SGD | ParticleFlow | MeanField
