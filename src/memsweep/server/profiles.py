"""Which tools a server offers. Standard library alone."""

from __future__ import annotations

from typing import Literal

Profile = Literal["default", "full"]
PROFILES: tuple[Profile, ...] = ("default", "full")
