"""One workspace with the operations on it, which the server, the command line and the library share.

Each operation imports its feature when it is called, so that a process pays only for what it uses.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memsweep.clock import new_id, now
from memsweep.damage import damage_explained
from memsweep.errors import MemsweepError, NotFound, StoreCorrupt, UnknownWorkspace
from memsweep.model.paging import page_size
from memsweep.model.window import DEFAULT_PROJECT, WindowRow
from memsweep.upkeep import GraphUpkeep

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.code.index import Progress as IndexProgress
    from memsweep.context.service import ContextWindow
    from memsweep.gc.collect import Collecting, Safety
    from memsweep.model.audit import AuditEvent, Purged, Tombstone, Trashed
    from memsweep.model.care import Backup, Checkup, Compaction
    from memsweep.model.code import IndexResult
    from memsweep.model.memory import EmbeddingModel, Remembered, Stats
    from memsweep.model.memory import Memory as StoredMemory
    from memsweep.model.plan import Plan, PlanView, Receipt, Undone, Verdict
    from memsweep.model.search import Filters, Page
    from memsweep.remember.reembed import Progress
    from memsweep.store.protocol import Segments, Store


@damage_explained
class Memory(GraphUpkeep):
    """One workspace. Safe to use from several threads; close it, or use it in a `with`, when done."""

    def __init__(self, app: App, workspace_id: str) -> None:
        self._app = app
        self.workspace_id = workspace_id

    def add(
        self,
        text: str,
        *,
        tags: Iterable[str] | None = None,
        source: str = "",
        metadata: Mapping[str, Any] | None = None,
        thread_id: str | None = None,
        entities: Iterable[str | Mapping[str, Any]] | None = None,
        relations: Iterable[Mapping[str, Any]] | None = None,
        expires_at: str | datetime | None = None,
        pinned: bool = False,
    ) -> Remembered:
        """Remember a text. The same text in the same thread again touches the memory that is there."""
        from memsweep.remember.draft import make_draft
        from memsweep.remember.remember import ChunkSize, remember

        draft = make_draft(
            text,
            tags=tags,
            source=source,
            metadata=metadata,
            thread_id=thread_id,
            entities=entities,
            relations=relations,
            expires_at=expires_at,
            pinned=pinned,
        )
        app = self._app
        chunking = app.settings.chunking
        return remember(
            self._store_to_write(),
            app.embedder,
            app.local_model,
            draft,
            now=now(),
            new_id=new_id,
            chunk_size=ChunkSize(chunking.size, chunking.overlap),
            edge_rate=self._rates.edge,
        )

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filters: Filters | Mapping[str, Any] | None = None,
        cursor: str | None = None,
    ) -> Page:
        """Find passages by words and by meaning."""
        from memsweep.remember.filters import make_filters
        from memsweep.remember.recall import recall

        checked = make_filters(filters)
        return recall(self._store, self._app.embedder, query, filters=checked, limit=limit, cursor=cursor)

    def get(self, memory_id: str) -> StoredMemory:
        """One whole memory."""
        store = self._store
        found = store.memory(memory_id) if isinstance(memory_id, str) and memory_id.isascii() else None
        if found is None:
            raise NotFound(
                f"memory {memory_id!r:.80} does not exist in workspace {self.workspace_id!r}.",
                hint="Take an id from search_memory or add_memory, and check the workspace.",
            )
        return found

    def index(
        self,
        repo_path: str | os.PathLike[str],
        *,
        languages: Iterable[str] | None = None,
        recursive: bool = True,
        max_file_size: int | None = None,
        include_tests: bool = True,
        allow_empty: bool = False,
        progress: IndexProgress = lambda done, total: None,
    ) -> IndexResult:
        """Bring the index of a folder of code up to date; only what changed is read and embedded."""
        from memsweep.code.index import Indexing, index_codebase
        from memsweep.code.lock import one_at_a_time
        from memsweep.code.request import make_scope, require_folder

        app = self._app
        scope = make_scope(
            os.fspath(repo_path),
            list(languages or ()),
            recursive=recursive,
            max_file_size=app.settings.code.max_file_size if max_file_size is None else max_file_size,
            include_tests=include_tests,
        )
        if not allow_empty and not self._exists():  # no workspace is made for what cannot be indexed
            require_folder(scope.root)
        with one_at_a_time(app.settings.home / "locks", self.workspace_id, scope.root):
            tools = Indexing(
                store=app.engine.open_or_create(self.workspace_id, now()),
                embedder=app.embedder,
                sandbox=app.sandbox,
                new_id=new_id,
                clock=now,
                chunk_tokens=app.settings.chunking.size,
                exclusions=app.exclusions,
            )
            return index_codebase(tools, scope, allow_empty=allow_empty, progress=progress)

    def wait_to_index(self, repo_path: str | os.PathLike[str]) -> bool:
        """Wait for a run of the same folder to end; False if another one waits already and will do it."""
        from memsweep.code.lock import next_in_line

        root = os.path.realpath(repo_path)
        with next_in_line(self._app.settings.home / "locks", self.workspace_id, root) as alone:
            return alone

    def stats(self) -> Stats:
        return self._store.stats()

    def model(self) -> EmbeddingModel | None:
        return self._store.model()

    def reembed(self, progress: Progress = lambda done, total: None) -> int:
        """Embed every chunk anew with the model of the settings; returns how many were embedded."""
        from memsweep.remember.reembed import reembed

        return reembed(self._store, self._app.embedder, progress)

    def plan_prune(self, strategy: str = "stale_code", *, ttl_days: float | None = None) -> Plan:
        """Find garbage and save the exact list of it; nothing is removed."""
        from memsweep.gc import collect

        return collect.plan(self._collecting, strategy, ttl_days)

    def plan_items(self, plan_id: str, *, offset: int = 0, limit: int = 20) -> list[PlanView]:
        """What a saved plan would remove, and why."""
        from memsweep.gc import collect

        return collect.plan_items(self._collecting, plan_id, offset, page_size(limit))

    def plan(self, plan_id: str) -> Plan:
        from memsweep.gc import collect

        return collect.load_plan(self._collecting, plan_id)

    def apply_plan(self, plan_id: str, *, confirm: bool = False, allow_large: bool = False) -> Receipt:
        """Move what a saved plan names to the trash, and nothing else."""
        from memsweep.gc import collect

        return collect.apply(self._collecting, plan_id, confirm=confirm, allow_large=allow_large)

    def prune(
        self,
        strategy: str = "stale_code",
        *,
        confirm: bool = False,
        allow_large: bool = False,
        ttl_days: float | None = None,
    ) -> Receipt:
        """Plan and apply in one transaction."""
        from memsweep.gc import collect

        return collect.plan_and_apply(
            self._collecting, strategy, confirm=confirm, allow_large=allow_large, ttl_days=ttl_days
        )

    def undo(self, receipt_id: str) -> Undone:
        """Everything that a receipt moved, back where it was."""
        from memsweep.gc import collect

        return collect.undo(self._collecting, receipt_id)

    def recover(self, memory_id: str) -> Undone:
        """One memory back from the trash."""
        from memsweep.gc import collect

        return collect.recover(self._collecting, memory_id)

    def trash(self, *, offset: int = 0, limit: int = 20) -> tuple[list[Trashed], int]:
        """What waits in the trash, newest first, and how much there is."""
        return self._store.collector.trashed(page_size(limit), offset)

    def purge(self, older_than_days: float = 30.0, *, confirm: bool = False) -> Purged:
        """Free what has been in the trash for so long; this cannot be undone."""
        from memsweep.gc import collect

        return collect.purge(self._collecting, older_than_days, confirm=confirm)

    def delete(self, memory_id: str, *, confirm: bool = False, forever: bool = False) -> Receipt:
        """One memory to the trash; `forever` frees it at once and keeps it from being learned again."""
        from memsweep.gc import collect

        return collect.delete(self._collecting, memory_id, confirm=confirm, forever=forever)

    def validate_deletion_safety(self, memory_ids: Iterable[str]) -> Safety:
        """Whether all of these are here to be deleted, and what to think of first."""
        from memsweep.gc import collect

        ids = list(memory_ids)
        try:
            return collect.validate_deletion_safety(self._collecting, ids)
        except UnknownWorkspace:
            return collect.Safety(False, (f"Workspace {self.workspace_id!r} does not exist",), tuple(ids))

    def clear(self, confirm_phrase: str) -> Receipt:
        """Everything that is not pinned to the trash."""
        from memsweep.gc import collect

        return collect.clear(self._collecting, confirm_phrase)

    def pin(self, item_id: str, pinned: bool = True) -> str:
        """Keep a memory or an entity out of every plan, or let it go again; which of them it is."""
        from memsweep.gc import collect

        return collect.pin(self._collecting, item_id, pinned)

    def explain(self, item_id: str) -> tuple[Verdict, list[PlanView], list[AuditEvent]]:
        """Why a memory or an entity is alive or garbage, the way to what keeps it, and its history."""
        from memsweep.gc import collect

        return collect.explain(self._collecting, item_id)

    def audit(self, *, limit: int = 50, subject: str | None = None) -> list[AuditEvent]:
        """Who did what, when and why, newest first."""
        return self._store.collector.audit(page_size(limit), subject)

    def tombstones(self) -> list[Tombstone]:
        """What was forgotten for good and may not be learned again."""
        return self._store.collector.tombstones()

    def remove_tombstone(self, memory_id: str) -> None:
        """Let it be learned again."""
        from memsweep.gc import collect

        if not collect.remove_tombstone(self._collecting, memory_id):
            raise NotFound(f"there is no tombstone of {memory_id!r:.60}.", hint="`memsweep tombstone list` shows them.")

    def doctor(self, *, repair: bool = False) -> Checkup:
        """Check every invariant of the workspace and its home; `repair` mends what can be mended without loss."""
        from memsweep.care.doctor import Caring, doctor

        app = self._app
        tools = Caring(
            workspace_id=self.workspace_id,
            home=app.engine.keeper,
            store=lambda: self._store,
            embedder=lambda: app.embedder,
            actor=app.actor,
            clock=now,
        )
        return doctor(tools, repair=repair)

    def _explain_damage(self) -> StoreCorrupt | None:
        """What is damaged in the workspace, as an error; None if nothing is."""
        try:
            return self._store.keeper.explain()
        except StoreCorrupt as error:
            return error
        except MemsweepError:
            return None

    def compact(self) -> Compaction:
        """Give back the space that nothing uses any more."""
        return self._store.keeper.compact()

    def backup(self, path: str | os.PathLike[str], *, force: bool = False) -> Backup:
        """Copy the workspace as it is now to a file, with its trash, plans, receipts and audit log."""
        from memsweep import __version__
        from memsweep.care.backup import backup

        return backup(self._store.keeper, path, version=__version__, clock=now, force=force)

    def window(self, project_id: str = DEFAULT_PROJECT) -> ContextWindow:
        """One context window of this workspace; the first segment makes it."""
        from memsweep.context.service import ContextWindow, sweeping

        tools = sweeping(self._app.settings, self._segments, self._app.actor, now, new_id)
        return ContextWindow(tools, project_id, self._explain_damage)

    def windows(self) -> list[WindowRow]:
        """The context windows of this workspace that hold anything, by name."""
        return self._store.segments.windows()

    def _segments(self, create: bool) -> Segments:
        engine = self._app.engine
        return (engine.open_or_create(self.workspace_id, now()) if create else self._store).segments

    def close(self) -> None:
        self._app.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _collecting(self) -> Collecting:
        return self.collecting(self._app.actor)

    def collecting(self, actor: str) -> Collecting:
        """The collector of this workspace, acting in somebody's name."""
        from memsweep.gc.collect import Collecting

        settings = self._app.settings.gc
        return Collecting(
            store=self._store.collector,
            workspace_id=self.workspace_id,
            actor=actor,
            clock=now,
            new_id=new_id,
            plan_hours=settings.plan_hours,
            grace_days=settings.grace_days,
            apply_seconds=settings.apply_seconds,
            fading=self._fading,
        )

    def _exists(self) -> bool:
        try:
            return bool(self._store)
        except UnknownWorkspace:
            return False

    def _store_to_write(self) -> Store:
        """The first write makes the workspace, but not before there is a model that could embed it."""
        try:
            return self._store
        except UnknownWorkspace:
            _ = self._app.embedder.model  # a server that is down says so here
            return self._app.engine.open_or_create(self.workspace_id, now())

    @property
    def _store(self) -> Store:
        return self._app.engine.open(self.workspace_id)
