"""Over HTTP beside standard input and output: a search and an add at 10,000 memories, with one client and with eight.

Over HTTP all clients share one server; over stdio each has a server of its own, as clients start them. Both work on the
same home, and are called in turns: some rounds of one, then some of the other, so that noise of the machine falls on
both. Every client is the SDK's, so its own work is in both. Eight servers work on all cores, and one on one: that, and
the lock of its interpreter, is what eight clients see.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from common import Figure, arguments, at_most, blend, conversations_from, percentile, show_figures, table, write_json
from memsweep import open_memory

SIZE, CLIENTS, BLOCK = 10_000, 8, 5
SHARES = (0.5, 0.95)
MOST_ABOVE_STDIO_MS = 3.0
"""For one client: a request costs the same whatever it asks for, so a ratio would blame it for a quick answer."""
MOST_TIMES_STDIO = 3.0
"""For several: stdio has a process for each of them."""
_ADDRESS = re.compile(r"at (http://\S+)")
Round = Callable[[Client, int], Any]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--memories", type=int, default=SIZE, help="in the workspace (%(default)s)")
    parser.add_argument("--rounds", type=int, default=40, help="timed calls of each kind by each client (%(default)s)")
    options = parser.parse_args()
    conversations, what = conversations_from(options.data)
    questions = [question.text for conversation in conversations for question in conversation.questions]
    texts = [turn.text for turn in blend(conversations, options.memories)]
    print(f"{what}; {options.memories:,} memories; {options.rounds} rounds", flush=True)
    with tempfile.TemporaryDirectory(prefix="memsweep-http-") as folder:
        home = Path(folder) / "home"
        with open_memory("default", home=home) as memory:
            for text in texts:
                memory.remember(text)
        with serving(home) as address:
            measured = asyncio.run(measure(home, address, questions, options.rounds))
    report(measured, options.json, what)


def report(measured: dict[str, list[float]], file: Path | None, what: str) -> None:
    rows = [(name, *(f"{percentile(times, share):.1f}" for share in SHARES)) for name, times in measured.items()]
    print(table(("call", "p50 ms", "p95 ms"), rows), end="\n\n")
    figures = list(judged(measured))
    show_figures(figures)
    calls = {name: {f"p{share * 100:g}_ms": percentile(t, share) for share in SHARES} for name, t in measured.items()}
    write_json(file, "over_http", figures, calls=calls, text=what)


def judged(measured: dict[str, list[float]]) -> Iterator[Figure]:
    for kind in ("search", "add"):
        http, stdio = (percentile(measured[f"{kind}, {way}, 1"], 0.5) for way in ("http", "stdio"))
        yield at_most(f"{kind} p50, one client, HTTP - stdio", http - stdio, MOST_ABOVE_STDIO_MS, "ms")
        http, stdio = (percentile(measured[f"{kind}, {way}, {CLIENTS}"], 0.5) for way in ("http", "stdio"))
        yield at_most(f"{kind} p50, clients: {CLIENTS}, HTTP / stdio", http / stdio, MOST_TIMES_STDIO, "x")


async def measure(home: Path, address: str, questions: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every call, by kind, way and number of clients."""
    number = itertools.count()

    async def search(client: Client, turn: int) -> Any:
        return await client.call_tool("search_memory", {"query": questions[turn % len(questions)]})

    async def add(client: Client, turn: int) -> Any:
        return await client.call_tool("add_memory", {"text": f"Note {next(number)} of a busy day at the harbour."})

    kinds: dict[str, Round] = {"search": search, "add": add}
    measured: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        ways = {
            "http": [await stack.enter_async_context(over_http(address, home)) for _ in range(CLIENTS)],
            "stdio": [await stack.enter_async_context(over_stdio(home)) for _ in range(CLIENTS)],
        }
        for start in range(-BLOCK, rounds, BLOCK):  # the first block fills the caches and does not count
            for (kind, call), clients, (way, known) in itertools.product(kinds.items(), (1, CLIENTS), ways.items()):
                times = [
                    await asyncio.gather(*(timed(call, each, turn) for each in known[:clients]))
                    for turn in _block(start)
                ]
                if start >= 0:
                    measured.setdefault(f"{kind}, {way}, {clients}", []).extend(itertools.chain(*times))
    return measured


def _block(start: int) -> range:
    return range(max(start, 0), max(start, 0) + BLOCK)


async def timed(call: Round, client: Client, turn: int) -> float:
    began = time.perf_counter()
    answer = await call(client, turn)
    if answer.is_error:
        raise RuntimeError(str(answer.content))
    return (time.perf_counter() - began) * 1000


@asynccontextmanager
async def over_http(address: str, home: Path) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {(home / 'http-token').read_text().strip()}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http), mode="auto") as client,
    ):
        await client.list_tools()
        yield client


@asynccontextmanager
async def over_stdio(home: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "memsweep", "serve"], env={"MEMSWEEP_HOME": str(home)}
    )
    with open(os.devnull, "w") as nowhere:
        async with Client(stdio_client(server, errlog=nowhere), mode="auto") as client:
            await client.list_tools()
            yield client


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """The address of a server of its own process; its limit on requests is not what is measured."""
    env = {**os.environ, "MEMSWEEP_HOME": str(home), "MEMSWEEP_HTTP_REQUESTS_PER_SECOND": "100000"}
    command = [sys.executable, "-m", "memsweep", "serve", "--http", "--port", "0"]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found = _ADDRESS.search(process.stderr.readline())
            if found is None:
                raise RuntimeError("the server did not say where it is")
            yield found.group(1)
        finally:
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    main()
