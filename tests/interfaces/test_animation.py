"""Films have a frame for each save."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from PIL import Image

import widelimit as wl
from widelimit.interfaces import animation
from widelimit.interfaces.canvas import Look, Page
from widelimit.interfaces.curves import curves_of
from widelimit.solving.whole_files import _host, part_of


@pytest.fixture(scope="module")
def run():
    index = wl.data.single_index(9, "He1(z)")
    return wl.solve(wl.Problem(index, wl.neurons.ridge("erf"), wl.initial.gaussian(1.0)), wl.SGD(30, 1e-2), 0.3, save=4)


@pytest.mark.more
@pytest.mark.parametrize("coordinate", [None, "r"])
def test_a_film_has_a_frame_for_each_save(run, tmp_path, coordinate):
    path = wl.animate(run, tmp_path / "films" / "run.gif", coordinate, style="paper")
    with Image.open(path) as film:
        assert film.n_frames == len(run.times) == 4
    assert [file.name for file in path.parent.iterdir()] == ["run.gif"]


def test_the_frames_of_a_film_are_the_neurons_of_the_run(run):
    curves = curves_of([(None, run)], None)
    canvas, draw = animation._film(curves, ("u", "r"), Page(Look()))
    main, beside = canvas.axes
    for k, t in enumerate(run.times):
        draw(k)
        np.testing.assert_array_equal(main.collections[0].get_offsets(), run.dataset["theta"].values[k])
        assert beside.get_lines()[-1].get_ydata() == run.risk[k] and f"t = {t:.2f}" in main.get_title()


@pytest.mark.slow
def test_runs_of_different_length_are_shown_to_the_end_of_the_shorter(run, tmp_path):
    short = wl.Solution(run.dataset.isel(time=slice(3)), run.request)
    for runs in ([run, short], [short, run]):
        with Image.open(wl.animate(runs, tmp_path / "both.gif", style="paper")) as film:
            assert film.n_frames == 3
    late = wl.Solution(run.dataset.isel(time=slice(3, 4)), run.request)
    with pytest.raises(wl.InputError, match=r"the first run must have a save before t = 0.2, .*, got 0.3: .*\.$"):
        wl.animate([late, short], tmp_path / "none.gif")


def test_an_interrupted_film_leaves_nothing_and_the_next_removes_what_a_killed_one_left(run, tmp_path, monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = tmp_path / f".run.gif.{_host()}.{gone.pid}.0.part.gif"
    left.write_text("half")
    assert part_of(left) == "run.gif" and part_of(tmp_path / ".run.gif.part.gif") is None
    plain = animation._film

    def stopping(*arguments):
        canvas, draw = plain(*arguments)

        def frame(k):
            if k == 2:
                raise KeyboardInterrupt
            draw(k)

        return canvas, frame

    monkeypatch.setattr(animation, "_film", stopping)
    with pytest.raises(KeyboardInterrupt):
        wl.animate(run, tmp_path / "run.gif", style="paper")
    assert not list(tmp_path.iterdir())


def test_a_film_that_cannot_be_written_is_refused_in_one_sentence(run, tmp_path, monkeypatch):
    with pytest.raises(wl.InputError, match=r"unknown ending of a film '.avi': .*known are .gif, .mp4"):
        wl.animate(run, tmp_path / "run.avi")
    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    with pytest.raises(wl.InputError, match=r"an .mp4 needs the program ffmpeg.*write a .gif"):
        wl.animate(run, tmp_path / "run.mp4")
    with pytest.raises(wl.InputError, match="one or two coordinates"):
        wl.animate(run, tmp_path / "run.gif", ())
    assert not list(tmp_path.iterdir())
