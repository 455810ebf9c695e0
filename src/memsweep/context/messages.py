"""Sweep a message list to a budget: the same kind of list comes back, still valid for its provider."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate, pairwise
from typing import Any

from memsweep.context.beside import settled
from memsweep.context.engine import GCEngine
from memsweep.context.forms import (
    Form,
    MessagePiece,
    Turn,
    detect_form,
    merge_same_roles,
    read_turn,
    without_empty_texts,
)
from memsweep.context.plan import plan_to_free
from memsweep.context.references import place_in_file
from memsweep.context.roots import Focus
from memsweep.errors import BadInput
from memsweep.model.segment import ContextSegment, PruningCandidate, Role
from memsweep.model.text import counted
from memsweep.model.tokens import CountTokens, counter_name, estimate_tokens

CANNOT_OPEN = "a list cannot open with it"
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
    soft: bool = False
    tokens: int = 0
    keep_score: float = 1.0
    reason: str = "least worth its tokens"
    beside: set[int] = field(default_factory=set)
    """The numbers of the units that must stay where this one does: they hold a newer read of the same file."""


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

    So do the first and the last message of the user while they fit. `pinned` are places in the list. What went is in
    `.stash`, the why in `.reasons`. The result is over the budget only where the messages that must stay are, and
    `.note` says so. A list that may be OpenAI's as well as Anthropic's comes back valid for both.
    """
    if budget < 0:
        raise BadInput("A budget cannot be negative.")
    turns = [read_turn(message) for message in messages]
    costs = [count(turn.text) + turn.media_tokens for turn in turns]
    seen = form or detect_form(messages)
    units, reasons = _units(turns)
    pins = frozenset(pinned)
    for unit in units:
        unit.fixed = unit.role == "system" or unit is units[-1] or not pins.isdisjoint(unit.places)
        unit.tokens = sum(costs[place] for place in unit.places)
    _keep_ends(units, budget)
    # OpenAI alone takes a list that begins with its assistant; one that merely looks like OpenAI's may go elsewhere.
    loose = seen == "openai" and (form is not None or next((t.role for t in turns if t.role != "system"), "") != "user")
    gone = headless = set() if loose else _keep_opener(units, budget)
    if sum(unit.tokens for number, unit in enumerate(units) if number not in gone) > budget:
        _judge(units, turns, costs, Focus(last_n=last_n), budget, engine or GCEngine())
        gone = headless | _choose(units, headless, budget)
    for number in headless:
        units[number].reason = CANNOT_OPEN
    reasons |= {place: units[number].reason for number in gone for place in units[number].places}
    kept = [message for place, message in enumerate(messages) if place not in reasons]
    if seen in ("anthropic", None):
        kept = list(map(without_empty_texts, kept))
        alternating = seen or all(one.role != other.role for one, other in pairwise(turns))
        kept = merge_same_roles(kept) if reasons and alternating else kept
    after = sum(cost for place, cost in enumerate(costs) if place not in reasons)
    return Swept(
        messages=kept,
        stash=[messages[place] for place in sorted(reasons)],
        reasons=dict(sorted(reasons.items())),
        tokens_before=sum(costs),
        tokens_after=after,
        shortfall=max(0, after - budget),
        note=f"What must stay takes {after} of {counted(budget, 'token')} by itself." if after > budget else "",
        counted_by=counter_name(count),
    )


def _units(turns: Sequence[Turn]) -> tuple[list[_Unit], dict[int, str]]:
    """Group calls with their results; a call or a result without the other half, and what is empty, can only go.

    A last call that still waits for its results is left alone: they are about to come.
    """
    units: list[_Unit] = []
    waiting: dict[str, _Unit] = {}
    broken: dict[int, str] = {}
    for place, turn in enumerate(turns):
        if turn.is_empty:
            broken[place] = "it says nothing"
        elif not turn.answers:
            unit = _Unit(turn.role, [place], set(turn.calls))
            units.append(unit)
            waiting = dict.fromkeys(turn.calls, unit)
        elif turn.answers <= waiting.keys():
            unit = waiting[next(iter(turn.answers))]
            unit.places.append(place)
            unit.pending -= turn.answers
            waiting = dict.fromkeys(unit.pending, unit)
        else:
            broken[place] = "its call is not in the list"
    for unit in units[:-1]:
        if unit.pending:
            broken |= dict.fromkeys(unit.places, "its results are not in the list")
    return [unit for unit in units if unit.places[0] not in broken], broken


def _keep_ends(units: Sequence[_Unit], budget: int) -> None:
    """The last and the first message of the user stay while they fit."""
    said = [unit for unit in units if unit.role == "user"]
    for unit in (*said[-1:], *said[:1]):
        if not unit.fixed and _fixed_tokens(units) + unit.tokens <= budget:
            unit.fixed = True


def _keep_opener(units: Sequence[_Unit], budget: int) -> set[int]:
    """Keep a message of the user that can open the list; the numbers of what cannot stay before it.

    It is the first that fits, so no earlier one could stay. Before a message that is fixed, one has to stay.
    """
    spoken = [number for number, unit in enumerate(units) if unit.role != "system"]
    fixed = next((number for number in spoken if units[number].fixed), len(units))
    openers = [number for number in spoken if units[number].role == "user" and number <= fixed]
    spare = budget - _fixed_tokens(units)
    fitting = (number for number in openers if units[number].fixed or units[number].tokens <= spare)
    opener = next(fitting, None)
    if opener is None and openers:
        opener = min(openers, key=lambda number: units[number].tokens)
    if opener is None:
        return set()
    units[opener].fixed = True
    return {number for number in spoken if number < opener and units[number].role != "user"}


def _fixed_tokens(units: Sequence[_Unit]) -> int:
    return sum(unit.tokens for unit in units if unit.fixed)


def _judge(
    units: Sequence[_Unit],
    turns: Sequence[Turn],
    costs: Sequence[int],
    focus: Focus,
    budget: int,
    engine: GCEngine,
) -> None:
    """Score every unit, and find what must stay beside it and which ones are the last that the budget has room for."""
    segments: list[ContextSegment] = []
    unit_of: dict[str, int] = {}
    calls: dict[str, tuple[str, MessagePiece]] = {}
    for number, unit in enumerate(units):
        for place in unit.places:
            for segment in _segments(place, turns[place], costs[place], unit, calls):
                segments.append(segment)
                unit_of[segment.segment_id] = number
    seen = engine.analyze(segments, now=_TIMELESS, focus=focus, budget=budget)
    judged: dict[int, list[PruningCandidate]] = {}
    for candidate in seen.candidates:
        judged.setdefault(unit_of[candidate.segment_id], []).append(candidate)
    for number, mine in judged.items():
        unit, weight = units[number], sum(candidate.tokens + 1 for candidate in mine)
        unit.keep_score = sum(c.keep_score * (c.tokens + 1) for c in mine) / weight
        unit.reason = mine[0].reasons[0]
        unit.beside = {unit_of[own] for candidate in mine for own in candidate.beside} - {number}
    for own in seen.roots.soft:
        units[unit_of[own]].soft = True


def _segments(
    place: int, turn: Turn, tokens: int, unit: _Unit, calls: dict[str, tuple[str, MessagePiece]]
) -> Iterator[ContextSegment]:
    """A message as segments, one for each call and each result in it; every result is linked to its own call."""
    shares = _shares(tokens, turn.pieces)
    for number, piece in enumerate(turn.pieces):
        own = str(place) if number == 0 else f"{place}#{number + 1}"
        if piece.makes is not None:
            calls[piece.makes] = own, piece
        answered = calls.get(piece.answers) if piece.answers is not None else None
        read = place_in_file(answered[1].name, answered[1].inputs) if answered else {}
        yield ContextSegment(
            segment_id=own,
            text=piece.text,
            type="log" if turn.role == "tool" else "message",
            created_at=_TIMELESS,
            last_touched_at=_TIMELESS,
            pinned=unit.fixed,
            tokens=shares[number],
            role=turn.role,
            references=(answered[0],) if answered else (),
            file_path=read.get("file_path"),
            line_range=tuple(read["line_range"]) if "line_range" in read else None,
        )


def _shares(tokens: int, pieces: Sequence[MessagePiece]) -> list[int]:
    """Return the cost of each piece of a message, by its length; the last one has what is left."""
    ends = list(accumulate(len(piece.text) + 4 * piece.media_tokens for piece in pieces))
    upto = [0, *(tokens * end // max(1, ends[-1]) for end in ends[:-1]), tokens]
    return [end - begin for begin, end in pairwise(upto)]


def _choose(units: Sequence[_Unit], gone: Collection[int], budget: int) -> set[int]:
    """The numbers of the units that go; the last messages go only after all others."""
    staying = [(number, unit) for number, unit in enumerate(units) if not unit.fixed and number not in gone]
    soft = {number: unit.soft for number, unit in staying}
    for number, unit in reversed(staying):
        # What must stay beside it is later in the list, and not worth less than it is.
        soft[number] &= all(soft.get(other, True) for other in unit.beside)
    candidates = [
        PruningCandidate(
            segment_id=str(number),
            type="message",
            tokens=unit.tokens,
            keep_score=unit.keep_score,
            reachable=soft[number],
            reasons=(unit.reason,),
            beside=tuple(map(str, unit.beside)),
        )
        for number, unit in staying
    ]
    present = sum(unit.tokens for number, unit in enumerate(units) if number not in gone)
    plan = plan_to_free(settled(candidates, ()), max(0, present - budget))
    return {int(candidate.segment_id) for candidate in plan.candidates}
