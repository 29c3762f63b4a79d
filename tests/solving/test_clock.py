"""A run ends at t_end exactly: the last step of a discrete dynamics is as short as it must be.

s_k = (t_end − kε) ξ(kε) for the last step, if t_end is no multiple of ε; every other step is whole, to the bit.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.solving.clock import chunks, steps_until

DELTA, RIDGE = 0.6, 0.3
LINEAR, ONE = wl.activations.polynomial([0.0, 1.0]), wl.activations.polynomial([1.0])


def problem(sigma=LINEAR, d=6, **more):
    return wl.Problem(wl.data.gaussian_classes(d, DELTA), wl.neurons.ridge(sigma), wl.initial.gaussian(1.0), **more)


@pytest.mark.parametrize("step", [1e-4, 1e-3, 0.01, 0.03, 0.1, 1 / 3])
def test_a_whole_number_of_steps_is_whole_to_the_bit(step):
    for count in (*range(1, 200), 1000, 12_345):
        for t_end in (count * step, float(f"{count * step:.12g}"), np.nextafter(count * step, 0)):
            done = chunks(0.0, t_end, step, 64)
            assert (done[0].first, done[-1].last, done[-1].end) == (0, count, float(count))
            assert [a.last for a in done[:-1]] == [b.first for b in done[1:]]
    assert (done[-1].share(jnp.arange(count)) == 1.0).all()


@pytest.mark.parametrize(("t_end", "step"), [(0.1, 0.03), (1.0, 0.3), (0.02, 0.03), (2.0, 0.7)])
def test_shares_add_up_to_the_time(t_end, step):
    (chunk,) = chunks(0.0, t_end, step, 64)
    share = np.asarray(chunk.share(jnp.arange(chunk.last + 3)))
    assert step * share.sum() == pytest.approx(t_end, rel=1e-14)
    assert (share[: chunk.last - 1] == 1).all() and 0 < share[chunk.last - 1] < 1 and (share[chunk.last :] == 0).all()
    assert steps_until(t_end, step) == t_end / step


METHODS = {
    "SGD": wl.SGD(3, 0.03),
    "GD": wl.GD(3, 0.03),
    "ParticleFlow": wl.ParticleFlow(3, noise_step=0.03),
    "MeanField": wl.MeanField(4),
    "JKO": wl.JKO(0.03, cells=4),
    "FiniteVolume": wl.FiniteVolume(20, step=0.03),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("t_end", [0.1, 0.02])
@pytest.mark.parametrize("name", METHODS)
def test_the_time_axis_ends_at_t_end_and_saves_at_whole_steps_before(name, t_end):
    times = wl.solve(problem(), METHODS[name], t_end, save=[0.0, 0.25 * t_end, 0.65 * t_end]).times
    assert times[-1] == t_end and (np.diff(times) > 0).all()
    whole = times[:-1] / 0.03
    if name in ("SGD", "GD", "JKO"):
        np.testing.assert_allclose(whole, whole.round(), atol=1e-12)


def test_a_save_at_the_end_is_not_saved_twice():
    """3 · 0.1 is 0.30000000000000004."""
    assert wl.solve(problem(), wl.GD(3, 0.1), 0.3, save=[0.1, 0.3, 0.3]).times.tolist() == [0.1, 0.3]


@pytest.mark.parametrize("t_end", [0.1, 0.02, 0.09])
def test_gd_is_the_plain_loop_with_a_shorter_last_step(t_end):
    """Linear neurons: ∇Ψ = (1 + Δ²) mean(w) + λ w, and ξ(t) = exp(−t)."""
    p, step = problem(ridge=RIDGE, schedule=wl.schedules.exponential(1.0)), 0.03
    run = wl.solve(p, wl.GD(5, step), t_end, save=[0.0], keep="full")
    w, k = run.dataset["theta"].values[0], 0
    while k * step < t_end - 1e-12:
        size = min(step, t_end - k * step) * np.exp(-k * step)
        w, k = w - 2 * size * ((1 + DELTA**2) * w.mean(axis=0) + RIDGE * w), k + 1
    np.testing.assert_allclose(run.final.theta, w, rtol=0, atol=1e-14)


def test_jko_takes_a_shorter_last_step():
    """The mean of a radial ρ vanishes: r ← r/(1 + 2 s λ), with s = 0.04, 0.04, 0.02."""
    r = wl.solve(problem(ridge=RIDGE), wl.JKO(0.04, cells=6), 0.1, save=[0.0]).dataset["theta"].values[..., 0]
    shrink = (1 + 2 * 0.04 * RIDGE) ** 2 * (1 + 2 * 0.02 * RIDGE)
    np.testing.assert_allclose(r[1], r[0] / shrink, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [wl.GD(200, 0.03), wl.ParticleFlow(200, noise_step=0.03), wl.NonlinearFlow(200, points=4, noise_step=0.03)],
    ids=lambda method: type(method).__name__,
)
def test_noise_has_its_variance_at_t_end(method):
    """Constant neurons feel noise alone: increments of variance 4 Δt/β up to the last whole step, and from there on."""
    run = wl.solve(problem(ONE, d=60, beta=0.5), method, 0.1, save=[0.0, 0.09], keep="full")
    moves = np.diff(run.dataset["theta"].values, axis=0).reshape(2, -1)
    for move, t in zip(moves, (0.09, 0.01), strict=True):
        assert np.mean(move**2) == pytest.approx(8 * t, rel=5 * np.sqrt(2 / move.size))
