"""The flow under a fixed kernel: its equation, its end, and the network it is the limit of."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import widelimit as wl

i = wl.initial
RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(8, 3)), RNG.normal(size=(5, 3))
Y, V = np.sin(2 * X[:, 0]) + X[:, 1], np.sin(2 * Z[:, 0]) + Z[:, 1]
LINE, TIMES = wl.neurons.ridge("x"), np.array([0.0, 0.3, 1.0, 4.0])


def problem(x=X, y=Y, neuron=None, start=None, **more):
    neuron = neuron or wl.neurons.ridge("relu", outer="trained")
    start = start or i.gaussian(1.5, a=i.normal())
    return wl.Problem(wl.data.empirical(x, y), neuron, start, **more)


def f0(x):
    return 0.5 + x[:, 2]


def test_outputs_solve_the_linear_equation():
    """df/dt = (2/M) K (y − f) on the data and beside them, from f_0, by an adaptive solver."""
    one = problem(mobility={"a": 0.5})
    flow = wl.KernelFlow(one, f0=f0)
    k = wl.ntk(one, np.concatenate([X, Z]), X).matrix

    def velocity(t, f):
        return 2 / 8 * k @ (Y - f[:8])

    start = f0(np.concatenate([X, Z]))
    run = solve_ivp(velocity, (0.0, 4.0), start, t_eval=TIMES, rtol=1e-11, atol=1e-12, method="DOP853").y
    for t, f in zip(TIMES, run.T, strict=True):
        np.testing.assert_allclose(flow.predict(X, t), f[:8], rtol=0, atol=1e-9)
        np.testing.assert_allclose(flow.predict(Z, t), f[8:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(flow.risk(TIMES), np.mean((Y - run[:8].T) ** 2, axis=1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(flow.test_risk(TIMES, Z, V), np.mean((V - run[8:].T) ** 2, axis=1), rtol=0, atol=1e-9)


def test_rows_may_be_given_and_a_time_may_be_alone():
    flow, law = wl.KernelFlow(problem()), problem(x=Z, y=V)
    given = wl.KernelFlow(law, X, Y)
    np.testing.assert_array_equal(flow.risk(TIMES), given.risk(TIMES))
    assert flow.risk(1.0) == flow.risk(TIMES)[2] and np.ndim(flow.risk(1.0)) == np.ndim(flow.test_risk(1.0, Z, V)) == 0
    gaussian = wl.Problem(wl.data.gaussian_classes(3, 0.5), law.neuron, law.initial)
    np.testing.assert_array_equal(wl.KernelFlow(gaussian, X, Y).risk(TIMES), flow.risk(TIMES))


@pytest.mark.parametrize("rows", [2, 8])
def test_the_end_of_a_linear_network_is_least_squares(rows):
    """K = ⟨x, x'⟩ has rank 3: more rows than that are fitted as well as can be, fewer by the smallest w."""
    flow = wl.KernelFlow(problem(X[:rows], Y[:rows], LINE, i.gaussian(1.0)))
    w = np.linalg.lstsq(X[:rows], Y[:rows], rcond=None)[0]
    np.testing.assert_allclose(flow.predict(Z, math.inf), Z @ w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(flow.predict(Z, 1e4), Z @ w, rtol=0, atol=1e-12)
    assert flow.risk(math.inf) == pytest.approx(np.mean((Y[:rows] - X[:rows] @ w) ** 2), abs=1e-13)
    assert (flow.eigenvalues > 0).sum() == min(rows, 3)


def test_directions_without_kernel_stay_at_the_start():
    """A linear network started at 0.5 + x_3: what is left at the end is the residual of the residual."""
    flow = wl.KernelFlow(problem(neuron=LINE, start=i.gaussian(1.0)), f0=f0)
    w = np.linalg.lstsq(X, Y - f0(X), rcond=None)[0]
    np.testing.assert_allclose(flow.predict(Z, math.inf), f0(Z) + Z @ w, rtol=0, atol=1e-12)
    assert flow.risk([0.0, math.inf])[0] == pytest.approx(np.mean((Y - f0(X)) ** 2), rel=1e-12)


def test_the_end_of_a_full_kernel_interpolates_and_a_ridge_is_regression():
    one = problem()
    k, rows = wl.ntk(one, X).matrix, wl.ntk(one, Z, X).matrix
    flow = wl.KernelFlow(one)
    np.testing.assert_allclose(flow.predict(X, math.inf), Y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(flow.predict(Z, math.inf), rows @ np.linalg.solve(k, Y), rtol=0, atol=1e-9)
    np.testing.assert_allclose(wl.kernel_regression(one, Z), flow.predict(Z, math.inf), rtol=0, atol=1e-10)
    for ridge in (1e-3, 0.5):
        wanted = rows @ np.linalg.solve(k + 8 * ridge * np.eye(8), Y)
        np.testing.assert_allclose(wl.kernel_regression(one, Z, ridge), wanted, rtol=0, atol=1e-10)
    theta = np.random.default_rng(3).normal(size=(30, 4))
    finite, beside = wl.ntk(one, X, rho=theta).matrix, wl.ntk(one, Z, X, theta).matrix
    wanted = beside @ np.linalg.solve(finite + 0.8 * np.eye(8), Y)
    np.testing.assert_allclose(wl.kernel_regression(one, Z, 0.1, theta), wanted, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_rows_that_occur_twice_agree_or_are_averaged_or_refused():
    twice = np.concatenate([X, X[:2]])
    once = wl.KernelFlow(problem(neuron=wl.neurons.ridge("erf", outer="trained"))).predict(Z, math.inf)
    for extra, kind in ((Y[:2], "same"), (Y[:2] + 1, "other")):
        one = problem(twice, np.concatenate([Y, extra]), wl.neurons.ridge("erf", outer="trained"))
        flow = wl.KernelFlow(one)
        end = flow.predict(X, math.inf)
        half = np.where(np.arange(8) < 2, 0.5 * (kind == "other"), 0.0)
        np.testing.assert_allclose(end, Y + half, rtol=0, atol=1e-7)  # the condition of K is 1e5
        assert flow.risk(math.inf) == pytest.approx(0.1 * (kind == "other"), abs=1e-12)
        if kind == "same":
            np.testing.assert_allclose(wl.kernel_regression(one, Z), once, rtol=0, atol=1e-7)
        else:
            sentence = r"one label for each input, got 'two for that of the rows \[1, 9\]': take ridge > 0"
            with pytest.raises(wl.InputError, match=sentence):
                wl.kernel_regression(one, Z)
            assert np.isfinite(wl.kernel_regression(one, Z, 0.1)).all()


def test_time_is_that_of_the_schedule():
    """Twice the rate is half the time; a rate that dies out stops the flow; a rate of one block is one kernel."""
    plain = wl.KernelFlow(problem())
    for xi, clock in (
        (wl.schedules.constant(2.0), 2.0), (lambda t: 2 * t, 1.0), (wl.schedules.power(0.5), 2.0),
    ):  # fmt: skip
        assert wl.KernelFlow(problem(schedule=xi)).risk(1.0) == pytest.approx(plain.risk(clock), rel=1e-11)
    dying = wl.KernelFlow(problem(schedule=wl.schedules.exponential(0.5)))
    assert dying.risk(math.inf) == pytest.approx(plain.risk(2.0), rel=1e-12)
    np.testing.assert_allclose(dying.predict(Z, math.inf), plain.predict(Z, 2.0), rtol=0, atol=1e-13)
    slow = wl.KernelFlow(problem(mobility={"a": 0.25, "w": 0.25}))
    np.testing.assert_allclose(slow.risk(4 * TIMES), plain.risk(TIMES), rtol=1e-12)


def test_extreme_times_are_finite():
    flow = wl.KernelFlow(problem())
    assert flow.risk([1e300, math.inf]).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(flow.predict(Z, 1e300), flow.predict(Z, math.inf), rtol=1e-13)
    np.testing.assert_allclose(flow.predict(Z, 1e-300), 0.0, atol=1e-290)


def trained(alpha):
    """The largest distance of the outputs of a network of 40 neurons from the flow under the kernel of its θ_0."""
    neuron = wl.neurons.ridge("tanh", outer="trained", bias="trained")
    start = i.paired(i.gaussian(1.5, a=1.0, b=i.normal(0.0, 0.5)))
    one = problem(neuron=neuron, start=start, alpha=alpha)
    run = wl.solve(one, wl.ParticleFlow(40, rtol=1e-9, atol=1e-10), 4.0, save=5, progress=False)
    flow = wl.KernelFlow(one, rho=run.at(0.0))

    def outputs(rho, x):
        a, b, w = rho.theta[:, 0], rho.theta[:, 1], rho.theta[:, 2:]
        return alpha * (a * np.tanh(x @ w.T + b)) @ rho.weights

    rows = np.concatenate([X, Z])
    gaps = [np.abs(outputs(run.at(t), rows) - flow.predict(rows, t)).max() for t in run.times]
    moved = np.abs(flow.predict(rows, 4.0)).max()
    assert np.abs(run.risk - flow.risk(run.times)).max() <= 1 / alpha and moved > 0.5
    return max(gaps)


@pytest.mark.more
def test_a_network_of_large_scale_follows_the_flow_of_its_kernel():
    """To 1/α; and as pairs cancel the first order of what moves the kernel, like 1/α²."""
    one, two = trained(50.0), trained(200.0)
    assert one <= 1 / 50 and two <= 1 / 200
    assert one / two == pytest.approx(16, rel=0.15)


BAD = {
    "no problem": (lambda: wl.KernelFlow(X), "KernelFlow needs a wl.Problem, got 'ndarray'"),
    "no rows": (
        lambda: wl.KernelFlow(wl.Problem(wl.data.gaussian_classes(3, 0.5), LINE, i.gaussian(1.0))),
        "a kernel flow needs rows of data, got gaussian_classes(",
    ),
    "no labels": (lambda: wl.KernelFlow(problem(), X), "y of a data set must be finite numbers of shape (M,)"),
    "other rows": (lambda: wl.KernelFlow(problem(), X[:, :2], Y), "x must have d = 3 columns, got 2"),
    "no start": (lambda: wl.KernelFlow(problem(), f0="zero"), "f0 must be a number or a function of inputs (n, d)"),
    "a start of one number": (
        lambda: wl.KernelFlow(problem(), f0=lambda x: np.zeros(1)).risk(1.0), "f0(x) must have shape (8,), got (1,)"
    ),
    "a start that fails": (lambda: wl.KernelFlow(problem(), f0=lambda x: x.q).risk(1.0), "f0 failed, got"),
    "the past": (lambda: wl.KernelFlow(problem()).risk([-1.0]), "times must be numbers >= 0, or math.inf, got [-1.0]"),
    "no time": (lambda: wl.KernelFlow(problem()).predict(Z, math.nan), "t must be a number >= 0, or math.inf, got nan"),
    "times": (lambda: wl.KernelFlow(problem()).predict(Z, [1.0]), "t must be a number >= 0, or math.inf, got [1.0]"),
    "test rows": (lambda: wl.KernelFlow(problem()).test_risk(1.0, Z[:, :2], V), "x must have one row or more of d = 3"),
    "the end of a function": (
        lambda: wl.KernelFlow(problem(schedule=jnp.exp)).risk(math.inf), "a schedule that is a function needs finite"
    ),
    "a ridge": (lambda: wl.kernel_regression(problem(), Z, -1.0), "ridge must be a number >= 0, got -1.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises(wl.InputError) as caught:
        call()
    assert sentence in str(caught.value) and str(caught.value).endswith(".")
