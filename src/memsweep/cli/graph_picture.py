"""A neighbourhood as a picture: by graphviz where `dot` is installed, else by matplotlib where that is."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memsweep.errors import BadInput, MemsweepError
from memsweep.store.drafts import draft_of

_SECONDS = 60


def draw(answer: Mapping[str, Any], output: Path, *, force: bool) -> str:
    """Write the picture whole or not at all; who drew it."""
    kind = output.suffix.lower().removeprefix(".")
    if kind not in ("svg", "png", "dot"):
        raise BadInput(f"{output} does not end in .svg, .png or .dot.", hint="Choose one of them.")
    dot = shutil.which("dot")
    if kind != "dot" and dot is None and find_spec("matplotlib") is None:
        raise BadInput(
            f"{output} cannot be drawn: neither graphviz nor matplotlib is installed.",
            hint="Install one, write a .dot file, or leave --output out for a tree.",
        )
    with draft_of(output.absolute(), replace=force) as draft:
        if kind == "dot":
            draft.write_text(as_dot(answer), "utf-8")
            return "memsweep"
        if dot is not None:
            _by_graphviz(dot, answer, kind, draft)
            return "graphviz"
        _by_matplotlib(answer, kind, draft)
        return "matplotlib"


def as_dot(answer: Mapping[str, Any]) -> str:
    """The neighbourhood in graphviz's language; what weighs more is drawn darker."""
    start = answer["entity"]
    lines = ["digraph memsweep {", "  node [shape=box, style=rounded, fontname=Helvetica];"]
    for each in (start, *answer["related"]):
        bold = ", penwidth=2" if each is start else ""
        lines.append(f"  {_quoted(each['name'])} [label={_quoted(each['name'], each['type'])}{bold}];")
    for fact in answer["relations"]:
        grey = round(80 * (1 - fact["weight"]))
        ends = f"{_quoted(fact['from'])} -> {_quoted(fact['to'])}"
        lines.append(f'  {ends} [label={_quoted(fact["relation"])}, fontsize=10, color="gray{grey}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(*parts: str) -> str:
    """A backslash means something in a label, so it is doubled; lines of a label are parted by `\\n`."""
    return '"' + "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in parts) + '"'


def _by_graphviz(dot: str, answer: Mapping[str, Any], kind: str, draft: Path) -> None:
    try:
        done = subprocess.run(
            [dot, f"-T{kind}"], input=as_dot(answer).encode(), capture_output=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", b"") or b""
        why = said.decode(errors="replace").strip()[:200] or str(error)
        raise MemsweepError(f"graphviz could not draw it ({why}).", hint="Write a .dot file instead.") from None
    draft.write_bytes(done.stdout)


def _by_matplotlib(answer: Mapping[str, Any], kind: str, draft: Path) -> None:
    """Circles around the start, one for each step."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    places = _places(answer)
    figure, axes = pyplot.subplots(figsize=(10, 10))
    for fact in answer["relations"]:
        (x1, y1), (x2, y2) = places[fact["from"]], places[fact["to"]]
        shade = str(0.8 * (1 - fact["weight"]))
        axes.annotate("", (x2, y2), (x1, y1), arrowprops={"arrowstyle": "->", "color": shade, "shrinkB": 20})
        axes.text(
            (x1 + x2) / 2, (y1 + y2) / 2, _plain(fact["relation"]), fontsize=7, ha="center", backgroundcolor="white"
        )
    for name, (x, y) in places.items():
        axes.text(x, y, _plain(name), ha="center", va="center", bbox={"boxstyle": "round", "facecolor": "white"})
    reach = 1.2 * max(max(abs(x), abs(y), 1.0) for x, y in places.values())
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.axis("off")
    figure.savefig(draft, format=kind)
    pyplot.close(figure)


def _places(answer: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    rings: dict[int, list[str]] = {}
    for each in answer["related"]:
        rings.setdefault(each["hops"], []).append(each["name"])
    places = {answer["entity"]["name"]: (0.0, 0.0)}
    for hops, names in rings.items():
        for number, name in enumerate(names):
            angle = 2 * math.pi * number / len(names) + hops / 2
            places[name] = (hops * math.cos(angle), hops * math.sin(angle))
    return places


def _plain(text: str) -> str:
    """Matplotlib would read what is between two dollar signs as mathematics."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace("$", r"\$")
