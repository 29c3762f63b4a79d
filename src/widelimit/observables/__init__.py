"""4. What is measured on ρ, blind to who produced it: functions of a `Cloud`."""

from widelimit.observables.density import binned_density, smooth_density
from widelimit.observables.moments import moment, summary
from widelimit.observables.risk import risk

__all__ = ["binned_density", "moment", "risk", "smooth_density", "summary"]
