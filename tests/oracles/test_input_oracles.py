"""Schedules, regularisers, starts, samples and records; inputs that mean nothing are refused."""

import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from library_problems import problem_of
from scipy.integrate import quad
from scipy.stats import chi, kstest, norm

import widelimit as wl

# ---- clocks

CLOCKS = {
    "constant": (wl.schedules.constant(0.7), lambda t: 0.7, ()),
    "power": (wl.schedules.power(0.25), lambda t: t**-0.25, ()),
    "exponential": (wl.schedules.exponential(1.3), lambda t: math.exp(-1.3 * t), ()),
    "window": (wl.schedules.window(0.4, 1.1), lambda t: float(0.4 <= t < 1.1), (0.4, 1.1)),
    "function": (wl.schedules.schedule(lambda t: 1 / (1 + 4 * t)), lambda t: 1 / (1 + 4 * t), ()),
    "pulse": (
        wl.schedules.schedule(lambda t: jnp.exp(-0.5 * ((t - 0.371) / 1e-4) ** 2) / 1e-4),
        lambda t: math.exp(-0.5 * ((t - 0.371) / 1e-4) ** 2) / 1e-4,
        (0.371 - 2e-3, 0.371 - 4e-4, 0.371, 0.371 + 4e-4, 0.371 + 2e-3),
    ),
}


@pytest.mark.parametrize("name", list(CLOCKS))
def test_the_clock_of_a_schedule_is_its_integral(name):
    schedule, xi, cuts = CLOCKS[name]
    for t in (0.5, 1.7):
        inside = [c for c in cuts if c < t]
        wanted = quad(xi, 0.0, t, points=inside or None, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        assert schedule.integral(t) == pytest.approx(wanted, rel=1e-9)
    if name == "pulse":
        assert wl.schedules.schedule(schedule).integral(10.0) == pytest.approx(
            float(mpmath.sqrt(2 * mpmath.pi)), rel=1e-8
        )


# ---- regularisers

THETA = np.array([[0.7, -0.3, 0.8, 1.1], [-1.2, 0.5, -0.4, 0.6]])  # a, b, u, r


def path(theta):
    return np.abs(theta[0]) * math.hypot(theta[2], theta[3])


REGULARISERS = {
    "squares": (wl.regularisers.squares(), lambda t: t @ t / 2),
    "blocks": (wl.regularisers.squares(a=2.0, b=0.0, w=0.5), lambda t: t[0] ** 2 + 0.25 * (t[2] ** 2 + t[3] ** 2)),
    "path": (wl.regularisers.path(), path),
    "rounded": (wl.regularisers.rounded(), lambda t: math.sqrt(1 + t @ t)),
    "function": (
        lambda a, b, w: a**2 * jnp.sum(w * w) + b**4,
        lambda t: t[0] ** 2 * (t[2] ** 2 + t[3] ** 2) + t[1] ** 4,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(REGULARISERS))
def test_what_a_regulariser_adds(name):
    """λ v to Ψ and λ ∇v to its gradient, by differences; nothing to the risk."""
    v, own = REGULARISERS[name]
    data = wl.data.single_index(20, "z")
    plain, held = (
        wl.landscape(problem_of(data, "tanh", "ab", ridge=ridge, regulariser=v), reduced=True) for ridge in (0.0, 0.3)
    )
    added = np.asarray(held.psi(THETA, THETA)) - np.asarray(plain.psi(THETA, THETA))
    np.testing.assert_allclose(added, [0.3 * own(row) for row in THETA], rtol=1e-10)
    slopes = np.asarray(held.grad_psi(THETA, THETA)) - np.asarray(plain.grad_psi(THETA, THETA))
    for i, row in enumerate(THETA):
        for j, e in enumerate(1e-5 * np.eye(4)):
            assert slopes[i, j] == pytest.approx(0.3 * (own(row + e) - own(row - e)) / 2e-5, abs=1e-8)
    assert held.risk(THETA) == plain.risk(THETA)


# ---- starts and samples


@pytest.mark.slow
def test_neurons_and_samples_have_the_law_they_claim():
    """Kolmogorov–Smirnov at level 1e−4: r √d/κ ~ χ_d at the start; x/τ normal, and as many labels of either sign."""
    d, n = 20, 2000
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("x"), wl.initial.gaussian(1.5))
    start = wl.solve(problem, wl.GD(n, 0.1, "reduced"), 0.1, save=2, seed=5).at(0.0)
    assert kstest(start.column("r") * math.sqrt(d) / 1.5, chi(d).cdf).pvalue > 1e-4
    x, y = (np.asarray(part) for part in problem.data.sample(jax.random.key(0), n, "float64"))
    assert abs(np.mean(y)) < 4 / math.sqrt(n) and set(y) == {-1.0, 1.0}
    assert kstest((x / (1 + 0.6 * y)[:, None]).ravel(), norm.cdf).pvalue > 1e-4
    on_sphere = wl.Problem(problem.data, problem.neuron, wl.initial.sphere(1.5))
    start = wl.solve(on_sphere, wl.GD(50, 0.1, "reduced"), 0.1, save=2).at(0.0)
    np.testing.assert_allclose(start.column("r"), 1.5, rtol=1e-12)


def refused(ask):
    with pytest.raises(wl.InputError):
        ask()


def test_measures_that_are_none_are_refused():
    land = wl.landscape(problem_of(wl.data.gaussian_classes(math.inf, 0.6), "tanh", "ab"), reduced=True)
    rows, even = np.ones((2, 3)), np.full(2, 0.5)
    assert math.isfinite(land.risk(wl.Cloud(rows, even, ("a", "b", "r"))))
    refused(lambda: land.risk(wl.Cloud(rows, even, ("b", "a", "r"))))
    refused(lambda: land.grad_psi(rows, wl.Cloud(rows, even, ("a", "b", "r_1"))))
    refused(lambda: land.risk(np.ones((2, 4))))
    refused(lambda: wl.Cloud(np.ones((2, 2)), even, ("a", "b", "r")))
    for weights in ([0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], [1.0]):
        refused(lambda weights=weights: wl.Cloud(rows, np.array(weights), ("a", "b", "r")))


@pytest.mark.more
def test_starts_that_may_mean_two_things_are_refused():
    def start(d, rows, **options):
        return wl.Problem(wl.data.single_index(d, "z"), wl.neurons.ridge("x**3 - x"), wl.initial.array(rows, **options))

    refused(lambda: start(5, [[0.5, -1.0]]))  # u, r: a radius of −1
    refused(lambda: start(2, [[0.5, 1.0]]))  # w_1, w_2 or u, r
    refused(lambda: start(2, [[0.5, -1.0]], coordinates="reduced"))
    refused(lambda: start(5, [[0.5, 1.0, 2.0]]))
    full, reduced = start(2, [[0.5, -1.0]], coordinates="full"), start(2, [[0.5, 1.0]], coordinates="reduced")
    one, two = (wl.solve(p, wl.MeanField(), 0.1, save=2).risk for p in (full, reduced))
    np.testing.assert_allclose(one, two, rtol=1e-9)


# ---- records


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [wl.SGD(5, 0.02), wl.ParticleFlow(5), wl.FiniteVolume(50), wl.JKO(0.1)], ids=lambda m: type(m).__name__
)
def test_a_record_is_its_run_bit_by_bit(method, tmp_path):
    options = {"beta": 20.0} if type(method).__name__ != "ParticleFlow" else {}
    problem = wl.Problem(
        wl.data.gaussian_classes(20, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(1.0), ridge=0.1, **options
    )
    run = wl.solve(problem, method, 0.2, seed=7, save=3)
    run.save(tmp_path / "run.nc")
    record = wl.load(tmp_path / "run.nc")
    again = record.rerun()
    for other in (record, again):
        np.testing.assert_array_equal(other.risk, run.risk)
        np.testing.assert_array_equal(other.final.theta, run.final.theta)
        np.testing.assert_array_equal(other.final.weights, run.final.weights)
    assert record.problem == problem and record.method == method


@pytest.mark.slow
def test_the_first_replica_is_the_run_without_replicas():
    problem = wl.Problem(wl.data.gaussian_classes(6, 0.6), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    alone, many = (wl.solve(problem, wl.SGD(5, 0.02), 0.2, seed=7, save=3, replicas=r) for r in (None, 3))
    np.testing.assert_allclose(many.replica(0).final.theta, alone.final.theta, rtol=1e-12)
    assert not np.allclose(many.replica(1).final.theta, alone.final.theta)
