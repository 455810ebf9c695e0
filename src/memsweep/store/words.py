"""The words of a query, and which of them a text contains, as the full-text index sees them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import apsw

from memsweep.forking import new_lock

# Thai, Lao, Burmese, Khmer, the Japanese syllabaries, Han
_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
LETTER = re.compile(f"([{_LETTERS}])")
RUN = re.compile(f"[{_LETTERS}]+|[^{_LETTERS}]+")


def spread_script(text: str) -> str:
    """Set every letter of such a script apart."""
    if text.isascii():
        return text

    return LETTER.sub(r" \1 ", text)


def runs_of_script(word: str) -> list[str]:
    """Cut a word where it changes between such a script and another."""
    if word.isascii():
        return [word]

    return RUN.findall(word)


MAX_WORDS = 64  # of a query that are asked for
SMALL = 5000  # below this many chunks every word is asked for
_POSTINGS_SHARE = 1.0
_MOST_POSTINGS = 100_000
_RIVALS = 20
_DEEPEST = 8
_READ = 50_000  # characters of a query that are read at either end; the end of a traceback says most
_MOST_WORDS = 2000
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_STOP = frozenset(
    (
        "a an the and or but if of to in on at for with by from as is are was were be been being am do does did "
        "have has had he she it they them his her its their i you we me my your our us this that these those what "
        "which who whom when where why how not no so than then too very can will would could should may might "
        "about into over after before up down out off again there here all any both each more most other some such "
        "only own same s t d ll m re ve don just "
    ).split()
)


def words_of(query: str) -> list[str]:
    """The words of a query that carry meaning, each once; all of them where none does."""
    composed = unicodedata.normalize("NFC", _both_ends(query))  # else an accent of its own ends a word
    runs = (run for word in _WORD.findall(composed) for run in runs_of_script(word))
    found = list(dict.fromkeys(run.lower() for run in runs))
    telling = [word for word in found if word not in _STOP] or found
    return telling if len(telling) <= _MOST_WORDS else telling[: _MOST_WORDS // 2] + telling[-_MOST_WORDS // 2 :]


def words_to_find(query: str) -> list[str]:
    """The words to ask for: those of the query, and of an identifier both what it is called as a whole and its parts.

    `URLTypes` also asks for `url` and `types`, `raise_for_status` for `raiseforstatus`, as names are indexed. A part is
    at least as frequent as the names that have it, so it weighs less than they do.
    """
    named = dict.fromkeys(run for run in _NAME.findall(_both_ends(query)) if not run.islower() or "_" in run)
    taken_apart = ([part.lower() for part in _PART.findall(run)] for run in named)
    more = [each for parts in taken_apart if len(parts) > 1 for each in (*parts, "".join(parts))]
    return list(dict.fromkeys([*words_of(query), *(each for each in more[:_MOST_WORDS] if each not in _STOP)]))


def words_of_heading(query: str) -> frozenset[str]:
    """The words of the first line where more follow, as of the subject of a message: they count twice."""
    heading, _, rest = query.strip().partition("\n")
    return frozenset(words_to_find(heading)) if rest else frozenset()


def _both_ends(query: str) -> str:
    return query if len(query) <= 2 * _READ else f"{query[:_READ]} {query[-_READ:]}"


def is_small(chunks: int) -> bool:
    """Return whether words are counted for every query, since that takes no time."""
    return chunks <= SMALL


def needs_counts(words: Sequence[str], chunks: int) -> bool:
    """Return whether some words must be left out, which depends on how many chunks have them."""
    return not is_small(chunks) or len(words) > MAX_WORDS


K, B = 1.2, 0.75  # of BM25, as the full text has it
_LEAST = 1e-6


def weight_of(total: int, having: int) -> float:
    """Return the weight of a word that so many of all texts have."""
    return max(_LEAST, math.log((total - having + 0.5) / (having + 0.5)))


def depth_of(depth: int, chunks: int) -> int:
    """Return how many the words hand in: the more chunks, the more rivals a hit has that it beats narrowly."""
    return max(depth, min(_DEEPEST * depth, chunks // _RIVALS))


def rarest(having: dict[str, int], chunks: int, twice: Collection[str] = ()) -> list[str]:
    """The words to ask for, of which so many chunks each have one; the rarest first, and of equals the later.

    Postings decide what a query costs, so in a large workspace words are taken until their chunks add up to as many as
    there are, or to the most that can be read in time; measured, that costs no recall and spares the long questions.
    """
    room = min(_POSTINGS_SHARE * chunks, _MOST_POSTINGS) if not is_small(chunks) else float("inf")
    return _within(having, room, twice)


def rare(having: dict[str, int], most: int) -> list[str]:
    """The rarest words, as long as the chunks that have them add up to no more than that; perhaps none."""
    return _within({word: count for word, count in having.items() if count <= most}, most)


def _within(having: dict[str, int], room: float, twice: Collection[str] = ()) -> list[str]:
    """The rarest words whose chunks there is room for, but one at least. Some are asked for `twice`."""
    chosen: list[str] = []
    latest_first = list(reversed(having))
    for word in sorted(latest_first, key=having.__getitem__)[:MAX_WORDS]:
        room -= having[word] * (1 + (word in twice))
        if chosen and room < 0:
            break
        chosen.append(word)
    return chosen


def matched(query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """For each text, the words of the query that stand in it, whatever their ending."""
    wanted = _wanted(query)
    found = []
    for text in texts:
        here = set(stems_of(text))
        found.append(tuple([word for word, stems in wanted if stems <= here]))
    return found


_asked: dict[str, list[tuple[str, set[str]]]] = {}  # of the last queries: each is matched several times
_MOST_ASKED = 16


def _wanted(query: str) -> list[tuple[str, set[str]]]:
    """The words of a query with their stems."""
    if (known := _asked.get(query)) is not None:
        return known
    found = [(word, stems) for word in words_of(query) if (stems := set(stems_of(word)))]
    if len(_asked) >= _MOST_ASKED:
        _asked.clear()
    _asked[query] = found
    return found


def any_of(words: Sequence[str]) -> str:
    """The full-text query for texts with at least one of these words."""
    return " OR ".join(_quoted(word) for word in words)


def having(needed: Sequence[str], groups: Sequence[Sequence[str]]) -> str:
    """The same for texts with all `needed` words, and all of one of the groups."""
    one_of = " OR ".join(f"({' AND '.join(map(_quoted, group))})" for group in groups)
    return " AND ".join([*map(_quoted, needed), *([f"({one_of})"] if groups else [])])


def _quoted(word: str) -> str:
    return f'"{spread_script(word)}"'


def stems_of(text: str) -> list[str]:
    """Return the stems of a text, in order."""
    spread = spread_script(text).encode()
    options = {"include_offsets": False, "include_colocated": False}
    with _lock:
        stems: list[str] = _tokeniser()(spread, apsw.FTS5_TOKENIZE_DOCUMENT, None, **options)
        return stems


@cache
def _tokeniser() -> Any:
    """The tokeniser of the full text, which needs no workspace."""
    return apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])


_lock = new_lock()


SIGNS = "-/.:("
_SPACED = "name_key"
for _sign in SIGNS:
    _SPACED = f"replace({_SPACED}, '{_sign}', ' ')"


def _behind_the_first(text: str) -> str:
    """Return SQL for the text behind the first space; empty where there is none."""
    return f"substr({text}, instr({text} || ' ', ' ') + 1)"


_SECOND = _behind_the_first(_SPACED)
_THIRD = _behind_the_first(_SECOND)
_FOURTH = _behind_the_first(_THIRD)
_LAST = f"substr({_SPACED}, length(rtrim({_SPACED}, replace({_SPACED}, ' ', ''))) + 1)"
INSIDE = {"second": _SECOND, "third": _THIRD, "fourth": _FOURTH, "last": _LAST}
INDEXES = "".join(
    f"create index entity_told_by_{place}_word on entity ({text})"
    f" where handed_in = 1 and trash is null and {text} <> '';\n"
    for place, text in INSIDE.items()
)
