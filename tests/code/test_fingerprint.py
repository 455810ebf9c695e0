"""Has a file changed?"""

import itertools
import os
import threading

import pytest

from memsweep.code.fingerprint import (
    COARSE_TICK_NS,
    FINE_TICK_NS,
    SECOND_NS,
    FileContent,
    Fingerprint,
    Stamp,
    Unreadable,
    digest_of,
    read_file,
    stamp_of,
)
from tests.code.trees import grow

NOON = 1_700_000_000 * SECOND_NS
FINE = NOON + 123


def test_a_file_is_read_with_its_stamp_and_its_hash(tmp_path):
    grow(tmp_path, {"a.py": "x = 1\n"})
    content = read_file(str(tmp_path), "a.py", clock_ns=lambda: 7)
    stamp = stamp_of(os.stat(tmp_path / "a.py"))
    assert content == FileContent(b"x = 1\n", Fingerprint(stamp, digest_of(b"x = 1\n"), 7))


def test_a_stamp_survives_its_column():
    assert Stamp.decode(Stamp(1, 2, 3, 4).encode()) == Stamp(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("mtime", "ctime", "read_at", "racy"),
    [
        (FINE, FINE, FINE + FINE_TICK_NS, True),
        (FINE, FINE, FINE + FINE_TICK_NS + 1, False),
        (NOON, FINE, NOON + COARSE_TICK_NS, True),
        (NOON, FINE, FINE + COARSE_TICK_NS + 1, False),
        (FINE, FINE + SECOND_NS, FINE + SECOND_NS, True),
        (FINE + 10 * SECOND_NS, FINE, FINE + SECOND_NS, True),
    ],
)
def test_a_file_written_in_the_tick_it_was_read_in_is_racy(mtime, ctime, read_at, racy):
    found = Fingerprint(Stamp(1, mtime, ctime, 1), "d", read_at)
    assert found.is_racy is racy
    assert found.vouches_for(found.stamp) is not racy


@pytest.mark.parametrize("other", [Stamp(2, 2, 3, 4), Stamp(1, 1, 3, 4), Stamp(1, 2, 4, 4), Stamp(1, 2, 3, 5)])
def test_a_stamp_vouches_only_for_itself(other):
    assert not Fingerprint(Stamp(1, 2, 3, 4), "d", NOON).vouches_for(other)


def test_an_edit_that_puts_size_and_time_back_is_noticed(tmp_path):
    place = grow(tmp_path, {"a.py": "one"}) / "a.py"
    before = read_file(str(tmp_path), "a.py").fingerprint
    os.utime(place, ns=(NOON, NOON))
    old = read_file(str(tmp_path), "a.py").fingerprint
    place.write_text("two")
    os.utime(place, ns=(NOON, NOON))
    found = stamp_of(os.stat(place))
    assert (found.size, found.mtime_ns) == (old.stamp.size, old.stamp.mtime_ns)
    assert not old.vouches_for(found)
    assert not before.vouches_for(found)


@pytest.mark.parametrize(
    ("files", "path", "reason"),
    [
        ({}, "gone.py", "No such file or directory"),
        ({"a.py": ""}, "a.py/b.py", "Not a directory"),
        ({"a/": ""}, "a", "Is a directory"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, files, path, reason):
    grow(tmp_path, files)
    assert read_file(str(tmp_path), path) in (Unreadable(reason), Unreadable("it is not a regular file"))


def test_a_symlink_is_not_read_through(tmp_path):
    grow(tmp_path, {"outside/a.py": "secret", "root/b.py": ""})
    (tmp_path / "root/a.py").symlink_to("../outside/a.py")
    (tmp_path / "root/in").symlink_to("../outside")
    assert isinstance(read_file(str(tmp_path / "root"), "a.py"), Unreadable)
    assert read_file(str(tmp_path / "root"), "in/a.py") == Unreadable("its folder is reached through a symlink")


def test_a_pipe_in_the_place_of_a_file_blocks_nobody(tmp_path):
    os.mkfifo(tmp_path / "a.py")
    assert read_file(str(tmp_path), "a.py") == Unreadable("it is not a regular file")


@pytest.mark.skipif(not os.path.exists("/proc/1/status"), reason="no /proc here")
def test_a_file_that_gives_more_than_it_has_is_not_read_to_its_end():
    assert read_file(f"/proc/{os.getpid()}", "status") == Unreadable("it kept changing while it was read")


def _while_another_writes(write_once, read):
    """What a reader gets, some times, while another thread writes without a pause."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            write_once()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return [read() for _ in range(20)]
    finally:
        stop.set()
        writer.join()


def test_a_file_that_is_replaced_while_it_is_read_is_read_whole(tmp_path):
    place = grow(tmp_path, {"a.py": "a" * 100_000}) / "a.py"
    letters = itertools.cycle("ba")

    def replace() -> None:
        (tmp_path / "next").write_text(next(letters) * 100_000)
        os.replace(tmp_path / "next", place)

    for each in _while_another_writes(replace, lambda: read_file(str(tmp_path), "a.py")):
        if isinstance(each, FileContent):
            assert each.data in (b"a" * 100_000, b"b" * 100_000)
            assert each.fingerprint.digest == digest_of(each.data)
        else:
            assert each == Unreadable("it kept changing while it was read")


def test_a_file_that_grows_without_a_pause_is_read_as_it_was_at_one_moment_or_not_at_all(tmp_path):
    place = grow(tmp_path, {"a.py": "x" * 1_000_000}) / "a.py"
    with open(place, "ab", buffering=0) as file:
        results = _while_another_writes(lambda: file.write(b"y"), lambda: read_file(str(tmp_path), "a.py"))
    for each in results:
        if isinstance(each, FileContent):
            assert len(each.data) == each.fingerprint.stamp.size
        else:
            assert each == Unreadable("it kept changing while it was read")
    assert isinstance(read_file(str(tmp_path), "a.py"), FileContent)
