"""Facts that come with a text: given beside it, or stated in it again. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from memsweep.model.decay import age_days, restated
from memsweep.model.memory import NamedThing, NewFact, NewMemory
from memsweep.model.stating import stated
from memsweep.model.text import name_key
from memsweep.model.times import from_micros, to_micros
from memsweep.store.falkor.naming import Ends, Known, Relations


def fact_places(entities: Mapping[NamedThing, Known], facts: Sequence[NewFact]) -> list[Ends]:
    """Where each fact belongs: its ends, which are among the mentions, and its kind."""
    return [
        (entities[new.fact.subject].key, name_key(new.fact.relation), entities[new.fact.object].key) for new in facts
    ]


def state_facts(relations: Relations, places: Sequence[Ends], new: NewMemory, origin: int | None) -> dict[int, Ends]:
    """Create each relation, or strengthen it if it is known; their keys, and where they belong."""
    explicit = {}
    for fact, place in zip(new.facts, places, strict=True):
        known = relations.find(place)
        if known is None:
            weight = 1.0 if fact.fact.weight is None else fact.fact.weight
            told = {"weight": weight, "origin": origin}
            made = relations.add(place, fact.fact.relation, fact.id, to_micros(new.now), **told)
            explicit[made.key] = place
        else:
            _see_again(known, fact.fact.weight, new)
            explicit[known.key] = place
    return explicit


def mention_again(
    relations: Relations,
    explicit: Container[int],
    spoken_of: Mapping[int, Known],
    mentions: Iterable[tuple[int, int]],
    texts: Mapping[int, str],
    new: NewMemory,
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
            _see_again(known, None, new)


def _see_again(known: Known, weight: float | None, new: NewMemory) -> None:
    base, seen = known.props["weight"], known.props["last_seen"]
    days = age_days(from_micros(seen), new.now)
    known.change(
        weight=restated(1.0 if base is None else base, new.edge_rate, days, weight),
        last_seen=max(seen, to_micros(new.now)),
        evidence=known.props["evidence"] + 1,
    )
