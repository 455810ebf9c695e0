"""The tools, a file for each feature. A row says what a tool does to the world and which profile has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Profile = Literal["default", "full"]
PROFILES: tuple[Profile, ...] = ("default", "full")


@dataclass(frozen=True, slots=True)
class ToolRow:
    """`reads`: changes nothing. `destroys`: takes something away. `repeats`: twice is the same as once."""

    function: Callable[..., Any]
    reads: bool = False
    destroys: bool = False
    repeats: bool = False
    profile: Profile = "default"
