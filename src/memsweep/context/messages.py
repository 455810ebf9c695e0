"""Sweep a message list to a budget: the same kind of list comes back, still valid for its provider."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from memsweep.context.engine import GCEngine
from memsweep.context.forms import Form, Turn, detect_form, merge_same_roles, read_turn
from memsweep.context.plan import plan_to_free
from memsweep.context.roots import Focus
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment, PruningCandidate, Role
from memsweep.model.tokens import CountTokens, counter_name, estimate_tokens

_TIMELESS = datetime(2000, 1, 1, tzinfo=UTC)
"""Messages carry no times, so all of them are equally recent."""


@dataclass(frozen=True, slots=True)
class Swept:
    """The list that fits, what was taken out of it, and why; `reasons` go by place in the given list."""

    messages: list[Any]
    stash: list[Any]
    reasons: dict[int, str]
    tokens_before: int
    tokens_after: int
    shortfall: int
    note: str
    counted_by: str


@dataclass(slots=True)
class _Unit:
    """Messages that go or stay together: a call with its results, or one message."""

    role: Role
    places: list[int]
    pending: set[str] = field(default_factory=set)
    fixed: bool = False
    tokens: int = 0
    keep_score: float = 1.0
    reason: str = "least worth its tokens"


def sweep_messages(
    messages: Sequence[Any],
    budget: int,
    *,
    pinned: Collection[int] = (),
    last_n: int = 10,
    count: CountTokens = estimate_tokens,
    form: Form | None = None,
    engine: GCEngine | None = None,
) -> Swept:
    """Keep what will be needed within `budget` tokens; system messages, pins and the last turn always stay.

    `pinned` are places in the list. What went is in `.stash`, the why in `.reasons`. The result is over the
    budget only where the messages that must stay are, and `.note` says so.
    """
    if budget < 0:
        raise BadInput("A budget cannot be negative.")
    turns = [read_turn(message) for message in messages]
    costs = [count(turn.text) + turn.media_tokens for turn in turns]
    units, reasons = _units(turns)
    for unit in units:
        unit.fixed = unit.role == "system" or unit is units[-1] or not set(pinned).isdisjoint(unit.places)
        unit.tokens = sum(costs[place] for place in unit.places)
    soft = _judge(units, turns, costs, Focus(last_n=last_n), budget, engine or GCEngine())
    gone = _choose(units, soft, budget)
    form = form or detect_form(messages)
    if form == "anthropic":
        _open_with_user(units, gone, budget)
    reasons |= {place: units[number].reason for number in gone for place in units[number].places}
    kept = [message for place, message in enumerate(messages) if place not in reasons]
    after = sum(cost for place, cost in enumerate(costs) if place not in reasons)
    return Swept(
        messages=merge_same_roles(kept) if form == "anthropic" and reasons else kept,
        stash=[messages[place] for place in sorted(reasons)],
        reasons=dict(sorted(reasons.items())),
        tokens_before=sum(costs),
        tokens_after=after,
        shortfall=max(0, after - budget),
        note=f"What must stay takes {after} of {budget} tokens by itself." if after > budget else "",
        counted_by=counter_name(count),
    )


def _units(turns: Sequence[Turn]) -> tuple[list[_Unit], dict[int, str]]:
    """Group calls with their results; a call or a result without the other half can only go.

    A last call that still waits for its results is left alone: they are about to come.
    """
    units: list[_Unit] = []
    waiting: dict[str, _Unit] = {}
    broken: dict[int, str] = {}
    for place, turn in enumerate(turns):
        if not turn.answers:
            unit = _Unit(turn.role, [place], set(turn.calls))
            units.append(unit)
            waiting = dict.fromkeys(turn.calls, unit)
        elif turn.answers <= waiting.keys():
            unit = waiting[next(iter(turn.answers))]
            unit.places.append(place)
            unit.pending -= turn.answers
        else:
            broken[place] = "its call is not in the list"
    for unit in units[:-1]:
        if unit.pending:
            broken |= dict.fromkeys(unit.places, "its results are not in the list")
    return [unit for unit in units if unit.places[0] not in broken], broken


def _judge(
    units: Sequence[_Unit],
    turns: Sequence[Turn],
    costs: Sequence[int],
    focus: Focus,
    budget: int,
    engine: GCEngine,
) -> set[int]:
    """Score every unit; returns the places of the last messages that the budget has room for."""
    segments = [_segment(place, turns[place], costs[place], unit) for unit in units for place in unit.places]
    seen = engine.analyze(segments, now=_TIMELESS, focus=focus, budget=budget)
    judged = {candidate.segment_id: candidate for candidate in seen.candidates}
    for unit in units:
        mine = [judged[str(place)] for place in unit.places if str(place) in judged]
        if mine:
            weight = sum(candidate.tokens + 1 for candidate in mine)
            unit.keep_score = sum(c.keep_score * (c.tokens + 1) for c in mine) / weight
            unit.reason = mine[-1].reasons[0]
    return {int(own) for own in seen.roots.soft}


def _segment(place: int, turn: Turn, tokens: int, unit: _Unit) -> ContextSegment:
    return ContextSegment(
        segment_id=str(place),
        text=turn.text,
        type="log" if turn.role == "tool" else "message",
        created_at=_TIMELESS,
        last_touched_at=_TIMELESS,
        pinned=unit.fixed,
        tokens=tokens,
        role=turn.role,
        references=(str(unit.places[0]),) if unit.places[0] != place else (),
    )


def _choose(units: Sequence[_Unit], soft: Set[int], budget: int) -> set[int]:
    """The numbers of the units that go; the last messages go only after all others."""
    candidates = [
        PruningCandidate(
            segment_id=str(number),
            type="message",
            tokens=unit.tokens,
            keep_score=unit.keep_score,
            reachable=not soft.isdisjoint(unit.places),
            reasons=(unit.reason,),
        )
        for number, unit in enumerate(units)
        if not unit.fixed
    ]
    plan = plan_to_free(candidates, max(0, sum(unit.tokens for unit in units) - budget))
    return {int(candidate.segment_id) for candidate in plan.candidates}


def _open_with_user(units: Sequence[_Unit], gone: set[int], budget: int) -> None:
    """Where a list must open with a user message, let the cheapest back in, or let go what stands before one."""
    opener: int | None = None
    spare = budget - sum(unit.tokens for number, unit in enumerate(units) if number not in gone)
    for number, unit in enumerate(units):
        if unit.role == "user" and number in gone:
            if opener is None or unit.tokens < units[opener].tokens:
                opener = number
        elif unit.role == "user":
            return
        elif unit.role != "system" and number not in gone:
            if opener is not None and (unit.fixed or units[opener].tokens <= spare):
                gone.discard(opener)
                _make_room(units, gone, opener, budget)
                return
            if unit.fixed:
                return
            gone.add(number)
            unit.reason = "a list cannot open with it"
            spare += unit.tokens


def _make_room(units: Sequence[_Unit], gone: set[int], opener: int, budget: int) -> None:
    """Let the least worth go until the opener fits too."""
    kept = [number for number in range(len(units)) if number not in gone]
    excess = sum(units[number].tokens for number in kept) - budget
    for number in sorted(kept, key=lambda number: units[number].keep_score):
        if excess > 0 and number != opener and not units[number].fixed:
            gone.add(number)
            excess -= units[number].tokens
