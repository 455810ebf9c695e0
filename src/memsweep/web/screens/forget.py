"""Forget: search, tick, and review an ordinary plan of what was ticked."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.errors import BadInput
from memsweep.model.search import MAX_LIMIT
from memsweep.web.screen import Call, Screen
from memsweep.web.screens.memories import asked_metadata, hit_row


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


SCREEN = Screen("forget", "Forget", "/forget", "eraser", "f", shows={"/forget": forget}, acts={"/forget": review})
