"""The base of the services of one workspace: the app, the way into its store, and what the features need of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from memsweep.clock import new_id
from memsweep.errors import BadInput, MemsweepError, StoreCorrupt, UnknownWorkspace
from memsweep.model.frozen import frozen, replace
from memsweep.operation import Async, Calls, Mode, Sync

if TYPE_CHECKING:
    from memsweep.app import App
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.collector.strategies.rule import Fading
    from memsweep.graph.facts import GraphDependencies
    from memsweep.memory.names import Name
    from memsweep.model.gate import Gate
    from memsweep.model.graph import GraphSurvey
    from memsweep.model.origin import Origin
    from memsweep.model.quarantine import Quarantine
    from memsweep.model.search import Filters, HeldBack
    from memsweep.model.workspace import EmbeddingModel
    from memsweep.settings import Settings
    from memsweep.store.protocol import Store


@frozen
class Access(Generic[Mode]):
    """One workspace of an app. The store is asked for anew on each call: another process may have deleted it."""

    app: App
    workspace_id: str
    calls: Calls[Mode]
    is_named: Callable[[], bool]
    """Whether somebody named the workspace, or it is the one that an empty name stands for."""
    personal: str = ""
    """The workspace that is searched along with this one."""

    def in_scope(self, scope: str) -> Access[Mode]:
        """The same for another scope: what is `personal` holds in every project."""
        if scope in ("", "project"):
            return self
        if scope != "personal":
            raise BadInput(f"scope {scope!r:.60} is unknown.", hint="Use project or personal.")
        if not self.settings.personal:
            raise BadInput("no personal workspace is configured.", hint="Name one with the setting `personal`.")
        return replace(self, workspace_id=self.settings.personal, personal="")

    def personal_store(self) -> Store | None:
        """The store to search along with this one; None if there is none, or this is it."""
        if not self.personal or self.personal == self.workspace_id:
            return None
        return None if self.app.engine.owner_of(self.personal) is None else self.app.engine.open(self.personal)

    @property
    def store(self) -> Store:
        """The store, for reading and for changing what is there; an unknown workspace is refused."""
        return self.app.engine.open(self.workspace_id)

    def store_to_fill(self) -> Store:
        """The store, for putting something new into a workspace that is there."""
        store = self.store
        self.app.refuse_claimed(self.workspace_id)
        store.keep_metadata_index(self.settings.search.metadata_index)
        return store

    def create_store(self) -> Store:
        """The store, for a write that makes the workspace if need be."""
        self.app.refuse_claimed(self.workspace_id)
        self.gate("").own_id(self.workspace_id, "the workspace id")
        project = self.app.project_of(self.workspace_id)
        store = self.app.engine.open_or_create(self.workspace_id, self.clock(), project=project)
        store.keep_metadata_index(self.settings.search.metadata_index)
        return store

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
            if self.is_named() or error.was_deleted:
                raise
            return None

    def gate(self, source: str) -> Gate:
        """Return the gate that a call from this source passes on its way in."""
        from memsweep.model.gate import Gate

        return Gate(self.settings.secrets.action_for(self.workspace_id, source))

    def indexed(self, filters: Filters) -> Filters:
        """Return filters that know which paths in metadata have an index."""
        if not (filters.metadata and (paths := self.settings.search.metadata_index)):
            return filters
        from memsweep.model.conditions import with_indexes

        return replace(filters, metadata=with_indexes(filters.metadata, paths))

    @property
    def clock(self) -> Callable[[], datetime]:
        return self.app.clock

    @property
    def actor(self) -> str:
        return self.app.actor

    def origin(self, tier: str = "") -> Origin:
        """Return the origin of what this call stores, trusted no more than `tier`."""
        return self.app.origin.lowered(tier)

    @property
    def quarantine(self) -> Quarantine:
        return self.app.quarantine

    @property
    def settings(self) -> Settings:
        return self.app.settings


def _always() -> bool:
    return True


def sync_access(
    app: App, workspace_id: str, is_named: Callable[[], bool] = _always, personal: str = ""
) -> Access[Sync]:
    """For operations that return their result."""
    return Access(app, workspace_id, Calls(False, partial(_explain_damage, app, workspace_id)), is_named, personal)


def async_access(
    app: App, workspace_id: str, is_named: Callable[[], bool] = _always, personal: str = ""
) -> Access[Async]:
    """For operations that are awaited."""
    return Access(app, workspace_id, Calls(True, partial(_explain_damage, app, workspace_id)), is_named, personal)


def _explain_damage(app: App, workspace_id: str) -> StoreCorrupt | None:
    """Return the damage of the workspace as an error; None if there is none."""
    try:
        return app.engine.open(workspace_id).keeper.explain()
    except StoreCorrupt as error:
        return error
    except MemsweepError:
        return None


def collector(access: Access[Any], actor: str | None = None) -> CollectorDependencies:
    """Return the dependencies of `gc.collect`; `actor` is whoever calls, unless given."""
    from memsweep.collector.collect import CollectorDependencies

    settings, store = access.settings.gc, access.store
    access.app.sightings.flush(store)  # what was read until now is not garbage
    return CollectorDependencies(
        store=store.collector,
        workspace_id=access.workspace_id,
        actor=access.actor if actor is None else actor,
        clock=access.clock,
        new_id=new_id,
        plan_hours=settings.plan_hours,
        grace_days=settings.grace_days,
        apply_seconds=settings.apply_seconds,
        history_days=settings.history_days,
        fading=fading(access),
        embed=partial(_embed, access),
        find_names=_find_names,
        list_as=partial(access.app.engine.describe, access.workspace_id),
    )


def _embed(access: Access[Any], texts: Sequence[str]) -> tuple[EmbeddingModel, list[bytes]]:
    from memsweep.embed.protocol import quantise

    embedder = access.app.embedder
    return embedder.model, quantise(embedder.embed(texts))


def _find_names(texts: Sequence[str]) -> Sequence[Name]:
    from memsweep.memory.names import find_names

    return find_names(texts)


def fading(access: Access[Any]) -> Fading:
    """Return the decay rates and the thresholds of garbage, from the settings."""
    from memsweep.collector.strategies.rule import Fading

    graph = access.settings.graph
    return Fading(graph.decay(), graph.node_threshold, graph.edge_threshold, max_age_days=graph.max_age_days)


def graph_facts(access: Access[Any], *, create: bool = False, tier: str = "") -> GraphDependencies:
    """Return the dependencies of `graph.facts`."""
    from memsweep.graph.facts import GraphDependencies

    origin = access.origin(tier)
    store = access.create_store() if create else access.store
    rates = access.settings.graph.decay()
    back = access.quarantine.held_back(access.clock())
    return GraphDependencies(store.graph, access.actor, access.clock, new_id, rates, origin, back)


def surveyed_graph_of(access: Access[Any], back: HeldBack | None = None) -> GraphDependencies:
    """Return the dependencies of steps that only look; a workspace that is not made yet has an empty graph."""
    from memsweep.graph.facts import GraphDependencies

    if access.found() is not None:
        tools = graph_facts(access)
        return tools if back is None else replace(tools, back=back)
    nothing: Any = _NoGraph()
    return GraphDependencies(nothing, access.actor, access.clock, new_id, access.settings.graph.decay())


class _NoGraph:
    def survey(self, *_: object) -> GraphSurvey:
        from memsweep.model.graph import GraphSurvey

        return GraphSurvey((), ())
