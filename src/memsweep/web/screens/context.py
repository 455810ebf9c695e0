"""Context: the windows of agents, one of them as a strip for a budget; pin, stash, restore, search the stash."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput, NotFound
from memsweep.model.segment import ContextSegment
from memsweep.model.window import WindowStrip
from memsweep.operation import Sync
from memsweep.web.pictures import BAR_HEIGHT, LINE_HEIGHT, LINES, bars
from memsweep.web.screen import Call, Screen
from memsweep.web.words import counted, number

MOST_GOING, MOST_STAYING, STASH_PAGE = 300, 100, 30
_STEPS = 100


def windows(call: Call) -> Response:
    """All of them; where there is only one, that one."""
    known = call.memory.contexts()
    if len(known) == 1:
        return _show(call, known[0].project_id)
    return call.show("contexts.html", windows=known)


def window(call: Call) -> Response:
    return _show(call, call.part("project"))


def _show(call: Call, project: str) -> Response:
    known = call.memory.contexts()
    if project not in {each.project_id for each in known}:
        raise NotFound(f"there is no context window {project!r:.80} in this workspace.", hint="Context lists them.")
    own = call.memory.context(project)
    strip = own.strip(budget=_budget(call))
    going = [each for each in strip.segments if each.goes]
    staying = [each for each in strip.segments if not each.goes]
    stashed, total, after = _stash(call, own)
    return call.show(
        "context.html",
        project=project,
        windows=known,
        strip=strip,
        bars=bars(strip.segments),
        bar_height=BAR_HEIGHT,
        height=LINES * LINE_HEIGHT - (LINE_HEIGHT - BAR_HEIGHT),
        slider=_slider(strip),
        going=going[:MOST_GOING],
        going_count=len(going),
        staying=staying[:MOST_STAYING],
        staying_count=len(staying),
        query=call.asked("q"),
        stashed=stashed,
        stashed_count=total,
        after=call.url(f"/context/{project}", after=after) if after else "",
    )


def stash(call: Call) -> Response:
    """Exactly what was ticked; what has become a root since is named and stays."""
    project, ids = call.part("project"), sorted(call.all_given("take"))
    if not ids:
        raise BadInput("nothing was ticked.", hint="Tick what should go to the stash.")
    done = call.memory.context(project).prune(ids, strategy="stash")
    change = done.change
    said = f"Stashed {counted(len(done.stashed), 'segment')}: {number(change.tokens_before)} → "
    said += f"{number(change.tokens_after)} tokens."
    if done.refused:
        said += f" {counted(len(done.refused), 'segment')} stayed: {next(iter(done.refused.values())):.80}."
    return call.go(f"/context/{project}", said, receipt_id=done.receipt_id or "")


def pin(call: Call) -> Response:
    project, own = call.part("project"), call.given("pin")
    done = call.memory.context(project).pin([own or call.given("unpin")], bool(own))
    if done.refused:
        raise NotFound(next(iter(done.refused.values())))
    return call.go(f"/context/{project}", "Pinned: it stays in the window." if own else "No longer pinned.")


def restore(call: Call) -> Response:
    project, ids = call.part("project"), sorted(call.all_given("restore"))
    done = call.memory.context(project).restore(ids)
    if not done.restored:
        raise NotFound(next(iter(done.refused.values()), "nothing was named that could come back."))
    back = sum(each.tokens for each in done.restored)
    return call.go(
        f"/context/{project}", f"{counted(len(done.restored), 'segment')} back in place, {number(back)} tokens."
    )


def _budget(call: Call) -> int | None:
    return call.whole_number("budget", least=0) if call.asked("budget") else None


def _slider(strip: WindowStrip) -> dict[str, int]:
    """From nothing to all of it, in steps that a mouse can hit."""
    most = max(strip.change.tokens_before, min(strip.budget, strip.hard_tokens), 1)
    step = max(1, 10 ** (len(str(most // _STEPS)) - 1))
    return {"max": -(-most // step) * step, "step": step, "value": strip.budget}


def _stash(call: Call, own: ContextWindow[Sync]) -> tuple[list[ContextSegment], int, str]:
    """Return the segments that answer the query, or the last that went; their number, and the next page's cursor."""
    if query := call.asked("q"):
        found = own.search(query, limit=STASH_PAGE)
        return [segment for segment, _ in found.hits], found.stashed, ""
    page = own.stash(limit=STASH_PAGE, cursor=call.asked("after") or None)
    return list(page.segments), page.total, page.next_cursor or ""


SCREEN = Screen(
    "context",
    "Context",
    "/context",
    "window",
    "w",
    shows={"/context": windows, "/context/{project}": window},
    acts={
        "/context/{project}/stash": stash,
        "/context/{project}/pin": pin,
        "/context/{project}/restore": restore,
    },
    group=1,
)
