"""Read the notes of a client: front matter, entries of the index, paths that a text names. Pure.

Bytes that are no UTF-8 survive: they are read with `surrogateescape`, and written back as they were.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

_LINK = re.compile(r"\]\(<?([^()<>\n]{1,300})>?\)")
_RUN = re.compile(r"[\w./~@+:-]+")
_LINE_NUMBER = re.compile(r"(?::\d{1,7}(?:-\d{1,7})?){1,2}\Z")
_LONGEST_PATH = 300
_LONGEST_HOOK = 150
_BULLETS = ("- ", "* ", "+ ")
_SUFFIXES = frozenset(
    """
    bash c cc cfg cjs conf cpp cs css csv dart ex exs go gradle graphql h hpp html ini ipynb java js json jsonl jsx kt
    kts less lock lua m md mdx mjs mk mm php pl proto ps1 py pyi r rb rs rst sass scala scss sh sol sql svelte swift tf
    toml ts tsx txt vue xml yaml yml zig zsh
    """.split()
)


class Note(NamedTuple):
    """A file a fact: what its front matter says, and the text below it."""

    name: str
    description: str
    type: str
    body: str


class Entry(NamedTuple):
    """A line of the index that points to a file of the store."""

    line: str
    target: str


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def read_note(data: bytes) -> Note:
    """Front matter is read line by line, `name: value`, at any depth; the first of a name counts."""
    text = text_of(data).removeprefix("\ufeff")
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return Note("", "", "", text)
    end = next((at for at, line in enumerate(lines[1:200], 1) if line.strip() == "---"), 0)
    if not end:
        return Note("", "", "", text)
    found: dict[str, str] = {}
    for line in lines[1:end]:
        name, colon, value = line.partition(":")
        if colon and value.strip():
            found.setdefault(name.strip().lower(), value.strip().strip("\"'"))
    name, description, kind = (found.get(each, "") for each in ("name", "description", "type"))
    return Note(name, description, kind, "\n".join(lines[end + 1 :]))


def read_entries(data: bytes) -> list[Entry]:
    """Bullets of the index that link to a file of the store; everything else is text of its own."""
    return [Entry(line.rstrip("\r"), target) for line in text_of(data).split("\n") if (target := _target(line.strip()))]


def _target(line: str) -> str:
    found = _LINK.search(line) if line.startswith(_BULLETS) else None
    if not found:
        return ""
    name = posixpath.normpath(unquote(found[1].partition("#")[0].strip(), errors="surrogateescape"))
    is_ours = name.endswith(".md") and ":" not in name and not name.startswith(("/", "..", "~"))
    return name if is_ours else ""


def entry_line(name: str, note: Note) -> str:
    """A line for the index, as the client writes it: one line, however the front matter was written."""
    title = _plain(note.name or posixpath.basename(name).removesuffix(".md")) or "memory"
    hook = _plain(note.description)
    link = quote(bytes_of(name), safe="/._-~+@")
    return f"- [{title}]({link})" + (f" — {hook}" if hook else "")


def _plain(text: str) -> str:
    """On one line, without what would end a link, and nothing that cannot be written."""
    clean = "".join(" " if letter in "[]()`\n" else letter for letter in text if letter.isprintable() or letter == "\n")
    return " ".join(clean.split())[:_LONGEST_HOOK]


def edited_index(data: bytes, drop: Iterable[str], add: Iterable[str]) -> bytes:
    """The index without some lines and with others; each line that stays is as it was, byte for byte."""
    lines = text_of(data).split("\n")
    for line in drop:
        at = next((at for at, each in enumerate(lines) if each.rstrip("\r") == line), None)
        if at is not None:
            del lines[at]
    end = "\r" if any(line.endswith("\r") for line in lines) else ""
    if new := [f"{line}{end}" for line in add]:
        tail = [lines.pop()] if lines and not lines[-1] else []  # what ends with a newline goes on doing so
        at = max((at + 1 for at, line in enumerate(lines) if _target(line.strip())), default=len(lines))
        lines = [*lines[:at], *new, *lines[at:], *(tail or [""])]
    return bytes_of("\n".join(lines))


def is_named(name: str, index: bytes) -> bool:
    """Return whether an index names a file, in an entry or in its own text; `a.md` is not in `data.md`."""
    text, base = text_of(index), posixpath.basename(name)
    at = text.find(base)
    while at >= 0:
        if not text[at - 1 : at].strip("/`'\"(<[ \t\n"):
            return True
        at = text.find(base, at + 1)
    return False


def named_paths(text: str) -> tuple[str, ...]:
    """Paths of files that a text names: with a folder and a known ending, without a number of a line."""
    return tuple(dict.fromkeys(_paths(text)))


def _paths(text: str) -> Iterator[str]:
    for found in _RUN.finditer(text):
        if len(found.group()) > _LONGEST_PATH:
            continue
        path = _LINE_NUMBER.sub("", found.group().rstrip(".:,-")).removeprefix("./")
        folder, _, name = path.rpartition("/")
        if folder.strip("/.~") and ":" not in path and "//" not in path and _has_known_ending(name):
            yield path


def _has_known_ending(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem.strip(".")) and ending in _SUFFIXES
