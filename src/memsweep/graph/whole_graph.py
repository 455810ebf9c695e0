"""The steps around the decisions on the whole graph: query, survey, build, carry away, take in."""

from __future__ import annotations

import heapq
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from memsweep.errors import BadInput
from memsweep.graph import carrying
from memsweep.graph.building import Built, Named, checked_text, make_options, possible_names, read_facts
from memsweep.graph.exchange import FORMS, form, format_of_file, format_of_text
from memsweep.graph.facts import MAX_DEPTH, MAX_LIMIT, GraphDependencies, Walk, recalled_edges, relate, walk
from memsweep.graph.validate import communities, contradictions, doubts, superseded
from memsweep.model.checks import share
from memsweep.model.frozen import frozen, replace
from memsweep.model.graph import (
    MAX_IMPORT_BYTES,
    Briefing,
    Communities,
    Doubt,
    Edge,
    Entity,
    Exported,
    GraphDump,
    GraphStatus,
    GraphSurvey,
    Imported,
    by_name,
)
from memsweep.model.paging import within
from memsweep.model.reach import components
from memsweep.model.text import refuse_lone_surrogate
from memsweep.model.times import holding_at, holds
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.store.named_files import read_text


@frozen
class Queried:
    """The starts of a query, and the entities that it reached, the nearest first."""

    starts: tuple[Entity, ...]
    entities: tuple[Entity, ...]
    walk: Walk


def query(
    tools: GraphDependencies,
    names: Sequence[str],
    *,
    hops: int,
    min_weight: float,
    relation_types: Collection[str] | None,
    as_of: datetime | None,
    include_ended: bool,
    limit: int,
) -> Queried:
    """Outwards from some entities, by facts that hold now, or at a date, or ever held."""
    if not names or len(names) > MAX_LIMIT:
        raise BadInput(f"entities must name 1 to {MAX_LIMIT} entities, not {len(names)}.")
    share(min_weight, "min_weight")
    refuse_lone_surrogate(list(names), "entities")
    refuse_lone_surrogate(list(relation_types or ()), "relation_types")
    moment = as_of or tools.clock()
    starts = dict.fromkeys(tools.store.find(name) for name in names)
    found = walk(
        starts,
        recalled_edges(tools, relation_types, moment, expired_by=None if include_ended else moment),
        depth=within("hops", hops, MAX_DEPTH),
        limit=within("limit", limit, MAX_LIMIT),
        min_weight=min_weight,
        holding=(lambda edge: True) if include_ended else holding_at(as_of, moment),
    )
    reached = {each.key: each for each in tools.store.entities_at(found.distance, tools.rates, moment)}
    others = sorted(reached.keys() - starts, key=lambda key: (found.distance[key], *by_name(reached[key])))
    told = replace(found, edges=tools.with_tiers(found.edges))
    return Queried(tuple(reached[key] for key in starts), tuple(reached[key] for key in others), told)


def graph_status(tools: GraphDependencies) -> GraphStatus:
    return status(*tools.survey())


def graph_doubts(tools: GraphDependencies) -> list[Doubt]:
    return doubts(*tools.survey())


def graph_communities(tools: GraphDependencies, smallest: int) -> Communities:
    survey, now = tools.recalled()
    return communities(survey, now, smallest=within("min_size", smallest, MAX_LIMIT))


def briefing(tools: GraphDependencies, limit: int, without: Collection[str] = ()) -> Briefing:
    survey, now = tools.recalled()
    found = brief(survey, now, within("limit", limit, 50), without)
    told, recent = tools.with_tiers((*found.recent, *found.stale)), len(found.recent)
    return replace(found, recent=told[:recent], stale=told[recent:])


def build(tools: GraphDependencies, text: str, found: Iterable[Named], options: object) -> Built:
    """Store the facts of a text, all of them or nothing."""
    checked, chosen = checked_text(text), make_options(options)
    known = tools.store.known_names(possible_names(checked))
    batch = read_facts(checked, found, known, chosen)
    empty = not batch.entities and not batch.relations
    return Built(batch, None if chosen.dry_run or empty else relate(tools, batch))


def dump_text(tools: GraphDependencies, format: str) -> str:
    return form(format).write(carrying.dump(tools.store))


def read_graph(text: str, format: str | None, now: datetime) -> GraphDump:
    """Read a file of a graph; one in which nothing is recognised is refused, unless we wrote it of an empty graph."""
    name = format or format_of_text(text)
    dump = form(name).read(text, now)
    empty = not dump.entities and not dump.relations
    if empty and text.removeprefix("\ufeff").split() != form(name).write(GraphDump((), ())).split():
        raise BadInput(
            f"read as {name}, the file has no entity and no fact; nothing was imported.",
            hint=f"Name the format if it is another: {', '.join(FORMS)}.",
        )
    return dump


def load(tools: GraphDependencies, dump: GraphDump) -> Imported:
    doing = tools.operation()
    with tools.store.changing() as tx:
        return carrying.load(tx, dump, doing, tools.new_id, tx.origins.key_of(tools.origin.through("import")))


def export(tools: GraphDependencies, path: str | os.PathLike[str], format: str | None, *, force: bool) -> Exported:
    """Into a file that comes into being whole; one that is there is kept unless `force`."""
    target = Path(path).absolute()
    chosen = format or format_of_file(target.name)
    write = form(chosen).write
    with draft_of(target, replace=force) as draft:
        dump = carrying.dump(tools.store)
        with plain_refusals(target):
            draft.write_text(write(dump), "utf-8", newline="\n")
    return Exported(str(target), chosen, len(dump.entities), len(dump.relations), target.stat().st_size)


def read_export(path: str | os.PathLike[str]) -> str:
    return read_text(Path(path).absolute(), MAX_IMPORT_BYTES)


def inside(folder: Path, name: str) -> Path:
    """A file of the export folder: what leads out of it, by whatever way, is refused."""
    if not isinstance(name, str) or not name.strip() or "\0" in name:
        raise BadInput(f"file {name!r:.60} is not the name of a file.")
    target = (folder / name).resolve()
    if target == folder.resolve() or not target.is_relative_to(folder.resolve()):
        raise BadInput(
            f"file {name!r:.80} is not inside the export folder {folder}.",
            hint="Give a name without a folder; `memsweep graph export` writes to any path.",
        )
    return target


STALE_WEIGHT = 0.5
STALE_DAYS = 30


def brief(survey: GraphSurvey, now: datetime, limit: int, without: Collection[str] = ()) -> Briefing:
    """Each list has `limit` entries at most. Stale is what has faded below half and was not confirmed for a month.

    Relations of the kinds `without` are left out.
    """
    entities = {entity.key: entity for entity in survey.entities}
    facts = [
        edge
        for edge in survey.edges
        if edge.relation not in without and holds(edge, now) and edge.subject in entities and edge.object in entities
    ]
    strength = _strength(facts)
    central = heapq.nsmallest(
        limit, strength, key=lambda key: (-strength[key] * entities[key].confidence, *by_name(entities[key]))
    )
    recent = heapq.nsmallest(limit, facts, key=lambda edge: (-edge.last_seen.timestamp(), -edge.weight, edge.id))
    faded = (edge for edge in facts if edge.weight < STALE_WEIGHT and (now - edge.last_seen).days >= STALE_DAYS)
    stale = heapq.nsmallest(
        limit, faded, key=lambda edge: (-strength[edge.subject] - strength[edge.object], edge.weight, edge.id)
    )
    contradictory = sorted(
        contradictions(facts, entities, superseded(survey.edges)), key=lambda doubt: (-doubt.score, doubt.ids)
    )
    return Briefing(
        entities=len(entities),
        facts=len(facts),
        recent=tuple(recent),
        central=tuple((entities[key], strength[key]) for key in central),
        contradictory=tuple(contradictory[:limit]),
        stale=tuple(stale),
        names={end: entities[end].name for edge in (*recent, *stale) for end in (edge.subject, edge.object)},
    )


def _strength(facts: Iterable[Edge]) -> dict[int, float]:
    """Return the sum of the weights of each entity's facts."""
    strength: dict[int, float] = defaultdict(float)
    for edge in facts:
        if edge.subject != edge.object:
            strength[edge.subject] += edge.weight
            strength[edge.object] += edge.weight
        else:
            strength[edge.subject] += edge.weight
    return strength


BUCKETS = 10


def status(survey: GraphSurvey, now: datetime) -> GraphStatus:
    current = [edge for edge in survey.edges if holds(edge, now)]
    keys = [entity.key for entity in survey.entities]
    sizes = Counter(components(keys, ((edge.subject, edge.object) for edge in current)))
    linked = {end for edge in survey.edges for end in (edge.subject, edge.object)}
    return GraphStatus(
        entities=len(keys),
        relations=len(survey.edges),
        current_facts=len(current),
        ended_facts=sum(edge.invalid_at is not None and edge.invalid_at <= now for edge in survey.edges),
        pinned=sum(entity.pinned for entity in survey.entities),
        orphans=sum(entity.key not in linked and not entity.mentions for entity in survey.entities),
        components=len(sizes),
        largest_component=max(sizes.values(), default=0),
        density=density(len(keys), current),
        by_type=_counted(entity.type for entity in survey.entities),
        by_relation=_counted(edge.relation for edge in current),
        confidence_histogram=histogram(entity.confidence for entity in survey.entities),
        weight_histogram=histogram(edge.weight for edge in current),
    )


def density(nodes: int, edges: Iterable[Edge]) -> float:
    """The share of all possible ordered pairs of entities between which there is a fact."""
    pairs = {(edge.subject, edge.object) for edge in edges if edge.subject != edge.object}
    return len(pairs) / (nodes * (nodes - 1)) if nodes > 1 else 0.0


def histogram(shares: Iterable[float]) -> tuple[int, ...]:
    """Return how many lie in each tenth from 0 to 1; the last one has 1 itself."""
    counts = [0] * BUCKETS
    for each in shares:
        counts[min(BUCKETS - 1, int(each * BUCKETS))] += 1
    return tuple(counts)


def _counted(words: Iterable[str]) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))
