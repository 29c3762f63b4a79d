"""A data set instead of a law: handwritten 0 against 1, with ridge neurons and with a neuron of one's own.

R(ρ) = (1/M) Σ_q (y_q − f(x_q; ρ))² over the training set; the test set is an observer.
Needs scikit-learn (pip install scikit-learn).
"""

from dataclasses import replace

import jax.numpy as jnp
from sklearn.datasets import load_digits

import widelimit as wl

# Problem
x, y = load_digits(n_class=2, return_X_y=True)
train, test = wl.data.empirical(x / 16, 2.0 * y - 1).split(0.25)
ridge = wl.Problem(
    train,
    wl.neurons.ridge("tanh", outer="trained", bias="trained"),
    wl.initial.gaussian(scale=2.0, a=wl.initial.normal(0, 1), b=0.0),
)


def gated(pixels, theta):
    """One linear unit opens or shuts another: height, unit, gate."""
    return theta[0] * (theta[1:65] @ pixels) * (1 + jnp.tanh(theta[65:] @ pixels))


gates = wl.Problem(train, wl.neurons.custom(gated, D=129), wl.initial.gaussian(scale=3.0))

# Dynamics and observables
for problem, method in (
    (ridge, wl.SGD(n=100, step=2e-3)),
    (ridge, wl.ParticleFlow(n=100, rtol=1e-5, atol=1e-7)),
    (gates, wl.SGD(n=100, step=2e-3)),
):
    tested = {"test_risk": wl.observables.risk(wl.landscape(replace(problem, data=test)))}
    run = wl.solve(problem, method, t_end=2.0, save=5, keep="full", observers=tested)
    print(f"{type(problem.neuron).__name__} neurons, {run.method}")
    for t, risk, other in zip(run.times, run.risk, run.dataset["test_risk"].values, strict=True):
        print(f"   t = {t:.1f}   training risk {risk:.4f}   test risk {other:.4f}")

# Look
wl.figure(run, coordinate="theta_1").savefig("digits.png")
