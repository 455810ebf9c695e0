"""The graph of a workspace as a whole: every method is one transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from datetime import datetime

from memsweep.model.decay import Rates
from memsweep.model.graph import edges_now, entity_now
from memsweep.model.graph_exchange import entity_row, relation_row
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.stored import to_json
from memsweep.model.whole_graph import ExportedEntity, GraphDump, GraphSurvey, Imported
from memsweep.store.falkor import whole_graph_cypher
from memsweep.store.falkor.loading import Loader
from memsweep.store.falkor.origins import origin_key
from memsweep.store.falkor.surveying import at_one_moment, pages
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.paused import gc_paused


class FalkorWholeGraph:
    """Implements `memsweep.store.ports.graph_store.WholeGraph`."""

    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        def read(asked: GraphHandle | Transaction) -> tuple[list[Row], list[Row]]:
            keys = _entity_keys(asked)
            edges = list(pages(asked, whole_graph_cypher.SURVEY_EDGES, keys=keys))
            return list(pages(asked, whole_graph_cypher.SURVEY_ENTITIES, keys=keys)), edges

        with gc_paused():
            entities, edges = at_one_moment(self._graph, read)
            edges.sort(key=lambda row: row[0])
            return GraphSurvey(
                tuple(entity_now(row, rates, now) for row in entities),
                tuple(edges_now((row[1:] for row in edges), rates, now)),
            )

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        found = pages(self._graph, whole_graph_cypher.KNOWN_NAMES, names=sorted(names))
        return {key: name for _, _, key, name in sorted(found)}

    def dump(self) -> GraphDump:
        def read(asked: GraphHandle | Transaction) -> tuple[list[Row], list[Row], list[Row]]:
            keys = _entity_keys(asked)
            relations = list(pages(asked, whole_graph_cypher.DUMP_RELATIONS, keys=keys))
            return (
                list(pages(asked, whole_graph_cypher.DUMP_ENTITIES, keys=keys)),
                relations,
                asked.ask(whole_graph_cypher.ALIASES),
            )

        with gc_paused():
            return _dump(*at_one_moment(self._graph, read))

    def load(
        self, dump: GraphDump, new_id: Callable[[str], str], actor: str, now: datetime, origin: Origin = UNKNOWN
    ) -> Imported:
        with gc_paused(), self._graph.writing() as tx:
            return Loader(tx, dump, new_id, origin_key(tx, origin)).load(actor, now)


def _entity_keys(asked: GraphHandle | Transaction) -> list[int]:
    return [key for (key,) in asked.ask(whole_graph_cypher.ENTITY_KEYS)]


def _dump(entities: list[Row], relations: list[Row], aliases: list[Row]) -> GraphDump:
    """In the order of names, which does not depend on the store."""
    names = {key: (name, kind) for key, name, kind, *_ in entities}
    ids = {row[0]: row[3] for row in entities}
    others: dict[int, list[Row]] = defaultdict(list)
    for entity, *alias in aliases:
        others[entity].append(alias)
    entities.sort(key=lambda row: names[row[0]])
    relations.sort(key=lambda row: (names[row[0]], row[1], names[row[2]], _first(row[11]), _first(row[10]), row[3]))
    return GraphDump(
        tuple(_entity_row(row[3:], others[row[0]]) for row in entities),
        tuple(relation_row((row[3], ids[row[0]], ids[row[2]], *row[4:])) for row in relations),
    )


def _first(moment: int | None) -> tuple[bool, int]:
    """What has no moment comes first."""
    return moment is not None, moment or 0


def _entity_row(row: Row, others: list[Row]) -> ExportedEntity:
    pairs = [[alias, type_key] for _, type_key, alias in sorted(others)]
    return entity_row(row, to_json(pairs) if pairs else None)
