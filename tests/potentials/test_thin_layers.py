"""Layers of a network that rules of several axes miss: their error is stated."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import widelimit as wl
from widelimit.potentials.landscape import Landscape
from widelimit.potentials.thin_layers import turns


def land_of(data, sigma) -> Landscape:
    return wl.landscape(wl.Problem(data, wl.neurons.ridge(sigma), wl.initial.gaussian(1.0)), reduced=True)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [1e-3, 0.0, 0.1, 0.7])
@pytest.mark.parametrize(("size", "r"), [(30.0, 0.01), (3.0, 1e-4), (1e3, 0.1)])
def test_a_bend_beside_a_cut(size, r, angle):
    """y = 1 + z1 z2 and (⟨u, z⟩ + rG)_+ = S N_+ with N = (⟨u, z⟩ + rG)/S: E N_+ h_k(N) = 1/√(2π), ½, 1/(2√π) for
    k = 0, 1, 2. U is the kernel of two rectified normals of covariance C = |u|², and ∂U/∂r = r sin θ/(2π)."""
    land, u = land_of(wl.data.multi_index(math.inf, 2, "1 + z1*z2"), "relu"), size * np.array(circle(angle))
    S, cross = math.hypot(size, r), 2 * u[0] * u[1] / (2 * math.sqrt(2 * math.pi))
    root = r * math.sqrt(2 * size**2 + r * r)  # √(S⁴ − C²)
    theta, turn = np.array([[*u, r]]), math.atan2(root, size**2)
    V = -S / math.sqrt(2 * math.pi) - cross / S
    U = (root + (math.pi - turn) * size**2) / (2 * math.pi)
    slope = -r / S / math.sqrt(2 * math.pi) + cross * r / S**3 + r * math.sin(turn) / (2 * math.pi)
    found = land.errors(theta)
    assert abs(float(land.V(theta)[0]) - V) <= found.V[0]
    assert abs(float(land.U(theta, theta)[0, 0]) - U) <= found.U[0, 0]
    assert abs(float(land.grad_psi(theta, theta)[0, -1]) - slope) <= found.gradient[0, -1]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["1 + z1*z2", "z1 + tanh(3*z1)*z2"])
def test_the_error_of_a_steep_step_is_not_wasted_where_labels_are_smooth(link):
    """erf(|u| z1 + rG), q = 1 + 2r² + 2|u|²: U = (2/π) asin(2|u|²/q), V = 0 or −E z1 erf = −2|u|/√(πq)."""
    land, size, r = land_of(wl.data.multi_index(math.inf, 2, link), "erf"), 200.0, 0.1
    theta, square = np.array([[size, 0.0, r]]), 1 + 2 * r * r + 2 * size**2
    V, U = -2 * size / math.sqrt(math.pi * square), 2 / math.pi * math.asin(2 * size**2 / square)
    found, off = land.errors(theta), abs(float(land.V(theta)[0]) - (0.0 if link == "1 + z1*z2" else V))
    assert off <= found.V[0] < max(30 * off, 1e-4)  # 2e-3 as for a label that jumps
    off = abs(float(land.U(theta, theta)[0, 0]) - U)
    assert 1e-6 < off <= found.U[0, 0] < 30 * off


@pytest.mark.more
def test_the_error_of_a_long_bend_in_its_own_field_is_not_wasted():
    """relu on an axis with the formulas of the first test: ∂Ψ/∂r = −r/(S√2π) + r sin θ/2π."""
    land, size, r = land_of(wl.data.multi_index(math.inf, 2, "1 + z1*z2"), "relu"), 1e3, 0.1
    theta, root = np.array([[size, 0.0, r]]), r * math.sqrt(2 * size**2 + r * r)
    turn = math.atan2(root, size**2)
    slope = -r / math.hypot(size, r) / math.sqrt(2 * math.pi) + r * math.sin(turn) / (2 * math.pi)
    found, off = land.errors(theta), abs(float(land.grad_psi(theta, theta)[0, -1]) - slope)
    assert 1e-6 < off <= found.gradient[0, -1] < 30 * off
    off = abs(float(land.U(theta, theta)[0, 0]) - (root + (math.pi - turn) * size**2) / (2 * math.pi))
    assert off <= found.U[0, 0] < 30 * off


@pytest.mark.slow
def test_two_rules_that_agree_by_chance_do_not_hide_an_error():
    """V = −E [y|t] E (|u| t + rG)_+, t = ⟨u, z⟩/|u|: panels in t and Gauss nodes across; y = z1 + tanh(3 z1) z2. The
    two finest rules are closer to each other than to V."""
    size, angle, r = 10.368362583884029, 0.4215448012502931, 0.19367039663234226
    land, (c, s) = land_of(wl.data.multi_index(math.inf, 2, "tanh(3*z1)*z2 + z1"), "relu"), circle(angle)
    near = np.concatenate([[0.0], np.geomspace(1e-9, 12.0, 70)])
    edges = np.unique([*-near, *near])
    x, w = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    t, p = (edges[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()
    g, q = np.polynomial.hermite_e.hermegauss(150)
    z1, z2 = c * t[:, None] - s * g, s * t[:, None] + c * g
    y, h = (z1 + np.tanh(3 * z1) * z2) @ (q / q.sum()), size * t / r
    phi = np.exp(-h * h / 2) / math.sqrt(2 * math.pi)
    V = -np.sum(p * np.exp(-t * t / 2) / math.sqrt(2 * math.pi) * y * r * (h * ndtr(h) + phi))
    theta = np.array([[size * c, size * s, r]])
    off = abs(float(land.V(theta)[0]) - V)
    assert 1e-6 < off <= land.errors(theta).V[0] < 30 * off
    assert land.risk_error(theta) == pytest.approx(land.errors(theta).risk, rel=1e-3)
    assert land.risk_error(theta) > off  # R = R# + 2V + U


def circle(angle: float) -> tuple[float, float]:
    return math.cos(angle), math.sin(angle)


@pytest.mark.more
@pytest.mark.parametrize("link", ["sign(z1 + z2)", "sign(z1 + z2)*(1 + 0*z3)"])
def test_a_step_that_is_learnt(link):
    """y = sign(t) and erf(|u| t + rG), t = (z1 + z2)/√2: V = −(2/π) atan(√2 |u|/c), c² = 1 + 2r²; U by Sheppard."""
    k, size, r = 2 + ("z3" in link), 1e4, 1e-2
    land = land_of(wl.data.multi_index(math.inf, k, link), "erf")
    theta = np.array([[size / math.sqrt(2), size / math.sqrt(2), *(0.0,) * (k - 2), r]])
    V = -2 / math.pi * math.atan(math.sqrt(2) * size / math.sqrt(1 + 2 * r * r))
    U = 2 / math.pi * math.atan2(2 * size**2, math.sqrt((1 + 4 * size**2 + 2 * r * r) * (1 + 2 * r * r)))
    found = land.errors(theta)
    assert 1e-6 < abs(float(land.V(theta)[0]) - V) <= found.V[0] < 1e-2
    assert 1e-6 < abs(float(land.U(theta, theta)[0, 0]) - U) <= found.U[0, 0] < 1e-2


@pytest.mark.slow
def test_a_bend_on_a_sphere():
    """y = 1 + z1 z2 and u along an axis: V = −|w| √d E T_+ = −|w| √d Γ(d/2)/(2 √π Γ((d + 1)/2))."""
    d, theta = 10, np.array([[30.0, 0.0, 0.03]])
    land = land_of(wl.data.sphere(d, "1 + z1*z2"), "relu")
    mean = math.sqrt(d) * math.gamma(d / 2) / (2 * math.sqrt(math.pi) * math.gamma((d + 1) / 2))
    off = abs(float(land.V(theta)[0]) + math.hypot(30.0, 0.03) * mean)
    assert 1e-8 < off <= land.errors(theta).V[0] < 100 * off


@pytest.mark.more
def test_a_bend_on_the_cut_itself_has_no_error():
    found = land_of(wl.data.multi_index(math.inf, 2, "1 + z1*z2"), "relu").errors(np.array([[3.0, 0.0, 0.0]]))
    assert found.V[0] < 1e-10 and found.U[0, 0] < 1e-10


@pytest.mark.slow
def test_labels_on_nodes_in_full_coordinates():
    """V = −E sign(z1 + z2) erf(⟨w, x⟩), and the risk of that neuron: 1 + 2V + U, U = (2/π) asin(2s²/(1 + 2s²))."""
    problem = wl.Problem(wl.data.multi_index(4, 2, "sign(z1 + z2)"), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
    land, size, r = wl.landscape(problem), 1e4, 1e-2
    theta, square = np.array([[size / math.sqrt(2), size / math.sqrt(2), r, 0.0]]), size**2 + r * r
    V = -2 / math.pi * math.atan(math.sqrt(2) * size / math.sqrt(1 + 2 * r * r))
    U = 2 / math.pi * math.atan2(2 * square, math.sqrt(1 + 4 * square))
    assert 1e-6 < abs(float(land.V(theta)[0]) - V) <= land.errors(theta).V[0]
    assert abs(land.risk(theta) - (1 + 2 * V + U)) <= land.risk_error(theta)


def test_where_a_function_turns():
    assert set(turns(wl.activations.ramp((0.5, -2.5), (1.5, 7.5)).form)) == {0.0, 0.5, 1.5}
    steps = wl.activations.activation("tanh(4*x - 2) + abs(x + 1)").form
    assert {-1.0, 0.5} <= set(np.round(turns(steps), 12))
