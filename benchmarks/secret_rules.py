"""False alarms of the rules for secrets, and what the gate costs an add.

python benchmarks/secret_rules.py [--data DIR] [--json FILE]

Texts: the segments of LoCoMo and BEAM (and tau, where it is there), and every file of the standard library of the
running Python. Each finding is printed with its line, the secret masked; those that a person looked at and found to
be secrets by their form are listed in LOOKED_AT and count as right. The cost: the rules alone on each turn of LoCoMo,
and adds of the same turns with `secrets.action` redact and off, in turns in one run.
Not called secrets.py: scripts in this folder would import it in place of the standard library's module.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from common import DEFAULT_DATA, Figure, at_most, conversations_from, percentile, show_figures, table, write_json
from memsweep.app import make_app
from memsweep.secrets.find import find, redacted
from memsweep.settings import load_settings

TARGET_MS = 0.2
ADDS = 300
LOOKED_AT = {("stdlib", "urllib/request.py", "password"), ("stdlib", "test/test_netrc.py", "password")}
"""`passwd='geheim$parole'` in a docstring and `login log password pa#ss` in a test: passwords, if only examples."""


def texts(folder: Path) -> Iterator[tuple[str, str, str]]:
    for name in ("locomo", "beam-100k", "tau"):
        path = folder / f"{name}.jsonl.gz"
        lines = gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []
        for segment in (segment for line in lines for segment in json.loads(line)["segments"]):
            yield name, str(segment["id"]), segment["text"]
    library = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.rglob("*.py")):
        if "site-packages" not in path.parts:
            yield "stdlib", str(path.relative_to(library)), path.read_text("utf-8", "replace")


def main() -> None:
    options = _options()
    counted, findings = alarms(options.data)
    for source, where, kind, line in findings:
        right = "right" if (source, where, kind) in LOOKED_AT else "FALSE"
        print(f"{right}  {source} {where}: {kind}: {line[:120]}")
    rows = [(name, counts["texts"], counts["found"], counts["false"]) for name, counts in counted.items()]
    print(table(("set", "texts", "with a finding", "false alarms"), rows))
    conversations, _ = conversations_from(options.data)
    turns = [turn.text for conversation in conversations for turn in conversation.turns]
    figures = [*_alarm_figures(counted), *rules_alone(turns), *adds(turns[:ADDS])]
    show_figures(figures)
    write_json(options.json, "secret_rules", figures)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder with *.jsonl.gz (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


def alarms(folder: Path) -> tuple[dict[str, Counter[str]], list[tuple[str, str, str, str]]]:
    """How many texts there are and how many have a finding, by set; and each finding with its line."""
    counted: dict[str, Counter[str]] = {}
    findings = []
    for source, where, text in texts(folder):
        counts = counted.setdefault(source, Counter())
        counts["texts"] += 1
        found = find(text)
        counts["found"] += bool(found)
        counts["false"] += any((source, where, secret.kind) not in LOOKED_AT for secret in found)
        for secret in found:
            start, end = text.rfind("\n", 0, secret.start) + 1, text.find("\n", secret.end)
            findings.append((source, where, secret.kind, redacted(text[start : end if end > 0 else None].strip())[0]))
    return counted, findings


def _alarm_figures(counted: dict[str, Counter[str]]) -> Iterator[Figure]:
    total = sum(counted.values(), Counter[str]())
    yield Figure("texts looked at", total["texts"])
    yield at_most("texts with a false alarm, of 10,000", 10_000 * total["false"] / total["texts"], 1, "")


def rules_alone(turns: Sequence[str]) -> Iterator[Figure]:
    """Processor time of the rules on each turn."""
    took = []
    for text in turns:
        start = time.process_time_ns()
        find(text)
        took.append((time.process_time_ns() - start) / 1e6)
    yield at_most("rules, a chat turn, median", statistics.median(took), TARGET_MS, "ms")
    yield at_most("rules, a chat turn, p99", percentile(took, 0.99), TARGET_MS, "ms")


def adds(turns: Sequence[str]) -> Iterator[Figure]:
    """The same turns into two workspaces, one with the gate and one without, one after the other."""
    took: dict[str, list[float]] = {"off": [], "redact": []}
    with tempfile.TemporaryDirectory(prefix="memsweep-secrets-") as home:
        settings = {"MEMSWEEP_HOME": home, "MEMSWEEP_SECRETS_WORKSPACES": "off=off"}
        app = make_app(load_settings(overrides=settings))
        app.warm_up()
        for number, text in enumerate(turns):
            for action in sorted(took, reverse=bool(number % 2)):
                start = time.perf_counter()
                app.memory(action).remember(text)
                took[action].append((time.perf_counter() - start) * 1000)
        app.close()
    medians = {action: statistics.median(values) for action, values in took.items()}
    yield Figure("add without the gate, median", medians["off"], "ms")
    yield Figure("add with the gate, median", medians["redact"], "ms")
    paired = statistics.median(gate - none for none, gate in zip(took["off"], took["redact"], strict=True))
    yield at_most("what the gate adds, median of pairs", paired, TARGET_MS, "ms")


if __name__ == "__main__":
    main()
