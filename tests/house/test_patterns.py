"""No text makes a pattern slow: the time of each grows as the text does, whatever the text is."""

import ast
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.code.exclude import Exclusions
from memsweep.code.gitignore import Patterns
from memsweep.store.falkor.cypher import path_matches
from tests.house.tree import imports, modules, named, nodes, offences
from tests.support.patterns import Used, attacks, growth, patterns

_ASKING = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
# Patterns that are made while we run: of wildcards, and never of plain stars (memsweep/model/wildcards.py).
# Those of secrets/rule.py are made for its tables, where they are found and timed.
_MADE_LATER = {"code/gitignore.py", "code/exclude.py", "store/falkor/cypher.py", "secrets/rule.py"}

KNOWN_TO_BE_SLOW = [
    r"(a+)+b",
    r"\s+as\s",
    r"^\s*[-*]?\s*(\w+)\s*[:=]",
    r"(?:\A|[.\n]\s*)actually",
    r"(\w+)\s*\)$",
    r"MATCH (\{.*?\}), (\{.*?\}) CREATE",
]


@pytest.mark.slow
@pytest.mark.soak
def test_a_pattern_takes_time_as_the_text_grows_and_no_more() -> None:
    tried = ((where, used, *each) for where, used in patterns().items() for each in attacks(used.pattern).items())
    found = (f"{where}: {slow} with {name}" for where, used, name, attack in tried if (slow := growth(used, attack)))
    assert list(found) == []


@pytest.mark.parametrize("pattern", KNOWN_TO_BE_SLOW)
def test_a_slow_pattern_would_be_noticed(pattern: str) -> None:
    used = Used(re.compile(pattern, re.MULTILINE), frozenset())
    assert any(growth(used, attack) for attack in attacks(used.pattern).values())


def test_no_pattern_hides_in_a_function() -> None:
    """Where it would not be found by the test above."""

    def hidden(path: Path) -> Iterator[str]:
        return (
            f"line {node.lineno}"
            for function in nodes(path)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and _asks_re(node) and not _is_made_later(node, path)
        )

    assert offences(hidden, [path for path in modules() if not {"re", "fnmatch"}.isdisjoint(imports(path))]) == []


def _asks_re(node: ast.Call) -> bool:
    call = node.func
    return (
        isinstance(call, ast.Attribute)
        and isinstance(call.value, ast.Name)
        and call.value.id in ("re", "fnmatch")
        and (call.attr in _ASKING or call.value.id == "fnmatch")
    )


def _is_made_later(node: ast.Call, path: Path) -> bool:
    return named(path) in _MADE_LATER and not isinstance(node.args[0], ast.Constant)


WILDCARDS = ["*a" * 14 + "b", "**/a*" * 8 + "/b", "*?" * 20 + "b", "a*" * 30, "*[ab]" * 20 + "c", "a/**/" * 10 + "b"]


@pytest.mark.parametrize("pattern", WILDCARDS)
@pytest.mark.parametrize("path", ["a" * 200, "a/" * 100 + "a", "ab/" * 80 + "a", ("a" * 200 + "/") * 15 + "a"])
def test_a_wildcard_never_tries_a_way_twice(pattern: str, path: str) -> None:
    """With plain stars the first of them would not end before the sun does."""
    start = time.process_time()
    Patterns([pattern]).verdict(path, is_folder=False)
    Exclusions((pattern,)).is_secret(path)
    path_matches(path, pattern)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("pattern", "path", "is_match"),
    [
        ("*a*b", "xaxbxb", True),
        ("*a*b", "xbxa", False),
        ("src/*/test_*.py", "src/x/test_y.py", True),
        ("*", "a/b", True),
        ("a?c", "a/c", True),
        ("[b-a]x", "bx", True),
        ("[b-a]x", "ax", False),
        ("[^ab]", "c", True),
        ("[]]", "]", True),
        (r"[\d]", "d", True),
        (r"[\d]", "1", False),
        ("[", "x", False),
        ("[]", "]", False),
        ("[*", "[x", False),
        ("[^]a]b", "cb", True),
    ],
)
def test_a_path_is_matched_as_by_the_glob_of_sqlite(pattern: str, path: str, is_match: bool) -> None:
    import apsw

    assert path_matches(path, pattern) is is_match
    ((by_sqlite,),) = apsw.Connection(":memory:").execute("select ? glob ?", (path, pattern))
    assert bool(by_sqlite) is is_match
