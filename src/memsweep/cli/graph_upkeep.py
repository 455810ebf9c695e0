"""memsweep graph prune, decay, merge, unmerge"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, say, show, with_app
from memsweep.cli.options import BackupFile, Limit, Yes
from memsweep.cli.prune import look_and_apply
from memsweep.report import upkeep as report
from memsweep.report.counts import named

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.model.plan import Plan
    from memsweep.services.memory import Memory

NodeThreshold = Annotated[
    float | None, Option(help="Remove entities below this confidence, from 0 to 1; by default from the settings.")
]
EdgeThreshold = Annotated[
    float | None, Option(help="Remove relations below this weight, from 0 to 1; by default from the settings.")
]
Into = Annotated[str, Option("--into", metavar="ENTITY", help="The entity to merge into.")]


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
            below = f"{answer[f'{name}_below']:,} faded away"  # type: ignore[literal-required]
            console.print(f"{named(answer[name], name)}, {below}.")
        for fact in answer["faded"]:
            console.print(f"{fact['current']:.3f} of {fact['base']:.3f}  {fact['name']}", markup=False)

    show(answer, as_json, tell)


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

    def run(app: App) -> report.MergeAnswer:
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


COMMANDS = (prune, decay, merge, unmerge)
