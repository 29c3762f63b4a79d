"""5. What is measured on ρ, blind to who produced it: functions of a `Cloud` or a `Density`, a few of a `Solution`."""

from widelimit.observables.coefficients import coefficient, coefficient_error, target_coefficient
from widelimit.observables.density import binned_density, smooth_density
from widelimit.observables.distances import pair_distance, wasserstein
from widelimit.observables.fluctuations import fluctuations
from widelimit.observables.free_energy import dissipation, entropy, fisher_information, free_energy
from widelimit.observables.interpolation import displacement, mixture
from widelimit.observables.moments import moment, summary
from widelimit.observables.risk import risk, test_risk
from widelimit.observables.statistics import average, mass, quantile, variance
from widelimit.observables.weak_form import weak_residual

__all__ = [
    "average",
    "binned_density",
    "coefficient",
    "coefficient_error",
    "displacement",
    "dissipation",
    "entropy",
    "fisher_information",
    "fluctuations",
    "free_energy",
    "mass",
    "mixture",
    "moment",
    "pair_distance",
    "quantile",
    "risk",
    "smooth_density",
    "summary",
    "target_coefficient",
    "test_risk",
    "variance",
    "wasserstein",
    "weak_residual",
]


def __dir__() -> list[str]:
    return __all__
