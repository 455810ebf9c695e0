"""What changed: the classes one by one, and the laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.delta import Delta, RecordedFile, compare, refusal, settle
from memsweep.code.fingerprint import SECOND_NS, Fingerprint, Stamp, Unreadable
from memsweep.code.languages import language_by_name
from memsweep.code.request import Scope
from memsweep.code.walk import Present, Seen

LONG_AGO = 1_700_000_000 * SECOND_NS + 1
LATER = LONG_AGO + 3600 * SECOND_NS
SCOPE = Scope("/r")


def stamp(content: str, time: int = 0) -> Stamp:
    # Writing another content is another change: it never leaves the same stamp behind.
    return Stamp(len(content), LONG_AGO + time, LONG_AGO + time + 1000 * sum(map(ord, content)), 1)


def fingerprint(content: str, time: int = 0) -> Fingerprint:
    return Fingerprint(stamp(content, time), f"hash of {content}", LATER)


def known(path: str, content: str, *, time: int = 0, stale: bool = False) -> RecordedFile:
    return RecordedFile(f"id of {path}", path, fingerprint(content, time), language_by_name(path) or "text", stale)


def present(path: str, content: str, time: int = 0) -> Present:
    return Present(path, stamp(content, time), language_by_name(path))


def seen(disk: dict[str, tuple[str, int]], **more: object) -> Seen:
    files = {path: present(path, content, time) for path, (content, time) in disk.items()}
    return Seen(present=files, total_files=len(files), **more)


def delta(disk, knowns, scope=SCOPE, **more) -> Delta:
    """Both stages, with hashes as the disk would give them; asserts that nothing else is hashed."""
    draft = compare(scope, seen(disk, **more), knowns)
    return settle(draft, {path: fingerprint(*disk[path]) for path in draft.to_hash})


def summary(found: Delta) -> dict[str, object]:
    """The classes that are not empty, by path."""
    classes = {
        "unchanged": [each.path for each in found.unchanged],
        "touched": [each.known.path for each in found.touched],
        "changed": [each.known.path for each in found.changed],
        "added": [each.path for each in found.added],
        "moved": [f"{each.known.path} → {each.present.path}" for each in found.moved],
        "gone": [each.path for each in found.gone],
        "still_gone": [each.path for each in found.still_gone],
        "returned": [each.known.path for each in found.returned],
        "unknown": [each.path for each in found.unknown],
        "outside": [each.path for each in found.outside],
        "outgrown": [each.known.path for each in found.outgrown],
    }
    return {name: paths for name, paths in classes.items() if paths}


@pytest.mark.parametrize(
    ("disk", "knowns", "expected"),
    [
        ({"a": ("one", 0)}, [known("a", "one")], {"unchanged": ["a"]}),
        ({"a": ("one", 5)}, [known("a", "one")], {"touched": ["a"]}),
        ({"a": ("two", 5)}, [known("a", "one")], {"changed": ["a"]}),
        ({"a": ("three", 0)}, [known("a", "one")], {"changed": ["a"]}),
        ({"a": ("one", 0)}, [], {"added": ["a"]}),
        ({}, [known("a", "one")], {"gone": ["a"]}),
        ({}, [known("a", "one", stale=True)], {"still_gone": ["a"]}),
        ({"a": ("one", 0)}, [known("a", "one", stale=True)], {"returned": ["a"]}),
        ({"a": ("one", 5)}, [known("a", "one", stale=True)], {"returned": ["a"]}),
        ({"a": ("two", 5)}, [known("a", "one", stale=True)], {"changed": ["a"]}),
        ({"b": ("one", 5)}, [known("a", "one")], {"moved": ["a → b"]}),
        ({"b": ("one", 5)}, [known("a", "one", stale=True)], {"moved": ["a → b"]}),
        ({"b": ("two", 5)}, [known("a", "one")], {"added": ["b"], "gone": ["a"]}),
    ],
)
def test_every_class_of_change(disk, knowns, expected):
    assert summary(delta(disk, knowns)) == expected


def test_a_copy_is_not_a_move():
    disk = {"a": ("one", 0), "b": ("one", 5)}
    assert summary(delta(disk, [known("a", "one")])) == {"unchanged": ["a"], "added": ["b"]}


def test_two_files_that_change_places_have_both_changed():
    disk = {"a": ("two", 5), "b": ("one", 5)}
    assert summary(delta(disk, [known("a", "one"), known("b", "two")])) == {"changed": ["a", "b"]}


def test_a_move_goes_to_the_same_file_name_first_and_then_by_the_order_of_paths():
    disk = dict.fromkeys(("new/a.py", "new/b.py", "new/z.py", "x.py"), ("one", 5))
    knowns = [known(path, "one") for path in ("old/b.py", "old/c.py", "old/z.py")]
    assert summary(delta(disk, knowns)) == {
        "moved": ["old/c.py → new/a.py", "old/b.py → new/b.py", "old/z.py → new/z.py"],
        "added": ["x.py"],
    }


def test_a_move_takes_a_fresh_source_before_a_stale_one():
    knowns = [known("a", "one", stale=True), known("b", "one")]
    assert summary(delta({"c": ("one", 5)}, knowns)) == {"moved": ["b → c"], "still_gone": ["a"]}


def test_only_what_stamps_cannot_decide_is_hashed():
    knowns = [known("same", "one"), known("touched", "one"), known("grown", "one"), known("lost", "three")]
    disk = {"same": ("one", 0), "touched": ("one", 1), "grown": ("four", 1), "new": ("other", 1), "five": ("12", 1)}
    assert compare(SCOPE, seen(disk), knowns).to_hash == ("new", "touched")


def test_a_racy_file_is_hashed_although_its_stamp_is_the_same():
    racy = replace(known("a", "one"), fingerprint=replace(fingerprint("one"), read_at_ns=LONG_AGO))
    assert compare(SCOPE, seen({"a": ("one", 0)}), [racy]).to_hash == ("a",)
    assert summary(delta({"a": ("one", 0)}, [racy])) == {"touched": ["a"]}


def test_unreadable_is_unknown_and_not_gone():
    knowns = [known("a", "one"), known("shut/b", "one"), known("shut/c", "one", stale=True)]
    found = delta({}, knowns, unreadable={"a": "denied"}, unreadable_folders={"shut": "denied"})
    assert summary(found) == {"unknown": ["a", "shut/b", "shut/c"]}
    assert {each.reason for each in found.unknown} == {"denied"}


def test_a_file_that_cannot_be_hashed_is_unknown():
    draft = compare(SCOPE, seen({"a": ("one", 5), "b": ("two", 5)}), [known("a", "one"), known("c", "two")])
    found = settle(draft, {"a": Unreadable("busy"), "b": Unreadable("busy")})
    assert summary(found) == {"unknown": ["a", "b"], "gone": ["c"]}


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        (Scope("/r", languages=frozenset({"go"})), "a.py"),
        (Scope("/r", recursive=False), "sub/a.py"),
        (Scope("/r", include_tests=False), "tests/a.py"),
        (Scope("/r", max_file_size=2), "a.py"),
    ],
)
def test_what_the_filters_do_not_cover_is_left_as_it_was(scope, path):
    absent, there = {}, {path: ("one", 0)}
    for disk in (absent, there):
        assert summary(delta(disk, [known(path, "one")], scope)) == {"outside": [path]}
    assert summary(delta(there, [], scope)) == {}


def test_a_file_that_outgrew_the_limit_has_left_and_one_that_is_deleted_is_gone():
    scope = Scope("/r", max_file_size=3)
    assert summary(delta({"a": ("much", 5)}, [known("a", "one")], scope)) == {"outgrown": ["a"]}
    assert summary(delta({"a": ("much", 5)}, [known("a", "one", stale=True)], scope)) == {"outside": ["a"]}
    assert summary(delta({"a": ("much", 5)}, [known("a", "other")], scope)) == {"outside": ["a"]}, "never covered"
    assert summary(delta({}, [known("a", "one")], scope)) == {"gone": ["a"]}


def test_a_script_without_extension_keeps_the_language_it_is_known_by():
    script = replace(known("tool", "one"), language="python")
    scope = Scope("/r", languages=frozenset({"python"}))
    assert summary(delta({}, [script], scope)) == {"gone": ["tool"]}
    assert summary(delta({"tool": ("one", 0)}, [script], scope)) == {"unchanged": ["tool"]}


def test_a_script_that_is_in_another_language_now_has_left_the_filter():
    script = replace(known("tool", "one"), language="python")
    shell = Present("tool", stamp("two", 5), "bash")
    scope = Scope("/r", languages=frozenset({"python"}))
    found = settle(compare(scope, Seen(present={"tool": shell}, total_files=1), [script]), {})
    assert summary(found) == {"outgrown": ["tool"]}


@pytest.mark.parametrize(
    ("found", "known_files", "allow_empty", "said"),
    [
        (Seen("missing"), 3, False, "The folder /r does not exist. Pass allow_empty=true if it is really empty."),
        (Seen("missing"), 0, False, "The folder /r does not exist."),
        (Seen("missing"), 3, True, None),
        (Seen(), 3, False, "The folder /r contains no files, but the index has 3 files of it. Pass allow_empty=true"),
        (Seen(), 3, True, None),
        (Seen(), 0, False, None),
        (Seen(total_files=1), 3, False, None),
        (Seen("unreadable"), 3, True, "The folder /r cannot be read."),
        (Seen("not_a_folder"), 0, True, "/r is not a folder."),
        (Seen("replaced"), 0, True, "was replaced while it was read"),
        (Seen(unreadable_folders={"": "denied"}), 3, False, None),
    ],
)
def test_a_root_that_looks_like_a_vanished_drive_is_refused(found, known_files, allow_empty, said):
    problem = refusal(found, "/r", known_files, allow_empty=allow_empty)
    assert (problem is None) if said is None else (said in str(problem))


# Laws

_paths = st.sampled_from(["a.py", "b.py", "c.go", "tests/t.py", "sub/a.py", "sub/x.go", "shut/k.py", "README"])
_content = st.sampled_from(["", "1", "2", "33", "44", "555"])
_disk = st.dictionaries(_paths, st.tuples(_content, st.integers(0, 2)), max_size=6)
_known = st.builds(lambda path, content, time, stale: known(path, content, time=time, stale=stale), _paths, _content,
                   st.integers(0, 2), st.booleans())  # fmt: skip
_knowns = st.lists(_known, max_size=6, unique_by=lambda each: each.path)
_scopes = st.builds(
    Scope,
    st.just("/r"),
    languages=st.sampled_from([frozenset(), frozenset({"python"}), frozenset({"go", "text"})]),
    recursive=st.booleans(),
    max_file_size=st.sampled_from([0, 1, 2, 100]),
    include_tests=st.booleans(),
)
_doubts = st.sets(st.sampled_from(["shut", "sub"]), max_size=1)


def look_again(disk, doubts):
    """What a walk sees when some folders cannot be read."""
    readable = {path: file for path, file in disk.items() if path.partition("/")[0] not in doubts}
    return readable, dict.fromkeys(doubts, "denied")


def applied(knowns, found: Delta, disk) -> list[RecordedFile]:
    """The known files as a run that follows the delta would leave them."""
    after = {each.id: each for each in knowns}
    for each in found.changed:
        after[each.known.id] = known(each.known.path, disk[each.known.path][0], time=disk[each.known.path][1])
    for each in (*found.touched, *found.returned):
        after[each.known.id] = replace(each.known, fingerprint=each.fingerprint, stale=False)
    for each in found.moved:
        after[each.known.id] = replace(
            each.known, path=each.present.path, fingerprint=each.fingerprint, stale=False,
            language=language_by_name(each.present.path) or "text",
        )  # fmt: skip
    for each in (*found.gone, *(each.known for each in found.outgrown)):
        after[each.id] = replace(each, stale=True)
    for each in found.added:
        after[f"new {each.path}"] = known(each.path, disk[each.path][0], time=disk[each.path][1])
    return list(after.values())


def writes_nothing(found: Delta) -> bool:
    return not any((found.touched, found.changed, found.added, found.moved, found.gone, found.returned, found.outgrown))


@given(_disk, _scopes)
def test_law_a_tree_compared_with_itself_has_no_delta(disk, scope):
    knowns = [known(path, content, time=time) for path, (content, time) in disk.items()]
    assert writes_nothing(delta(disk, knowns, scope))


@given(_disk, _knowns, _scopes, _doubts)
def test_law_every_known_file_lands_in_exactly_one_class(disk, knowns, scope, doubts):
    readable, folders = look_again(disk, doubts)
    found = delta(readable, knowns, scope, unreadable_folders=folders)
    landed = [each.path for each in (*found.unchanged, *found.gone, *found.still_gone, *found.outside)]
    landed += [each.known.path for each in (*found.touched, *found.changed, *found.moved, *found.returned)]
    landed += [each.known.path for each in found.outgrown]
    landed += [each.path for each in found.unknown if each.known]
    assert sorted(landed) == sorted(each.path for each in knowns)


@given(_disk, _knowns, _scopes, _doubts)
def test_law_nothing_outside_the_scope_or_out_of_sight_is_ever_gone(disk, knowns, scope, doubts):
    readable, folders = look_again(disk, doubts)
    found = delta(readable, knowns, scope, unreadable_folders=folders)
    for each in (*found.gone, *(move.known for move in found.moved)):
        assert each.path not in disk
        assert scope.covers(each.path, each.language, each.fingerprint.stamp.size)
        assert each.path.partition("/")[0] not in doubts


@given(_disk, _knowns, _scopes, _doubts)
def test_law_after_a_delta_is_applied_nothing_is_left_to_do(disk, knowns, scope, doubts):
    readable, folders = look_again(disk, doubts)
    found = delta(readable, knowns, scope, unreadable_folders=folders)
    assert writes_nothing(delta(readable, applied(knowns, found, disk), scope, unreadable_folders=folders))


@given(_disk, _knowns)
def test_law_after_a_delta_is_applied_what_is_fresh_is_what_is_on_disk(disk, knowns):
    after = applied(knowns, delta(disk, knowns), disk)
    fresh = {each.path: each.fingerprint.digest for each in after if not each.stale}
    assert fresh == {path: f"hash of {content}" for path, (content, _) in disk.items()}
    assert not {each.path for each in after if each.stale} & set(disk)


@given(_disk, _knowns, st.randoms())
def test_law_the_order_of_what_is_known_does_not_matter(disk, knowns, random):
    shuffled = random.sample(knowns, len(knowns))
    assert delta(disk, shuffled) == delta(disk, knowns)
