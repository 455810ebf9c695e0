"""Facts that come with a text: given beside it, or stated in it again. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from memsweep.model.contribution import Speaker
from memsweep.model.memory import NamedThing, NewFact, NewMemory
from memsweep.model.stating import stated
from memsweep.model.text import name_key
from memsweep.store.falkor.naming import Ends, KnownEntity, KnownRelations, fact_state


def fact_places(entities: Mapping[NamedThing, KnownEntity], facts: Sequence[NewFact]) -> list[Ends]:
    """Return the place of each fact: its ends, which are among the mentions, and its kind."""
    return [
        (entities[new.fact.subject].key, name_key(new.fact.relation), entities[new.fact.object].key) for new in facts
    ]


def state_facts(relations: KnownRelations, places: Sequence[Ends], new: NewMemory, by: Speaker) -> dict[int, Ends]:
    """Create each relation, or strengthen it if it is known; their keys, and where they belong."""
    explicit = {}
    for fact, place in zip(new.facts, places, strict=True):
        known = relations.find(place)
        before = None if known is None else fact_state(known.props)
        if known is None:
            values = {"weight": 1.0 if fact.fact.weight is None else fact.fact.weight, "origin": by.origin}
            known = relations.add(place, fact.fact.relation, fact.id, by.at, **values)
        relations.contribute(known, by.act("state", known.key, before)._replace(value=fact.fact.weight))
        explicit[known.key] = place
    return explicit


def mention_again(
    relations: KnownRelations,
    explicit: Container[int],
    spoken_of: Mapping[int, KnownEntity],
    mentions: Iterable[tuple[int, int]],
    texts: Mapping[int, str],
    by: Speaker,
) -> None:
    """Known relations that these chunks state grow by a mention, each once; those given beside the text have grown."""
    names: dict[int, dict[int, str]] = defaultdict(dict)
    for chunk, entity in mentions:
        names[chunk][entity] = spoken_of[entity].props["name"]
    for (subject, kind, target), known in relations.known():
        if known.key in explicit:
            continue
        pieces = ((text, names[chunk]) for chunk, text in texts.items())
        said = (
            any(True for _ in stated(text, [(named[subject], kind, named[target])]))
            for text, named in pieces
            if subject in named and target in named
        )
        if any(said):
            relations.contribute(known, by.act("mention", known.key, fact_state(known.props)))
