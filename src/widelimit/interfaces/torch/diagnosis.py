"""Is a network of PyTorch lazy? Any module before and after training, on a batch of inputs.

    missed      ‖f_T − f̄_T‖ / ‖f_T − f_0‖,   f̄_T = f_0 + Df(θ_0)(θ_T − θ_0)
    moved       ‖K_T − K_0‖ / ‖K_0‖
    turned      1 − ⟨K_0, K_T⟩ / (‖K_0‖ ‖K_T‖)
    parameters  |θ_T − θ_0| / |θ_0|
    aligned     A(K_T) − A(K_0),   A(K) = ⟨K, y yᵀ⟩ / (‖K‖ ‖y yᵀ‖)

    K is summed over the outputs, norms of outputs are over samples and outputs.

The rule, and what each number says, are in widelimit.theory.lazy.verdict; kernels and slopes in
widelimit.interfaces.torch.tangents.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from widelimit.errors import require, require_count, shortened
from widelimit.interfaces.torch.tangents import Inputs, Snapshot, Tensors, inputs_as, precision
from widelimit.on_first_use import OnFirstUse
from widelimit.theory.lazy.verdict import Verdict, alignment, kernel_moves, share_missed

if TYPE_CHECKING:
    import torch
else:
    torch = OnFirstUse("torch", extra="torch")

COPY = "keep copy.deepcopy(model) before training"


def diagnose(
    before: torch.nn.Module | Tensors,
    after: torch.nn.Module | Tensors,
    batch: object,
    labels: object = None,
    other: torch.nn.Module | Tensors | None = None,
    chunk: int | None = None,
) -> Verdict:
    """What training did to a module: lazy, intermediate or feature learning, and the numbers that say so.

    before, after   two modules of one architecture, or a module and a state dictionary of that architecture
    batch           inputs, samples along the first axis: a tensor or an array, or a tuple of them for a module with
                    several inputs; a few hundred samples are enough
    labels          (B,) or (B, outputs) for ``aligned``; whole numbers are classes if there are several outputs;
                    without labels the change of the outputs takes their place
    other           a module before training, of another seed: its kernel is ``floor`` away from that of ``before``
    chunk           samples whose gradients are kept at a time; None for what fits in 1 GB

    Parameters that require no gradient do not count, unless training moved them. Modules are called in eval mode with
    their own buffers, e.g. the statistics of batch norm. The cost is one gradient for each sample and output.

    >>> import copy, torch  # doctest: +SKIP
    >>> before = torch.nn.Linear(3, 1)  # doctest: +SKIP
    >>> after = copy.deepcopy(before)  # doctest: +SKIP
    >>> after.weight.data += 1.0  # doctest: +SKIP
    >>> diagnose(before, after, torch.eye(3)).word  # linear in its parameters  # doctest: +SKIP
    'lazy'
    """
    start, end, twin = _snapshots(before, after, other)
    inputs = _inputs(batch)
    dtype = precision(start, inputs)
    start, end = start.cast(dtype), end.cast(dtype)
    inputs = inputs_as(inputs, start)
    if chunk is not None:
        require_count("chunk", chunk, "64")
    size = min(chunk or start.chunk, len(inputs[0]))
    first, last = (
        _finite(snapshot.outputs(inputs, size), when) for snapshot, when in ((start, "before"), (end, "after"))
    )
    require(first.shape == last.shape, "before and after must have as many outputs", (first.shape, last.shape), COPY)
    targets = last - first if labels is None else _labels(labels, first)
    move = start.difference(end)
    old, new = start.tangent(inputs, first, size, move), end.tangent(inputs, last, size, {})
    moved, turned = kernel_moves(old.kernel, new.kernel)
    floor = None
    if twin is not None:
        third = twin.cast(dtype)
        outputs = _finite(third.outputs(inputs, size), "before")
        floor = kernel_moves(old.kernel, third.tangent(inputs, outputs, size, {}).kernel)[0]
    return Verdict(
        missed=share_missed(first, last, first + old.slope), moved=moved, turned=turned,
        parameters=_relative(move, start.trained),
        aligned=alignment(new.kernel, targets) - alignment(old.kernel, targets), floor=floor,
    )  # fmt: skip


def _snapshots(
    before: torch.nn.Module | Tensors, after: torch.nn.Module | Tensors, other: torch.nn.Module | Tensors | None
) -> tuple[Snapshot, Snapshot, Snapshot | None]:
    """The networks, with the same parameters counted as trained in each."""
    named = {"before": before, "after": after} | ({} if other is None else {"other": other})
    modules = {name: getattr(given, "_orig_mod", given) for name, given in named.items()}  # as it was before compiling
    for name, given in modules.items():
        good = isinstance(given, torch.nn.Module | Mapping)
        require(good, f"{name} must be an nn.Module or its state_dict()", type(given).__name__, "give the model itself")
    homes = [one for one in (modules["before"], modules["after"]) if isinstance(one, torch.nn.Module)]
    require(bool(homes), "before or after must be an nn.Module", "two dictionaries", "give the model as one of them")
    states = {name: _state(name, given, homes[0]) for name, given in modules.items()}
    parameters = [name for name, _ in homes[0].named_parameters()]
    require(bool(parameters), "a module must have parameters", type(homes[0]).__name__, "give the trained model")
    start, end = states["before"], states["after"]
    same = before is after or all(start[p].data_ptr() == end[p].data_ptr() for p in parameters)
    require(not same, "before and after must be different networks", "the same tensors twice", COPY)
    trained = _trained(homes, parameters, start, end)
    found = []
    for name, given in modules.items():
        state, home = states[name], given if isinstance(given, torch.nn.Module) else homes[0]
        rest = {key: value for key, value in state.items() if key not in trained}
        found.append(Snapshot(home, {key: state[key] for key in trained}, rest))
    return found[0], found[1], found[2] if other is not None else None


def _state(who: str, given: torch.nn.Module | Tensors, home: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by the names they have in a module, in their shapes."""
    own = dict((*home.named_parameters(), *home.named_buffers()))
    lazy = [name for name, value in own.items() if torch.nn.parameter.is_lazy(value)]
    require(not lazy, "the layers of a module must know their sizes", shortened(lazy), "call it on an input first")
    if isinstance(given, Mapping):
        kept = {*home.state_dict()} & {*own}
        missing = sorted(kept - {*given})
        require(not missing, f"{who} must have all parameters of the module", f"none named {shortened(missing)}",
                "give model.state_dict()")  # fmt: skip
        found = {name: given[name] if name in kept else value for name, value in own.items()}
    else:
        found = dict((*given.named_parameters(), *given.named_buffers()))
    shapes, wanted = ({name: tuple(v.shape) for name, v in state.items()} for state in (found, own))
    odd = sorted(name for name in {*shapes, *wanted} if shapes.get(name) != wanted.get(name))
    got = ", ".join(f"{name} {wanted.get(name)} and {shapes.get(name)}" for name in odd[:3])
    require(not odd, "all networks of a diagnosis must have one architecture", got, COPY)
    return found


def _trained(homes: list[torch.nn.Module], parameters: list[str], start: Tensors, end: Tensors) -> list[str]:
    """Names of the parameters that require a gradient or were moved; all of them if there are none."""
    wanted = {name for home in homes for name, value in home.named_parameters() if value.requires_grad}
    found = [name for name in parameters if name in wanted or not torch.equal(start[name].cpu(), end[name].cpu())]
    return found or parameters


def _inputs(batch: object) -> Inputs:
    """The inputs as tensors, at least two samples."""
    listed = batch if isinstance(batch, tuple) else (batch,)
    try:
        inputs = tuple(torch.as_tensor(part).detach() for part in listed)
    except Exception:  # whatever cannot be a tensor
        inputs = ()
    sizes = {len(part) if part.ndim else 0 for part in inputs}
    good = len(sizes) == 1
    require(good, "the batch must be a tensor of inputs, samples along its first axis, or a tuple of such tensors",
            [tuple(part.shape) for part in inputs] if inputs else type(batch).__name__, "try x[:256]")  # fmt: skip
    require(min(sizes) >= 2, "the batch must have two samples or more", min(sizes), "try x[:256]")
    return inputs


def _finite(outputs: np.ndarray, when: str) -> np.ndarray:
    good = bool(np.isfinite(outputs).all())
    require(
        good, f"the outputs {when} training must be finite", "nan or inf", "check the inputs, or train at a lower rate"
    )
    return outputs


def _labels(labels: object, outputs: np.ndarray) -> np.ndarray:
    """Labels as numbers, (B,) or (B, outputs); classes of a module with several outputs as indicators."""
    do = "give one label for each sample"
    try:
        y = torch.as_tensor(labels).detach().cpu().numpy()
    except Exception:  # whatever cannot be numbers
        y = np.empty(0)
    good = y.ndim in (1, 2) and len(y) == len(outputs) and bool(np.isfinite(y).all())
    require(good, f"labels must be finite numbers of shape ({len(outputs)},) or ({len(outputs)}, outputs)",
            y.shape if y.size else type(labels).__name__, do)  # fmt: skip
    several = bool((y != y[0]).any())
    require(several, "labels must take two values or more", f"{y[0]} for all samples", "take samples of other classes")
    classes = y.ndim == 1 and y.dtype.kind in "biu" and outputs.shape[1] > 1
    return (y[:, None] == np.unique(y)).astype(float) if classes else y.astype(float)


def _relative(move: Tensors, start: Tensors) -> float:
    """|θ_T − θ_0| / |θ_0|."""
    went, size = (math.sqrt(sum(float((v.double() ** 2).sum()) for v in state.values())) for state in (move, start))
    return went / size if size > 0 else math.inf if went > 0 else 0.0
