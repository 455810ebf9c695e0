"""`memory.code`: the index of folders of code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic

from memsweep.clock import new_id
from memsweep.model.memory import CODE_SOURCE
from memsweep.operation import Mode, operation

if TYPE_CHECKING:
    from memsweep.code.index import Progress
    from memsweep.model.code import CodeOverview, IndexResult
    from memsweep.services.access import Access


class CodeService(Generic[Mode]):
    """Folders of code, kept in the workspace file by file."""

    def __init__(self, access: Access[Mode]) -> None:
        self._access = access
        self._calls = access.calls

    @operation
    def index(
        self,
        repo_path: str | os.PathLike[str],
        *,
        languages: Iterable[str] | None = None,
        recursive: bool = True,
        max_file_size: int | None = None,
        include_tests: bool = True,
        allow_empty: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> IndexResult:
        """Bring the index of a folder up to date; only what changed is read and embedded."""
        from memsweep.code.exclude import Exclusions
        from memsweep.code.index import IndexDependencies, index_codebase
        from memsweep.code.lock import one_at_a_time
        from memsweep.code.request import make_scope, narrowed, project_of, require_folder

        access, app = self._access, self._access.app
        scope = make_scope(
            os.fspath(repo_path),
            list(languages or ()),
            recursive=recursive,
            max_file_size=app.settings.code.max_file_size if max_file_size is None else max_file_size,
            include_tests=include_tests,
        )
        access.gate(CODE_SOURCE).own_id(scope.root, "repo_path")
        exclusions = Exclusions().with_secrets(app.settings.code.secrets)
        scope, exclusions = narrowed(scope, exclusions, project_of(scope.root))
        if not allow_empty and not access.exists():  # no workspace is made for what cannot be indexed
            require_folder(scope.root)
        with one_at_a_time(app.settings.home / "locks", access.workspace_id, scope.root):
            tools = IndexDependencies(
                store=access.create_store(),
                embedder=app.embedder,
                sandbox=app.sandbox,
                new_id=new_id,
                clock=access.clock,
                chunk_tokens=app.settings.chunking.size,
                exclusions=exclusions,
                secrets=app.settings.secrets.action_for(access.workspace_id, CODE_SOURCE),
                actor=access.actor,
                origin=access.origin().through("index"),
            )
            return index_codebase(tools, scope, allow_empty=allow_empty, progress=progress)

    @operation
    def roots(self) -> list[str]:
        """The folders that are indexed here."""
        store = self._access.found()
        return [] if store is None else store.code.roots()

    @operation
    def overview(self, *, runs: int = 10) -> CodeOverview:
        """The indexed folders with their files by language, what is stale and how fresh they are, and the last runs.

        A run that found nothing changed is only seen in when its folder was verified.
        """
        from memsweep.model.audit import AuditQuery
        from memsweep.model.code import CodeOverview
        from memsweep.model.paging import page_size

        page_size(runs)
        store = self._access.found()
        if store is None:
            return CodeOverview()
        events = store.collector.audit(runs, AuditQuery(action="index"))
        told = (event for _, event in events if "let_go" not in event.counts)  # sums of a day are no run
        return CodeOverview(store.code.overview(), tuple(told))

    @operation
    def wait_to_index(self, repo_path: str | os.PathLike[str]) -> bool:
        """Wait for a run of the same folder to end; False if another one waits already and will do it."""
        from memsweep.code.lock import next_in_line

        root = os.path.realpath(repo_path)
        locks = self._access.settings.home / "locks"
        with next_in_line(locks, self._access.workspace_id, root) as alone:
            return alone
