"""The acts that stated, strengthened, weakened or ended a fact, and whose they were: a fact is the sum of its acts.

Each says what the fact was before it, so that the first one of a fact that is older than they are is enough to begin
with; after that the acts count, in their order. Taking some away and doing the others again gives the fact as it would
be without them, to the last digit. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Annotated, Literal, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.decay import age_days, confirmed, corrected, restated
from memsweep.model.graph_rows import Strength
from memsweep.model.times import from_micros

Act = Literal["state", "mention", "confirm", "correct", "see", "set", "end"]
ACTS: tuple[Act, ...] = ("state", "mention", "confirm", "correct", "see", "set", "end")
"""What is done to a fact."""


class FactState(NamedTuple):
    """The parts of a relation that change. Times are microseconds since 1970."""

    weight: float | None
    last_seen: int
    evidence: int
    explicit: bool
    created_at: int
    valid_at: int | None = None
    invalid_at: int | None = None


def _as_text(state: FactState) -> str:
    return json.dumps(list(state))


def from_text(stored: str) -> FactState:
    weight, seen, evidence, explicit, *times = json.loads(stored)
    return FactState(weight, seen, evidence, bool(explicit), *times)


# What is damaged counts no more than what was taken back: the fact stays as it is.
_STATE = c.JSON.but(
    fits=f.or_null(f.anything),
    null=True,
    to_file=_as_text,
    from_file=from_text,
    to_node=_as_text,
    from_node=from_text,
)


class Contribution(NamedTuple):
    """One act on a relation.

    | act              | value                                       | what it does                                   |
    | state            | the weight that was told, if one was        | makes the relation, or the larger weight counts |
    | mention          | what it begins with, if it may make it      | a little more                                  |
    | confirm, correct | by how much                                 | more, or less                                  |
    | see              | the weight                                  | a run of the index found it again              |
    | set              |                                             | is `after` from here on: a merge, an import    |
    | end              |                                             | holds no more: another fact took its place     |
    """

    relation: Annotated[int, c.LINK.but(found_by="fact", refers="relation")]
    act: Annotated[Act, c.choice(*ACTS)]
    at: Annotated[int, c.MOMENT.but(remedy=f.drop)]
    rate: Annotated[float, c.SHARE] = 1.0
    value: Annotated[float | None, c.MAYBE_SHARE.but(remedy=f.drop)] = None
    explicit: Annotated[bool, c.FLAG.but(remedy=f.drop, default=None)] = False
    valid_at: Annotated[int | None, c.MAYBE_MOMENT] = None
    origin: Annotated[int | None, c.MAYBE_LINK] = None
    memory: Annotated[int | None, c.MAYBE_LINK] = None
    """The memory that said it."""
    before: Annotated[FactState | None, _STATE] = None
    after: Annotated[FactState | None, _STATE] = None
    key: Annotated[int, c.KEY] = 0
    trash: Annotated[int | None, c.TRASH] = None
    """The receipt of what took it back."""


def step(state: FactState | None, act: Contribution) -> FactState | None:
    """Return the state of a fact after an act; None while there is no fact."""
    if state is None:
        return act.after if act.act == "set" else _made(act)
    match act.act:
        case "end":
            return state._replace(invalid_at=act.at)
        case "set":
            return _set(state, act)
        case "see":
            return state._replace(weight=act.value, last_seen=max(state.last_seen, act.at))
    return _strengthened(state, act)


def outcome(act: Contribution) -> FactState:
    """Return the state of a fact after an act that is done to it now."""
    after = step(act.before, act)
    assert after is not None, "who contributes to nothing states it"
    return after


def _set(state: FactState, act: Contribution) -> FactState:
    """Its strength is another from here on. An import may know it for longer; a merge has only its own date."""
    if (after := act.after) is None:
        return state
    strength = {name: getattr(after, name) for name in ("weight", "last_seen", "evidence", "explicit")}
    known_since = state.created_at if after.created_at == act.at else min(state.created_at, after.created_at)
    return state._replace(**strength, created_at=known_since)


def _made(act: Contribution) -> FactState | None:
    """Only what states a fact makes it; a text that mentions one that nobody stated says nothing."""
    if act.act not in ("state", "mention", "see") or (act.act == "mention" and act.value is None):
        return None
    weight = 1.0 if act.value is None else act.value
    valid = act.at if act.valid_at is None else act.valid_at
    return FactState(weight, act.at, 1, act.explicit, act.at, valid)


def _strengthened(state: FactState, act: Contribution) -> FactState:
    base = 1.0 if state.weight is None else state.weight
    days = age_days(from_micros(state.last_seen), from_micros(act.at))
    amount = act.value or 0.0
    match act.act:
        case "confirm":
            weight = confirmed(base, act.rate, days, amount)
        case "correct":
            weight = corrected(base, act.rate, days, amount)
        case _:
            weight = restated(base, act.rate, days, act.value if act.act == "state" else None)
    seen = state.last_seen if act.act == "correct" else max(state.last_seen, act.at)
    return state._replace(
        weight=weight,
        last_seen=seen,
        evidence=state.evidence + 1,
        explicit=state.explicit or act.explicit,
        invalid_at=None,  # who states it says that it holds
    )


def state_of(
    acts: Iterable[Contribution], without: Collection[int] = (), *, made_by_others: bool = True
) -> FactState | None:
    """Return the state of a fact by its acts, in order, except retracted ones and those in `without`.

    `made_by_others`: what it was before its first act counts; it may be what goes.
    """
    state: FactState | None = None
    for place, act in enumerate(sorted(acts, key=lambda act: act.key)):
        if place == 0 and made_by_others:
            state = act.before
        if act.trash is None and act.key not in without:
            state = step(state, act)
    return state


def strength_set(relation: int, at: int, strength: Strength) -> Contribution:
    """Somebody who is no origin, such as a merge, gave a fact another strength."""
    weight, last_seen, evidence, explicit = strength
    after = FactState(weight, last_seen, evidence, bool(explicit), created_at=at, valid_at=at)
    return Contribution(relation, "set", at, after=after)


class Speaker(NamedTuple):
    """The speaker of an act: the memory that it is in, its origin, the time, and the rate at which facts fade."""

    memory: int
    origin: int | None
    at: int
    rate: float

    def act(self, act: Act, relation: int, before: FactState | None) -> Contribution:
        return Contribution(relation, act, self.at, self.rate, origin=self.origin, memory=self.memory, before=before)


# The law of who keeps a relation: what becomes of one that a memory states no more. Pure.


def stands_alone(explicit: bool, evidence: int, statements: int) -> bool:
    """Return whether somebody stated it by itself, not only with memories (but for files), each of which counts once.

    Those in the trash count as well: the evidence still has theirs.
    """
    return explicit and evidence > statements


class Unstated(NamedTuple):
    """A relation, and who states it still: the receipts that hold them, or nothing for a live memory."""

    relation: int
    explicit: bool
    trash: int | None
    """The receipt that holds the relation itself, if it is not live."""
    holders: tuple[int | None, ...] = ()


Fate = Literal["free", "stay"] | int
"""A number is the receipt that it goes to."""


def fate_of(each: Unstated) -> Fate:
    """It stays with a live memory, goes along with those in the trash, and ends with the last one that stated it."""
    if each.explicit or None in each.holders:
        return "stay"
    receipts = [holder for holder in each.holders if holder is not None]
    if not receipts:
        return "free"
    return max(receipts) if each.trash is None else "stay"


def settled(relations: Iterable[Unstated]) -> tuple[set[int], dict[int, int]]:
    """Relations that end, and those that go to the trash, with their receipts."""
    fates = {each.relation: fate_of(each) for each in relations}
    moved = {key: fate for key, fate in fates.items() if isinstance(fate, int)}
    return {key for key, fate in fates.items() if fate == "free"}, moved
