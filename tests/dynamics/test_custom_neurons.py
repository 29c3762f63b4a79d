"""Custom neurons: a ridge neuron written by hand is the ridge neuron, and any other one runs too."""

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl

N, D, T = 5, 3, 0.5
RNG = np.random.default_rng(0)
X = RNG.normal(size=(11, D))
TABLE = wl.data.empirical(X, np.sin(X[:, 0]) + X[:, 1])
START = wl.initial.array(RNG.normal(size=(N, 1 + D)))


def by_hand(x, theta):
    return theta[0] * jnp.tanh(theta[1:] @ x)


def bump(x, theta):
    return theta[0] * jnp.exp(-0.5 * jnp.sum((x - theta[1:]) ** 2))


def problem(neuron, **more):
    return wl.Problem(TABLE, neuron, more.pop("initial", START), **more)


HAND = wl.neurons.custom(by_hand, 1 + D)
RIDGE = wl.neurons.ridge("tanh", outer="trained")
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
METHODS = {
    "SGD": wl.SGD(N, 0.01),
    "SGD in batches": wl.SGD(N, 0.01, batch=3),
    "GD": wl.GD(N, 0.01),
    "ParticleFlow": wl.ParticleFlow(N, **TIGHT),
}


QUICK = ("SGD", "ParticleFlow")


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in METHODS])
def test_a_ridge_neuron_by_hand_moves_as_the_ridge_neuron(name):
    one, other = (wl.solve(problem(neuron, ridge=0.1), METHODS[name], T, seed=3, save=3) for neuron in (HAND, RIDGE))
    np.testing.assert_allclose(one.dataset["theta"].values, other.dataset["theta"].values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.risk, other.risk, rtol=1e-10)
    assert not np.allclose(one.final.theta, START.theta, atol=1e-3)
    assert one.final.coordinates == ("theta_1", "theta_2", "theta_3", "theta_4")


def test_the_landscape_of_a_neuron_by_hand_is_that_of_the_ridge_neuron():
    one, other = (wl.landscape(problem(neuron)) for neuron in (HAND, RIDGE))
    theta = START.theta
    np.testing.assert_allclose(one.V(theta), other.V(theta), rtol=1e-13)
    np.testing.assert_allclose(one.U(theta, theta), other.U(theta, theta), rtol=1e-13)
    f = np.mean([theta[i, 0] * np.tanh(X @ theta[i, 1:]) for i in range(N)], axis=0)
    assert one.risk(theta) == pytest.approx(np.mean((TABLE.y - f) ** 2), rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [wl.MeanField(32), wl.NonlinearFlow(4, points=32)], ids=["MeanField", "NonlinearFlow"]
)
def test_any_neuron_has_a_limit_and_its_risk_decreases(method):
    solution = wl.solve(problem(wl.neurons.custom(bump, 1 + D), initial=wl.initial.gaussian(1.0)), method, 2.0, save=5)
    assert solution.outcome == "done" and np.isfinite(solution.risk).all()
    assert solution.risk[-1] < solution.risk[0]
    if isinstance(method, wl.MeanField):
        assert np.all(np.diff(solution.risk) < 0)


def test_any_neuron_can_be_noisy():
    """Without data to fit, θ is an Ornstein–Uhlenbeck process: θ² grows by 4 ξ t/β in the mean at first order in t."""
    flat = wl.Problem(
        wl.data.empirical(np.zeros((2, 1)), np.zeros(2)), wl.neurons.custom(lambda x, theta: theta[0] * x[0], 2),
        wl.initial.array(np.zeros((2000, 2))), ridge=0.5, beta=8.0,
    )  # fmt: skip
    last = wl.solve(flat, wl.SGD(2000, 0.01), 0.5, seed=1, save=2).final.theta
    # dθ = −2λθ dt + √(4/β) dB in steps of ε: variance (4ε/β) Σ (1 − 2λε)^{2k}
    variance = 4 * 0.01 / 8 * sum((1 - 2 * 0.5 * 0.01) ** (2 * k) for k in range(50))
    assert abs(last.mean()) <= 5 * np.sqrt(variance / last.size)
    assert abs(np.mean(last**2) - variance) <= 5 * variance * np.sqrt(2 / last.size)
