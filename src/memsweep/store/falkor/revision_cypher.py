"""Memories that change in place, and their revisions: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

COUNT_OF_MEMORY = """
    MATCH (m:Memory {id: $id}) MATCH (r:Revision) WHERE r.kind = 'memory' AND r.item = m.key
    RETURN count(r), max(r.at)"""
