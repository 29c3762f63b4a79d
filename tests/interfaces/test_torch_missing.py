"""Without PyTorch: the module is there, its calls say what to install."""

import inspect
import sys

import pytest

import widelimit as wl
from widelimit.interfaces.torch import scale_layer

CALLS = {
    "from_torch": lambda: wl.torch.from_torch(None),
    "to_torch": lambda: wl.torch.to_torch(wl.torch.TwoLayer(wl.neurons.ridge("relu"), [[1.0, 2.0]])),
    "diagnose": lambda: wl.torch.diagnose(None, None, [[0.0], [1.0]]),
    "scale": lambda: wl.torch.scale(0.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_without_pytorch_names_the_command_that_installs_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(vars(scale_layer), "Scale", raising=False)
    with pytest.raises(wl.InputError, match=r"needs torch, got .*: pip install 'widelimit\[torch\]'\.$"):
        CALLS[name]()


def test_the_module_can_be_looked_at_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    names = {name for name, value in inspect.getmembers(wl.torch) if inspect.getdoc(value)}
    assert names >= {*wl.torch.__all__} == {*dir(wl.torch)}


def test_the_learning_rate_is_step_n_over_alpha_squared():
    assert wl.torch.learning_rate(0.5, 100) == 50
    assert wl.torch.learning_rate(0.5, 100, alpha=100) == 0.5 / 100
    assert wl.torch.learning_rate(0.5, 100, alpha="lazy") == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "word"), [((0.0, 10), "step"), ((0.1, 0), "n"), ((0.1, 10, -1.0), "alpha"), ((0.1, 10, "x"), "alpha")]
)
def test_a_learning_rate_of_bad_numbers_is_refused(arguments, word):
    with pytest.raises(wl.InputError, match=rf"^{word} must be .*, got .*: try {word}="):
        wl.torch.learning_rate(*arguments)
