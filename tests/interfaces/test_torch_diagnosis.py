"""The diagnosis of a network of PyTorch: its numbers by hand, and its verdicts on digits."""

import copy
import warnings

import numpy as np
import pytest

import widelimit as wl
from widelimit.interfaces.torch import tangents
from widelimit.interfaces.torch.tangents import Snapshot
from widelimit.theory.lazy.verdict import alignment

torch = pytest.importorskip("torch")
nn = torch.nn

ROUNDING = 1e-10  # of double precision, over a few hundred additions
NUMBERS = ("missed", "moved", "turned", "parameters", "aligned")


@pytest.fixture(autouse=True)
def one_thread():
    """Workers share the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def moved(net, by=0.1):
    after = copy.deepcopy(net)
    with torch.no_grad():
        for parameter in after.parameters():
            parameter.add_(by * torch.randn_like(parameter))
    return after


def tiny(outputs=1):
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, outputs)).double()


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Dropout(), nn.Flatten(), nn.Linear(16, 3)
    )


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.encoder(x).mean(dim=1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


class Single(nn.Module):
    """A forward that insists on single precision."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)

    def forward(self, x):
        return torch.tanh(self.out(x.float()))


def jacobian(net, x):
    """∂f_o(x_k)/∂θ by torch.autograd, one after the other, (B, outputs, |θ|)."""
    rows = []
    for sample in x:
        outputs = net(sample[None])[0]
        slopes = [torch.autograd.grad(f, list(net.parameters()), retain_graph=True) for f in outputs]
        rows.append(torch.stack([torch.cat([s.reshape(-1) for s in slope]) for slope in slopes]))
    return torch.stack(rows)


def flat(net):
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("chunk", [None, 1, 4])
def test_all_numbers_are_those_of_autograd_by_hand(outputs, chunk):
    before, x, y = tiny(outputs), torch.randn(6, 3).double(), torch.randn(6, outputs).double()
    after, other = moved(before), tiny(outputs)
    (j0, jt, j1), (f0, ft) = (jacobian(net, x) for net in (before, after, other)), (before(x), after(x))
    k0, kt, k1 = (torch.einsum("iop,jop->ij", j, j) for j in (j0, jt, j1))
    move, centred = flat(after) - flat(before), y - y.mean(dim=0)
    yy = centred @ centred.T
    expected = {
        "missed": (ft - f0 - j0 @ move).norm() / (ft - f0).norm(),
        "moved": (kt - k0).norm() / k0.norm(),
        "turned": 1 - (k0 * kt).sum() / k0.norm() / kt.norm(),
        "parameters": move.norm() / flat(before).norm(),
        "aligned": (kt * yy).sum() / kt.norm() / yy.norm() - (k0 * yy).sum() / k0.norm() / yy.norm(),
        "floor": (k1 - k0).norm() / k0.norm(),
    }
    found = wl.torch.diagnose(before, after, x, y, other=other, chunk=chunk).document()
    assert {name: found[name] for name in expected} == pytest.approx(
        {name: value.item() for name, value in expected.items()}, abs=ROUNDING
    )


@pytest.mark.parametrize("net", [convolutional, Attention], ids=["batch norm", "attention"])
def test_the_linearised_network_is_that_of_forward_differentiation(net):
    before = net().double().eval()
    x = torch.randn(5, 1, 4, 4).double() if net is convolutional else torch.randn(5, 4, 8).double()
    after = moved(before)
    start, end = (Snapshot(m, dict(m.named_parameters()), dict(m.named_buffers())).cast(None) for m in (before, after))
    move = start.difference(end)
    found = start.tangent((x,), start.outputs((x,), 5), 2, move).slope
    with tangents._calm(before):
        _, slope = torch.func.jvp(
            lambda theta: torch.func.functional_call(before, (theta, start.rest), (x,)), (start.trained,), (move,)
        )
    assert np.abs(found - slope.numpy()).max() < ROUNDING


def test_the_kernel_of_our_tangent_features_is_that_of_the_module():
    """Two routes: ⟨∇σ*(x; θ), ∇σ*(x'; θ)⟩ summed over neurons, times (α/n)², for the neuron a tanh(⟨w, x⟩ + b)."""
    net, x = (
        nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1, bias=False), wl.torch.scale(0.25)),
        torch.randn(5, 3),
    )
    network = wl.torch.from_torch(net)
    a, b, w = network.theta[:, 0], network.theta[:, 1], network.theta[:, 2:]
    s = np.tanh(x.numpy().astype(float) @ w.T + b)
    slope = a * (1 - s**2)
    expected = (network.alpha / network.n) ** 2 * (s @ s.T + (slope @ slope.T) * (1 + x.numpy() @ x.numpy().T))
    start = Snapshot(net, dict(net.named_parameters()), {}).cast(torch.float64)
    inputs = (x.double(),)
    found = start.tangent(inputs, start.outputs(inputs, 5), 5, {}).kernel
    assert np.abs(found - expected).max() < 1e-6 * expected.max()  # x is in single precision


def test_the_memory_given_to_gradients_does_not_change_the_numbers(monkeypatch):
    before, x = tiny(2), torch.randn(9, 3).double()
    after = moved(before)
    expected = wl.torch.diagnose(before, after, x).document()
    monkeypatch.setattr(tangents, "ROWS", 1280)  # a row has 256 bytes: 4 rows and a piece of 1
    start = Snapshot(before, dict(before.named_parameters()), {})
    assert start.chunk == 4
    found = wl.torch.diagnose(before, after, x).document()
    assert all(found[name] == pytest.approx(expected[name], abs=ROUNDING) for name in NUMBERS)


def test_without_labels_the_change_of_the_outputs_takes_their_place():
    before, x = tiny(), torch.randn(6, 3).double()
    after = moved(before)
    change = (after(x) - before(x)).detach()
    assert wl.torch.diagnose(before, after, x) == wl.torch.diagnose(before, after, x, change)


def test_classes_of_several_outputs_are_indicators():
    before, x, classes = tiny(3), torch.randn(6, 3).double(), torch.tensor([2, 0, 1, 0, 2, 2])
    after = moved(before)
    indicators = nn.functional.one_hot(classes).double()
    assert wl.torch.diagnose(before, after, x, classes) == wl.torch.diagnose(before, after, x, indicators)


def test_alignment_of_one_column_is_that_of_a_vector_and_of_a_kernel_with_itself_is_one():
    y = np.random.default_rng(0).normal(size=(6, 2))
    centred = y - y.mean(axis=0)
    kernel = np.cov(np.random.default_rng(1).normal(size=(6, 20)))
    assert alignment(kernel, y[:, :1]) == alignment(kernel, y[:, 0])
    assert alignment(centred @ centred.T, y) == pytest.approx(1)
    assert alignment(kernel, np.zeros(6)) == 0


@pytest.mark.parametrize("module", [convolutional, Attention, Recurrent, Single])
def test_modules_of_every_kind_are_diagnosed_and_left_as_they_were(module):
    shape = {convolutional: (6, 1, 4, 4), Attention: (6, 4, 8), Recurrent: (6, 5, 3), Single: (6, 3)}[module]
    before, x = module(), torch.randn(*shape)
    next(before.children()).eval()  # flags that differ
    after = moved(before, 0.01)
    flags, state = [m.training for m in before.modules()], copy.deepcopy(before.state_dict())
    seeds, fast = torch.get_rng_state(), torch.backends.mha.get_fastpath_enabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PyTorch on what it has no fast rule for
        verdict = wl.torch.diagnose(before, after, x)
    assert 0 < verdict.missed < 0.4 and 0 < verdict.parameters < 0.2
    assert flags == [m.training for m in before.modules()]
    assert all(torch.equal(value, state[name]) for name, value in before.state_dict().items())
    assert all(p.requires_grad and p.grad is None for p in before.parameters())
    assert torch.equal(seeds, torch.get_rng_state()) and torch.backends.mha.get_fastpath_enabled() == fast


def test_state_dictionaries_are_the_modules_they_are_of():
    before, x = convolutional(), torch.randn(6, 1, 4, 4)
    after = moved(before)
    after[1].running_mean += 0.5  # a buffer
    expected = wl.torch.diagnose(before, after, x)
    assert wl.torch.diagnose(before.state_dict(), after, x) == expected
    assert wl.torch.diagnose(before, after.state_dict(), x) == expected
    after[1].running_mean -= 0.5
    assert wl.torch.diagnose(before, after, x).missed != pytest.approx(expected.missed, rel=0.1)


def test_parameters_that_are_not_trained_do_not_count():
    net, x = tiny(), torch.randn(6, 3).double()
    net[0].requires_grad_(False)
    after = copy.deepcopy(net)
    after[2].weight.data += 1.0
    verdict = wl.torch.diagnose(net, after, x)  # linear in what is trained
    assert max(verdict.missed, verdict.moved, abs(verdict.turned)) < ROUNDING
    assert verdict.parameters == pytest.approx(5**0.5 / float(flat(net[2]).norm()))
    copied = [copy.deepcopy(m).requires_grad_(False) for m in (net, after)]  # snapshots without gradients
    assert wl.torch.diagnose(net, copied[1], x) == verdict


def test_arrays_tuples_and_whole_numbers_are_batches():
    pair, words = nn.Bilinear(3, 2, 1), nn.Sequential(nn.Embedding(9, 4), nn.Flatten(), nn.Linear(8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert wl.torch.diagnose(pair, moved(pair), (torch.randn(6, 3), np.ones((6, 2)))).word == "lazy"
    assert wl.torch.diagnose(words, moved(words, 0.01), torch.randint(9, (6, 2))).word == "lazy"
    assert wl.torch.diagnose(tiny(), moved(tiny()), np.random.default_rng(0).normal(size=(6, 3))).missed > 0


def test_nothing_learned_is_lazy():
    verdict = wl.torch.diagnose(net := tiny(), copy.deepcopy(net), torch.randn(6, 3))
    assert verdict.word == "lazy" and all(abs(getattr(verdict, name)) < ROUNDING for name in NUMBERS)


class Centred(nn.Module):
    """α (net − net at its start): 0 at the start."""

    def __init__(self, net, alpha):
        super().__init__()
        self.net, self.start, self.alpha = net, copy.deepcopy(net).requires_grad_(False), alpha

    def forward(self, x):
        return self.alpha * (self.net(x) - self.start(x))


def digits_network(layers, alpha, n):
    """Outputs divided by n, and all weights of order 1, those between two layers of n neurons of order n^{−1/2}."""
    inner = [nn.Linear(64, n), nn.ReLU()]
    if layers == 3:
        inner += [nn.Linear(n, n, bias=False), nn.ReLU()]
    net = nn.Sequential(*inner, nn.Linear(n, 1, bias=False), wl.torch.scale(1 / n))
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=(2 / n) ** 0.5 if parameter.shape == (n, n) else 1.0)
    return Centred(net, alpha)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "word"), [(1.0, "feature learning"), (1000.0, "lazy")])
@pytest.mark.parametrize("layers", [2, 3])
def test_digits_are_learned_by_features_at_scale_one_and_lazily_at_a_large_scale(layers, alpha, word):
    """Even against odd digits; the rate is divided by α², so that the outputs move at the same speed."""
    x, y = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    x = torch.tensor((x - x.mean()) / x.std() / 8, dtype=torch.float32)
    y = torch.tensor(1.0 - 2 * (y % 2), dtype=torch.float32)
    n = 512 if layers == 2 else 256
    model, other = digits_network(layers, alpha, n), digits_network(layers, alpha, n)
    before = copy.deepcopy(model)
    rate = wl.torch.learning_rate(0.05, n, alpha) if layers == 2 else 1 / alpha**2
    optimiser = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=rate)
    for _ in range(300):
        rows = torch.randint(len(x), (64,))
        loss = ((y[rows] - model(x[rows])[:, 0]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    verdict = wl.torch.diagnose(before, model, x[:200], y[:200], other=other)
    assert ((y - model(x)[:, 0]) ** 2).mean().item() < 0.5  # it learned
    assert verdict.word == word, verdict
    assert verdict.aligned > 0.02 if alpha == 1 else abs(verdict.aligned) < 0.01
    assert 0 < verdict.floor < 1
