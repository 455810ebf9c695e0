"""The laws of a plan, for any window and any budget: each gives the sentences of what it breaks."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memsweep.context import ContextSegment, Focus, GCEngine, PruningPlan, Roots
from memsweep.context.beside import companions
from memsweep.context.references import read_references
from memsweep.context.supersede import Replacement, find_replacements
from tests.context.build import NOW

ENGINE = GCEngine()


@dataclass(frozen=True)
class Planned:
    """A window, a budget, and what the engine would do."""

    segments: Sequence[ContextSegment]
    focus: Focus
    budget: int

    @cached_property
    def plan(self) -> PruningPlan:
        return ENGINE.fit(self.segments, self.budget, now=NOW, focus=self.focus)

    @cached_property
    def roots(self) -> Roots:
        return ENGINE.analyze(self.segments, now=NOW, focus=self.focus, budget=self.budget).roots

    @cached_property
    def tokens(self) -> dict[str, int]:
        return {each.segment_id: each.tokens for each in self.segments}

    @cached_property
    def kept(self) -> set[str]:
        return self.tokens.keys() - self.plan.segment_ids

    @property
    def kept_tokens(self) -> int:
        return sum(self.tokens[own] for own in self.kept)

    @cached_property
    def replaced(self) -> dict[str, Replacement]:
        return find_replacements(self.segments)

    @cached_property
    def beside(self) -> dict[str, tuple[str, ...]]:
        return companions(self.segments, self.replaced)[0]

    def with_companions(self, own: str) -> set[str]:
        """A segment with everything that must stay beside it."""
        found, waiting = {own}, [own]
        while waiting:
            fresh = set(self.beside.get(waiting.pop(), ())) - found
            found |= fresh
            waiting += fresh
        return found


def what_fits_is_spared(planned: Planned) -> Iterator[str]:
    for own in planned.plan.segment_ids:
        back = planned.kept | planned.with_companions(own)
        if sum(planned.tokens[each] for each in back) <= planned.budget:
            yield f"{own} could be put back at budget {planned.budget}"


def the_budget_is_met_or_only_hard_roots_are_left(planned: Planned) -> Iterator[str]:
    over = planned.kept_tokens - planned.budget
    if planned.plan.shortfall != max(0, over):
        yield f"a shortfall of {planned.plan.shortfall} where {max(0, over)} tokens are too many"
    soft = [own for own in planned.kept if planned.tokens[own] and own not in planned.roots.hard]
    if over > 0 and soft:
        yield f"over the budget, and {soft[0]} stays"


def hard_roots_stay(planned: Planned) -> Iterator[str]:
    yield from (f"{own} is a hard root and goes" for own in planned.plan.segment_ids & planned.roots.hard.keys())


def the_fresh_outlives_the_stale(planned: Planned) -> Iterator[str]:
    for old, replacement in planned.replaced.items():
        needs = replacement.by in planned.beside.get(old, ())
        if needs and old in planned.kept - planned.roots.ids and replacement.by not in planned.kept:
            yield f"{old} stays while {replacement.by}, which replaced it, goes"


def the_newest_read_stays_where_an_older_one_does(planned: Planned) -> Iterator[str]:
    yield from stale_reads(planned.segments, planned.kept - planned.roots.ids, planned.plan.segment_ids)


def stale_reads(segments: Sequence[ContextSegment], older: Collection[str], gone: Collection[str]) -> Iterator[str]:
    """Older reads that stay where the newest read of the same lines goes; segments in session order."""
    reads = [each for each in segments if each.file_path is not None and each.role == "tool"]
    for place, old in enumerate(reads):
        newer = [each for each in reads[place + 1 :] if _holds(each, old)]
        if old.segment_id in older and newer and newer[-1].segment_id in gone:
            yield f"{old.segment_id} stays while {newer[-1].segment_id}, which read the same lines later, goes"


def _holds(new: ContextSegment, old: ContextSegment) -> bool:
    if new.file_path != old.file_path or new.line_range is None or old.line_range is None:
        return new.file_path == old.file_path and new.line_range is None
    return new.line_range[0] <= old.line_range[0] and old.line_range[1] <= new.line_range[1]


def a_result_stays_with_its_call(planned: Planned) -> Iterator[str]:
    for own in planned.kept - planned.roots.ids:
        gone = [call for call in planned.beside.get(own, ()) if call not in planned.kept]
        if gone:
            yield f"{own} stays without {gone[0]}"


def reachable_comes_first(planned: Planned) -> Iterator[str]:
    links = read_references(planned.segments).forward
    reachable = ENGINE.compute_reachability(planned.roots.ids, links)
    for own in planned.plan.segment_ids & reachable:
        stays = (planned.kept & (reachable | planned.roots.ids)) | planned.with_companions(own)
        led = ENGINE.compute_reachability(planned.roots.ids, {**links, **_joined(links, planned.beside)})
        stays |= planned.kept & led
        if sum(planned.tokens[each] for each in stays) <= planned.budget:
            yield f"{own} is reachable and goes, though it fits beside what is reachable"


def _joined(one: dict[str, tuple[str, ...]], other: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {own: (*one.get(own, ()), *more) for own, more in other.items()}


def the_users_first_and_last_words_stay_while_they_fit(planned: Planned) -> Iterator[str]:
    said = [each for each in planned.segments if each.role == "user" and each.type == "message"]
    said = [each for each in said if each.segment_id not in planned.roots.hard]
    room = planned.budget - sum(planned.tokens[own] for own in planned.roots.hard)
    if not said or not planned.focus.last_n:
        return
    if said[0].tokens <= room and said[0].segment_id not in planned.kept:
        yield f"{said[0].segment_id}, the first user message, fits and goes"
    both = said[0].tokens + said[-1].tokens
    if both <= room and said[-1].segment_id not in planned.kept:
        yield f"{said[-1].segment_id}, the last user message, fits and goes"


def nobody_is_called_unreachable_who_is_a_soft_root(planned: Planned) -> Iterator[str]:
    messages = [each.segment_id for each in planned.segments if each.type == "message"]
    last = set(messages[-planned.focus.last_n :]) if planned.focus.last_n else set()
    for candidate in planned.plan.candidates:
        if candidate.segment_id in last and "no root leads to it" in candidate.reasons:
            yield f"{candidate.segment_id} is one of the last messages, and no root leads to it"
        if candidate.segment_id in last and not any(
            "gave way" in reason or candidate.segment_id in planned.replaced for reason in candidate.reasons
        ):
            yield f"{candidate.segment_id} is one of the last messages and does not say that it gave way"


def what_gave_way_is_the_oldest(planned: Planned) -> Iterator[str]:
    """But for what is larger than all the room of soft roots by itself."""
    places = {each.segment_id: place for place, each in enumerate(planned.segments)}
    oldest = min((places[own] for own in planned.roots.soft), default=len(places))
    hard, ends = (sum(planned.tokens[own] for own in each) for each in (planned.roots.hard, planned.roots.ends))
    room = min(int(planned.budget * ENGINE.weights.soft_share), planned.budget - hard) - ends
    for own, reason in planned.roots.released.items():
        if reason and places[own] > oldest and planned.tokens[own] <= room:
            yield f"{own} gave way, though an older one stays as a root"


LAWS: tuple[Callable[[Planned], Iterator[str]], ...] = (
    what_fits_is_spared,
    the_budget_is_met_or_only_hard_roots_are_left,
    hard_roots_stay,
    the_fresh_outlives_the_stale,
    the_newest_read_stays_where_an_older_one_does,
    a_result_stays_with_its_call,
    reachable_comes_first,
    the_users_first_and_last_words_stay_while_they_fit,
    nobody_is_called_unreachable_who_is_a_soft_root,
    what_gave_way_is_the_oldest,
)


def broken(planned: Planned) -> list[str]:
    return [f"{law.__name__}: {said}" for law in LAWS for said in law(planned)]


def keeps_fewer(segments: Sequence[ContextSegment], focus: Focus, budgets: Sequence[int]) -> list[str]:
    """Where a higher budget keeps fewer tokens than a lower one; budgets ascend."""
    kept = [Planned(segments, focus, budget).kept_tokens for budget in budgets]
    return [
        f"budget {high} keeps {after} tokens, {low} keeps {before}"
        for (low, before), (high, after) in zip(
            zip(budgets, kept, strict=True), list(zip(budgets, kept, strict=True))[1:], strict=False
        )
        if after < before
    ]
