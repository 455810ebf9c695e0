"""The steps around the decisions on the whole graph: query, survey, build, carry away, take in."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memsweep.errors import BadInput
from memsweep.graph.briefing import brief
from memsweep.graph.building import Built, Named, checked_text, make_options, possible_names, read_facts
from memsweep.graph.communities import communities
from memsweep.graph.exchange import form, format_of_file, format_of_text
from memsweep.graph.facts import MAX_DEPTH, MAX_LIMIT, GraphDependencies, recalled_edges, relate
from memsweep.graph.status import status
from memsweep.graph.validate import doubts
from memsweep.graph.walk import Walk, walk
from memsweep.model.checks import share
from memsweep.model.paging import within
from memsweep.model.text import refuse_lone_surrogate
from memsweep.model.validity import holding_at
from memsweep.model.whole_graph import (
    MAX_IMPORT_BYTES,
    Briefing,
    Communities,
    Doubt,
    Exported,
    GraphDump,
    GraphStatus,
    GraphSurvey,
    Imported,
)
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.store.named_files import read_text

if TYPE_CHECKING:
    from memsweep.model.graph import Entity
    from memsweep.store.ports.graph_store import WholeGraph


@dataclass(frozen=True, slots=True)
class WholeGraphDependencies:
    """What operations on the whole graph need of the world."""

    graph: GraphDependencies
    whole_graph: WholeGraph

    def survey(self) -> tuple[GraphSurvey, datetime]:
        now = self.graph.clock()
        return self.whole_graph.survey(self.graph.rates, now), now

    def recalled(self) -> tuple[GraphSurvey, datetime]:
        """The same without what is in quarantine."""
        survey, now = self.survey()
        if self.graph.back is None:
            return survey, now
        held = self.graph.held
        facts = held.facts([edge.id for edge in survey.edges])
        entities = held.entities([entity.key for entity in survey.entities])
        return GraphSurvey(
            tuple(entity for entity in survey.entities if entity.key not in entities),
            tuple(edge for edge in survey.edges if edge.id not in facts),
        ), now


@dataclass(frozen=True, slots=True)
class Queried:
    """Where a query began, and what it reached, the nearest first."""

    starts: tuple[Entity, ...]
    entities: tuple[Entity, ...]
    walk: Walk


def query(
    tools: WholeGraphDependencies,
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
    graph = tools.graph
    moment = as_of or graph.clock()
    starts = dict.fromkeys(graph.store.find(name) for name in names)
    found = walk(
        starts,
        recalled_edges(graph, relation_types, moment),
        depth=within("hops", hops, MAX_DEPTH),
        limit=within("limit", limit, MAX_LIMIT),
        min_weight=min_weight,
        holding=(lambda edge: True) if include_ended else holding_at(as_of, moment),
    )
    reached = {each.key: each for each in graph.store.entities_at(found.distance, graph.rates, moment)}
    others = sorted(reached.keys() - starts, key=lambda key: (found.distance[key], reached[key].name))
    return Queried(tuple(reached[key] for key in starts), tuple(reached[key] for key in others), found)


def graph_status(tools: WholeGraphDependencies) -> GraphStatus:
    return status(*tools.survey())


def graph_doubts(tools: WholeGraphDependencies) -> list[Doubt]:
    return doubts(*tools.survey())


def graph_communities(tools: WholeGraphDependencies, smallest: int) -> Communities:
    survey, now = tools.recalled()
    return communities(survey, now, smallest=within("min_size", smallest, MAX_LIMIT))


def briefing(tools: WholeGraphDependencies, limit: int, without: Collection[str] = ()) -> Briefing:
    survey, now = tools.recalled()
    return brief(survey, now, within("limit", limit, 50), without)


def build(tools: WholeGraphDependencies, text: str, found: Iterable[Named], options: object) -> Built:
    """What a text says becomes facts, all of it or nothing."""
    checked, chosen = checked_text(text), make_options(options)
    known = tools.whole_graph.known_names(possible_names(checked))
    batch = read_facts(checked, found, known, chosen)
    empty = not batch.entities and not batch.relations
    return Built(batch, None if chosen.dry_run or empty else relate(tools.graph, batch))


def dump_text(tools: WholeGraphDependencies, format: str) -> str:
    return form(format).write(tools.whole_graph.dump())


def read_graph(text: str, format: str | None) -> GraphDump:
    return form(format or format_of_text(text)).read(text)


def load(tools: WholeGraphDependencies, dump: GraphDump) -> Imported:
    graph = tools.graph
    return tools.whole_graph.load(dump, graph.new_id, graph.actor, graph.clock(), graph.origin.through("import"))


def export(tools: WholeGraphDependencies, path: str | os.PathLike[str], format: str | None, *, force: bool) -> Exported:
    """Into a file that comes into being whole; one that is there is kept unless `force`."""
    target = Path(path).absolute()
    chosen = format or format_of_file(target.name)
    write = form(chosen).write
    with draft_of(target, replace=force) as draft:
        dump = tools.whole_graph.dump()
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
