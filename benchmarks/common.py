"""What the benchmarks share: the conversations they use, percentiles, and one way to report.

A benchmark reports and never fails on a figure: the target stands beside it. The LoCoMo conversations are
read from outside the repository (their licence forbids a copy); without them a made-up set takes their place.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import re
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_DATA = ROOT.parent / "shared" / "data" / "retention"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# None of them speaks in LoCoMo: a question about Caroline must not have a second, mixed-up answer.
_NAMES = (
    "Alice Bruno Chloe Daniel Elena Felix Grace Hugo Ines Jonas Katja Leo Mina Nora Oscar Priya Quentin Rosa Stefan "
    "Tara Umar Vera Walter Xenia Yusuf Zoe Amir Bella Carlos Dora Emil Fiona"
).split()
_SPEAKER = re.compile(r"^(?:\[.*?\] )?(\w+): ")


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said; `thread` is the session it was said in."""

    id: str
    thread: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """`need`: for each piece of evidence, the turns that would do."""

    text: str
    need: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def load_locomo(folder: Path) -> list[Conversation]:
    """The conversations, or none where the file is absent."""
    path = folder / "locomo.jsonl.gz"
    if not path.is_file():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_conversation(json.loads(line)) for line in lines]


def _conversation(entry: Mapping[str, Any]) -> Conversation:
    name = entry["id"]
    return Conversation(
        id=name,
        turns=tuple(
            Turn(f"{name}/{part['id']}", f"{name}-s{part['session']}", part["text"]) for part in entry["segments"]
        ),
        questions=tuple(
            Question(probe["question"], tuple(tuple(f"{name}/{turn}" for turn in choices) for choices in probe["need"]))
            for probe in entry["probes"]
            if probe["question"]
        ),
    )


def make_up(count: int = 5, turns: int = 600, questions: int = 150) -> list[Conversation]:
    """Conversations of made-up words that are as frequent as words are; a question asks for words of one turn."""
    chance = random.Random(7)
    syllables = [first + second for first in "bdfgklmnprstvz" for second in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(8000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]

    def turn(name: str, number: int) -> Turn:
        said = chance.choices(words, weights, k=chance.randint(8, 40))
        speaker = chance.choice(("Ann", "Bob"))
        return Turn(f"{name}/{number}", f"{name}-s{number // 25}", f"{speaker}: {' '.join(said).capitalize()}.")

    def question(turns: Sequence[Turn]) -> Question:
        asked = chance.choice(turns)
        return Question(" ".join(chance.sample(asked.text.split()[1:], 6)), ((asked.id,),))

    conversations = []
    for index in range(count):
        said = tuple(turn(f"made-up-{index}", number) for number in range(turns))
        conversations.append(Conversation(f"made-up-{index}", said, tuple(question(said) for _ in range(questions))))
    return conversations


def blend(conversations: Sequence[Conversation], count: int) -> Iterator[Turn]:
    """`count` distinct turns: the real ones first, then conversations mixed from their sentences, with other names."""
    chance = random.Random(11)
    originals = [turn for conversation in conversations for turn in conversation.turns]
    people = sorted({found[1] for turn in originals if (found := _SPEAKER.match(turn.text))})
    person = re.compile(rf"\b(?:{'|'.join(people)})\b")
    seen = {turn.text for turn in originals}
    yield from originals[:count]
    made, copy = len(originals), 0
    while made < count:
        copy += 1
        for conversation in conversations:
            names = dict(zip(people, chance.sample(_NAMES, len(people)), strict=True))
            for turn in conversation.turns:
                text = _mixed(turn.text, originals, chance)
                text = person.sub(lambda found, names=names: names[found.group()], text)  # type: ignore[misc]
                if made < count and text not in seen:
                    seen.add(text)
                    made += 1
                    yield Turn(f"{turn.id}#{copy}", f"{turn.thread}#{copy}", text)


def _mixed(text: str, others: Sequence[Turn], chance: random.Random) -> str:
    """The beginning of one turn (date and speaker with it) and the end of another."""
    own = _SENTENCE_END.split(text)
    other = _SENTENCE_END.split(chance.choice(others).text.partition(": ")[2])
    return " ".join(own[: (len(own) + 1) // 2] + other[len(other) // 2 :])


@dataclass(slots=True)
class Recall:
    """Evidence recall: how much of what an answer needs was found, and how often all of it."""

    shares: list[float] = field(default_factory=list)

    def count(self, question: Question, found: Collection[str]) -> None:
        hits = [any(turn in found for turn in choices) for choices in question.need]
        self.shares.append(sum(hits) / len(hits))

    @property
    def evidence(self) -> float:
        return statistics.fmean(self.shares)

    @property
    def all_evidence(self) -> float:
        return sum(share == 1 for share in self.shares) / len(self.shares)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number; `target` in words, and whether it `holds`, where the issue sets one."""

    name: str
    value: float
    unit: str = ""
    target: str = ""
    holds: bool | None = None


def at_most(name: str, value: float, limit: float, unit: str, why: str = "") -> Figure:
    return Figure(name, value, unit, f"<= {limit:.4g} {unit}{why}".rstrip(), value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "") -> Figure:
    return Figure(name, value, unit, f">= {limit:.4g} {unit}".rstrip(), value >= limit)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Text in columns: the first to the left, the others to the right."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        first, *others = (
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join([first, *others]).rstrip()

    return "\n".join([line(cells[0]), line(["-" * width for width in widths]), *map(line, cells[1:])])


def show_figures(figures: Iterable[Figure]) -> None:
    verdicts = {None: "", True: "holds", False: "MISSED"}
    rows = [(f.name, f"{f.value:,.4g}", f.unit, f.target, verdicts[f.holds]) for f in figures]
    print(table(("figure", "measured", "unit", "target", ""), rows))


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder with locomo.jsonl.gz (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser


def conversations_from(folder: Path) -> tuple[list[Conversation], str]:
    """LoCoMo where it is, else made-up text; and what it is."""
    found = load_locomo(folder)
    return (found, "LoCoMo") if found else (make_up(), f"made-up text (no locomo.jsonl.gz in {folder})")


def write_json(path: Path | None, benchmark: str, figures: Iterable[Figure], **more: Any) -> None:
    if path is None:
        return
    result = {
        "benchmark": benchmark,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        },
        "figures": [asdict(figure) for figure in figures],
        **more,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nwritten to {path}")
