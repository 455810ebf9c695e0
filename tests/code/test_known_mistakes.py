"""Mistakes that a delta index is prone to, in the part that compares files without a store.

Those that need a store to show have their tests where the index run is tested.
"""

import pytest

from memsweep.code.delta import Delta, RecordedFile, compare, refusal, settle
from memsweep.code.fingerprint import FileContent, read_file
from memsweep.code.languages import language_by_name
from memsweep.code.request import make_scope
from memsweep.code.walk import walk
from tests.code.trees import grow, look_as_ordinary_user, repository


def known_after_a_run(root, **filters) -> list[RecordedFile]:
    scope = make_scope(str(root), **filters)
    return [
        RecordedFile(path, path, read_file(scope.root, path).fingerprint, language_by_name(path) or "text")
        for path in walk(scope).present
    ]


def run(root, knowns, **filters) -> Delta:
    scope = make_scope(str(root), **filters)
    draft = compare(scope, walk(scope), knowns)
    return settle(draft, {path: read_file(scope.root, path).fingerprint for path in draft.to_hash})


def test_what_happens_in_one_root_is_nothing_to_another(tmp_path):
    outer = repository(tmp_path / "outer", {"a.py": "1"})
    inner = repository(outer / "inner", {"b.py": "2"})
    known_outer, known_inner = known_after_a_run(outer), known_after_a_run(inner)
    (inner / "b.py").rename(inner / "c.py")
    assert [each.known.path for each in run(inner, known_inner).moved] == ["b.py"]
    found = run(outer, known_outer)
    assert (found.gone, found.added, found.moved, found.changed) == ((), (), (), ())


def test_a_narrower_filter_is_no_deletion(tmp_path):
    grow(tmp_path, {"a.py": "1", "sub/b.py": "22", "tests/c.py": "333"})
    knowns = known_after_a_run(tmp_path)
    for filters in ({"languages": ["go"]}, {"recursive": False}, {"include_tests": False}, {"max_file_size": 1}):
        found = run(tmp_path, knowns, **filters)
        assert found.gone == ()
        assert found.outside != ()


@pytest.mark.slow
def test_an_unreadable_folder_is_not_deleted(tmp_path):
    root = grow(tmp_path / "r", {"shut/a.py": "1", "b.py": "2"})
    (root / "shut").chmod(0)
    try:
        assert look_as_ordinary_user(root, "shut/a.py")["states"] == {"shut/a.py": "unreadable"}
    finally:
        (root / "shut").chmod(0o755)


def test_a_root_that_is_missing_or_suddenly_empty_is_refused(tmp_path):
    root = grow(tmp_path / "r", {"a.py": "1"})
    (root / "a.py").unlink()
    assert "no files, but the index has 1 file of it" in str(refusal(walk(make_scope(str(root))), str(root), 1))
    root.rmdir()
    assert "does not exist" in str(refusal(walk(make_scope(str(root))), str(root), 1))


def test_an_edited_file_has_changed(tmp_path):
    grow(tmp_path, {"a.py": "one"})
    knowns = known_after_a_run(tmp_path)
    grow(tmp_path, {"a.py": "two"})
    assert [each.known.path for each in run(tmp_path, knowns).changed] == ["a.py"]


def test_a_run_without_a_change_has_nothing_to_write(tmp_path):
    grow(tmp_path, {f"m{number}.py": str(number) for number in range(20)})
    knowns = known_after_a_run(tmp_path)
    found = run(tmp_path, knowns)
    # Files written a moment before they were read are looked at once more, and then left alone.
    assert (found.changed, found.added, found.moved, found.gone, found.returned) == ((), (), (), (), ())
    assert len(found.unchanged) + len(found.touched) == 20


def test_backslashes_and_other_letters_in_names_are_found_again(tmp_path):
    strange = {"back\\slash.py": "1", "grün/日本.py": "2", 'quo"te.py': "3", "per%cent_.py": "4"}
    grow(tmp_path, strange)
    knowns = known_after_a_run(tmp_path)
    assert {each.path for each in knowns} == set(strange)
    assert {each.path for each in run(tmp_path, knowns).gone} == set()
    for path, text in strange.items():
        content = read_file(str(tmp_path), path)
        assert isinstance(content, FileContent)
        assert content.data.decode() == text
