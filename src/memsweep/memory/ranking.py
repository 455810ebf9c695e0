"""The ranking of the chunks that a query found: by words and meaning, neighbours, files, roles, origins, a reader."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from memsweep.embed.protocol import Embedder, quantise
from memsweep.memory.relevance import MOST_WORDS, Count
from memsweep.model.frozen import frozen, replace
from memsweep.model.roles import Role, role_of
from memsweep.model.search import (
    Candidate,
    Candidates,
    FileWords,
    Filters,
    Kind,
    Owner,
    Place,
    Ranked,
)
from memsweep.numeric import mean
from memsweep.store import views
from memsweep.store.rows import SumsBy
from memsweep.store.things.memories import MemoryRow

if TYPE_CHECKING:
    from memsweep.embed.protocol import Reader
    from memsweep.store.protocol import Store

_A_PAGE = 2  # hits of one file before those of others
_OTHERS = (0.5, 0.3, 0.2, 0.1)  # what the next best passages of a file add to its best
_EQUAL_DIGITS = 3  # scores that differ further behind are equal
_WHOLE_FILE = 0.3  # what the words of a whole file are worth beside its best passages
_NAMED = 0.3  # what a file gets of the best score where the query says its path
_AGAIN = 0.4  # how little another piece counts that has the same word; 0 for nothing at all
_ASKED_FOR = 1 / 5  # the share of the words that speaks of tests where they are what is looked for
_MENTIONED = 1 / 12  # the same where they are only mentioned
_UNKNOWN = Owner(0, None)
_PATH = re.compile(r"[\w./\\+@\[\]-]+")
_EVERYWHERE = "__init__.py"  # says nothing without its folder
Part = Role | Literal["settings"]
"""What a file is for; of sources, settings of tools apart: they name everything and are seldom looked for."""
_SETTINGS = re.compile(
    r"(?i)(?:^|/)(?:\.[^/]+|pyproject\.toml|[^/]+\.(?:ini|cfg|lock)|package(?:-lock)?\.json|makefile|dockerfile)$"
    r"|(?:^|/)\.(?:github|circleci|gitlab|vscode|devcontainer)/"
)
_WEIGHTS: Mapping[Part, float] = {
    "source": 1.0,
    "settings": 0.4,
    "test": 0.18,
    "document": 0.2,
    "example": 0.18,
    "history": 0.12,
    "generated": 0.15,
}
_SPEAKS_OF: Mapping[Part, re.Pattern[str]] = {
    "settings": re.compile(
        r"(?i)\b(?:settings?|config(?:s|ured?|uration)?|builds?|packag(?:es?|ing)|dependenc(?:y|ies)|ci|workflows?|lint(?:er|ing)?"
        r"|pyproject|setup|tox|gitignore|github|makefile|docker(?:file)?|pre-commit)\b"
    ),
    "test": re.compile(r"(?i)\b(?:py)?tests?\b|\btest(?:ed|ing|case|suite)s?\b|\bfixtures?\b|\bspecs?\b"),
    "document": re.compile(r"(?i)\bdocs?\b|\bdocument(?:s|ed|ation)?\b|\breadme\b|\bguide\b|\bmanual\b"),
    "example": re.compile(r"(?i)\bexamples?\b|\bsamples?\b|\bdemos?\b|\btutorials?\b"),
    "history": re.compile(r"(?i)\bchange ?log\b|\brelease notes?\b|\bhistory\b|\bwhich (?:version|release)\b"),
    "generated": re.compile(r"(?i)\bvendor(?:ed)?\b|\bgenerated\b"),
}


def by_file(
    rows: Sequence[Row],
    owners: Mapping[int, Owner],
    query: str,
    words: int = 0,
    support: Mapping[int, float] = MappingProxyType({}),
) -> list[Row]:
    """The ranking with passages of code weighed by what their file is for, and by what else the file has to say.

    `words`: how many the query has that say something. `support`: how much whole files have of its rare words, by key.
    """
    weights = weights_of_roles(query, words)
    weighed = settled([_weighed(row, owners.get(row[1]), weights) for row in rows], owners)
    of_file: dict[int, list[Row]] = {}
    for row in weighed:
        if (owner := owners.get(row[1])) is not None and owner.path is not None:
            of_file.setdefault(owner.memory, []).append(row)
    if not of_file:
        return weighed
    raised = {file: [_with_others(found), *found[1:]] for file, found in of_file.items()}
    paths = {file: owners[found[0][1]].path or "" for file, found in raised.items()}
    weight_of = {file: weights[_part_of(path)] for file, path in paths.items()}
    backed = {file: support.get(file, 0.0) * weight for file, weight in weight_of.items()}
    said = files_said(query)
    named = {file: weight_of[file] * is_said(path, said) for file, path in paths.items()}
    moved = {row[1]: row for found in _with_support(raised, backed, named) for row in found}
    turn = {row[1]: place // _A_PAGE for found in of_file.values() for place, row in enumerate(found)}
    return sorted(settled([moved.get(row[1], row) for row in weighed], owners), key=lambda row: turn.get(row[1], 0))


def _with_support(
    files: Mapping[int, Sequence[Row]], support: Mapping[int, float], named: Mapping[int, float]
) -> Iterator[Sequence[Row]]:
    """The rows of each file, the best first, which gets a share of the best score of all for what the whole file has of
    the words, and for being named."""
    most, best = max(support.values()), min(found[0][0] for found in files.values())
    share = _WHOLE_FILE if most else 0.0
    for file, found in files.items():
        head, *others = [((1 - share) * row[0], *row[1:]) for row in found]
        more = best * (share * support[file] / (most or 1.0) + _NAMED * named[file])
        yield [(head[0] + more, *head[1:]), *others]


def files_said(query: str) -> frozenset[str]:
    """The files that a query speaks of, each by its name and the folder that it is in, or by its name alone."""
    runs = (run.replace("\\", "/").strip("[]").rstrip(".-").split("/") for run in _PATH.findall(query))
    paths = ([part for part in run if part.strip(".")] for run in runs)
    return frozenset("/".join(parts[-2:]) for parts in paths if parts and "." in parts[-1])


def is_said(path: str, said: frozenset[str]) -> bool:
    *_, folder, name = "", *path.split("/")
    return (f"{folder}/{name}" if folder else name) in said or (name != _EVERYWHERE and name in said)


def support_of(words: FileWords) -> dict[int, float]:
    """Return how much each file has of some words: rare words count more, and a second piece with a word little."""
    support: dict[int, float] = {}
    for pieces in words.pieces:
        rarity = math.log(1 + (words.files - len(pieces) + 0.5) / (len(pieces) + 0.5))
        for file, times in pieces.items():
            support[file] = support.get(file, 0.0) + rarity * times * (1 + _AGAIN) / (times + _AGAIN)
    return support


def weights_of_roles(query: str, words: int) -> dict[Part, float]:
    """A question for a test says so with one word of a few; a report in which the word is one of many mentions it."""
    weights = dict(_WEIGHTS)
    for role, pattern in _SPEAKS_OF.items():
        share = len({each.lower() for each in pattern.findall(query)}) / max(words, 1)
        asked = min(1.0, max(0.0, (share - _MENTIONED) / (_ASKED_FOR - _MENTIONED)))
        weights[role] += (1 - weights[role]) * asked
    return weights


def settled(rows: Sequence[Row], owners: Mapping[int, Owner]) -> list[Row]:
    """Best first; of near equals the newer, and then by content, so that no key decides."""

    def order(row: Row) -> tuple[float, int, bytes, int]:
        *_, created_at, digest = owners.get(row[1], _UNKNOWN)
        # A damaged row may have other things in their place; what reads the passage says so.
        at = created_at if isinstance(created_at, int) else 0
        return round(row[0], _EQUAL_DIGITS), -at, digest if isinstance(digest, bytes) else b"", row[1]

    return sorted(rows, key=order)


def _weighed(row: Row, owner: Owner | None, weights: Mapping[Part, float]) -> Row:
    if owner is None or owner.path is None:
        return row
    return (row[0] * weights[_part_of(owner.path)], *row[1:])


@lru_cache(maxsize=20_000)  # a search asks for hundreds, and every search for the same ones
def _part_of(path: str) -> Part:
    role = role_of(path)
    return "settings" if role == "source" and _SETTINGS.search(path) else role


def _with_others(found: Sequence[Row]) -> Row:
    best, *others = found
    more = sum(share * row[0] for share, row in zip(_OTHERS, others, strict=False))
    return (best[0] + more, *best[1:])


@frozen
class FusionWeights:
    """`meaning` against words; a similarity below `floor` of the best says nothing; neighbours by distance."""

    meaning: float = 0.35
    floor: float = 0.6
    neighbours: tuple[float, ...] = (0.35, 0.15)


DEFAULT_WEIGHTS = FusionWeights()
# By name of the embedding model; what a similarity is worth beside words differs from model to model.
WEIGHTS_OF_MODELS = {"all-MiniLM-L6-v2-int8": FusionWeights(meaning=0.45)}


def weights_for(model: str) -> FusionWeights:
    return WEIGHTS_OF_MODELS.get(model, DEFAULT_WEIGHTS)


_DIGITS = 9  # of a score; behind them engines differ, which add up in another order
# A ranking is a list of plain tuples in their natural order, which take a third less time to make and to sort than
# named ones: the score with its sign turned, the key, and the parts by words, by meaning and from neighbours.
Row = tuple[float, int, float, float, float]


def shown(rows: Iterable[Row]) -> list[Ranked]:
    """Rows of a ranking as those see them who only look at a few."""
    return [Ranked(key, 0.0 - turned, words, meaning, neighbours) for turned, key, words, meaning, neighbours in rows]


def fuse(candidates: Iterable[Candidate], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Row]:
    """Scores without neighbours, best first; equal scores keep the order of their keys."""
    pool = list(candidates)
    best_words = max((each.words for each in pool), default=0.0) or 1.0
    best_similarity = max((each.similarity for each in pool), default=0.0)
    floor = weights.floor * best_similarity
    span = best_similarity - floor or 1.0
    for_meaning, for_words = weights.meaning, 1 - weights.meaning
    rows = [
        (
            round(
                -for_words * (words := each.words / best_words)
                - for_meaning * (meaning := (each.similarity - floor) / span if each.similarity > floor else 0.0),
                _DIGITS,
            ),
            each.key,
            words,
            meaning,
            0.0,
        )
        for each in pool
    ]
    rows.sort()
    return rows


def places_around(places: Iterable[Place], weights: FusionWeights = DEFAULT_WEIGHTS) -> set[Place]:
    """The places whose score these places can raise."""
    steps = [step for step, _ in _steps(weights)]
    return {place + step for place in places for step in steps}


def spread(rows: Iterable[Row], keys_at: Mapping[Place, int], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Row]:
    """Give every chunk at a known place a share of its neighbours' scores. Chunks without a place keep theirs."""
    found = {row[1]: row for row in rows}
    gained: dict[int, float] = {}
    steps = _steps(weights)
    linked = _with_neighbours(keys_at, len(weights.neighbours))
    for place, key in keys_at.items():
        if place in linked and key in found and (turned := found[key][0]) < 0:
            for step, weight in steps:
                if (taker := keys_at.get(place + step)) is not None:
                    gained[taker] = gained.get(taker, 0.0) - weight * turned
    for key, gain in gained.items():
        turned, _, words, meaning, _ = found.get(key, _NOT_FOUND)
        found[key] = round(turned - gain, _DIGITS), key, words, meaning, gain
    return sorted(found.values())


_NOT_FOUND: Row = (0.0, 0, 0.0, 0.0, 0.0)


def _with_neighbours(places: Iterable[Place], reach: int) -> set[Place]:
    """Return the places that are not alone: most candidates of a search are, and need no further look."""
    return {place for pair in pairwise(sorted(places)) if pair[1] - pair[0] <= reach for place in pair}


def _steps(weights: FusionWeights) -> list[tuple[int, float]]:
    return [(side * n, weight) for n, weight in enumerate(weights.neighbours, 1) for side in (-1, 1)]


DEPTH = 100  # how many candidates words and meaning hand in each
_SPREAD_FROM = 30  # how many of the best may call in neighbours that nothing else found; more find no more
_WINDOW = 2000  # characters of a long query that are embedded at a time
_MOST_WINDOWS = 16
_MOST_PIECES = 3000  # of code that have the rarest words of a query, whose files are looked at; more find no more
OF_CHUNKS = (None, "memory", "code")


class RankedChunks(NamedTuple):
    """Memories and code: their rankings, if there are both, all cosines, how many there were to choose from, how many
    rows are in their order, and the revision."""

    rankings: list[list[Row]]
    similarity: dict[int, float]
    chosen_from: Count = Count()
    settled: int | None = None
    revision: str = ""


def rank_chunks(
    store: Store, embedder: Embedder, query: str, asked: Sequence[str], filters: Filters, first: int | None
) -> RankedChunks:
    candidates = _candidates(store, query, _embedded(embedder, query), filters)
    weights = weights_for(embedder.model.name)
    ranked = fuse(candidates, weights)
    keys_at = _neighbourhood(store, candidates, ranked, filters, weights)
    ranked = spread(ranked, keys_at, weights)
    similarity = {each.key: each.similarity for each in candidates}
    memories = sum(not each.is_code for each in candidates)
    if first is not None and memories == len(candidates) and filters.any_role:
        lead = leading(ranked, first)
        owners = _owners(store, candidates, ranked[:lead])
        in_order = settled(by_tier(ranked[:lead], owners), owners) + ranked[lead:]
        return RankedChunks([in_order], similarity, Count(memories), first, candidates.revision)
    owners = _owners(store, candidates, ranked)
    parts = [[each for each in candidates if each.is_code == is_code] for is_code in (False, True)]
    rankings = [spread(fuse(part, weights), keys_at, weights) for part in parts] if all(parts) else [ranked]
    allowed = [[row for row in rows if _has_role(owners.get(row[1]), filters)] for rows in rankings]
    any_code = any(owner.path is not None for owner in owners.values())
    words = store.file_words(query, _MOST_PIECES) if any_code else FileWords(0, [])
    said = support_of(words)
    ordered = [by_file(by_tier(rows, owners), owners, query, len(asked), said) for rows in allowed if rows]
    files = words.files if _takes_every_file(filters) else len(_files(owners, allowed))
    return RankedChunks(ordered, similarity, Count(memories, files), revision=candidates.revision)


def _takes_every_file(filters: Filters) -> bool:
    in_quarantine = filters.held_back is not None and bool(filters.held_back.tiers)
    return not in_quarantine and filters.asked == Filters(kind=filters.kind)


def _files(owners: Mapping[int, Owner], rankings: Sequence[Sequence[Row]]) -> set[int]:
    """The files that some rows are from."""
    found = (owners[row[1]] for rows in rankings for row in rows if row[1] in owners)
    return {owner.memory for owner in found if owner.path is not None}


def _owners(store: Store, candidates: Sequence[Candidate], rows: Sequence[Row]) -> dict[int, Owner]:
    """Return the owners of the chunks of some rows; engines may leave out some, and those of neighbours."""
    known = {each.key: each.owner for each in candidates if each.owner is not None}
    unknown = [row[1] for row in rows if row[1] not in known]
    return known | views.owners(store.rows, unknown) if unknown else known


def _candidates(store: Store, query: str, vector: bytes, filters: Filters) -> Candidates:
    """Of memories and code, that of which there is less is looked for by itself, too: the other would crowd it out."""
    found = store.candidates(query, vector, filters, DEPTH)
    if filters.kind is not None or len(found) < DEPTH or not found.files:
        return found
    ((_, everything, _),) = store.rows.ask(SumsBy(MemoryRow))[0]
    if found.files < everything:
        known = {each.key for each in found}
        kind: Kind = "memory" if 2 * found.files > everything else "code"
        rest = store.candidates(query, vector, replace(filters, kind=kind), DEPTH)
        found += (each for each in rest if each.key not in known)
        found.sort()
    return found


def _has_role(owner: Owner | None, filters: Filters) -> bool:
    if filters.any_role:
        return True
    role = role_of(owner.path) if owner is not None and owner.path is not None else None
    return (filters.role in (None, role)) and (filters.include_tests or role != "test")


def _embedded(embedder: Embedder, query: str) -> bytes:
    """One vector for all of a query; a long one is the mean of its windows, so that its end counts as its beginning."""
    windows = [query[at : at + _WINDOW] for at in range(0, len(query), _WINDOW)]
    if len(windows) > _MOST_WINDOWS:
        windows = windows[: _MOST_WINDOWS // 2] + windows[-_MOST_WINDOWS // 2 :]
    (vector,) = quantise(mean(embedder.embed(windows)))
    return vector


def _neighbourhood(
    store: Store, candidates: Sequence[Candidate], ranking: Sequence[Row], filters: Filters, weights: FusionWeights
) -> dict[Place, int]:
    """The keys at the places of all candidates, and at those next to the best of them. Pieces of code are cut where
    something begins, so what stands beside one says nothing of it; `by_file` counts what else its file has."""
    place_of = {each.key: each.place for each in candidates if each.place is not None and not each.is_code}
    known = {place: key for key, place in place_of.items()}
    speaking = (place_of.get(row[1]) for row in ranking[:_SPREAD_FROM])
    around = places_around((place for place in speaking if place is not None), weights)
    if not (missing := around - known.keys()):
        return known
    return known | {place: key for key, place in store.chunks(filters, at=missing).items() if place is not None}


READ = 20
"""How many of the best are read: more cost time and gain nothing."""
_POINT = 0.2
"""What a point of a reading is worth beside a score that is 1 for the best."""
_SAYS_SOMETHING = 0.0
"""A reading above it is evidence, even for what neither words nor meaning speak for."""


def read_the_best(
    store: Store,
    reader: Reader | None,
    query: str,
    asked: Sequence[str],
    filters: Filters,
    rankings: Sequence[list[Row]],
    similarity: Mapping[int, float],
) -> tuple[list[list[Row]], dict[int, float]]:
    """The rankings with their best in the order of a reader, and what it said of each.

    Code is not read, for the model knows prose alone; nor anything for a long query, which is no question, or for one
    without words. `asked`: the words of the query that say something. Where there are few memories all are read, even
    those that neither words nor meaning found.
    """
    readings: dict[int, float] = {}
    if reader is None or not asked or max(len(asked), len(query.split())) > MOST_WORDS:
        return list(rankings), readings
    again = []
    for rows in rankings:
        keys = _to_read(rows, similarity)
        texts = _prose(store, keys)
        if 0 < len(texts) < READ:
            unfound = _unfound(store, filters, {row[1] for row in rows}, READ - len(texts))
            texts |= _prose(store, unfound)
            rows = [*rows, *((0.0, key, 0.0, 0.0, 0.0) for key in unfound)]
        if texts:
            readings |= zip(texts, reader.read(query, list(texts.values())), strict=True)
        again.append(reordered(rows, readings))
    return again, readings


def _to_read(rows: Sequence[Row], similarity: Mapping[int, float]) -> list[int]:
    """The best, and if they are few the closest of those that have no score."""
    scored = [row[1] for row in rows if row[0] < 0]
    rest = sorted((row[1] for row in rows if row[0] >= 0), key=lambda key: -similarity.get(key, 0.0))
    return [*scored, *rest][:READ]


def _unfound(store: Store, filters: Filters, found: Collection[int], most: int) -> list[int]:
    """Memories that neither words nor meaning found, the newest first."""
    newest = store.chunks(replace(filters, kind="memory"), limit=len(found) + most)
    return [key for key in newest if key not in found][:most]


def _prose(store: Store, keys: Sequence[int]) -> dict[int, str]:
    pieces = views.passages(store.rows, keys) if keys else {}
    return {key: pieces[key].text for key in keys if key in pieces and pieces[key].code is None}


def reordered(rows: Sequence[Row], readings: Mapping[int, float]) -> list[Row]:
    """The rows that were read by their score and their reading, before the others; their scores keep to their range."""
    read = [row for row in rows if row[1] in readings and (row[0] < 0 or readings[row[1]] > _SAYS_SOMETHING)]
    spoken_for = [row[0] for row in read if row[0] < 0]
    if not spoken_for:
        return list(rows)
    best, least = min(spoken_for), max(spoken_for)
    worth = {row[1]: round(row[0] / best + _POINT * readings[row[1]], 3) for row in read}
    low, high = min(worth.values()), max(worth.values())
    scale = (best - least) / (high - low) if high > low else 0.0
    read.sort(key=lambda row: -worth[row[1]])  # what is worth the same stays in its order
    again = [(least + scale * (worth[row[1]] - low), *row[1:]) for row in read]
    return again + [row for row in rows if row[1] not in worth]


WEIGHTS = {"person": 1.0, "agent": 0.98, "tool": 0.96}
OTHERS = 0.95
"""What an import or the web brought, and what nobody knows the origin of."""


_ROUNDED = 0.002  # more than what equal scores may differ by, where digits behind them do not count


def leading(rows: Sequence[Row], first: int) -> int:
    """Return how many rows of a ranking must be weighed to know the first few and their order."""
    if len(rows) <= first:
        return len(rows)
    enough = OTHERS * rows[first - 1][0] + _ROUNDED  # scores are negative, the best first
    return bisect_right(rows, enough, key=lambda row: row[0])


def by_tier(rows: Sequence[Row], owners: Mapping[int, Owner]) -> list[Row]:
    """The ranking, with every score weighed by where its memory came from."""
    return sorted((row[0] * _weight(owners.get(row[1])), *row[1:]) for row in rows)


def _weight(owner: Owner | None) -> float:
    return OTHERS if owner is None else WEIGHTS.get(owner.tier, OTHERS)
