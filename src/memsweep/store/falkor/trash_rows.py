"""The trash as nodes: what comes back, and what is freed for good. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from memsweep.model.code import other_places
from memsweep.model.ids import findable
from memsweep.model.selection import Selection
from memsweep.store.falkor import code_cypher, cypher, memory_act_cypher, trash_cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import Row
from memsweep.store.ports.trash import Clash, Clashes, SameText, TrashedChunk
from memsweep.store.things.code import CodeRootRow


class FalkorTrash:
    """Implements `memsweep.store.ports.trash.TrashRows`."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.freed_chunks: set[int] = set()

    def find(self, item_id: str) -> tuple[str, int] | None:
        found = self._tx.ask_all(*((query, {"id": findable(item_id)}) for query in trash_cypher.TRASHED_ITEM))
        return next(((kind, key) for rows in found for kind, key in rows), None)

    def held_by(self, receipts: Collection[int]) -> Selection:
        asked = (trash_cypher.MEMORIES_OF, trash_cypher.CHUNKS_OF, trash_cypher.ENTITIES_OF, trash_cypher.RELATIONS_OF)
        found = self._tx.ask_all(*((query, {"receipts": sorted(receipts)}) for query in asked))
        return Selection(*({key for (key,) in rows} for rows in found))

    def holders(self, held: Selection) -> list[tuple[int, str]]:
        asked = ((trash_cypher.MEMORY_HOLDERS, held.memories), (trash_cypher.ENTITY_HOLDERS, held.entities))
        found = self._tx.ask_all(*((query, {"keys": sorted(keys)}) for query, keys in asked))
        return [(receipt, uid) for rows in found for receipt, uid in rows]

    def memories_of(self, receipt: int) -> list[int]:
        found = dict(map(tuple, self._tx.ask(trash_cypher.MEMORIES_AT, receipt=receipt)))
        self._tx.nodes["TrashedMemory"] = found
        return list(found)

    def clashes(self, memories: Collection[int]) -> Clashes:
        if not memories:
            return Clashes([], [])
        asked, nodes = {"memories": sorted(memories)}, self._tx.nodes_of("TrashedMemory", memories)
        same = (trash_cypher.SAME_TEXTS, asked) if nodes is None else (trash_cypher.SAME_TEXTS_AT, {"nodes": nodes})
        files, texts = self._tx.ask_all((trash_cypher.FILES_OF, asked), same)
        return Clashes(self._indexed_again(files), [SameText(*row) for row in texts])

    def _indexed_again(self, files: Sequence[Row]) -> list[Clash]:
        """A file may be known by another root, under another path."""
        roots = [root.path for root in FalkorRows(self._tx).find(CodeRootRow)] if files else []
        at: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
        for key, uid, root, path in files:
            for place in ((root, path), *other_places(root, path, roots)):
                at[place].append((key, uid))
        found = self._tx.ask(code_cypher.FILES_AT, places=[list(place) for place in at]) if at else []
        return [Clash(key, uid, other) for root, path, other in found for key, uid in at[root, path]]

    def chunks_of(self, receipt: int) -> list[TrashedChunk]:
        rows = self._tx.ask(trash_cypher.CHUNKS_WITH_MEMORIES, receipt=receipt)
        self._tx.nodes["TrashedChunk"] = {row[0]: row[-1] for row in rows}
        return [TrashedChunk(*row[:-1]) for row in rows]

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        asked = sorted(memories)
        return [key for (key,) in self._tx.ask(trash_cypher.CHUNKS_WITH, keys=asked)] if asked else []

    def named_by_plans(self, held: Iterable[tuple[int, int]]) -> set[int]:
        items = [list(pair) for pair in held]
        rows = self._tx.ask(trash_cypher.NAMED_BY_PLANS, items=items) if items else []
        return {key for (key,) in rows}

    def restore(self, back: Selection) -> None:
        for label, by_key, by_node, keys in (
            ("TrashedMemory", trash_cypher.RESTORE_MEMORY, trash_cypher.RESTORE_MEMORY_AT, back.memories),
            ("TrashedChunk", trash_cypher.RESTORE_CHUNK, trash_cypher.RESTORE_CHUNK_AT, back.chunks),
        ):
            nodes = self._tx.nodes_of(label, keys)
            self._tx.do(*((by_key, sorted(keys)) if nodes is None else (by_node, nodes)))
        self._tx.do(trash_cypher.RESTORE_ENTITY, sorted(back.entities))

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

    def free(self, gone: Selection) -> None:
        steps = (
            (trash_cypher.FREE_STATEMENTS, gone.relations),
            (trash_cypher.FREE_RELATION, gone.relations),
            (trash_cypher.FREE_CONTRIBUTIONS, gone.relations),
            (trash_cypher.FREE_CHUNK, gone.chunks),
            (code_cypher.DROP_EMBEDDING, gone.chunks),
            (memory_act_cypher.FREE_OF_MEMORY, gone.memories),
            (trash_cypher.FREE_MEMORY, gone.memories),
            (trash_cypher.FREE_ENTITY, gone.entities),
            (trash_cypher.DROP_ALIASES_OF, gone.entities),
        )
        for step, keys in steps:
            self._tx.do(step, sorted(keys))
        self._free_threads_and_roots(gone.memories)
        self._free_names(gone.chunks)
        self.freed_chunks |= gone.chunks

    def _free_threads_and_roots(self, memories: Collection[int]) -> None:
        """Those of the memories that nothing else needs."""
        if not memories:
            return
        labels = ("TrashedMemory", "Memory")  # what this same transaction has moved is still live when it is read
        queries = (trash_cypher.THREADS_AND_ROOTS.format(memory=label) for label in labels)
        found = self._tx.ask_all(*((query, {"keys": sorted(memories)}) for query in queries))
        rows = [row for each in found for row in each]
        threads = sorted({thread for thread, _ in rows if thread is not None})
        self._tx.do(trash_cypher.FREE_THREAD, threads)
        self._tx.do(trash_cypher.LAST_OF_THREAD, threads)
        self._tx.do(trash_cypher.FREE_ROOT, sorted({root for _, root in rows if root is not None}))

    def _free_names(self, chunks: Collection[int]) -> None:
        """Names that were seen in the chunks only."""
        if not chunks:
            return
        dropped, kept = [], []
        for key, name, evidence, seen in self._tx.ask(trash_cypher.NAMES_OF_CHUNKS, chunks=sorted(chunks)):
            if left := [chunk for chunk in seen if chunk not in chunks]:
                kept.append({"name_key": key, "name": name, "evidence": evidence, "chunks": left})
            else:
                dropped.append(key)
        self._tx.do(cypher.SET_NAME_SEEN, kept)
        self._tx.do(cypher.DROP_NAME_SEEN, dropped)

    def forget_plans(self, plan_ids: Collection[str]) -> None:
        self._tx.do(trash_cypher.FREE_PLAN_ITEMS, plan_ids)
