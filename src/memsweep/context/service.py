"""A durable context window: every operation loads what it needs, decides, and writes in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Generic

from memsweep.context import choosing, recalling, steps
from memsweep.context.counting import Counter, WindowDependencies
from memsweep.context.engine import Analysis, GCEngine, require_unique
from memsweep.context.plan import PruningPlan, plan_to_free
from memsweep.context.policy import CONFIGURABLE, Policy, check_storable, policy_of, updated_focus, weights_with
from memsweep.context.reading import Lexicon
from memsweep.context.receipts import Acting, compaction_notes, load_plan, save_analysis, take_out, take_out_compacted
from memsweep.context.roots import Roots, hard_reason
from memsweep.context.segment import segment_from_dict
from memsweep.context.step import due
from memsweep.context.steps import Leaving, WindowJudge
from memsweep.context.transcripts import Transcript, read_session, tier_of
from memsweep.errors import AlreadyExists, BadInput, NotFound, Unconfirmed
from memsweep.model.gate import Gate
from memsweep.model.ids import check_name
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.paging import PageMark, cursor_after, mark_of, page_size
from memsweep.model.segment import ContextSegment, PruningCandidate
from memsweep.model.text import counted, excerpt
from memsweep.model.tokens import CountTokens
from memsweep.model.window import (
    Added,
    Analyzed,
    Configured,
    StashFound,
    StashPage,
    StoredSegment,
    StripSegment,
    Swept,
    WindowChange,
    WindowState,
    WindowStrip,
    WorkingSet,
)
from memsweep.operation import Calls, Mode, operation
from memsweep.store.refusals import tombstoned_text
from memsweep.store.windows import OpenWindow


def draft_of(given: ContextSegment | Mapping[str, Any], acting: Acting, counter: Counter) -> ContextSegment:
    """A segment as it will be stored; one that has no id gets one."""
    if isinstance(given, ContextSegment):
        return check_storable(given)
    if not isinstance(given, Mapping):
        raise BadInput(f"a segment must be an object, not {given!r:.60}.")
    data = {**given, "segment_id": given.get("segment_id") or acting.new_id("seg")}
    return check_storable(segment_from_dict(data, now=acting.now, count=counter.count))


def known(window: OpenWindow, drafts: Sequence[ContextSegment], skip: bool, message_of: Mapping[str, str]) -> set[str]:
    """The ids that are here already; a further piece of a message is, if the message is."""
    ids = [draft.segment_id for draft in drafts]
    if skip:
        ever = window.ever_known({*ids, *message_of.values()})
        return {own for own in ids if own in ever or message_of.get(own) in ever}
    if taken := window.find(ids):
        raise AlreadyExists(f"segment {next(iter(taken))!r:.80} is in this window already; nothing was added.")
    return set()


def without_forgotten(
    window: OpenWindow, drafts: Sequence[ContextSegment], *, leave_out: bool
) -> tuple[list[ContextSegment], tuple[str, ...]]:
    """Return the drafts that may be learned again, and a note on the others, which are left out or refused."""
    forgotten = window.tombstoned([draft.text for draft in drafts])
    if not forgotten:
        return list(drafts), ()
    if not leave_out:
        raise tombstoned_text()
    kept = [draft for draft in drafts if draft.text not in forgotten]
    out = counted(len(drafts) - len(kept), "segment")
    return kept, (f"Left out: {out} with a text that was deleted permanently (`memsweep tombstone list`).",)


def crowded(window: OpenWindow, policy: Policy, added: Sequence[ContextSegment], *, collected: bool) -> tuple[str, ...]:
    """A sentence if what must stay exceeds the hard limit by itself; looked for after a full collection or a pin."""
    limit = policy.limits.hard_tokens
    if window.state.tokens <= limit or not (collected or any(hard_reason(each, policy.focus) for each in added)):
        return ()
    fixed = sum(held.segment.tokens for held in window.active() if hard_reason(held.segment, policy.focus))
    if fixed <= limit:
        return ()
    return (
        f"What must stay (pinned, of the system, of the current task) takes {fixed:,} tokens by itself, more than the"
        f" hard limit of {limit:,}, so no collection can keep it: unpin some of it, or raise the limit.",
    )


def target_of(tokens: int, policy: Policy, target_tokens: int | None, budget: int | None) -> int:
    if target_tokens is not None:
        return require_count(target_tokens, "target_tokens")
    return max(0, tokens - (policy.limits.soft_tokens if budget is None else require_count(budget, "budget")))


def require_count(value: int, name: str, most: int = 2**53) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise BadInput(f"{name} must be a whole number from 0 to {most:,}, not {value!r:.40}.")
    return value


MOST_SHOWN = 1000


class ContextWindow(Generic[Mode]):
    """One context window of a workspace. Any number of processes may use it at the same time."""

    def __init__(self, tools: WindowDependencies, project_id: str, calls: Calls[Mode]) -> None:
        self.project_id = check_name(project_id, "project id")
        self._tools = tools
        self._engine = GCEngine(weights_with(tools.weights))
        self._calls = calls

    @operation
    def add(
        self, segments: Iterable[ContextSegment | Mapping[str, Any]], *, skip_known: bool = False, tier: str = ""
    ) -> Added:
        """Take segments in; ids are made where none is given. One that is here already is refused, or skipped.

        `tier` lowers how far they are trusted.
        """
        return self._add(segments, skip_known=skip_known, tier=tier)

    def _add(
        self,
        segments: Iterable[ContextSegment | Mapping[str, Any]],
        *,
        skip_known: bool,
        read: Transcript | None = None,
        source: str = "context",
        tier: str = "",
    ) -> Added:
        acting, origin = self._acting(), self._tools.origin().lowered(tier)
        by_role = read is not None and origin.door == "hook"  # which reads what its client writes
        if read is not None and not by_role:
            origin = origin.through("import")
        counter = self._tools.counter()
        gate = SegmentGate(self._tools.secrets(source), counter.count)
        drafts = []
        for each in segments:
            with suppress(BadInput) if by_role else nullcontext():  # the others of a session are of use without it
                drafts.append(gate.passed(draft_of(each, acting, counter)))
        if not drafts and read is None:
            raise BadInput("segments is empty.", hint="Give at least one.")
        require_unique(drafts)
        read = read or Transcript(drafts)
        with self._writing(acting, create=True, origin=origin) as window:
            state, before = window.state, window.state.tokens
            taken = known(window, drafts, skip_known, read.message_of)
            new = [draft for draft in drafts if draft.segment_id not in taken]
            fresh, left_out = without_forgotten(window, new, leave_out=skip_known)
            state.counted_by = counter.name
            window.add(fresh, (lambda segment: origin.at_most(tier_of(segment))) if by_role else None)
            compacted = take_out_compacted(window, acting, read.compactions, taken)
            policy = self._policy(state)
            full = due(policy.limits, state.tokens, state.changes, len(fresh), state.full_from) == "full"
            judge = self._judge(policy, acting)
            left = steps.collect_if_due(window, judge, len(fresh), partial(take_out, window, acting))
            return Added(
                change=_change(state, before),
                segment_ids=tuple(draft.segment_id for draft in fresh),
                known=tuple(draft.segment_id for draft in drafts if draft.segment_id in taken),
                stashed=left.stashed,
                receipt_id=left.receipt_id,
                notes=(
                    *read.notes,
                    *left_out,
                    *compaction_notes(compacted),
                    *gate.notes(fresh),
                    *crowded(window, policy, fresh, collected=full),
                ),
                compacted=tuple(gone.segment_id for gone in compacted.stashed),
                bookmark=gate.bookmark(read.bookmark),
            )

    @operation
    def add_transcript(self, text: str, *, bookmark: Mapping[str, Any] | None = None) -> Added:
        """Take in a session file; what is known from an earlier reading is skipped, what the client compacted stashed.

        With the `bookmark` of the answer before, `text` is only what was written since.
        """
        now, count = self._tools.clock(), self._tools.counter().count
        read = read_session(text, now=now, count=count, bookmark=bookmark)
        return self._add(read.segments, skip_known=True, read=read, source="transcript")

    @operation
    def analyze(
        self,
        *,
        target_tokens: int | None = None,
        budget: int | None = None,
        task_id: str | None = None,
        descriptors: Mapping[str, Any] | None = None,
        max_candidates: int = 20,
        dry_run: bool = False,
    ) -> Analyzed:
        """Return what could go, in which order and why, and a saved plan; nothing is moved.

        What is said of the task and the files holds until something else is said. A dry run saves neither.
        """
        if target_tokens is not None and budget is not None:
            raise BadInput("target_tokens and budget cannot be used together.", hint="Give one of them, or neither.")
        require_count(max_candidates, "max_candidates", MOST_SHOWN)
        acting = self._acting()
        with self._reading() as window:
            state = window.state
            focus = passed_focus(updated_focus(state.focus, task_id, descriptors), self._tools.secrets("context"))
            policy = self._policy(replace(state, focus=focus))
            target = target_of(state.tokens, policy, target_tokens, budget)
            seen, active = steps.analyze(window, self._judge(policy, acting), max(0, state.tokens - target))
        plan = plan_to_free(seen.candidates, target, confirm_delete=True)
        plan_id = acting.new_id("plan") if plan.candidates and not dry_run else None
        if not dry_run and (plan_id is not None or focus != state.focus):
            with self._writing(acting) as window:
                window.state.focus = focus
                if plan_id is not None:
                    lifetime = timedelta(hours=self._tools.plan_hours)
                    save_analysis(window, acting, plan, plan_id, active, lifetime)
        shown = choosing.shown_first(plan, seen.candidates)[:max_candidates]
        return Analyzed(
            change=WindowChange(state.tokens, state.tokens - plan.total_tokens_freed, state.counted_by),
            soft_tokens=policy.limits.soft_tokens,
            hard_tokens=policy.limits.hard_tokens,
            tokens_by_type=choosing.by_type(held.segment for held in active.values()),
            candidates=shown,
            planned=plan.segment_ids,
            plan_id=plan_id,
            reason=plan.reason,
            shortfall=plan.shortfall,
            notes=tuple(filter(None, (seen.roots.note_on(plan.segment_ids),))),
            texts=choosing.excerpts(active[each.segment_id] for each in shown),
        )

    @operation
    def strip(self, *, budget: int | None = None) -> WindowStrip:
        """Every segment with its tokens, its score, what keeps it, and whether it would go at a budget (by default the
        soft limit); nothing is saved."""
        with self._reading() as window:
            return strip_window(window, self._judge(self._policy(window.state), self._acting()), budget)

    @operation
    def prune(
        self,
        segment_ids: Sequence[str] | None = None,
        *,
        plan_id: str | None = None,
        strategy: str = "auto",
        confirm: bool = False,
    ) -> Swept:
        """Take segments out, by id or as planned; roots and unknown ids are refused by name, the rest proceeds.

        `auto` stashes, but for what the plan would delete, if that is confirmed. `delete` needs the confirmation
        and moves to the trash.
        """
        if (segment_ids is None) == (plan_id is None):
            raise BadInput("Give either segment_ids or plan_id.")
        steps.check_strategy(strategy, confirm)
        acting = self._acting()
        with self._writing(acting) as window:
            state, before = window.state, window.state.tokens
            policy = self._policy(state)
            plan_key, planned = (0, {}) if plan_id is None else load_plan(window, plan_id, acting.now)
            ids = planned if segment_ids is None else segment_ids
            leaving, refused = steps.choose(window, policy, ids, strategy, confirm=confirm, planned=planned)
            texts = choosing.excerpts(window.find(refused).values()) if refused else {}
            why = f"planned: {plan_id}" if plan_id is not None else "chosen by id"
            plan = None if plan_id is None else (plan_key, plan_id)
            left = take_out(window, acting, leaving, why, refused, plan=plan)
            if plan is not None:
                steps.age_survivors(window, policy, window.active())
            return Swept(
                _change(state, before), left.stashed, left.deleted, (), (), refused, left.receipt_id, texts=texts
            )

    @operation
    def delete(self, *, confirm: bool = False) -> Swept:
        """The whole window with its stash to the trash, but for pins; undoing the receipt brings it back."""
        if confirm is not True:
            raise Unconfirmed("Deleting needs confirm=true; nothing was removed.")
        acting = self._acting()
        with self._writing(acting) as window:
            before, live = window.state.tokens, window.live()
            refused = {held.segment.segment_id: "pinned" for held in live if held.segment.pinned}
            going = [(held, ("its window was deleted",)) for held in live if not held.segment.pinned]
            left = take_out(window, acting, Leaving(delete=going), "window deleted", refused)
            return Swept(_change(window.state, before), (), left.deleted, (), (), refused, left.receipt_id)

    @operation
    def pin(self, segment_ids: Sequence[str], pinned: bool = True) -> Swept:
        """Keep segments out of every collection, or let them go again."""
        return self._pin(segment_ids, pinned)

    def _pin(self, segment_ids: Sequence[str], pinned: bool) -> Swept:
        acting = self._acting()
        with self._writing(acting) as window:
            ids = list(dict.fromkeys(segment_ids))
            found = window.find(ids)
            refused = {own: choosing.unknown(window, own) for own in ids if own not in found}
            window.pin([held for held in found.values() if held.segment.pinned != pinned], pinned)
            if found:
                counts = {"segments": len(found)}
                window.audit("pin" if pinned else "unpin", self.project_id, counts, "", acting.actor, acting.now)
            change = _change(window.state, window.state.tokens)
            here = tuple(own for own in ids if own in found)
            return Swept(change, pinned=here, refused=refused, texts=choosing.excerpts(found.values()))

    @operation
    def unpin(self, segment_ids: Sequence[str]) -> Swept:
        """Let segments be collected again."""
        return self._pin(segment_ids, False)

    @operation
    def configure(
        self,
        *,
        soft_tokens: int | None = None,
        hard_tokens: int | None = None,
        changes_per_step: int | None = None,
        batch: int | None = None,
        last_n: int | None = None,
        decision_minutes: int | None = None,
    ) -> Configured:
        """WindowChange limits of this window; what is left out stays. Answers the numbers in force."""
        wanted = (soft_tokens, hard_tokens, changes_per_step, batch, last_n, decision_minutes)
        given = {name: value for name, value in zip(CONFIGURABLE, wanted, strict=True) if value is not None}
        acting = self._acting()
        policy_of({**self._tools.defaults, **self._config(), **given}, {})  # before a window is made for it
        with self._writing(acting, create=True) as window:
            state = window.state
            state.config = {**state.config, **given}
            self._policy(state)
            return Configured(_change(state, state.tokens), {**self._tools.defaults, **state.config})

    @operation
    def search(self, query: str, *, limit: int = 10) -> StashFound:
        """Search the stash, best first."""
        require_count(limit, "limit", MOST_SHOWN)
        with self._reading() as window:
            found = recalling.search(window, query)[:limit]
            hits = tuple((segment, score) for segment, score, _ in found)
            beside = frozenset(segment.segment_id for segment, _, matched in found if not matched)
            origins = window.origins(segment.segment_id for segment, *_ in found)
            return StashFound(_change(window.state, window.state.tokens), hits, window.state.stashed, beside, origins)

    @operation
    def stash(self, *, limit: int = 50, cursor: str | None = None) -> StashPage:
        """Return the segments of the stash, the last first, page by page."""
        with self._reading() as window:
            return stash_page(window, limit, cursor)

    @operation
    def restore(
        self, segment_ids: Sequence[str] | None = None, *, query: str | None = None, budget: int | None = None
    ) -> Swept:
        """Bring stashed segments back to their places, exactly as they were; a budget of tokens is kept."""
        if (segment_ids is None) == (query is None):
            raise BadInput("Give either segment_ids or query.")
        if budget is not None:
            require_count(budget, "budget")
        acting = self._acting()
        with self._writing(acting) as window:
            state, before = window.state, window.state.tokens
            policy = self._policy(state)
            if query is not None:
                room = max(0, policy.limits.soft_tokens - state.tokens) if budget is None else budget
                lexicon = Lexicon(self._engine.weights)
                back, refused = recalling.select(window, query, room, lexicon), dict[str, str]()
            else:
                back, refused = recalling.by_id(window, segment_ids or (), budget)
            window.restore(back)
            if back:
                counts = {"segments": len(back), "tokens": sum(held.segment.tokens for held in back)}
                window.audit("restore", self.project_id, counts, "", acting.actor, acting.now)
            restored = tuple(held.segment for held in sorted(back, key=lambda held: held.place))
            origins = window.origins(segment.segment_id for segment in restored)
            return Swept(_change(state, before), restored=restored, refused=refused, origins=origins)

    @operation
    def compress(self, segment_ids: Sequence[str], summary: str) -> Swept:
        """Put a summary in place of segments: it refers to them, and they wait in the stash."""
        acting = self._acting()
        counter = self._tools.counter()
        gate = SegmentGate(self._tools.secrets("context"), counter.count)
        with self._writing(acting) as window:
            state, before = window.state, window.state.tokens

            def summarize(going: Sequence[str]) -> ContextSegment:
                draft = draft_of({"text": summary, "type": "summary", "references": list(going)}, acting, counter)
                (made,), _ = without_forgotten(window, [gate.passed(draft)], leave_out=False)
                return made

            made, left, refused = steps.compress(
                window, self._policy(state), segment_ids, summarize, partial(take_out, window, acting)
            )
            state.counted_by = counter.name
            return Swept(
                _change(state, before),
                left.stashed,
                refused=refused,
                receipt_id=left.receipt_id,
                summary_id=made.segment_id,
                notes=gate.notes([made]),
            )

    @operation
    def working_set(self, budget: int | None = None) -> WorkingSet:
        """Return what a window of this budget (default: the soft limit) would hold, in order; nothing changes."""
        acting = self._acting()
        with self._reading() as window:
            policy = self._policy(window.state)
            budget = policy.limits.soft_tokens if budget is None else require_count(budget, "budget")
            plan, active, tokens = steps.fit(window, self._judge(policy, acting), budget)
        kept = choosing.counted([held.segment for own, held in active.items() if own not in plan.segment_ids])
        change = WindowChange(tokens, tokens - plan.total_tokens_freed, window.state.counted_by)
        return WorkingSet(change, tuple(kept), len(plan.candidates), plan.shortfall)

    @operation
    def segments(self, *, stashed: bool = False) -> list[ContextSegment]:
        """Return the window's segments in order, counters up to date; with `stashed`, the stash in its places too."""
        with self._reading() as window:
            return choosing.counted([held.segment for held in (window.live() if stashed else window.active())])

    @operation
    def origins(self, segment_ids: Iterable[str]) -> dict[str, Origin]:
        """Return the origins of active or stashed segments, by their ids."""
        with self._reading() as window:
            known = window.origins(wanted := list(segment_ids))
        return {each: known.get(each, UNKNOWN) for each in wanted}

    @operation
    def state(self) -> WindowState:
        """Its counters, limits and focus."""
        with self._reading() as window:
            return window.state

    def _acting(self) -> Acting:
        return Acting(self._tools.actor, self._tools.clock(), self._tools.new_id)

    def _judge(self, policy: Policy, acting: Acting) -> WindowJudge:
        return WindowJudge(self._engine, policy, acting.now)

    def _config(self) -> Mapping[str, Any]:
        try:
            with self._reading() as window:
                return window.state.config
        except NotFound:
            return {}

    def _policy(self, state: WindowState) -> Policy:
        return policy_of({**self._tools.defaults, **state.config}, state.focus)

    def _reading(self) -> AbstractContextManager[OpenWindow]:
        return self._tools.store(False).reading(self.project_id)

    def _writing(
        self, acting: Acting, *, create: bool = False, origin: Origin | None = None
    ) -> AbstractContextManager[OpenWindow]:
        if create:
            check_own_id(self.project_id, self._tools.secrets("context"))
        at, origin = acting.now if create else None, origin or self._tools.origin()
        return self._tools.store(create).writing(self.project_id, create_at=at, origin=origin)


def _change(state: WindowState, before: int) -> WindowChange:
    return WindowChange(before, state.tokens, state.counted_by)


class SegmentGate:
    """The gate of one call, which knows what it met in which segment."""

    def __init__(self, action: str, count: CountTokens) -> None:
        self._action, self._count = action, count
        self._met: dict[str, Gate] = {}

    def passed(self, segment: ContextSegment) -> ContextSegment:
        """The segment as it may be stored; what is shorter by then counts less."""
        gate = self._met[segment.segment_id] = Gate(self._action)
        for own in (segment.segment_id, *segment.references):
            gate.own_id(own, "the id of a segment")
        what = f"segment {segment.segment_id!r:.60}"
        text = gate.text(segment.text, what)
        return replace(
            segment,
            text=text,
            tokens=segment.tokens if text == segment.text else self._count(text),
            tags=gate.texts(segment.tags, what),
            file_path=gate.optional(segment.file_path, what),
            topic_id=gate.optional(segment.topic_id, what),
            task_id=gate.optional(segment.task_id, what),
        )

    def bookmark(self, bookmark: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what is kept between two readings, redacted; files that calls read are the only text in it."""
        action = "redact" if self._action == "refuse" else self._action
        calls = Gate(action).json(bookmark.get("calls", {}), "a call")
        return {**bookmark, "calls": calls} if calls else bookmark

    def notes(self, stored: Iterable[ContextSegment]) -> tuple[str, ...]:
        """Return the notes on secrets in these; one that was known before was not stored again."""
        together = Gate(self._action)
        for segment in stored:
            together.met(self._met[segment.segment_id])
        return together.notes


def passed_focus(focus: Mapping[str, Any], action: str) -> dict[str, Any]:
    """Return the focus as it may be stored, without secrets."""
    passed: dict[str, Any] = Gate(action).json(focus, "the task or a file")
    return passed


def check_own_id(project_id: str, action: str) -> None:
    """Refuse a window whose name is a secret."""
    Gate(action).own_id(project_id, "project_id")


MOST_STASHED = 200


def strip_window(window: OpenWindow, judge: steps.WindowJudge, budget: int | None) -> WindowStrip:
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


def strip_of(seen: Analysis, plan: PruningPlan, active: Mapping[str, StoredSegment]) -> tuple[StripSegment, ...]:
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
    after = mark_of(cursor, listing) or PageMark(0, 0, window.state.stashed)
    found = window.stashed(after.key if cursor else None, limit + 1)
    shown = found[:limit]
    passed = after.passed + len(shown)
    following = cursor_after(PageMark(shown[-1].place, passed, after.total), listing) if len(found) > limit else None
    segments = tuple(held.segment for held in shown)
    origins = window.origins([segment.segment_id for segment in segments])
    return StashPage(segments, after.passed, max(after.total, passed), following, origins)
