"""The steps inside an open context window: collect, prune, compress. The same for one on disk and one in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from memsweep.context import choosing
from memsweep.context.beside import bound_by
from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.plan import PruningPlan, plan_to_free
from memsweep.context.policy import Policy
from memsweep.context.reading import Lexicon
from memsweep.context.references import WeakLinks
from memsweep.context.step import choose_batch, due, judge_few, next_full, survived, to_examine
from memsweep.context.supersede import is_output
from memsweep.errors import BadInput, Conflict, Unconfirmed
from memsweep.model.plan import PlanItem
from memsweep.model.segment import ContextSegment, Generation, PruningCandidate
from memsweep.model.text import excerpt
from memsweep.model.window import Gone, StoredSegment, WindowState

Strategy = Literal["auto", "stash", "delete"]
STRATEGIES: tuple[Strategy, ...] = ("auto", "stash", "delete")


class OpenSegments(choosing.KnownSegments, Protocol):
    """An open window for the steps. Lists are in session order."""

    @property
    def state(self) -> WindowState: ...

    def active(self) -> list[StoredSegment]: ...

    def next_to_examine(self, count: int, generation: Generation) -> list[StoredSegment]:
        """Active segments of a generation in turn, so that small steps come round to everything."""

    def of_files(self, paths: Iterable[str]) -> list[StoredSegment]:
        """Active segments that hold these files or parts of them."""

    def last_messages(self, count: int) -> set[str]: ...

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        """Return those of these that another active segment refers to."""

    def add(self, segments: Iterable[ContextSegment]) -> None: ...

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        """Generation and survival count, by key."""


@dataclass(frozen=True, slots=True)
class WindowJudge:
    """The judge of who stays: engine, limits, focus, time; and, if it is kept, the words of the whole session."""

    engine: GCEngine
    policy: Policy
    now: datetime
    lexicon: Lexicon | None = None
    weak: WeakLinks | None = None


@dataclass(frozen=True, slots=True)
class Leaving:
    """Segments on their way out, with the reasons of each."""

    stash: Sequence[tuple[StoredSegment, tuple[str, ...]]] = ()
    delete: Sequence[tuple[StoredSegment, tuple[str, ...]]] = ()

    def __bool__(self) -> bool:
        return bool(self.stash or self.delete)


@dataclass(frozen=True, slots=True)
class Left:
    """The segments that left the window."""

    stashed: tuple[Gone, ...] = ()
    deleted: tuple[Gone, ...] = ()
    receipt_id: str | None = None


TakeOut = Callable[[Leaving, str], Left]
"""Moves what leaves, and notes why in its own way."""


def analyze(window: OpenSegments, judge: WindowJudge, budget: int | None) -> tuple[Analysis, dict[str, StoredSegment]]:
    """Return what could go and why, with the rows behind it."""
    active = {held.segment.segment_id: held for held in window.active()}
    segments = [held.segment for held in active.values()]
    focus = judge.policy.focus
    return judge.engine.analyze(segments, now=judge.now, focus=focus, budget=budget, lexicon=judge.lexicon), active


def fit(
    window: OpenSegments, judge: WindowJudge, budget: int, *, minor: bool = False
) -> tuple[PruningPlan, dict[str, StoredSegment], int]:
    """The plan after which the window fits the budget, the rows behind it, and the tokens before it."""
    if budget < 0:
        raise BadInput("A budget cannot be negative.")
    seen, active = analyze(window, judge, budget)
    looked_at = _young(seen.candidates, active) if minor else seen.candidates
    return plan_to_free(looked_at, max(0, seen.tokens - budget)), active, seen.tokens


def collect(
    window: OpenSegments, judge: WindowJudge, budget: int, take_out: TakeOut, why: str, *, minor: bool = False
) -> tuple[PruningPlan, Left]:
    """Stash what does not fit the budget; the rest grows older. A minor collection looks at the young only."""
    plan, active, _ = fit(window, judge, budget, minor=minor)
    left = take_out(_stashing(plan.candidates, active), why)
    stayed = [held for own, held in active.items() if own not in plan.segment_ids]
    age_survivors(window, judge.policy, [held for held in stayed if not minor or _is_young(held)])
    return plan, left


def collect_if_due(window: OpenSegments, judge: WindowJudge, new: int, take_out: TakeOut) -> Left:
    """The automatic part, after so many new segments: full near the hard limit, else a small step now and then."""
    limits, state = judge.policy.limits, window.state
    match due(limits, state.tokens, state.changes, new, state.full_from):
        case "full":
            _, left = collect(window, judge, limits.soft_tokens, take_out, "automatic: near the hard limit")
            state.full_from = next_full(limits, state.tokens)
            return left
        case "step":
            return _small_step(window, judge, take_out)
    return Left()


def age_survivors(window: OpenSegments, policy: Policy, held: Iterable[StoredSegment]) -> None:
    window.age((each.key, survived(each.segment, policy.limits)) for each in held)


def choose(
    window: OpenSegments,
    policy: Policy,
    segment_ids: Iterable[str],
    strategy: str,
    *,
    confirm: bool,
    planned: Mapping[str, PlanItem] | None = None,
) -> tuple[Leaving, dict[str, str]]:
    """Return where each of these goes, and the reasons of those that may not.

    `auto` stashes, but for what the plan would delete, if that is confirmed.
    """
    ids, planned = list(dict.fromkeys(segment_ids)), planned or {}
    found = window.find(ids)
    refused = choosing.refusals(window, policy, ids, found, planned, to_stash=strategy != "delete")
    stash: list[tuple[StoredSegment, tuple[str, ...]]] = []
    delete: list[tuple[StoredSegment, tuple[str, ...]]] = []
    for own in (own for own in ids if own not in refused):
        action, reasons = choosing.verdict(planned.get(own))
        gone = strategy == "delete" or (strategy == "auto" and confirm is True and action == "delete")
        (delete if gone else stash).append((found[own], reasons))
    return Leaving(stash, delete), refused


def check_strategy(strategy: str, confirm: bool) -> None:
    """Refuse an unknown strategy, and a deletion that is not confirmed."""
    if strategy not in STRATEGIES:
        raise BadInput(f"strategy {strategy!r:.40} is unknown.", hint=f"Use one of: {', '.join(STRATEGIES)}.")
    if strategy == "delete" and confirm is not True:
        raise Unconfirmed("Deleting needs confirm=true; nothing was removed.", hint="Or use strategy=stash.")


def compress(
    window: OpenSegments,
    policy: Policy,
    segment_ids: Iterable[str],
    summarize: Callable[[Sequence[str]], ContextSegment],
    take_out: Callable[[Leaving, str, Mapping[str, str]], Left],
) -> tuple[ContextSegment, Left, dict[str, str]]:
    """Put a summary in place of segments, which wait in the stash; `summarize` is told the ids it refers to."""
    leaving, refused = choose(window, policy, segment_ids, "stash", confirm=False)
    if not leaving:
        said = "; ".join(f"{own}: {reason}" for own, reason in refused.items()) or "no ids were given"
        raise Conflict(f"Nothing can be compressed ({said:.200}).")
    made = summarize([held.segment.segment_id for held, _ in leaving.stash])
    reasons = (f"compressed into {made.segment_id}",)
    left = take_out(Leaving([(held, reasons) for held, _ in leaving.stash]), "compressed", refused)
    window.add([made])
    return made, left, refused


def gone(leaving: Sequence[tuple[StoredSegment, tuple[str, ...]]]) -> tuple[Gone, ...]:
    return tuple(
        Gone(held.segment.segment_id, held.segment.tokens, reasons, excerpt(held.segment.text))
        for held, reasons in leaving
    )


def _small_step(window: OpenSegments, judge: WindowJudge, take_out: TakeOut) -> Left:
    """Some of the young and a few of the old, judged by each other; above the soft limit, a small batch goes."""
    limits = judge.policy.limits
    examined = to_examine(limits, window.next_to_examine)
    excess = window.state.tokens - limits.soft_tokens
    judged = _with_their_files(window, examined) if excess > 0 else {}
    batch = choose_batch(_judge_few(window, judge, judged), excess, limits) if judged else []
    left = take_out(_stashing(batch, judged), "automatic: above the soft limit")
    going = {candidate.segment_id for candidate in batch}
    age_survivors(window, judge.policy, (held for held in examined if held.segment.segment_id not in going))
    return left


def _with_their_files(window: OpenSegments, examined: Sequence[StoredSegment]) -> dict[str, StoredSegment]:
    """These and all other reads of their files: a newer one must not go while an older one stays unseen."""
    reads = (held.segment for held in examined if is_output(held.segment))
    others = window.of_files({segment.file_path for segment in reads if segment.file_path is not None})
    everything = {held.segment.segment_id: held for held in (*others, *examined)}
    return dict(sorted(everything.items(), key=lambda item: item[1].place))


def _judge_few(
    window: OpenSegments, judge: WindowJudge, examined: Mapping[str, StoredSegment]
) -> list[PruningCandidate]:
    segments = [held.segment for held in examined.values()]
    lexicon = judge.lexicon or Lexicon(judge.engine.weights)
    for segment in segments:
        lexicon.add(segment)
    return judge_few(
        judge.engine,
        segments,
        judge.policy.focus,
        now=judge.now,
        recent=window.last_messages(judge.policy.focus.last_n),
        referenced=window.referenced(examined),
        lexicon=lexicon,
        weak=judge.weak or WeakLinks(segments),
    )


def _stashing(candidates: Iterable[PruningCandidate], held: Mapping[str, StoredSegment]) -> Leaving:
    return Leaving([(held[candidate.segment_id], candidate.reasons) for candidate in candidates])


def _young(candidates: Sequence[PruningCandidate], held: Mapping[str, StoredSegment]) -> list[PruningCandidate]:
    """The young, but for what must stay beside an old one, which is not looked at."""
    young = {each.segment_id for each in candidates if _is_young(held[each.segment_id])}
    beside = {each.segment_id: each.beside for each in candidates}
    bound = bound_by((each.segment for each in held.values()), young, beside)
    return [each for each in candidates if each.segment_id in young and each.segment_id not in bound]


def _is_young(held: StoredSegment) -> bool:
    return held.segment.generation == "young"
