"""Frozen values that JAX understands.

A subclass of `Frozen` is a frozen dataclass and a pytree: every field is data, a number, an array or a pytree of them,
which a compiled function receives as an argument; only fields made with `static` are part of the code. So a changed
number never compiles again, and a changed kind, role or size does.

A subclass of `Value` is moreover its call: its fields are the arguments it was made with, and everything else about it
is derived. ``repr`` writes the call, a spec file is a dump of it. A field says what its argument must be and which form
it takes; after the constructor numbers are floats, lists are tuples and choices are what they choose:

    scale: float = positive("0.4")                             a finite number > 0, try scale=0.4
    n: int = count("800")                                      a whole number >= 1, part of the code
    schedule: As[Choice, Schedule] = argument(form=schedule)   takes a Choice, holds a Schedule
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, TypeVar, dataclass_transform

import jax
import numpy as np

from widelimit.arguments import require_flag
from widelimit.errors import is_number, require, require_count, require_known, require_nonnegative, require_positive

Given = TypeVar("Given", contravariant=True)
Held = TypeVar("Held", covariant=True)
Check = Callable[[str, Any], None]  # of the name of an argument and its value
Form = Callable[[Any], Any]
MACHINERY = ("offers", "settle", "trusted", "validate", "word")


class As(Protocol[Given, Held]):
    """The type of a field that takes one thing and holds its normal form; only type checkers look at it."""

    def __get__(self, value: object, kind: type) -> Held: ...

    def __set__(self, value: object, given: Given) -> None: ...


def argument(check: Check | None = None, form: Form | None = None, **options: Any) -> Any:
    """A field of data, with a check of what is given and the function that brings it into its normal form."""
    return dataclasses.field(metadata={"check": check, "form": form}, **options)


def static(check: Check | None = None, form: Form | None = None, **options: Any) -> Any:
    """A field that decides shapes or branches: part of the code, not of the data."""
    return dataclasses.field(metadata={"static": True, "check": check, "form": form}, **options)


def positive(example: str, **options: Any) -> Any:
    """A finite number > 0."""
    return argument(lambda name, value: require_positive(name, value, example), **options)


def nonnegative(example: str, **options: Any) -> Any:
    """A finite number >= 0."""
    return argument(lambda name, value: require_nonnegative(name, value, example), **options)


def count(example: str, **options: Any) -> Any:
    """A whole number >= 1, which decides a shape."""
    return static(lambda name, value: require_count(name, value, example), int, **options)


def yes_or_no(**options: Any) -> Any:
    """True or False, which decides a branch."""
    return static(require_flag, **options)


def one_of(kind: str, known: Iterable[str], **options: Any) -> Any:
    """A word out of a few, which decides a branch."""
    return static(lambda name, value: require_known(kind, value, known), **options)


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(dataclasses.field, argument, static, positive, nonnegative, count, one_of, yes_or_no),
)
class Frozen:
    """A frozen dataclass whose fields JAX traces, see above.

    Only the constructor checks its arguments: a value that JAX rebuilds from traced numbers is not checked again.

    offers   the names that tab completion shows; every public one if there are none
    """

    offers: ClassVar[tuple[str, ...]] = ()

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

    def __dir__(self) -> list[str]:
        return sorted(self.offers) or public_names(super().__dir__())

    @classmethod
    def trusted(cls, **fields: Any) -> Self:
        """A value of fields that need no check, such as tracers or what follows from a checked value."""
        self = object.__new__(cls)
        self.__dict__.update(fields)
        return self


class Value(Frozen):
    """A frozen value that is its call: ``word`` names the constructor, the fields are its arguments."""

    word: ClassVar[str] = ""

    def __post_init__(self) -> None:
        fields = dataclasses.fields(self)
        for f in fields:
            check, form = f.metadata.get("check"), f.metadata.get("form")
            if check is not None:
                check(f.name, getattr(self, f.name))
            if form is not None:
                self.settle(**{f.name: form(getattr(self, f.name))})
        self.validate()
        self.settle(**{f.name: as_numbers(getattr(self, f.name)) for f in fields if "static" not in f.metadata})

    def validate(self) -> None:
        """Refuse arguments that do not go together; what a single one must be, its field says."""

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
        inside = ", ".join(_shown(name, value) for name, value in self.arguments.items())
        return f"{self.word or type(self).__name__}({inside})"

    def settle(self, **values: Any) -> None:
        """Put arguments into their normal form; for ``validate`` only."""
        self.__dict__.update(values)


class OfArrays(Value, eq=False):
    """A value some of whose fields are arrays; it is compared by what is in them."""

    @cached_property
    def content(self) -> tuple[Any, ...]:
        """What tells two such values apart."""
        compared = (f.name for f in dataclasses.fields(self) if f.compare)
        return type(self), *(_digest(getattr(self, name)) for name in compared)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OfArrays) and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.content)


def _digest(value: object) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).digest()


def _shown(name: str, value: object) -> str:
    return f"<{name} of shape {value.shape}>" if isinstance(value, np.ndarray) else f"{name}={value!r}"


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def public_names(names: Iterable[str]) -> list[str]:
    """What tab completion shows: no names with an underscore in front, and none that only constructors use."""
    return sorted(name for name in names if not name.startswith("_") and name not in MACHINERY)


def require_key(value: object) -> None:
    """Raise an InputError unless ``value`` is a random key of JAX."""
    good = isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key) and not value.ndim
    require(good, "key must be a random key of JAX", value, "try jax.random.key(0)")


def as_number(value: object) -> Any:
    """A number as a float, so that 1 and 1.0 are the same data; anything else as it is, to be refused."""
    return float(value) if is_number(value) else value


def as_numbers(value: object) -> Any:
    """Numbers as floats and lists of them as tuples, anything else as it is."""
    return tuple(map(as_numbers, value)) if isinstance(value, list | tuple) else as_number(value)
