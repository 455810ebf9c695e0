"""Several retractions of one thing, undone in any order. Pure.

A memory or a fact is what those of its acts make it that are not taken back. When none is left that says it, it lies in
the trash of the last retraction, which has taken the acts back that said it until then: its row is as they made it. It
comes back with the first retraction to be undone whose acts say it again, and without what its holder took back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from memsweep.model.contribution import Contribution
from memsweep.model.memory_act import MemoryAct

Act = TypeVar("Act", MemoryAct, Contribution)


def given_back(acts: Iterable[Act], receipt: int | None) -> list[Act]:
    """The acts as if a receipt had taken none of them back."""
    return [act if act.trash is None or act.trash != receipt else act._replace(trash=None) for act in acts]


def was_retracted(acts: Iterable[Act], holder: int | None) -> bool:
    """Return whether the receipt took back what lies in its trash, and did not delete, merge or collect it."""
    return holder is not None and any(act.trash == holder for act in acts)
