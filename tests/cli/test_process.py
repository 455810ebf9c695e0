"""The command line as a process: pipes, standard input, signals, terminals."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.model.text import MAX_TEXT_BYTES
from tests.support import commands
from tests.support.commands import MEMSWEEP, environment
from tests.support.terminal import on_a_terminal
from tests.support.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.slow
memsweep = partial(commands.memsweep, executed=True)


def test_standard_input_is_remembered_byte_for_byte(home: Path, app: App) -> None:
    text = "first line\r\n\tsecond – 漢字 🎉\n"
    ran = memsweep("remember", "-", "--json", home=home, stdin=text.encode(), PYTHONIOENCODING="latin-1")
    assert app.memory().get(ran.json["memory_id"]).text == text


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"", "text is empty"),
        (b"\xff\xfe", "standard input is not text in UTF-8"),
        (b"a\0b", "NUL"),
        ("é".encode() * (MAX_TEXT_BYTES // 2 + 1), "more than 10,485,760 bytes"),
        (b"x" * (MAX_TEXT_BYTES + 5), "more than 10,485,760 bytes"),
    ],
    ids=["empty", "not utf-8", "nul", "too long in two bytes", "too long"],
)
def test_standard_input_that_cannot_be_kept_is_refused(home: Path, stdin: bytes, said: str) -> None:
    ran = memsweep("remember", "-", home=home, stdin=stdin)
    assert ran.status == 2
    assert said in ran.err
    assert not home.exists()


def test_a_pipe_that_closes_early_is_no_error(home: Path, app: App) -> None:
    added = app.memory().remember("a long line of text\n" * 20_000)
    app.close()
    command = f"{' '.join(MEMSWEEP)} get {added.memory_id} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=environment(home), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "1")


@pytest.mark.parametrize("command", [["search", "short"], ["where"], ["where", "--json"]])
def test_a_reader_that_is_gone_already_is_no_error(home: Path, app: App, command: list[str]) -> None:
    app.memory().remember("short")
    app.close()
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as out:
        done = subprocess.run(
            [*MEMSWEEP, *command], env=environment(home), stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr == b""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("command", [["list"], ["where"], ["--version"], ["search", "short", "--json"]])
def test_output_that_the_disk_refuses_is_said_in_a_sentence(home: Path, app: App, command: list[str]) -> None:
    app.memory().remember("short")
    app.close()
    with open("/dev/full", "wb") as out:
        done = subprocess.run(
            [*MEMSWEEP, *command], env=environment(home), stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert done.stderr.startswith(b"Error: the output cannot be written (No space left on device).")
    assert (done.returncode, done.stderr.count(b"\n")) == (5, 1)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_letters_that_the_terminal_does_not_know_are_no_error(home: Path, encoding: str) -> None:
    text = "naïve 漢字 🎉"
    ran = memsweep("remember", "-", "--json", home=home, stdin=text.encode(), PYTHONIOENCODING=encoding)
    shown = memsweep("get", ran.json["memory_id"], home=home, PYTHONIOENCODING=encoding)
    assert shown.status == 0
    assert memsweep("search", "naïve", home=home, PYTHONIOENCODING=encoding).status == 0
    assert memsweep("get", ran.json["memory_id"], "--json", home=home, PYTHONIOENCODING=encoding).json["text"] == text


def test_arguments_that_are_no_text_are_refused_without_a_traceback(home: Path) -> None:
    for arguments in ([b"remember", b"\xff"], [b"get", b"\xff"], [b"stats", b"-w", b"\xff"]):
        done = subprocess.run(
            [*map(os.fsencode, MEMSWEEP), *arguments], env=environment(home), capture_output=True, check=False
        )
        assert done.returncode in (2, 3)
        assert b"Traceback" not in done.stderr


def test_a_home_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    home = os.fsdecode(os.fsencode(tmp_path) + b"/h\xff\xe9")
    for command in (["remember", "x"], ["stats"], ["config", "show"], ["workspace", "list"]):
        ran = memsweep(*command, home=home)
        assert ran.status == 2
        assert "the path of home" in ran.err
    assert memsweep("config", "path", home=home).status == 0
    assert list(tmp_path.iterdir()) == []


def test_a_home_may_have_any_name_that_is_text(tmp_path: Path) -> None:
    home = tmp_path / "h ö 漢 🎉 [red] %s ?mode=ro # ' \" \n"
    assert memsweep("remember", "x", home=home).status == 0
    assert memsweep("stats", "--json", home=home).json["total_memories"] == 1
    assert list(tmp_path.iterdir()) == [home]


def test_control_c_while_it_reads_ends_it_quietly(home: Path) -> None:
    process = subprocess.Popen(
        [*MEMSWEEP, "remember", "-"],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"begun")
    process.stdin.flush()
    wait_for(lambda: _is_reading(process.pid), "the process to read")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert not home.exists()


def _is_reading(pid: int) -> bool:
    """Whether it sleeps on its standard input."""
    try:
        where = Path(f"/proc/{pid}/wchan").read_text()
        calls = Path(f"/proc/{pid}/syscall").read_text().split()
    except OSError:
        pytest.skip("this machine does not say what a process waits for")
    return "pipe" in where or calls[:2] == ["0", "0x0"]


def test_reembed_shows_on_a_terminal_how_far_it_is(home: Path, app: App) -> None:
    for number in range(70):  # more than are embedded by the switch itself
        app.memory().remember(f"note number {number}")
    app.close()
    status, seen = on_a_terminal(home, "reembed")
    assert status == 0
    assert "0/70" in seen
    assert "70/70" in seen
    assert seen.rstrip().endswith("Embedded 70 chunks with wordllama-l2-supercat-256.")
    assert memsweep("reembed", home=home).err == ""  # no terminal, no bar


ATTACK = "before \x1b]0;owned\x07\x1b[2J\x9b31m after"


def test_a_memory_cannot_command_the_terminal(home: Path, app: App) -> None:
    added = app.memory().remember(ATTACK, source=ATTACK)
    app.create_workspace("alpha", ATTACK)
    app.close()
    for command in (["get", added.memory_id], ["search", "before after"], ["workspace", "list"]):
        status, shown = on_a_terminal(home, *command)
        assert status == 0
        assert "owned" in shown
        assert "\x1b]0" not in shown
        assert "\x1b[2J" not in shown
        assert "\x07" not in shown
        assert "\x9b" not in shown


def test_deleting_on_a_terminal_asks_first(home: Path, app: App) -> None:
    app.memory("alpha").remember("x")
    status, shown = on_a_terminal(home, "workspace", "delete", "alpha", answer="n")
    assert "with 1 memory to the trash?" in shown
    assert status == 4
    assert len(app.workspaces()) == 1
    status, shown = on_a_terminal(home, "workspace", "delete", "alpha", answer="y")
    assert status == 0
    assert app.workspaces() == []


def test_on_a_terminal_the_table_fits_and_colours(home: Path, app: App) -> None:
    app.memory().remember("the garden [red]needs[/red] water")
    status, shown = on_a_terminal(home, "search", "garden")
    assert status == 0
    assert "\x1b[" in shown
    assert "[red]" in shown
