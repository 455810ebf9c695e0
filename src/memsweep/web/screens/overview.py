"""Overview: what there is, how it grew, what happened; the index of code; and whether anything changed since."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import PlainTextResponse, Response

from memsweep.model.audit import AuditEvent
from memsweep.model.counts import Counts
from memsweep.project.runs import summaries
from memsweep.web.events import event_lines, who
from memsweep.web.pictures import growth
from memsweep.web.screen import Call, Screen
from memsweep.web.words import counted, size

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


def pulse(call: Call) -> Response:
    revision = call.revision
    if call.asked("at") == revision:
        return Response(status_code=204)
    return PlainTextResponse(call.url("/pulse", at=revision))


PULSE = Screen("pulse", "Pulse", "/pulse", shows={"/pulse": pulse})


_RUNS = 12
_LANGUAGES = 8

_COUNTED = (("memories", ("file",)), ("stale", ("file gone", "files gone")), ("moved", ("file moved", "files moved")))


@dataclass(frozen=True, slots=True)
class IndexRun:
    at: datetime
    by: str
    did: str


def code(call: Call) -> Response:
    found = call.memory.code.overview(runs=_RUNS)
    stale = sum(root.stale_files for root in found.roots)
    return call.show(
        "code.html",
        roots=found.roots,
        runs=[_run(event) for event in found.runs],
        filters_of=filters_in_words,
        files=sum(root.files for root in found.roots),
        lines=sum(root.lines for root in found.roots),
        languages=len({language for root in found.roots for language in root.languages}),
        most_languages=_LANGUAGES,
        stale=stale,
        stale_files=call.memory.memories(state="stale", limit=20).memories if stale else (),
        revision=call.revision,
    )


def filters_in_words(text: str) -> str:
    """Return the filters of an index run in words; they are kept as JSON."""
    try:
        asked = json.loads(text or "{}")
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        return text
    languages = ", ".join(map(str, asked.get("languages") or ())) or "all languages"
    most = asked.get("max_file_size")
    said = [languages, "" if asked.get("include_tests", True) else "without tests"]
    said += ["" if asked.get("recursive", True) else "not below it", f"up to {size(most)}" if most else ""]
    return ", ".join(filter(None, said))


def _run(event: AuditEvent) -> IndexRun:
    counts = [(event.counts.get(name), nouns) for name, nouns in _COUNTED]
    did = ", ".join(counted(count, *nouns) for count, nouns in counts if isinstance(count, int) and count)
    return IndexRun(event.at, who(event.actor), did or "names and facts")


CODE = Screen("code", "Code", "/code", "code", "i", shows={"/code": code}, group=1)
