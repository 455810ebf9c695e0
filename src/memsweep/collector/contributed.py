"""Find the contributions of an origin, and what is left of facts and memories without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.contributed_memories import BroughtMemories, ended_links
from memsweep.collector.retraction import given_back
from memsweep.errors import BadInput
from memsweep.model.contributed import Contributed, FactWithout, OriginFilter, make_wanted
from memsweep.model.contribution import Contribution, state_of

if TYPE_CHECKING:
    from memsweep.model.plan import Survey
    from memsweep.store.changes import Changes
    from memsweep.store.journals import StoredFact


def wanted_by(strategy: str, origin: object) -> OriginFilter | None:
    """Return the filter of what a strategy is asked to take back."""
    if strategy == "origin":
        return make_wanted(origin)
    if origin is not None:
        raise BadInput(f"origin is for strategy 'origin', not for {strategy!r:.40}.")
    return None


def with_brought(tx: Changes, survey: Survey, wanted: OriginFilter | None) -> Survey:
    """The survey, with what was asked for."""
    return survey if wanted is None else replace(survey, brought=brought_by(tx, wanted))


def brought_by(tx: Changes, wanted: OriginFilter) -> Contributed:
    """Everything that what is wanted brought, and every fact and memory that would be another without it."""
    rows = tx.origins
    origins = wanted.among(rows.known())
    found = BroughtMemories(tx, wanted, origins)
    by_source = wanted.source is not None
    acts = [act for act in rows.acts(origins) if _is_wanted(act, wanted, found.touched)]
    made = {} if by_source else _within(rows.relations(origins), wanted)
    touched = made.keys() | {act.relation for act in acts}
    journal: dict[int, list[Contribution]] = defaultdict(list)
    for act in rows.journal(touched):
        journal[act.relation].append(act)
    facts = rows.facts(touched)
    trashed = {key: fact for key, fact in rows.facts(touched, trashed=True).items() if key not in facts}
    for row in tx.relations.at(trashed) if trashed else ():
        journal[row.key] = given_back(journal[row.key], row.trash)
    stated = {relation for relation, memory in tx.items.sources(touched) if memory not in found.going}
    links = ended_links(tx, wanted, origins)
    return Contributed(
        memories=found.gone(links),
        staying=tuple(found.staying(links)),
        entities=frozenset() if by_source else frozenset(_within(rows.entities(origins), wanted)),
        facts=(
            *(_without(facts[key], key, journal[key], acts, made, stated) for key in sorted(facts)),
            *_in_trash(trashed, journal, acts),
        ),
        segments=() if by_source else tuple(row[:2] for row in rows.segments(origins) if wanted.has_time(row[2])),
    )


def _is_wanted(act: Contribution, wanted: OriginFilter, memories: Collection[int]) -> bool:
    return act.memory in memories if wanted.source is not None else wanted.has_time(act.at)


def _within(made: Mapping[int, int], wanted: OriginFilter) -> dict[int, int]:
    return {key: at for key, at in made.items() if wanted.has_time(at)}


def _in_trash(
    facts: Mapping[int, StoredFact], journal: Mapping[int, list[Contribution]], acts: Iterable[Contribution]
) -> Iterator[FactWithout]:
    """Facts that others hold in the trash for themselves, too, and that would come back with what goes."""
    for key, fact in sorted(facts.items()):
        gone = frozenset(act.key for act in acts if act.relation == key)
        # What is older than its journal may be anybody's.
        after = state_of(journal[key], gone) if gone and journal[key][0].before is None else None
        if after is not None and after != fact.state:
            yield FactWithout(key, fact.version, fact.state, after, gone, is_trashed=True)


def _without(
    fact: StoredFact,
    key: int,
    journal: list[Contribution],
    acts: Iterable[Contribution],
    made: Mapping[int, int],
    stated: Collection[int],
) -> FactWithout:
    gone = frozenset(act.key for act in acts if act.relation == key)
    if not journal:  # nobody contributed to it since: it is what was made, and stays for whom else states it
        return FactWithout(key, fact.version, fact.state, fact.state if key in stated else None, gone)
    after = state_of(journal, gone, made_by_others=key not in made)
    return FactWithout(key, fact.version, fact.state, after, gone)
