"""Cypher of origins. Pure text; every value is a parameter."""

from __future__ import annotations

# They are few; and an index does not find what is empty.
FIND = """
    MATCH (o:Origin) WHERE o.session = $session AND o.tool = $tool AND o.client = $client
      AND o.client_version = $version AND o.door = $door AND o.tier = $tier RETURN o.key ORDER BY o.key LIMIT 1"""
EVERY = "MATCH (o:Origin) RETURN o.key, o.door, o.client, o.client_version, o.session, o.tool, o.tier"
ADD = "CREATE (:Origin {*row})"
# What stands for an origin in a row of an answer; nothing where it is not known.
FIELDS = "o.door, o.client, o.client_version, o.session, o.tool, o.tier"
