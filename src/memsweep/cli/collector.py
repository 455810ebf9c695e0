"""prune, undo, recover, receipts, trash, purge, delete, pin, unpin, explain, audit, plan, tombstone, schedule"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import (
    BackupFile,
    Cursor,
    Id,
    InWorkspace,
    Json,
    Limit,
    MemoryId,
    SavedPlan,
    Yes,
    answering,
    harmless,
    in_commands,
    pasteable,
    say,
    show,
    show_json,
    show_way_back,
    with_app,
)
from memsweep.collector.collect import refuse_other_strategy
from memsweep.errors import Conflict, Unconfirmed
from memsweep.model.adopt import CLIENT_RECEIPT
from memsweep.model.paging import cursor_at
from memsweep.model.strategies import DEFAULT, NAMES, SECRETS
from memsweep.model.text import counted, excerpt
from memsweep.report import Answer, amount, amount_in, fields, named, nonzero
from memsweep.report import collector as report
from memsweep.report.care import backed_up
from memsweep.report.collector import why
from memsweep.report.memory import places
from memsweep.schedule.background import Background
from memsweep.secrets.find import redacted
from memsweep.services.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console

    from memsweep.app import App
    from memsweep.model.plan import Plan
    from memsweep.services.memory import Memory


ReceiptId = Annotated[str, Argument(metavar="RECEIPT", help="The id that the prune printed.")]


def prune(
    strategy: Annotated[str | None, Option("--strategy", "-s", help=", ".join(NAMES), show_default=DEFAULT)] = None,
    plan: SavedPlan = "",
    spare: Annotated[
        list[str] | None,
        Option("--except", metavar="ID", help="Leave out this item and what it keeps alive; can be repeated."),
    ] = None,
    yes: Yes = False,
    ttl_days: Annotated[float | None, Option(help="With `expired`: also memories not seen for this many days.")] = None,
    session: Annotated[str, Option(help="With `origin`: what came from this session.")] = "",
    client: Annotated[str, Option(help="With `origin`: what came from this client.")] = "",
    tier: Annotated[str, Option(help="With `origin`: what came from this tier.")] = "",
    source: Annotated[str, Option(help="With `origin`: what came from this source.")] = "",
    since: Annotated[str, Option(metavar="DATE", help="With `origin`: only since this date.")] = "",
    until: Annotated[str, Option(metavar="DATE", help="With `origin`: only up to this date.")] = "",
    allow_large: Annotated[
        bool, Option("--allow-large", help="Allow removing more than half of the workspace.")
    ] = False,
    backup: BackupFile = None,
    limit: Limit = 20,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what would be collected and why, then ask."""

    asked = {"session": session, "client": client, "tier": tier, "source": source, "since": since, "until": until}
    origin = {name: value for name, value in asked.items() if value}

    def make(memory: Memory) -> Plan:
        whose = origin if origin or strategy == "origin" else None
        made = (
            memory.sweep.get_plan(plan)
            if plan
            else memory.sweep.plan(strategy or DEFAULT, ttl_days=ttl_days, origin=whose)
        )
        refuse_other_strategy(made, strategy or made.strategy)
        return memory.sweep.narrow(made.id, spare) if spare else made

    look_and_apply(
        make, yes=yes, allow_large=allow_large, backup=backup, limit=limit, workspace=workspace, as_json=as_json
    )


def look_and_apply(
    make: Callable[[Memory], Plan],
    *,
    yes: bool,
    allow_large: bool,
    backup: Path | None,
    limit: int,
    workspace: str,
    as_json: bool,
) -> None:
    """Show a plan; apply exactly that plan if the person agrees."""
    saved: dict[str, Answer] = {}
    how_to_apply = ""

    def run(app: App) -> tuple[Answer, Answer | None]:
        nonlocal how_to_apply
        memory = app.memory(workspace)
        made = make(memory)
        items = memory.sweep.items(made, limit=limit) if made.item_count else []
        preview = report.planned(made, items, why, cursor_at(limit, made.item_count, made.id))
        how_to_apply = _apply_command(memory, made, allow_large, backup)
        if not as_json:
            show(preview, False, lambda console: _table(console, preview))
        if not made.item_count or not (yes or _sure(made, as_json)):
            return preview, None
        if backup is not None:
            saved["backup"] = backed_up(memory.care.backup(backup))
            if not as_json:
                print(saved["backup"]["message"])
        return preview, report.applied(memory.sweep.apply(made.id, confirm=True, allow_large=allow_large))

    preview, result = with_app(run)
    if result is None:
        if as_json:
            show_json(preview)
        elif preview["preview"]:
            print(f"Nothing was removed. To apply exactly this: {how_to_apply}")
        return
    show({**result, **saved}, as_json, lambda console: _done(console, result))


def undo(receipt_id: ReceiptId, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Bring back everything that a prune or a deletion removed, or what `adopt` changed."""
    if receipt_id.startswith(f"{CLIENT_RECEIPT}_"):
        from memsweep.cli.adopt import undo_client_files

        undo_client_files(receipt_id, as_json)
        return
    answer = report.undone(with_app(lambda app: app.undo(receipt_id, workspace)))
    show(answer, as_json, lambda console: _undone(console, answer))


def _undone(console: Console, answer: Answer) -> None:
    say(console, answer["message"])
    for item in answer["conflicts"]:
        console.print(f"left alone: {item['id']} ({item['reason']})", markup=False)


@answering(_undone)
def recover(memory: Memory, item_id: Id) -> Answer:
    """Bring one memory, entity or relation back from the trash, with what it needs."""
    return report.undone(memory.sweep.recover(item_id))


@answering()
def delete(
    memory: Memory,
    memory_id: MemoryId,
    forever: Annotated[bool, Option("--forever", help="Delete it permanently, and never learn it again.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> Answer:
    """Move one memory to the trash."""
    text = harmless(excerpt(redacted(memory.get(memory_id).text)[0], 200))
    sure = agreed(f"{text}\n{'Delete it permanently?' if forever else 'Move it to the trash?'}", yes, as_json)
    return report.deleted(memory.delete(memory_id, confirm=sure, forever=forever), forever=forever)


def _trash(console: Console, answer: Answer) -> None:
    for item in answer["items"]:
        name = harmless(" ".join((item.get("path") or item["name"]).split())[:60])
        parts = (item["trashed_at"][:16], item["receipt_id"], item["type"].lower(), item["id"], name, item["reason"])
        console.print("  ".join(parts), markup=False)
    console.print(f"{answer['total']:,} in the trash." if answer["total"] else "The trash is empty.")
    if answer["deleted_workspaces"]:
        from memsweep.cli.workspace import show_deleted

        print("Deleted workspaces:")
        show_deleted(answer["deleted_workspaces"])


@answering(_trash)
def trash(
    app: App,
    receipt: Annotated[str, Option("--receipt", metavar="ID", help="Only what this receipt holds.")] = "",
    limit: Limit = 20,
    workspace: InWorkspace = "",
) -> Answer:
    """List what was removed, when and why, and the deleted workspaces."""
    page = app.trash(workspace, limit=limit, receipt_id=receipt)
    return report.trashed(page, app.settings.gc.purge_days, cursor_at(limit, page.total, "trash"))


@answering()
def purge(
    app: App,
    older_than_days: Annotated[
        float | None, Option("--older-than-days", help="Delete what is older than this many days; 30 by default.")
    ] = None,
    deleted_workspaces: Annotated[
        bool, Option("--deleted-workspaces", help="Also delete workspaces that were deleted that long ago.")
    ] = False,
    yes: Yes = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> Answer:
    """Permanently delete old items in the trash of a workspace. This cannot be undone."""
    days = app.settings.gc.purge_days if older_than_days is None else older_than_days
    workspaces = counted(app.deleted_workspaces(days), "workspace")
    others = f" and {workspaces} deleted that long ago" if deleted_workspaces else ""
    question = f"Permanently delete everything that has been in the trash for {days:g} days{others}?"
    purged = app.memory(workspace).sweep.purge(days, confirm=agreed(question, yes, as_json))
    freed = app.purge_workspaces(days) if deleted_workspaces else 0
    return report.purged(purged, freed, app.deleted_workspaces(days))


def _pinned(console: Console, answer: Answer) -> None:
    state = "pinned" if answer["pinned"] else "not pinned any more"
    console.print(f"{answer['type']} {answer['id']} is {state}.", markup=False)


@answering(_pinned)
def pin(memory: Memory, item_id: Id) -> Answer:
    """Protect a memory or an entity from every collection."""
    return report.pinned(item_id, memory.pin(item_id), pinned=True)


@answering(_pinned)
def unpin(memory: Memory, item_id: Id) -> Answer:
    """Let a pinned memory or entity be collected again."""
    return report.pinned(item_id, memory.pin(item_id, False), pinned=False)


def _explained(console: Console, answer: Answer) -> None:
    console.print(f"{answer['type']} {answer['id']} is {'live' if answer['alive'] else 'not live'}.", markup=False)
    for sentence in answer["because"]:
        say(console, f"  {sentence}")
    for accusation in answer["garbage_for"]:
        console.print(f"  {accusation['strategy']} would take it: {accusation['why']}", markup=False)
    if len(answer["path"]) > 1:
        console.print("  " + " → ".join(harmless(str(step["name"])) for step in answer["path"]), markup=False)
    for event in answer["history"]:
        console.print(f"  {event['at'][:19]} {event['actor']}: {event['action']} {event['reason']}", markup=False)


@answering(_explained)
def explain(memory: Memory, item_id: Id) -> Answer:
    """Explain why something is kept or is garbage. Takes a memory or an entity, and shows its history."""
    return report.explained(*memory.sweep.explain(item_id))


def _audit(console: Console, answer: Answer) -> None:
    for event in answer["events"]:
        counts = ", ".join(nonzero(event["counts"]))
        parts = (event["at"][:19], event["actor"], event["action"], event["subject"], counts, event["reason"])
        console.print("  ".join(part for part in parts if part), markup=False)
    _page_end(console, answer, "events")


def _page_end(console: Console, answer: Answer, what: str) -> None:
    if not answer[what]:
        print(f"No {what}.")
    if answer["next_cursor"]:
        console.print(f"more: --cursor {answer['next_cursor']}", markup=False)


@answering(_audit)
def audit(
    memory: Memory,
    subject: Annotated[str | None, Argument(metavar="[ID]", help="Only events about this id.")] = None,
    since: Annotated[str | None, Option(metavar="DATE", help="Only since this date or time.")] = None,
    until: Annotated[str | None, Option(metavar="DATE", help="Only up to this date or time.")] = None,
    actor: Annotated[str, Option(help="Only by this actor, or through this door: mcp, cli, hook, library …")] = "",
    action: Annotated[str, Option(help="Only this action: plan, prune, undo, purge …")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Answer:
    """Show who did what, when and why."""
    asked: dict[str, Any] = {"subject": subject, "since": since, "until": until, "limit": limit, "cursor": cursor}
    page = memory.sweep.audit_page(**asked, actor=actor, action=action)
    return {**report.audited(page.events), "next_cursor": page.next_cursor}


def _apply_command(memory: Memory, plan: Plan, allow_large: bool, backup: Path | None) -> str:
    """The command that applies this plan as it would have been applied now."""
    is_large = allow_large or bool(plan.id and memory.sweep.over_cap(plan.id))
    words = ["memsweep", "prune", "--plan", plan.id, "--yes", *(["--allow-large"] if is_large else [])]
    return pasteable(shlex.join([*words, *(["--backup", str(backup)] if backup else [])]))


def _sure(plan: Plan, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        return False
    if plan.strategy == SECRETS:
        return typer.confirm(f"Redact the secrets in {places(plan.totals, plan.item_count)}?")
    return typer.confirm(f"Move {amount(plan.totals)} to the trash?")


def agreed(question: str, yes: bool, as_json: bool) -> bool:
    """A yes, by option or by a person; a no ends the command."""
    if yes:
        return True
    if as_json or not sys.stdin.isatty():
        raise Unconfirmed("this removes something and was not confirmed; nothing was removed.", hint="Pass --yes.")
    if typer.confirm(question):
        return True
    print("Nothing was removed.")
    raise typer.Exit


def _table(console: Console, preview: Answer) -> None:
    from rich.markup import escape
    from rich.table import Table

    if not preview["preview"]:
        console.print("Nothing to collect.")
        _asides(console, preview)
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("what", "id", "name", "why"):
        table.add_column(name, overflow="fold", no_wrap=name == "id")
    for item in preview["preview"]:
        name = harmless(" ".join((item["relative_path"] or item["name"] or "").split()))
        table.add_row(item["type"].lower(), item["id"], escape(name), escape(item["why"]))
    console.print(table)
    for item in preview["preview"]:
        if "kept_text" in item:
            _beside(console, item)
    more = " (more follow)" if preview["next_cursor"] else ""
    numbers = {
        "memories": preview["nodes_to_delete"],
        "chunks": preview["chunks_to_delete"],
        "entities": preview["entities_to_delete"],
        "relations": preview["relations_to_delete"],
    }
    counts = ", ".join(named(number, name) for name, number in numbers.items())
    console.print(f"\n{counts}{more}; plan {preview['plan_id']}", markup=False)
    _asides(console, preview)


def _asides(console: Console, preview: Answer) -> None:
    """Print what was named and stays, and the warnings."""
    for item in preview["protected"]:
        name = harmless(" ".join(str(item["name"] or "").split())[:60])
        console.print(
            f"protected: {item['type'].lower()} {item['id']} ({item['reason']})  {name}".rstrip(), markup=False
        )
    for warning in preview["warnings"]:
        say(console, f"warning: {warning}")


def _beside(console: Console, item: dict[str, Any]) -> None:
    """A memory and the one that is kept in its place, and what differs."""
    lines = [("goes", item["text"]), ("stays", item["kept_text"])]
    lines += [("differs", f"{each['text']!r} and {each['kept_text']!r}") for each in item["differs"]]
    console.print(f"\n{item['id']}", markup=False)
    for name, said in lines:
        console.print(f"  {name}: {harmless(' '.join(said.split()))}", markup=False)


def _done(console: Console, result: Answer) -> None:
    say(console, result["message"])
    for item in result["skipped"]:
        console.print(f"skipped: {item['id']} ({item['reason']})", markup=False)
    show_way_back(result["receipt_id"])


plans = typer.Typer(help="Look at saved plans of the collector.", no_args_is_help=True)
PlanId = Annotated[str, Argument(metavar="PLAN", help="The id that `memsweep prune` printed.")]


def _groups(console: Console, answer: Answer) -> None:
    for group in answer["groups"]:
        names = ", ".join(str(each["name"]) for each in group["first"])
        more = group["followers"] - len(group["first"])
        others = f"; with it {names}{f' and {more:,} more' if more else ''}" if names else ""
        console.print(_plan_item("", group, others), markup=False)


@plans.command("show")
def show_plan(plan_id: PlanId, limit: Limit = 20, workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Show a plan by cause: each item with what goes only because of it, files by folder."""
    found = with_app(lambda app: app.memory(workspace).sweep.groups(plan_id, limit=limit))
    answer = report.groups(found, cursor_at(limit, found.total, plan_id))

    def words(console: Console) -> None:
        _groups(console, answer)
        console.print(f"{counted(answer['total'], 'group')} in plan {plan_id}", markup=False)

    show(answer, as_json, words)


def _previews(console: Console, answer: Answer) -> None:
    for each in answer["strategies"]:
        console.print(f"{each['strategy']}: {each['problem'] or amount_in(each) or 'nothing'}", markup=False)
        _plan_items(console, "  ", each["groups"])


@plans.command()
@answering(_previews)
def preview(
    memory: Memory,
    strategies: Annotated[
        list[str] | None, Argument(metavar="[STRATEGY]...", help="By default all quick ones.")
    ] = None,
    limit: Annotated[int, Option("--limit", "-n", help="How many groups of each to show.")] = 5,
) -> Answer:
    """Show what collections would take now, by strategy. Saves no plan."""
    return report.previews(memory.sweep.preview(*(strategies or ()), limit=limit))


def _difference(console: Console, answer: Answer) -> None:
    for sign, items in (("+ ", answer["added"]), ("- ", answer["gone"])):
        _plan_items(console, sign, items)
    console.print(", ".join(f"{answer[f'{what}_count']:,} {what}" for what in ("added", "gone", "same")), markup=False)


@plans.command()
@answering(_difference)
def diff(
    memory: Memory,
    earlier: Annotated[str, Argument(metavar="EARLIER")],
    later: Annotated[str, Argument(metavar="LATER")],
    limit: Limit = 100,
) -> Answer:
    """Show what one plan names that another one does not."""
    return report.difference(memory.sweep.compare(earlier, later, limit=limit))


def _plan_items(console: Console, sign: str, items: Iterable[dict[str, Any]]) -> None:
    for item in items:
        console.print(_plan_item(sign, item), markup=False)


def _plan_item(sign: str, item: dict[str, Any], more: str = "") -> str:
    name = harmless(" ".join(f"{item['relative_path'] or item['name'] or ''}{more}".split()))
    return f"{sign}{item['type'].lower()} {item['id']}  {name}  {item['why']}"


def _receipts(console: Console, answer: Answer) -> None:
    for each in answer["receipts"]:
        held = ", ".join(nonzero(each["held"]))
        size = f"in the trash: {held}, about {each['bytes']:,} bytes" if held else ""
        about = (each[name] for name in ("receipt_id", "state", "strategy"))
        parts = (each["at"][:19], *about, amount_in(each["moved"]), each["actor"], size)
        console.print("  ".join(part for part in parts if part), markup=False)
    _page_end(console, answer, "receipts")


@answering(_receipts)
def receipts(
    memory: Memory,
    trash: Annotated[bool, Option("--trash", help="Only those that have something in the trash.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
) -> Answer:
    """Show what was done, newest first, and whether it was undone or purged since."""
    find = memory.sweep.trash_by_receipt if trash else memory.sweep.receipts
    return report.receipts(find(limit=limit, cursor=cursor))


tombstones = typer.Typer(help="What was deleted permanently and must not be learned again.", no_args_is_help=True)


def _tombstones(console: Console, answer: Answer) -> None:
    for row in answer["tombstones"]:
        print(f"{row['at'][:19]}  {row['memory_id']}  {harmless(row['reason'])}")
    if not answer["tombstones"]:
        print("No tombstones.")


@tombstones.command("list")
@answering(_tombstones)
def list_tombstones(memory: Memory) -> Answer:
    """List all tombstones."""
    return {"tombstones": [fields(each) for each in memory.sweep.tombstones()]}


@tombstones.command("remove")
@answering(lambda console, answer: console.print(f"{answer['removed']} can be learned again."))
def remove_tombstone(memory: Memory, memory_id: Id) -> Answer:
    """Remove a tombstone, so that the text can be learned again."""
    memory.sweep.remove_tombstone(memory_id)
    return {"removed": memory_id}


schedules = typer.Typer(help="Background collection: show it, or run it now.", no_args_is_help=True)


def _schedule(console: Console, answer: Answer) -> None:
    state = "on" if answer["enabled"] else "off (schedule.enabled in memsweep.toml turns it on)"
    print(f"Background collection is {state}.")
    print(f"cron {answer['cron']!r}, strategies {', '.join(answer['strategies'])}")
    print(f"last run {answer['last_run'] or 'never'}, next run {answer['next_run'] or 'never'}")
    for item in answer["last_outcomes"]:
        print(_outcome(item))
    removal = answer["last_removal"]
    if removal and removal["last_run"] != answer["last_run"]:
        print(f"last run that removed something {removal['last_run']}")
        for item in removal["outcomes"]:
            print(_outcome(item))


@schedules.command("show")
@answering(_schedule)
def show_schedule(app: App) -> Answer:
    """Show the settings of the schedule, the last run and the next."""
    return Background(app).status()


@schedules.command("run")
def run_schedule(
    workspace: Annotated[
        str,
        Option("--workspace", "-w", metavar="ID", help="Only this workspace; by default all that the settings name."),
    ] = "",
    allow_large: Annotated[
        bool, Option("--allow-large", help="Allow removing more than half of a workspace, this time.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the scheduled collection once, now; for example from your own cron. The exit status is 4 if it stopped."""

    def work(app: Any) -> dict[str, Any]:
        background = Background(app)
        background.check()
        if workspace:
            app.memory(workspace).stats()  # an unknown one is a mistake, not an outcome
        return background.run(workspace_id=workspace, allow_large=allow_large) or {
            "last_run": None,
            "outcomes": [],
            "busy": True,
        }

    answer = with_app(work)

    def words(console: Any) -> None:
        if answer.get("busy"):
            print("Another process is already running it.")
        for item in answer["outcomes"]:
            print(_outcome(item))

    show(answer, as_json, words)
    if any(item["stopped"] for item in answer["outcomes"]):
        raise typer.Exit(Conflict.exit_status)


def _outcome(item: dict[str, Any]) -> str:
    moved = f"{named(item['deleted_memories'], 'memories')} and {named(item['deleted_entities'], 'entities')}"
    stopped = f"; stopped: {in_commands(item['stopped'])}" if item["stopped"] else ""
    return f"  {item['workspace_id']}: moved {moved} to the trash, purged {item['purged_memories']:,}{stopped}"
