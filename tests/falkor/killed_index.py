"""Children that die at a command of an index run on FalkorDB: `python -m tests.falkor.killed_index PORT FOLDER COUNT`.

What the next run makes of it is compared with a run that nobody killed. Prints one line of JSON like `dying`.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

from memsweep.app import App, make_app
from memsweep.code import index
from memsweep.settings import load_settings
from memsweep.store.falkor import reading
from memsweep.store.falkor.engine import FalkorEngine
from tests.falkor.killed_at_each_command import Bench

Files = dict[str, tuple[int, tuple[str, ...]]]


def write_first(root: Path) -> None:
    root.mkdir()
    for number in range(6):
        (root / f"m{number}.py").write_text(
            f"def f{number}():\n    return f{number + 1}()\n\n\ndef g{number}():\n    pass\n"
        )


def write_second(root: Path) -> None:
    """Edited, gone, moved, new."""
    (root / "m0.py").write_text("def f0():\n    return 1\n")
    (root / "m1.py").unlink()
    (root / "m2.py").rename(root / "moved.py")
    (root / "new.py").write_text("def new():\n    return f5()\n")


def files_of(engine: FalkorEngine) -> tuple[Files, int]:
    """Each file with its staleness and its pieces, and how many runs have come to their end."""
    rows = reading.dump(engine.open("default")._graph)
    path = {row["memory"]: row["path"] for row in rows["code_file"]}
    pieces: dict[int, list[str]] = {}
    for row in sorted(rows["chunk"], key=lambda row: (row["memory"], row["position"])):
        pieces.setdefault(row["memory"], []).append(row["text"])
    known = {path[row["id"]]: (row["stale"], tuple(pieces.get(row["id"], ()))) for row in rows["memory"]}
    return known, sum(row["runs"] for row in rows["code_scope"])


def main(port: int, folder: Path, times: int, seed: int = 7) -> dict[str, Any]:
    url, root = f"falkor://127.0.0.1:{port}/index", folder / "root"
    index._BATCH_CHUNKS = 2
    settings = load_settings({"MEMSWEEP_HOME": str(folder / "home"), "MEMSWEEP_STORE": url})
    ready = make_app(settings)
    ready.local_model.embed(["warm"])
    write_first(root)
    ready.memory().code.index(root)
    ready.close()
    write_second(root)

    def run() -> None:
        app = App(settings)
        app.__dict__["local_model"] = ready.local_model
        app.memory().code.index(root)

    engine = FalkorEngine(url)
    bench = Bench(engine, port)
    before, runs = files_of(engine)
    commands = len(bench.attempt(run, 0, False))
    after, _ = files_of(engine)
    problems: list[str] = [] if after != before else ["what was acknowledged is not there"]
    ended = 0
    every = [(at, sent) for at in range(1, commands + 1) for sent in (False, True)]
    for at, sent in sorted(random.Random(seed).sample(every, min(times, len(every)))):
        where = f"killed {'after' if sent else 'before'} command {at} of {commands}"
        bench.put_back()
        if bench.attempt(run, at, sent):
            problems.append(f"{where}: lived")
        left, now = files_of(engine)
        ended += now > runs
        for name, (stale, pieces) in left.items():
            forms = [each[name] for each in (before, after) if name in each]
            if pieces not in [known for _, known in forms]:
                problems.append(f"{where}: {name} is in neither of its forms")
            if now == runs and name in before and stale != before[name][0]:
                problems.append(f"{where}: the staleness of {name} has changed")
        problems += [f"{where}: {found}" for found in bench.findings()]
        bench.attempt(run, 0, False)
        if files_of(engine)[0] != after:
            problems.append(f"{where}: the next run does not mend it")
    bench.close()
    return {"points": min(times, len(every)), "commands": commands, "problems": problems, "ended": ended}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))))
