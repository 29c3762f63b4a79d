"""Two-layer networks of PyTorch and of this library.

    f(x) = s Σ_i a_i σ(t ⟨w_i, x⟩ + b_i)       a module of n neurons, s behind it, t before it
         = (α/n) Σ_i a_i σ(⟨t w_i, x⟩ + b_i)   our network: α = n s, inner weights t w_i with mobility m_w = t²

    parametrisation   s         t         α      m_w
    standard          1         1         n      1       nn.Sequential(Linear, activation, Linear) as it stands
    ntk               n^{−1/2}  d^{−1/2}  √n     1/d
    mean_field        1/n       1         1      1

Both descend along the same path. torch.optim.SGD moves a_i, b_i, w_i by −η ∂(y − f)²/∂(·) = 2η (y − f)(α/n) ∇σ*, times
m_w for t w_i, and wl.SGD moves them by 2ε (M/α²)(y − f) α ∇σ*. So the learning rate that belongs to the step ε is

    η = ε n/α²        (means over the batch in both)

and the weight decay that belongs to a ridge λ is 2λ/n, since η·(2λ/n) θ = 2(ε/α²) λ θ, if t = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jax.typing import ArrayLike

from widelimit.arguments import array_of
from widelimit.errors import is_finite, require, require_count, require_known, require_positive
from widelimit.interfaces.torch.scale_layer import factor_of, scale
from widelimit.measures import Cloud
from widelimit.on_first_use import OnFirstUse
from widelimit.problem.activations import name_of
from widelimit.problem.data import DataLaw
from widelimit.problem.initial import array
from widelimit.problem.mobility import Mobility
from widelimit.problem.neurons import Neuron, Ridge
from widelimit.problem.problem import LAZY, Problem

if TYPE_CHECKING:
    import torch
else:
    torch = OnFirstUse("torch", extra="torch")

ACTIVATIONS = {"relu": "ReLU", "tanh": "Tanh", "sigmoid": "Sigmoid", "gelu": "GELU", "silu": "SiLU",
               "softplus": "Softplus"}  # fmt: skip
PARAMETRISATIONS = ("standard", "ntk", "mean_field")
SHAPE = "nn.Sequential(nn.Linear(d, n), activation, nn.Linear(n, 1, bias=False))"
Layers = tuple["torch.nn.Linear", "torch.nn.Module", "torch.nn.Linear"]
LINEAR_FROM = 40.0  # where softplus becomes x: e^{−40} is below rounding, e^{−20}, PyTorch's choice, is not


@dataclass(frozen=True, eq=False, repr=False)
class TwoLayer:
    """A two-layer network f = (α/n) Σ_i a_i σ(⟨w_i, x⟩ + b_i) in the letters of this library.

    neuron    from ``wl.neurons.ridge``; a and b are "fixed" where the module does not train them
    theta     (n, D)  columns a, b (if there is a bias), w_1 … w_d
    alpha     α
    mobility  rates of the blocks with which the module trains
    """

    neuron: Neuron
    theta: np.ndarray
    alpha: float = 1.0
    mobility: Mobility = field(default_factory=Mobility)

    def __post_init__(self) -> None:
        do = "give what from_torch returns"
        theta = array_of("theta", self.theta, "(n, D)", do, finite=True)
        good = isinstance(self.neuron, Ridge) and theta.shape[1] > len(self.neuron.scalars) and len(theta) > 0
        require(good, "a TwoLayer needs a ridge neuron and its columns a, b, w_1..", (self.neuron, theta.shape), do)
        vars(self).update(theta=theta, alpha=_alpha(self.alpha, len(theta)))

    def __repr__(self) -> str:
        return f"<TwoLayer: {self.n} neurons of {self.neuron!r}, alpha = {self.alpha:g}>"

    @property
    def n(self) -> int:
        """Number of neurons."""
        return len(self.theta)

    def problem(self, data: DataLaw) -> Problem:
        """The problem of this network on data, started where it is; ridge, noise, schedule: ``dataclasses.replace``."""
        start = array(self.theta, coordinates="full")
        return Problem(data, self.neuron, start, mobility=self.mobility, alpha=self.alpha)


def from_torch(module: torch.nn.Module, parametrisation: str = "standard") -> TwoLayer:
    """The neurons of an nn.Sequential(Linear, activation, Linear) with one output.

    module            with or without biases of the first layer; `scale` layers before and behind are understood; the
                      last layer must have no bias, or one that is 0, for which our networks have no place
    parametrisation   "standard", or what is done with the module elsewhere: "mean_field", its output is divided by n,
                      "ntk", its output is divided by √n and its input by √d

    Activations: ReLU, Tanh, Sigmoid, GELU, SiLU, Softplus.

    >>> from torch import nn  # doctest: +SKIP
    >>> module = nn.Sequential(nn.Linear(10, 50), nn.ReLU(), nn.Linear(50, 1, bias=False))  # doctest: +SKIP
    >>> network = from_torch(module)  # doctest: +SKIP
    >>> network  # doctest: +SKIP
    <TwoLayer: 50 neurons of ridge('relu', outer='trained', bias='trained'), alpha = 50>
    >>> import widelimit as wl
    >>> problem = network.problem(wl.data.gaussian_classes(10, 0.5))  # doctest: +SKIP
    """
    require_known("parametrisation", parametrisation, PARAMETRISATIONS)
    (inner, sigma, outer), (before, behind) = _layers(module)
    d, n = inner.in_features, inner.out_features
    if parametrisation != "standard":
        none = before == behind == 1
        require(none, "a module with scale layers says its parametrisation itself", parametrisation, "leave it out")
        before, behind = _factors(parametrisation, n, d)
    columns = [_numbers(outer.weight).reshape(n, 1), before * _numbers(inner.weight)]
    if inner.bias is not None:
        columns.insert(1, _numbers(inner.bias)[:, None])
    theta = array_of(
        "the weights of a module", np.concatenate(columns, axis=1), "(n, D)", "train it again", finite=True
    )
    neuron = Ridge(_activation(sigma), outer=_role(outer.weight), bias=_role(inner.bias))
    return TwoLayer(neuron, theta, n * behind, Mobility(w=before**2 if inner.weight.requires_grad else 0.0))


def to_torch(
    network: Problem | TwoLayer,
    rho: Cloud | ArrayLike | None = None,
    *,
    parametrisation: str | None = None,
    dtype: str = "float32",
) -> torch.nn.Sequential:
    """The nn.Sequential with the same outputs, of shape (batch, 1).

    network           a Problem, or what `from_torch` returned
    rho               its neurons: a Cloud such as ``solution.final``, or an array (n, D), in full coordinates
    parametrisation   None: the parameters are θ, and `scale` (α/n) is behind them; trained with `learning_rate`, the
                      module follows wl.SGD (a mobility m of a block is the rate m·η of a parameter group). "standard":
                      no scale layer, α/n is in the last layer. "mean_field", "ntk": scale layers as in `from_torch`
    dtype             "float32" or "float64"

    A bias or an outer weight that is absent or fixed does not require a gradient in the module.

    >>> import widelimit as wl
    >>> problem = wl.Problem(wl.data.gaussian_classes(3, 0.5), wl.neurons.ridge("tanh"), wl.initial.gaussian(1.0))
    >>> to_torch(problem, [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])  # doctest: +SKIP
    Sequential(
      (0): Linear(in_features=3, out_features=2, bias=False)
      (1): Tanh()
      (2): Linear(in_features=2, out_features=1, bias=False)
      (3): Scale(0.5)
    )
    """
    good = isinstance(network, Problem | TwoLayer)
    require(good, "to_torch needs a wl.Problem or a TwoLayer", type(network).__name__, "try to_torch(problem, rho)")
    require_known("dtype", dtype, ("float32", "float64"))
    if parametrisation is not None:
        require_known("parametrisation", parametrisation, PARAMETRISATIONS)
    theta = _neurons(network, rho)
    neuron = _known(network.neuron)
    scalars = dict(zip(neuron.scalars, theta.T, strict=False))
    n, w = len(theta), theta[:, len(scalars) :]
    gain = _alpha(network.alpha, n) / n
    before, behind = (1.0, gain) if parametrisation is None else _factors(parametrisation, n, w.shape[1])
    a, b = gain / behind * scalars.get("a", np.ones(n)), scalars.get("b")
    kind = getattr(torch.nn, ACTIVATIONS[name_of(neuron.sigma)])
    sigma = kind(threshold=LINEAR_FROM) if kind is torch.nn.Softplus else kind()
    moves = network.mobility.w != 0, neuron.bias == "trained", neuron.outer == "trained"
    layers = [_linear(w / before, b, dtype, moves[:2]), sigma, _linear(a[None, :], None, dtype, moves[2:])]
    first, last = ([] if factor == 1 else [scale(factor)] for factor in (before, behind))
    return torch.nn.Sequential(*first, *layers, *last)


def learning_rate(step: float, n: int, alpha: float | str = 1.0) -> float:
    """η = ε n/α², with which torch.optim.SGD on the mean of (y − f)² follows wl.SGD(n, ε) on the same samples.

    step   ε
    n      number of neurons
    alpha  α, "lazy" for √n

    Without momentum; a ridge λ is weight_decay = 2λ/n (not for "ntk", where it would be that of √d w).

    >>> learning_rate(0.001, n=500), learning_rate(0.001, n=500, alpha=500.0)  # mean field, standard parametrisation
    (0.5, 2e-06)
    """
    require_positive("step", step, "1e-3")
    require_count("n", n, "500")
    return step * n / _alpha(alpha, n) ** 2


def _alpha(alpha: float | str, n: int) -> float:
    if alpha == LAZY:
        return math.sqrt(n)
    require(is_finite(alpha) and alpha > 0, f'alpha must be a number > 0, or "{LAZY}"', alpha, "try alpha=1.0")
    return float(alpha)


def _factors(parametrisation: str, n: int, d: int) -> tuple[float, float]:
    """t before a network, s behind it."""
    return {"standard": (1.0, 1.0), "ntk": (d**-0.5, n**-0.5), "mean_field": (1.0, 1 / n)}[parametrisation]


def _layers(module: torch.nn.Module) -> tuple[Layers, tuple[float, float]]:
    """Linear, activation, Linear of a module, and the factors before and behind them."""
    good = isinstance(module, torch.nn.Sequential)
    require(good, f"from_torch needs an {SHAPE}", type(module).__name__, "put the layers of your module into one")
    layers, factors = list(module), [1.0, 1.0]
    for place, end in ((0, 0), (1, -1)):
        if len(layers) > 3 and (found := factor_of(layers[end])) is not None:
            factors[place] = found
            layers.pop(end)
    kinds = [type(layer).__name__ for layer in layers]
    good = len(layers) == 3 and all(isinstance(layer, torch.nn.Linear) for layer in layers[::2])
    require(good, f"from_torch needs two layers, {SHAPE}", kinds, "diagnose takes any other module")
    lazy = any(torch.nn.parameter.is_lazy(p) for p in module.parameters())
    require(not lazy, "the layers must know their sizes", kinds, "call the module on an input first")
    inner, sigma, outer = layers
    require(outer.out_features == 1, "the last layer must have one output", outer.out_features, "take one of them")
    fits = outer.in_features == inner.out_features
    require(fits, "the layers must fit together", (inner, outer), "give them the same number of neurons")
    c = 0.0 if outer.bias is None else float(outer.bias.detach())
    require(c == 0, "the last layer must have no bias, or one that is 0", c, "make it nn.Linear(n, 1, bias=False)")
    return (inner, sigma, outer), (factors[0], factors[1])


def _activation(layer: torch.nn.Module) -> str:
    """The name of σ."""
    names = {kind: name for name, kind in ACTIVATIONS.items()}
    require_known("activation of a module", type(layer).__name__, names)
    exact = getattr(layer, "approximate", "none") == "none"
    require(exact, "GELU must be the exact one", layer, "make it nn.GELU()")
    plain = getattr(layer, "beta", 1) == 1 and getattr(layer, "threshold", 20) >= 20
    require(plain, "Softplus must have beta = 1 and a threshold of 20 or more", layer, "make it nn.Softplus()")
    return names[type(layer).__name__]


def _numbers(values: torch.Tensor) -> np.ndarray:
    return values.detach().cpu().double().numpy()


def _role(values: torch.Tensor | None) -> str:
    return "absent" if values is None else "trained" if values.requires_grad else "fixed"


def _known(neuron: Neuron) -> Ridge:
    """A neuron that PyTorch has an activation for."""
    require(isinstance(neuron, Ridge), "to_torch needs a ridge neuron", neuron, "use wl.neurons.ridge")
    assert isinstance(neuron, Ridge)
    require_known("activation in PyTorch", name_of(neuron.sigma), ACTIVATIONS)
    return neuron


def _neurons(network: Problem | TwoLayer, rho: Cloud | ArrayLike | None) -> np.ndarray:
    """θ in full coordinates, (n, D)."""
    do = "give solution.final of a run in full coordinates, such as SGD"
    if isinstance(network, TwoLayer):
        rho, D = network.theta if rho is None else rho, network.theta.shape[1]
    else:
        require(rho is not None, "to_torch of a problem needs its neurons", None, do)
        D = network.D
    if isinstance(rho, Cloud):
        full = not any(name[0] in "ur" for name in rho.coordinates)
        require(full, "to_torch needs neurons in full coordinates", rho, do)
        equal = np.ptp(rho.weights) <= 1e-12 * np.max(rho.weights)
        require(bool(equal), "the neurons of a module have equal weights", rho, "draw neurons from this cloud")
        rho = rho.theta
    theta = array_of("rho", rho, "(n, D)", do, finite=True)
    good = theta.shape[1] == D and len(theta) > 0
    require(good, f"neurons of this network have {D} columns a, b, w_1.. (those that exist)", theta.shape, do)
    return theta


def _linear(weight: np.ndarray, bias: np.ndarray | None, dtype: str, moves: tuple[bool, ...]) -> torch.nn.Linear:
    """A layer with these numbers, which are trained or not."""
    kind, shape = getattr(torch, dtype), weight.shape[::-1]
    layer = torch.nn.utils.skip_init(torch.nn.Linear, *shape, bias=bias is not None, dtype=kind)
    for parameter, values, trained in zip(layer.parameters(), (weight, bias), moves, strict=False):
        parameter.data = torch.tensor(values, dtype=kind)
        parameter.requires_grad_(trained)
    return layer
