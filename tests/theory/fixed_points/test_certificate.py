"""The certificate bounds what is left, and says how: against convex solvers on fine grids, in all coordinates."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

import widelimit as wl
from oracles.library_problems import problem_of
from widelimit.interfaces.cli import run
from widelimit.potentials.growth import growth
from widelimit.potentials.simplex_weights import simplex_weights
from widelimit.theory.fixed_points.radial_infimum import Radial
from widelimit.theory.noise.far_field import Field

RAMP = wl.activations.ramp((0.5, -2.5), (1.5, 7.5))
FAILING = wl.activations.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)])
HEAVY = 1e4  # weight of the row that asks for Σ w = 1


def classes(d=40, delta=0.5, sigma=RAMP, **options):
    return wl.Problem(wl.data.gaussian_classes(d, delta), wl.neurons.ridge(sigma), wl.initial.gaussian(0.8), **options)


def least_on(problem, grid):
    """inf E over measures on a grid, by nonnegative least squares with a heavy row for Σ w = 1."""
    land = wl.landscape(problem, reduced=True)
    phi, penalty = Field(land, 1.0).evaluated(np.asarray(grid, float))
    fit = land.fit.whitened()[1]
    shifted = phi - fit.y  # Φᵀw − y = (Φ − y)ᵀw for Σ w = 1
    costs = np.sqrt(np.maximum((shifted**2).sum(axis=1), 0))
    assert float(problem.ridge) == 0
    w, _ = nnls(np.vstack([shifted.T, HEAVY * costs.max() * np.ones(len(phi))]),
                np.append(np.zeros(len(fit.y)), HEAVY * costs.max()), maxiter=50 * len(phi))  # fmt: skip
    w /= w.sum()
    return float(fit.risk(w @ phi) / 2 + w @ penalty)


def random_problem(rng, bends=2):
    """A random bounded activation and contrast."""
    knots = np.sort(rng.uniform(-2, 3, bends)) + 0.1 * np.arange(bends)
    sigma = wl.activations.piecewise_linear([(float(t), float(rng.normal(0, 3))) for t in knots])
    return classes(40, float(rng.uniform(0.2, 0.9)), sigma)


def bounds_hold(count, seed, bends):
    """The certificate of a random cloud never claims more than a grid reaches."""
    rng, grid = np.random.default_rng(seed), np.concatenate([[0.0], np.geomspace(0.02, 50, 150)])[:, None]
    for _ in range(count):
        problem = random_problem(rng, bends)
        rho = rng.uniform(0.05, 5, size=(4, 1))
        found = wl.certificate(problem, rho)
        assert found.rigorous and found.objective == "R"
        assert found.lower <= 2 * least_on(problem, grid) + 1e-9
        assert 0 <= found.gap <= found.value + 1e-12


@pytest.mark.more
def test_the_certificate_bounds_what_a_grid_reaches():
    bounds_hold(6, 0, 2)


@pytest.mark.slow
def test_the_certificate_bounds_what_a_grid_reaches_on_two_hundred_problems():
    bounds_hold(100, 1, 2)
    bounds_hold(100, 2, 3)


@pytest.mark.more
def test_the_theorem_of_one_radius_is_never_above_any_value():
    """Lower bound ≤ Ψ on a grid ten times finer than its own; and the bracket is narrow."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        problem = random_problem(rng)
        field = Field(wl.landscape(problem, reduced=True), 1.0)
        v = rng.normal(size=field.land.size)
        found = Radial(field, v).bracket()
        values = Radial(field, v).values(np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 20_000)]))
        assert found.lower <= values.min()
        assert found.upper - found.lower < 1e-8 * np.abs(values).max()


def test_curvature_bounds_hold_between_radii():
    """|∂²Ψ/∂x²|, x = log r, by differences, is below its bound at every radius, and somewhere a hundredth of it."""
    problem = classes(40, 0.6)
    field = Field(wl.landscape(problem, reduced=True), 1.0)
    radial = Radial(field, np.random.default_rng(3).normal(size=field.land.size))
    x, h = np.linspace(-4, 5, 400), 1e-3
    values = [radial.values(np.exp(x + shift)) for shift in (-h, 0.0, h)]
    second = np.abs(values[0] - 2 * values[1] + values[2]) / h**2
    bound = radial.curvature(np.exp(x - h), np.exp(x + h))
    assert np.all(second <= bound + 1e-6) and np.max(second / np.maximum(bound, 1e-3)) > 0.01


def test_what_an_activation_tends_to_has_the_areas_it_says():
    """∫ e and bounds of ∫ |e|, ∫ |x e| by a fine midpoint rule, for every kind whose growth is known."""
    x = (np.arange(800_000) + 0.5) * 1e-4 - 40.0
    for text in ("relu", "truncated_relu", "erf", "tanh", "sigmoid", "softplus", "silu", "gelu",
                 "2*tanh(3*x - 1) + relu(x)", "tanh(0.5 - 2*x)", "x"):  # fmt: skip
        sigma = wl.activations.activation(text).form
        found = growth(sigma)
        values = np.asarray(sigma(x))
        e = values - np.where(x > 0, found.right.at(x), found.left.at(x))
        assert np.sum(e) * 1e-4 == pytest.approx(found.signed, abs=1e-4), text
        assert np.sum(np.abs(e)) * 1e-4 <= found.area + 1e-4, text
        assert np.sum(np.abs(x * e)) * 1e-4 <= found.moment + 1e-4, text
        assert np.abs(np.diff(values)).max() <= 1e-4 * found.lipschitz * (1 + 1e-9), text
        assert np.ptp(values) / 2 <= found.half + 1e-9, text
    assert growth(wl.activations.activation("sin(x)").form) is None


def test_the_gap_of_linear_neurons_is_known():
    """Blind linear neurons: E = ½(1 + c r̄²) + λ r²/2 with its minimum ½ at r = 0, and Ψ(r) ≥ Ψ(0) = 0."""
    blind = problem_of(wl.data.gaussian_classes(40, 0.5), wl.activations.polynomial([0.0, 1.0]), ridge=0.5)
    found = wl.certificate(blind, [[2.0], [0.0]])
    assert found.objective == "E" and found.neuron.tolist() == [0.0]
    assert found.gap >= found.value - 0.5 - 1e-12 and found.gap == pytest.approx(0.5, abs=1e-8)


@pytest.mark.slow
def test_a_network_in_full_coordinates_pays_for_its_directions():
    """R(ρ) − R(ρ̄), exactly for few neurons; the sampled excess of the same neurons agrees within its error."""
    problem = classes(40, 0.5)
    theta = np.random.default_rng(4).normal(0, 0.4, size=(30, 40))
    whole, rotated = wl.certificate(problem, theta), wl.certificate(problem, wl.reduce(problem, theta))
    full = wl.landscape(problem).risk(theta)
    assert whole.value == pytest.approx(full, abs=1e-8) and whole.excess > 0
    assert whole.gap == pytest.approx(rotated.gap + whole.excess, abs=1e-9)
    assert whole.lower == pytest.approx(rotated.lower, abs=1e-9)


@pytest.mark.slow
def test_the_sampled_excess_agrees_with_the_exact_one(monkeypatch):
    problem = classes(20, 0.5)
    theta = np.random.default_rng(4).normal(0, 0.5, size=(300, 20))
    exact = wl.certificate(problem, theta)
    monkeypatch.setattr("widelimit.theory.fixed_points.symmetry.EXACT", 0)
    drawn = wl.certificate(problem, theta)
    assert 0 < drawn.error < 0.2 * exact.excess
    assert abs(drawn.excess - exact.excess) <= drawn.error + 1e-9


@pytest.mark.more
def test_trained_outer_weights_need_a_regulariser_or_a_bound():
    data = wl.data.gaussian_classes(math.inf, 0.5)
    free = problem_of(data, RAMP, scalars="a")
    found = wl.certificate(free, [[1.0, 1.0]], points=256)
    assert found.infimum == -math.inf and found.gap == pytest.approx(found.value)
    assert "without end" in found.sentence
    bounded = wl.certificate(free, [[1.0, 1.0]], within={"a": 2.0}, points=256)
    assert math.isfinite(bounded.infimum) and bounded.box["a"] == (-2.0, 2.0)
    assert abs(bounded.neuron[0]) == pytest.approx(2.0) or bounded.infimum == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "call",
    [
        lambda: wl.certificate(classes(), [[1.0, 2.0]]),
        lambda: wl.certificate(classes(math.inf), np.ones((3, 40))),
        lambda: wl.certificate(classes(), wl.Cloud([[1.0]], [1.0], ("u",))),
        lambda: wl.certificate(classes(), [[-1.0]]),
        lambda: wl.certificate(classes(), [[math.nan]]),
        lambda: wl.certificate(classes(1), [[1.0]]),
        lambda: wl.certificate(classes(), [[1.0]], within={"c": 1.0}),
        lambda: wl.certificate(classes(), [[1.0]], within={"w": 0.0}),
        lambda: wl.certificate(classes(ridge=0.1, beta=10.0), [[1.0]]),
        lambda: wl.minimise(classes(beta=10.0)),
        lambda: wl.minimise(classes(), tolerance=0.0),
        lambda: wl.minimise(classes(), atoms=0),
        lambda: wl.two_geometries(classes(), [[1.0]], np.ones((2, 40))),
    ],
)
def test_bad_input_is_told_in_one_sentence(call):
    with pytest.raises(wl.InputError, match=r"got|unknown"):
        call()


def test_weights_on_the_simplex_are_optimal():
    """The conditions of Karush, Kuhn and Tucker, for random features, costs and twins."""
    rng = np.random.default_rng(5)
    for m in (1, 3, 12):
        phi, y, c = rng.normal(size=(m, 5)), rng.normal(size=5), np.abs(rng.normal(size=m))
        phi[m // 2] = phi[0]
        w = simplex_weights(phi, y, c, np.full(m, 1 / m))
        psi = phi @ (phi.T @ w - y) + c
        assert w.min() >= 0 and w.sum() == pytest.approx(1)
        assert psi.min() >= w @ psi - 1e-9


@pytest.mark.more
def test_the_best_network_at_infinite_dimension():
    """Above the threshold R = 0; below it one atom, whose risk a plain search in r finds too."""
    best = wl.minimise(classes(math.inf, 0.8), points=256)
    assert best.converged and best.risk < 1e-6 and best.history[-1].gap <= 1e-8
    below = wl.minimise(classes(math.inf, 0.3), points=256)
    land = wl.landscape(classes(math.inf, 0.3), reduced=True)
    r = np.linspace(1.4, 1.6, 20_001)
    fit, phi = land.fit, np.asarray(land.all_features(r[:, None]))
    alone = ((phi - np.asarray(fit.y)) ** 2) @ np.asarray(fit.p)
    assert below.rho.n == 1 and below.gap < 1e-8 and below.risk == pytest.approx(alone.min(), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("atoms", [1, 2, 3])
def test_no_more_atoms_than_asked_for(atoms):
    """Three neurons or more would be best; the risk falls with the number allowed."""
    x = np.linspace(-1, 1, 24)
    bump = wl.Problem(wl.data.empirical(x[:, None], np.cos(3 * x)), wl.neurons.ridge("tanh", "trained", "trained"),
                      wl.initial.gaussian(1.0, a=1.0, b=0.0))  # fmt: skip
    found = wl.minimise(bump, atoms=atoms, within={"a": 6.0}, points=256)
    assert found.rho.n <= atoms and all(one.atoms <= atoms for one in found.history)
    assert found.risk <= found.history[0].value + 1e-12


@pytest.mark.slow
def test_homogeneous_neurons_have_a_certificate_though_psi_falls_without_end():
    """ReLU, trained a, ridge: E depends on S = ∫ a r dρ alone, ½ E(y − τ S/√2π)² + λ|S|, and ∫v ≥ |S|."""
    delta, ridge, k = 0.8, 0.05, 1 / math.sqrt(2 * math.pi)
    problem = problem_of(wl.data.gaussian_classes(math.inf, delta), "relu", scalars="a", ridge=ridge)
    S = (delta * k - ridge) / ((1 + delta**2) * k**2)
    wanted = ((1 - (1 + delta) * S * k) ** 2 + (1 + (1 - delta) * S * k) ** 2) / 4 + ridge * S
    best = wl.minimise(problem, tolerance=1e-7, points=512)
    assert best.value == pytest.approx(wanted, abs=1e-7) and best.gap < 1e-7
    off = wl.certificate(problem, [[0.5, 0.5]], points=512)
    assert off.value - wanted <= off.gap < off.value


def test_mixtures_are_convex_and_displacements_are_not():
    problem = classes(math.inf, 0.8)
    one, two = wl.Cloud([[0.1], [0.2]], [0.5, 0.5], ("r",)), wl.Cloud([[3.0]], [1.0], ("r",))
    found = wl.two_geometries(problem, one, two, 21)
    assert np.all(np.diff(found.mixture, 2) >= -1e-12) and np.any(np.diff(found.displacement, 2) < -1e-3)
    assert found.mixture[[0, -1]] == pytest.approx(found.displacement[[0, -1]])
    third = np.polyfit(found.s, found.mixture, 3)[0]
    assert third == pytest.approx(0, abs=1e-9)  # a parabola


def test_the_displacement_in_several_coordinates_is_the_optimal_plan():
    rng = np.random.default_rng(6)
    one, two = (wl.Cloud(rng.normal(size=(n, 2)), np.full(n, 1 / n), ("u", "r")) for n in (5, 7))
    whole = wl.observables.wasserstein(one, two)
    middle = wl.observables.displacement(one, two, 0.3)
    assert wl.observables.wasserstein(one, middle) == pytest.approx(0.3 * whole)
    assert wl.observables.wasserstein(middle, two) == pytest.approx(0.7 * whole)


@pytest.mark.more
def test_the_command_certifies_and_exits_with_two_on_bad_input(tmp_path, capsys, monkeypatch):
    spec = wl.Spec(classes(40, 0.5), wl.GD(n=30, step=0.01), t_end=0.02, save=2)
    path = tmp_path / "case.toml"
    path.write_text(spec.to_toml(), encoding="utf-8")
    assert run(["certify", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["certificates"]["gd"]
    assert found["rigorous"] and 0 < found["gap"] <= found["value"] + 1e-9 and "theorem" in found["sentence"]
    assert run(["certify", str(path), "--within", "a"]) == 2
    monkeypatch.setattr("widelimit.dynamics.solve.solve", None)  # blocks are looked at before anything runs
    for bounds in ("q=3", "w=-1"):
        assert run(["certify", str(path), "--within", bounds]) == 2
    assert "unknown block 'q'" in capsys.readouterr().err
    assert run(["certify", str(path), "--record", str(tmp_path / "none.nc")]) == 2
    assert "got" in capsys.readouterr().err


@pytest.mark.slow
def test_the_gap_closes_along_a_run_that_learns_and_not_along_one_that_is_stuck():
    """Predicting failure: κ = 0.4 learns, κ = 0.1 stays; at every save the gap bounds the risk above the best."""
    gaps, last = {}, {}
    for kappa in (0.1, 0.4):
        problem = replace(classes(320, 0.5, FAILING), initial=wl.initial.gaussian(kappa))
        run_ = wl.solve(problem, wl.MeanField(64, check=False), t_end=200.0, save=[0.0, 5.0, 50.0, 200.0])
        found = [wl.certificate(problem, run_.at(t)) for t in run_.times]
        gaps[kappa], last[kappa] = [one.gap for one in found], found[-1].value
    least = wl.minimise(classes(320, 0.5, FAILING)).risk
    assert last[0.4] < 0.5 * last[0.1]
    for kappa in (0.1, 0.4):
        assert gaps[kappa][-1] >= last[kappa] - least - 1e-8
    assert gaps[0.4][-1] < 0.2 * gaps[0.1][-1] and gaps[0.1][-1] > 0.1


@pytest.mark.slow
def test_the_gap_of_a_flow_that_converges_goes_to_zero():
    """A ridge and a single well: the flow ends at the minimum, and the certificate with it."""
    problem = problem_of(wl.data.gaussian_classes(math.inf, 0.3), RAMP)
    problem = replace(problem, initial=wl.initial.array([[1.2], [1.5], [1.8]], coordinates="reduced"))
    run_ = wl.solve(problem, wl.MeanField(), t_end=40.0, save=[0.0, 1.0, 4.0, 40.0])
    gaps = [wl.certificate(problem, run_.at(t)).gap for t in run_.times]
    assert gaps[-1] < 1e-6 < gaps[0] and gaps[1] < gaps[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "threshold"), [(20, 0.378), (40, 0.431), (80, 0.453), (160, 0.464), (320, 0.469), (math.inf, 0.474)]
)
def test_the_threshold_at_which_one_atom_stops_being_best(d, threshold):
    """Below it the certificate of the best single atom closes, above it there is a neuron it lacks."""
    low, high = (wl.minimise(classes(d, threshold + step), atoms=1, points=256).gap for step in (-5e-4, 5e-4))
    assert low < 1e-7 < high


@pytest.mark.slow
def test_ten_thousand_neurons_are_certified_in_seconds():
    """In full coordinates, reduced to (a, b, r_1, r_2); most of the time is compilation."""
    data = wl.data.gaussian_classes(40, 0.5, informative=10)
    problem = problem_of(data, "erf", scalars="ab", ridge=0.05)
    rows = np.random.default_rng(7).normal(0, 0.3, size=(10_000, 42))
    found = wl.certificate(problem, rows, points=1024)
    assert found.objective == "E" and 0 < found.gap <= found.value and found.excess > 0


@pytest.mark.slow
def test_with_noise_the_gap_is_that_of_the_free_energy():
    """F(ρ) − F(ρ_*) of a run on a grid falls, and ends within the error of the grid."""
    problem = classes(6, 0.5, "erf", ridge=0.5, beta=20.0)
    run_ = wl.solve(problem, wl.FiniteVolume(120, box=((0.0, 3.0),)), 4.0, save=[0.0, 0.5, 4.0])
    found = [wl.certificate(problem, run_.at(t)) for t in run_.times]
    gaps = [one.gap for one in found]
    assert all(one.objective == "F" and one.method == "gibbs" for one in found)
    assert gaps[0] > 3 * gaps[1] > 0 and gaps[2] < 1e-8
    assert 0 < found[2].error < 1e-3  # of 120 cells
