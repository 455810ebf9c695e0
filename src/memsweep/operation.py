"""The current call and whose it is; and `@operation`: written once, called directly or awaited, damage explained."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from memsweep.forking import calls
from memsweep.model.checks import within_limits
from memsweep.model.frozen import frozen

if TYPE_CHECKING:
    from memsweep.errors import StoreCorrupt
    from memsweep.model.origin import Origin
    from memsweep.model.token import Token


calling: ContextVar[Origin | None] = ContextVar("calling", default=None)
"""Through which door it came, and from whom."""
granted: ContextVar[Token | None] = ContextVar("granted", default=None)
"""The token that it came with, which decides what workspaces there are; None where the door has no tokens."""


@contextmanager
def called_by(origin: Origin) -> Iterator[None]:
    """Set the origin of all that is remembered inside: for doors that serve several callers, such as hooks."""
    token = calling.set(origin)
    try:
        yield
    finally:
        calling.reset(token)


@contextmanager
def granted_by(token: Token) -> Iterator[None]:
    """Inside, there are only the workspaces that the token is for."""
    before = granted.set(token)
    try:
        yield
    finally:
        granted.reset(before)


def bound_token() -> Token | None:
    """The token of this call, if it is for some workspaces only."""
    token = granted.get()
    return token if token is not None and token.workspaces else None


SUSPECTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, StopIteration)
"""What no operation raises on sound rows; anything else is an error of its own."""


class Sync:
    """The mode of an object whose operations return their result."""


class Async:
    """The mode of an object whose operations run in a thread and are awaited."""


Mode = TypeVar("Mode")
P = ParamSpec("P")
T = TypeVar("T")


@frozen
class Calls(Generic[Mode]):
    """The way to call the operations of an object; `Mode` is `Sync` or `Async`, and decides their types."""

    in_thread: bool
    explain_damage: Callable[[], StoreCorrupt | None]


class _Owner(Protocol[Mode]):
    _calls: Calls[Mode]


class operation(Generic[P, T]):
    """Make a method a public operation of a class that has `_calls`.

    An operation must not call another one of `self`: in `Async` mode it would get a coroutine.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], T]) -> None:
        self._direct = _explained(method)
        self._awaited = _threaded(self._direct)

    @overload
    def __get__(self, owner: None, kind: Any = None) -> Callable[Concatenate[Any, P], T]: ...
    @overload
    def __get__(self, owner: _Owner[Sync], kind: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, owner: _Owner[Async], kind: Any = None) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self._direct
        return MethodType(self._awaited if owner._calls.in_thread else self._direct, owner)


def _explained(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """An error that should not happen is looked into: where a damaged store explains it, the answer says so."""

    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount]

    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            within_limits(name, value, method.__name__)
        with calls:
            try:
                return method(self, *args, **kwargs)
            except SUSPECTS as error:
                found: StoreCorrupt | None = self._calls.explain_damage()
                if found is None:
                    raise
                raise found from error

    return call


def _threaded(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """In a thread of its own, so that the event loop never waits for the disk."""

    @functools.wraps(method)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio

        return await asyncio.to_thread(method, self, *args, **kwargs)

    return call
