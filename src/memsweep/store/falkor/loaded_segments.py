"""The segments of one context window: read when they are asked for, and seen as this transaction has left them.

What a step needs costs the same in a window of any size: segments are found by names that the indexes hold (the
window with an id, a place, a turn, or the number of a message), a few at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from memsweep.model.segment import Generation
from memsweep.model.window import Held
from memsweep.store.falkor import context_cypher
from memsweep.store.falkor.row_codec import name_in
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.segment_values import stored_segment

_LEAST_WIDTH = 64
_WIDER = 4
_LONGEST_INDEXED = 500


class LoadedSegments:
    """Live segments by key, as far as they were read or added."""

    def __init__(self, asked: GraphHandle | Transaction, project: int, *, is_new: bool) -> None:
        self._asked, self._project = asked, project
        self._is_whole = is_new
        self._gone: dict[int, str] = {}
        self._keys: dict[str, int] = {}
        self._asked_for: set[str] = set()
        self.held: dict[int, Held] = {}
        self.turn_of: dict[int, int] = {}

    def keep(self, held: Held, turn: int | None = None) -> None:
        """A segment as it is from now on."""
        self.held[held.key] = held
        self._keys[held.segment.segment_id] = held.key
        if turn is not None:
            self.turn_of[held.key] = turn

    def drop(self, held: Held) -> None:
        self.held.pop(held.key, None)
        self._keys.pop(held.segment.segment_id, None)
        self._gone[held.key] = held.segment.segment_id

    def live(self) -> list[Held]:
        """All of it, in session order."""
        if not self._is_whole:
            self._take(self._asked.ask(context_cypher.SEGMENTS, project=self._project))
            self._is_whole = True
        return sorted(self.held.values(), key=lambda held: held.place)

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        wanted = set(segment_ids)
        left = sorted(wanted - self._asked_for - self._keys.keys())
        if not self._is_whole and left:
            self._take(self._asked.ask(context_cypher.BY_ID, names=self._names(left)))
            self._asked_for.update(left)
        found = (self.held[self._keys[uid]] for uid in wanted if uid in self._keys)
        return {held.segment.segment_id: held for held in sorted(found, key=lambda held: held.place)}

    def trashed(self, segment_ids: Iterable[str]) -> set[str]:
        wanted = set(segment_ids)
        rows = self._asked.ask(context_cypher.TRASHED_IDS, names=self._names(sorted(wanted)))
        return {uid for (uid,) in rows} | (wanted & set(self._gone.values()))

    def in_turn(self, count: int, generation: Generation, first: int, last: int) -> list[Held]:
        """The active segments of a generation in turn; none that was stored is before `first` or after `last`."""
        at, width, found = first, max(_LEAST_WIDTH, _WIDER * count), 0
        while not self._is_whole and at <= last and found < count:
            until = min(at + width - 1, last)
            values = {"names": self._names(range(at, until + 1)), "generation": generation, "limit": count}
            rows = self._asked.ask(context_cypher.IN_TURN, **values)
            self._take(rows)
            found += sum(self._is_waiting(row[0], generation) and self.turn_of[row[0]] == row[-1] for row in rows)
            at = rows[-1][-1] + 1 if len(rows) == count else until + 1
            width *= _WIDER
        waiting = (key for key in self.held if self._is_waiting(key, generation))
        return [self.held[key] for key in sorted(waiting, key=self.turn_of.__getitem__)[:count]]

    def of_files(self, paths: Iterable[str]) -> list[Held]:
        """The active segments of files, in session order."""
        wanted = set(paths)
        if not all(map(_is_found_by_index, wanted)):
            self.live()
        elif not self._is_whole and wanted:
            self._take(self._asked.ask(context_cypher.OF_FILES, project=self._project, paths=sorted(wanted)))
        found = (held for held in self.held.values() if held.segment.file_path in wanted and not held.stashed)
        return sorted(found, key=lambda held: held.place)

    def last_messages(self, count: int, numbers: int) -> set[str]:
        """The ids of the last active messages; those in the graph have numbers below this."""
        found = {
            held.place: held.segment.segment_id
            for held in self.held.values()
            if held.segment.type == "message" and not held.stashed
        }
        others: dict[int, str] = {}
        at, width = numbers, max(_LEAST_WIDTH, _WIDER * count)
        while not self._is_whole and at > 0 and len(others) < count:
            first = max(0, at - width)
            values = {"names": self._names(range(first, at)), "known": [*self.held, *self._gone], "limit": count}
            others |= dict(map(tuple, self._asked.ask(context_cypher.MESSAGES, **values)))
            at, width = first, width * _WIDER
        return {uid for _, uid in sorted([*found.items(), *others.items()], reverse=True)[:count]}

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        """Those of these that another active segment refers to."""
        wanted = set(segment_ids)
        active = [held.segment for held in self.held.values() if not held.stashed]
        found = {target for each in active for target in each.references if target != each.segment_id} & wanted
        if not self._is_whole and (left := sorted(wanted - found)):
            ids = [[uid, name] for uid, name in zip(left, self._names(left), strict=True)]
            rows = self._asked.ask(context_cypher.REFERENCED, ids=ids, known=[*self.held, *self._gone])
            found |= {uid for (uid,) in rows}
        return found

    def at_places(self, places: Iterable[int]) -> dict[int, Held]:
        wanted = set(places)
        if not self._is_whole:
            self._take(self._asked.ask(context_cypher.AT_PLACES, names=self._names(sorted(wanted))))
        return {held.place: held for held in self.held.values() if held.place in wanted}

    def stashed(self, before: int, limit: int) -> list[Held]:
        """Of the stash those before a place, the last first."""
        if not self._is_whole:
            # Those that have left it in this transaction take no room away from others.
            room = limit + len(self.held) + len(self._gone)
            values = {"project": self._project, "before": before, "limit": room}
            self._take(self._asked.ask(context_cypher.STASHED, **values))
        found = (held for held in self.held.values() if held.stashed and held.place < before)
        return sorted(found, key=lambda held: -held.place)[:limit]

    def _is_waiting(self, key: int, generation: Generation) -> bool:
        held = self.held.get(key)
        return held is not None and not held.stashed and held.segment.generation == generation

    def _names(self, within: Iterable[int | str]) -> list[str]:
        return [name_in(self._project, each) for each in within]

    def _take(self, rows: Sequence[Sequence[Any]]) -> None:
        """What was changed or has gone already stays so."""
        for *row, turn in rows:
            if row[0] not in self.held and row[0] not in self._gone:
                self.keep(stored_segment(row, tuple), turn)


def _is_found_by_index(path: str) -> bool:
    """Indexes do not see white space at the ends of a text, nor all of a long one."""
    return 0 < len(path.encode()) <= _LONGEST_INDEXED and path == path.strip()
