"""Frozen values that JAX understands.

A subclass of `Frozen` is a frozen dataclass and a pytree: every field is data, a number, an array or a pytree of them,
which a compiled function receives as an argument; only fields made with `static` are part of the code. So a changed
number never compiles again, and a changed kind, role or size does.

A subclass of `Value` is moreover its call: its fields are the arguments it was made with, and everything else about it
is derived. ``repr`` writes the call, a spec file is a dump of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self, dataclass_transform

import jax

from widelimit.errors import is_number


def static(**options: Any) -> Any:
    """A field that decides shapes or branches: part of the code, not of the data."""
    return dataclasses.field(metadata={"static": True}, **options)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, static))
class Frozen:
    """A frozen dataclass whose fields JAX traces, see above.

    Only the constructor checks its arguments: a value that JAX rebuilds from traced numbers is not checked again.
    """

    def __init_subclass__(cls, eq: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        eq = eq and "__eq__" not in cls.__dict__
        dataclass(frozen=True, eq=eq, repr=cls.__repr__ is object.__repr__)(cls)
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]
        data = tuple(f.name for f in fields if "static" not in f.metadata)
        code = tuple(f.name for f in fields if "static" in f.metadata)

        def flatten(self: Frozen) -> tuple[list[Any], tuple[Any, ...]]:
            own = self.__dict__
            return [own[name] for name in data], tuple(own[name] for name in code)

        def unflatten(static_values: tuple[Any, ...], values: Any) -> Frozen:
            self = object.__new__(cls)
            self.__dict__.update(zip(data, values, strict=True))
            self.__dict__.update(zip(code, static_values, strict=True))
            return self

        jax.tree_util.register_pytree_node(cls, flatten, unflatten)

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """A value of fields that need no check, such as tracers or what follows from a checked value."""
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self


class Value(Frozen):
    """A frozen value that is its call: ``word`` names the constructor, the fields are its arguments."""

    word: ClassVar[str] = ""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments that differ from their defaults."""
        found = {}
        for f in dataclasses.fields(self):
            value, default = getattr(self, f.name), f.default
            if f.default_factory is not MISSING:
                default = f.default_factory()
            if default is MISSING or not _same(value, default):
                found[f.name] = value
        return found

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.word or type(self).__name__}({inside})"

    def settle(self, **values: Any) -> None:
        """Put arguments into their normal form; for ``__post_init__`` only."""
        self.__dict__.update(values)


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def as_number(value: Any) -> Any:
    """A number as a float, so that 1 and 1.0 are the same data; anything else as it is, to be refused."""
    return float(value) if is_number(value) else value


def as_numbers(values: Any) -> Any:
    """A list of numbers as a tuple of floats, pairs included; anything else as it is, to be refused."""
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        return as_number(values)
    return tuple(as_numbers(value) for value in values)
