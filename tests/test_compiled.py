"""Compiled functions are kept between processes, where the user wants them; a folder that fails is ignored."""

import os
import subprocess
import sys

import pytest

RUN = """
import jax
import jax.monitoring as events
import widelimit as wl
hits = []
events.register_event_listener(lambda name, **about: hits.append(name) if name.endswith("cache_hits") else None)
problem = wl.Problem(wl.data.gaussian_classes(20, 0.5), wl.neurons.ridge("erf"), wl.initial.gaussian(1.0))
print(wl.solve(problem, wl.MeanField(16), 0.1, save=2).risk[-1], len(hits), jax.config.jax_compilation_cache_dir)
"""


def ran(tmp_path, **variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "WIDELIMIT_", "XDG_"))}
    environment = kept | {"HOME": str(tmp_path)} | variables
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    risk, hits, folder = done.stdout.split()
    return float(risk), int(hits), folder


@pytest.mark.slow
def test_a_second_process_finds_what_the_first_compiled_and_a_broken_file_is_compiled_again(tmp_path):
    first, second = ran(tmp_path), ran(tmp_path)
    folder = tmp_path / ".cache" / "widelimit" / "compiled"
    assert second[1] > 2 * first[1] + 5  # the first process meets two of its own small functions again
    assert second[0] == first[0] and second[2] == str(folder)
    for entry in folder.iterdir():
        entry.write_bytes(b"broken")
    assert ran(tmp_path)[0] == first[0]


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["off", "elsewhere", "a file"])
def test_the_user_decides_where_they_are_kept(tmp_path, choice):
    (tmp_path / "file").write_text("")
    target = {"off": "off", "elsewhere": str(tmp_path / "there"), "a file": str(tmp_path / "file" / "below")}[choice]
    _, hits, folder = ran(tmp_path, WIDELIMIT_CACHE=target)
    assert not (tmp_path / ".cache").exists()
    assert folder == (target if choice == "elsewhere" else "None")
    assert any((tmp_path / "there").glob("*")) if choice == "elsewhere" else hits == 0
