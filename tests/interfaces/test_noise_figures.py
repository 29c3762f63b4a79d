"""Pictures of limits on a grid, and of noise beside the Gibbs law."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

import widelimit as wl
from widelimit.interfaces.curves import PREFERRED

BETA, RIDGE = 20.0, 0.5


def line(data, **noise):
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    return wl.Problem(data, neuron, wl.initial.gaussian(0.8), **noise)


@pytest.fixture(scope="module")
def noisy():
    """A linear neuron that learns nothing: r² ~ χ²_d/(βλ) in the end."""
    problem = line(wl.data.gaussian_classes(20, 0.5), ridge=RIDGE, beta=BETA)
    grid = wl.solve(problem, wl.FiniteVolume(cells=40), 0.5, save=6)
    return grid, wl.solve(problem, wl.SGD(30, 0.01), 0.5, save=3), wl.gibbs(problem, points=128)


@pytest.fixture(scope="module")
def points():
    return wl.solve(line(wl.data.gaussian_classes(20, 0.5)), wl.MeanField(50), 0.5, save=2)


def called(solution, method):
    return wl.Solution(solution.dataset.assign_attrs(method=method))


def lines_of(axes):
    return {one.get_label(): one for one in axes.get_lines() if not one.get_label().startswith("_")}


def with_style(axes, style):
    return [drawn for drawn in axes.get_lines() if drawn.get_linestyle() == style and len(drawn.get_xdata())]


@pytest.mark.slow
def test_every_limit_has_a_line_of_its_own_in_both_panels(noisy, points):
    grid = noisy[0]
    left, right = wl.figure(grid, points, called(grid, "JKO"), times=4).axes
    drawn = lines_of(left)
    assert list(drawn) == ["PDE on a grid", "mean-field limit (PDE)", "JKO scheme"]
    assert len({(one.get_linestyle(), one.get_color()) for one in drawn.values()}) == 3
    assert all(len(with_style(right, style)) == 4 for _, style in PREFERRED.values())


@pytest.mark.more
def test_the_line_of_a_density_is_its_marginal_and_particles_stay_bars(noisy):
    grid, sgd, _ = noisy
    _, right = wl.figure(sgd, grid, times=2).axes
    dashed = with_style(right, "--")
    edges, values = grid.final.marginal("r")
    np.testing.assert_allclose(dashed[-1].get_xdata(), (edges[1:] + edges[:-1]) / 2)
    np.testing.assert_allclose(dashed[-1].get_ydata(), np.maximum(values, 1e-9))
    assert len(dashed) == len(right.patches) == 2
    low, high = right.get_xlim()
    assert edges[0] < low < grid.at(0).mean(grid.at(0).column("r")) < high < edges[-1]


@pytest.mark.slow
def test_cells_that_move_and_points_are_both_drawn_as_jko(noisy, points):
    grid = noisy[0]
    stretch = 1 + grid.dataset["time"]
    moving = wl.Solution(called(grid, "JKO").dataset.assign(edges_r=grid.dataset["edges_r"] * stretch))
    _, right = wl.figure(moving, times=2).axes
    first, last = with_style(right, ":")
    np.testing.assert_allclose(last.get_xdata(), 1.5 * first.get_xdata())
    _, right = wl.figure(called(points, "JKO"), times=2).axes
    assert len(with_style(right, ":")) == 2 and not right.patches


def test_the_figure_with_a_law_shows_density_over_time_decay_and_the_end(noisy):
    grid, sgd, law = noisy
    heat, decay, last, bar = wl.figure(law, sgd, grid).axes
    image = np.asarray(heat.collections[0].get_array())
    assert image.shape[1] == len(grid.times) and heat.get_xlim() == (0, 0.5)
    rows = np.linspace(*heat.get_ylim(), image.shape[0] + 1)
    np.testing.assert_allclose(np.diff(rows) @ image, 1.0, atol=0.02)  # mass one at every time
    excess = grid.dataset["free_energy"].values - law.free_energy
    assert decay.get_yscale() == "log"
    np.testing.assert_allclose(lines_of(decay)["PDE on a grid"].get_ydata(), np.where(excess > 0, excess, np.nan))
    labels = [text.get_text() for text in last.get_legend().get_texts()]
    assert labels == [r"Gibbs law $\rho_*$", "SGD, N = 30, $t$ = 0.5", "PDE on a grid, $t$ = 0.5"]
    assert len(last.patches) == 1 and r"\rho_t(r)" in bar.get_ylabel() and "|w|" in last.get_xlabel()


def test_a_free_energy_below_its_minimum_is_masked_and_shown_as_error_of_the_grid(noisy):
    grid, _, law = noisy
    energy = grid.dataset["free_energy"].copy(data=law.free_energy + np.array([1.0, 0.1, 1e-16, 0.0, -1e-3, -1e-3]))
    _, decay, _, _ = wl.figure(law, wl.Solution(grid.dataset.assign(free_energy=energy))).axes
    above, below = decay.get_lines()[:2]
    assert np.isfinite(above.get_ydata()).tolist() == [True, True, False, False, False, False]
    assert np.isfinite(below.get_ydata()).tolist() == [False, False, False, False, True, True]
    assert "below 0 by the error of the grid" in lines_of(decay)


@pytest.mark.slow
def test_the_density_of_a_law_does_not_show_its_nodes():
    """u ~ N(m, 1/(βλ)) for a linear neuron, also in two coordinates, where a bin holds one node or none."""
    law = wl.gibbs(line(wl.data.single_index(20, "He1(z)"), ridge=RIDGE, beta=BETA), points=96)
    edges, values = law.density("u")
    exact = np.diff(norm.cdf(edges, law.rho.mean(law.rho.column("u")), 1 / np.sqrt(BETA * RIDGE))) / np.diff(edges)
    np.testing.assert_allclose(values, exact, rtol=1e-5, atol=1e-12)


@pytest.mark.more
def test_a_radius_of_one_dimension_keeps_its_mass_at_zero():
    law = wl.gibbs(line(wl.data.single_index(2, "He1(z)"), ridge=RIDGE, beta=BETA), points=128)
    edges, values = law.density("r")
    exact = 2 * np.diff(norm.cdf(edges, 0.0, 1 / np.sqrt(BETA * RIDGE))) / np.diff(edges)
    np.testing.assert_allclose(values, exact, rtol=1e-5, atol=1e-12)


def test_a_law_found_by_simulation_is_an_outline(noisy):
    grid, sgd, law = noisy
    draws = replace(law, rho=sgd.at(0.5), log_density=None)
    _, _, last, _ = wl.figure(draws, grid).axes
    assert [patch.get_label() for patch in last.patches] == [r"Gibbs law $\rho_*$"]


def test_a_law_needs_a_solution_on_a_grid(noisy):
    grid, sgd, law = noisy
    for others in [(), (sgd,), (wl.Solution(grid.dataset.isel(time=[0])),)]:
        with pytest.raises(wl.InputError, match=r"needs a solution on a grid.*add wl\.solve\(problem, wl\.FiniteVol"):
            wl.figure(law, *others)
    with pytest.raises(wl.InputError, match="one Gibbs law, got 2"):
        wl.figure(law, law, grid)
    with pytest.raises(wl.InputError, match="unknown coordinate 'u'"):
        wl.figure(law, grid, coordinate="u")
