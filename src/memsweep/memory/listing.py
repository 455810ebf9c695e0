"""Listing memories: what is asked for, checked, and a page of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.errors import BadInput
from memsweep.model.frozen import replace
from memsweep.model.listing import MOST_LISTED, STATES, ListedMemory, ListFilters, MemoryPage, State
from memsweep.model.paging import PageMark, cursor_after, mark_of, page_size
from memsweep.model.quarantine import Quarantine
from memsweep.model.search import FILTERS, KINDS, Filters, Kind, Passage, make_filters
from memsweep.model.times import has_expired
from memsweep.store import views

if TYPE_CHECKING:
    from memsweep.store.overview import Overview
    from memsweep.store.protocol import Store

_LISTED_KINDS: tuple[Kind, ...] = KINDS[:2]


def make_list_filters(filters: object, door: object, state: object) -> ListFilters:
    """Return the filters of a listing: those of a search that are about whole memories."""
    checked = make_filters(filters)
    plain, others = Filters(), (name for name, each in FILTERS.items() if not each.of_lists)
    if wrong := next((name for name in others if getattr(checked, name) != getattr(plain, name)), ""):
        raise BadInput(f"filters.{wrong} is of searches; a listing has all memories.", hint="Use state instead.")
    if checked.kind is not None and checked.kind not in _LISTED_KINDS:
        raise BadInput(f"filters.kind must be {' or '.join(_LISTED_KINDS)} in a listing, not {checked.kind}.")
    if door is not None and not isinstance(door, str):
        raise BadInput(f"door must be text, not {door!r:.40}.")
    return ListFilters(checked, door or None, _state(state))


def _state(state: object) -> State | None:
    if state in (None, ""):
        return None
    found = [each for each in STATES if each == state]
    if not found:
        raise BadInput(f"state must be one of {', '.join(STATES)}, not {state!r:.40}.")
    return found[0]


def list_memories(
    store: Overview, asked: ListFilters, *, limit: int, cursor: str | None, quarantine: Quarantine, now: datetime
) -> MemoryPage:
    """A page; the total is counted once, with the first one."""
    page_size(limit, MOST_LISTED)
    listing = f"memories\0{asked}"
    asked = replace(asked, back=quarantine.held_back(now))
    after = mark_of(cursor, listing) or PageMark(0, 0, store.count(asked))
    found = store.memories(asked, after.key or None, limit + 1)
    keys = list(found)[:limit]
    shown = tuple(_judged(each, quarantine, now) for key in keys if (each := found[key]) is not None)
    passed = after.passed + len(keys)
    following = cursor_after(PageMark(keys[-1], passed, after.total), listing) if len(found) > limit else None
    return MemoryPage(shown, after.passed, max(after.total, passed), following, len(keys) - len(shown))


def _judged(memory: ListedMemory, quarantine: Quarantine, now: datetime) -> ListedMemory:
    return replace(memory, quarantine=quarantine.until(memory, now), expired=has_expired(memory.expires_at, now))


NO_MEMORIES = MemoryPage((), 0, 0, None)


_FIRST, _MOST = 64, 4096  # chunks to look through


def newest_memories(store: Store, limit: int, filters: Filters = Filters()) -> tuple[Passage, ...]:
    """Return the beginning of each memory, the newest first, without indexed files."""
    filters, depth = replace(filters, kind="memory"), _FIRST
    while True:
        keys = list(store.chunks(filters, limit=depth))
        passages = views.passages(store.rows, keys)
        found: dict[str, Passage] = {}
        for passage in (passages[key] for key in keys if key in passages):
            found[passage.memory_id] = passage  # the last of its pieces that comes is its first
        if len(found) >= limit or len(keys) < depth or depth >= _MOST:
            return tuple(found.values())[:limit]
        depth *= 4
