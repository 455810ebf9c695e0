"""Rows that hold somebody's words beside memories. What writes works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import Any

from memsweep.model.graph_rows import Alias
from memsweep.model.records import FIELDS, Record, records_of
from memsweep.store.falkor import record_cypher as own
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.stored import to_json


class FalkorRecords:
    """Implements `memsweep.store.ports.records.RecordRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def page(self, kind: str, after: int, limit: int) -> list[Record]:
        found = self._rows(kind, own.pages(kind), after=after, limit=limit)
        return sorted(found, key=lambda row: row.key)[:limit]

    def at(self, kind: str, keys: Collection[int]) -> dict[int, Record]:
        return {row.key: row for row in self._rows(kind, own.at(kind), keys=sorted(keys))} if keys else {}

    def aliases(self) -> list[Alias]:
        return [Alias(*row) for row in self._asked.ask(own.ALIASES)]

    def names_seen(self) -> list[str]:
        return [name for (name,) in self._asked.ask(own.NAMES_SEEN)]

    def description(self) -> str:
        asked = self._asked
        return str((asked.meta if isinstance(asked, Transaction) else asked.meta()).get("description") or "")

    def describe(self, description: str) -> None:
        writable(self._asked).set_meta(description=description)

    def write(self, kind: str, changed: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        written = set(FIELDS[kind].json)
        rows = [
            {
                "key": key,
                "set": {own.property_of(name): _stored(each, name in written) for name, each in values.items()},
            }
            for key, values in changed
        ]
        for step in own.writes(kind):
            writable(self._asked).do(step, rows)

    def forget_names(self, names: Collection[str]) -> None:
        writable(self._asked).do(own.FORGET_NAME, sorted(names))

    def _rows(self, kind: str, queries: list[str], **asked: Any) -> list[Record]:
        found = self._asked.ask_all(*((query, asked) for query in queries))
        return records_of(kind, chain.from_iterable(found), FIELDS[kind].json)


def _stored(value: Any, as_json: bool) -> Any:
    return to_json(value) if as_json else value
