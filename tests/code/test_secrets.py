"""Files that hold secrets are not indexed, and those that were are dropped."""

import time
from pathlib import Path

import pytest

from memsweep.app import Memory
from memsweep.code.fingerprint import FINE_TICK_NS
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.test_exclude import ACCOUNT, KEY, KUBECONFIG
from tests.code.trees import git, grow, repository
from tests.support import store_files
from tests.support.engines import on_every_engine
from tests.support.waiting import wait_for

PLAIN: dict[str, str | bytes] = {"a.py": "def a(): pass\n", "notes.md": "# Notes\n", "data.json": "{}\n"}
SECRETS: dict[str, str | bytes] = {
    ".vault-token": "hvs.x\n",
    "release.asc": "-----BEGIN PGP MESSAGE-----\n",
    "gcp.json": ACCOUNT,
    "cluster.yaml": KUBECONFIG,
    ".kube/config": KUBECONFIG,
    ".secrets": "TOKEN=x\n",
    "deploy_key": "# for the deployment\n" + KEY,
    "bundle.crt": "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n" + KEY,
}


def test_secrets_are_not_indexed_by_name_or_by_content(workspace: IndexedWorkspace, tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {**PLAIN, **SECRETS})
    git(root, "add", "-f", ".")  # that somebody tracks them does not matter
    workspace.index(root)
    assert set(workspace.live(root)) == set(PLAIN)
    assert not any("PRIVATE KEY" in hit.text for hit in workspace.hits("private key token service_account"))


@pytest.fixture
def old_rules(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As the version before this one left an index: it knew fewer names, and did not note what it looked for."""
    monkeypatch.setattr("memsweep.code.index._is_wanted", lambda path, text, language: True)
    monkeypatch.setattr("memsweep.code.index.judged_by", lambda action: "")
    monkeypatch.setattr("memsweep.code.exclude.Exclusions.is_secret", lambda self, path: False)
    return monkeypatch


def test_an_index_of_before_drops_what_is_a_secret_now(
    workspace: IndexedWorkspace, tmp_path: Path, old_rules: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", {**PLAIN, **SECRETS})
    workspace.index(root)
    assert set(workspace.live(root)) == {*PLAIN, *SECRETS}
    old_rules.undo()
    result = workspace.index(root)
    assert (result.files_indexed, result.files_removed) == (0, len(SECRETS))
    assert (set(workspace.live(root)), workspace.stale(root)) == (set(PLAIN), set(SECRETS))
    result = workspace.index(root)
    assert (result.files_indexed, result.files_removed) == (0, 0)
    assert workspace.embedder.texts == []


def test_what_was_looked_through_is_not_read_again(
    workspace: IndexedWorkspace, tmp_path: Path, old_rules: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", dict(PLAIN))
    newest = max(file.stat().st_ctime_ns for file in root.rglob("*.*"))
    wait_for(lambda: time.time_ns() > newest + 2 * FINE_TICK_NS, "the files to be old enough for their stamps to count")
    workspace.index(root)
    old_rules.undo()
    workspace.index(root)
    before = store_files.rows_in(workspace.file)["code_file"]
    assert all(row["digest"].startswith("rules") for row in before)
    workspace.index(root)
    assert store_files.rows_in(workspace.file)["code_file"] == before


@on_every_engine
def test_a_file_that_becomes_a_secret_is_dropped(memory: Memory, tmp_path: Path) -> None:
    root = grow(tmp_path / "r", dict(PLAIN))
    memory.code.index(root)
    (root / "data.json").write_text(ACCOUNT)
    result = memory.code.index(root)
    assert (result.files_indexed, result.files_removed) == (0, 1)
    (root / "data.json").write_text("{}\n")
    assert memory.code.index(root).files_removed == 0
    assert memory.stats().total_memories == 3
