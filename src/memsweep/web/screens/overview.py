"""Overview: what a collection would take, how much there is, how it grew, what happened recently."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.model.counts import Counts
from memsweep.project.runs import summaries
from memsweep.web.events import event_lines
from memsweep.web.pictures import growth
from memsweep.web.screen import Call, Screen

_SHOWN = 8
_TAGS = 16


def overview(call: Call) -> Response:
    memory = call.memory
    stats = memory.stats()
    counts: Counts = call.page.kept(call, "counts", memory.counts)
    return call.show(
        "overview.html",
        stats=stats,
        is_empty=not stats.total_memories and not stats.total_entities,
        chart=growth(counts.days),
        sources=list(counts.sources.items())[:_SHOWN],
        clients=list(counts.clients.items())[:_SHOWN],
        tags=list(counts.tags.items())[:_TAGS],
        contexts=memory.contexts()[:5],
        hooks=summaries(call.page.app.settings.home, call.workspace),
        lately=event_lines(memory.sweep.audit(limit=60))[:6],
        trashed=memory.sweep.trash(limit=1)[1],
        revision=call.revision,
    )


SCREEN = Screen("overview", "Overview", "/", "home", "o", shows={"/": overview}, on_phone=True)
