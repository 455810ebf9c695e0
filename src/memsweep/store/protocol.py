"""The protocol of a workspace: what an engine does in one, with a port for every feature."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from memsweep.errors import StoreCorrupt
    from memsweep.model.care import Compaction, Finding, Restored, RestoreRequest, Seal
    from memsweep.model.memory import EmbeddingModel, Memory, Stats
    from memsweep.model.search import Candidates, FactWords, FileWords, Filters, Place, Statement
    from memsweep.store.changes import Changes, WorkspaceReads
    from memsweep.store.code_files import CodeFiles
    from memsweep.store.collector import Collector
    from memsweep.store.copy_progress import CopyProgress
    from memsweep.store.graph import Graph
    from memsweep.store.overview import Overview
    from memsweep.store.rows import Read, RowReads, Rows
    from memsweep.store.windows import Windows

R = TypeVar("R")


class Store(ABC):
    """One workspace. Every write is one transaction; every read sees no trash."""

    workspace_id: str

    @abstractmethod
    def keep_metadata_index(self, paths: tuple[str, ...]) -> None:
        """Have indexes of the values at these paths in metadata, and of no others; looked at once in a process."""

    @abstractmethod
    def change_number(self) -> str:
        """Another text after every transaction that changes something, whoever made it; one cheap read."""

    @abstractmethod
    def revision(self) -> str:
        """Another text whenever what can be found has changed."""

    @cached_property
    @abstractmethod
    def rows(self) -> RowReads: ...

    @abstractmethod
    def model(self) -> EmbeddingModel | None:
        """The model of this workspace's vectors, or None before the first one."""

    @abstractmethod
    def writing(self, ahead: Iterable[Read] = ()) -> AbstractContextManager[Rows]:
        """Open a transaction on rows alone, which will ask this first."""

    @abstractmethod
    def memory(self, memory_id: str) -> Memory | None: ...

    @abstractmethod
    def mark_seen(self, seen: Mapping[str, datetime]) -> bool:
        """Note when memories were read, if that was later than what is known; False if somebody writes just now.

        Neither a change nor an event: no version, no revision, no audit, no waiting. Where nothing may be written,
        nothing happens.
        """

    @abstractmethod
    def stats(self) -> Stats: ...

    @abstractmethod
    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> Candidates:
        """The `depth` best chunks by words and by meaning, each with both scores; an engine may hand in more."""

    @abstractmethod
    def chunks(
        self, filters: Filters, *, at: Collection[Place] | None = None, limit: int = 0
    ) -> dict[int, Place | None]:
        """Return the live chunks that pass, by key with their places: those at some places, or the newest, in order."""

    @abstractmethod
    def file_words(self, query: str, most: int) -> FileWords:
        """The rarest words of a query in live files of code: as many of them as stand in `most` chunks in all."""

    @abstractmethod
    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        """Facts of which an end or the relation is asked for: those first of which most parts are, then the newest.

        What only code says is left out: it is found as code; so is what only memories say that had expired by a moment.
        `ended`: facts that hold no more are wanted, too."""

    @cached_property
    @abstractmethod
    def code(self) -> CodeFiles: ...

    @cached_property
    @abstractmethod
    def overview(self) -> Overview: ...

    @cached_property
    @abstractmethod
    def keeper(self) -> Keeper: ...

    @abstractmethod
    def reading(self) -> AbstractContextManager[WorkspaceReads]:
        """Open the workspace to be read."""

    @abstractmethod
    def changing(self, seconds: float | None = None, *, ahead: Sequence[Read] = ()) -> AbstractContextManager[Changes]:
        """Open a transaction: read, decide, write; refused as a whole if somebody else wrote meanwhile.

        It is given up after so many `seconds`. What it asks first can be asked `ahead`, which saves a round trip.
        """

    @abstractmethod
    def at_one_moment(self, read: Callable[[WorkspaceReads], R]) -> R:
        """Return what several reads found between which nobody wrote."""

    @abstractmethod
    def wipe(self, done: str, *, freed: bool = True) -> list[str]:
        """Remove what a transaction freed (if it did) from wherever else it is; an error says first what was `done`.

        Answers where something of it may still be, in words.
        """

    @abstractmethod
    def close(self) -> None: ...

    # Most commands need one feature or none, and importing the others would take longer than the command.

    @cached_property
    def collector(self) -> Collector:
        from memsweep.store.collector import Collector

        return Collector(self)

    @cached_property
    def graph(self) -> Graph:
        from memsweep.store.graph import Graph

        return Graph(self)

    @cached_property
    def windows(self) -> Windows:
        from memsweep.store.windows import Windows

        return Windows(self)


Embed = Callable[[Sequence[str]], list[bytes]]


class Keeper(Protocol):
    """Looks after a workspace: examine, repair, compact, copy, embed by another model.

    Vectors of another model are staged beside the current ones, then take their place.
    """

    def unstaged(self, model: EmbeddingModel, limit: int) -> list[tuple[int, str]]:
        """Chunks that have no vector of this model yet: the work list of a re-embedding."""

    def stage(self, vectors: Iterable[tuple[int, bytes]], model: EmbeddingModel) -> None:
        """Keep vectors of another model beside the current ones."""

    def switch(self, model: EmbeddingModel, embed: Embed, at_most: int) -> int:
        """Make the staged vectors the current ones; of those missing, `at_most` are embedded on the spot.

        Returns how many are missing if they are more, and changes nothing then.
        """

    def examine(self) -> list[Finding]:
        """Every invariant that does not hold."""

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]:
        """Mend one kind of finding in one transaction, and note it in the audit log; what could not be saved."""

    def explain(self) -> StoreCorrupt | None:
        """Return the damage, if that may be why something failed that should not fail."""

    def compact(self) -> Compaction:
        """Give back the space that nothing uses any more, while others read."""

    def copy(self, draft: Path, named: Path, version: str, now: datetime, progress: CopyProgress | None = None) -> Seal:
        """One consistent state into an empty file, sealed with a digest, while others write."""


class HomeKeeper(Protocol):
    """Looks after what holds the workspaces."""

    def examine(self) -> list[Finding]: ...

    def repair(self, cure: str, found: Sequence[Finding], *, actor: str, now: datetime) -> list[str]: ...

    def install(self, source: Path, request: RestoreRequest, progress: CopyProgress | None = None) -> Restored:
        """Make a workspace of a copy."""
