"""Options and arguments that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from typer import Argument, Option

from memsweep.model.checks import DoorArgument
from memsweep.model.conditions import written_conditions
from memsweep.model.search import FILTERS

Id = Annotated[str, Argument(metavar="ID")]
MemoryId = Annotated[str, Argument(help="The id that remember or search printed.")]
WorkspaceId = Annotated[str, Argument(metavar="[ID]", help="The workspace; by default the configured one.")]

InProject = Annotated[
    str,
    Option("--project", metavar="FOLDER", help="A folder of the project; by default the current one."),
]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, Option("--force", help="Replace an existing file.")]
SavedPlan = Annotated[str, Option("--plan", metavar="ID", help="Apply this saved plan.")]
BackupFile = Annotated[Path | None, Option("--backup", metavar="FILE", help="Back up to this file first.")]

Limit = Annotated[int, Option("--limit", "-n", help="How many to show.")]
AtMost200 = Annotated[int, Option("--limit", "-n", help="How many to show, at most 200.")]
Cursor = Annotated[str | None, Option(help="The cursor printed with the previous page.")]


Command = Callable[..., None]


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
        named = [option for each in own for option in (options if each.name == given_as else [each])]
        alone = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in named]
        run.__signature__ = inspect.Signature(alone)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in named}
        return run

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
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=shown, default=None if each.default == "" else each.default
    )
