"""`Memory`: one workspace, with its memories at hand and everything else by feature.

Each operation imports its feature when it is called, so that a process pays only for what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, Unpack

from memsweep.clock import new_id
from memsweep.errors import UnknownWorkspace
from memsweep.model.frozen import replace
from memsweep.model.ids import DEFAULT_PROJECT
from memsweep.model.paging import DEFAULT_LISTED, page_size, within
from memsweep.model.search import MAX_LIMIT, Filters, Page
from memsweep.operation import Async, Mode, Sync, operation
from memsweep.services.access import Access, async_access, collector, sync_access

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.collector.update import NewText
    from memsweep.context.service import ContextWindow
    from memsweep.model.counts import Counts
    from memsweep.model.graph import WorkspaceBriefing
    from memsweep.model.listing import MemoryPage
    from memsweep.model.memory import Memory as StoredMemory
    from memsweep.model.memory import NamedThing, Remembered, Remembering, Stats
    from memsweep.model.plan import Deleted
    from memsweep.model.revision import EarlierText, Updated
    from memsweep.model.search import Passage, SearchMode
    from memsweep.model.window import WindowRow
    from memsweep.services.adopt import AdoptService
    from memsweep.services.care import CareService
    from memsweep.services.code import CodeService
    from memsweep.services.graph import GraphService
    from memsweep.services.sweep import SweepService
    from memsweep.store.protocol import Store
    from memsweep.store.windows import Windows


class BaseMemory(Generic[Mode]):
    """The operations of `Memory` and of `AsyncMemory`."""

    def __init__(self, access: Access[Mode]) -> None:
        self._access = access
        self._calls = access.calls
        self.workspace_id = access.workspace_id

    @cached_property
    def code(self) -> CodeService[Mode]:
        from memsweep.services.code import CodeService

        return CodeService(self._access)

    @cached_property
    def graph(self) -> GraphService[Mode]:
        from memsweep.services.graph import GraphService

        return GraphService(self._access)

    @cached_property
    def sweep(self) -> SweepService[Mode]:
        from memsweep.services.sweep import SweepService

        return SweepService(self._access)

    @cached_property
    def care(self) -> CareService[Mode]:
        from memsweep.services.care import CareService

        return CareService(self._access)

    @cached_property
    def adopt(self) -> AdoptService[Mode]:
        from memsweep.services.adopt import AdoptService

        access = self._access
        return AdoptService(access.settings, access.clock, in_thread=access.calls.in_thread)

    @operation
    def remember(
        self,
        text: str,
        *,
        find_similar: bool = False,
        **said: Unpack[Remembering],
    ) -> Remembered:
        """Remember a text. Adding the same text to the same thread again only marks the memory as seen.

        `supersedes`: the ids of memories whose place it takes; search leaves them out from then on. `find_similar`:
        the result also names memories that it seems to repeat or to contradict. `tier`
        lowers how far it is trusted: person, agent, tool or import. What has the scope `personal` goes to the personal
        workspace, and is found in every project.
        """
        from memsweep.memory.remember import ChunkSize, make_draft, remember, through_gate

        scope, tier = said.pop("scope", ""), said.pop("tier", "")
        draft, access = make_draft(text, **said), self._access.in_scope(scope)
        origin = access.origin(tier)
        gate = access.gate(draft.source)
        draft = through_gate(draft, gate)
        app, chunking = access.app, access.settings.chunking
        result = remember(
            _store_to_fill(access, draft.supersedes),
            app.embedder,
            app.local_model,
            draft,
            now=self._access.clock(),
            new_id=new_id,
            chunk_size=ChunkSize(chunking.size, chunking.overlap),
            edge_rate=app.settings.graph.decay().edge,
            actor=self._access.actor,
            origin=origin,
            find_similar=find_similar,
        )
        return replace(result, redacted=gate.redacted, warnings=gate.warnings)

    @operation
    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filters: Filters | Mapping[str, Any] | None = None,
        cursor: str | None = None,
        mode: SearchMode = "precise",
    ) -> Page:
        """Find what answers a query, by words and by meaning; in `deep` mode everything that resembles it."""
        from memsweep.memory.recall import recall
        from memsweep.model.quarantine import leaving_out
        from memsweep.model.search import make_filters

        back = self._access.quarantine.held_back(self._access.clock())
        checked, app = leaving_out(self._access.indexed(make_filters(filters)), back), self._access.app

        def ask(store: Store, limit: int, cursor: str | None) -> Page:
            options: dict[str, Any] = {"limit": limit, "cursor": cursor, "mode": mode, "listings": app.listings}
            now = self._access.clock()
            options |= {"words": app.local_model, "reader": app.reader}
            page = recall(store, app.embedder, query, now=now, filters=checked, **options)
            app.sightings.note(store, page.hits, now)
            return page

        return search_along(self._access, ask, limit, cursor)

    @operation
    def memories(
        self,
        *,
        filters: Filters | Mapping[str, Any] | None = None,
        state: str | None = None,
        door: str | None = None,
        limit: int = DEFAULT_LISTED,
        cursor: str | None = None,
    ) -> MemoryPage:
        """List memories, the newest first, each by the beginning of its text, page by page.

        `filters` are those of a search that are about whole memories; `state`: current (what search can find), stale,
        pinned, superseded, quarantined, expiring or expired; `door`: through which they came. The pages of a listing
        show each memory once, whatever is added meanwhile.
        """
        return listed(self._access, filters, state, door, limit, cursor)

    @operation
    def get(self, memory_id: str) -> StoredMemory:
        """One whole memory."""
        from memsweep.model.times import has_expired

        found, now = self._found(memory_id, self._access.found(), self._access.personal_store()), self._access.clock()
        until = self._access.quarantine.until(found, now)
        return replace(found, quarantine=until, expired=has_expired(found.expires_at, now))

    @operation
    def release(self, memory_id: str) -> StoredMemory:
        """Let a memory out of quarantine: search finds it from now on."""
        from memsweep.collector.update import release

        release(collector(self._access), self._found(memory_id).id)
        return self._found(memory_id)

    def _found(self, memory_id: str, *stores: Store | None) -> StoredMemory:
        """In the first of some stores that has it, by default in the workspace's own."""
        known = isinstance(memory_id, str) and memory_id.isascii()
        looked_in = [store for store in stores or (self._access.store,) if store is not None]
        found = next(filter(None, (store.memory(memory_id) for store in looked_in)), None) if known else None
        if found is None:
            from memsweep.collector.selection import no_memory

            raise no_memory(memory_id, self.workspace_id)
        return found

    @operation
    def update(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Updated:
        """Change a memory in place: what is given replaces what is there. Undo with the receipt brings that back."""
        from memsweep.collector import update
        from memsweep.memory.remember import checked

        known = self._found(memory_id)
        gate = self._access.gate(known.source)
        handed = checked(text, tags, metadata, gate)
        tools, prepare = collector(self._access), partial(self._new_text, known.entities)
        result = update.update(tools, known.id, update.CheckedUpdate(*handed), prepare, self._access.origin())
        return replace(result, redacted=gate.redacted, warnings=gate.warnings)

    @operation
    def history(self, memory_id: str) -> list[EarlierText]:
        """Return the earlier texts of a memory, newest first, until the trash is purged."""
        from memsweep.collector import update

        return update.history(collector(self._access), self._found(memory_id).id)

    def _new_text(self, known: Sequence[NamedThing], text: str) -> NewText:
        from memsweep.collector.update import NewText
        from memsweep.embed.protocol import check_model
        from memsweep.memory.remember import ChunkSize, pieces_and_names

        app, chunking = self._access.app, self._access.settings.chunking
        check_model(self._access.store.model(), app.embedder.model)
        named = pieces_and_names(
            app.embedder,
            app.local_model,
            text,
            known,
            now=self._access.clock(),
            new_id=new_id,
            chunk_size=ChunkSize(chunking.size, chunking.overlap),
            origin=self._access.origin(),
        )
        return NewText(named.chunks, app.embedder.model, named)

    @operation
    def delete(self, memory_id: str, *, confirm: bool = False, forever: bool = False) -> Deleted:
        """One memory to the trash with what only it states; `forever` frees it, and it is never learned again."""
        from memsweep.collector import collect

        return collect.delete(collector(self._access), memory_id, confirm=confirm, forever=forever)

    @operation
    def pin(self, item_id: str, pinned: bool = True) -> str:
        """Protect a memory or an entity from every collection, or stop protecting it; returns which one it is."""
        from memsweep.collector import collect

        return collect.pin(collector(self._access), item_id, pinned)

    @operation
    def revision(self) -> str:
        """A text that differs after every change to the workspace, whoever made it; cheap enough to poll."""
        found = self._access.found()
        return "" if found is None else found.change_number()

    @operation
    def stats(self) -> Stats:
        """Return how much is in the workspace."""
        return stats(self._access)

    @operation
    def counts(self, *, days: int = 90) -> Counts:
        """Return the growth of the workspace day by day, and its memories by source, tag, tier, client, door, language
        and state.
        """
        return count_up(self._access, days)

    def context(self, project_id: str = DEFAULT_PROJECT) -> ContextWindow[Mode]:
        """One context window of the workspace; nothing is read yet, and the first segment makes it."""
        from memsweep.context.counting import window_dependencies
        from memsweep.context.service import ContextWindow

        access = self._access
        tools = window_dependencies(
            access.settings, self._segments, access.actor, access.clock, new_id, self.workspace_id, access.origin
        )
        return ContextWindow(tools, project_id, access.calls)

    @operation
    def contexts(self) -> list[WindowRow]:
        """The context windows of the workspace that hold anything, by name."""
        store = self._access.found()
        return [] if store is None else store.windows.windows()

    @operation
    def newest(self, *, limit: int = 10) -> tuple[Passage, ...]:
        """The newest memories that are no files, each by its first piece."""
        from memsweep.memory.listing import newest_memories
        from memsweep.model.quarantine import leaving_out

        store, back = self._access.found(), self._access.quarantine.held_back(self._access.clock())
        return () if store is None else newest_memories(store, limit, leaving_out(Filters(), back))

    @operation
    def briefing(self, *, limit: int = 5) -> WorkspaceBriefing:
        """Return a briefing: the newest memories, facts, contradictions, what is stale.

        What a tool or an import brought is left out until it is released; `hooks.quarantine` says which tiers are.
        """
        from memsweep.graph.whole_graph import briefing
        from memsweep.memory.listing import newest_memories
        from memsweep.model.code import CODE_RELATIONS
        from memsweep.model.graph import WorkspaceBriefing
        from memsweep.model.quarantine import leaving_out
        from memsweep.services.access import surveyed_graph_of

        back = self._access.app.untold.held_back(self._access.clock())
        graph = briefing(surveyed_graph_of(self._access, back), limit, CODE_RELATIONS)
        store = self._access.found()
        newest = () if store is None else newest_memories(store, limit, leaving_out(Filters(), back))
        return WorkspaceBriefing(stats(self._access), newest, graph)

    def _segments(self, create: bool) -> Windows:
        return (self._access.create_store() if create else self._access.store).windows


def _store_to_fill(access: Access[Mode], supersedes: Sequence[str]) -> Store:
    """The first memory makes the workspace, but not before there is a model that could embed it."""
    try:
        return access.store_to_fill()
    except UnknownWorkspace:
        if supersedes:  # nothing is there that it could take the place of
            from memsweep.collector.selection import no_memory

            raise no_memory(supersedes[0], access.workspace_id) from None
        _ = access.app.embedder.model  # a server that is down says so here
        return access.create_store()


class Memory(BaseMemory[Sync]):
    """One workspace. Safe to use from several threads; close it, or use it in a `with`, when done."""

    def __init__(self, app: App, workspace_id: str, is_named: Callable[[], bool], personal: str = "") -> None:
        """`is_named`: by somebody, or what an empty name stands for; `personal`: what is searched along."""
        super().__init__(sync_access(app, workspace_id, is_named, personal))

    def close(self) -> None:
        """Give back files and connections; the next operation opens them again."""
        self._access.app.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncMemory(BaseMemory[Async]):
    """The same for asyncio: each operation runs in a thread, so that the loop never waits for the disk."""

    def __init__(self, app: App, workspace_id: str, is_named: Callable[[], bool], personal: str = "") -> None:
        """`is_named`: by somebody, or what an empty name stands for; `personal`: what is searched along."""
        super().__init__(async_access(app, workspace_id, is_named, personal))

    async def close(self) -> None:
        """Give back files and connections; the next operation opens them again."""
        import asyncio

        await asyncio.to_thread(self._access.app.close)

    async def __aenter__(self) -> AsyncMemory:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


Ask = Callable[["Store", int, str | None], Page]
"""A page of one store: how many hits, from which cursor on."""
_NOTHING = Page((), 0, None)
_SHARE = 4  # one hit in so many may be personal
_BETWEEN, _AT_BEGIN, _AT_END = ".", "0", "-"


def search_along(access: Access[Any], ask: Ask, limit: int, cursor: str | None) -> Page:
    """Search the workspace, and the personal one, whose hits come last; a page of both has a cursor of both."""
    page_size(limit, MAX_LIMIT)
    store, personal = access.found(), access.personal_store()
    if personal is None:
        page = _NOTHING if store is None else ask(store, limit, cursor)
        return page if page.total else replace(page, note=_elsewhere(access, store))
    own_cursor, along_cursor = _cursors(cursor)
    along = _page(ask, personal, max(1, limit // _SHARE), along_cursor)
    room = limit - len(along.hits)
    own = _page(ask, store, room or limit, own_cursor)
    if not room and own.hits:  # for a single hit, the project's goes first
        along = replace(along, hits=(), next_cursor=along_cursor)
    return _joined(own, along)


def _page(ask: Ask, store: Store | None, limit: int, cursor: str) -> Page:
    if store is None:
        return _NOTHING
    if cursor == _AT_END:
        return Page((), ask(store, 1, None).total, None)
    return ask(store, limit, None if cursor == _AT_BEGIN else cursor)


def _joined(own: Page, along: Page) -> Page:
    hits = (*own.hits, *(replace(hit, scope="personal") for hit in along.hits))
    cursors = own.next_cursor, along.next_cursor
    following = _BETWEEN.join(each or _AT_END for each in cursors) if any(cursors) else None
    nearest = None if hits else own.nearest or along.nearest
    return Page(hits, own.total + along.total, following, own.damaged + along.damaged, nearest=nearest)


def _cursors(cursor: str | None) -> tuple[str, str]:
    """Return both cursors; a single one is that of the project, from before there was a personal workspace."""
    if not cursor:
        return _AT_BEGIN, _AT_BEGIN
    own, _, along = cursor.partition(_BETWEEN)
    return own, along or _AT_END


def _elsewhere(access: Access[Any], store: Store | None) -> str:
    """Return a note on memories in `default`, or a missing agreement, where a workspace is still empty."""
    from memsweep.report.place import asked_for, from_before

    if access.is_named() or (store is not None and store.chunks(Filters(include_stale=True), limit=1)):
        return ""
    found = access.app.projects.whereabouts()
    if found.memories:
        return ""
    before = from_before(found.default_memories, access.workspace_id) if found.default_memories else ""
    return " ".join(filter(None, (asked_for(found.place), before)))


def stats(access: Access[Any]) -> Stats:
    """Return the numbers of a workspace; zeros where it is not made yet."""
    from memsweep.model.listing import in_quarantine
    from memsweep.model.memory import no_stats

    store = access.found()
    engine = "falkor" if access.settings.store else "sqlite"
    if store is None:
        return no_stats(access.workspace_id, engine)
    back = access.quarantine.held_back(access.clock())
    found = store.stats()
    return replace(found, quarantined=store.overview.count(in_quarantine(back))) if back.tiers else found


def count_up(access: Access[Any], days: int) -> Counts:
    """Return the growth in these days, and counts by kind."""
    from memsweep.model.counts import MOST_DAYS, Counts, counted_up, day_of
    from memsweep.model.listing import in_quarantine

    within("days", days, MOST_DAYS)
    store, now = access.found(), access.clock()
    if store is None:
        return Counts()
    back = access.quarantine.held_back(now)
    quarantined = store.overview.count(in_quarantine(back)) if back.tiers else 0
    return counted_up(store.overview.counts(day_of(now) - days + 1), now, days, quarantined)


def listed(
    access: Access[Any], filters: object, state: object, door: object, limit: int, cursor: str | None
) -> MemoryPage:
    from memsweep.memory.listing import NO_MEMORIES, list_memories, make_list_filters

    asked, store = make_list_filters(filters, door, state), access.found()
    asked = replace(asked, filters=access.indexed(asked.filters))
    if store is None:
        return NO_MEMORIES
    options: dict[str, Any] = {"limit": limit, "cursor": cursor, "quarantine": access.quarantine}
    return list_memories(store.overview, asked, now=access.clock(), **options)
