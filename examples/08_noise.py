"""Noise: the PDE on a grid falls to the minimum of the free energy, the Gibbs law.

∂_t ρ = 2 ∇·(ρ ∇Ψ(θ; ρ)) + 2 β⁻¹ Δρ  →  ρ_* = exp(−β Ψ(θ; ρ_*))/Z
"""

import widelimit as wl

# Problem
problem = wl.Problem(
    wl.data.gaussian_classes(d=40, delta=0.8),
    wl.neurons.ridge("relu"),
    wl.initial.gaussian(scale=1.0),
    ridge=0.2,
    beta=50.0,
)

# Dynamics
grid = wl.solve(problem, wl.FiniteVolume(), t_end=10.0, save=101)
neurons = wl.solve(problem, wl.GD(2000, 1e-2, "reduced"), t_end=10.0, save=11)
law = wl.gibbs(problem, on=grid.final)

# Observables
print(f"R: Gibbs law {law.risk:.6f}, grid {grid.risk[-1]:.6f}, neurons {neurons.risk[-1]:.6f}")
print(f"F(ρ_t) − F(ρ_*) decays like exp(−{wl.decay(problem, grid).rate:.3f} t)")
cold = wl.cooling(problem, [50.0, 5000.0])
print("E(ρ_β) − inf E is at most", [f"{x:.1e}" for x in cold.excess], "for D/β =", list(cold.D / cold.beta))

# Look
wl.figure(grid, neurons, law).savefig("noise.png", dpi=110)
