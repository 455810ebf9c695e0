"""What the services of one workspace share: the app, the name of the workspace, and the way into its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Generic

from memsweep.errors import MemsweepError, StoreCorrupt, UnknownWorkspace
from memsweep.operation import Async, Calls, Mode, Sync

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.model.gate import Gate
    from memsweep.model.origin import Origin
    from memsweep.settings import Settings
    from memsweep.store.protocol import Store


@dataclass(frozen=True, slots=True)
class Access(Generic[Mode]):
    """One workspace of an app. The store is asked for anew on each call: another process may have deleted it."""

    app: App
    workspace_id: str
    calls: Calls[Mode]
    named: bool = True
    """Whether somebody named the workspace, or it is the one that an empty name stands for."""

    @property
    def store(self) -> Store:
        """The store, for reading and for changing what is there; an unknown workspace is refused."""
        return self.app.engine.open(self.workspace_id)

    def create_store(self) -> Store:
        """The store, for a write that makes the workspace if need be."""
        return self.app.engine.open_or_create(self.workspace_id, self.clock())

    def exists(self) -> bool:
        try:
            return bool(self.store)
        except UnknownWorkspace:
            return False

    def found(self) -> Store | None:
        """The store, for reading; None where nobody named a workspace and nothing is stored yet, which is no error."""
        try:
            return self.store
        except UnknownWorkspace as error:
            if self.named or error.was_deleted:
                raise
            return None

    def gate(self, source: str) -> Gate:
        """What a call from this source passes on its way in."""
        from memsweep.model.gate import Gate

        return Gate(self.settings.secrets.action_for(self.workspace_id, source))

    @property
    def clock(self) -> Callable[[], datetime]:
        return self.app.clock

    @property
    def actor(self) -> str:
        return self.app.actor

    def origin(self, tier: str = "") -> Origin:
        """Where what this call brings comes from, trusted no more than `tier`."""
        return self.app.origin.lowered(tier)

    @property
    def settings(self) -> Settings:
        return self.app.settings


def sync_access(app: App, workspace_id: str, *, named: bool = True) -> Access[Sync]:
    """For operations that return their result."""
    return Access(app, workspace_id, Calls(False, partial(_explain_damage, app, workspace_id)), named)


def async_access(app: App, workspace_id: str, *, named: bool = True) -> Access[Async]:
    """For operations that are awaited."""
    return Access(app, workspace_id, Calls(True, partial(_explain_damage, app, workspace_id)), named)


def _explain_damage(app: App, workspace_id: str) -> StoreCorrupt | None:
    """What is damaged in the workspace, as an error; None if nothing is."""
    try:
        return app.engine.open(workspace_id).keeper.explain()
    except StoreCorrupt as error:
        return error
    except MemsweepError:
        return None
