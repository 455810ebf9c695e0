"""`benchmarks/localise.py` on a real repository and on real releases, both very small."""

import importlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "localise.py"
pytestmark = pytest.mark.slow
FIRST = {
    "app/cart.py": "def total(prices):\n    return sum(prices)\n",
    "app/mail.py": "def send_letter(to, text):\n    print(to, text)\n",
    "app/login.py": "def check_password(user, word):\n    return user.word == word\n",
    "app/parcel.py": "def weigh(parcel):\n    return parcel.grams\n",
    "app/stock.py": "def reorder(article):\n    return article.count < 3\n",
    "tests/test_cart.py": "def test_total():\n    assert total([]) == 0\n",
    "README.md": "# A shop\n\nIt adds prices of the cart and sends letters.\n",
}
NO_QUESTIONS = [
    ("Bump version of everything to 2.0", ["app/cart.py"]),
    ('Revert "letters are sent to the right person"', ["app/mail.py"]),
    ("docs: how the cart adds prices", ["README.md"]),
    ("tests: the cart may be empty too", ["tests/test_cart.py"]),
    ("short", ["app/cart.py"]),
    ("add a file that was not there before", ["app/new.py"]),
]


def _git(folder: Path, *command: str) -> None:
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *command], cwd=folder, env=os.environ | who | settings, check=True, capture_output=True)


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _commit(folder: Path, message: str, paths: list[str]) -> None:
    for path in paths:
        with (folder / path).open("a", encoding="utf-8") as file:
            file.write(f"# {message}\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", message)


def _measured(tmp_path: Path, *options: object) -> dict[str, Any]:
    command = [sys.executable, str(SCRIPT), *map(str, options), "--json", str(tmp_path / "result.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    return result


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    _write(folder, FIRST)
    _git(folder, "init", "-q")
    _commit(folder, "the shop as it begins its life", [])
    for message, paths in NO_QUESTIONS:
        _commit(folder, message, paths)
    _commit(folder, "check the password of a user in constant time", ["app/login.py", "tests/test_cart.py"])
    (folder / "app/mail.py").rename(folder / "app/letters.py")
    _commit(folder, "send a letter by way of another module than app/mail.py", [])
    return folder


def test_a_commit_asks_for_the_sources_that_it_found_and_changed(tmp_path: Path, repository: Path) -> None:
    before = sorted((repository / ".git").rglob("*"))
    result = _measured(tmp_path, repository)
    assert [item["answers"] for item in result["items"]] == [["app/login.py"], ["app/mail.py"]]
    assert result["scores"]["memsweep, deep"]["@1"] > 0
    assert result["scores"]["BM25, files"]["@5"] == 1
    assert result["items"][0]["rankings"]["BM25, files, sources only"][0] == "app/login.py"
    assert sorted((repository / ".git").rglob("*")) == before, "the repository is only read"


def test_no_more_commits_than_asked_for(tmp_path: Path, repository: Path) -> None:
    assert len(_measured(tmp_path, repository, "--items", 1)["items"]) == 1


def test_a_repository_without_a_question_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    _write(folder, {"a.py": "x = 1\n"})
    _git(folder, "init", "-q")
    _commit(folder, "the first commit has nothing before it", [])
    assert _measured(tmp_path, folder)["skipped"] == "no items"


def test_an_entry_of_a_changelog_asks_for_what_differs_between_two_releases(tmp_path: Path) -> None:
    old, new = tmp_path / "shop-1.0", tmp_path / "shop-1.1"
    _write(old, FIRST | {"CHANGES.rst": "1.0\n---\n\n- The shop was opened to everyone.\n"})
    _write(new, FIRST | {"app/login.py": "def check_password(user, word):\n    return False\n"})
    entry = "- Passwords are checked\n  in constant time.\n"
    _write(new, {"CHANGES.rst": f"1.1\n---\n\n{entry}\n1.0\n---\n\n- The shop was opened to everyone.\n"})
    packed = tmp_path / "shop-1.1.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(new, "shop-1.1")
    result = _measured(tmp_path, "--sdists", old, packed)
    assert result["loose"] is True
    assert [(item["question"], item["answers"]) for item in result["items"]] == [
        ("Passwords are checked in constant time.", ["app/login.py"])
    ]


def _releases(folder: Path, *changed: dict[str, str]) -> list[Path]:
    """Three releases and more: each has what the one before had and what changed, with an entry for it."""
    files: dict[str, str] = FIRST | {"app/version.py": "VERSION = '1.0'\n"}
    made = []
    for number, change in enumerate(changed):
        files |= change | {"app/version.py": f"VERSION = '1.{number}'\n"}
        made.append(folder / f"shop-1.{number}")
        _write(made[-1], files)
    return made


def test_a_pattern_names_the_changelogs_and_a_version_answers_nothing(tmp_path: Path) -> None:
    made = _releases(
        tmp_path,
        {"notes/1.0.txt": "* The shop was opened to everyone.\n"},
        {
            "notes/1.1.txt": "* Passwords are checked\n  in constant time.\n",
            "notes/all.md": "* This is no entry of a release.\n",
            "app/login.py": "def check_password(user, word):\n    return False\n",
        },
    )
    result = _measured(tmp_path, "--sdists", *made, "--changelog", "notes/[0-9]*.txt")
    assert [(item["question"], item["answers"]) for item in result["items"]] == [
        ("Passwords are checked in constant time.", ["app/login.py"])
    ]


def test_an_index_serves_releases_until_one_changes_too_much(tmp_path: Path) -> None:
    def login(result: str) -> dict[str, str]:
        return {"app/login.py": f"def check_password(user, word):\n    return {result}\n"}

    def note(number: int, entry: str) -> dict[str, str]:
        return {f"notes/{number}.txt": f"* {entry}\n"}

    everything = {path: text + "again = True\n" for path, text in FIRST.items() if path.startswith("app/")}
    made = _releases(
        tmp_path,
        note(0, "The shop was opened to everyone."),
        note(1, "Passwords are checked in constant time.") | login("False"),
        note(2, "Passwords are compared letter by letter.") | login("None") | {"app/late.py": "x = 1\n"},
        note(3, "Everything was done again by hand.") | everything,
        note(4, "Passwords are checked in constant time.") | login("True"),
        note(5, "Passwords are compared by nobody now.") | login("0"),
    )
    result = _measured(tmp_path, "--sdists", *made, "--changelog", "notes/*", "--most-changed", "0.3", "--steps", "9")
    assert [item["question"].rpartition(" are ")[2] for item in result["items"]] == [
        "checked in constant time.",
        "compared letter by letter.",
        "compared by nobody now.",
    ]
    options = ("--changelog", "notes/*", "--most-changed", "0.3", "--steps", "9", "--entries", "1")
    fewer = _measured(tmp_path, "--sdists", *made, *options)["items"]
    assert [item["question"] for item in fewer] == [result["items"][0]["question"], result["items"][2]["question"]]


def test_questions_of_a_file_are_asked_of_their_releases(tmp_path: Path) -> None:
    _write(tmp_path / "shop-1.0", FIRST)
    with tarfile.open(tmp_path / "shop-1.0.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "shop-1.0", "shop-1.0")
    asked = {"release": "shop-1.0.tar.gz", "question": "who weighs a parcel?", "files": ["app/parcel.py"]}
    (tmp_path / "asked.json").write_text(json.dumps([asked]), "utf-8")
    result = _measured(tmp_path, "--questions", tmp_path / "asked.json", "--releases", tmp_path)
    assert [(item["tree"], item["answers"]) for item in result["items"]] == [("shop-1.0.tar.gz", ["app/parcel.py"])]
    assert result["scores"]["memsweep, deep"]["@1"] == 1


@pytest.mark.parametrize(
    ("entry", "asks"),
    [
        ("Passwords are checked in constant time (#123).", True),
        ("Fixed ``QuerySet.none()`` of a sliced union.", True),
        ("Prepare for release: v5.5.1 (#9660)", False),
        ("Django 5.1 :commit:`(patch) <3c733c78d6f8e50296d6e248968b6516c92a53ca>`", False),
    ],
)
def test_an_entry_without_words_is_no_question(monkeypatch: pytest.MonkeyPatch, entry: str, asks: bool) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    assert importlib.import_module("changes").says_something(entry) is asks


def test_a_changelog_may_be_made_of_directives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    entries = importlib.import_module("changes").entries
    text = (
        ".. changelog::\n    :version: 2.0\n\n    .. change::\n        :tags: bug, orm\n        :tickets: 12, 13\n\n"
        "        Fixed the thing\n        that was `broken <https://a.b/c>`_.\n\n        .. seealso::\n"
        "\n            :ref:`x`\n\n    .. change::\n        :tags: bug\n\n        Another one.\n"
        "\n.. changelog::\n    :version: 1.9\n"
    )
    assert entries(text) == ["Fixed the thing that was `broken`_.", "Another one."]
