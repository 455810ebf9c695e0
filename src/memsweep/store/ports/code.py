"""What indexing asks of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from memsweep.model.code import CodeTotals, FileWrite, KnownFile, RunEnd
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.workspace import EmbeddingModel


class CodeFiles(Protocol):
    """Files of code, each a memory."""

    def roots(self) -> list[str]:
        """The folders that were indexed."""

    def files(self, root: str) -> list[KnownFile]:
        """Every file of a root that is known, stale ones included, and those it lists without a memory of its own."""

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        """The hashes of the chunks that these files have now: what need not be embedded again."""

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Those of these texts that were forgotten for good and may not be learned again."""

    def write(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: Callable[[str], str],
        origin: Origin = UNKNOWN,
    ) -> None:
        """Files in their new form, each of them whole."""

    def end_run(self, run: RunEnd, now: datetime) -> None:
        """Staleness and verification of a complete run, all at once."""

    def totals(self, root: str) -> CodeTotals: ...
