"""memsweep context import, export, analyze, prune, restore, search, strip, stash, pin, unpin, list, delete"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import (
    AtMost200,
    Cursor,
    InWorkspace,
    Json,
    Limit,
    SavedPlan,
    Yes,
    harmless,
    in_commands,
    pasteable,
    say,
    show,
    show_json,
    show_way_back,
    standard_input,
    with_app,
)
from memsweep.context import segments_to_json
from memsweep.errors import BadInput
from memsweep.model.checks import MOST_BYTES
from memsweep.model.ids import DEFAULT_PROJECT
from memsweep.model.text import excerpt
from memsweep.model.window import Swept
from memsweep.report import Answer
from memsweep.report import context as report
from memsweep.report.counts import named
from memsweep.store.named_files import read_text

if TYPE_CHECKING:
    from rich.console import Console

    from memsweep.context.service import ContextWindow
    from memsweep.operation import Sync

cli = typer.Typer(help="The context window of an agent: analyze, prune, restore.", no_args_is_help=True)

InProject = Annotated[str, Option("--project", "-p", metavar="ID", help="The context window.")]
Ids = Annotated[list[str], Argument(metavar="ID...", help="Segments.")]
SomeIds = Annotated[list[str] | None, Argument(metavar="[ID...]", help="Segments.")]
Budget = Annotated[int | None, Option(help="Fit into this many tokens; by default the soft limit.")]
_BAR_WIDTH = 40
_TEXT_WIDTH = 40
_MOST_LINES = 10  # of what went
_MOST_BYTES = MOST_BYTES["add_transcript.text"]


@cli.command("import")
def import_(
    file: Annotated[Path, Argument(metavar="FILE", help="`-` reads standard input.")],
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Read a session file. JSON lines of Claude Code or Codex, a list of messages, or {"segments": [...]}."""
    text = _read(file)
    answer = with_app(lambda app: report.added(_window(app, workspace, project).add_transcript(text)))

    def words(console: Console) -> None:
        parts = [f"Added {named(len(answer['segment_ids']), 'segments')}"]
        parts += [f"skipped {len(answer['known']):,} already known"] if answer["known"] else []
        parts += [f"stashed some by an automatic collection ({answer['receipt_id']})"] if answer["stashed"] else []
        console.print(f"{', '.join(parts)}; {_tokens(answer)}.", markup=False)
        for note in answer["notes"]:
            say(console, note)

    show(answer, as_json, words)


@cli.command("export")
def export(
    everything: Annotated[bool, Option("--all", help="Include the stash, each segment in its place.")] = False,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Print the window as {"segments": [...]}, which import can read."""
    segments = with_app(lambda app: _window(app, workspace, project).segments(stashed=everything))
    show_json(json.loads(segments_to_json(segments)))


@cli.command("analyze")
def analyze(
    budget: Budget = None,
    target: Annotated[int | None, Option(help="Free this many tokens instead.")] = None,
    task: Annotated[str | None, Option(help="The id of the current task; its segments stay.")] = None,
    active_file: Annotated[str | None, Option(help="The file that is being worked on.")] = None,
    limit: Limit = 20,
    dry_run: Annotated[bool, Option("--dry-run", help="Save nothing: no plan, no task, no active file.")] = False,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Show what a collection would take out of the window and why."""
    descriptors = None if active_file is None else {"active_file": active_file}

    def run(app: App) -> Answer:
        window = _window(app, workspace, project)
        found = window.analyze(
            budget=budget,
            target_tokens=target,
            task_id=task,
            descriptors=descriptors,
            max_candidates=limit,
            dry_run=dry_run,
        )
        return report.analyzed(found)

    answer = with_app(run)
    show(answer, as_json, lambda console: _analysis(console, answer))


@cli.command("prune")
def prune(
    segment_ids: SomeIds = None,
    plan: SavedPlan = "",
    budget: Budget = None,
    strategy: Annotated[str, Option(help="auto, stash (only stash) or delete (move to the trash).")] = "auto",
    yes: Yes = False,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Take segments out of the window. By id, by plan, or until it fits the budget."""
    if segment_ids and (plan or budget is not None):
        raise BadInput("Give ids, or a plan, or a budget.")

    def run(app: App) -> tuple[Answer | None, Swept | None]:
        window = _window(app, workspace, project)
        if segment_ids:
            sure = yes or (
                strategy == "delete" and _sure(f"Move {named(len(segment_ids), 'segments')} to the trash?", as_json)
            )
            return None, window.prune(segment_ids, strategy=strategy, confirm=sure)
        if plan:
            return None, window.prune(plan_id=plan, strategy=strategy, confirm=yes)
        seen = report.analyzed(window.analyze(budget=budget))
        if not as_json:
            show(seen, False, lambda console: _analysis(console, seen))
        if seen["plan_id"] is None or not (
            yes or _sure(f"Take {named(seen['planned'], 'segments')} out of the window?", as_json)
        ):
            return seen, None
        return seen, window.prune(plan_id=seen["plan_id"], strategy=strategy, confirm=True)

    seen, done = with_app(run)
    if done is not None:
        answer = report.pruned(done)
        show(answer, as_json, lambda console: _moved(console, answer, answer["receipt_id"]))
    elif as_json:
        show_json(seen)
    elif seen["plan_id"] is not None:
        words = ["memsweep", "context", "prune", "--plan", seen["plan_id"], "--yes"]
        words += ["-p", project] if project != DEFAULT_PROJECT else []
        words += ["--strategy", strategy] if strategy != "auto" else []
        print(f"Nothing was moved. To apply exactly this: {pasteable(shlex.join(words))}")


@cli.command("restore")
def restore(
    segment_ids: SomeIds = None,
    query: Annotated[str | None, Option("--query", "-q", help="Restore what answers this, instead of ids.")] = None,
    budget: Annotated[int | None, Option(help="Restore at most this many tokens.")] = None,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Move stashed segments back to their places in the window."""
    answer = with_app(
        lambda app: report.restored(
            _window(app, workspace, project).restore(segment_ids or None, query=query, budget=budget)
        )
    )

    def words(console: Console) -> None:
        for segment in answer["restored"]:
            console.print(f"{segment['segment_id']}  {_line(segment['text'])}", markup=False)
        _moved(console, answer, None)

    show(answer, as_json, words)


@cli.command("search")
def search(
    query: Annotated[str, Argument()],
    limit: Limit = 10,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Search the stash."""
    answer = with_app(lambda app: report.found(_window(app, workspace, project).search(query, limit=limit)))

    def words(console: Console) -> None:
        for hit in answer["results"]:
            beside = "  (beside a hit)" if hit.get("beside_a_hit") else ""
            console.print(
                f"{hit['score']:6.2f}  {harmless(hit['segment_id'])}  {_line(hit['text'])}{beside}", markup=False
            )
        console.print(f"{len(answer['results'])} found among {answer['stash_size']:,} in the stash.")

    show(answer, as_json, words)


@cli.command("strip")
def strip(
    budget: Budget = None, project: InProject = DEFAULT_PROJECT, workspace: InWorkspace = "", as_json: Json = False
) -> None:
    """Show every segment in order: its tokens, its score, what keeps it, whether it would go. Nothing is saved."""
    answer = report.strip(with_app(lambda app: _window(app, workspace, project).strip(budget=budget)))

    def words(console: Console) -> None:
        for each in answer["segments"]:
            why = each["root"] or (", ".join(each["reasons"]) if each["goes"] else "")
            mark = "goes " if each["goes"] else "root " if each["root"] else "stays"
            line = f"{mark} {each['tokens']:7,} {each['keep_score']:5.2f}  {harmless(each['segment_id'])}"
            console.print(f"{line}  {_line(each['text'])}{f'  ({harmless(why)})' if why else ''}", markup=False)
        say(console, f"{answer['tokens_before']:,} → {answer['tokens_after']:,} tokens. {answer['message']}")

    show(answer, as_json, words)


@cli.command("stash")
def stash(
    limit: AtMost200 = 20,
    cursor: Cursor = None,
    project: InProject = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """List what is in the stash, newest first."""
    answer = report.stash(with_app(lambda app: _window(app, workspace, project).stash(limit=limit, cursor=cursor)))

    def words(console: Console) -> None:
        for each in answer["segments"]:
            console.print(f"{each['tokens']:7,}  {harmless(each['segment_id'])}  {_line(each['text'])}", markup=False)
        following = f"; the next page: --cursor {answer['next_cursor']}" if answer["next_cursor"] else ""
        console.print(f"[dim]{answer['total']:,} in the stash{following}[/dim]")

    show(answer, as_json, words)


@cli.command("pin")
def pin(
    segment_ids: Ids, project: InProject = DEFAULT_PROJECT, workspace: InWorkspace = "", as_json: Json = False
) -> None:
    """Keep segments in the window through every collection."""
    _pin(segment_ids, True, project, workspace, as_json)


@cli.command("unpin")
def unpin(
    segment_ids: Ids, project: InProject = DEFAULT_PROJECT, workspace: InWorkspace = "", as_json: Json = False
) -> None:
    """Let pinned segments be collected again."""
    _pin(segment_ids, False, project, workspace, as_json)


@cli.command("list")
def list_(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """List the context windows of the workspace."""
    answer = with_app(lambda app: report.windows(app.memory(workspace).contexts()))

    def words(console: Console) -> None:
        for row in answer["windows"]:
            held = f"{named(row['segments'], 'segments')}, {named(row['tokens'], 'tokens')}"
            console.print(f"{row['project_id']}  {held}, {row['stashed']:,} in the stash", markup=False)
        if not answer["windows"]:
            console.print("No context window holds anything.")

    show(answer, as_json, words)


@cli.command("delete")
def delete(
    project: Annotated[str, Argument(metavar="PROJECT", help="The context window.")],
    yes: Yes = False,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Move a whole window and its stash to the trash. Pinned segments stay."""
    sure = yes or _sure(f"Move the window {harmless(project)} to the trash?", as_json)
    answer = with_app(lambda app: report.pruned(_window(app, workspace, project).delete(confirm=sure)))
    show(answer, as_json, lambda console: _moved(console, answer, answer["receipt_id"]))


def _pin(segment_ids: list[str], pinned: bool, project: str, workspace: str, as_json: bool) -> None:
    answer = with_app(lambda app: report.pinned(_window(app, workspace, project).pin(segment_ids, pinned), pinned))

    def words(console: Console) -> None:
        state = "pinned" if pinned else "not pinned any more"
        console.print(
            f"{len(answer['segment_ids'])} {state}: {harmless(' '.join(answer['segment_ids']))}", markup=False
        )
        for own, text in answer["texts"].items():
            console.print(f"  {harmless(own)}  {_line(text)}", markup=False)
        _refused(console, answer["refused"])

    show(answer, as_json, words)


def _window(app: App, workspace: str, project: str) -> ContextWindow[Sync]:
    return app.memory(workspace).context(project)


def _read(file: Path) -> str:
    if str(file) == "-":
        return standard_input(_MOST_BYTES, may_be_cut=True)
    return read_text(file.absolute(), _MOST_BYTES, may_be_cut=True)


def _sure(question: str, as_json: bool) -> bool:
    return not as_json and sys.stdin.isatty() and typer.confirm(question)


def _analysis(console: Console, answer: Answer) -> None:
    from rich.markup import escape
    from rich.table import Table

    usage = answer["usage"]
    limits = f"soft {usage['soft']:,}, hard {usage['hard']:,}, counted by {answer['counted_by']}"
    console.print(f"{named(usage['current'], 'tokens')} ({limits})", markup=False)
    most = max(usage["by_type"].values(), default=1) or 1
    for kind, tokens in usage["by_type"].items():
        console.print(f"  {kind:<9}{tokens:>10,}  {'█' * max(1, round(_BAR_WIDTH * tokens / most))}", markup=False)
    if answer["candidates"]:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("goes", "segment", "text", "type", "tokens", "keep", "why"):
            table.add_column(name, overflow="fold", justify="right" if name in ("tokens", "keep") else "left")
        for each in answer["candidates"]:
            goes = each["action"] if each["planned"] else ""
            own, why = escape(harmless(each["segment_id"])), escape(harmless("; ".join(each["reasons"])))
            text = escape(harmless(excerpt(each["text"], _TEXT_WIDTH)))
            table.add_row(goes, own, text, each["type"], f"{each['tokens']:,}", f"{each['keep_score']:.2f}", why)
        console.print(table)
    say(console, answer["message"])
    if answer["plan_id"]:
        after = f"{answer['tokens_before']:,} → {answer['tokens_after']:,} tokens"
        console.print(f"{after}; plan {answer['plan_id']}", markup=False)


def _moved(console: Console, answer: Any, receipt_id: str | None) -> None:
    went = [*answer.get("stashed", ()), *answer.get("deleted", ())]
    for each in went[:_MOST_LINES]:
        console.print(f"  {harmless(each['segment_id'])}  {_line(each['text'])}", markup=False)
    if len(went) > _MOST_LINES:
        console.print("  …", markup=False)
    say(console, f"{answer['message']} {_tokens(answer)}.")
    _refused(console, answer["refused"])
    if receipt_id:
        show_way_back(receipt_id)


def _refused(console: Console, refused: list[dict[str, str]]) -> None:
    for each in refused:
        said = f"  {_line(each['text'])}" if each.get("text") else ""
        console.print(f"refused: {harmless(each['segment_id'])} ({in_commands(each['reason'])}){said}", markup=False)


def _tokens(answer: Any) -> str:
    return f"{answer['tokens_before']:,} → {answer['tokens_after']:,} tokens ({answer['counted_by']})"


def _line(text: str) -> str:
    return harmless(" ".join(text.split())[:100])
