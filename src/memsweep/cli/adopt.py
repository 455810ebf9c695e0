"""memsweep adopt"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.collector import agreed
from memsweep.cli.door import Json, SavedPlan, Yes, harmless, say, show, show_json, with_app
from memsweep.errors import BadInput
from memsweep.model.text import counted
from memsweep.report import Answer
from memsweep.report import adopt as report

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.model.adopt import Applied, MirrorPurged


def adopt(
    client: Annotated[str, Argument(metavar="CLIENT", help="claude or codex.")],
    project: Annotated[str, Option("--project", metavar="PATH", help="The project; by default this folder's.")] = ".",
    all_projects: Annotated[bool, Option("--all-projects", help="Every project of the client.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only look; write nothing, not even the mirror.")] = False,
    plan: SavedPlan = "",
    yes: Yes = False,
    allow_large: Annotated[
        bool, Option("--allow-large", help="Allow removing more than half of a memory folder.")
    ] = False,
    restore: Annotated[
        list[str] | None, Option("--restore", metavar="NAME", help="Bring back a file that was deleted.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Bring back every file that was deleted.")] = False,
    version: Annotated[str, Option("--at", metavar="VERSION", help="With --restore: as the file was then.")] = "",
    history: Annotated[str, Option("--history", metavar="NAME", help="List the versions of a file.")] = "",
    undo: Annotated[str, Option("--undo", metavar="RECEIPT", help="Undo an apply or a restore.")] = "",
    purge: Annotated[bool, Option("--purge", help="Delete old versions in the mirror permanently.")] = False,
    older_than_days: Annotated[
        float | None, Option("--older-than-days", help="With --purge: those replaced that long ago; 30 by default.")
    ] = None,
    limit: Annotated[int, Option("--limit", "-n", help="How many lines of each list to show.")] = 20,
    as_json: Json = False,
) -> None:
    """Mirror the memory files of Claude Code or Codex, show what is dead or was deleted there, then ask."""
    names = restore or []
    ways = {"--plan": plan, "--restore": names or everything, "--history": history, "--undo": undo, "--purge": purge}
    _one_at_most({"--dry-run": dry_run, **ways})
    where: dict[str, Any] = {"project": project, "all_projects": all_projects}
    if undo:
        undo_client_files(undo, as_json)
    elif purge:
        _purge(client, older_than_days, yes, as_json)
    elif history:
        rows = with_app(lambda app: app.adopt.history(client, history, **where))
        answer = report.versions(rows)
        show(answer, as_json, lambda console: _versions(console, answer))
    elif names or everything:

        def bring_back(app: App) -> Applied:
            return app.adopt.restore(client, names, everything=everything, version=version, **where)

        _changed(report.changed(with_app(bring_back), "brought back"), as_json)
    elif plan:
        _apply(client, plan, allow_large, as_json)
    else:
        _look(client, where, dry_run, yes, allow_large, limit, as_json)


def undo_client_files(receipt_id: str, as_json: bool) -> None:
    result = with_app(lambda app: app.adopt.undo(receipt_id))
    answer = report.changed(result, "made what it was" if len(result.changes) == 1 else "made what they were")
    show(answer, as_json, lambda console: _words(console, answer))


def _purge(client: str, older_than_days: float | None, yes: bool, as_json: bool) -> None:
    def run(app: App) -> MirrorPurged:
        days = app.settings.gc.purge_days if older_than_days is None else older_than_days
        question = f"Permanently delete versions in the mirror that were replaced {days:g} days ago or earlier?"
        return app.adopt.purge(client, days, confirm=agreed(question, yes, as_json))

    answer = report.mirror_purged(with_app(run))
    show(answer, as_json, lambda console: say(console, answer["message"]))


def _one_at_most(given: Mapping[str, object]) -> None:
    named = [name for name, value in given.items() if value]
    if len(named) > 1:
        raise BadInput(f"{' and '.join(named)} cannot be used together.", hint="Pass one of them.")


def _look(
    client: str, where: dict[str, Any], dry_run: bool, yes: bool, allow_large: bool, limit: int, as_json: bool
) -> None:
    look = with_app(lambda app: app.adopt.look(client, dry_run=dry_run, **where))
    answer = report.looked(look)
    may_ask = not as_json and sys.stdin.isatty()
    if not as_json:
        show(answer, False, lambda console: _overview(console, answer, limit))
    if dry_run or not answer["items"] or not (yes or (may_ask and typer.confirm("Apply this plan?"))):
        if as_json:
            show_json(answer)
        elif answer["plan_id"]:
            command = f"memsweep adopt {client} --plan {answer['plan_id']}{' --allow-large' if allow_large else ''}"
            print(f"Nothing was changed. To apply exactly this: {command}")
        return
    _apply(client, answer["plan_id"], allow_large, as_json)


def _apply(client: str, plan_id: str, allow_large: bool, as_json: bool) -> None:
    def run(app: App) -> Applied:
        return app.adopt.apply(client, plan_id, confirm=True, allow_large=allow_large)

    _changed(report.changed(with_app(run), "changed"), as_json)


def _changed(answer: Answer, as_json: bool) -> None:
    show(answer, as_json, lambda console: _words(console, answer))
    if answer["receipt_id"] and not as_json:
        print(f"To undo this: memsweep undo {answer['receipt_id']}")


def _words(console: Console, answer: Answer) -> None:
    for each in answer["changed"]:
        _line(console, f"{each['change']}: {each['store']}/{each['name']}")
    for each in answer["skipped"]:
        _line(console, f"skipped: {each['store']}/{each['name']} ({each['reason']})")
    say(console, answer["message"])


def _overview(console: Console, answer: Answer, limit: int) -> None:
    for store in answer["stores"]:
        gone = " (gone)" if store["project_gone"] else ""
        belongs = f", of {store['project']}{gone}" if store["project"] else ""
        _line(console, f"{store['store']}: {counted(store['files'], 'file')}{belongs}")
    for each in answer["items"][:limit]:
        _line(console, f"{each['action'].replace('_', ' ')}: {each['store']}/{each['name']}: {each['why']}")
    for each in answer["findings"][:limit]:
        _line(console, f"look at: {each['store']}/{each['name']}: {each['why']}")
    for each in answer["lost"][:limit]:
        _line(console, f"deleted by others: {each['store']}/{each['name']} (noticed {each['lost_at'][:16]})")
    longest = max(len(answer[name]) for name in ("items", "findings", "lost"))
    if longest > limit:
        _line(console, f"Only {limit} lines of each list are shown; --limit {longest} shows all.")
    say(console, answer["message"])
    if answer["lost"]:
        print(f"To bring deleted files back: memsweep adopt {answer['client']} --restore NAME, or --all")


def _versions(console: Console, answer: Answer) -> None:
    for each in answer["versions"]:
        what = f"{each['version']}  {each['size_bytes']:,} bytes" if each["version"] else "deleted"
        by = f"  {each['receipt_id']}" if each["receipt_id"] else ""
        _line(console, f"{each['at'][:19]}  {each['store']}/{each['name']}  {what}{by}")


def _line(console: Console, text: str) -> None:
    """One line, whatever a name of a file holds."""
    console.print(harmless(" ".join(text.split())), markup=False)
