"""Contributions to facts as they are made: stated, confirmed, corrected, ended. Pure."""

from __future__ import annotations

from memsweep.model.contribution import Contribution, FactState
from memsweep.model.decay import CONFIRM_GAIN, CORRECT_LOSS, age_days, faded
from memsweep.model.graph import Reinforced, Reinforcement, RelationDraft
from memsweep.model.times import from_micros, micros_or_none, to_micros


def stating(
    relation: int,
    draft: RelationDraft,
    rate: float,
    at: int,
    before: FactState | None,
    origin: int | None,
    memory: int | None,
) -> Contribution:
    """A fact is stated by itself, or read in a text."""
    return Contribution(
        relation=relation,
        act="mention" if draft.mention else "state",
        at=at,
        rate=rate,
        value=draft.weight,
        explicit=not draft.source,
        valid_at=micros_or_none(draft.valid_at),
        origin=origin,
        memory=memory,
        before=before,
    )


def reinforcing(relation: int, asked: Reinforcement, before: FactState, origin: int | None) -> Contribution:
    """A known fact is confirmed or corrected."""
    usual = CONFIRM_GAIN if asked.kind == "confirm" else CORRECT_LOSS
    act = Contribution(relation, asked.kind, to_micros(asked.now), asked.rate, origin=origin, before=before)
    return act._replace(value=usual if asked.amount is None else asked.amount, explicit=True)


def reinforced(uid: str, act: Contribution, after: FactState) -> Reinforced:
    """Return the weight of a fact before and after an act, at that moment."""
    assert act.before is not None, "only a known fact is reinforced"
    now = from_micros(act.at)
    counts = [
        faded(1.0 if state.weight is None else state.weight, act.rate, age_days(from_micros(state.last_seen), now))
        for state in (act.before, after)
    ]
    return Reinforced(uid, *counts)


def ending(relation: int, at: int, before: FactState, origin: int | None) -> Contribution:
    """A fact holds no more, because another took its place."""
    return Contribution(relation, "end", at, origin=origin, before=before)
