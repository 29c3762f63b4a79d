"""The reduced landscape: the full one averaged over rotations, in closed form.

Monte Carlo here draws directions only; the integrand is the exact full landscape, so the error bar is of the angle.
"""

import math
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import roots_jacobi

import widelimit as wl
from widelimit.measures import Cloud
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.reduced_landscape import multi_orders, multi_weight

DRAWS = 20_000
TOLERANCE = 1e-5  # of the sum over Hermite orders, far below the Monte Carlo error
FREE = wl.initial.gaussian(0.4, a=1.0, b=0.0)


def problem(d, informative=None, activation="ramp", ridge=0.0):
    neuron = wl.neurons.ridge(activation, outer="trained", bias="trained")
    return wl.Problem(wl.data.gaussian_classes(d, 0.6, informative), neuron, FREE, ridge=ridge)


ONE = problem(24)
TWO = problem(48, informative=24)
CASES = pytest.mark.parametrize("case", [ONE, TWO], ids=["one radius", "two radii"])


def averaged(case, tolerance=TOLERANCE):
    return wl.landscape(case, reduced=True, tolerance=tolerance)


def reduced_rows(case, n, seed=0):
    rng = np.random.default_rng(seed)
    radii = rng.uniform(0.3, 1.5, (n, len(case.data.groups)))
    return np.hstack([rng.normal(1.0, 0.5, (n, 1)), rng.normal(0.0, 0.5, (n, 1)), radii])


def turned(case, row, n, seed):
    """n full neurons with the scalars and radii of one reduced row, in independent uniform directions."""
    rng = np.random.default_rng(seed)
    blocks = [np.tile(row[:2], (n, 1))]
    for r, group in zip(row[2:], case.data.groups, strict=True):
        w = rng.normal(size=(n, int(group.d)))
        blocks.append(r * w / np.linalg.norm(w, axis=1, keepdims=True))
    return np.hstack(blocks)


def within(samples, expected, errors=4):
    """Whether a sample mean is within so many standard errors of the expected value."""
    return abs(np.mean(samples) - expected) <= errors * np.std(samples) / math.sqrt(len(samples))


@pytest.mark.slow
@CASES
def test_reduced_U_is_full_U_averaged_over_rotations(case):
    full, reduced = wl.landscape(case), averaged(case)
    rows = reduced_rows(case, 4)
    closed = np.asarray(reduced.U(rows[:2], rows[2:]))
    for i in range(2):
        fixed = turned(case, rows[i], 1, seed=i)
        for j in range(2):
            samples = np.asarray(full.U(fixed, turned(case, rows[2 + j], DRAWS, seed=10 + j)))[0]
            assert np.std(samples) > 1e-3 * abs(closed[i, j])
            assert within(samples, closed[i, j])


@pytest.mark.some(1)
@CASES
def test_reduced_U_is_full_U_integrated_over_the_angle_in_each_group(case):
    """The same law without an error bar: the cosine has density ∝ (1 − x²)^{(d − 3)/2}, a Gauss–Jacobi weight."""
    tolerance, count = 1e-7, 32
    rules = [roots_jacobi(count, (g.d - 3) / 2, (g.d - 3) / 2) for g in case.data.groups]
    cosines = np.stack([x.ravel() for x in np.meshgrid(*(x for x, _ in rules))], axis=1)
    weights = np.prod(np.stack([w.ravel() for w in np.meshgrid(*(w / w.sum() for _, w in rules))]), axis=0)
    one, two = reduced_rows(case, 2)
    fixed, others = [np.tile(one[:2], (1, 1))], [np.tile(two[:2], (len(weights), 1))]
    for r, r2, c, g in zip(one[2:], two[2:], cosines.T, case.data.groups, strict=True):
        plane = np.eye(2, int(g.d))
        fixed.append(r * plane[:1])
        others.append(r2 * (c[:, None] * plane[0] + np.sqrt(1 - c[:, None] ** 2) * plane[1]))
    integrated = np.asarray(wl.landscape(case).U(np.hstack(fixed), np.hstack(others)))[0] @ weights
    size = math.sqrt(np.prod(mean_square(case, np.stack([one, two]))))
    closed = float(averaged(case, tolerance).U(one, two)[0, 0])
    assert abs(closed - integrated) <= tolerance * size


@CASES
def test_V_depends_on_radii_alone(case):
    rows = reduced_rows(case, 3)
    full = np.stack([wl.landscape(case).V(turned(case, row, 5, seed=3)) for row in rows])
    closed = np.asarray(averaged(case).V(rows))
    np.testing.assert_allclose(full, np.repeat(closed[:, None], 5, axis=1), rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@CASES
def test_many_turned_copies_have_the_reduced_risk(case):
    rows = reduced_rows(case, 3)
    full, reduced = wl.landscape(case), averaged(case)
    copies = 60
    cloud = np.concatenate([turned(case, row, copies, seed=20 + i) for i, row in enumerate(rows)])
    pairs = np.asarray(full.U(cloud, cloud))
    risk = 1 + 2 * np.asarray(full.V(cloud)).mean() + pairs.mean()
    averages = np.asarray(reduced.U(rows, rows))
    # self-interaction apart, the mean of R(copies) is R_reduced: its excess is (U_full(θ, θ) − U_reduced(θ, θ))/n
    excess = (np.diag(pairs).mean() - np.diag(averages).mean()) / len(cloud)
    # the rest is a degenerate U-statistic, because rotations leave ∫U(θ, ·) unchanged
    deviations = pairs - np.kron(averages, np.ones((copies, copies)))
    error = math.sqrt(2 * np.mean(deviations**2)) / len(cloud)
    assert excess > error and abs(risk - excess - reduced.risk(rows)) <= 4 * error


def test_reducing_full_neurons_recovers_their_radii():
    rows = reduced_rows(TWO, 4)
    full = np.concatenate([turned(TWO, row, 1, seed=i) for i, row in enumerate(rows)])
    np.testing.assert_allclose(wl.reduce(TWO, full), rows, rtol=1e-14)


@pytest.mark.some(1)
@CASES
def test_feature_risk_is_the_quadratic_form_of_V_and_U(case):
    rows = reduced_rows(case, 7)
    p = np.random.default_rng(1).dirichlet(np.ones(7))
    reduced = averaged(case)
    quadratic = 1 + 2 * p @ np.asarray(reduced.V(rows)) + p @ np.asarray(reduced.U(rows, rows)) @ p
    assert reduced.risk(Cloud(rows, p, reduced.coordinates)) == pytest.approx(quadratic, rel=1e-12)


def bare(d, activation, informative=None):
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.6, informative), wl.neurons.ridge(activation), wl.initial.gaussian(0.4)
    )


BY_HAND = {
    "ramp": lambda x: float(np.interp(x, [0.5, 1.5], [-2.5, 7.5])),
    "tanh": math.tanh,
    "softplus": lambda x: float(np.logaddexp(0, x)),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_isotropic_risk_in_infinite_dimension_is_the_one_found_by_hand(name):
    sigma = BY_HAND[name]
    r, p = np.array([0.2, 0.9, 1.7, 3.0]), np.array([0.1, 0.4, 0.3, 0.2])

    def q(s):
        breaks = [-9.0, *(t for t in (0.5 / s, 1.5 / s) if t < 9), 9.0]
        return sum(quad(lambda g: sigma(s * g) * density(g), a, b, epsabs=1e-11)[0] for a, b in pairwise(breaks))

    inner, outer = (sum(w * q(s * x) for w, x in zip(p, r, strict=True)) for s in (0.4, 1.6))
    expected = 0.5 * (1 - outer) ** 2 + 0.5 * (1 + inner) ** 2
    computed = wl.landscape(bare(math.inf, name), reduced=True).risk(Cloud(r[:, None], p, ("r",)))
    assert computed == pytest.approx(expected, abs=1e-9)


def test_finite_dimension_tends_to_the_infinite_one_like_one_over_d():
    rows = np.array([[0.7], [1.2]])
    limit = np.asarray(wl.landscape(bare(math.inf, "ramp"), reduced=True).U(rows, rows))
    second = np.array([[second_order(t * r) for r in (0.7, 1.2)] for t in (1.6, 0.4)])
    leading = 0.5 * second.T @ second
    for d in (500, 2000):  # U_d − U_∞ = A_2 A_2'/d + R, |R| ≤ M_4(d) E σ², M_4 = 3/(d(d+2)), E σ² ≤ max σ²
        gap = np.asarray(wl.landscape(bare(d, "ramp"), reduced=True).U(rows, rows)) - limit
        assert np.all(np.abs(d * gap - leading) <= 3 / d * 7.5**2)
        assert np.all(3 / d * 7.5**2 < leading)


def second_order(s):
    """E σ(sG) h_2(G) for the ramp of [mmn18]."""
    edges = [-10.0, -5.0, 0.0, 0.5 / s, 1.5 / s, 10.0]
    return sum(
        quad(
            lambda g: float(np.interp(s * g, [0.5, 1.5], [-2.5, 7.5])) * (g * g - 1) / math.sqrt(2) * density(g), a, b
        )[0]
        for a, b in pairwise(edges)
    )


def density(g):
    return math.exp(-g * g / 2) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("k, d", [(2, 3), (4, 3), (6, 10), (2, 40), (8, 1), (4, 2)])
def test_angle_moments_are_those_of_random_directions(k, d):
    w = np.random.default_rng(k * d).normal(size=(200_000, d))
    cosines = w[:, 0] / np.linalg.norm(w, axis=1)
    moment = angle_moment(k, d)
    assert abs(np.mean(cosines**k) - moment) <= 4 * np.std(cosines**k) / math.sqrt(len(w)) + 1e-12
    if d > 1:  # density ∝ sin^{d−2} of the angle
        top, bottom = (quad(lambda t, j=j: math.cos(t) ** j * math.sin(t) ** (d - 2), 0, math.pi)[0] for j in (k, 0))
        assert moment == pytest.approx(top / bottom, rel=1e-10)
    assert angle_moment(k + 1, d) == 0 and angle_moment(k, math.inf) == 0 and angle_moment(0, d) == 1


@pytest.mark.some(1)
@pytest.mark.parametrize("case", [problem(40), problem(60, informative=30)], ids=["one radius", "two radii"])
def test_a_tolerance_bounds_the_change_of_U(case):
    rows = reduced_rows(case, 6)
    coarse, fine = (averaged(case, t) for t in (1e-6, 1e-12))
    assert len(coarse.orders) < len(fine.orders)
    size = np.sqrt(mean_square(case, rows))
    change = np.abs(np.asarray(coarse.U(rows, rows) - fine.U(rows, rows)))
    assert np.all(change <= 1e-6 * np.outer(size, size)) and np.max(change) > 0


def test_multi_order_weights_add_up_to_the_moments_of_the_whole_angle():
    groups = wl.data.gaussian_classes(8, 0.5, informative=3).groups
    for total in range(2, 12, 2):  # Σ_{k_1 + k_2 = k} of p_1^{k_1} p_2^{k_2} weights = E (p_1 cos_1 + p_2 cos_2)^k
        weight = sum(multi_weight((k, total - k), groups) * 0.3**k * 0.7 ** (total - k) for k in range(0, total + 1, 2))
        rng = np.random.default_rng(total)
        cosines = [x[:, 0] / np.linalg.norm(x, axis=1) for x in (rng.normal(size=(100_000, int(g.d))) for g in groups)]
        samples = (0.3 * cosines[0] + 0.7 * cosines[1]) ** total
        assert abs(samples.mean() - weight) <= 4 * samples.std() / math.sqrt(len(samples)) + 1e-15


def mean_square(case, rows):
    """E σ*² of reduced rows, by the trapezoidal rule."""
    g = np.linspace(-9, 9, 4001)
    weights = np.exp(-0.5 * g * g) / np.exp(-0.5 * g * g).sum()
    tau = np.array([group.tau for group in case.data.groups])
    s = np.sqrt(rows[:, 2:] ** 2 @ tau**2)  # (n, classes)
    responses = np.interp(rows[:, 1, None, None] + s[:, :, None] * g, [0.5, 1.5], [-2.5, 7.5])
    return rows[:, 0] ** 2 * np.mean(responses**2 @ weights, axis=1)


def test_every_multi_order_above_the_tolerance_is_kept():
    kept = set(multi_orders(TWO.data.groups, 1e-4))
    for one in range(0, 40, 2):
        for two in range(0, 40, 2):
            k = one + two
            share = (one / k) ** one * (two / k) ** two if k else 1.0
            assert ((one, two) in kept) == (share * multi_weight((one, two), TWO.data.groups) > 1e-4)


@pytest.mark.slow
def test_the_error_of_a_sum_that_cannot_reach_its_tolerance_is_measured():
    """In two dimensions order 60 leaves more than 1e−8 of U; full coordinates, averaged over angles, are exact."""
    plane = problem(2)
    land, rows = wl.landscape(plane, reduced=True), reduced_rows(ONE, 2)
    angle = 2 * np.pi * (np.arange(4000) + 0.5) / 4000
    turned = np.column_stack([np.repeat(rows[:1, :2], 4000, 0), rows[0, 2] * np.cos(angle), rows[0, 2] * np.sin(angle)])
    exact = np.mean(wl.landscape(plane).U(turned[:1], turned))
    error = abs(float(land.U(rows[:1], rows[:1])[0, 0]) - exact)
    stated = land.errors(rows[:1]).U[0, 0]
    assert 1e-8 < error < stated < 10 * error


def test_making_every_direction_informative_is_the_isotropic_problem():
    every, isotropic = problem(24, informative=24), ONE
    assert every.reduced_coordinates == isotropic.reduced_coordinates == ("a", "b", "r")
    rows = reduced_rows(ONE, 4)
    np.testing.assert_array_equal(averaged(every).U(rows, rows), averaged(isotropic).U(rows, rows))


def test_two_radii_with_no_weight_on_the_second_are_one_radius():
    """A neuron confined to the s₀ informative directions sees isotropic data in dimension s₀."""
    narrow = reduced_rows(ONE, 4)
    wide = np.hstack([narrow, np.zeros((4, 1))])
    for quantity in (lambda x, y: x.U(y, y), lambda x, y: x.V(y)):
        one = quantity(averaged(ONE), narrow)
        two = quantity(averaged(TWO), wide)
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-13)


@pytest.mark.some(1)
@pytest.mark.parametrize("activation", ["ramp", "tanh"])
@pytest.mark.parametrize("informative", [None, 20], ids=["one radius", "two radii"])
def test_the_gradient_is_the_slope_of_psi_in_every_column(activation, informative):
    case = problem(40, informative, activation, ridge=0.1)
    reduced = averaged(case, tolerance=1e-3)
    rows, cloud = reduced_rows(case, 5), reduced_rows(case, 5, seed=1)
    gradient = np.asarray(reduced.grad_psi(rows, cloud))
    h = 1e-4
    for j in range(rows.shape[1]):
        step = h * np.eye(rows.shape[1])[j]
        at = {e: np.asarray(reduced.psi(rows + e * step, cloud)) for e in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)  # h⁴ and 1e−15·|Ψ|/h
        np.testing.assert_allclose(gradient[:, j], slope, rtol=0, atol=1e-9 * (1 + np.abs(slope).max()))


@pytest.mark.more
def test_a_neuron_at_the_origin_feels_a_finite_force():
    for case in (ONE, TWO):
        rows = np.hstack([[[1.0, 0.5]], np.zeros((1, len(case.data.groups)))])
        here = averaged(case, tolerance=1e-3)
        assert np.all(np.isfinite(here.grad_psi(rows, reduced_rows(case, 3))))


@pytest.mark.slow
@pytest.mark.parametrize("n", [14, pytest.param(23, marks=pytest.mark.slow)])
def test_features_by_chunks_are_features_at_once(n):
    case = problem(24, informative=10, ridge=0.1)
    whole = averaged(case, tolerance=1e-3)
    parts = replace(whole, chunk=7)
    theta, points = (jnp.asarray(reduced_rows(case, n, seed)) for seed in (0, 1))
    weights = jnp.asarray(np.random.default_rng(2).dirichlet(np.ones(n)))
    for quantity in (
        lambda land: land.gradient(theta, points, weights),
        lambda land: land.self_gradient(theta, weights),
        lambda land: land.psi(theta, Cloud(points, weights, land.coordinates)),
        lambda land: land.V(theta),
        lambda land: land.risk_of(points, weights),
    ):
        one, many = (np.asarray(quantity(land)) for land in (whole, parts))
        np.testing.assert_allclose(many, one, rtol=1e-13, atol=1e-13 * np.abs(one).max())


def test_the_gradient_at_the_particles_is_the_gradient_in_their_field():
    here = averaged(problem(24, informative=10, ridge=0.1), tolerance=1e-3)
    theta, weights = jnp.asarray(reduced_rows(TWO, 9)), jnp.full(9, 1 / 9)
    np.testing.assert_allclose(
        here.self_gradient(theta, weights), here.gradient(theta, theta, weights), rtol=0, atol=1e-13
    )


MILLION = """
import re, time
from pathlib import Path
import jax, jax.numpy as jnp
import widelimit as wl
neuron = wl.neurons.ridge("ramp", outer="trained", bias="trained")
start = wl.initial.gaussian(0.4, a=1.0, b=0.0)
here = wl.landscape(wl.Problem(wl.data.gaussian_classes(60, 0.6, 30), neuron, start), reduced=True)
for n in (10**4, 10**5, 10**6):
    theta = 0.3 + jax.random.uniform(jax.random.key(0), (n, 4))
    weights = jnp.full(n, 1 / n)
    for call in (lambda: here.self_gradient(theta, weights), lambda: here.risk_of(theta, weights)):
        jax.block_until_ready(call())
        laps = []
        for _ in range(max(2, 2 * 10**5 // n)):
            began = time.process_time()  # work done: other programs on the machine do not lengthen it
            jax.block_until_ready(call())
            laps.append(time.process_time() - began)
        print(n, sorted(laps)[len(laps) // 2])
peak = re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())  # of this process, not of its parent
print(len(here.orders) * 2, 1024 * int(peak[1]))
"""


@pytest.mark.slow
def test_a_million_neurons_take_linear_time_and_two_gibibytes():
    ran = subprocess.run([sys.executable, "-c", MILLION], capture_output=True, text=True, timeout=1200, check=True)
    *laps, (features, memory) = (map(float, line.split()) for line in ran.stdout.splitlines())
    n, seconds = np.array([list(lap) for lap in laps]).T
    for column in (0, 1):  # gradient and risk
        slope = np.polyfit(np.log(n[column::2]), np.log(seconds[column::2]), 1)[0]
        assert abs(slope - 1) <= 0.1
    assert features >= 150 and memory < 2 * 2**30
