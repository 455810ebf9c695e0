"""One workspace of 100,000 chunks: search once warm, what the shortcuts cost in recall, memory, files, first answer.

LoCoMo's turns are blended to that number (its own conversations are among them, whole), and its questions are
asked. The product is set beside itself without its shortcuts: with every word of a question instead of the
rarest, and then with twenty times as many candidates. Memory is that of fresh processes that only search.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from common import (
    Conversation,
    Figure,
    Question,
    Recall,
    arguments,
    at_most,
    blend,
    conversations_from,
    percentile,
    show_figures,
    table,
    write_json,
)
from memsweep import Memory, open_memory
from memsweep.memory import ranking
from memsweep.store import words

WORKSPACE = "large"
TARGET_MS = 25.0
MAY_LOSE = 0.01
LIMIT = 10
MEGA = 1_000_000
# A process that answers one question at a time, and says when it has.
READER = """
import json, sys
from memsweep import open_memory

memory = open_memory(sys.argv[2], home=sys.argv[1])
for line in sys.stdin:
    hits = memory.search(json.loads(line)).hits
    print(len(hits), flush=True)
"""


_KINDS = ("Rss", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty")


@dataclass(slots=True)
class Measured:
    milliseconds: list[float]
    recall: Recall


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--chunks", type=int, default=100_000, help="how many (%(default)s)")
    parser.add_argument("--home", type=Path, help="keep the store in this folder, and use it again if it is there")
    parser.add_argument("--questions", type=int, metavar="N", help="only so many, spread over all")
    options = parser.parse_args()
    conversations, what = conversations_from(options.data)
    questions = [question for conversation in conversations for question in conversation.questions]
    questions = questions[:: max(1, len(questions) // options.questions)] if options.questions else questions
    print(f"{what}, blended to {options.chunks:,} chunks; {len(questions)} questions", flush=True)
    with tempfile.TemporaryDirectory(prefix="memsweep-store-") as folder:
        home = options.home or Path(folder)
        figures, turn_of = fill(home, conversations, options.chunks)
        with open_memory(WORKSPACE, home=home) as memory:
            variants = compare(memory, questions, turn_of)
        figures += judged(variants, options.chunks) + sizes(home) + readers(home, [q.text for q in questions])
    rows = [
        (
            name,
            f"{percentile(m.milliseconds, 0.5):.1f}",
            f"{percentile(m.milliseconds, 0.95):.1f}",
            f"{m.recall.evidence:.3f}",
            f"{m.recall.all_evidence:.3f}",
        )
        for name, m in variants.items()
    ]
    print()
    print(table(("search", "p50 ms", "p95 ms", f"evidence recall@{LIMIT}", "all evidence"), rows), end="\n\n")
    show_figures(figures)
    shown = {
        name: {
            "p50_ms": percentile(m.milliseconds, 0.5),
            "p95_ms": percentile(m.milliseconds, 0.95),
            "evidence": m.recall.evidence,
            "all_evidence": m.recall.all_evidence,
        }
        for name, m in variants.items()
    }
    write_json(options.json, "store", figures, text=what, chunks=options.chunks, variants=shown)


def fill(home: Path, conversations: Sequence[Conversation], count: int) -> tuple[list[Figure], dict[str, str]]:
    """Add what is missing, one memory a turn; which turn each memory of the real conversations is."""
    note = home / "turns.json"
    if note.is_file():
        known: dict[str, str] = json.loads(note.read_text())
        return [], known
    real = sum(len(conversation.turns) for conversation in conversations)
    turn_of: dict[str, str] = {}
    began = time.perf_counter()
    with open_memory(WORKSPACE, home=home) as memory:
        for number, turn in enumerate(blend(conversations, count)):
            added = memory.remember(turn.text, thread_id=turn.thread)
            if number < real:
                turn_of[added.memory_id] = turn.id
        chunks = memory.stats().total_chunks
    seconds = time.perf_counter() - began
    note.write_text(json.dumps(turn_of))
    return [Figure("chunks", chunks), Figure("one add, mean over all", seconds / count * 1000, "ms")], turn_of


def compare(memory: Memory, questions: Sequence[Question], turn_of: dict[str, str]) -> dict[str, Measured]:
    """The product, and the same without its shortcuts; each is warm when it is timed."""
    ways = {
        "search()": _shortcuts(),
        "with every word": _shortcuts(small=10**9),
        "with every word, 2,000 candidates": _shortcuts(small=10**9, depth=2000, spread_from=2000),
    }
    return {name: _measure(memory, questions, turn_of, way) for name, way in ways.items()}


def _measure(
    memory: Memory, questions: Sequence[Question], turn_of: dict[str, str], way: AbstractContextManager[None]
) -> Measured:
    measured = Measured([], Recall())
    with way:
        for question in questions[:50]:  # the very first writes the vector file
            memory.search(question.text, limit=LIMIT)
        for question in questions:
            began = time.perf_counter()
            hits = memory.search(question.text, limit=LIMIT).hits
            measured.milliseconds.append((time.perf_counter() - began) * 1000)
            measured.recall.count(question, {turn_of.get(hit.passage.memory_id, "") for hit in hits})
    return measured


@contextmanager
def _shortcuts(**changed: int) -> Iterator[None]:
    """The product with other limits, for as long as the `with` lasts."""
    places = {"small": (words, "_SMALL"), "depth": (ranking, "DEPTH"), "spread_from": (ranking, "_SPREAD_FROM")}
    usual = {name: getattr(*places[name]) for name in changed}
    try:
        for name, value in changed.items():
            setattr(*places[name], value)
        yield
    finally:
        for name, value in usual.items():
            setattr(*places[name], value)


def judged(variants: dict[str, Measured], chunks: int) -> list[Figure]:
    product, every_word, exact = variants.values()
    p50 = percentile(product.milliseconds, 0.5)
    return [
        at_most(f"search p50 at {chunks:,} chunks, warm", p50, TARGET_MS, "ms"),
        at_most("recall lost by the word cut", every_word.recall.evidence - product.recall.evidence, MAY_LOSE, ""),
        Figure("recall lost by all cuts", exact.recall.evidence - product.recall.evidence),
    ]


def sizes(home: Path) -> list[Figure]:
    files = {path: path.stat().st_size for path in (home / "workspaces").iterdir()}
    return [
        Figure(f"{what} on disk", sum(size for path, size in files.items() if path.suffix in ends) / MEGA, "MB")
        for what, ends in (("database", {".db", ".db-wal"}), ("vector file", {".vec"}))
    ]


def readers(home: Path, questions: Sequence[str]) -> list[Figure]:
    """Fresh processes on the same workspace: one, a second while the first is there, one without a vector file."""
    with _reader(home) as one:
        one.ask(questions[:200])
        alone = one.memory()
        with _reader(home) as two:
            two.ask(questions[:200])
            beside = two.memory()
    for file in (home / "workspaces").glob("*.vec"):
        file.unlink()
    with _reader(home) as three:
        pass
    figures = [
        Figure("start to first answer", one.first_answer_seconds, "s"),
        Figure("start to first answer, second process", two.first_answer_seconds, "s"),
        Figure("start to first answer, vector file made again", three.first_answer_seconds, "s"),
    ]
    if not alone["Rss"]:
        return figures
    return [
        *figures,
        Figure("resident memory of a searching process", alone["Rss"], "MB"),
        Figure("resident memory of a second one", beside["Rss"], "MB"),
        Figure("second one: private", beside["Private_Clean"] + beside["Private_Dirty"], "MB"),
        Figure("second one: shared", beside["Shared_Clean"] + beside["Shared_Dirty"], "MB"),
    ]


class _Reader:
    def __init__(self, process: subprocess.Popen[str], began: float) -> None:
        self.process = process
        self.ask(["Where did she go last summer?"])
        self.first_answer_seconds = time.perf_counter() - began

    def ask(self, questions: Sequence[str]) -> None:
        assert self.process.stdin
        assert self.process.stdout
        for question in questions:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            self.process.stdout.readline()

    def memory(self) -> Mapping[str, float]:
        """Megabytes by kind; zeros without /proc."""
        sums: defaultdict[str, float] = defaultdict(float)
        smaps = Path(f"/proc/{self.process.pid}/smaps")
        for line in smaps.read_text().splitlines() if smaps.exists() else ():
            name, _, rest = line.partition(":")
            if name in _KINDS:
                sums[name] += int(rest.split()[0]) * 1024 / MEGA
        return sums


@contextmanager
def _reader(home: Path) -> Iterator[_Reader]:
    began = time.perf_counter()
    command = [sys.executable, "-c", READER, str(home), WORKSPACE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        yield _Reader(process, began)
        assert process.stdin
        process.stdin.close()


if __name__ == "__main__":
    main()
