"""An error that should not be is looked into: where a damaged store explains it, the answer says so."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from memsweep.errors import StoreCorrupt

SUSPECTS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, StopIteration)
"""What no operation raises on sound rows; anything else is an error of its own."""
C = TypeVar("C")


def damage_explained(cls: type[C]) -> type[C]:
    """Every public method of a class with `_explain_damage` says what is damaged rather than what it stumbled over."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and name != "close":
            setattr(cls, name, _explained(method))
    return cls


def _explained(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except SUSPECTS as error:
            found: StoreCorrupt | None = self._explain_damage()
            if found is None:
                raise
            raise found from error

    return call
