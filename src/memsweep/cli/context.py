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
    InWindow,
    InWorkspace,
    Json,
    Limit,
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
    standard_input,
    with_app,
)
from memsweep.context import segments_to_json
from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput
from memsweep.model.checks import MOST_BYTES
from memsweep.model.ids import DEFAULT_PROJECT
from memsweep.model.text import excerpt
from memsweep.model.window import Swept
from memsweep.operation import Sync
from memsweep.report import Answer, named
from memsweep.report import context as report
from memsweep.services.memory import Memory
from memsweep.store.named_files import read_text

if TYPE_CHECKING:
    from rich.console import Console


cli = typer.Typer(help="The context window of an agent: analyze, prune, restore.", no_args_is_help=True)

Ids = Annotated[list[str], Argument(metavar="ID...", help="Segments.")]
Window = ContextWindow[Sync]
SomeIds = Annotated[list[str] | None, Argument(metavar="[ID...]", help="Segments.")]
Budget = Annotated[int | None, Option(help="Fit into this many tokens; by default the soft limit.")]
_BAR_WIDTH = 40
_TEXT_WIDTH = 40
_MOST_LINES = 10  # of what went
_MOST_BYTES = MOST_BYTES["add_transcript.text"]


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


def _moved(console: Console, answer: Answer) -> None:
    went = [*answer.get("stashed", ()), *answer.get("deleted", ())]
    for each in went[:_MOST_LINES]:
        console.print(f"  {harmless(each['segment_id'])}  {_line(each['text'])}", markup=False)
    if len(went) > _MOST_LINES:
        console.print("  …", markup=False)
    say(console, f"{answer['message']} {_tokens(answer)}.")
    _refused(console, answer["refused"])
    if receipt_id := answer.get("receipt_id"):
        show_way_back(receipt_id)


def _refused(console: Console, refused: list[dict[str, str]]) -> None:
    for each in refused:
        said = f"  {_line(each['text'])}" if each.get("text") else ""
        console.print(f"refused: {harmless(each['segment_id'])} ({in_commands(each['reason'])}){said}", markup=False)


def _tokens(answer: Any) -> str:
    return f"{answer['tokens_before']:,} → {answer['tokens_after']:,} tokens ({answer['counted_by']})"


def _line(text: str) -> str:
    return harmless(" ".join(text.split())[:100])


def _added(console: Console, answer: Answer) -> None:
    parts = [f"Added {named(len(answer['segment_ids']), 'segments')}"]
    parts += [f"skipped {len(answer['known']):,} already known"] if answer["known"] else []
    parts += [f"stashed some by an automatic collection ({answer['receipt_id']})"] if answer["stashed"] else []
    console.print(f"{', '.join(parts)}; {_tokens(answer)}.", markup=False)
    for note in answer["notes"]:
        say(console, note)


@cli.command("import")
@answering(_added)
def import_(
    window: Window, file: Annotated[Path, Argument(metavar="FILE", help="`-` reads standard input.")]
) -> Answer:
    """Read a session file. JSON lines of Claude Code or Codex, a list of messages, or {"segments": [...]}."""
    return report.added(window.add_transcript(_read(file)))


@cli.command("export")
def export(
    everything: Annotated[bool, Option("--all", help="Include the stash, each segment in its place.")] = False,
    project: InWindow = DEFAULT_PROJECT,
    workspace: InWorkspace = "",
    as_json: Json = False,
) -> None:
    """Print the window as {"segments": [...]}, which import can read."""
    segments = with_app(lambda app: _window(app, workspace, project).segments(stashed=everything))
    show_json(json.loads(segments_to_json(segments)))


@cli.command("analyze")
@answering(_analysis)
def analyze(
    window: Window,
    budget: Budget = None,
    target: Annotated[int | None, Option(help="Free this many tokens instead.")] = None,
    task: Annotated[str | None, Option(help="The id of the current task; its segments stay.")] = None,
    active_file: Annotated[str | None, Option(help="The file that is being worked on.")] = None,
    limit: Limit = 20,
    dry_run: Annotated[bool, Option("--dry-run", help="Save nothing: no plan, no task, no active file.")] = False,
) -> Answer:
    """Show what a collection would take out of the window and why."""
    now: dict[str, Any] = {"task_id": task, "descriptors": active_file and {"active_file": active_file}}
    limits: dict[str, Any] = {"budget": budget, "target_tokens": target, "max_candidates": limit}
    return report.analyzed(window.analyze(**limits, **now, dry_run=dry_run))


@cli.command("prune")
def prune(
    segment_ids: SomeIds = None,
    plan: SavedPlan = "",
    budget: Budget = None,
    strategy: Annotated[str, Option(help="auto, stash (only stash) or delete (move to the trash).")] = "auto",
    yes: Yes = False,
    project: InWindow = DEFAULT_PROJECT,
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
        show(answer, as_json, lambda console: _moved(console, answer))
    elif as_json:
        show_json(seen)
    elif seen["plan_id"] is not None:
        words = ["memsweep", "context", "prune", "--plan", seen["plan_id"], "--yes"]
        words += ["-p", project] if project != DEFAULT_PROJECT else []
        words += ["--strategy", strategy] if strategy != "auto" else []
        print(f"Nothing was moved. To apply exactly this: {pasteable(shlex.join(words))}")


def _restored(console: Console, answer: Answer) -> None:
    for segment in answer["restored"]:
        console.print(f"{segment['segment_id']}  {_line(segment['text'])}", markup=False)
    _moved(console, answer)


@cli.command("restore")
@answering(_restored)
def restore(
    window: Window,
    segment_ids: SomeIds = None,
    query: Annotated[str | None, Option("--query", "-q", help="Restore what answers this, instead of ids.")] = None,
    budget: Annotated[int | None, Option(help="Restore at most this many tokens.")] = None,
) -> Answer:
    """Move stashed segments back to their places in the window."""
    return report.restored(window.restore(segment_ids or None, query=query, budget=budget))


def _found(console: Console, answer: Answer) -> None:
    for hit in answer["results"]:
        beside = "  (beside a hit)" if hit.get("beside_a_hit") else ""
        line = f"{hit['score']:6.2f}  {harmless(hit['segment_id'])}  {_line(hit['text'])}{beside}"
        console.print(line, markup=False)
    console.print(f"{len(answer['results'])} found among {answer['stash_size']:,} in the stash.")


@cli.command("search")
@answering(_found)
def search(window: Window, query: Annotated[str, Argument()], limit: Limit = 10) -> Answer:
    """Search the stash."""
    return report.found(window.search(query, limit=limit))


def _strip(console: Console, answer: Answer) -> None:
    for each in answer["segments"]:
        why = each["root"] or (", ".join(each["reasons"]) if each["goes"] else "")
        mark = "goes " if each["goes"] else "root " if each["root"] else "stays"
        line = f"{mark} {each['tokens']:7,} {each['keep_score']:5.2f}  {harmless(each['segment_id'])}"
        console.print(f"{line}  {_line(each['text'])}{f'  ({harmless(why)})' if why else ''}", markup=False)
    say(console, f"{answer['tokens_before']:,} → {answer['tokens_after']:,} tokens. {answer['message']}")


@cli.command("strip")
@answering(_strip)
def strip(window: Window, budget: Budget = None) -> Answer:
    """Show every segment in order: its tokens, its score, what keeps it, whether it would go. Nothing is saved."""
    return report.strip(window.strip(budget=budget))


def _stash(console: Console, answer: Answer) -> None:
    for each in answer["segments"]:
        console.print(f"{each['tokens']:7,}  {harmless(each['segment_id'])}  {_line(each['text'])}", markup=False)
    following = f"; the next page: --cursor {answer['next_cursor']}" if answer["next_cursor"] else ""
    console.print(f"[dim]{answer['total']:,} in the stash{following}[/dim]")


@cli.command("stash")
@answering(_stash)
def stash(window: Window, limit: AtMost200 = 20, cursor: Cursor = None) -> Answer:
    """List what is in the stash, newest first."""
    return report.stash(window.stash(limit=limit, cursor=cursor))


def _pinned(console: Console, answer: Answer) -> None:
    state = "pinned" if answer["pinned"] else "not pinned any more"
    console.print(f"{len(answer['segment_ids'])} {state}: {harmless(' '.join(answer['segment_ids']))}", markup=False)
    for own, text in answer["texts"].items():
        console.print(f"  {harmless(own)}  {_line(text)}", markup=False)
    _refused(console, answer["refused"])


@cli.command("pin")
@answering(_pinned)
def pin(window: Window, segment_ids: Ids) -> Answer:
    """Keep segments in the window through every collection."""
    return report.pinned(window.pin(segment_ids), True)


@cli.command("unpin")
@answering(_pinned)
def unpin(window: Window, segment_ids: Ids) -> Answer:
    """Let pinned segments be collected again."""
    return report.pinned(window.unpin(segment_ids), False)


def _windows(console: Console, answer: Answer) -> None:
    for row in answer["windows"]:
        held = f"{named(row['segments'], 'segments')}, {named(row['tokens'], 'tokens')}"
        console.print(f"{row['project_id']}  {held}, {row['stashed']:,} in the stash", markup=False)
    if not answer["windows"]:
        console.print("No context window holds anything.")


@cli.command("list")
@answering(_windows)
def list_(memory: Memory) -> Answer:
    """List the context windows of the workspace."""
    return report.windows(memory.contexts())


@cli.command("delete")
@answering(_moved)
def delete(
    memory: Memory,
    project: Annotated[str, Argument(metavar="PROJECT", help="The context window.")],
    yes: Yes = False,
    as_json: Json = False,
) -> Answer:
    """Move a whole window and its stash to the trash. Pinned segments stay."""
    sure = yes or _sure(f"Move the window {harmless(project)} to the trash?", as_json)
    return report.pruned(memory.context(project).delete(confirm=sure))


def _window(app: App, workspace: str, project: str) -> ContextWindow[Sync]:
    return app.memory(workspace).context(project)


def _read(file: Path) -> str:
    if str(file) == "-":
        return standard_input(_MOST_BYTES, may_be_cut=True)
    return read_text(file.absolute(), _MOST_BYTES, may_be_cut=True)


def _sure(question: str, as_json: bool) -> bool:
    return not as_json and sys.stdin.isatty() and typer.confirm(question)
