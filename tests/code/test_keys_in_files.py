"""A key that somebody wrote into a file is neither in the chunks nor in the stored text, and the run says so."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.model.code import IndexResult
from tests.code.trees import grow
from tests.secrets.test_ways_in import AWS, AWS_MARK, GITHUB, assert_gone
from tests.support.engines import on_every_engine

BLOCK = "-----BEGIN PRIVATE KEY-----\n" + ("Qk1" * 20 + "\n") * 3 + "-----END PRIVATE KEY-----"
FILES: dict[str, str | bytes] = {
    "deploy.py": f'"""Deploys."""\n\nKEY = "{AWS}"\nPEM = """{BLOCK}"""\n\n\ndef deploy():\n    return KEY\n',
    "app.yaml": f"name: app\ntoken: {GITHUB}\n",
    "plain.py": "def plain():\n    return 1\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return grow(tmp_path / "r", FILES)


def stored(memory: Memory, words: str) -> str:
    hit = memory.search(words).hits[0]
    return memory.get(hit.passage.memory_id).text


def counts(result: IndexResult) -> tuple[int, int, int]:
    return result.files_indexed, result.files_unchanged, result.files_moved


@on_every_engine
def test_a_key_in_a_file_is_redacted_and_the_file_is_named(memory: Memory, root: Path, tmp_path: Path) -> None:
    result = memory.code.index(root)
    assert sorted(result.warnings) == [
        "app.yaml: redacted a secret (github-token)",
        "deploy.py: redacted a secret (aws-access-key and private-key)",
    ]
    assert f'KEY = "{AWS_MARK}"' in stored(memory, "deploy")
    (hit,) = (hit for hit in memory.search("def deploy return KEY").hits if "def deploy" in hit.passage.text)
    assert hit.passage.first_line == FILES["deploy.py"].split("\n").index("def deploy():") + 1  # type: ignore[arg-type]
    assert not any(AWS in each.passage.text for each in memory.search(AWS).hits)
    assert_gone(memory, tmp_path)


@on_every_engine
def test_a_file_with_a_key_is_unchanged_on_the_next_run(memory: Memory, root: Path) -> None:
    memory.code.index(root)
    again = memory.code.index(root)
    assert (counts(again), again.warnings) == ((0, 3, 0), ())
    os.utime(root / "deploy.py", (1_700_000_000, 1_700_000_000))
    touched = memory.code.index(root)
    assert (counts(touched), touched.warnings, touched.chunks_embedded) == ((0, 3, 0), (), 0)


@on_every_engine
def test_a_file_with_a_key_keeps_its_id_where_it_moves(memory: Memory, root: Path) -> None:
    memory.code.index(root)
    before = memory.search("deploy").hits[0].passage.memory_id
    (root / "deploy.py").rename(root / "release.py")
    moved = memory.code.index(root)
    assert counts(moved) == (0, 2, 1)
    assert memory.search("deploy").hits[0].passage.memory_id == before
    assert AWS not in memory.get(before).text


@on_every_engine
def test_a_copy_of_a_file_with_a_key_is_the_same_content(memory: Memory, root: Path) -> None:
    memory.code.index(root)
    (root / "copy.py").write_bytes((root / "deploy.py").read_bytes())
    assert memory.code.index(root).warnings == ("copy.py: redacted a secret (aws-access-key and private-key)",)


@on_every_engine
def test_an_index_of_before_is_redacted_on_the_next_run(
    memory: Memory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("memsweep.code.index.judged_by", lambda action: "rules3")
        before.setattr("memsweep.code.index.find", lambda text: [])
        memory.code.index(root)
    assert AWS in stored(memory, "deploy")
    result = memory.code.index(root)
    assert counts(result) == (2, 1, 0)
    assert len(result.warnings) == 2
    assert AWS not in stored(memory, "deploy")
    assert counts(memory.code.index(root)) == (0, 3, 0)


@pytest.mark.slow
@on_every_engine
def test_another_action_reads_the_files_with_keys_once_more(make: Callable[..., App], root: Path) -> None:
    redacting, letting, refusing = (
        make(MEMSWEEP_SECRETS_SOURCES=f"code_indexer={action}").memory() for action in ("redact", "off", "refuse")
    )
    redacting.code.index(root)
    assert counts(letting.code.index(root)) == (2, 1, 0)
    assert AWS in stored(letting, "deploy")
    refused = refusing.code.index(root)
    assert (refused.files_removed, len(refused.warnings)) == (2, 2)
    assert refused.warnings[0].endswith("not indexed, it holds a secret (github-token)")
    assert counts(refusing.code.index(root))[0] == 0
    assert refusing.code.index(root).warnings == ()
    assert counts(redacting.code.index(root))[0] == 2
    assert AWS not in stored(redacting, "deploy")


def test_a_warning_indexes_the_file_as_it_is(make: Callable[..., App], root: Path) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="warn").memory()
    assert len(memory.code.index(root).warnings) == 2
    assert AWS in stored(memory, "deploy")
