"""What `memsweep where` needs, and no more: clients and prompts ask it often, so it starts in a moment.

A home of files is looked at without its engine; everything else goes by the app.
"""

from __future__ import annotations

from memsweep.project.resolver import Resolver
from memsweep.project.whereabouts import Whereabouts, whereabouts
from memsweep.settings import Settings, load_settings


def where(project: str = "") -> Whereabouts:
    settings = load_settings()
    if not settings.store:
        import apsw

        try:
            return _at_a_glance(settings, project)
        except apsw.Error:
            pass
    from memsweep.app import App

    app = App(settings, project=project)
    try:
        return app.projects.whereabouts()
    finally:
        app.close()


def _at_a_glance(settings: Settings, project: str) -> Whereabouts:
    from memsweep.store.sqlite.glance import Glance

    glance = Glance(settings.home)
    return whereabouts(settings, Resolver(settings, lambda: glance, project), glance.memories, glance.owned)
