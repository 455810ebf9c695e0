"""What calls do to one text, or to one segment, as pure steps from state to state; see `linear`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tests.faults.linear import Call


@dataclass(frozen=True, slots=True)
class Copy:
    """A memory of the text: there may be one that lives, and others in the trash."""

    id: str
    receipt: str | None = None
    pinned: bool = False
    version: int = 1


@dataclass(frozen=True, slots=True)
class Slot:
    """All memories of a text; which plans name which version; which plans were used and which receipts undone."""

    copies: tuple[Copy, ...] = ()
    planned: frozenset[tuple[str, str, int]] = frozenset()
    used: frozenset[str] = frozenset()
    undone: frozenset[str] = frozenset()

    @property
    def live(self) -> Copy | None:
        return next((copy for copy in self.copies if copy.receipt is None), None)

    def find(self, uid: str) -> Copy | None:
        return next((copy for copy in self.copies if copy.id == uid), None)

    def with_copy(self, changed: Copy) -> Slot:
        others = tuple(copy for copy in self.copies if copy.id != changed.id)
        return replace(self, copies=tuple(sorted((*others, changed), key=lambda copy: copy.id)))

    def rows(self) -> set[tuple[str, str | None, bool, int]]:
        return {(copy.id, copy.receipt, copy.pinned, copy.version) for copy in self.copies}


@dataclass(frozen=True, slots=True)
class Known:
    """All memories of the text, and what is there although no answer named it: pending calls may have made that."""

    ids: frozenset[str] = frozenset()
    unheard_memories: frozenset[str] = frozenset()
    unheard_receipts: frozenset[str] = frozenset()


def step(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    yield from _STEPS[call.name](slot, call, known)


def _add(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    live = slot.live
    if live is not None:
        if call.pending or call.answer == ("duplicate", live.id):
            yield slot.with_copy(replace(live, version=live.version + 1))
    elif call.pending:
        for uid in known.unheard_memories:
            if slot.find(uid) is None:
                yield slot.with_copy(Copy(uid))
    elif call.answer[0] == "new" and slot.find(call.answer[1]) is None:
        yield slot.with_copy(Copy(call.answer[1]))


def _pin(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    uid, pinned = call.arguments
    copy = slot.find(uid)
    if copy is None or copy.receipt is not None:
        yield from _refused(slot, call, "NotFound")
    elif call.pending or call.answer == "done":
        yield slot.with_copy(replace(copy, pinned=pinned, version=copy.version + 1))


def _delete(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    copy = slot.find(call.arguments[0])
    if copy is None or copy.receipt is not None:
        # One that goes while it is being looked at is "gone", which is a conflict.
        yield from _refused(slot, call, "NotFound", "Conflict")
    elif copy.pinned:
        yield from _refused(slot, call, "Conflict")
    else:
        for receipt in _receipts(call, known):
            yield slot.with_copy(replace(copy, receipt=receipt))


def _undo(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    (receipt,) = call.arguments
    if receipt in slot.undone:
        yield from _refused(slot, call, "Conflict")
        return
    if not call.pending and not isinstance(call.answer, tuple):
        if call.answer == "Conflict" and (slot.live or all(copy.receipt != receipt for copy in slot.copies)):
            yield slot  # nothing of it can come back, which leaves the receipt to be used later
        return
    after, live, left = slot, slot.live, set()
    for copy in (copy for copy in slot.copies if copy.receipt == receipt):
        if live is None:
            live = replace(copy, receipt=None)
            after = after.with_copy(live)
        else:
            left.add(copy.id)
    if call.pending or left == known.ids & set(call.answer):
        yield replace(after, undone=after.undone | {receipt})


def _recover(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    copy = slot.find(call.arguments[0])
    if copy is None or copy.receipt is None:
        yield from _refused(slot, call, "NotFound")
    elif slot.live is not None:
        yield from _refused(slot, call, "Conflict")
    elif call.pending or call.answer == "done":
        yield slot.with_copy(replace(copy, receipt=None))


def _plan(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    if call.pending:
        return  # nobody knows its name, so nobody can use it
    plan, items = call.answer
    live = slot.live
    wanted = set() if live is None or live.pinned else {live.id}
    if wanted != known.ids & set(items):
        return
    named = {(plan, uid, copy.version) for uid in wanted if (copy := slot.find(uid))}
    yield replace(slot, planned=slot.planned | named)


def _apply(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    (plan,) = call.arguments
    if plan in slot.used:
        yield from _refused(slot, call, "Conflict")
        return
    if not call.pending and not isinstance(call.answer, tuple):
        return
    item = next(((uid, version) for name, uid, version in slot.planned if name == plan), None)
    copy = slot.find(item[0]) if item else None
    goes = item is not None and copy is not None and copy.receipt is None and not copy.pinned
    goes = goes and copy is not None and item is not None and copy.version == item[1]
    skipped = {item[0]} if item is not None and not goes else set()
    if not call.pending and skipped != known.ids & set(call.answer[1]):
        return
    after = replace(slot, used=slot.used | {plan})
    if not goes or copy is None:
        yield after
        return
    for receipt in [call.answer[0]] if not call.pending else known.unheard_receipts:
        yield after.with_copy(replace(copy, receipt=receipt))


def _get(slot: Slot, call: Call, known: Known) -> Iterator[Slot]:
    copy = slot.find(call.arguments[0])
    there = copy is not None and copy.receipt is None
    if call.pending or call.answer == ("done" if there else "NotFound"):
        yield slot


def _refused(slot: Slot, call: Call, *refusals: str) -> Iterator[Slot]:
    if call.pending or call.answer in refusals:
        yield slot


def _receipts(call: Call, known: Known) -> Iterator[str]:
    if call.pending:
        yield from known.unheard_receipts
    elif call.answer not in ("NotFound", "Conflict"):
        yield call.answer


_STEPS = {
    "add": _add,
    "pin": _pin,
    "delete": _delete,
    "undo": _undo,
    "recover": _recover,
    "plan": _plan,
    "apply": _apply,
    "get": _get,
}


_MOVES: Mapping[tuple[str, str], tuple[str, str]] = {
    ("add", "absent"): ("done", "active"),
    ("add", "active"): ("AlreadyExists", "active"),
    ("add", "stashed"): ("AlreadyExists", "stashed"),
    ("stash", "absent"): ("refused", "absent"),
    ("stash", "active"): ("done", "stashed"),
    ("stash", "stashed"): ("refused", "stashed"),
    ("restore", "absent"): ("refused", "absent"),
    ("restore", "active"): ("refused", "active"),
    ("restore", "stashed"): ("done", "active"),
}


def segment_step(state: str, call: Call) -> Iterator[str]:
    answer, after = _MOVES[call.name.removesuffix(" segment"), state]
    if call.pending or call.answer == answer:
        yield after
