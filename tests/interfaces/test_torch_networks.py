"""Networks of PyTorch and of this library are the same functions and train along the same path."""

import pickle
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import widelimit as wl
from widelimit.dynamics.block_layout import BLOCK_ROWS
from widelimit.interfaces.torch.two_layer import ACTIVATIONS, PARAMETRISATIONS
from widelimit.solving.streams import stream

torch = pytest.importorskip("torch")
nn = torch.nn

N, D = 7, 4
ROUNDING = {"float32": 1e-6, "float64": 1e-12}
FACTORS = {"standard": (1, 1), "ntk": (D**-0.5, N**-0.5), "mean_field": (1, 1 / N)}


def module(activation="ReLU", bias=True, dtype="float64", n=N):
    torch.manual_seed(3)
    layers = nn.Linear(D, n, bias=bias), getattr(nn, activation)(), nn.Linear(n, 1, bias=False)
    return nn.Sequential(*layers).to(getattr(torch, dtype))


def inputs(dtype="float64"):
    return np.random.default_rng(0).normal(size=(50, D)).astype(dtype)


def ours(neuron, theta, alpha, x):
    """(α/n) Σ a σ(⟨w, x⟩ + b)."""
    scalars = dict(zip(neuron.scalars, np.asarray(theta).T, strict=False))
    h = x @ np.asarray(theta)[:, len(scalars) :].T + scalars.get("b", 0.0)
    return alpha * np.mean(scalars.get("a", 1.0) * np.asarray(neuron.sigma(jnp.asarray(h))), axis=1)


def samples():
    x = inputs()
    return wl.data.empirical(x, np.sin(2 * x[:, 0]) + x[:, 1] ** 2)


def theirs(net, x):
    with torch.no_grad():
        return net(torch.as_tensor(np.array(x), dtype=next(net.parameters()).dtype))[:, 0].double().numpy()


def same(one, two, dtype):
    return np.abs(one - two).max() <= ROUNDING[dtype] * max(1, np.abs(one).max())


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS.values())
def test_a_module_is_the_same_function_here_and_when_it_goes_back(activation, bias, parametrisation, dtype):
    net, x, (before, behind) = module(activation, bias, dtype), inputs(dtype), FACTORS[parametrisation]
    expected = behind * theirs(net, before * x)
    network = wl.torch.from_torch(net, parametrisation)
    assert network.alpha == pytest.approx({"standard": N, "ntk": N**0.5, "mean_field": 1}[parametrisation])
    assert same(ours(network.neuron, network.theta, network.alpha, x), expected, dtype)
    for other in (None, *PARAMETRISATIONS):
        back = wl.torch.to_torch(network, parametrisation=other, dtype=dtype)
        assert same(theirs(back, x), expected, dtype)
        again = wl.torch.from_torch(back)
        assert same(ours(again.neuron, again.theta, again.alpha, x), expected, dtype)


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("alpha", [1.0, "lazy", 30.0])
@pytest.mark.parametrize("roles", [("absent", "absent"), ("fixed", "trained"), ("trained", "fixed")])
def test_neurons_of_a_problem_are_the_same_function_as_a_module(roles, alpha, dtype):
    outer, bias = roles
    normal = wl.initial.normal()
    start = wl.initial.gaussian(2.0, a=None if outer == "absent" else normal, b=None if bias == "absent" else normal)
    neuron, x = wl.neurons.ridge("softplus", outer=outer, bias=bias), 20 * inputs()
    problem = wl.Problem(wl.data.gaussian_classes(D, 0.5), neuron, start, alpha=alpha)
    theta = problem.sample_initial(stream(0, "initial"), N)
    cloud = wl.Cloud(theta, np.full(N, 1 / N), problem.coordinates)
    scale = N**0.5 if alpha == "lazy" else alpha
    for parametrisation in (None, *PARAMETRISATIONS):
        net = wl.torch.to_torch(problem, cloud, parametrisation=parametrisation, dtype=dtype)
        assert same(ours(neuron, cloud.theta, scale, x), theirs(net, x), dtype)
    net = wl.torch.to_torch(problem, cloud, dtype="float64")
    network = wl.torch.from_torch(net)
    assert network.alpha == pytest.approx(scale)
    assert network.neuron.outer == ("fixed" if outer == "absent" else outer) and network.neuron.bias == bias
    assert np.array_equal(network.theta[:, -cloud.theta.shape[1] :], cloud.theta)


def test_the_problem_of_a_module_has_its_loss():
    net, x = module("Tanh"), inputs()
    y = np.sin(x[:, 0])
    network = wl.torch.from_torch(net)
    problem = network.problem(wl.data.empirical(x, y))
    risk = wl.landscape(problem).risk(wl.Cloud(network.theta, np.full(N, 1 / N), problem.coordinates))
    assert float(risk) == pytest.approx(np.mean((y - theirs(net, x)) ** 2), rel=1e-12)


def trained(net, problem, steps, batch, rate, decay=0.0):
    """A copy of a module after torch.optim.SGD on the samples of wl.SGD."""
    net = pickle.loads(pickle.dumps(net))
    optimiser = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=rate, weight_decay=decay)
    x, y = (torch.tensor(np.asarray(part)) for part in problem.data.block(stream(5, "data"), 0, BLOCK_ROWS, float))
    for k in range(steps):
        rows = slice(k * batch, (k + 1) * batch)
        loss = ((y[rows] - net(x[rows])[:, 0]) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return net


@pytest.mark.some(1)
@pytest.mark.parametrize("parametrisation", PARAMETRISATIONS)
@pytest.mark.parametrize(("batch", "ridge"), [(1, 0.0), (4, 0.25)])
def test_torch_at_the_matching_rate_follows_our_sgd(parametrisation, batch, ridge):
    """Rounding only: 1e−15 a step, some of it amplified over 100 steps."""
    first = wl.torch.from_torch(module("Tanh"))
    net = wl.torch.to_torch(first, parametrisation=parametrisation, dtype="float64")
    network, step, steps = wl.torch.from_torch(net), 0.02, 100 // batch
    problem = network.problem(samples())
    if parametrisation != "ntk":  # there the weights that decay are √d w, and the ridge of w is another one
        problem = replace(problem, ridge=ridge)
    rate = wl.torch.learning_rate(step, N, network.alpha)
    after = trained(net, problem, steps, batch, rate, 2 * problem.ridge / N)
    expected = wl.solve(problem, wl.SGD(N, step, batch=batch), steps * step, save=2, seed=5).final.theta
    found = wl.torch.from_torch(after).theta
    assert np.abs(expected - network.theta).max() > 1e-2
    assert np.abs(expected - found).max() < 1e-10


@pytest.mark.some(1)
@pytest.mark.parametrize("frozen", ["0.weight", "0.bias", "2.weight"])
def test_what_a_module_does_not_train_stays_in_our_sgd(frozen):
    net, step = module("GELU"), 0.02
    net.get_parameter(frozen).requires_grad_(False)
    problem = wl.torch.from_torch(net).problem(samples())
    after = trained(net, problem, 50, 1, wl.torch.learning_rate(step, N, problem.alpha))
    final = wl.solve(problem, wl.SGD(N, step), 50 * step, save=2, seed=5).final
    assert np.abs(wl.torch.from_torch(after).theta - final.theta).max() < 1e-10
    back = wl.torch.to_torch(problem, final)
    assert [name for name, value in back.named_parameters() if not value.requires_grad] == [frozen]


def test_a_module_with_scale_layers_can_be_stored_and_leaves_the_random_numbers_alone():
    network = wl.torch.from_torch(module(), "ntk")
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    net = wl.torch.to_torch(network, parametrisation="ntk")
    assert torch.rand(1) == expected
    copy = pickle.loads(pickle.dumps(net))
    assert np.array_equal(theirs(copy, inputs()), theirs(net, inputs()))
    assert "Scale(0.5)" in repr(net)


def with_bias():
    net = nn.Sequential(nn.Linear(D, N), nn.ReLU(), nn.Linear(N, 1))
    nn.init.constant_(net[2].bias, 0.5)
    return net


def broken():
    net = module()
    net[0].weight.data[0, 0] = float("nan")
    return net


REFUSED = {
    "from_torch needs an nn.Sequential": lambda: nn.Linear(3, 1),
    "from_torch needs two layers": lambda: nn.Sequential(nn.Linear(D, N), nn.ReLU(), nn.Linear(N, N), nn.Linear(N, 1)),
    "one output, got 2": lambda: nn.Sequential(nn.Linear(D, N), nn.ReLU(), nn.Linear(N, 2, bias=False)),
    "no bias, or one that is 0, got 0.5": with_bias,
    "fit together": lambda: nn.Sequential(nn.Linear(D, N), nn.ReLU(), nn.Linear(N + 1, 1, bias=False)),
    "known are GELU, ReLU, SiLU, Sigmoid, Softplus, Tanh": lambda: module("ELU"),
    "GELU must be the exact one": lambda: nn.Sequential(module()[0], nn.GELU("tanh"), module()[2]),
    "Softplus must have beta = 1": lambda: nn.Sequential(module()[0], nn.Softplus(2.0), module()[2]),
    "must know their sizes": lambda: nn.Sequential(nn.LazyLinear(N), nn.ReLU(), nn.Linear(N, 1, bias=False)),
    "finite numbers": broken,
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_a_module_that_is_no_two_layer_network_is_refused_in_a_sentence(sentence):
    with pytest.raises(wl.InputError, match=sentence) as caught:
        wl.torch.from_torch(REFUSED[sentence]())
    assert "\n" not in str(caught.value)


def test_an_output_bias_of_zero_is_accepted():
    net = with_bias()
    nn.init.zeros_(net[2].bias)
    assert wl.torch.from_torch(net).n == N


def test_a_parametrisation_is_known_and_said_once():
    with pytest.raises(wl.InputError, match="did you mean 'ntk'"):
        wl.torch.from_torch(module(), "ntks")
    net = wl.torch.to_torch(wl.torch.from_torch(module()), parametrisation="mean_field")
    with pytest.raises(wl.InputError, match="says its parametrisation itself"):
        wl.torch.from_torch(net, "mean_field")


def test_what_is_no_module_is_refused_in_a_sentence():
    data, start = wl.data.gaussian_classes(D, 0.5), wl.initial.gaussian(1.0)
    problem = wl.Problem(data, wl.neurons.ridge("relu"), start)
    theta = np.ones((3, D))
    cases = {
        "known are gelu, relu, sigmoid, silu, softplus, tanh": (
            replace(problem, neuron=wl.neurons.ridge("erf")),
            theta,
        ),
        "needs its neurons": (problem, None),
        "full coordinates": (problem, wl.Cloud([[1.0]], [1.0], ("r",))),
        "equal weights": (problem, wl.Cloud(theta, [0.5, 0.25, 0.25], problem.coordinates)),
        f"have {D} columns": (problem, np.ones((3, D + 1))),
        "a wl.Problem or a TwoLayer": (None, theta),
    }
    for sentence, arguments in cases.items():
        with pytest.raises(wl.InputError, match=sentence):
            wl.torch.to_torch(*arguments)
    with pytest.raises(wl.InputError, match="float32, float64"):
        wl.torch.to_torch(problem, theta, dtype="half")
