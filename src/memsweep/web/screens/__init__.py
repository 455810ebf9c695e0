"""The screens of the page, in the order of the navigation. A screen is a `Screen` here, and its templates."""

from __future__ import annotations

from memsweep.web.screen import Screen
from memsweep.web.screens import care, collect, context, graph, history, memories, overview, trash

SCREENS: tuple[Screen, ...] = (
    overview.SCREEN,
    memories.SCREEN,
    collect.SCREEN,
    memories.FORGET,
    trash.SCREEN,
    history.SCREEN,
    graph.SCREEN,
    context.SCREEN,
    overview.CODE,
    care.SCREEN,
    memories.MEMORY,
    collect.PLAN,
    history.RECEIPT,
    care.TOKENS,
    overview.PULSE,
)
