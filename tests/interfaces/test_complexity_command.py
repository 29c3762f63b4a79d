"""widelimit complexity."""

import json
import random
import subprocess
import sys
import time

import pytest

import widelimit as wl
from widelimit.interfaces.cli import run


def forty_monomials():
    rng = random.Random(1)
    found = set()
    while len(found) < 40:
        found.add("*".join(f"z{i}" for i in sorted(rng.sample(range(1, 11), rng.randint(1, 5)))))
    return " + ".join(sorted(found))


def test_a_table_a_prediction_and_a_picture(tmp_path, capsys):
    assert run(["complexity", "z1 + z1*z2*z3", "--cube", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "leap 2" in shown and "d^2" in shown and "d^3" in shown
    assert (tmp_path / "complexity.png").stat().st_size > 5000


@pytest.mark.parametrize("law", ["--cube", "--gauss", "--sphere"])
def test_one_document(law, tmp_path, capsys):
    assert run(["complexity", "z1 + z2*z3", law, "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["law"] == law[2:] and found["spectrum"]["information_exponent"] == 1
    assert found["predictions"][-1 if law != "--gauss" else -2]["scaling"] == "d^2"


LAWS = {"He1(z)": "d", "He2(z)": "d log d", "He3(z)": "d^2", "He5(z)": "d^4"}


@pytest.mark.parametrize("link", LAWS)
def test_samples_of_online_sgd_by_the_information_exponent(link):
    assert wl.complexity(link).predictions[0].scaling == LAWS[link]


def test_a_constant_says_that_its_exponent_is_infinite(tmp_path, capsys):
    assert run(["complexity", "z1**2", "--cube", "--out", str(tmp_path)]) == 0
    assert "infinite" in capsys.readouterr().out
    assert wl.complexity("z**2 - z**2 + 1", "sphere").predictions == ()


BAD = {
    "z1 + tanh(": "^",
    "7": "needs a variable",
    "z21": "z1 to z20",
    "exp(z**2)": "square integrable",
    "foo(z)": "^",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_input_has_exit_code_two_and_a_caret_where_there_is_a_place(text, capsys):
    assert run(["complexity", text]) == 2
    assert BAD[text] in capsys.readouterr().err


def test_two_laws_are_refused(capsys):
    assert run(["complexity", "z1", "--cube", "--gauss"]) == 2
    assert "one of" in capsys.readouterr().err


def test_ten_variables_and_forty_monomials_take_no_time():
    start = time.process_time()
    found = wl.complexity(forty_monomials(), "cube")
    wl.complexity(forty_monomials(), "gauss")
    assert time.process_time() - start < 1.0
    assert len(found.spectrum.nonzero) == 40


BARE = """
import io, numpy
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
figure = Figure(layout="constrained")
FigureCanvasAgg(figure)
for axes in figure.subplots(1, 2):
    axes.bar(range(40), range(40), label="$z_1$")
    axes.legend()
figure.savefig(io.BytesIO(), format="png")
"""


@pytest.mark.speed
def test_the_command_takes_little_longer_than_a_picture_of_its_bars(tmp_path):
    """Two panels of forty bars drawn by Matplotlib alone are half of it; loading JAX as well would be too much."""
    command = [sys.executable, "-c", "from widelimit.interfaces.entry import main; main()"]
    asked = [*command, "complexity", forty_monomials(), "--cube", "--out", str(tmp_path)]
    best = {}
    for name, words in [("ours", asked), ("bare", [sys.executable, "-c", BARE])] * 3:
        start = time.perf_counter()
        subprocess.run(words, check=True, capture_output=True)
        best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
    assert best["ours"] < 2.5 * best["bare"]
