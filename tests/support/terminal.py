"""A command with a terminal for everything."""

import os
import pty
import select
import subprocess
from pathlib import Path

from tests.support.commands import MEMSWEEP, environment
from tests.support.waiting import PATIENCE


def on_a_terminal(home: Path, *arguments: str, answer: str | None = None) -> tuple[int, str]:
    """Run a command and answer its question, if there is to be one; its status and what the terminal got."""
    ours, theirs = pty.openpty()
    env = environment(home, TERM="xterm")
    process = subprocess.Popen([*MEMSWEEP, *arguments], env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written, answered = b"", answer is None
    while True:
        ready, _, _ = select.select([ours], [], [], PATIENCE)
        assert ready, f"no word for a long time after: {written!r}"
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        written += part
        if not answered and b"[y/N]" in written:
            os.write(ours, f"{answer}\n".encode())
            answered = True
    os.close(ours)
    assert answered, written
    return process.wait(PATIENCE), written.decode(errors="replace").replace("\r\n", "\n")
