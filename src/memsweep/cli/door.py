"""The parts that every command shares: the list of commands, options, the app, JSON or words, errors."""

from __future__ import annotations

import functools
import getpass
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typer import Argument, Option

from memsweep import __version__
from memsweep.app import App, make_app
from memsweep.errors import BadInput, MemsweepError, brief
from memsweep.model.checks import DoorArgument
from memsweep.model.conditions import written_conditions
from memsweep.model.ids import DEFAULT_PROJECT, DEFAULT_WORKSPACE
from memsweep.model.origin import Origin
from memsweep.model.search import FILTERS
from memsweep.model.visible import escaped_in_json, visible
from memsweep.report import Answer
from memsweep.store.named_files import decoded

if TYPE_CHECKING:
    from rich.console import Console


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
# The workspace that the commands in our sentences have to name; empty where they work without.
_named_workspace: ContextVar[str] = ContextVar("named_workspace", default="")
_project: ContextVar[str] = ContextVar("project", default="")


def _note_workspace(given: str) -> str:
    _named_workspace.set(given or _CONFIGURED)
    return given


_CONFIGURED = "."  # no name of a workspace
InWorkspace = Annotated[
    str,
    typer.Option(
        "--workspace",
        "-w",
        metavar="ID",
        help="The workspace; by default the configured one.",
        callback=_note_workspace,
    ),
]


def in_project(folder: str) -> None:
    """Run the command as if it had been called in this folder; empty: leave it as it is."""
    _project.set(folder or _project.get())


def in_commands(sentence: str) -> str:
    """A sentence about tools as one about commands; most commands end without one, so its table is loaded late."""
    from memsweep.report.commands import in_commands

    return in_commands(sentence, _named_workspace.get().strip(_CONFIGURED))


def pasteable(command: str) -> str:
    """A command as it can be pasted: it names the workspace unless that is the default one everywhere."""
    from memsweep.report.commands import in_workspace

    return in_workspace(command, _named_workspace.get().strip(_CONFIGURED))


def run_door(cli: typer.Typer, arguments: Sequence[str] | None) -> int:
    _named_workspace.set("")
    _project.set("")
    try:
        status = cli(args=arguments, standalone_mode=False, prog_name="memsweep")
    except typer.Exit as leave:
        return leave.exit_code
    except typer.Abort:
        print("Stopped.", file=sys.stderr)
        return 130
    except MemsweepError as error:
        return _explain(error, arguments)
    except _usage_errors() as error:
        error.message = harmless(brief(str(error.message)))
        error.show()
        return int(error.exit_code)
    return status if isinstance(status, int) else 0


def standard_input(most_bytes: int, *, may_be_cut: bool = False) -> str:
    """All of it, if it is text in UTF-8 of at most `most_bytes`."""
    raw = sys.stdin.buffer.read(most_bytes + 1)
    if len(raw) > most_bytes:
        raise BadInput(f"standard input has more than {most_bytes:,} bytes, the maximum.", hint="Split it.")
    return decoded(raw, "standard input", may_be_cut=may_be_cut)


def _usage_errors() -> Any:
    """The error class of the click that typer uses: its own copy, or the installed one."""
    for base in typer.BadParameter.__mro__:
        if base.__name__ == "ClickException":
            return base
    return ()


def _explain(error: MemsweepError, arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if "--json" in given:
        problem = {"code": error.code, "message": in_commands(error.message), "hint": in_commands(error.hint)}
        print(escaped_in_json(json.dumps({"error": problem}, ensure_ascii=False)), file=sys.stderr)
    else:
        print_error(error)
    return error.exit_status


def print_error(error: MemsweepError) -> None:
    print(f"Error: {harmless(in_commands(str(error)))}", file=sys.stderr, flush=True)


def with_app(command: Callable[[App], Any]) -> Any:
    """Open the app for one command and close it again."""
    origin = Origin("cli", "memsweep", __version__, tier="person")
    app = make_app(actor=f"cli:{_user()}", opened_by=origin, project=_project.get())
    try:
        _name_workspace(app)
        answer = command(app)
        _note_what_waits(app)
        return answer
    finally:
        app.close()


def _note_what_waits(app: App) -> None:
    """The person at the command line is the one who can agree to the name that the project's file chose."""
    place = app.resolver.known_place
    if place is not None and place.refused:
        from memsweep.report.place import asked_for

        print(f"Note: {harmless(asked_for(place))}", file=sys.stderr)


def _name_workspace(app: App) -> None:
    """The workspace of a command that has one; the default one needs no name where nothing else is meant."""
    if chosen := _named_workspace.get():
        is_plain = chosen in (_CONFIGURED, DEFAULT_WORKSPACE) and app.workspace_id == DEFAULT_WORKSPACE
        _named_workspace.set("" if is_plain else app.workspace_id if chosen == _CONFIGURED else chosen)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container may run under a number that has no name
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"


def show(answer: Mapping[str, Any], as_json: bool, words: Callable[[Console], None]) -> None:
    """Print the answer as JSON, or let `words` draw it."""
    if as_json:
        show_json(answer)
    else:
        words(console())


def show_json(answer: Mapping[str, Any]) -> None:
    """Print the answer exactly: what nobody sees is escaped as JSON escapes it."""
    unicode = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
    print(escaped_in_json(json.dumps(_spoken(answer), ensure_ascii=not unicode, indent=2)))


def show_way_back(receipt_id: str) -> None:
    """Whole, however narrow the terminal is: a command that was cut cannot be pasted."""
    print(f"To bring it back: {pasteable(f'memsweep undo {receipt_id}')}")


def say(console: Console, sentence: str) -> None:
    """Print a sentence of ours, in the words of the command line."""
    console.print(harmless(in_commands(sentence)), markup=False)


_SENTENCES = {"because", "message", "next_step", "note", "notes", "reason", "stopped", "warnings"}
_OTHERS_WORDS = {"events", "history", "metadata"}  # where somebody else chose the words


def _spoken(value: Any, key: str = "") -> Any:
    """An answer whose sentences are in the words of the command line."""
    match value:
        case str():
            return in_commands(value) if key in _SENTENCES else value
        case dict():
            return {name: each if name in _OTHERS_WORDS else _spoken(each, name) for name, each in value.items()}
        case list():
            return [_spoken(each, key) for each in value]
    return value


@functools.cache
def console() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False, soft_wrap=not sys.stdout.isatty())


def show_pair(console: Console, name: str, value: str) -> None:
    """A name and its value, whatever marks of its own it has."""
    from rich.text import Text

    console.print(Text(name, style="dim"), Text(harmless(value)))


harmless = visible
"""Text as a terminal may get it, or a pipe, for what reads it may be a terminal or a model: see `show_json`."""


def tier_in(item: Mapping[str, Any]) -> str:
    """Say whose an item of an answer is, as hooks say it; empty where the answer does not."""
    tier = str(item.get("tier") or item.get("origin", "")).partition(",")[0]
    return f"[{tier}]" if tier else ""


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, with how many are done and the time that is left; nothing otherwise."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    disable = quiet or not sys.stderr.isatty()
    columns = [*Progress.get_default_columns(), MofNCompleteColumn()]
    with Progress(*columns, console=Console(stderr=True), disable=disable, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


Id = Annotated[str, Argument(metavar="ID")]
MemoryId = Annotated[str, Argument(help="The id that remember or search printed.")]
WorkspaceId = Annotated[str, Argument(metavar="[ID]", help="The workspace; by default the configured one.")]

InProject = Annotated[
    str,
    Option("--project", metavar="FOLDER", help="A folder of the project; by default the current one."),
]
InWindow = Annotated[str, Option("--project", "-p", metavar="ID", help="The context window.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, Option("--force", help="Replace an existing file.")]
SavedPlan = Annotated[str, Option("--plan", metavar="ID", help="Apply this saved plan.")]
BackupFile = Annotated[Path | None, Option("--backup", metavar="FILE", help="Back up to this file first.")]

Limit = Annotated[int, Option("--limit", "-n", help="How many to show.")]
AtMost200 = Annotated[int, Option("--limit", "-n", help="How many to show, at most 200.")]
Cursor = Annotated[str | None, Option(help="The cursor printed with the previous page.")]


Command = Callable[..., None]
Words = Callable[["Console", Answer], None]


def in_its_message(console: Console, answer: Answer) -> None:
    """The words of an answer that says all there is to say itself."""
    say(console, answer["message"])


def answering(words: Words = in_its_message) -> Callable[[Callable[..., Answer]], Command]:
    """Make a command of a function that returns an answer, which is printed as JSON or in words.

    Its first parameter says what it works on: the `app`, the `memory` of --workspace, or the context `window` of
    --project there. Those options and --json come after its own; it gets --json only if it asks for it.
    """

    def of(function: Callable[..., Answer]) -> Command:
        first, *own = inspect.signature(function, eval_str=True).parameters.values()
        names, opened = _WORKS_ON[first.name]
        wants_json = any(each.name == "as_json" for each in own)

        @functools.wraps(function)
        def run(*, as_json: bool = False, **given: Any) -> None:
            place = [given.pop(name, _SHARED[name].default) for name in names]
            given |= {"as_json": as_json} if wants_json else {}
            answer = with_app(lambda app: function(opened(app, *place), **given))
            show(answer, as_json, lambda console: words(console, answer))

        alone = [each for each in own if each.name != "as_json"]
        return _taking(run, [*alone, *(_SHARED[name] for name in (*names, "as_json"))])

    return of


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


_SHARED = {
    "project": _parameter("project", InWindow, DEFAULT_PROJECT),
    "workspace": _parameter("workspace", InWorkspace, ""),
    "as_json": _parameter("as_json", Json, False),
}
_WORKS_ON: Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "app": ((), lambda app: app),
    "memory": (("workspace",), lambda app, workspace: app.memory(workspace)),
    "window": (("project", "workspace"), lambda app, project, workspace: app.memory(workspace).context(project)),
}


def _taking(run: Command, parameters: Iterable[inspect.Parameter]) -> Command:
    """A function with these parameters, as the library that reads command lines sees it."""
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in named}
    return run


def with_options(
    given_as: str, known: Mapping[str, DoorArgument], read: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Command], Command]:
    """Give a command an option for each argument in place of one parameter, which it gets as one object.

    `read`: how what a person writes is read, where that is not what a tool takes.
    """
    known = {name: each for name, each in known.items() if each.option}

    def of(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            said = {name: value for name in known if (value := given.pop(name)) is not None}
            command(**given, **{given_as: {name: read.get(name, _as_it_is)(value) for name, value in said.items()}})

        own = inspect.signature(command, eval_str=True).parameters.values()
        options = [_option(name, each) for name, each in known.items()]
        return _taking(run, [option for each in own for option in (options if each.name == given_as else [each])])

    return of


def with_filters(*, of_lists: bool = False) -> Callable[[Command], Command]:
    known = {name: each for name, each in FILTERS.items() if each.of_lists or not of_lists}
    return with_options("filters", known, {"metadata": written_conditions})


def _as_it_is(value: Any) -> Any:
    return value


def _option(name: str, each: DoorArgument) -> inspect.Parameter:
    is_list = any(get_origin(kind) is list for kind in get_args(each.kind))
    plain = next((kind for kind in (bool, int, float) if kind in (each.kind, *get_args(each.kind))), str)
    kind: Any = bool if plain is bool else list[str] | None if is_list else plain | None
    shown = Annotated[kind, Option(*each.option, help=each.help, metavar=each.metavar)]
    return _parameter(name, shown, None if each.default == "" else each.default)


# Name: the module that has it, and its name there if that is another one: a function, or a family of commands. Help
# shows them in this order.
COMMANDS = {
    "serve": "serve",
    "token": "serve.tokens",
    "ui": "serve",
    "init": "init",
    "remember": "memory",
    "briefing": "memory",
    "search": "memory",
    "list": "memory.list_memories",
    "get": "memory",
    "update": "memory",
    "stats": "memory",
    "where": "workspace",
    "status": "workspace",
    "trust": "workspace",
    "index": "index",
    "watch": "index",
    "prune": "collector",
    "plan": "collector.plans",
    "undo": "collector",
    "recover": "collector",
    "receipts": "collector",
    "delete": "collector",
    "trash": "collector",
    "purge": "collector",
    "pin": "collector",
    "unpin": "collector",
    "release": "memory",
    "explain": "collector",
    "audit": "collector",
    "doctor": "workspace",
    "compact": "workspace",
    "backup": "workspace",
    "restore": "workspace",
    "graph": "graph.cli",
    "context": "context.cli",
    "tombstone": "collector.tombstones",
    "schedule": "collector.schedules",
    "hooks": "hooks.cli",
    "hook": "hooks",
    "adopt": "adopt",
    "workspace": "workspace.cli",
    "reembed": "workspace",
    "config": "config.cli",
}


def command_line(first: str = "") -> typer.Typer:
    """The command line with the command called `first`, or with every command if there is none of that name."""
    return _with_commands(*([first] if first in COMMANDS else COMMANDS))


@cache
def _with_commands(*names: str) -> typer.Typer:
    cli = typer.Typer(
        help="Long-term memory for AI agents, with a garbage collector that can be trusted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    cli.callback()(memsweep)
    for name in names:
        place, _, function = COMMANDS[name].partition(".")
        command = getattr(import_module(f"memsweep.cli.{place}"), function or name)
        if isinstance(command, typer.Typer):
            cli.add_typer(command, name=name)
        else:
            cli.command(name)(command)
    return cli


def _in_project(folder: str) -> str:
    if folder:
        in_project(folder)
    return folder


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"memsweep {__version__}")
        raise typer.Exit


def memsweep(
    project: Annotated[
        str,
        typer.Option("--project", metavar="FOLDER", help="Run the command as if in this folder.", callback=_in_project),
    ] = "",
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None: ...
