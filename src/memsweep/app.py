"""The composition root: settings → engine, embedder, operations. The only importer of engines.

`App` holds all workspaces of one home; `Memory` is one of them, with the operations on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.clock import new_id, now, within_calendar
from memsweep.errors import (
    BadInput,
    BadSetting,
    MemsweepError,
    StoreError,
    Unconfirmed,
    UnknownWorkspace,
    install_extra,
)
from memsweep.model.ids import WORKSPACE_RECEIPT, check_name
from memsweep.model.origin import Origin, without_secrets
from memsweep.model.text import check_description, without_password
from memsweep.model.times import days_ago
from memsweep.operation import bound_token, granted
from memsweep.operation import called_by as called_by
from memsweep.operation import calling as calling
from memsweep.places import private_home
from memsweep.project.resolver import Resolver
from memsweep.services.memory import AsyncMemory, Memory
from memsweep.settings import Settings, load_settings, stored_at

if TYPE_CHECKING:
    from memsweep.code.sandbox import Sandbox
    from memsweep.embed.local import LocalEmbedder
    from memsweep.embed.protocol import Embedder, Reader
    from memsweep.memory.recall import Listings, Sightings
    from memsweep.model.audit import TrashPage
    from memsweep.model.care import Restored, RestoreRequest
    from memsweep.model.memory import Workspace
    from memsweep.model.plan import Undone
    from memsweep.model.quarantine import Quarantine
    from memsweep.operation import Sync
    from memsweep.services.adopt import AdoptService
    from memsweep.services.projects import Projects
    from memsweep.services.tokens import TokenService
    from memsweep.store.workspaces import Engine

BY_LIBRARY = Origin("library", tier="agent")


class App:
    """All that one process needs; parts are made when they are first used, so that starting costs nothing."""

    def __init__(
        self,
        settings: Settings,
        actor: str = "library",
        *,
        clock: Callable[[], datetime] = now,
        opened_by: Origin = BY_LIBRARY,
        project: str = "",
    ) -> None:
        """`project`: a folder of the project that is meant; empty: what the client says, or the working directory."""
        self.settings = settings
        self.clock = within_calendar(clock)
        self._actor, self._project = actor, project
        self._opened_by = opened_by
        self._is_guest = False
        self.resolver = Resolver(settings, lambda: self._engine, project)

    def beside(self, settings: Settings, opened_by: Origin, project: str) -> App:
        """Another app in this process. It shares store and model, which `settings` must name, and leaves them open."""
        other = App(settings, opened_by.actor, clock=self.clock, opened_by=opened_by, project=project)
        shared = {name: getattr(self, name) for name in ("_engine", "local_model", "embedder", "reader")}
        other.__dict__.update(shared, _is_guest=True)
        return other

    @cached_property
    def quarantine(self) -> Quarantine:
        """Return the quarantine of searches; hooks have a stricter one."""
        from memsweep.model.quarantine import Quarantine

        return Quarantine(self.settings.quarantine.tiers, self.settings.quarantine.days)

    @property
    def untold(self) -> Quarantine:
        """Return the quarantine of what a model is told unasked. Of indexed code only places are told."""
        from memsweep.model.quarantine import Quarantine

        own, more = self.settings.quarantine, self.settings.hooks.quarantine
        return Quarantine((*own.tiers, *more), 0.0 if more else own.days, files="import" in own.tiers)

    @property
    def actor(self) -> str:
        """Return the actor for the audit log: the client of this call with its token, or whoever opened the app."""
        token = granted.get()
        actor = self._actor if calling.get() is None else self.origin.actor
        return actor if token is None else f"{actor} ({token.name})"

    @property
    def origin(self) -> Origin:
        """Return the origin of what is remembered now."""
        return without_secrets(calling.get() or self._opened_by)

    def memory(self, workspace_id: str = "") -> Memory:
        """The operations on a workspace; an empty id means that of the project, with the personal one along."""
        return Memory(self, self._name(workspace_id), self._asks_if_named(workspace_id), self._along(workspace_id))

    def async_memory(self, workspace_id: str = "") -> AsyncMemory:
        """The same, with operations to await."""
        return AsyncMemory(self, self._name(workspace_id), self._asks_if_named(workspace_id), self._along(workspace_id))

    def _along(self, workspace_id: str) -> str:
        personal, token = self.settings.personal, bound_token()
        return "" if workspace_id or (token and not token.allows(personal)) else personal

    def _name(self, workspace_id: str) -> str:
        return check_name(workspace_id or self.workspace_id)

    @property
    def workspace_id(self) -> str:
        """Return the default workspace: the first of the token, that of the settings, or of the project."""
        if token := bound_token():
            return token.workspaces[0]
        return self.settings.workspace or self.resolver.place.workspace_id

    def project_of(self, workspace_id: str) -> str:
        """The project that a workspace is made for, if it is the one of this process."""
        if self.settings.workspace:
            return ""
        place = self.resolver.place
        return place.owner if place.workspace_id == workspace_id else ""

    def _asks_if_named(self, workspace_id: str) -> Callable[[], bool]:
        return lambda: bool(workspace_id) and workspace_id != self._name("")  # for which the registry is searched

    def workspaces(self, *, deleted: bool = False) -> list[Workspace]:
        """All of them by name; or those that were deleted and can be brought back, the last deleted first."""
        return self.engine.deleted_workspaces() if deleted else self.engine.workspaces()

    def trash(self, workspace_id: str = "", *, offset: int = 0, limit: int = 20, receipt_id: str = "") -> TrashPage:
        """Return the trash of a workspace, and the deleted workspaces.

        Where the workspace itself was deleted, or the configured one is not made yet, there are only those.
        """
        from memsweep.model.audit import TrashPage

        deleted = self.workspaces(deleted=True)
        in_use = frozenset(each.id for each in self.workspaces()) if deleted else frozenset()
        try:
            items, total = self.memory(workspace_id).sweep.trash(
                offset=offset, limit=limit, receipt_id=receipt_id or None
            )
        except UnknownWorkspace:
            if not deleted or (workspace_id and workspace_id not in {each.id for each in deleted}):
                raise
            items, total = [], 0
        return TrashPage(items, total, deleted, in_use)

    def refuse_claimed(self, workspace_id: str) -> None:
        """Refuse to put something where a project reads it that chose the name itself, until a person has agreed."""
        if owner := self.resolver.claimed_by(workspace_id):
            whose = "" if bound_token() else f", {owner}"
            raise Unconfirmed(
                f"the .memsweep.toml of another project{whose} chose the name {workspace_id!r}: what is put there"
                " can be read there.",
                hint=f"Use another name, or let a person agree: memsweep trust {workspace_id}",
            )

    def create_workspace(self, workspace_id: str, description: str = "") -> Workspace:
        from memsweep.model.gate import Gate

        gate = Gate(self.settings.secrets.action_for(workspace_id, ""))
        gate.own_id(check_name(workspace_id), "the workspace id")
        self.refuse_claimed(workspace_id)
        return self.engine.create(workspace_id, gate.text(check_description(description), "description"), self.clock())

    def delete_workspace(self, workspace_id: str, *, confirm: bool = False) -> Workspace:
        """Move a workspace to the trash. Its file is kept, so nothing is lost yet."""
        check_name(workspace_id)
        if confirm is not True:
            self.engine.open(workspace_id)  # an unknown one is another mistake
            raise Unconfirmed(
                f"deleting workspace {workspace_id!r} requires explicit confirmation.",
                hint="Set confirm=true to proceed.",
            )
        return self.engine.delete(workspace_id, self.clock(), new_id(WORKSPACE_RECEIPT), actor=self.actor)

    def undo(self, receipt_id: str, workspace_id: str = "") -> Undone:
        """Bring back what a receipt removed: things of a workspace, or a whole one."""
        if not receipt_id.startswith(f"{WORKSPACE_RECEIPT}_"):
            return self.memory(workspace_id).sweep.undo(receipt_id)
        back = self.engine.undelete(receipt_id, self.clock(), actor=self.actor)
        try:
            stats = self.memory(back.id).stats()
        except StoreError as error:
            raise type(error)(
                f"workspace {back.id!r} is back, but cannot be read now ({error.__cause__ or error.message}).",
                hint=error.hint,
            ) from error
        from memsweep.model.plan import Totals, Undone

        counts = (stats.total_memories, stats.total_chunks, stats.total_entities, stats.total_relations)
        return Undone(Totals(*counts), ())

    def restore(self, path: str | os.PathLike[str], workspace_id: str = "", *, replace: bool = False) -> Restored:
        """Make a workspace of a backup. One that is there is put aside, if it is empty or `replace` says so."""
        return self.engine.keeper.install(Path(path).absolute(), self._restoring(self._name(workspace_id), replace))

    def _restoring(self, workspace_id: str, replace: bool) -> RestoreRequest:
        from memsweep.model.care import RestoreRequest

        self.refuse_claimed(workspace_id)
        return RestoreRequest(workspace_id, replace, new_id(WORKSPACE_RECEIPT), self.actor, self.clock())

    @property
    def projects(self) -> Projects:
        """Return the projects service: the workspace of a project, and a person's decisions about it."""
        from memsweep.services.projects import Projects

        return Projects(self)

    def private_home(self, folder: str = "") -> Path:
        """Return the home, or a folder in it, made if need be."""
        return self._private_folder(folder)

    def export_folder(self) -> Path:
        """Return the folder where agents may write files, made on first use. Each token has its own."""
        token = bound_token()
        return self._private_folder(os.path.join("exports", token.digest[:16] if token else ""))

    def _private_folder(self, name: str) -> Path:
        from memsweep.store.file.connect import make_folder

        folder = self.settings.home / name
        make_folder(folder)
        return folder

    def copy_workspace(
        self,
        workspace_id: str,
        source: str,
        target: str,
        *,
        new_name: str = "",
        replace: bool = False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Restored:
        """Copy a workspace from one store to another, such as `sqlite` and `falkor://host`, or to another name.

        Empty stores are those of the settings. One that was interrupted goes on, if the source is as it was.
        """
        from memsweep import __version__
        from memsweep.care.copy import copy, kept_folder
        from memsweep.store.copy_progress import CopyProgress

        name = self._name(workspace_id)
        new_name = check_name(new_name or name)
        origin, there = (
            App(stored_at(self.settings, where), self._actor, clock=self.clock, project=self._project)
            for where in (source, target)
        )
        places = [without_password(app.settings.store) or str(app.settings.home) for app in (origin, there)]
        try:
            if places[0] == places[1] and name == new_name:
                raise BadInput(
                    "the copy would replace itself.", hint="Name two different stores in --from and --to, or use --as."
                )
            keeper = origin.engine.open(name).keeper
            with kept_folder(self._private_folder("copies"), name, new_name, *places) as folder:
                passes = bool(origin.settings.store) + 2 * bool(there.settings.store) or 1
                steps = CopyProgress(progress, passes, folder)
                request = there._restoring(new_name, replace)
                made = copy(keeper, there.engine.keeper, request, steps, __version__, self.clock)
            moves = places[0] != places[1] and origin.project_of(name)
            if owner := there.resolver.owner() if moves else there.project_of(new_name):
                there.engine.assign(new_name, owner)
            return made
        finally:
            origin.close()
            there.close()

    def deleted_workspaces(self, older_than_days: float) -> int:
        """Count the workspaces that were deleted at least this long ago, and can be purged or brought back."""
        before = days_ago(self.clock(), older_than_days)
        return sum(
            each.deleted_at is not None and each.deleted_at <= before for each in self.engine.deleted_workspaces()
        )

    def purge_workspaces(self, older_than_days: float) -> int:
        """Purge workspaces that were deleted at least this long ago, and copies left unfinished since; how many."""
        from memsweep.care.copy import free_kept

        before = days_ago(self.clock(), older_than_days)
        freed = self.engine.purge_deleted(before)  # first: it is not for everybody
        free_kept(self.settings.home / "copies", before)
        return freed

    @cached_property
    def adopt(self) -> AdoptService[Sync]:
        """The memory that clients keep themselves; it needs no workspace, and no store that can be reached."""
        from memsweep.services.adopt import AdoptService

        return AdoptService(self.settings, self.clock)

    @property
    def tokens(self) -> TokenService:
        """Return the service for the tokens of HTTP."""
        from memsweep.services.tokens import TokenService

        return TokenService(self)

    @property
    def engine(self) -> Engine:
        """The store, as far as the token of this call goes."""
        if (token := bound_token()) is None:
            return self._engine
        from memsweep.store.workspaces import BoundedEngine

        return BoundedEngine(self._engine, token)

    @cached_property
    def _engine(self) -> Engine:
        home = private_home(self.settings.home)
        if self.settings.store:
            return _falkor(self.settings.store)
        from memsweep.store.sqlite.engine import SqliteEngine

        return SqliteEngine(home)

    @cached_property
    def local_model(self) -> LocalEmbedder:
        """The bundled model: the default embedder, and the tokeniser of all."""
        from memsweep.embed.local import LocalEmbedder

        return LocalEmbedder()

    @cached_property
    def embedder(self) -> Embedder:
        chosen = self.settings.embedding
        if chosen.provider == "local":
            return self.local_model
        if chosen.provider == "minilm":
            from memsweep.embed.minilm import MiniLMEmbedder

            return MiniLMEmbedder(chosen.threads)
        from memsweep.embed.remote import OllamaEmbedder, OpenAIEmbedder

        if chosen.provider == "ollama":
            return OllamaEmbedder(chosen.url, chosen.model, headers={}, timeout_seconds=chosen.timeout_seconds)
        headers = {"Authorization": f"Bearer {self.settings.api_key}"} if self.settings.api_key else {}
        return OpenAIEmbedder(chosen.url, chosen.model, headers=headers, timeout_seconds=chosen.timeout_seconds)

    @cached_property
    def reader(self) -> Reader | None:
        if self.settings.search.reader == "none":
            return None
        from memsweep.embed.reader import MarcoReader

        return MarcoReader(self.settings.embedding.threads)

    @cached_property
    def listings(self) -> Listings:
        """Rankings of the last searches, for their next pages."""
        from memsweep.memory.recall import Listings

        return Listings()

    @cached_property
    def sightings(self) -> Sightings:
        """Return the memories that searches returned, for the stores to note later."""
        from memsweep.memory.recall import Sightings

        return Sightings()

    @cached_property
    def sandbox(self) -> Sandbox:
        """Worker processes for parsing, started when the first file needs one."""
        from memsweep.code.sandbox import Sandbox

        return Sandbox(max(1, (os.cpu_count() or 2) - 1))

    def warm_up(self) -> None:
        """Load what the first call would otherwise wait for; that call also says what is missing."""
        import numpy  # noqa: F401  # first: where it is there, everything else uses it

        with suppress(MemsweepError):
            self.local_model.load()
            if self.settings.embedding.provider in ("local", "minilm"):
                self.embedder.embed(["warm"])
            if self.reader is not None:
                self.reader.read("warm", ["up"])
        import numkong  # noqa: F401

        import memsweep.memory.recall
        import memsweep.memory.remember  # noqa: F401

        with suppress(MemsweepError):
            _ = self._engine

    def close(self) -> None:
        if "sandbox" in self.__dict__:
            self.sandbox.close()
        if "_engine" in self.__dict__:
            self._note_sightings()
            if not self._is_guest:
                self._engine.close()

    def _note_sightings(self) -> None:
        for workspace_id in self.sightings.waiting() if "sightings" in self.__dict__ else ():
            with suppress(MemsweepError):
                self.sightings.flush(self.engine.open(workspace_id))


def _falkor(url: str) -> Engine:
    try:
        from memsweep.store.falkor.engine import FalkorEngine
    except ImportError as error:
        raise BadSetting(
            f"store {without_password(url)!r} needs the package {error.name!r}, which is not installed.",
            hint=install_extra("falkor"),
        ) from None
    return FalkorEngine(url)


def make_app(
    settings: Settings | None = None, actor: str = "library", opened_by: Origin = BY_LIBRARY, *, project: str = ""
) -> App:
    return App(settings or load_settings(), actor, opened_by=opened_by, project=project)
