"""The strategy `secrets`: what the rules find in what is stored is redacted in place, under a receipt.

Plan, look, apply; undo brings it back until the purge. Secrets are looked for and texts embedded before the
transaction; whatever changed meanwhile is skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.collector.earlier_texts import follow, noted
from memsweep.collector.revert_edits import DESCRIPTION, MOVE
from memsweep.model.gate import Gate
from memsweep.model.graph_rows import Alias, Move
from memsweep.model.merging import SPLIT_NAME
from memsweep.model.origin import renamed_session
from memsweep.model.plan import CHANGED_SINCE, GONE_SINCE, Kind, Plan, PlanDraft, PlanItem, Receipt, Totals
from memsweep.model.revision import (
    MEMORY,
    MemoryText,
    Piece,
    Revision,
    as_redaction,
    before_of,
    is_as_left,
    is_redaction,
    left_as,
)
from memsweep.model.strategies import SECRETS
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.secrets.find import found_in, mark, redacted
from memsweep.secrets.known import Known, secrets_of
from memsweep.store import plans
from memsweep.store.plans import BARE, SECRET, Planning
from memsweep.store.receipts import NewReceipt
from memsweep.store.records import KINDS, Record, digest_of
from memsweep.store.refusals import other_model

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.store.changes import Changes, WorkspaceReads


_NAMED = ("alias", "name", SPLIT_NAME)
Item = tuple[str, int]
"""The kind of a row, and its key."""


class _Masked(NamedTuple):
    """A row as it was looked at, and what it becomes."""

    before: Record
    values: Mapping[str, Any]


class _Looked(NamedTuple):
    """A memory as it was looked at, with its chunks, and what both become."""

    before: MemoryText
    old: list[Piece]
    after: MaskedMemory


def plan(tools: CollectorDependencies) -> Plan:
    """Find secrets in everything that is stored, and save the list of it. Nothing is changed."""
    with tools.store.reading() as rows:
        items = tuple(find_secrets(rows))
    draft = PlanDraft(items, (), (), 0.0, 0)
    planning = Planning(tools.new_id("plan"), SECRETS, tools.clock(), timedelta(hours=tools.plan_hours))
    with tools.changing() as tx:
        _, made = plans.save(tx, draft, totals_of(items), planning)
        if items:
            tx.audit(tools.operation().counted("plan", made.id, made.totals, SECRETS))
    return made


def apply(tools: CollectorDependencies, plan_id: str) -> Receipt:
    """Redact what a saved plan names, and nothing else, in one transaction."""
    with tools.store.reading() as rows:
        saved, made = plans.load(rows, plan_id)
        items = rows.plans.items(saved.key)
        known = known_in(rows)
        memories, records = _masked(rows, items, known)
        model, description = rows.texts.model(), rows.records.description()
        aliases = [alias for alias in rows.records.aliases() if known.name(alias.name)[1]]
        # These are only counted: who names them again is counted again.
        names = [name for name in rows.records.names_seen() if known.name(name)[1]]
    memories = _embedded(tools, memories, model)
    doing, receipt_id = tools.operation(), tools.new_id("rcpt")
    if any(kind_of(item) == DESCRIPTION for item in items):
        tools.list_as(known.redacted(description)[0])  # first: a plan finds what is left in the workspace itself
    with tools.changing(tools.apply_seconds) as tx:
        saved, made = plans.load_usable(tx, plan_id, doing.now)
        plans.refuse_altered(made, items)
        redaction = _Redaction(tx, items, memories, records, to_micros(doing.now))
        totals, described = redaction.totals, tx.records.description()
        renamed = redaction.names | {each.name_key: name_key(known.name(each.name)[0]) for each in aliases}
        moves = _masked_moves(tx, renamed, known)
        named = NewReceipt(receipt_id, SECRETS, SECRETS, doing.actor, doing.now, plan_id, totals, redaction.skipped)
        receipt = tx.receipts.add(named)
        redaction.write(tx, receipt)
        _redact_aliases(tx, aliases, receipt, to_micros(doing.now))
        tx.records.forget_names(names)
        _redact_moves(tx, moves, receipt, to_micros(doing.now))
        _redact_description(tx, described, known.redacted(described)[0], receipt, to_micros(doing.now))
        tx.plans.use(saved.key, receipt)
        plans.use_whole(tx, made, receipt)
        tx.audit(doing.counted(SECRETS, receipt_id, totals, SECRETS, redaction.ids))
    return Receipt(receipt_id, plan_id, SECRETS, totals, redaction.skipped, doing.now)


def totals_of(items: Iterable[PlanItem]) -> Totals:
    """In how many things of each kind."""
    counts = Counter(item.kind for item in items)
    return Totals(counts["memory"], 0, counts["entity"], counts["relation"], counts["segment"])


def _masked(
    rows: WorkspaceReads, items: Sequence[PlanItem], known: Known
) -> tuple[dict[int, _Looked], dict[Item, _Masked]]:
    """Return the memories and records of a plan, without their secrets."""
    keys = [item.key for item in items if item.kind == "memory"]
    texts, pieces = rows.texts.at(keys), rows.texts.pieces(keys)
    memories = {key: _Looked(row, pieces[key], masked_memory(row, pieces[key], known)) for key, row in texts.items()}
    records: dict[Item, _Masked] = {}
    for kind in KINDS:
        found = rows.records.at(kind, [item.key for item in items if kind_of(item) == kind])
        records |= {(kind, key): _Masked(record, masked_record(record, known)[0]) for key, record in found.items()}
    return memories, records


def _embedded(
    tools: CollectorDependencies, memories: Mapping[int, _Looked], known: EmbeddingModel | None
) -> dict[int, _Looked]:
    """With new vectors for the chunks that change."""
    changed = [
        after.text
        for looked in memories.values()
        for before, after in zip(looked.old, looked.after.pieces or (), strict=False)
        if before.text != after.text
    ]
    if not changed:
        return dict(memories)
    model, vectors = tools.embed(changed)
    if known is not None and known != model:
        raise other_model(known, model)
    of = dict(zip(changed, vectors, strict=True))
    return {key: _with_vectors(looked, of) for key, looked in memories.items()}


def _with_vectors(looked: _Looked, vectors: Mapping[str, bytes]) -> _Looked:
    if looked.after.pieces is None:
        return looked
    pieces = [
        after if after.text == before.text else after._replace(vector=vectors[after.text])
        for before, after in zip(looked.old, looked.after.pieces, strict=True)
    ]
    return looked._replace(after=looked.after._replace(pieces=pieces))


class _Redaction:
    """The redaction of a plan, decided when it is made: of all that is still as it was looked at."""

    def __init__(
        self,
        tx: Changes,
        items: Sequence[PlanItem],
        memories: Mapping[int, _Looked],
        records: Mapping[Item, _Masked],
        now: int,
    ) -> None:
        self._now = now
        self._model = tx.texts.model()
        planned = {(kind_of(item), item.key): item.version for item in items}
        there = tx.texts.at(memories)
        self._memories = {
            key: each
            for key, each in memories.items()
            if there.get(key) == each.before and each.before.version == planned["memory", key]
        }
        self._records = {
            (kind, key): _Masked(row, records[kind, key].values)
            for kind in KINDS
            for key, row in tx.records.at(kind, [key for of, key in records if of == kind]).items()
            if row == records[kind, key].before and row.version == planned[kind, key]
        }
        self._after = {key: self._new_form(each) for key, each in self._memories.items()}
        self._noted = noted(tx, {key: each.old for key, each in self._memories.items() if each.after.pieces})
        self._follow_revisions(tx)
        self._follow_acts(tx)
        self._free_names(tx)
        done = {("memory", key) for key in self._memories} | self._records.keys()
        self.skipped = tuple(self._skip(item, records, memories) for item in items if not _is_done(item, done))
        self.totals = totals_of(item for item in items if (kind_of(item), item.key) in done)
        self.ids = [each.before.id for each in self._memories.values()]

    @property
    def names(self) -> dict[str, str]:
        """Of entities, as they are compared: before, and after."""
        entities = (each for (kind, _), each in self._records.items() if kind == "entity")
        return {each.before.values["name_key"]: each.values["name_key"] for each in entities}

    def write(self, tx: Changes, receipt: int) -> None:
        tx.revisions.add(self._revisions(receipt))
        for key, each in self._memories.items():
            follow(tx, self._noted.get(key, ()), tx.texts.write(self._after[key], each.after.pieces))
        for kind in KINDS:
            tx.records.write(kind, [(key, each.values) for (of, key), each in self._records.items() if of == kind])

    def _new_form(self, each: _Looked) -> MemoryText:
        return each.after.memory._replace(updated_at=self._now, version=each.before.version + 1)

    def _revisions(self, receipt: int) -> Iterator[Revision]:
        for key, each in self._memories.items():
            old = None if each.after.pieces is None else each.old
            kept = before_of(each.before, self._after[key], old, self._model)
            yield Revision(receipt, MEMORY, key, self._now, as_redaction(kept))
        for (kind, key), row in self._records.items():
            kept = {"id": row.before.id, "values": dict(row.before.values), "after": digest_of(row.values)}
            yield Revision(receipt, kind, key, self._now, as_redaction(kept))

    def _follow_revisions(self, tx: Changes) -> None:
        """An update that left a memory as it was can still be undone: what it left is the redacted form now."""
        for each in tx.revisions.of_items(MEMORY, self._memories):
            before, after = self._memories[each.item].before, self._after[each.item]
            if not is_as_left(before, each.before):
                continue
            known = self._records.get(("revision", each.key))
            if known is None:
                row = tx.records.at("revision", [each.key])[each.key]
                known = _Masked(row, row.values)
            values = {"before": left_as(after, known.values["before"])}
            self._records["revision", each.key] = _Masked(known.before, values)

    def _follow_acts(self, tx: Changes) -> None:
        """Let acts say the redacted texts: they know texts by their hashes."""
        texts = {(key, each.before.text): self._after[key].text for key, each in self._memories.items()}
        for memory, before, after in self._redacted_revisions(tx):
            texts[memory, before] = after
        hashes = {(key, _hash(before)): _hash(after) for (key, before), after in texts.items() if before != after}
        for act in tx.acts.of_memories({key for key, _ in hashes}):
            if act.text is None or (act.memory, act.text) not in hashes:
                continue
            known = self._records.get(("memory_act", act.key))
            if known is None:
                row = tx.records.at("memory_act", [act.key])[act.key]
                known = _Masked(row, row.values)
            said = {**known.values["said"], "text": hashes[act.memory, act.text]}
            self._records["memory_act", act.key] = _Masked(known.before, {"said": said})

    def _redacted_revisions(self, tx: Changes) -> Iterator[tuple[int, str, str]]:
        """Memories, each with an earlier text as it was and as it is redacted."""
        for (kind, _), each in self._records.items():
            before = each.before.values.get("before", {})
            if kind == "revision" and "text" in before and (found := tx.items.find(before["id"])) is not None:
                yield found[1], before["text"], each.values["before"]["text"]

    def _free_names(self, tx: Changes) -> None:
        """Two things whose names were secrets are still two."""
        for (kind, key), each in list(self._records.items()):
            if kind == "entity" and each.values != each.before.values:
                self._records[kind, key] = each._replace(values=self._own_name(tx, key, each))
            if kind in ("relation", "thread") and each.values != each.before.values:
                self._records[kind, key] = each._replace(values=numbered(each.values, key))

    def _own_name(self, tx: Changes, key: int, each: _Masked) -> Mapping[str, Any]:
        full_name = (each.values["name_key"], each.values["type_key"])
        taken = {row["name_key"] for row in (other.values for (_, of), other in self._records.items() if of != key)
                 if "name_key" in row}  # fmt: skip
        if each.before.trash is None and full_name[0] not in taken and not tx.entities.live_named([full_name]):
            return each.values
        return numbered(each.values, key)

    def _skip(
        self, item: PlanItem, records: Mapping[Item, _Masked], memories: Mapping[int, _Looked]
    ) -> tuple[str, str]:
        kind = kind_of(item)
        if kind == "memory":
            looked = memories.get(item.key)
            return (looked.before.id, CHANGED_SINCE) if looked else (f"memory {item.key}", GONE_SINCE)
        row = records.get((kind, item.key))
        return (row.before.id, CHANGED_SINCE) if row else (f"{kind} {item.key}", GONE_SINCE)


def _hash(text: str) -> str:
    return content_hash(text).hex()


def _is_done(item: PlanItem, done: Iterable[Item]) -> bool:
    return (kind_of(item), item.key) in done or kind_of(item) in ("alias", "name_seen", DESCRIPTION)


def _masked_moves(tx: Changes, names: Mapping[str, str], known: Known) -> list[tuple[Move, Move]]:
    """Return the notes of merges on names, before and after; `names` are in the compared form, which no rule knows."""
    moves = tx.moves.of({*tx.moves.targets(), *tx.moves.splits()}, _NAMED)
    masked = (
        (move, Masking(known).json([names.get(move.said[0], move.said[0]), *move.said[1:]], "")) for move in moves
    )
    return [(move, move._replace(said=said)) for move, said in masked if said != list(move.said)]


def _redact_moves(tx: Changes, moves: Sequence[tuple[Move, Move]], receipt: int, now: int) -> None:
    """The names wait with the receipt."""
    tx.moves.set([after for _, after in moves])
    kept = ((old.receipt, {"id": f"merge {old.receipt}", "move": list(old), "after": new.said}) for old, new in moves)
    tx.revisions.add(Revision(receipt, MOVE, merge, now, as_redaction(before)) for merge, before in kept)


def _redact_description(tx: Changes, before: str, after: str, receipt: int, now: int) -> None:
    if after != before:
        tx.records.describe(after)
        kept = {"id": DESCRIPTION, "text": before, "after": after}
        tx.revisions.add([Revision(receipt, DESCRIPTION, 0, now, as_redaction(kept))])


def _redact_aliases(tx: Changes, aliases: Sequence[Alias], receipt: int, now: int) -> None:
    """Another name that is a secret leaves, and waits with the receipt."""
    tx.aliases.drop([alias.full_name for alias in aliases])
    kept = ((alias.entity, {"id": f"alias {alias.entity}", "alias": list(alias)}) for alias in aliases)
    tx.revisions.add(Revision(receipt, "alias", entity, now, as_redaction(before)) for entity, before in kept)


# masking (pure): marks in place of the secrets in stored values


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


# finding: by form or context, or by a value that is known from elsewhere


_PAGE = 500
_KINDS: dict[str, Kind] = {"entity": "entity", "relation": "relation", "segment": "segment"}
"""Rows that people know; all others are records of the workspace about itself."""


def count_secrets(rows: WorkspaceReads) -> int:
    """In how many places there is a secret."""
    return sum(1 for _ in find_secrets(rows))


def kind_of(item: PlanItem) -> str:
    return str(item.evidence.get("in", item.kind))


def known_in(rows: WorkspaceReads) -> Known:
    """The secrets of all texts, live, stashed, in the trash or earlier: what shows in one of them is one elsewhere.

    Also of texts that wait redacted for the purge: a name may have been left by who redacted them.
    """
    secrets: dict[str, str] = {}
    for memory in _all_memories(rows):
        secrets |= secrets_of(memory.text)
    for segment in _all_records(rows, "segment"):
        secrets |= secrets_of(segment.values["text"])
    for revision in _all_records(rows, "revision"):
        secrets |= secrets_of(revision.values["before"].get("text", ""))
    return Known(secrets)


def find_secrets(rows: WorkspaceReads) -> Iterator[PlanItem]:
    """Everything that holds a secret; the kinds of it are the evidence, never the value."""
    known = known_in(rows)
    for memory in _all_memories(rows):
        if kinds := masked_memory(memory, (), known).kinds:
            bare = {BARE: True} if known.bare(redacted(memory.text)[0])[1] else {}
            yield PlanItem("memory", memory.key, memory.version, SECRET, {"secrets": list(kinds), **bare})
    for kind in KINDS:
        for record in _all_records(rows, kind):
            if is_redaction(record.values.get("before")):
                continue  # it waits for the purge
            if kinds := masked_record(record, known)[1]:
                evidence = {"secrets": list(kinds), **_where(record, known)}
                yield PlanItem(_KINDS.get(kind, "record"), record.key, record.version, SECRET, evidence)
    yield from _named(rows, known)


def _where(record: Record, known: Known) -> dict[str, Any]:
    """Return further evidence of a place, so that it can be shown without the secret."""
    if record.kind == "entity":
        name = record.values["name"]
        return {BARE: True} if known.name(name) != redacted(name) else {}
    if record.kind == "segment":
        return {"id": record.id}
    return {} if record.kind in _KINDS else {"in": record.kind}


def _named(rows: WorkspaceReads, known: Known) -> Iterator[PlanItem]:
    """Yield the secrets without a row of their own: in the description, other names and counted names."""
    if kinds := known.redacted(rows.records.description())[1]:
        yield PlanItem("record", 0, 0, SECRET, {"secrets": list(kinds), "in": DESCRIPTION})
    for alias in rows.records.aliases():
        if kinds := known.name(alias.name)[1]:
            yield PlanItem("record", alias.entity, 0, SECRET, {"secrets": list(kinds), "in": "alias"})
    for name in rows.records.names_seen():
        if kinds := known.name(name)[1]:
            yield PlanItem("record", 0, 0, SECRET, {"secrets": list(kinds), "in": "name_seen"})


def _all_memories(rows: WorkspaceReads) -> Iterator[MemoryText]:
    after = 0
    while page := rows.texts.page(after, _PAGE):
        yield from page
        after = page[-1].key


def _all_records(rows: WorkspaceReads, kind: str) -> Iterator[Record]:
    after = 0
    while page := rows.records.page(kind, after, _PAGE):
        yield from page
        after = page[-1].key
