"""A process that is forked instead of executed is like any other to who started it."""

import os
import signal
import subprocess

import pytest

from tests.support.commands import environment, run_warm
from tests.support.waiting import wait_for
from tests.support.warm_python import warm_python

ECHO = "import os, sys; print(sys.argv, input(), os.environ['WORD'], os.getcwd()); print('wrong', file=sys.stderr)"


def test_it_has_its_own_arguments_pipes_environment_and_folder(tmp_path):
    ran = run_warm("-c", ECHO, "an argument", stdin=b"a line\n", cwd=tmp_path, WORD="🐘")
    assert (ran.status, ran.err) == (0, "wrong\n")
    assert ran.out == f"['-c', 'an argument'] a line 🐘 {tmp_path}\n"


@pytest.mark.parametrize(
    ("program", "status"),
    [("", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9), ("import os; os.abort()", -6)],
)
def test_it_ends_as_the_other_one_ends(program, status):
    assert run_warm("-c", program).status == status


def test_what_was_to_be_done_at_the_end_is_done():
    assert run_warm("-c", "import atexit; atexit.register(print, 'done')").out == "done\n"


def test_who_kills_it_kills_the_other_one():
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(3600)"
    command = [*warm_python(), "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(None)) as process:
        assert process.stdout is not None
        other = int(process.stdout.readline())
        process.kill()
    assert process.returncode == -signal.SIGKILL
    wait_for(lambda: not _is_there(other), "the other one to end")


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
