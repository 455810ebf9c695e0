"""A grammar that hangs or crashes costs one file, and nothing else."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memsweep.code.parse import parse
from memsweep.code.sandbox import Sandbox
from tests.code.samples import SAMPLES
from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]

# A worker whose grammar does what the text says. The two loops never let go of the interpreter.
BAD_GRAMMAR = """
import ctypes, os, re, sys
from memsweep.code import worker
from memsweep.code.parse import parse
def bad(text, language):
    if "HANG" in text: re.match("(a+)+$", "a" * 60 + "b")
    if "CRASH" in text: ctypes.string_at(0)
    if "BUG" in text: raise KeyError(text)
    if "MISSING" in text: raise ImportError("no module named tree_sitter_x")
    if "PRINT" in text: print("noise"); os.write(1, b"noise"); sys.stderr.write("noise")
    if "READ" in text: assert sys.stdin.read() == ""
    if "ONCE" in text and not os.path.exists(text.split()[1]): open(text.split()[1], "w").close(); os.abort()
    return parse(text, language)
worker.main(bad)
""".strip()
BAD_WORKER = f"exec({BAD_GRAMMAR!r})"
GOOD = "def f(): pass\n"


@pytest.fixture
def sandbox():
    with Sandbox() as made:
        yield made


def bad_sandbox(**options) -> Sandbox:
    return Sandbox(program=BAD_WORKER, **options)


def workers_of(sandbox: Sandbox) -> list[int]:
    return [worker.process.pid for worker in sandbox._idle]


@pytest.mark.parametrize("language", [*sorted(SAMPLES), "markdown", "text"])
def test_a_worker_answers_as_parsing_here_would(sandbox, language):
    text = SAMPLES[language].text if language in SAMPLES else "# Größe\n\n日本\n"
    assert sandbox.parse(text, language) == parse(text, language)


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("# CRASH\n", "the parser crashed (status -11)"),
        ("# BUG\n", "the parser crashed (status 70)"),
        ("# MISSING\n", "ImportError: no module named tree_sitter_x"),
    ],
)
def test_a_crash_costs_one_file(text, failure):
    with bad_sandbox() as sandbox:
        failed = sandbox.parse(GOOD + text, "python")
        assert (failed.language, failed.symbols, failed.failure) == ("python", (), failure)
        assert sandbox.parse(GOOD, "python") == parse(GOOD, "python")


@pytest.mark.slow
def test_a_hang_costs_one_file():
    with bad_sandbox(seconds_per_file=0.5) as sandbox:
        assert sandbox.parse("# HANG\n", "python").failure == "parsing took longer than 0.5 seconds"
        assert sandbox.parse(GOOD, "python") == parse(GOOD, "python")


def test_a_worker_that_was_killed_from_outside_is_replaced():
    with Sandbox() as sandbox:
        sandbox.parse(GOOD, "python")
        (pid,) = workers_of(sandbox)
        os.kill(pid, 9)
        wait_for(lambda: sandbox._idle[0].process.poll() is not None, "the worker to die")
        assert sandbox.parse(GOOD, "python") == parse(GOOD, "python")
        assert workers_of(sandbox) != [pid]


def test_a_crash_that_does_not_come_again_costs_nothing(tmp_path):
    with bad_sandbox() as sandbox:
        text = f"'''ONCE {tmp_path}/crashed '''\n"
        assert sandbox.parse(text, "python").failure == ""
        assert (tmp_path / "crashed").exists()


def test_a_worker_that_cannot_start_is_said_so():
    with Sandbox(program="raise SystemExit(3)") as sandbox:
        assert sandbox.parse(GOOD, "python").failure == "the parser process did not start"


@pytest.mark.slow
def test_many_files_come_back_in_their_order_around_the_bad_ones():
    jobs = [
        (number, f"def f{number}(): pass  # {'CRASH' if number % 7 == 3 else ''}\n", "python") for number in range(30)
    ]
    with bad_sandbox(workers=2) as sandbox:
        results = list(sandbox.parse_many(iter(jobs)))
        assert len(workers_of(sandbox)) <= 2
    assert [key for key, _ in results] == list(range(30))
    for key, parsed in results:
        assert bool(parsed.failure) == (key % 7 == 3)
        assert [each.name for each in parsed.symbols] == ([] if parsed.failure else [f"f{key}"])


def test_files_are_taken_only_a_few_ahead():
    taken = []

    def jobs():
        for number in range(100):
            taken.append(number)
            yield number, GOOD, "python"

    with Sandbox() as sandbox:
        results = sandbox.parse_many(jobs())
        next(results)
        assert len(taken) <= 4
        results.close()


def test_nothing_starts_before_it_is_needed():
    with Sandbox() as sandbox:
        sandbox.parse("# a\n", "markdown")
        assert workers_of(sandbox) == []
        sandbox.parse(GOOD, "python")
        assert len(workers_of(sandbox)) == 1


@pytest.mark.slow
def test_closing_lets_the_workers_go():
    sandbox = Sandbox()
    sandbox.parse(GOOD, "python")
    (worker,) = sandbox._idle
    sandbox.close()
    assert worker.process.returncode == 0
    assert sandbox.parse(GOOD, "python").failure == ""
    sandbox.close()


def test_several_threads_share_a_sandbox(sandbox):
    texts = [f"def f{number}(): pass\n" * 50 for number in range(8)]
    results: dict[int, object] = {}
    threads = [
        threading.Thread(target=lambda at=at, text=text: results.update({at: sandbox.parse(text, "python")}))
        for at, text in enumerate(texts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {at: parse(text, "python") for at, text in enumerate(texts)}


SERVER = """
import asyncio, json, sys
from memsweep.code.sandbox import Sandbox
async def main():
    with Sandbox(program=sys.argv[1]) as sandbox:
        texts = ("# PRINT\\n", "# READ\\n", "# CRASH\\n")
        parsed = [await asyncio.to_thread(sandbox.parse, text, "python") for text in texts]
    print(json.dumps({"failures": [each.failure for each in parsed], "read": sys.stdin.readline()}))
asyncio.run(main())
"""


@pytest.mark.slow
def test_the_pipes_of_a_server_are_out_of_a_workers_reach():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    command = [sys.executable, "-c", SERVER, BAD_WORKER]
    done = subprocess.run(command, input=b"for the server\n", env=environment, capture_output=True, check=True)
    assert done.stderr == b""
    answer = json.loads(done.stdout)
    assert answer == {"failures": ["", "", "the parser crashed (status -11)"], "read": "for the server\n"}


PARENT = """
import sys, threading
from memsweep.code.sandbox import Sandbox
sandbox = Sandbox(program=sys.argv[1], seconds_per_file=3600)
# In a thread that ends: a worker belongs to the process.
first = threading.Thread(target=sandbox.parse, args=("def f(): pass", "python"))
first.start()
first.join()
print(sandbox._idle[0].process.pid, flush=True)
sandbox.parse(sys.argv[2], "python")
sys.stdin.read()
"""
BUSY = """
import re
from memsweep.code import worker
def busy(text, language):
    if "LOOP" in text:
        open(text.split()[1], "w").close()
        while True: pass
    if "HOLD" in text:
        open(text.split()[1], "w").close()
        re.match("(a+)+$", "a" * 60 + "b")
    return worker.Parsed(language)
worker.main(busy)
""".strip()


@pytest.mark.parametrize("work", ["nothing", "LOOP", "HOLD"])
def test_a_worker_leaves_when_its_parent_is_killed(tmp_path: Path, work: str) -> None:
    """Idle, or in a parse that never ends and perhaps never lets go of the interpreter."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path])}
    began = tmp_path / "began"
    command = [sys.executable, "-c", PARENT, f"exec({BUSY!r})", f"{work} {began}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert _is_alive(worker)
        if work != "nothing":
            wait_for(began.exists, "the parse to begin")
        parent.kill()
    try:
        wait_for(lambda: not _is_alive(worker), "the worker to leave", patience=20)
    finally:
        if _is_alive(worker):
            os.kill(worker, 9)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except ProcessLookupError:
        return False
