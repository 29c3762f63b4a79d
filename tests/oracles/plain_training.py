"""Training in plain numpy loops, and flows by Runge–Kutta.

SGD   θ_i += 2 s_k M [ mean over the batch of (y − f(x; θ)) ∇σ*(x; θ_i) − λ ∇v(θ_i) ]
      f = (1/n) Σ_i a_i σ(⟨w_i, x⟩ + b_i)
GD    θ_i −= 2 s_k M ∇Ψ(θ_i; ρ^N)
flow  dθ_i/dt = −2 ξ(t) M ∇Ψ(θ_i; ρ)
"""

import numpy as np
from scipy.integrate import solve_ivp


def neuron_slopes(theta, x, sigma, scalars):
    """f(x) of the network, and ∇σ*(x; θ_i) of every neuron, (n, D), at one input x (d,)."""
    a = theta[:, 0] if "a" in scalars else np.ones(len(theta))
    b = theta[:, len(scalars) - 1] if "b" in scalars else np.zeros(len(theta))
    h = theta[:, len(scalars) :] @ x + b
    value, slope = sigma.value(h), sigma.slope(h)
    columns = [c for name, c in (("a", value), ("b", a * slope)) if name in scalars]
    inner = (a * slope)[:, None] * x
    return float(np.mean(a * value)), np.column_stack([*columns, inner]) if columns else inner


def sgd_loop(theta, samples, sigma, scalars, sizes, **options):
    """The neurons after one step for each size s_k; ``samples`` (x, y) in the order they are used.

    batch   samples of each step           decay   θ ↦ λ ∇v(θ), (n, D)
    rates   k ↦ M of every column          after   what is done with θ after a step, e.g. renormalised
    """
    theta, (x, y) = np.array(theta, float), samples
    batch, rates = options.get("batch", 1), options.get("rates", lambda k: 1.0)
    decay, after = options.get("decay", lambda theta: 0.0), options.get("after", lambda theta: theta)
    for k, size in enumerate(sizes):
        push = np.zeros_like(theta)
        for j in range(k * batch, (k + 1) * batch):
            f, slopes = neuron_slopes(theta, x[j], sigma, scalars)
            push += (y[j] - f) * slopes / batch
        theta = after(theta + 2 * size * rates(k) * (push - decay(theta)))
    return theta


def gd_loop(theta, gradient, sizes, rates=1.0):
    """The neurons after a step of each size, ``gradient`` being θ ↦ ∇Ψ(θ; ρ^N)."""
    theta = np.array(theta, float)
    for size in sizes:
        theta = theta - 2 * size * rates * gradient(theta)
    return theta


def flow(theta, velocity, times, tolerance=1e-11):
    """θ at the times, (t, *shape), by an eighth-order Runge–Kutta method; velocity(t, θ)."""
    theta = np.array(theta, float)
    found = solve_ivp(lambda t, x: velocity(t, x.reshape(theta.shape)).ravel(), (times[0], times[-1]), theta.ravel(),
                      method="DOP853", t_eval=times, rtol=tolerance, atol=tolerance)  # fmt: skip
    return found.y.T.reshape(len(times), *theta.shape)


def rk4(theta, velocity, t_end, steps):
    """θ at t_end by the classical method with equal steps."""
    theta, h = np.array(theta, float), t_end / steps
    for k in range(steps):
        t = k * h
        one = velocity(t, theta)
        two = velocity(t + h / 2, theta + h / 2 * one)
        three = velocity(t + h / 2, theta + h / 2 * two)
        four = velocity(t + h, theta + h * three)
        theta = theta + h / 6 * (one + 2 * two + 2 * three + four)
    return theta
