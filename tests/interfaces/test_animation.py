"""Films have a frame for each save."""

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from PIL import Image

import widelimit as wl
from widelimit.interfaces import animation
from widelimit.interfaces.canvas import Look, Page
from widelimit.interfaces.curves import curves_of


@pytest.fixture(scope="module")
def run():
    index = wl.data.single_index(9, "He1(z)")
    return wl.solve(wl.Problem(index, wl.neurons.ridge("erf"), wl.initial.gaussian(1.0)), wl.SGD(30, 1e-2), 0.3, save=4)


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


def test_a_film_that_cannot_be_written_is_refused_in_one_sentence(run, tmp_path, monkeypatch):
    with pytest.raises(wl.InputError, match=r"unknown ending of a film '.avi': .*known are .gif, .mp4"):
        wl.animate(run, tmp_path / "run.avi")
    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    with pytest.raises(wl.InputError, match=r"an .mp4 needs the program ffmpeg.*write a .gif"):
        wl.animate(run, tmp_path / "run.mp4")
    with pytest.raises(wl.InputError, match="one or two coordinates"):
        wl.animate(run, tmp_path / "run.gif", ())
    assert not list(tmp_path.iterdir())
