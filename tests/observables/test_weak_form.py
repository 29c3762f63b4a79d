"""A solution satisfies the weak form as well as it is saved, and what is no solution does not."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.special import roots_genlaguerre

import widelimit as wl
from widelimit.observables import weak_residual

SQUARE = wl.activations.polynomial([0.2, 0.5, 0.3])
ACCURATE = wl.MeanField(12, "gauss", rtol=1e-12, atol=1e-13)
SAVES = 65


def stated(role, informative=None, schedule=None):
    start = wl.initial.gaussian(0.8, a=wl.initial.signs(0.7), b=0.3)
    neuron = wl.neurons.ridge(SQUARE, outer=role, bias="trained")
    schedule = schedule or wl.schedules.constant()
    return wl.Problem(
        wl.data.gaussian_classes(20, 0.5, informative), neuron, start, ridge=0.1, schedule=schedule
    )  # fmt: skip


def chi(theta):
    return theta[0] * jnp.sin(theta[-1]) + theta[1] ** 2


CASES = {
    "all trained": stated("trained"),
    "outer weight fixed": stated("fixed"),
    "two radii": stated("trained", informative=8),
    "schedule infinite at 0": stated("trained", schedule=wl.schedules.power(0.25)),
}


def equal_in_clock(problem):
    """Save times at equal readings of ∫ξ dt, which is t or (4/3) t^(3/4) here."""
    return np.linspace(0.0, 1.0, SAVES) ** (1 / (1 - getattr(problem.schedule, "exponent", 0.0)))


@pytest.fixture(scope="module")
def solutions():
    """Solved on first use, shared by the tests of this file."""
    solved = {}

    def get(name):
        if name not in solved:
            solved[name] = wl.solve(CASES[name], ACCURATE, 1.0, save=equal_in_clock(CASES[name]))
        return solved[name]

    return get


def every(solution, k):
    return wl.Solution(solution.dataset.isel(time=slice(None, None, k)))


def total(problem, solution, test=chi):
    return float(np.abs(weak_residual(problem, solution, test)).sum())


@pytest.mark.more
@pytest.mark.parametrize("name", CASES)
def test_the_residual_vanishes_with_the_fourth_power_of_the_interval_between_saves(name, solutions):
    """Cubic spline: h⁵ per interval, of which there are 1/h."""
    errors = [total(CASES[name], every(solutions(name), k)) for k in (4, 2, 1)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert errors[-1] < 1e-7
    assert np.all((orders > 3.5) & (orders < 5.5)), orders


FALSE = {
    "moved too far": lambda theta: theta[0] + 1.01 * (theta - theta[0]),
    "one neuron elsewhere": lambda theta: theta + 0.1 * (np.arange(theta.shape[1]) == 3)[:, None],
    "time reversed": lambda theta: theta[::-1],
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", FALSE)
def test_a_falsified_solution_keeps_its_residual(name, solutions):
    true = solutions("all trained").dataset
    false = wl.Solution(true.assign(theta=(true["theta"].dims, FALSE[name](true["theta"].values))))
    sparse, dense = (total(CASES["all trained"], every(false, k)) for k in (4, 1))
    assert dense > 1e3 * total(CASES["all trained"], wl.Solution(true))
    assert dense == pytest.approx(sparse, rel=0.2)


OTHERS = {
    "fixed weight that should move": ("outer weight fixed", stated("trained")),
    "moving weight that should be fixed": ("all trained", stated("fixed")),
    "another schedule": ("all trained", stated("trained", schedule=wl.schedules.constant(1.1))),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", OTHERS)
def test_the_solution_of_another_problem_keeps_its_residual(name, solutions):
    solved, claimed = OTHERS[name]
    assert total(claimed, solutions(solved)) > 1e-3


def test_mass_is_conserved(solutions):
    np.testing.assert_array_equal(weak_residual(CASES["all trained"], solutions("all trained"), lambda theta: 1), 0.0)


@pytest.mark.slow
def test_while_the_schedule_is_zero_nothing_may_move(solutions):
    """ξ = 1 up to ½, then 0."""
    halted = stated("trained", schedule=lambda t: jnp.where(t < 0.5, 1.0, 0.0))
    data = solutions("all trained").dataset.copy(deep=True)
    stopped = data["theta"].values.copy()
    stopped[SAVES // 2 :] = stopped[SAVES // 2]
    still = wl.Solution(data.assign(theta=(data["theta"].dims, stopped)))
    assert total(halted, still) < 1e-6
    assert np.all(weak_residual(halted, still, chi)[SAVES // 2 :] == 0)
    assert total(halted, solutions("all trained")) > 1e-3


@pytest.mark.more
def test_mass_that_has_reached_the_origin_stays_there():
    """a = −1 with relu: Ψ = c r near 0 with c > 0, a conical minimum, where ∂χ need not vanish."""
    start = wl.initial.gaussian(0.1, a=-1.0)
    problem = wl.Problem(wl.data.gaussian_classes(math.inf, 0.5), wl.neurons.ridge("relu", outer="fixed"), start)
    solution = wl.solve(problem, wl.MeanField(), 4.0, save=9)
    assert np.all(solution.at(2.0).column("r") == 0) and np.all(solution.at(0.0).column("r") > 0)
    late = wl.Solution(solution.dataset.sel(time=slice(2.0, None)))
    np.testing.assert_array_equal(weak_residual(problem, late, lambda theta: theta[1]), 0.0)


LAMBDA, BETA, KAPPA = 0.4, 3.0, 0.8


def noisy(d, informative=None, beta=BETA):
    """Odd neurons on centred classes do not interact in reduced coordinates: w is an Ornstein–Uhlenbeck process."""
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]), outer="fixed")
    start = wl.initial.gaussian(KAPPA, a=2.0)
    return wl.Problem(wl.data.gaussian_classes(d, 0.5, informative), neuron, start, ridge=LAMBDA, beta=beta)


def exact_noisy_solution(problem, saves):
    """Each w_j ~ N(0, v), dv/dt = −4λ v + 4/β, so r_g² = 2 v Γ(d_g/2): Gauss–Laguerre nodes, exact for polynomials."""
    t = np.linspace(0.0, 1.0, saves)
    limit = 1 / (LAMBDA * BETA)
    v = limit + (KAPPA**2 / problem.data.d - limit) * np.exp(-4 * LAMBDA * t)
    squares, weights = zip(*(roots_genlaguerre(6, g.d / 2 - 1) for g in problem.data.groups), strict=True)
    grid = np.stack([s.ravel() for s in np.meshgrid(*squares)], axis=1)
    mass = np.prod([w.ravel() for w in np.meshgrid(*(w / w.sum() for w in weights))], axis=0)
    radii = np.sqrt(2 * v[:, None, None] * grid)
    theta = np.concatenate([np.full((*radii.shape[:2], 1), 2.0), radii], axis=2)
    variables = {"theta": (("time", "neuron", "coordinate"), theta), "weights": ("neuron", mass)}
    return wl.Solution(xr.Dataset(variables, {"time": t, "coordinate": list(problem.reduced_coordinates)}))


def change(problem):
    """∫χ dρ from start to end."""
    solution = exact_noisy_solution(problem, 2)
    return np.subtract(*(wl.observables.average(lambda rows: even(rows.T))(solution.at(t)) for t in (1.0, 0.0)))


def even(theta):
    return theta[0] ** 3 * (theta[1] ** 2 + 0.3 * theta[-1] ** 4)


@pytest.mark.some(1)
@pytest.mark.parametrize("d, informative", [(1, None), (2, None), (20, None), (20, 7)])
def test_noise_adds_the_laplacian_and_the_drift_of_the_radii(d, informative):
    problem = noisy(d, informative)
    errors = [total(problem, exact_noisy_solution(problem, saves), even) for saves in (17, 33, 65)]
    assert 3.5 < np.log2(errors[1] / errors[2]) < 5.5
    assert errors[-1] < 1e-4 * abs(change(problem))


def test_another_temperature_keeps_its_residual():
    problem = noisy(20)
    solution = exact_noisy_solution(problem, SAVES)
    assert total(noisy(20, beta=1.01 * BETA), solution, even) > 1e3 * total(problem, solution, even)


def test_with_noise_an_even_function_is_harmless_at_the_origin():
    problem = noisy(20)
    data = exact_noisy_solution(problem, 3).dataset
    at_zero = data.assign(theta=(data["theta"].dims, data["theta"].values * np.array([1.0, 0.0])))
    # every neuron at r = 0: ∫Lχ dρ = 2/β (∂² + (d − 1) ∂²) (a³ r²) = 2/β · 20 · 2 · 8
    found = weak_residual(problem, wl.Solution(at_zero), lambda theta: theta[0] ** 3 * theta[1] ** 2)
    np.testing.assert_allclose(found, -0.5 * 2 / BETA * 20 * 2 * 8, rtol=1e-12)


def renamed(solution):
    return wl.Solution(solution.dataset.assign_coords(coordinate=["w_1", "w_2", "w_3"]))


REFUSED = {
    "a word": (lambda s: weak_residual("x", s, chi), "wl.Problem"),
    "full coordinates": (
        lambda s: weak_residual(CASES["all trained"], renamed(s), chi),
        "reduced coordinates a, b, r, got 'w_1 … w_3, 3 columns'",
    ),
    "one save": (lambda s: weak_residual(CASES["all trained"], every(s, SAVES), chi), "two or more saves"),
    "replicas": (
        lambda s: weak_residual(CASES["all trained"], wl.Solution(s.dataset.expand_dims("replica")), chi),
        "one run",
    ),
    "no function": (lambda s: weak_residual(CASES["all trained"], s, 3), "that JAX can trace"),
    "untraceable": (lambda s: weak_residual(CASES["all trained"], s, lambda x: math.sin(x[0])), "jax.numpy"),
    "many values": (lambda s: weak_residual(CASES["all trained"], s, lambda x: x), "one number.*shape \\(3,\\)"),
    "noise in infinite dimension": (
        lambda s: weak_residual(noisy(math.inf), exact_noisy_solution(noisy(20), 3), chi),
        "finite dimension, got inf",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_answered_in_one_sentence(name, solutions):
    call, sentence = REFUSED[name]
    with pytest.raises(wl.InputError, match=sentence) as caught:
        call(solutions("all trained"))
    message = str(caught.value)
    assert message.endswith(".") and "\n" not in message and len(message) < 300


@pytest.mark.slow
def test_the_weak_form_knows_rates_and_windows():
    """First w alone, then a alone, at half the rate: zero with those rates, not without them."""
    windows = {"w": wl.schedules.window(0.0, 0.1), "a": wl.schedules.window(0.1)}
    law = wl.initial.gaussian(0.8, a=wl.initial.normal(1.0, 0.3))
    data, neuron = wl.data.gaussian_classes(20, 0.8), wl.neurons.ridge("ramp", outer="trained")
    problem = wl.Problem(data, neuron, law, mobility=windows)
    solution = wl.solve(problem, wl.MeanField(64), 0.2, save=41)
    chi = lambda theta: theta[0] ** 2 + theta[1] ** 2  # noqa: E731
    assert np.abs(wl.observables.weak_residual(problem, solution, chi)).max() < 1e-5
    assert np.abs(wl.observables.weak_residual(wl.Problem(data, neuron, law), solution, chi)).max() > 1e-3
    with pytest.raises(wl.InputError, match="jumps must be among the saves"):
        wl.observables.weak_residual(problem, wl.solve(problem, wl.MeanField(8), 0.2, save=[0.0, 0.15, 0.2]), chi)
