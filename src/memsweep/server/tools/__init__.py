"""The tools, a file for each feature. A row says what a tool does to the world and which profile has it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from memsweep.model.checks import FLAG, NUMBER, TEXT, TIME, DoorArgument, fields, items_of, one_of
from memsweep.model.origin import TIERS
from memsweep.model.search import FILTERS
from memsweep.server.consent import Asks
from memsweep.server.resources import View


@dataclass(frozen=True, slots=True)
class ToolRow:
    """`reads`: changes nothing. `destroys`: takes something away. `repeats`: twice is the same as once.

    `profile`: full, if the default one does not have it. `always`: a client that looks tools up by need loads it at
    once. `asks` says what a person is asked before, and `only_full` which arguments no other profile has. `files`:
    reads what its caller names on the machine of the server. `view`: what a person sees of an answer where MCP
    Apps are shown; what takes something away and has none is no app's to call. `quick`: takes no longer in a large
    workspace, and says nothing before it is done.
    """

    function: Callable[..., Any]
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    profile: Literal["default", "full"] = "default"
    always: bool = False
    asks: Asks | None = None
    only_full: tuple[str, ...] = ()
    files: bool = False
    view: View | None = None
    quick: bool = False

    def __post_init__(self) -> None:
        if self.destroys and self.asks is None:
            raise TypeError(f"{self.function.__name__} takes something away and asks nobody")


def looks_like(schema: Mapping[str, Any], about: str | None = None) -> Any:
    """A parameter that a client sees so, whatever its type in Python is."""
    return Field(description=about, json_schema_extra=dict(schema))


Tier = Annotated[str, Field(description="lower trust: tool or import")]
Time = Annotated[str | None, looks_like({"format": "date-time"})]

FILTERS_SHOWN = fields((), **{name: dict(each.schema) for name, each in FILTERS.items()})
WHOSE = fields(session=TEXT, client=TEXT, tier=one_of(TIERS), source=TEXT, since=TIME, until=TIME)
BATCH = fields(
    entities=items_of(fields(["name"], local_id=TEXT, name=TEXT, type=TEXT)),
    relations=items_of(
        fields(
            ["from", "relation", "to"],
            from_=TEXT,
            relation=TEXT,
            to=TEXT,
            weight=NUMBER,
            valid_at=TIME,
            replaces=FLAG,
            source=TEXT,
        )
    ),
)
BUILD_OPTIONS = fields(
    types={"type": "object", "additionalProperties": TEXT},
    default_type=TEXT,
    weight=NUMBER,
    related=FLAG,
    dry_run=FLAG,
)


def with_arguments(function: Callable[..., Any], known: Mapping[str, DoorArgument]) -> Callable[..., Any]:
    """Show a tool with declared arguments in place of its `**said`; a client names each."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(function, eval_str=True)
    named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    named += [
        inspect.Parameter(
            name,
            keyword,
            default=each.default,
            annotation=Annotated[each.kind, looks_like(each.schema, each.about)],
        )
        for name, each in known.items()
    ]
    function.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in named} | {"return": own.return_annotation}
    return function
