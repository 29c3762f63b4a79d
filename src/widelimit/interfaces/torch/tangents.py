"""The tangent of any module of PyTorch at its parameters, on a batch of inputs.

    J_o(x) = ∂f_o(x)/∂θ                        the row of sample x and output o, by torch.func
    K(x, x') = Σ_o ⟨J_o(x), J_o(x')⟩            tangent kernel, summed over the outputs (its trace)
    Df·Δ (x, o) = ⟨J_o(x), Δ⟩                   how the outputs move along Δ, to first order

    f   (B, outputs)    K   (B, B)

Rows are made for one output and ``chunk`` samples at a time, and those of all samples before them are made again and
stream past in smaller pieces: memory is that of (1 + 1/4)·chunk rows of |θ| numbers. The module is called in eval mode
with copies of its parameters and buffers, in double precision where its code allows it; nothing about it changes.
"""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from widelimit.errors import InputError, require
from widelimit.on_first_use import OnFirstUse

if TYPE_CHECKING:
    import torch
else:
    torch = OnFirstUse("torch", extra="torch")

ROWS = 2**30  # bytes that rows may take
MOST = 256  # samples in a chunk: their activations are kept too
PIECES = 4  # that a chunk has where it streams past another
Inputs = tuple["torch.Tensor", ...]  # samples along the first axis
Tensors = Mapping[str, "torch.Tensor"]  # parameters or buffers by name
Slopes = tuple[dict[str, "torch.Tensor"], "torch.Tensor"]  # ∂f_o/∂θ by the names of the parameters, and f_o


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A module with the parameters and buffers it has at one time.

    trained   the parameters that training moves, by name
    rest      the other parameters, and the buffers
    """

    module: torch.nn.Module
    trained: Tensors
    rest: Tensors

    def cast(self, dtype: torch.dtype | None) -> Snapshot:
        """Copies in another precision; None leaves it as it is."""
        return Snapshot(self.module, _cast(self.trained, dtype), _cast(self.rest, dtype))

    def difference(self, later: Snapshot) -> dict[str, torch.Tensor]:
        """θ_T − θ_0."""
        return {name: later.trained[name] - value for name, value in self.trained.items()}

    @property
    def chunk(self) -> int:
        """How many samples' rows are made at a time."""
        size = sum(value.numel() * value.element_size() for value in self.trained.values())
        return int(min(MOST, max(1, PIECES * ROWS // ((PIECES + 1) * size))))

    def outputs(self, inputs: Inputs, chunk: int) -> np.ndarray:
        """f on a batch, (B, outputs)."""
        with _calm(self.module), torch.no_grad():
            found = [self._called(part) for _, part in _parts(inputs, chunk)]
        return _array(torch.cat(found))

    def _called(self, inputs: Inputs) -> torch.Tensor:
        """f on a chunk, (samples, outputs)."""
        try:
            out = torch.func.functional_call(self.module, (dict(self.trained), dict(self.rest)), inputs)
        except Exception as error:  # whatever the module does
            raise InputError(
                f"the module must take the batch, got {_shapes(inputs)} ({_reason(error)}): give the inputs as it "
                "takes them, samples along the first axis."
            ) from error
        good = isinstance(out, torch.Tensor) and out.is_floating_point()
        require(good, "a module must return a tensor of floating point numbers", type(out).__name__,
                "wrap it in a module that returns the outputs you mean")  # fmt: skip
        good = out.ndim >= 1 and len(out) == len(inputs[0])
        require(good, f"a module must return one row for each of {len(inputs[0])} samples", tuple(out.shape),
                "wrap it in a module that does")  # fmt: skip
        return out.reshape(len(out), -1)

    def rows(self, inputs: Inputs, output: int) -> tuple[list[torch.Tensor], torch.Tensor]:
        """J of one output on a chunk, a matrix (samples, entries) for each parameter; and f."""

        def f(trained: dict[str, torch.Tensor], *x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            sample = tuple(part[None] for part in x)
            value = torch.func.functional_call(self.module, (trained, dict(self.rest)), sample).reshape(-1)[output]
            return value, value

        slopes, values = self._sliced(torch.func.grad(f, has_aux=True), inputs)
        return [slopes.pop(name).reshape(len(values), -1) for name in self.trained], values  # freed one by one

    def _sliced(self, row: Callable[..., Slopes], inputs: Inputs) -> Slopes:
        """A row for each sample: all at once by vmap, or one by one where the module does not allow that."""
        trained = dict(self.trained)
        try:
            return torch.func.vmap(row, (None, *(0 for _ in inputs)))(trained, *inputs)
        except Exception:  # branches on values, recurrent layers, memory
            pass
        try:
            rows = [row(trained, *sample) for sample in zip(*inputs, strict=True)]
        except Exception as error:  # whatever the module does
            raise InputError(
                f"the module must be differentiable by torch.func, got {type(self.module).__name__} "
                f"({_reason(error)}): keep its forward free of NumPy, of in-place changes to what it holds, and of old "
                "autograd functions."
            ) from error
        slopes = {name: torch.stack([one[0][name] for one in rows]) for name in trained}
        return slopes, torch.stack([one[1] for one in rows])

    def tangent(self, inputs: Inputs, outputs: np.ndarray, chunk: int, along: Tensors) -> Tangent:
        """The kernel on a batch, and the slope of the outputs along a direction (which may be empty)."""
        kernel, slope, piece = np.zeros((len(outputs),) * 2), np.zeros_like(outputs), -(-chunk // PIECES)
        direction = [value.reshape(-1) for value in along.values()]
        with _calm(self.module):
            for o, (here, part) in itertools.product(range(outputs.shape[1]), _parts(inputs, chunk)):
                rows, values = self.rows(part, o)
                _require_same(_array(values), outputs[here, o])
                kernel[here, here] += _gram(rows, rows)
                slope[here, o] = sum(_array(row @ d) for row, d in zip(rows, direction, strict=False))
                for there, other in _parts(tuple(every[: here.start] for every in inputs), piece):
                    block = _gram(rows, self.rows(other, o)[0])
                    kernel[here, there] += block
                    kernel[there, here] += block.T
        return Tangent(kernel, slope)


@dataclass(frozen=True, eq=False)
class Tangent:
    """Of a module on a batch: its kernel (B, B), and the slope of its outputs along a direction (B, outputs)."""

    kernel: np.ndarray
    slope: np.ndarray


def precision(snapshot: Snapshot, inputs: Inputs) -> torch.dtype | None:
    """Double precision, or None, the module's own, where its code insists on that."""
    first = tuple(part[:1] for part in inputs)
    with _calm(snapshot.module), torch.no_grad():
        try:
            double = snapshot.cast(torch.float64)
            torch.func.functional_call(double.module, ({**double.trained, **double.rest},), inputs_as(first, double))
        except Exception:  # constants of one precision, a device without doubles, or whatever it does in its own too
            return None
    return torch.float64


def inputs_as(inputs: Inputs, snapshot: Snapshot) -> Inputs:
    """Inputs on the device of a module; floating point numbers in its precision, whole ones as they are."""
    one = next(iter(snapshot.trained.values()))
    return tuple(part.to(one.device, one.dtype if part.is_floating_point() else None) for part in inputs)


@contextmanager
def _calm(module: torch.nn.Module) -> Iterator[None]:
    """The module in eval mode, attention by the formula, which has all derivatives; afterwards all is as before."""
    flags = {part: part.training for part in module.modules()}
    fast = torch.backends.mha.get_fastpath_enabled()
    with ExitStack() as stack:
        stack.callback(torch.backends.mha.set_fastpath_enabled, fast)
        stack.enter_context(torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH))
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            for part in flags:
                part.training = False
            yield
        finally:
            for part, flag in flags.items():
                part.training = flag


def _parts(inputs: Inputs, size: int) -> Iterator[tuple[slice, Inputs]]:
    """The samples in pieces of a size, with their places."""
    for first in range(0, len(inputs[0]), size):
        place = slice(first, min(first + size, len(inputs[0])))
        yield place, tuple(every[place] for every in inputs)


def _gram(left: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> np.ndarray:
    return _array(sum(one @ two.T for one, two in zip(left, right, strict=True)))


def _require_same(alone: np.ndarray, together: np.ndarray) -> None:
    """A sample has the output it has within its batch."""
    gap, size = np.abs(alone - together).max(), np.abs(together).max()
    require(bool(gap <= 1e-2 * size + 1e-12), "the output of a sample must not depend on the others of its batch",
            f"a difference of {gap:.2g}", "use statistics in buffers, as batch norm does in eval mode")  # fmt: skip


def _cast(values: Tensors, dtype: torch.dtype | None) -> dict[str, torch.Tensor]:
    return {
        name: value.detach().to(dtype if value.is_floating_point() else None, copy=True)
        for name, value in values.items()
    }


def _array(values: torch.Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()


def _shapes(inputs: Inputs) -> str:
    return ", ".join(f"shape {tuple(part.shape)}" for part in inputs)


def _reason(error: Exception) -> str:
    return textwrap.shorten(f"{type(error).__name__}: {error}".split("\n")[0], 150, placeholder=" …").rstrip(".")
