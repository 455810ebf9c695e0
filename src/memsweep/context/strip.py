"""A window as a strip: each segment with what it is worth, what keeps it, and whether it would go."""

from __future__ import annotations

from collections.abc import Mapping

from memsweep.context import steps
from memsweep.context.arguments import target_of
from memsweep.context.engine import Analysis
from memsweep.context.plan import PruningPlan, plan_to_free
from memsweep.context.roots import Roots
from memsweep.model.paging import Mark, cursor_after, mark_of, page_size
from memsweep.model.segment import ContextSegment, PruningCandidate
from memsweep.model.text import excerpt
from memsweep.model.window import Held, StashPage, StripSegment, WindowChange, WindowStrip
from memsweep.store.ports.windows import OpenWindow

MOST_STASHED = 200


def strip_window(window: OpenWindow, judge: steps.Judge, budget: int | None) -> WindowStrip:
    """The window as it is, judged for a budget: by default the soft limit."""
    state, limits = window.state, judge.policy.limits
    target = target_of(state.tokens, judge.policy, None, budget)
    seen, active = steps.analyze(window, judge, max(0, state.tokens - target))
    plan = plan_to_free(seen.candidates, target, confirm_delete=True)
    return WindowStrip(
        change=WindowChange(state.tokens, state.tokens - plan.total_tokens_freed, state.counted_by),
        budget=limits.soft_tokens if budget is None else budget,
        soft_tokens=limits.soft_tokens,
        hard_tokens=limits.hard_tokens,
        segments=strip_of(seen, plan, active),
        stashed=state.stashed,
        shortfall=plan.shortfall,
        reason=plan.reason,
        notes=tuple(filter(None, (seen.roots.note_on(plan.segment_ids),))),
    )


def strip_of(seen: Analysis, plan: PruningPlan, active: Mapping[str, Held]) -> tuple[StripSegment, ...]:
    """In session order; with the tokens of its text a segment is as wide as its bar."""
    judged = {each.segment_id: each for each in seen.candidates}
    going = {each.segment_id: each for each in plan.candidates}
    return tuple(_part(held.segment, seen.roots, judged.get(own), going.get(own)) for own, held in active.items())


def _part(
    segment: ContextSegment, roots: Roots, judged: PruningCandidate | None, going: PruningCandidate | None
) -> StripSegment:
    own = segment.segment_id
    return StripSegment(
        segment_id=own,
        type=segment.type,
        role=segment.role,
        tokens=segment.tokens,
        keep_score=1.0 if judged is None else judged.keep_score,
        root=roots.hard.get(own) or roots.ends.get(own) or roots.soft.get(own) or "",
        goes=going is not None,
        action=going.action if going else None,
        reasons=() if judged is None else judged.reasons,
        pinned=segment.pinned,
        text=excerpt(segment.text),
    )


def stash_page(window: OpenWindow, limit: int, cursor: str | None) -> StashPage:
    page_size(limit, MOST_STASHED)
    listing = f"stash\0{window.project_id}"
    after = mark_of(cursor, listing) or Mark(0, 0, window.state.stashed)
    found = window.stashed(after.key if cursor else None, limit + 1)
    shown = found[:limit]
    passed = after.passed + len(shown)
    following = cursor_after(Mark(shown[-1].place, passed, after.total), listing) if len(found) > limit else None
    segments = tuple(held.segment for held in shown)
    origins = window.origins([segment.segment_id for segment in segments])
    return StashPage(segments, after.passed, max(after.total, passed), following, origins)
