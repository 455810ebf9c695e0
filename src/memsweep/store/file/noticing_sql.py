"""The statements that note which memories and entities are changed. Pure text."""

from __future__ import annotations

from memsweep.store.things.every import COLUMNS

_ITEMS = ("memory", "entity")
_ROWS = {"insert": ("new",), "update": ("old", "new"), "delete": ("old",)}
_NOTE = "insert or ignore into noticed select"


def _trigger(table: str, event: str, noted: str) -> str:
    when = f" when {_differs(table)}" if event == "update" else ""
    return f"create temp trigger noticed_{table}_{event} before {event} on main.{table}{when} begin {noted} end;"


def _differs(table: str) -> str:
    """A statement may set what is there already."""
    was, will_be = (", ".join(f"{row}.{name}" for name in COLUMNS[table]) for row in ("old", "new"))
    return f"({was}) is not ({will_be})"


def _of_item(table: str, event: str) -> str:
    noted = (f"{_NOTE} {row}.uid where typeof({row}.uid) = 'text';" for row in _ROWS[event])
    return _trigger(table, event, " ".join(noted))


def _of_chunk(event: str) -> str:
    """A chunk is a part of its memory."""
    owner = "uid from main.memory where typeof(uid) = 'text' and id ="
    return _trigger("chunk", event, " ".join(f"{_NOTE} {owner} {row}.memory;" for row in _ROWS[event]))


BEGIN = "\n".join(
    (
        "create temp table noticed (uid text primary key) without rowid;",
        *(_of_item(table, event) for table in _ITEMS for event in _ROWS),
        *(_of_chunk(event) for event in _ROWS),
    )
)
NOTICED = "select cast(uid as blob) from temp.noticed order by uid"
END = "\n".join(
    (
        *(f"drop trigger temp.noticed_{table}_{event};" for table in (*_ITEMS, "chunk") for event in _ROWS),
        "drop table temp.noticed;",
    )
)
