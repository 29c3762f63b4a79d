"""Neurons in their own field: Mehler's series against the closed kernel, and the certificate of what it leaves out."""

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.measures import Cloud
from widelimit.potentials import pair_series
from widelimit.potentials.hermite import angle_moment
from widelimit.potentials.pair_kernels import RUN
from widelimit.potentials.pair_series import families, seen_by
from widelimit.potentials.pairwise_landscape import _gradient_errors, _kernel_risk
from widelimit.potentials.series_bounds import ORDERS, bounds, of_lean_passes
from widelimit.problem import activations as ac

D, N, RIDGE = 12, 8, 0.1
CASES = pytest.mark.parametrize(
    "activation, informative",
    [(ac.ramp(), None), pytest.param(ac.ramp(), 5, marks=pytest.mark.slow), (ac.relu, 5), (ac.erf, None)],
    ids=["ramp isotropic", "ramp anisotropic", "relu anisotropic", "erf isotropic"],
)


def full(activation, informative=None, outer="trained", bias="trained", **change):
    neuron = wl.neurons.ridge(activation, outer=outer, bias=bias)
    scalars = {name: 1.0 for name in neuron.scalars}
    start = wl.initial.gaussian(0.4, **scalars)
    problem = wl.Problem(wl.data.gaussian_classes(D, 0.6, informative), neuron, start, ridge=RIDGE)
    return replace(wl.landscape(problem), **change)


def cloud(seed=0, size=1.0, align=0.0, n=N):
    """Neurons with unequal weights; ``align`` = 1 makes them parallel."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(n, D)) / math.sqrt(D)
    w = size * ((1 - align) * w + align * np.sign(rng.normal(size=(n, 1))) * w[0] * rng.uniform(0.5, 1.5, (n, 1)))
    p = rng.uniform(0.2, 1.0, n)
    return jnp.asarray(np.hstack([rng.normal(1.0, 0.7, (n, 1)), rng.normal(0.0, 0.7, (n, 1)), w])), jnp.asarray(
        p / p.sum()
    )


def spread():
    """Neurons far from parallel, for which a low order suffices."""
    theta, p = cloud(1)
    return jnp.asarray(np.hstack([theta[:, :2], 0.8 * np.eye(N, D) + 0.1 * theta[:, 2:]])), p


@pytest.mark.some(1)
@CASES
def test_the_series_gradient_is_that_of_the_closed_kernel(activation, informative):
    here, (theta, p) = full(activation, informative), spread()
    series = here.near(theta, p)
    assert series.runs is not None and series.runs <= 8
    expected = here.gradient(theta, theta, p)
    np.testing.assert_allclose(series.self_gradient(theta, p), expected, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_neurons_without_outer_weight_or_bias_have_those_columns_less():
    (theta, p), bare = spread(), full(ac.ramp(), 5, "absent", "absent")
    theta = theta.at[:, 0].set(1.0).at[:, 1].set(0.0)
    gradient = full(ac.ramp(), 5, runs=5).self_gradient(theta, p)
    rows = theta[:, 2:]
    np.testing.assert_allclose(replace(bare, runs=5).self_gradient(rows, p), gradient[:, 2:], rtol=0, atol=1e-13)
    np.testing.assert_allclose(bare.self_gradient(rows, p), gradient[:, 2:], rtol=0, atol=1e-9)


@jax.jit
def series_risk(here, theta, p):
    """R with eight runs of orders."""
    seen = [(family, seen_by(family, here.sigma, *here.penalty.columns.split(theta))) for family in here.families]
    return sum(pair_series.risk_parts(family, here.sigma, at, p).cut(8).value for family, at in seen)


@pytest.mark.more
def test_the_first_length_is_what_random_directions_leave_out():
    here = full(ac.ramp())

    @jax.vmap
    def left_out(key):
        theta, p = cloud(1)
        u = jax.random.normal(key, (N, D))
        theta = theta.at[:, 2:].set(0.8 * u / jnp.linalg.norm(u, axis=1, keepdims=True))
        at = seen_by(here.families[0], here.sigma, *here.penalty.columns.split(theta), 6 * RUN)
        part = pair_series.risk_parts(here.families[0], here.sigma, at, p)
        with_itself = jnp.sum(part.loads.push[0] ** 2, axis=-1) @ part.p[:, 0] * angle_moment(RUN, D) / (RUN + 1)
        return part.cut(1).left_out, part.left_out_at_random[0] - with_itself

    seen, expected = map(np.asarray, jax.jit(left_out)(jax.random.split(jax.random.key(0), 4000)))
    error = seen.std(ddof=1) / math.sqrt(len(seen))
    assert abs(seen.mean() - expected.mean()) <= 4 * error < 0.3 * expected.mean()


@pytest.mark.parametrize("size, outer", [(1.0, 1.0), (1e3, 1.0), (1.0, 1e-25), (1.0, 1e25)])
def test_the_bound_in_single_precision_is_above_the_bound_by_less_than_its_margin(size, outer):
    """Parallel neurons among them, long ones, and outer weights beyond the range of single precision."""
    here, (theta, p) = full(ac.ramp()), cloud(3, size, 0.2, 30)
    theta = theta.at[:, 0].multiply(outer).at[4].set(theta[5])
    family = here.families[0]
    at = seen_by(family, here.sigma, *here.penalty.columns.split(theta), 6 * RUN)
    part = pair_series.risk_parts(family, here.sigma, at, p)
    for runs in (1, 3, 6):
        load, power = np.asarray(part.loads.push[runs - 1]), np.asarray(at.corr) ** (RUN * runs)
        exact = float(np.sum(np.asarray(part.p) * (load @ power * load))) / (RUN * runs + 1)
        assert exact <= float(part.cut(runs).left_out) <= exact * pair_series.BY_SINGLES**2


@pytest.mark.more
@pytest.mark.parametrize("activation", [ac.ramp(), pytest.param(ac.tanh, marks=pytest.mark.slow)], ids=ac.name_of)
def test_the_series_gradient_is_the_slope_of_half_the_risk(activation):
    here, (theta, p) = full(activation, 5, runs=5), spread()
    gradient, h = np.asarray(here.self_gradient(theta, p)), 1e-3
    for i, j in ((0, 0), (2, 1), (3, 2), (5, 9), (7, 13)):
        step = h * np.zeros((N, D + 2))
        step[i, j] = h
        at = {e: float(series_risk(here, theta + e * step, p)) / 2 for e in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        assert gradient[i, j] == pytest.approx(slope / float(p[i]) + RIDGE * float(theta[i, j]), abs=1e-7)


@pytest.mark.more
def test_the_gradient_where_the_weight_or_the_neuron_vanishes():
    """A neuron without weight is a tracer; at w = 0, ∇_w Ψ = a σ'(b) E (f − y) x, here checked by steps of Ψ."""
    here, (theta, p) = full(ac.erf), spread()
    theta = theta.at[3, 2:].set(0.0)
    p = p.at[3].set(0.0)
    p = p / p.sum()
    gradient, h = np.asarray(replace(here, runs=4).self_gradient(theta, p)), 1e-3
    assert np.all(np.isfinite(gradient))
    rho = Cloud(np.asarray(theta), np.asarray(p), here.coordinates)
    for j in range(2, 6):
        step = np.zeros(D + 2)
        step[j] = h
        at = {e: float(here.psi(theta[3] + e * step, rho)[0]) for e in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        assert gradient[3, j] == pytest.approx(slope, abs=1e-8)
    assert np.abs(gradient[3, 2:]).max() > 1e-3


@pytest.mark.more
@pytest.mark.parametrize("activation", [ac.ramp(), pytest.param(ac.tanh, marks=pytest.mark.slow)], ids=ac.name_of)
def test_replicas_mapped_are_replicas_one_by_one(activation):
    here = full(activation, runs=2)
    replicas = jnp.stack([cloud(seed)[0] for seed in range(3)])
    p = cloud()[1]
    mapped = jax.jit(jax.vmap(here.self_gradient, (0, None)))(replicas, p)
    one_by_one = jnp.stack([here.self_gradient(theta, p) for theta in replicas])
    np.testing.assert_allclose(mapped, one_by_one, rtol=1e-12, atol=1e-12)


@pytest.mark.more
@CASES
def test_the_certificate_is_honest_and_not_wildly_pessimistic(activation, informative):
    here = full(activation, informative)
    ratios = []
    for seed, (size, align) in enumerate([(1.0, 0.0), (0.2, 0.0), (2.0, 0.5), (1.0, 0.9), (0.5, 0.999)]):
        theta, p = cloud(seed, size, align)
        exact = here.gradient(theta, theta, p)
        for order in (8, 16):
            error = np.linalg.norm(replace(here, runs=order // 8).self_gradient(theta, p) - exact, axis=1).max()
            bound = largest_error(here, order, theta, p)
            assert error <= bound + 1e-11 * (1 + float(jnp.abs(exact).max()))
            ratios.append(error / bound)
    assert max(ratios) > 1e-3


@pytest.mark.more
def test_a_lean_pass_differs_from_one_in_double_precision_by_no_more_than_its_roundings():
    here = full(ac.ramp())
    for seed, align in enumerate([0.0, 0.3, 0.6]):
        theta, p = cloud(seed, align=align)
        parts = [
            bounds(family, here.sigma, seen_by(family, here.sigma, *here.penalty.columns.split(theta)), p, ("a", "b"))
            for family in here.families
        ]
        errors = np.asarray(_gradient_errors(here, theta, p))
        for runs in (2, 4, 6):
            exact, rounded = (replace(here, runs=runs, lean=x).self_gradient(theta, p) for x in (False, True))
            found = np.linalg.norm(rounded - exact, axis=1).max() / max(sum(np.asarray(part.scale) for part in parts))
            allowed = of_lean_passes(errors)[runs - 1] - errors[runs - 1]
            assert 1e-4 * allowed < found <= allowed


def largest_error(here, order, theta, p):
    """The bound of max_i |∇Ψ_i − ∇Ψ_{i,K}|, written out pair by pair."""
    a, m, w = np.asarray(theta[:, 0]), np.asarray(theta[:, 1]), np.asarray(theta[:, 2:])
    total, scale = np.zeros(N), np.zeros(N)
    for q, tau in zip(*(np.asarray(part) for part in here.classes), strict=True):
        v = w * tau
        s = np.linalg.norm(v, axis=1)
        corr = np.abs(v @ v.T / np.outer(s, s)) * (1 - np.eye(N))
        whole, cut = (tail(here.sigma, k, m, s) for k in (0, order))
        kappa = 1 + math.sqrt((order + 2) / (order + 1))
        arm = np.abs(a) * cut * (kappa * tau.max() + 1 / math.sqrt(order + 1)) + s * cut / (order + 1)
        total += q * arm * corr.max(axis=1) ** (order - 4) * (corr**4 @ (np.abs(np.asarray(p) * a) * s * cut))
        scale += q * (np.abs(a) * whole * (tau.max() + 1) + s * whole) * (np.abs(np.asarray(p) * a) @ (s * whole))
    relative = float(_gradient_errors(here, theta, p)[order == ORDERS][0])
    assert relative == pytest.approx(total.max() / scale.max(), rel=1e-3)  # what `near` and `holds` go by
    return total.max()


def tail(activation, order, m, s):
    """√(Σ_{k≥order} A'_k²), A'_k = E σ'(m + sG) h_k(G) by the trapezoidal rule."""
    g = np.linspace(-9, 9, 20001)
    weights = np.exp(-0.5 * g * g) / np.exp(-0.5 * g * g).sum()
    slope = np.asarray(jax.vmap(jax.grad(lambda x: activation(x)))(jnp.asarray(m[:, None] + s[:, None] * g).ravel()))
    slope = slope.reshape(len(m), -1)
    left, before, here = slope**2 @ weights, 0 * g, 1 + 0 * g
    for k in range(order):
        left = left - ((slope * here) @ weights) ** 2
        before, here = here, (g * here - math.sqrt(k) * before) / math.sqrt(k + 1)
    return np.sqrt(np.maximum(left, 0.0))


@pytest.mark.more
def test_near_takes_a_higher_order_as_neurons_align_and_the_kernel_in_the_end():
    here = full(ac.ramp())
    clouds = [spread()[0], cloud(2)[0], cloud(2, align=0.4)[0], cloud(2, align=1.0)[0]]
    p = cloud()[1]
    chosen = [here.near(theta, p) for theta in clouds]
    orders = [land.runs or math.inf for land in chosen]
    assert orders == sorted(orders) and len(set(orders)) == 4 and math.isinf(orders[-1])
    for land, theta in zip(chosen, clouds, strict=True):
        assert land.holds(theta, p)
        np.testing.assert_allclose(land.self_gradient(theta, p), here.gradient(theta, theta, p), rtol=0, atol=1e-9)
    assert not chosen[0].holds(clouds[1], p) and not chosen[1].holds(clouds[2], p) and chosen[2].holds(clouds[0], p)
    together = jnp.stack(clouds[:3])
    assert (
        here.near(together, p).runs == chosen[2].runs
        and chosen[2].holds(together, p)
        and not chosen[1].holds(together, p)
    )


def test_near_leaves_room_to_move():
    here, (theta, p) = full(ac.ramp()), spread()
    for seed in range(3):
        moved = theta + 1e-3 * np.random.default_rng(seed).normal(size=theta.shape)
        assert here.near(theta, p).holds(moved, p)


@pytest.mark.slow
def test_near_takes_the_kernel_of_a_function_without_closed_form_too():
    here, (theta, p) = full(ac.tanh), cloud(2, size=4.0, align=1.0)
    land = here.near(theta, p)
    assert land.runs is None and land.holds(theta, p)
    np.testing.assert_allclose(land.self_gradient(theta, p), here.gradient(theta, theta, p), rtol=0, atol=1e-13)


def test_the_reduced_landscape_carries_a_move_itself():
    neuron = wl.neurons.ridge("ramp", outer="trained", bias="trained")
    start = wl.initial.gaussian(0.4, a=1.0, b=0.0)
    reduced = wl.landscape(wl.Problem(wl.data.gaussian_classes(D, 0.6), neuron, start), reduced=True, tolerance=1e-3)
    rows, p = jnp.ones((3, 3)), jnp.full(3, 1 / 3)
    assert reduced.near(rows, p) is reduced and reduced.better(rows, p) is None


def test_classes_with_proportional_covariances_share_a_family():
    one = families(wl.data.gaussian_classes(6, 0.5))
    assert len(one) == 1 and np.allclose(one[0].tau, [1.5, 0.5]) and np.allclose(one[0].base, 1)
    two = families(wl.data.gaussian_classes(6, 0.5, 2))
    assert len(two) == 2
    assert np.allclose(
        np.concatenate([f.tau[:, None] * f.base for f in two]), [[1.5] * 2 + [1] * 4, [0.5] * 2 + [1] * 4]
    )


@pytest.mark.slow
def test_the_error_of_a_risk_covers_what_its_series_leaves_out():
    here, (theta, p) = full(ac.ramp(), 5, tolerance=0.1), cloud(1)
    missed = abs(float(here.risk_of(theta, p)) - float(_kernel_risk(here, theta, p)))
    assert 1e-8 < missed <= here.errors_at(theta, p).risk <= 0.11


@pytest.mark.slow
def test_the_closed_kernel_keeps_its_digits_on_the_diagonal():
    """Cosines of a neuron with itself miss 1 by rounding: U(θ, θ) and its gradient must not lose half their digits."""
    here, (theta, p) = full(ac.ramp(), 5), cloud(3)
    gradient = here.gradient(theta, theta, p)
    by_risk = jax.jit(jax.grad(lambda t: _kernel_risk(here, t, p)))(theta)
    np.testing.assert_allclose(gradient, by_risk / (2 * p[:, None]) + RIDGE * theta, rtol=0, atol=1e-11)
    np.testing.assert_allclose(gradient, replace(here, runs=13).self_gradient(theta, p), rtol=0, atol=1e-10)
