"""SGD follows its mean-field limit.

θ_i += 2 ε (y_k − f(x_k)) ∇σ*(x_k; θ_i)      →      ∂_t ρ = 2 ∇·(ρ ∇Ψ(θ; ρ))
"""

import widelimit as wl

# Problem
problem = wl.Problem(
    data=wl.data.gaussian_classes(d=40, delta=0.8),
    neuron=wl.neurons.ridge(wl.activations.ramp((0.5, -2.5), (1.5, 7.5))),
    initial=wl.initial.gaussian(scale=0.8),
)

# Dynamics
finite = wl.solve(problem, wl.SGD(n=400, step=2e-4), t_end=4.0, seed=0, save=11)
limit = wl.solve(problem, wl.MeanField(), t_end=4.0, save=11)

# Observables
for t, sgd, pde in zip(limit.times, finite.risk, limit.risk, strict=True):
    print(f"t = {t:4.1f}   SGD {sgd:.4f}   PDE {pde:.4f}")
mean, spread = wl.observables.summary(limit.at(4.0))["r"]
print(f"at the end r = {mean:.3f} ± {spread:.3f} in the limit")

# Look
wl.figure(finite, limit).savefig("two_gaussian_classes.png", dpi=120)
