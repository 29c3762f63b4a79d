"""Neurons and replicas spread over devices: the same numbers, less of them on each."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import widelimit as wl
from widelimit.interfaces.cli import run

ROOT = Path(__file__).parents[2]
CURVED = wl.activations.polynomial([0.2, 1.0, 0.3])
SCRIPT = """
import json
import jax, jax.numpy as jnp, numpy as np
import widelimit as wl
from widelimit.dynamics import particle_flow
from widelimit.solving.adaptive import Adaptive, Reached, Span
from widelimit.solving.devices import at_work, mesh_of, spread
from widelimit.solving.replicas import compiled

neuron = wl.neurons.ridge(wl.activations.polynomial([0.2, 1.0, 0.3]))
def problem(**more):
    return wl.Problem(wl.data.gaussian_classes(20, 0.6), neuron, wl.initial.gaussian(0.8), **more)

SMOOTH, NOISY = problem(), problem(beta=20.0)
MANY = 8200  # more than a chunk on each of four devices, and a rest
CASES = {  # and the numbers of devices
    "ParticleFlow": (SMOOTH, wl.ParticleFlow(MANY, "reduced"), {}, (2, 4)),
    "GD with noise": (NOISY, wl.GD(16, 0.05, "reduced"), {}, (1, 2, 4)),
    "MeanField and its twin": (SMOOTH, wl.MeanField(64), {}, (2, 4)),
    "NonlinearFlow": (SMOOTH, wl.NonlinearFlow(8, "reduced", points=64), {}, (4,)),
    "SGD with noise, replicas": (NOISY, wl.SGD(6, 0.01), {"replicas": 8}, (2, 4)),
}
NAMES = ("risk", "risk_error", "final", "theta")
found = {"apart": {}, "devices": {}, "refused": []}
for name, (given, method, options, counts) in CASES.items():
    def solved(**more):
        return wl.solve(given, method, 0.2, save=2, seed=3, **options, **more)
    one = solved()
    for count in counts:
        many = solved(devices=count)
        apart = [float(np.max(np.abs(many.dataset[k].values - one.dataset[k].values))) for k in NAMES]
        found["apart"][f"{name}, {count}"] = max(apart)
        found["devices"][f"{name}, {count}"] = many.dataset.attrs["device"]
    again = solved()
    assert all(np.array_equal(again.dataset[k].values, one.dataset[k].values) for k in NAMES)

def impatient(rho):
    impatient.calls += 1
    if impatient.calls == 2:
        raise KeyboardInterrupt
    return 0.0
impatient.calls = 0
given, method, *_ = CASES["GD with noise"]
options = {"t_end": 0.2, "save": 3, "seed": 3, "devices": jax.devices()[1:3], "observers": {"zero": impatient}}
try:
    wl.solve(given, method, **options)
except wl.Interrupted as stop:
    resumed = wl.resume(stop.solution)
impatient.calls = 10
found["resumed"] = np.array_equal(resumed.dataset["final"], wl.solve(given, method, **options).dataset["final"])

mesh = mesh_of(2)
run = spread(particle_flow.ready(wl.ParticleFlow(MANY, "reduced"), SMOOTH, 0, None), mesh)
leg = next(run.plan.legs(0.0, 0.1))
begun = Reached.begun(run.state, Span(0.0, 1.0))
with at_work(mesh):
    move = compiled(Adaptive.move, "alone").lower(leg.dynamics.by(False), begun, None, leg.numbers).compile()
    after = move(leg.dynamics.by(False), begun, None, leg.numbers).state
found["gathers"] = [word for word in ("all-gather", "all-to-all", "collective-permute") if word in move.as_text()]
found["sums"] = "all-reduce" in move.as_text()
found["bytes"] = [[part.data.nbytes for part in x.addressable_shards] for x in (run.state, after)]

for bad in ({"devices": 5}, {"devices": 4, "method": wl.GD(6, 0.05, "reduced")},
            {"devices": 4, "method": wl.SGD(6, 0.05), "replicas": 6}):
    try:
        wl.solve(SMOOTH, **{"method": wl.GD(8, 0.05, "reduced"), "t_end": 0.1, **bad})
    except wl.InputError as error:
        found["refused"].append(str(error))
print(json.dumps(found))
"""


def on_four_devices(script):
    """What a script writes where the processor is four devices."""
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | flags, capture_output=True, text=True,
                          timeout=1800, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def found():
    return json.loads(on_four_devices(SCRIPT))


@pytest.mark.slow
def test_one_two_and_four_devices_give_the_same_numbers(found):
    assert len(found["apart"]) == 10 and max(found["apart"].values()) < 1e-12, found["apart"]
    assert found["devices"] == {name: f"{name[-1]} x cpu" for name in found["apart"]}


@pytest.mark.slow
def test_every_device_has_its_own_neurons_and_they_meet_in_sums_only(found):
    assert found["bytes"] == [[8200 // 2 * 8] * 2] * 2
    assert found["gathers"] == [] and found["sums"]


@pytest.mark.slow
def test_a_spread_run_goes_on_to_the_same_bits(found):
    assert found["resumed"]


@pytest.mark.slow
def test_what_does_not_divide_evenly_is_refused_with_what_would(found):
    more, neurons, replicas = found["refused"]
    assert re.fullmatch(r"devices must be from 1 to 4.*, got 5: .*device_count=5\.", more)
    assert neurons == "the number of neurons must be a multiple of that of devices, 4, got 6: try 8."
    assert replicas == "the number of replicas must be a multiple of that of devices, 4, got 6: try 8."


@pytest.mark.slow
def test_the_code_of_the_page_runs_on_four_devices():
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len([line for line in code.splitlines() if line]) == 5
    done = subprocess.run([sys.executable, "-c", f"{code}print(limit.dataset.attrs['device'])"], capture_output=True,
                          text=True, timeout=1800, check=False)  # fmt: skip
    assert done.stdout.strip() == "4 x cpu", done.stderr[-2000:]


def problem(**more):
    return wl.Problem(wl.data.gaussian_classes(20, 0.6), wl.neurons.ridge(CURVED), wl.initial.gaussian(0.8), **more)


def test_one_device_gives_the_same_numbers():
    one, other = (wl.solve(problem(), wl.GD(4, 0.05, "reduced"), 0.1, save=2, devices=d) for d in (None, 1))
    np.testing.assert_allclose(other.dataset["final"], one.dataset["final"], rtol=1e-12)


BAD = {
    "too many": (wl.GD(4, 0.05, "reduced"), len(jax.devices()) + 1),
    "none": (wl.GD(4, 0.05, "reduced"), 0),
    "no devices": (wl.GD(4, 0.05, "reduced"), []),
    "one twice": (wl.GD(4, 0.05, "reduced"), [jax.devices()[0]] * 2),
    "a word": (wl.GD(4, 0.05, "reduced"), "cpu"),
    "half a device": (wl.GD(4, 0.05, "reduced"), 1.5),
    "neurons in pairs": (wl.GD(4, 0.05), 1),
    "a single run of SGD": (wl.SGD(4, 0.05), 1),
    "transport": (wl.JKO(0.05, 8), 1),
}


@pytest.mark.parametrize("name", BAD)
def test_misuse_of_devices_is_answered_in_one_sentence(name):
    method, devices = BAD[name]
    with pytest.raises(wl.InputError) as caught:
        wl.solve(problem(), method, 0.1, devices=devices)
    assert re.fullmatch(r"[^.]*devices.*, got .*: .*\.", str(caught.value))


def test_too_many_devices_on_the_command_line_are_bad_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["new", "two"]) == 0
    assert run(["run", "two.toml", "--devices", "99"]) == 2
    assert "devices must be from 1 to" in capsys.readouterr().err
