"""Texts that name one entity and mention another, which had that name while a merge stood. Reads only.

Nobody wrote down whether a text that names something was to mention it: whoever adds one may say what it mentions. But
one that was updated since the merge mentions what it names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memsweep.model.memory import CODE_SOURCE
from memsweep.model.text import FindNames, name_key

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.model.audit import AuditEvent
    from memsweep.store.changes import WorkspaceReads
    from memsweep.store.ports.care import EntityName


class Unmentioned(NamedTuple):
    """A chunk that names an entity: the id of its memory, and what has that name."""

    memory_id: str
    chunk: int
    entity: int
    merged_at: datetime


def unmentioned(
    rows: WorkspaceReads, merges: Iterable[AuditEvent], names: Sequence[EntityName], find: FindNames
) -> set[Unmentioned]:
    """Of the merges whose entities are all there, the texts that were not given back."""
    names_of: dict[int, set[str]] = defaultdict(set)
    for name, entity in names:
        names_of[entity].add(name)
    there = {uid: _live(rows, uid) for event in merges for uid in event.ids}
    pairs: dict[int, dict[int, datetime]] = defaultdict(dict)
    for event in merges:
        kept = there.get(event.subject)
        if kept is not None:
            pairs[kept] |= {key: event.at for key in map(there.get, event.ids) if key is not None and key != kept}
    return {each for kept, parted in pairs.items() if parted for each in _of(rows, kept, parted, names_of, find)}


def _live(rows: WorkspaceReads, uid: str) -> int | None:
    found = rows.items.find(uid)
    return found[1] if found is not None and found[2] is None else None


def _of(
    rows: WorkspaceReads, kept: int, parted: dict[int, datetime], names_of: dict[int, set[str]], find: FindNames
) -> Iterator[Unmentioned]:
    memories = rows.texts.at({memory for _, memory in rows.items.around([kept]).mentions})
    texts = [key for key, row in memories.items() if row.source != CODE_SOURCE]
    for memory, pieces in rows.texts.pieces(texts).items() if texts else ():
        named: dict[int, set[str]] = defaultdict(set)
        for found in find([piece.text for piece in pieces]):
            for place in found.texts:
                named[place].add(name_key(found.name))
        for place, piece in enumerate(pieces):
            if kept in piece.entities and named[place].isdisjoint(names_of[kept]):
                for entity in parted.keys() - {*piece.entities}:
                    if not named[place].isdisjoint(names_of[entity]):
                        yield Unmentioned(memories[memory].id, piece.key, entity, parted[entity])
