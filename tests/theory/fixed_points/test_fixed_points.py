"""Fixed points: where the gradient vanishes, in which directions they are stable, which starts see every neuron."""

import math

import numpy as np
import pytest
import xarray as xr
from scipy.optimize import brentq

import widelimit as wl
from widelimit.theory.fixed_points.initial_support import supports

RAMP = wl.activations.ramp((0.5, -2.5), (1.5, 7.5))
LINE = wl.Problem(wl.data.single_index(5, "2*z"), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
RELU = wl.Problem(wl.data.gaussian_classes(6, 0.5), wl.neurons.ridge("relu"), wl.initial.gaussian(1.0))

ALONE, CROWD = (wl.Cloud([[0.0], [r]], [0.5, 0.5], ("r",)) for r in (0.0, 9.0))


def classes(d, delta, scale=0.8):
    return wl.Problem(wl.data.gaussian_classes(d, delta), wl.neurons.ridge(RAMP), wl.initial.gaussian(scale))


def best_atom(problem, low, high):
    """The radius of a Dirac at rest: ∂Ψ/∂r(r; δ_r) = 0."""
    land = wl.landscape(problem, reduced=True)
    return brentq(lambda r: float(land.grad_psi([[r]], [[r]])[0, 0]), low, high, xtol=1e-13)


def full_hessian(problem, rho, w, h=1e-3):
    """∇²Ψ over the full space by differences of Ψ alone: Ψ(θ) = Ψ_reduced(reduced θ) where ρ is rotation invariant."""
    land, D = wl.landscape(problem, reduced=True), len(w)
    ones = h * np.eye(D)
    shifts = np.array([a * ones[i] + b * ones[j] for i in range(D) for j in range(D) for a, b in SIGNS])
    psi = np.asarray(land.psi(wl.reduce(problem, w + shifts), rho)).reshape(D, D, 4)
    return (psi[..., 0] - psi[..., 1] - psi[..., 2] + psi[..., 3]) / (4 * h**2)


SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


def expanded(modes):
    """Every curvature as often as its multiplicity says."""
    return np.sort(np.repeat(modes.curvatures, modes.multiplicity.astype(int)))


def test_a_network_that_has_learned_everything_is_stationary():
    found = wl.stationarity(LINE, wl.Cloud([[2.0, 0.0]], [1.0], ("u", "r")))
    assert found.holds and found.largest <= 1e-14 and found.share == 1.0


def test_max_and_mean_of_the_gradient_on_two_atoms():
    """f = u z with u the mean: ∇Ψ = (ū − 2, r·0) + … = (−0.5, 0) at both, whatever their weights."""
    rho = wl.Cloud([[1.0, 0.0], [2.0, 0.0]], [0.5, 0.5], ("u", "r"))
    found = wl.stationarity(LINE, rho)
    assert found.gradient == pytest.approx(np.array([[-0.5, 0.0], [-0.5, 0.0]]), abs=1e-12)
    assert found.largest == pytest.approx(0.5) and found.mean == pytest.approx(0.5) and not found.holds
    assert found.speed == pytest.approx(0.25)


def test_a_radius_held_at_the_origin_is_at_rest_and_one_that_is_pushed_out_is_not():
    """One ReLU of two classes: V falls with r, so the origin lets go; a large field of others turns the slope round."""
    alone, crowd = (wl.stationarity(RELU, rho) for rho in (ALONE, CROWD))
    assert alone.held == 0 and alone.largest > 0.1
    assert crowd.held == 1 and crowd.sizes[0] == 0.0 and crowd.sizes[1] > 0.1


def test_the_gradient_of_a_frozen_block_does_not_count():
    neuron = wl.neurons.ridge("x", outer="fixed")
    problem = wl.Problem(wl.data.single_index(5, "2*z"), neuron, wl.initial.gaussian(1.0, a=1.0))
    assert wl.stationarity(problem, wl.Cloud([[1.0, 1.0, 0.0]], [1.0], ("a", "u", "r"))).gradient[0, 0] == 0.0


@pytest.mark.slow
def test_cells_that_a_grid_leaves_nearly_empty_are_not_in_the_support():
    masses = np.array([1e-9, 0.5, 0.5 - 2e-9, 1e-9])
    grid = wl.Density((np.linspace(0.5, 2.5, 5),), masses, ("r",), (6.0,))
    assert len(wl.stationarity(RELU, grid).theta) == 2


@pytest.mark.slow
def test_full_coordinates_have_the_gradient_of_the_full_landscape():
    theta = np.random.default_rng(0).normal(size=(3, 6))
    found = wl.stationarity(RELU, theta)
    assert found.gradient == pytest.approx(np.asarray(wl.landscape(RELU).grad_psi(theta, theta)), abs=1e-12)


@pytest.mark.more
@pytest.mark.parametrize("r", [0.9, 0.0])
def test_hidden_directions_are_those_of_the_full_space(r):
    """d − 1 rotations of curvature Ψ'(r)/r, or at the origin Ψ''(0) in all directions: by differences of Ψ in R^6."""
    problem = wl.Problem(wl.data.gaussian_classes(6, 0.5), wl.neurons.ridge("x**2"), wl.initial.gaussian(1.0))
    rho = wl.Cloud([[r]], [1.0], ("r",))
    w = np.zeros(6)
    w[0] = r
    seen = np.linalg.eigvalsh(full_hessian(problem, rho, w))
    found = wl.stability(problem, rho).modes[0]
    assert expanded(found) == pytest.approx(seen, abs=1e-6 * np.abs(seen).max())


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "theta"), [(RAMP, (1.3,)), ("tanh", (0.7, 0.2, 0.5, 0.3))])
def test_curvatures_are_those_of_the_full_space(activation, theta):
    if len(theta) == 1:
        problem = wl.Problem(wl.data.gaussian_classes(5, 0.4), wl.neurons.ridge(activation), wl.initial.gaussian(1.0))
    else:
        neuron = wl.neurons.ridge(activation, "trained", "trained")
        problem = wl.Problem(wl.data.single_index(5, "z**2 - 1"), neuron, wl.initial.gaussian(1.0, a=1.0, b=0.0))
    rho = wl.Cloud([theta], [1.0], problem.reduced_coordinates)
    full = np.zeros(problem.D)
    full[: len(theta)] = theta  # w lies along the first direction of its group
    seen = np.linalg.eigvalsh(full_hessian(problem, rho, full))
    assert expanded(wl.stability(problem, rho).modes[0]) == pytest.approx(seen, abs=1e-5 * np.abs(seen).max())


@pytest.mark.slow
def test_one_neuron_in_full_coordinates_feels_itself():
    """∇²Ψ(·; δ_w) over R^4 against differences of Ψ in the pairwise landscape: w is alone, not one of all rotations."""
    problem = wl.Problem(wl.data.gaussian_classes(4, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    w, h, land = np.array([0.8, 0.3, 0.0, 0.0]), 1e-2, wl.landscape(problem)
    shifts = np.array([h * (a * np.eye(4)[i] + b * np.eye(4)[j]) for i in range(4) for j in range(4) for a, b in SIGNS])
    psi = np.asarray(land.psi(w + shifts, w[None])).reshape(4, 4, 4)
    seen = np.linalg.eigvalsh((psi[..., 0] - psi[..., 1] - psi[..., 2] + psi[..., 3]) / (4 * h**2))
    found = wl.stability(problem, w[None])
    assert expanded(found.modes[0]) == pytest.approx(seen, abs=2e-3 * np.abs(seen).max())  # h² of the differences
    assert found.error < 1e-4


@pytest.mark.more
def test_cones_at_the_origin_have_infinite_curvature():
    alone, crowd = (wl.stability(RELU, rho) for rho in (ALONE, CROWD))
    assert alone.least == -math.inf and not alone.is_stable
    assert crowd.modes[0].least == math.inf and not crowd.splits[0]


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.2, 0.3])
def test_the_flow_reaches_a_dirac_at_the_rate_of_its_curvature(delta):
    problem = classes(40, delta)
    found = wl.stability(problem, [[best_atom(problem, 1.2, 2.0)]])
    assert found.is_stable and found.gradient < 1e-10
    run = wl.solve(problem, wl.MeanField(check=False, rtol=1e-10, atol=1e-12), 8 / found.rate, save=81)
    assert found.against(run).ratio == pytest.approx(1.0, abs=0.02)


@pytest.mark.slow
def test_the_schedule_and_the_mobility_set_the_clock():
    """ξ = e^{−t/100} and m_w = ½: the rate is that of the clock ∫ξ dt, times m."""
    plain = classes(40, 0.3)
    slow = wl.Problem(
        plain.data, plain.neuron, plain.initial, mobility={"w": 0.5}, schedule=wl.schedules.exponential(0.01)
    )
    atom = [[best_atom(plain, 1.2, 2.0)]]
    found = wl.stability(slow, atom)
    assert found.rate == pytest.approx(wl.stability(plain, atom).rate / 2)
    run = wl.solve(slow, wl.MeanField(check=False, rtol=1e-10, atol=1e-12), 120.0, save=121)
    assert found.against(run).ratio == pytest.approx(1.0, abs=0.02)


@pytest.mark.slow
def test_one_neuron_alone_moves_at_the_rate_of_the_atom_as_a_whole():
    problem = classes(40, 0.3)
    r = best_atom(problem, 1.2, 2.0)
    found = wl.stability(problem, [[r]])
    alone = wl.Problem(problem.data, problem.neuron, wl.initial.array([[r + 0.05]], coordinates="reduced"))
    run = wl.solve(alone, wl.ParticleFlow(1, "reduced", rtol=1e-11, atol=1e-13), 3.0, save=61)
    gap = np.abs(run.dataset["theta"].values[:, 0, 0] - r)
    late = (gap < 1e-3) & (gap > 1e-7)
    assert -np.polyfit(run.times[late], np.log(gap[late]), 1)[0] == pytest.approx(found.whole[0], rel=0.02)


@pytest.mark.slow
def test_a_dirac_splits_where_its_curvature_is_negative():
    """Above the threshold in Δ the best single atom is a saddle: two halves beside it drift apart at the rate |2λ|."""
    problem = classes(40, 0.7)
    r = best_atom(problem, 0.8, 4.0)
    found = wl.stability(problem, [[r]])
    assert not found.is_stable and found.rate < 0
    halves = wl.initial.array([[r - 1e-4], [r + 1e-4]], coordinates="reduced")
    method, t_end = wl.ParticleFlow(2, "reduced", rtol=1e-11, atol=1e-13), 2.0 / -found.rate
    run = wl.solve(wl.Problem(problem.data, problem.neuron, halves), method, t_end, save=21)
    apart = np.diff(run.dataset["theta"].values[:, :, 0], axis=1)[:, 0]
    assert np.polyfit(run.times, np.log(apart), 1)[0] == pytest.approx(-found.rate, rel=0.02)


DATA = wl.data.single_index(5, "z")
STARTS = {
    "uniform": (wl.initial.uniform(-1.0, 1.0), True, True), "signs": (wl.initial.signs(), False, True),
    "one-sided": (wl.initial.uniform(0.5, 1.0), False, True), "normal": (wl.initial.normal(), True, True),
    "zero": (wl.initial.constant(0.0), False, True),
}  # fmt: skip


@pytest.mark.parametrize("name", STARTS)
def test_which_outer_weights_let_the_start_separate(name):
    law, relu, tanh = STARTS[name]
    for activation, separates in (("relu", relu), ("tanh", tanh)):
        neuron = wl.neurons.ridge(activation, "trained")
        found = wl.initial_support(wl.Problem(DATA, neuron, wl.initial.gaussian(1.0, a=law)))
        assert found.separates is separates, str(found)


def test_pieces_of_a_support_that_touch_are_joined():
    paired = wl.initial.paired(wl.initial.gaussian(1.0, a=wl.initial.uniform(0.0, 1.0)))
    assert supports(paired.a) == [(-1.0, 1.0)]
    problem = wl.Problem(DATA, wl.neurons.ridge("relu", "trained"), paired)
    assert wl.initial_support(problem).separates


def test_atoms_spheres_and_biases_that_do_not_start_everywhere_do_not_separate():
    tanh, a = wl.neurons.ridge("tanh", "trained"), wl.initial.uniform()
    few = wl.Problem(DATA, tanh, wl.initial.array(np.ones((3, 6)), coordinates="full"))
    shell = wl.Problem(DATA, tanh, wl.initial.sphere(1.0, a=a))
    held = wl.Problem(DATA, wl.neurons.ridge("tanh", "trained", "trained"), wl.initial.gaussian(1.0, a=a, b=0.0))
    assert not any(wl.initial_support(p).separates for p in (few, shell, held))


def test_neurons_that_no_theorem_is_about():
    fixed = wl.Problem(DATA, wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    soft = wl.Problem(DATA, wl.neurons.ridge("softplus", "trained"), wl.initial.gaussian(1.0, a=1.0))
    for problem in (fixed, soft):
        assert wl.initial_support(problem).case == "not covered" and wl.initial_support(problem).separates is None


def falling(t):
    """A run with R = 4 e^{−4t}: the linear neuron that starts at f = 0 and learns 2z."""
    return wl.Solution(xr.Dataset({"risk": (("time",), 4 * np.exp(-4 * t))}, {"time": t}, {"method": "MeanField"}))


def test_the_convergence_time_is_where_the_risk_stays_below_the_level():
    found = wl.convergence_time(falling(np.linspace(0.0, 6.0, 121)), 0.04, n=1000)
    assert found.low <= math.log(100) / 4 <= found.high and found.time == pytest.approx(math.log(100) / 4, abs=0.02)
    assert found.settled and found.ratio == pytest.approx(found.time / math.log(1000))


def test_a_level_that_is_not_reached_takes_forever():
    found = wl.convergence_time(falling(np.linspace(0.0, 6.0, 121)), 0.01, level=-1.0, n=100)
    assert found.time == math.inf and "does not come within" in str(found)
    assert not wl.convergence_time(falling(np.linspace(0.0, 0.3, 21)), 0.01).settled


@pytest.mark.slow
def test_the_convergence_time_of_the_linear_neuron():
    run = wl.solve(LINE, wl.MeanField(check=False), t_end=6.0, save=121)
    assert wl.convergence_time(run, 0.04).time == pytest.approx(math.log(100) / 4, abs=0.01)


BAD = {
    "other coordinates": (lambda: wl.stationarity(LINE, wl.Cloud([[1.0]], [1.0], ("r",))), "have the coordinates u, r"),
    "rows too wide": (lambda: wl.stability(LINE, np.ones((2, 3))), "rho must have shape"),
    "noise": (
        lambda: wl.stationarity(wl.Problem(LINE.data, LINE.neuron, LINE.initial, beta=9.0), [[1.0, 0.0]]),
        "drop beta, or compare with wl.gibbs",
    ),
    "tolerance": (lambda: wl.stationarity(LINE, [[1.0, 0.0]], tolerance=0.0), "tolerance must be a positive number"),
    "a mobility in time": (
        lambda: wl.stability(
            wl.Problem(LINE.data, LINE.neuron, LINE.initial, mobility={"w": wl.schedules.window(0, 1)}), [[1.0, 0.0]]
        ),
        "mobilities that do not change",
    ),
    "a negative radius": (lambda: wl.stationarity(LINE, [[1.0, -1.0]]), "radii in reduced coordinates must be >= 0"),
    "too many atoms": (lambda: wl.stability(RELU, np.ones((65, 6))), "at most 64 atoms"),
    "infinite d": (
        lambda: wl.initial_support(wl.Problem(wl.data.gaussian_classes(math.inf, 0.5), RELU.neuron, RELU.initial)),
        "inf",
    ),
    "eta": (lambda: wl.convergence_time(None, 0.1), "convergence_time needs a wl.Solution"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    call, said = BAD[name]
    with pytest.raises(wl.InputError) as error:
        call()
    assert said in str(error.value)
