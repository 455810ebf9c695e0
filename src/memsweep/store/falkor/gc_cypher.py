"""The collector's Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

# tombstones
BURIED = "UNWIND $hashes AS hash MATCH (t:Tombstone {hash: hash}) RETURN t.hash"
