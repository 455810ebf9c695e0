"""One call of a hook with what it works on: the app, the project's memory, what is kept of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memsweep.hooks.event import CLIENT_NAMES, Event
from memsweep.hooks.files import HookFiles, Part
from memsweep.model.frozen import frozen

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.context.service import ContextWindow
    from memsweep.model.origin import Origin
    from memsweep.operation import Sync
    from memsweep.services.memory import Memory
    from memsweep.settings import Settings


OpenApp = Callable[["Settings", "Origin", str], "App"]
"""Opens an app for the project of a folder: one of its own, or one beside that of a server."""


def own_app(settings: Settings, origin: Origin, project: str) -> App:
    """A client waits for it, so nothing is read that a model would have to be loaded for."""
    from memsweep.app import App
    from memsweep.model.frozen import replace
    from memsweep.settings.fields import Search

    settings = replace(settings, search=Search())
    return App(settings, origin.actor, opened_by=origin, project=project)


@frozen
class HookSession:
    app: App
    files: HookFiles
    event: Event
    open_app: OpenApp

    @classmethod
    def opened(cls, settings: Settings, files: HookFiles, event: Event, open_app: OpenApp) -> HookSession:
        """Open the session. A person's words there are a person's; the client's own name and session are known."""
        from memsweep.model.origin import Origin

        origin = Origin("hook", CLIENT_NAMES[event.client], session=event.session, tool=event.tool, tier="person")
        app = open_app(settings, origin, event.folder)
        app.quarantine = app.untold
        return cls(app, files, event, open_app)

    @property
    def memory(self) -> Memory:
        return self.app.memory()

    @property
    def window(self) -> ContextWindow[Sync]:
        return self.memory.context()

    def state(self, part: Part) -> dict[str, Any]:
        return self.files.session(self.event.session, part)

    def keep(self, part: Part, state: dict[str, Any]) -> None:
        self.files.keep_session(self.event.session, part, state)
