"""Implicit steps of a chain of cells: every digit of every cell, whatever the rates and however long the step."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

from widelimit.dynamics.finite_volume.implicit_exchange import implicit_step, patankar_step

EPS = np.finfo(float).eps
CELLS = [1, 2, 3, 7, 12, 33]


def random_chain(n, orders, seed=0):
    """Rates over some orders of magnitude, l_0 = r_{n−1} = 0, and masses over as many."""
    rng = np.random.default_rng([seed, n, orders])
    left, right, source = np.exp(rng.normal(0, orders * np.log(10) / 3, (3, n)))
    left[0] = right[-1] = 0
    return left, right, source / source.sum()


def generator(left, right):
    """A with dm/dt = A m: what a cell sends leaves it and arrives at its neighbour."""
    return np.diag(-left - right) + np.diag(right[:-1], -1) + np.diag(left[1:], 1)


def stepped(rule, left, right, source):
    return np.asarray(jax.jit(rule)(*map(jnp.asarray, (left, right, source))))


@pytest.mark.parametrize("n", CELLS)
def test_an_implicit_step_solves_its_linear_system(n):
    left, right, source = random_chain(n, 2)
    want = np.linalg.solve(np.eye(n) - generator(left, right), source)
    np.testing.assert_allclose(stepped(implicit_step, left, right, source), want, rtol=1e-11, atol=0)


@pytest.mark.parametrize("orders", [3, 12, 30])
@pytest.mark.parametrize("n", [2, 7, 12])
def test_every_cell_has_all_its_digits(n, orders):
    """Against 400 digits: 8 roundings for each of the log2 n eliminations there and back."""
    left, right, source = random_chain(n, orders)
    with mpmath.workdps(400):
        matrix = mpmath.matrix(n, n)
        for i in range(n):  # column sums are 1: rounded entries of the dense matrix would not say so
            matrix[i, i] = 1 + mpmath.mpf(left[i]) + mpmath.mpf(right[i])
            if i > 0:
                matrix[i - 1, i], matrix[i, i - 1] = -mpmath.mpf(left[i]), -mpmath.mpf(right[i - 1])
        want = np.array([float(x) for x in mpmath.lu_solve(matrix, mpmath.matrix([mpmath.mpf(g) for g in source]))])
    rounding = 16 * np.ceil(np.log2(n)) * EPS
    np.testing.assert_allclose(stepped(implicit_step, left, right, source), want, rtol=rounding, atol=0)


@pytest.mark.parametrize("rule", [implicit_step, patankar_step])
@pytest.mark.parametrize("n", CELLS)
def test_mass_is_conserved_and_positive_for_every_step(rule, n):
    for orders in (1, 10, 30):
        left, right, source = random_chain(n, orders, seed=1)
        moved = stepped(rule, left, right, source)
        assert moved.sum() == pytest.approx(1, abs=32 * (1 + np.log2(n)) * EPS) and (moved > 0).all()


@pytest.mark.parametrize("rule", [implicit_step, patankar_step])
def test_empty_cells_are_filled_by_their_neighbours_and_closed_doors_keep_them_empty(rule):
    left, right, _ = random_chain(12, 2)
    right[5] = left[6] = 0.0
    moved = stepped(rule, left, right, np.eye(12)[2])
    assert (moved[:6] > 0).all() and (moved[6:] == 0).all() and moved.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("rule", [implicit_step, patankar_step])
def test_what_is_in_balance_stays(rule):
    """r_i m_i = l_{i+1} m_{i+1}: no step moves a chain in detailed balance."""
    _, right, masses = random_chain(33, 4)
    left = np.concatenate([[0.0], right[:-1] * masses[:-1] / masses[1:]])
    for length in (1e-6, 1.0, 1e6, 1e12):
        np.testing.assert_allclose(stepped(rule, length * left, length * right, masses), masses, rtol=1e-12, atol=0)


def test_one_endless_implicit_step_arrives_at_the_balance():
    """Π r_i/l_{i+1} to all digits, over more than 20 orders of magnitude."""
    left, right, source = random_chain(12, 12)
    left, right = np.sort(left), np.sort(right)[::-1]
    want = np.cumprod(np.concatenate([[1.0], right[:-1] / left[1:]]))
    moved = stepped(implicit_step, 1e60 * left, 1e60 * right, source)
    np.testing.assert_allclose(moved, want / want.sum(), rtol=1e-12, atol=0)
    assert want.min() / want.max() < 1e-20


@pytest.mark.parametrize(("rule", "order"), [(implicit_step, 1), (patankar_step, 2)])
def test_steps_converge_to_the_exponential_of_the_chain(rule, order):
    left, right, source = random_chain(6, 1)
    want = expm(generator(left, right)) @ source

    def error(steps):
        masses = source
        for _ in range(steps):
            masses = stepped(rule, left / steps, right / steps, masses)
        return np.abs(masses - want).sum()

    coarse, fine = error(128), error(256)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.1) and np.abs(want - source).sum() > 0.1


@pytest.mark.parametrize("rule", [implicit_step, patankar_step])
def test_chains_in_the_other_coordinate_do_not_see_each_other(rule):
    chains = [random_chain(7, 3, seed) for seed in range(3)]
    moved = stepped(rule, *(np.stack(part) for part in zip(*chains, strict=True)))
    np.testing.assert_allclose(moved, [stepped(rule, *chain) for chain in chains], rtol=1e-14, atol=0)
