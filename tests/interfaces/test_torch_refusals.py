"""What the diagnosis of a network of PyTorch cannot do, it says in a sentence."""

import copy

import numpy as np
import pytest

import widelimit as wl

torch = pytest.importorskip("torch")
nn = torch.nn


def moved(net):
    after = copy.deepcopy(net)
    after.layer.weight.data += 0.1
    return after


class Forward(nn.Module):
    """A linear layer followed by any function."""

    def __init__(self, function):
        super().__init__()
        self.layer, self.function = nn.Linear(3, 1), function
        self.register_buffer("seen", torch.zeros(1, 1))

    def forward(self, x):
        return self.function(self, self.layer(x))


class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, slope):
        return slope


def counted(net, y):
    net.seen += y.sum().reshape(1, 1)
    return y + net.seen


def raised(net, y):
    raise KeyError("x")


FORWARDS = {
    "differentiable by torch.func, got Forward .*in-place": counted,
    "differentiable by torch.func, got Forward .*NumPy": lambda net, y: torch.as_tensor(y.detach().numpy()) + y,
    "differentiable by torch.func, got Forward .*old autograd": lambda net, y: Old.apply(y),
    "must not depend on the others": lambda net, y: y - y.mean(),
    "take the batch, got shape .*KeyError": raised,
    "one row for each of 6 samples": lambda net, y: y.sum(),
    "a tensor of floating point numbers, got 'tuple'": lambda net, y: (y, y),
    "kernel must not vanish": lambda net, y: 0.0 * y,
    "before training must be finite": lambda net, y: y / 0,
}


@pytest.mark.parametrize("sentence", FORWARDS)
def test_a_module_that_cannot_be_diagnosed_is_refused_in_a_sentence(sentence):
    before = Forward(FORWARDS[sentence])
    with pytest.raises(wl.InputError, match=sentence) as caught:
        wl.torch.diagnose(before, moved(before), torch.randn(6, 3))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_branches_on_values_are_followed_sample_by_sample():
    torch.manual_seed(0)  # outputs of both signs
    before = Forward(lambda net, y: y if float(y.detach().sum()) > 0 else 2 * y)
    after, x = moved(before), torch.randn(6, 3)
    with pytest.raises(wl.InputError, match="must not depend on the others"):
        wl.torch.diagnose(before, after, x)
    assert wl.torch.diagnose(before, after, x, chunk=1).parameters > 0


NET, X = nn.Linear(3, 1), np.arange(18.0).reshape(6, 3)
AFTER = copy.deepcopy(NET)
AFTER.weight.data += 1.0
BAD = {
    "a module must have parameters": (nn.ReLU(), nn.ReLU(), X),
    "after must be an nn.Module": (NET, 3, X),
    "before or after must be an nn.Module": ({}, {}, X),
    "after must have all parameters of the module, got .*weight": (NET, {"bias": torch.zeros(1)}, X),
    "one architecture, got .*weight": (NET, nn.Linear(4, 1), X),
    "different networks, got 'the same tensors twice'": (NET, NET.state_dict(), X),
    "two samples or more, got 1": (NET, AFTER, X[:1]),
    "the batch must be a tensor": (NET, AFTER, "x"),
    "must take the batch": (NET, AFTER, X[:, :2]),
    "labels must take two values or more": (NET, AFTER, X, np.ones(6)),
    "labels must be finite numbers of shape": (NET, AFTER, X, np.ones(5)),
    "know their sizes": (nn.LazyLinear(1), nn.LazyLinear(1), X),
    "chunk must be a whole number": (NET, AFTER, X, None, None, 0),
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_arguments_are_refused_in_a_sentence(sentence):
    with pytest.raises(wl.InputError, match=sentence) as caught:
        wl.torch.diagnose(*BAD[sentence])
    assert "\n" not in str(caught.value)
