"""Compare two statements: one repeats the other, contradicts it, or nobody can be sure. Pure.

Two statements are compared word by word, without what makes no difference. They contradict each other if one denies
the other, if one has the opposite in the place of a word, or if both say of one subject what only one thing can be said
of (where it is, how much it is, who it is) and say another. What differs before the verb is another subject. Being
silent costs little, and a false alarm costs trust: where it is not sure, nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from memsweep.model.likeness import Comparable, WordToken, comparable, differences, nearly_same, outline

# The words by which two statements are told to agree or not: tables.

DROPPED = frozenset(
    """
    a an the our now currently already actually anymore meanwhile recently still just also then so please
    """.split()
)
"""What makes no difference between two statements."""
NEGATIONS = frozenset({"not", "no", "never"})
EMPHASIS = frozenset({"always", "do", "ever"})
"""What goes along with a negation, or with its absence."""
HEDGES = frozenset(
    """
    if unless when while because whether or might may maybe perhaps could would should think thinks believe believes
    guess said says say asked asks told wonder wonders probably likely today yesterday tomorrow tonight week
    sometimes often usually partly only except both either about
    """.split()
)
"""Where one of these stands, nothing is sure."""
UNKNOWN_SUBJECTS = frozenset("it this that these those he she they there here who what which".split())
PEOPLE = frozenset("user customer client person man woman boss friend colleague i we you".split())
"""Of whom more than one name may hold: a user is German and Catholic."""

_OPPOSITES = """
    on off, enabled disabled, public private, open closed, allowed forbidden, required optional, true false, valid
    invalid, manual automatic, up down, light dark, short long, brief detailed, concise verbose, formal informal,
    early late, big small, large small, hot cold, left right, mandatory optional, active inactive, online offline,
    safe unsafe, available unavailable, locked unlocked, full empty, alive dead, single married, vegetarian
    carnivore, visible hidden, synchronous asynchronous, mutable immutable, cheap expensive, free paid, daily
    weekly, weekly monthly, daily monthly
    """
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _OPPOSITES.split(","))

_PLACES = "in at"
_TIMES = "on at in by until after before from every within for"
_PARTICIPLES = (
    "based located hosted stored called named owned led managed maintained written kept deployed scheduled set due"
)
FUNCTIONAL: dict[str, frozenset[str]] = {
    verb: frozenset(kinds.split())
    for verb, kinds in {
        "be": "number name",
        "have": "number",
        "use": "version",
        "prefer": "choice",
        "live": "name",
        "work": "name",
        "report": "name",
        "belong": "name",
        "run": "name number",
        "listen": "number",
        "cost": "number",
        "take": "number",
        "last": "number",
        "start": "number",
        "begin": "number",
        "end": "number",
        "open": "number",
        "close": "number",
        "expire": "number",
        "weigh": "number",
        "equal": "number",
        "hold": "number",
        "deploy": "number",
        "release": "number",
        "ship": "number",
        "meet": "number",
        "happen": "number",
        "go": "number",
        "retry": "number",
        "wait": "number",
        "keep": "number",
    }.items()
}
"""Verbs of which one thing holds at a time, and what that may be."""
_MEASURES = "to of than port version maximum minimum out around roughly most least up"
LINKERS = frozenset(f"{_PLACES} {_TIMES} {_PARTICIPLES} {_MEASURES}".split())
"""What may stand between the verb and the value."""
CHOSEN = frozenset(
    """
    favourite favorite default preferred primary name language color colour capital owner deadline password timezone
    birthday currency theme editor
    """.split()
)
"""Subjects of which one thing holds, though it is no name."""
DESCRIBING = ("ed", "able", "ible", "ful", "ous", "ive", "ing", "ly", "less", "est", "er")

_UNITS = """
    second minute hour day week month year ms s min h d kb mb gb tb kib mib gib byte percent euro dollar pound eur
    usd gbp m km cm mm kg g mg l ml am pm clock time times token character line degree meter metre mile
    """
UNITS = frozenset(_UNITS.split())
_COUNTED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december noon midnight once twice
    """
COUNTED = frozenset({*_COUNTED.split(), "month of may"})


Kind = Literal["repeats", "contradicts"]
_FEWEST = 3
_LONGEST_VALUE = 3
_MOST_SENTENCES = 5
_MOST_CHARACTERS = 2_000
_IN_COMMON = 0.5  # of the words of the shorter of two statements, at least, if one contradicts the other
_MORE = 0.2  # of the words of the longer of two texts, at most, that the other lacks and repeats it all the same
_OWN = 6  # words, at most, that each has beside them
_OWN_OF_A_DENIAL = 4
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?]\s+|\n+")
_BE = {"is", "are", "am", "be"}
_STRESS = NEGATIONS | EMPHASIS
_WHOLE = HEDGES | NEGATIONS | EMPHASIS | DROPPED | UNKNOWN_SUBJECTS
_ENDS_A_DENIAL = frozenset({"t"})  # of don't and isn't
_VERB_FORMS = _ENDS_A_DENIAL | _BE | {"has", "goes"} | {form for verb in FUNCTIONAL for form in (verb, f"{verb}s")}
_DENIALS = _ENDS_A_DENIAL | NEGATIONS | {"cannot"}


class Judgement(NamedTuple):
    """`differs`: each place as the new text and as the old one has it; none where only the form differs."""

    kind: Kind
    differs: tuple[tuple[str, str], ...] = ()


class Word(NamedTuple):
    key: str
    raw: str
    is_name: bool
    is_number: bool


class Sentence:
    """Taken apart when it is needed: most pairs of sentences have too few words in common to be compared."""

    def __init__(self, text: str) -> None:
        self.text, self.words = text, frozenset(_WORD.findall(text.lower()))

    @cached_property
    def first(self) -> str:
        stems = map(_stem, _WORD.findall(self.text.lower()))
        return next((stem for stem in stems if stem not in DROPPED), "")

    @cached_property
    def may_tell(self) -> bool:
        """Return whether it may have a verb of which one thing holds; other scripts have signs inside of words."""
        return not _VERB_FORMS.isdisjoint(self.words) or not self.text.isascii()

    @cached_property
    def may_deny(self) -> bool:
        return not _DENIALS.isdisjoint(self.words) or not self.text.isascii()

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems that it shares with any sentence that says the same in another statement."""
        stems = map(_stem, self.words)
        return frozenset(stem.rstrip("s") for stem in stems if stem not in DROPPED and stem != "longer")

    @cached_property
    def outline(self) -> tuple[str, ...]:
        return outline(self.text)

    @cached_property
    def whole(self) -> Comparable:
        return comparable(self.text)

    @cached_property
    def statement(self) -> tuple[Word, ...]:
        """The words that count, negations in one form."""
        words = (word for token in self.whole.tokens for word in _words(token, self.text))
        return tuple(word for word in words if word.key not in DROPPED)


class Said(Sentence):
    """A text, ready to be judged."""

    def __init__(self, text: str) -> None:
        found = _sentences(text.strip())
        if 1 < len(found) <= _MOST_SENTENCES:
            self.sentences = tuple(map(Sentence, found))
            self.text, self.words = text, frozenset().union(*(each.words for each in self.sentences))
        else:
            super().__init__(text)
            self.sentences = (self,) if len(found) == 1 else ()


def _sentences(text: str) -> list[str]:
    found, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        found.append(text[start : end.start() + (end[0][0] != "\n")])
        start = end.end()
    return [each for each in (*found, text[start:]) if each]


def may_be_judged(text: str) -> bool:
    """Return whether a text can be judged at all: a long text and a question cannot."""
    return len(text) <= _MOST_CHARACTERS and "?" not in text


def said(text: str) -> Said | None:
    """None for a text of which nothing could be sure."""
    return Said(text) if may_be_judged(text) else None


def judged(new: Said, old: Said) -> Judgement | None:
    """Return what a new text seems to be to an old one; None where that is not sure."""
    if _may_repeat(new, old) and _repeats(new, old):
        return Judgement("repeats", tuple(differences(new.text, old.text)))
    for ours in new.sentences:
        for theirs in old.sentences:
            if _may_contradict(ours, theirs) and contradict(ours.statement, theirs.statement):
                return Judgement("contradicts", tuple(differences(ours.text, theirs.text)))
    return None


# What repeats or contradicts another text has most of its words, and counting them costs less than taking a text apart.


def _may_repeat(new: Said, old: Said) -> bool:
    more = max(len(new.words), len(old.words))
    if more - len(new.words & old.words) > max(_OWN, _MORE * more):
        return False
    return new.outline == old.outline or (
        len(new.sentences) == len(old.sentences) and all(map(_may_be_same, new.sentences, old.sentences))
    )


def _may_be_same(one: Sentence, other: Sentence) -> bool:
    """A denial has several forms."""
    return one.may_deny or other.may_deny or one.stems == other.stems


def _may_contradict(ours: Sentence, theirs: Sentence) -> bool:
    """Both begin with the same subject, or differ in hardly more than a denial."""
    fewer, more = len(ours.words), len(theirs.words)
    if fewer > more:
        fewer, more = more, fewer
    if more - fewer > _OWN or ours.text == theirs.text:
        return False
    if not ((ours.may_tell and theirs.may_tell) or ours.may_deny or theirs.may_deny):
        return False
    both = len(ours.words & theirs.words)
    return both >= _IN_COMMON * fewer and more - both <= (_OWN if ours.first == theirs.first else _OWN_OF_A_DENIAL)


def _repeats(new: Said, old: Said) -> bool:
    if min(len(new.whole.words), len(old.whole.words)) < _FEWEST:
        return False
    return nearly_same(new.whole, old.whole) or _says_the_same(new, old)


def _says_the_same(new: Said, old: Said) -> bool:
    if not len(new.sentences) == len(old.sentences) > 0:
        return False
    pairs = zip(new.sentences, old.sentences, strict=True)
    return all(one.text == other.text or _keys(one.statement) == _keys(other.statement) for one, other in pairs)


def contradict(new: Sequence[Word], old: Sequence[Word]) -> bool:
    if min(len(new), len(old)) < _FEWEST or not HEDGES.isdisjoint(word.key for word in (*new, *old)):
        return False
    return _one_denies(new, old) or _another_value(new, old) or _prefers_the_other(new, old)


def _words(token: WordToken, text: str) -> Iterator[Word]:
    key = token.key
    if key.endswith("n't") or key == "cannot":
        yield _plain(_stem({"can't": "can", "won't": "will"}.get(key, key.removesuffix("n't").removesuffix("not"))))
        key = "not"
    if key == "longer":  # no longer: the no has been said
        return
    in_code = f"`{token.raw}`" in text
    key = "month of may" if token.raw == "May" else _stem(key)
    number = any(letter.isdigit() for letter in key) or key in COUNTED
    name = in_code or (token.is_fact and token.raw[:1].isupper() and key not in COUNTED)
    yield Word(key, token.raw, name, number and not in_code)


def _keys(words: Sequence[Word]) -> list[str]:
    return [word.key for word in words]


def _plain(key: str) -> Word:
    return Word(key, key, is_name=False, is_number=False)


def _stem(key: str) -> str:
    if key in _WHOLE:
        return key
    if key in _BE:
        return "be"
    if key in ("has", "does", "goes"):
        return {"has": "have", "does": "do", "goes": "go"}[key]
    return key[:-1] if len(key) > 3 and key.endswith("s") and not key.endswith(("ss", "us", "is")) else key


def _one_denies(new: Sequence[Word], old: Sequence[Word]) -> bool:
    denials = [sum(word.key in NEGATIONS for word in each) for each in (new, old)]
    if sorted(denials) != [0, 1]:
        return False
    rest = [[word.key for word in each if word.key not in _STRESS] for each in (new, old)]
    return rest[0] == rest[1] and len(rest[0]) >= 2 and len(new) + len(old) > 5


class Difference(NamedTuple):
    """One place in which two statements differ, behind a subject and a verb that both have."""

    subject: Sequence[Word]
    verb: str
    between: Sequence[Word]
    ours: Sequence[Word]
    theirs: Sequence[Word]
    after: Sequence[Word]

    @property
    def is_one_word(self) -> bool:
        return len(self.ours) == len(self.theirs) == 1

    @property
    def is_linked(self) -> bool:
        return all(word.key in LINKERS or not word.raw[0].isalnum() for word in self.between)


def _another_value(new: Sequence[Word], old: Sequence[Word]) -> bool:
    found = _difference(new, old)
    if found is None or not found.ours or not found.theirs:
        return False
    if found.is_one_word and frozenset(_keys((*found.ours, *found.theirs))) in OPPOSITES:
        return found.verb in ("be", "prefer")
    return any(_RULES[kind](found) for kind in sorted(FUNCTIONAL[found.verb])) or _is_chosen(found)


def _difference(new: Sequence[Word], old: Sequence[Word]) -> Difference | None:
    ours, theirs = _keys(new), _keys(old)
    verb = next((at for at, key in enumerate(ours) if key in FUNCTIONAL and at), None)
    if verb is None or ours[: verb + 1] != theirs[: verb + 1] or ours[0] in UNKNOWN_SUBJECTS:
        return None
    if not NEGATIONS.isdisjoint((*ours, *theirs)):
        return None
    shorter = min(len(ours), len(theirs))
    start = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    end = next((at for at in range(shorter - start) if ours[-1 - at] != theirs[-1 - at]), shorter - start)
    return Difference(
        new[:verb],
        ours[verb],
        new[verb + 1 : start],
        new[start : len(new) - end],
        old[start : len(old) - end],
        new[len(new) - end :],
    )


def _is_number(found: Difference) -> bool:
    return found.is_linked and _is_quantity(found.ours) and _is_quantity(found.theirs)


def _is_quantity(value: Sequence[Word]) -> bool:
    some = any(word.is_number for word in value)
    return some and len(value) <= _LONGEST_VALUE and all(word.is_number or word.key in UNITS for word in value)


def _is_name(found: Difference) -> bool:
    if not found.is_linked or not all(_are_names(value) for value in (found.ours, found.theirs)):
        return False
    links, head = {word.key for word in found.between}, found.subject[-1]
    if found.verb == "run" and "on" in links:  # a service runs on Linux and on a cluster
        return False
    return not links.isdisjoint(LINKERS) or not (head.raw[0].isupper() or head.key in PEOPLE)


def _are_names(value: Sequence[Word]) -> bool:
    return len(value) <= _LONGEST_VALUE and all(word.is_name and not word.is_number for word in value)


def _is_version(found: Difference) -> bool:
    """`Python 3.11`: a name, and the number of the one that is meant."""
    named = len(found.between) == 1 and found.between[0].is_name and not found.after
    return named and found.is_one_word and found.ours[0].is_number and found.theirs[0].is_number


def _is_choice(found: Difference) -> bool:
    return found.is_one_word and not found.between and not found.after


def _is_chosen(found: Difference) -> bool:
    """My favourite colour is blue."""
    if found.verb != "be" or not _is_choice(found) or CHOSEN.isdisjoint(_keys(found.subject)):
        return False
    return all(word.raw.isalpha() and not word.key.endswith(DESCRIBING) for word in (*found.ours, *found.theirs))


_RULES = {"number": _is_number, "name": _is_name, "version": _is_version, "choice": _is_choice}


def _prefers_the_other(new: Sequence[Word], old: Sequence[Word]) -> bool:
    """Tabs over spaces, and spaces over tabs."""
    ours, theirs = _keys(new), _keys(old)
    if len(ours) < 5 or len(ours) != len(theirs) or ours[-2] not in ("over", "to") or ours[-4] != "prefer":
        return False
    return ours[:-3] == theirs[:-3] and ours[-3:] == theirs[-3:][::-1] != theirs[-3:]
