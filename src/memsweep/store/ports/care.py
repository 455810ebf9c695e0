"""The port of the doctor, backups and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memsweep.errors import StoreCorrupt
from memsweep.model.care import Compaction, Finding, Restored, RestoreRequest, Seal
from memsweep.model.memory import EmbeddingModel
from memsweep.store.copy_progress import CopyProgress

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
