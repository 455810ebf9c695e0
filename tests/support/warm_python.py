"""Python processes that have imported everything already: `python -m tests.support.warm_python SOCKET`.

A server works for a second until it has imported what it needs, and so does whatever else uses all of memsweep. This
process has, and forks others. Who wants one executes `hand_over.py` with the socket and then `-m MODULE …` or `-c
PROGRAM …`: a process with pipes like any other. It hands them over, ends as the forked one ends, and whoever kills it
kills the forked one. Tests of how a process starts, and of other signals, execute Python itself.
"""

import atexit
import contextlib
import marshal
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from functools import cache
from pathlib import Path

from tests.support import hand_over
from tests.support.environment import ROOT, environment
from tests.support.waiting import PATIENCE
from tests.support.warm import take_place, warm_up


@cache
def warm_python() -> list[str]:
    """What to execute instead of `python`; the process behind it ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="memsweep-warm-"))
    command = [sys.executable, "-m", "tests.support.warm_python", str(folder / "socket")]
    env = environment(None, TOKENIZERS_PARALLELISM="false", PYTHONHASHSEED="0")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        process.communicate(timeout=PATIENCE)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return [sys.executable, "-I", "-S", hand_over.__file__, str(folder / "socket")]


def main(place: str) -> None:
    """Fork until standard input ends."""
    warm_up()
    ended, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    lines: dict[int, socket.socket] = {}  # to whom each child belongs
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        print("ready", flush=True)
        while True:
            ready = select.select([sys.stdin, listening, ended, *lines.values()], [], [])[0]
            if sys.stdin in ready:
                return
            for child, line in lines.items():
                if line in ready:  # nobody is there any more who could wait for it
                    os.kill(child, signal.SIGKILL)
            if ended in ready:
                os.read(ended, 1 << 16)
            _tell_who_ended(lines)
            if listening in ready:
                _fork(listening, lines)


def _tell_who_ended(lines: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            with lines.pop(child) as line, contextlib.suppress(OSError):
                line.sendall(os.waitstatus_to_exitcode(status).to_bytes(hand_over.STATUS_BYTES, "big", signed=True))


def _fork(listening: socket.socket, lines: dict[int, socket.socket]) -> None:
    line, _ = listening.accept()
    length, pipes, _, _ = socket.recv_fds(line, 4, 3)
    order = line.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL) if length else b""
    if not order:  # it was killed before it could say anything
        line.close()
        return
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for open_one in (listening, line, *lines.values()):
            open_one.close()
        what = marshal.loads(order)
        take_place((pipes[0], pipes[1], pipes[2]), what["env"], what["folder"])
        _end(_status_of(*what["arguments"]))
    for descriptor in pipes:
        os.close(descriptor)
    lines[child] = line


def _status_of(option: str, what: str, *arguments: str) -> int:
    """Run a module or a program as `__main__`, as Python would."""
    sys.argv = [option if option == "-c" else what, *arguments]
    try:
        if option == "-c":
            exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(what, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  # the last stop of this process
        traceback.print_exc()
        return 1
    return 0


def _end(status: int) -> None:
    """As Python ends, but for taking apart every module there is, which takes longer than most programs."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
