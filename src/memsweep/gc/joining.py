"""Relations that come to say the same while an undo is under way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from memsweep.gc.unmerge import Unmerge
from memsweep.model.graph_rows import Move, RelationChange, Source
from memsweep.model.merging import Contender
from memsweep.model.relation_set import RelationSet

if TYPE_CHECKING:
    from memsweep.model.operation import Operation
    from memsweep.store.changes import Changes


class Joining:
    """Some relations, as a merge that was taken `apart` left them; `living` are memories that come back.

    `joins` are merges, what each keeps, and the key of what says the same. What is kept is live by the time
    that this is written.
    """

    def __init__(
        self,
        tx: Changes,
        joins: Sequence[tuple[int, Contender, int]],
        apart: Unmerge | None,
        living: Collection[int],
    ) -> None:
        kept = {each.key: each for _, each, _ in joins}
        keys = kept.keys() | {gone for *_, gone in joins}
        states = {each.key: each for each in tx.relations.at(keys)}
        if apart is not None:
            states |= {key: each for key, each in apart.relations.items() if key in keys}
        for key, each in kept.items():
            ends = (each.subject, each.object)
            states[key] = states[key].between(*ends, live=ends)._replace(trash=None)
        unstated = apart.unstated if apart is not None else ()
        sources = (each for each in tx.relations.sources(keys) if each[:2] not in unstated)
        self._set = RelationSet(states.values(), _with(sources, living))

    def join(self, merge: int, kept: int, gone: int, doing: Operation) -> Iterator[Move]:
        """Of two facts that are one now, the stronger counts; who stated the other states it."""
        before = self._set.relations[kept].strength
        after = doing.join(before, self._set.relations[gone].strength)
        self._set.strengthen(kept, after)
        yield Move(merge, "strength", kept, gone, said=[*before, *after])
        for memory in self._set.hand_on_sources(gone, kept):
            yield Move(merge, "source", kept, memory)

    def changes(self) -> Iterator[RelationChange]:
        return self._set.changes()


def _with(sources: Iterable[Source], living: Collection[int]) -> Iterator[Source]:
    for each in sources:
        yield each._replace(lives=each.lives or each.memory in living)
