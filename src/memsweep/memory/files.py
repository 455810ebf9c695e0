"""Passages of code by the files they are from: sources first, and a file does not fill a page by itself. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

from memsweep.memory.fusion import Row
from memsweep.model.roles import Role, role_of
from memsweep.model.search import FileWords, Owner

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
    """How much each file has of some words: the fewer files have a word the more it counts, and a second piece that has
    it counts little."""
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
