"""Whatever was done to a store through the front door, the doctor finds nothing, and a backup is the store."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import Memory
from memsweep.care.invariants import CURES, HOME_CURES, INVARIANTS, cure_of, next_step, sentence
from memsweep.errors import MemsweepError
from memsweep.model.care import Checkup, Finding
from memsweep.store.file.care_sql import CHECKS
from memsweep.store.file.care_sql import CURES as SQL_CURES
from tests.care import stores
from tests.support import store_files
from tests.support.counts import rounds

NAMES = ["Ada Lovelace", "Grace Hopper", "Alan Turing"]
numbers = st.integers(0, 9)
texts = st.builds(
    lambda names, number, times: f"{' met '.join(names)} on day {number}. " * times,
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    numbers,
    st.sampled_from([1, 1, 80]),
)
added = st.fixed_dictionaries(
    {"text": texts},
    optional={
        "tags": st.lists(st.sampled_from("abc"), max_size=3),
        "thread_id": st.sampled_from(["one", "two"]),
        "entities": st.lists(st.sampled_from(NAMES), max_size=2),
        "pinned": st.booleans(),
        "relations": st.just([{"from": NAMES[0], "relation": "knows", "to": NAMES[1]}]),
    },
)
code = st.dictionaries(st.sampled_from(["a.py", "b.py", "c.py"]), st.sampled_from(["f", "g", "f g"]), min_size=1)
steps = st.one_of(
    st.tuples(st.just("add"), added),
    st.tuples(st.sampled_from(["delete", "forever", "undo", "recover"]), numbers),
    st.tuples(st.just("index"), code),
    st.tuples(st.just("prune"), st.sampled_from(["all", "stale_code", "orphaned_entities", "duplicates"])),
    st.tuples(st.sampled_from(["purge", "clear", "plan"]), st.none()),
)


def write(folder: Path, files: dict[str, str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, functions in files.items():
        body = "".join(f"\n\ndef {function}():\n    return {name[0]}()\n" for function in functions.split())
        (folder / name).write_text("import os\n" + body)


def one_of(items: list[Any], number: int) -> Any:
    return items[number % len(items)] if items else "nothing"


def take(memory: Memory, folder: Path, kept: dict[str, list[str]], step: tuple[str, Any]) -> None:
    match step:
        case ("add", values):
            kept["memories"].append(memory.remember(**values).memory_id)
        case ("delete" | "forever" as how, number):
            receipt = memory.delete(one_of(kept["memories"], number), confirm=True, forever=how == "forever")
            kept["receipts"].append(receipt.id)
        case ("undo", number):
            memory.sweep.undo(one_of(kept["receipts"], number))
        case ("recover", number):
            memory.sweep.recover(one_of(kept["memories"], number))
        case ("index", files):
            write(folder, files)
            memory.code.index(folder)
        case ("prune", strategy):
            kept["receipts"].append(memory.sweep.prune(strategy, confirm=True, allow_large=True).id)
        case ("purge", _):
            memory.sweep.purge(0, confirm=True)
        case ("clear", _):
            kept["receipts"].append(memory.sweep.clear("DELETE ALL MEMORIES").id)
        case ("plan", _):
            memory.sweep.plan("all")


@contextlib.contextmanager
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
@settings(max_examples=rounds(10, 40))
@given(st.lists(steps, max_size=14))
def test_the_doctor_finds_nothing_and_a_backup_is_the_store(done: list[tuple[str, Any]]) -> None:
    with place() as folder:
        app = stores.open_app(folder / "home")
        memory = app.memory()
        memory.remember("so that there is a workspace")
        kept: dict[str, list[str]] = {"memories": [], "receipts": []}
        for step in done:
            with contextlib.suppress(MemsweepError):  # a refusal is an answer, too
                take(memory, folder / "code", kept, step)
        assert memory.care.doctor() == Checkup("default", ())
        memory.care.backup(folder / "backup")
        app.restore(folder / "backup", "copy")
        left_out = ("meta", "audit", "sqlite_sequence")
        wanted = stores.dump(store_files.file_of(folder / "home"), without=left_out)
        assert stores.dump(store_files.file_of(folder / "home", "copy"), without=left_out) == wanted
        memory.care.compact()
        assert stores.dump(store_files.file_of(folder / "home"), without=left_out) == wanted
        app.close()


findings = st.builds(
    Finding, st.sampled_from(sorted(INVARIANTS)), st.integers(1, 10**6), st.lists(st.text(), max_size=5).map(tuple)
)


@given(findings)
def test_a_finding_is_one_sentence_with_its_number_and_samples(finding: Finding) -> None:
    said = sentence(finding)
    assert said.startswith(f"{finding.count:,} ")
    assert said.endswith(".")
    assert all(sample in said for sample in finding.samples)
    assert next_step(finding)


def test_every_check_has_words_and_every_cure_exists() -> None:
    assert set(CHECKS) <= set(INVARIANTS)
    cures = {cure_of(Finding(name, 1)) for name in INVARIANTS} - {""}
    assert cures == set(CURES)
    assert set(CURES) - set(SQL_CURES) == {*HOME_CURES, "embed", "names"}
