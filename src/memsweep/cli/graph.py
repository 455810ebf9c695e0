"""memsweep graph relate, reinforce, entities, names, related, query, status, validate, communities, context, build,
export, import, show
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli import graph_words as words
from memsweep.cli.collector import look_and_apply
from memsweep.cli.door import (
    BackupFile,
    Cursor,
    Force,
    InWorkspace,
    Json,
    Limit,
    Yes,
    harmless,
    say,
    show,
    standard_input,
    with_app,
)
from memsweep.errors import BadInput
from memsweep.model.graph import MAX_IMPORT_BYTES
from memsweep.model.text import MAX_TEXT_BYTES
from memsweep.report import Answer
from memsweep.report import graph as report
from memsweep.report.counts import named

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.model.plan import Plan
    from memsweep.services.memory import Memory


cli = typer.Typer(help="The knowledge graph: state facts, query, check, export.", no_args_is_help=True)

From = Annotated[str, Argument(metavar="FROM", help="An entity; an unknown one is created.")]
Relation = Annotated[str, Argument(metavar="RELATION", help="For example WORKS_ON.")]
To = Annotated[str, Argument(metavar="TO")]
Name = Annotated[str, Argument(metavar="ENTITY", help="A name or an id.")]
Kinds = Annotated[list[str] | None, Option("--relation", "-r", help="Follow only this relation; can be repeated.")]
FormatName = Annotated[str | None, Option("--format", "-f", help="json, graphml, cytoscape or cypher.")]


@cli.command("relate")
def relate(
    subject: From,
    relation: Relation,
    target: To,
    from_type: Annotated[str | None, Option(help="The type of FROM, for example Person.")] = None,
    to_type: Annotated[str | None, Option(help="The type of TO.")] = None,
    weight: Annotated[float, Option(help="From 0 to 1.")] = 1.0,
    valid_at: Annotated[str | None, Option(metavar="DATE", help="When it became true.")] = None,
    replaces: Annotated[bool, Option("--replaces", help="End the other facts with this FROM and RELATION.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """State a fact; a known fact becomes stronger."""
    result = with_app(
        lambda app: app.memory(workspace).graph.relate(
            subject,
            relation,
            target,
            from_type=from_type,
            to_type=to_type,
            weight=weight,
            valid_at=valid_at,
            replaces=replaces,
        )
    )
    answer = report.related_facts(result)
    show(answer, as_json, lambda console: words.related(console, answer))


@cli.command("reinforce")
def reinforce(
    subject: From,
    relation: Relation,
    target: To,
    correct: Annotated[bool, Option("--correct", help="Weaken the fact instead of strengthening it.")] = False,
    amount: Annotated[float | None, Option(help="By how much; 0.15 to confirm and 0.3 to correct by default.")] = None,
    reason: Annotated[str, Option(help="For the audit log.")] = "",
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Confirm a fact, or correct it. Confirming strengthens it, correcting weakens it."""
    kind: Literal["confirm", "correct"] = "correct" if correct else "confirm"
    result = with_app(
        lambda app: app.memory(workspace).graph.reinforce(
            subject, relation, target, kind=kind, amount=amount, reason=reason
        )
    )
    answer = report.reinforced(result)
    show(answer, as_json, lambda console: console.print(f"{answer['old_weight']:.2f} → {answer['new_weight']:.2f}"))


@cli.command("entities")
def entities(
    search: Annotated[str | None, Argument(help="Part of the name.")] = None,
    kind: Annotated[str | None, Option("--type", "-t", help="Only of this type.")] = None,
    min_confidence: Annotated[float, Option(help="From 0 to 1.")] = 0.0,
    sort_by: Annotated[str, Option(help="confidence, last_seen, relations, mentions or name.")] = "confidence",
    limit: Limit = 20,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """List entities by name and type."""
    found, total = with_app(
        lambda app: app.memory(workspace).graph.entities(
            search, entity_type=kind, min_confidence=min_confidence, sort_by=sort_by, limit=limit
        )
    )
    answer = report.entities(found, total)
    show(answer, as_json, lambda console: words.entities(console, answer["entities"], total))


@cli.command("names")
def names(
    search: Annotated[str, Argument(metavar="[SEARCH]", help="Part of the name.")] = "",
    prefix: Annotated[bool, Option("--prefix", help="Only names that begin with it.")] = False,
    kind: Annotated[str, Option("--type", "-t", help="Only of this type.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """List entities in the order of their names, page by page."""
    options: dict[str, Any] = {"prefix": prefix, "entity_type": kind, "limit": limit, "cursor": cursor}
    answer = report.entity_page(with_app(lambda app: app.memory(workspace).graph.names(search, **options)))

    def say_page(console: Console) -> None:
        words.entities(console, answer["entities"], answer["total"])
        if answer["next_cursor"]:
            console.print(f"[dim]the next page: --cursor {answer['next_cursor']}[/dim]")

    show(answer, as_json, say_page)


@cli.command("related")
def related(
    entity: Name,
    depth: Annotated[int, Option(help="How many steps to follow.")] = 1,
    limit: Limit = 20,
    relation: Kinds = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what is connected to an entity by current facts."""
    found = with_app(
        lambda app: app.memory(workspace).graph.related(entity, depth=depth, limit=limit, relation_types=relation)
    )
    answer = report.neighbourhood(
        found.start, found.entities, found.walk.distance, found.walk.edges, found.facts, found.contradictions
    )
    show(answer, as_json, lambda console: words.facts(console, answer["relations"]))


@cli.command("query")
def query(
    entity: Annotated[list[str], Argument(metavar="ENTITY...", help="Names or ids to start from.")],
    hops: Annotated[int, Option(help="How many steps to follow.")] = 2,
    min_weight: Annotated[float, Option(help="Only facts with at least this weight now, from 0 to 1.")] = 0.0,
    as_of: Annotated[str | None, Option(metavar="DATE", help="Facts that held at this date.")] = None,
    ended: Annotated[bool, Option("--ended", help="Include facts that no longer hold.")] = False,
    relation: Kinds = None,
    limit: Limit = 50,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Follow facts outwards from entities."""
    found = with_app(
        lambda app: app.memory(workspace).graph.query(
            entity,
            hops=hops,
            min_weight=min_weight,
            as_of=as_of,
            include_ended=ended,
            relation_types=relation,
            limit=limit,
        )
    )
    answer = report.queried(found.starts, found.entities, found.walk.distance, found.walk.edges)
    show(answer, as_json, lambda console: words.facts(console, answer["relations"]))


@cli.command("status")
def status(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Show counts, connectivity, and how far facts have faded."""
    answer = report.status(with_app(lambda app: app.memory(workspace).graph.status()))
    show(answer, as_json, lambda console: words.status(console, answer))


@cli.command("validate")
def validate(limit: Limit = 50, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Find what deserves a look. Contradictions, dangling facts, near duplicates and generic names."""
    answer = report.validated(with_app(lambda app: app.memory(workspace).graph.validate()), max(0, limit))
    show(answer, as_json, lambda console: words.findings(console, answer["findings"], answer["total"]))


@cli.command("communities")
def communities(
    min_size: Annotated[int, Option(help="Only groups of at least this many entities.")] = 2,
    limit: Limit = 10,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Find groups of closely connected entities."""
    found = with_app(lambda app: app.memory(workspace).graph.communities(min_size=min_size))
    answer = report.communities(found, max(0, limit))
    show(answer, as_json, lambda console: words.communities(console, answer))


@cli.command("context")
def context(limit: Limit = 5, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Print a briefing. Recent facts, central entities, contradictions and stale facts."""
    answer = report.context(with_app(lambda app: app.memory(workspace).graph.briefing(limit=limit)))
    show(answer, as_json, lambda console: words.briefing(console, answer))


@cli.command("build")
def build(
    text: Annotated[str, Argument(metavar="TEXT", help="`-` reads standard input.")],
    kind: Annotated[
        list[str] | None, Option("--type", "-t", metavar="NAME=TYPE", help="The type of a name; can be repeated.")
    ] = None,
    related: Annotated[bool, Option("--related", help="Also link names that only share a sentence.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what was found; write nothing.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Extract names and facts from a text by rules."""
    types = dict(_pair(each) for each in kind or [])
    options = {"types": types, "related": related, "dry_run": dry_run}
    said = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    result = with_app(lambda app: app.memory(workspace).graph.build(said, options))
    answer = report.built(result.batch, result.outcome)
    show(answer, as_json, lambda console: words.built(console, answer))


@cli.command("export")
def export(
    file: Annotated[str, Argument(metavar="FILE", help="`-` writes to standard output.")],
    format: FormatName = None,
    force: Force = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Write the whole graph to a file. The extension chooses the format."""
    if file == "-":
        dumped = with_app(lambda app: app.memory(workspace).graph.dump(format or "json"))
        print(harmless(dumped) if sys.stdout.isatty() else dumped, end="")
        return
    result = with_app(lambda app: app.memory(workspace).graph.export_file(Path(file), format, force=force))
    answer = report.exported(result)
    show(answer, as_json, lambda console: words.exported(console, answer))


@cli.command("import")
def import_(
    file: Annotated[str, Argument(metavar="FILE", help="`-` reads standard input.")],
    format: FormatName = None,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Add an exported graph to this one."""

    def run(app: App) -> Answer:
        memory = app.memory(workspace)
        if file == "-":
            return report.imported(memory.graph.load(standard_input(MAX_IMPORT_BYTES), format))
        return report.imported(memory.graph.import_file(Path(file), format))

    answer = with_app(run)
    show(answer, as_json, lambda console: words.imported(console, answer))


@cli.command("show")
def show_(
    entity: Name,
    depth: Annotated[int, Option(help="How many steps to follow.")] = 2,
    limit: Limit = 30,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write a .svg, .png or .dot file instead.")
    ] = None,
    force: Force = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Draw the neighbourhood of an entity. A tree, or a picture by graphviz or matplotlib."""
    found = with_app(lambda app: app.memory(workspace).graph.related(entity, depth=depth, limit=limit))
    answer: dict[str, Any] = dict(
        report.neighbourhood(found.start, found.entities, found.walk.distance, found.walk.edges)
    )
    if output is not None:
        from memsweep.cli.graph_picture import draw

        answer["drawn_by"] = draw(answer, output, force=force)
        answer["path"] = str(output.absolute())

    def tell(console: Console) -> None:
        if output is None:
            words.tree(console, answer)
        else:
            console.print(f"Drawn by {answer['drawn_by']}: {answer['path']}", markup=False)

    show(answer, as_json, tell)


def _pair(text: str) -> tuple[str, str]:
    name, found, kind = text.partition("=")
    if not found or not name.strip() or not kind.strip():
        raise BadInput(f"--type {text!r:.60} is not NAME=TYPE.")
    return name, kind


NodeThreshold = Annotated[
    float | None, Option(help="Remove entities below this confidence, from 0 to 1; by default from the settings.")
]
EdgeThreshold = Annotated[
    float | None, Option(help="Remove relations below this weight, from 0 to 1; by default from the settings.")
]
Into = Annotated[str, Option("--into", metavar="ENTITY", help="The entity to merge into.")]


@cli.command()
def prune(
    node_threshold: NodeThreshold = None,
    edge_threshold: EdgeThreshold = None,
    orphans: Annotated[bool, Option(help="Also remove entities that nothing refers to.")] = True,
    max_age_days: Annotated[
        float | None, Option(help="Keep entities seen within this many days; by default from the settings.")
    ] = None,
    yes: Yes = False,
    allow_large: Annotated[bool, Option("--allow-large", help="Allow removing more than half of the graph.")] = False,
    backup: BackupFile = None,
    limit: Limit = 20,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show which facts have faded away, then ask."""

    def make(memory: Memory) -> Plan:
        return memory.graph.plan_prune(
            node_threshold=node_threshold,
            edge_threshold=edge_threshold,
            include_orphans=orphans,
            max_age_days=max_age_days,
        )

    look_and_apply(
        make, yes=yes, allow_large=allow_large, backup=backup, limit=limit, workspace=workspace, as_json=as_json
    )


@cli.command()
def decay(
    store: Annotated[bool, Option("--store", help="Also store the current values.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show how far facts have faded since they were last confirmed."""
    result = with_app(lambda app: app.memory(workspace).graph.decay(dry_run=not store))
    answer = report.decayed(result, dry_run=not store)

    def tell(console: Console) -> None:
        for name in ("entities", "relations"):
            below = f"{answer[f'{name}_below']:,} faded away"
            console.print(f"{named(answer[name], name)}, {below}.")
        for fact in answer["faded"]:
            console.print(f"{fact['current']:.3f} of {fact['base']:.3f}  {fact['name']}", markup=False)

    show(answer, as_json, tell)


@cli.command()
def merge(
    entities: Annotated[
        list[str] | None, Argument(metavar="[ENTITY]...", help="Ids or names; leave out for suggestions.")
    ] = None,
    into: Into = "",
    yes: Yes = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Merge several entities into one. Without --yes, only show what would move. `memsweep undo` splits them again."""

    def run(app: App) -> Answer:
        memory = app.memory(workspace)
        if not entities:
            return report.suggested(memory.graph.validate())
        if yes:
            return report.merged(memory.graph.merge(entities, into), dry_run=False)
        return report.merged(memory.graph.plan_merge(entities, into), dry_run=True)

    answer = with_app(run)

    def tell(console: Console) -> None:
        say(console, answer["message"])
        for one in answer.get("suggestions", ()):
            console.print(f"{one['score']:.2f}  {' = '.join(one['ids'])}  {one['why']}", markup=False)

    show(answer, as_json, tell)


@cli.command()
def unmerge(
    entity: Annotated[str, Argument(help="A name or an id.")],
    name: Annotated[str, Argument(help="The name of the new entity.")],
    kind: Annotated[str | None, Option("--type", help="Its type; by default that of the old entity.")] = None,
    relation: Annotated[
        list[str] | None, Option("--relation", "-r", metavar="ID", help="Move this relation; can be repeated.")
    ] = None,
    memory: Annotated[
        list[str] | None,
        Option("--memory", "-m", metavar="ID", help="Move the mentions in this memory; can be repeated."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would move.")] = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Split a new entity off another, with chosen relations and mentions. `memsweep undo` takes it back."""
    result = with_app(
        lambda app: app.memory(workspace).graph.unmerge(
            entity, name, entity_type=kind, relations=relation or (), memories=memory or (), dry_run=dry_run
        )
    )
    answer = report.split(result)
    show(answer, as_json, lambda console: say(console, answer["message"]))
