"""What the benchmarks count: precision of an answer, the order of BM25, the entries of a changelog."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return import_module(request.param)


@pytest.mark.parametrize("benchmark", ["precision"], indirect=True)
@pytest.mark.parametrize(
    ("right", "returned", "precision", "is_right"),
    [
        ("a", "a", 1.0, True),
        ("a", "ab", 0.5, False),
        ("ab", "a", 1.0, False),
        ("ab", "ba", 1.0, True),
        ("a", "", 0.0, False),
        ("", "", 1.0, True),
        ("", "a", 0.0, False),
    ],
)
def test_an_answer_is_precise_if_nothing_else_is_in_it(
    benchmark: ModuleType, right: str, returned: str, precision: float, is_right: bool
) -> None:
    outcome = benchmark.Outcome("scene", 0, "direct", "?", frozenset(right), tuple(returned))
    assert (outcome.precision, outcome.is_right) == (precision, is_right)


@pytest.mark.parametrize("benchmark", ["bm25"], indirect=True)
def test_bm25_prefers_rare_words_and_knows_names(benchmark: ModuleType) -> None:
    texts = {"a/queue.py": "the the the job", "b/other.py": "the retry of a job", "c/empty.py": ""}
    bags = {path: benchmark.read_bags(path, text) for path, text in texts.items()}
    assert benchmark.rank("the retry", bags, with_names=False) == ["b/other.py", "a/queue.py"]
    assert benchmark.rank("queue", bags, with_names=False) == []
    assert benchmark.rank("queue", bags, with_names=True) == ["a/queue.py"]


@pytest.mark.parametrize("benchmark", ["bm25"], indirect=True)
def test_an_identifier_is_a_word_and_its_parts_are(benchmark: ModuleType) -> None:
    assert benchmark.words("parse_config HTTPServer x2") == (
        ["parse_config", "parse", "config", "httpserver", "http", "server", "x2", "x", "2"]
    )


@pytest.mark.parametrize("benchmark", ["changes"], indirect=True)
def test_an_entry_of_a_changelog_ends_where_the_next_thing_begins(benchmark: ModuleType) -> None:
    changelog = "Version 2\n---\n\n-   One entry\n    goes on.\n-   Another.\n\nVersion 1\n---\n* The last\n"
    assert benchmark.entries(changelog) == ["One entry goes on.", "Another.", "The last"]


@pytest.mark.parametrize("benchmark", ["changes"], indirect=True)
@pytest.mark.parametrize(
    ("path", "is_source"),
    [
        ("src/app.py", True),
        ("lib/a.rs", True),
        ("tests/test_app.py", False),
        ("docs/conf.py", False),
        ("examples/shop.py", False),
        ("README.md", False),
        ("data.json", False),
        ("LICENSE", False),
    ],
)
def test_answers_are_programs_and_neither_tests_nor_documents(
    benchmark: ModuleType, path: str, is_source: bool
) -> None:
    assert benchmark.is_source(path) is is_source
