"""Every solution says how far its risk may be off."""

import math
from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

import widelimit as wl
from widelimit.dynamics import mean_field
from widelimit.dynamics.solve import DYNAMICS
from widelimit.errors import GaveUp

RAMP = wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)))
LINE = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
TWO_CLASSES = wl.Problem(wl.data.gaussian_classes(40, 0.8), RAMP, wl.initial.gaussian(0.8))
T, SAVES = 1.5, 4


@pytest.fixture(scope="module")
def limit():
    """The risk of so many points that it is right to 1e−7."""
    return wl.solve(TWO_CLASSES, wl.MeanField(300, "gauss", 1e-10, 1e-12, check=False), T, save=SAVES).risk


@pytest.mark.more
@pytest.mark.parametrize("placement", ["quantile", "gauss"])
@pytest.mark.parametrize("points", [48, 96])
def test_the_error_of_the_limit_is_above_the_true_one_and_of_its_size(points, placement, limit):
    run = wl.solve(TWO_CLASSES, wl.MeanField(points, placement), T, save=SAVES)
    true = np.abs(run.risk - limit)
    assert run.error.shape == run.times.shape
    assert np.all(true <= run.error + 1e-6)
    seen = true > 1e-6
    assert not seen.any() or np.median(run.error[seen] / true[seen]) < 30


@pytest.mark.parametrize(
    ("method", "beta"),
    [
        (wl.MeanField(48, check=False), math.inf),
        (wl.FiniteVolume(20), math.inf),
        (wl.JKO(0.1, 8), math.inf),
        (wl.NonlinearFlow(4, "reduced", 8, noise_step=0.1), 10.0),
    ],
    ids=lambda case: type(case).__name__,
)
def test_a_run_without_a_check_states_no_error(method, beta):
    run = wl.solve(replace(TWO_CLASSES, beta=beta), method, 0.1, save=2)
    assert np.isnan(run.error).all() and np.isfinite(run.risk).all()


@pytest.mark.more
def test_a_start_that_is_carried_exactly_has_no_error():
    start = wl.initial.array([[0.5], [1.0], [1.5]])
    run = wl.solve(wl.Problem(wl.data.gaussian_classes(math.inf, 0.8), RAMP, start), wl.MeanField(), 0.5, save=2)
    assert not run.error.any()


@pytest.mark.slow
def test_replicas_have_an_error_each_and_exact_risks_have_none():
    run = wl.solve(TWO_CLASSES, wl.SGD(8, 0.01), 0.05, save=3, replicas=2)
    assert run.error.shape == run.risk.shape == (2, 3)
    assert not run.error.any()  # the closed kernel in full coordinates


def test_minimising_movements_know_the_error_of_their_step():
    """Without noise the linear neuron obeys d⟨r²⟩/dt = −2 · 2λ ⟨r²⟩ in the limit; JKO is of order 1 in its step."""
    case = wl.Problem(wl.data.single_index(math.inf, "z", nodes=8), LINE, wl.initial.array([[0.2, 0.5]]), ridge=0.5)
    run = wl.solve(case, wl.JKO(0.1, 4, check=True), 1.0, save=[0.5, 1.0])
    exact = wl.solve(case, wl.MeanField(check=False, rtol=1e-10), 1.0, save=[0.5, 1.0]).risk
    true = np.abs(run.risk - exact)[-2:]
    assert np.all(true > 1e-4) and np.all(true <= run.error[-2:]) and np.all(run.error[-2:] <= 8 * true)


@pytest.mark.slow
def test_a_grid_knows_the_error_of_its_cells(limit):
    run = wl.solve(TWO_CLASSES, wl.FiniteVolume(100, check=True), T, save=SAVES)
    true = np.abs(run.risk - limit)
    assert np.all(true <= run.error) and np.median(run.error / true) < 30


def test_the_error_is_saved_with_the_run_and_unknown_in_a_record_without_it(tmp_path):
    run = wl.solve(TWO_CLASSES, wl.MeanField(48), T, save=2)
    again = wl.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(again.error, run.error)
    old = wl.solving.solution.Solution(run.dataset.drop_vars("risk_error"))
    assert np.isnan(old.error).all() and old.error.shape == run.risk.shape


def test_a_figure_shows_the_error_as_a_band():
    run = wl.solve(TWO_CLASSES, wl.MeanField(48), T, save=2)
    axes = wl.figure(run).axes[0]
    (band,) = axes.collections
    low, high = (getattr(band.get_paths()[0].vertices[:, 1], f)() for f in ("min", "max"))
    assert low == pytest.approx((run.risk - run.error).min()) and high == pytest.approx((run.risk + run.error).max())


@pytest.mark.parametrize("method", [wl.MeanField, wl.FiniteVolume, lambda **words: wl.JKO(0.1, **words)])
def test_check_is_yes_or_no(method):
    with pytest.raises(wl.InputError, match="check must be True or False, got 1"):
        method(check=1)


@pytest.mark.more
def test_a_negative_risk_within_its_error_is_no_divergence():
    """A perfect network, labels on six nodes: R = E tanh² − its sum over the nodes, which is below 0."""
    data, start = wl.data.single_index(2, "tanh(4*z)", nodes=6), wl.initial.array([[4.0, 0.0]], coordinates="full")
    problem = wl.Problem(data, wl.neurons.ridge("tanh"), start)
    run = wl.solve(problem, wl.GD(1, 1e-9), 1e-9, save=2)
    assert run.outcome == "done" and -0.1 < run.risk[0] < -1e-6
    assert np.all(-run.risk <= run.error)


def test_a_twin_that_gives_up_does_not_end_the_run(monkeypatch):
    def gives_up(state, start, stop, tick):
        raise GaveUp("no more")

    def ready(*arguments):
        run = mean_field.ready(*arguments)
        return replace(run, twin=replace(run.twin, advance=gives_up), plan=None)

    monkeypatch.setitem(DYNAMICS, wl.MeanField, ready)
    run = wl.solve(TWO_CLASSES, wl.MeanField(48), T, save=2)
    assert run.outcome == "done" and len(run.times) == 2
    assert np.isfinite(run.error[0]) and np.isnan(run.error[1])


def at_least(share, cases):
    """The fewest of so many cases that a share of all would have, but for one time in a thousand."""
    return stats.binom.ppf(1e-3, cases, share)


ERF = wl.activations.erf
COORDINATES = {  # random coordinates ↦ a problem with a start of this scale and another start of a
    1: lambda kappa, size: wl.Problem(
        wl.data.gaussian_classes(40, 0.8), wl.neurons.ridge(ERF), wl.initial.gaussian(2 * kappa)
    ),
    2: lambda kappa, size: wl.Problem(
        wl.data.single_index(20, "He2(z)"), wl.neurons.ridge(ERF, bias="fixed"), wl.initial.gaussian(kappa, b=size)
    ),
    3: lambda kappa, size: wl.Problem(
        wl.data.single_index(20, "He1(z)"),
        wl.neurons.ridge(ERF, outer="trained"),
        wl.initial.gaussian(kappa, a=wl.initial.normal(size, size)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("count", COORDINATES)
def test_the_error_of_points_covers_the_true_one_in_nine_of_ten_cases(count):
    """Starts of eight scales with few points, against many: placed points differ from case to case by their scale."""
    rng, covered = np.random.default_rng(count), []
    for kappa, size in rng.uniform(0.5, 3.0, (8, 2)):
        problem = COORDINATES[count](kappa, size)
        few, many = (
            wl.solve(problem, wl.MeanField(m, rtol=1e-6, atol=1e-8, check=check), 0.25, save=2)
            for m, check in ((32, True), (512, False))
        )
        true = np.abs(few.risk - many.risk)
        covered.append(bool(np.all(true <= few.error + 1e-6 * many.risk[0])))
    assert sum(covered) >= at_least(0.9, len(covered))


@pytest.mark.slow
def test_the_error_of_a_drawn_law_covers_the_true_one():
    """y = x_1 and f = ⟨θ̄, x⟩: R = |θ̄ − e_1|² for the network found on the draws; 40 laws of draws of their own."""

    def draw(key, n):
        x = jax.random.normal(key, (n, 2))
        return x, x[:, 0]

    neuron = wl.neurons.custom(lambda x, theta: theta @ x, D=2)
    covered = []
    for seed in range(40):
        problem = wl.Problem(
            wl.data.sampler(draw, 2, samples=256), neuron, wl.initial.blocks([2], [wl.initial.normal()])
        )
        run = wl.solve(problem, wl.GD(4, 0.1), 0.5, save=2, seed=seed)
        true = np.sum((np.asarray(run.final.theta).mean(axis=0) - [1.0, 0.0]) ** 2)
        covered.append(abs(float(run.risk[-1]) - true) <= float(run.error[-1]))
    assert sum(covered) >= at_least(0.68, len(covered))
