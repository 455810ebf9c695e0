"""The screens of the page, in the order of the navigation. A screen is a module here and a template."""

from __future__ import annotations

from memsweep.web.screen import Screen
from memsweep.web.screens import (
    care,
    code,
    collect,
    context,
    forget,
    graph,
    history,
    memories,
    memory,
    overview,
    plan,
    pulse,
    receipt,
    tokens,
    trash,
)

SCREENS: tuple[Screen, ...] = (
    overview.SCREEN,
    memories.SCREEN,
    collect.SCREEN,
    forget.SCREEN,
    trash.SCREEN,
    history.SCREEN,
    graph.SCREEN,
    context.SCREEN,
    code.SCREEN,
    care.SCREEN,
    memory.SCREEN,
    plan.SCREEN,
    receipt.SCREEN,
    tokens.SCREEN,
    pulse.SCREEN,
)
