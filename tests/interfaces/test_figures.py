"""What is drawn is what is recorded, and runs are named by what differs between them."""

import inspect
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import widelimit as wl
from widelimit.interfaces.canvas import save_picture
from widelimit.interfaces.figures import OWN, drawing
from widelimit.interfaces.finishing import _hides
from widelimit.interfaces.run_labels import labels_of, symbol_of
from widelimit.interfaces.series import series


def problem(scale=0.8, **more):
    data, neuron = wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge(wl.activations.ramp())
    return wl.Problem(data, neuron, wl.initial.gaussian(scale), **more)


def sgd(**options):
    return wl.solve(problem(), wl.SGD(30, 1e-3), 0.05, save=5, **options)


@pytest.fixture(scope="module")
def pair():
    observers = {"mean_r2": wl.observables.moment("r", 2), "both": lambda rho: np.ones(2)}
    return sgd(observers=observers), wl.solve(problem(), wl.MeanField(50), 0.05, save=5)


@pytest.fixture(scope="module")
def many():
    return sgd(replicas=8)


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def band_of(axes, place=0):
    """Low and high ends of a band at the times of its run."""
    corners = axes.collections[place].get_paths()[0].vertices
    times = np.unique(corners[:, 0])
    ends = [corners[corners[:, 0] == t, 1] for t in times]
    return np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def test_the_limit_is_a_line_through_the_symbols_of_sgd(pair):
    finite, limit = pair
    left, right = wl.figure(finite, limit).axes
    pde, dots = lines_of(left)["mean-field limit (PDE)"], lines_of(left)["SGD, N = 30"]
    assert pde.get_linestyle() == "-" and dots.get_linestyle() == "None" and dots.get_marker() != "None"
    np.testing.assert_array_equal(pde.get_ydata(), limit.risk)
    np.testing.assert_array_equal(dots.get_ydata(), finite.risk)
    assert "t" in left.get_xlabel() and "R" in left.get_ylabel() and "r" in right.get_xlabel()
    (strip,) = right.child_axes
    shown = finite.times[[0, 1, 3, 4]]  # the saves nearest to thirds of the horizon
    assert [text.get_text() for text in strip.get_yticklabels()] == [f"{t:.3g}" for t in shown]


def test_the_risk_of_a_data_set_is_that_on_its_rows_in_figures_and_records(pair):
    rows = replace(problem(), data=wl.data.empirical([[0.0, 1.0], [1.0, 0.0]], [1, -1]))
    for run, word in (
        (wl.solve(rows, wl.GD(3, 0.01), 0.01, save=2), "risk on the given rows"),
        (pair[0], "population risk"),
    ):
        assert run.dataset["risk"].attrs["long_name"] == word
        assert wl.figure(run, show="risk").axes[0].get_ylabel().startswith(word)


def test_densities_are_drawn_at_saves_that_all_runs_have_reached(pair):
    """No save twice, whatever number of times is asked for, and none beyond the end of the shorter run."""
    finite, limit = pair
    (axes,) = wl.figure(limit, show="density", times=9).axes
    assert [text.get_text() for text in axes.child_axes[0].get_yticklabels()] == [f"{t:.3g}" for t in limit.times]
    short = wl.Solution(finite.dataset.isel(time=slice(2)), finite.request)
    assert 0 < short.times[-1] < limit.times[1]  # whole steps only
    for runs, t in (((limit, short), 0.0), ((short, limit), short.times[-1])):
        (axes,) = wl.figure(*runs, show="density", times=1).axes
        assert axes.get_title().endswith(f"at $t$ = {t:.3g}")


@pytest.mark.more
def test_replicas_are_a_mean_in_a_band_of_the_middle_95_percent(many):
    (axes,) = wl.figure(many, show="risk").axes
    np.testing.assert_allclose(lines_of(axes)["SGD, N = 30, 8 runs"].get_ydata(), many.risk.mean(axis=0))
    low, high = band_of(axes)
    np.testing.assert_allclose(low, np.quantile(many.risk - many.error, 0.025, axis=0))
    np.testing.assert_allclose(high, np.quantile(many.risk + many.error, 0.975, axis=0))


@pytest.mark.more
def test_a_coordinate_is_its_mean_over_rho_within_its_spread_and_an_observer_what_was_recorded(pair, many):
    finite = pair[0]
    radius, observed = wl.figure(finite, show=("r", "mean_r2")).axes
    r = finite.dataset["theta"].sel(coordinate="r").values
    np.testing.assert_allclose(radius.get_lines()[0].get_ydata(), r.mean(axis=1))
    low, high = band_of(radius)
    np.testing.assert_allclose([low, high], [r.mean(axis=1) - r.std(axis=1), r.mean(axis=1) + r.std(axis=1)])
    np.testing.assert_array_equal(observed.get_lines()[0].get_ydata(), finite.dataset["mean_r2"])
    pooled = many.dataset["theta"].sel(coordinate="r").values[:, -1]
    assert series(many, "r").value[-1] == pytest.approx(pooled.mean())
    assert series(many, "r").high[-1] - series(many, "r").value[-1] == pytest.approx(pooled.std())


def asked(run, n=None, **changes):
    """A record as if it had been asked for otherwise."""
    return wl.Solution(run.dataset.isel(neuron=slice(n)), replace(run.request, **changes))


def test_the_band_of_a_radius_ends_at_0():
    start = wl.initial.array([[0.0], [0.0], [0.0], [1.0]], coordinates="reduced")  # mean 0.25, spread 0.43
    run = wl.solve(replace(problem(), initial=start), wl.MeanField(4), 1e-6, save=2)
    found = series(run, "r")
    assert np.all(found.low == 0) and np.all(found.high > 0.6)


def test_runs_are_named_by_what_differs(pair):
    run, limit = pair
    one, other = (asked(run, problem=problem(scale)) for scale in (0.1, 0.4))
    narrow, seeded = asked(run, 20, method=wl.SGD(20, 2e-3)), asked(run, settings=replace(run.settings, seed=1))
    cold = asked(run, problem=problem(ridge=0.1, beta=50.0))
    assert labels_of([one, other]) == ["κ = 0.1", "κ = 0.4"]
    assert labels_of([run, asked(run, 20, method=wl.SGD(20, 1e-3))]) == ["N = 30", "N = 20"]
    assert labels_of([run, cold]) == ["λ = 0, β = ∞", "λ = 0.1, β = 50"]
    assert labels_of([run, narrow, limit])[1:] == ["SGD, N = 20, ε = 0.002", "mean-field limit (PDE)"]
    assert labels_of([one, limit]) == ["SGD, N = 30, κ = 0.1", "mean-field limit (PDE), κ = 0.8"]
    assert labels_of([run, seeded]) == ["seed = 0", "seed = 1"]
    assert labels_of([limit, limit]) == ["mean-field limit (PDE) (1)", "mean-field limit (PDE) (2)"]
    assert labels_of([wl.Solution(s.dataset) for s in (one, other)]) == ["SGD, N = 30 (1)", "SGD, N = 30 (2)"]


def test_runs_of_one_problem_share_a_colour_where_there_are_several(pair):
    runs = [*(asked(run, problem=problem(0.4)) for run in pair), *pair]
    left, right = wl.figure(runs).axes
    first, second, third, fourth = (line.get_color() for line in left.get_lines())
    assert first == second != third == fourth
    assert "at $t$ = 0.05" in right.get_title() and not right.child_axes


@pytest.mark.more
def test_runs_without_a_common_coordinate_show_their_risk_alone(pair):
    square = wl.neurons.custom(lambda x, theta: theta[0] * (theta[1:] @ x) ** 2, D=4)
    start = wl.Problem(wl.data.single_index(3, "z**2", samples=64), square, wl.initial.gaussian(0.8))
    custom = wl.solve(start, wl.GD(n=4, step=0.05), t_end=0.1, save=3)
    (axes,) = wl.figure(custom, pair[1]).axes
    assert len(lines_of(axes)) == 2 and "risk" in axes.get_title().lower()
    with pytest.raises(wl.InputError, match="must share a coordinate"):
        wl.figure(custom, pair[1], show="density")


def test_labels_come_from_a_dictionary_or_by_hand(pair):
    finite, limit = pair
    left = wl.figure({"network": finite, "limit": limit}).axes[0]
    assert list(lines_of(left)) == ["network", "limit"]
    assert list(lines_of(wl.figure([finite, limit], labels=["a", "b"]).axes[0])) == ["a", "b"]


def test_a_figure_is_drawn_on_given_axes_with_the_scales_that_are_asked_for(pair):
    canvas, axes = plt.subplots()
    assert wl.figure(*pair, ax=axes, log="xy", title="Two runs") is canvas
    assert axes.get_xscale() == axes.get_yscale() == "log" and axes.get_title() == "Two runs"
    assert axes.get_xlim()[0] > 0
    plt.close(canvas)


def test_a_figure_is_drawn_on_the_axes_of_a_part_of_a_figure(pair):
    part = plt.figure().subfigures(1, 2)[0]
    assert wl.figure(*pair, ax=part.subplots(), show="risk") is part.figure  # which can be saved
    assert {text.get_text() for text in part.axes[0].get_legend().get_texts()} == set(labels_of(list(pair)))
    plt.close(part.figure)


@pytest.mark.more
def test_styles_change_sizes_and_leave_no_setting_behind(pair):
    plt.get_backend()  # Matplotlib settles on one when it is first asked
    before = plt.rcParams.copy()
    sizes = {style: wl.figure(*pair, style=style) for style in ("paper", "screen", "slide")}
    widths = [canvas.get_figwidth() for canvas in sizes.values()]
    heavy = [canvas.axes[0].get_lines()[-1].get_linewidth() for canvas in sizes.values()]
    assert widths == sorted(widths) and heavy == sorted(heavy) and len(set(heavy)) == 3
    assert sizes["slide"].axes[0].xaxis.label.get_fontsize() == 17.0
    sizes["slide"].draw_without_rendering()
    assert sizes["slide"].axes[0].get_xticklabels()[0].get_fontsize() == pytest.approx(0.88 * 17)
    assert plt.rcParams == before


def test_many_figures_leave_nothing_in_pyplot_and_can_still_be_shown(pair, recwarn):
    with plt.rc_context({"figure.max_open_warning": 2}):
        made = [wl.figure(pair[1], show="risk") for _ in range(4)]
    made[0].show(warn=False)
    made[0].show(warn=False)
    assert not plt.get_fignums() and not [w for w in recwarn if "opened" in str(w.message)]
    assert made[0]._repr_png_().startswith(b"\x89PNG")


def test_a_legend_is_shown_once_and_lies_on_no_curve(pair):
    crowded = {f"run with a rather long name {i}": pair[i % 2] for i in range(6)}
    canvas = wl.figure(crowded, show=("risk", "r"))
    with_legend = [axes for axes in canvas.axes if axes.get_legend() is not None]
    canvas.draw_without_rendering()
    assert len(with_legend) == 1 and not _hides(with_legend[0])


def test_subscripts_of_two_digits_stay_below_the_line():
    assert symbol_of("theta_12") == r"\theta_{12}" and symbol_of("u") == "u"


BAD = {
    "nothing": (lambda pair: wl.figure(), "one or more solutions"),
    "quantity": (lambda pair: wl.figure(*pair, show="mean"), "unknown quantity to show 'mean': did you mean 'mean_r2'"),
    "array": (lambda pair: wl.figure(*pair, show="both"), "one number at each time, 'both' has more"),
    "crowd": (
        lambda pair: wl.figure([wl.Comparison(None, {})] * 2),
        "draw one figure for each, or use wl.rates for gaps against n",
    ),
    "labels": (lambda pair: wl.figure(*pair, labels=["a"]), "labels must be as many as the runs, 2, got 1"),
    "log": (lambda pair: wl.figure(*pair, log="z"), 'log must be "x", "y", "xy" or "", got \'z\''),
    "style": (lambda pair: wl.figure(*pair, style="slides"), "unknown style 'slides': did you mean 'slide'"),
    "keyword": (lambda pair: wl.figure(*pair, titel="A"), "unknown keyword 'titel': did you mean 'title'"),
    "axes": (lambda pair: wl.figure(*pair, ax=3), "ax must be one or more axes of matplotlib, got 'int'"),
    "times": (lambda pair: wl.figure(*pair, times=0), "times must be a whole number of at least 1"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_figure_that_cannot_be_drawn_is_refused_in_one_sentence(pair, bad):
    draw, sentence = BAD[bad]
    with pytest.raises(wl.InputError) as refused:
        draw(pair)
    assert sentence in str(refused.value) and str(refused.value).count("\n") == 0


@pytest.mark.parametrize("name", OWN)
def test_a_record_drawn_alone_has_a_figure_that_takes_it(name):
    first, *_ = inspect.signature(drawing(name)).parameters.values()
    assert first.annotation == name and hasattr(wl, name)


@pytest.mark.parametrize("ending, begins", [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_saved_picture_has_the_format_of_its_ending(pair, tmp_path, ending, begins):
    target = tmp_path / "new" / f"run.{ending}"
    assert save_picture(wl.figure(*pair), target) == target and target.read_bytes().startswith(begins)
    assert list(target.parent.iterdir()) == [target]


def test_a_picture_that_cannot_be_drawn_leaves_no_file(pair, tmp_path, monkeypatch):
    picture = wl.figure(*pair)

    def broken(path, **options):
        path.write_bytes(b"half")
        raise RuntimeError

    monkeypatch.setattr(picture, "savefig", broken)
    with pytest.raises(RuntimeError):
        save_picture(picture, tmp_path / "run.png")
    assert not list(tmp_path.iterdir())
