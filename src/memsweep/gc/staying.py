"""Memories that stay without some acts: taken back under a receipt, and given back by its undo.

A retraction marks the acts, and the memory is what the others make it. Its undo takes the marks off, and the memory is
what all of them make it: also those that came meanwhile. Reads and decides first, writes last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.gc.brought_memories import by_memory, earlier_texts, renamed
from memsweep.gc.earlier_texts import EarlierTexts, Embed, Entities
from memsweep.gc.links import LinksAgain, LinksWithout
from memsweep.gc.retraction import held_elsewhere
from memsweep.model.graph_rows import Move
from memsweep.model.memory_act import MemoryAct, MemoryState, entities_of, lost_mentions, remade, told
from memsweep.model.plan import CHANGES, PlanItem
from memsweep.model.revision import MEMORY, MemoryText, NewRevision, Piece, as_retraction, before_of, is_retraction
from memsweep.model.selection import Selection
from memsweep.model.times import to_micros
from memsweep.store.ports.memory_acts import NewMention, PlacedMention

if TYPE_CHECKING:
    from memsweep.model.operation import Operation
    from memsweep.store.changes import Changes

_MENTION = "unmentioned"
"""A move of this kind says which chunk mentioned which entity, and whose mention it was."""
_CHANGED = "changed since the plan was made"
_GONE = "gone since the plan was made"


class _Form(NamedTuple):
    """A memory as it is and as it will be; with what its chunks will be, if its text is another then."""

    now: MemoryText
    after: MemoryText
    earlier: Mapping[str, Any] | None = None

    @property
    def is_other(self) -> bool:
        return self.after != self.now


class _Forms:
    """Memories in other forms, and what has to be known to write them."""

    def __init__(
        self, tx: Changes, memories: Iterable[int], doing: Operation, going: Collection[int] = frozenset()
    ) -> None:
        self._tx, self._at, self._going = tx, to_micros(doing.now), going
        keys = set(memories)
        self.rows = tx.texts.at(keys) if keys else {}
        self.journal = by_memory(tx.acts.of_memories(keys) if keys else [])
        self._texts = earlier_texts(tx.revisions.of_items(MEMORY, keys) if keys else [])
        self._model = tx.texts.model() if keys else None
        self.made: list[_Form] = []

    def make(self, row: MemoryText, was: MemoryState | None, will: MemoryState | None) -> str:
        """Give a memory another form; why that cannot be, or nothing."""
        if will is None:
            return _CHANGED
        after, earlier = remade(row, was, will), None
        if will.text != row.content_hash.hex():
            earlier = self._texts.get((row.key, will.text))
            if earlier is None:
                return "its earlier text was purged"
            after = after._replace(text=earlier["text"])
            if row.trash is None and (twin := self._tx.texts.twin(after, self._going)) is not None:
                return f"the same text was added again as {twin}"
        if after != row:
            after = after._replace(updated_at=self._at, version=row.version + 1)
        self.made.append(_Form(row, after, earlier))
        return ""

    def read(self, embed: Embed) -> None:
        """The last that has to be known before anything is written."""
        changed = [form for form in self.made if form.earlier is not None]
        befores = [form.earlier for form in changed if form.earlier is not None]
        self._earlier = EarlierTexts(self._tx, befores, embed)
        self._old = self._tx.texts.pieces([form.now.key for form in changed]) if changed else {}

    def write(self, receipt: int, lost: Mapping[int, set[tuple[int, int]]]) -> None:
        """Under a receipt, which keeps the texts that were there until now, if nothing else does."""
        self._tx.revisions.add(self._revisions(receipt))
        self._tx.trash.restore(Selection(entities=self._earlier.returning))
        for form in self.made:
            if form.is_other:
                pieces = None if form.earlier is None else self._pieces(form.earlier, lost.get(form.now.key, set()))
                self._tx.texts.write(form.after, pieces)

    def _pieces(self, earlier: Mapping[str, Any], lost: set[tuple[int, int]]) -> list[Piece]:
        return [
            piece.mentioning({key: key for key in piece.entities if (position, key) not in lost})
            for position, piece in enumerate(self._earlier.pieces(earlier))
        ]

    def _revisions(self, receipt: int) -> Iterable[NewRevision]:
        for form in self.made:
            if form.earlier is not None and (form.now.key, form.now.content_hash.hex()) not in self._texts:
                kept = before_of(form.now, form.after, self._old[form.now.key], self._model)
                yield NewRevision(receipt, MEMORY, form.now.key, self._at, as_retraction(kept))


class Staying:
    """What becomes of the memories in a plan that stay as something else; decided when it is made."""

    def __init__(
        self, tx: Changes, items: Iterable[PlanItem], doing: Operation, embed: Embed, going: Collection[int] = ()
    ) -> None:
        """`going` are memories that leave with the plan."""
        wanted = [item for item in items if item.kind == "memory" and item.reason in CHANGES]
        self._forms = _Forms(tx, {item.key for item in wanted}, doing, going)
        self.skipped: list[tuple[str, str]] = []
        done = [item for item in wanted if self._take(item)]
        self.ids = [self._forms.rows[item.key].id for item in done]
        self._acts = {key: act for item in done for key, act in self._taken(item).items()}
        self._links = LinksWithout(tx, done)
        self._lost: dict[int, set[tuple[int, int]]] = {}
        self._mentions = self._lost_mentions(tx, done) if done else []
        self._forms.read(embed)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self.ids:
            return
        tx.acts.mark({key: (act.receipt, receipt) for key, act in self._acts.items()})
        tx.acts.drop_mentions([(each.chunk, each.entity) for each in self._mentions])
        tx.moves.add([Move(receipt, _MENTION, *each) for each in self._mentions])
        self._links.write(tx, receipt)
        self._forms.write(receipt, self._lost)

    def _take(self, item: PlanItem) -> bool:
        row = self._forms.rows.get(item.key)
        if row is None or row.trash != item.evidence.get("trash"):
            why = _GONE
        elif row.version != item.evidence.get("version", item.version):
            why = _CHANGED
        elif not (acts := set(item.evidence.get("acts", ()))):
            return True
        else:
            journal = self._forms.journal[item.key]
            why = self._forms.make(row, told(journal), told(journal, acts))
        if why:
            self.skipped.append((row.id if row else f"memory {item.key}", why))
        return not why

    def _taken(self, item: PlanItem) -> dict[int, MemoryAct]:
        acts = set(item.evidence.get("acts", ()))
        return {act.key: act for act in self._forms.journal[item.key] if act.key in acts}

    def _lost_mentions(self, tx: Changes, done: Sequence[PlanItem]) -> list[NewMention]:
        planned = [(chunk, entity) for item in done for chunk, entity in item.evidence.get("mentions", ())]
        known = entities_of(act for item in done for act in self._forms.journal[item.key])
        entities = Entities(tx, known | {entity for _, entity in planned})
        for form in self._forms.made:
            journal = renamed(self._forms.journal[form.now.key], entities)
            self._lost[form.now.key] = lost_mentions(journal, self._acts, form.after.content_hash.hex())
        wanted = {(chunk, entities.now(entity)) for chunk, entity in planned}
        there = tx.acts.mentions([item.key for item in done])
        return [
            NewMention(each.chunk, each.entity, each.origin) for each in there if (each.chunk, each.entity) in wanted
        ]


class StayingAgain:
    """What becomes of memories that stayed without some acts, once that is undone; and of acts that an undo takes back.

    `changed_back` are memories that the undo gives an earlier form: a receipt of an update, or of undoing one.
    """

    def __init__(self, tx: Changes, receipt: int, doing: Operation, embed: Embed, changed_back: Iterable[int]) -> None:
        self._receipt, self._at = receipt, to_micros(doing.now)
        back = set(changed_back)
        acts = tx.acts.taken_back_by(receipt)
        self._done_again = [act for act in acts if act.memory in back]
        self._undone = [act for act in tx.acts.of_receipt(receipt) if act.memory in back]
        given = {act.key: act for act in acts if act.memory not in back}
        self._forms = _Forms(tx, {act.memory for act in given.values()}, doing)
        self.conflicts: list[tuple[str, str]] = []
        stuck = {key for key, row in self._forms.rows.items() if self._is_stuck(row, given)}
        self.conflicts += self._still_in_the_trash(tx, stuck)
        self._given = [act for act in given.values() if act.memory not in stuck]
        moves = tx.moves.of([receipt], (_MENTION,))
        entities = Entities(tx, {move.b for move in moves if move.b is not None})
        self._mentions = [NewMention(move.a, entities.now(move.b), move.c) for move in moves if move.b is not None]
        self._placed = self._placed_mentions(tx)
        self._links = LinksAgain(tx, receipt)
        self._has_moved = bool(moves or self._links.has_moved)
        self._forms.read(embed)
        self._spent = self._held_texts(tx)

    @property
    def ids(self) -> list[str]:
        return [form.now.id for form in self._forms.made]

    @property
    def count(self) -> int:
        """The memories that something is given back to."""
        return len({form.now.key for form in self._forms.made} | self._links.older)

    def write(self, tx: Changes, receipt: int) -> None:
        """`receipt` is the undo's own."""
        marks: dict[int, tuple[int | None, int | None]] = {act.key: (act.receipt, None) for act in self._given}
        marks |= {act.key: (act.receipt, receipt) for act in self._undone}
        tx.acts.mark(marks)
        # An update that is done again is done now, whatever was said since: the last one counts.
        tx.acts.add([act._replace(at=self._at, receipt=receipt, trash=None) for act in self._done_again])
        tx.revisions.drop(self._spent)
        self._forms.write(self._receipt, {})
        tx.acts.add_mentions(self._mentions)
        tx.acts.add_mentions_at(self._placed)
        self._links.write(tx)
        if self._has_moved:
            tx.moves.drop([self._receipt])

    def _placed_mentions(self, tx: Changes) -> list[PlacedMention]:
        """What the acts handed in with the text that the memory has then: its chunks may be others by now."""
        forms = {form.now.key: form.after for form in self._forms.made}
        there = [act for act in self._given if act.memory in forms]
        given = [act for act in there if act.text == forms[act.memory].content_hash.hex()]
        entities = Entities(tx, entities_of(given))
        return [
            PlacedMention(
                act.memory,
                position,
                entities.now(entity),
                None if act.origin == forms[act.memory].origin else act.origin,
            )
            for act in given
            for position, entity in sorted(act.mentions)
        ]

    def _held_texts(self, tx: Changes) -> list[int]:
        """Revisions of texts that come back."""
        texts = {form.now.key for form in self._forms.made if form.earlier is not None}
        held = tx.revisions.of_receipts([self._receipt]) if texts else []
        return [each.key for each in held if each.kind == MEMORY and each.item in texts and is_retraction(each.before)]

    def _still_in_the_trash(self, tx: Changes, stuck: Collection[int]) -> list[tuple[str, str]]:
        """What these acts are given back to, and another receipt holds."""
        rows = [row for key, row in self._forms.rows.items() if key not in stuck]
        held = {row.id: row.trash for row in rows if row.trash not in (None, self._receipt)}
        return held_elsewhere(tx, held)

    def _is_stuck(self, row: MemoryText, given: Mapping[int, MemoryAct]) -> bool:
        journal = self._forms.journal[row.key]
        whole = [act._replace(trash=None) if act.key in given else act for act in journal]
        why = self._forms.make(row, told(journal), told(whole))
        if why:
            self.conflicts.append((row.id, why))
        return bool(why)
