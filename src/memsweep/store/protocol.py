"""What an engine does for the rest of the house. The features know these protocols and no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memsweep.errors import StoreCorrupt
from memsweep.model.audit import AuditEvent, Tombstone, Trashed
from memsweep.model.care import Compaction, Finding, Restored, Seal
from memsweep.model.code import CodeTotals, FileWrite, KnownFile, RunEnd
from memsweep.model.memory import EmbeddingModel, Memory, MemoryDraft, NewMemory, NewPiece, Remembered, Stats, Workspace
from memsweep.model.search import Candidate, Filters, Passage, Place
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.window import Held, WindowRow, WindowState
from memsweep.store.changes import Changes, Reads
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.graph_protocol import Graph, WholeGraph
from memsweep.store.ports.items import ItemRows
from memsweep.store.ports.plans import PlanRows

Embed = Callable[[Sequence[str]], list[bytes]]


class Store(Protocol):
    """One workspace. Every write is one transaction; every read sees no trash."""

    @property
    def workspace_id(self) -> str: ...

    @property
    def collector(self) -> Collector: ...

    @property
    def segments(self) -> Segments: ...

    @property
    def graph(self) -> Graph: ...

    @property
    def whole_graph(self) -> WholeGraph: ...

    @property
    def keeper(self) -> Keeper: ...

    def model(self) -> EmbeddingModel | None:
        """The model of this workspace's vectors, or None before the first one."""

    def touch_twin(self, draft: MemoryDraft, content_hash: bytes, now: datetime) -> str | None:
        """If the same text is known in the same thread: mark it seen, unite its tags, return its id."""

    def add(self, new: NewMemory, model: EmbeddingModel) -> Remembered:
        """Write a memory with all that belongs to it, or touch its twin and add the names and facts to that."""

    def memory(self, memory_id: str) -> Memory | None: ...

    def stats(self) -> Stats: ...

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> list[Candidate]:
        """The `depth` best chunks by words and by meaning, each with both scores; an engine may hand in more."""

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        """The newest chunks: the answer to a query without words."""

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        """The keys of the live chunks at these places that pass the filters."""

    def passages(self, keys: Sequence[int]) -> dict[int, Passage]:
        """Those that are live and can be read."""

    def unreadable(self, keys: Sequence[int]) -> int:
        """How many of these are live and damaged."""

    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        """Note when memories were read, if that was later than what is known; False if somebody writes just now.

        Neither a change nor an event: no version, no revision, no audit, no waiting. Where nothing may be written,
        nothing happens.
        """

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text, the words of the query that it contains, as the full-text index sees them."""

    def code_roots(self) -> list[str]:
        """The folders that were indexed."""

    def code_files(self, root: str) -> list[KnownFile]:
        """Every file of a root that is known, stale ones included, and those it lists without a memory of its own."""

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        """The hashes of the chunks that these files have now: what need not be embedded again."""

    def tombstoned(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Which of these contents were forgotten for good and may not be learned again."""

    def write_files(
        self,
        root: str,
        files: Sequence[FileWrite],
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


class Collector(Protocol):
    """What the collector needs of a workspace."""

    def reading(self) -> AbstractContextManager[Reads]: ...

    def changing(self, seconds: float | None = None) -> AbstractContextManager[Changes]:
        """A transaction: read, decide, write; refused as a whole if somebody else wrote meanwhile.

        It is given up after so many `seconds`.
        """

    def code_paths(self) -> list[tuple[int, str, str]]:
        """Every live code memory with its root and its path."""

    def memory_keys(self, ids: Sequence[str]) -> dict[str, int]:
        """The keys of those that are live."""

    def trashed(self, limit: int, offset: int) -> tuple[list[Trashed], int]: ...

    def wipe(self, done: str) -> None:
        """Remove what a transaction freed from wherever else it is kept; an error says first what was `done`."""

    def audit(self, limit: int, subject: str | None = None) -> list[AuditEvent]: ...

    def tombstones(self) -> list[Tombstone]: ...


class Segments(Protocol):
    """The context windows of a workspace. An open window is one transaction: all of it or nothing."""

    def windows(self) -> list[WindowRow]:
        """Those with segments, in the window or in the stash, by name."""

    def reading(self, project_id: str) -> AbstractContextManager[OpenWindow]:
        """A window as it is at one moment, or `NotFound`."""

    def writing(self, project_id: str, *, create_at: datetime | None = None) -> AbstractContextManager[OpenWindow]:
        """A window to change, or `NotFound` unless it may be made."""


class OpenWindow(Protocol):
    """One context window inside a transaction. Lists are in session order; the state is saved at the end."""

    @property
    def project_id(self) -> str: ...

    @property
    def state(self) -> WindowState: ...

    @property
    def items(self) -> ItemRows: ...

    @property
    def plans(self) -> PlanRows: ...

    def active(self) -> list[Held]: ...

    def live(self) -> list[Held]:
        """Active and stashed."""

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        """Those of these that are active or stashed."""

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Those of these that are active, stashed or in the trash."""

    def next_to_examine(self, count: int, generation: Generation) -> list[Held]:
        """Active segments of a generation in turn, so that small steps come round to everything."""

    def last_messages(self, count: int) -> set[str]: ...

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        """Those of these that another active segment refers to."""

    def matches(self, query: str, count: int) -> dict[int, float]:
        """The places of the stashed segments that match best, with their scores."""

    def stashed_at(self, places: Iterable[int]) -> dict[int, Held]: ...

    def add(self, segments: Iterable[ContextSegment]) -> None: ...

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        """Generation and survival count, by key."""

    def pin(self, held: Iterable[Held], pinned: bool) -> None: ...

    def stash(self, held: Sequence[Held], receipt: int) -> None: ...

    def restore(self, held: Sequence[Held]) -> None: ...

    def trash(self, held: Sequence[Held], receipt: int) -> None: ...

    def add_receipt(self, receipt_id: str, plan_id: str | None, action: str, actor: str, now: datetime) -> int: ...

    def fill_receipt(self, receipt: int, stashed: int, deleted: int, refused: Iterable[tuple[str, str]]) -> None: ...

    def audit(
        self, action: str, subject: str, counts: dict[str, int], reason: str, actor: str, now: datetime
    ) -> None: ...


class Keeper(Protocol):
    """Looks after a workspace: examine, repair, compact, copy."""

    def examine(self) -> list[Finding]:
        """Every invariant that does not hold."""

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        """Mend one kind of finding in one transaction, and note it in the audit log; what could not be saved."""

    def explain(self) -> StoreCorrupt | None:
        """What is damaged, if that may be why something failed that should not fail."""

    def chunkless(self) -> list[tuple[int, str]]:
        """Live memories that have text and no chunks: their keys and texts."""

    def add_chunks(
        self, chunks: Mapping[int, Sequence[NewPiece]], found: Sequence[Finding], *, actor: str, now: datetime
    ) -> None:
        """Chunks for memories that have none, without vectors; a code file is read anew by the next index run."""

    def unfit_chunks(self) -> list[tuple[int, str]]:
        """Chunks without a vector, or with one of another dimension."""

    def fit_vectors(
        self,
        vectors: Iterable[tuple[int, bytes]],
        model: EmbeddingModel,
        found: Sequence[Finding],
        *,
        actor: str,
        now: datetime,
    ) -> None: ...

    def compact(self) -> Compaction:
        """Give back the space that nothing uses any more, while others read."""

    def copy(self, draft: Path, named: Path, version: str, now: datetime, progress: CopyProgress | None = None) -> Seal:
        """One consistent state into an empty file, sealed with a digest, while others write."""


class HomeKeeper(Protocol):
    """Looks after what holds the workspaces."""

    def examine(self) -> list[Finding]: ...

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]: ...

    def install(
        self,
        source: Path,
        workspace_id: str,
        *,
        replace: bool,
        receipt_id: str,
        actor: str,
        now: datetime,
        progress: CopyProgress | None = None,
    ) -> Restored:
        """Make a workspace of a copy; what was there is put aside if `replace`, or the copy is refused."""


class Engine(Protocol):
    """All workspaces of one home."""

    @property
    def keeper(self) -> HomeKeeper: ...

    def workspaces(self) -> list[Workspace]: ...

    def create(self, workspace_id: str, description: str, now: datetime) -> Workspace:
        """A new workspace, or `AlreadyExists`."""

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "") -> Workspace:
        """Take a workspace out of sight; its data is kept aside."""

    def undelete(self, receipt_id: str) -> Workspace:
        """Bring back a workspace whose deletion has this receipt."""

    def count_deleted(self, before: datetime) -> int:
        """How many workspaces were deleted up to a moment and are not freed yet."""

    def purge_deleted(self, before: datetime) -> int:
        """Free workspaces that were deleted up to a moment; how many. What was cut short is finished too."""

    def open(self, workspace_id: str) -> Store:
        """An existing workspace, or `UnknownWorkspace`."""

    def open_or_create(self, workspace_id: str, now: datetime) -> Store:
        """A workspace to write to: the first write creates it."""

    def close(self) -> None: ...
