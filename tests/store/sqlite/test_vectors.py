"""The file beside the database that holds its vectors as one matrix."""

import contextlib
import itertools
import os
import secrets
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from memsweep.app import App, Memory
from memsweep.embed.protocol import quantise
from memsweep.model.search import Filters
from memsweep.store import views
from memsweep.store.sqlite import vectors
from tests.support import store_files
from tests.support.fork_server import ForkServer
from tests.support.inside import app_of, store_of
from tests.support.warm_python import warm_python

MANY = 60


@pytest.fixture(autouse=True)
def _small_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_TAIL_MIN", 20)


@pytest.fixture
def texts() -> list[str]:
    return [f"number {number} speaks of {word}" for number, word in enumerate(WORDS)]


WORDS = [
    f"{first}{second}" for first in ("apple", "river", "music", "stone", "cloud", "paper") for second in "abcdefghij"
]


def fill(memory: Memory, texts: list[str]) -> None:
    for text in texts:
        memory.remember(text)


def by_meaning(memory: Memory, texts: list[str]) -> list[str]:
    """What each text finds first when it is looked for by its vector alone."""
    store = store_of(memory)
    found = []
    for vector in quantise(app_of(memory).local_model.embed(texts)):
        nearest = max(store.candidates("", vector, Filters(), 10), key=lambda item: item.similarity)
        found.append(views.passages(store.rows, [nearest.key])[nearest.key].text)
    return found


def files(home: Path) -> list[Path]:
    return sorted((home / "workspaces").glob("*.vec"))


def drafts(home: Path) -> list[Path]:
    return sorted((home / "workspaces").glob("*.draft"))


def test_many_memories_are_searched_through_a_file(memory: Memory, home: Path, texts: list[str]) -> None:
    fill(memory, texts[:15])
    memory.search("number")
    assert files(home) == []
    fill(memory, texts[15:])
    assert by_meaning(memory, texts) == texts
    (file,) = files(home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_size == 40 + MANY * (8 + 256)
    assert memory.stats().vector_bytes == file.stat().st_size + MANY * 256
    assert drafts(home) == []


def test_the_file_is_replaced_as_the_workspace_grows_and_old_ones_go(
    memory: Memory, home: Path, texts: list[str]
) -> None:
    seen = set()
    for start in range(0, MANY, 10):
        fill(memory, texts[start : start + 10])
        assert by_meaning(memory, texts[: start + 10]) == texts[: start + 10]
        seen |= set(files(home))
        assert len(files(home)) <= 1
    assert len(seen) == 2


def test_another_process_reads_the_same_file(make: Callable[..., App], home: Path, texts: list[str]) -> None:
    first, second = make().memory(), make().memory()
    fill(first, texts[:50])
    assert by_meaning(first, texts[:5]) == texts[:5]
    before = files(home)
    assert by_meaning(second, texts[:5]) == texts[:5]
    assert files(home) == before
    fill(first, texts[50:])
    assert by_meaning(second, texts) == texts
    assert by_meaning(first, texts) == texts
    assert len(files(home)) == 1


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "five bytes": lambda whole: whole[:5],
    "header only": lambda whole: whole[:40],
    "truncated": lambda whole: whole[:-1],
    "too long": lambda whole: whole + b"x",
    "wrong magic": lambda whole: b"X" + whole[1:],
    "wrong width": lambda whole: whole[:16] + (128).to_bytes(8, "little") + whole[24:],
    "wrong count": lambda whole: whole[:24] + (2**60).to_bytes(8, "little") + whole[32:],
    "a flipped bit": lambda whole: whole[:3000] + bytes([whole[3000] ^ 1]) + whole[3001:],
    "the form of old": lambda whole: b"memsweep vectors" + whole[16:32] + whole[40:],
    "garbage": lambda whole: Random(1).randbytes(len(whole)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_ignored_and_made_again(
    make: Callable[..., App], home: Path, texts: list[str], damage: str
) -> None:
    app = make()
    fill(app.memory(), texts)
    by_meaning(app.memory(), texts[:1])
    app.close()
    (file,) = files(home)
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[damage](whole))
    assert by_meaning(make().memory(), texts) == texts
    (again,) = files(home)
    assert again.read_bytes() == whole


@pytest.mark.parametrize("name", ["{stem}.None.99999999.vec", "{stem}.7.60.vec", "{stem}.None.x.vec", "{stem}.vec"])
def test_files_that_do_not_belong_are_not_mapped(
    make: Callable[..., App], home: Path, texts: list[str], name: str
) -> None:
    app = make()
    fill(app.memory(), texts)
    app.close()
    stranger = home / "workspaces" / name.format(stem=store_files.file_of(home).stem)
    stranger.write_bytes(Random(2).randbytes(1000))
    assert by_meaning(make().memory(), texts) == texts


def test_a_file_that_cannot_be_written_does_no_harm(memory: Memory, home: Path, texts: list[str]) -> None:
    fill(memory, texts)
    stem = store_files.file_of(home).stem
    (home / "workspaces" / f"{stem}.None.{MANY}.vec").mkdir()  # in the way, also for root
    assert by_meaning(memory, texts) == texts
    assert drafts(home) == []


def test_a_lost_file_does_not_disturb_who_has_it_mapped(memory: Memory, home: Path, texts: list[str]) -> None:
    fill(memory, texts)
    by_meaning(memory, texts[:1])
    for file in files(home):
        file.unlink()
    assert by_meaning(memory, texts) == texts
    assert memory.stats().vector_bytes == MANY * 256, "in the database"


def test_reembedding_begins_a_new_file(memory: Memory, home: Path, texts: list[str]) -> None:
    fill(memory, texts)
    by_meaning(memory, texts[:1])
    (old,) = files(home)
    assert memory.care.reembed() == MANY
    assert files(home) == []
    assert by_meaning(memory, texts) == texts
    (new,) = files(home)
    assert new != old


def test_who_has_the_old_generation_mapped_moves_on(make: Callable[..., App], home: Path, texts: list[str]) -> None:
    first, second = make().memory(), make().memory()
    fill(first, texts)
    assert by_meaning(second, texts) == texts
    first.care.reembed()
    assert by_meaning(second, texts) == texts
    assert by_meaning(first, texts) == texts


def test_processes_share_one_file_and_none_of_them_maps_it(
    fork_server: ForkServer, home: Path, memory: Memory, texts: list[str]
) -> None:
    """Who maps a file dies when it is cut."""
    fill(memory, texts)
    call = ["search", {"query": texts[7]}]
    children = []
    for _ in range(2):
        children.append(fork_server.fork("search_with_small_tail", home, calls=[call], wait=True, umask=0))
        (outcome,) = children[-1].said()
        assert outcome["result"]["hits"][0]["passage"]["text"] == texts[7]
    (file,) = files(home)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for child in children:
        maps = Path(f"/proc/{child.pid}/maps")
        if maps.exists():
            assert not any(line.endswith(".vec") for line in maps.read_text().splitlines())
        child.go()
        child.rest()


# Asks for every text by its vector alone, over and over, each time with what it has in memory and each third time anew.
SEARCHER = """
import sys
from memsweep import open_memory
from memsweep.store.sqlite import vectors
from tests.store.sqlite.test_vectors import WORDS, by_meaning

vectors._TAIL_MIN = 20
texts = [f"number {number} speaks of {word}" for number, word in enumerate(WORDS)]
memory = open_memory("default", home=sys.argv[1])
for turn in range(int(sys.argv[2])):
    if turn % 3 == 2:
        memory.close()
        memory = open_memory("default", home=sys.argv[1])
    print(by_meaning(memory, texts) == texts, flush=True)
"""
HARMS: list[Callable[[Path], object]] = [
    lambda file: os.truncate(file, 0),
    lambda file: os.truncate(file, 5000),
    lambda file: file.write_bytes(Random(3).randbytes(file.stat().st_size)),
    lambda file: file.write_bytes(b""),
    lambda file: file.unlink(),
    lambda file: flip_a_bit(file),
]


def flip_a_bit(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    if whole:
        whole[secrets.randbelow(len(whole))] ^= 1 << secrets.randbelow(8)
    file.write_bytes(whole)


@pytest.mark.slow
def test_a_search_survives_whatever_happens_to_the_file(home: Path, memory: Memory, texts: list[str]) -> None:
    fill(memory, texts)
    by_meaning(memory, texts[:1])
    command = [*warm_python(), "-c", SEARCHER, str(home), "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as child:
        assert child.stdout
        answers = []
        for harm, answer in zip(itertools.cycle(HARMS), child.stdout, strict=False):
            answers.append(answer.strip())
            for file in files(home):
                with contextlib.suppress(OSError):  # the child has replaced it
                    harm(file)
    assert child.returncode == 0
    assert answers == ["True"] * 60


@pytest.mark.slow
def test_no_flipped_bit_of_the_file_changes_an_answer(make: Callable[..., App], home: Path, texts: list[str]) -> None:
    app = make()
    fill(app.memory(), texts)
    by_meaning(app.memory(), texts[:1])
    app.close()
    (file,) = files(home)
    whole = file.read_bytes()
    for spot in range(0, len(whole), 97):
        file.write_bytes(whole[:spot] + bytes([whole[spot] ^ 0x40]) + whole[spot + 1 :])
        index = vectors.VectorIndex(store_files.file_of(home).with_suffix(""))
        with store_files.open_file(store_files.file_of(home)) as db:
            keys, rows = zip(*db.execute("select chunk, data from vector order by chunk"), strict=True)
            cosines = index.similarities(db, rows[3])
            assert len(cosines) == len(keys)
            assert cosines.nearest(1) == [keys[3]]
            assert cosines.of([keys[3]]) == pytest.approx([1.0], abs=1e-6)


@pytest.mark.parametrize("width", [b"x'0102'", b"zeroblob(300)", b"x''"])
def test_a_vector_of_another_width_does_not_hide_the_others(
    make: Callable[..., App], home: Path, texts: list[str], width: bytes
) -> None:
    app = make()
    fill(app.memory(), texts)
    app.close()
    with store_files.open_file(store_files.file_of(home)) as db:
        db.execute(f"update vector set data = {width.decode()} where chunk = 5")
    found = by_meaning(make().memory(), texts)
    assert [text for text, other in zip(texts, found, strict=True) if text != other] == [texts[4]]


def test_a_crash_while_the_file_is_written_leaves_no_half_file(
    home: Path, make: Callable[..., App], texts: list[str]
) -> None:
    """A draft without its name, as `kill -9` leaves it, is never mapped and in time goes."""
    app = make()
    fill(app.memory(), texts[:30])
    stem = store_files.file_of(home).stem
    draft = home / "workspaces" / f"{stem}.None.30.99999.1.draft"
    draft.write_bytes(b"half of it")
    assert by_meaning(app.memory(), texts[:30]) == texts[:30]
    assert drafts(home) == []


def test_an_older_database_that_was_put_back_does_not_meet_the_newer_vectors(
    home: Path, make: Callable[..., App], texts: list[str]
) -> None:
    """Its keys are given out again, to other texts."""
    app = make()
    fill(app.memory(), texts[:5])
    app.close()
    file = store_files.file_of(home)
    backup = shutil.copy(file, home / "backup")
    fill(app.memory(), texts[5:40])
    assert by_meaning(app.memory(), texts[:40]) == texts[:40]
    app.close()
    assert len(files(home)) == 1
    os.replace(backup, file)
    others = texts[:9:-1]
    app = make()
    fill(app.memory(), others)
    assert by_meaning(app.memory(), others) == others
