"""One direction to find: SGD and its limit leave the plateau at once for He_1, slowly for He_2, not for He_3.

y = He_s(x_1),    x ~ N(0, I_d), d = 100;    s is the information exponent of the link
"""

from matplotlib.figure import Figure

import widelimit as wl

axes = (canvas := Figure(figsize=(6.4, 4.2), layout="constrained")).subplots()

for s, colour in ((1, "#0072b2"), (2, "#d55e00"), (3, "#009e73")):
    # Problem
    problem = wl.Problem(
        wl.data.single_index(d=100, link=f"He{s}(z)"),
        wl.neurons.ridge("relu", outer="trained", bias="trained"),
        wl.initial.gaussian(scale=1.0, a=wl.initial.normal(0, 1), b=wl.initial.normal(0, 1)),
    )

    # Dynamics
    limit = wl.solve(problem, wl.MeanField(points=64, check=False), t_end=3.0, save=11)
    network = wl.solve(problem, wl.SGD(n=200, step=1e-3), t_end=3.0, save=6)

    # Observables
    ends = [float(run.risk[-1] / run.risk[0]) for run in (limit, network)]
    print(f"He_{s}: share of the risk left at t = 3: limit {ends[0]:.3f}, SGD {ends[1]:.3f}")

    # Look
    axes.plot(limit.times, limit.risk / limit.risk[0], color=colour, label=f"$He_{s}$, limit (PDE)")
    axes.plot(network.times, network.risk / network.risk[0], "o", color=colour, mfc="none", label=f"$He_{s}$, SGD")

axes.set(
    xlabel=r"time $t = k\varepsilon$",
    ylabel=r"risk $R(\rho_t)/R(\rho_0)$",
    title="Information exponent 1, 2, 3 (N = 200)",
)
axes.grid(alpha=0.25)
axes.legend(frameon=False)
canvas.savefig("information_exponent.png", dpi=110)
