"""The origin of the current call; it follows the call into its thread. Only doors set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
