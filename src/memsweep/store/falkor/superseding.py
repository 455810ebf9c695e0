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
    """What linking it will have to know."""
    wanted = new.draft.supersedes
    return [(statements.TO_SUPERSEDE, {"ids": [findable(each) for each in wanted]})] if wanted else []


def supersede(tx: Transaction, memory: int, new: NewMemory) -> None:
    if not new.draft.supersedes:
        return
    (found,) = tx.ask_all(*about(new))
    older = superseding.keys_of(new.draft.supersedes, {uid: Older(key, source) for uid, key, source in found})
    under, over = tx.ask_all(
        (statements.LINKS_UNDER, {"older": sorted(older)}), (statements.LINKS_OVER, {"memory": memory})
    )
    trashed = {old for old, _, is_trashed in under if is_trashed} | {new for _, new, is_trashed in over if is_trashed}
    known = {(old, newer) for old, newer, _ in (*under, *over)}
    for old, newer in superseding.new_links(memory, older, known):
        step = statements.add_link(new_is_trashed=newer in trashed, old_is_trashed=old in trashed)
        tx.do(step, [{"old": old, "new": newer, "at": to_micros(new.now)}])
