"""What is learnt when: runs with known curves, the time scales of a fast outer layer, and a staircase on the cube."""

import math

import numpy as np
import pytest

import widelimit as wl
from widelimit.theory.gap.rates import slope

INF = math.inf


@pytest.fixture(scope="module")
def linear():
    """y = 2 z1 + z2 + noise by a linear network: u → (2, 1) like 1 − e^{−2t}, both at once."""
    problem = wl.Problem(
        wl.data.multi_index(INF, 2, "2*z1 + z2", noise=0.5), wl.neurons.ridge("x"), wl.initial.gaussian(1.0)
    )
    return wl.learning_curves(wl.solve(problem, wl.MeanField(1, check=False), 4.0, save=81))


@pytest.mark.more
def test_a_linear_network_learns_by_its_exact_curve(linear):
    t = linear.times
    learnt = linear.dataset["coefficient"].sel(component="h1(z1)").values
    np.testing.assert_allclose(learnt, 2 * (1 - np.exp(-2 * t)), atol=1e-6)
    assert linear.learning_time("h1(z1)", 0.75) == pytest.approx(math.log(2), abs=2e-3)
    assert linear.learning_time("h1(z1)", 1.0) == INF
    np.testing.assert_allclose(linear.by_degree.sel(degree=1), 5 * np.exp(-4 * t), atol=1e-5)


def test_what_the_components_miss_is_the_rest(linear):
    """R = Σ gaps + noise² + (length of w in other directions, which stays 0 here)."""
    data = linear.dataset
    total = data["gap"].sum("component") + data["rest"] + 0.25
    np.testing.assert_allclose(total, data["risk"], atol=1e-12)


def test_growth_from_zero_is_a_power_of_time(linear):
    assert linear.growth("h1(z2)", 0.04, 0.11) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("saves", [1, 2, 3, 5, 20])
def test_a_run_cut_short_has_the_steps_it_made(linear, saves):
    """u passes half of the target at t = log(2)/2, between the saves 6 and 7."""
    short = wl.LearningCurves(linear.dataset.isel(time=slice(0, saves)))
    assert len(short.steps) == (2 if saves > 7 else 0)
    assert all(math.isfinite(t) == (saves > 7) for t in short.learning_times.values())
    if saves == 20:
        first, second = short.steps
        assert first.level == pytest.approx(1.25, rel=0.02) and second.level == 0.25


def test_unknown_curves_are_named(linear):
    for call in (lambda: linear.learning_time("1"), lambda: linear.plateaus("h9(z)"), lambda: linear.plateaus(7),
                 lambda: linear.growth("h1(z1)", 1.0, 0.5), lambda: linear.learning_time("h1(z1)", 2.0),
                 lambda: wl.learning_curves(None)):  # fmt: skip
        with pytest.raises(wl.InputError):
            call()


def test_steps_and_components_have_a_figure(linear):
    axes = wl.figure(linear).axes
    assert [a.get_title() for a in axes] == ["Risk", "What is missing of the target"]
    assert len(axes[1].get_legend().get_texts()) == 2


def scales(epsilon):
    """ReLU neurons on the sphere whose outer weights are 1/ε times as fast, on h_0 − h_1 + (2/3) h_2 [bmz23]."""
    problem = wl.Problem(
        wl.data.single_index(INF, "h0(z) - h1(z) + 2/3*h2(z)"),
        wl.neurons.ridge("relu", outer="trained", inner="sphere"),
        wl.initial.sphere(1.0, a=wl.initial.normal(0, 1)), mobility={"a": 1 / epsilon},
    )  # fmt: skip
    times = np.geomspace(1e-2 * epsilon, 30.0, 241)
    return wl.learning_curves(wl.solve(problem, wl.ParticleFlow(10, "reduced"), 30.0, save=times.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e-3, 1e-6])
def test_degrees_are_learnt_one_after_another_with_a_fast_outer_layer(epsilon):
    """½R steps down to 0.7222 and 0.2222, the levels of what is not learnt yet, on time scales ε, √ε log(1/ε) and
    ε^{1/4} up to numbers of order 1. The risk itself is flat at 0.7222 for ε = 10⁻⁶; the next step is a mere bend."""
    curves = scales(epsilon)
    steps = curves.steps
    assert [step.component for step in steps] == ["1", "h1(z)", "h2(z)"]
    np.testing.assert_allclose([step.level / 2 for step in steps[:2]], [0.7222, 0.2222], rtol=0.01)
    assert steps[0].risk / 2 == pytest.approx(0.7222, rel=0.05)
    first, second, third = (step.start for step in steps)
    assert 0.2 < first / epsilon < 5 and 0.05 < third / epsilon**0.25 < 5
    assert 0.1 < second / (math.sqrt(epsilon) * math.log(1 / epsilon) / 2) < 5
    if epsilon == 1e-6:
        assert steps[1].risk / 2 == pytest.approx(0.2222, rel=0.1)
        assert any(
            abs(rest.level / 2 / 0.7222 - 1) < 0.01 and rest.end > 100 * rest.start for rest in curves.plateaus()
        )
    degree = curves.plateaus(2)[0]  # degree 2 rests where it starts until degree 1 is learnt
    assert degree.level / 2 == pytest.approx(0.2222, rel=0.01) and degree.end > 0.3 * second


STAIRS = "z1 + z1*z2 + z1*z2*z3"


@pytest.mark.slow
def test_a_staircase_grows_by_powers_of_two_while_the_first_layer_trains():
    """u_k ~ t^{2^{k−1}}: the coefficients of its monomials grow like t, t³, t⁷; later the outer layer trains alone."""
    turn = 2.0
    rates = wl.Mobility(w=wl.schedules.window(0, turn), a=wl.schedules.window(turn, INF))
    problem = wl.Problem(
        wl.data.hypercube(INF, STAIRS), wl.neurons.ridge("sigmoid(x - 0.5)", outer="trained"),
        wl.initial.gaussian(1.0, a=wl.initial.uniform(-1, 1)), mobility=rates,
    )  # fmt: skip
    times = np.geomspace(1e-2, 2 * turn, 61)
    fine = wl.MeanField(32, "gauss", rtol=1e-10, atol=1e-20, check=False)
    solution = wl.solve(problem, fine, 2 * turn, save=times.tolist())
    early, theta = times < 0.3, solution.dataset["theta"].values
    sizes = [np.sqrt(theta[:, :, k] ** 2 @ solution.dataset["weights"].values)[early] for k in (1, 2, 3)]
    found = [float(slope(times[early].tolist(), size)) for size in sizes]
    np.testing.assert_allclose(found, [1, 2, 4], atol=0.1)
    curves = wl.learning_curves(solution)
    assert curves.growth("z1", 0.01, 0.3) == pytest.approx(1, abs=0.1)
    assert curves.growth("z1*z2", 0.01, 0.3) == pytest.approx(3, abs=0.1)
    a, u = theta[:, :, 0], theta[:, :, 1:4]
    assert np.ptp(a[times < turn], axis=0).max() == 0 and np.ptp(u[times > turn * 1.01], axis=0).max() == 0
    assert np.ptp(a[times > turn], axis=0).max() > 0


@pytest.mark.slow
def test_a_staircase_is_learnt_in_its_order():
    both = {"a": wl.initial.normal(0.0, 1.0), "b": wl.initial.normal(0.0, 1.0)}
    problem = wl.Problem(
        wl.data.hypercube(INF, STAIRS), wl.neurons.ridge("tanh", outer="trained", bias="trained"),
        wl.initial.gaussian(1.0, **both),
    )  # fmt: skip
    curves = wl.learning_curves(wl.solve(problem, wl.MeanField(256), 20.0, save=81))
    assert list(curves.learning_times) == ["z1", "z1*z2", "z1*z2*z3"]
    assert all(math.isfinite(t) for t in curves.learning_times.values())
    np.testing.assert_allclose([step.level for step in curves.steps], [2, 1, 0], atol=1e-4)
    np.testing.assert_allclose(curves.dataset["rest"], 0, atol=1e-9)  # all components are listed
