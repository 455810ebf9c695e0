"""Compare two texts: whether they say the same, where they differ, and by which words. Pure.

Case, spacing, quotation marks and the punctuation of sentences make no difference, nor does a "the". Everything else
does: symbols, vowel signs, numbers, names. Two long texts say *nearly* the same if they differ in a few ordinary words
alone: what states a fact (numbers, dates, negations, names, identifiers, symbols) is equal and in the same order, and
no word was exchanged for another one. What is uncertain is a difference.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import NamedTuple

NEAR = 0.9
"""The share of three-word runs that two texts must have in common."""
FEWEST_WORDS = 8
"""Shorter texts say too little to be called nearly the same."""
_MOST_COMPARED = 1_000_000  # pairs of words that are aligned; beyond that it is uncertain
_CONTEXT = 3

Run = tuple[str, ...]


class WordToken(NamedTuple):
    """A word or a sign: as it is compared, as it is written, and whether a fact may hang on it."""

    key: str
    raw: str
    is_fact: bool


class Comparable(NamedTuple):
    """A text, ready to be compared."""

    words: tuple[str, ...]
    facts: tuple[str, ...]
    runs: frozenset[Run]
    tokens: tuple[WordToken, ...]


# Inside a word they are a difference: the full text ends a word there, and would not find it again.
_UNSEEN = "[\u00ad\u200b\u2060\ufe0e\ufe0f\ufeff]++"
_INVISIBLE = re.compile(rf"(?<!\w){_UNSEEN}|{_UNSEEN}(?!\w)")
_PIECE = re.compile(r"\d++(?:[.,:/-]\d++)+|[^\W_]\w*+(?:['’]\w++)*+|_\w*+|[^\w\s]++|\n")
_WORD_PIECE = re.compile(r"\d++(?:[.,:/-]\d++)+|[^\W_]\w*+(?:['’]\w++)*+|_\w*+")  # those of them that are words
_OPENING = "\"'“”„‘’«»‹›([{¿¡"
_CLOSING = "\"'“”‘’«»‹›)]}.,;:!…。、，；：！"
_BETWEEN_WORDS = frozenset({"-", "–", "—", ",", "‐", "…"})
_DASHES = frozenset({"–", "—"})
_BULLETS = frozenset({"-", "*", "+", "•"})
_ENDS_SENTENCE = frozenset(".!?…:。！？")

# Words on which the meaning of a whole sentence hangs.
_NEGATIONS = """
    no not never none nor neither nothing nobody nowhere without cannot hardly barely stop stopped fail failed fails
    nicht kein keine keinen keiner nie niemals ohne ne pas jamais sans rien nunca jamás sin nada ni non mai senza
    niet geen
    """
_LIMITS = """
    only except unless until if may might maybe perhaps must should could would almost nearly some all any every each
    both
    most few more less least fewer than or but instead
    """
_OPPOSITES = """
    true false yes on off in out up down enable enabled enables disable disabled disables allow allowed allows deny
    denied
    forbid forbidden permit permitted before after above below over under min max minimum maximum left right first
    last
    open opened closed close add added remove removed public private internal external read write required optional
    start started begin began end ended success failure valid invalid safe unsafe local remote old new high low hot
    cold
    increase decrease increased decreased upgrade downgrade import export input output client server source target
    production staging development test accept accepted reject rejected include exclude included excluded up down
    male female he she his her him from to by for against with
    """
_DATES = """
    monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec today tomorrow yesterday tonight morning noon evening midnight
    weekly
    daily hourly monthly yearly annually quarterly
    """
_NUMBERS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half
    third
    quarter double triple twice once second fourth fifth sixth seventh eighth ninth tenth dozen
    """
_TURNING = frozenset(" ".join((_NEGATIONS, _LIMITS, _OPPOSITES, _DATES, _NUMBERS)).split())
_ENDINGS = ("ing", "es", "ed", "ly", "s", "d")


class _Shapes(dict[int, int]):
    """For `translate`: vowel signs and accents that stand by themselves count as letters."""

    def __missing__(self, code: int) -> int:
        self[code] = shape = ord("x") if unicodedata.category(chr(code)).startswith("M") else code
        return shape


_shapes = _Shapes()


def comparable(text: str) -> Comparable:
    found = tuple(_without_articles(list(_tokens(text))))
    words = tuple(token.key for token in found)
    runs = frozenset(zip(words, words[1:], words[2:], strict=False)) if len(words) >= FEWEST_WORDS else frozenset()
    return Comparable(words, tuple(token.key for token in found if token.is_fact), runs, found)


def outline(text: str) -> tuple[str, ...]:
    """Return what two texts that say the same, or nearly so, always share; found in a tenth of the time.

    These are the words and numbers that are facts whatever stands around them. So texts with another outline need not
    be compared.
    """
    if text.isascii():
        return tuple([key for key in _WORD_PIECE.findall(text.lower()) if key in _TURNING or key < ":"])  # or a digit
    keys = map(_key, _WORD_PIECE.findall(_shape(_visible(text))))
    return tuple([key for key in keys if key in _TURNING or key[0].isdecimal()])


def nearly_same(left: Comparable, right: Comparable) -> bool:
    """Return whether two texts differ in nothing but a few ordinary words."""
    if left.words == right.words:
        return bool(left.words)
    if left.facts != right.facts or not left.runs or not right.runs:
        return False
    return len(left.runs & right.runs) >= NEAR * len(left.runs | right.runs) and _is_small_talk(left, right)


def differences(left: str, right: str, at_most: int = 5) -> list[tuple[str, str]]:
    """Return the differences of two texts with a few words around each; none if only the form differs."""
    one, other = comparable(left), comparable(right)
    found = [
        (_excerpt(one.tokens, *mine), _excerpt(other.tokens, *yours))
        for kind, mine, yours in _steps(one.words, other.words)
        if kind != "equal"
    ]
    return found[:at_most]


def _is_small_talk(left: Comparable, right: Comparable) -> bool:
    left, right = sorted((left, right), key=lambda text: text.words)  # an alignment depends on which comes first
    for kind, (first, last), (start, end) in _steps(left.words, right.words):
        mine, yours = left.tokens[first:last], right.tokens[start:end]
        if kind == "replace" and not _is_inflected(mine, yours):
            return False
        if kind != "equal" and any(token.is_fact for token in (*mine, *yours)):
            return False
    return True


def _steps(left: Run, right: Run) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
    """From one text to the other: what is equal, replaced, deleted, inserted, as places in both."""
    start = _common(left, right)
    tail = _common(left[start:][::-1], right[start:][::-1])
    mine, yours = left[start : len(left) - tail], right[start : len(right) - tail]
    if len(mine) * len(yours) > _MOST_COMPARED:
        yield "replace", (start, start + len(mine)), (start, start + len(yours))
        return
    for kind, first, last, begin, end in SequenceMatcher(None, mine, yours, autojunk=False).get_opcodes():
        yield kind, (start + first, start + last), (start + begin, start + end)


def _common(left: Run, right: Run) -> int:
    return next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def _is_inflected(left: Sequence[WordToken], right: Sequence[WordToken]) -> bool:
    """The same ordinary words in another form: deploy, deploys, deployed."""
    return len(left) == len(right) and all(
        a.raw.islower() and b.raw.islower() and _stem(a.key) == _stem(b.key) for a, b in zip(left, right, strict=True)
    )


def _stem(word: str) -> str:
    ending = next((each for each in _ENDINGS if word.endswith(each) and len(word) - len(each) >= 4), "")
    return word.removesuffix(ending)


def _excerpt(tokens: Sequence[WordToken], first: int, last: int) -> str:
    around = range(max(0, first - _CONTEXT), min(len(tokens), last + _CONTEXT))
    if first == last and not around:
        return ""
    said = " ".join(tokens[at].raw for at in around)
    return f"{'… ' if around.start else ''}{said}{' …' if around.stop < len(tokens) else ''}"


def _without_articles(tokens: Sequence[WordToken]) -> Iterator[WordToken]:
    """A "the" before an ordinary word; before a name it may be a part of that."""
    for at, token in enumerate(tokens):
        after = tokens[at + 1].raw if at + 1 < len(tokens) else ""
        if token.raw not in ("the", "The") or not after[:1].islower():
            yield token


def _tokens(text: str) -> Iterator[WordToken]:
    text = _visible(text)
    shape = _shape(text)
    begins = True
    for found in _PIECE.finditer(shape):
        piece = text[found.start() : found.end()]
        if piece == "\n":
            begins = True
            continue
        if _is_word(shape[found.start()]):
            yield _word(piece, begins)
            begins = False
            continue
        sign = _kept_sign(piece, text[: found.start()][-1:], text[found.end() :][:1], begins)
        if sign:
            yield WordToken(sign, piece, True)
        begins = begins or not _ENDS_SENTENCE.isdisjoint(piece)


def _visible(text: str) -> str:
    return text if text.isascii() else _INVISIBLE.sub("", unicodedata.normalize("NFC", text))


def _shape(text: str) -> str:
    return text if text.isascii() else text.translate(_shapes)


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


@lru_cache(maxsize=4096)  # texts that are compared have most of their words in common
def _word(raw: str, begins_sentence: bool) -> WordToken:
    key = _key(raw)
    return WordToken(key, raw, _is_fact(raw, key, begins_sentence))


def _key(raw: str) -> str:
    return raw.lower().replace("’", "'")  # not by casefold: to the full text "ss" and "ß" are two spellings


def _is_fact(raw: str, key: str, begins_sentence: bool) -> bool:
    if key in _TURNING or "n't" in key or "_" in key:
        return True
    if raw.islower():
        return any(letter.isnumeric() for letter in raw) if not raw.isalpha() else False
    if raw[0].isupper() and (len(raw) == 1 or raw[1:].islower()):
        return not begins_sentence and raw != "I"
    return True  # LOUD, camelCase, digits, or a script without case, which does not show its names


def _kept_sign(piece: str, before: str, after: str, begins: bool) -> str:
    """Return a run of signs without quotation marks and the punctuation of sentences."""
    leads, trails = not before or before.isspace(), not after or after.isspace()
    if leads and trails and (piece in _DASHES or (begins and piece in _BULLETS)):
        return ""
    if not leads and not trails:
        return "" if piece in _BETWEEN_WORDS and before.isalpha() and after.isalpha() else piece
    if leads:
        piece = piece.lstrip(_OPENING)
    return piece.rstrip(_CLOSING) if trails else piece


# Words by which a full text finds every text that says the same as one, or nearly so. Pure.
#
# A full text has words of its own: it takes a sign that it does not know for a letter, and knows no two spellings
# of one. So only those words count that it is sure to have wherever they stand in a text that says the same.


_LONGEST_WORD = 40  # in letters; what is longer may have been cut
_MOST_TOGETHER = 4  # words that are asked for at once; more make a question no sharper
_NO_TOKEN = WordToken("", "", False)
# Letters that are written in no other way but as capitals: Cyrillic, Hebrew, Arabic.
_SPACED = re.compile(r"[\u0430-\u0438\u043a-\u044f\u0454\u0456]+|[\u05d0-\u05ea]+|[\u0627-\u063a\u0641-\u064a]+")
_UNSPACED = re.compile(r"[\u3041-\u3094\u30a1-\u30fa\u4e00-\u9fa5]+")  # the Japanese syllabaries, Han
_VARIANTS = (range(0x3041, 0x30FB), range(0xF900, 0xFB00), range(0x2F800, 0x2FA20))  # where letters are others, too


class DistinctiveWords(NamedTuple):
    """Words by which an index finds all texts that say the same as one, or nearly so."""

    needed: tuple[str, ...]
    """Each of these is in all of them."""
    others: tuple[str, ...]
    most_missing: int
    """And no more than so many of both are missing in one."""


class WordGroups(NamedTuple):
    """A query for texts with all `needed` words, and all of one of the `groups` if there are any."""

    needed: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def distinctive_words(text: Comparable) -> DistinctiveWords:
    """The words of a text that say which others may say the same.

    Two texts that share `NEAR` of their runs lack no more than a ninth of those of either, and each word but the last
    two begins a run of its own. What states a fact stands beside the same facts in both, whatever is between them.
    """
    order = [token for token in text.tokens if token.is_fact] if text.runs else list(text.tokens)
    apart = (
        token.key
        for before, token, after in zip((_NO_TOKEN, *order), order, (*order[1:], _NO_TOKEN), strict=False)
        if not _joins_next(before.key) and not _joins_both(after.key)
    )
    needed = dict.fromkeys(filter(None, map(_sought, apart)))
    if not text.runs:
        return DistinctiveWords(tuple(needed), (), 0)
    others = dict.fromkeys(word for key in dict.fromkeys(text.words) if (word := _sought(key)) and word not in needed)
    joined = sum(_joins_next(key) + _joins_both(key) for key in text.facts)
    return DistinctiveWords(tuple(needed), tuple(others), len(text.runs) // 9 + 2 + joined)


def fewest(distinctive: DistinctiveWords, counts: Mapping[str, int]) -> list[str] | None:
    """The words that the fewest texts have, where every text that says the same has one; None if there are none."""
    ordered = _rarest_first((*distinctive.needed, *distinctive.others), counts)
    ways = [_rarest_first(distinctive.needed, counts)[:1]] if distinctive.needed else []
    if len(ordered) > distinctive.most_missing:
        ways.append(ordered[: distinctive.most_missing + 1])
    return min(ways, key=lambda words: sum(counts.get(word, 0) for word in words), default=None)


def word_groups(distinctive: DistinctiveWords, counts: Mapping[str, int]) -> WordGroups:
    """Return the groups of words to look for where each word alone is common.

    Of so many groups of words, one more than words may be missing, every such text has all words of one.
    """
    needed = _rarest_first(distinctive.needed, counts)[:_MOST_TOGETHER]
    others, count = _rarest_first(distinctive.others, counts), distinctive.most_missing + 1
    groups = [tuple(others[at::count][:_MOST_TOGETHER]) for at in range(count)] if len(others) >= count else []
    return WordGroups(tuple(needed), tuple(groups))


def _rarest_first(words: Iterable[str], counts: Mapping[str, int]) -> list[str]:
    return sorted(words, key=lambda word: (counts.get(word, 0), word))


def _joins_next(key: str) -> bool:
    """Return whether a full text may join the next word to this: behind 5.5, or a sign it does not know."""
    return (key[:1].isdecimal() and not key.isalnum()) or _joins_both(key)


def _joins_both(key: str) -> bool:
    """The same of the word before it."""
    return not key.isascii() and not key[0].isalnum()


def _sought(key: str) -> str:
    """Return the part that full texts find wherever this word stands, however written; empty if none is sure."""
    if key.isascii():
        return key if key.isalnum() and len(key) <= _LONGEST_WORD else ""
    if _SPACED.fullmatch(key):
        return key if len(key) <= _LONGEST_WORD else ""
    parts = (part for run in _UNSPACED.findall(key) for part in _without_variants(run))
    return max(parts, key=len, default="")[:_LONGEST_WORD]  # of letters without spaces every part is found


def _without_variants(run: str) -> list[str]:
    return "".join(" " if letter in _with_variants() else letter for letter in run).split()


@cache
def _with_variants() -> frozenset[str]:
    """Letters for which another one may be written, or two."""
    letters = [chr(code) for block in _VARIANTS for code in block]
    composed = {form for letter in letters if (form := unicodedata.normalize("NFC", letter)) != letter}
    return frozenset(composed | {letter for letter in letters if not unicodedata.is_normalized("NFD", letter)})
