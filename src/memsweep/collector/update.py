"""Update: a memory gets another text, tags or metadata in place, or leaves quarantine. A receipt holds what it was.

Reads and decides first, writes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.collector.earlier_texts import noted
from memsweep.collector.selection import live_memory
from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.model.gate import Gate
from memsweep.model.graph_rows import RelationChange
from memsweep.model.memory import CODE_SOURCE, EmbeddingModel, NewMemory, StatedIn
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.plan import Selection, Totals
from memsweep.model.revision import (
    MEMORY,
    EarlierText,
    MemoryAct,
    MemoryText,
    Piece,
    Revision,
    Updated,
    as_json,
    before_of,
)
from memsweep.model.stating import withdrawn
from memsweep.model.times import from_micros, to_micros
from memsweep.store.adding import Naming
from memsweep.store.receipts import NewReceipt
from memsweep.store.refusals import other_model, tombstoned_text

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.collector.collect import CollectorDependencies
    from memsweep.store.changes import Changes


_NO_CODE = "memory {} is an indexed file, which is updated by indexing it again; nothing was changed."
_SAME_TEXT = "memory {} says the same already; nothing was changed."


class NewText(NamedTuple):
    """A text ready to be written: its pieces with the model of their vectors, and the names in it."""

    pieces: tuple[Piece, ...]
    model: EmbeddingModel
    named: NewMemory


@dataclass(frozen=True, slots=True)
class CheckedUpdate:
    """The checked values of an update; None leaves what is there."""

    text: str | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None

    def of(self, memory: MemoryText, now: datetime) -> MemoryText:
        """The memory as it will be; the same where nothing changes."""
        values: dict[str, Any] = {"text": self.text, "tags": self.tags, "metadata": self.metadata}
        changed = {name: value for name, value in values.items() if value not in (None, getattr(memory, name))}
        if not changed:
            return memory
        return memory._replace(**changed, updated_at=to_micros(now), version=memory.version + 1)


class _Withdrawn(NamedTuple):
    """Relations that a memory no longer states, those of them that nothing else states, and what these say."""

    changes: tuple[RelationChange, ...] = ()
    gone: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()

    @property
    def keys(self) -> list[int]:
        return [each.after.key for each in self.changes]


def update(
    tools: CollectorDependencies,
    memory_id: str,
    change: CheckedUpdate,
    prepare: Callable[[str], NewText],
    origin: Origin = UNKNOWN,
) -> Updated:
    """Change a memory in one transaction. `prepare` cuts and embeds a text, before the transaction begins."""
    new = None if change.text is None else prepare(change.text)
    doing, receipt_id = tools.operation(), tools.new_id("rcpt")
    with tools.changing(tools.apply_seconds) as tx:
        before = tx.texts.at([key := live_memory(tx.items, memory_id, tools.workspace_id)])[key]
        if before.source == CODE_SOURCE:
            raise BadInput(_NO_CODE.format(memory_id), hint="Change the file, then run index_codebase.")
        after = change.of(before, doing.now)
        if after is before:
            return Updated(memory_id, before.version, None)
        new = None if after.text == before.text else new
        lost, old, names = _Withdrawn(), None, None
        if new is not None:
            _refuse_unfit(tx, after, new)
            lost = _withdrawn(tx, before, after)
            old = noted(tx, tx.texts.pieces([key]))[key]
            names = Naming(tx.rows, new.named, new.named.mentions, tx.origins, gone=[piece.key for piece in old])
        totals = Totals(memories=1, relations=len(lost.gone))
        known, first = tx.acts.before(before, before.content_hash.hex())
        origin_key = tx.origins.key_of(origin)
        receipt = tx.receipts.add(NewReceipt(receipt_id, "update", "update", doing.actor, doing.now, totals=totals))
        kept = before_of(before, after, old, tx.texts.model(), lost.keys)
        tx.revisions.add([Revision(receipt, MEMORY, key, to_micros(doing.now), kept)])
        tx.relations.write(lost.changes)
        tx.trash.take(Selection(relations=lost.gone), receipt)
        tx.acts.add([*(() if known else (first,)), updated(before, after, origin_key, receipt)])
        entities = _write(tx, after, new, old or (), names, origin_key)
        tx.audit(doing.counted("update", receipt_id, totals, ids=(memory_id, *entities)))
    return Updated(memory_id, after.version, receipt_id, len(new.pieces) if new else 0, lost.names)


def history(tools: CollectorDependencies, memory_id: str) -> list[EarlierText]:
    """Return the earlier forms of a memory, the newest first; what is a secret by now is masked."""
    with tools.store.reading() as rows:
        key = live_memory(rows.items, memory_id, tools.workspace_id)
        found = rows.revisions.of_items(MEMORY, [key])
        receipts = rows.receipts.at({each.receipt for each in found})
    return [_earlier(each, receipts[each.receipt].id) for each in reversed(found) if each.receipt in receipts]


def _earlier(revision: Revision, receipt_id: str) -> EarlierText:
    gate, before = Gate("redact"), revision.before
    tags, metadata = gate.texts(tuple(before["tags"]), "a tag"), gate.json(before["metadata"], "metadata")
    return EarlierText(from_micros(revision.at), receipt_id, gate.text(before["text"]), tags, metadata)


def updated(before: MemoryText, after: MemoryText, origin: int | None, receipt: int) -> MemoryAct:
    """Return the act of what somebody changed in a memory."""
    text = {} if after.text == before.text else {"text": after.content_hash.hex()}
    values = {name: (getattr(before, name), getattr(after, name)) for name in ("tags", "metadata")}
    changed = {name: as_json(new) for name, (old, new) in values.items() if new != old}
    said = {**text, **changed, "source": after.source}
    return MemoryAct(after.key, "update", after.updated_at, origin, said, receipt)


def _write(
    tx: Changes,
    after: MemoryText,
    new: NewText | None,
    old: Sequence[Piece],
    names: Naming | None,
    origin: int | None,
) -> list[str]:
    if new is None or names is None:
        tx.texts.write(after, None)
        return []
    pieces = _in_place_of(old, new.pieces)
    # A text is whose it is now, so that nobody speaks in another's name.
    chunks = tx.texts.write(after._replace(origin=origin), pieces)
    names.write(StatedIn(after.key, chunks, origin))
    return names.created


def _in_place_of(old: Sequence[Piece], new: Sequence[Piece]) -> list[Piece]:
    """New pieces stand in their thread where the old ones stood; if they are more, at its end.

    They take the last places, so that what comes next does not stand where the earlier text comes back.
    """
    if len(new) > len(old) or any(piece.stream_position is None for piece in old):
        return list(new)
    places = zip(new, old[-len(new) :], strict=True)
    return [piece._replace(stream=at.stream, stream_position=at.stream_position) for piece, at in places]


def _refuse_unfit(tx: Changes, after: MemoryText, new: NewText) -> None:
    if (other := tx.texts.duplicate_of(after)) is not None:
        raise Conflict(_SAME_TEXT.format(other), hint=f"Delete {after.id} if it is no longer needed.")
    if tx.tombstones.among([after.text]):
        raise tombstoned_text()
    if (known := tx.texts.model()) is not None and known != new.model:
        raise other_model(known, new.model)


def _withdrawn(tx: Changes, before: MemoryText, after: MemoryText) -> _Withdrawn:
    """Return the facts that the memory stated and its new text does not state."""
    explicit = dict(tx.items.stated_by([before.key]))
    if not explicit:
        return _Withdrawn()
    keys = sorted(explicit)
    rows = tx.items.describe({"relation": keys})
    said = [(row.end_names[0], row.name, row.end_names[1]) for row in (rows["relation", key] for key in keys)]
    relations = {row.key: row for row in tx.relations.at(keys)}
    others: dict[int, list[str]] = defaultdict(list)
    for alias in sorted(tx.aliases.at({end for row in relations.values() for end in row.ends})):
        others[alias.entity].append(alias.name)
    ends = [[others[end] for end in relations[key].ends] for key in keys]
    facts = [
        ([subject, *subjects], kind, [target, *targets])
        for (subject, kind, target), (subjects, targets) in zip(said, ends, strict=True)
    ]
    lost = {keys[number]: said[number] for number in withdrawn(before.text, after.text, facts)}
    gone = _stated_by_nothing_else(tx, before.key, [key for key in lost if not explicit[key]])
    changes = tuple(RelationChange(relations[key], relations[key], unstated_by=(before.key,)) for key in lost)
    return _Withdrawn(changes, gone, tuple(" ".join(lost[key]) for key in sorted(gone)))


def _stated_by_nothing_else(tx: Changes, memory: int, relations: Collection[int]) -> frozenset[int]:
    others = {relation for relation, source in tx.items.sources(relations) if source != memory}
    return frozenset(relations) - others


# Let memories and facts out of quarantine.


def release(tools: CollectorDependencies, memory_id: str) -> None:
    """A memory, with the facts that it states."""
    doing = tools.operation()
    with tools.store.changing() as tx:
        key = live_memory(tx.items, memory_id, tools.workspace_id)
        facts = {relation for relation, _ in tx.items.stated_by([key])}
        tx.origins.release(key, to_micros(doing.now))
        tx.origins.release_facts(facts, to_micros(doing.now))
        tx.audit(doing.event("release", memory_id, ids=(memory_id,)))


def release_fact(tools: CollectorDependencies, relation_id: str) -> None:
    doing = tools.operation()
    with tools.store.changing() as tx:
        found = tx.relations.by_id([relation_id]) if isinstance(relation_id, str) and relation_id.isascii() else []
        if not found:
            raise NotFound(
                f"fact {relation_id!r:.80} does not exist in workspace {tools.workspace_id!r}.",
                hint="Take an id from graph_query, and check the workspace.",
            )
        tx.origins.release_facts({row.key for row in found}, to_micros(doing.now))
        tx.audit(doing.event("release", relation_id))
