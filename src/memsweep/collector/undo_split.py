"""A split is taken back: what it moved is again where it was. Reads and decides first, writes last.

The rules are in `memsweep.model.splitting`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from memsweep.collector.named_strength import weakened
from memsweep.errors import Conflict
from memsweep.model.graph_rows import Alias, EntityRecord, Mention, Move
from memsweep.model.plan import Totals
from memsweep.model.relation_set import RelationSet
from memsweep.model.selection import Selection
from memsweep.model.splitting import SPLIT, SPLIT_ENDS, SPLIT_MENTION, SPLIT_NAME, Parts, clashing, places_back

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

_ENDS = ("subject", "object")


def take_back(tx: Changes, receipt: int, moves: list[Move]) -> UndoSplit | None:
    """Return the undo of the split of a receipt; None if it was none."""
    head = next((move for move in moves if move.kind == SPLIT), None)
    if head is None or head.b is None:
        return None
    return UndoSplit(tx, receipt, Parts(head.a, head.b), moves)


class UndoSplit:
    """A split that is being taken back, decided when it is made."""

    def __init__(self, tx: Changes, receipt: int, parts: Parts, moves: list[Move]) -> None:
        self._tx, self._receipt, self._parts, self._moves = tx, receipt, parts, moves
        was = {move.c for move in moves if move.kind != SPLIT and move.c is not None}
        self._entities = tx.entities.at({*parts, *was})
        self._refuse_missing()
        self._refuse_later_splits()
        keys = {move.a for move in moves if move.kind in SPLIT_ENDS}
        self._set = RelationSet(tx.relations.at(keys), tx.relations.sources(keys))
        self._refuse_merged(was)
        self.conflicts: list[tuple[str, str]] = []
        self.relations = self._move_ends()
        self._added, self._dropped = self._mentions_back()
        owners = tx.mentions.owners([parts.new]) if self._added else {}
        of_chunk = {chunk: owner for (chunk, _), owner in owners.items()}
        self._owners = {each: of_chunk[each.chunk] for each in self._added if each.chunk in of_chunk}
        self._is_empty = self._is_left_empty()
        self._old, self._changed_moves = weakened(tx, self._entities[parts.old], receipt)
        self._changed_moves = [*self._changed_moves, *self._handed_on()]
        self._alias = self._name_back()

    @property
    def totals(self) -> Totals:
        return Totals(relations=len(self.relations))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._entities[key].id for key in self._parts)

    def write(self, tx: Changes) -> None:
        tx.relations.write(self._set.changes())
        tx.mentions.add(self._added, self._owners)
        tx.mentions.drop(self._dropped)
        if self._old is not None:
            tx.entities.set([self._old])
        if self._is_empty:  # it was made by the split, and nothing speaks of it
            tx.entities.trash([self._parts.new], self._receipt)
            tx.trash.free(Selection(entities={self._parts.new}))
        tx.aliases.put(self._alias)
        tx.moves.set(self._changed_moves)
        tx.moves.drop([self._receipt])

    def _refuse_missing(self) -> None:
        if not {*self._parts} <= self._entities.keys():
            raise Conflict("one of the two names was deleted for good, so the split stands. Nothing was changed.")
        for each in self._entities.values():
            if each.trash is not None:
                self._refuse(f"{each.name!r:.60} is in the trash, so the split cannot be taken back", each.trash)

    def _refuse(self, why: str, first: int) -> None:
        row = self._tx.receipts.at({first}).get(first)
        hint = f"Undo {row.id} first." if row is not None and row.undone_at is None else ""
        raise Conflict(f"{why}. Nothing was changed.", hint=hint)

    def _refuse_later_splits(self) -> None:
        """Refuse while a later split of the new entity stands: its part has to come back first."""
        splits = self._tx.moves.splits()
        again = [receipt for receipt, parts in splits.items() if parts.old == self._parts.new]
        if again:
            self._refuse("a part of it was split off once more", max(again))

    def _refuse_merged(self, was: Collection[int]) -> None:
        """Refuse after a later merge of either of the two, or of what was moved: it cannot be told apart."""
        targets = self._tx.moves.targets()
        held = {each.trash for each in self._set.relations.values()}
        named = {*self._parts, *was}
        later = {merge for merge, target in targets.items() if target in named or merge in held}
        self._refuse_after(later)

    def _refuse_after(self, merges: Iterable[int]) -> None:
        if later := [merge for merge in merges if merge > self._receipt]:
            self._refuse("a merge since then changed what it moved", max(later))

    def _move_ends(self) -> set[int]:
        moves = [move for move in self._moves if move.kind in SPLIT_ENDS]
        rows = list(self._set.relations.values())
        places = places_back(rows, moves, self._parts.new, self._entities.keys())
        taken = self._tx.relations.current_between(set(places.values())) if places else []
        clashes = clashing(places, rows, taken)
        rivals = {each.key for each in clashes.values()} | clashes.keys()
        later = self._tx.moves.of(self._tx.moves.targets(), _ENDS, about=rivals) if rivals else []
        self._refuse_after(move.receipt for move in later)
        for key, other in clashes.items():
            self.conflicts.append((self._set.relations[key].id, f"{other.id} says the same of the old name by now"))
        moving = places.keys() - clashes.keys()
        for key in moving:
            subject, _, target = places[key]
            self._set.move(key, subject, target)
        return moving

    def _handed_on(self) -> list[Move]:
        """Return the moves of later splits of the new entity, as they would be without this one."""
        was = {(move.kind, move.a): move.c for move in self._moves if move.kind != SPLIT}
        later = [receipt for receipt in self._tx.moves.splits() if receipt > self._receipt]
        found = self._tx.moves.of(later, (*SPLIT_ENDS, SPLIT_MENTION), about={a for _, a in was}) if later else []
        mine = (move for move in found if move.c == self._parts.new and was.get((move.kind, move.a)) is not None)
        return [move._replace(c=was[move.kind, move.a]) for move in mine]

    def _mentions_back(self) -> tuple[list[Mention], list[Mention]]:
        there = {chunk for chunk, _ in self._tx.mentions.of([self._parts.new])}
        back = [
            (move.a, move.c)
            for move in self._moves
            if move.kind == SPLIT_MENTION and move.c in self._entities and move.a in there
        ]
        dropped = [Mention(chunk, self._parts.new) for chunk, _ in back]
        return [Mention(chunk, was) for chunk, was in back if was is not None], dropped

    def _is_left_empty(self) -> bool:
        """Return whether nothing is left at the new entity, live or in the trash; what came to it since keeps it."""
        tx, new = self._tx, self._parts.new
        facts = [each for each in tx.relations.touching([new]) if each.key not in self.relations]
        mentions = {*tx.mentions.of([new])} - {*self._dropped}
        if not (
            facts or mentions or tx.aliases.at([new]) or tx.revisions.of_items("entity", [new]) or self._new.pinned
        ):
            return True
        if not self.conflicts:
            self.conflicts.append((self._new.id, "it stays, with what came to it since the split"))
        return False

    @property
    def _new(self) -> EntityRecord:
        return self._entities[self._parts.new]

    def _name_back(self) -> list[Alias]:
        """Return the name's old meaning, if nothing has the name now and that is still meant."""
        found = [move for move in self._moves if move.kind == SPLIT_NAME]
        if not found or not self._is_empty:
            return []
        merges = self._tx.receipts.at({move.b for move in found if move.b is not None})
        meant = [move for move in found if move.b is None or (move.b in merges and merges[move.b].undone_at is None)]
        there = self._tx.entities.at({move.a for move in meant})
        names = {(move.said[0], move.said[1]) for move in meant}
        taken = {alias.full_name for alias in self._tx.aliases.at(names=names)} if names else set()
        return [
            Alias(move.said[0], move.said[1], move.said[2], move.a, move.b)
            for move in meant
            if move.a in there and (move.said[0], move.said[1]) not in taken
        ]
