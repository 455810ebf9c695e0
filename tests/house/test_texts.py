"""No text freezes what reads it: the work on a text grows as the text does, whatever it is full of."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import memsweep
from memsweep.code.markdown import parse_markdown
from memsweep.context.supersede import find_replacements
from memsweep.embed.local import LocalEmbedder
from memsweep.graph.building import BuildOptions, Named, possible_names, read_facts
from memsweep.memory.names import find_names
from memsweep.memory.remember import cut, line_spans
from memsweep.model.segment import ContextSegment
from memsweep.model.stating import stated
from memsweep.store.texts import forgotten_hash
from tests.support.counts import THOROUGH

FULL_OF = {
    "a capital": " A",
    "newlines": "\n",
    "one word": "x",
    "spaces": " ",
    "combining marks": "\u0301",
    "marks above and below": "\u0301\u0316",
    "Chinese": "中文",
    "an emoji of several": "👩\u200d👩\u200d👧",
    "dots": "a.b.c.d",
    "fences": "```\n",
    "two kinds of fences": "```a\n~~~\n",
    "bullets": "- ",
    "bullets on lines": "-\n",
    "brackets": "(",
    "quotes": '"',
    "settings": "a: b\n",
    "corrections": ". no, actually",
    "headings": "# a\n",
    "names": "met Ada Bob. ",
    "arrows": "-[a]-> ",
    "type arguments": "a<b>::",
}
NOW = datetime(2026, 11, 16, tzinfo=UTC)
_MODEL = LocalEmbedder()


def _segments(text: str) -> list[ContextSegment]:
    kinds = [("note", None), ("message", "user"), ("message", "user")]
    texts = [text, text, "actually, it is " + text]
    return [
        ContextSegment(str(number), each, kind, NOW, NOW, role=role)  # type: ignore[arg-type]
        for number, (each, (kind, role)) in enumerate(zip(texts, kinds, strict=True))
    ]


def _chunked(text: str) -> None:
    line_spans(text, cut(text, _MODEL.token_ends, 512, 50))


def _built(text: str) -> None:
    names = [Named(found.name, True) for found in find_names([text])]
    known = {name: name for name in possible_names(text) if len(name) <= 200}
    read_facts(text, names, known, BuildOptions(related=True))


WORK: dict[str, Callable[[str], Any]] = {
    "names": lambda text: find_names([text]),
    "chunks": _chunked,
    "replacements": lambda text: find_replacements(_segments(text)),
    "facts of a text": _built,
    "facts that are stated": lambda text: list(stated(text, [("a", "b", "c")])),
    "messages": lambda text: memsweep.sweep_messages([{"role": "user", "content": text}] * 3, budget=100),
    "markdown": parse_markdown,
    "what was forgotten": forgotten_hash,
}
_SMALL, _TIMES = 20_000 if THOROUGH else 8_000, 5


@pytest.mark.soak
@pytest.mark.parametrize("full_of", FULL_OF)
@pytest.mark.parametrize("work", WORK)
def test_work_on_a_text_grows_as_the_text_does(work: str, full_of: str) -> None:
    do, pump = WORK[work], FULL_OF[full_of]
    small, large = (f"x{pump * (size // len(pump))}" for size in (_SMALL, _SMALL * _TIMES))
    _seconds(do, "x")
    assert any(_seconds(do, large) < 0.05 + 3 * _TIMES * _seconds(do, small) for _ in range(3))


def _seconds(do: Callable[[str], Any], text: str) -> float:
    start = time.process_time()
    do(text)
    return time.process_time() - start
