"""Which method carries the limit of a problem.

    no noise                                           MeanField      points placed on ρ_0
    noise, one or two reduced coordinates              FiniteVolume   cells of a grid
    noise, where no grid holds ρ                       MeanField      many points, each with its own noise: an error of
                                                                      order points^(−1/2)

All of them measure their own error.
"""

from __future__ import annotations

from widelimit.dynamics.finite_volume.grid import initial_grid
from widelimit.dynamics.methods import FiniteVolume, MeanField
from widelimit.errors import InputError
from widelimit.problem.problem import Problem

POINTS, NOISY_POINTS = 400, 4000
SUBSTEPS = (
    4  # of flows with noise in a step of GD: what the splitting scheme misses is then an eighth of what Euler does
)
FEW = 4  # cells of a grid that is only tried


def limit_method(problem: Problem, points: int | None, step: float) -> MeanField | FiniteVolume:
    """The method of the limit beside dynamics of a step; points, if not the usual number.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    >>> limit_method(problem, None, 0.01)
    MeanField()
    """
    if not problem.is_noisy:
        return MeanField(points_of(problem, points))
    if has_grid(problem):
        return FiniteVolume(check=True)
    return MeanField(points_of(problem, points), noise_step=step, substeps=SUBSTEPS)


def points_of(problem: Problem, points: int | None) -> int:
    """The number of points that carry the limit, if none is asked for."""
    return points or (NOISY_POINTS if problem.is_noisy else POINTS)


def has_grid(problem: Problem) -> bool:
    """Whether a grid can hold ρ_0."""
    try:
        initial_grid(problem, FEW, None)
    except InputError:
        return False
    return True
