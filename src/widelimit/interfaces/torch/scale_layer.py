"""The layer of PyTorch that multiplies by a number, x ↦ factor·x.

It puts the scale of a network into an nn.Sequential, e.g. a mean-field network of n neurons

    nn.Sequential(nn.Linear(d, n), nn.ReLU(), nn.Linear(n, 1, bias=False), scale(1 / n))

Its class ``Scale`` is made when it is first asked for, because its base class is PyTorch's; pickle asks for it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from widelimit.errors import require_positive
from widelimit.on_first_use import OnFirstUse

if TYPE_CHECKING:
    import torch
else:
    torch = OnFirstUse("torch", extra="torch")


def scale(factor: float) -> torch.nn.Module:
    """The layer x ↦ factor·x, without parameters.

    factor   a number > 0, e.g. 1/n behind n neurons for a network in the mean-field regime

    >>> scale(0.25)  # doctest: +SKIP
    Scale(0.25)
    """
    require_positive("factor", factor, "0.01")
    return _class()(float(factor))


def factor_of(layer: torch.nn.Module) -> float | None:
    """The factor of such a layer, None for any other."""
    return float(layer.factor) if isinstance(layer, _class()) else None


def _class() -> Any:
    return globals().get("Scale") or _made()


def _made() -> Any:
    class Scale(torch.nn.Module):
        """The layer x ↦ factor·x."""

        def __init__(self, factor: float):
            super().__init__()
            self.factor = factor

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """factor·x."""
            return self.factor * x

        def extra_repr(self) -> str:
            """The factor, for the repr of a module."""
            return f"{self.factor:g}"

    Scale.__qualname__ = "Scale"
    globals()["Scale"] = Scale
    return Scale


def __getattr__(name: str) -> Any:
    if name == "Scale":
        return _class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
