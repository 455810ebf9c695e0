"""What an engine does for the rest of the house. The features know these protocols and no engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from memsweep.model.audit import AuditEvent, Purged, Tombstone, Trashed
from memsweep.model.code import CodeTotals, FileSkip, FileWrite, KnownFile, RunEnd
from memsweep.model.memory import Draft, EmbeddingModel, Memory, NewMemory, Remembered, Stats, Workspace
from memsweep.model.plan import Draft as PlanDraft
from memsweep.model.plan import Kind, Plan, PlanView, Receipt, Survey, Undone
from memsweep.model.search import Candidate, Filters, Passage, Place

Embed = Callable[[Sequence[str]], list[bytes]]


class Store(Protocol):
    """One workspace. Every write is one transaction; every read sees no trash."""

    @property
    def workspace_id(self) -> str: ...

    @property
    def collector(self) -> Collector: ...

    def model(self) -> EmbeddingModel | None:
        """The model of this workspace's vectors, or None before the first one."""

    def touch_twin(self, draft: Draft, content_hash: bytes, now: datetime) -> str | None:
        """If the same text is known in the same thread: mark it seen, unite its tags, return its id."""

    def add(self, new: NewMemory, model: EmbeddingModel) -> Remembered:
        """Write a memory with all that belongs to it, or touch its twin and add the names and facts to that."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def stats(self) -> Stats: ...

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> list[Candidate]:
        """The `depth` best chunks by words and the `depth` best by meaning, each with both scores."""

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        """The newest chunks: the answer to a query without words."""

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        """The keys of the live chunks at these places that pass the filters."""

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]: ...

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text, the words of the query that it contains, as the full-text index sees them."""

    def code_files(self, root: str) -> list[KnownFile]:
        """Every file of a root that is known, stale ones included."""

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        """The hashes of the chunks that these files have now: what need not be embedded again."""

    def buried(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these contents were forgotten for good and may not be learned again."""

    def move_files(self, new_paths: Mapping[str, str]) -> None:
        """New paths by memory id, all at once; the files count as changed until they are written again."""

    def write_files(
        self,
        root: str,
        files: Sequence[FileWrite | FileSkip],
        model: EmbeddingModel,
        now: datetime,
        new_id: Callable[[str], str],
    ) -> None:
        """Files in their new form, each of them whole."""

    def end_run(self, run: RunEnd, now: datetime) -> None:
        """Staleness and verification of a complete run, all at once."""

    def code_totals(self, root: str) -> CodeTotals: ...

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        """Chunks that have no vector of this model yet: the work list of a re-embedding."""

    def stage_vectors(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        """Keep vectors of another model beside the current ones."""

    def switch_model(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        """Make the staged vectors the current ones; of those missing, `at_most` are embedded on the spot.

        Returns how many are missing if they are more, and changes nothing then.
        """

    def close(self) -> None: ...


Decide = Callable[[Survey], PlanDraft]


class Collector(Protocol):
    """What the collector needs of a workspace. Every method is one transaction."""

    def code_paths(self) -> list[tuple[int, str, str]]:
        """Every live code memory with its root and its path."""

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        """The keys of those that are live."""

    def survey(self, needs: Collection[str], missing_files: Collection[int]) -> Survey: ...

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        """The kind and the key of a memory or an entity, and the receipt that holds it if it is in the trash."""

    def describe(self, kind: Kind, key: int) -> PlanView: ...

    def plan(
        self,
        decide: Decide,
        needs: Collection[str],
        missing_files: Collection[int],
        *,
        plan_id: str,
        strategy: str,
        actor: str,
        now: datetime,
        lifetime: timedelta,
    ) -> Plan:
        """Survey, decide, save."""

    def load_plan(self, plan_id: str) -> Plan: ...

    def plan_items(self, plan_id: str, offset: int, limit: int) -> list[PlanView]: ...

    def apply(
        self, plan_id: str, check: Callable[[Plan], None], *, receipt_id: str, actor: str, now: datetime, seconds: float
    ) -> Receipt:
        """Move to the trash what the plan names and is still as it was then; once."""

    def plan_and_apply(
        self,
        decide: Decide,
        needs: Collection[str],
        missing_files: Collection[int],
        check: Callable[[Plan], None],
        *,
        plan_id: str,
        receipt_id: str,
        action: str,
        strategy: str,
        actor: str,
        now: datetime,
        seconds: float,
        tombstone: str | None = None,
    ) -> Receipt:
        """All of it in one transaction."""

    def undo(self, receipt_id: str, *, actor: str, now: datetime) -> Undone: ...

    def recover(self, memory_id: str, *, receipt_id: str, actor: str, now: datetime) -> Undone: ...

    def trashed(self, limit: int, offset: int) -> tuple[list[Trashed], int]: ...

    def purge(self, before: datetime, *, actor: str, now: datetime, only: str | None = None) -> Purged: ...

    def pin(self, item_id: str, pinned: bool, *, actor: str, now: datetime) -> str: ...

    def audit(self, limit: int, subject: str | None = None) -> list[AuditEvent]: ...

    def tombstones(self) -> list[Tombstone]: ...

    def remove_tombstone(self, memory_id: str, *, actor: str, now: datetime) -> bool: ...


class Engine(Protocol):
    """All workspaces of one home."""

    def workspaces(self) -> list[Workspace]: ...

    def create(self, workspace_id: str, description: str, now: datetime) -> Workspace:
        """A new workspace, or `AlreadyExists`."""

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "") -> Workspace:
        """Take a workspace out of sight; its data is kept aside."""

    def undelete(self, receipt_id: str) -> Workspace:
        """Bring back a workspace whose deletion has this receipt."""

    def purge_deleted(self, before: datetime) -> int:
        """Free workspaces that were deleted up to a moment; how many."""

    def open(self, workspace_id: str) -> Store:
        """An existing workspace, or `UnknownWorkspace`."""

    def open_or_create(self, workspace_id: str, now: datetime) -> Store:
        """A workspace to write to: the first write creates it."""

    def close(self) -> None: ...
