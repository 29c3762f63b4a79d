"""What can be learnt in a time of order one: a staircase on the hypercube, but not its last step alone.

y = z1 + z1 z2 + z1 z2 z3        y = z1 z2 z3,        x uniform on {±1}^d, d = ∞
"""

import math

import widelimit as wl


# Problem
def problem(target):
    """Neurons a σ(⟨w, x⟩ + b) on the hypercube."""
    return wl.Problem(
        wl.data.hypercube(math.inf, target),
        wl.neurons.ridge("tanh", outer="trained", bias="trained"),
        wl.initial.gaussian(scale=1.0, a=wl.initial.normal(0, 1), b=wl.initial.normal(0, 1)),
    )


print(problem("z1 + z1*z2 + z1*z2*z3"), "\n")

# Dynamics and observables
for target in ("z1 + z1*z2 + z1*z2*z3", "z1*z2*z3"):
    stated = problem(target)
    watch = {s: wl.observables.coefficient(stated, s) for s in ("z1", "z1*z2", "z1*z2*z3")}
    limit = wl.solve(stated, wl.MeanField(points=256), t_end=12.0, save=13, observers=watch)
    print(f"y = {target}")
    for k, t in list(enumerate(limit.times))[::4]:
        row = "   ".join(f"{s} {limit.dataset[s].values[k]:6.3f}" for s in watch)
        print(f"   t = {t:4.1f}   R = {limit.risk[k]:.3f}   {row}")
    wl.figure(limit, coordinate="u_1").savefig("staircase.png" if "+" in target else "top_step.png")
