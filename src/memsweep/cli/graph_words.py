"""Answers about the graph in words, tables, trees and pictures."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsweep.cli.door import harmless, in_commands, show_pair, tier_in
from memsweep.errors import BadInput, MemsweepError
from memsweep.model.text import counted
from memsweep.report import Answer, named
from memsweep.report.memory import in_sentences
from memsweep.store.drafts import draft_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.tree import Tree


_BAR_WIDTH = 30


def related(console: Console, answer: Answer) -> None:
    for state in ("created", "strengthened"):
        for fact in answer[state]:
            _line(console, f"{state}: {_fact(fact)}")
    if answer["superseded"]:
        _line(console, f"closed: {', '.join(answer['superseded'])}")
    _secrets(console, answer)


def entities(console: Console, answer: Answer) -> None:
    found = answer["entities"]
    rows = [(each["name"], each["type"], f"{each['confidence']:.2f}", each["last_seen"][:10]) for each in found]
    _table(console, ("entity", "type", "sure", "seen"), rows)
    _line(console, f"{len(found)} of {answer['total']:,}.")
    if answer.get("next_cursor"):
        console.print(f"[dim]the next page: --cursor {answer['next_cursor']}[/dim]")


def facts(console: Console, answer: Answer) -> None:
    found = answer["relations"]
    rows = [(each["from"], each["relation"], each["to"], _weight(each), tier_in(each), each["id"]) for each in found]
    _table(console, ("from", "relation", "to", "weight", "tier", "id"), rows)
    if not found:
        _line(console, "Nothing is connected.")


def status(console: Console, answer: Answer) -> None:
    for name in ("entities", "relations", "current_facts", "ended_facts", "pinned", "orphans", "components"):
        show_pair(console, f"{name.replace('_', ' '):18}", f"{answer[name]:,}")
    show_pair(console, f"{'largest component':18}", f"{answer['largest_component']:,}")
    show_pair(console, f"{'density':18}", f"{answer['density']:.6g}")
    for name in ("by_type", "by_relation"):
        counts = ", ".join(f"{kind} {count:,}" for kind, count in list(answer[name].items())[:12])
        show_pair(console, f"{name.replace('_', ' '):18}", counts)
    for name, buckets in answer["decay"].items():
        most = max(buckets.values(), default=0)
        _line(console, f"{name} now:")
        for bucket, count in buckets.items():
            if count:
                _line(console, f"  {bucket}  {count:>9,}  {'█' * max(1, round(_BAR_WIDTH * count / most))}")


def findings(console: Console, answer: Answer) -> None:
    found = answer["findings"]
    for each in found:
        _line(console, f"{each['kind'].replace('_', ' ')}: {each['why']} ({', '.join(each['ids'])})")
    _line(console, f"{len(found)} of {answer['total']:,} shown." if found else "Nothing to look at.")


def communities(console: Console, answer: Answer) -> None:
    rows = [
        (str(each["size"]), ", ".join(each["members"]), f"{each['weight_inside']:.1f}", f"{each['weight_outside']:.1f}")
        for each in answer["communities"]
    ]
    _table(console, ("size", "members", "inside", "outside"), rows)
    groups = counted(answer["total"], "community", "communities")
    _line(console, f"{groups}, modularity {answer['modularity']:.2f}.")


def briefing(console: Console, answer: Answer) -> None:
    _line(console, answer["summary"])
    lists = {
        "recent": [_fact(each) for each in answer["recent"]],
        "central": [f"{each['name']} ({each['type']}), strength {each['strength']:.1f}" for each in answer["central"]],
        "contradictory": [each["why"] for each in answer["contradictory"]],
        "stale": [_fact(each) for each in answer["stale"]],
    }
    _lists(console, lists)


def overview(console: Console, answer: Answer) -> None:
    """The briefing of a workspace."""
    _line(console, answer["summary"])
    lists = {
        "memories": [f"{each['memory_id']}  {tier_in(each)} {each['text']}" for each in answer["memories"]],
        "facts": [_fact(each) for each in answer["facts"]],
        "central": [", ".join(answer["central"])] if answer["central"] else [],
        "contradictions": [each["why"] for each in answer["contradictions"]],
        "stale facts": [_fact(each) for each in answer["stale_facts"]],
        "next": [in_commands(each) for each in answer["next_steps"]],
    }
    _lists(console, lists)


def _lists(console: Console, lists: Mapping[str, Sequence[str]]) -> None:
    for name, lines in lists.items():
        if lines:
            _line(console, f"\n{name}")
            for line in lines:
                _line(console, f"  {line}")


def built(console: Console, answer: Answer) -> None:
    for each in answer["relations"]:
        _line(console, f"{each['from']} {each['relation']} {each['to']}")
    if answer["dry_run"]:
        found = f"{named(len(answer['entities']), 'entities')} and {named(len(answer['relations']), 'facts')}"
        _line(console, f"Found {found}; nothing was written.")
    else:
        made = f"{named(answer['entities_created'], 'entities')} and {named(answer['relations_created'], 'facts')}"
        _line(console, f"Created {made}, strengthened {answer['relations_strengthened']:,}.")
    _secrets(console, answer)


def exported(console: Console, answer: Answer) -> None:
    what = f"{named(answer['entities'], 'entities')} and {named(answer['relations'], 'relations')}"
    _line(console, f"Exported {what} as {answer['format']} to {answer['path']} ({answer['bytes']:,} bytes).")


def imported(console: Console, answer: Answer) -> None:
    made = f"{named(answer['entities_created'], 'entities')} and {named(answer['relations_created'], 'relations')}"
    known = f"{named(answer['entities_known'], 'entities')} and {named(answer['relations_known'], 'relations')}"
    _line(console, f"Created {made}; already known: {known}.")
    _secrets(console, answer)


def tree(console: Console, answer: Mapping[str, Any]) -> None:
    """Every entity once, below the one through which it was reached first."""
    from rich.text import Text
    from rich.tree import Tree

    kinds = {answer["entity"]["name"]: answer["entity"]["type"]}
    kinds |= {each["name"]: each["type"] for each in answer["related"]}
    hops = {answer["entity"]["name"]: 0, **{each["name"]: each["hops"] for each in answer["related"]}}

    def shown(name: str, how: str = "") -> Text:
        return Text.assemble((how, "dim"), harmless(name), (f" {harmless(kinds[name])}", "cyan"))

    root = Tree(shown(answer["entity"]["name"]))
    branches: dict[str, Tree] = {answer["entity"]["name"]: root}
    for fact in sorted(answer["relations"], key=lambda fact: max(hops[fact["from"]], hops[fact["to"]])):
        near, far = sorted((fact["from"], fact["to"]), key=lambda name: hops[name])
        arrow = f"─{fact['relation']}→ " if fact["from"] == near else f"←{fact['relation']}─ "
        if near in branches:
            branch = branches[near].add(shown(far, harmless(arrow)) if far not in branches else _again(arrow, far))
            branches.setdefault(far, branch)
    console.print(root)


def _again(arrow: str, name: str) -> Any:
    from rich.text import Text

    return Text(harmless(f"{arrow}{name}"), style="dim")


def _fact(fact: Mapping[str, Any]) -> str:
    return f"{tier_in(fact)} {fact['from']} {fact['relation']} {fact['to']} ({_weight(fact)})".lstrip()


def _weight(fact: Mapping[str, Any]) -> str:
    return f"{fact['weight']:.2f}" + (f", until {fact['invalid_at'][:10]}" if "invalid_at" in fact else "")


def _secrets(console: Console, answer: Mapping[str, Any]) -> None:
    for sentence in in_sentences(answer):
        _line(console, sentence)


def _line(console: Console, text: str) -> None:
    console.print(harmless(text), markup=False)


def _table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(harmless(cell)) for cell in row))
    console.print(table)


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
