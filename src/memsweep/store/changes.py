"""One transaction on a workspace, as the collector sees it: read rows, decide, write one set of rows.

Every engine gives the same: what is read is the state at one revision, writes are gathered or done inside a
transaction that is whole or nothing, and **nothing reads what the same transaction has written**. So whoever
uses it reads first, decides in plain Python, and writes last. An engine knows no strategy, no action and no
reason; it answers neutral questions about rows and moves sets of them.
"""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime

from memsweep.model.audit import AuditEvent
from memsweep.model.times import to_micros
from memsweep.store.audit_rows import let_go, log
from memsweep.store.facts import Mentions, Moves, Relations
from memsweep.store.journals import Origins, Revisions
from memsweep.store.memory_acts import MemoryActRows
from memsweep.store.plans import Reads
from memsweep.store.receipts import Plans, Receipts, Tombstones
from memsweep.store.records import Aliases, Entities, Records
from memsweep.store.rows import Rows
from memsweep.store.texts import Texts
from memsweep.store.trash import Trash
from memsweep.store.windows import CollectedSegments


class WorkspaceReads(Reads):
    """Questions that change nothing: what is there, and what was before. An engine sets what only it can answer."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.records = Records(rows)
        self.texts = Texts(rows)
        self.plans = Plans(rows)
        self.receipts = Receipts(rows)
        self.revisions = Revisions(rows)

    @abstractmethod
    def matches(self, window: int, query: str, count: int) -> dict[int, float]:
        """Return the places of the stashed segments of a window that match a query best, with their scores."""


class Changes(WorkspaceReads):
    """A transaction under way. Leaving it without an error keeps all of it, with one nothing."""

    trash: Trash
    acts: MemoryActRows

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.origins = Origins(rows)
        self.entities = Entities(rows)
        self.relations = Relations(rows)
        self.mentions = Mentions(rows)
        self.moves = Moves(rows)
        self.aliases = Aliases(rows)
        self.tombstones = Tombstones(rows)
        self.segments = CollectedSegments(rows)

    def let_go(self, before: datetime, most: int) -> bool:
        """Drop so many receipts that were purged, and events, before a moment; return whether more may be left.

        The sums of events stay, and so do those that tell of backups and imports.
        """
        of_receipts, of_events = self.receipts.let_go(before, most), let_go(self.rows, to_micros(before), most)
        return of_receipts or of_events

    def audit(self, event: AuditEvent) -> None:
        log(self.rows, event)
