"""Campaign: several processes at work on one workspace, some of them killed; every answer must have an explanation.

A seed starts two to four processes that add, pin, delete, plan, apply, undo and recover the same few texts and move
the same few segments, and keep a book of when each call began and ended and what it answered. Afterwards, for each
text and each segment, an order of the calls is looked for that explains all answers and the rows that are left.
"""

import json
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from memsweep.errors import MemsweepError
from memsweep.services.memory import Memory
from tests.faults import lab, views
from tests.faults.histories import PAST, _open, template
from tests.faults.kill_switch import KillSwitch, Point
from tests.faults.kills import fresh_look, next_call
from tests.faults.linear import Call, explains
from tests.faults.slots import Known, Slot, segment_step, step
from tests.support import store_files

TEXTS = ("the harbour froze", "the violin broke", "the comet came")
SEGMENTS = ("s0", "s1")
CALLS = 14
KINDS = ("before step", "after step", "before commit", "after commit")
_ROWS = "select memory.uid, text, receipt.uid, pinned, version from memory left join receipt on receipt.id = trash"


class Worker:
    """One process of the crowd."""

    def __init__(self, place: Path, number: int, chance: random.Random) -> None:
        self._place, self._chance = place, chance
        self._memory: Memory = _open(place / "home").memory()
        self._book = os.open(place / f"book{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def work(self) -> None:
        acts = (self._add, self._add, self._pin, self._delete, self._delete, self._undo, self._undo, self._recover)
        acts += (self._plan, self._apply, self._apply, self._get, self._segment, self._segment)
        for _ in range(CALLS):
            self._chance.choice(acts)()

    def _do(self, name: str, arguments: Sequence[Any], call: Callable[[], Any]) -> Any:
        """Write down that it begins, do it, write down what it answered."""
        self._write(["begin", time.monotonic_ns(), name, list(arguments)])
        try:
            answer = call()
        except MemsweepError as error:
            answer = type(error).__name__
        self._write(["end", time.monotonic_ns(), answer])
        return answer

    def _write(self, line: list[Any]) -> None:
        os.write(self._book, json.dumps(line).encode() + b"\n")

    def _share(self, kind: str, uid: str) -> None:
        """What others may use: one line, written at once."""
        with (self._place / kind).open("a") as file:
            file.write(f"{uid}\n")

    def _shared(self, kind: str) -> str | None:
        try:
            return self._chance.choice((self._place / kind).read_text().split())
        except (FileNotFoundError, IndexError):
            return None

    def _add(self) -> None:
        text = self._chance.choice(TEXTS)

        def call() -> list[str]:
            said = self._memory.remember(text, entities=[], expires_at=PAST)
            return ["duplicate" if said.duplicate_of else "new", said.memory_id]

        answer = self._do("add", [text], call)
        if isinstance(answer, list):
            self._share("memories", answer[1])

    def _pin(self) -> None:
        if uid := self._shared("memories"):
            pinned = self._chance.random() < 0.4
            self._do("pin", [uid, pinned], lambda: self._memory.pin(uid, pinned) and "done")

    def _delete(self) -> None:
        if uid := self._shared("memories"):
            answer = self._do("delete", [uid], lambda: self._memory.delete(uid, confirm=True).id)
            if answer.startswith("rcpt_"):
                self._share("receipts", answer)

    def _undo(self) -> None:
        if receipt := self._shared("receipts"):
            self._do("undo", [receipt], lambda: [uid for uid, _ in self._memory.sweep.undo(receipt).conflicts])

    def _recover(self) -> None:
        if uid := self._shared("memories"):
            self._do("recover", [uid], lambda: self._memory.sweep.recover(uid) and "done")

    def _plan(self) -> None:
        def call() -> list[Any]:
            made = self._memory.sweep.plan("expired")
            return [made.id, [item.id for item in self._memory.sweep.items(made.id) if item.kind == "memory"]]

        self._share("plans", self._do("plan", [], call)[0])

    def _apply(self) -> None:
        if plan := self._shared("plans"):

            def call() -> list[Any]:
                receipt = self._memory.sweep.apply(plan, confirm=True, allow_large=True)
                return [receipt.id, [uid for uid, _ in receipt.skipped]]

            answer = self._do("apply", [plan], call)
            if isinstance(answer, list):
                self._share("receipts", answer[0])

    def _get(self) -> None:
        if uid := self._shared("memories"):
            self._do("get", [uid], lambda: self._memory.get(uid) and "done")

    def _segment(self) -> None:
        own, window = self._chance.choice(SEGMENTS), self._memory.context("talk")
        match self._chance.choice(("add", "stash", "restore")):
            case "add":
                given = [{"segment_id": own, "text": f"{own} says something", "type": "code"}]
                self._do("add segment", [own], lambda: window.add(given) and "done")
            case "stash":
                said = lambda: "done" if window.prune([own], strategy="stash").stashed else "refused"  # noqa: E731
                self._do("stash segment", [own], said)
            case _:
                self._do("restore segment", [own], lambda: "done" if window.restore([own]).restored else "refused")


def _work(place: Path, number: int, seed: int, point: Point) -> None:
    KillSwitch(point, place).install()
    Worker(place, number, random.Random(f"{seed} {number}")).work()


def run(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    place = template().parent / "crowd"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template(), place / "home")
    _prepare(place)
    count = chance.randint(2, 4)
    points = [Point(chance.choice(KINDS), chance.randint(1, 60)) for _ in range(count - 1)] + [Point()]
    works = [partial(_work, place, number, seed, point) for number, point in enumerate(points)]
    pids = [lab.fork(work, place / f"failed{number}") for number, work in enumerate(works)]
    statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    violations = [path.read_text()[-600:] for path in sorted(place.glob("failed*"))]
    violations += fresh_look(place)
    books = [read_book(place / f"book{number}") for number in range(count)]
    violations += check(books, place) + views.flaws(place / "home") + next_call(place)
    made = Counter(histories=1, processes=count, kills=sum(status == -9 for status in statuses))
    return {**made, "operations": sum(map(len, books)), "violations": violations}


def _prepare(place: Path) -> None:
    app = _open(place / "home")
    app.memory().context("talk").add([{"segment_id": "first", "text": "the first word", "type": "code"}])
    app.close()


def read_book(path: Path) -> list[Call]:
    """The calls of one process; the last one may have no end."""
    calls: list[Call] = []
    for line in path.read_text().splitlines() if path.exists() else ():
        match json.loads(line):
            case ["begin", at, name, arguments]:
                calls.append(Call(name, tuple(arguments), at))
            case ["end", at, answer]:
                begun = calls.pop()
                calls.append(Call(begun.name, begun.arguments, begun.begin, at, _frozen(answer)))
    return calls


def _frozen(answer: Any) -> Any:
    return tuple(map(_frozen, answer)) if isinstance(answer, list) else answer


def check(books: Sequence[Sequence[Call]], place: Path) -> list[str]:
    """What has no explanation."""
    file = store_files.file_of(place / "home")
    rows = store_files.query(file, _ROWS)
    found = [
        f"no order explains what happened to {text!r}: {_explained(books, rows, text)}"
        for text in TEXTS
        if not _text_is_explained(books, [row for row in rows if row[1] == text], text)
    ]
    used = Counter(call.arguments for book in books for call in book if call.name == "apply" and _succeeded(call))
    found += [f"plan {plan} was applied {times} times" for (plan,), times in used.items() if times > 1]
    undone = Counter(call.arguments for book in books for call in book if call.name == "undo" and _succeeded(call))
    found += [f"receipt {receipt} was undone {times} times" for (receipt,), times in undone.items() if times > 1]
    segments = dict(store_files.query(file, "select uid, stash is not null from segment where trash is null"))
    for own in SEGMENTS:
        state = "absent" if own not in segments else "stashed" if segments[own] else "active"
        calls = [
            [call for call in book if call.name.endswith("segment") and call.arguments == (own,)] for book in books
        ]
        if not explains(calls, "absent", segment_step, lambda left, state=state: left == state):  # type: ignore[misc]
            found.append(f"no order explains segment {own}, which is {state}: {calls}")
    return found


def _succeeded(call: Call) -> bool:
    return isinstance(call.answer, tuple)


def _text_is_explained(books: Sequence[Sequence[Call]], rows: Sequence[Any], text: str) -> bool:
    final = {(uid, receipt, bool(pinned), version) for uid, _, receipt, pinned, version in rows}
    ids = {uid for uid, *_ in rows}
    calls = [[call for call in book if _concerns(call, text, ids)] for book in books]
    told = {call.answer[1] for book in calls for call in book if _made_new(call)}
    receipts = {call.answer for book in books for call in book if call.name == "delete"}
    receipts |= {call.answer[0] for book in books for call in book if call.name == "apply" and _succeeded(call)}
    # A receipt that nobody was told of may be gone from the rows again: after a recovery nothing shows it.
    unheard = frozenset({r for _, r, *_ in final if r} - receipts) | {"unheard"}
    known = Known(frozenset(ids), frozenset(ids - told), unheard)
    return explains(calls, Slot(), lambda slot, call: step(slot, call, known), lambda slot: slot.rows() == final)


def _made_new(call: Call) -> bool:
    return call.name == "add" and _succeeded(call) and call.answer[0] == "new"


def _concerns(call: Call, text: str, ids: set[str]) -> bool:
    match call.name:
        case "add":
            return call.arguments == (text,)
        case "pin" | "delete" | "recover" | "get":
            return call.arguments[0] in ids
        case "undo" | "plan" | "apply":
            return True
    return False


def _explained(books: Sequence[Sequence[Call]], rows: Sequence[Any], text: str) -> str:
    ids = {row[0] for row in rows if row[1] == text}
    calls = sorted((call for book in books for call in book if _concerns(call, text, ids)), key=lambda call: call.begin)
    return f"{[(call.name, call.arguments, call.answer) for call in calls]} left {[r for r in rows if r[1] == text]}"[
        :1500
    ]
