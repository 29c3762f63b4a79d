"""Regularisers: their values and slopes, in every coordinate system, and what each dynamics does with them."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import widelimit as wl
from widelimit.problem.regularisers import Penalty

D, LAMBDA = 12, 0.4
LINE = wl.activations.polynomial([0.0, 1.0])


def squares(a, b, w):
    return 0.5 * (a * a + b * b + jnp.sum(w * w))


def problem(regulariser=None, **change):
    neuron = wl.neurons.ridge("erf", outer="trained", bias="trained")
    start = wl.initial.gaussian(1.0, a=wl.initial.normal(), b=wl.initial.normal())
    given = {} if regulariser is None else {"regulariser": regulariser}
    return wl.Problem(wl.data.gaussian_classes(D, 0.5), neuron, start, ridge=LAMBDA, **given, **change)


VALUES = {
    "squares": (wl.regularisers.squares(a=2.0, b=0.0), lambda a, b, w: a * a + 0.5 * w @ w),
    "path": (wl.regularisers.path(), lambda a, b, w: abs(a) * np.sqrt(w @ w)),
    "rounded": (wl.regularisers.rounded(), lambda a, b, w: np.sqrt(1 + a * a + b * b + w @ w)),
    "function": (lambda a, b, w: jnp.cosh(a) + jnp.sum(w * w) ** 2, lambda a, b, w: np.cosh(a) + (w @ w) ** 2),
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", VALUES)
def test_values_and_slopes_are_those_of_the_formula_in_full_and_reduced_coordinates(name):
    regulariser, formula = VALUES[name]
    case = problem(regulariser)
    theta = np.random.default_rng(0).normal(size=(4, D + 2))
    full, reduced = (Penalty(LAMBDA, case.regulariser, columns) for columns in (case.full, case.reduced))
    expected = [LAMBDA * formula(row[0], row[1], row[2:]) for row in theta]
    np.testing.assert_allclose(full(jnp.asarray(theta)), expected, rtol=1e-13)
    np.testing.assert_allclose(reduced(wl.reduce(case, theta)), expected, rtol=1e-13)
    gradient, h = np.asarray(full.gradient(jnp.asarray(theta))), 1e-5
    for j in (0, 1, 2, D + 1):
        step = h * np.eye(D + 2)[j]
        slope = (full(jnp.asarray(theta + step)) - full(jnp.asarray(theta - step))) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=0, atol=1e-8 * (1 + np.abs(slope).max()))


def test_psi_and_its_gradient_contain_the_regulariser_and_the_risk_does_not():
    with_path = problem(wl.regularisers.path())
    free = wl.Problem(with_path.data, with_path.neuron, with_path.initial)
    theta = np.random.default_rng(1).normal(size=(3, D + 2))
    lands = wl.landscape(with_path), wl.landscape(free)
    added = np.asarray(lands[0].psi(theta, theta)) - np.asarray(lands[1].psi(theta, theta))
    path = np.abs(theta[:, 0]) * np.linalg.norm(theta[:, 2:], axis=1)
    np.testing.assert_allclose(added, LAMBDA * path, rtol=1e-12)
    assert lands[0].risk(theta) == lands[1].risk(theta)
    assert lands[0].energy(theta) == pytest.approx(lands[1].risk(theta) / 2 + LAMBDA * path.mean(), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(wl.SGD(6, 0.01), marks=pytest.mark.slow),
        wl.GD(6, 0.01),
        pytest.param(wl.ParticleFlow(6), marks=pytest.mark.slow),
    ],
    ids=lambda m: type(m).__name__,
)
def test_half_the_squares_written_as_a_function_move_neurons_as_the_default_does(method):
    """SGD then goes step by step instead of in blocks."""
    one, two = (wl.solve(problem(v), method, 0.2, save=3).final.theta for v in (None, squares))
    np.testing.assert_allclose(two, one, rtol=1e-11, atol=1e-12)


def silent(**change):
    """Neurons without output, a = 0: the regulariser alone moves them, dr/dt = −2 λ r/√(1 + r²)."""
    neuron = wl.neurons.ridge("erf", outer="fixed")
    start = wl.initial.gaussian(1.0, a=0.0)
    return wl.Problem(
        wl.data.gaussian_classes(D, 0.5), neuron, start, ridge=LAMBDA, regulariser=wl.regularisers.rounded(), **change
    )


def shrunk(r, t):
    flow = solve_ivp(lambda t, r: -2 * LAMBDA * r / np.sqrt(1 + r * r), (0, t), r, rtol=1e-11, atol=1e-13)
    return flow.y[:, -1]


METHODS = {
    "SGD": (wl.SGD(5, 1e-3), 2e-3), "GD": (wl.GD(5, 1e-3), 2e-3), "ParticleFlow": (wl.ParticleFlow(5), 1e-7),
    "NonlinearFlow": (wl.NonlinearFlow(5, points=16), 1e-7), "MeanField": (wl.MeanField(16), 1e-7),
    "JKO": (wl.JKO(1e-2, cells=16), 2e-2),
}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize("name", METHODS)
def test_neurons_without_output_follow_the_regulariser_alone(name):
    method, tolerance = METHODS[name]
    run = wl.solve(silent(), method, 1.0, save=2)
    start, end = (run.dataset["theta"].sel(coordinate="r").values[i] for i in (0, -1))
    np.testing.assert_allclose(end, shrunk(start, 1.0), rtol=tolerance)


@pytest.mark.more
def test_a_grid_shrinks_by_the_regulariser_too():
    run = wl.solve(silent(), wl.FiniteVolume(200), 1.0, save=2)
    start, end = (run.at(t) for t in (0.0, 1.0))
    expected = start.weights @ shrunk(start.column("r"), 1.0)
    assert float(end.mean(end.column("r"))) == pytest.approx(expected, rel=2e-3)


def blind(beta=20.0):
    """Linear neurons on classes of equal mean have no field of their own: the law is exp(−β λ v) alone."""
    return wl.Problem(
        wl.data.gaussian_classes(D, 0.5), wl.neurons.ridge(LINE), wl.initial.gaussian(1.0), ridge=LAMBDA, beta=beta,
        regulariser=wl.regularisers.rounded(),
    )  # fmt: skip


@pytest.mark.slow
def test_the_gibbs_law_and_its_free_energy_contain_the_regulariser():
    law = wl.gibbs(blind())

    def weight(r):
        return r ** (D - 1) * np.exp(-20.0 * LAMBDA * (np.sqrt(1 + r * r) - 2.0))

    moments = [quad(lambda r, k=k: r**k * weight(r), 0, 40, epsabs=0, epsrel=1e-12, limit=500)[0] for k in (0, 2)]
    assert float(law.rho.mean(law.rho.column("r") ** 2)) == pytest.approx(moments[1] / moments[0], rel=1e-9)
    noisy = wl.solve(blind(), wl.FiniteVolume(100), 8.0, save=5)
    excess = noisy.dataset["free_energy"].values - wl.gibbs(blind(), on=noisy.final).free_energy
    assert np.all(np.diff(excess) < 0) and 0 < excess[-1] < 1e-3 * excess[0]


BAD = {
    "no function": (lambda: problem("lasso"), "squares, path, rounded"),
    "a class": (lambda: problem(wl.regularisers.Rounded), "squares, path, rounded"),
    "not traceable": (lambda: problem(lambda a, b, w: float(a)), "JAX can trace"),
    "sees a direction": (lambda: problem(lambda a, b, w: w[0] ** 2), "lengths"),
    "negative weight": (lambda: wl.regularisers.squares(a=-1.0), ">= 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_regulariser_is_one_sentence(name):
    build, words = BAD[name]
    with pytest.raises(wl.InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_a_regulariser_is_written_into_a_file_and_read_again():
    spec = wl.Spec(problem(wl.regularisers.squares(w=0.25)), wl.MeanField(), t_end=1.0)
    assert 'law = "squares"' in spec.to_toml() and wl.Spec.from_toml(spec.to_toml()) == spec
