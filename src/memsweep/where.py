"""The command `memsweep where`, alone: clients and prompts ask it often, so it starts in a moment."""

from __future__ import annotations

from memsweep.project.whereabouts import Whereabouts, whereabouts
from memsweep.quick_look import at_a_glance
from memsweep.settings import load_settings


def where(project: str = "") -> Whereabouts:
    settings = load_settings()
    seen = at_a_glance(
        settings, project, lambda resolver, glance: whereabouts(settings, resolver, glance.memories, glance.owned)
    )
    if seen is not None:
        return seen
    from memsweep.app import App

    app = App(settings, project=project)
    try:
        return app.projects.whereabouts()
    finally:
        app.close()
