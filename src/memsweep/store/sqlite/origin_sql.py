"""Statements of origins. Pure text; values are always bound."""

from __future__ import annotations

FIND = """
    select id from origin
    where session = :session and tool = :tool and client = :client and client_version = :version and door = :door
      and tier = :tier"""
ADD = """
    insert into origin (door, client, client_version, session, tool, tier)
    values (:door, :client, :version, :session, :tool, :tier) returning id"""
# What stands for an origin in a row of an answer; nothing where it is not known.
FIELDS = "origin.door, origin.client, origin.client_version, origin.session, origin.tool, origin.tier"
