"""`memsweep watch` as a process, and `memsweep index` when it is interrupted."""

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memsweep.code.lock import one_at_a_time
from tests.code.conftest import FILES
from tests.code.indexed_workspace import live, problems, stale
from tests.code.trees import git, grow, repository
from tests.support import store_files
from tests.support.commands import MEMSWEEP, Ran, environment, memsweep
from tests.support.embedding_server import EmbeddingServer
from tests.support.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.slow


class Watcher:
    """A watching process and what it says."""

    def __init__(self, home: Path, *arguments: str, **settings: str) -> None:
        self.process = subprocess.Popen(
            [*MEMSWEEP, "watch", *arguments],
            env=environment(home, **settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.errors: queue.Queue[str] = queue.Queue()
        self._readers = [
            threading.Thread(target=self._read, args=each)
            for each in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe: Any, lines: queue.Queue[str]) -> None:
        with pipe:
            for line in pipe:
                lines.put(line)

    def refreshed(self) -> dict[str, Any]:
        return json.loads(self.lines.get(timeout=PATIENCE))

    def until(self, **wanted: int) -> None:
        """Wait for refreshes that add up to this."""
        sums = dict.fromkeys(wanted, 0)
        while sums != wanted:
            answer = self.refreshed()
            sums = {name: value + answer[name] for name, value in sums.items()}
            assert all(sums[name] <= wanted[name] for name in wanted), sums

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return status

    def complaints(self) -> str:
        return "".join(self.errors.queue)


@contextmanager
def watching(home: Path, *arguments: str, **settings: str) -> Iterator[Watcher]:
    watcher = Watcher(home, *arguments, "--json", **settings)
    try:
        yield watcher
    finally:
        if watcher.process.poll() is None:
            watcher.end(signal.SIGKILL)
    assert "Traceback" not in watcher.complaints()


def test_a_watch_refreshes_after_edits_moves_deletions_and_a_checkout_of_hundreds(home: Path, tmp_path: Path) -> None:
    # Below a folder whose name would be left out inside of a root, and with the data of memsweep in it.
    root = repository(tmp_path / "node_modules" / "repo", dict(FILES))
    (root / ".gitignore").write_text(".home/\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "few")
    git(root, "checkout", "-q", "-b", "many")
    grow(root, {f"many/m{n}.py": f"def f{n}(): pass\n" for n in range(300)})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "many")
    git(root, "checkout", "-q", "main")
    with watching(root / ".home", str(root)) as watcher:
        assert watcher.refreshed()["files_indexed"] == len(FILES) + 1
        (root / "app.py").write_text("def edited(): pass\n")
        watcher.until(files_indexed=1)
        (root / "main.go").rename(root / "cmd.go")
        watcher.until(files_moved=1)
        (root / "docs/guide.md").unlink()
        grow(root, {"new/deep/folder/x.py": "def x(): pass\n"})
        watcher.until(files_indexed=1, files_removed=1)
        git(root, "checkout", "-q", "-f", "many")
        watcher.until(files_indexed=302)  # app.py and main.go as they were, too
        git(root, "checkout", "-q", "main")
        watcher.until(files_removed=300)
        assert watcher.lines.empty()
        assert watcher.end(signal.SIGTERM) == 0
    file = store_files.file_of(root / ".home")
    assert set(live(file, root)) == {*FILES, ".gitignore", "cmd.go", "new/deep/folder/x.py"}
    assert problems(file) == []


def test_what_changes_before_the_watch_has_begun_is_not_missed(home: Path, repo: Path) -> None:
    """The first run is held up while a file changes that it has read already."""
    with EmbeddingServer() as embedder:
        embedder.mood = "silent"
        with watching(home, str(repo), **embedder.settings("ollama")) as watcher:
            wait_for(lambda: embedder.asked, "the first run to embed")
            (repo / "app.py").write_text("def edited_meanwhile(): pass\n")
            embedder.mood = "well"
            embedder.released.set()
            assert watcher.refreshed()["files_indexed"] == len(FILES)
            assert watcher.refreshed()["files_indexed"] == 1
            assert watcher.end(signal.SIGINT) == 0
    assert "edited_meanwhile" in live(store_files.file_of(home), repo)["app.py"].content["text"]


def test_a_folder_that_vanishes_is_waited_for(home: Path, repo: Path) -> None:
    with watching(home, str(repo)) as watcher:
        watcher.refreshed()
        repo.rename(repo.with_name("aside"))
        assert "does not exist" in watcher.errors.get(timeout=PATIENCE)
        assert stale(store_files.file_of(home), repo) == set()
        shutil.copytree(repo.with_name("aside"), repo)  # the same files in another folder of the same name
        (repo / "added.py").write_text("def added(): pass\n")
        watcher.until(files_indexed=1)
        (repo / "app.py").write_text("def edited(): pass\n")
        watcher.until(files_indexed=1)
        assert watcher.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_that_is_stopped_in_the_middle_of_a_refresh_ends_well(home: Path, repo: Path, number: int) -> None:
    with EmbeddingServer() as embedder:
        embedder.mood = "silent"
        with watching(home, str(repo), **embedder.settings("ollama")) as watcher:
            wait_for(lambda: embedder.asked, "the first run to embed")
            watcher.process.send_signal(number)
            wait_for(lambda: handles(watcher.process.pid, number) == "default", "the signal to be noticed")
            embedder.released.set()
            assert watcher.process.wait(PATIENCE) == 0
            assert watcher.lines.empty()
    assert stale(store_files.file_of(home), repo) == set()


def handles(pid: int, number: int) -> str:
    """Whether a process catches a signal."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return "caught" if int(status["SigCgt"], 16) >> (number - 1) & 1 else "default"


def test_who_asks_twice_does_not_wait(home: Path, repo: Path) -> None:
    with one_at_a_time(home / "locks", "default", str(repo)), watching(home, str(repo)) as watcher:
        wait_for(lambda: handles(watcher.process.pid, signal.SIGTERM) == "caught", "the watch to begin")
        watcher.process.send_signal(signal.SIGTERM)
        wait_for(lambda: handles(watcher.process.pid, signal.SIGTERM) == "default", "the signal to be noticed")
        assert watcher.end(signal.SIGTERM) == -signal.SIGTERM


@pytest.mark.parametrize(("path", "status"), [("/nowhere/at/all", 2), ("/etc/hostname", 2)])
def test_what_cannot_be_watched_is_said(home: Path, path: str, status: int) -> None:
    done = memsweep("watch", path, home=home)
    assert (done.status, done.err.startswith("Error: ")) == (status, True)


def test_an_interrupted_index_leaves_whole_files_and_the_next_finishes(home: Path, repo: Path) -> None:
    with EmbeddingServer() as embedder:
        settings = embedder.settings("ollama")
        embedder.mood = "silent"
        process = subprocess.Popen(
            [*MEMSWEEP, "index", str(repo)],
            env=environment(home, **settings),
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
        )
        wait_for(lambda: embedder.asked, "the run to embed")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, "Traceback" in err) == (130, False)
        embedder.mood = "well"
        embedder.released.set()
        assert live(store_files.file_of(home), repo) == {}
        again = memsweep("index", str(repo), "--json", home=home, **settings).json
    assert again["files_indexed"] == len(FILES)


def test_the_command_line_indexes_with_filters_and_says_what_it_did(
    repo: Path, run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = ["--language", "python", "-l", "md", "--no-tests", "--no-recursive", "--max-file-size", "5000"]
    answer = run("index", str(repo), *narrow, "--json", "--workspace", "mine").json
    assert answer["languages"] == {"python": 1}
    (repo / "app.py").unlink()
    with monkeypatch.context() as patch:
        patch.chdir(repo)
        out = run("index", ".", "-w", "mine").out
    assert out.startswith(f"Repository indexed successfully.\nPath: {repo}\nFiles indexed: 4\n")
    assert out.endswith("Stale memories detected: 1 (run `memsweep prune -w mine` to clean up)\n")
    shutil.rmtree(repo)
    refused = run("index", str(repo), "--json", "-w", "mine")
    assert (refused.status, json.loads(refused.err)["error"]["code"]) == (2, "bad_input")
    insisted = run("index", str(repo), "--json", "--allow-empty", "-w", "mine").json
    assert insisted["stale_memories"] == len(FILES)


def test_a_home_that_cannot_be_written_is_named(home: Path, repo: Path) -> None:
    home.mkdir()
    os.chmod(home, 0o500)
    try:
        done = memsweep("index", str(repo), home=home, as_ordinary_user=True)
    finally:
        os.chmod(home, 0o700)
    assert (done.status, str(home) in done.err) == (5, True)
