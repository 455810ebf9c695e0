"""Revert: what a receipt changed in place is as it was before. Reads and decides first, writes last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.collector.earlier_texts import ComingBack, Embed, follow, noted, renewed
from memsweep.model.graph_rows import Alias, Move, RelationChange, Source
from memsweep.model.plan import Selection, Totals
from memsweep.model.revision import (
    KEPT_VALUES,
    MEMORY,
    MemoryAct,
    MemoryText,
    Piece,
    Revision,
    as_redaction,
    before_of,
    is_as_left,
    is_redaction,
    is_retraction,
    left_as,
    model_before,
    pieces_before,
    state_of,
    text_before,
    values_of,
    whole_again,
    with_pieces_of,
    with_values,
)
from memsweep.model.text import content_hash
from memsweep.model.times import to_micros
from memsweep.store.records import KINDS, Record, digest_of

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
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
        self._now: dict[int, Record] = {}
        """Earlier texts as they are, by revision."""
        for kind in KINDS:
            self._pick(kind, [each for each in revisions if each.kind == kind])

    def earlier_texts(self) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
        """Yield revisions that come back whole, by key: what the redaction left of their values, and what they were."""
        for each in self._back:
            if each.kind == "revision":
                masked, whole = self._now[each.item].values["before"], each.before["values"]["before"]
                yield each.item, {name: masked[name] for name in masked.keys() & KEPT_VALUES}, whole

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
                self.conflicts += [(each.before["id"], why)] if kind in PEOPLES else self._still_masked(each, rows)
            else:
                self._back.append(each)
                if kind == "revision":
                    self._now[each.item] = rows[each.item]

    def _still_masked(self, revision: Revision, rows: Mapping[int, Record]) -> list[tuple[str, str]]:
        """Say of an earlier text that it stays as it is until a later redaction of it is undone."""
        if revision.kind != "revision" or revision.item not in rows:
            return []
        of_it = self._tx.revisions.of_items("revision", [revision.item])
        later = [each.receipt for each in of_it if each.key > revision.key]
        names = self._tx.receipts.at(later[-1:])
        said = f"an earlier text of it was redacted again; undo {names[later[-1]].id} first" if names else ""
        return [(revision.before["values"]["before"]["id"], said)] if said else []

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


class _Back(NamedTuple):
    """A memory that comes back to what it was: the revision, and how it is now."""

    revision: Revision
    now: MemoryText
    pieces: list[Piece] | None
    """As they were; None if they did not change."""

    @property
    def is_redaction(self) -> bool:
        return is_redaction(self.revision.before)

    @property
    def after(self) -> MemoryText:
        return text_before(self.now, self.revision.before)


class _WholeAgain(NamedTuple):
    """A form of a memory that a redaction left, and what it is again without the redaction."""

    memory: int
    since: int
    """The revision of the redaction: what is older was redacted itself, and comes back by itself."""
    masked: Mapping[str, Any]
    whole: Mapping[str, Any]


class HistorySince:
    """The history of memories since a redaction that is undone; decided when it is made.

    Earlier texts and acts that say the redacted form say the form before, as if nobody had redacted it.
    """

    def __init__(self, tx: Changes, receipt: int, found: Sequence[_WholeAgain], given_back: Collection[int]) -> None:
        """`given_back` are the acts that the receipt itself has redacted."""
        memories = {each.memory for each in found}
        rows = tx.texts.at(memories) if found else {}
        revisions = tx.revisions.of_items(MEMORY, memories) if found else []
        acts = tx.acts.of_memories(memories) if found else []
        self._revisions: dict[int, Mapping[str, Any]] = {}
        self._said: dict[int, Mapping[str, Any]] = {}
        for each in found:
            if each.memory not in rows:
                continue
            later = [row for row in revisions if row.item == each.memory and row.receipt != receipt]
            forms = [rows[each.memory], *(with_values(rows[each.memory], row.before) for row in later)]
            self._revise(each, [row for row in later if row.key > each.since], forms)
            self._say(each, [act for act in acts if act.memory == each.memory and act.key not in given_back])

    def write(self, tx: Changes) -> None:
        tx.records.write("revision", [(key, {"before": before}) for key, before in self._revisions.items()])
        tx.records.write("memory_act", [(key, {"said": said}) for key, said in self._said.items()])

    def _revise(self, each: _WholeAgain, later: Iterable[Revision], forms: Iterable[MemoryText]) -> None:
        for row in later:
            now = dict(self._revisions.get(row.key, row.before))
            changed = whole_again(now, each.masked, each.whole)
            if changed["text"] != now["text"]:
                changed = with_pieces_of(changed, each.whole)
            for form in forms:
                whole = with_values(form, whole_again(values_of(form), each.masked, each.whole))
                if whole != form and is_as_left(form, row.before):
                    changed = left_as(whole, changed)
            if changed != now:
                self._revisions[row.key] = changed

    def _say(self, each: _WholeAgain, acts: Iterable[MemoryAct]) -> None:
        masked, whole = _hashed(each.masked), _hashed(each.whole)
        for act in acts:
            now = self._said.get(act.key, act.said)
            if (changed := whole_again(now, masked, whole)) != now:
                self._said[act.key] = changed


def _hashed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a memory as its acts say them."""
    return {**values, "text": content_hash(values["text"]).hex()}


class RevertEdits:
    """The undo of a receipt's revisions, decided when it is made; the rest is left alone and said."""

    def __init__(self, tx: Changes, receipt: int, doing: Operation, embed: Embed) -> None:
        self._tx, self._doing = tx, doing
        revisions = tx.revisions.of_receipts([receipt])
        self._records = RecordsBack(tx, revisions)
        self.conflicts = list(self._records.conflicts)
        taken = [each for each in of_memories(revisions) if not is_retraction(each.before)]
        self._back = self._pick([*taken, *self._given_meanwhile(revisions)])
        self._model = tx.texts.model() if self._back else None
        updates = [each for each in self._back if not each.is_redaction]
        self._vectors = renewed([each.revision.before for each in self._back], self._model, embed)
        rewritten = [each.now.key for each in self._back if each.pieces is not None]
        self._now = noted(tx, tx.texts.pieces(rewritten) if rewritten else {})
        self._entities = ComingBack(tx, {each.now.key: each.pieces or () for each in updates}, self._now)
        self._redactions = tx.revisions.of_items("revision", [each.revision.key for each in updates]) if updates else []
        self._handed_on = [each for back in updates for each in self._hand_on(back)]
        self._restated = self._stated_again()
        acts = {each.item for each in revisions if each.kind == "memory_act"}
        self._since = HistorySince(tx, receipt, list(self._whole_again(taken)), acts)

    @property
    def count(self) -> int:
        return len(self._back) + self._records.count

    @property
    def totals(self) -> Totals:
        return self._records.totals.plus(Totals(memories=len(self._back)))

    @property
    def updated(self) -> int:
        """Memories whose form until now somebody wrote, and may want back."""
        return sum(not each.is_redaction for each in self._back)

    @property
    def description(self) -> str:
        return self._records.description

    @property
    def memories(self) -> set[int]:
        """Return the keys of those that are memories."""
        return {each.now.key for each in self._back if not each.is_redaction}

    @property
    def ids(self) -> list[str]:
        return [each.now.id for each in self._back]

    def write(self, tx: Changes, receipt: int) -> None:
        """Write them; the state until now gets a receipt of its own, but for marks in place of secrets."""
        at = to_micros(self._doing.now)
        tx.revisions.drop([each.key for each in (*(back.revision for back in self._back), *self._redactions)])
        tx.revisions.add(self._handed_on)
        tx.revisions.add(
            Revision(receipt, MEMORY, each.now.key, at, self._given_up(each))
            for each in self._back
            if not each.is_redaction
        )
        self._records.write(tx)
        self._since.write(tx)
        tx.trash.restore(Selection(entities=self._entities.returning))
        for each in self._back:
            pieces = None if each.pieces is None else self._written(each, each.pieces)
            follow(tx, pieces or (), tx.texts.write(each.after, pieces))
        tx.relations.write(self._restated)

    def _whole_again(self, taken: Collection[Revision]) -> Iterator[_WholeAgain]:
        """Yield the memories and the earlier texts that are without their redaction again."""
        for back in self._back:
            if back.is_redaction and back.revision in taken:
                whole = {**back.revision.before, **values_of(back.after)}
                yield _WholeAgain(back.now.key, back.revision.key, values_of(back.now), whole)
        for item, masked, original in self._records.earlier_texts():
            if (found := self._tx.items.find(original["id"])) is not None:
                yield _WholeAgain(found[1], item, masked, original)

    def _given_meanwhile(self, revisions: Sequence[Revision]) -> Iterator[Revision]:
        """Yield redactions of earlier forms as those of the memories that say these forms by their acts."""
        redactions = [each for each in revisions if each.kind == "revision"]
        rows = self._tx.records.at("revision", {each.item for each in redactions}) if redactions else {}
        said = {each.item: each.before["values"]["said"] for each in revisions if each.kind == "memory_act"}
        for each in redactions:
            before = each.before["values"]["before"]
            found = self._tx.items.find(before["id"]) if each.item in rows else None
            if found is None:
                continue
            now = self._tx.texts.at([found[1]])[found[1]]
            acts = [act._replace(said=said.get(act.key, act.said)) for act in self._tx.acts.of_memories({now.key})]
            was, state = now._replace(text=before["text"]), state_of(acts)
            is_theirs = state is not None and state.text == was.content_hash.hex()
            if is_theirs and now.text == rows[each.item].values["before"]["text"] != was.text:
                kept = before_of(was, now, pieces_before(before), model_before(before))
                yield Revision(each.receipt, MEMORY, now.key, each.at, as_redaction(kept))

    def _hand_on(self, back: _Back) -> list[Revision]:
        """Redactions of the form that comes back are those of the memory from now on."""
        left, found = back.after, list[Revision]()
        for each in reversed([row for row in self._redactions if row.item == back.revision.key]):
            before = each.before["values"]["before"]
            was = text_before(left, before)
            kept = as_redaction(before_of(was, left, pieces_before(before), model_before(before)))
            found.append(Revision(each.receipt, MEMORY, back.now.key, each.at, kept))
            left = was
        return [each for each in reversed(found) if each.before["changed"]]

    def _given_up(self, each: _Back) -> dict[str, Any]:
        """Return the state of a memory until now."""
        return before_of(each.now, each.after, self._now.get(each.now.key), self._model)

    def _pick(self, revisions: Sequence[Revision]) -> list[_Back]:
        items = {each.item for each in revisions}
        rows = self._tx.texts.at(items) if items else {}
        others = self._tx.revisions.of_items(MEMORY, items) if items else []
        holders = {row.trash for row in rows.values() if row.trash is not None}
        names = self._tx.receipts.at({each.receipt for each in others} | holders)
        ids = {key: row.id for key, row in names.items()}
        picked = []
        for each in revisions:
            row = rows.get(each.item)
            if why := self._objection(each, row, others, ids):
                self.conflicts.append((each.before["id"], why))
            elif row is not None:
                picked.append(_Back(each, row, pieces_before(each.before)))
        return picked

    def _objection(
        self, revision: Revision, row: MemoryText | None, others: Sequence[Revision], receipts: Mapping[int, str]
    ) -> str:
        """Why a memory cannot be what it was; empty if it can."""
        if row is None:
            return "it was deleted for good"
        if row.trash is not None and not is_redaction(revision.before):
            return f"it is in the trash; undo {receipts.get(row.trash, 'its deletion')} first"
        if not is_as_left(row, revision.before):
            later = [each for each in others if each.item == row.key and is_as_left(row, each.before)]
            said = f"; undo {receipts[later[-1].receipt]} first" if later and later[-1].receipt in receipts else ""
            return f"it was changed again{said}"
        if row.trash is not None:
            return ""
        was = text_before(row, revision.before)
        if gone := self._tx.tombstones.why_gone({row.key: was.text} if was.text != row.text else {}):
            return gone[row.key]
        other = self._tx.texts.duplicate_of(was)
        return f"the same text was added again as {other}" if other is not None else ""

    def _written(self, each: _Back, pieces: Sequence[Piece]) -> list[Piece]:
        """Chunks as they come back. A redaction left each where it was, so it mentions what it mentions now."""
        now = self._now[each.now.key]
        if each.is_redaction and len(now) == len(pieces):
            mentioned = now
        else:
            mentioned = self._entities.mentioning(each.now.key, pieces)
        return [
            piece._replace(
                vector=self._vectors.get(piece.text, piece.vector),
                entities=by.entities,
                handed_in=by.handed_in,
                noted=by.noted,
            )
            for piece, by in zip(pieces, mentioned, strict=True)
        ]

    def _stated_again(self) -> list[RelationChange]:
        """Return what the memories state again: a fact that something else holds says so when it comes back."""
        wanted = {(key, each.now.key) for each in self._back for key in each.revision.before["states"]}
        keys = {relation for relation, _ in wanted}
        known = {(each.relation, each.memory) for each in self._tx.relations.sources(keys)} if keys else set()
        rows = {row.key: row for row in self._tx.relations.at(keys)} if keys else {}
        return [
            RelationChange(rows[relation], rows[relation], newly_stated_by=(Source(relation, memory, lives=True),))
            for relation, memory in sorted(wanted - known)
            if relation in rows
        ]
