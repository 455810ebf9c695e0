"""What made facts what they are, and what origins brought. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import apsw

from memsweep.model.contribution import Contribution, FactState, as_text, outcome, stored_contribution
from memsweep.model.origin import Origin, stored_origin
from memsweep.store.ports.origins import BroughtMemory, StoredFact
from memsweep.store.sqlite import contribution_sql as own
from memsweep.store.sqlite.lists import as_list


def contribute(db: apsw.Connection, act: Contribution) -> FactState:
    """Write an act down, and what a fact that was there is after it."""
    after = outcome(act)
    db.execute(own.ADD, _values(act))
    if act.before is not None:
        db.execute(own.SET_STRENGTH, (*after[:4], act.relation))
    return after


def note(db: apsw.Connection, acts: Iterable[Contribution]) -> None:
    """Write down what is done to facts already."""
    db.executemany(own.ADD, [_values(act) for act in acts])


def note_if_any(db: apsw.Connection, acts: Iterable[Contribution]) -> None:
    """The same for what no origin has to answer for: it matters only beside other contributions."""
    db.executemany(own.ADD_IF_ANY, [_values(act) for act in acts])


def fact_state(weight: Any, seen: int, evidence: int, explicit: Any, *times: Any) -> FactState:
    """From the columns of a relation, in the order of `contribution_sql.FACT`."""
    return FactState(weight, seen, evidence, bool(explicit), *times)


class SqliteOrigins:
    """Implements `memsweep.store.ports.origins.OriginRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def known(self) -> dict[int, Origin]:
        rows: Iterable[Any] = self._db.execute(own.ORIGINS)
        return {key: stored_origin(*said) for key, *said in rows}

    def memories(self, origins: Collection[int] | None) -> list[BroughtMemory]:
        return [BroughtMemory(*row) for row in self._of(own.MEMORIES, origins)]

    def relations(self, origins: Collection[int] | None) -> dict[int, int]:
        return dict(self._of(own.RELATIONS, origins))

    def entities(self, origins: Collection[int] | None) -> dict[int, int]:
        return dict(self._of(own.ENTITIES, origins))

    def segments(self, origins: Collection[int] | None) -> list[tuple[int, int, int]]:
        return self._of(own.SEGMENTS, origins)

    def acts(self, origins: Collection[int] | None) -> list[Contribution]:
        return [stored_contribution(row) for row in self._of(own.ACTS, origins)]

    def journal(self, relations: Collection[int]) -> list[Contribution]:
        return [stored_contribution(row) for row in self._db.execute(own.JOURNAL, (as_list(relations),))]

    def facts(self, relations: Collection[int], *, trashed: bool = False) -> dict[int, StoredFact]:
        rows: Iterable[Any] = self._db.execute(own.STATES, {"keys": as_list(relations), "trashed": trashed})
        return {key: StoredFact(fact_state(*state), version) for key, version, *state in rows}

    def taken_back_by(self, receipt: int) -> set[int]:
        return {relation for (relation,) in self._db.execute(own.TAKEN_BACK, (receipt,))}

    def take_back(self, acts: Collection[int], receipt: int | None) -> None:
        self._db.execute(own.TAKE_BACK, (receipt, as_list(acts)))

    def give_back(self, receipt: int) -> None:
        self._db.execute(own.GIVE_BACK, (receipt,))

    def release(self, memory: int, at: int) -> None:
        self._db.execute(own.RELEASE, (at, memory))

    def release_facts(self, relations: Collection[int], at: int) -> None:
        self._db.executemany(own.RELEASE_FACT, [(at, key) for key in sorted(relations)])

    def set_facts(self, facts: Mapping[int, StoredFact]) -> None:
        self._db.executemany(own.SET_FACT, [(*fact.state, fact.version, key) for key, fact in facts.items()])

    def _of(self, statement: str, origins: Collection[int] | None) -> list[Any]:
        return self._db.execute(statement, {"origins": None if origins is None else as_list(origins)}).fetchall()


def _values(act: Contribution) -> tuple[Any, ...]:
    values = (act.relation, act.act, act.at, act.rate, act.value, act.explicit, act.valid_at, act.origin, act.memory)
    return *values, as_text(act.before), as_text(act.after)
