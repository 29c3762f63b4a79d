"""The implicit scheme of stiff flows: Rosenbrock's method with the coefficients of RODAS.

    (1/(hγ) − J) k_i = f(t + α_i h, y + Σ_j a_ij k_j) + Σ_j c_ij k_j/h + h d_i ∂f/∂t,      i = 1, …, 6
    y(t + h) ≈ y + Σ_j a_6j k_j + k_6,     error ≈ k_6

    J   ∂f/∂y at the beginning of the step, exactly: widelimit.potentials.curvature
    f   velocity

Order 4 with an error of order 3, L-stable and stiffly accurate; one linear system with six right-hand sides a step, and
no iteration that could fail.  Reference: [hw96].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
from jax import Array

from widelimit.solving.protocol import State

if TYPE_CHECKING:
    from widelimit.solving.flows import Flow

GAMMA = 0.25
ALPHA = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
LATE = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)  # d_i
STAGES = (  # a_ij; the last two stages add k_5, then k_6
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (1.544, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0, 0.0),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0, 0.0),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 0.0, 0.0),
    (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0, 0.0),
)
COUPLINGS = (  # c_ij
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (-5.6688, 0.0, 0.0, 0.0, 0.0, 0.0),
    (-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0, 0.0),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0, 0.0),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616, 0.0, 0.0),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054, 0.0),
)


class Rodas(diffrax.AbstractAdaptiveSolver):
    """The scheme above, for a flow that can solve its linear systems."""

    flow: Flow
    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar = diffrax.LocalLinearInterpolation

    def order(self, terms: diffrax.AbstractTerm) -> int:
        """4."""
        return 4

    def init(self, terms: diffrax.AbstractTerm, t0: object, t1: object, y0: State, args: None) -> None:
        """Nothing is carried from step to step."""

    def func(self, terms: diffrax.AbstractTerm, t0: Any, y0: State, args: None) -> State:
        """The velocity."""
        return terms.vf(t0, y0, args)

    def step(self, terms: Any, t0: Any, t1: Any, y0: State, *rest: Any) -> Any:
        """One step."""
        h, stages, couplings = t1 - t0, jnp.asarray(STAGES), jnp.asarray(COUPLINGS)
        alpha, late = jnp.asarray(ALPHA), jnp.asarray(LATE)
        solve, drift = self.flow.implicit(t0, y0, h * GAMMA), self._late(t0, y0)

        def stage(i: Array, k: State) -> State:
            force = self.flow.velocity(t0 + alpha[i] * h, _sum(y0, stages[i], k))
            push = jax.tree.map(lambda f, d: h * f + h * h * late[i] * d, force, drift)
            own = solve(jax.tree.map(lambda p: GAMMA * p, _sum(push, couplings[i], k)))
            return jax.tree.map(lambda k, x: k.at[i].set(x), k, own)

        nothing = jax.tree.map(lambda y: jnp.zeros((6, *y.shape)), y0)
        k = jax.lax.fori_loop(0, 6, stage, nothing)  # a loop, so that the velocity is compiled once
        y1 = _sum(y0, stages[5].at[5].set(1.0), k)
        error = jax.tree.map(lambda k: jnp.abs(k[5]), k)
        return y1, error, {"y0": y0, "y1": y1}, None, diffrax.RESULTS.successful

    def _late(self, t: Array, y: State) -> State:
        """∂f/∂t."""
        return jax.jvp(lambda t: self.flow.velocity(t, y), (jnp.asarray(t, float),), (jnp.ones(()),))[1]


def _sum(y: State, coefficients: Array, k: State) -> State:
    """y + Σ_j coefficient_j k_j."""
    return jax.tree.map(lambda y, k: y + jnp.tensordot(coefficients, k, 1), y, k)
