"""Read facts out of a text by rule: written as `A -[RELATION]-> B`, or stated in a sentence between two names. Pure.

A name is one that the graph knows already, or one that the text writes like a name. The words between two names
of a sentence become the relation, if they are few and begin with what can be a verb; a negated sentence says
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from memsweep.errors import BadInput
from memsweep.model.checks import MAX_ITEMS, flag, one_line, only, share
from memsweep.model.graph import GraphBatch, Related, RelationDraft
from memsweep.model.memory import Fact, NamedThing
from memsweep.model.stating import negated, sentences
from memsweep.model.text import check_text, name_key

MAX_TEXT_BYTES = 1_000_000
_LONGEST_NAME = 4  # words
_MOST_WORDS = 4  # of a relation
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_LONGEST_LINE = 1000  # of a fact in notation
_ARROW = re.compile(r"(?<!-)-++(?:\[([^\[\]]++)\]-++>| ?(\w++) ?-++>)")
_NOT_WORD = re.compile(r"\W+")
_TYPED = re.compile(r"([^()]+)\(([^()]+)\)")
_NOT_IN_NAME = re.compile(r"[\[\]()<>|,]")
_DROPPED = frozenset(
    "the a an this that these those his her their our my your its who which also now then just only really mainly "
    "often always usually currently already still both has have had will would can could may might must should "
    "been being be".split()
)
# Words that open a sentence with a capital and are no names.
_OPENING = frozenset(
    "last next every each some many most all any now today yesterday tomorrow recently finally since during because "
    "although while as at in on after before once also however meanwhile instead there here not please first second "
    "one two new old our their his her its for from with by to of under over please remember note todo maybe perhaps "
    "currently usually often sometimes always never".split()
)
_JOINING = frozenset(["and", "or", "&", "as", "well"])
_NO_VERB = frozenset(
    "in of for to with from at on by about into over under after before between during through against within and or "
    "but so if when while because than as like per via s".split()
)


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """`types`: what some names are. `related`: also link names that only share a sentence. `dry_run`: only look."""

    types: Mapping[str, str] = field(default_factory=dict)
    default_type: str = ""
    weight: float = 0.5
    related: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Built:
    """The facts that were read, and what became of them (nothing, if it was only a look)."""

    batch: GraphBatch
    outcome: Related | None


class Named(NamedTuple):
    """A name of the text; `sure` if the text alone proves that it is one."""

    name: str
    sure: bool


def make_options(options: object) -> BuildOptions:
    if options is None:
        return BuildOptions()
    if not isinstance(options, Mapping):
        raise BadInput(f"options must be an object, not {type(options).__name__}.")
    only(options, sorted(BuildOptions.__slots__), "options")
    types = {} if options.get("types") is None else options["types"]
    if not isinstance(types, Mapping):
        raise BadInput("options.types must be an object of names and their types.")
    kind = options.get("default_type") or ""
    return BuildOptions(
        types={
            name_key(one_line(name, "a name in options.types")): one_line(kind, "a type")
            for name, kind in types.items()
        },
        default_type=one_line(kind, "options.default_type") if kind else "",
        weight=share(options.get("weight", 0.5), "options.weight"),
        related=flag(options.get("related", False), "options.related"),
        dry_run=flag(options.get("dry_run", False), "options.dry_run"),
    )


def checked_text(text: object) -> str:
    return check_text(text, "text", max_bytes=MAX_TEXT_BYTES)


def possible_names(text: str) -> set[str]:
    """Every run of a few words, as names are compared: what the graph is asked for."""
    found = set()
    for sentence in sentences(text):
        words = [word.group() for word in _WORD.finditer(sentence)]
        for start in range(len(words)):
            for length in range(1, _LONGEST_NAME + 1):
                found.add(name_key(" ".join(words[start : start + length])))
    return {name for name in found if len(name) > 1}


def read_facts(text: str, found: Iterable[Named], known: Mapping[str, str], options: BuildOptions) -> GraphBatch:
    """Entities and relations of a text. `known`: names of the graph, by the form under which they are compared."""
    lines = [(line, notation(line)) for line in text.splitlines()]
    written = {name_key(end.name) for _, fact in lines if fact for end in (fact.subject, fact.object)}
    reader = _Reader(list(found), known, written, options)
    for line, fact in lines:
        if fact is not None:
            reader.written(fact)
        else:
            for sentence in sentences(line):
                reader.sentence(sentence)
    return reader.batch()


def notation(line: str) -> Fact | None:
    """`A (Type) -[RELATION]-> B`, `A --relation--> B` or `(A, RELATION, B)`, if a line is nothing else."""
    said = " ".join(line.split()) if len(line) <= _LONGEST_LINE else ""
    arrow = _ARROW.search(said)
    if arrow is not None:
        parts = [said[: arrow.start()], arrow[1] or arrow[2], said[arrow.end() :]]
    elif said.startswith("(") and said.endswith(")"):
        parts = said[1:-1].split(",")
    else:
        return None
    if len(parts) != 3 or not all(part.strip() for part in parts) or _NOT_IN_NAME.search(parts[1]):
        return None
    ends = [_typed(parts[0].strip()), _typed(parts[2].strip())]
    if any(_NOT_IN_NAME.search(end.name) or not end.name for end in ends):
        return None
    return Fact(ends[0], parts[1].strip(), ends[1])


def _typed(text: str) -> NamedThing:
    found = _TYPED.fullmatch(text)
    return NamedThing(text, "") if found is None else NamedThing(found[1].strip(), found[2].strip())


class _Reader:
    """Collects what the sentences say."""

    def __init__(
        self, found: Sequence[Named], known: Mapping[str, str], written: Set[str], options: BuildOptions
    ) -> None:
        self._known, self._options = known, options
        self._sure = {name_key(each.name) for each in found if each.sure} | known.keys() | written
        real = {each.name for each in found if each.sure or name_key(each.name).split()[0] not in _OPENING}
        self._finder = NameFinder(real, {*known, *written})
        self._things: dict[str, NamedThing] = {}
        self._facts: dict[tuple[str, str, str], RelationDraft] = {}

    def written(self, fact: Fact) -> None:
        """A line in notation: written down, not only mentioned."""
        ends = [self._thing(end.name, end.type) for end in (fact.subject, fact.object)]
        self._relate(ends[0], fact.relation, ends[1], 1.0, mention=False)

    def sentence(self, sentence: str) -> None:
        spans = self._finder.spans(sentence)
        for span in spans:
            if name_key(span.text) in self._sure:
                self._thing(span.text)
        if negated(sentence):
            return
        said: tuple[str, str] | None = None  # the subject and the relation, which go on after "and"
        for left, right in pairwise(spans):
            words = [word.group().casefold() for word in _WORD.finditer(sentence, left.end, right.start)]
            if said is not None and _only_joins(sentence[left.end : right.start], words):
                subject, relation = said
            else:
                subject, relation = left.text, relation_of(words)
            if relation:
                self._relate(self._thing(subject), relation, self._thing(right.text), self._options.weight)
                said = (subject, relation)
            else:
                said = None
                if self._options.related:
                    ends = (self._thing(left.text), self._thing(right.text))
                    self._relate(ends[0], "RELATED_TO", ends[1], self._options.weight / 2)

    def batch(self) -> GraphBatch:
        return GraphBatch(tuple(self._things.values())[:MAX_ITEMS], tuple(self._facts.values())[:MAX_ITEMS])

    def _thing(self, name: str, kind: str = "") -> NamedThing:
        key = name_key(name)
        shown = self._known.get(key, " ".join(name.split()))
        given = kind or self._options.types.get(key) or ("" if key in self._known else self._options.default_type)
        if key not in self._things or (kind and not self._things[key].type):
            self._things[key] = NamedThing(one_line(shown, "a name"), given)
        return self._things[key]

    def _relate(
        self, subject: NamedThing, relation: str, target: NamedThing, weight: float, *, mention: bool = True
    ) -> None:
        ends = name_key(subject.name), name_key(target.name)
        if ends[0] != ends[1]:
            draft = RelationDraft(subject, one_line(relation, "a relation"), target, weight, mention=mention)
            self._facts.setdefault((ends[0], name_key(relation), ends[1]), draft)


def relation_of(words: Sequence[str]) -> str:
    """`works on the` becomes WORKS_ON; nothing, where no verb leads from one name to the other."""
    kept = [word for word in words if word not in _DROPPED]
    if not kept or kept[0] in _NO_VERB or kept[0] in _JOINING or len(kept) > _MOST_WORDS or len(words) > 6:
        return ""
    if kept in (["is"], ["was"]):
        return "IS_A" if {"a", "an"} & set(words) else "IS"
    passive = len(kept) > 1 and kept[0] in ("is", "was", "are", "were") and kept[1] not in _NO_VERB
    return "_".join(_NOT_WORD.sub("_", word) for word in (kept[1:] if passive else kept)).upper()


def _only_joins(between: str, words: Sequence[str]) -> bool:
    return all(word in _JOINING or word in _DROPPED for word in words) and bool(words or "," in between)


_TOKEN = re.compile(r"\w+|\W")

_Index = Mapping[str, Mapping[int, set[str]]]
"""Names by the word they begin with, then by length, the longest first."""


class NameSpan(NamedTuple):
    start: int
    end: int
    text: str


class NameFinder:
    """`exact` names are found as they are written, and before the others, which are found in any letter case."""

    def __init__(self, exact: Iterable[str], folded: Iterable[str]) -> None:
        self._exact = _index(exact)
        self._folded = _index(map(_lower, folded))

    def spans(self, sentence: str) -> list[NameSpan]:
        """Whole words only; from left to right, the longest first, none over another."""
        found: list[NameSpan] = []
        low = _lower(sentence)
        at = 0
        for token in _TOKEN.finditer(sentence):
            start, end = token.span()
            if start < at or _is_word(sentence, start - 1):
                continue
            size = _longest(self._exact.get(sentence[start:end]), sentence, start)
            if size := size or _longest(self._folded.get(low[start:end]), low, start):
                at = start + size
                found.append(NameSpan(start, at, sentence[start:at]))
        return found


def _longest(names: Mapping[int, set[str]] | None, text: str, start: int) -> int:
    for size, same_size in (names or {}).items():
        if text[start : start + size] in same_size and not _is_word(text, start + size):
            return size
    return 0


def _is_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")


def _lower(text: str) -> str:
    """Letter by letter, where one of them would become two."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(each.lower()[0] for each in text)


def _index(names: Iterable[str]) -> _Index:
    found: dict[str, dict[int, set[str]]] = {}
    for name in sorted(names, key=len, reverse=True):
        if token := _TOKEN.match(name):
            found.setdefault(token.group(), {}).setdefault(len(name), set()).add(name)
    return found
