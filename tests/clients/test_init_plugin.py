"""`memsweep init --plugin`, with programs in the place of the clients that write down what they are asked to do."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.clients.plugin import plugin_folder
from tests.support.commands import Ran

Run = Callable[..., Ran]
ADDED = [f"plugin marketplace add {plugin_folder()}", "plugin install memsweep@memsweep"]
REMOVED = ["plugin uninstall memsweep@memsweep", "plugin marketplace remove memsweep"]


class Claude:
    """A program called `claude`: what it was asked, and what it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "asked"
        self.answers("true")
        self.put("memsweep", "true")

    def answers(self, script: str) -> None:
        self.put("claude", f'echo "$@" >> {shlex.quote(str(self.log))}; {script}')

    def put(self, name: str, script: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.folder / name).chmod(0o755)

    def asked(self) -> list[str]:
        """What it was asked since the last time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Claude:
    person = tmp_path / "person"
    (person / ".claude").mkdir(parents=True)
    (person / ".cursor").mkdir()
    monkeypatch.setenv("HOME", str(person))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return Claude(tmp_path / "bin")


def test_the_plugin_takes_the_place_of_the_entry_and_is_taken_back(run: Run, claude: Claude, tmp_path: Path) -> None:
    entry, cursor = tmp_path / "person" / ".claude.json", tmp_path / "person" / ".cursor" / "mcp.json"
    run("init", "--yes", "--client", "claude-code")
    assert entry.exists()
    assert "plugin marketplace add" in run("init", "--plugin", "--dry-run").out
    assert (claude.asked(), entry.exists()) == ([], True)

    ran = run("init", "--plugin", "--yes")
    assert "Added the plugin." in ran.out
    assert claude.asked() == ADDED
    assert (entry.exists(), cursor.exists()) == (False, True), "one server for each client"
    assert run("init", "--yes", "--json").json["clients"][0]["state"] == "there"
    assert claude.asked() == []
    assert run("init", "--plugin").status == 0, "again, after a new version"
    assert claude.asked() == ADDED

    assert "Removed the plugin." in run("init", "--undo", "--yes").out
    assert claude.asked() == REMOVED
    assert not cursor.exists()
    assert run("init", "--undo", "--yes").out == "Nothing to undo.\n"


def test_settings_that_the_client_writes_anew_become_as_they_were(run: Run, claude: Claude, tmp_path: Path) -> None:
    settings = tmp_path / "person" / ".claude" / "settings.json"
    mine = b'{\r\n  "theme": "dark"\r\n}'
    settings.write_bytes(mine)
    settings.chmod(0o644)
    writes = f"echo '{{}}' > {settings}.new; chmod 600 {settings}.new; mv {settings}.new {settings}"
    claude.answers(writes)
    for _ in range(2):  # a second time, after a new version
        run("init", "--plugin", "--client", "claude-code")
        assert settings.read_text() == "{}\n"
    run("init", "--undo", "--yes")
    assert (settings.read_bytes(), settings.stat().st_mode & 0o777) == (mine, 0o644)

    run("init", "--plugin", "--client", "claude-code")
    settings.write_text('{"theme": "light"}')
    claude.answers("true")
    run("init", "--plugin", "--client", "claude-code")
    run("init", "--undo", "--yes")
    assert settings.read_text() == '{"theme": "light"}', "what a person changed since stays"

    settings.unlink()
    claude.answers(writes)
    run("init", "--plugin", "--client", "claude-code")
    run("init", "--undo", "--yes")
    assert not settings.exists()
    assert sorted(each.name for each in (tmp_path / "home" / "init").glob("*.before")) == []


def test_a_client_that_refuses_is_quoted_and_can_be_taken_back(run: Run, claude: Claude, tmp_path: Path) -> None:
    claude.answers("echo no such folder >&2; exit 3")
    ran = run("init", "--plugin", "--client", "claude-code")
    assert ran.status == 4
    assert "no such folder" in ran.err
    assert "memsweep init --undo" in ran.err
    assert not (tmp_path / "person" / ".claude.json").exists()
    claude.asked()
    ran = run("init", "--undo", "--yes")
    assert ran.status == 4
    assert "by hand" in ran.err
    assert claude.asked() == REMOVED, "the second part although the first one failed"
    assert run("init", "--undo", "--yes").out == "Nothing to undo.\n"


def test_what_the_plugin_needs_is_said(run: Run, claude: Claude) -> None:
    assert run("init", "--plugin", "--client", "cursor").status == 2
    (claude.folder / "memsweep").unlink()
    ran = run("init", "--plugin")
    assert ran.status == 2
    assert "not on PATH" in ran.err
    assert claude.asked() == []


def test_a_program_in_the_working_folder_is_not_run(run: Run, claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(claude.folder)
    monkeypatch.setenv("PATH", ".::/usr/bin:/bin")
    assert run("init", "--plugin", "--client", "claude-code").status == 2
    assert claude.asked() == []


def test_the_plugin_comes_with_the_project() -> None:
    assert (plugin_folder() / ".claude-plugin" / "marketplace.json").is_file()
