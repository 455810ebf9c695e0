"""The records of a graph about its workspace, beside those of every engine."""

from __future__ import annotations

from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.records import Records


class FalkorRecords(Records):
    """Beside what every engine has."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self._asked = asked

    def description(self) -> str:
        asked = self._asked
        return str((asked.meta if isinstance(asked, Transaction) else asked.meta()).get("description") or "")

    def describe(self, description: str) -> None:
        writable(self._asked).set_meta(description=description)
