"""Barron's norm in closed form against numbers, and networks sampled from it."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import widelimit as wl
from widelimit.problem.expressions import expression
from widelimit.problem.host_values import host_values

R = 1.5


def moment_1d(f, reach, points=()):
    """∫ |ω||f̂| dω of an even or odd decaying f of one variable, f̂ by the trapezoidal rule: all by itself."""
    x = np.linspace(-14, 14, 2801)
    y = f(x) * (x[1] - x[0]) / (2 * math.pi)

    def size(omega):
        return omega * abs(np.exp(-1j * omega * x) @ y)

    return 2 * quad(size, 0, reach, points=points or None, limit=400, epsabs=1e-11, epsrel=1e-11)[0]


def reflected_sum(derivative, r, terms=200_000):
    """Σ|a_j| + Σ|b_j| of the reflected slope by a fast cosine transform on midpoints, with its tail from 1/j²."""
    from scipy.fft import dct

    n = 1 << 20
    t = -r + 2 * r * (np.arange(n) + 0.5) / n  # reflecting at ±r is the even extension of [−r, r]
    c = np.abs(dct(derivative(t), type=2) / n)
    c[0] /= 2
    head = c[:terms].sum()
    last = np.arange(terms // 2, terms)
    return head + (c[last] * last.astype(float) ** 2).mean() / (terms - 0.5)


CLOSED = {  # expression: (C, numerically)
    "exp(-x**2/2)": lambda: moment_1d(lambda x: np.exp(-(x**2) / 2), 9),
    "3*exp(-2*x**2)": lambda: moment_1d(lambda x: 3 * np.exp(-2 * x**2), 18),
    "cos(2*x)*exp(-x**2/2)": lambda: moment_1d(lambda x: np.cos(2 * x) * np.exp(-(x**2) / 2), 11, (2,)),
    "cos(3*x)*cos(x)*exp(-x**2)": lambda: moment_1d(lambda x: np.cos(3 * x) * np.cos(x) * np.exp(-(x**2)), 17, (2, 4)),
    "exp(-x**2/2) + 2*exp(-x**2/2)*cos(x)": lambda: moment_1d(lambda x: np.exp(-(x**2) / 2) * (1 + 2 * np.cos(x)), 10),
    "exp(-(x - 1)**2)": lambda: moment_1d(lambda x: np.exp(-((x - 1) ** 2)), 13),
    "x**2": lambda: reflected_sum(lambda x: 2 * x, R),
    "x**3": lambda: reflected_sum(lambda x: 3 * x**2, R),
    "x**5 + x**3": lambda: reflected_sum(lambda x: 5 * x**4 + 3 * x**2, R),
    "2*x**4": lambda: reflected_sum(lambda x: 8 * x**3, R),
    "exp(-(x1**2 + x2**2)/2)": lambda: quad(lambda w: w**2 * math.exp(-(w**2) / 2), 0, 12)[0],
    "exp(-(x1**2 + x2**2 + x3**2)/2)": lambda: math.sqrt(2 / math.pi) * quad(
        lambda w: w**3 * math.exp(-(w**2) / 2), 0, 12)[0],
}  # fmt: skip


LONG = ("x**3", "2*x**4")


@pytest.mark.parametrize("text", [pytest.param(f, marks=pytest.mark.slow) if f in LONG else f for f in CLOSED])
def test_closed_forms_agree_with_numbers(text):
    found = wl.barron(text, R)
    assert found.route == "closed form"
    assert found.norm.value == pytest.approx(CLOSED[text](), rel=1e-6)


COSINES = {"cos(3*x)": 3, "cos(x)*cos(3*x)": 3, "2*sin(x) - cos(2*x)": 4, "cos(x)**2": 1, "cos(3*x1 - 4*x2)": 5,
           "cos(x1)*cos(x2)": math.sqrt(2), "sin(x)*sin(x) + cos(x)*cos(x) + sin(x)": 1}  # fmt: skip


@pytest.mark.parametrize("text", COSINES)
def test_sums_and_products_of_cosines_by_hand(text):
    assert wl.barron(text, R).norm.value == pytest.approx(COSINES[text], rel=1e-14)


@pytest.mark.some(1)
@pytest.mark.parametrize("text", ["exp(-x**2/2)", "cos(2*x)*exp(-x**2/2)", "x**2*exp(-x**2/2)", "sin(2*x)*exp(-x**2)"])
def test_any_function_that_decays_has_the_norm_of_its_expression(text):
    f = expression(text)
    numerical = wl.barron(lambda x: host_values(f, x[:, None]), R)
    assert numerical.route == "numerical transform"
    assert numerical.norm.value == pytest.approx(wl.barron(text, R).norm.value, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("text, k", [("exp(-(x1**2 + x2**2)/2)*cos(x1)", 2), ("exp(-x1**2 - x2**2 - x3**2)", 3)])
def test_the_same_in_two_and_three_dimensions(text, k):
    f = expression(text)
    numerical = wl.barron(lambda x: host_values(f, x), R, k=k)
    assert numerical.norm.value == pytest.approx(wl.barron(text, R).norm.value, rel=1e-6)


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_transform_that_changes_its_sign_on_a_sphere_is_within_its_error(k):
    """f = (1 − |x|²) e^{−|x|²/2} has f̂ = (|ω|² − k + 1) φ(ω): C = S_k (2π)^{−k/2} ∫ ϱ^k |ϱ² − k + 1| e^{−ϱ²/2} dϱ."""
    area, turn = 2 * math.pi ** (k / 2) / math.gamma(k / 2), math.sqrt(k - 1)

    def ray(rho):
        return area * (2 * math.pi) ** (-k / 2) * rho**k * abs(rho**2 - k + 1) * math.exp(-(rho**2) / 2)

    exact = quad(ray, 0, turn, epsabs=1e-13)[0] + quad(ray, turn, 40, epsabs=1e-13)[0]
    square = "+".join(f"x{i}**2" for i in range(1, k + 1))
    norm = wl.barron(f"(1 - ({square}))*exp(-({square})/2)", radius=1.0).norm
    assert abs(norm.value - exact) <= norm.error < 1e-3


@pytest.mark.parametrize("frequency", [30.0, 1e4])
def test_narrow_lumps_far_from_the_origin_are_seen(frequency):
    """(1 + x₁) cos(A x₁) e^{−|x|²/2}: lumps √(1 + v²) φ(v) φ(ω₂)/2 at ω₁ = ±A + v, which do not touch."""
    v, p = np.polynomial.hermite_e.hermegauss(80)
    p = p / p.sum()
    exact = np.sum(p[:, None] * p * np.sqrt(1 + v[:, None] ** 2) * np.hypot(v[:, None] + frequency, v))
    norm = wl.barron(f"(1 + x1)*cos({frequency}*x1)*exp(-(x1**2 + x2**2)/2)", radius=1.0).norm
    assert norm.error < 1e-8 * exact and abs(norm.value - exact) <= norm.error + 1e-9 * exact  # of the sum over v


def test_the_sine_times_a_gaussian():
    """|g(ω − a) − g(ω + a)|/2 changes its sign at 0 only: C = a."""
    assert wl.barron("sin(2*x)*exp(-x**2/2)", R).norm.value == pytest.approx(2, rel=1e-12)


@pytest.mark.some(2)
@pytest.mark.parametrize(
    "text", ["x1*x2", "tanh(x)", "x**3 - 3*x", "x1**2*x2 - x1", "x*cos(x)", "cos(2*x1)*exp(-x2**2)"]
)
def test_the_waves_are_the_function_on_the_ball_and_c_is_above_every_slope(text):
    found = wl.barron(text, R)
    x = np.random.default_rng(0).uniform(-1, 1, (200, found.k))
    x *= R / np.maximum(np.linalg.norm(x, axis=1), R)[:, None]
    f0 = host_values(found.f, np.zeros((1, found.k)))
    np.testing.assert_allclose(found.waves(x), host_values(found.f, x) - f0, atol=2e-6)
    h = 1e-6
    shifts = np.eye(found.k) * h
    slope = np.stack([(host_values(found.f, x + s) - host_values(found.f, x - s)) / (2 * h) for s in shifts])
    assert np.linalg.norm(slope, axis=0).max() <= found.norm.value * (1 + 1e-6)


def test_a_steep_slope_is_resolved_by_as_many_waves_as_it_takes():
    """The slope 1000/cosh²(1000 x) has positive coefficients that add up to its value at 0."""
    norm = wl.barron("tanh(1000*x)", 1.0).norm
    assert abs(norm.value - 1000) <= norm.error < 1e-2


def test_a_slope_that_jumps_has_no_finite_norm():
    found = wl.barron("relu(x)", R)
    assert math.isinf(found.norm.value)
    with pytest.raises(wl.InputError, match="finite"):
        wl.approximation(found, [10, 100])


@pytest.mark.slow
@pytest.mark.parametrize("text", ["cos(3*x)", "exp(-x**2/2)", "x**3 - 3*x", "x1*x2"])
def test_the_sampled_network_stays_below_the_bound_with_slope_minus_one(text):
    widths = [10, 32, 100, 316, 1000, 3162, 10_000]
    found = wl.approximation(wl.barron(text, R), widths, draws=100)
    assert (found.means < found.bounds).all()
    assert abs(found.slope + 1) < 0.05


def test_sampled_networks_in_the_quick_lane():
    found = wl.approximation(wl.barron("cos(3*x)", R), [10, 100, 1000], draws=40)
    assert (found.means < found.bounds).all()
    assert abs(found.slope + 1) < 0.15
    assert set(found.document()) >= {"means", "bounds", "slope"}


def test_the_mean_risk_of_the_draws_is_the_variance_over_n():
    """(E a² s² − E (f − f(0))²)/N for f = cos(wx), both by quadrature: a = Δ cos, uniform b."""
    w, n = 3.0, 20
    x = R * ((2 * np.arange(512) + 1) / 512 - 1)
    b = R * ((2 * np.arange(4000) + 1) / 4000 - 1)
    a2 = (2 * R * w * np.sin(w * b)) ** 2
    active = np.where(b >= 0, x[:, None] > b, x[:, None] < b)
    exact = ((active * a2).mean() - ((np.cos(w * x) - 1) ** 2).mean()) / n
    found = wl.approximation(wl.barron("cos(3*x)", R), [n, 2 * n], draws=400)
    assert abs(found.means[0] - exact) < 4 * found.errors[0]


@pytest.mark.slow
def test_trained_networks_need_fewer_neurons_than_the_bound_promises():
    found = wl.approximation(wl.barron("cos(3*x)", R), [10, 100], draws=10, trained=[2, 8, 16], t_end=60.0)
    assert (found.trained_risks < found.barron.delta.value**2 / found.trained_widths / 10).all()
    assert found.trained_risks[-1] < found.trained_risks[0]
    assert (found.best_risks < found.barron.delta.value**2 / found.trained_widths / 10).all()
    assert (np.diff(found.best_risks) <= 0).all() and found.best_risks[-1] < 0.3 * found.best_risks[0]
    assert set(found.document()["best"]) == {2, 8, 16}


BAD = {
    "a pole": (lambda: wl.barron("1/x", 1.0), "finite"),
    "no radius": (lambda: wl.barron("cos(x)", 0.0), "radius must be a positive number"),
    "no variable": (lambda: wl.barron("3", 1.0), "needs a variable"),
    "four numerical variables": (lambda: wl.barron(lambda x: x[:, 0], 1.0, k=4), "at most 3 variables"),
    "growth in two variables": (lambda: wl.barron("tanh(x1*x2)", 1.0), "decay"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises(wl.InputError, match=sentence):
        call()
