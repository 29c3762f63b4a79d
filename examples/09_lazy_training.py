"""Lazy or feature learning: one network at three scales, beside its linearisation.

f = α/N Σ_i a_i σ(⟨w_i, x⟩): the larger α, the less the neurons move, and the closer the tangent model.
"""

import numpy as np

import widelimit as wl

# Problem
start = wl.initial.paired(wl.initial.gaussian(scale=1.0, a=wl.initial.normal(0.0, 1.0)))  # f = 0 at the start
data = wl.data.single_index(float("inf"), "He1(z) + 0.5*He2(z)")
networks = {
    alpha: wl.Problem(data, wl.neurons.ridge("tanh", outer="trained"), start, alpha=alpha) for alpha in (2.0, 4.0, 16.0)
}

# Dynamics
runs = {alpha: wl.linearise(problem, n=20, t_end=2.0, save=6) for alpha, problem in networks.items()}

# Observables
for alpha, run in runs.items():
    print(f"α = {alpha:g}: moved {run.last('moved'):.3g}, missed {run.last('missed'):.2g}, risk {run.last('risk'):.3g}")
moved = [run.last("moved") for run in runs.values()]
assert np.polyfit(np.log(list(runs)), np.log(moved), 1)[0] < -0.8  # about 1/α

# Look
wl.figure(runs[4.0]).savefig("lazy_training.png")
