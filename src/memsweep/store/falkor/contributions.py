"""What made facts what they are, and what origins brought. What writes works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from memsweep.model.contribution import Contribution, FactState, as_text, stored_contribution
from memsweep.model.origin import Origin, stored_origin
from memsweep.store.falkor import contribution_cypher as own
from memsweep.store.falkor import cypher, origin_cypher
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.ports.origins import BroughtMemory, StoredFact


def note(tx: Transaction, acts: Iterable[Contribution]) -> None:
    """Write down what is done to facts."""
    tx.do(own.ADD, [_node(tx, act) for act in acts])


def note_if_any(tx: Transaction, acts: Iterable[Contribution]) -> None:
    """The same for what no origin has to answer for: it matters only beside other contributions."""
    tx.do(own.ADD_IF_ANY, [_node(tx, act) for act in acts])


def fact_state(props: Mapping[str, Any]) -> FactState:
    """What the properties of a relation say."""
    return FactState(
        weight=props["weight"],
        last_seen=props["last_seen"],
        evidence=props["evidence"],
        explicit=props["handed_in"],
        created_at=props["created_at"],
        valid_at=props["valid_at"],
        invalid_at=props.get("invalid_at"),
    )


def _properties(state: FactState) -> dict[str, Any]:
    values = state._asdict()
    return {"handed_in": values.pop("explicit"), **values}


class FalkorOrigins:
    """Implements `memsweep.store.ports.origins.OriginRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def known(self) -> dict[int, Origin]:
        return {key: stored_origin(*said) for key, *said in self._asked.ask(origin_cypher.EVERY)}

    def memories(self, origins: Collection[int] | None) -> list[BroughtMemory]:
        return [BroughtMemory(*row) for row in self._of(own.MEMORIES, origins)]

    def relations(self, origins: Collection[int] | None) -> dict[int, int]:
        return dict(map(tuple, self._of(own.RELATIONS, origins)))

    def entities(self, origins: Collection[int] | None) -> dict[int, int]:
        return dict(map(tuple, self._of(own.ENTITIES, origins)))

    def segments(self, origins: Collection[int] | None) -> list[tuple[int, int, int]]:
        return [(key, window, made) for key, window, made in self._of(own.SEGMENTS, origins)]

    def acts(self, origins: Collection[int] | None) -> list[Contribution]:
        return [stored_contribution(row) for row in self._of(own.ACTS, origins)]

    def journal(self, relations: Collection[int]) -> list[Contribution]:
        facts = [str(key) for key in sorted(relations)]
        return [stored_contribution(row) for row in self._asked.ask(own.JOURNAL, facts=facts)] if facts else []

    def facts(self, relations: Collection[int], *, trashed: bool = False) -> dict[int, StoredFact]:
        rows = self._asked.ask(own.FACTS, keys=sorted(relations)) if relations else []
        if relations and trashed:
            rows += self._asked.ask(own.TRASHED_FACTS, keys=sorted(relations))
        return {key: StoredFact(FactState(*state), version) for key, version, *state in rows}

    def taken_back_by(self, receipt: int) -> set[int]:
        return {relation for (relation,) in self._asked.ask(own.TAKEN_BACK, receipt=receipt)}

    def take_back(self, acts: Collection[int], receipt: int | None) -> None:
        writable(self._asked).do(own.TAKE_BACK, [{"key": key, "trash": receipt} for key in sorted(acts)])

    def give_back(self, receipt: int) -> None:
        writable(self._asked).do(own.GIVE_BACK, [receipt])

    def release(self, memory: int, at: int) -> None:
        writable(self._asked).do(cypher.CHANGE_MEMORY, [{"key": memory, "set": {"released_at": at}}])

    def release_facts(self, relations: Collection[int], at: int) -> None:
        writable(self._asked).do(own.RELEASE_FACT, [{"key": key, "at": at} for key in sorted(relations)])

    def set_facts(self, facts: Mapping[int, StoredFact]) -> None:
        rows = [{"key": key, "set": {**_properties(f.state), "version": f.version}} for key, f in facts.items()]
        writable(self._asked).do(own.SET_FACT, rows)
        writable(self._asked).do(own.SET_TRASHED_FACT, rows)

    def _of(self, query: str, origins: Collection[int] | None) -> list[list[Any]]:
        return self._asked.ask(query, origins=None if origins is None else sorted(origins))


def _node(tx: Transaction, act: Contribution) -> dict[str, Any]:
    values = {**act._asdict(), "before": as_text(act.before), "after": as_text(act.after), "key": tx.new_key()}
    return {**values, "fact": str(act.relation)}
