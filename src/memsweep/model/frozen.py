"""`@frozen`: what `@dataclass(frozen=True, slots=True)` is, made in a fifth of the time.

A dataclass compiles six functions from text and imports `inspect` first: a hook or a command that ends in a moment
would spend a third of it there. So the classes that those load are made with this. One function is compiled, the others
are shared. For `dataclasses` they are dataclasses all the same: its `asdict`, `fields` and `replace` take them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, dataclass_transform

T = TypeVar("T")
_MISSING: Any = object()
_set = object.__setattr__


class Field(NamedTuple):
    """The default of a field, and whether `repr` shows it."""

    default: Any = _MISSING
    factory: Callable[[], Any] | None = None
    repr: bool = True
    metadata: Mapping[str, Any] = {}


def field(
    *,
    default: Any = _MISSING,
    default_factory: Callable[[], Any] | None = None,
    repr: bool = True,
    metadata: Mapping[str, Any] = {},
) -> Any:
    return Field(default, default_factory, repr, metadata)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[T]) -> type[T]:
    """The class with a slot for each of its annotations, values that never change, and what a value needs."""
    own = {name: _field(vars(kind), name) for name, said in kind.__annotations__.items() if "ClassVar" not in said}
    known: dict[str, Field] = {}
    for base in reversed(kind.__mro__[1:]):
        known |= vars(base).get("__own_fields__", {})
    every = known | own
    kept = {name: value for name, value in vars(kind).items() if name not in {*own, "__dict__", "__weakref__"}}
    made = {**_methods(every), "__init__": _init(every, kept), **kept}
    made |= {"__slots__": tuple(own.keys() - known.keys()), "__match_args__": tuple(every)}
    made |= {"__own_fields__": own, "__dataclass_fields__": _AsDataclass()}
    again: type[T] = type(kind)(kind.__name__, kind.__bases__, made)  # type: ignore[misc]
    again.__qualname__ = kind.__qualname__
    return again


def replace(value: T, /, **changes: Any) -> T:
    """The same with other values for some of its fields."""
    return type(value)(**values_of(value) | changes)


def values_of(value: object) -> dict[str, Any]:
    """Its values by the names of its fields."""
    return {name: getattr(value, name) for name in value.__match_args__}  # type: ignore[attr-defined]


def fields_of(kind: type[Any]) -> dict[str, Field]:
    """Its own fields, by name."""
    found: dict[str, Field] = kind.__own_fields__
    return found


def is_frozen(kind: object) -> bool:
    return hasattr(kind, "__own_fields__")


def _field(namespace: Mapping[str, Any], name: str) -> Field:
    given = namespace.get(name, _MISSING)
    return given if isinstance(given, Field) else Field(given)


def _init(every: Mapping[str, Field], kept: Mapping[str, Any]) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": _set, "_missing": _MISSING}
    heads, lines = ["self"], []
    for name, how in every.items():
        value = name
        if how.factory is not None:
            known[f"_make_{name}"] = how.factory
            value = f"_make_{name}() if {name} is _missing else {name}"
        known[f"_default_{name}"] = how.default
        is_required = how.factory is None and how.default is _MISSING
        heads.append(name if is_required else f"{name}=_default_{name}")
        lines.append(f"    _set(self, {name!r}, {value})")
    lines += ["    self.__post_init__()"] if "__post_init__" in kept else []
    exec("\n".join([f"def __init__({', '.join(heads)}):", "    pass", *lines]), known)
    init: Callable[..., None] = known["__init__"]
    return init


def _methods(every: Mapping[str, Field]) -> dict[str, Callable[..., Any]]:
    values = attrgetter(*every) if every else type
    shown = [name for name, how in every.items() if how.repr]

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: Any) -> int:
        return hash(values(self))

    def __repr__(self: Any) -> str:
        shown_fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({shown_fields})"

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, name) for name in every]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for name, value in zip(every, state, strict=True):
            _set(self, name, value)

    made = (__eq__, __hash__, __repr__, __getstate__, __setstate__)
    return {each.__name__: each for each in made} | {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _AsDataclass:
    """The fields as `dataclasses` describes them, for whoever asks."""

    def __get__(self, value: object, kind: type[Any]) -> dict[str, Any]:
        import dataclasses

        described = []
        for name in kind.__match_args__:
            owner = next(base for base in kind.__mro__ if name in vars(base).get("__own_fields__", {}))
            how = fields_of(owner)[name]
            options: dict[str, Any] = {"repr": how.repr, "metadata": how.metadata}
            if how.factory is not None:
                options["default_factory"] = how.factory
            elif how.default is not _MISSING:
                options["default"] = how.default
            described.append((name, owner.__annotations__[name], dataclasses.field(**options)))
        made: dict[str, Any] = vars(dataclasses.make_dataclass(kind.__name__, described))["__dataclass_fields__"]
        type.__setattr__(kind, "__dataclass_fields__", made)
        return made
