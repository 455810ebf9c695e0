"""Campaign: one server, many calls; its memory levels off, and a call costs at the end what it cost before.

A seed lets one server work on a workspace that stays as large as it is: as much is deleted as is added, context windows
are filled and deleted, and the trash is purged by another process. In ten parts of the run, memory is read from /proc.
"""

import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memsweep import open_memory
from tests.support.client import RawServer, raw_server

PARTS = 10
HELD = 300
"""Memories in the workspace."""
PURGE_EVERY = 1_000
WORDS = "gateway deploy port April Lisbon Anna cart tax public staging database timeout retry cache token".split()


def run(seed: int, calls: int = 600_000) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        here = {"MEMSWEEP_WORKSPACE": "default"}
        with raw_server(home, "--profile", "full", executed=True, **here) as server:
            server.initialize()
            client = _Client(server, random.Random(seed))
            parts = []
            for part in range(PARTS):
                before = _processor_seconds(server.process.pid)
                for number in range(calls // PARTS):
                    client.act()
                    if number % PURGE_EVERY == PURGE_EVERY - 1:
                        with open_memory("default", home=home) as memory:
                            memory.sweep.purge(0, confirm=True)
                spent = _processor_seconds(server.process.pid) - before
                parts.append((_megabytes(server.process.pid), 1000 * spent / (calls // PARTS)))
                print(f"part {part}: {parts[-1][0]:.0f} MB, {parts[-1][1]:.2f} ms a call", file=sys.stderr, flush=True)
    first, last = parts[len(parts) // 2], parts[-1]
    return {
        "calls": calls // PARTS * PARTS,
        "megabytes_halfway": round(first[0]),
        "megabytes_at_the_end": round(last[0]),
        "violations": client.failures[:5] + (grown(parts) if calls >= 10_000 else []),
    }


def grown(parts: list[tuple[float, float]]) -> list[str]:
    """Say what grows in the second half; a tenth of a part is noise, and half of the time of a call may be others'."""
    half = parts[len(parts) // 2 - 1 :]
    said: list[str] = []
    if half[-1][0] > 1.1 * half[0][0]:
        said.append(f"memory grew from {half[0][0]:.0f} to {half[-1][0]:.0f} MB in the second half")
    if half[-1][1] > 1.5 * half[0][1]:
        said.append(f"a call took {half[0][1]:.2f} ms halfway and {half[-1][1]:.2f} at the end")
    return said


class _Client:
    """Calls the tools at random."""

    def __init__(self, server: RawServer, chance: random.Random) -> None:
        self._server, self._chance = server, chance
        self._held: list[str] = []
        self._segments = 0
        self.failures: list[str] = []
        self._acts: list[Callable[[], object]] = [
            *[self._add] * 3,
            *[self._search] * 3,
            *[lambda: self._call("get_memory", memory_id=chance.choice(self._held)) if self._held else None] * 2,
            self._update,
            self._context,
            lambda: self._call("briefing"),
            lambda: self._call("list_memories"),
            lambda: self._call("graph_entities"),
            lambda: self._call("prune_memory", strategy="expired"),
            lambda: self._call("graph_relate", from_entity="Anna", relation="uses", to_entity=chance.choice(WORDS)),
        ]

    def act(self) -> None:
        self._chance.choice(self._acts)()

    def _call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self._server.call(tool, arguments)
        self._server.lines.clear()
        result: dict[str, Any] = answer.get("result", {"isError": True, "content": answer})
        if result.get("isError"):
            self.failures.append(f"{tool}: {str(result['content'])[:200]}")
        return result.get("structuredContent") or {}

    def _text(self) -> str:
        return " ".join([f"note {self._chance.randrange(10**9)}", *self._chance.choices(WORDS, k=20)])

    def _add(self) -> None:
        if len(self._held) >= HELD:
            gone = self._held.pop(self._chance.randrange(HELD))
            self._call("delete_memory", memory_id=gone, confirm=True)
        else:
            self._held.append(self._call("add_memory", text=self._text())["memory_id"])

    def _search(self) -> None:
        self._call("search_memory", query=" ".join(self._chance.choices(WORDS, k=4)))

    def _update(self) -> None:
        if self._held:
            self._call("update_memory", memory_id=self._chance.choice(self._held), text=self._text())

    def _context(self) -> None:
        self._segments += 1
        if self._segments % 200 == 0:
            self._call("context_delete", project_id="p", confirm=True)
        else:
            said = {"segment_id": f"s{self._segments}", "text": self._text()}
            self._call("context_add", project_id="p", segments=[said])


def _megabytes(process: int) -> float:
    said = Path(f"/proc/{process}/status").read_text().split("RssAnon:")[1]
    return int(said.split()[0]) / 1024


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
