"""`memsweep init` with scratch homes: what it finds, shows, writes and takes back."""

import json
import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from memsweep.clients.table import CLIENTS, PLATFORMS, folders
from tests.project.conftest import repository
from tests.support.commands import Ran, memsweep

Run = Callable[..., Ran]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a person who has every client."""
    home = tmp_path / "person"
    for folder in (".claude", ".codex", ".cursor", ".config/Code/User", ".config/Claude"):
        (home / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_every_client_gets_its_entry_and_gives_it_back(run: Run, person: Path, home: Path) -> None:
    codex = person / ".codex" / "config.toml"
    codex.write_text('model = "x" # mine\n')
    codex.chmod(0o640)
    code = person / ".config/Code/User/mcp.json"
    code.write_text('{\n  // mine\n  "servers": {},\n}\n')
    before = {path: path.read_bytes() for path in (codex, code)}
    shown = run("init")
    assert "+" in shown.out
    assert "pass --yes" in shown.out
    assert codex.read_bytes() == before[codex]
    assert run("init", "--dry-run", "--yes").status == 0
    assert codex.read_bytes() == before[codex]

    assert run("init", "--yes").status == 0
    entry = json.loads((person / ".claude.json").read_text())["mcpServers"]["memsweep"]
    assert entry["args"][-1] == "serve"
    assert os.access(entry["command"], os.X_OK)
    assert entry["env"] == {"MEMSWEEP_HOME": str(home)}
    assert tomllib.loads(codex.read_text())["mcp_servers"]["memsweep"]["command"] == entry["command"]
    assert "# mine" in codex.read_text()
    assert stat.S_IMODE(codex.stat().st_mode) == 0o640
    assert "// mine" in code.read_text()
    for name in (".cursor/mcp.json", ".config/Claude/claude_desktop_config.json"):
        assert "memsweep" in json.loads((person / name).read_text())["mcpServers"]
    assert [each["state"] for each in run("init", "--yes", "--json").json["clients"]] == ["there"] * 5

    assert run("init", "--undo", "--yes").status == 0
    assert {path: path.read_bytes() for path in before} == before
    assert not (person / ".claude.json").exists()
    assert run("init", "--undo", "--yes").out == "Nothing to undo.\n"
    assert [path for path in (home / "init").iterdir() if path.name.endswith(".before")] == []


@pytest.mark.slow
def test_the_server_that_was_written_can_be_started(run: Run, person: Path) -> None:
    from tests.support.client import RawServer

    run("init", "--yes", "--client", "cursor")
    entry = json.loads((person / ".cursor/mcp.json").read_text())["mcpServers"]["memsweep"]
    server = RawServer([entry["command"], *entry["args"]], {**os.environ, **entry["env"]})
    try:
        assert server.initialize()["result"]["serverInfo"]["name"] == "memsweep"
        assert server.hang_up()[0] == 0
    finally:
        server.process.kill()


def test_what_a_person_added_to_the_entry_and_to_the_file_since_is_kept(run: Run, person: Path) -> None:
    path = person / ".cursor" / "mcp.json"
    path.write_text('{"mcpServers": {"memsweep": {"command": "old", "timeout": 5}}}')
    assert run("init", "--yes", "--client", "cursor", "--json").json["clients"][0]["state"] == "changed"
    changed = json.loads(path.read_text())
    assert changed["mcpServers"]["memsweep"]["timeout"] == 5
    path.write_text(json.dumps({**changed, "new": 1}))
    assert run("init", "--undo", "--yes").status == 0
    assert json.loads(path.read_text()) == {"mcpServers": {}, "new": 1}


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b'{"mcpServers": 3}'])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(run: Run, person: Path, content: bytes) -> None:
    path = person / ".cursor" / "mcp.json"
    path.write_bytes(content)
    ran = run("init", "--yes")
    assert ran.status == 4
    assert "is left as it is" in ran.out
    assert path.read_bytes() == content
    assert "memsweep" in (person / ".claude.json").read_text(), "the others are written"


def test_a_link_stays_a_link_and_its_target_is_written(run: Run, person: Path) -> None:
    dotfiles = person / "dotfiles.toml"
    dotfiles.write_text("")
    (person / ".codex" / "config.toml").symlink_to(dotfiles)
    assert run("init", "--yes", "--client", "codex").status == 0
    assert (person / ".codex" / "config.toml").is_symlink()
    assert "mcp_servers" in dotfiles.read_text()


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(run: Run, person: Path) -> None:
    os.mkfifo(person / ".cursor" / "mcp.json")
    assert run("init", "--yes", "--client", "cursor").status == 4


def test_secrets_of_other_servers_are_not_shown(run: Run, person: Path) -> None:
    key = "AKIA" + "IOSFODNN7QQQQQQQ"
    servers = {"s3": {"env": {"AWS_ACCESS_KEY_ID": key}}}
    (person / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    assert key not in run("init", "--client", "cursor").out
    assert run("init", "--yes", "--client", "cursor").status == 0
    assert key in (person / ".cursor" / "mcp.json").read_text()


def test_without_a_client_it_says_so_and_an_unknown_one_is_a_mistake(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert "No client was found" in run("init", "--yes").out
    assert run("init", "--client", "emacs").status == 2
    assert not (tmp_path / "nobody").exists()


def test_hooks_and_a_first_index_are_offered_in_a_project(
    run: Run, person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "api")
    (folder / "app.py").write_text("def alpha(): pass\n")
    assert run("init", "--yes", "--client", "cursor", "--hooks").status == 2, "no repository here"
    monkeypatch.chdir(folder)
    ran = run("init", "--yes", "--client", "cursor", "--hooks", "--index")
    assert (folder / ".git" / "hooks" / "post-commit").exists()
    assert "Indexed 1 file into workspace 'api-" in ran.out


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_half_done(tmp_path: Path) -> None:
    person = tmp_path / "person"
    (person / ".cursor").mkdir(parents=True)
    (person / ".cursor" / "mcp.json").write_text("{}")
    (tmp_path / "home").mkdir()
    for folder in (tmp_path, tmp_path / "home"):
        folder.chmod(0o777)
    (person / ".cursor").chmod(0o555)
    command = ("init", "--yes", "--client", "cursor")
    ran = memsweep(*command, home=tmp_path / "home", as_ordinary_user=True, HOME=str(person))
    assert ran.status == 5
    assert "cannot be written" in ran.err
    assert [path.name for path in (person / ".cursor").iterdir()] == ["mcp.json"]
    assert (person / ".cursor" / "mcp.json").read_text() == "{}"


def test_the_table_has_a_place_for_every_client_on_every_platform() -> None:
    for platform in PLATFORMS:
        home = PureWindowsPath("C:/Users/ada") if platform == "win32" else PurePosixPath("/home/ada")
        places = folders(platform, home, {})
        files = {client.id: client.files[platform].format(**places) for client in CLIENTS}
        assert len(set(files.values())) == len(CLIENTS)
        assert all(str(home) in file for file in files.values())
    assert folders("win32", PureWindowsPath("C:/x"), {"APPDATA": "D:/a"})["config"] == "D:/a"
    assert folders("linux", PurePosixPath("/x"), {"CODEX_HOME": "/c"})["codex"] == "/c"
    assert folders("darwin", PurePosixPath("/x"), {})["config"] == "/x/Library/Application Support"
