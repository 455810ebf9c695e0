"""The dependencies of a durable context window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from memsweep.context.counting import Counter, counter_for
from memsweep.context.policy import CONFIGURABLE
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.settings import Settings
from memsweep.store.windows import Windows


@dataclass(frozen=True, slots=True)
class WindowDependencies:
    """The dependencies of a context window, and its settings."""

    store: Callable[[bool], Windows]
    """True makes the workspace if need be."""
    actor: str
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    counter: Callable[[], Counter]
    defaults: Mapping[str, int]
    weights: Mapping[str, float]
    plan_hours: float = 1.0
    secrets: Callable[[str], str] = lambda source: "redact"
    """The action on secrets, by source."""
    origin: Callable[[], Origin] = lambda: UNKNOWN
    """The origin of segments that are added now."""


def window_dependencies(
    settings: Settings,
    store: Callable[[bool], Windows],
    actor: str,
    clock: Callable[[], datetime],
    new_id: Callable[[str], str],
    workspace_id: str = "",
    origin: Callable[[], Origin] = lambda: UNKNOWN,
) -> WindowDependencies:
    """The same, as the settings have it."""
    chosen = settings.context
    return WindowDependencies(
        store=store,
        actor=actor,
        clock=clock,
        new_id=new_id,
        counter=lambda: counter_for(chosen.encoding),
        defaults={name: getattr(chosen, name) for name in CONFIGURABLE},
        weights=chosen.weights,
        plan_hours=settings.gc.plan_hours,
        secrets=partial(settings.secrets.action_for, workspace_id),
        origin=origin,
    )
