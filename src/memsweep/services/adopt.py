"""`memory.adopt`: care for the memory that Claude Code and Codex keep in files of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic

from memsweep.adopt.clients import CLIENTS, client_named
from memsweep.adopt.vault import vault_of
from memsweep.clock import new_id
from memsweep.errors import BadInput, NotFound, Unconfirmed
from memsweep.model.text import shown
from memsweep.model.times import days_ago
from memsweep.operation import Calls, Mode, operation

if TYPE_CHECKING:
    from memsweep.adopt.reading import AdoptDependencies, ClientScope
    from memsweep.model.adopt import Applied, ClientLook, FileVersion, LostFile, MirrorPurged, NotePlace
    from memsweep.settings import Settings

Folder = str | os.PathLike[str]


class AdoptService(Generic[Mode]):
    """The files of clients, which belong to the machine rather than to a workspace."""

    def __init__(self, settings: Settings, clock: Callable[[], datetime], *, in_thread: bool = False) -> None:
        self._settings, self._clock = settings, clock
        self._calls: Calls[Mode] = Calls(in_thread, lambda: None)

    @operation
    def look(
        self, client: str, *, project: Folder = ".", all_projects: bool = False, dry_run: bool = False
    ) -> ClientLook:
        """Mirror the memory of `claude` or `codex`, and plan what could go; a dry run writes nothing."""
        from memsweep.adopt.steps import look

        return look(self._tools(client), _scope(project, all_projects), dry_run=dry_run)

    @operation
    def lost(self, client: str, *, project: Folder = ".", all_projects: bool = False) -> list[LostFile]:
        """Return the files that somebody else deleted since the mirror saw them; nothing is written."""
        from memsweep.adopt.steps import lost

        return lost(self._tools(client), _scope(project, all_projects))

    @operation
    def apply(self, client: str, plan_id: str, *, confirm: bool = False, allow_large: bool = False) -> Applied:
        """Do what a plan says, but for files that have changed since. Undo with the receipt brings everything back."""
        from memsweep.adopt.steps import apply

        if confirm is not True:
            raise Unconfirmed("this changes files of a client; nothing was changed.", hint="Set confirm=true.")
        return apply(self._tools(client), plan_id, allow_large=allow_large)

    @operation
    def undo(self, receipt_id: str) -> Applied:
        """Make every file what it was before an apply or a restore, unless it has changed since."""
        from memsweep.adopt.steps import undo

        desks = [self._tools(client) for client in CLIENTS]
        tools = next((each for each in desks if each.vault.has_receipt(receipt_id)), None)
        if tools is None:
            raise NotFound(f"receipt {shown(receipt_id)} does not exist, or was purged.")
        return undo(tools, receipt_id)

    @operation
    def restore(
        self,
        client: str,
        names: Sequence[str] = (),
        *,
        everything: bool = False,
        version: str = "",
        project: Folder = ".",
        all_projects: bool = False,
    ) -> Applied:
        """Bring back files that somebody else deleted; with `version`, make one file what it was then."""
        from memsweep.adopt.steps import restore

        scope = _scope(project, all_projects)
        return restore(self._tools(client), scope, names, everything=everything, version=version)

    @operation
    def history(
        self, client: str, name: str, *, project: Folder = ".", all_projects: bool = False
    ) -> list[tuple[NotePlace, FileVersion]]:
        """The versions of a file that the mirror has, the newest first."""
        from memsweep.adopt.steps import history

        return history(self._tools(client), _scope(project, all_projects), name)

    @operation
    def purge(self, client: str, older_than_days: float | None = None, *, confirm: bool = False) -> MirrorPurged:
        """Permanently delete versions in the mirror that were replaced that long ago; what the files are now stays."""
        from memsweep.adopt.steps import purge

        if confirm is not True:
            raise Unconfirmed("purging cannot be undone; nothing was deleted.", hint="Set confirm=true.")
        days = self._settings.gc.purge_days if older_than_days is None else older_than_days
        if not days >= 0:
            raise BadInput(f"older_than_days {days} is not a number of days, 0 or more.")
        return purge(self._tools(client).vault, days_ago(self._clock(), days))

    def _tools(self, name: str) -> AdoptDependencies:
        from memsweep.adopt.reading import AdoptDependencies
        from memsweep.settings.load import client_variables

        client, settings = client_named(name), self._settings
        home = os.path.realpath(os.path.expanduser("~"))
        given = client_variables().get(client.variable, "")
        root = os.path.realpath(os.path.expanduser(given) if given else os.path.join(home, client.folder))
        return AdoptDependencies(
            client,
            root,
            home,
            vault_of(settings.home, client.name, root),
            _contradicting,
            self._clock,
            new_id,
            settings.gc.plan_hours,
            self._redacted,
        )

    def _redacted(self, text: str) -> str:
        from memsweep.secrets.find import redacted

        return redacted(text)[0] if self._settings.secrets.action_for("", "adopt") in ("redact", "refuse") else text


def _scope(project: Folder, all_projects: bool) -> ClientScope:
    from memsweep.adopt.reading import ClientScope

    return ClientScope(os.path.realpath(project), all_projects)


def _contradicting(texts: Sequence[str]) -> Iterator[tuple[int, int, tuple[tuple[str, str], ...]]]:
    """Pairs that cannot both hold, as `add_memory` finds them."""
    from memsweep.memory.agreement import judged, said

    known = [(at, statement) for at, text in enumerate(texts) if (statement := said(text))]
    for number, (at, statement) in enumerate(known):
        for other, another in known[number + 1 :]:
            found = judged(statement, another)
            if found and found.kind == "contradicts":
                yield at, other, found.differs
