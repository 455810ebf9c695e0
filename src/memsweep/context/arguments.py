"""Check the arguments of a context window's operations, and compare them with its contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memsweep.context.counting import Counter
from memsweep.context.policy import Policy, check_storable
from memsweep.context.receipts import Acting
from memsweep.context.roots import hard_reason
from memsweep.context.segment import segment_from_dict
from memsweep.errors import AlreadyExists, BadInput
from memsweep.model.segment import ContextSegment
from memsweep.model.text import counted
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
