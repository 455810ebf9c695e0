"""Steps inside an open window: take segments out of it with a receipt, and collect by itself when it is time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.information import Lexicon
from memsweep.context.plan import plan_to_free
from memsweep.context.policy import Policy
from memsweep.context.references import WeakLinks
from memsweep.context.step import choose_batch, due, judge_few, next_full, survived, to_examine
from memsweep.model.segment import PruningCandidate
from memsweep.model.window import Gone, Held
from memsweep.store.protocol import OpenWindow


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts when, and with which engine."""

    engine: GCEngine
    actor: str
    now: datetime
    new_id: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Leaving:
    """Segments on their way out, with the reasons of each; the trash is for those to delete."""

    stash: Sequence[tuple[Held, tuple[str, ...]]] = ()
    delete: Sequence[tuple[Held, tuple[str, ...]]] = ()

    def __bool__(self) -> bool:
        return bool(self.stash or self.delete)


@dataclass(frozen=True, slots=True)
class Left:
    stashed: tuple[Gone, ...] = ()
    deleted: tuple[Gone, ...] = ()
    receipt_id: str | None = None


def take_out(
    window: OpenWindow,
    acting: Acting,
    leaving: Leaving,
    why: str,
    *,
    refused: Mapping[str, str] | None = None,
    plan: tuple[int, str] | None = None,
) -> Left:
    """Move what leaves, write the receipt and the audit log; a plan (key and id) is used up by it."""
    if not leaving and plan is None:
        return Left()
    receipt_id, refused = acting.new_id("rcpt"), refused or {}
    receipt = window.add_receipt(receipt_id, plan[1] if plan else None, "context", acting.actor, acting.now)
    window.stash([held for held, _ in leaving.stash], receipt)
    window.trash([held for held, _ in leaving.delete], receipt)
    window.fill_receipt(receipt, len(leaving.stash), len(leaving.delete), refused.items())
    if plan is not None:
        window.plans.use(plan[0], receipt)
    left = Left(_gone(leaving.stash), _gone(leaving.delete), receipt_id)
    counts = {
        "stashed": len(left.stashed),
        "segments": len(left.deleted),
        "tokens": sum(gone.tokens for gone in (*left.stashed, *left.deleted)),
    }
    window.audit("context", receipt_id, counts, why, acting.actor, acting.now)
    return left


def collect_if_due(window: OpenWindow, acting: Acting, policy: Policy, new: int) -> Left:
    """The automatic part, after so many new segments: it only stashes."""
    limits, state = policy.limits, window.state
    match due(limits, state.tokens, state.changes, new, state.full_from):
        case "full":
            left = _collect(window, acting, policy)
            state.full_from = next_full(limits, state.tokens)
            return left
        case "step":
            return _step(window, acting, policy)
    return Left()


def analyze(window: OpenWindow, acting: Acting, policy: Policy, budget: int) -> tuple[Analysis, dict[str, Held]]:
    """What could go and why, with the rows behind it."""
    active = {held.segment.segment_id: held for held in window.active()}
    segments = [held.segment for held in active.values()]
    seen = acting.engine.analyze(segments, now=acting.now, focus=policy.focus, budget=budget)
    return seen, active


def age_survivors(window: OpenWindow, policy: Policy, held: Iterable[Held]) -> None:
    window.age((each.key, survived(each.segment, policy.limits)) for each in held)


def _collect(window: OpenWindow, acting: Acting, policy: Policy) -> Left:
    """A full collection, down to the soft limit."""
    budget = policy.limits.soft_tokens
    seen, active = analyze(window, acting, policy, budget)
    plan = plan_to_free(seen.candidates, max(0, seen.tokens - budget))
    left = take_out(window, acting, _stashing(plan.candidates, active), "automatic: near the hard limit")
    age_survivors(window, policy, (held for own, held in active.items() if own not in plan.segment_ids))
    return left


def _step(window: OpenWindow, acting: Acting, policy: Policy) -> Left:
    """Some of the young and a few of the old, judged by each other; above the soft limit, a small batch goes."""
    found = to_examine(policy.limits, window.next_to_examine)
    examined = {held.segment.segment_id: held for held in sorted(found, key=lambda held: held.place)}
    excess = window.state.tokens - policy.limits.soft_tokens
    batch = choose_batch(_judge(window, acting, policy, examined), excess, policy.limits) if excess > 0 else []
    left = take_out(window, acting, _stashing(batch, examined), "automatic: above the soft limit")
    going = {candidate.segment_id for candidate in batch}
    age_survivors(window, policy, (held for own, held in examined.items() if own not in going))
    return left


def _judge(window: OpenWindow, acting: Acting, policy: Policy, examined: Mapping[str, Held]) -> list[PruningCandidate]:
    segments = [held.segment for held in examined.values()]
    lexicon = Lexicon(acting.engine.weights)
    for segment in segments:
        lexicon.add(segment)
    return judge_few(
        acting.engine,
        segments,
        policy.focus,
        now=acting.now,
        recent=window.last_messages(policy.focus.last_n),
        referenced=window.referenced(examined),
        lexicon=lexicon,
        weak=WeakLinks(segments),
    )


def _stashing(candidates: Iterable[PruningCandidate], held: Mapping[str, Held]) -> Leaving:
    return Leaving([(held[candidate.segment_id], candidate.reasons) for candidate in candidates])


def _gone(leaving: Sequence[tuple[Held, tuple[str, ...]]]) -> tuple[Gone, ...]:
    return tuple(Gone(held.segment.segment_id, held.segment.tokens, reasons) for held, reasons in leaving)
