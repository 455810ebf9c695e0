"""`memory.care`: the health of a workspace, its space, its copies, its embedding model."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic

from memsweep.clock import new_id
from memsweep.errors import MemsweepError, StoreError
from memsweep.model.plan import Operation
from memsweep.model.text import counted
from memsweep.operation import SUSPECTS, Mode, operation

if TYPE_CHECKING:
    from memsweep.memory.reembed import Progress
    from memsweep.model.care import Backup, Checkup, Compaction
    from memsweep.model.memory import EmbeddingModel
    from memsweep.model.revision import Piece
    from memsweep.services.access import Access


class CareService(Generic[Mode]):
    """Upkeep of a whole workspace."""

    def __init__(self, access: Access[Mode]) -> None:
        self._access = access
        self._calls = access.calls

    @operation
    def doctor(self, *, repair: bool = False) -> Checkup:
        """Check every invariant of the workspace and its home; `repair` repairs what can be repaired without loss."""
        from memsweep.care.doctor import DoctorDependencies, doctor
        from memsweep.memory.names import find_names

        access = self._access

        def cut(text: str) -> Sequence[Piece]:
            from memsweep.memory.remember import ChunkSize, pieces

            chunking = access.settings.chunking
            return pieces(access.app.local_model, text, new_id, ChunkSize(chunking.size, chunking.overlap))

        tools = DoctorDependencies(
            workspace_id=access.workspace_id,
            home=access.app.engine.keeper,
            store=lambda: access.store,
            found=access.found,
            embedder=lambda: access.app.embedder,
            cut=cut,
            find_names=find_names,
            actor=access.actor,
            clock=access.clock,
        )
        found = doctor(tools, repair=repair)
        found = replace(found, remarks=tuple(self._remarks()))
        with contextlib.suppress(MemsweepError):  # a home that is damaged has been told of
            return replace(found, stranded=tuple(access.app.projects.stranded()))
        return found

    def _remarks(self) -> list[str]:
        """Return what is no damage: how many secrets the rules find in what is stored, never which."""
        from memsweep.collector.redact import count_secrets

        try:
            store = self._access.found()
            if store is None:
                return ["Nothing is stored here yet."]
            with store.collector.reading() as rows:
                number = count_secrets(rows)
        except (MemsweepError, *SUSPECTS):  # damaged: that is what the findings are about
            return []
        found = f"The rules find secrets in {counted(number, 'place')}; `memsweep prune -s secrets` shows them masked."
        return [found] if number else []

    @operation
    def compact(self) -> Compaction:
        """Return unused space to the disk."""
        return self._access.store.keeper.compact()

    @operation
    def backup(self, path: str | os.PathLike[str], *, force: bool = False) -> Backup:
        """Copy the workspace as it is now to a file, with its trash, plans, receipts and audit log."""
        from memsweep import __version__
        from memsweep.care.copy import backup

        store, access = self._access.store, self._access
        made = backup(store.keeper, path, version=__version__, clock=access.clock, force=force)
        # The backup is made, whatever becomes of the note; a store that cannot be written can be backed up, too.
        with contextlib.suppress(StoreError), store.collector.changing() as tx:
            tx.audit(Operation(access.actor, access.clock()).event("backup", access.gate("").text(str(made.path))))
        return made

    @operation
    def model(self) -> EmbeddingModel | None:
        """The embedding model of the workspace; None before the first memory."""
        return self._access.store.model()

    @operation
    def reembed(self, progress: Progress = lambda done, total: None) -> int:
        """Recompute every embedding with the configured model; returns how many."""
        from memsweep.memory.reembed import reembed

        return reembed(self._access.store, self._access.app.embedder, progress)
