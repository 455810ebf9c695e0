"""Keep the briefing of the next session, made when there is time, and told at once if nothing has changed since.

To make a briefing, half of memsweep has to be imported, and the client waits for it. So whoever reads a transcript in
the background makes the next one, too. It is told only while the store and the settings that it was made of are the
same; a store on a server cannot say so at a glance, and there it is made anew each time.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import memsweep
from memsweep.errors import MemsweepError
from memsweep.hooks.files import HookFiles
from memsweep.quick_look import at_a_glance
from memsweep.settings import Settings

if TYPE_CHECKING:
    from memsweep.project.resolver import Resolver
    from memsweep.store.sqlite.quick_look import Glance

_MOST_SECONDS = 86_400
"""Some of what is told depends on the day: what holds, what has begun to hold."""


class BriefingPlace(NamedTuple):
    """The workspace of a folder, and all that its briefing is made of, as a text to compare."""

    workspace_id: str
    made_of: str


class KnownBriefing(NamedTuple):
    """The memory of a project for any session: lines, and the dates of its newest memories."""

    lines: list[str]
    dates: list[float]
    until: float = inf
    """When the first of what is told has expired."""


def place_of(settings: Settings, folder: str) -> BriefingPlace | None:
    """At a glance; None where that is not enough."""

    def look(resolver: Resolver, glance: Glance) -> BriefingPlace:
        own = resolver.place.workspace_id
        revisions = glance.revision(own), glance.revision(settings.personal)
        parts = (memsweep.__version__, *revisions, settings.quarantine, settings.hooks.quarantine)
        return BriefingPlace(own, repr(parts))

    try:
        return at_a_glance(settings, folder, look)
    except (MemsweepError, OSError):
        return None


def keep(files: HookFiles, place: BriefingPlace, known: KnownBriefing, now: float) -> None:
    """For the next session; `place` is as it was before all of this was read."""
    files.keep_session(_name(place), "briefing", {"made_of": place.made_of, "at": now, **known._asdict()})


def recall(files: HookFiles, place: BriefingPlace, now: float) -> KnownBriefing | None:
    """Return the kept briefing, if it would be the same by now."""
    state = files.session(_name(place), "briefing")
    lines, dates, at, until = (state.get(name) for name in ("lines", "dates", "at", "until"))
    if state.get("made_of") != place.made_of or not isinstance(at, float) or not 0 <= now - at <= _MOST_SECONDS:
        return None
    if not isinstance(lines, list) or not isinstance(dates, list) or not isinstance(until, float) or now >= until:
        return None
    return KnownBriefing([str(line) for line in lines], [date for date in dates if isinstance(date, float)], until)


def _name(place: BriefingPlace) -> str:
    return f"workspace {place.workspace_id}"
