"""Purge: merges that are freed are final, the others lose nothing by it. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from memsweep.model.merging import Held, MovedEnd, after_purge, freed_with
from memsweep.store.falkor import merging_cypher as own
from memsweep.store.falkor import trash_cypher
from memsweep.store.falkor.transaction import Change


class Merges:
    """The merges that stand when some receipts are purged; `targets` are what each kept."""

    def __init__(self, tx: Change, receipts: Collection[int]) -> None:
        self._tx, self._receipts = tx, set(receipts)
        self.targets: dict[int, int] = dict(map(tuple, tx.ask(own.TARGETS)))
        self._final = sorted(self._receipts & self.targets.keys())
        self._standing = sorted(self.targets.keys() - self._receipts)
        rows = tx.ask(trash_cypher.DYING_RELATIONS, receipts=self._final) if self._final else []
        self.put_away = {key for (key,) in rows}
        """By merges that are purged."""

    def loops(self) -> set[int]:
        """Facts between those that are one for good, in whichever trash they wait."""
        if not self._final:
            return set()
        moves = [MovedEnd(*row) for row in self._tx.ask(own.MOVED_ENDS, receipts=sorted(self.targets))]
        keys = sorted({move.relation for move in moves if move.receipt in self._receipts})
        rows = self._tx.ask(trash_cypher.HELD_RELATIONS, keys=keys) if keys else []
        return freed_with([Held(*row) for row in rows], moves, self._receipts)

    def keep(self, around: Iterable[Sequence[Any]], entities: set[int], moving: set[int]) -> set[int]:
        """Keep what merges that stand put away, though an entity that it leads to is freed; which that is.

        `moving` are entities that go to the trash in this same transaction.
        """
        at_entities = {relation for entity, relation, trash in around if entity in entities and trash in self.targets}
        keys = sorted(self.put_away | at_entities)
        if not keys:
            return set()
        rows, moved = self._tx.ask_all(
            (trash_cypher.HELD_RELATIONS, {"keys": keys}), (own.MOVED_ENDS, {"receipts": self._standing})
        )
        held = [Held(*row) for row in rows]
        after = after_purge(held, [MovedEnd(*row) for row in moved], self._receipts, entities)
        self._write({each.key: each for each in held}, after.kept, moving)
        return {each.key for each in after.kept}

    def _write(self, before: dict[int, Held], kept: Iterable[Held], moving: set[int]) -> None:
        changed = [each for each in kept if before[each.key] != each]
        ends = sorted({end for each in changed for end in (each.subject, each.object)})
        live = {key for (key,) in self._tx.ask(trash_cypher.LIVE_KEYS, keys=ends)} - moving if ends else set()
        for each in changed:
            step = own.move_relation(
                was_live=False, is_live=False, subject_lives=each.subject in live, object_lives=each.object in live
            )
            row = {"key": each.key, "subject": each.subject, "object": each.object, "set": {"trash": each.trash}}
            self._tx.do(step, [row])
            if before[each.key].subject != each.subject:
                source = {"relation": each.key, "subject": each.subject}
                self._tx.do(own.move_sources(subject_lives=each.subject in live), [source])

    def finish(self, entities: set[int]) -> None:
        """What was merged into what is gone has been merged into what was kept; names go back to where they were."""
        if self._final:
            rows = self._tx.ask(own.SOURCE_STRENGTHS, receipts=self._final)
            self._redirect({key: self.targets[merge] for key, merge, *_ in rows})
        names = self._tx.ask(own.ALIASES_OF, keys=sorted(entities)) if entities and self._standing else []
        if names:
            self._names_back([(row[0], row[1]) for row in names])

    def _redirect(self, kept: dict[int, int]) -> None:
        rows = []
        for entity in sorted(kept):
            twin = kept[entity]
            while twin in kept:  # a chain of merges, all of them final
                twin = kept[twin]
            rows += [{"entity": entity, "twin": twin, "receipt": merge} for merge in self._standing]
        for step in own.TAKE_OVER:
            self._tx.do(step, rows)

    def _names_back(self, names: list[tuple[str, str]]) -> None:
        """The other names of an entity that goes are again those of what a merge that stands took them from."""
        before: dict[tuple[str, str], int] = {}
        for _, entity, said in self._tx.ask(own.MOVED_NAMES, receipts=self._standing):
            name, kind = json.loads(said)
            before[name, kind] = entity
        rows = [{"name_key": each[0], "type_key": each[1], "entity": before[each]} for each in names if each in before]
        self._tx.do(own.POINT_ALIAS, rows)
