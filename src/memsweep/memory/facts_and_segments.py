"""Find what has no chunk of its own: facts of the graph, segments of context windows.

They are few: those that have words of the query are read, and the best of them are embedded for the occasion.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.memory.relevance import MOST_WORDS
from memsweep.model.memory_row import MEMORY
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.search import FactWords, Filters, Passage, Statement
from memsweep.model.text import name_key
from memsweep.model.times import holding_at, to_micros
from memsweep.numeric import cosines
from memsweep.store.quarantined import HeldGraph

if TYPE_CHECKING:
    from memsweep.embed.protocol import Embedder
    from memsweep.model.segment import ContextSegment
    from memsweep.store.protocol import Store

MOST_EMBEDDED = 16
_MOST_STATEMENTS = 100
_MOST_SEGMENTS = 200  # of one window
_LONGEST_NAME = 3  # words
_FEWEST_LETTERS = 3
_ENDINGS = ("ing", "ies", "ed", "es", "e", "y", "s")
_WORD = re.compile(r"\w+")


def passages_of(store: Store, filters: Filters, query: str, asked: Collection[str], now: datetime) -> list[Passage]:
    """Facts and segments that may answer, as far as they were asked for; none for a query that is a text itself."""
    if not filters.may_be_loose or len(asked) > MOST_WORDS:
        return []
    found: list[Passage] = []
    if filters.kind in (None, "fact"):
        ended = filters.as_of is not None
        expired_by = None if filters.held_back is None else filters.held_back.expired_by
        about = fact_words(query, asked)
        known = store.statements_about(about, ended=ended, expired_by=expired_by, limit=_MOST_STATEMENTS)
        stated = list(filter(holding_at(filters.as_of, now), known))
        held = _held(store, filters, stated)
        found += [_of_statement(each) for each in stated if each.id not in held]
    if filters.kind == "segment" and filters.as_of is None:
        found += [each for each in _segments(store, query) if not _is_held(each, filters)]
    return [each for each in found if _is_between(each.created_at, filters) and filters.accept(each.origin)]


def _held(store: Store, filters: Filters, stated: Iterable[Statement]) -> set[str]:
    """Return the facts that are held back. Without such tiers the graph is not loaded: a search would wait."""
    back = filters.held_back
    facts = [each.id for each in stated if back is not None and each.origin.tier in back.tiers]
    return HeldGraph(store.graph, back).facts(facts) if facts else set()


def fact_words(query: str, asked: Collection[str]) -> FactWords:
    starts = beginnings(asked)
    written = [form for start in starts for form in (start, start.upper(), start.capitalize())]
    return FactWords(names_to_look_up(query, asked), starts, list(dict.fromkeys(written)))


def names_to_look_up(query: str, asked: Collection[str]) -> list[str]:
    """Every run of up to three words, as names are compared, and each word without a plural."""
    words = _WORD.findall(name_key(query))
    runs = [
        " ".join(words[at : at + count])
        for count in range(1, _LONGEST_NAME + 1)
        for at in range(len(words) - count + 1)
    ]
    known = set(asked)
    telling = [run for run in runs if " " in run or run in known]
    return list(dict.fromkeys([*telling, *(word[:-1] for word in telling if word.endswith("s") and len(word) > 3)]))


def beginnings(asked: Collection[str]) -> list[str]:
    """Return the beginnings of other forms of these words: `deploy` for `deployed`, `sign` for `signing`. Some begin
    other words, too; the words that a fact has in common with the query decide.
    """
    found = (_beginning(name_key(word)) for word in asked)
    return list(dict.fromkeys(start for start in found if len(start) >= _FEWEST_LETTERS))


def _beginning(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= _FEWEST_LETTERS), "")
    start = word.removesuffix(ending)
    is_double = ending in ("ing", "ed") and len(start) > _FEWEST_LETTERS and start[-1] == start[-2]
    return start[:-1] if is_double else start


def _of_statement(fact: Statement) -> Passage:
    text = f"{fact.subject} {fact.relation.replace('_', ' ').lower()} {fact.object}"
    return _loose("fact", fact.id, text, fact.created_at, "graph", fact.origin)


def _segments(store: Store, query: str) -> Iterator[Passage]:
    for row in store.windows.windows():
        with store.windows.reading(row.project_id) as window:
            stashed = window.stashed_at(window.matches(query, _MOST_SEGMENTS)).values()
            held = [each.segment for each in (*window.active()[-_MOST_SEGMENTS:], *stashed)]
            origins = window.origins(each.segment_id for each in held)
        yield from (_of_segment(each, row.project_id, origins.get(each.segment_id, UNKNOWN)) for each in held)


def _of_segment(segment: ContextSegment, project_id: str, origin: Origin) -> Passage:
    return _loose("segment", segment.segment_id, segment.text, segment.created_at, project_id, origin)


_NOTHING = {name: column.nothing for name, column in MEMORY.columns.items() if column.shown}


def _loose(kind: str, own_id: str, text: str, at: datetime, source: str, origin: Origin) -> Passage:
    return Passage(
        key=0,
        chunk_id=own_id,
        memory_id="",
        text=text,
        first_line=1,
        last_line=1 + text.count("\n"),
        **{**_NOTHING, "source": source, "created_at": at, "updated_at": at, "last_seen_at": at},
        thread_id=None,
        origin=origin,
        code=None,
        loose="fact" if kind == "fact" else "segment",
    )


def _is_held(segment: Passage, filters: Filters) -> bool:
    back = filters.held_back
    if back is None or segment.origin.tier not in back.tiers:
        return False
    return back.since is None or to_micros(segment.created_at) > back.since


def _is_between(at: datetime, filters: Filters) -> bool:
    if filters.date_from is not None and at < filters.date_from:
        return False
    return filters.date_to is None or at <= filters.date_to


def most_alike(passages: Sequence[Passage], shares: Iterable[float]) -> list[Passage]:
    """Return the passages with most of the words, which are worth embedding; those without any are not."""
    ranked = sorted(zip(shares, passages, strict=True), key=lambda pair: (-pair[0], pair[1].text, pair[1].chunk_id))
    return [passage for share, passage in ranked if share > 0][:MOST_EMBEDDED]


def similarities(embedder: Embedder, query: str, passages: Sequence[Passage]) -> list[float]:
    return cosines(embedder.embed([query, *(passage.text for passage in passages)])) if passages else []
