"""Memories that change in place, and their revisions: statements. Pure text; values are always bound."""

from __future__ import annotations

_KEYS = "(select value from json_each(:keys))"
COUNT_OF_MEMORY = "select count(*), max(at) from revision where kind = 'memory' and item = ?"
