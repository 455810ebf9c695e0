"""The figures that docs/forgetting.md shows: taken from a retention report, tied to the policy they were measured on.

python benchmarks/record.py docs/forgetting.json    prints the tables of the page
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parents[1] / "src" / "memsweep"
POLICY = (
    *(f"context/{name}.py" for name in ("beside", "engine", "heap", "plan", "reading")),
    *(f"context/{name}.py" for name in ("recalling", "references", "roots", "stash", "step")),
    *(f"context/{name}.py" for name in ("steps", "supersede", "weights")),
    *("model/segment.py", "model/tokens.py"),
)
"""The files that decide what stays and what comes back."""


def policy_digest() -> str:
    """Changes with the policy's code, not with its comments and docstrings."""
    digest = hashlib.sha256()
    for name in POLICY:
        digest.update(f"{name} {_code_of((SOURCES / name).read_text('utf-8'))}".encode())
    return digest.hexdigest()[:16]


def _code_of(text: str) -> str:
    """The lines of a module without comments, docstrings and blank lines; the same for every version of Python."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or node.lineno) - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def record_of(reports: dict[str, Any]) -> dict[str, Any]:
    """What the page needs of a whole report."""
    kept: dict[str, Any] = {}
    for name, report in reports.items():
        for policy, row in report["policies"].items():
            kept.setdefault(policy, {})[name] = [
                {key: cell[key] for key in ("all_evidence", "per_evidence", "interval_95")} for cell in row.values()
            ]
    seconds = {name: _seconds(report) for name, report in reports.items()}
    supersession = {name: report["supersession"] for name, report in reports.items()}
    return {"policy_digest": policy_digest(), "policies": kept, "seconds": seconds, "supersession": supersession}


def _seconds(report: dict[str, Any]) -> float:
    return round(sum(float(cell["seconds"]) for cell in report["policies"]["memsweep"].values()), 1)


def markdown(record: dict[str, Any]) -> Iterator[str]:
    """The lines of the page's tables."""
    sets = list(record["policies"]["memsweep"])
    yield from _head("all evidence kept", sets)
    for policy, row in record["policies"].items():
        yield _line(policy, (_shares(row.get(name), "all_evidence") for name in sets))
    yield ""
    yield from _head("memsweep", sets)
    for label, policy in (("blind", "memsweep"), ("restored", "memsweep, restored")):
        row = record["policies"].get(policy, {})
        yield _line(f"{label}, per evidence", (_shares(row.get(name), "per_evidence") for name in sets))
        yield _line(f"{label}, 95 % interval", (_intervals(row.get(name)) for name in sets))
    yield ""
    yield from _head("supersession", ["50 %", "25 %", "10 %"])
    for name, found in record["supersession"].items():
        for label, shares in found["shares"].items():
            yield _line(f"{name}: {label}", (_share(share) for share in shares))


def _head(label: str, columns: list[str]) -> Iterator[str]:
    yield _line(label, columns)
    yield "|" + "---|" * (len(columns) + 1)


def _line(label: str, cells: Any) -> str:
    return f"| {' | '.join((label, *cells))} |"


def _shares(cells: list[dict[str, Any]] | None, key: str) -> str:
    return " ".join(_share(cell[key]) for cell in cells) if cells else "–"


def _intervals(cells: list[dict[str, Any]] | None) -> str:
    return " ".join("–".join(map(_share, cell["interval_95"])) for cell in cells) if cells else "–"


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


if __name__ == "__main__":
    print("\n".join(markdown(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
