"""Every pair of neurons once: sums over panels against the double sum."""

import jax.numpy as jnp
import numpy as np
import pytest

from widelimit.potentials import pair_panels
from widelimit.potentials.pair_panels import sum_pairs


@pytest.mark.some(2)
@pytest.mark.parametrize("n", [2, 3, 8, 13, 30])
def test_every_pair_counts_once_in_each_order_whatever_the_panels(n, monkeypatch):
    monkeypatch.setattr(pair_panels, "ROWS", 3)  # 1, 1, 3, 5 and 11 panels; some neurons missing in the last
    rng = np.random.default_rng(n)
    u, x = rng.normal(size=(n, 4)), rng.random((2, n))
    u /= np.linalg.norm(u, axis=1)[:, None]
    u[0] = 0.0  # a neuron without a direction
    corr = u @ u.T - np.diag(np.diag(u @ u.T))
    found = sum_pairs(lambda c, i, j: (i @ c**3) * j, jnp.asarray(u), jnp.asarray(x))
    np.testing.assert_allclose(found, np.einsum("qi,ij,qj->q", x, corr**3, x), rtol=1e-12)
