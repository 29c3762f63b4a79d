"""Libraries that are slow to load are loaded when they are needed."""

import math
import subprocess
import sys

import pytest

from widelimit.on_first_use import OnFirstUse

SOLVE = """
import sys
PARTS = ("stats", "integrate", "optimize", "spatial", "interpolate")
import widelimit as wl
problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("x"), wl.initial.gaussian(1.0))
wl.solve(problem, wl.MeanField(4), 0.02, save=2)
print(sorted({"ot", "matplotlib", *(f"scipy.{part}" for part in PARTS)} & set(sys.modules)))
import widelimit.interfaces.figures
print([name for name in sys.modules if name.startswith("widelimit.theory")])
"""

COMPLEXITY = """
import sys
from widelimit.interfaces.cli import run
for law in ("--cube", "--gauss", "--sphere"):
    assert run(["complexity", "z1 + z1*z2 - 0.5*z1*z2*z3", law, "--json", "--out", sys.argv[1]]) == 0
print(sorted({"jax", "scipy", "pandas", "xarray", "matplotlib.pyplot"} & set(sys.modules)))
"""


def test_a_name_is_that_of_the_module():
    assert OnFirstUse("math").gcd is math.gcd


@pytest.mark.more
def test_solving_loads_neither_transport_nor_statistics_and_its_figure_no_theory():
    assert subprocess.run([sys.executable, "-c", SOLVE], capture_output=True, text=True).stdout.split() == ["[]", "[]"]


def test_the_complexity_of_a_polynomial_needs_neither_jax_nor_scipy(tmp_path):
    done = subprocess.run([sys.executable, "-c", COMPLEXITY, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
