"""The lines of positive.txt and negative.txt, with made-up keys in place of {a36} and its kin."""

import random
import re
import string
from pathlib import Path
from typing import NamedTuple

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "x": "0123456789abcdef",
    "b": string.ascii_uppercase + "234567",
    "u": string.ascii_uppercase + string.digits,
    "d": string.digits,
    "l": string.ascii_lowercase + string.digits,
    "o": string.ascii_lowercase + "234567",
    "s": string.ascii_letters + string.digits + "_-",
}
_MADE_UP = re.compile(r"\{([abdlosux])(\d+)\}")


class Positive(NamedTuple):
    kind: str
    text: str
    start: int
    end: int


def positives() -> list[Positive]:
    return [_positive(line) for line in _lines("positive.txt")]


def negatives() -> list[str]:
    return [_made(line) for line in _lines("negative.txt")]


def _positive(line: str) -> Positive:
    kind, _, rest = line.partition(" | ")
    before, value, after = re.split("[«»]", _made(rest))
    return Positive(kind, before + value + after, len(before), len(before) + len(value))


def _lines(name: str) -> list[str]:
    lines = (Path(__file__).parent / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


def _made(line: str) -> str:
    chance = random.Random(line)

    def made(found: re.Match[str]) -> str:
        letters = [chance.choice(_ALPHABETS[found[1]]) for _ in range(int(found[2]))]
        return _with_a_digit("".join(letters), found[1])

    return _MADE_UP.sub(made, line).replace("\\n", "\n")


def _with_a_digit(word: str, alphabet: str) -> str:
    """Begins with a letter and ends with a digit, as nearly every key of that length has both."""
    return word if alphabet == "d" or len(word) < 8 else f"a{word[1:-1]}7" if alphabet in "xlo" else f"K{word[1:-1]}7"
