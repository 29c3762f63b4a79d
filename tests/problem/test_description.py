"""A problem in words: what is kept, what is lost, what is solved."""

import math

import numpy as np
import pytest

import widelimit as wl

START = wl.initial.gaussian(1.0, a=1.0, b=0.0)
NAMES = ["data", "neuron", "start", "reduction", "network", "risk", "flow"]


def described(data, neuron=None, start=START, **more):
    neuron = wl.neurons.ridge("relu", outer="trained", bias="fixed") if neuron is None else neuron
    text = str(wl.Problem(data, neuron, start, **more))
    lines = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert list(lines) == NAMES and text == str(wl.Problem(data, neuron, start, **more))
    return lines


def bowl(x, theta):
    return theta[0] * x[0]


TABLE = wl.data.empirical(np.ones((4, 3)), np.ones(4), replacement=False)
CASES = {  # reduction, network, data: what each must mention
    "single index": (
        wl.data.single_index(20, "He2(z)", 0.1),
        ["(a, b, u, r)", "u = w_1", "r = |(w_2, …, w_20)|", "exact at d = 20"], ["u z + r G", "Hermite"],
        ["d = 20", "N(0, I)", "y = He2(z) + 0.1 G", "z = x_1"]),
    "multi index": (
        wl.data.multi_index(math.inf, 2, "z1*z2"),
        ["(a, b, u_1, u_2, r)", "u = (w_1, w_2)", "d → ∞", "5 dimensions"], ["⟨u, z⟩ + r G"],
        ["d = ∞", "y = z1*z2", "x_1..x_2"]),
    "hypercube": (
        wl.data.hypercube(math.inf, "z1*z2*z3"),
        ["(a, b, u_1, u_2, u_3, r)", "u = (w_1, …, w_3)", "d → ∞"], ["⟨u, z⟩ + r G"],
        ["uniform on {±1}^d", "y = z1*z2*z3"]),
    "hypercube at finite d": (
        wl.data.hypercube(9, "z1*z2"), ["none", "d = ∞ only; use d = inf"], ["σ(⟨w, x⟩ + b)"], ["d = 9", "{±1}^d"]),
    "sphere": (
        wl.data.sphere(20, "z1"), ["(a, b, u, r)", "exact at d = 20", "r = |(w_2, …, w_20)|"], ["u z + τ r"],
        ["|x| = √d", "y = z1", "z1 = x_1"]),
    "classes": (
        wl.data.gaussian_classes(20, informative=5, deviations=[0.5, 1.0, 2.0]),
        ["(a, b, r_1, r_2)", "r_1 = |(w_1, …, w_5)|", "r_2 = |(w_6, …, w_20)|"], ["f(class)", "τ_1 r_1 G_1"],
        ["y = 0 with probability 0.333 and τ = 1", "5 informative"]),
    "data set": (
        TABLE, ["none", "all 5 coordinates", "4 samples"], ["σ(⟨w, x⟩ + b)"], ["4 rows", "without replacement"]),
    "sampler": (
        wl.data.sampler(bowl, 3, samples=50), ["none", "all 5 coordinates", "50 samples"], ["f(x)"], ["drawn by bowl"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_problem_says_what_is_kept_and_what_is_integrated(name):
    data, *expected = CASES[name]
    lines = described(data)
    for key, phrases in zip(("reduction", "network", "data"), expected, strict=True):
        for phrase in phrases:
            assert phrase in lines[key]
    assert "b fixed" in lines["neuron"] and "relu" in lines["neuron"]


def test_a_custom_neuron_is_described_by_its_name():
    lines = described(wl.data.single_index(20, "z"), wl.neurons.custom(bowl, 2), wl.initial.gaussian(1.0))
    assert "bowl(x, θ), θ ∈ R^2" in lines["neuron"] and "σ*(x; θ)" in lines["network"]
    assert "all 2 coordinates" in lines["reduction"]


def test_ridge_noise_and_rates_are_part_of_the_equations():
    lines = described(TABLE, ridge=0.2, beta=50.0, mobility={"a": 0.5}, schedule=wl.schedules.power(0.25))
    assert "0.2 ∫|θ|² dρ" in lines["risk"] and "0.1 |θ|²" in lines["flow"]
    assert "β = 50" in lines["flow"] and "ξ(t)" in lines["flow"] and "M ∇Ψ" in lines["flow"]


@pytest.mark.more
def test_names_of_coordinates_are_those_of_the_landscapes():
    for data in (wl.data.single_index(20, "z"), wl.data.multi_index(20, 3, "z1"), wl.data.sphere(9, "z1*z2")):
        problem = wl.Problem(data, wl.neurons.ridge("erf", outer="trained"), wl.initial.gaussian(1.0, a=1.0))
        land = wl.landscape(problem, reduced=True)
        assert land.coordinates == problem.reduced_coordinates
        assert (
            wl.landscape(problem).coordinates
            == problem.coordinates
            == ("a", *(f"w_{i}" for i in range(1, int(data.d) + 1)))
        )
        assert all(name in str(problem) for name in land.coordinates)
