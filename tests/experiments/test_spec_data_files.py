"""Data sets of specs: read from files beside the spec, written back as their path."""

import sys

import numpy as np
import pytest

import widelimit as wl
from widelimit.experiments.data_files import from_file
from widelimit.experiments.spec import Spec

SPEC = """
[problem]
data = {law = "empirical", %s}
neuron = {activation = "erf"}
initial = {law = "gaussian", scale = 1.0}
[run]
t_end = 1.0
[[method]]
name = "SGD"
n = 5
step = 0.1
"""
X, Y = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.5]]), np.array([1.0, -1.0, 1.0])


@pytest.fixture
def folder(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=Y)
    np.savetxt(tmp_path / "plain.csv", np.column_stack([X, Y]), delimiter=",")
    np.savetxt(tmp_path / "named.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,y", comments="")
    return tmp_path


@pytest.mark.parametrize("name", ["data.npz", "plain.csv", "named.csv"])
def test_a_file_is_read_beside_the_spec_and_written_back(folder, name):
    (folder / "spec.toml").write_text(SPEC % f'file = "{name}", replacement = false')
    spec = Spec.from_toml(folder / "spec.toml")
    law = spec.problem.data
    np.testing.assert_array_equal(law.x, X)
    np.testing.assert_array_equal(law.y, Y)
    assert law.replacement is False and str(folder / name) in spec.to_toml()
    assert Spec.from_toml(spec.to_toml()) == spec


def test_a_file_that_has_changed_is_read_again(folder):
    before = from_file(str(folder / "data.npz"))
    assert from_file(str(folder / "data.npz")) is before
    np.savez(folder / "data.npz", x=np.ones((7, 2)), y=np.ones(7))
    assert len(from_file(str(folder / "data.npz")).y) == 7


BAD = {
    "absent": ('file = "no.npz"', "no such file"),
    "suffix": ('file = "spec.toml"', "must end in .npz or .csv"),
    "folder": ('file = "."', "no such file"),
    "no arrays": ('file = "other.npz"', "arrays x and y"),
    "damaged": ('file = "damaged.npz"', "cannot be read"),
    "words": ('file = "words.csv"', "cannot be read"),
    "empty": ('file = "empty.csv"', "finite numbers"),
    "shapes": ('file = "shapes.npz"', "shape"),
    "classes": ('file = "data.npz", classes = [0, 1]', "classes belong to"),
    "null": ('file = "a\\u0000b.npz"', "no such file"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_data_file_is_one_sentence(folder, name):
    text, sentence = BAD[name]
    np.savez(folder / "other.npz", a=X)
    np.savez(folder / "shapes.npz", x=X, y=Y[:2])
    (folder / "damaged.npz").write_bytes(b"PK\x03\x04 and then nothing")
    (folder / "words.csv").write_text("a,b\nc,d\n")
    (folder / "empty.csv").write_text("")
    (folder / "spec.toml").write_text(SPEC % text)
    with pytest.raises(wl.InputError, match=sentence) as caught:
        Spec.from_toml(folder / "spec.toml")
    assert str(caught.value).startswith("problem.data") and "\n" not in str(caught.value)


def test_the_digits_are_two_classes_of_scikit_learn():
    pytest.importorskip("sklearn")
    spec = Spec.from_toml(SPEC % 'file = "digits", classes = [3, 8]')
    law = spec.problem.data
    assert law.d == 64 and set(law.y) == {1.0, -1.0} and law.x.max() == 1.0
    assert Spec.from_toml(spec.to_toml()) == spec
    with pytest.raises(wl.InputError, match="two different digits"):
        Spec.from_toml(SPEC % 'file = "digits", classes = [3, 3]')


def test_digits_without_scikit_learn_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(wl.InputError, match="pip install scikit-learn"):
        Spec.from_toml(SPEC % 'file = "digits", classes = [1, 7]')
