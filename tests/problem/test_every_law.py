"""Every data law: what is drawn has the moments of its definition, and misuse is answered in one sentence."""

import math
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.errors import InputError

N = 40_000
NOISE = 0.5


def parity(key, n):
    x = jax.random.rademacher(key, (n, 3), float)
    return x, x.prod(axis=1)


ROWS = np.random.default_rng(0).normal(size=(13, 3)), np.random.default_rng(1).normal(size=13)
GROUPS = {"deviations": [0.5, 1.0, 1.8], "labels": [1.0, -2.0, 0.5], "weights": [5, 2, 3]}
LAWS = {  # law, E y, E y², E x_1 y, E x_1², E x_1⁴
    "single index": (wl.data.single_index(5, "He2(z) + 2*z", NOISE), 0, 6 + NOISE**2, 2, 1, 3),
    "multi index": (wl.data.multi_index(5, 2, "z1*z2 + 3*z1", NOISE), 0, 10 + NOISE**2, 3, 1, 3),
    "hypercube": (wl.data.hypercube(5, "1 + z1 - 2*z1*z2", NOISE), 1, 6 + NOISE**2, 1, 1, 1),
    "sphere": (wl.data.sphere(5, "z1 + z1*z2", NOISE), 0, 1 + 5 / 7 + NOISE**2, 1, 1, 15 / 7),
    "classes": (wl.data.gaussian_classes(5, informative=2, **GROUPS), 0.25, 1.375, 0, 1.297, 10.20408),
    "empirical": (wl.data.empirical(*ROWS), *(np.mean(v) for v in (
        ROWS[1], ROWS[1] ** 2, ROWS[0][:, 0] * ROWS[1], ROWS[0][:, 0] ** 2, ROWS[0][:, 0] ** 4))),
    "sampler": (wl.data.sampler(parity, 3), 0, 1, 0, 1, 1),
}  # fmt: skip


@pytest.mark.some(4)
@pytest.mark.parametrize("name", LAWS)
def test_samples_have_the_moments_of_the_law(name):
    law, *expected = LAWS[name]
    x, y = (np.asarray(v) for v in law.sample(jax.random.key(7), N, float))
    assert x.shape == (N, int(law.d)) and y.shape == (N,)
    first = x[:, 0]
    for samples, mean in zip((y, y**2, first * y, first**2, first**4), expected, strict=True):
        assert abs(samples.mean() - mean) <= 5 * samples.std() / math.sqrt(N) + 1e-12
    if name != "empirical":
        assert np.abs(x.mean(axis=0)).max() <= 5 * x.std() / math.sqrt(N)
        cross = (x.T @ x / N)[~np.eye(int(law.d), dtype=bool)]
        assert np.abs(cross).max() <= 5 * (first**2).mean() / math.sqrt(N) + 1e-12


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [name for name in LAWS if name != "empirical"])
def test_draws_that_stand_for_a_law_have_its_moments(name):
    """Parts of the law weigh what they should; noise of the labels is in the floor."""
    law, *expected = LAWS[name]
    draw = law.draws(jax.random.key(8), N)
    x, y, p, floor = (np.asarray(v) for v in draw)
    assert N <= len(x) == len(y) < 1.1 * N and p.sum() == pytest.approx(1) and len(y) % len(p) == 0
    assert floor == law.noise**2
    first, weights = x[:, 0], np.repeat(p, len(y) // len(p)) * len(p) / len(y)
    for samples, mean in zip((y, y**2 + floor, first * y, first**2, first**4), expected, strict=True):
        assert abs(weights @ samples - mean) <= 5 * samples.std() / math.sqrt(N) + 1e-12
    if name == "hypercube":  # exact in what the label depends on
        assert weights @ y == pytest.approx(1, abs=1e-12) and weights @ y**2 == pytest.approx(6, abs=1e-12)


@pytest.mark.parametrize("name", ["multi index", "hypercube", "empirical", "sampler"])
def test_blocks_are_fresh_obey_their_key_and_the_dtype(name):
    law = LAWS[name][0]
    key = jax.random.key(1)
    one, again, other = (law.block(key, index, 16, jnp.float32) for index in (2, 2, 3))
    assert one[0].dtype == one[1].dtype == jnp.float32
    np.testing.assert_array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])


@pytest.mark.parametrize("name", ["single index", "multi index", "hypercube", "sphere"])
def test_noise_of_the_labels_has_its_variance_and_ignores_the_inputs(name):
    law = LAWS[name][0]
    x, y = (np.asarray(v) for v in law.sample(jax.random.key(3), N, float))
    noise = y - np.asarray(law.target(x[:, 0] if law.kept == 1 else x))
    assert law.noise == NOISE
    assert abs(noise.mean()) <= 5 * NOISE / math.sqrt(N)
    assert abs(noise.var() - NOISE**2) <= 5 * NOISE**2 * math.sqrt(2 / N)
    for column in x.T:
        assert abs(np.mean(noise * column)) <= 5 * NOISE / math.sqrt(N)
        assert abs(np.mean(noise**2 * column) - 0) <= 5 * math.sqrt(3) * NOISE**2 / math.sqrt(N)


def test_inputs_of_the_sphere_and_the_cube_lie_on_them():
    ball, _ = wl.data.sphere(7, "z1").sample(jax.random.key(0), 50, float)
    np.testing.assert_allclose(np.linalg.norm(ball, axis=1), math.sqrt(7), rtol=1e-14)
    cube, _ = wl.data.hypercube(7, "z1").sample(jax.random.key(0), 50, float)
    assert set(np.unique(cube)) == {-1.0, 1.0}


def test_classes_come_in_their_proportions():
    law = LAWS["classes"][0]
    assert law.probabilities == (0.5, 0.2, 0.3)
    x, y = (np.asarray(v) for v in law.sample(jax.random.key(0), N, float))
    for label, p, tau in zip(law.classes, law.probabilities, law.taus, strict=True):
        own = x[y == label]
        assert abs(len(own) / N - p) <= 5 * math.sqrt(p * (1 - p) / N)
        for j in range(5):
            scale = tau if j < 2 else 1.0
            assert abs(np.mean(own[:, j] ** 2) - scale**2) <= 5 * scale**2 * math.sqrt(2 / len(own))


def test_classes_are_labelled_evenly_unless_told():
    assert wl.data.gaussian_classes(5, deviations=[1, 2, 3]).classes == (1.0, 0.0, -1.0)


def test_a_contrast_is_two_deviations():
    one, two = wl.data.gaussian_classes(5, 0.5), wl.data.gaussian_classes(5, deviations=[1.5, 0.5])
    assert (one.groups, one.classes, one.probabilities) == (two.groups, two.classes, two.probabilities)
    for mine, other in zip(*(law.sample(jax.random.key(0), 9, float) for law in (one, two)), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_functions_and_expressions_are_the_same_law():
    key = jax.random.key(2)
    pairs = [
        (wl.data.single_index(4, "z**2 - z"), wl.data.single_index(4, lambda z: z**2 - z)),
        (wl.data.multi_index(4, 2, "z1*z2"), wl.data.multi_index(4, 2, lambda z: z[..., 0] * z[..., 1])),
        (wl.data.hypercube(4, "z1*z2"), wl.data.hypercube(4, lambda z: z[..., 0] * z[..., 1], k=2)),
        (wl.data.sphere(4, "z1*z2"), wl.data.sphere(4, lambda z: z[..., 0] * z[..., 1], k=2)),
    ]
    for one, other in pairs:
        np.testing.assert_allclose(one.sample(key, 9, float)[1], other.sample(key, 9, float)[1], rtol=1e-15)
        np.testing.assert_allclose(one.quadrature.y, other.quadrature.y, rtol=1e-15)


# A data set


def numbers(law, n, blocks, key=4):
    """The row numbers of a stream, read from labels that count the rows."""
    draw = jax.jit(lambda index: law.block(jax.random.key(key), index, n, float)[1])
    return np.concatenate([np.asarray(draw(index)) for index in range(blocks)]).astype(int)


def counted(rows, replacement):
    return wl.data.empirical(np.arange(2.0 * rows).reshape(rows, 2), np.arange(rows), replacement)


@pytest.mark.parametrize("n", [4, 10, 25])
def test_without_replacement_every_epoch_is_a_permutation_whatever_the_blocks(n):
    rows, epochs = 7, 4
    law = counted(rows, replacement=False)
    stream = numbers(law, n, -(-rows * epochs // n))[: rows * epochs]
    for epoch in stream.reshape(epochs, rows):
        assert sorted(epoch) == list(range(rows))
    np.testing.assert_array_equal(stream, numbers(law, rows, epochs))
    assert len({tuple(epoch) for epoch in stream.reshape(epochs, rows)}) > 1


def test_with_replacement_rows_are_uniform_and_independent():
    rows, n = 7, 7000
    stream = numbers(counted(rows, replacement=True), n, 2)
    counts = np.array([Counter(stream.tolist())[i] for i in range(rows)])
    assert np.sum((counts - 2 * n / rows) ** 2 / (2 * n / rows)) <= 24.1  # χ² with 6 degrees of freedom: 1 in 2000
    same = np.mean(stream[1:] == stream[:-1])
    assert abs(same - 1 / rows) <= 5 * math.sqrt(1 / rows / (2 * n))


def test_a_row_keeps_its_label():
    law = wl.data.empirical(*ROWS, replacement=False)
    x, y = jax.jit(lambda key: law.block(key, 1, 20, float))(jax.random.key(0))
    for row, label in zip(np.asarray(x), np.asarray(y), strict=True):
        (i,) = np.flatnonzero((ROWS[0] == row).all(axis=1))
        assert ROWS[1][i] == label


def test_a_split_is_a_partition_of_the_rows():
    law = counted(10, replacement=False)
    train, test = law.split(0.3, seed=5)
    assert (len(train.y), len(test.y)) == (7, 3) and not train.replacement
    assert sorted([*train.y, *test.y]) == list(range(10))
    for part in (train, test):
        np.testing.assert_array_equal(part.x, law.x[part.y.astype(int)])
    assert sorted(law.split(0.3, seed=6)[1].y) != sorted(test.y)
    assert all(len(part.y) >= 1 for part in law.split(0.01)) and all(len(part.y) >= 1 for part in law.split(0.99))


def test_data_sets_are_equal_if_their_rows_are():
    """Landscapes and compiled steps are shared between equal laws."""
    one, two = wl.data.empirical([[0.0, 1.0]], [1]), wl.data.empirical([[5.0, 1.0]], [1])
    assert one != two and one == one
    problems = [wl.Problem(law, wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0)) for law in (one, two)]
    here, there = (float(wl.landscape(p).V([1.0, 0.0])[0]) for p in problems)
    assert (here, there) == (0.0, pytest.approx(-math.tanh(5)))


def test_a_data_set_is_a_copy_and_cannot_be_written():
    x = np.ones((3, 2))
    law = wl.data.empirical(x, np.ones(3))
    x[0, 0] = 7.0
    assert law.x[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        law.x[0, 0] = 2.0


# Misuse

nan, inf, data, neurons = math.nan, math.inf, wl.data, wl.neurons
SQUARE = np.ones((3, 2))


def problem(law, reduced=False):
    case = wl.Problem(law, neurons.ridge("erf"), wl.initial.gaussian(1.0))
    return wl.landscape(case, reduced=reduced)


def custom(function, d=2, size=2):
    case = wl.Problem(data.empirical(SQUARE, np.ones(3)), neurons.custom(function, size), wl.initial.gaussian(1.0))
    return wl.landscape(case).V(np.ones((4, size)))


def drawing(*shapes):
    return data.sampler(lambda key, n: tuple(jnp.ones(shape) for shape in shapes), 2).sample(
        jax.random.key(0), 3, float
    )


NOISY = {
    "single": lambda x: data.single_index(9, "z", x),
    "multi": lambda x: data.multi_index(9, 2, "z1", x),
    "cube": lambda x: data.hypercube(9, "z1", x),
    "ball": lambda x: data.sphere(9, "z1", x),
}
BAD = {
    "link of two variables": (lambda: data.single_index(9, "z1*z2"), "z1 only", "z1*z2"),
    "link of three variables": (lambda: data.multi_index(9, 2, "z3"), "z1 to z2", "z3"),
    "target beyond k": (lambda: data.hypercube(9, "z1*z2", k=1), "z1", "z1*z2"),
    "link a number": (lambda: data.single_index(9, 2.5), "expression or a function", "2.5"),
    "link of poles": (lambda: data.single_index(9, "log(z)").quadrature, "finite number", "log(z)"),
    "link of a wrong shape": (lambda: data.single_index(9, lambda z: np.ones(3)).quadrature, "one finite", "lambda"),
    "target without k": (lambda: data.hypercube(9, lambda z: z[..., 0]), "needs k", "None"),
    "target without k, sphere": (lambda: data.sphere(9, lambda z: z[..., 0]), "needs k", "None"),
    "thirteen coordinates": (lambda: data.hypercube(20, "z13"), "at most 12", "13"),
    "as many directions as d": (lambda: data.multi_index(2, 2, "z1*z2"), "at least 3", "2"),
    "d below k, hypercube": (lambda: data.hypercube(2, "z1*z2"), "at least 3", "2"),
    "d below k + 2, sphere": (lambda: data.sphere(3, "z1*z2"), "at least 4", "3"),
    "k of nothing": (lambda: data.multi_index(9, 0, "z1"), "k must", "0"),
    "k a float": (lambda: data.multi_index(9, 1.5, "z1"), "k must", "1.5"),
    "d a word": (lambda: data.single_index("many", "z"), "d must", "'many'"),
    **{f"noise={x!r}, {law}": (lambda x=x, make=make: make(x), "noise must", repr(x))
       for law, make in NOISY.items() for x in (-0.1, nan, inf, "loud", None)},
    **{f"nodes={x!r}": (lambda x=x: data.single_index(9, "z", nodes=x), "nodes must", repr(x))
       for x in (1, 0, -4, 2.5, "x")},
    "nodes of a sphere": (lambda: data.sphere(9, "z1", nodes=1), "nodes must", "1"),
    "no samples": (lambda: data.hypercube(9, "z1", samples=0), "samples must", "0"),
    "no samples, sphere": (lambda: data.sphere(9, "z1", samples=-1), "samples must", "-1"),
    "no samples, classes": (lambda: data.gaussian_classes(9, 0.5, samples=0), "samples must", "0"),
    "no samples, index": (lambda: data.single_index(9, "z", samples=0.5), "samples must", "0.5"),
    "reduced hypercube at finite d": (lambda: problem(data.hypercube(9, "z1"), reduced=True), "reduced", "9"),
    "full hypercube at d = inf": (lambda: problem(data.hypercube(inf, "z1")), "finite dimension", "inf"),
    "samples at d = inf": (lambda: data.single_index(inf, "z").sample(jax.random.key(0), 3, float), "finite", "inf"),
    "both delta and deviations": (lambda: data.gaussian_classes(9, 0.5, deviations=[1, 2]), "either", "[1, 2]"),
    "neither": (lambda: data.gaussian_classes(9), "either", "None"),
    "one class": (lambda: data.gaussian_classes(9, deviations=[1.0]), "deviations", "[1.0]"),
    "deviation 0": (lambda: data.gaussian_classes(9, deviations=[1, 0]), "positive", "0.0"),
    "deviations of words": (lambda: data.gaussian_classes(9, deviations=["a", "b"]), "deviations", "'a'"),
    "too few labels": (lambda: data.gaussian_classes(9, deviations=[1, 2, 3], labels=[1, 2]), "labels", "[1, 2]"),
    "too many labels": (lambda: data.gaussian_classes(9, deviations=[1, 2], labels=[1, 2, 3]), "labels", "3"),
    "too many weights": (lambda: data.gaussian_classes(9, deviations=[1, 2], weights=[1, 2, 3]), "weights", "3"),
    "weight 0": (lambda: data.gaussian_classes(9, deviations=[1, 2], weights=[1, 0]), "positive", "0.0"),
    "label nan": (lambda: data.gaussian_classes(9, 0.5, labels=[1, nan]), "labels", "nan"),
    "x of one dimension": (lambda: data.empirical(np.ones(3), np.ones(3)), "(M, d)", "(3,)"),
    "y of two dimensions": (lambda: data.empirical(SQUARE, np.ones((3, 1))), "(M,)", "(3, 1)"),
    "rows that differ in number": (lambda: data.empirical(SQUARE, np.ones(4)), "(M,)", "(4,)"),
    "rows that differ in length": (lambda: data.empirical([[1, 2], [3]], [1, 2]), "(M, d)", ""),
    "no rows": (lambda: data.empirical(np.ones((0, 2)), np.ones(0)), "(M, d)", "(0, 2)"),
    "nan in x": (lambda: data.empirical([[nan, 1.0]], [1.0]), "finite", "(1, 2)"),
    "inf in y": (lambda: data.empirical([[1.0, 1.0]], [inf]), "finite", "(1,)"),
    "rows of words": (lambda: data.empirical([["a", "b"]], [1]), "finite numbers", "[['a', 'b']]"),
    "split of nothing": (lambda: data.empirical(SQUARE, np.ones(3)).split(0.0), "fraction", "0.0"),
    "split beyond": (lambda: data.empirical(SQUARE, np.ones(3)).split(1.5), "fraction", "1.5"),
    "sampler not a function": (lambda: data.sampler("mnist", 2), "function", "'mnist'"),
    "sampler at d = inf": (lambda: data.sampler(parity, inf), "d must", "inf"),
    "sampler of one thing": (lambda: drawing((3, 2)), "x (n, d) and y (n,)", ""),
    "sampler of a wrong width": (lambda: drawing((3, 4), (3,)), "shapes", "(3, 4)"),
    "sampler of a column": (lambda: drawing((3, 2), (3, 1)), "shapes", "(3, 1)"),
    "custom neuron without parameters": (lambda: neurons.custom(parity, 0), "D must", "0"),
    "custom neuron not a function": (lambda: neurons.custom("tanh", 3), "function", "'tanh'"),
    "custom neuron of a vector": (lambda: custom(lambda x, theta: theta * x), "number", "(2,)"),
    "custom neuron of one argument": (lambda: custom(lambda x: 1.0), "x (2,) and theta (2,)", "1 positional"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_misuse_is_answered_in_one_sentence_that_shows_it(name):
    bad, expected, arrived = BAD[name]
    with pytest.raises(InputError) as caught:
        bad()
    message = str(caught.value)
    assert expected in message and arrived in message
    assert message.endswith(".") and not message.endswith("..") and "\n" not in message


@pytest.mark.parametrize("make", [
    lambda: data.single_index(9, "cosinus(z)"), lambda: data.hypercube(9, "z1*foo"), lambda: data.sphere(9, "zz"),
])  # fmt: skip
def test_unknown_names_in_an_expression_list_the_known_ones(make):
    with pytest.raises(InputError, match=r"unknown name .* known are .*z1 to z20"):
        make()
