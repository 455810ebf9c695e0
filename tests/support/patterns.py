"""Regular expressions of the source, and texts that would be the worst for each of them."""

import ast
import importlib
import pkgutil
import re
import signal
import string
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import memsweep
from tests.support.counts import THOROUGH

Pattern = re.Pattern[Any]
_LETTERS = string.ascii_letters + string.digits + string.punctuation + " \t\n…。’é中\u0301\u00a0"
_GENERIC = [
    "\n",
    " ",
    " A",
    "a ",
    "A",
    "(",
    "[",
    "{",
    "<",
    "#",
    ".",
    "-",
    '"',
    "'",
    "1",
    "`",
    "*",
    "/",
    "\\",
    "a.",
    "- ",
]
_MANY = 10  # a repeat of at least so many is one that can be pumped
_MOST_PUMPS = 10 if THOROUGH else 6
SIZES = (20, 8000 if THOROUGH else 2000)  # what doubles with each letter shows in a short text, all else in a long one
_SUSPICIOUS, _ALWAYS_ENOUGH = 0.004, 2.0  # seconds of processor time


@dataclass(frozen=True, slots=True)
class Used:
    """A pattern, and whether it is only asked about the beginning of a text or the whole of it."""

    pattern: Pattern
    methods: frozenset[str]

    def work_on(self, text: Any) -> None:
        for method in self.methods & _ANCHORED:
            getattr(self.pattern, method)(text)
        if not self.methods or self.methods - _ANCHORED:  # all others look everywhere
            for _ in self.pattern.finditer(text):
                pass


_ANCHORED = frozenset({"match", "fullmatch"})
_METHODS = _ANCHORED | {"search", "finditer", "findall", "sub", "subn", "split"}


def patterns() -> dict[str, Used]:
    """Every compiled pattern that a module holds, by where it is: as a name, in a class, or in a table."""
    found: dict[str, Used] = {}
    known: set[tuple[int, frozenset[str]]] = set()  # a table that others import is timed once
    for info in pkgutil.walk_packages(memsweep.__path__, "memsweep."):
        if info.name != "memsweep.__main__":
            module = importlib.import_module(info.name)
            methods = _methods(Path(module.__file__ or ""))
            for where, each in _inside(vars(module), info.name, 0):
                used = methods.get(where.removeprefix(info.name + "."), frozenset())
                if (id(each), used) not in known:
                    known.add((id(each), used))
                    found.setdefault(where, Used(each, used))
    return found


def _methods(path: Path) -> dict[str, frozenset[str]]:
    """What is asked of each name in a module."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
            found.setdefault(node.value.id, set()).add(node.attr)
    return {name: frozenset(methods) for name, methods in found.items()}


def _inside(value: Any, where: str, depth: int) -> Iterator[tuple[str, Pattern]]:
    match value:
        case re.Pattern():
            yield where, value
        case dict() if depth < 4:
            for key, each in list(value.items()):
                if not str(key).startswith("__"):
                    yield from _inside(each, f"{where}.{key}", depth + 1)
        case list() | tuple() | frozenset() if depth < 4:
            for number, each in enumerate(value):
                yield from _inside(each, f"{where}[{number}]", depth + 1)
        case type() if depth < 2 and where.startswith(value.__module__):
            yield from _inside(dict(vars(value)), where, depth + 1)


def attacks(pattern: Pattern) -> dict[str, tuple[str, str, str]]:
    """Texts as a beginning, what is repeated, and an end at which a match fails; one of each kind."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = _parser.parse(source, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags)
    repeats = list(_repeats(tree, ""))
    words = list(dict.fromkeys(_words(tree)))
    pumps = list(dict.fromkeys([pump for _, body in repeats for pump in body] + words))[:_MOST_PUMPS]
    pairs = [first + second for first in pumps for second in pumps if first != second]
    beginnings = list(dict.fromkeys(["", *(before for before, _ in repeats)]))[:5]
    found = {}
    for pump in dict.fromkeys([*pumps, *pairs, *_GENERIC]):
        for before in beginnings:
            for after in ("", "\0"):
                found[f"{before!r} + {pump!r}… + {after!r}"] = (before, pump, after)
    return found


def growth(pattern: Used, attack: tuple[str, str, str]) -> str:
    """What is wrong with the time that a pattern takes for a growing text; nothing if it grows as the text does."""
    with _at_most(5 * _ALWAYS_ENOUGH):
        return next((slow for size in SIZES if (slow := _slow(pattern, attack, size))), "")
    return f"no end within {5 * _ALWAYS_ENOUGH} s"


def _slow(pattern: Used, attack: tuple[str, str, str], size: int) -> str:
    took = _seconds(pattern, attack, size)
    if took > _ALWAYS_ENOUGH:
        return f"{size:,} characters take more than {_ALWAYS_ENOUGH} s"
    if took > _SUSPICIOUS:
        ratio = min(_ratio(pattern, attack, size) for _ in range(3))  # another process may have been in the way
        if ratio > 9:
            return f"{size:,} characters take {ratio:.0f} times as long as {size // 4:,} ({took:.3f} s)"
    return ""


def _ratio(pattern: Used, attack: tuple[str, str, str], size: int) -> float:
    """Of the times for a text and for a quarter of it: 4 if all is well, 16 and more if it is not."""
    return _seconds(pattern, attack, size) / max(1e-6, _seconds(pattern, attack, size // 4))


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """What doubles with each letter would never end. By the clock: a timer of processor time would make it coarse."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with suppress(TimeoutError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _seconds(used: Used, attack: tuple[str, str, str], size: int) -> float:
    before, pump, after = attack
    text: Any = before + pump * (size // len(pump)) + after
    if isinstance(used.pattern.pattern, bytes):
        text = text.encode("utf-8")
    start = time.process_time()
    used.work_on(text)
    return time.process_time() - start


def _sequence(items: Iterable[Any]) -> str:
    return "".join(_sample(item) for item in items)


def _sample(item: Any) -> str:
    """A short text that an item matches, as far as that is simple."""
    operation, value = item
    match operation:
        case sre.LITERAL:
            return chr(value)
        case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
            least, _, body = value
            return _sequence(body) * least
        case sre.SUBPATTERN:
            return _sequence(value[3])
        case sre.ATOMIC_GROUP:
            return _sequence(value)
        case sre.BRANCH:
            return _sequence(value[1][0])
        case sre.IN | sre.ANY | sre.NOT_LITERAL:
            return (_matching(item) or [""])[0]
        case sre.AT if value in (sre.AT_BEGINNING, sre.AT_BEGINNING_LINE):
            return ""
    return ""


def _matching(item: Any) -> list[str]:
    """Letters of one place, of as many kinds as there are."""
    operation, value = item
    if operation is sre.LITERAL:
        return [chr(value)]
    if operation is sre.NOT_LITERAL:
        return [letter for letter in "aA0 \n" if letter != chr(value)][:3]
    if operation is sre.ANY:
        return ["a", " "]
    if operation is not sre.IN:
        return []
    chosen = [letter for letter in "a A0\n-._'\"/*:#\t>(" + _LETTERS if _in_set(letter, value)]
    return list(dict.fromkeys(chosen))[:6]


def _in_set(letter: str, members: list[Any]) -> bool:
    negated = members[0][0] is sre.NEGATE
    return negated != any(_is_member(letter, member) for member in members[negated:])


_CATEGORIES = {
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    sre.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    sre.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdigit(),
    sre.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


def _is_member(letter: str, member: Any) -> bool:
    kind, value = member
    match kind:
        case sre.LITERAL:
            return ord(letter) == value
        case sre.RANGE:
            return value[0] <= ord(letter) <= value[1]
        case sre.CATEGORY:
            return bool(_CATEGORIES[value](letter))
    return False


def _repeats(items: Iterable[Any], before: str) -> Iterator[tuple[str, list[str]]]:
    """What comes before each repeat that can go on and on, and what it could be fed with."""
    for item in items:
        operation, value = item
        match operation:
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                _, most, body = value
                if most is sre.MAXREPEAT or most >= _MANY:
                    yield before, _feeds(body)
                yield from _repeats(body, before)
            case sre.SUBPATTERN:
                yield from _repeats(value[3], before)
            case sre.ATOMIC_GROUP:
                yield from _repeats(value, before)
            case sre.BRANCH:
                for branch in value[1]:
                    yield from _repeats(branch, before)
            case sre.ASSERT | sre.ASSERT_NOT:
                yield from _repeats(value[1], before)
        before += _sample(item)


def _feeds(body: Any) -> list[str]:
    if len(body) == 1 and body[0][0] in (sre.IN, sre.LITERAL, sre.ANY, sre.NOT_LITERAL):
        return _matching(body[0])
    inner = [feed for item in body if item[0] in (sre.BRANCH, sre.SUBPATTERN) for feed in _branches(item)]
    return [feed for feed in [_sequence(body), *inner] if feed]


def _branches(item: Any) -> list[str]:
    operation, value = item
    if operation is sre.SUBPATTERN:
        return [feed for each in value[3] if each[0] is sre.BRANCH for feed in _branches(each)]
    return [_sequence(branch) for branch in value[1]]


def _words(items: Iterable[Any]) -> Iterator[str]:
    """Runs of plain letters: what a text could be full of without a match."""
    run = ""
    for operation, value in _flat(items):
        if operation is sre.LITERAL:
            run += chr(value)
            continue
        if run:
            yield run
        run = ""
        match operation:
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                yield from _words(value[2])
            case sre.BRANCH:
                for branch in value[1]:
                    yield from _words(branch)
            case sre.IN:
                yield from _matching((operation, value))[:2]
    if run:
        yield run


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    """Groups stand for what is in them, so that a run of letters may begin in one and end in another."""
    for operation, value in items:
        if operation is sre.SUBPATTERN:
            yield from _flat(value[3])
        elif operation is sre.ATOMIC_GROUP:
            yield from _flat(value)
        else:
            yield operation, value
