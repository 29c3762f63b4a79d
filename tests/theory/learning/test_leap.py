"""Leap and staircase, against brute force over all orderings and all rotations."""

import itertools
import math
import random

import numpy as np
import pytest

import widelimit as wl
from widelimit.theory.learning.isotropic_leap import completed, isotropic_leap, rotated
from widelimit.theory.learning.leap import ordering
from widelimit.theory.learning.spectrum import WithError


def by_brute_force(indices):
    """min over all orderings of max |α_i \\ U_i|, by going through the sets of what is taken."""
    full = (1 << len(indices)) - 1
    best = {0: 0}
    for taken in range(full):
        if taken not in best:
            continue
        known = {i for n, a in enumerate(indices) if taken >> n & 1 for i, p in enumerate(a) if p}
        for n, a in enumerate(indices):
            if not taken >> n & 1:
                step = max(best[taken], sum(p for i, p in enumerate(a) if i not in known))
                more = taken | 1 << n
                best[more] = min(best.get(more, math.inf), step)
    return best[full]


def by_all_permutations(indices):
    def longest(order):
        known, worst = set(), 0
        for a in order:
            worst = max(worst, sum(p for i, p in enumerate(a) if i not in known))
            known |= {i for i, p in enumerate(a) if p}
        return worst

    return min(map(longest, itertools.permutations(indices)))


def random_targets(count, highest, seed):
    rng = random.Random(seed)
    for _ in range(count):
        k = rng.randint(1, 8)
        size = rng.randint(1, 8)
        found = {tuple(rng.randint(1, highest) if rng.random() < 0.4 else 0 for _ in range(k)) for _ in range(size)}
        found.discard((0,) * k)
        if found:
            yield sorted(found), k


@pytest.mark.parametrize("highest", [1, 3], ids=["cube", "gauss"])
def test_the_leap_is_the_best_of_all_orderings(highest):
    """2,000 targets of up to 8 monomials, half of them with degrees."""
    targets = list(random_targets(1150, highest, seed=highest))
    assert len(targets) >= 1000
    for indices, k in targets:
        steps = ordering(indices, tuple(f"z{i}" for i in range(k)))
        assert sorted(step.at for step in steps) == indices
        assert max(step.length for step in steps) == by_brute_force(indices)


def test_brute_force_over_sets_is_that_over_permutations():
    for indices, _ in random_targets(60, 2, seed=9):
        if len(indices) <= 6:
            assert by_brute_force(indices) == by_all_permutations(indices)


HAND = {
    ("z1 + z1*z2 + z1*z2*z3", "cube"): 1,
    ("z1*z2*z3", "cube"): 3,
    ("z1 + z1*z2*z3", "cube"): 2,
    ("z1 + z1*z2 + z1*z2*z3 + z1*z2*z3*z4", "cube"): 1,
    ("z1**2*z2 + z3", "cube"): 1,
    ("z1*z2 + z2*z3*z4", "cube"): 2,
    ("z1*z2 + z3*z4*z5 + z1*z3*z4*z5", "cube"): 3,
    ("z1 + He2(z2)", "gauss"): 2,
    ("He3(z1) + z1*z2", "gauss"): 2,
    ("He3(z1)", "gauss"): 3,
    ("z1 + He3(z1)*z2", "gauss"): 1,
    ("z1 + z1*He2(z2)", "gauss"): 2,
}


@pytest.mark.parametrize("target, law", HAND)
def test_leaps_by_hand(target, law):
    found = wl.leap(target, law)
    assert found.leap == HAND[target, law]
    assert found.merged_staircase == (found.leap == 1)


def test_the_staircase_says_who_enables_whom():
    found = wl.leap("z1*z2*z3 + z2*z4 + z2")
    assert found.steps[0].at == (0, 1, 0, 0) and found.steps[0].new == ("z2",) and found.steps[0].length == 1
    assert found.table()[1] == {"monomial": "z2*z4", "new": ["z4"], "length": 1, "enabled_by": ["z2"]}
    assert found.variables == ("z2", "z4", "z1", "z3") and found.leap == 2


def rotation(angle):
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def leap_in_basis(coefficients, basis):
    """The leap of a Hermite series after a rotation."""

    def root(a):
        return math.sqrt(math.prod(map(math.factorial, a)))

    turned = rotated({a: c / root(a) for a, c in coefficients.items()}, basis)
    kept = [a for a, c in turned.items() if any(a) and abs(c) * root(a) > 1e-9]
    return max(step.length for step in ordering(kept, tuple("abc"[: len(basis)])))


TWO = [
    "z1 + z2 + z1*z2",
    "z1*z2",
    "He2(z1) + He2(z2)",
    "z1 + He3(z2)",
    "z1 + z1*z2",
    "He3(z1) + z1*z2",
    "z1 + z2 + He2(z1)",
]


@pytest.mark.parametrize("target", TWO)
def test_the_isotropic_leap_is_the_largest_over_rotations_of_the_plane(target):
    found = wl.leap(target, "gauss")
    coefficients = {a: c.value for a, c in found.spectrum.nonzero.items() if any(a)}
    angles = np.arange(96) * math.pi / 96  # multiples of π/4 among them, where the special bases are
    assert max(leap_in_basis(coefficients, rotation(t)) for t in angles) == found.isotropic.leap
    assert found.leap <= found.isotropic.leap


@pytest.mark.parametrize("target", ["z1 + z2 + z3 + z1*z2*z3", "z1 + z1*z2 + z1*z2*z3", "z1*z2 + z2*z3", "z1 + z2*z3"])
def test_in_space_no_rotation_exceeds_the_isotropic_leap_and_the_adapted_one_attains_it(target):
    found = wl.leap(target, "gauss")
    coefficients = {a: c.value for a, c in found.spectrum.nonzero.items() if any(a)}
    rng = np.random.default_rng(0)
    turns = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(40)]
    assert max(leap_in_basis(coefficients, q) for q in [np.eye(3), *turns]) <= found.isotropic.leap
    adapted = completed(found.isotropic.subspaces[-1])
    assert leap_in_basis(coefficients, adapted) == found.isotropic.leap


def test_a_rotation_does_not_change_the_isotropic_leap():
    for target in TWO:
        spectrum = wl.hermite(target).nonzero
        p = {a: c.value / math.sqrt(math.prod(map(math.factorial, a))) for a, c in spectrum.items() if any(a)}
        turned = {
            a: WithError(c * math.sqrt(math.prod(map(math.factorial, a))), 1e-14)
            for a, c in rotated(p, rotation(0.3)).items()
        }
        assert isotropic_leap(turned, 2).leap == wl.leap(target, "gauss").isotropic.leap


def test_the_caveat_of_rotations_is_stated():
    notes = wl.leap("z1 + z2 + z1*z2", "gauss").notes
    assert "rotation" in notes[0] and "at most 2" in notes[0]
    assert not wl.leap("z1 + z2 + z1*z2", "cube").notes


DEGENERATE = ["z1 + z2 + z1*z3 + z2*z4", "z1 - z2 + z1*z3 + z2*z4", "z1 + z2 + z3 + z1*z4 + z2*z5 + z3*z6"]
GENERIC = ["z1 + 2*z2 + z1*z3 + z2*z4", "z1 + z2", "z1 + z2 + z1*z2", "z1 + z1*z2 + z1*z2*z3", "z1 + z1*z2 + z1*z3"]


@pytest.mark.parametrize("target", DEGENERATE)
def test_degenerate_staircases_are_flagged(target):
    found = wl.leap(target)
    assert found.merged_staircase and "degenerate" in found.notes[0]


@pytest.mark.parametrize("target", GENERIC)
def test_others_are_not(target):
    assert wl.leap(target).degeneracy is None


@pytest.mark.slow
def test_a_degenerate_staircase_is_not_learnt_in_the_limit_and_a_generic_one_is():
    """Why it is flagged: u_3 = u_4 for every neuron, so that z1*z3 and z2*z4 are learnt as if they were exchanged."""
    apart = {}
    for name, target in (("degenerate", DEGENERATE[0]), ("generic", "z1 + 2*z2 + z1*z3 + z2*z4")):
        problem = wl.Problem(
            wl.data.hypercube(math.inf, target), wl.neurons.ridge("tanh(x + 0.5)", outer="trained", bias="trained"),
            wl.initial.gaussian(1.0, a=wl.initial.uniform(-1.0, 1.0), b=wl.initial.normal(0.0, 1.0)),
        )  # fmt: skip
        limit = wl.solve(problem, wl.MeanField(64, check=False), t_end=3.0, save=2, progress=False)
        theta, columns = limit.final.theta, list(limit.final.coordinates)
        apart[name] = np.abs(theta[:, columns.index("u_3")] - theta[:, columns.index("u_4")]).max()
    assert apart["degenerate"] < 1e-10 < 0.1 < apart["generic"]


def test_a_constant_has_no_staircase():
    assert wl.leap("z1**2").steps == () and "constant" in wl.leap("z1**2").sentence
