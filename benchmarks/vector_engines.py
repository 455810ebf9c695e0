"""FalkorDB's vector index against Redis vector sets in the same server: insert, search, delete, restart, memory."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from common import arguments, table, write_json
from falkor_server import Server, server_in

DIMENSION, BATCH, QUERIES, DELETED, COUNT = 256, 200, 200, 500, 100
Matrix = npt.NDArray[np.float32]


class VectorSet:
    name = "vector set"

    def __init__(self, server: Server) -> None:
        self._client = server.client()

    def insert(self, keys: range, rows: Matrix) -> None:
        pipe = self._client.pipeline(transaction=False)
        for key, row in zip(keys, rows, strict=True):
            pipe.execute_command("VADD", "v", "FP32", row.tobytes(), key, "Q8")
        pipe.execute()

    def search(self, row: Matrix) -> list[int]:
        return [
            int(key)
            for key in self._client.execute_command("VSIM", "v", "FP32", row.tobytes(), "COUNT", COUNT, "EF", 400)
        ]

    def delete(self, key: int) -> None:
        self._client.execute_command("VREM", "v", key)


class VectorIndex:
    name = "vector index"

    def __init__(self, server: Server) -> None:
        self._client = server.client()
        options = "{dimension: 256, similarityFunction: 'cosine', efRuntime: 400}"
        index = f"CREATE VECTOR INDEX FOR (e:Embedding) ON (e.vector) OPTIONS {options}"
        if not self._client.exists("g"):
            self._query(index)
            self._query("CREATE INDEX FOR (e:Embedding) ON (e.key)")

    def _query(self, text: str) -> Any:
        return self._client.execute_command("GRAPH.QUERY", "g", text, "--compact")

    def insert(self, keys: range, rows: Matrix) -> None:
        listed = ",".join(f"{{key:{key},v:{row.tolist()}}}" for key, row in zip(keys, rows, strict=True))
        made = "CREATE (:Embedding {key: row.key, vector: vecf32(row.v)})"
        self._query(f"CYPHER rows=[{listed}] UNWIND $rows AS row {made}")

    def search(self, row: Matrix) -> list[int]:
        found = self._query(
            f"CYPHER q={row.tolist()} CALL db.idx.vector.queryNodes('Embedding', 'vector', {COUNT}, vecf32($q))"
            " YIELD node RETURN node.key"
        )
        return [cell[0][1] for cell in found[1]]

    def delete(self, key: int) -> None:
        self._query(f"CYPHER key={key} MATCH (e:Embedding {{key: $key}}) DELETE e")


def timed(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def measure(kind: type[VectorSet] | type[VectorIndex], rows: Matrix, queries: Matrix) -> dict[str, float]:
    count = len(rows)
    with tempfile.TemporaryDirectory(prefix="memsweep-vectors-") as folder, server_in(Path(folder)) as server:
        engine = kind(server)
        before = server.used_bytes()
        inserting = timed(
            lambda: [
                engine.insert(range(at, min(at + BATCH, count)), rows[at : at + BATCH]) for at in range(0, count, BATCH)
            ]
        )
        used = server.used_bytes() - before
        times, right = [], 0
        for query in queries:
            found: list[int] = []
            times.append(timed(lambda query=query, found=found: found.extend(engine.search(query))))  # type: ignore[misc]
            right += len(set(found) & set(np.argsort(-(rows @ query))[:COUNT].tolist()))
        deleting = timed(lambda: [engine.delete(key) for key in range(DELETED)])
        server.rewrite_log()
        server.stop()
        restarting = server.start()
        return {
            "inserts_per_second": round(count / inserting, 1),
            "search_p50_ms": round(1000 * statistics.median(times), 2),
            "recall_at_100": round(right / (COUNT * len(queries)), 4),
            "delete_ms": round(1000 * deleting / DELETED, 3),
            "restart_seconds": round(restarting, 2),
            "bytes_per_vector": round(used / count),
        }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--vectors", type=int, default=100_000, help="how many (%(default)s)")
    options = parser.parse_args()
    random = np.random.default_rng(7)
    centres = random.standard_normal((500, DIMENSION)).astype(np.float32)
    rows = centres[random.integers(0, 500, options.vectors)] + random.standard_normal(
        (options.vectors, DIMENSION)
    ).astype(np.float32)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    queries = rows[random.integers(0, len(rows), QUERIES)]
    kinds: tuple[type[VectorSet] | type[VectorIndex], ...] = (VectorSet, VectorIndex)
    measured = {kind.name: measure(kind, rows, queries) for kind in kinds}
    print(
        table(
            ["", *measured],
            [[name, *(str(each[name]) for each in measured.values())] for name in next(iter(measured.values()))],
        )
    )
    write_json(options.json, "vector_engines", (), vectors=options.vectors, dimension=DIMENSION, measured=measured)


if __name__ == "__main__":
    main()
