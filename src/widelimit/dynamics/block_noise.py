"""The noise of a whole block of SGD, exactly in law, from about 1 + d/B normals per neuron and step instead of d.

    W ← (D_{k+1}/D_k) W + C_k ⊗ x_k + ς_k g^k         one step, g^k ~ N(0, I_d) for every neuron, ς_k² = 4 s_k m_w/β
    n_l = ⟨x_l, Σ_{k<l} (D_l/D_{k+1}) ς_k g^k⟩         the noise sample l feels
    Ξ   = Σ_k (D_B/D_{k+1}) ς_k g^k                    the noise the block leaves in W

(n, Ξ) is Gaussian and independent of everything else. With v_l = Σ_{k<l} (D_l/D_{k+1})² ς_k² and G = X Xᵀ,

    Cov(n_l, n_m) = K_lm = G_lm (D_m/D_l) v_l  (l ≤ m),   Cov(Ξ, n_l) = c_l x_l,  c_l = v_l D_B/D_l,   Cov Ξ = v_B I
    n = L z,     Ξ = √v_B g + Xᵀ [ c ∘ L^{−T} z + √v_B Λ^{−T} (T − I) Λ^{−1} X g ]

    L Lᵀ = K,   Λ Λᵀ = G,   T Tᵀ = I − Λᵀ c K^{−1} c Λ / v_B          z (B,), g (d,): all the normals of one neuron

Λ^{−1} X has orthonormal rows, so the bracket replaces the part of g in the span of the samples by one with the right
conditional law. G must be well conditioned: blocks with noise hold at most d/2 samples.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

GUARD = {"float64": 1e-10, "float32": 1e-4}  # relative, in the variance of Ξ: keeps the last root real
SMALL = 16  # rows of a triangle that are not halved any more


class Decays(NamedTuple):
    """Decays D_k = Π_{l<k} (1 − 2 s_l m_w λ) over the steps of a block.

    within   D_k/D_{l+1} for l < k, else 0   (steps, steps)
    before   D_k                             (steps,)
    left     D_B/D_{l+1}                     (steps,)
    shrink   D_{l+1}/D_l                     (steps,)
    """

    within: Array
    before: Array
    left: Array
    shrink: Array

    def cast(self, dtype: jnp.dtype) -> Decays:
        """The decays in the precision of the samples; their product over a block is taken in double."""
        return Decays(*(part.astype(dtype) for part in self))


class Walk(NamedTuple):
    """The noise part of W over the steps of a block, and the samples that feel it.

    x       (B, d)    whole batches one after the other
    decay             of every step
    spread  (steps,)  variances ς²
    """

    x: Array
    decay: Decays
    spread: Array


class Noise(NamedTuple):
    """What the noise of a block adds: to the pre-activations, to the coefficients C of the samples, and to W."""

    felt: Array  # (B, n)
    along: Array  # (B, n)
    fresh: Array  # (n, d)


def decays(shrink: Array) -> Decays:
    """The decays of a block from those of its steps, without dividing by small numbers."""
    size, sign = jnp.log(jnp.maximum(jnp.abs(shrink), 1e-37)), jnp.where(shrink < 0, -1.0, 1.0).astype(shrink.dtype)
    after, turn = jnp.cumsum(size), jnp.cumprod(sign)
    before, earlier = after - size, turn * sign
    ratio = earlier[:, None] * turn * jnp.exp(before[:, None] - after)
    left = turn[-1] * turn * jnp.exp(after[-1] - after)
    return Decays(jnp.tril(ratio, -1), earlier * jnp.exp(before), left, shrink)


def block_noise(key: Array, walk: Walk, n: int) -> Noise:
    """The noise of a block for n neurons."""
    x, decay, spread = walk
    gram = x @ x.T
    first, second = jax.random.split(key)
    z = jax.random.normal(first, (len(x), n), x.dtype)
    g = jax.random.normal(second, (n, x.shape[1]), x.dtype)
    v, factor, cross, end = variances(decay, spread)
    if len(spread) == 1:  # the only step feels nothing
        return Noise(jnp.zeros_like(z), jnp.zeros_like(z), jnp.sqrt(end) * g)
    batch = len(x) // len(spread)
    feels, cross = (jnp.repeat(part, batch) for part in (v > 0, cross))
    cross = jnp.where(feels, cross, 0)[:, None]
    known = jnp.repeat(jnp.repeat(factor, batch, axis=0), batch, axis=1) * gram
    known = jnp.where(feels[:, None] & feels, known, jnp.eye(len(x), dtype=x.dtype))
    felt, along = _in_the_span(known, gram, cross, end, z, x @ g.T)
    return Noise(jnp.where(feels[:, None], felt, 0), along, jnp.sqrt(end) * g)


@jax.custom_batching.sequential_vmap  # two batched factorisations at a time can wait for each other for ever on a CPU
def _in_the_span(known: Array, gram: Array, cross: Array, end: Array, z: Array, xg: Array) -> tuple[Array, Array]:
    """L z and the bracket of Ξ, from K, G, c, v_B, z and X g, each (B, n); one replica after the other."""
    lower = jnp.linalg.cholesky(known)
    return lower @ z, _bracket(inverse_of_lower(lower), gram, cross, end, z, xg)


@jax.custom_batching.sequential_vmap
def along_given(known: Array, gram: Array, cross: Array, end: Array, felt: Array, xg: Array) -> Array:
    """The bracket of Ξ where n = L z is given instead of z."""
    back = inverse_of_lower(jnp.linalg.cholesky(known))
    return _bracket(back, gram, cross, end, back @ felt, xg)


def _bracket(back: Array, gram: Array, cross: Array, end: Array, z: Array, xg: Array) -> Array:
    """The bracket from L^{−1}: what is not of size B × B enters by two products."""
    eye, basis = jnp.eye(len(gram), dtype=gram.dtype), jnp.linalg.cholesky(gram)
    rows, seen = inverse_of_lower(basis), back @ (cross * basis)
    turned = jnp.linalg.cholesky((1 + GUARD[gram.dtype.name]) * eye - seen.T @ seen / jnp.where(end > 0, end, 1)) - eye
    return cross * (back.T @ z) + jnp.sqrt(end) * ((rows.T @ turned @ rows) @ xg)


def inverse_of_lower(lower: Array) -> Array:
    """L^{−1} of a lower triangle by halves, [A 0; C D]^{−1} = [A' 0; −D' C A', D'], in matrix products only.

    The triangular solves of OpenBLAS share even a matrix of 16 rows among threads, which takes a hundred times as long
    as the solve where other work is going on.

    >>> inverse_of_lower(jnp.array([[2.0, 0.0], [1.0, 4.0]])).tolist()
    [[0.5, 0.0], [-0.125, 0.25]]
    """
    half, size = len(lower) // 2, 1
    if half >= SMALL:
        first, last = inverse_of_lower(lower[:half, :half]), inverse_of_lower(lower[half:, half:])
        return jnp.block([[first, jnp.zeros_like(lower[:half, half:])], [-last @ lower[half:, :half] @ first, last]])
    rows, inverse = jnp.arange(len(lower)), jnp.diag(1 / jnp.diag(lower))
    while size < len(lower):  # all diagonal blocks of 1, 2, 4, … rows at once
        at = rows // size
        joins = (at[:, None] == at + 1) & (at % 2 == 0)  # C of every pair of neighbours A, D
        inverse = inverse - inverse @ jnp.where(joins, lower, 0) @ inverse
        size *= 2
    return inverse


class Variances(NamedTuple):
    """v_l (steps,), K/G (steps, steps), c_l (steps,) and v_B."""

    v: Array
    factor: Array
    cross: Array
    end: Array


def variances(decay: Decays, spread: Array) -> Variances:
    """Those of the walk of w over a block, from the variance that every step adds."""
    v = decay.within**2 @ spread
    below = decay.within * decay.shrink * v  # (D_m/D_l) v_l for l < m
    cross, end = decay.left * decay.shrink * v, decay.left**2 @ spread
    return Variances(v, below + below.T + jnp.diag(v), cross, end)
