"""Numbers are data: another Δ, κ, λ, β, ε, label, knot, rate, horizon or seed runs the same compiled code.

Compilations are counted by JAX's own events, the small ones of single operations included. The order at which Mehler's
series is certified is a number that decides a shape, chosen from a few: the values here are neighbours that share it.
"""

import math
from dataclasses import replace

import jax.monitoring
import pytest

import widelimit as wl

COMPILED = []
INF = math.inf


def listen(name, seconds, **about):
    if name.endswith("backend_compile_duration"):
        COMPILED.append(about)


jax.monitoring.register_event_duration_secs_listener(listen)


def classes(neuron, start, numbers):
    data = wl.data.gaussian_classes(20, deviations=numbers["deviations"], labels=numbers["labels"])
    rates = {"w": numbers["rate"]}
    return wl.Problem(data, neuron, start, ridge=numbers["ridge"], beta=numbers["beta"], mobility=rates)


def radial(numbers):
    ramp = wl.activations.ramp((numbers["knot"], -0.5), (1.5, 1.0))
    return classes(wl.neurons.ridge(ramp), wl.initial.gaussian(numbers["scale"]), numbers)


def weighted(numbers):
    ramp = wl.activations.ramp((numbers["knot"], -0.5), (1.5, 1.0))
    start = wl.initial.gaussian(numbers["scale"], a=wl.initial.normal(1.0, 0.1))
    return classes(wl.neurons.ridge(ramp, outer="trained"), start, numbers)


def scaled(numbers):
    return replace(weighted(numbers), alpha=2.0 * numbers["rate"])


def drawn(numbers):
    data = wl.data.hypercube(6, "z1 + z1*z2", noise=numbers["knot"], samples=64)
    start = wl.initial.gaussian(numbers["scale"])
    return wl.Problem(data, wl.neurons.ridge("relu"), start, ridge=numbers["ridge"], mobility={"w": numbers["rate"]})


def solved(build, method, t_end, **usual):
    """A run that takes its numbers by name; ``method`` makes the method from the step."""
    return lambda **numbers: wl.solve(
        build(BASE | usual | numbers), method(numbers.get("step", 0.01)), numbers.get("longer", 1.0) * t_end, save=3,
        seed=numbers.get("seed", 0),
    )  # fmt: skip


BASE = {"deviations": [1.5, 0.5], "labels": [1.0, -1.0], "scale": 0.8, "ridge": 0.1, "beta": INF, "knot": 0.5}
BASE |= {"rate": 1.0}
RUNS = {
    "MeanField": solved(weighted, lambda step: wl.MeanField(64), 0.2),
    "ParticleFlow": solved(weighted, lambda step: wl.ParticleFlow(12), 0.1),
    "noisy ParticleFlow": solved(weighted, lambda step: wl.ParticleFlow(12, noise_step=step), 0.1, beta=50.0),
    "NonlinearFlow": solved(weighted, lambda step: wl.NonlinearFlow(12, points=64), 0.1),
    "GD": solved(weighted, lambda step: wl.GD(12, step), 0.1),
    "GD at a scale": solved(scaled, lambda step: wl.GD(12, step), 0.1),
    "TangentFlow": solved(scaled, lambda step: wl.TangentFlow(12, "reduced"), 0.1),
    "TangentSGD": solved(scaled, lambda step: wl.TangentSGD(12, step), 0.2),
    "GD on draws": solved(drawn, lambda step: wl.GD(12, step), 0.1),
    "SGD": solved(weighted, lambda step: wl.SGD(12, step), 0.2),
    "noisy SGD": solved(weighted, lambda step: wl.SGD(12, step), 0.2, beta=50.0),
    "FiniteVolume": solved(radial, lambda step: wl.FiniteVolume(50), 0.2),
    "noisy FiniteVolume": solved(radial, lambda step: wl.FiniteVolume(50), 0.2, beta=50.0),
    "JKO": solved(radial, lambda step: wl.JKO(10 * step, cells=12), 0.2),
    "noisy JKO": solved(radial, lambda step: wl.JKO(10 * step, cells=30), 0.2, beta=50.0),
    "gibbs": lambda **numbers: wl.gibbs(radial(BASE | {"beta": 50.0} | numbers)),
}
CHANGES = [
    {"deviations": [1.52, 0.48]}, {"labels": [0.9, -1.0]}, {"scale": 0.81}, {"ridge": 0.12}, {"knot": 0.49},
    {"rate": 0.9},
]  # fmt: skip


LONG = ("JKO", "TangentSGD", "GD at a scale", "noisy FiniteVolume")  # whose code others share
CASES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in RUNS]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", CASES)
def test_another_number_runs_the_same_compiled_code(name):
    run = RUNS[name]
    run()
    changes = [*CHANGES, *([{"step": 0.008}, {"seed": 5}, {"longer": 1.03}] if name != "gibbs" else [])]
    changes += [{"beta": 60.0}] if "noisy" in name or name == "gibbs" else []
    changes += [{"beta": 3000.0}] if name == "gibbs" else []  # a law on another number of nodes
    compiled = {}
    for change in changes:
        COMPILED.clear()
        run(**change)
        compiled[str(change)] = len(COMPILED)
    assert not {change: count for change, count in compiled.items() if count}


def test_another_size_does_compile():
    """The count can tell."""
    run = solved(weighted, lambda step: wl.MeanField(200), 0.2)
    COMPILED.clear()
    run()
    assert COMPILED
