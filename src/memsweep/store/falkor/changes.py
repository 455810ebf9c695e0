"""A transaction on a graph, as the collector and merges see it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memsweep.model.audit import AuditEvent
from memsweep.model.code import other_places
from memsweep.model.origin import Origin
from memsweep.model.times import to_micros
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.falkor import code_cypher, trash_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.memory_acts import FalkorMemoryActs
from memsweep.store.falkor.origins import origin_key
from memsweep.store.falkor.records import FalkorRecords
from memsweep.store.falkor.revisions import FalkorTexts
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.surveying import FalkorItems
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.things.code import CodeRootRow
from memsweep.store.trash import Clash, Clashes, SameText, Trash


class FalkorReads(WorkspaceReads):
    """The rows of a graph at one moment."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        super().__init__(FalkorRows(asked))
        self.items = FalkorItems(asked)
        self.texts = FalkorTexts(asked)
        self.records = FalkorRecords(asked)


class FalkorChanges(Changes):
    """Inside the caller's transaction."""

    texts: FalkorTexts

    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx
        self.items = FalkorItems(tx)
        self.texts = FalkorTexts(tx)
        self.records = FalkorRecords(tx)
        self.trash = FalkorTrash(tx)
        self.acts = FalkorMemoryActs(tx)

    def let_go(self, before: datetime, most: int) -> None:
        for step in trash_cypher.LET_GO:
            self._tx.do(step, [{"before": to_micros(before), "most": most}])

    def origin_key(self, origin: Origin) -> int | None:
        return origin_key(self._tx, origin)

    def audit(self, event: AuditEvent) -> None:
        add_event(self._tx, event)


class FalkorTrash(Trash):
    def __init__(self, tx: Transaction) -> None:
        super().__init__(FalkorRows(tx))
        self._tx = tx

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked, nodes = {"memories": sorted(memories)}, self._tx.nodes_of("TrashedMemory", memories)
        same = (trash_cypher.SAME_TEXTS, asked) if nodes is None else (trash_cypher.SAME_TEXTS_AT, {"nodes": nodes})
        files, texts = self._tx.ask_all((trash_cypher.FILES_OF, asked), same)
        return Clashes(self._indexed_again(files), [SameText(*row) for row in texts])

    def _indexed_again(self, files: Sequence[Row]) -> list[Clash]:
        """A file may be known by another root, under another path."""
        roots = [root.path for root in self._rows.find(CodeRootRow)] if files else []
        at: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for key, uid, root, path in files:
            for place in ((root, path), *other_places(root, path, roots)):
                at[place].append((key, uid))
        found = self._tx.ask(code_cypher.FILES_AT, places=[list(place) for place in at]) if at else []
        return [Clash(key, uid, other) for root, path, other in found for key, uid in at[root, path]]

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        asked = sorted(memories)
        return [key for (key,) in self._tx.ask(trash_cypher.CHUNKS_WITH, keys=asked)] if asked else []

    def hand_over(self, namesakes: Mapping[int, int]) -> None:
        rows = [{"entity": entity, "namesake": namesake} for entity, namesake in sorted(namesakes.items())]
        for step in (
            trash_cypher.MOVE_MENTIONS,
            trash_cypher.MOVE_STATEMENTS,
            trash_cypher.MOVE_SUBJECTS,
            trash_cypher.MOVE_OBJECTS,
            trash_cypher.MOVE_ALIASES,
        ):
            self._tx.do(step, rows)

    def free_places(self, memories: Collection[int]) -> None:
        if not memories:
            return
        labels = ("TrashedMemory", "Memory")  # what this same transaction has moved is still live when it is read
        queries = (trash_cypher.THREADS_AND_ROOTS.format(memory=label) for label in labels)
        found = self._tx.ask_all(*((query, {"keys": sorted(memories)}) for query in queries))
        rows = [row for each in found for row in each]
        threads = sorted({thread for thread, _ in rows if thread is not None})
        self._tx.do(trash_cypher.LAST_OF_THREAD, threads)
        self._tx.do(trash_cypher.FREE_ROOT, sorted({root for _, root in rows if root is not None}))
