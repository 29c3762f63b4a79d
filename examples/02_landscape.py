"""The landscape of one neuron in the field of a measure, in full and reduced coordinates.

Ψ(θ; ρ) = V(θ) + ∫ U(θ, θ') ρ(dθ')
"""

import jax
import numpy as np

import widelimit as wl

# Problem
problem = wl.Problem(
    data=wl.data.gaussian_classes(d=60, delta=0.5, informative=20),
    neuron=wl.neurons.ridge("relu", outer="trained", bias="trained"),
    initial=wl.initial.sphere(radius=1.0, a=wl.initial.signs(), b=wl.initial.normal(0.0, 0.3)),
)

# Landscapes
full, reduced = wl.landscape(problem), wl.landscape(problem, reduced=True)
neurons = problem.sample_initial(jax.random.key(0), 200)
print("reduced coordinates:", ", ".join(reduced.coordinates))

# Observables: one network, and the average over its rotations
print(f"risk of 200 neurons                 {full.risk(neurons):.6f}")
print(f"risk of the rotation-averaged law   {reduced.risk(wl.reduce(problem, neurons)):.6f}")

# Look: which neuron would lower the risk the most?
cloud = wl.reduce(problem, neurons)
r = np.linspace(0.0, 3.0, 7)
probe = np.stack([np.ones(7), np.zeros(7), r, np.zeros(7)], axis=1)
for radius, psi in zip(r, reduced.psi(probe, cloud), strict=True):
    print(f"a = 1, b = 0, r_1 = {radius:.1f}, r_2 = 0:   Ψ = {psi:+.4f}")
