"""Give back the acts that a receipt took from memories that stayed, and compute these memories anew.

Also those that came meanwhile. What lies in the trash of another retraction comes back if these acts say it, without
what that one took back. Reads and decides first, writes last.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from memsweep.collector.earlier_texts import Embed, Form, Forms, StandingEntities, by_memory, renamed
from memsweep.collector.restore import SaidAgain, said_again
from memsweep.collector.retraction import FALLBACK, LINK, by_relation, given_back, was_retracted
from memsweep.model.contribution import Contribution, FactState
from memsweep.model.contribution import state_of as fact_of
from memsweep.model.graph_rows import UNMENTIONED, Move
from memsweep.model.merging import MERGED_MENTION
from memsweep.model.revision import (
    MEMORY,
    MemoryAct,
    MemoryText,
    Place,
    entities_of,
    is_retraction,
    lost_mentions,
    state_of,
)
from memsweep.model.superseding import bases_from, together
from memsweep.model.times import to_micros
from memsweep.store.facts import OwnedMention
from memsweep.store.journals import StoredFact
from memsweep.store.memory_acts import MentionAt, PlacedMention
from memsweep.store.things.memories import Supersession

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes


class RestoreContributions:
    """Decided when it is made: of memories that stayed without some acts, and of acts that an undo takes back.

    `written` is what the receipt moved; `changed_back` are memories that the undo gives an earlier form: a receipt of
    an update, or of undoing one.
    """

    def __init__(
        self,
        tx: Changes,
        receipt: int,
        written: Sequence[Move],
        doing: Operation,
        embed: Embed,
        changed_back: Iterable[int],
    ) -> None:
        self._receipt, self._at = receipt, to_micros(doing.now)
        back = set(changed_back)
        acts = tx.acts.taken_back_by(receipt)
        self._done_again = [act for act in acts if act.memory in back]
        self._undone = [act for act in tx.acts.of_receipt(receipt) if act.memory in back]
        given = {act.key: act for act in acts if act.memory not in back}
        self._forms = Forms(tx, {act.memory for act in given.values()}, doing)
        self._whole = {key: given_back(acts, receipt) for key, acts in self._forms.journal.items()}
        self.conflicts = self._make_returning(tx)
        stuck = self._pick(tx)
        self._given = [act for act in given.values() if act.memory not in stuck]
        moves = [move for move in written if move.kind == UNMENTIONED]
        entities = StandingEntities(tx, {move.b for move in moves if move.b is not None})
        self._mentions = [OwnedMention(move.a, entities.now(move.b), move.c) for move in moves if move.b is not None]
        self._placed = self._placed_mentions(tx)
        self._merged = list(_merged_since(tx, moves, self._forms.rows))
        self._brought = _brought_by_merges(tx, moves)
        self._links = LinksAgain(tx, written)
        self._has_moved = bool(moves or self._links.has_moved)
        self._left = _LeftBehind(tx, [form for form in self._forms.made if form.returns], self._whole)
        self._forms.read(embed, self._left.lost)
        self._spent = self._held_texts(tx)

    @property
    def returning(self) -> SaidAgain:
        """Return what leaves the trash of other retractions, but for facts."""
        forms = [form for form in self._forms.made if form.returns]
        live = {form.now.key for form in self._forms.made if form.returns or form.now.trash is None}
        placed = {each.entity for each in self._placed if each.memory in live}
        return SaidAgain(
            memories=frozenset(form.now.key for form in forms),
            as_they_were=frozenset(form.now.key for form in forms if form.earlier is None),
            entities=self._left.mentioned | placed,
        )

    @property
    def ids(self) -> list[str]:
        return [form.now.id for form in self._stayed]

    @property
    def count(self) -> int:
        """The memories that something is given back to."""
        return len({form.now.key for form in self._stayed} | self._links.older)

    @property
    def gives(self) -> bool:
        """Return whether any act is given back, or taken."""
        return bool(self._given or self._done_again or self._undone or self._has_moved)

    @property
    def _stayed(self) -> list[Form]:
        """But for what comes back as a whole."""
        return [form for form in self._forms.made if not form.returns and form.now.trash != self._receipt]

    def bring_back(self, tx: Changes) -> None:
        """First of all: what leaves the trash is written where it is."""
        self._forms.bring_back()
        self._left.write(tx)
        self._links.write(tx)

    def write(self, tx: Changes, receipt: int) -> None:
        """`receipt` is the undo's own."""
        marks: dict[int, tuple[int | None, int | None]] = {act.key: (act.receipt, None) for act in self._given}
        marks |= {act.key: (act.receipt, receipt) for act in self._undone}
        tx.acts.mark(marks)
        # An update that is done again is done now, whatever was said since: the last one counts.
        tx.acts.add([act._replace(at=self._at, receipt=receipt, trash=None) for act in self._done_again])
        tx.revisions.drop(self._spent)
        self._forms.write(self._receipt)
        tx.acts.drop_mentions([(move.a, move.c) for move in self._brought if move.c is not None])
        tx.acts.add_mentions(self._mentions)
        tx.acts.add_mentions_at(self._placed)
        if self._has_moved:
            tx.moves.drop([self._receipt])
        tx.moves.set([move._replace(c=None) for move in self._brought])
        tx.moves.add(self._merged)

    def _make_returning(self, tx: Changes) -> list[tuple[str, str]]:
        """Make what is in the trash of another retraction, and said again, what it will be; why some of it stays."""
        journal, rows = self._forms.journal, self._forms.rows
        waiting = {
            key: row
            for key, row in rows.items()
            if row.trash != self._receipt and was_retracted(journal[key], row.trash) and state_of(self._whole[key])
        }
        if not waiting:
            return []
        same = said_again(tx, tx.trash.clashes(waiting).texts)
        clashes = {each.key: each.other_id for each in same}
        own = tx.texts.at(tx.trash.memories_of(self._receipt))
        superseded = tx.acts.ever_superseded(waiting)
        coming = {(row.thread, row.content_hash.hex()): row.id for row in own.values()}
        found = []
        # First those that say what they said: what gets back an earlier text gives way to who says it anyway.
        for key, row in sorted(waiting.items(), key=lambda each: (self._is_other_text(each[1]), each[0])):
            will = state_of(self._whole[key])
            assert will is not None, "somebody says it"
            place, now = (row.thread, will.text), state_of(given_back(journal[key], row.trash))
            other = None if self._is_other_text(row) else clashes.get(key)
            other = other or (None if key in superseded else coming.get(place))
            said = "" if other is None else f"the same text was added again as {other}"
            if why := said or self._forms.make(row, now, will, returns=True):
                found.append((row.id, why))
            else:
                coming[place] = row.id
        return found

    def _is_other_text(self, row: MemoryText) -> bool:
        will = state_of(self._whole[row.key])
        return will is not None and will.text != row.content_hash.hex()

    def _pick(self, tx: Changes) -> set[int]:
        """Give the others what is theirs, where they are; those that cannot have it."""
        returning = {form.now.key for form in self._forms.made}
        named = {uid for uid, _ in self.conflicts}
        stuck: set[int] = set()
        held: dict[str, int | None] = {}
        for key, row in self._forms.rows.items():
            if key in returning:
                continue
            if why := self._why_stuck(row):
                stuck.add(key)
                self.conflicts.append((row.id, why))
            elif row.trash not in (None, self._receipt) and row.id not in named:
                held[row.id] = row.trash
        self.conflicts += held_elsewhere(tx, held)
        return stuck

    def _why_stuck(self, row: MemoryText) -> str:
        """Return the reason why a row cannot change. What its holder took back is in the row, and returns with it."""
        was, will = (
            state_of(given_back(acts, row.trash)) for acts in (self._forms.journal[row.key], self._whole[row.key])
        )
        return self._forms.make(row, was, will)

    def _placed_mentions(self, tx: Changes) -> list[PlacedMention]:
        """Return the mentions of the returning acts, at the memory's chunks, which may be others by now."""
        forms = {form.now.key: form.after for form in self._forms.made}
        there = [act for act in self._given if act.memory in forms]
        given = [act for act in there if act.text == forms[act.memory].content_hash.hex()]
        entities = StandingEntities(tx, entities_of(given))
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


class _LeftBehind:
    """The mentions that returning memories have no more, for only acts that stay retracted had passed them.

    It stays with the holder, whose undo gives it back.
    """

    def __init__(self, tx: Changes, forms: Sequence[Form], whole: Mapping[int, Sequence[MemoryAct]]) -> None:
        self.lost: dict[int, set[Place]] = {}
        self.mentioned: frozenset[int] = frozenset()
        """What they go on mentioning."""
        self._moves: list[Move] = []
        if not forms:
            return
        entities = StandingEntities(tx, entities_of(act for form in forms for act in whole[form.now.key]))
        there = by_memory(tx.acts.mentions([form.now.key for form in forms]))
        for form in forms:
            key, holder = form.now.key, form.now.trash
            taken = {act.key for act in whole[key] if act.trash == holder}
            journal = renamed(given_back(whole[key], holder), entities)
            self.lost[key] = lost = lost_mentions(journal, taken, form.after.content_hash.hex())
            older = _handed_in_before(journal, taken)
            gone = [each for each in there[key] if (each.position, each.entity) in lost or older(each)]
            if form.earlier is None and holder is not None:
                self._moves += [Move(holder, UNMENTIONED, each.chunk, each.entity, each.origin) for each in gone]
                self.mentioned |= {each.entity for each in there[key] if each not in gone}

    def write(self, tx: Changes) -> None:
        if self._moves:
            tx.acts.drop_mentions([(move.a, move.b) for move in self._moves if move.b is not None])
            tx.moves.add(self._moves)


def _merged_since(tx: Changes, moves: Sequence[Move], memories: Collection[int]) -> Iterator[Move]:
    """Yield the moves that merges must know: of mentions that return to entities merged meanwhile."""
    merges = tx.moves.targets() if moves else {}
    entities = tx.entities.at({move.b for move in moves if move.b is not None}) if merges else {}
    if all(row.trash not in merges for row in entities.values()):
        return
    known = {(move.receipt, move.a, move.b) for move in tx.moves.of(merges, (MERGED_MENTION,), {m.a for m in moves})}
    there = {(each.chunk, each.entity) for each in tx.acts.mentions(memories)}
    for move in moves:
        chunk, row = move.a, entities.get(move.b or 0)
        while row is not None and row.trash in merges and (row.trash, chunk, row.key) not in known:
            kept = tx.entities.at([merges[row.trash]]).get(merges[row.trash])
            is_new = kept is not None and (chunk, kept.key) not in there and (kept.trash, chunk, kept.key) not in known
            said = None if move.c is None else [move.c]
            yield Move(row.trash, MERGED_MENTION, chunk, row.key, kept.key if kept and is_new else None, said)
            known.add((row.trash, chunk, row.key))
            row = kept
        if row is not None:
            there.add((chunk, row.key))


def _brought_by_merges(tx: Changes, moves: Sequence[Move]) -> list[Move]:
    """Return the moves of later merges for mentions that return by themselves: these mentions stay."""
    merges = tx.moves.targets() if moves else {}
    back = {(move.a, move.b): move.receipt for move in moves}
    noted = tx.moves.of(merges, (MERGED_MENTION,), about={move.a for move in moves}) if merges else []
    return [move for move in noted if back.get((move.a, move.c), move.receipt) < move.receipt]


def _handed_in_before(journal: Sequence[MemoryAct], taken: Collection[int]) -> Callable[[MentionAt], bool]:
    """Tells mentions that those who are taken back made before acts were written down, which say it otherwise."""
    origins = {act.origin for act in journal if act.key in taken} - {None}
    known = {place for act in journal for place in act.mentions}
    return lambda mention: mention.origin in origins and (mention.position, mention.entity) not in known


class Restatement:
    """The changes of facts that a receipt let fall back, once it is undone."""

    def __init__(self, tx: Changes, receipt: int) -> None:
        self._receipt = receipt
        self._facts: dict[int, StoredFact] = {}
        self.said_again: dict[int, FactState] = {}
        """Facts in the trash of another retraction that these contributions state, as they make them."""
        self.relations = relations = tx.origins.taken_back_by(receipt)
        """What they are about."""
        if not relations:
            return
        left = {move.a: move.b for move in tx.moves.of([receipt], (FALLBACK,))}
        holders = {row.key: row.trash for row in tx.relations.at(relations)}
        facts = tx.origins.facts(relations, trashed=True)  # another receipt may hold it, and give it back as it will be
        journal = by_relation(tx.origins.journal(relations))
        for key, fact in facts.items():
            whole = given_back(journal[key], receipt)
            after = fact_of(given_back(whole, holders[key]))
            if after is not None and after != fact.state:
                self._facts[key] = StoredFact(after, _version(fact, left.get(key)))
            if holders[key] != receipt and (stated := _said_without(whole, holders[key])) is not None:
                self.said_again[key] = stated
        self._versions = {key: facts[key].version for key in self.said_again}

    @property
    def count(self) -> int:
        return len(self._facts.keys() | self.said_again.keys())

    @property
    def ended(self) -> set[int]:
        """Facts that no longer hold then."""
        return {key for key, fact in self._facts.items() if fact.state.invalid_at is not None}

    def conflicts(self, tx: Changes, returning: Collection[int]) -> list[tuple[str, str]]:
        """Facts that others of these contributions make again, and another receipt holds."""
        waiting = (self._facts.keys() | self.said_again.keys()) - {*returning}
        rows = tx.relations.at(waiting) if waiting else []
        return held_elsewhere(tx, {row.id: row.trash for row in rows if row.trash not in (None, self._receipt)})

    def write(self, tx: Changes, returning: Collection[int]) -> None:
        """`returning` are relations that come back: without what those took back in whose trash they are."""
        if self.relations:
            again = {key: state for key, state in self.said_again.items() if key in returning}
            tx.origins.set_facts(
                self._facts | {key: StoredFact(state, self._versions[key] + 1) for key, state in again.items()}
            )
            tx.origins.give_back(self._receipt)
            tx.moves.drop([self._receipt])


def held_elsewhere(tx: Changes, held: Mapping[str, int | None]) -> list[tuple[str, str]]:
    """Return for things in the trash, by id and holding receipt, what brings them back."""
    receipts = tx.receipts.at({key for key in held.values() if key is not None}) if held else {}
    ways = {key: f"undoing {row.id}" if row.undone_at is None else "recovering it" for key, row in receipts.items()}
    return [(uid, f"it is in the trash; {ways[key]} brings it back") for uid, key in held.items() if key in ways]


def _said_without(acts: Sequence[Contribution], holder: int | None) -> FactState | None:
    """Return a fact without what its holder took back; None if nobody else states it, or it is no retraction's.

    What is older than its journal may be what was taken back.
    """
    return fact_of(acts) if was_retracted(acts, holder) and acts[0].before is None else None


def _version(fact: StoredFact, left: int | None) -> int:
    """As if nothing had been, if nothing has been since."""
    return fact.version - 1 if fact.version == left else fact.version + 1


class LinksAgain:
    """The links that a receipt ended, once it is undone or `only` one memory comes back; decided when it is made."""

    def __init__(self, tx: Changes, written: Iterable[Move], only: int | None = None) -> None:
        moves = [move for move in written if move.kind == LINK and only in (None, move.a, move.b)]
        self.has_moved = bool(moves)
        there = tx.texts.at({key for move in moves for key in (move.a, move.b) if key is not None}) if moves else {}
        known = {link.pair: link for link in tx.acts.links()} if moves else {}
        self._links = []
        for move in moves:
            if move.b is None or move.c is None or not {move.a, move.b} <= there.keys():
                continue  # one of them was purged meanwhile
            link = Supersession(move.a, move.b, move.c, bases_from(move.said))
            now = known.get(link.pair)
            self._links.append(link if now is None else now._replace(bases=together(now.bases, link.bases)))

    @property
    def older(self) -> set[int]:
        """Return the memories that are superseded again."""
        return {link.pair[0] for link in self._links}

    def write(self, tx: Changes) -> None:
        tx.acts.set_links(self._links)
