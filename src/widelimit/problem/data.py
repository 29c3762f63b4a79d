"""Data laws: where (x, y) comes from.

gaussian_classes   classes told apart by their variance                 widelimit.problem.classes
single_index       y = φ(x_1), x Gaussian                               widelimit.problem.index_models
multi_index        y = φ(x_1, …, x_k), x Gaussian
hypercube          y = h(x_1, …, x_k), x ∈ {±1}^d                        widelimit.problem.cube
sphere             y = h(x_1, …, x_k), |x| = √d                          widelimit.problem.ball
empirical          a finite data set                                     widelimit.problem.samples
sampler            anything that can be drawn
"""

from widelimit.problem.ball import SphereLaw, sphere
from widelimit.problem.classes import GaussianClasses, gaussian_classes
from widelimit.problem.cube import Hypercube, hypercube
from widelimit.problem.index_models import IndexModel, multi_index, single_index
from widelimit.problem.law import DataLaw
from widelimit.problem.samples import Empirical, Sampler, empirical, sampler

__all__ = [
    "DataLaw",
    "Empirical",
    "GaussianClasses",
    "Hypercube",
    "IndexModel",
    "Sampler",
    "SphereLaw",
    "empirical",
    "gaussian_classes",
    "hypercube",
    "multi_index",
    "sampler",
    "single_index",
    "sphere",
]
