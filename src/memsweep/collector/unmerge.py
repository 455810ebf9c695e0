"""A merge is taken apart: what it moved goes back. Reads and decides first, writes last.

Goes through what the merge wrote down, the last move first; the rules are in `memsweep.model.merging`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from memsweep.collector.written_since import SinceMerge
from memsweep.errors import Conflict
from memsweep.model.graph_rows import (
    ENDS,
    UNMENTIONED,
    Alias,
    EntityRecord,
    Mention,
    Move,
    Name,
    RelationRecord,
    Strength,
)
from memsweep.model.merging import (
    SPLIT,
    SPLIT_ENDS,
    SPLIT_MENTION,
    SPLIT_NAME,
    Joined,
    MovedMention,
    Parts,
    RelationSet,
    RelationStatement,
    Step,
    clashing,
    given_by,
    given_by_split,
    highest,
    mentions_back,
    places_back,
    statements_back,
    without,
)
from memsweep.model.plan import Selection, Totals
from memsweep.model.text import FindNames

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes


_TARGET = "target"
_VALUES = 4
"""So many numbers are a strength; the version comes after them."""


def weakened(tx: Changes, kept: EntityRecord, receipt: int) -> tuple[EntityRecord | None, list[Move]]:
    """The entity as it would be without what a receipt did to it, unless something else has changed it since; and what
    later merges and splits have to write down instead."""
    merges = sorted(merge for merge, target in tx.moves.targets().items() if target == kept.key)
    splits = sorted(split for split, parts in tx.moves.splits().items() if parts.old == kept.key)
    moves = [move for move in tx.moves.of([*merges, *splits], (_TARGET, SPLIT)) if move.a == kept.key]
    given = _given(tx, merges)
    steps = [_step(place, move, given) for place, move in enumerate(moves)]
    retraced = without(steps, receipt, kept.version, highest)
    changed = []
    for step in retraced.steps:
        assert step.versions is not None, "entities are known by their versions"
        move = moves[step.place]
        changed.append(move._replace(said=[*step.before, step.versions[0], *move.said[_VALUES + 1 :]]))
    if retraced.values is None:
        return None, changed
    assert retraced.version is not None, "entities are known by their versions"
    return kept.strengthened(retraced.values, retraced.version), changed


def _given(tx: Changes, merges: Collection[int]) -> dict[int | None, list[tuple[Any, ...]]]:
    """Return the strengths of the entities that merges took in, by entity, and by merge as a negative number."""
    found: dict[int | None, list[tuple[Any, ...]]] = defaultdict(list)
    for source in tx.entities.trashed_by(merges) if merges else ():
        assert source.trash is not None
        found[source.key].append(source.strength)
        found[-source.trash].append(source.strength)
    return found


def _step(place: int, move: Move, given: dict[int | None, list[tuple[Any, ...]]]) -> Step:
    before, version = tuple(move.said[:_VALUES]), move.said[_VALUES]
    if move.kind == SPLIT:
        return Step(place, move.receipt, before, (), given_by_split(move.said[-1]), (version, move.c))
    brought = given[move.b] if move.b else given[-move.receipt]
    return Step(place, move.receipt, before, (), reduce(highest, brought) if brought else before, (version, move.c))


_CHANGED = (*ENDS, "strength", "source")


def take_apart(tx: Changes, receipt: int, moves: list[Move], doing: Operation, find: FindNames) -> Unmerge | None:
    """Return the undo of the merge of a receipt; None if it was none."""
    target = next((move.a for move in moves if move.kind == "target"), None)
    if target is None:
        return None
    kept = tx.entities.at([target]).get(target)
    _refuse_held(tx, kept, receipt)
    sources = tx.entities.trashed_by([receipt])
    unmerge = Unmerge(tx, receipt, target, sources, moves[::-1])
    unmerge.refuse_later()
    _refuse_namesakes(tx, sources)
    unmerge.decide(kept, doing)
    if kept is not None:
        unmerge.look_at_what_came_since(kept, find)
    return unmerge


def _refuse_held(tx: Changes, kept: EntityRecord | None, receipt: int) -> None:
    """Refuse while what the merge kept is itself in the trash of another receipt."""
    if kept is None or kept.trash in (None, receipt):
        return
    for holder in tx.receipts.at({kept.trash}).values():
        raise Conflict(f"{kept.name!r:.60} is not there to be taken apart.", hint=f"Undo {holder.id} first.")


def _refuse_namesakes(tx: Changes, sources: Sequence[EntityRecord]) -> None:
    namesakes = tx.entities.live_named({source.full_name for source in sources})
    for source in sources:
        if (namesake := namesakes.get(source.full_name)) is not None:
            raise Conflict(
                f"{source.id} cannot come back: {source.name!r:.60} exists again as {namesake.id}.",
                hint=f"Merge {namesake.id} away first.",
            )


class Unmerge:
    """A merge that is being taken apart: its moves, the last one first."""

    def __init__(
        self, tx: Changes, receipt: int, target: int, sources: Sequence[EntityRecord], moves: Sequence[Move]
    ) -> None:
        self._tx, self._receipt, self._target, self._moves = tx, receipt, target, moves
        self._sources = sources
        self.entities = {source.key for source in sources}
        """Those that are live again."""
        self.touched = self.entities | {target}
        """All that the merge had made one."""
        self.unstated: set[tuple[int, int]] = set()
        """Relations, and memories that state them no more."""
        self.moves_of_others: list[Move] = []
        """What other merges have to write down."""
        keys = {move.a for move in moves if move.kind in _CHANGED}
        self._targets = tx.moves.targets()
        self._steps = tx.moves.of(self._targets.keys(), ("strength",), about=keys)
        self._set = RelationSet(tx.relations.at(keys), tx.relations.sources(keys))
        self._kept: EntityRecord | None = None
        self._changed_moves: list[Move] = []
        self._restored: set[int] = set()
        self._mentions: tuple[list[Mention], list[Mention]] = [], []
        self._aliases: tuple[list[Alias], set[Name]] = [], set()
        self._since: SinceMerge | None = None
        self._conflicts: list[tuple[str, str]] = []

    @property
    def relations(self) -> dict[int, RelationRecord]:
        """As they are without the merge."""
        return self._set.relations

    @property
    def moved_back(self) -> set[int]:
        """Live relations that begin or end at another entity again."""
        return {
            change.after.key
            for change in self._set.changes()
            if change.after.ends != change.before.ends and change.before.trash is None and change.after.trash is None
        }

    def _of(self, kind: str) -> list[Move]:
        return [move for move in self._moves if move.kind == kind]

    def refuse_later(self) -> None:
        """Refuse after a later merge joined something to what this one moved: it cannot be told apart."""
        moved = {move.a for move in self._moves if move.kind in {"subject", "object"}}
        holders = (each.trash for each in self.relations.values())
        later = {step.receipt for step in self._steps if step.receipt > self._receipt and step.a in moved}
        later |= {trash for trash in holders if trash is not None and trash > self._receipt and trash in self._targets}
        if later:
            last = max(later)
            uid = self._tx.receipts.at({last})[last].id
            raise Conflict(
                f"the merge {uid} joined facts that this one changed; they cannot be told apart before that is undone.",
                hint=f"Undo {uid} first.",
            )

    def decide(self, kept: EntityRecord | None, doing: Operation) -> None:
        merges = sorted(merge for merge, target in self._targets.items() if target == self._target)
        if kept is not None and kept.trash is None:
            self._kept, changed = weakened(self._tx, kept, self._receipt)
            self._changed_moves += changed
        self._move_mentions_back([merge for merge in merges if merge != self._receipt])
        self._weaken_relations(doing)
        ends = [move for move in self._moves if move.kind in ENDS]
        split = self._split_off(SPLIT_ENDS, {move.a for move in ends})
        holders = self._tx.receipts.at({each.receipt for each in split}) if split else {}
        for move in ends:
            self._move_end_back(move, [(each, holders[each.receipt].id) for each in split])
        self._follow_memories()
        self._move_names_back()

    def _look_who_is_left_alone(self, since: SinceMerge) -> None:
        """Find those that nothing mentions now: what spoke of them alone went since, when they were merged."""
        moved = {move.b for move in self._of("mention")}
        added, dropped = self._mentions
        spoken = {*self._tx.mentions.of(self.touched), *added, *since.named} - {*dropped, *since.no_more}
        live = {key for _, key in self._tx.items.live({"chunk": {each.chunk for each in spoken}})} if spoken else set()
        held = {each.entity for each in spoken if each.chunk in live}
        facts = {each.key: each for each in self._tx.relations.touching(self.touched)} | self.relations
        held |= {end for each in facts.values() if each.trash in (None, self._receipt) for end in each.ends}
        alone = [each for each in (*self._sources, since.kept) if each.key not in held] if moved else []
        self._conflicts += [(each.id, "what spoke of it has gone since the merge") for each in alone]

    def write(self, tx: Changes) -> None:
        tx.trash.restore(Selection(entities=self.entities))
        if self._kept is not None:
            tx.entities.set([self._kept])
        added, dropped = self._mentions
        owners = {Mention(move.a, move.b): move.said[0] for move in self._of("mention") if move.b and move.said}
        tx.mentions.add(added, owners)
        tx.mentions.drop(dropped)
        if self._since is not None:
            self._since.write(tx)
        tx.moves.set(self._changed_moves)
        tx.relations.write(self._set.changes())
        aliases, gone = self._aliases
        tx.aliases.drop_of_receipt(self._receipt)
        tx.aliases.drop(gone)
        tx.aliases.put(aliases)
        tx.moves.drop([self._receipt])

    @property
    def conflicts(self) -> list[tuple[str, str]]:
        return [*(self._since.conflicts if self._since else ()), *self._conflicts]

    def look_at_what_came_since(self, kept: EntityRecord, find: FindNames) -> None:
        aliases, gone = self._aliases
        back = {(source.name_key, source.key) for source in self._sources}
        back |= {(alias.name_key, alias.entity) for alias in aliases if alias.entity in self.entities}
        stays = {alias.name_key for alias in self._tx.aliases.at([kept.key])} - {name for name, _ in (*back, *gone)}
        self._since = SinceMerge(self._tx, self._receipt, kept)
        self._since.name_again(back, {kept.name_key, *stays}, {move.a for move in self._of("mention")}, find)
        moved = {move.a for move in self._moves if move.kind in ENDS}
        self._since.look_at_facts(moved, {move.a for move in self._of("strength")} - self._restored)
        self._look_who_is_left_alone(self._since)

    def _move_mentions_back(self, others: Collection[int]) -> None:
        """`others` are merges into the same entity: a mention that a later one moved, too, stays for its sake.

        An earlier one found a mention that was there before this merge, and may be gone since.
        """
        taken_back = self._taken_back()
        moved = [MovedMention(move.a, move.b or 0, move.c) for move in self._of("mention") if move.a not in taken_back]
        chunks = {each.chunk for each in moved}
        theirs = self._tx.moves.of(others, ("mention",), about=chunks) if others and chunks else []
        shared: dict[int, int] = {}
        for number, move in enumerate(theirs):
            if move.c is None and move.receipt > self._receipt:
                shared.setdefault(move.a, number)
        back = mentions_back(moved, shared)
        self._mentions = [Mention(*pair) for pair in back.added], [Mention(*pair) for pair in back.dropped]
        self._changed_moves += [theirs[number]._replace(c=self._target) for number in back.claimed]
        was = {each.chunk: each.source for each in reversed(moved) if (each.chunk, each.target) in back.dropped}
        split = self._split_off((SPLIT_MENTION,), was.keys())
        self._changed_moves += [move._replace(c=was[move.a]) for move in split]

    def _taken_back(self) -> set[int]:
        """The chunks in which what was kept is mentioned no more, for who did is taken back: undoing that gives back
        what they had mentioned before the merge."""
        noted: dict[int, list[Move]] = {}
        for move in self._of("mention"):
            noted.setdefault(move.a, []).append(move)
        live = self._tx.items.live({"chunk": noted.keys()}) if noted else {}
        memories = {memory for row in live.values() for memory in row.belongs_to}
        holders = {act.trash for act in self._tx.acts.of_memories(memories) if act.trash} if memories else set()
        gone = self._tx.moves.of(holders, (UNMENTIONED,), about=noted) if holders else []
        gone = [move for move in gone if move.b == self._target]
        for move in gone:
            back = [(each.b, each.said[0] if each.said else None, each.c) for each in noted[move.a]]
            ours = [Move(move.receipt, UNMENTIONED, move.a, source, owner) for source, owner, _ in back]
            if all(target is None for _, _, target in back):  # what was kept was mentioned before
                self.moves_of_others += ours
            else:
                first, *others = ours
                self._changed_moves.append(move._replace(b=first.b, c=first.c))
                self.moves_of_others += others
        return {move.a for move in gone}

    def _weaken_relations(self, doing: Operation) -> None:
        """Facts count as they would without what this merge joined to them, if nothing has strengthened them since."""
        keys = {move.a for move in self._moves if move.kind in {"strength", "source"}}
        steps = [step for step in self._steps if step.a in keys]
        others = {step.b for step in steps if step.b is not None}
        strengths = {each.key: each.strength for each in self._tx.relations.at(others)}
        for key in dict.fromkeys(move.a for move in self._of("strength")):
            if key in self.relations:
                self._weaken(key, [step for step in steps if step.a == key], strengths, doing)
        theirs = [Joined(step.receipt, step.a, step.b) for step in steps if step.b and step.receipt != self._receipt]
        self._take_statements_back(theirs)

    def _weaken(self, key: int, moves: Sequence[Move], strengths: dict[int, Strength], doing: Operation) -> None:
        steps = []
        for place, move in enumerate(moves):
            before, after = tuple(move.said[:4]), tuple(move.said[4:])
            given = strengths.get(move.b or 0) or given_by(before, after)
            steps.append(Step(place, move.receipt, before, after, given))

        def combine(kept: Any, other: Any) -> Strength:
            return doing.join(Strength(*kept), Strength(*other))

        retraced = without(steps, self._receipt, tuple(self.relations[key].strength), combine)
        for step in retraced.steps:
            self._changed_moves.append(moves[step.place]._replace(said=[*step.before, *step.after]))
        if retraced.values is not None:
            self._restored.add(key)
            self._set.strengthen(key, Strength(*retraced.values))

    def _follow_memories(self) -> None:
        """A fact that stayed for what the merge joined to it follows the memories that state it into the trash."""
        alone = {
            key: self._set.stated_by(key) for key in {move.a for move in self._of("strength")} & self.relations.keys()
        }
        alone = {key: known for key, known in alone.items() if self._is_left_alone(key, known)}
        memories = self._tx.texts.at({memory for known in alone.values() for memory in known}) if alone else {}
        for key, known in alone.items():
            held = [row.trash for memory in known if (row := memories.get(memory)) and row.trash is not None]
            if held:
                self._set.trash(key, max(held))

    def _is_left_alone(self, key: int, stated_by: Mapping[int, bool]) -> bool:
        row = self.relations[key]
        return row.trash is None and not row.explicit and bool(stated_by) and not any(stated_by.values())

    def _take_statements_back(self, others: Sequence[Joined]) -> None:
        added = [RelationStatement(move.a, move.b or 0) for move in self._of("source")]
        sources = self._tx.relations.sources({each.other for each in others}) if added else []
        dropped, handed_on = statements_back(added, others, {RelationStatement(*each[:2]) for each in sources})
        for each in dropped:
            if each.relation in self.relations:
                self._set.drop_source(*each)
                self.unstated.add(each)
        self.moves_of_others += [Move(merge, "source", relation, memory) for merge, (relation, memory) in handed_on]

    def _move_end_back(self, move: Move, split: Collection[tuple[Move, str]]) -> None:
        relation = self.relations.get(move.a)
        if relation is None or move.b is None:
            return
        if getattr(relation, move.kind) == self._target:
            ends = {"subject": relation.subject, "object": relation.object, move.kind: move.b}
            self._set.move(move.a, ends["subject"], ends["object"])
            return
        # What was split off meanwhile stays where it is, and goes back to where it would be without this merge.
        kind = SPLIT_ENDS[ENDS.index(move.kind)]
        for each, holder in split:
            if (each.kind, each.a) == (kind, move.a):
                self._changed_moves.append(each._replace(c=move.b))
                said = f"it was split off since, and stays there until {holder} is undone"
                self._conflicts.append((relation.id, said))

    def _split_off(self, kinds: Collection[str], about: Collection[int]) -> list[Move]:
        """Return what later splits that stand took away from what this merge kept."""
        later = [split for split in self._tx.moves.splits() if split > self._receipt]
        found = self._tx.moves.of(later, kinds, about=about) if later and about else []
        return [move for move in found if move.c == self._target]

    def _move_names_back(self) -> None:
        names = {source.full_name for source in self._sources}
        moved = [move for move in self._moves if move.kind in {"alias", "name"}]
        wanted = names | {(move.said[0], move.said[1]) for move in moved}
        before = {alias.full_name: alias for alias in self._tx.aliases.at(names=wanted)}
        after = {name: alias for name, alias in before.items() if name not in names}
        allowed = self._still_meant([move for move in moved if move.kind == "name"])
        for move in moved:
            name = (move.said[0], move.said[1])
            known = after.get(name)
            if move.kind == "name" and move.place in allowed:
                spelling = move.said[2] if known is None else known.name  # a name is written as it was first
                after[name] = Alias(*name, spelling, move.a, move.b)
            elif move.kind == "alias" and known is not None and known.entity == self._target:
                after[name] = known._replace(entity=move.a)
        kept = {name: alias for name, alias in after.items() if alias.receipt != self._receipt}
        changed = [alias for name, alias in sorted(kept.items()) if alias != before.get(name)]
        self._aliases = changed, before.keys() - kept.keys()

    def _still_meant(self, moves: Sequence[Move]) -> set[int]:
        """Names that stood for something else before, where that is still there and its merge was not taken apart."""
        if not moves:
            return set()
        there = self._tx.entities.at({move.a for move in moves}).keys() | self.entities
        merges = self._tx.receipts.at({move.b for move in moves if move.b is not None})
        undone = {key for key, row in merges.items() if row.undone_at is not None}
        return {move.place for move in moves if move.a in there and move.b not in undone}


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
        later = self._tx.moves.of(self._tx.moves.targets(), ENDS, about=rivals) if rivals else []
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
