"""What a run answers for."""

import pytest

from memsweep.code.request import Scope, make_scope
from memsweep.errors import BadInput
from memsweep.model.roles import is_test_path


@pytest.mark.parametrize(
    ("filters", "path", "language", "size", "covered"),
    [
        ({}, "a/b.py", "python", 10, True),
        ({"languages": frozenset({"go"})}, "a/b.py", "python", 10, False),
        ({"languages": frozenset({"go", "python"})}, "a/b.py", "python", 10, True),
        ({"languages": frozenset({"python"})}, "bin/tool", "python", 10, True),
        ({"languages": frozenset({"python"})}, "bin/tool", None, 10, False),
        ({"recursive": False}, "b.py", "python", 10, True),
        ({"recursive": False}, "a/b.py", "python", 10, False),
        ({"max_file_size": 10}, "b.py", "python", 10, True),
        ({"max_file_size": 10}, "b.py", "python", 11, False),
        ({"include_tests": False}, "tests/b.py", "python", 10, False),
        ({"include_tests": False}, "src/b.py", "python", 10, True),
    ],
)
def test_filters_cover_a_file_or_not(filters, path, language, size, covered):
    assert Scope("/r", **filters).covers(path, language, size) is covered


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "src/Test/a.cs",
        "a/__tests__/b.js",
        "spec/a_spec.rb",
        "pkg/test_a.py",
        "pkg/a_test.go",
        "conftest.py",
        "web/a.test.tsx",
        "web/a.spec.mjs",
        "src/ATest.java",
        "src/ATests.cs",
    ],
)
def test_a_test_is_known_by_its_folder_or_its_name(path):
    assert is_test_path(path)


@pytest.mark.parametrize("path", ["src/contest.py", "latest.go", "testing/a.py", "attest/b.js", "src/Testament.java"])
def test_a_name_that_only_contains_the_word_is_no_test(path):
    assert not is_test_path(path)


def test_the_root_of_a_scope_is_a_real_path(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert make_scope(f"{tmp_path}/link/../link/") == make_scope(str(tmp_path / "real"))


def test_languages_may_be_given_by_their_other_names():
    assert make_scope("/r", ["JS", "c++", "Golang"]).languages == {"javascript", "cpp", "go"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "empty"),
        (("a\0b",), "not a path"),
        (("/r", ["klingon"]), "Unknown language: klingon. Known languages: python"),
        (("/r/.git/hooks",), "inside a .git folder"),
    ],
)
def test_what_cannot_be_a_scope_is_refused_in_a_sentence(arguments, said):
    with pytest.raises(BadInput, match=said):
        make_scope(*arguments)


def test_a_size_limit_below_one_byte_is_refused():
    with pytest.raises(BadInput, match="at least 1 byte"):
        make_scope("/r", max_file_size=0)
