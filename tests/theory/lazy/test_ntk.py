"""The tangent kernel: formulas against neurons, quadrature, another library and whole Jacobians."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import erf, ndtr

import widelimit as wl
from widelimit.theory.lazy import ntk as rooms
from widelimit.theory.lazy import ntk_limit

i = wl.initial
SIGMA = {"relu": lambda h: np.maximum(h, 0.0), "erf": erf, "tanh": np.tanh}
SLOPE = {
    "relu": lambda h: 1.0 * (h > 0),
    "erf": lambda h: 2 / math.sqrt(math.pi) * np.exp(-h * h),
    "tanh": lambda h: 1 - np.tanh(h) ** 2,
}
X = np.array([[1.0, -0.5, 0.25], [0.5, 2.0, -1.0], [-1.0, 0.5, -0.25], [0.2, 0.75, 1.5]])  # the third is −1 × the first
DATA = wl.data.gaussian_classes(3, 0.5)


def problem(sigma="relu", start=None, mobility=None, **roles):
    start = start or i.gaussian(1.5)
    return wl.Problem(DATA, wl.neurons.ridge(sigma, **roles), start, mobility=mobility or {})


BOTH = {"outer": "trained", "bias": "trained"}

NEURAL_TANGENTS = {
    ("relu", None): [
        [1.4175, 0.1021027183215261, 0.0, 0.4459258541796579],
        [0.1021027183215261, 5.67, 0.912102718321526, 0.7198420049324143],
        [0.0, 0.912102718321526, 1.4175, 0.2299258541796579],
        [0.4459258541796579, 0.7198420049324143, 0.2299258541796579, 3.0807],
    ],
    ("relu", 0.3): [
        [1.5471, 0.1737029536720627, -0.1043175844380378, 0.5403303814359329],
        [0.1737029536720627, 5.7996, 1.017902299986488, 0.808664146910826],
        [-0.1043175844380378, 1.017902299986488, 1.5471, 0.3122924349225293],
        [0.5403303814359329, 0.808664146910826, 0.3122924349225293, 3.210299999999999],
    ],
    ("erf", None): [
        [1.476889673762396, -0.4084920375738267, -1.476889673762396, 0.1392115675877345],
        [-0.4084920375738267, 2.764570013118875, 0.4084920375738267, 0.04018682396576179],
        [-1.476889673762396, 0.4084920375738267, 1.476889673762396, -0.1392115675877345],
        [0.1392115675877345, 0.04018682396576179, -0.1392115675877345, 2.13519586150933],
    ],
    ("erf", 0.3): [
        [1.54436157071388, -0.3279435332769979, -1.186670065118153, 0.2132318145353595],
        [-0.3279435332769979, 2.790280413975396, 0.4573939684094253, 0.08612218083852205],
        [-1.186670065118153, 0.4573939684094253, 1.54436157071388, -0.05308349355616157],
        [0.2132318145353595, 0.08612218083852205, -0.05308349355616157, 2.174204286553814],
    ],
}


@pytest.mark.parametrize(("name", "b"), NEURAL_TANGENTS)
def test_the_limit_is_that_of_neural_tangents(name, b):
    """Made once with neural-tangents 0.6.5 (jax 0.5.3, double precision) on the inputs X:

        _, _, kernel = stax.serial(Dense(1, W_std=1.5, b_std=b), Relu() or Erf(), Dense(1, W_std=1.2, b_std=None))
        kernel(X, None, "ntk")

    There w = 1.5/√d g, b = b_std g, the output is 1.2/√N Σ g σ, and K is that of the numbers g, all N(0, 1): our
    mobilities are the squares of these factors.
    """
    rates = {"a": 1.2**2, "w": 1.2**2 * 1.5**2 / 3} | ({"b": 1.2**2 * b**2} if b else {})
    law = i.gaussian(1.5, a=i.normal(), b=i.normal(0.0, b) if b else None)
    k = wl.ntk(problem(name, law, rates, outer="trained", bias="trained" if b else "absent"), X)
    assert (k.how, k.error) == ("closed form", 0.0)
    np.testing.assert_allclose(k, NEURAL_TANGENTS[name, b], rtol=0, atol=1e-14 * 10)


def sampled(name, bias, sets=64, n=2000):
    """E σσ', E a²σ'σ' and their standard errors, from neurons drawn by NumPy."""
    rng, found = np.random.default_rng(3), []
    for _ in range(sets):
        w, a = 1.5 / math.sqrt(3) * rng.normal(size=(n, 3)), 0.4 + 0.8 * rng.normal(size=n)
        b = {"absent": 0.0, "normal": 0.3 + 0.5 * rng.normal(size=n), "uniform": rng.uniform(-1, 0.5, n)}[bias]
        h = X @ w.T + b
        values, slopes = SIGMA[name](h), a * SLOPE[name](h)
        found.append([values @ values.T / n, slopes @ slopes.T / n])
    return np.array(found)


@pytest.mark.some(3)
@pytest.mark.parametrize("bias", ["absent", "normal", "uniform"])
@pytest.mark.parametrize("name", SIGMA)
def test_every_set_of_trained_blocks_has_the_mean_over_neurons(name, bias):
    """Within 4 standard errors of 128,000 neurons."""
    law = {"absent": None, "normal": i.normal(0.3, 0.5), "uniform": i.uniform(-1.0, 0.5)}[bias]
    start = i.paired(i.gaussian(1.5, a=i.normal(0.4, 0.8), b=law))
    roles = {"outer": "trained", "bias": "trained" if law else "absent"}
    draws = sampled(name, bias)
    for rates in itertools.product((0.0, 0.7), (0.0, 1.0) if law else (1.0,), (0.0, 2.0)):
        named = {block: rate for block, rate in zip("abw", rates, strict=True) if law or block != "b"}
        k = wl.ntk(problem(name, start, named, **roles), X)
        weights = rates[0] * draws[:, 0] + (rates[1] * (law is not None) + rates[2] * X @ X.T) * draws[:, 1]
        error = weights.std(axis=0, ddof=1) / 8
        assert (np.abs(k.matrix - weights.mean(axis=0)) <= 4 * error + 1e-12).all(), rates
        assert np.all(k.error <= 1e-12 * np.abs(k.matrix).max() * (bias == "uniform"))  # else a formula


@pytest.mark.more
def test_fixed_and_absent_scalars_are_seen_but_not_counted():
    start = i.gaussian(1.5, a=i.signs(2.0), b=0.4)
    fixed = problem("tanh", start, outer="fixed", bias="fixed")
    frozen = problem("tanh", start, {"a": 0.0, "b": 0.0}, **BOTH)
    other = problem("tanh", i.gaussian(1.5, b=0.4), {"w": 4.0}, bias="fixed")  # a² = 4
    for same in (frozen, other):
        np.testing.assert_allclose(wl.ntk(fixed, X), wl.ntk(same, X), rtol=1e-14)


def numbers(b):
    """Deviations, correlation and mean of the pre-activations of the first two inputs."""
    seen = np.column_stack([1.5 / math.sqrt(3) * X[:2], np.full(2, b.std)])
    s = np.linalg.norm(seen, axis=1)
    return *s, seen[0] @ seen[1] / s.prod(), b.mean


def by_dblquad(sigma, s, s2, corr, m):
    root = math.sqrt(1 - corr**2)

    def integrand(g2, g):
        return sigma(m + s * g) * sigma(m + s2 * (corr * g + root * g2)) * math.exp(-(g * g + g2 * g2) / 2)

    return dblquad(integrand, -9, 9, -9, 9, epsabs=1e-12, epsrel=1e-12)[0] / (2 * math.pi)


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["erf", "tanh"])
def test_an_entry_of_a_smooth_neuron_is_its_double_integral(name):
    b = i.normal(0.3, 0.5)
    start, at = i.gaussian(1.5, a=i.normal(), b=b), numbers(b)
    values = wl.ntk(problem(name, start, {"b": 0.0, "w": 0.0}, **BOTH), X)
    slopes = wl.ntk(problem(name, start, {"a": 0.0, "w": 0.0}, **BOTH), X)
    assert values.matrix[0, 1] == pytest.approx(by_dblquad(SIGMA[name], *at), abs=1e-10)
    assert slopes.matrix[0, 1] == pytest.approx(by_dblquad(SLOPE[name], *at), abs=1e-10)


def test_an_entry_of_a_bent_neuron_with_a_mean_is_its_integral():
    """E of (h' | h) by hand, of h > 0 by quadrature."""
    b = i.normal(0.3, 0.5)
    s, s2, corr, m = numbers(b)
    left = s2 * math.sqrt(1 - corr**2)

    def integral(inner, power):
        def integrand(g):
            centre = m + s2 * corr * g
            return (m + s * g) ** power * inner(centre / left) * math.exp(-g * g / 2) / math.sqrt(2 * math.pi)

        return quad(integrand, -m / s, 12, epsabs=1e-13, epsrel=1e-13, limit=200)[0]

    def hinge(z):
        return left * (z * ndtr(z) + math.exp(-z * z / 2) / math.sqrt(2 * math.pi))

    start = i.gaussian(1.5, a=i.normal(), b=b)
    values = wl.ntk(problem("relu", start, {"b": 0.0, "w": 0.0}, **BOTH), X)
    slopes = wl.ntk(problem("relu", start, {"a": 0.0, "w": 0.0}, **BOTH), X)
    assert values.matrix[0, 1] == pytest.approx(integral(hinge, 1), abs=1e-11)
    assert slopes.matrix[0, 1] == pytest.approx(integral(ndtr, 0), abs=1e-11)


STARTS = {"no b": None, "centred b": i.normal(0.0, 0.5), "b": i.normal(0.3, 0.5)}
DISTANCES = 10.0 ** -np.arange(2.0, 13.0)


def around(name, b):
    """K between the first input and inputs beside it, itself, twice and minus itself; and its diagonal."""
    aside = np.array([0.5, 1.0, 0.0]) / math.sqrt(1.25)
    near = np.concatenate([X[0] + e * aside for e in DISTANCES] + [X[0], 2 * X[0], -X[0]]).reshape(-1, 3)
    start = i.gaussian(1.5, a=1.0, b=b)
    one = problem(name, start, outer="fixed", bias="trained" if b else "absent")
    return wl.ntk(one, X[:1], near).matrix[0], wl.ntk(one, X[:1]).matrix[0, 0]


@pytest.mark.parametrize("b", ["no b", "centred b"])
def test_the_corner_of_a_bent_kernel_at_equal_inputs_is_sharp_to_rounding(b):
    """K(x, x + εn) − K(x, x) = −kε, ε from 1e−2 to 1e−12, while rounding allows to see it."""
    found, own = around("relu", STARTS[b])
    k = -(found[2] - own) / DISTANCES[2]
    np.testing.assert_allclose(found[:11] - own, -k * DISTANCES, rtol=1e-3, atol=1e-14)
    assert k > 0.1 and found[11] == own


@pytest.mark.more
@pytest.mark.parametrize(("name", "b"), [("erf", "b"), ("tanh", "b"), ("relu", "b"), ("max(x, 0.3)", "no b")])
def test_kernels_are_continuous_where_inputs_meet(name, b):
    """Smooth neurons to second order; bent ones to first, to the 1e−8 that correlations can tell near 1."""
    found, own = around(name, STARTS[b])
    smooth = name in SLOPE and name != "relu"
    assert (np.abs(found[:11] - own) <= (DISTANCES**2 if smooth else DISTANCES) + (1e-13 if smooth else 1e-8)).all()
    assert found[11] == pytest.approx(own, abs=1e-14)


def test_the_ends_of_the_angle_are_exact():
    """ReLU, a = 1: ½|x|² with itself, |x|² with 2x, 0 with −x; with a trained κ²/d as much again."""
    found, own = around("relu", None)
    square = X[0] @ X[0]
    np.testing.assert_allclose([own, *found[11:]], [square / 2, square / 2, square, 0.0], rtol=0, atol=1e-15)
    k = wl.ntk(problem("relu", i.gaussian(1.5, a=1.0), outer="trained"), X[:1], -X[:1])
    assert k.matrix[0, 0] == pytest.approx(0.0, abs=1e-16)


@pytest.mark.more
@pytest.mark.parametrize("name", SIGMA)
def test_at_the_origin_neurons_see_b_alone(name):
    """With b = 0.3: σ(b)² + σ'(b)² with itself, σ(b) E σ(h) + σ'(b) E σ'(h) with another input."""
    start, zero = i.gaussian(1.5, a=1.0, b=0.3), np.zeros((1, 3))
    k = wl.ntk(problem(name, start, {"w": 5.0}, **BOTH), np.concatenate([zero, X[:1]])).matrix
    value, slope = SIGMA[name](0.3), SLOPE[name](0.3)
    g = np.linspace(-10, 10, 200_001)
    h, p = 0.3 + 1.5 * math.sqrt(X[0] @ X[0] / 3) * g, np.exp(-g * g / 2) / math.sqrt(2 * math.pi) * 1e-4
    assert k[0, 0] == pytest.approx(value**2 + slope**2, abs=1e-11)
    assert k[0, 1] == pytest.approx(value * p @ SIGMA[name](h) + slope * p @ SLOPE[name](h), abs=2e-5)
    without = wl.ntk(problem(name, i.gaussian(1.5)), np.concatenate([zero, X[:1]])).matrix
    assert (without[0] == 0).all() and without[1, 1] > 0


def test_the_diagonal_of_a_bent_kernel_is_continuous_at_the_origin():
    """E σ'(h)² = ½ at every x, and at 0."""
    one = problem("relu", i.gaussian(1.5, b=0.0), {"w": 0.0}, bias="trained")
    np.testing.assert_allclose(wl.ntk(one, X[:1] * np.array([[0.0], [1e-9], [1.0]])).matrix.diagonal(), 0.5, rtol=1e-15)


def test_a_law_of_b_is_cut_at_the_kinks():
    """Uniform b, seen without noise at the origin: E σ'(b)² = 1/3, E σ(b)² = 1/36 for b in (−1, ½)."""
    k = wl.ntk(problem("relu", i.gaussian(1.5, a=1.0, b=i.uniform(-1.0, 0.5)), **BOTH), np.zeros((1, 3)))
    assert (
        k.how == "quadrature" and k.error[0, 0] <= 1e-12 and k.matrix[0, 0] == pytest.approx(1 / 3 + 1 / 36, abs=1e-13)
    )


@pytest.mark.slow
def test_a_mean_over_b_that_does_not_converge_says_by_how_much():
    """Two kinks and opposite inputs: σ'(b + h) σ'(b − h) is 1 for |h| < min(b, 1 − b), which bends at b = ½."""
    start, rates = i.gaussian(1.5, b=i.uniform(-1.0, 1.5)), {"w": 0.0}
    k = wl.ntk(problem("truncated_relu", start, rates, bias="trained"), X[:1], -X[:1])
    s = 1.5 * math.sqrt(X[0] @ X[0] / 3)
    exact = 2 / 2.5 * quad(lambda b: 2 * ndtr(b / s) - 1, 0.0, 0.5, epsabs=1e-14)[0]
    assert k.how == "quadrature" and 1e-12 < abs(k.matrix[0, 0] - exact) <= k.error[0, 0] < 1e-4


def jacobian(neuron_value, theta, weights, x, rates):
    """√p_i ∇σ*(x; θ_i) √m, the whole of it, (n, N·D)."""
    gradient = jax.vmap(lambda row: jax.vmap(jax.grad(lambda one: neuron_value(row, one)))(theta))(jnp.asarray(x))
    return np.asarray(gradient * jnp.sqrt(rates) * jnp.sqrt(weights)[:, None]).reshape(len(x), -1)


@pytest.mark.some(2)
@pytest.mark.parametrize("tiny", [False, True])
@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_finite_kernels_are_products_of_jacobians(name, tiny, monkeypatch):
    """Also in many blocks of neurons and tiles of rows."""
    if tiny:
        monkeypatch.setattr(rooms, "ENTRIES", 24)
        for room in (rooms, ntk_limit):
            monkeypatch.setattr(room, "TILE", 3)
    rng = np.random.default_rng(0)
    theta, weights, x2 = rng.normal(size=(17, 5)), rng.dirichlet(np.ones(17)), rng.normal(size=(7, 3))
    one = problem(name, i.gaussian(1.0, a=1.0, b=0.0), {"a": 0.5, "w": 2.0}, outer="trained", bias="trained")
    rho = wl.Cloud(theta, weights, one.coordinates)

    def value(x, t):
        return t[0] * one.neuron.sigma(t[2:] @ x + t[1])

    rates = np.array([0.5, 1.0, 2.0, 2.0, 2.0])
    left, right = (jacobian(value, theta, weights, rows, rates) for rows in (x2, X))
    k = wl.ntk(one, x2, rho=rho)
    assert k.how == "finite, n = 17" and (k.matrix == k.matrix.T).all()
    np.testing.assert_allclose(k, left @ left.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(wl.ntk(one, x2, X, rho), left @ right.T, rtol=0, atol=1e-12)
    plain = jacobian(value, theta, np.full(17, 1 / 17), x2, rates)
    np.testing.assert_allclose(wl.ntk(one, x2, rho=theta), plain @ plain.T, rtol=0, atol=1e-12)


def bump(x, theta):
    return theta[0] * jnp.exp(-jnp.sum((x - theta[1:]) ** 2))


def custom(start=None):
    start = start or i.blocks([1, 3], [i.signs(), i.normal()])
    return wl.Problem(DATA, wl.neurons.custom(bump, 4), start, mobility={"w": 1.5})


@pytest.mark.parametrize("tiny", [False, True])
def test_kernels_of_custom_neurons_are_products_of_jacobians(tiny, monkeypatch):
    if tiny:
        monkeypatch.setattr(rooms, "ENTRIES", 40)
        for room in (rooms, ntk_limit):
            monkeypatch.setattr(room, "TILE", 3)
    theta = np.random.default_rng(1).normal(size=(9, 4))
    j = jacobian(bump, theta, np.full(9, 1 / 9), X, np.full(4, 1.5))
    np.testing.assert_allclose(wl.ntk(custom(), X, rho=theta), j @ j.T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(wl.ntk(custom(i.array(theta)), X), j @ j.T, rtol=0, atol=1e-13)


def test_neurons_on_the_sphere_learn_along_it():
    """Gradients projected by I − w wᵀ; at infinite width that of draws, and for ReLU a formula."""
    rng = np.random.default_rng(2)
    w = rng.normal(size=(11, 3))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    theta, start = np.column_stack([rng.normal(size=11), w]), i.sphere(1.0, a=i.normal(0.5, 1.0))
    one = problem("tanh", start, outer="trained", inner="sphere")
    k = np.zeros((4, 4))
    for a, *row in theta:
        h = X @ np.array(row)
        slopes = a * SLOPE["tanh"](h)[:, None] * (X - np.outer(h, row))
        k += (slopes @ slopes.T + np.outer(np.tanh(h), np.tanh(h))) / 11
    np.testing.assert_allclose(wl.ntk(one, X, rho=theta), k, rtol=0, atol=1e-14)
    bent = problem("relu", start, outer="trained", inner="sphere")
    drawn = wl.ntk(bent, X, rho=bent.sample_initial(jax.random.key(0), 200_000)).matrix
    np.testing.assert_allclose(wl.ntk(bent, X), drawn, rtol=0, atol=0.03)


@pytest.mark.slow
def test_a_sphere_is_exact_for_neurons_that_scale_and_drawn_for_others():
    """ReLU at |w| = κ is ReLU at E |w|² = κ²; all within 4 standard errors of other neurons."""
    for name, how in (
        ("relu", "closed form"),
        ("max(x, 0.2*x)", "closed form"),
        ("x", "closed form"),
        ("tanh", "draws"),
    ):
        start = i.sphere(1.5, a=i.normal())
        one = problem(name, start, outer="trained")
        k = wl.ntk(one, X)
        sets = np.array([wl.ntk(one, X, rho=one.sample_initial(jax.random.key(s), 4000)) for s in range(64)])
        error = np.hypot(sets.std(axis=0, ddof=1) / 8, k.error)
        assert k.how.startswith(how) and (np.abs(k.matrix - sets.mean(axis=0)) <= 4 * error + 1e-13).all()
        if how == "draws":
            assert 0.002 < np.median(k.error / k.matrix.diagonal().mean()) < 0.05
        else:
            np.testing.assert_allclose(k, wl.ntk(problem(name, i.gaussian(1.5, a=i.normal()), outer="trained"), X))


def test_draws_of_custom_neurons_state_an_honest_error():
    """E ⟨∇σ*, ∇σ*'⟩ = m (1 + 4⟨x − c, x' − c⟩) exp(…) for one Gaussian centre c, from 200,000 centres."""
    k = wl.ntk(custom(), X)
    c, total = np.random.default_rng(5).normal(size=(200_000, 3)), np.zeros((4, 4))
    for j, row in enumerate(X):
        size = np.exp(-((row - c) ** 2).sum(axis=1))
        for m, other in enumerate(X):
            value = size * np.exp(-((other - c) ** 2).sum(axis=1)) * (1 + 4 * ((row - c) * (other - c)).sum(axis=1))
            total[j, m] = 1.5 * value.mean()
    z = np.abs(k.matrix - total) / k.error
    assert k.how == "draws, n = 4096" and z.max() < 4 and z.mean() > 0.1


@pytest.mark.more
def test_inputs_beyond_the_reach_of_the_quadrature_are_left_to_draws():
    """tanh of a large argument is a sign: E σσ' = (2/π) asin corr, and erf of it has a formula."""
    far = 1e5 * X[:2]
    corr = X[0] @ X[1] / np.linalg.norm(X[:2], axis=1).prod()
    for name, how in (("tanh", "draws"), ("tanh(3*x) + max(x, 0)", "draws"), ("erf", "closed form")):
        k = wl.ntk(problem(name, i.gaussian(1.5, a=1.0), {"w": 0.0}, outer="trained"), far)
        assert k.how.startswith(how)
        if "max" not in name:
            assert abs(k.matrix[0, 1] - 2 / math.pi * math.asin(corr)) <= np.max(4 * k.error) + 1e-4
    assert wl.ntk(problem("tanh"), 30 * X).how == "quadrature"


@pytest.mark.slow
def test_neither_the_scale_nor_the_number_of_rows_at_a_time_matters(monkeypatch):
    one = problem("relu", i.gaussian(1.5, a=1.0, b=0.1), **BOTH)
    k, k2 = wl.ntk(one, X), wl.ntk(one, X[1:], X)
    for alpha in (200.0, "lazy"):
        lazy = wl.Problem(DATA, one.neuron, one.initial, alpha=alpha)
        np.testing.assert_array_equal(k, wl.ntk(lazy, X))
    np.testing.assert_allclose(k2, k.matrix[1:], rtol=0, atol=1e-15)
    monkeypatch.setattr(ntk_limit, "PAIRS", 8)  # two rows at a time
    np.testing.assert_allclose(k, wl.ntk(one, X), rtol=0, atol=1e-15)
    np.testing.assert_allclose(k2, wl.ntk(one, X[1:], X), rtol=0, atol=1e-15)


@pytest.mark.slow
def test_finite_kernels_reach_the_limit_like_the_root_of_the_width():
    one = problem("relu", i.gaussian(1.5, a=i.normal(), b=i.normal(0.0, 0.5)), **BOTH)
    x = np.random.default_rng(0).normal(size=(10, 3))
    limit, widths = wl.ntk(one, x).matrix, [64, 512, 4096, 32_768]
    gaps = [
        np.mean([
            np.linalg.norm(wl.ntk(one, x, rho=one.sample_initial(jax.random.key(s), n)).matrix - limit)
            for s in range(32)
        ])
        for n in widths
    ]  # fmt: skip
    assert np.polyfit(np.log(widths), np.log(gaps), 1)[0] == pytest.approx(-0.5, abs=0.1)


def test_the_effective_rank_counts_equal_eigenvalues():
    assert wl.Kernel(3 * np.eye(5), 0.0, "closed form").effective_rank == pytest.approx(5)
    assert wl.Kernel(np.ones((5, 5)), 0.0, "closed form").effective_rank == pytest.approx(1)
    assert wl.Kernel(np.diag([1.0, 2.0]), 0.0, "closed form").effective_rank == pytest.approx(9 / 5)
    assert 1 < wl.ntk(problem(), X).effective_rank < 4


def test_numpy_takes_a_kernel_for_its_matrix():
    k = wl.ntk(problem(), X)
    assert np.asarray(k) is k.matrix and np.linalg.eigvalsh(k).shape == (4,) and (k @ np.eye(4)).shape == (4, 4)
    assert repr(k) == "<Kernel: 4 × 4, closed form>"


TIMED = {"w": wl.schedules.window(0.0, 1.0)}
BAD = {
    "no problem": (lambda: wl.ntk(X, X), "ntk needs a wl.Problem, got 'ndarray'"),
    "one input": (lambda: wl.ntk(problem(), X[0]), "x must be finite numbers of shape (n, d), got shape (3,)"),
    "no inputs": (lambda: wl.ntk(problem(), X[:0]), "one row or more of d = 3 columns, got (0, 3)"),
    "other inputs": (lambda: wl.ntk(problem(), X, X[:, :2]), "x2 must have one row or more of d = 3 columns, got"),
    "not a number": (lambda: wl.ntk(problem(), X * math.nan), "got shape (4, 3) with nan or inf"),
    "radii": (
        lambda: wl.ntk(problem(), X, rho=wl.Cloud([[1.0]], [1.0], ("r",))),
        "the NTK needs neurons in full coordinates, w_1, w_2, w_3, got 'r': run in full coordinates",
    ),
    "a start of radii": (lambda: wl.ntk(problem(start=i.array([[1.0]])), X), "coordinates, w_1, w_2, w_3, got 'r'"),
    "narrow neurons": (lambda: wl.ntk(problem(), X, rho=[[1.0, 2.0]]), "an array (n, 3), got (1, 2)"),
    "a density": (
        lambda: wl.ntk(problem(), X, rho=wl.Density(([0.0, 1.0],), [1.0], ("r",), (3.0,))), "rho must be finite numbers"
    ),
    "infinite dimension": (
        lambda: wl.ntk(wl.Problem(wl.data.hypercube(math.inf, "z1"), wl.neurons.ridge("tanh"), i.gaussian(1.0)), X),
        "the NTK needs inputs of a finite dimension, got inf",
    ),
    "a schedule": (lambda: wl.ntk(problem(mobility=TIMED), X), "the NTK needs mobilities that are numbers"),
    "two inputs' rank": (lambda: wl.ntk(problem(), X, X[:2]).effective_rank, "got (4, 2): leave x2 out"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_in_one_sentence(name):
    call, sentence = BAD[name]
    with pytest.raises(wl.InputError) as caught:
        call()
    assert sentence in str(caught.value) and str(caught.value).endswith(".")
