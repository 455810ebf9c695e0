"""A home of files, looked at without its engine: for what has to start in a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from memsweep.places import private_home
from memsweep.project.resolver import Resolver
from memsweep.settings import Settings

if TYPE_CHECKING:
    from memsweep.store.sqlite.quick_look import Glance

T = TypeVar("T")


def at_a_glance(settings: Settings, project: str, look: Callable[[Resolver, Glance], T]) -> T | None:
    """Return what `look` finds; None where the engine has to be asked: a server, or files to mend first."""
    if settings.store:
        return None
    import apsw

    from memsweep.store.sqlite.quick_look import Glance

    try:
        glance = Glance(private_home(settings.home))
        return look(Resolver(settings, lambda: glance, project), glance)
    except (apsw.Error, OSError):  # the engine will say what is wrong
        return None
