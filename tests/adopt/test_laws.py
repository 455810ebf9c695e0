"""Laws of the pure parts: what a file says, edits of the index, versions, plans in JSON."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.adopt import vault
from memsweep.adopt.clients import CLIENTS, checked_place, is_slug_of, slug
from memsweep.adopt.mirror import Mirror, SeenFile, lost_files, observed, our_changes, purged
from memsweep.adopt.notes import (
    bytes_of,
    edited_index,
    entry_line,
    is_named,
    named_paths,
    read_entries,
    read_note,
    text_of,
)
from memsweep.adopt.writing import way_back
from memsweep.errors import BadInput
from memsweep.model.adopt import ABSENT, ClientReceipt, FileChange, NotePlace, digest_of

NOW = datetime(2026, 11, 17, tzinfo=UTC)
PLACES = st.builds(NotePlace, st.just("s"), st.sampled_from(["a.md", "b.md", "deep/c.md"]))
CONTENTS = st.sampled_from([b"one", b"two", b"three"])
DISKS = st.lists(st.dictionaries(PLACES, CONTENTS), max_size=6)


@given(st.binary(max_size=300))
def test_any_bytes_survive_being_read_and_written(data):
    assert bytes_of(text_of(data)) == data
    assert edited_index(data, [], []) == data
    read_note(data)
    named_paths(text_of(data))


@given(st.binary(max_size=200), st.lists(st.sampled_from(["a.md", "b c.md", "ü.md", "x(1).md"]), unique=True))
def test_what_is_added_to_an_index_is_found_in_it_and_can_be_dropped_again(data, names):
    lines = [entry_line(name, read_note(b"---\nname: n\ndescription: d\n---\n")) for name in names]
    edited = edited_index(data, [], lines)
    assert {entry.target for entry in read_entries(edited)} >= set(names)
    back = edited_index(edited, [line for line in lines if edited.count(line.encode()) == 1], [])
    assert len(read_entries(back)) <= len(read_entries(edited))
    if not names:
        assert edited == data


def test_lines_that_stay_are_as_they_were():
    index = "# Ünï\r\n- [A](a.md) — a\r\n\r\n- [B](b.md)\r\ntail".encode()
    assert edited_index(index, ["- [A](a.md) — a"], ["- [C](c.md)"]) == (
        "# Ünï\r\n\r\n- [B](b.md)\r\n- [C](c.md)\r\ntail\n".encode()
    )


@pytest.mark.parametrize(
    ("index", "name", "named"),
    [
        (b"see data.md", "a.md", False),
        (b"see `a.md`", "a.md", True),
        (b"a.md first", "a.md", True),
        (b"- [x](deep/a.md)", "deep/a.md", True),
        (b"", "a.md", False),
    ],
)
def test_a_file_is_named_by_its_whole_name(index, name, named):
    assert is_named(name, index) is named


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("See src/a.py:12 and `lib/b.ts`.", ("src/a.py", "lib/b.ts")),
        ("src/a.py:10-20, ./src/a.py", ("src/a.py",)),
        ("https://x.org/a/b.md and git@host:a/b.py", ()),
        ("either/or, 3/4, and/or.", ()),
        ("~/notes/x.md /home/me/y.toml", ("~/notes/x.md", "/home/me/y.toml")),
        ("src/*.py src/{a,b}.py", ()),
        ("plain.py has no folder", ()),
    ],
)
def test_paths_that_a_text_names(text, paths):
    assert named_paths(text) == paths


@given(DISKS)
def test_every_content_that_was_seen_is_in_the_mirror_and_what_went_is_lost(disks):
    mirror, ever = Mirror(), set()
    for number, disk in enumerate(disks):
        seen = {place: SeenFile(digest_of(data), len(data), 0.0) for place, data in disk.items()}
        ever |= {each.digest for each in seen.values()}
        before = mirror
        mirror = observed(mirror, seen, {"s"}, [], NOW + timedelta(hours=number), {})
        assert observed(mirror, seen, {"s"}, [], NOW, {}) == mirror, "looking twice changes nothing"
        assert observed(before, {}, {"s"}, [NotePlace("s", "")], NOW, {}) == before, "unread is unknown"
    assert mirror.digests == ever
    there = {digest_of(data) for data in (disks[-1] if disks else {}).values()}
    lost = lost_files(mirror)
    assert {each.digest for each in lost}.isdisjoint(there)
    assert vault.read_mirror(vault.mirror_text(mirror)) == mirror
    left, _ = purged(mirror, datetime.max.replace(tzinfo=UTC))
    assert left.digests == there, "only what is there stays"


@given(st.dictionaries(PLACES, CONTENTS), st.dictionaries(PLACES, CONTENTS))
def test_a_receipt_explains_its_changes_and_leads_back(before, after):
    changes = tuple(
        FileChange(place, *(digest_of(disk[place]) if place in disk else ABSENT for disk in (before, after)))
        for place in sorted({*before, *after})
    )
    receipt = ClientReceipt("clrcpt_000000000000", "claude", NOW, "apply", changes)
    back, conflicts = way_back(receipt, {place: digest_of(data) for place, data in after.items()})
    assert conflicts == []
    assert {each.place: each.after for each in back} == {each.place: each.before for each in changes}
    assert set(our_changes([receipt])) == set(changes)
    assert vault.read_receipt(vault.receipt_text(receipt)) == receipt


@pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "", ".", "a//b", "a\0b", ".."])
def test_a_name_that_leads_out_is_refused(name):
    with pytest.raises(BadInput):
        checked_place(NotePlace("s", name))
    with pytest.raises(BadInput):
        checked_place(NotePlace(name, "a.md"))


def test_the_name_of_a_store_is_that_of_its_folder():
    assert slug("/home/ada/my.shop") == "-home-ada-my-shop"
    long = "/" + "x" * 300
    assert is_slug_of(slug(long) + "-1a2b3c", long)
    assert not is_slug_of("-home-ada", "/home/ada/shop")
    assert CLIENTS["claude"].store_path("-x") == "projects/-x/memory"
