"""Code and care on the page: what is indexed, examined, copied, set; and who may come in."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from memsweep.app import App, Memory
from memsweep.settings import Settings, load_settings
from memsweep.web.login import Grant, redeem_tokens
from memsweep.web.screens.care import settings_in_force
from memsweep.web.screens.overview import filters_in_words
from tests.support import store_files
from tests.support.engines import on_every_engine

TOKEN = re.compile(r"msw_[A-Za-z0-9_-]{43}")


@on_every_engine
def test_the_code_screen_knows_folders_languages_and_what_is_gone(memory: Memory, browser, tmp_path: Path) -> None:
    root = tmp_path / "<b>shop"
    root.mkdir()
    for name in ("kept.py", "gone.py"):
        (root / name).write_text("def sell():\n    return 1\n")
    memory.code.index(root)
    (root / "gone.py").unlink()
    memory.code.index(root)
    browser.see("/code")
    assert "<b>shop" not in browser.page.text
    assert "1 stale" in browser.text
    assert "gone.py" in browser.text
    assert "1 file gone" in browser.text
    browser.do("/collect", strategy="stale_code")
    assert "1 of 1 memory" in browser.text


@on_every_engine
def test_the_doctor_examines_backups_are_made_and_space_comes_back(memory: Memory, browser, app: App) -> None:
    memory.remember("Ada owns the ledger.")
    browser.see("/care/doctor")
    assert "Healthy: every invariant holds." in browser.text
    browser.do("/care/backup")
    assert "Backed up workspace 'default' (1 memory" in browser.text
    (file,) = (app.settings.home / "backups").iterdir()
    assert file.name in browser.text
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    file.unlink()
    assert "not there now" in browser.see("/care").text
    browser.do("/care/compact")
    assert "Workspace 'default':" in browser.text
    browser.see("/care")
    assert "Healthy" in browser.do("/care/repair").text


@on_every_engine
def test_a_backup_is_restored_after_a_look_and_what_was_there_is_kept(memory: Memory, browser, app: App) -> None:
    memory.remember("Ada owns the ledger.")
    browser.see("/care")
    browser.do("/care/backup")
    (file,) = map(str, (app.settings.home / "backups").iterdir())
    memory.remember("Grace wrote the compiler.")
    memory.remember("Linus keeps the kernel.")
    browser.see(f"/care/restore?file={quote(file)}")
    assert "Makes way 3 memories are in default now" in browser.text
    assert browser.do("/care/restore", file=file).status_code == 409, "the tick is missing"
    assert app.memory().stats().total_memories == 3, "a look changes nothing"
    for other in ("/etc/passwd", "", f"{file}x"):
        browser.see("/care")
        assert browser.do("/care/restore", file=other, understood="yes").status_code == 404
    browser.see(f"/care/restore?file={quote(file)}")
    browser.do("/care/restore", file=file, understood="yes")
    assert "Restored 1 memory" in browser.text
    assert app.memory().stats().total_memories == 1
    assert Path(file).name in browser.text, "the restored workspace is older than the note of its backup"
    assert [each.id for each in app.workspaces(deleted=True)] == ["default"]


def test_a_damaged_backup_changes_nothing(memory: Memory, browser, app: App) -> None:
    memory.remember("Ada owns the ledger.")
    browser.see("/care")
    browser.do("/care/backup")
    (file,) = (app.settings.home / "backups").iterdir()
    file.write_bytes(file.read_bytes()[:-100] + bytes(100))
    (file.parent / "default-99999999-999999-999999.db").write_text("no backup, and no date")
    browser.see("/care")
    assert browser.do("/care/restore", file=str(file), understood="yes").status_code >= 400
    assert app.memory().stats().total_memories == 1
    assert app.workspaces(deleted=True) == []


def test_the_doctor_finds_damage_and_repairs_it(memory: Memory, browser, app: App) -> None:
    memory.remember("Ada owns the ledger.")
    store_files.damage(app.settings.home, "no vectors")
    browser.see("/care/doctor")
    assert "Found 1 problem." in browser.text
    browser.do("/care/repair")
    assert "Repaired 1 problem" in browser.text


def test_what_cannot_be_read_leads_to_the_doctor(memory: Memory, browser, app: App) -> None:
    memory.remember("Ada owns the ledger.")
    store_files.damage(app.settings.home, "no dates")
    browser.see("/care")
    assert "not sound" in browser.text
    assert "Traceback" not in browser.page.text


def test_a_backup_that_has_no_place_is_refused_in_words(memory: Memory, browser, app: App) -> None:
    memory.remember("Something.")
    (app.settings.home / "backups").write_text("a file in the way")
    browser.see("/care")
    assert browser.do("/care/backup").status_code in (400, 503)
    assert str(app.settings.home / "backups") in browser.text


def test_a_token_is_shown_once_and_revoked(memory: Memory, browser, app: App) -> None:
    memory.remember("Something.")
    browser.see("/care")
    browser.do("/care/tokens", name="laptop", where="here", read_only="yes", days="30")
    secret = TOKEN.search(browser.page.text).group()
    assert browser.page.headers["cache-control"] == "no-store"
    token = app.tokens.admit(secret)
    assert (token.workspaces, token.read_only) == (("default",), True)
    assert "laptop" in browser.see("/care").text
    assert not TOKEN.search(browser.page.text)
    assert browser.do("/care/tokens", name="laptop", where="here").status_code == 409
    browser.see("/care")
    browser.do("/care/tokens/laptop/revoke")
    assert "Revoked laptop" in browser.text
    assert app.tokens.all() == []
    for fields in (
        {"name": "Big Name", "where": "here"},
        {"name": "x"},
        {"name": "x", "where": "here", "days": "soon"},
    ):
        browser.see("/care")
        assert browser.do("/care/tokens", **fields).status_code == 400
    assert app.tokens.all() == []


def test_whoever_comes_with_a_token_sees_the_workspace_and_not_the_home(memory: Memory, app: App, browse) -> None:
    memory.remember("Something.")
    _, secret = app.tokens.create("agent")
    guest = browse(redeem_tokens(app)(secret))
    guest.see("/care")
    assert "On disk" in guest.text
    for hidden in (str(app.settings.home), "Settings in force", "agent", "Back up", "Examine"):
        assert hidden not in guest.text
    assert guest.see("/care/doctor").status_code == 403
    guest.see("/care")
    for path in ("/care/backup", "/care/repair", "/care/tokens", "/care/tokens/agent/revoke"):
        guest.see("/care")
        assert guest.do(path, name="another", where="everywhere").status_code == 403, path
    assert [each.name for each in app.tokens.all()] == ["agent"]
    assert not (app.settings.home / "backups").exists()


def test_a_reader_sees_tokens_and_makes_none(memory: Memory, browse, app: App) -> None:
    memory.remember("Something.")
    app.tokens.create("laptop")
    reader = browse(Grant(read_only=True))
    reader.see("/care")
    assert "laptop" in reader.text
    assert "Revoke" not in reader.text
    assert reader.do("/care/tokens", name="x", where="here").status_code == 403


def test_settings_are_shown_without_what_must_stay_secret(tmp_path: Path) -> None:
    settings = load_settings(
        {
            "MEMSWEEP_HOME": str(tmp_path),
            "MEMSWEEP_STORE": "falkor://ada:hunter2@localhost:6379",
            "MEMSWEEP_SCHEDULE_NOTIFY_URL": "https://hooks.example/services/T00/B11/s3cr3t",
            "MEMSWEEP_EMBEDDING_API_KEY": "sk-hunter3",
        }
    )
    rows = settings_in_force(settings)
    said = " ".join(row.value for row in rows)
    assert not re.search("hunter2|hunter3|s3cr3t|T00", said)
    assert {row.name: row.value for row in rows if row.is_set} == {
        "store": "falkor://***@localhost:6379",
        "schedule.notify_url": "https://hooks.example/…",
    }
    assert not any(row.is_set for row in settings_in_force(Settings()))


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ("", "all languages"),
        (
            '{"include_tests": true, "languages": [], "max_file_size": 1048576, "recursive": true}',
            "all languages, up to",
        ),
        (
            '{"include_tests": false, "languages": ["python", "go"], "recursive": false}',
            "python, go, without tests, not",
        ),
        ("[1]", "[1]"),
        ("{", "{"),
    ],
)
def test_filters_are_told_in_words(filters: str, said: str) -> None:
    assert filters_in_words(filters).startswith(said)
