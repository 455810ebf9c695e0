"""Campaign: every door at once on one workspace, with kills; what was acknowledged is there, and nothing twice.

A seed starts six processes that remember, update, delete and bring back notes of their own: two over stdio, two over
HTTP, one at the command line and one with the library. Servers and commands are killed at random moments, in the middle
of a call or between two, and others take their place. A call without an answer may have been done or not; every other
one must have been done, once.
"""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

from memsweep.errors import MemsweepError
from tests.faults import doors, lab
from tests.faults.kills import fresh_look, next_call
from tests.support import store_files
from tests.support.http import HttpServer
from tests.support.warm_python import warm_python

CALLS = 250
KILLS = 0.02
KINDS = ("stdio", "stdio", "http", "http", "command", "library")
GONE = "gone"
HERE = {"MEMSWEEP_WORKSPACE": "default"}


class Lost(Exception):
    """The door was killed before it answered."""


class Door(Protocol):
    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]: ...
    def kill(self) -> None: ...


class Stdio:
    """A server of our own over its pipes; the next call after a kill starts another."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._child: doors.Child | None = None
        self._number = 1

    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        until = time.monotonic() + doors.PATIENCE
        if self._child is None:
            self._child = doors.start(["serve", "--profile", "full"], self._place, doors.NOWHERE, execute=False, **HERE)
            self._child.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": doors._HELLO})
            if self._child.answer(1, until) is None:
                raise self._lost()
            self._child.send({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self._child.send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        said = self._child.answer(self._number, until)
        if said is None:
            raise self._lost()
        return _result(said["result"])

    def _lost(self) -> Lost:
        assert self._child is not None
        self._child.kill()
        self._child.wait()
        self._child = None
        return Lost()

    def kill(self) -> None:
        if self._child is not None:
            self._child.kill()


class Http:
    """The same over HTTP, with the first token."""

    def __init__(self, place: Path, number: int) -> None:
        self._home, self._log = place / "home", place / f"http{number}.log"
        self._server: HttpServer | None = None

    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        if self._server is None:
            self._server = HttpServer(self._home, self._log, ["--profile", "full"], warm=True, **HERE)
        try:
            return _result(self._server.call(self._server.first_token, tool, **arguments))
        except (OSError, HTTPException):
            self._server.process.kill()
            self._server.process.wait()
            self._server = None
            raise Lost from None

    def kill(self) -> None:
        if self._server is not None:
            self._server.process.send_signal(signal.SIGKILL)


class Command:
    """A command each time; the one under way is what a kill ends, at a moment that `chance` says."""

    def __init__(self, place: Path, chance: random.Random) -> None:
        self._place, self._chance, self._kill_next = place, chance, False

    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        words: dict[str, Callable[[], list[str]]] = {
            "add_memory": lambda: ["remember", arguments["text"]],
            "update_memory": lambda: ["update", arguments["memory_id"], arguments["text"]],
            "delete_memory": lambda: ["delete", arguments["memory_id"], "--yes"],
            "undo": lambda: ["undo", arguments["receipt_id"]],
            "get_memory": lambda: ["get", arguments["memory_id"]],
        }
        after, self._kill_next = (self._chance.random() * 0.05 if self._kill_next else None), False
        done = doors.perform(doors.Act(command=[*words[tool](), "--json"]), self._place, after_seconds=after, **HERE)
        heard = (done.answer or "").strip()
        if done.killed or (after is not None and not (done.acknowledged and heard.endswith("}"))):
            raise Lost  # also where it came to its end, and we did not wait for what it says
        if not done.acknowledged:
            raise AssertionError(f"{tool}: {done.refusal} {done.log[-300:]}")
        answer: Mapping[str, Any] = json.loads(heard) if heard else {}
        return answer

    def kill(self) -> None:
        self._kill_next = True


class Library:
    """The library in this process, which nobody kills."""

    def __init__(self, place: Path) -> None:
        self._memory = lab.open_app(place / "home").memory("default")

    def call(self, tool: str, **arguments: Any) -> Mapping[str, Any]:
        memory = self._memory
        match tool:
            case "add_memory":
                return {"memory_id": memory.remember(arguments["text"]).memory_id}
            case "update_memory":
                memory.update(arguments["memory_id"], text=arguments["text"])
                return {}
            case "delete_memory":
                return {"receipt_id": memory.delete(arguments["memory_id"], confirm=True).id}
            case "undo":
                memory.sweep.undo(arguments["receipt_id"])
                return {}
        return {"text": memory.get(arguments["memory_id"]).text}

    def kill(self) -> None:
        pass


def _door(place: Path, number: int, chance: random.Random) -> Door:
    match KINDS[number]:
        case "stdio":
            return Stdio(place)
        case "http":
            return Http(place, number)
        case "command":
            return Command(place, random.Random(chance.random()))  # of its own: a timer decides when it is asked
    return Library(place)


def _result(result: Mapping[str, Any]) -> Mapping[str, Any]:
    if result.get("isError"):
        raise AssertionError(result["content"][0]["text"])
    answer: Mapping[str, Any] = result.get("structuredContent") or {}
    return answer


@dataclass
class Book:
    """What one process knows: of each note the texts that it may have now, and what it did."""

    notes: dict[str, list[str]] = field(default_factory=dict)
    """By id; `gone` is what a deleted one says."""
    perhaps: list[str] = field(default_factory=list)
    """Texts of notes that were being added when the door was killed."""
    acknowledged: int = 0
    kills: int = 0
    wrong: list[str] = field(default_factory=list)


class Worker:
    """One process at one door, with notes of its own."""

    def __init__(self, place: Path, number: int, chance: random.Random) -> None:
        self._number, self._chance, self.book = number, chance, Book()
        self._door = _door(place, number, chance)
        self._receipts: dict[str, tuple[str, str]] = {}

    def work(self, calls: int) -> None:
        for turn in range(calls):
            killer = None
            if self._chance.random() < KILLS:
                killer = threading.Timer(self._chance.random() * 0.02, self._door.kill)
                killer.start()
                self.book.kills += KINDS[self._number] != "library"
            self._chance.choice((self._add,) * 6 + (self._update, self._update, self._delete, self._undo, self._get))(
                turn
            )
            if killer is not None:
                killer.join()

    def _text(self, turn: int) -> str:
        return f"Note {turn} of process {self._number}: the {self._chance.choice(('harbour', 'violin', 'comet'))} came."

    def _ask(self, tool: str, **arguments: Any) -> Mapping[str, Any] | None:
        try:
            answer = self._door.call(tool, **arguments)
        except Lost:
            return None
        except (AssertionError, MemsweepError) as error:
            self.book.wrong.append(f"{KINDS[self._number]} {tool} {arguments}: {error}"[:500])
            return None
        self.book.acknowledged += 1
        return answer

    def _known(self) -> str | None:
        sure = [uid for uid, texts in self.book.notes.items() if len(texts) == 1 and texts != [GONE]]
        return self._chance.choice(sure) if sure else None

    def _add(self, turn: int) -> None:
        text = self._text(turn)
        answer = self._ask("add_memory", text=text)
        if answer is None:
            self.book.perhaps.append(text)
        else:
            self.book.notes[answer["memory_id"]] = [text]

    def _update(self, turn: int) -> None:
        if uid := self._known():
            text = self._text(turn)
            done = self._ask("update_memory", memory_id=uid, text=text)
            self.book.notes[uid] = [text] if done is not None else [*self.book.notes[uid], text]

    def _delete(self, turn: int) -> None:
        if uid := self._known():
            done = self._ask("delete_memory", memory_id=uid, confirm=True)
            before = self.book.notes[uid]
            self.book.notes[uid] = [GONE] if done is not None else [*before, GONE]
            if done is not None:
                self._receipts[uid] = (done["receipt_id"], before[0])

    def _undo(self, turn: int) -> None:
        if self._receipts:
            uid = self._chance.choice(sorted(self._receipts))
            receipt, text = self._receipts.pop(uid)
            done = self._ask("undo", receipt_id=receipt)
            self.book.notes[uid] = [text] if done is not None else [GONE, text]

    def _get(self, turn: int) -> None:
        if uid := self._known():
            done = self._ask("get_memory", memory_id=uid)
            if done is not None and done["text"] != self.book.notes[uid][0]:
                self.book.wrong.append(f"{uid} is {done['text']!r}, not {self.book.notes[uid]}")


def _work(place: Path, number: int, seed: int, calls: int) -> None:
    worker = Worker(place / f"process{number}", number, random.Random(f"{seed} {number}"))
    worker.work(calls)
    worker._door.kill()
    (place / f"book{number}").write_text(json.dumps(asdict(worker.book)))


def run(seed: int, calls: int = CALLS) -> dict[str, Any]:
    warm_python()
    with lab.place("doors") as place:
        (place / "home").mkdir(mode=0o700)
        for number in range(len(KINDS)):
            (place / f"process{number}").mkdir()
            (place / f"process{number}" / "home").symlink_to(place / "home")
        pids = [
            lab.fork(partial(_work, place, number, seed, calls), place / f"failed{number}")
            for number in range(len(KINDS))
        ]
        for pid in pids:
            os.waitpid(pid, 0)
        violations = [path.read_text()[-900:] for path in sorted(place.glob("failed*"))]
        books = [Book(**json.loads(path.read_text())) for path in sorted(place.glob("book*"))]
        violations += [said for book in books for said in book.wrong]
        violations += fresh_look(place) + _compared(place, books) + next_call(place)
        return {
            "acknowledged": sum(book.acknowledged for book in books),
            "kills": sum(book.kills for book in books),
            "violations": violations,
        }


def _compared(place: Path, books: list[Book]) -> list[str]:
    """What is there and what the processes were told, side by side."""

    file = store_files.file_of(place / "home")
    there = dict(store_files.query(file, "select uid, text from memory where trash is null"))
    wrong = []
    for uid, texts in ((uid, texts) for book in books for uid, texts in book.notes.items()):
        if there.pop(uid, GONE) not in texts:
            wrong.append(f"{uid} should be one of {texts}")
    perhaps = Counter(text for book in books for text in book.perhaps)
    wrong += [f"nobody added {uid}: {text!r}" for uid, text in there.items() if text not in perhaps]
    wrong += [f"{text!r} is there {times} times" for text, times in Counter(there.values()).items() if times > 1]
    return wrong
