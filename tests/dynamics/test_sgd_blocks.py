"""Block SGD is plain SGD.

    θ_i ← θ_i + 2 s_k [ (1/b) Σ_{x, y in batch k} (y − f(x; θ)) ∇σ*(x; θ_i) − λ θ_i ]
    s_k = min(ε, t_end − kε) ξ(kε)

The reference are these lines, written once more below in numpy, one sample at a time. Rounding differs by the order of
sums only: 1e-11 is 5,000 steps of ~10 roundings of 1e-16, with a decade to spare.
"""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics import block_layout, sgd
from widelimit.problem.activations import name_of
from widelimit.solving import replicas
from widelimit.solving.progress import silent
from widelimit.solving.streams import stream

ROUNDING = 1e-11
SIGMA = {
    "tanh": (np.tanh, lambda h: 1 - np.tanh(h) ** 2),
    "ramp": (lambda h: np.interp(h, [0.5, 1.5], [-2.5, 7.5]), lambda h: 10.0 * ((h > 0.5) & (h < 1.5))),
}
XI = {
    "power": (wl.schedules.power(0.25), lambda t, step: t**-0.25 if t > 0 else step**-0.25 / 0.75),
    "exponential": (wl.schedules.exponential(0.3), lambda t, step: math.exp(-0.3 * t)),
    "constant": (wl.schedules.constant(1.0), lambda t, step: 1.0),
}


def problem(sigma="tanh", outer="trained", bias="trained", ridge=0.1, xi="power", d=12, informative=None):
    a = None if outer == "absent" else wl.initial.normal(0.5, 1.0)
    b = None if bias == "absent" else wl.initial.uniform(-0.5, 0.5)
    return wl.Problem(
        wl.data.gaussian_classes(d, 0.6, informative),
        wl.neurons.ridge(sigma, outer=outer, bias=bias),
        wl.initial.gaussian(1.0, a=a, b=b),
        ridge=ridge,
        schedule=XI[xi][0],
    )


def samples(p, seed, batch, steps, dtype=float):
    """The batches of steps 0, …, steps − 1, block by block from the data stream."""
    layout, key = block_layout.layout_for(batch), stream(seed, "data")
    draw = jax.jit(lambda k: p.data.sample(k, layout.steps * batch, dtype))
    count = 0
    for block in itertools.count():
        x, y = (np.asarray(v, float) for v in draw(jax.random.fold_in(key, block)))
        for j in range(layout.steps):
            if count == steps:
                return
            rows = slice(j * batch, (j + 1) * batch)
            yield x[rows], y[rows]
            count += 1


def plain_loop(p, xi, theta, step, batches, t_end=math.inf):
    """SGD as the equation says it, one step after the other."""
    sigma, slope = SIGMA[name_of(p.neuron.activation)]
    names = p.neuron.scalars
    moves = dict(zip(names, p.neuron.trained, strict=True))
    columns = dict(zip(names, np.array(theta, float).T[: len(names)], strict=True))
    n = len(theta)
    a, b, w = columns.get("a", np.ones(n)), columns.get("b", np.zeros(n)), np.array(theta, float)[:, len(names) :]
    for k, (x, y) in enumerate(batches):
        s = min(step, t_end - k * step) * xi(k * step, step)
        h = x @ w.T + b
        error = y - sigma(h) @ a / n
        pull = error[:, None] * slope(h) * a
        da, db, dw = error @ sigma(h) / len(y), pull.mean(axis=0), pull.T @ x / len(y)
        w = w + 2 * s * (dw - p.ridge * w)
        a = a + 2 * s * (da - p.ridge * a) if moves.get("a") else a
        b = b + 2 * s * (db - p.ridge * b) if moves.get("b") else b
    here = {"a": a, "b": b}
    return np.concatenate([*(here[name][:, None] for name in names), w], axis=1)


def block_sgd(p, method, seed, stops):
    """The iterates at the times ``stops``, as the driver would ask for them."""
    run = sgd.ready(method, p, seed, None)
    state, now, out = run.state, 0.0, []
    for stop in stops:
        state, now = run.advance(state, now, stop, silent), stop
        out.append(np.asarray(run.view.theta(state)))
    return out


def largest_difference(p, xi, n, step, batch, steps, seed=3, dtype="float64"):
    start = np.asarray(p.sample_initial(stream(seed, "initial"), n))
    plain = plain_loop(p, XI[xi][1], start, step, samples(p, seed, batch, steps, dtype))
    (block,) = block_sgd(p, wl.SGD(n, step, batch, dtype), seed, [steps * step])
    assert np.abs(plain - start).max() > 100 * ROUNDING, "nothing moved: the comparison would be empty"
    assert np.abs(plain).max() < 20, "not of order one: rounding would be amplified"
    return np.abs(plain - block).max()


@pytest.fixture
def short_blocks(monkeypatch):
    """Two sub-blocks to a block instead of eight: the same code, compiled in a third of the time."""
    monkeypatch.setattr(block_layout, "BLOCK_ROWS", 32)


@pytest.mark.some(1)
@pytest.mark.parametrize(("sigma", "xi"), [("tanh", "power"), ("ramp", "exponential")])
def test_block_sgd_is_the_plain_loop_after_5000_steps(sigma, xi):
    assert largest_difference(problem(sigma, xi=xi), xi, n=30, step=1e-3, batch=1, steps=5_000) < ROUNDING


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("outer", "bias", "ridge"),
    [
        ("fixed", "trained", 0.1),
        ("trained", "fixed", 0.1),
        ("fixed", "fixed", 0.1),
        ("absent", "trained", 0.1),
        ("trained", "absent", 0.0),
        ("absent", "absent", 0.1),
        ("absent", "absent", 0.0),
    ],
)
def test_block_sgd_is_the_plain_loop_whatever_a_and_b_do(outer, bias, ridge, short_blocks):
    p = problem("ramp", outer, bias, ridge, "constant", informative=5)
    assert largest_difference(p, "constant", n=9, step=1e-3, batch=1, steps=700) < ROUNDING


def test_fixed_scalars_do_not_move_under_sgd_not_even_by_the_ridge(short_blocks):
    p = problem("ramp", "fixed", "fixed", 0.1, "constant", informative=5)
    start = np.asarray(p.sample_initial(stream(0, "initial"), 9))
    (end,) = block_sgd(p, wl.SGD(9, 1e-3), 0, [0.3])
    assert (end[:, :2] == start[:, :2]).all()
    assert (end[:, 2:] != start[:, 2:]).all()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("dtype", "ridge", "step", "tolerance"), [("float64", 49.9, 0.01, ROUNDING), ("float32", 3.0, 0.1, 1e-4)]
)
def test_a_strong_ridge_is_no_divergence(dtype, ridge, step, tolerance):
    """The plain loop is stable for 0 < 2 s λ < 2; a product of 128 factors 1 − 2 s λ may underflow on the way."""
    p = problem("ramp", "absent", "absent", ridge, "constant")
    assert largest_difference(p, "constant", n=5, step=step, batch=1, steps=150, dtype=dtype) < tolerance


@pytest.mark.some(1)
@pytest.mark.parametrize("batch", [3, 16, 40, 200])
def test_minibatch_sgd_is_the_plain_loop(batch, monkeypatch):
    monkeypatch.setattr(block_layout, "BLOCK_ROWS", 60)  # blocks of 20, 3, 1 and 1 steps
    steps = 301
    assert steps % block_layout.layout_for(batch).steps != 0 or block_layout.layout_for(batch).steps == 1
    assert largest_difference(problem("tanh"), "power", n=11, step=1e-2, batch=batch, steps=steps) < ROUNDING


def test_float32_follows_float64_on_the_same_samples(short_blocks):
    """Rounding of 6e-8 at each of 1,000 steps adds up like a random walk or a sum: between 2e-6 and 6e-5."""
    gap = largest_difference(problem("tanh"), "power", n=30, step=1e-3, batch=1, steps=1_000, dtype="float32")
    assert 1e-9 < gap < 1e-4


def half_the_square(a, b, w):
    return (a * a + b * b + jnp.sum(w * w)) / 2


@pytest.mark.some(2)
@pytest.mark.parametrize("steps", [0.3, 45.7])
@pytest.mark.parametrize("regulariser", [wl.regularisers.squares(), half_the_square], ids=["blocks", "step by step"])
def test_the_last_step_is_shortened_so_that_a_run_ends_at_t_end(steps, regulariser, short_blocks):
    p = dataclasses.replace(problem(xi="exponential"), regulariser=regulariser)
    start, t_end, step = np.asarray(p.sample_initial(stream(3, "initial"), 9)), 0.01 * steps, 0.01
    batches = samples(p, 3, 1, math.ceil(steps))
    plain = plain_loop(p, XI["exponential"][1], start, step, batches, t_end)
    got = wl.solve(p, wl.SGD(9, step), t_end, seed=3, save=4)
    assert got.times[-1] == t_end
    assert np.abs(got.final.theta - plain).max() < ROUNDING < np.abs(plain - start).max() / 1e6


@pytest.fixture(scope="module")
def cut():
    """Final iterates of one run, whole and cut at many times, some inside a block and some inside a sub-block."""
    p, step = problem("tanh"), 1e-3
    stops = [step * k for k in (1, 2, 15, 16, 17, 128, 130, 255, 500, 513)]
    method = wl.SGD(30, step)
    return block_sgd(p, method, 5, [513 * step])[-1], block_sgd(p, method, 5, stops)[-1]


def test_save_times_do_not_change_the_iterates(cut):
    whole, pieces = cut
    assert (whole == pieces).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("regulariser", [wl.regularisers.squares(), half_the_square], ids=["blocks", "step by step"])
def test_every_save_is_the_plain_loop_up_to_there(regulariser, dtype, short_blocks):
    """Several in one block of 32 steps, at its end, and none in the next."""
    p = dataclasses.replace(problem("tanh", xi="constant"), regulariser=regulariser)
    step, stops = 0.01, [1, 2, 30, 32, 33, 96, 100, 115]
    method = wl.SGD(9, step, 1, dtype)
    saved = block_sgd(p, method, 3, [step * k for k in stops])
    assert (saved[-1] == block_sgd(p, method, 3, [step * stops[-1]])[0]).all()
    start = np.asarray(p.sample_initial(stream(3, "initial"), 9)).astype(dtype)
    for steps, theta in zip(stops, saved, strict=True):
        plain = plain_loop(p, XI["constant"][1], start, step, samples(p, 3, 1, steps, dtype))
        assert np.abs(theta - plain).max() < {"float64": ROUNDING, "float32": 1e-4}[dtype]
        assert np.abs(plain - start).max() > 1e-3


@pytest.mark.parametrize("regulariser", [wl.regularisers.squares(), half_the_square], ids=["blocks", "step by step"])
def test_a_save_is_finite_though_the_steps_after_it_overflow(regulariser, short_blocks):
    p = dataclasses.replace(problem("ramp", xi="constant", ridge=1e30), regulariser=regulariser)
    start, step = np.asarray(p.sample_initial(stream(3, "initial"), 9)), 0.01
    for saved, steps in zip(block_sgd(p, wl.SGD(9, step), 3, [step, 2 * step]), (1, 2), strict=True):
        plain = plain_loop(p, XI["constant"][1], start, step, samples(p, 3, 1, steps))
        assert np.abs(saved - plain).max() < 1e-12 * np.abs(plain).max()
    with np.errstate(all="ignore"):
        assert not np.isfinite(plain_loop(p, XI["constant"][1], start, step, samples(p, 3, 1, 32))).any()


@pytest.mark.parametrize("rates", [{"a": lambda t: 0.35 - t, "b": lambda t: 1.0}, {"w": lambda t: 0.35 - t}])
def test_rates_may_fall_below_0_after_the_end_of_a_noisy_run(rates, short_blocks):
    """The block goes on beyond t_end; 35 · 0.01 is a little more than 0.35."""
    p = dataclasses.replace(problem(xi="constant"), beta=20.0, mobility=rates)
    assert wl.solve(p, wl.SGD(9, 0.01), 0.35, save=3).outcome == "done"
    with pytest.raises(wl.InputError, match=r"the mobility of . must be finite and >= 0 for t > 0, got -0.05.*\.$"):
        wl.solve(p, wl.SGD(9, 0.01), 0.4, save=3)


def test_the_same_seed_gives_the_same_bits(cut):
    again = block_sgd(problem("tanh"), wl.SGD(30, 1e-3), 5, [0.513])[-1]
    other = block_sgd(problem("tanh"), wl.SGD(30, 1e-3), 6, [0.513])[-1]
    assert again.tobytes() == cut[0].tobytes()
    assert np.abs(other - again).max() > 0.1


@pytest.mark.more
def test_the_data_do_not_depend_on_n(monkeypatch, short_blocks):
    """What two networks of different width ask of the data law is the same key and the same size."""
    seen = []
    original = type(problem().data).sample

    def spy(self, key, n, dtype):
        x, y = original(self, key, n, dtype)
        jax.debug.callback(lambda x, y: seen.append((np.array(x), np.array(y))), x, y)
        return x, y

    monkeypatch.setattr(type(problem().data), "sample", spy)
    drawn = []
    for n in (4, 7):
        seen.clear()
        p = problem("ramp", xi="constant", ridge=0.0, d=13)  # a shape no other test compiles, so that the spy is traced
        (end,) = block_sgd(p, wl.SGD(n, 1e-3), 0, [0.064])
        jax.block_until_ready(jnp.asarray(end))
        jax.effects_barrier()
        drawn.append(list(seen))
    assert len(drawn[0]) == len(drawn[1]) == 2
    for (x, y), (x2, y2) in zip(*drawn, strict=True):
        assert (x == x2).all() and (y == y2).all()


def test_a_narrow_network_starts_as_the_first_neurons_of_a_wide_one():
    p = problem()
    narrow, wide = (np.asarray(p.sample_initial(stream(4, "initial"), n)) for n in (10, 20))
    assert (wide[:10] == narrow).all()


def test_streams_of_different_causes_and_seeds_are_unrelated():
    drawn = [float(jax.random.normal(stream(s, c))) for s in (0, 1) for c in ("initial", "data", "noise", "report")]
    assert len(set(drawn)) == len(drawn)


def test_memory_does_not_grow_with_the_number_of_steps():
    """One compiled program serves every number of steps, and nothing is left behind."""
    p, method = problem("tanh"), wl.SGD(30, 1e-3)
    block_sgd(p, method, 0, [0.2])
    programs, alive = (
        replicas.compiled(sgd.Iteration.move, "alone")._cache_size(),
        sum(a.nbytes for a in jax.live_arrays()),
    )
    block_sgd(p, method, 0, [4.0])
    block_sgd(p, method, 0, [0.5, 0.513])
    assert replicas.compiled(sgd.Iteration.move, "alone")._cache_size() == programs
    assert sum(a.nbytes for a in jax.live_arrays()) <= alive + 10_000


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 16, 17, 40, 128, 200])
def test_blocks_hold_whole_batches(batch):
    layout = block_layout.layout_for(batch)
    assert layout.sub_rows == layout.units * batch
    assert layout.steps * batch <= max(block_layout.BLOCK_ROWS, batch)
    assert layout.steps >= 1
