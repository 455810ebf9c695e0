"""The composition root: settings → engine, embedder, operations. The only importer of engines.

`App` holds all workspaces of one home; `Memory` is one workspace with the operations on it, which the
server, the command line and the library share.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memsweep.errors import NotFound, Unconfirmed
from memsweep.model.ids import check_name, make_id
from memsweep.model.memory import EmbeddingModel, Remembered, Stats, Workspace
from memsweep.model.memory import Memory as StoredMemory
from memsweep.model.search import Filters, Page
from memsweep.settings import Settings, load_settings

if TYPE_CHECKING:
    from memsweep.embed.local import LocalEmbedder
    from memsweep.embed.protocol import Embedder
    from memsweep.remember.reembed import Progress
    from memsweep.store.protocol import Engine, Store

MAX_DESCRIPTION = 1000


class App:
    """All that one process needs; parts are made when they are first used, so that starting costs nothing."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def memory(self, workspace_id: str = "") -> Memory:
        """The operations on a workspace; an empty id means the configured one."""
        return Memory(self, check_name(workspace_id or self.settings.workspace))

    def workspaces(self) -> list[Workspace]:
        return self.engine.workspaces()

    def create_workspace(self, workspace_id: str, description: str = "") -> Workspace:
        check_name(workspace_id)
        return self.engine.create(workspace_id, check_description(description), now())

    def delete_workspace(self, workspace_id: str, *, confirm: bool = False) -> Workspace:
        """Take a workspace out of sight. Its file is kept, so nothing is lost yet."""
        check_name(workspace_id)
        self.engine.open(workspace_id)
        if confirm is not True:
            raise Unconfirmed(
                f"deleting workspace {workspace_id!r} requires explicit confirmation.",
                hint="Set confirm=true to proceed.",
            )
        workspace = next(item for item in self.workspaces() if item.id == workspace_id)
        self.engine.delete(workspace_id, now())
        return workspace

    @cached_property
    def engine(self) -> Engine:
        from memsweep.store.sqlite.engine import SqliteEngine

        return SqliteEngine(self.settings.home)

    @cached_property
    def local_model(self) -> LocalEmbedder:
        """The bundled model: the default embedder, and the tokeniser of all."""
        from memsweep.embed.local import LocalEmbedder

        return LocalEmbedder()

    @cached_property
    def embedder(self) -> Embedder:
        chosen = self.settings.embedding
        if chosen.provider == "local":
            return self.local_model
        from memsweep.embed.remote import OllamaEmbedder, OpenAIEmbedder

        if chosen.provider == "ollama":
            return OllamaEmbedder(chosen.url, chosen.model, headers={}, timeout_seconds=chosen.timeout_seconds)
        headers = {"Authorization": f"Bearer {self.settings.api_key}"} if self.settings.api_key else {}
        return OpenAIEmbedder(chosen.url, chosen.model, headers=headers, timeout_seconds=chosen.timeout_seconds)

    def warm_up(self) -> None:
        """Load what the first call would otherwise wait for."""
        if self.settings.embedding.provider == "local":
            self.local_model.embed(["warm"])
        import numkong  # noqa: F401

        import memsweep.remember.recall
        import memsweep.store.sqlite.engine  # noqa: F401

    def close(self) -> None:
        if "engine" in self.__dict__:
            self.engine.close()


class Memory:
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
            app.engine.open_or_create(self.workspace_id, now()),
            app.embedder,
            app.local_model,
            draft,
            now=now(),
            new_id=new_id,
            chunk_size=ChunkSize(chunking.size, chunking.overlap),
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
        found = self._store.memory(memory_id)
        if found is None:
            raise NotFound(
                f"memory {memory_id!r:.80} does not exist in workspace {self.workspace_id!r}.",
                hint="Take an id from search_memory or add_memory, and check the workspace.",
            )
        return found

    def stats(self) -> Stats:
        return self._store.stats()

    def model(self) -> EmbeddingModel | None:
        return self._store.model()

    def reembed(self, progress: Progress = lambda done, total: None) -> int:
        """Embed every chunk anew with the model of the settings; returns how many were embedded."""
        from memsweep.remember.reembed import reembed

        return reembed(self._store, self._app.embedder, progress)

    def close(self) -> None:
        self._app.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _store(self) -> Store:
        return self._app.engine.open(self.workspace_id)


def make_app(settings: Settings | None = None) -> App:
    return App(settings or load_settings())


def check_description(text: str) -> str:
    from memsweep.errors import BadInput

    if not isinstance(text, str) or len(text) > MAX_DESCRIPTION or "\0" in text:
        raise BadInput(f"description must be text of at most {MAX_DESCRIPTION} characters without NUL.")
    return text


def now() -> datetime:
    return datetime.now(UTC)


def new_id(prefix: str) -> str:
    return make_id(prefix, secrets.token_bytes(8))
