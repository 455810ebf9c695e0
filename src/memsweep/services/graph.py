"""`memory.graph`: the knowledge graph of a workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from memsweep.collector import collect
from memsweep.collector.update import release_fact
from memsweep.graph import batch, facts, whole_graph
from memsweep.graph.batch import many_relations, passed_batch, passed_dump
from memsweep.graph.building import Named, checked_text, make_options
from memsweep.graph.facts import asked_for, list_entities
from memsweep.graph.merge import SplitRequest
from memsweep.model.graph import Decayed, EntityPage, unknown_entity
from memsweep.model.memory import NamedThing
from memsweep.model.times import parse_time
from memsweep.operation import Mode, operation
from memsweep.services.access import collector, fading, graph_facts, surveyed_graph_of
from memsweep.store.refusals import tombstoned_text

if TYPE_CHECKING:
    from memsweep.collector.strategies.rule import Fading
    from memsweep.graph.building import Built
    from memsweep.graph.facts import Neighbourhood
    from memsweep.graph.whole_graph import Queried
    from memsweep.model.gate import Gate
    from memsweep.model.graph import (
        Briefing,
        Communities,
        Doubt,
        Entity,
        Exported,
        GraphBatch,
        GraphStatus,
        Imported,
        Merged,
        Reinforced,
        Related,
        Split,
    )
    from memsweep.model.plan import Plan, Receipt
    from memsweep.services.access import Access

    Stored = TypeVar("Stored", Related, Imported)


class GraphService(Generic[Mode]):
    """Entities and the facts between them: stated, queried, surveyed, carried over, pruned, merged."""

    def __init__(self, access: Access[Mode]) -> None:
        self._access = access
        self._calls = access.calls

    @operation
    def relate(
        self,
        from_entity: str,
        relation: str,
        to_entity: str,
        *,
        from_type: str | None = None,
        to_type: str | None = None,
        weight: float = 1.0,
        valid_at: str | datetime | None = None,
        replaces: bool = False,
        source: str = "",
        tier: str = "",
    ) -> Related:
        """State a fact; a known one becomes stronger. `replaces` ends the other facts with this subject and relation.

        `source` is the id of the memory that it comes from; `tier` lowers how far it is trusted.
        """
        one = batch.one_relation(
            from_entity,
            to_entity,
            relation,
            from_type=from_type,
            to_type=to_type,
            weight=weight,
            valid_at=valid_at,
            replaces=replaces,
            source=source,
        )
        return _relate(self._access, one, tier)

    @operation
    def relate_many(self, batch: Mapping[str, Any], *, tier: str = "") -> Related:
        """A batch of entities and relations, all or nothing."""
        return _relate(self._access, many_relations(batch), tier)

    @operation
    def reinforce(
        self,
        from_entity: str,
        relation: str,
        to_entity: str,
        *,
        kind: Literal["confirm", "correct"] = "confirm",
        amount: float | None = None,
        reason: str = "",
    ) -> Reinforced:
        """Confirm a fact, or correct it; a correction does not count as a confirmation."""
        kept = self._access.gate("graph").text(reason, "reason") if isinstance(reason, str) else reason
        return facts.reinforce(graph_facts(self._access), from_entity, to_entity, relation, kind, amount, kept)

    @operation
    def entities(
        self,
        search: str | None = None,
        *,
        entity_type: str | None = None,
        min_confidence: float = 0.0,
        sort_by: str = "confidence",
        limit: int = 20,
    ) -> tuple[list[Entity], int]:
        """Entities by name and type, and how many match."""
        if self._access.found() is None:
            return [], 0
        return facts.entities(graph_facts(self._access), search, entity_type, min_confidence, sort_by, limit)

    @operation
    def names(
        self,
        search: str = "",
        *,
        prefix: bool = False,
        entity_type: str = "",
        limit: int = 50,
        cursor: str | None = None,
    ) -> EntityPage:
        """List entities in the order of their names, page by page: those with a part of a name, or its beginning."""
        asked = asked_for(search, entity_type, prefix=prefix)
        if self._access.found() is None:
            return EntityPage((), 0, 0, None)
        tools = graph_facts(self._access)
        return list_entities(tools.store, asked, tools.rates, tools.clock(), limit=limit, cursor=cursor)

    @operation
    def related(
        self, entity: str, *, depth: int = 1, limit: int = 20, relation_types: Iterable[str] | None = None
    ) -> Neighbourhood:
        """Return the entities that current facts connect to an entity."""
        if self._access.found() is None:
            raise unknown_entity(str(entity))
        kinds = None if relation_types is None else list(relation_types)
        return facts.related(graph_facts(self._access), entity, depth=depth, limit=limit, relation_types=kinds)

    @operation
    def query(
        self,
        entities: str | Iterable[str],
        *,
        hops: int = 2,
        min_weight: float = 0.0,
        relation_types: Iterable[str] | None = None,
        as_of: str | datetime | None = None,
        include_ended: bool = False,
        limit: int = 50,
    ) -> Queried:
        """Follow facts outwards from entities: those that hold now, held at a date, or ever held (`include_ended`)."""
        wanted = [entities] if isinstance(entities, str) else list(entities)
        if wanted and self._access.found() is None:
            raise unknown_entity(str(wanted[0]))
        return whole_graph.query(
            graph_facts(self._access),
            wanted,
            hops=hops,
            min_weight=min_weight,
            relation_types=None if relation_types is None else list(relation_types),
            as_of=None if as_of in (None, "") else parse_time(as_of, "as_of", end_of_day=True),
            include_ended=include_ended,
            limit=limit,
        )

    @operation
    def release(self, relation_id: str) -> None:
        """Let a fact out of quarantine: searches, queries and briefings find it from now on."""
        release_fact(collector(self._access), relation_id)

    @operation
    def status(self) -> GraphStatus:
        """Counts by type, components, density, orphans, and how far facts have faded."""
        return whole_graph.graph_status(surveyed_graph_of(self._access))

    @operation
    def validate(self) -> list[Doubt]:
        """Generic names, near duplicates, dangling facts, contradictions."""
        return whole_graph.graph_doubts(surveyed_graph_of(self._access))

    @operation
    def communities(self, *, min_size: int = 2) -> Communities:
        """Groups of closely connected entities."""
        return whole_graph.graph_communities(surveyed_graph_of(self._access), min_size)

    @operation
    def briefing(self, *, limit: int = 5) -> Briefing:
        """Return a briefing: recent facts, central entities, contradictions, stale facts."""
        return whole_graph.briefing(surveyed_graph_of(self._access), limit)

    @operation
    def build(self, text: str, options: Mapping[str, Any] | None = None) -> Built:
        """Extract names and facts from a text by rules; a known fact becomes a little stronger."""
        from memsweep.memory.names import find_names
        from memsweep.secrets.find import redacted

        gate = self._access.gate("graph")
        # A key is no name, whatever the settings let in: without the text around it, no rule would know it again.
        text, _ = redacted(gate.text(checked_text(text)))
        names = [Named(found.name, found.evidence > 0) for found in find_names([text])]
        writes = not make_options(options).dry_run
        tools = graph_facts(self._access, create=writes)
        _refuse_forgotten(self._access, [text])
        built = whole_graph.build(tools, text, names, options)
        return built if built.outcome is None else replace(built, outcome=_saying(built.outcome, gate))

    @operation
    def dump(self, format: str = "json") -> str:
        """The whole graph as text: json, graphml, cytoscape or cypher."""
        return whole_graph.dump_text(graph_facts(self._access), format)

    @operation
    def load(self, text: str, format: str | None = None) -> Imported:
        """Add the graph in a text that `dump` returned; the format is recognised from the text."""
        return _load(self._access, text, format)

    @operation
    def export_file(self, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False) -> Exported:
        """Write the whole graph to a file; the extension chooses the format, JSON by default."""
        from pathlib import Path

        self._access.gate("export").own_id(Path(path).name, "the name of the file")
        return whole_graph.export(graph_facts(self._access), path, format, force=force)

    @operation
    def import_file(self, path: str | os.PathLike[str], format: str | None = None) -> Imported:
        """Add the graph in a file that `export_file` wrote, or another program's GraphML or Cytoscape JSON."""
        return _load(self._access, whole_graph.read_export(path), format)

    @operation
    def decay(self, *, dry_run: bool = True) -> Decayed:
        """Return how far facts have faded; unless `dry_run`, store the current values, which changes no answer."""
        if self._access.found() is None:
            return Decayed(0, 0, 0, 0, ())
        faded = fading(self._access)
        return facts.decay(graph_facts(self._access), faded.node_threshold, faded.edge_threshold, not dry_run)

    @operation
    def plan_prune(
        self,
        *,
        node_threshold: float | None = None,
        edge_threshold: float | None = None,
        include_orphans: bool = True,
        max_age_days: float | None = None,
    ) -> Plan:
        """Find the facts that have faded away, and save the exact list of them; nothing is removed."""
        if self._access.found() is None:
            return collect.plan_of_nothing("decayed", self._access.clock())
        rule = _fading_with(self._access, node_threshold, edge_threshold, include_orphans, max_age_days)
        return collect.plan(collector(self._access), "decayed", fading=rule)

    @operation
    def prune(
        self,
        *,
        node_threshold: float | None = None,
        edge_threshold: float | None = None,
        include_orphans: bool = True,
        max_age_days: float | None = None,
        confirm: bool = False,
        allow_large: bool = False,
    ) -> Receipt:
        """Move the facts that have faded away to the trash, planned and applied in one transaction."""
        rule = _fading_with(self._access, node_threshold, edge_threshold, include_orphans, max_age_days)
        tools = collector(self._access)
        return collect.plan_and_apply(tools, "decayed", confirm=confirm, allow_large=allow_large, fading=rule)

    @operation
    def plan_merge(self, ids: Iterable[str], into: str) -> Merged:
        """Save a plan of merging these entities (ids or names) into `into`; nothing moves yet."""
        lifetime = timedelta(hours=self._access.settings.gc.plan_hours)
        return facts.plan_merge(graph_facts(self._access), list(ids), into, lifetime)

    @operation
    def merge(self, ids: Iterable[str] = (), into: str = "", *, plan_id: str | None = None) -> Merged:
        """Merge several entities into one; their old names still find it. `sweep.undo` takes them apart again."""
        return facts.merge(graph_facts(self._access), list(ids), into, plan_id)

    @operation
    def unmerge(
        self,
        entity: str,
        name: str,
        *,
        entity_type: str | None = None,
        relations: Iterable[str] = (),
        memories: Iterable[str] = (),
        dry_run: bool = False,
    ) -> Split:
        """Split a new entity off another, with chosen relations (by id) and its mentions in chosen memories.

        `sweep.undo` takes it back; with `dry_run`, only say what would move.
        """
        gate = self._access.gate("graph")
        name = gate.text(name, "name") if isinstance(name, str) else name
        entity_type = gate.text(entity_type, "type") if isinstance(entity_type, str) else entity_type
        wanted = SplitRequest(entity, NamedThing(name, entity_type or ""), list(relations), list(memories))
        act = facts.plan_split if dry_run else facts.split
        return act(graph_facts(self._access), wanted)


def _load(access: Access[Any], text: str, format: str | None) -> Imported:

    gate = access.gate("import")
    dump = passed_dump(whole_graph.read_graph(text, format, access.clock()), gate)  # before a workspace is made for it
    tools = graph_facts(access, create=True)
    _refuse_forgotten(access, [each.name for each in dump.entities])
    return _saying(whole_graph.load(tools, dump), gate)


def _relate(access: Access[Any], batch: GraphBatch, tier: str = "") -> Related:

    gate = access.gate("graph")
    passed = passed_batch(batch, gate)
    # A memory that a fact comes from is in a workspace that is there.
    tools = graph_facts(access, create=not any(relation.source for relation in passed.relations), tier=tier)
    _refuse_forgotten(access, passed.said)
    return _saying(facts.relate(tools, passed), gate)


def _refuse_forgotten(access: Access[Any], said: Sequence[str]) -> None:
    """Refuse as a name, or as what facts are read from, a text that was deleted permanently."""
    if access.store.code.tombstoned(said):
        raise tombstoned_text()


def _saying(result: Stored, gate: Gate) -> Stored:
    """The result, with what the gate met."""
    return replace(result, redacted=gate.redacted, warnings=gate.warnings)


def _fading_with(
    access: Access[Any],
    node_threshold: float | None,
    edge_threshold: float | None,
    include_orphans: bool,
    max_age_days: float | None,
) -> Fading:
    given = {"node_threshold": node_threshold, "edge_threshold": edge_threshold, "max_age_days": max_age_days}
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(fading(access), include_orphans=include_orphans, **chosen)  # type: ignore[arg-type]
