"""Inputs that once got a wrong number without a word: the right number, or one sentence."""

import math
from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfc

import widelimit as wl

# ---- the gradient of a neuron at exactly w = 0 in full coordinates

THETA = np.array([[1.0, 0, 0, 0], [0.5, 2, 1, 0], [-0.3, 1.9, 1.1, 0.1]])  # b, w


@pytest.mark.slow
def test_a_neuron_at_the_origin_feels_the_others():
    """One step of GD with ReLU against 2 ε σ'(b) E (y − f) x by Stein's identity: E f x = Σ_j w_j P(h_j > 0)/N."""
    neuron = wl.neurons.ridge("relu", bias="fixed")
    problem = wl.Problem(wl.data.single_index(3, "z"), neuron, wl.initial.array(THETA, coordinates="full"))
    run = wl.solve(problem, wl.GD(3, 0.1), 0.1, save=2, keep="full")
    w, b = THETA[1:, 1:], THETA[1:, 0]
    open_ = [0.5 * math.erfc(-shift / (math.sqrt(2) * np.linalg.norm(row))) for row, shift in zip(w, b, strict=True)]
    force = np.array([1.0, 0, 0]) - np.array(open_) @ w / 3
    np.testing.assert_allclose(run.final.theta[0, 1:], 0.2 * force, rtol=1e-12)
    assert run.final.theta[0, 1:] == pytest.approx([0.065, -0.072, -0.003], abs=5e-4)


LONG = [pytest.param(name, marks=pytest.mark.slow) for name in ("erf", "sin", "x**3 - x", "softplus")]


@pytest.mark.some(1)
@pytest.mark.parametrize("activation", ["relu", "tanh", *LONG])
def test_the_gradient_at_the_origin_is_the_slope_of_psi(activation):
    neuron = wl.neurons.ridge(activation, outer="trained", bias="trained")
    start = wl.initial.gaussian(1.0, a=1.0, b=0.0)
    problem = wl.Problem(wl.data.multi_index(4, 2, "z1*z2 + z1"), neuron, start, ridge=0.3)
    land, rows = wl.landscape(problem), np.random.default_rng(0).normal(size=(3, 6))
    rows[0, 1:], h = [0.4, 0, 0, 0, 0], 1e-3
    rho = wl.Cloud(rows, np.array([0.2, 0.3, 0.5]), land.coordinates)
    gradient = np.asarray(land.grad_psi(rows[:1], rho))[0]
    for j in range(6):
        step = h * np.eye(6)[j]
        at = {e: float(land.psi(rows[0] + e * step, rho)[0]) for e in (-2, -1, 1, 2)}
        slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
        assert gradient[j] == pytest.approx(slope, abs=2e-6)
    assert np.abs(gradient[2:]).max() > 1e-2


# ---- measures

LAND = wl.landscape(
    wl.Problem(
        wl.data.gaussian_classes(60, 0.5, 30), wl.neurons.ridge("erf", outer="trained"), wl.initial.gaussian(1.0, a=1.0)
    ),
    reduced=True,
    tolerance=1e-3,
)


def test_a_cloud_with_other_column_names_is_refused():
    good = wl.Cloud(np.ones((2, 3)), np.full(2, 0.5), ("a", "r_1", "r_2"))
    swapped = wl.Cloud(np.ones((2, 3)), np.full(2, 0.5), ("r_1", "a", "r_2"))
    assert LAND.risk(good) > 0
    for ask in (lambda: LAND.risk(swapped), lambda: LAND.psi(np.ones((1, 3)), swapped)):
        with pytest.raises(wl.InputError, match="coordinates"):
            ask()


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.5, -0.5], [math.nan, 1.0]])
def test_weights_that_are_no_masses_are_refused(weights):
    with pytest.raises(wl.InputError, match="sum to 1"):
        wl.Cloud(np.ones((2, 1)), np.array(weights), ("r",))


# ---- explicit starts


def started(theta, d=2, **options):
    return wl.Problem(wl.data.single_index(d, "z"), wl.neurons.ridge("x**3 - x"), wl.initial.array(theta, **options))


def test_a_negative_radius_is_refused_and_columns_that_may_mean_two_things_are_asked_about():
    with pytest.raises(wl.InputError, match=r"radii .* >= 0, got -1"):
        started([[0.5, -1.0]], d=5)
    with pytest.raises(wl.InputError, match=r'coordinates="full"'):
        started([[0.5, -1.0]])
    full, reduced = started([[0.5, -1.0]], coordinates="full"), started([[0.5, 1.0]], coordinates="reduced")
    found = [wl.solve(p, wl.GD(1, 1e-3, "reduced"), 1e-3, save=2).risk for p in (full, reduced)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
    assert wl.solve(full, wl.GD(1, 1e-3), 1e-3, save=2).dataset["theta"].values[0, 0] == pytest.approx([0.5, 1.0])
    with pytest.raises(wl.InputError, match="explicit start"):
        wl.solve(reduced, wl.GD(1, 0.1), 0.1)


# ---- schedules


@pytest.mark.parametrize("width", [1e-2, 1e-3])
def test_a_narrow_pulse_of_the_schedule_is_integrated(width):
    pulse = wl.schedules.schedule(lambda t: jnp.exp(-0.5 * ((t - 0.371) / width) ** 2) / width)
    assert pulse.integral(1.0) == pytest.approx(math.sqrt(2 * math.pi), rel=1e-10)
    assert pulse.integral(10.0) == pytest.approx(math.sqrt(2 * math.pi), rel=1e-10)


# ---- the slope at r = 0


def test_the_slope_at_radius_zero_is_the_one_to_the_right():
    """σ = |x|: A_0(0, s) = s √(2/π), so that V(r) = −Σ p y τ r √(2/π) has its full slope at r = 0."""
    neuron = wl.neurons.ridge("abs(x)")
    land = wl.landscape(wl.Problem(wl.data.gaussian_classes(20, 0.5), neuron, wl.initial.gaussian(1.0)), reduced=True)
    slope = np.asarray(land.grad_psi([[0.0], [1e-9]], [[0.7]]))[:, 0]
    assert slope[0] == pytest.approx(slope[1], rel=1e-6) and abs(slope[0]) > 0.1


def test_a_free_energy_in_infinitely_many_dimensions_is_refused():
    problem = wl.Problem(
        wl.data.gaussian_classes(math.inf, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0), ridge=0.1, beta=10.0
    )
    with pytest.raises(wl.InputError, match="finite"):
        wl.observables.free_energy(problem)


# ---- single precision with small steps


@pytest.mark.some(1)
@pytest.mark.parametrize("regulariser", [wl.regularisers.squares(), lambda a, b, w: 0.5 * (a * a + jnp.sum(w * w))])
def test_single_precision_does_not_lose_a_decay_below_its_rounding(regulariser):
    """Neurons without output decay like e^{−2λt}; here 2ελ = 2e−8 of a step is below the rounding of 1 − 2ελ."""
    neuron = wl.neurons.ridge(wl.activations.polynomial([0.0]), outer="trained")
    start = wl.initial.array(np.ones((2, 5)))
    problem = wl.Problem(wl.data.gaussian_classes(4, 0.5), neuron, start, ridge=0.01, regulariser=regulariser)
    final = wl.solve(problem, wl.SGD(2, 1e-6, dtype="float32"), 0.02, save=2).final.theta
    np.testing.assert_allclose(1 - final, 1 - math.exp(-2 * 0.01 * 0.02), rtol=2e-2)


# ---- a neuron beside itself, without a closed kernel

WIDE, NARROW = 7.5, 2.5  # deviations of |w| = 5 in the two classes


def mean_of(function):
    return quad(lambda x: function(x) * math.exp(-x * x / 2) / math.sqrt(2 * math.pi), -12, 12, points=(0,), limit=400)[
        0
    ]


def test_parallel_neurons_of_a_general_function_in_full_coordinates():
    """U(w, w) = ½ Σ_c E tanh²(s_c G); V = 0, so that ∂Ψ along w is half its slope."""
    neuron = wl.neurons.ridge("tanh")
    land = wl.landscape(wl.Problem(wl.data.gaussian_classes(3, 0.5), neuron, wl.initial.gaussian(1.0)))
    w = np.array([[3.0, 0.0, 4.0]])
    square = [mean_of(lambda x, s=s: math.tanh(s * x) ** 2) for s in (WIDE, NARROW)]
    slope = [mean_of(lambda x, s=s: 2 * x * math.tanh(s * x) / math.cosh(s * x) ** 2) for s in (WIDE, NARROW)]
    own, push = sum(square) / 2, (1.5 * slope[0] + 0.5 * slope[1]) / 4
    assert (own, push) == pytest.approx((0.79690, 0.018581), rel=5e-5)
    assert float(land.U(w, w)[0, 0]) == pytest.approx(own, rel=1e-11)
    assert float(np.asarray(land.grad_psi(w, w))[0] @ w[0]) / 5 == pytest.approx(push, rel=1e-9)


@pytest.mark.slow
def test_parallel_neurons_of_a_function_with_a_kink():
    neuron = wl.neurons.ridge(wl.activations.custom(lambda x: jnp.tanh(3 * x) + jnp.maximum(x, 0.0), kinks=[0.0]))
    land = wl.landscape(wl.Problem(wl.data.gaussian_classes(3, 0.5), neuron, wl.initial.gaussian(1.0)))
    w = np.array([[0.6, 0.0, 0.8]])
    square = [mean_of(lambda x, s=s: (math.tanh(3 * s * x) + max(s * x, 0.0)) ** 2) for s in (1.5, 0.5)]
    assert float(land.U(w, w)[0, 0]) == pytest.approx(sum(square) / 2, rel=1e-10)


# ---- a layer of a network beside a point at which every rule is cut


def in_layers(function, width, cut=0.0):
    """E of a function of a normal variable that changes within ``width`` of a point."""
    edges = np.unique([-12.0, *(cut + side * 8 * width * k for k in (1, 4) for side in (-1, 1)), cut, 12.0])
    density = 1 / math.sqrt(2 * math.pi)
    return sum(
        quad(lambda z: function(z) * density * math.exp(-z * z / 2), *ends, epsabs=1e-15, limit=200)[0]
        for ends in pairwise(edges)
    )


@pytest.mark.more
@pytest.mark.parametrize("r", [3e-3, 1e-3, 1e-2])
def test_a_bend_that_is_smoothed_closer_to_0_than_the_nodes(r):
    """V = −E h_2(z) E (8z + rG)_+; nodes cut at 0 see 8z_+ alone: 1.6e−7 off at r = 3e−3, 1e−11 stated."""
    neuron, start = wl.neurons.ridge("relu"), wl.initial.gaussian(1.0)
    land = wl.landscape(wl.Problem(wl.data.single_index(math.inf, "h2(z)"), neuron, start), reduced=True)

    def smoothed(z):
        s = 8 * z / r
        return 4 * z * math.erfc(-s / math.sqrt(2)) + r * math.exp(-s * s / 2) / math.sqrt(2 * math.pi)

    exact = -in_layers(lambda z: smoothed(z) * (z * z - 1) / math.sqrt(2), r / 8)
    theta = np.array([[8.0, r]])
    assert abs(float(land.V(theta)[0]) - exact) <= land.errors(theta).V[0] < 1e-9


@pytest.mark.more
def test_a_step_that_is_steeper_than_the_nodes_are_dense():
    """U = E tanh(10⁴ z)²: 8e−5 off, 2e−12 stated."""
    neuron, start = wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0)
    land = wl.landscape(wl.Problem(wl.data.single_index(math.inf, "h1(z)"), neuron, start), reduced=True)
    exact, theta = in_layers(lambda z: math.tanh(1e4 * z) ** 2, 1e-4), np.array([[1e4, 1e-6]])
    assert abs(float(land.U(theta, theta)[0, 0]) - exact) <= land.errors(theta).U[0, 0] < 1e-9


@pytest.mark.slow
def test_a_network_that_has_learnt_where_its_target_bends():
    """y = (z − ½)_+ and a neuron that bends there too, smoothed by r: the rule is cut there."""
    neuron, start = wl.neurons.ridge("relu", bias="trained"), wl.initial.gaussian(1.0, b=0.0)
    land = wl.landscape(wl.Problem(wl.data.single_index(math.inf, "relu(z - 0.5)"), neuron, start), reduced=True)
    u, r = 3.0, 1e-3

    def smoothed(z):
        m = u * (z - 0.5)
        return m / 2 * math.erfc(-m / r / math.sqrt(2)) + r * math.exp(-((m / r) ** 2) / 2) / math.sqrt(2 * math.pi)

    exact, theta = in_layers(lambda z: smoothed(z) ** 2, r / u, 0.5), np.array([[-u / 2, u, r]])
    assert abs(float(land.U(theta, theta)[0, 0]) - exact) <= land.errors(theta).U[0, 0] < 1e-9


# ---- rules that agree because they share their nodes


@pytest.mark.more
@pytest.mark.parametrize(("b", "r"), [(-0.1, 1e-3), (-0.1, 1e-4), (-0.05, 1e-3), (-0.15, 6e-3), (-0.3, 1e-3)])
def test_a_bend_beside_a_cut_of_one_axis(b, r):
    """(b + z + rG)_+ with y = sin z, bent at z = −b: slopes of Ψ by panels around the bend."""
    start = wl.initial.gaussian(1.0, b=wl.initial.normal(0, 1))
    neuron = wl.neurons.ridge("relu", bias="trained")
    land = wl.landscape(wl.Problem(wl.data.single_index(math.inf, "sin(z)"), neuron, start), reduced=True)
    edges = np.unique([*np.linspace(-12, 12, 193), *(-b + r * np.linspace(-12, 12, 97))])
    x, w = np.polynomial.legendre.leggauss(32)
    half = np.diff(edges)[:, None] / 2
    z, p = (edges[:-1, None] + half * (x + 1)).ravel(), (half * w).ravel()
    p *= np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    h = (b + z) / r
    phi, above = np.exp(-h * h / 2) / math.sqrt(2 * math.pi), 0.5 * erfc(-h / math.sqrt(2))
    mean = r * (h * above + phi)
    theta = np.array([[b, 1.0, r]])
    off = np.asarray(land.grad_psi(theta, theta))[0] - [p @ ((mean - np.sin(z)) * s) for s in (above, z * above, phi)]
    assert (np.abs(off) <= land.errors(theta).gradient[0] + 1e-13).all()
    assert abs(float(land.V(theta)[0]) + p @ (np.sin(z) * mean)) <= land.errors(theta).V[0]


@pytest.mark.more
def test_a_series_that_oscillates_in_few_dimensions():
    """d = 1: U(θ, θ) = ¼ Σ_c Σ_± E (b + sG)_+ (b ± sG)_+, at ± = + the second moment, at − an integral to |G| < b/s."""
    start = wl.initial.gaussian(1.0, b=wl.initial.normal(0, 1))
    neuron = wl.neurons.ridge("relu", bias="trained")
    land = wl.landscape(wl.Problem(wl.data.gaussian_classes(1, 0.5), neuron, start), reduced=True)
    for b in (0.3, -0.375, 0.45, 1.2):
        whole = 0.0
        for s in (1.5, 0.5):
            same = quad(lambda g, s=s, b=b: max(b + s * g, 0.0) ** 2 * math.exp(-g * g / 2), -12, 12, points=[-b / s])[
                0
            ]
            other = quad(lambda g, s=s, b=b: (b * b - s * s * g * g) * math.exp(-g * g / 2), -b / s, b / s)[0]
            whole += (same + (other if b > 0 else 0.0)) / math.sqrt(2 * math.pi) / 4
        theta = np.array([[b, 1.0]])
        off = abs(float(land.U(theta, theta)[0, 0]) - whole)
        assert off <= land.errors(theta).U[0, 0] < 30 * off
        assert off <= land.risk_error(theta)


@pytest.mark.more
def test_the_gap_of_a_gibbs_law_knows_the_error_of_its_landscape():
    """d = 1, relu without bias: F from the scalar fixed point of E r² and E r, 0.391661880."""
    data, start = wl.data.gaussian_classes(1, 0.5), wl.initial.gaussian(1.0)
    law = wl.gibbs(wl.Problem(data, wl.neurons.ridge("relu"), start, ridge=0.05, beta=20.0))
    assert 1e-6 < abs(law.free_energy - 0.391661880) <= law.gap < 1e-3
