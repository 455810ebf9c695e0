"""Campaign: one server with few descriptors, and many more workspaces than it can keep open.

A seed remembers a note in each of them, a few calls at a time, comes back to some of them at random, and has a writer
of another process stand still in one: whoever asks for another workspace is answered meanwhile. Descriptors stay below
the limit, and memory levels off.
"""

import json
import random
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.support import store_files
from tests.support.client import RawServer, raw_server

WORKSPACES, DESCRIPTORS = 5000, 256
AT_ONCE = 16
STILL = 40  # calls that wait in the workspace that nobody else can write to


def run(seed: int, workspaces: int = WORKSPACES, descriptors: int = DESCRIPTORS) -> dict[str, int | list[str]]:
    chance, violations = random.Random(seed), list[str]()
    with tempfile.TemporaryDirectory(prefix="memsweep-many-") as place:
        home = Path(place) / "home"
        limited = ("sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh")
        with raw_server(home, "--profile", "full", prefix=limited, MEMSWEEP_WORKSPACE="w0") as server:
            server.initialize()
            most = kilobytes = 0
            names = [f"w{number}" for number in range(workspaces)]
            for number in range(0, workspaces, AT_ONCE):
                violations += _done(server, _adds(names[number : number + AT_ONCE], "The harbour was rebuilt."))
                again = chance.sample(names[: number + AT_ONCE], 2)
                violations += _done(server, _searches(again))
                most = max(most, _open_files(server))
                if not kilobytes and number >= workspaces // 4:
                    kilobytes = _kilobytes(server)
            growth = 100 * _kilobytes(server) // kilobytes
            others = chance.sample(names[1:], min(50, workspaces - 1))
            violations += _beside_one_that_stands_still(server, home, others)
            answers = len(server.lines)
    if most >= descriptors:
        violations.append(f"seed {seed}: {most} descriptors were open, of {descriptors}")
    if growth > 150:
        violations.append(f"seed {seed}: memory grew to {growth} % after the first quarter")
    counts = {"workspaces": workspaces, "answers": answers, "descriptors": most, "percent_of_memory": growth}
    return {**counts, "violations": [f"seed {seed}: {each}" for each in violations]}


def _beside_one_that_stands_still(server: RawServer, home: Path, others: list[str]) -> list[str]:
    with store_files.held(home, "w0"):
        waiting = [_send(server, call) for call in _adds(["w0"] * STILL, "The violin came.")]
        wrong = _done(server, [*_adds(others, "The comet came."), *_searches(others)], waiting)
    left = set(waiting)
    while left:
        answer = _heard(server)
        left -= {answer["id"]}
        wrong += _said_wrong(answer)
    return wrong


def _adds(names: Iterable[str], text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    return (("add_memory", {"workspace_id": name, "text": f"{text} Number {at}."}) for at, name in enumerate(names))


def _searches(names: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    return (("search_memory", {"workspace_id": name, "query": "Was the harbour rebuilt?"}) for name in names)


def _send(server: RawServer, call: tuple[str, dict[str, Any]]) -> int:
    return server.send("tools/call", {"name": call[0], "arguments": call[1]})


def _done(server: RawServer, calls: Iterable[tuple[str, dict[str, Any]]], waiting: Iterable[int] = ()) -> list[str]:
    """What was wrong with the answers; one to a call that has to wait is wrong as well."""
    asked, wrong = {_send(server, call) for call in calls}, list[str]()
    while asked:
        answer = _heard(server)
        if answer["id"] in waiting:
            wrong.append(f"a call that had to wait was answered: {answer}"[:300])
        asked -= {answer["id"]}
        wrong += _said_wrong(answer)
    return wrong


def _heard(server: RawServer) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(server.line())
    return answer


def _said_wrong(answer: dict[str, Any]) -> list[str]:
    result = answer.get("result", {"isError": True})
    return [f"{answer}"[:300]] if result.get("isError") else []


def _open_files(server: RawServer) -> int:
    return sum(1 for _ in Path(f"/proc/{server.process.pid}/fd").iterdir())


def _kilobytes(server: RawServer) -> int:
    said = Path(f"/proc/{server.process.pid}/status").read_text().split("VmRSS:")[1]
    return int(said.split()[0])
