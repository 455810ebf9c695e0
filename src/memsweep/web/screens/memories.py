"""Memories: listed or searched, with how relevant and why; one of them, to edit or delete; and a search to forget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from memsweep.errors import BadInput, Conflict
from memsweep.model.conditions import written_conditions
from memsweep.model.counts import Counts
from memsweep.model.listing import STATES, ListedMemory
from memsweep.model.origin import TIERS
from memsweep.model.search import MAX_LIMIT, Hit
from memsweep.model.times import parse_time
from memsweep.report.collector import deleted
from memsweep.web.events import event_lines
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
    page = call.memory.memories(filters=_filters(asked), state=state, limit=PER_PAGE, cursor=cursor)
    return {
        "rows": [_row(each) for each in page.memories],
        "total": page.total,
        "first": page.first,
        "after": call.next_page("/memories", page.next_cursor, **asked),
        "begin": call.url("/memories", **asked) if page.first else "",
        "nearest": None,
        "damaged": page.damaged,
    }


def _searched(call: Call, asked: dict[str, str]) -> dict[str, Any]:
    if asked["state"] not in ("", "current", "stale"):
        raise BadInput(f"a search cannot filter by the state {asked['state']!r:.40}.", hint="Leave out the query.")
    filters = _filters(asked) | ({"include_stale": True} if asked["state"] != "current" else {})
    found = call.memory.search(asked["q"], limit=PER_PAGE, filters=filters, cursor=call.asked("after") or None)
    return {
        "rows": [hit_row(each) for each in found.hits],
        "total": found.total,
        "first": 0,
        "after": call.next_page("/memories", found.next_cursor, **asked),
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


_MOST_SHOWN = 20_000


def memory(call: Call) -> Response:
    found = call.memory.get(call.part("memory"))
    earlier = call.memory.history(found.id) if found.revisions else []
    return call.show("memory.html", memory=found, text=found.text[:_MOST_SHOWN], earlier=earlier)


def explain(call: Call) -> Response:
    """Show what keeps it and what would take it: a part of the page, which comes after the rest."""
    verdict, path, history = call.memory.sweep.explain(call.part("memory"))
    return call.show("explained.html", verdict=verdict, path=path, lines=event_lines(history))


def edit_form(call: Call) -> Response:
    return call.show("memory_edit.html", memory=call.memory.get(call.part("memory")), supersedes=False)


def supersede_form(call: Call) -> Response:
    return call.show("memory_edit.html", memory=call.memory.get(call.part("memory")), supersedes=True)


def edit(call: Call) -> Response:
    memory_id, version = call.part("memory"), call.given("version")
    if version != str(call.memory.get(memory_id).version):
        raise Conflict(f"{memory_id} was changed while you edited it.", hint="Go back to copy your text, then reload.")
    done = call.memory.update(memory_id, text=_text(call), tags=_tags(call))
    said = "Saved." if done.receipt_id else "Nothing was different, so nothing was changed."
    return call.go(f"/memories/{memory_id}", said + _secrets(done.redacted), receipt_id=done.receipt_id or "")


def supersede(call: Call) -> Response:
    older = call.memory.get(call.part("memory"))
    made = call.memory.remember(_text(call), tags=_tags(call), source=older.source, supersedes=[older.id])
    said = f"Remembered. Search leaves {older.id} out from now on." + _secrets(made.redacted)
    return call.go(f"/memories/{made.memory_id}", said)


def pin(call: Call) -> Response:
    memory_id, pinned = call.part("memory"), call.given("pinned") == "yes"
    call.memory.pin(memory_id, pinned)
    return call.go(f"/memories/{memory_id}", "Pinned: no collection takes it." if pinned else "No longer pinned.")


def release(call: Call) -> Response:
    call.memory.release(call.part("memory"))
    return call.go(f"/memories/{call.part('memory')}", "Released: search finds it from now on.")


def delete(call: Call) -> Response:
    receipt = call.memory.delete(call.part("memory"), confirm=True)
    gone = deleted(receipt)["removed_with_it"]
    along = f" {len(gone)} that only it stated went along." if gone else ""
    return call.go("/memories", f"Moved to the trash.{along}", receipt_id=receipt.id)


def _text(call: Call) -> str:
    return call.given("text").replace("\r\n", "\n")  # as forms send it; a memory is kept as it was typed


def _tags(call: Call) -> list[str]:
    return [tag for each in call.given("tags").split(",") if (tag := each.strip())]


def _secrets(kinds: tuple[str, ...]) -> str:
    return f" A secret was left out ({', '.join(kinds)})." if kinds else ""


MEMORY = Screen(
    "memories",
    "Memories",
    "/memories",
    shows={
        "/memories/{memory}": memory,
        "/memories/{memory}/why": explain,
        "/memories/{memory}/edit": edit_form,
        "/memories/{memory}/supersede": supersede_form,
    },
    acts={
        "/memories/{memory}/edit": edit,
        "/memories/{memory}/supersede": supersede,
        "/memories/{memory}/pin": pin,
        "/memories/{memory}/release": release,
        "/memories/{memory}/delete": delete,
    },
)


def forget(call: Call) -> Response:
    query, metadata = call.asked("q").strip(), call.asked("metadata").strip()
    filters = {"include_stale": True, "metadata": asked_metadata(metadata)}
    asked = query or metadata
    found = call.memory.search(query, limit=MAX_LIMIT, filters=filters, mode="deep") if asked else None
    hits = [hit for hit in found.hits if hit.passage.memory_id] if found else []
    best = {hit.passage.memory_id: hit for hit in reversed(hits)}  # of several passages the first, which is the best
    rows = [hit_row(hit) for hit in hits if best[hit.passage.memory_id] is hit]
    return call.show(
        "forget.html", query=query, metadata=metadata, asked=asked, rows=rows, total=found.total if found else 0
    )


def review(call: Call) -> Response:
    chosen = sorted(call.all_given("take"))
    if not chosen:
        raise BadInput("nothing is ticked.", hint="Tick what is to be forgotten, then review.")
    plan = call.memory.sweep.plan_chosen(chosen)
    return call.go(f"/plans/{plan.id}")


FORGET = Screen("forget", "Forget", "/forget", "eraser", "f", shows={"/forget": forget}, acts={"/forget": review})
