"""Which memory has taken the place of which. Pure.

A link says that one memory supersedes another since a moment. Whoever supersedes a memory supersedes all that it had
superseded, and a link is kept for each of them. So a memory is superseded exactly while one of its links leads to a
live memory: nothing is marked, nothing has to be followed, and what leaves the middle of a chain leaves no gap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memsweep.errors import BadInput, NotFound
from memsweep.model.memory import CODE_SOURCE

MOST_SUPERSEDED = 100
Pair = tuple[int, int]
"""The keys of the older memory and of the one that supersedes it."""


class Older(NamedTuple):
    """A live memory that is to be superseded."""

    key: int
    source: str


def keys_of(wanted: Iterable[str], found: Mapping[str, Older]) -> set[int]:
    """The keys of memories that are to be superseded, if all of them can be."""
    for memory_id in wanted:
        if memory_id not in found:
            raise NotFound(
                f"memory {memory_id!r:.80}, which supersedes names, does not exist in this workspace;"
                " nothing was stored.",
                hint="Take an id from search_memory.",
            )
        if found[memory_id].source == CODE_SOURCE:
            raise BadInput(
                f"memory {memory_id} is an indexed file, which cannot be superseded by hand; nothing was stored.",
                hint="The next index run follows the file.",
            )
    return {each.key for each in found.values()}


def new_links(memory: int, older: Collection[int], known: Collection[Pair]) -> list[Pair]:
    """What is to be linked so that a memory supersedes the older ones.

    `known` are the links that lead to the older ones, and those that lead from the memory to what supersedes it.
    """
    below = {*older, *(old for old, new in known if new in older)}
    above = {memory, *(new for old, new in known if old == memory)}
    if below & above:
        raise BadInput(
            "a memory cannot supersede itself or what supersedes it; nothing was stored.",
            hint="The same text is known already: leave out supersedes.",
        )
    return sorted({(old, new) for old in below for new in above}.difference(known))
