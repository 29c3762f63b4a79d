"""How far from the best network of any width: a start that is stuck, and the way it cannot see.

R(ρ) − inf R ≤ 2 (∫Ψ dρ − inf_θ Ψ(θ; ρ)),   because R is convex along mixtures of networks
"""

import math

import widelimit as wl

# Problem
sigma = wl.activations.piecewise_linear([(0.0, -2.5), (0.5, -4.0), (1.5, 7.5)])
problem = wl.Problem(
    wl.data.gaussian_classes(d=math.inf, delta=0.5), wl.neurons.ridge(sigma), wl.initial.gaussian(scale=0.1)
)

# Dynamics
stuck = wl.solve(problem, wl.MeanField(check=False), t_end=20.0, save=11)

# Observables
certificate = wl.certificate(problem, stuck)
best = wl.minimise(problem)
print(certificate)
print(f"it lacks a neuron with |w| = {certificate.neuron[0]:.3g}")
print(f"the best of any width has R = {best.risk:.2g}, {best.rho.n} different neurons, gap {best.gap:.1g}")

# Look
nearby = wl.minimise(problem, within={"w": 4.0})  # the best with |w| ≤ 4, so that the way there is short
ways = wl.two_geometries(problem, stuck, nearby.rho)
print(f"moving there, R rises by {ways.barrier:.2g} on the way")
wl.figure(ways).savefig("two_geometries.png", dpi=110)
