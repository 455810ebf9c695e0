"""Memories: all of them, newest first, or those that answer what is typed, with how relevant and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from memsweep.errors import BadInput
from memsweep.model.conditions import written_conditions
from memsweep.model.counts import Counts
from memsweep.model.listing import STATES, ListedMemory
from memsweep.model.origin import TIERS
from memsweep.model.search import Hit
from memsweep.model.times import parse_time
from memsweep.web.screen import Call, Screen

PER_PAGE = 30
_MOST_CHOICES = 60
_SHOWN = 400
ASKED = ("q", "kind", "source", "tag", "tier", "client", "state", "since", "until", "metadata")


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in a list, or a passage that answers."""

    id: str
    text: str
    source: str
    tags: tuple[str, ...]
    at: datetime
    origin: str
    path: str = ""
    pinned: bool = False
    stale: bool = False
    superseded: bool = False
    expires_at: datetime | None = None
    expired: bool = False
    quarantine: str = ""
    kind: str = "memory"
    relevance: float | None = None
    why: str = ""
    words: tuple[str, ...] = ()


def memories(call: Call) -> Response:
    asked = {name: call.asked(name) for name in ASKED}
    counts: Counts = call.page.kept(call, "counts", call.memory.counts)
    found = _searched(call, asked) if asked["q"].strip() else _listed(call, asked)
    choices = {
        "source": _choices(counts.sources),
        "tag": _choices(counts.tags),
        "client": _choices(counts.clients),
        "tier": TIERS,
        "kind": ("memory", "code", "fact"),
        "state": STATES,
    }
    filtered = any(asked[name] for name in ASKED if name != "q")
    return call.show("memories.html", asked=asked, choices=choices, filtered=filtered, **found)


def _choices(found: Iterable[str]) -> list[str]:
    """Return the choices of a filter, without the empty one: no choice at all means that."""
    return [each for each in found if each][:_MOST_CHOICES]


def _listed(call: Call, asked: dict[str, str]) -> dict[str, Any]:
    state, cursor = asked["state"] or None, call.asked("after") or None
    page = call.memory.memories(
        filters=_filters(asked),
        state=state,
        limit=PER_PAGE,
        cursor=cursor,
    )
    after = call.url("/memories", **{**asked, "after": page.next_cursor}) if page.next_cursor else ""
    return {
        "rows": [_row(each) for each in page.memories],
        "total": page.total,
        "first": page.first,
        "after": after,
        "begin": call.url("/memories", **asked) if page.first else "",
        "nearest": None,
        "damaged": page.damaged,
    }


def _searched(call: Call, asked: dict[str, str]) -> dict[str, Any]:
    if asked["state"] not in ("", "current", "stale"):
        raise BadInput(f"a search cannot filter by the state {asked['state']!r:.40}.", hint="Leave out the query.")
    filters = _filters(asked) | ({"include_stale": True} if asked["state"] != "current" else {})
    found = call.memory.search(asked["q"], limit=PER_PAGE, filters=filters, cursor=call.asked("after") or None)
    after = call.url("/memories", **{**asked, "after": found.next_cursor}) if found.next_cursor else ""
    return {
        "rows": [hit_row(each) for each in found.hits],
        "total": found.total,
        "first": 0,
        "after": after,
        "begin": call.url("/memories", **asked) if call.asked("after") else "",
        "nearest": hit_row(found.nearest) if found.nearest else None,
        "damaged": found.damaged,
    }


def _filters(asked: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {name: asked[name] for name in ("source", "tier", "client", "kind") if asked[name]}
    if asked["tag"]:
        given["tags"] = [asked["tag"]]
    for name, field in (("since", "date_from"), ("until", "date_to")):
        if asked[name]:
            parse_time(asked[name], name)
            given[field] = asked[name]
    if metadata := asked_metadata(asked["metadata"]):
        given["metadata"] = metadata
    if not asked["q"] and given.get("kind") == "fact":  # facts are searched, not listed
        del given["kind"]
    return given


def asked_metadata(said: str) -> dict[str, Any]:
    return written_conditions(filter(str.strip, said.split(",")))


def _shown(text: str, *, is_code: bool) -> str:
    """The beginning of a text; of code without its empty lines, for a row has room for few."""
    return "\n".join(line for line in text[:800].splitlines() if line.strip())[:_SHOWN] if is_code else text[:_SHOWN]


def _row(each: ListedMemory) -> Row:
    return Row(
        each.id,
        _shown(each.text, is_code=each.path is not None),
        each.source,
        each.tags,
        each.created_at,
        each.origin.brief,
        path=each.path or "",
        pinned=each.pinned,
        stale=each.stale,
        superseded=each.superseded,
        expires_at=each.expires_at,
        expired=each.expired,
        quarantine=each.quarantine,
        kind=each.kind,
    )


def hit_row(hit: Hit) -> Row:
    passage = hit.passage
    return Row(
        passage.memory_id,
        _shown(passage.text, is_code=passage.code is not None),
        passage.source,
        passage.tags,
        passage.created_at,
        passage.origin.brief,
        path=passage.code.path if passage.code else "",
        pinned=passage.pinned,
        stale=passage.stale,
        kind=passage.kind,
        relevance=hit.relevance,
        why=hit.why,
        words=hit.words,
    )


SCREEN = Screen("memories", "Memories", "/memories", "list", "m", shows={"/memories": memories}, on_phone=True)
