"""Memories that stay without some acts, which are taken back under a receipt: what they are is what the others make.

Those of which nothing is left go to the trash, and their acts are taken back with them. Reads and decides first,
writes last.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from memsweep.gc.brought_memories import renamed
from memsweep.gc.earlier_texts import Embed, Entities
from memsweep.gc.forms import CHANGED, Forms
from memsweep.gc.links import LinksWithout
from memsweep.model.graph_rows import UNMENTIONED, Move
from memsweep.model.memory_act import MemoryAct, Place, entities_of, lost_mentions, state_of
from memsweep.model.plan import CHANGES, PlanItem
from memsweep.model.taken_back import given_back
from memsweep.store.ports.memory_acts import MentionRow

if TYPE_CHECKING:
    from memsweep.model.operation import Operation
    from memsweep.store.changes import Changes

_GONE = "gone since the plan was made"


class Staying:
    """What becomes of the memories in a plan that stay as something else; decided when it is made."""

    def __init__(
        self,
        tx: Changes,
        items: Iterable[PlanItem],
        doing: Operation,
        embed: Embed,
        going: Collection[int] = (),
        retracted: Iterable[PlanItem] = (),
    ) -> None:
        """`going` are memories that leave with the plan; the acts of those `retracted` are taken back with them."""
        wanted = [item for item in items if item.kind == "memory" and item.reason in CHANGES]
        whole = [item for item in retracted if item.kind == "memory"]
        self._forms = Forms(tx, {item.key for item in (*wanted, *whole)}, doing, going)
        self.skipped: list[tuple[str, str]] = []
        done = [item for item in wanted if self._take(item)]
        self.ids = [self._forms.rows[item.key].id for item in done]
        self._acts = {key: act for item in (*done, *whole) for key, act in self._taken(item).items()}
        self._links = LinksWithout(tx, [*done, *whole])
        self._lost: dict[int, set[Place]] = {}
        self._mentions = self._lost_mentions(tx, done) if done else []
        self._forms.read(embed, self._lost)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self.ids and not self._acts:
            return
        tx.acts.mark({key: (act.receipt, receipt) for key, act in self._acts.items()})
        tx.acts.drop_mentions([(each.chunk, each.entity) for each in self._mentions])
        tx.moves.add([Move(receipt, UNMENTIONED, *each) for each in self._mentions])
        self._links.write(tx, receipt)
        self._forms.write(receipt)

    def _take(self, item: PlanItem) -> bool:
        row = self._forms.rows.get(item.key)
        if row is None or row.trash != item.evidence.get("trash"):
            why = _GONE
        elif row.version != item.evidence.get("version", item.version):
            why = CHANGED
        elif not (acts := set(item.evidence.get("acts", ()))):
            return True
        else:
            journal = given_back(self._forms.journal[item.key], row.trash)
            why = self._forms.make(row, state_of(journal), state_of(journal, acts))
        if why:
            self.skipped.append((row.id if row else f"memory {item.key}", why))
        return not why

    def _taken(self, item: PlanItem) -> dict[int, MemoryAct]:
        acts = set(item.evidence.get("acts", ()))
        return {act.key: act for act in self._forms.journal[item.key] if act.key in acts}

    def _lost_mentions(self, tx: Changes, done: Sequence[PlanItem]) -> list[MentionRow]:
        planned = [(chunk, entity) for item in done for chunk, entity in item.evidence.get("mentions", ())]
        known = entities_of(act for item in done for act in self._forms.journal[item.key])
        entities = Entities(tx, known | {entity for _, entity in planned})
        for form in self._forms.made:
            journal = renamed(self._forms.journal[form.now.key], entities)
            self._lost[form.now.key] = lost_mentions(journal, self._acts, form.after.content_hash.hex())
        wanted = {(chunk, entities.now(entity)) for chunk, entity in planned}
        there = tx.acts.mentions([item.key for item in done])
        return [
            MentionRow(each.chunk, each.entity, each.origin) for each in there if (each.chunk, each.entity) in wanted
        ]
