"""Libraries that are slow to load are loaded when they are needed."""

import math
import subprocess
import sys

from widelimit.on_first_use import OnFirstUse


def test_a_name_is_that_of_the_module():
    assert OnFirstUse("math").gcd is math.gcd


def test_solving_loads_neither_transport_nor_statistics():
    code = (
        "import sys, widelimit as wl; wl.solve; print(sorted({'ot', 'scipy.stats', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
