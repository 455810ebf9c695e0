"""Graph: entities by name, one of them with what it is connected to, and two that become one."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.errors import BadInput, NotFound
from memsweep.graph.facts import Neighbourhood
from memsweep.model.audit import AuditEvent
from memsweep.model.graph import Edge, Entity, Split
from memsweep.model.plan import ReceiptDetails
from memsweep.web.events import event_lines
from memsweep.web.pictures import MOST_NODES, draw
from memsweep.web.screen import Call, Screen
from memsweep.web.words import counted

PER_PAGE = 60
DEPTHS = (1, 2)
_FIRST_FACTS = 40
_MOST_DOUBTS = 40
_OFFERED = 20
_MOST_FACTS = 200


def graph(call: Call) -> Response:
    """Entities in the order of their names; a whole name leads to its entity."""
    name = call.asked("name")
    if name and (found := _exactly(call, name)):
        return call.go(f"/graph/{found}")
    query, cursor = call.asked("q") or name, call.asked("after") or None
    page = call.memory.graph.names(query, limit=PER_PAGE, cursor=cursor)
    return call.show(
        "graph.html",
        query=query,
        page=page,
        after=call.next_page("/graph", page.next_cursor, q=query),
    )


def entity(call: Call) -> Response:
    depth = _depth(call)
    found = call.memory.graph.related(call.part("entity"), depth=depth, limit=MOST_NODES - 1)
    picture = draw(found.start, found.entities, found.walk.edges)
    own = found.start.key
    lines = sorted(
        picture.lines, key=lambda line: (own not in (line.edge.subject, line.edge.object), -line.edge.weight)
    )
    return call.show(
        "entity.html",
        entity=found.start,
        found=found,
        picture=picture,
        facts=lines,
        first=_FIRST_FACTS,
        depth=depth,
        depths=DEPTHS,
    )


def why(call: Call) -> Response:
    """Show what keeps it and what happened to it, merges among that; a part of the page, which comes after the rest."""
    verdict, _, history = call.memory.sweep.explain(call.part("entity"))
    return call.show("entity_why.html", verdict=verdict, lines=event_lines(history), merges=_merges(call, history))


def doubts(call: Call) -> Response:
    """Show the doubtful parts of the graph; all of it is read, so this comes when somebody asks."""
    found = call.page.kept(call, "doubts", call.memory.graph.validate)
    return call.show("doubts.html", doubts=found[:_MOST_DOUBTS], total=len(found))


def pin(call: Call) -> Response:
    own, pinned = call.part("entity"), call.given("pinned") == "yes"
    call.memory.pin(own, pinned)
    return call.go(f"/graph/{own}", "Pinned: no collection takes it." if pinned else "No longer pinned.")


def merge_form(call: Call) -> Response:
    """Show the form that merges others into this; those that contain its name are offered first."""
    kept = call.memory.graph.related(call.part("entity"), limit=1).start
    query = call.asked("q")
    listed = call.memory.graph.names(query or kept.name, limit=_OFFERED + 1).entities
    others = [each for each in listed if each.id != kept.id][:_OFFERED]
    return call.show("merge.html", entity=kept, query=query, others=others, chosen=call.asked("with"))


def plan_merge(call: Call) -> Response:
    """Save a plan of a merge and show it, before anything moves."""
    own, going = call.part("entity"), sorted(call.all_given("take"))
    if not going:
        raise BadInput("nothing was ticked.", hint="Tick the names that are the same thing, then look again.")
    planned = call.memory.graph.plan_merge(going, own)
    return call.show("merge_plan.html", merged=planned)


def merge(call: Call) -> Response:
    done = call.memory.graph.merge(plan_id=call.part("plan"))
    names = ", ".join(done.merged)
    said = f"Merged {names:.120} into {done.name:.60}. Their names lead here from now on."
    return call.go(f"/graph/{done.id}", said, receipt_id=done.receipt_id)


def split_form(call: Call) -> Response:
    """Show the form that splits an entity: its facts and memories that may be about another thing of this name."""
    found = call.memory.graph.related(call.part("entity"), limit=_MOST_FACTS)
    own = _own_facts(found)
    sources = list(dict.fromkeys(source for edge in own for source in edge.sources))
    return call.show("split.html", entity=found.start, facts=own, names=_names(found), sources=sources)


def plan_split(call: Call) -> Response:
    """Show what a split would move, before it does; the form keeps all that was asked for."""
    found = call.memory.graph.related(call.part("entity"), limit=_MOST_FACTS)
    return call.show(
        "split_plan.html",
        entity=found.start,
        split=_split(call, dry_run=True),
        own=_own_facts(found),
        names=_names(found),
        type=call.given("type"),
        facts=sorted(call.all_given("fact")),
        memories=sorted(call.all_given("memory")),
    )


def split(call: Call) -> Response:
    made = _split(call)
    moved = f"{counted(made.relations, 'fact')} and {counted(made.mentions, 'mention')}"
    said = f"{made.name:.60} is a name of its own, with {moved}."
    return call.go(f"/graph/{made.id}", said, receipt_id=made.receipt_id)


def _split(call: Call, *, dry_run: bool = False) -> Split:
    return call.memory.graph.unmerge(
        call.part("entity"),
        call.given("name"),
        entity_type=call.given("type") or None,
        relations=sorted(call.all_given("fact")),
        memories=sorted(call.all_given("memory")),
        dry_run=dry_run,
    )


def _own_facts(found: Neighbourhood) -> list[Edge]:
    return [edge for edge in found.walk.edges if found.start.key in (edge.subject, edge.object)]


def _names(found: Neighbourhood) -> dict[int, Entity]:
    return {each.key: each for each in (found.start, *found.entities)}


def _exactly(call: Call, name: str) -> str:
    try:
        return call.memory.graph.related(name, limit=1).start.id
    except NotFound:
        return ""


def _depth(call: Call) -> int:
    asked = call.whole_number("depth", otherwise=DEPTHS[1])
    return min(asked, DEPTHS[-1])


def _merges(call: Call, history: list[AuditEvent]) -> list[ReceiptDetails]:
    """Receipts of merges and splits that can still be undone."""
    ids = dict.fromkeys(event.reason for event in history if event.action in ("merge", "unmerge") and event.reason)
    found = []
    for receipt_id in ids:
        try:
            found.append(call.memory.sweep.receipt(receipt_id))
        except NotFound:  # purged
            continue
    return [each for each in found if each.can_be_undone]


SCREEN = Screen(
    "graph",
    "Graph",
    "/graph",
    "graph",
    "g",
    shows={
        "/graph": graph,
        "/graph/doubts": doubts,
        "/graph/{entity}": entity,
        "/graph/{entity}/why": why,
        "/graph/{entity}/merge": merge_form,
        "/graph/{entity}/split": split_form,
    },
    acts={
        "/graph/{entity}/pin": pin,
        "/graph/{entity}/merge": plan_merge,
        "/graph/{entity}/split": plan_split,
        "/graph/{entity}/split/off": split,
        "/graph/merges/{plan}": merge,
    },
    group=1,
)
