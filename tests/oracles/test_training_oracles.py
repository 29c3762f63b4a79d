"""Finite networks in plain loops, flows by Runge–Kutta."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from activation_table import SIGMAS
from feature_landscapes import data_set, radial_classes, two_classes
from gaussian_landscape import GaussianLandscape, GaussianLaw
from library_problems import random_full
from link_terms import LINKS
from plain_training import flow, gd_loop, rk4, sgd_loop
from scipy.stats import chi

import widelimit as wl

D, N, STEP, COUNT = 4, 3, 0.02, 150  # COUNT steps: more than one block of SGD, and no multiple of one


class Recorded:
    """A law that keeps the samples it hands out, in order."""

    def __init__(self):
        self.rows = []

    def __call__(self, key, n):
        x = jax.random.normal(key, (n, D))
        y = x[:, 0] * x[:, 1] + 0.5
        if n != 64:
            jax.debug.callback(lambda x, y: self.rows.append((np.array(x), np.array(y))), x, y, ordered=True)
        return x, y

    @property
    def samples(self):
        jax.effects_barrier()
        return tuple(np.concatenate(part) for part in zip(*self.rows, strict=True))


def trained_by_sgd(neuron, scalars, options, dtype="float64", batch=1):
    """The neurons before and after SGD, and the samples it saw."""
    theta = random_full(np.random.default_rng(0), N, scalars, D)
    if neuron.inner == "sphere":
        theta[:, len(scalars) :] /= np.linalg.norm(theta[:, len(scalars) :], axis=1, keepdims=True)
    recorded = Recorded()
    data = wl.data.sampler(recorded, D, samples=64)
    problem = wl.Problem(data, neuron, wl.initial.array(theta, coordinates="full"), **options)
    run = wl.solve(problem, wl.SGD(N, STEP, batch, dtype), COUNT * STEP, save=2, keep="full")
    return theta, run.final.theta, recorded.samples


def ridge(role="trained", **options):
    return wl.neurons.ridge("tanh", outer=role, bias="trained", **options)


def spheres(theta):
    return np.column_stack([theta[:, :2], theta[:, 2:] / np.linalg.norm(theta[:, 2:], axis=1, keepdims=True)])


def path_slope(theta):
    size = np.linalg.norm(theta[:, 2:], axis=1, keepdims=True)
    a = theta[:, :1]
    return np.column_stack([np.sign(a) * size, 0 * a, np.abs(a) * theta[:, 2:] / size])


def windowed(k):
    w = 1.0 if k * STEP * (1 + 1e-12) < 1.0 else 0.0
    return np.array([0.5, 2.0, *(w,) * D])


PLAIN = np.full(COUNT, STEP)
POWER = STEP * (np.arange(COUNT) * STEP + (np.arange(COUNT) == 0)) ** -0.25
POWER[0] = STEP**0.75 / 0.75  # ∫ t^{-1/4} over the first step
SGDS = {
    "plain": (ridge(), {}, PLAIN, {}),
    "batch": (ridge(), {}, PLAIN, {"batch": 5}),
    "ridge": (ridge(), {"ridge": 0.3}, PLAIN, {"decay": lambda theta: 0.3 * theta}),
    "schedule": (ridge(), {"schedule": wl.schedules.power(0.25)}, POWER, {}),
    "mobility": (ridge(), {"mobility": {"a": 0.5, "b": 2.0, "w": wl.schedules.window(0.0, 1.0)}}, PLAIN,
                 {"rates": windowed}),
    "fixed a": (ridge("fixed"), {"ridge": 0.3}, PLAIN,
                {"decay": lambda theta: 0.3 * theta, "rates": lambda k: np.array([0.0, *(1.0,) * (D + 1)])}),
    "path": (ridge(), {"ridge": 0.2, "regulariser": wl.regularisers.path()}, PLAIN,
             {"decay": lambda theta: 0.2 * path_slope(theta)}),
    "rounded": (ridge(), {"ridge": 0.2, "regulariser": wl.regularisers.rounded()}, PLAIN,
                {"decay": lambda theta: 0.2 * theta / np.sqrt(1 + (theta**2).sum(1, keepdims=True))}),
    "sphere": (ridge(inner="sphere"), {}, PLAIN, {"after": spheres}),
}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "name", [n if n in ("plain", "ridge") else pytest.param(n, marks=pytest.mark.slow) for n in SGDS]
)
def test_sgd_is_the_plain_loop_over_its_samples(name):
    neuron, options, sizes, loop = SGDS[name]
    start, found, samples = trained_by_sgd(neuron, "ab", options, batch=loop.get("batch", 1))
    wanted = sgd_loop(start, samples, SIGMAS["tanh"], "ab", sizes, **loop)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11)
    assert np.abs(wanted - start).max() > 0.05


@pytest.mark.slow
def test_sgd_in_single_precision_is_the_plain_loop_to_seven_digits():
    start, found, samples = trained_by_sgd(ridge(), "ab", {"ridge": 0.3}, "float32")
    samples = tuple(part.astype("float32").astype(float) for part in samples)
    wanted = sgd_loop(start, samples, SIGMAS["tanh"], "ab", PLAIN, decay=lambda theta: 0.3 * theta)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-5)


SILENT = wl.neurons.ridge(wl.activations.polynomial([0.0]), outer="trained")


def test_small_steps_in_single_precision_keep_the_ridge():
    """θ ← (1 − 2ελ) θ with 2ελ = 2e−8, below the rounding of a float32: after 20,000 steps 4e−4 is gone."""
    problem = wl.Problem(wl.data.gaussian_classes(4, 0.5), SILENT, wl.initial.array(np.ones((2, 5))), ridge=0.01)
    final = wl.solve(problem, wl.SGD(2, 1e-6, dtype="float32"), 0.02, save=2).final.theta
    gone = -math.expm1(20_000 * math.log1p(-2e-8))
    np.testing.assert_allclose(1 - np.asarray(final, float), gone, rtol=2e-2)


# ---- noise


def noisy(**options):
    return wl.Problem(wl.data.gaussian_classes(6, 0.5), SILENT, wl.initial.gaussian(1.0, a=wl.initial.normal(0, 1)),
                      ridge=0.5, beta=2.0, **options)  # fmt: skip


@pytest.mark.slow
def test_the_path_of_noisy_sgd_does_not_depend_on_what_is_saved():
    neuron = wl.neurons.ridge("tanh")
    problem = wl.Problem(wl.data.gaussian_classes(6, 0.5), neuron, wl.initial.gaussian(1.0), beta=5.0)
    often, seldom = (wl.solve(problem, wl.SGD(4, 0.01), 0.5, seed=3, save=save) for save in (11, 2))
    np.testing.assert_array_equal(often.final.theta, seldom.final.theta)


@pytest.mark.slow
@pytest.mark.parametrize("method", [wl.SGD(4000, 0.02), wl.GD(500, 0.02)], ids=["SGD", "GD"])
def test_noisy_steps_of_silent_neurons_have_the_law_of_an_autoregression(method):
    """Var ← (1 − 2ελ)² Var + 4ε/β for every column; the relative error of a sample variance is √(2/n)."""
    n, run = method.n, wl.solve(noisy(), method, 1.0, save=2, keep="full")
    variance = np.array([1.0, *(1 / 6,) * 6])
    for _ in range(50):
        variance = (1 - 2 * 0.02 * 0.5) ** 2 * variance + 4 * 0.02 / 2.0
    theta = np.asarray(run.final.theta)
    assert (np.abs(theta.var(axis=0) / variance - 1) < 4.5 * math.sqrt(2 / n)).all()
    correlation = np.corrcoef(theta.T) - np.eye(7)
    assert np.abs(correlation).max() < 4.5 / math.sqrt(n)
    assert (np.abs(theta.mean(axis=0)) < 4.5 * np.sqrt(variance / n)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("coordinates", "n"), [("full", 500), ("reduced", 4000)])
def test_a_noisy_flow_of_silent_neurons_is_an_ornstein_uhlenbeck_process(coordinates, n):
    """w ~ N(0, v I), v = e^{−4λt}/d + (1 − e^{−4λt})/(βλ); E r² = d v, Var r² = 2 d v²."""
    t = 0.5
    run = wl.solve(noisy(), wl.ParticleFlow(n, coordinates, noise_step=0.02), t, save=2)
    left = math.exp(-4 * 0.5 * t)
    v = left / 6 + (1 - left) / (2.0 * 0.5)
    square = run.at(t).column("r") ** 2
    assert abs(square.mean() - 6 * v) < 4.5 * v * math.sqrt(12 / n)
    assert abs(square.var() / (12 * v * v) - 1) < 4.5 * math.sqrt(4 / n)


# ---- population gradients and flows

DATA = (np.random.default_rng(4).normal(size=(17, 3)), np.random.default_rng(5).normal(size=17))


def empirical(theta, **options):
    neuron = wl.neurons.ridge("tanh", outer="trained", bias="trained")
    return wl.Problem(wl.data.empirical(*DATA), neuron, wl.initial.array(theta, coordinates="full"), **options)


@pytest.mark.slow
def test_gd_and_the_particle_flow_on_a_data_set():
    theta = random_full(np.random.default_rng(1), 4, "ab", 3)
    own = data_set(SIGMAS["tanh"], *DATA, "ab")

    def gradient(theta):
        return own.gradient(theta, np.full(4, 0.25)) + 0.1 * theta

    problem = empirical(theta, ridge=0.1)
    stepped = wl.solve(problem, wl.GD(4, 0.05), 1.0, save=2, keep="full")
    np.testing.assert_allclose(stepped.final.theta, gd_loop(theta, gradient, np.full(20, 0.05)), atol=1e-12)
    flowed = wl.solve(problem, wl.ParticleFlow(4, rtol=1e-10, atol=1e-12), 1.0, save=2, keep="full")
    wanted = flow(theta, lambda t, x: -2 * gradient(x), [0.0, 1.0])[-1]
    np.testing.assert_allclose(flowed.final.theta, wanted, atol=1e-8)
    assert flowed.risk[-1] == pytest.approx(own.risk(wanted, np.full(4, 0.25)), abs=1e-8)


@pytest.mark.slow
def test_a_flow_with_schedule_and_windows():
    """ξ = e^{−t/2}; w moves until t = 0.6, a from then on, b never."""
    theta = random_full(np.random.default_rng(2), 4, "ab", 3)
    own = data_set(SIGMAS["tanh"], *DATA, "ab")
    rates = {"a": wl.schedules.window(0.6), "b": 0.0, "w": wl.schedules.window(0.0, 0.6)}
    problem = empirical(theta, schedule=wl.schedules.exponential(0.5), mobility=rates)
    found = wl.solve(problem, wl.ParticleFlow(4, rtol=1e-10, atol=1e-12), 1.0, save=2, keep="full").final.theta

    def velocity(t, x, M):
        return -2 * math.exp(-0.5 * t) * M * own.gradient(x, np.full(4, 0.25))

    first = flow(theta, lambda t, x: velocity(t, x, np.array([0.0, 0.0, 1.0, 1.0, 1.0])), [0.0, 0.6])[-1]
    wanted = flow(first, lambda t, x: velocity(t, x, np.array([1.0, 0.0, 0.0, 0.0, 0.0])), [0.6, 1.0])[-1]
    np.testing.assert_allclose(found, wanted, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_gd_and_the_particle_flow_of_gaussian_inputs_in_full_coordinates(name):
    theta, d = random_full(np.random.default_rng(3), 3, "a", 4), 4
    neuron = wl.neurons.ridge(name, outer="trained")
    problem = wl.Problem(wl.data.single_index(d, "He2(z)"), neuron, wl.initial.array(theta, coordinates="full"))
    own = GaussianLandscape(GaussianLaw((d - 1,), link=LINKS["He2(z)"]), SIGMAS[name], "a", reduced=False)

    def gradient(x):
        return own.numbers(x, np.full(3, 1 / 3))[2]

    stepped = wl.solve(problem, wl.GD(3, 0.05), 0.2, save=2, keep="full").final.theta
    np.testing.assert_allclose(stepped, gd_loop(theta, gradient, np.full(4, 0.05)), atol=1e-9)
    flowed = wl.solve(problem, wl.ParticleFlow(3, rtol=1e-10, atol=1e-12), 0.2, save=2, keep="full").final.theta
    np.testing.assert_allclose(flowed, rk4(theta, lambda t, x: -2 * gradient(x), 0.2, 4), atol=2e-5)


@pytest.mark.slow
def test_the_limit_is_a_flow_of_quantiles():
    """r = κ χ_d/√d at the mid-quantiles, moved by Runge–Kutta in their own field; so are GD and PD of radii."""
    d, m, t = 40, 24, 1.0
    own = radial_classes(SIGMAS["gelu"], d, two_classes(0.6), points=12)
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(2.0))
    r = 2.0 / math.sqrt(d) * chi(d).ppf((np.arange(m) + 0.5) / m)[:, None]
    run = wl.solve(problem, wl.MeanField(m, "equal", rtol=1e-10, atol=1e-12), t, save=2)
    np.testing.assert_allclose(np.sort(run.at(0.0).column("r")), r[:, 0], rtol=1e-9)
    wanted = rk4(r, lambda s, x: -2 * own.gradient(x, np.full(m, 1 / m)), t, 40)
    np.testing.assert_allclose(np.sort(run.at(t).column("r")), np.sort(wanted[:, 0]), atol=1e-6)
    assert np.abs(wanted - r).max() > 0.1
    assert run.risk[-1] == pytest.approx(own.risk(wanted, np.full(m, 1 / m)), abs=1e-7)


@pytest.mark.slow
def test_tracers_in_the_field_of_the_limit():
    """Points move in their own field, tracers in that of the points, each along its own direction."""
    d, m, n, t = 20, 16, 5, 0.8
    own = radial_classes(SIGMAS["gelu"], d, two_classes(0.6), points=16)
    problem = wl.Problem(wl.data.gaussian_classes(d, 0.6), wl.neurons.ridge("gelu"), wl.initial.gaussian(2.0))
    method = wl.NonlinearFlow(n, points=m, placement="equal", rtol=1e-10, atol=1e-12)
    run = wl.solve(problem, method, t, save=2, keep="full", seed=4)
    start = run.at(0.0).theta
    r0 = np.linalg.norm(start, axis=1)
    points = 2.0 / math.sqrt(d) * chi(d).ppf((np.arange(m) + 0.5) / m)
    weights = np.concatenate([np.full(m, 1 / m), np.zeros(n)])  # tracers have no mass
    both = np.concatenate([points, r0])[:, None]
    moved = rk4(both, lambda s, x: -2 * own.gradient(x, weights), t, 40)[m:, 0]
    np.testing.assert_allclose(run.final.theta, start / r0[:, None] * moved[:, None], atol=1e-6)
    assert np.abs(moved - r0).max() > 0.05


def test_a_pulse_of_the_schedule_moves_as_far_as_its_area():
    """ξ a pulse of width 1e−3 and area ½: the flow ends where that of ξ = 1 is at t = ½."""
    theta = random_full(np.random.default_rng(2), 4, "ab", 3)

    def pulse(t):
        return 0.5 * jnp.exp(-0.5 * ((t - 0.371) / 1e-3) ** 2) / (1e-3 * math.sqrt(2 * math.pi))

    found = wl.solve(empirical(theta, schedule=pulse), wl.ParticleFlow(4), 1.0, save=2, keep="full").final.theta
    own = data_set(SIGMAS["tanh"], *DATA, "ab")
    wanted = flow(theta, lambda t, x: -2 * own.gradient(x, np.full(4, 0.25)), [0.0, 0.5])[-1]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
