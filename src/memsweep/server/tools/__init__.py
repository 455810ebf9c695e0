"""The tools, a file for each feature. A row says what a tool does to the world and which profile has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memsweep.server.consent import Asks
from memsweep.server.profiles import Profile


@dataclass(frozen=True, slots=True)
class ToolRow:
    """`reads`: changes nothing. `destroys`: takes something away. `repeats`: twice is the same as once.

    `asks` says what a person is asked before, and `only_full` which arguments the default profile does not have.
    """

    function: Callable[..., Any]
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    profile: Profile = "default"
    asks: Asks | None = None
    only_full: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.destroys and self.asks is None:
            raise TypeError(f"{self.function.__name__} takes something away and asks nobody")
