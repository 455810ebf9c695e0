"""Entities by name, page by page, and what an entity has: how many facts, and which contradict each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from memsweep.errors import BadInput
from memsweep.graph.validate import contradictions, may_contradict, superseded
from memsweep.model.decay import Rates
from memsweep.model.graph import Doubt, EntityPage, FactCount, NamedEntities
from memsweep.model.paging import PageMark, cursor_after, mark_of, page_size
from memsweep.model.text import name_key, refuse_lone_surrogate
from memsweep.model.times import holds
from memsweep.store.graph import Graph

MOST_LISTED = 200
_LONGEST_SEARCH = 1000  # more than any name has
_BETWEEN = "\0"


def asked_for(search: str, entity_type: str, *, prefix: bool) -> NamedEntities:
    for what, text in (("search", search), ("entity_type", entity_type)):
        if not isinstance(text, str) or len(text) > _LONGEST_SEARCH:
            raise BadInput(f"{what} must be text of at most {_LONGEST_SEARCH:,} characters, not {text!r:.40}.")
        refuse_lone_surrogate(text, what)
    return NamedEntities(name_key(search) if search.strip() else "", prefix, name_key(entity_type))


def list_entities(
    store: Graph, asked: NamedEntities, rates: Rates, now: datetime, *, limit: int, cursor: str | None
) -> EntityPage:
    """A page goes on from the name of the last one, whatever was added or removed meanwhile."""
    page_size(limit, MOST_LISTED)
    listing = f"entities\0{asked}"
    after = mark_of(cursor, listing) or PageMark(0, 0, store.count_named(asked))
    name, _, kind = after.name.partition(_BETWEEN)
    found = store.named(asked, (name, kind) if cursor else None, limit + 1, rates, now)
    shown, passed = found[:limit], after.passed + len(found[:limit])
    following = None
    if len(found) > limit:
        following = cursor_after(PageMark(0, passed, after.total, _BETWEEN.join(shown[-1][0])), listing)
    return EntityPage(tuple(each for _, each in shown), after.passed, max(after.total, passed), following)


def contradictions_at(
    store: Graph, key: int, counts: Sequence[FactCount], rates: Rates, now: datetime
) -> tuple[Doubt, ...]:
    """Of the facts that an entity has itself; only those of kinds that can contradict each other are read."""
    kinds = {each.relation for each in counts if each.ended or may_contradict(each.relation)}
    if not kinds:
        return ()
    edges = store.edges_at([key], kinds, rates, now)
    ends: Iterable[int] = {end for edge in edges for end in (edge.subject, edge.object)}
    entities = {each.key: each for each in store.entities_at(list(ends), rates, now)}
    current = [edge for edge in edges if holds(edge, now) and edge.subject in entities and edge.object in entities]
    return tuple(contradictions(current, entities, superseded(edges)))
