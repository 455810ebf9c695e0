"""The role of a file, by its path: sources, tests, documents, examples, histories, machine output. Pure."""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["source", "test", "document", "example", "history", "generated"]
ROLES: tuple[Role, ...] = ("source", "test", "document", "example", "history", "generated")

_TEST_FOLDERS = re.compile(
    r"(?i)(?:^|/)(?:tests?|__(?:tests|mocks|snapshots)__|specs?|e2e|(?:unit|integration|functional)[-_]tests?"
    r"|testdata|test[-_](?:data|cases|fixtures|resources|suites?))/"
)
_TEST_NAMES = re.compile(
    r"""(?x)
    (?: ^test_[^/]*\.py | _test\.(?:py|go|c|cc|cpp|rb|php|exs?|dart) | ^conftest\.py
      | \.(?:test|spec)\.[cm]?[jt]sx? | _spec\.rb | Tests?\.(?:java|kt|cs|php|scala|swift)
      | ^test_[^/]*\.(?:rb|c|cpp|sh) | \.bats ) $"""
)
_BY_PATH: tuple[tuple[Role, re.Pattern[str]], ...] = (
    (
        "generated",
        re.compile(
            r"(?i)(?:^|/)(?:_?vendor(?:ed)?|third[-_]party|_?generated)/|(?:_pb2(?:_grpc)?\.pyi?|\.pb\.go|\.g\.dart|\.pot?)$"
            r"|(?:^|/)PKG-INFO$"
        ),
    ),
    ("history", re.compile(r"(?i)(?:^|/)(?:changelog|changes|history|news|releases?|release[-_]notes)(?:\.[a-z]+)?$")),
    ("history", re.compile(r"(?i)(?:^|/)(?:changelog|changes|newsfragments|release[-_]notes)(?:\.d)?/")),
    (
        "history",
        re.compile(
            r"(?i)(?:^|/)(?:changelog|changes|history|news|release[-_]notes|what.?s.?new)[-_.\d][^/]*\.(?:md|rst|txt)$"
        ),
    ),
    (
        "history",
        re.compile(
            r"(?i)(?:^|/)(?:releases?|news|what.?s.?new|announce(?:ments?)?|changelogs?)/(?:[^/]+/){0,2}[^/]+\.(?:md|rst|txt)$"
        ),
    ),
    ("example", re.compile(r"(?i)(?:^|/)(?:examples?|samples?|demos?|tutorials?)/")),
    ("document", re.compile(r"(?i)(?:^|/)docs?/|\.(?:md|mdx|rst|adoc|txt)$")),
)


def is_test_path(path: str) -> bool:
    """Return whether a relative path looks like a test, by its folders or its name."""
    return bool(_TEST_FOLDERS.search(path) or _TEST_NAMES.search(path.rpartition("/")[2]))


def role_of(path: str) -> Role:
    if is_test_path(path):
        return "test"
    return next((role for role, pattern in _BY_PATH if pattern.search(path)), "source")
