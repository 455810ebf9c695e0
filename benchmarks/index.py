"""The code index: a first run against only parsing the same files, a run without a change, one with one, and memory.

python benchmarks/index.py [--tree DIR] [--json FILE]

Every measurement is made in a process of its own, on copies of the tree. `parsing` walks, reads and parses in one
process and does nothing else; `indexing` is the product, embedding included, with all its processes. Both are
repeated in turns, and the fastest of each counts: the other work of the machine only ever adds. Peak memory is
compared between the tree and the same tree four times over.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from common import Figure, at_least, at_most, show_figures, write_json
from memsweep.code.exclude import MACHINE_MADE_FOLDERS
from memsweep.code.request import DEFAULT_MAX_FILE_SIZE

REPEAT = 3
COPIES = 4
ROUNDS = 9
WALL_TIMES, CPU_TIMES, FASTER, CHANGE_MS = 5.0, 7.0, 100.0, 50.0
BATCH_BYTES = 2_000_000  # the text that a run writes at once
FEW = 4
MEGA = 1_000_000


def default_tree() -> Path:
    """A large package that is installed wherever memsweep is."""
    spec = find_spec("numpy")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, default=default_tree(), metavar="DIR", help="what to index (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--stage", nargs=2, metavar=("NAME", "DIR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        name, tree = options.stage
        print(json.dumps(STAGES[name](Path(tree))))
        return
    with tempfile.TemporaryDirectory(prefix="memsweep-index-") as folder:
        figures = measured(options.tree.resolve(), Path(folder))
    show_figures(figures)
    write_json(options.json, "index", figures, tree=str(options.tree))


def measured(tree: Path, folder: Path) -> list[Figure]:
    once, often = folder / "once", folder / "often"
    copy(tree, once)
    for number in range(COPIES):
        copy(tree, often / f"copy{number}")
    parsing, indexing = [], []
    for _ in range(REPEAT):
        parsing.append(stage("parsing", once))
        indexing.append(stage("indexing", once))
    large = stage("indexing", often)
    files, seconds = int(indexing[0]["files"]), min(each["wall"] for each in indexing)
    print(
        f"{tree}: {files:,} files, {parsing[0]['bytes'] / MEGA:.1f} MB; {COPIES} times: {int(large['files']):,} files"
    )
    return [
        *first_run(parsing, indexing),
        *later_runs("", indexing, seconds),
        *later_runs(f", {COPIES} copies", [large], large["wall"]),
        *memory(parsing[0]["largest"], min(each["peak"] for each in indexing), large["peak"]),
        Figure("a parser's peak memory", indexing[0]["worker_peak"] / MEGA, "MB"),
    ]


def first_run(parsing: list[dict[str, float]], indexing: list[dict[str, float]]) -> list[Figure]:
    wall, cpu = (min(each[name] for each in parsing) for name in ("wall", "cpu"))
    index_wall, index_cpu = (min(each[name] for each in indexing) for name in ("wall", "cpu"))
    return [
        Figure("only walking, reading and parsing", wall, "s"),
        Figure("  its CPU time", cpu, "s"),
        at_most("first index", index_wall, WALL_TIMES * wall, "s", f" ({WALL_TIMES:g} times)"),
        at_most("  its CPU time, with children", index_cpu, CPU_TIMES * cpu, "s", f" ({CPU_TIMES:g} times)"),
        Figure("  pieces embedded", indexing[0]["embedded"]),
        at_most("  wall time as a multiple of parsing", index_wall / wall, WALL_TIMES, "times"),
        at_most("  CPU time as a multiple of parsing", index_cpu / cpu, CPU_TIMES, "times"),
    ]


def later_runs(which: str, runs: list[dict[str, float]], first: float) -> list[Figure]:
    same, changed = (min(run[name] for run in runs) for name in ("same_ms", "changed_ms"))
    return [
        Figure(f"second run without a change{which}", same, "ms"),
        at_least("  faster than the first", first * 1000 / same, FASTER, "times"),
        at_most(f"one changed file{which}", changed, same + CHANGE_MS, "ms", f" (no change + {CHANGE_MS:g} ms)"),
    ]


def memory(largest: float, once: float, often: float) -> list[Figure]:
    limit = FEW * (largest + BATCH_BYTES) / MEGA
    return [
        Figure("largest file", largest / MEGA, "MB"),
        Figure("peak memory", once / MEGA, "MB"),
        Figure(f"peak memory, {COPIES} copies", often / MEGA, "MB"),
        at_most("  growth", (often - once) / MEGA, limit, "MB", f" ({FEW} times the largest file and the batch)"),
    ]


def copy(tree: Path, target: Path) -> None:
    ignored = shutil.ignore_patterns(*MACHINE_MADE_FOLDERS)
    shutil.copytree(tree, target, symlinks=True, ignore=ignored)


def stage(name: str, tree: Path) -> dict[str, float]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, "--stage", name, str(tree)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def parse_only(tree: Path) -> dict[str, float]:
    from memsweep.code.fingerprint import FileContent, read_file
    from memsweep.code.index import decode
    from memsweep.code.languages import detect
    from memsweep.code.parse import parse
    from memsweep.code.request import make_scope
    from memsweep.code.walk import walk

    sizes = []
    began, cpu = time.perf_counter(), cpu_seconds()
    scope = make_scope(str(tree))
    for path, present in walk(scope).present.items():
        if present.stamp.size > DEFAULT_MAX_FILE_SIZE:
            continue
        content = read_file(scope.root, path)
        decoded = decode(content.data) if isinstance(content, FileContent) else None
        if decoded is not None and decoded.text.strip():
            sizes.append(present.stamp.size)
            parse(decoded.text, detect(path, decoded.text[:256]))
    spent = {"wall": time.perf_counter() - began, "cpu": cpu_seconds() - cpu}
    return {**spent, "bytes": sum(sizes), "largest": max(sizes)}


def index(tree: Path) -> dict[str, float]:
    from memsweep import open_memory

    with tempfile.TemporaryDirectory(prefix="memsweep-home-") as home:
        began, cpu = time.perf_counter(), cpu_seconds()
        with open_memory(home=home) as memory:
            result = memory.code.index(tree)
            wall = time.perf_counter() - began
        # A child's share is known when it has ended, as it has now.
        answer = {"wall": wall, "cpu": cpu_seconds() - cpu, "peak": peak(resource.RUSAGE_SELF)}
        answer |= {"worker_peak": peak(resource.RUSAGE_CHILDREN)}
        with open_memory(home=home) as memory:
            answer |= later(tree, lambda: memory.code.index(tree))
    return {**answer, "files": result.files_indexed, "embedded": result.chunks_embedded}


def later(tree: Path, run: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds of a run without a change, and of one where a file has one more function: in turns, the fastest."""
    edited = sorted(tree.rglob("*.py"), key=lambda path: path.stat().st_size)
    chosen = edited[len(edited) // 2 :][:ROUNDS]  # of the usual size
    edit(chosen[0])
    run()  # warms the embedder and the parser
    same, changed = [], []
    for path in chosen:
        same.append(milliseconds(run))
        edit(path)
        changed.append(milliseconds(run))
    return {"same_ms": min(same), "changed_ms": min(changed)}


def edit(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n\ndef added_{time.time_ns()}(value):\n    return value + 1\n")


def milliseconds(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    return sum(used.ru_utime + used.ru_stime for used in usages())


def usages() -> Iterator[resource.struct_rusage]:
    yield resource.getrusage(resource.RUSAGE_SELF)
    yield resource.getrusage(resource.RUSAGE_CHILDREN)


def peak(who: int) -> float:
    """Bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit


STAGES = {"parsing": parse_only, "indexing": index}

if __name__ == "__main__":
    os.environ.pop("MEMSWEEP_HOME", None)
    main()
