"""Gradient descent is explicit Euler for the particle flow: the distance is of order one in the step.

On a smooth landscape the error is C ε + O(ε²), so each halving of a step of 0.02 halves it to a few percent; the flow
itself is known to 1e-8.
"""

import numpy as np
import pytest

import widelimit as wl

T, STEPS = 0.4, (0.02, 0.01, 0.005, 0.0025)
SLOWING = wl.schedules.exponential(1.5)


def problem(d, sigma="erf", **more):
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.6),
        wl.neurons.ridge(sigma, outer="trained", bias="trained"),
        wl.initial.gaussian(0.8, a=wl.initial.normal(1.0, 0.5), b=wl.initial.uniform(0.0, 1.0)),
        **more,
    )


def distances(p, coordinates, n=6, finer=1):
    """max |θ(GD) − θ(flow)| over neurons, coordinates and save times, for every step."""

    def neurons(method):
        keep = {"keep": coordinates, "save": [0.2, T]}
        return wl.solve(p, method, T, **keep).dataset["theta"].values

    flow = neurons(wl.ParticleFlow(n, coordinates))
    return np.array([np.abs(neurons(wl.GD(n, step / finer, coordinates)) - flow).max() for step in STEPS])


@pytest.mark.slow
def test_gd_approaches_the_particle_flow_at_order_one():
    """With a mobility and a schedule that vary smoothly."""
    varying = {"mobility": {"a": SLOWING, "w": 0.5}, "schedule": wl.schedules.exponential(0.5)}
    error = distances(problem(40, ridge=0.2, **varying), "reduced")
    assert error[0] > 1e-3
    np.testing.assert_allclose(np.log2(error[:-1] / error[1:]), 1, rtol=0, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "finer"), [("erf", 1), ("ramp", 8)])
def test_gd_approaches_the_particle_flow_at_order_one_in_full_coordinates(sigma, finer):
    """The ramp is ten times as steep, and the law sets in at smaller steps."""
    error = distances(problem(6, sigma, ridge=0.2, mobility={"a": SLOWING}), "full", finer=finer)
    np.testing.assert_allclose(np.log2(error[:-1] / error[1:]), 1, rtol=0, atol=0.1)


def test_a_step_through_the_origin_comes_out_on_the_other_side():
    """Linear neurons under a ridge of 2 ε λ = 1.5: w ← −w/2, so the length halves, in reduced coordinates too."""
    linear = wl.neurons.ridge(wl.activations.polynomial([0.0, 1.0]))
    p = wl.Problem(wl.data.gaussian_classes(40, 0.5), linear, wl.initial.gaussian(1.0), ridge=7.5)
    r = wl.solve(p, wl.GD(4, 0.1, "reduced"), 0.3, save=4).dataset["theta"].values[..., 0]
    np.testing.assert_allclose(r[1:], r[:-1] / 2, rtol=1e-14)
