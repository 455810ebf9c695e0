"""Facts that live on without some contributions: taken back under a receipt, and given back by its undo.

A retraction marks the contributions, and the fact is what the others make it. Its undo takes the marks off, and the
fact is what all of them make it: also those that came meanwhile. Reads and decides first, writes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from memsweep.model.contribution import Contribution, FactState, state_of
from memsweep.model.graph_rows import Move
from memsweep.model.plan import CHANGES, IN_TRASH, PlanItem
from memsweep.model.revision import MemoryAct
from memsweep.store.journals import StoredFact

if TYPE_CHECKING:
    from memsweep.store.changes import Changes


_FALLBACK = "fallback"
"""A move of this kind says which version a relation got by falling back."""


class Retraction:
    """The changes of facts in a plan that fall back; decided when it is made."""

    def __init__(
        self, tx: Changes, items: Iterable[PlanItem], going: Collection[int] = (), retracted: Iterable[PlanItem] = ()
    ) -> None:
        """`going` are relations that leave with the plan; the acts of those `retracted` are taken back with them."""
        wanted = {item.key: item for item in items if item.kind == "relation" and item.reason in CHANGES}
        self.skipped: list[tuple[str, str]] = []
        self._acts = {act for item in retracted if item.kind == "relation" for act in item.evidence["acts"]}
        self._facts: dict[int, StoredFact] = {}
        if not wanted:
            return
        live, there = tx.origins.facts(wanted), tx.origins.facts(wanted, trashed=True)
        facts = {key: fact for key, fact in there.items() if (key in live) != (wanted[key].reason == IN_TRASH)}
        holders = {row.key: row.trash for row in tx.relations.at(wanted)}
        journal = _by_relation(tx.origins.journal(wanted))
        taken = _places_taken(tx, [key for key in wanted if wanted[key].reason == "holds_again"], going)
        ids = tx.items.ids({"relation": wanted})
        for key, item in sorted(wanted.items()):
            if why := self._take(item, facts.get(key), given_back(journal[key], holders.get(key)), taken):
                self.skipped.append((ids.get(("relation", key), f"relation {key}"), why))

    def _take(
        self, item: PlanItem, fact: StoredFact | None, journal: Sequence[Contribution], taken: Mapping[int, str]
    ) -> str:
        """Why it is left as it is; empty if it falls back."""
        if fact is None:
            return "gone since the plan was made"
        if fact.version != item.evidence.get("version", item.version):
            return "changed since the plan was made"
        if item.key in taken:
            return f"the same fact holds again as {taken[item.key]}"
        acts = set(item.evidence["acts"])
        after = state_of(journal, acts)
        if after is None:
            return "changed since the plan was made"
        self._acts |= acts
        self._facts[item.key] = StoredFact(after, fact.version + 1)
        return ""

    @property
    def count(self) -> int:
        return len(self._facts)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self._acts:
            return
        tx.origins.take_back(self._acts, receipt)
        tx.origins.set_facts(self._facts)
        tx.moves.add([Move(receipt, _FALLBACK, key, fact.version) for key, fact in sorted(self._facts.items())])


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
        left = {move.a: move.b for move in tx.moves.of([receipt], (_FALLBACK,))}
        holders = {row.key: row.trash for row in tx.relations.at(relations)}
        facts = tx.origins.facts(relations, trashed=True)  # another receipt may hold it, and give it back as it will be
        journal = _by_relation(tx.origins.journal(relations))
        for key, fact in facts.items():
            whole = given_back(journal[key], receipt)
            after = state_of(given_back(whole, holders[key]))
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
    return state_of(acts) if was_retracted(acts, holder) and acts[0].before is None else None


def _version(fact: StoredFact, left: int | None) -> int:
    """As if nothing had been, if nothing has been since."""
    return fact.version - 1 if fact.version == left else fact.version + 1


def _by_relation(acts: Iterable[Contribution]) -> dict[int, list[Contribution]]:
    found: dict[int, list[Contribution]] = defaultdict(list)
    for act in acts:
        found[act.relation].append(act)
    return found


def _places_taken(tx: Changes, relations: Sequence[int], going: Collection[int]) -> dict[int, str]:
    """Facts of the past that somebody has stated again meanwhile, and the id of what says the same and stays."""
    if not relations:
        return {}
    rows = tx.relations.at(relations)
    same = tx.relations.current_between({row.place for row in rows})
    current = {each.place: each.id for each in same if each.key not in going}
    return {row.key: current[row.place] for row in rows if row.place in current and row.invalid_at is not None}


# Several retractions of one thing, undone in any order. Pure.
#
# A memory or a fact is what those of its acts make it that are not taken back. When none is left that says it, it
# lies in the trash of the last retraction, which has taken the acts back that said it until then: its row is as
# they made it. It comes back with the first retraction to be undone whose acts say it again, and without what its
# holder took back.


Act = TypeVar("Act", MemoryAct, Contribution)


def given_back(acts: Iterable[Act], receipt: int | None) -> list[Act]:
    """The acts as if a receipt had taken none of them back."""
    return [act if act.trash is None or act.trash != receipt else act._replace(trash=None) for act in acts]


def was_retracted(acts: Iterable[Act], holder: int | None) -> bool:
    """Return whether the receipt took back what lies in its trash, and did not delete, merge or collect it."""
    return holder is not None and any(act.trash == holder for act in acts)
