"""The limit in infinite dimension: the law of the radius is a point, and the PDE an ordinary differential equation.

R = ½ (1 − ∫ q((1+Δ) r) dρ)² + ½ (1 + ∫ q((1−Δ) r) dρ)²,   q(r) = E σ(rG)
"""

import math

import widelimit as wl

# Problem
neuron = wl.neurons.ridge(wl.activations.ramp())
initial = wl.initial.gaussian(scale=0.4)

# Dynamics and observables
for d in (40, 160, 640, math.inf):
    problem = wl.Problem(wl.data.gaussian_classes(d, delta=0.5), neuron, initial)
    limit = wl.solve(problem, wl.MeanField(points=100), t_end=2.0, save=3)
    print(f"d = {d!s:>4}   R(t = 1) = {limit.risk[1]:.5f}   R(t = 2) = {limit.risk[2]:.5f}")
