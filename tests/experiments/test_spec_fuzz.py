"""Mutated spec files: the answer is a spec or one sentence, and it comes soon."""

import copy
import datetime
import math
import random
import time
import tomllib

import pytest
import tomli_w

import widelimit as wl
from widelimit.experiments.spec import Spec
from widelimit.experiments.starter import STARTS, starter

VALUES = [
    0, 1, 2, -1, 40, 0.5, 1e308, 5e-324, math.inf, -math.inf, math.nan, True, "", "relu", "He3(z)", "z1*z2", "\n", "\0",
    [], {}, [[]], [{}], [1, 2], [0.0, 0.5], [1.0, -1.0], [[0.0, 1.0], [1.0, 2.0]], {"law": "normal"}, {"name": "ramp"},
    {"law": "power", "exponent": 0.5}, {"law": "window", "start": 0, "stop": math.inf}, {"name": "hermite", "k": 31},
    {"name": "hinges", "knots": [0, 1], "jumps": [1, math.inf]}, {"name": "polynomial", "coefficients": [1e300, 1]},
    {"name": "custom", "function": "abs(x)", "kinks": [0]}, datetime.date(1979, 5, 27), 10**30, 10**400, 2**63 - 1,
    "a.npz", "digits", "((((z", "(" * 500, "🙂", "inf", "reduced", "full", "sphere", "float32", "gauss", "empirical",
]  # fmt: skip
KEYS = [
    "law",
    "name",
    "d",
    "delta",
    "link",
    "target",
    "k",
    "n",
    "step",
    "a",
    "b",
    "w",
    "scale",
    "radius",
    "save",
    "seed",
]
KEYS += [
    "x" * 500,
    "",
    "a b",
    "replicas",
    "keep",
    "noise",
    "points",
    "file",
    "classes",
    "text",
    "kinks",
    "é",
    "\n",
    "ridge",
]


def places(tree):
    """Every (container, key) of a document."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


def mutate_tree(tree, draw):
    inside, key = draw.choice(list(places(tree)))
    other, there = draw.choice(list(places(tree)))
    value = copy.deepcopy(inside[key])
    kind = draw.choice(["delete", "retype", "retype", "rename", "add", "move", "wrap"])
    if kind == "delete":
        del inside[key]
    elif kind == "retype":
        inside[key] = copy.deepcopy(draw.choice(VALUES))
    elif kind == "rename" and isinstance(inside, dict):
        del inside[key]
        inside[draw.choice([*KEYS, str(key)[1:], f"{key}x"])] = value
    elif kind == "add" and isinstance(inside, dict):
        inside[draw.choice(KEYS)] = copy.deepcopy(draw.choice(VALUES))
    elif kind == "move":
        other[there] = value
    elif kind == "wrap":
        inside[key] = draw.choice([[value], {"law": value}, {"value": value}, str(value), [value, value]])


def mutate_text(text, draw):
    lines = text.splitlines()
    at = draw.randrange(len(lines))
    line = lines[at]
    letter = draw.randrange(len(line) + 1)
    scratch = draw.choice(["", "x", "é", "\0", '"', "[", "\\", "=", "9" * 5000, "1e400", "0x"])
    lines[at] = draw.choice(
        [line[:letter] + scratch + line[letter + 1 :], f"{line}\n{line}", "", draw.choice(lines), f"[[x]]\n{line}"]
    )
    return "\n".join(lines)


def large_or_deep(draw):
    """Texts that are no mutations: random bytes, large and deep ones."""
    size = draw.choice([10, 1000, 10**5])
    makers = [
        lambda: draw.randbytes(size).decode("latin-1"),
        lambda: "x = " + "[" * size,
        lambda: "x = " + "{a = " * size,
        lambda: "x = " + "[" * 90 + "]" * 90,
        lambda: "problem = " + "{data = " * 80 + "1" + "}" * 80,
        lambda: ".".join(["a"] * size) + " = 1",
        lambda: "[" + ".".join(['"a"'] * size) + "]",
        lambda: "[[method]]\n" * (size // 20),
        lambda: "[problem]\n" + "".join(f"k{i} = {i}\n" for i in range(size // 20)),
        lambda: f"[run]\nt_end = 1.0\nsave = [{'0.0, ' * (size // 5)}]",
        lambda: f'[problem.neuron]\nactivation = "{"x+" * (size // 2)}x"',
        lambda: "a" * 10 * size,
        lambda: '"' * size,
    ]
    return draw.choice(makers)()


def mutated(seed, bases):
    draw = random.Random(seed)
    if seed % 10 == 0:
        return large_or_deep(draw)
    tree = copy.deepcopy(draw.choice(bases))
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        if tree:
            mutate_tree(tree, draw)
    try:
        text = tomli_w.dumps(tree)
    except (ValueError, TypeError):
        return str(tree)
    return mutate_text(text, draw) if seed % 5 == 1 and text else text


def fuzz(seeds, folder):
    (folder / "f.csv").write_text("0.0,1.0,1\n1.0,0.0,-1\n")
    bases = [tomllib.loads(starter(law, folder / "f.toml")) for law in STARTS]
    path, found, slowest = folder / "f.toml", {"spec": 0, "sentence": 0}, 0.0
    for seed in seeds:
        path.write_text(mutated(seed, bases), encoding="utf-8")
        began = time.process_time()
        try:
            assert isinstance(Spec.from_toml(path), Spec)
            found["spec"] += 1
        except wl.InputError as error:
            said = str(error)
            assert said.strip() and "\n" not in said and len(said) < 1500, (seed, said)
            found["sentence"] += 1
        slowest = max(slowest, time.process_time() - began)
    return found, slowest


@pytest.mark.parametrize("count", [250, pytest.param(1000, marks=pytest.mark.slow)])
def test_mutated_specs_give_a_spec_or_one_sentence(count, tmp_path):
    found, _ = fuzz(range(count), tmp_path)
    assert found["spec"] > 0.03 * count and found["sentence"] > 0.5 * count


@pytest.mark.slow
def test_five_thousand_mutated_specs_give_a_spec_or_one_sentence(tmp_path):
    found, slowest = fuzz(range(1000, 6000), tmp_path)
    assert found["spec"] > 150 and found["sentence"] > 2500
    assert slowest < 2.0


@pytest.mark.parametrize("text", ["#" * 1_000_001, "a" * 999_999, "a.b" * 300_000, '"' * 999_999, "[a]\n" * 200_000])
def test_the_largest_inputs_are_refused(text):
    """One character more than is allowed, and what is slow to read below that."""
    with pytest.raises(wl.InputError):
        Spec.from_toml(text + "\n")
