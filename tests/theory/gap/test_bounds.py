"""The bounds as functions of (N, ε, D, T, z), and their constants fitted to gaps."""

import math

import numpy as np
import pytest
import xarray as xr

import widelimit as wl
from widelimit.theory.gap.bounds import THEOREMS, Setting
from widelimit.theory.gap.coupling import Comparison

RAMP = wl.activations.ramp((0.5, -2.5), (1.5, 7.5))
HORIZON = 0.3


class Told:
    """As much of a solution as a fit reads of a comparison."""

    def __init__(self, D):
        self.dataset = xr.Dataset({"final": (("final_coordinate",), np.zeros(D))})

    @property
    def problem(self):
        raise wl.InputError("no problem")


def told(at, gaps, first=100.0):
    """A comparison whose risk gaps at t_end are given, one for each replica."""
    gaps = np.asarray(gaps)
    values = np.stack([np.zeros_like(gaps), gaps], axis=-1)[None]
    risk = np.full((2, len(gaps), 2), first)
    data = xr.Dataset(
        {"risk_gap": (("part", "replica", "time"), values), "risk": (("dynamics", "replica", "time"), risk)},
        {"part": ["total"], "dynamics": ["PDE", "SGD"], "time": [0.0, at.t]},
        {"n": at.n, "step": at.step, "outcome": "done"},
    )
    return Comparison(data, {"SGD": Told(at.dimension)})


@pytest.mark.parametrize("theorem", THEOREMS)
def test_every_bound_grows_with_its_constant_with_z_and_with_the_horizon(theorem):
    at = wl.bounds.setting(400, 1e-4, 40, 1.0)
    value = wl.bounds.bound(theorem, 0.5, at, 1.0)
    assert wl.bounds.bound(theorem, 0.6, at, 1.0) > value < wl.bounds.bound(theorem, 0.5, at, 1.1)
    assert wl.bounds.bound(theorem, 0.5, at._replace(t=2.0), 1.0) >= value
    assert wl.bounds.bound(theorem, 0.5, at._replace(n=1600, step=1e-5), 1.0) < value


def test_bounds_by_hand():
    at = Setting(10_000, 1e-6, 24, 2.0)
    log_n = math.log(10_000)
    free = (math.sqrt(log_n) + 1) / 100 + (math.sqrt(24 + log_n) + 1) * 1e-3
    assert wl.bounds.bound("dimension free", 0.5, at, 1.0) == pytest.approx(0.5 * math.e * free)
    assert wl.bounds.bound("general coefficients", 0.5, at, 1.0) == pytest.approx(0.5 * math.exp(4.0) * free)
    general = 0.01 * (math.sqrt(24 + math.log(1e10)) + 1)
    assert wl.bounds.bound("general", 0.5, at, 1.0) == pytest.approx(0.5 * math.e * general)
    noisy = (math.sqrt(24 * log_n) + math.log(2e4) ** 1.5 + 1) / 100
    noisy += (math.sqrt(24) * math.log(2e10) + log_n**1.5 + 1) * 1e-3
    growth = math.exp(math.e * (math.sqrt(log_n) + 1))
    assert wl.bounds.bound("noisy, general", 0.5, at, 1.0) == pytest.approx(0.5 * growth * noisy)
    assert wl.bounds.bound("sampling", 0.5, at, 1.0) == pytest.approx(0.5 * 2 / math.sqrt(20_000))


def test_a_bound_larger_than_any_number_is_infinite():
    assert wl.bounds.bound("noisy, general", 5.0, wl.bounds.setting(100, 1e-3, 40, 10.0)) == math.inf


def test_gronwall_bounds_the_solution_of_the_integral_equation():
    """Δ' = L Δ + A' with A = t: Δ = (e^{Lt} − 1)/L ≤ t e^{Lt}."""
    t = np.linspace(0.0, 2.0, 21)
    assert (wl.bounds.gronwall(t, 1.5 * t) >= np.expm1(1.5 * t) / 1.5).all()


@pytest.mark.parametrize("theorem", ["general", "dimension free", "general coefficients", "noisy, general"])
def test_the_constant_of_gaps_that_obey_a_theorem_is_found(theorem):
    """Without spread every run gives the same K; the interval closes on it."""
    z, K = math.sqrt(math.log(20)), 0.05
    spots = [wl.bounds.setting(n, step, D, t) for n, step, D, t in ((50, 1e-3, 20, 0.5), (400, 1e-4, 80, 1.0))]
    gaps = [told(at, np.full(8, wl.bounds.bound(theorem, K, at, z))) for at in spots]
    fit = wl.fit_bound(theorem, gaps)
    assert fit.constant == pytest.approx(K, rel=1e-9) and fit.low == pytest.approx(K) == pytest.approx(fit.high)
    assert fit.covers(told(spots[0], 0.9 * gaps[0].gap("total")[:, -1])) == 1.0
    assert fit.covers(told(spots[0], 1.1 * gaps[0].gap("total")[:, -1])) == 0.0


def test_the_fit_covers_what_it_promises_in_every_setting():
    rng, at = np.random.default_rng(1), wl.bounds.setting(100, 1e-4, 40, 1.0)
    draws = [np.abs(rng.normal(size=4000)) for _ in range(2)]
    fit = wl.fit_bound("dimension free", told(at, draws[0]))
    assert fit.covers(told(at, draws[1])) == pytest.approx(0.95, abs=0.01)
    assert fit.low < fit.constant < fit.high
    assert wl.fit_bound("dimension free", told(at, draws[0]), confidence=0.5).constant < fit.low


def test_the_shape_that_made_the_gaps_is_preferred():
    rng = np.random.default_rng(2)
    spots = [wl.bounds.setting(100, 1e-5, d, 1.0) for d in (20, 80, 320)]
    gaps = [told(at, wl.bounds.bound("dimension free", 0.1, at) * np.exp(0.3 * rng.normal(size=32))) for at in spots]
    free, general = (wl.fit_bound(theorem, gaps) for theorem in ("dimension free", "general"))
    assert free.misfit == pytest.approx(0.3, abs=0.05) and free.log_likelihood > general.log_likelihood + 10


def test_from_which_width_a_bound_says_something():
    at = wl.bounds.setting(100, 1e-6, 20, 2.0)
    fit = wl.fit_bound("dimension free", told(at, np.full(8, 0.5), first=0.4))
    assert fit.is_vacuous(100, 1e-6)
    width = fit.least_width(1e-6)
    assert not fit.is_vacuous(int(width), 1e-6) and fit.is_vacuous(int(width) - 1, 1e-6)
    assert fit.least_width(1.0) == math.inf  # the step alone is too large
    assert fit.least_width(1e-6, t=20.0) > 1e3 * width


def test_a_convergence_time_beyond_log_n_makes_the_bound_vacuous():
    t = np.linspace(0.0, 6.0, 121)
    run = wl.Solution(xr.Dataset({"risk": (("time",), 4 * np.exp(-4 * t))}, {"time": t}, {"method": "MeanField"}))
    at = wl.bounds.setting(100, 1e-4, 5, 1.0)
    for gap, vacuous in ((0.2, False), (50.0, True)):
        bound = wl.fit_bound("dimension free", told(at, np.full(8, gap), first=4.0))
        found = wl.convergence_time(run, 0.04, n=100, step=1e-4, bound=bound)
        assert found.is_vacuous is vacuous and ("not vacuous" in str(found)) is not vacuous


AT = wl.bounds.setting(100, 1e-4, 40, 1.0)
BAD = {
    "theorem": (lambda: wl.fit_bound("dimension-free", told(AT, np.ones(8))), "did you mean 'dimension free'?"),
    "confidence": (lambda: wl.fit_bound("general", told(AT, np.ones(8)), confidence=1.0), "must lie in (0, 1)"),
    "no replicas": (lambda: wl.fit_bound("general", told(AT, np.ones(3))), "at least 4 replicas"),
    "no gaps": (lambda: wl.fit_bound("general", []), "gaps must be results of compare"),
    "zero gaps": (lambda: wl.fit_bound("general", told(AT, np.zeros(8))), "gaps that are not 0"),
    "constant": (lambda: wl.bounds.bound("general", -1.0, AT), "constant must be a number > 0"),
    "z": (lambda: wl.bounds.sampling(10, -1.0), "z must lie between 0 and 100"),
    "infinite d": (lambda: wl.bounds.setting(10, 0.1, math.inf), "dimension must be a whole number >= 0"),
    "half a parameter": (lambda: wl.bounds.setting(10, 0.1, 2.5), "dimension must be a whole number >= 0"),
    "other times": (lambda: wl.bounds.gronwall([1.0], [1.0, 2.0]), "at the same times"),
    "width": (lambda: wl.bounds.general(0, 0.1, 3), "n must be a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    call, said = BAD[name]
    with pytest.raises(wl.InputError) as error:
        call()
    assert said in str(error.value)


def pair(d, n, step, seed, replicas):
    """The limit, and SGD that follows it: two classes of contrast ½ and the ramp."""
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.5), wl.neurons.ridge(RAMP), wl.initial.gaussian(0.4))
    limit = wl.solve(problem, wl.MeanField(check=False), HORIZON, save=7)
    return limit, wl.solve(problem, wl.SGD(n, step), HORIZON, save=7, replicas=replicas, seed=seed)


@pytest.mark.slow
def test_a_fitted_bound_covers_fresh_runs_at_settings_it_has_not_seen():
    fit = wl.fit_bound("dimension free", [pair(d, n, step, 0, 24) for d, n, step in SEEN])
    fresh = [pair(d, n, step, 100 + i, 24) for i, (d, n, step) in enumerate(UNSEEN)]
    shares = [fit.covers(gap) for gap in fresh]
    assert np.mean(shares) >= 0.95, (fit, shares)


SEEN = ((20, 50, 1e-3), (80, 50, 2e-4), (20, 200, 5e-4))
UNSEEN = ((40, 100, 5e-4), (160, 50, 2e-4), (10, 30, 1e-3))


@pytest.mark.slow
def test_the_data_prefer_the_bound_without_the_dimension_over_d_from_20_to_320():
    """Both shapes have one constant: the difference of the log-likelihoods of normal log gaps, decided above 5."""
    gaps = [pair(d, 50, 5e-5, 0, 16) for d in (20, 40, 80, 160, 320)]
    free, general = (wl.fit_bound(theorem, gaps) for theorem in ("dimension free", "general"))
    assert free.log_likelihood - general.log_likelihood > 5, (free, general)
    assert free.misfit < general.misfit
