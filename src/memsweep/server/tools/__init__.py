"""The tools, a file for each feature. A row says what a tool does to the world and which profile has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
