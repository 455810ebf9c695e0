"""Rows that were redacted get their words back. Reads and decides first, writes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.model.graph_rows import Alias, Move
from memsweep.model.plan import Totals
from memsweep.model.revision import MEMORY, Revision
from memsweep.store.records import KINDS, Record, digest_of

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

ALIAS = "alias"
DESCRIPTION = "description"
MOVE = "move"
"""A name that a merge wrote down."""
PEOPLES = ("entity", "relation", "segment")
"""What people know; what the workspace keeps of itself comes and goes."""


class RecordsBack:
    """The undo of a receipt's revisions that are none of a memory."""

    def __init__(self, tx: Changes, revisions: Sequence[Revision]) -> None:
        self._tx = tx
        self.conflicts: list[tuple[str, str]] = []
        self._aliases = [each for each in revisions if each.kind == ALIAS]
        self._moves = self._moves_back([each for each in revisions if each.kind == MOVE])
        self._spent = [each.key for each in revisions if each.kind in (MOVE, DESCRIPTION)]
        self.description = self._description_back([each for each in revisions if each.kind == DESCRIPTION])
        self._back: list[Revision] = []
        for kind in KINDS:
            self._pick(kind, [each for each in revisions if each.kind == kind])

    @property
    def count(self) -> int:
        return len(self._back) + len(self._aliases) + len(self._moves) + bool(self.description)

    @property
    def totals(self) -> Totals:
        counts = Counter(each.kind for each in self._back)
        return Totals(0, 0, counts["entity"], counts["relation"], counts["segment"])

    def write(self, tx: Changes) -> None:
        if self.description:
            tx.records.describe(self.description)
        tx.moves.set(self._moves)
        tx.aliases.put(Alias(*each.before["alias"]) for each in self._aliases)
        for kind in KINDS:
            tx.records.write(kind, [(each.item, each.before["values"]) for each in self._back if each.kind == kind])
        tx.revisions.drop([*(each.key for each in (*self._back, *self._aliases)), *self._spent])

    def _description_back(self, revisions: Sequence[Revision]) -> str:
        """Of the workspace, unless it has another one by now."""
        now = self._tx.records.description() if revisions else ""
        return next((each.before["text"] for each in revisions if each.before["after"] == now), "")

    def _moves_back(self, revisions: Sequence[Revision]) -> list[Move]:
        """Return the moves of merges that still stand, as the redaction left them."""
        old = {(move.receipt, move.place): (move, each.before["after"]) for each in revisions
               for move in (Move(*each.before["move"]),)}  # fmt: skip
        there = self._tx.moves.of({receipt for receipt, _ in old}) if old else []
        kept = ((move, old.get((move.receipt, move.place))) for move in there)
        return [known[0] for move, known in kept if known is not None and known[1] == move.said]

    def _pick(self, kind: str, revisions: Sequence[Revision]) -> None:
        rows = self._tx.records.at(kind, {each.item for each in revisions}) if revisions else {}
        for each in revisions:
            if why := self._objection(each, rows.get(each.item)):
                self.conflicts += [(each.before["id"], why)] if kind in PEOPLES else []
            else:
                self._back.append(each)

    def _objection(self, revision: Revision, row: Record | None) -> str:
        if row is None:
            return "it was deleted for good"
        if digest_of(row.values) != revision.before["after"]:
            return "it was changed again"
        if row.trash is not None:
            return ""
        values = revision.before["values"]
        if row.kind == "entity":
            namesake = self._tx.entities.live_named([(values["name_key"], values["type_key"])])
            others = [each.id for each in namesake.values() if each.key != row.key]
            return f"its name is that of {others[0]} by now" if others else ""
        if row.kind == "relation":
            return self._said_again(row, values["relation_key"])
        return ""

    def _said_again(self, row: Record, kind: str) -> str:
        (relation,) = self._tx.relations.at([row.key])
        same = self._tx.relations.current_between([(relation.subject, kind, relation.object)])
        return "the same relation exists again" if any(each.key != row.key for each in same) else ""


def of_memories(revisions: Sequence[Revision]) -> list[Revision]:
    return [each for each in revisions if each.kind == MEMORY]
