"""Is there an order that explains every answer? A search over the orders that time allows.

Each process does one thing after the other. What ended before something else began comes before it; apart from that
any order is tried. What a killed process had begun may have been done, at any time since, or not at all. Pure.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

State = TypeVar("State", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Call:
    """Something that a process did; `end` is None if nobody heard the answer."""

    name: str
    arguments: tuple[Any, ...]
    begin: int
    end: int | None = None
    answer: Any = None

    @property
    def pending(self) -> bool:
        return self.end is None


Step = Callable[[State, Call], Iterable[State]]
"""The states that a call may lead to from a state with the answer that it had; none if it cannot have had it."""


def explains(
    processes: Sequence[Sequence[Call]], first: State, step: Step[State], ends: Callable[[State], bool]
) -> bool:
    """Whether some order of the calls leads from the first state to one that `ends` accepts."""
    seen: set[tuple[tuple[int, ...], State]] = set()
    stack: list[tuple[tuple[int, ...], State]] = [((0,) * len(processes), first)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        places, state = node
        left = [calls[place] for calls, place in zip(processes, places, strict=True) if place < len(calls)]
        if all(call.pending for call in left) and ends(state):
            return True
        soonest = min((call.end for call in left if call.end is not None), default=None)
        for number, calls in enumerate(processes):
            if places[number] == len(calls):
                continue
            call = calls[places[number]]
            if soonest is not None and call.begin > soonest:
                continue  # something else had ended before this began
            further = (*places[:number], places[number] + 1, *places[number + 1 :])
            stack += [(further, after) for after in step(state, call)]
    return False
