"""Cypher of origins. Pure text; every value is a parameter."""

from __future__ import annotations

EVERY = "MATCH (o:Origin) RETURN o.key, o.door, o.client, o.client_version, o.session, o.tool, o.tier"
# What stands for an origin in a row of an answer; nothing where it is not known.
FIELDS = "o.door, o.client, o.client_version, o.session, o.tool, o.tier"
