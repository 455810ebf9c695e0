"""A search of the project's workspace with the personal one along; each hit says where it is from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memsweep.model.frozen import replace
from memsweep.model.paging import page_size
from memsweep.model.search import MAX_LIMIT, Filters, Page
from memsweep.report.place import asked_for, from_before

if TYPE_CHECKING:
    from memsweep.services.access import Access
    from memsweep.store.protocol import Store

Ask = Callable[["Store", int, str | None], Page]
"""A page of one store: how many hits, from which cursor on."""
_NOTHING = Page((), 0, None)
_SHARE = 4  # one hit in so many may be personal
_BETWEEN, _AT_BEGIN, _AT_END = ".", "0", "-"


def search_along(access: Access[Any], ask: Ask, limit: int, cursor: str | None) -> Page:
    """What is personal comes behind what is the project's; a page of both has a cursor of both."""
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
    """Where both go on; a cursor of one is that of the project, from before there was a personal workspace."""
    if not cursor:
        return _AT_BEGIN, _AT_BEGIN
    own, _, along = cursor.partition(_BETWEEN)
    return own, along or _AT_END


def _elsewhere(access: Access[Any], store: Store | None) -> str:
    """Where nothing is found because nothing is here yet: what lies in `default`, what has to be agreed to."""
    if access.is_named() or (store is not None and store.newest(Filters(include_stale=True), 1)):
        return ""
    found = access.app.projects.whereabouts()
    if found.memories:
        return ""
    before = from_before(found.default_memories, access.workspace_id) if found.default_memories else ""
    return " ".join(filter(None, (asked_for(found.place), before)))
