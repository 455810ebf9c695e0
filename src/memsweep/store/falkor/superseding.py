"""Links between a memory and those whose place it takes. Inside the caller's transaction."""

from __future__ import annotations

from memsweep.model import superseding
from memsweep.model.ids import findable
from memsweep.model.memory import NewMemory
from memsweep.model.superseding import Older
from memsweep.model.times import to_micros
from memsweep.store.falkor import superseding_cypher as statements
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import Query


def about(new: NewMemory) -> list[Query]:
    """Return the queries that linking it will need."""
    wanted = new.draft.supersedes
    return [(statements.TO_SUPERSEDE, {"ids": [findable(each) for each in wanted]})] if wanted else []


def supersede(tx: Transaction, memory: int, new: NewMemory, origin: int | None) -> None:
    if not new.draft.supersedes:
        return
    (found,) = tx.ask_all(*about(new))
    older = superseding.keys_of(new.draft.supersedes, {uid: Older(key, source) for uid, key, source in found})
    under, over, beside = tx.ask_all(
        (statements.LINKS_UNDER, {"newer": sorted({*older, memory})}),
        (statements.LINKS_OVER, {"memory": memory}),
        (statements.LINKS_BESIDE, {"memory": memory}),
    )
    trashed = {old for old, *_, gone in under if gone} | {newer for _, newer, _, gone in over if gone}
    known = {(old, newer): superseding.bases_from(bases) for old, newer, bases, _ in (*under, *over, *beside)}
    for (old, newer), bases in superseding.new_links(memory, older, known, origin).items():
        step = statements.add_link(new_is_trashed=newer in trashed, old_is_trashed=old in trashed)
        said = superseding.bases_text(bases)
        tx.do(step, [{"old": old, "new": newer, "at": to_micros(new.now), "origins": said}])
