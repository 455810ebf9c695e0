"""memsweep graph relate, reinforce, entities, names, related, query, status, validate, communities, context, build,
export, import, show
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

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
    answering,
    harmless,
    say,
    show,
    standard_input,
    with_app,
)
from memsweep.errors import BadInput
from memsweep.model.graph import MAX_IMPORT_BYTES
from memsweep.model.text import MAX_TEXT_BYTES
from memsweep.report import Answer, named
from memsweep.report import graph as report
from memsweep.services.memory import Memory

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
@answering(words.related)
def relate(
    memory: Memory,
    subject: From,
    relation: Relation,
    target: To,
    from_type: Annotated[str | None, Option(help="The type of FROM, for example Person.")] = None,
    to_type: Annotated[str | None, Option(help="The type of TO.")] = None,
    weight: Annotated[float, Option(help="From 0 to 1.")] = 1.0,
    valid_at: Annotated[str | None, Option(metavar="DATE", help="When it became true.")] = None,
    replaces: Annotated[bool, Option("--replaces", help="End the other facts with this FROM and RELATION.")] = False,
) -> Answer:
    """State a fact; a known fact becomes stronger."""
    types: dict[str, Any] = {"from_type": from_type, "to_type": to_type}
    options: dict[str, Any] = {"weight": weight, "valid_at": valid_at, "replaces": replaces}
    return report.related_facts(memory.graph.relate(subject, relation, target, **types, **options))


@cli.command("reinforce")
@answering(lambda console, answer: console.print(f"{answer['old_weight']:.2f} → {answer['new_weight']:.2f}"))
def reinforce(
    memory: Memory,
    subject: From,
    relation: Relation,
    target: To,
    correct: Annotated[bool, Option("--correct", help="Weaken the fact instead of strengthening it.")] = False,
    amount: Annotated[float | None, Option(help="By how much; 0.15 to confirm and 0.3 to correct by default.")] = None,
    reason: Annotated[str, Option(help="For the audit log.")] = "",
) -> Answer:
    """Confirm a fact, or correct it. Confirming strengthens it, correcting weakens it."""
    kind: Literal["confirm", "correct"] = "correct" if correct else "confirm"
    return report.reinforced(memory.graph.reinforce(subject, relation, target, kind=kind, amount=amount, reason=reason))


@cli.command("entities")
@answering(words.entities)
def entities(
    memory: Memory,
    search: Annotated[str | None, Argument(help="Part of the name.")] = None,
    kind: Annotated[str | None, Option("--type", "-t", help="Only of this type.")] = None,
    min_confidence: Annotated[float, Option(help="From 0 to 1.")] = 0.0,
    sort_by: Annotated[str, Option(help="confidence, last_seen, relations, mentions or name.")] = "confidence",
    limit: Limit = 20,
) -> Answer:
    """List entities by name and type."""
    asked: dict[str, Any] = {"entity_type": kind, "min_confidence": min_confidence, "sort_by": sort_by, "limit": limit}
    return report.entities(*memory.graph.entities(search, **asked))


@cli.command("names")
@answering(words.entities)
def names(
    memory: Memory,
    search: Annotated[str, Argument(metavar="[SEARCH]", help="Part of the name.")] = "",
    prefix: Annotated[bool, Option("--prefix", help="Only names that begin with it.")] = False,
    kind: Annotated[str, Option("--type", "-t", help="Only of this type.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Answer:
    """List entities in the order of their names, page by page."""
    options: dict[str, Any] = {"prefix": prefix, "entity_type": kind, "limit": limit, "cursor": cursor}
    return report.entity_page(memory.graph.names(search, **options))


@cli.command("related")
@answering(words.facts)
def related(
    memory: Memory,
    entity: Name,
    depth: Annotated[int, Option(help="How many steps to follow.")] = 1,
    limit: Limit = 20,
    relation: Kinds = None,
) -> Answer:
    """Show what is connected to an entity by current facts."""
    return report.neighbourhood(memory.graph.related(entity, depth=depth, limit=limit, relation_types=relation))


@cli.command("query")
@answering(words.facts)
def query(
    memory: Memory,
    entity: Annotated[list[str], Argument(metavar="ENTITY...", help="Names or ids to start from.")],
    hops: Annotated[int, Option(help="How many steps to follow.")] = 2,
    min_weight: Annotated[float, Option(help="Only facts with at least this weight now, from 0 to 1.")] = 0.0,
    as_of: Annotated[str | None, Option(metavar="DATE", help="Facts that held at this date.")] = None,
    ended: Annotated[bool, Option("--ended", help="Include facts that no longer hold.")] = False,
    relation: Kinds = None,
    limit: Limit = 50,
) -> Answer:
    """Follow facts outwards from entities."""
    asked: dict[str, Any] = {"hops": hops, "min_weight": min_weight, "as_of": as_of, "include_ended": ended}
    return report.queried(memory.graph.query(entity, **asked, relation_types=relation, limit=limit))


@cli.command("status")
@answering(words.status)
def status(memory: Memory) -> Answer:
    """Show counts, connectivity, and how far facts have faded."""
    return report.status(memory.graph.status())


@cli.command("validate")
@answering(words.findings)
def validate(memory: Memory, limit: Limit = 50) -> Answer:
    """Find what deserves a look. Contradictions, dangling facts, near duplicates and generic names."""
    return report.validated(memory.graph.validate(), max(0, limit))


@cli.command("communities")
@answering(words.communities)
def communities(
    memory: Memory,
    min_size: Annotated[int, Option(help="Only groups of at least this many entities.")] = 2,
    limit: Limit = 10,
) -> Answer:
    """Find groups of closely connected entities."""
    return report.communities(memory.graph.communities(min_size=min_size), max(0, limit))


@cli.command("context")
@answering(words.briefing)
def context(memory: Memory, limit: Limit = 5) -> Answer:
    """Print a briefing. Recent facts, central entities, contradictions and stale facts."""
    return report.context(memory.graph.briefing(limit=limit))


@cli.command("build")
@answering(words.built)
def build(
    memory: Memory,
    text: Annotated[str, Argument(metavar="TEXT", help="`-` reads standard input.")],
    kind: Annotated[
        list[str] | None, Option("--type", "-t", metavar="NAME=TYPE", help="The type of a name; can be repeated.")
    ] = None,
    related: Annotated[bool, Option("--related", help="Also link names that only share a sentence.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what was found; write nothing.")] = False,
) -> Answer:
    """Extract names and facts from a text by rules."""
    types = dict(_pair(each) for each in kind or [])
    said = standard_input(MAX_TEXT_BYTES) if text == "-" else text
    return report.built(memory.graph.build(said, {"types": types, "related": related, "dry_run": dry_run}))


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
@answering(words.imported)
def import_(
    memory: Memory,
    file: Annotated[str, Argument(metavar="FILE", help="`-` reads standard input.")],
    format: FormatName = None,
) -> Answer:
    """Add an exported graph to this one."""
    if file == "-":
        return report.imported(memory.graph.load(standard_input(MAX_IMPORT_BYTES), format))
    return report.imported(memory.graph.import_file(Path(file), format))


def _drawn(console: Console, answer: Answer) -> None:
    if "path" in answer:
        console.print(f"Drawn by {answer['drawn_by']}: {answer['path']}", markup=False)
    else:
        words.tree(console, answer)


@cli.command("show")
@answering(_drawn)
def show_(
    memory: Memory,
    entity: Name,
    depth: Annotated[int, Option(help="How many steps to follow.")] = 2,
    limit: Limit = 30,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write a .svg, .png or .dot file instead.")
    ] = None,
    force: Force = False,
) -> Answer:
    """Draw the neighbourhood of an entity. A tree, or a picture by graphviz or matplotlib."""
    found = memory.graph.related(entity, depth=depth, limit=limit)
    answer = report.neighbourhood(replace(found, facts=(), contradictions=()))
    if output is None:
        return answer
    from memsweep.cli.graph_words import draw

    return {**answer, "drawn_by": draw(answer, output, force=force), "path": str(output.absolute())}


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


def _faded(console: Console, answer: Answer) -> None:
    for name in ("entities", "relations"):
        console.print(f"{named(answer[name], name)}, {answer[f'{name}_below']:,} faded away.")
    for fact in answer["faded"]:
        console.print(f"{fact['current']:.3f} of {fact['base']:.3f}  {fact['name']}", markup=False)


@cli.command()
@answering(_faded)
def decay(
    memory: Memory, store: Annotated[bool, Option("--store", help="Also store the current values.")] = False
) -> Answer:
    """Show how far facts have faded since they were last confirmed."""
    return report.decayed(memory.graph.decay(dry_run=not store), dry_run=not store)


def _merged(console: Console, answer: Answer) -> None:
    say(console, answer["message"])
    for one in answer.get("suggestions", ()):
        console.print(f"{one['score']:.2f}  {' = '.join(one['ids'])}  {one['why']}", markup=False)


@cli.command()
@answering(_merged)
def merge(
    memory: Memory,
    entities: Annotated[
        list[str] | None, Argument(metavar="[ENTITY]...", help="Ids or names; leave out for suggestions.")
    ] = None,
    into: Into = "",
    yes: Yes = False,
) -> Answer:
    """Merge several entities into one. Without --yes, only show what would move. `memsweep undo` splits them again."""
    if not entities:
        return report.suggested(memory.graph.validate())
    if yes:
        return report.merged(memory.graph.merge(entities, into), dry_run=False)
    return report.merged(memory.graph.plan_merge(entities, into), dry_run=True)


@cli.command()
@answering()
def unmerge(
    memory: Memory,
    entity: Annotated[str, Argument(help="A name or an id.")],
    name: Annotated[str, Argument(help="The name of the new entity.")],
    kind: Annotated[str | None, Option("--type", help="Its type; by default that of the old entity.")] = None,
    relation: Annotated[
        list[str] | None, Option("--relation", "-r", metavar="ID", help="Move this relation; can be repeated.")
    ] = None,
    of_memory: Annotated[
        list[str] | None,
        Option("--memory", "-m", metavar="ID", help="Move the mentions in this memory; can be repeated."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would move.")] = False,
) -> Answer:
    """Split a new entity off another, with chosen relations and mentions. `memsweep undo` takes it back."""
    chosen: dict[str, Any] = {"relations": relation or (), "memories": of_memory or ()}
    return report.split(memory.graph.unmerge(entity, name, entity_type=kind, **chosen, dry_run=dry_run))
