"""The overlap of one neuron: exact solutions, the arc-cosine kernel, and the particle flow."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import widelimit as wl


def test_the_overlap_with_a_line_is_a_hyperbolic_tangent():
    """dm/dt = 2 (1 − m²)."""
    flow = wl.overlap_flow("h1(z)", start=0.01, t_end=2.0)
    np.testing.assert_allclose(flow.overlap, np.tanh(2 * flow.times + math.atanh(0.01)), rtol=1e-9)
    np.testing.assert_allclose(flow.risk, 2 - 2 * flow.overlap, atol=1e-14)


def test_the_overlap_with_a_square_grows_like_an_exponential():
    """dm/dt = 4 m (1 − m²): m²/(1 − m²) = C e^{8t}."""
    flow = wl.overlap_flow("h2(z)", start=0.01, t_end=2.0)
    odds = 1e-4 / (1 - 1e-4) * np.exp(8 * flow.times)
    np.testing.assert_allclose(flow.overlap, np.sqrt(odds / (1 + odds)), rtol=1e-8)
    assert flow.exponent == 2 and not flow.error.any()


def test_the_time_to_a_level_is_that_of_the_path():
    flow = wl.overlap_flow("h3(z) + 0.5*h4(z)", start=0.05, t_end=8.0, save=801)
    level = 0.5
    on_path = np.interp(level, flow.overlap, flow.times)
    assert flow.time_to(level) == pytest.approx(on_path, abs=(flow.times[1] - flow.times[0]) ** 2 * 10)
    assert flow.exponent == 3 and flow.time_to(0.01) == 0.0


def test_an_overlap_that_is_pushed_away_never_arrives():
    flow = wl.overlap_flow("h2(z)", start=0.1, t_end=1.0, activation="-h2(z)")
    assert flow.time_to(0.5) == math.inf and flow.overlap[-1] < 0.1


@pytest.mark.slow
def test_orders_that_are_left_out_stay_below_their_bound():
    """ReLU on ReLU: Σ k c_k m^{k−1} = (π − arccos m)/(2π), the derivative of the arc-cosine kernel."""
    pair = wl.overlap_flow("relu(z)", start=0.1, t_end=0.1, save=2).pair
    m = np.linspace(-0.999, 0.999, 41)
    exact = 2 * (1 - m**2) * (math.pi - np.arccos(m)) / (2 * math.pi)
    gap = np.abs(pair.velocity(m) - exact)
    assert np.all(gap <= pair.velocity_error(m) + 1e-12)
    assert gap.max() > 1e-8 and pair.velocity_error(m).max() < 1e-3  # something is left out, and the bound is of use


@pytest.mark.slow
@pytest.mark.parametrize(("link", "d"), [("h3(z)", 3), ("relu(z)", 40)])
def test_a_particle_flow_of_one_neuron_takes_the_same_path_in_every_dimension(link, d):
    start = 0.2
    w = np.concatenate([[start], np.full(d - 1, math.sqrt((1 - start**2) / (d - 1)))])
    problem = wl.Problem(
        wl.data.single_index(d, link), wl.neurons.ridge(link, inner="sphere"), wl.initial.array(w[None], "full")
    )
    particle = wl.solve(problem, wl.ParticleFlow(1, rtol=1e-10, atol=1e-12), 1.5, save=16, keep="full")
    flow = wl.overlap_flow(link, start, 1.5, save=16)
    np.testing.assert_allclose(particle.dataset["theta"].values[:, 0, 0], flow.overlap, atol=2e-6)
    np.testing.assert_allclose(particle.risk, flow.risk, atol=1e-5)


@pytest.mark.slow
def test_a_neuron_in_reduced_coordinates_is_the_network_of_all_its_rotations():
    """At d = ∞ they are orthogonal but for m: dm/dt = 2 (1 − m²) Σ_k k (c_k m^{k−1} − σ̂_k² m^{2k−1}), here for h_2."""
    start = 0.2
    problem = wl.Problem(
        wl.data.single_index(math.inf, "h2(z)"), wl.neurons.ridge("h2(x)", inner="sphere"),
        wl.initial.array([[start, math.sqrt(1 - start**2)]], "reduced"),
    )  # fmt: skip
    cone = wl.solve(problem, wl.ParticleFlow(1, "reduced", rtol=1e-10, atol=1e-12), 0.5, save=6)
    path = solve_ivp(
        lambda t, m: 4 * (1 - m**2) * (m - m**3), (0, 0.5), [start], "LSODA", cone.times, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(cone.dataset["theta"].values[:, 0, 0], path.y[0], atol=1e-6)


BAD = {
    "a start outside": (lambda: wl.overlap_flow("z", 1.5, 1.0), "start"),
    "no horizon": (lambda: wl.overlap_flow("z", 0.1, 0.0), "t_end"),
    "one save": (lambda: wl.overlap_flow("z", 0.1, 1.0, save=1), "save"),
    "a level outside": (lambda: wl.overlap_flow("z", 0.1, 1.0).time_to(1.0), "level"),
    "a link of two variables": (lambda: wl.overlap_flow(lambda z: z[0], 0.1, 1.0), "link"),
    "no link": (lambda: wl.overlap_flow(3.0, 0.1, 1.0), "activation"),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence(name):
    bad, expected = BAD[name]
    with pytest.raises(wl.InputError, match=f"{expected}[^\n]*, got [^\n]*: [^\n]*\\.$"):
        bad()
