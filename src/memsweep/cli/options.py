"""Options and arguments that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from memsweep.model.search import FILTERS, Filter, Filters

Id = Annotated[str, Argument(metavar="ID")]
MemoryId = Annotated[str, Argument(help="The id that remember or search printed.")]
WorkspaceId = Annotated[str, Argument(metavar="[ID]", help="The workspace; by default the configured one.")]

Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, Option("--force", help="Replace an existing file.")]
SavedPlan = Annotated[str, Option("--plan", metavar="ID", help="Apply this saved plan.")]
BackupFile = Annotated[Path | None, Option("--backup", metavar="FILE", help="Back up to this file first.")]

Limit = Annotated[int, Option("--limit", "-n", help="How many to show.")]
AtMost200 = Annotated[int, Option("--limit", "-n", help="How many to show, at most 200.")]
Cursor = Annotated[str | None, Option(help="The cursor printed with the previous page.")]


def with_filters(*, of_lists: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each filter in place of `filters`, which it gets as one object."""
    known = {name: each for name, each in FILTERS.items() if each.option and (each.of_lists or not of_lists)}

    def of(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            asked = {name: given.pop(name) for name in known}
            written = {name: each.written(asked[name] or ()) for name, each in known.items() if each.written}
            command(**given, filters=asked | written)

        own = inspect.signature(command, eval_str=True).parameters.values()
        options = [_option(name, each) for name, each in known.items()]
        named = [option for each in own for option in (options if each.name == "filters" else [each])]
        run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in named]
        )
        run.__annotations__ = {each.name: each.annotation for each in named}
        return run

    return of


def _option(name: str, each: Filter) -> inspect.Parameter:
    is_flag, is_list = each.schema.get("type") == "boolean", each.written or each.schema.get("type") == "array"
    kind: Any = bool if is_flag else list[str] | None if is_list else str | None
    shown = Annotated[kind, Option(*each.option, help=each.help, metavar=each.metavar)]
    default = getattr(Filters(), name) if is_flag else None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=shown, default=default)
