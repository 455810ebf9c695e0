"""Hooks that hand their event to a running server: the same answer, for the same project, or none at all."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import BY_LIBRARY, App
from memsweep.hooks import asking, background, sockets
from memsweep.hooks.answering import HookListener
from memsweep.hooks.files import HookFiles
from memsweep.project.runs import runs
from memsweep.settings import load_settings
from tests.hooks.conftest import unframed
from tests.support.client import raw_server
from tests.support.commands import environment
from tests.support.engines import Home, on_every_engine
from tests.support.waiting import PATIENCE, wait_for

DECISION = "We decided to use Postgres for orders because of the JSON queries."
QUESTION = "Which database did we choose for orders?"


@pytest.fixture
def variables(home: Path, engine_kind: str) -> Iterator[dict[str, str]]:
    place = Home(engine_kind, home)
    yield place.variables
    place.close()


@pytest.fixture
def listener(home: Path, variables: dict[str, str]) -> Iterator[HookListener]:
    """A server's part of it, in this process, which is in no project."""
    HookFiles(home).servers_folder()
    app = App(load_settings(variables))
    listener = HookListener(app)
    listener.start()
    yield listener
    listener.stop()
    app.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def repository(folder: Path) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "objects").mkdir()
    (folder / ".git" / "refs").mkdir()
    return folder


def remember(variables: Mapping[str, str], project: Path) -> None:
    app = App(load_settings(variables), project=str(project))
    app.memory().remember(DECISION)
    app.close()


def prompt(folder: Path, session: str = "s", **more: Any) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(folder), "prompt": QUESTION, **more}).encode()


def ask(variables: Mapping[str, str], raw: bytes, name: str = "UserPromptSubmit") -> Mapping[str, Any] | None:
    return asking.asked(name, raw, time.monotonic(), variables)


def shown(reply: Mapping[str, Any] | None) -> str:
    assert reply is not None
    return str((reply["answer"] or {}).get("additionalContext", ""))


@on_every_engine
@pytest.mark.usefixtures("listener")
def test_a_server_answers_for_the_project_of_the_hook_and_for_no_other(
    variables: dict[str, str], project: Path, tmp_path: Path, home: Path
) -> None:
    remember(variables, project)
    assert DECISION in shown(ask(variables, prompt(project)))
    assert shown(ask(variables, prompt(project))) == ""  # once a session
    assert shown(ask(variables, prompt(repository(tmp_path / "other"), "s2"))) == ""
    assert DECISION in shown(ask(variables, prompt(project, source="startup"), "SessionStart"))
    assert {run["by"] for run in runs(home)} == {"server"}


@pytest.mark.usefixtures("listener")
def test_the_variables_of_the_hook_count(variables: dict[str, str], project: Path, tmp_path: Path) -> None:
    remember(variables, project)
    elsewhere = repository(tmp_path / "other")
    assert DECISION in shown(ask({**variables, "CLAUDE_PROJECT_DIR": str(project)}, prompt(elsewhere)))
    assert shown(ask({**variables, "MEMSWEEP_WORKSPACE": "another"}, prompt(project, "s2"))) == ""
    assert shown(ask({**variables, "MEMSWEEP_HOOKS_ENABLED": "false"}, prompt(project, "s3"))) == ""


@pytest.mark.usefixtures("listener")
def test_the_command_says_the_same_with_and_without_a_server(
    run: Callable[..., Any], listener: HookListener, variables: dict[str, str], project: Path, home: Path
) -> None:
    remember(variables, project)
    with_one = run("hook", "UserPromptSubmit", stdin=prompt(project, "s1")).out
    listener.stop()
    without = run("hook", "UserPromptSubmit", stdin=prompt(project, "s2")).out
    assert DECISION in with_one
    assert unframed(with_one) == unframed(without)
    assert [each.get("by") for each in runs(home)] == ["server", None]


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMSWEEP_STORE", "falkor://127.0.0.1:1"),
        ("MEMSWEEP_EMBEDDING_PROVIDER", "ollama"),
        ("MEMSWEEP_CONFIG", "other.toml"),
        ("MEMSWEEP_EMBEDDING_PROVIDER", "nonsense"),
        ("CLAUDE_PROJECT_DIR", "relative"),
    ],
)
@pytest.mark.usefixtures("listener")
def test_a_hook_with_other_settings_is_sent_away(
    variables: dict[str, str], project: Path, home: Path, variable: str, value: str
) -> None:
    assert ask({**variables, variable: value}, prompt(project)) is None
    assert runs(home) == []


@pytest.mark.usefixtures("listener")
def test_another_memsweep_an_odd_event_and_a_huge_one_are_sent_away(
    variables: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(variables, prompt(project), "Drain") is None
    assert ask(variables, b"no JSON") is None
    assert ask(variables, b" " * (asking.MOST_EVENT_BYTES + 1)) is None
    own = asking.introduction("Stop", 0, 0.0, variables)
    monkeypatch.setattr(asking, "introduction", lambda *given: {**own, "code": ["0.0.1", "elsewhere"]})
    assert ask(variables, prompt(project)) is None


@pytest.mark.usefixtures("listener")
def test_an_event_without_a_folder_belongs_to_the_folder_of_the_hook(
    variables: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(variables, project)
    raw = json.dumps({"session_id": "s", "prompt": QUESTION}).encode()
    own = asking.introduction("UserPromptSubmit", len(raw), 0.0, variables)
    monkeypatch.setattr(asking, "introduction", lambda *given: {**own, "folder": str(project)})
    assert DECISION in shown(ask(variables, raw))
    monkeypatch.setattr(asking, "introduction", lambda *given: {**own, "folder": ""})
    assert ask(variables, raw) is None


@pytest.mark.usefixtures("listener")
def test_hooks_that_say_nothing_or_hang_up_take_no_server_away(
    variables: dict[str, str], project: Path, home: Path
) -> None:
    (path,) = (home / "hooks" / "servers").glob("*.sock")
    with contextlib.ExitStack() as stack:
        for said in (b"", b"{", b'{"code": 7}\n', b"\n" * 9, b"[" * 200_000 + b"\n"):
            line = stack.enter_context(sockets.connected(str(path), 10))
            with contextlib.suppress(OSError):
                line.sendall(said)
        ask(variables, prompt(project))  # there may be no room for it, which is a quick no
    reply = wait_for(lambda: ask(variables, prompt(project)), "an answer once the others have left")
    assert reply["outcome"] == "nothing to say"


def test_a_size_that_is_no_number_is_no_accident(
    listener: HookListener, home: Path, variables: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    (path,) = (home / "hooks" / "servers").glob("*.sock")
    hello = asking.introduction("Stop", 0, 0.0, variables)
    with sockets.connected(str(path), 10) as line:
        line.sendall(json.dumps({**hello, "bytes": float("inf")}).encode() + b"\n")
        assert line.recv(10) == b""
    wait_for(lambda: all(each.name != "hook" for each in threading.enumerate()), "the end of the conversation")
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("listener")
def test_servers_with_the_same_number_leave_each_other_their_sockets(variables: dict[str, str], project: Path) -> None:
    """As in two containers that share a home: process ids are not unique there."""
    second = HookListener(App(load_settings(variables)))
    second.start()
    third = HookListener(App(load_settings(variables)))
    third.start()
    second.stop()
    third.stop()
    assert ask(variables, prompt(project)) is not None


def test_a_long_path_is_no_obstacle(tmp_path: Path, project: Path) -> None:
    home = tmp_path / ("long-" * 20) / ("longer-" * 10)
    variables = {"MEMSWEEP_HOME": str(home)}
    home.parent.mkdir()
    remember(variables, project)
    HookFiles(home).servers_folder()
    listener = HookListener(App(load_settings(variables)))
    listener.start()
    try:
        assert DECISION in shown(ask(variables, prompt(project)))
    finally:
        listener.stop()
    assert list((home / "hooks" / "servers").iterdir()) == []


def test_dead_sockets_are_removed_and_a_folder_that_others_can_enter_is_not_used(
    home: Path, variables: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(HookFiles(home).servers_folder())
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "1.sock"))
    assert ask(variables, prompt(project)) is None
    assert list(folder.iterdir()) == []
    listener = HookListener(App(load_settings(variables)))
    listener.start()
    try:
        assert ask(variables, prompt(project)) is not None
        with monkeypatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: 12345)
            assert ask(variables, prompt(project)) is None  # neither the folder nor the other end is ours
        folder.chmod(0o755)
        assert ask(variables, prompt(project)) is None
    finally:
        listener.stop()
    other = HookListener(App(load_settings(variables)))
    other.start()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("said", [b"", b"ready\n", b'ready\n{"answer": ', b"no\n", b"ready\n[]\n"])
def test_a_server_that_stops_halfway_leaves_the_event_to_the_hook(
    home: Path, variables: dict[str, str], project: Path, said: bytes
) -> None:
    own, _ = sockets.listening(HookFiles(home).servers_folder())

    def serve() -> None:
        line, _ = own.accept()
        with line:
            line.sendall(said)
            line.recv(1 << 20)

    with own:
        thread = threading.Thread(target=serve)
        thread.start()
        assert ask(variables, prompt(project)) is None
        thread.join()


def test_without_what_windows_lacks_hooks_answer_by_themselves(
    run: Callable[..., Any], home: Path, variables: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(variables, project)
    HookFiles(home).servers_folder()
    for module, name in ((os, "O_CLOEXEC"), (os, "geteuid"), (os, "getuid"), (os, "pwrite"), (socket, "AF_UNIX")):
        monkeypatch.delattr(module, name)
    listener = HookListener(App(load_settings(variables)))
    listener.start()
    listener.stop()
    assert DECISION in run("hook", "UserPromptSubmit", stdin=prompt(project)).out
    assert DECISION in run("hook", "SessionStart", stdin=prompt(project, source="startup")).out
    assert [each.get("by") for each in runs(home)] == [None, None]


@pytest.mark.parametrize(("platform", "flag"), [("win32", "creationflags"), ("linux", "start_new_session")])
def test_work_in_the_background_survives_its_window(platform: str, flag: str) -> None:
    assert list(background._apart(platform)) == [flag]


def test_no_hook_was_ever_called_so_no_folder_is_made(home: Path, variables: dict[str, str]) -> None:
    listener = HookListener(App(load_settings(variables)))
    listener.start()
    listener.stop()
    assert not home.exists()


@pytest.mark.slow
def test_a_real_server_answers_a_real_hook_and_leaves_no_socket(home: Path, project: Path) -> None:
    remember({"MEMSWEEP_HOME": str(home)}, project)
    folder = Path(HookFiles(home).servers_folder())
    with raw_server(home) as server:
        server.initialize()
        wait_for(lambda: list(folder.glob("*.sock")), "the socket of the server")
        done = subprocess.run(
            [sys.executable, "-m", "memsweep", "hook", "UserPromptSubmit"],
            input=prompt(project),
            env=environment(home),
            capture_output=True,
            timeout=PATIENCE,
        )
        assert DECISION.encode() in done.stdout
        server.hang_up()
    assert [run.get("by") for run in runs(home)] == ["server"]
    assert list(folder.iterdir()) == []


@on_every_engine
def test_an_app_beside_opens_no_store_of_its_own_and_leaves_it_open(variables: dict[str, str], project: Path) -> None:
    """A server opens one for each prompt: a store of its own would never be closed."""
    settings = load_settings(variables)
    app = App(settings)
    other = app.beside(settings, BY_LIBRARY, str(project))
    other.memory().remember(DECISION)
    assert other.engine is app.engine
    other.close()
    assert [each.id for each in app.workspaces()] == [other.workspace_id]
    app.close()
