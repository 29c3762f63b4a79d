"""Data laws: where (x, y) comes from, one law per file.

gaussian_classes   classes told apart by their variance
single_index       y = φ(x_1), x Gaussian
multi_index        y = φ(x_1, …, x_k), x Gaussian
hypercube          y = h(x_1, …, x_k), x ∈ {±1}^d
sphere             y = h(x_1, …, x_k), |x| = √d
empirical          a finite data set
sampler            anything that can be drawn
"""

from widelimit.problem.data.data_law import DataLaw
from widelimit.problem.data.gaussian_classes import GaussianClasses, gaussian_classes
from widelimit.problem.data.hypercube import Hypercube, hypercube
from widelimit.problem.data.index_models import IndexModel, MultiIndex, SingleIndex, multi_index, single_index
from widelimit.problem.data.sphere import SphereLaw, sphere
from widelimit.problem.data.unstructured import Empirical, Sampler, empirical, sampler

__all__ = [
    "DataLaw", "Empirical", "GaussianClasses", "Hypercube", "IndexModel", "MultiIndex", "Sampler", "SingleIndex",
    "SphereLaw", "empirical", "gaussian_classes", "hypercube", "multi_index", "sampler", "single_index", "sphere",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
