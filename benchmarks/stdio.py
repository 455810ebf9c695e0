"""Over stdio, as a client meets it: the time to start, to add and to search, at 1,000 and at 10,000 memories.

Beside the real server runs an empty one with a single echo tool on the same SDK. The two are called in turns,
so that the noise of the machine falls on both: what is left between them is ours. Where there is Node, the
reference server `@modelcontextprotocol/server-memory` is called too. The stores are filled through the library;
everything that is timed goes over the pipe.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from common import (
    Figure,
    Turn,
    arguments,
    at_most,
    blend,
    conversations_from,
    percentile,
    show_figures,
    table,
    write_json,
)
from memsweep import open_memory

SMALL, LARGE = 1_000, 10_000
ADD_ABOVE_ECHO_MS, SEARCH_ABOVE_ECHO_MS = 2.0, 8.0
ADD_GROWTH, SEARCH_GROWTH, START_CPU = 2.0, 3.0, 1.3
SHARES = (0.1, 0.5, 0.95)  # the first shows what is left when nobody else works on the machine
BLOCK = 10  # calls in a row to the same server
REFERENCE = "@modelcontextprotocol/server-memory"
ECHO = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(text: str) -> str:
    return text


server.run("stdio")
"""
Mode = Literal["legacy", "auto"]
Call = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Start:
    wall_seconds: float
    cpu_seconds: float | None


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--calls", type=int, default=200, help="timed calls of each kind (%(default)s)")
    parser.add_argument("--starts", type=int, default=7, help="timed starts of each server (%(default)s)")
    parser.add_argument("--mode", choices=("legacy", "auto"), default="legacy", help="protocol generation")
    parser.add_argument("--reference", type=Path, metavar="DIR", help="where npm has the reference server already")
    parser.add_argument("--no-reference", action="store_true", help="leave the reference server out")
    options = parser.parse_args()
    conversations, what = conversations_from(options.data)
    questions = [question.text for conversation in conversations for question in conversation.questions]
    turns = list(blend(conversations, LARGE + 2 * (options.calls + BLOCK)))
    print(f"{what}; {options.calls} calls and {options.starts} starts of each; protocol: {options.mode}", flush=True)
    with tempfile.TemporaryDirectory(prefix="memsweep-stdio-") as folder:
        bench = Bench(Path(folder), turns, questions, options.calls, options.mode)
        reference = None if options.no_reference else reference_server(options.reference or bench.folder / "npm")
        bench.fill()
        starts = asyncio.run(bench.starts(options.starts, reference))
        calls = asyncio.run(bench.ours_and_echo())
        if reference:
            calls |= asyncio.run(bench.reference(reference))
    report(starts, calls, options.json, text=what, mode=options.mode, reference=reference is not None)


def report(starts: dict[str, list[Start]], calls: dict[str, list[float]], file: Path | None, **more: Any) -> None:
    print("\nfrom spawn to initialised, median")
    started = [(name, f"{wall(them):.2f}", _seconds(cpu(them))) for name, them in starts.items()]
    print(table(("server", "wall s", "CPU s"), started), end="\n\n")
    called = [(name, *(f"{percentile(times, share):.2f}" for share in SHARES)) for name, times in calls.items()]
    print(table(("call", *(f"p{round(share * 100)} ms" for share in SHARES)), called), end="\n\n")
    figures = judged(starts, calls)
    show_figures(figures)
    start_json = {name: {"wall_s": wall(them), "cpu_s": cpu(them)} for name, them in starts.items()}
    call_json = {
        name: {f"p{round(share * 100)}_ms": percentile(times, share) for share in SHARES}
        for name, times in calls.items()
    }
    write_json(file, "stdio", figures, starts=start_json, calls=call_json, **more)


def judged(starts: dict[str, list[Start]], calls: dict[str, list[float]]) -> list[Figure]:
    p50 = {name: percentile(times, 0.5) for name, times in calls.items()}
    figures = []
    for name, room, growth in (("add", ADD_ABOVE_ECHO_MS, ADD_GROWTH), ("search", SEARCH_ABOVE_ECHO_MS, SEARCH_GROWTH)):
        small, large, echo = p50[f"{name}, {SMALL:,}"], p50[f"{name}, {LARGE:,}"], p50[f"echo, as {name}"]
        limit = echo + room
        figures.append(at_most(f"{name} p50 at {LARGE:,}", large, limit, "ms", f" (echo + {room:g})"))
        figures.append(at_most(f"{name} growth {SMALL:,} -> {LARGE:,}", large / small, growth, "x"))
    ours, empty = cpu(starts["memsweep"]), cpu(starts["echo"])
    if ours is not None and empty is not None:
        figures.append(at_most("CPU until initialised / empty server", ours / empty, START_CPU, "x"))
    return figures


def wall(starts: Sequence[Start]) -> float:
    return statistics.median(start.wall_seconds for start in starts)


def cpu(starts: Sequence[Start]) -> float | None:
    known = [start.cpu_seconds for start in starts if start.cpu_seconds is not None]
    return statistics.median(known) if known else None


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


class Bench:
    """The servers, what they are filled with, and what they are asked."""

    def __init__(self, folder: Path, turns: Sequence[Turn], questions: Sequence[str], calls: int, mode: Mode) -> None:
        self.folder, self.turns, self.calls, self.mode = folder, turns, calls, mode
        self.questions = list(itertools.islice(itertools.cycle(questions), calls + BLOCK))
        home = {"MEMSWEEP_HOME": str(folder / "home")}
        self.memsweep = StdioServerParameters(command=sys.executable, args=["-m", "memsweep", "serve"], env=home)
        self.echo = StdioServerParameters(command=sys.executable, args=["-c", ECHO])

    def fill(self) -> None:
        """Two workspaces, by the number of their memories."""
        for size in (SMALL, LARGE):
            with open_memory(f"m{size}", home=self.folder / "home") as memory:
                for turn in self.turns[:size]:
                    memory.remember(turn.text, thread_id=turn.thread)

    async def starts(self, times: int, reference: StdioServerParameters | None) -> dict[str, list[Start]]:
        servers = {"memsweep": self.memsweep, "echo": self.echo}
        if reference:
            servers[REFERENCE] = _with_file(reference, self.folder / "start.jsonl")
        measured: dict[str, list[Start]] = {name: [] for name in servers}
        for turn in range(times + 1):  # the first one of each fills the caches and does not count
            for name, server in servers.items():
                start = await self._start(server)
                measured[name] += [start] if turn else []
        return measured

    async def _start(self, server: StdioServerParameters) -> Start:
        others, began = _children(), time.perf_counter()
        async with self._connected(server):
            seconds = time.perf_counter() - began
            return Start(seconds, cpu_seconds(_children() - others))

    @asynccontextmanager
    async def _connected(self, server: StdioServerParameters) -> AsyncIterator[Client]:
        with open(os.devnull, "w") as nowhere:
            async with Client(stdio_client(server, errlog=nowhere), mode=self.mode) as client:
                yield client

    async def ours_and_echo(self) -> dict[str, list[float]]:
        async with self._connected(self.memsweep) as ours, self._connected(self.echo) as echo:
            await ours.list_tools()
            await echo.list_tools()
            search = [self._search(ours, echo, question, await _length(ours, question)) for question in self.questions]
            measured = await _in_turns(search)
            fresh = iter(self.turns[LARGE:])
            adding = [self._add(ours, echo, turn) for turn in itertools.islice(fresh, self.calls + BLOCK)]
            measured |= await _in_turns(adding)
            between = [self._search_after_add(ours, turn, q) for turn, q in zip(fresh, self.questions, strict=False)]
            return measured | await _in_turns(between)

    def _search(self, ours: Client, echo: Client, question: str, answer_length: int) -> dict[str, Call]:
        def ask(size: int) -> Call:
            return lambda: _call(ours, "search_memory", query=question, workspace_id=f"m{size}")

        return {
            f"search, {SMALL:,}": ask(SMALL),
            f"search, {LARGE:,}": ask(LARGE),
            "echo, as search": lambda: _call(echo, "echo", text=question),
            "echo, as long as the answer": lambda: _call(echo, "echo", text="x" * answer_length),
        }

    def _add(self, ours: Client, echo: Client, turn: Turn) -> dict[str, Call]:
        def add(size: int) -> Call:
            arguments = {"text": turn.text, "thread_id": turn.thread, "workspace_id": f"m{size}"}
            return lambda: _call(ours, "add_memory", **arguments)

        return {
            f"add, {SMALL:,}": add(SMALL),
            f"add, {LARGE:,}": add(LARGE),
            "echo, as add": lambda: _call(echo, "echo", text=turn.text),
        }

    def _search_after_add(self, ours: Client, turn: Turn, question: str) -> dict[str, Call]:
        def both(size: int) -> Call:
            async def call() -> float:
                arguments = {"text": turn.text, "thread_id": turn.thread, "workspace_id": f"m{size}"}
                await _call(ours, "add_memory", **arguments)
                return await _timed(lambda: _call(ours, "search_memory", query=question, workspace_id=f"m{size}"))

            return call

        return {f"search after an add, {SMALL:,}": both(SMALL), f"search after an add, {LARGE:,}": both(LARGE)}

    async def reference(self, server: StdioServerParameters) -> dict[str, list[float]]:
        async with AsyncExitStack() as stack:
            clients = {
                size: await stack.enter_async_context(
                    self._connected(_with_file(server, self.folder / f"reference-{size}.jsonl"))
                )
                for size in (SMALL, LARGE)
            }
            for size, client in clients.items():
                await _create(client, self.turns[:size])
            search = [
                {
                    f"reference search, {size:,}": _later(_call, client, "search_nodes", query=question)
                    for size, client in clients.items()
                }
                for question in self.questions
            ]
            adding = [
                {f"reference add, {size:,}": _later(_create, client, [turn]) for size, client in clients.items()}
                for turn in self.turns[LARGE : LARGE + self.calls + BLOCK]
            ]
            return await _in_turns(search) | await _in_turns(adding)


async def _in_turns(rounds: Sequence[dict[str, Call]]) -> dict[str, list[float]]:
    """Milliseconds of every call, by its name; ten calls of a kind, then ten of another; the first ten do not count.

    Noise that lasts longer than that falls on all alike, and each server is as warm as one that is in use. Which
    kind comes after which is left to chance.
    """
    chance = random.Random(3)
    measured: dict[str, list[float]] = {name: [] for name in rounds[0]}
    for start in range(0, len(rounds), BLOCK):
        for name in chance.sample(list(measured), len(measured)):
            times = [await _timed(calls[name]) for calls in rounds[start : start + BLOCK]]
            measured[name] += times if start else []
    return measured


async def _timed(call: Call) -> float:
    """Milliseconds; a call that takes its own time returns them."""
    began = time.perf_counter()
    own = await call()
    return own if isinstance(own, float) else (time.perf_counter() - began) * 1000


async def _call(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    if answer.is_error:
        raise RuntimeError(f"{tool}: {answer.content}")
    return answer


def _later(call: Callable[..., Awaitable[Any]], *values: Any, **named: Any) -> Call:
    return lambda: call(*values, **named)


async def _length(client: Client, question: str) -> int:
    """How long the answer to a question is, in characters; a call that also warms the server up."""
    answer = await _call(client, "search_memory", query=question, workspace_id=f"m{LARGE}")
    return sum(len(part.text) for part in answer.content)


async def _create(client: Client, turns: Sequence[Turn]) -> None:
    for start in range(0, len(turns), 500):
        entities = [
            {"name": turn.id, "entityType": "turn", "observations": [turn.text]} for turn in turns[start : start + 500]
        ]
        await _call(client, "create_entities", entities=entities)


def reference_server(folder: Path) -> StdioServerParameters | None:
    """The reference server, installed in `folder` if it is not there; None, and why, where that cannot be."""
    node, npm = shutil.which("node"), shutil.which("npm")
    script = folder / "node_modules" / REFERENCE / "dist" / "index.js"
    if node is None or (npm is None and not script.is_file()):
        print("The reference server is left out: there is no Node here.")
        return None
    if npm is not None and not script.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", REFERENCE]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not script.is_file():
            print(f"The reference server is left out: npm could not install it. {done.stderr.strip()[-300:]}")
            return None
    return StdioServerParameters(command=node, args=[str(script)])


def _with_file(server: StdioServerParameters, path: Path) -> StdioServerParameters:
    return server.model_copy(update={"env": {"MEMORY_FILE_PATH": str(path)}})


def _children() -> set[int]:
    """The processes that this one has started; none where there is no /proc."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[1]) == os.getpid():
            found.add(int(status.parent.name))
    return found


def cpu_seconds(processes: set[int]) -> float | None:
    if len(processes) != 1:
        return None
    fields = Path(f"/proc/{processes.pop()}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


if __name__ == "__main__":
    main()
