"""Mask stored values: marks in place of the secrets in them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memsweep.model.gate import Gate
from memsweep.model.origin import renamed_session
from memsweep.model.revision import MemoryText, Piece
from memsweep.model.text import name_key
from memsweep.secrets.find import found_in, mark, redacted
from memsweep.secrets.known import Known
from memsweep.store.records import Record

_KEYS = {"name_key": "name", "type_key": "type", "relation_key": "relation"}
"""Columns that are made from others."""
_SHORTEST = 8
"""A shorter secret is a word that may stand elsewhere: it goes where a rule finds it."""
_LONG_LINE = 16


class Masking(Gate):
    """A gate that redacts what is known to be a secret as well."""

    def __init__(self, known: Known) -> None:
        super().__init__("redact")
        self.known = known

    def text(self, value: str, what: str = "text") -> str:
        value, kinds = self.known.bare(super().text(value, what))
        self.saw(kinds)
        return value


class MaskedMemory(NamedTuple):
    """A memory without its secrets, and their kinds; its chunks, if they change, still have their old vectors."""

    memory: MemoryText
    pieces: list[Piece] | None
    kinds: tuple[str, ...]


def masked_memory(memory: MemoryText, pieces: Sequence[Piece], known: Known) -> MaskedMemory:
    """Lines stay where they are, so that chunks are found where they were."""
    gate = Masking(known)
    text, kinds = known.redacted(memory.text, keep_lines=True)
    secrets = found_in(memory.text) | known.within(memory.text)
    after = memory._replace(
        text=text,
        tags=tuple(dict.fromkeys(gate.texts(memory.tags, "a tag"))),
        source=gate.text(memory.source),
        metadata=gate.json(memory.metadata, "metadata"),
    )
    changed = [_piece(piece, secrets, gate) for piece in pieces]
    places = zip(pieces, changed, strict=True)
    moved = [_moved(before, piece, memory.text, known) if secrets else piece for before, piece in places]
    everything = tuple(dict.fromkeys([*kinds, *gate.redacted]))
    return MaskedMemory(after, None if moved == list(pieces) else moved, everything)


def masked_record(record: Record, known: Known) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The values of a row without its secrets, and their kinds."""
    gate, values = Masking(known), dict(record.values)
    if record.kind == "entity":
        values["name"], kinds = known.name(values["name"])
        gate.saw(kinds)
    for name, value in values.items():
        if isinstance(value, str) and name not in _KEYS:
            values[name] = gate.text(value)
        elif name == "tags":
            values[name] = list(dict.fromkeys(gate.texts(tuple(value), name)))
        elif isinstance(value, Mapping | list):
            values[name] = gate.json(_with_pieces(value, gate), name)
    if record.kind == "origin":
        values["session"] = renamed_session(record.values["session"], values["session"])
    for name, source in _KEYS.items():
        if name in values and values[source] != record.values[source]:
            values[name] = name_key(values[source])
    return values, gate.redacted


def numbered(values: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A name that something else may have already, with a number behind it."""
    named = next(name for name in ("name", "relation", "uid") if name in values)
    name = f"{values[named]} {number}"
    keys = {f"{named}_key": name_key(name)} if f"{named}_key" in values else {}
    return {**values, named: name, **keys}


def _with_pieces(value: Any, gate: Masking) -> Any:
    """Return an earlier memory masked: a secret may begin in one chunk and end in the next."""
    if not isinstance(value, Mapping) or not value.get("pieces"):
        return value
    secrets = found_in(value["text"]) | gate.known.within(value["text"])
    pieces = [{**kept, "text": _without(kept["text"], secrets, gate)} for kept in value["pieces"]]
    return {**value, "pieces": pieces}


def _piece(piece: Piece, secrets: Mapping[str, str], gate: Gate) -> Piece:
    return piece._replace(
        text=_without(piece.text, secrets, gate), symbol=gate.text(piece.symbol), words=gate.text(piece.words)
    )


def _without(text: str, secrets: Mapping[str, str], gate: Gate) -> str:
    """A chunk of a text without the secrets of the whole text, also those that it has only a part of."""
    text, kinds = redacted(text, keep_lines=True)
    if kinds:
        gate.saw(kinds)
    for secret, kind in sorted(secrets.items(), key=lambda each: -len(each[0])):
        if len(secret) < _SHORTEST:
            continue
        lines = [line for line in secret.split("\n") if len(line) >= _LONG_LINE] if "\n" in secret else []
        for part in (secret, *lines):
            text = text.replace(part, mark(kind) + "\n" * part.count("\n"))
        text = _without_ends(text, secret, kind)
    return text


def _without_ends(text: str, secret: str, kind: str) -> str:
    """Return a chunk without the part of a secret that it begins or ends with."""
    for size in range(min(len(secret) - 1, len(text)), _SHORTEST - 1, -1):
        if text.endswith(secret[:size]):
            text = text[:-size] + mark(kind)
        if text.startswith(secret[-size:]):
            text = mark(kind) + text[size:]
    return text


def _moved(before: Piece, after: Piece, text: str, known: Known) -> Piece:
    """Return a piece with its start in a text that has become longer or shorter before it."""
    if not text.startswith(before.text, before.start):
        return after
    return after._replace(start=len(known.redacted(text[: before.start], keep_lines=True)[0]))
