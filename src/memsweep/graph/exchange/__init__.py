"""The graph in the forms of other programs, written and read again without loss. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from memsweep.errors import BadInput
from memsweep.graph.exchange import cypher, cytoscape, graphml, plain
from memsweep.model.whole_graph import GraphDump


class Form(NamedTuple):
    """A file format of a graph: its writer, its reader (what has no date is dated now), and its ending."""

    write: Callable[[GraphDump], str]
    read: Callable[[str, datetime], GraphDump]
    ending: str


FORMS: dict[str, Form] = {
    "json": Form(plain.write, plain.read, ".json"),
    "graphml": Form(graphml.write, graphml.read, ".graphml"),
    "cytoscape": Form(cytoscape.write, cytoscape.read, ".cyjs"),
    "cypher": Form(cypher.write, cypher.read, ".cypher"),
}


def form(name: str) -> Form:
    found = FORMS.get(name) if isinstance(name, str) else None
    if found is None:
        raise BadInput(f"format {name!r:.40} is unknown.", hint=f"Use one of: {', '.join(FORMS)}.")
    return found


def format_of_file(name: str) -> str:
    """By the ending of a file's name; JSON where it says nothing."""
    endings = {form.ending: key for key, form in FORMS.items()}
    return next((key for ending, key in endings.items() if name.lower().endswith(ending)), "json")


def format_of_text(text: str) -> str:
    """By what it begins with, for the reader of a file that says nothing else."""
    begin = text.lstrip("\ufeff \t\r\n")
    if begin.startswith("<"):
        return "graphml"
    if not begin.startswith("{"):
        return "cypher"
    head = begin[:2000]
    found = {word: head.find(f'"{word}"') for word in ("elements", "entities")}
    first = min((word for word in found if found[word] >= 0), key=found.__getitem__, default="")
    return "cytoscape" if first == "elements" else "json"
