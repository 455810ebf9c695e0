"""The links from a memory to the one that has taken its place. Pure.

A link says that one memory supersedes another since a moment. Whoever supersedes a memory supersedes all that it had
superseded, and a link is kept for each of them. So a memory is superseded exactly while one of its links leads to a
live memory: nothing is marked, nothing has to be followed, and what leaves the middle of a chain leaves no gap.
Each link knows who said so; when all who did are taken back, it ends.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from memsweep.errors import BadInput, NotFound
from memsweep.model.memory import CODE_SOURCE

MOST_SUPERSEDED = 100
Pair = tuple[int, int]
"""The keys of the older memory and of the one that supersedes it."""
Basis = frozenset[int]
"""The origins that together say that one memory supersedes another: of every step of the chain between them."""
Bases = tuple[Basis, ...]
"""Each of them is enough. One without an origin cannot be taken back."""
_ALWAYS: Bases = (frozenset(),)
_MOST_BASES = 16


class Older(NamedTuple):
    """A live memory that is to be superseded."""

    key: int
    source: str


def keys_of(wanted: Iterable[str], found: Mapping[str, Older]) -> set[int]:
    """The keys of memories that are to be superseded, if all of them can be."""
    for memory_id in wanted:
        if memory_id not in found:
            raise NotFound(
                f"memory {memory_id!r:.80}, named in supersedes, does not exist in this workspace; nothing was stored.",
                hint="Take an id from search_memory.",
            )
        if found[memory_id].source == CODE_SOURCE:
            raise BadInput(
                f"memory {memory_id} is an indexed file, which cannot be superseded by hand; nothing was stored.",
                hint="The next index run follows the file.",
            )
    return {each.key for each in found.values()}


def new_links(
    memory: int, older: Collection[int], known: Mapping[Pair, Bases], origin: int | None = None
) -> dict[Pair, Bases]:
    """Return the links by which a memory supersedes the older ones, with the origins that say so.

    `known` are the links that lead to the older ones and to the memory, those that lead from the memory to what
    supersedes it, and those that lead there.
    """
    below: dict[int, Bases] = dict.fromkeys(older, (frozenset() if origin is None else frozenset({origin}),))
    for (old, new), bases in known.items():
        if new in older:
            below[old] = (*below.get(old, ()), *_both(bases, below[new][:1]))
    above: dict[int, Bases] = {memory: _ALWAYS}
    above |= {new: bases for (old, new), bases in known.items() if old == memory}
    if not below.keys().isdisjoint(above):
        raise BadInput(
            "a memory cannot supersede itself or what supersedes it; nothing was stored.",
            hint="The same text is known already: leave out supersedes.",
        )
    made = {
        (old, new): _simplest((*known.get((old, new), ()), *_both(below[old], above[new])))
        for old in sorted(below)
        for new in sorted(above)
    }
    return {pair: bases for pair, bases in made.items() if bases != known.get(pair)}


def without(bases: Bases, origins: Collection[int]) -> Bases:
    """Return the bases of a link without these origins; empty if it ends."""
    return tuple(basis for basis in bases if basis.isdisjoint(origins))


def together(bases: Bases, others: Bases) -> Bases:
    """A link that either of them says."""
    return _simplest((*bases, *others))


def bases_text(bases: Bases) -> str:
    """As it is stored."""
    return json.dumps([sorted(basis) for basis in bases])


def bases_from(stored: Any) -> Bases:
    """A link from before origins were kept has nobody who could take it back."""
    return tuple(frozenset(basis) for basis in json.loads(stored or "[]")) or _ALWAYS


def _both(left: Bases, right: Bases) -> Bases:
    return tuple(one | other for one in left for other in right)


def _simplest(bases: Iterable[Basis]) -> Bases:
    """Without those that say no more than a smaller one."""
    found: list[Basis] = []
    for basis in sorted(set(bases), key=lambda each: (len(each), sorted(each))):
        if not any(known <= basis for known in found):
            found.append(basis)
    return tuple(found[:_MOST_BASES])
