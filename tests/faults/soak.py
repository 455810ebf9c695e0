"""Run fault campaigns by seed and add up what they found: `python -m tests.faults.soak --campaign NAME --seeds 0:100`.

A campaign is a module with `run(seed) -> dict`: counts by name, and `violations`, a list of sentences.
One seed reproduces one run. Seeds run in worker processes; each result is a line of the record, so a second
invocation with the same record goes on where the first stopped. Exit status 1 if anything was violated.
"""

import argparse
import importlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SEED_SECONDS = 900.0  # a seed that takes longer than this hangs


@dataclass(frozen=True, slots=True)
class Campaign:
    """Where a campaign is, how many seeds a full soak takes, when a seed hangs, and what else its `run` is given."""

    module: str
    seeds: int
    seconds: float = SEED_SECONDS
    arguments: Mapping[str, str] = field(default_factory=dict)


CAMPAIGNS = {
    "histories": Campaign("tests.faults.histories", 10_000),
    "crowds": Campaign("tests.faults.crowds", 500),
    "all_doors": Campaign("tests.faults.all_doors", 20),
    "falkor_kills": Campaign("tests.faults.falkor_kills", 80),
    "falkor_stalls": Campaign("tests.faults.falkor_stalls", 300),
    "forks": Campaign("tests.faults.forks", 300),
    "falkor_replies": Campaign("tests.faults.falkor_replies", 250),
    "falkor_reads": Campaign("tests.faults.falkor_reads", 2000),
    "kills": Campaign("tests.faults.kills", 260),
    "power_cuts": Campaign("tests.faults.power_cuts", 100),
    "disk_errors": Campaign("tests.faults.disk_errors", 200),
    "bit_flips": Campaign("tests.faults.bit_flips", 100),
    "clock_jumps": Campaign("tests.faults.clock_jumps", 100),
    "many_workspaces": Campaign("tests.faults.many_workspaces", 1),
    "merges": Campaign("tests.faults.merges", 4000),
    "falkor_merges": Campaign("tests.faults.merges", 300, arguments={"engine": "falkor"}),
    "leaks": Campaign("tests.faults.leaks", 1000),
    "redactions": Campaign("tests.faults.redactions", 500),
    "backups": Campaign("tests.faults.backups", 100),
    "overlaps": Campaign("tests.faults.overlaps", 2000),
    "windows": Campaign("tests.faults.windows", 10_000),
    "ghosts": Campaign("tests.faults.ghosts", 10_000),
    "falkor_ghosts": Campaign("tests.faults.ghosts", 200, arguments={"engine": "falkor"}),
    "pairs": Campaign("tests.faults.pairs", 12_000),
    "falkor_pairs": Campaign("tests.faults.pairs", 10_000, arguments={"engine": "falkor"}),
    "audits": Campaign("tests.faults.audits", 2000),
    "falkor_audits": Campaign("tests.faults.audits", 100, arguments={"engine": "falkor"}),
    "long_runs": Campaign("tests.faults.long_runs", 1, 4 * 3600.0),
}


@dataclass(frozen=True, slots=True)
class Result:
    """What one seed of a campaign gave."""

    campaign: str
    seed: int
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)


def find(name: str) -> Campaign:
    """A campaign of the table, or any module by its dotted name."""
    if name not in CAMPAIGNS and "." not in name:
        raise SystemExit(f"there is no campaign {name!r}; there are: {', '.join(CAMPAIGNS)}")
    return CAMPAIGNS.get(name) or Campaign(name, 1)


def runner(name: str) -> Callable[..., dict[str, Any]]:
    """The `run` of a campaign."""
    campaign = find(name)
    return partial(importlib.import_module(campaign.module).run, **campaign.arguments)


def run_seed(name: str, seed: int, *size: int) -> Result:
    """One seed in this process, of its usual size if none is given; an exception is a violation."""
    begun = time.monotonic()
    try:
        said = dict(runner(name)(seed, *size))
    except Exception as error:  # noqa: BLE001  # whatever it is, the record must have it
        import traceback

        traceback.print_exc()
        said = {"violations": [f"the campaign failed: {type(error).__name__}: {error}"[:2000]]}
    violations = [str(each) for each in said.pop("violations", [])]
    return Result(name, seed, round(time.monotonic() - begun, 3), said, violations)


def read_record(path: Path | None) -> dict[tuple[str, int], Result]:
    """What was done before, the last result of each seed; a line that was cut short by a kill is left out."""
    if path is None or not path.exists():
        return {}
    found: dict[tuple[str, int], Result] = {}
    for line in path.read_text("utf-8").splitlines():
        try:
            result = Result(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[result.campaign, result.seed] = result
    return found


def append(path: Path, result: Result) -> None:
    """One more line; after one that was cut short it begins a new one."""
    with path.open("ab+") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + json.dumps(asdict(result), ensure_ascii=False).encode() + b"\n")


class Worker:
    """A process that runs seeds of one campaign, one at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = self._start()

    def run(self, seed: int) -> Result:
        begun = time.monotonic()
        patience = find(self._name).seconds
        watchdog = threading.Timer(patience, self._process.kill)
        watchdog.start()
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(f"{seed}\n".encode())
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watchdog.cancel()
        if line:
            return Result(**json.loads(line))
        status = self._process.wait()
        self.close()
        self._process = self._start()
        said = f"the worker ended with status {status} (or was ended after {patience:.0f} s)"
        return Result(self._name, seed, round(time.monotonic() - begun, 3), {}, [said])

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.faults.soak", "--worker", self._name]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMSWEEP_", "OPENAI_"))}
        modules = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        env = {**kept, "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0", "PYTHONPATH": modules}
        # Outside of any project, as the tests are: in a work tree, the workspace would be that of the project.
        outside = tempfile.gettempdir()
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=outside, env=env)


def be_worker(name: str) -> None:
    """Answer each seed on standard input with a line of JSON; what a campaign prints goes to standard error.

    A second number in a line is how much the seed is to do.
    """
    with os.fdopen(os.dup(1), "wb", 0) as answers:
        os.dup2(2, 1)
        for line in sys.stdin:
            answers.write(json.dumps(asdict(run_seed(name, *map(int, line.split())))).encode() + b"\n")


def run_all(name: str, seeds: Iterable[int], jobs: int, deadline: float) -> Iterator[Result]:
    """The results of seeds, as they come."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)

    def work() -> None:
        worker = Worker(name)
        try:
            while time.monotonic() < deadline:
                done.put(worker.run(waiting.get_nowait()))
        except queue.Empty:
            pass
        finally:
            worker.close()
            done.put(None)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for _ in threads:
        while (result := done.get()) is not None:
            yield result


def totals(results: Iterable[Result]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for result in results:
        counted.update(result.counts)
    return counted


def table(results: Iterable[Result]) -> list[str]:
    """Rows of Markdown, one a campaign: what docs/reliability.md shows."""
    by_name: dict[str, list[Result]] = {}
    for result in results:
        by_name.setdefault(result.campaign, []).append(result)
    rows = ["| campaign | seeds | counts | violations | minutes of work |", "|---|---|---|---|---|"]
    for name, found in sorted(by_name.items()):
        counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in totals(found).items())
        violations = sum(len(each.violations) for each in found)
        minutes = sum(each.seconds for each in found) / 60
        rows.append(f"| `{name}` | {_ranges(each.seed for each in found)} | {counts} | {violations} | {minutes:.1f} |")
    return rows


def _ranges(seeds: Iterable[int]) -> str:
    """Seeds as they are given on the command line: the end is not among them."""
    runs: list[list[int]] = []
    for seed in sorted(seeds):
        if runs and runs[-1][1] == seed:
            runs[-1][1] = seed + 1
        else:
            runs.append([seed, seed + 1])
    return ", ".join(f"{first}:{end}" for first, end in runs)


def _seeds(text: str, count: int) -> range:
    if not text:
        return range(count)
    first, end = text.split(":")
    return range(int(first), int(end))


def _soak(name: str, options: argparse.Namespace, deadline: float) -> list[Result]:
    """One campaign: what was in the record already, and what is done now."""
    wanted = _seeds(options.seeds, find(name).seeds)
    known = read_record(options.record)
    before = [known[name, seed] for seed in wanted if (name, seed) in known]
    kept = [each for each in before if not (options.again and each.violations)]
    left = sorted(set(wanted) - {each.seed for each in kept})
    print(f"{name}: {len(kept):,} seeds done before, {len(left):,} to do", flush=True)
    _complain(kept)
    begun, fresh = time.monotonic(), []
    for result in run_all(name, left, options.jobs, deadline):
        fresh.append(result)
        if options.record is not None:
            append(options.record, result)
        _complain([result])
    counts = ", ".join(f"{count:,} {what}" for what, count in totals(fresh).items())
    print(f"{name}: {len(fresh):,} seeds in {time.monotonic() - begun:.1f} s: {counts or 'nothing'}", flush=True)
    return kept + fresh


def _complain(results: Iterable[Result]) -> None:
    for result in results:
        for violation in result.violations:
            print(f"{result.campaign} seed {result.seed}: {violation}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaign", action="append", help=f"{', '.join(CAMPAIGNS)}; all of them without it")
    parser.add_argument("--seeds", default="", metavar="FROM:TO", help="TO is not among them; else as many as planned")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--record", type=Path, help="lines of JSON, one a seed; what is in it is not done again")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no seed after so long")
    parser.add_argument("--again", action="store_true", help="do seeds with violations again")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print a record as rows of Markdown")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        be_worker(options.worker)
        return 0
    if options.table:
        print("\n".join(table(read_record(options.table).values())))
        return 0
    deadline = time.monotonic() + 60 * options.minutes
    results = [each for name in options.campaign or CAMPAIGNS for each in _soak(name, options, deadline)]
    wrong = [each for each in results if each.violations]
    print("\n".join(table(results)))
    print(f"{len(results):,} seeds, {len(wrong):,} of them with violations")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
