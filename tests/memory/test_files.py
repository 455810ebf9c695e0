"""Hits of code: sources first, a page that one file does not fill, and names that find their file."""

from pathlib import Path

import pytest

from memsweep import Memory
from memsweep.app import App
from memsweep.memory.ranking import by_file, files_said, is_said, support_of, weights_of_roles
from memsweep.memory.relevance import Judged, precise
from memsweep.model.roles import role_of
from memsweep.model.search import FileWords, Filters, Kind, Owner, Page, Ranked
from memsweep.store.words import words_of_heading, words_to_find
from tests.code.trees import grow
from tests.support.engines import on_every_engine

PARSER = "def parse_config(path):\n    return read(path)\n"


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/app/config.py", "source"),
        ("tests/test_config.py", "test"),
        ("app/config_test.go", "test"),
        ("test-data/unit/check-enum.test", "test"),
        ("app/test_fixtures/config.json", "test"),
        ("integration-tests/run.py", "test"),
        ("src/pip/_vendor/rich/text.py", "generated"),
        ("third-party/zlib/inflate.c", "generated"),
        ("src/vendors/prices.py", "source"),
        ("src/testdatabase/open.py", "source"),
        ("Lib/unittest/mock.py", "source"),
        ("src/testfixtures/populate.py", "source"),
        ("docs/config.md", "document"),
        ("README.rst", "document"),
        ("CHANGELOG.md", "history"),
        ("docs/changes.rst", "history"),
        ("newsfragments/12.bugfix", "history"),
        ("docs/releases/5.1.3.txt", "history"),
        ("doc/whatsnew/3/3.3/index.rst", "history"),
        ("docs/history/changelog-5.5.rst", "history"),
        ("app/releases/views.py", "source"),
        ("app/changes_api.py", "source"),
        ("app/locale/de/LC_MESSAGES/app.po", "generated"),
        ("examples/config.py", "example"),
        ("vendor/lib/config.js", "generated"),
        ("api/user_pb2.py", "generated"),
        ("PKG-INFO", "generated"),
        ("src/testing.py", "source"),
        ("src/latest/contest.py", "source"),
        ("src/documents.py", "source"),
    ],
)
def test_what_a_file_is_for_is_told_by_its_path(path: str, role: str) -> None:
    assert role_of(path) == role


def test_the_other_passages_of_a_file_speak_for_its_best() -> None:
    rows = [(-0.9, 1, 0.9, 0.0, 0.0), (-0.8, 2, 0.8, 0.0, 0.0), (-0.7, 3, 0.7, 0.0, 0.0)]
    owners = {1: Owner(10, "a.py"), 2: Owner(11, "b.py"), 3: Owner(11, "b.py")}
    assert [row[1] for row in by_file(rows, owners, "anything")] == [2, 1, 3]
    assert [row[1] for row in by_file(rows, {key: Owner(key, None) for key in owners}, "anything")] == [1, 2, 3]


def test_the_third_passage_of_a_file_waits_for_the_others() -> None:
    rows = [(-1.0 + key / 100, key, 0.5, 0.0, 0.0) for key in range(8)]
    owners = {key: Owner(0 if key < 6 else key, f"{0 if key < 6 else key}.py") for key in range(8)}
    assert [row[1] for row in by_file(rows, owners, "anything")] == [0, 1, 6, 7, 2, 3, 4, 5]


def test_a_file_with_more_of_the_rare_words_comes_first() -> None:
    rows = [(-0.9, 1, 0.9, 0.0, 0.0), (-0.8, 2, 0.8, 0.0, 0.0), (-0.7, 3, 0.7, 0.0, 0.0)]
    owners = {1: Owner(10, "a.py"), 2: Owner(11, "b.py"), 3: Owner(12, "tests/test_c.py")}
    support = support_of(FileWords(9, [{11: 1, 12: 1}, {11: 3, 12: 9}, {10: 1, 11: 1, 12: 1}]))
    assert support[12] > support[11] > support[10], "another piece with a word counts, if little"
    assert [row[1] for row in by_file(rows, owners, "anything")] == [1, 2, 3]
    assert [row[1] for row in by_file(rows, owners, "anything", support=support)] == [2, 1, 3]
    assert by_file(rows, owners, "anything", support={99: 1.0}) == by_file(rows, owners, "anything")


@pytest.mark.parametrize(
    ("query", "path", "said"),
    [
        ('File "/usr/lib/python3/app/cart.py", line 3, in total', "src/app/cart.py", True),
        ("see app\\cart.py.", "src/app/cart.py", True),
        ("cart.py:12 is wrong", "src/app/cart.py", True),
        ("setup.py fails", "setup.py", True),
        ('File "/usr/lib/python3/shop/cart.py", line 3', "src/app/cart.py", False),
        ('File "/usr/lib/python3/shop/setup.py", line 3', "setup.py", False),
        ("what do the __init__.py do", "app/__init__.py", False),
        ("what does app/__init__.py do", "app/__init__.py", True),
        ("the cart of the app", "src/app/cart.py", False),
        ("mycart.py and cart.pyc", "src/app/cart.py", False),
        ("...", "src/app/cart.py", False),
        ("C:\\\\shop\\\\app\\\\cart.py", "src/app/cart.py", True),
        ("see [app//./cart.py]", "src/app/cart.py", True),
        ("why is .gitignore ignored", ".gitignore", True),
        ("app/[id]/page.tsx is blank", "web/app/[id]/page.tsx", True),
        ("app/[id]/page.tsx is blank", "web/app/other/page.tsx", False),
    ],
)
def test_a_file_is_said_by_its_name_with_its_folder_or_alone(query: str, path: str, said: bool) -> None:
    assert is_said(path, files_said(query)) is said


def test_a_file_that_the_query_says_is_raised() -> None:
    rows = [(-0.9, 1, 0.9, 0.0, 0.0), (-0.8, 2, 0.8, 0.0, 0.0), (-0.7, 3, 0.7, 0.0, 0.0)]
    owners = {1: Owner(10, "app/a.py"), 2: Owner(11, "app/b.py"), 3: Owner(12, "tests/test_c.py")}
    for support in ({}, {10: 1.0, 11: 1.0, 12: 1.0}):
        assert [row[1] for row in by_file(rows, owners, "it fails in app/b.py", 9, support)] == [2, 1, 3]
        assert [row[1] for row in by_file(rows, owners, "it fails in tests/test_c.py", 19, support)] == [1, 2, 3]


def test_a_long_run_of_signs_is_no_path_and_takes_no_time() -> None:
    assert files_said("a" * 200_000 + "-" * 200_000) == frozenset()
    assert len(files_said("." * 100_000 + "a.b/" * 50_000)) <= 1


def paths(page: Page) -> list[str]:
    return [hit.passage.code.path for hit in page.hits if hit.passage.code]


def test_sources_come_before_tests_and_documents_unless_they_are_asked_for(memory: Memory, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "app/config.py": PARSER,
            "tests/test_config.py": f"def test_parse_config():\n    parse_config('parse config')\n\n\n{PARSER}",
            "docs/config.md": "# Parse config\n\nHow to parse config: call parse_config to parse the config.\n",
            **{f"app/other{number}.py": f"def other{number}():\n    return {number}\n" for number in range(9)},
        },
    )
    memory.code.index(tmp_path)
    assert paths(memory.search("parse config"))[0] == "app/config.py"
    assert paths(memory.search("the test that parses the config"))[0] == "tests/test_config.py"
    assert paths(memory.search("documentation: how to parse config"))[0] == "docs/config.md"


def test_a_report_that_mentions_tests_does_not_ask_for_them(memory: Memory, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "app/config.py": PARSER,
            "tests/test_config.py": f"def test_parse_config():\n    parse_config('parse config')\n\n\n{PARSER}",
            **{f"app/other{number}.py": f"def other{number}():\n    return {number}\n" for number in range(9)},
        },
    )
    memory.code.index(tmp_path)
    report = (
        "parse_config returns the wrong path since yesterday: our nightly test run of three services failed with it"
    )
    assert paths(memory.search(report, mode="deep"))[0] == "app/config.py"
    assert paths(memory.search("test parse_config", mode="deep"))[0] == "tests/test_config.py"


@on_every_engine
def test_words_of_files_are_those_of_live_code(app: App, memory: Memory, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    two_pieces = "def ledger():\n    return 1\n\n\nclass Ledger:\n    total = 2\n"
    grow(shop, {"a.py": two_pieces, "b.py": "def ledger():\n    return 'common'\n", "gone.py": two_pieces})
    memory.code.index(shop)
    (shop / "gone.py").unlink()
    memory.code.index(shop)
    memory.remember("The ledger is a note, and no file.")
    store = app.engine.open(memory.workspace_id)
    words = store.file_words("ledger totals nowhere", 100)
    assert words.files == 2
    assert sorted(sorted(pieces.values()) for pieces in words.pieces) == [[1], [1, 2]]
    assert len(store.file_words("ledger totals", 1).pieces) == 1, "the rarest alone"
    assert store.file_words("ledger", 3).pieces == [], "too many to look at"
    assert store.file_words("nowhere", 100) == FileWords(2, [])


def test_settings_of_tools_come_behind_sources_unless_they_are_asked_for(memory: Memory, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "app/coverage.py": "def coverage_report(branches):\n    return sum(branches)\n",
            "pyproject.toml": "[tool.coverage.report]\nbranches = true\ncoverage = 90\nreport = 'coverage report'\n",
            **{f"app/other{number}.py": f"def other{number}():\n    return {number}\n" for number in range(9)},
        },
    )
    memory.code.index(tmp_path)
    assert paths(memory.search("coverage report of branches", mode="deep"))[0] == "app/coverage.py"
    assert paths(memory.search("pyproject settings coverage report", mode="deep"))[0] == "pyproject.toml"


def test_the_fewer_other_words_a_query_has_the_more_it_asks_for_tests() -> None:
    weights = [weights_of_roles("a test for it", words)["test"] for words in (1, 5, 6, 8, 12, 100)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == weights[1] == 1.0
    assert 1.0 > weights[2] > weights[3] > weights[4] == weights[5] == weights_of_roles("", 0)["test"]
    assert weights_of_roles("anything else", 2) == weights_of_roles("", 0)
    assert weights_of_roles("test, TEST and test", 8) == weights_of_roles("a test", 8), "each word counts once"


def test_a_long_query_shows_code_with_less_of_the_best_score_where_code_is_the_best() -> None:
    def judged(*scores: tuple[float, Kind]) -> list[Judged]:
        return [Judged(Ranked(key, score, 0.0, 0.0, 0.0), 0.0, kind) for key, (score, kind) in enumerate(scores)]

    def kept(*scores: tuple[float, Kind]) -> list[int]:
        return [each.ranked.key for each in precise(judged(*scores), calibrated=False)]

    assert kept((1.0, "code"), (0.25, "code"), (0.15, "code"), (0.25, "memory"), (0.4, "memory")) == [0, 1, 4]
    assert kept((1.0, "memory"), (0.25, "code"), (0.4, "code")) == [0, 2]
    assert kept() == []


def test_a_file_has_two_hits_on_a_page_and_the_rest_on_the_next(memory: Memory, tmp_path: Path) -> None:
    many = "\n\n".join(f"def invoice_{number}():\n    return '{'invoice ' * 40}'\n" for number in range(9))
    grow(tmp_path, {"many.py": many, **{f"one{number}.py": "invoice = 1\n" for number in range(6)}})
    memory.code.index(tmp_path)
    first = memory.search("invoice", limit=8)
    assert paths(first).count("many.py") == 2
    assert len(set(paths(first))) == 7
    rest = memory.search("invoice", limit=50, cursor=first.next_cursor)
    assert set(paths(rest)) == {"many.py"}
    assert first.total == len(first.hits) + len(rest.hits)


@pytest.mark.parametrize("query", ["queryset", "query set", "querySet", "models querying", "storage engine folder"])
def test_names_of_files_folders_and_definitions_find_them(memory: Memory, tmp_path: Path, query: str) -> None:
    grow(
        tmp_path,
        {
            "storage_engine/models/query_set.py": "class Anything:\n    def filter(self): ...\n",
            "other/views.py": "class Something:\n    def show(self): ...\n",
        },
    )
    memory.code.index(tmp_path)
    assert paths(memory.search(query))[0] == "storage_engine/models/query_set.py"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Reintroduced `URLTypes`", ["reintroduced", "urltypes", "url", "types"]),
        ("raise_for_status()", ["raise", "status", "raiseforstatus"]),
        ("HTTPTransport.handle", ["httptransport", "handle", "http", "transport"]),
        ("Where does Tom work", ["tom", "work"]),
        ("utf8 and PEP 8", ["utf8", "pep", "8"]),
    ],
)
def test_an_identifier_is_looked_for_whole_and_by_its_parts(query: str, words: list[str]) -> None:
    assert words_to_find(query) == words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Zebra wakes up\n\nSince the garden was watered.", {"zebra", "wakes"}),
        ("\n  parseConfig fails\nAlways.", {"parseconfig", "parse", "config", "fails"}),
        ("one line alone", set()),
        ("one line and its end\n\n", set()),
        ("", set()),
    ],
)
def test_the_first_line_is_a_heading_where_more_follow(query: str, words: set[str]) -> None:
    assert words_of_heading(query) == words


@on_every_engine
@pytest.mark.parametrize("hidden", [False, True])
def test_what_a_heading_says_counts_twice(app: App, memory: Memory, hidden: bool) -> None:
    for text in ("The zebra sleeps.", "The otter sleeps.", *(f"A note, number {number}." for number in range(9))):
        memory.remember(text)
    if hidden:
        memory.remember("A last note.", supersedes=[memory.remember("The zebra and the otter.").memory_id])
    store = app.engine.open(memory.workspace_id)
    for query in ("zebra\notter", "otter\nzebra"):
        found = store.candidates(query, bytes(256), Filters(), 100)
        first, second = sorted((each.words for each in found if each.words), reverse=True)
        assert first == pytest.approx(2 * second)
        assert memory.search(query, mode="deep").hits[0].words == (query.split()[0],)


def test_a_name_that_is_not_there_is_found_by_its_parts(memory: Memory, tmp_path: Path) -> None:
    grow(
        tmp_path,
        {
            "app/url_types.py": "Shortcut = str\n",
            **{f"app/other{number}.py": f"def other{number}():\n    return {number}\n" for number in range(9)},
        },
    )
    memory.code.index(tmp_path)
    assert paths(memory.search("Reintroduced `URLTypes`"))[0] == "app/url_types.py"
