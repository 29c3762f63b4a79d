"""Five dynamics from the same neurons: which of the four steps from SGD to the PDE costs what.

R(ρ_t) − R(SGD) = [PDE − ND] + [ND − PD] + [PD − GD] + [GD − SGD]
"""

import widelimit as wl

# Problem
problem = wl.Problem(
    wl.data.gaussian_classes(d=20, delta=0.8),
    wl.neurons.ridge(wl.activations.ramp()),
    wl.initial.gaussian(scale=0.8),
)

# Dynamics
gap = wl.compare(problem, n=50, step=1e-3, t_end=0.1, save=3)

# Observables
for row in gap.table():
    print("   ".join(f"{name} {value:.2e}" for name, value in row.items()))
print("W_2 to the limit at the end:", gap.dataset["w2"].isel(time=-1).to_series().to_dict())

# Look
wl.figure(gap).savefig("gap.png")
