"""A path whose slopes are not exact says so in the error of its risk."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ndtr

import widelimit as wl
from widelimit.potentials import landscape as of_landscapes
from widelimit.potentials import slope_errors
from widelimit.potentials.refinement import ON_CELLS
from widelimit.potentials.slope_errors import straying
from widelimit.solving import driver
from widelimit.solving.straying import Strayed

START = np.array([[1.0, 0.3, 1.0, 0.002], [1.0, 0.2, 0.5, 0.01], [1.0, 0.1, -0.3, 0.001]])
THREE = wl.initial.array(np.array([[1.0, 0.5, 0.8], [-0.7, 0.3, 1.0], [0.5, -1.2, 0.6]]), coordinates="reduced")


def few_nodes(nodes: int | None) -> wl.Problem:
    law = wl.data.single_index(math.inf, "z**2 + tanh(3*z)", nodes=nodes)
    return wl.Problem(law, wl.neurons.ridge("erf", outer="trained"), THREE)


def of_the_state(problem: wl.Problem, solution: wl.Solution) -> float:
    """The error of the last risk if the path were exact."""
    return wl.landscape(problem, reduced=True).risk_error(solution.final)


def test_a_path_on_few_nodes_is_covered():
    run, exact = (wl.solve(few_nodes(nodes), wl.MeanField(3), 3.0, save=4) for nodes in (16, None))
    stated = run.dataset["risk_error"].values
    assert (np.abs(run.risk - exact.risk) <= stated).all()
    assert stated[-1] > 1.5 * of_the_state(few_nodes(16), run)
    assert stated[-1] < 20 * abs(run.risk[-1] - exact.risk[-1])


def test_exact_slopes_add_nothing():
    run = wl.solve(few_nodes(None), wl.MeanField(3), 3.0, save=4)
    assert run.dataset["risk_error"].values[-1] < 1e-9


def test_the_neurons_of_a_save_are_compared_with_the_finer_landscape_once(monkeypatch):
    """By whoever moves them, takes their risk, states its error, and asks how far they stray."""
    calls, measured = [], of_landscapes.disagreement
    for module in (of_landscapes, slope_errors):
        monkeypatch.setattr(module, "disagreement", lambda *given: calls.append(given[-1]) or measured(*given))
    run = wl.solve(few_nodes(None), wl.MeanField(3, check=False), 3.0, save=4)
    assert len(calls) == len(run.times)


def test_a_resumed_run_keeps_what_it_has_strayed(monkeypatch):
    whole = wl.solve(few_nodes(16), wl.MeanField(3), 3.0, save=4)
    taken, kept = driver.strayed, []

    def interrupted(*arguments: object) -> Strayed:
        kept.append(taken(*arguments))
        if len(kept) == 3:
            raise KeyboardInterrupt
        return kept[-1]

    monkeypatch.setattr(driver, "strayed", interrupted)
    with pytest.raises(wl.Interrupted) as stop:
        wl.solve(few_nodes(16), wl.MeanField(3), 3.0, save=4)
    monkeypatch.undo()
    np.testing.assert_array_equal(wl.resume(stop.value.solution).dataset["risk_error"], whole.dataset["risk_error"])


def test_many_runs_together_have_the_errors_of_single_ones():
    problems = [few_nodes(16), few_nodes(16)]
    single = [wl.solve(problem, wl.MeanField(3), 1.0, save=3, seed=k) for k, problem in enumerate(problems)]
    sweep = wl.sweep(wl.Spec(few_nodes(16), [wl.MeanField(3)], t_end=1.0, save=3), {"seed": [0, 1]})
    found = sweep.dataset["risk_error"].values.reshape(2, -1)
    np.testing.assert_allclose(found, [run.dataset["risk_error"] for run in single], rtol=1e-6)


@pytest.mark.more
def test_orders_that_are_left_out_are_covered():
    """Neurons that lie almost wholly in three kept coordinates, against nodes; the two share the thin layers' error."""
    start = np.array([[1.0, 0.9, 0.3, 0.2, 0.4], [-1.0, -0.4, 0.8, 0.5, 0.3], [0.5, 0.3, -0.6, 0.9, 0.5]])

    def problem(nodes: int | None) -> wl.Problem:
        law = wl.data.multi_index(50, 3, "z1*z2 + z3", nodes=nodes)
        neuron = wl.neurons.ridge("relu", outer="trained")
        return wl.Problem(law, neuron, wl.initial.array(start, coordinates="reduced"))

    series, nodes = (wl.solve(problem(n), wl.MeanField(3), 0.5, save=3) for n in (None, 24))
    stated = series.dataset["risk_error"].values
    assert (np.abs(series.risk - nodes.risk) <= stated + nodes.dataset["risk_error"].values).all()
    assert stated[-1] > of_the_state(problem(None), series)


def test_a_landscape_with_too_few_nodes_for_thin_neurons_lets_a_risk_stray():
    problem = wl.Problem(wl.data.single_index(math.inf, "tanh(z)"), wl.neurons.ridge("ramp"), wl.initial.gaussian(1.0))
    land, points, weights = wl.landscape(problem, reduced=True), jnp.array([[1.0, 0.003], [0.8, 0.01]]), jnp.ones(2) / 2
    good = land.resolving(points, ON_CELLS)
    assert good is not land
    assert straying(land, points, weights, np.ones(2), ON_CELLS) > 1e-6
    assert straying(good, points, weights, np.ones(2), ON_CELLS) == 0


def by_quadrature(theta: np.ndarray) -> tuple[float, np.ndarray]:
    """R and ∇Ψ of three thin ReLU neurons on z² + z at d = ∞, on panels that shrink towards every kink."""
    x, weight = np.polynomial.legendre.leggauss(24)
    near = np.concatenate([[0.0], *(s * 2.0 ** np.arange(-21.0, 9.0) for s in (1, -1))])
    kinks = (-theta[:, 1] / theta[:, 2])[:, None] + near
    edges = np.unique(np.clip(np.concatenate([kinks.ravel(), np.linspace(-12, 12, 97)]), -12, 12))
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    z = (middle[:, None] + half[:, None] * x).ravel()
    p = (half[:, None] * weight).ravel() * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    a, b, u, r = (column[:, None] for column in theta.T)
    m = b + u * z
    by_m, by_s = ndtr(m / r), np.exp(-((m / r) ** 2) / 2) / math.sqrt(2 * math.pi)
    phi = m * by_m + r * by_s
    e = (a * phi).mean(axis=0) - (z * z + z)
    slopes = [phi @ (p * e), (a * by_m) @ (p * e), (a * by_m * z) @ (p * e), (a * by_s) @ (p * e)]
    return float(p @ e**2), np.stack(slopes, axis=1)


@pytest.mark.more
def test_the_path_of_thin_neurons_is_covered():
    """Against a solver and panels of its own; slopes are known to 1e−5 or so."""
    neuron = wl.neurons.ridge("relu", outer="trained", bias="trained")
    start = wl.initial.array(START, coordinates="reduced")
    problem = wl.Problem(wl.data.single_index(math.inf, "z**2 + z"), neuron, start)
    run = wl.solve(problem, wl.MeanField(3, check=False), 0.5, save=[0, 0.1, 0.25, 0.5])
    path = solve_ivp(
        lambda t, y: -2 * by_quadrature(y.reshape(3, 4))[1].ravel(), (0, 0.5), START.ravel(), "DOP853",
        [0, 0.1, 0.25, 0.5], rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    exact = [by_quadrature(y.reshape(3, 4))[0] for y in path.y.T]
    stated = run.dataset["risk_error"].values
    assert (np.abs(run.risk - exact) <= stated).all()
    assert stated[-1] < 1e-3 and stated[-1] > of_the_state(problem, run)
