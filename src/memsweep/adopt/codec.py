"""Mirrors, plans and receipts as JSON. Pure. Names may hold bytes that are no UTF-8; escapes keep them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from memsweep.adopt.clients import checked_place
from memsweep.adopt.mirror import Mirror
from memsweep.errors import MemsweepError
from memsweep.model.adopt import ClientPlan, ClientReceipt, FileChange, FileVersion, Item, Need, NoteFinding, NotePlace
from memsweep.model.times import iso

T = TypeVar("T")
FORMAT = 1


class UnreadableRecord(ValueError):
    """Not what we write."""


def mirror_text(mirror: Mirror) -> str:
    files = [
        [*place, [[iso(each.at), *each[1:]] for each in known]] for place, known in sorted(mirror.versions.items())
    ]
    return _written({"files": files})


def read_mirror(text: str) -> Mirror:
    def read(value: dict[str, Any]) -> Mirror:
        return Mirror(
            {
                _place([store, name]): tuple(
                    FileVersion(_time(at), _digest(digest), int(size), float(changed_at), str(receipt))
                    for at, digest, size, changed_at, receipt in known
                )
                for store, name, known in value["files"]
                if known
            }
        )

    return _read(text, read)


def plan_text(plan: ClientPlan) -> str:
    items = [
        [
            item.kind,
            item.action,
            item.place,
            item.beside,
            item.line,
            item.details,
            [[*need.place, need.digest] for need in item.needs],
        ]
        for item in plan.items
    ]
    findings = [[each.kind, each.place, each.beside, each.details] for each in plan.findings]
    times = {"made_at": iso(plan.made_at), "expires_at": iso(plan.expires_at)}
    return _written({"id": plan.id, "client": plan.client, **times, "items": items, "findings": findings})


def read_plan(text: str) -> ClientPlan:
    def read(value: dict[str, Any]) -> ClientPlan:
        return ClientPlan(
            str(value["id"]),
            str(value["client"]),
            _time(value["made_at"]),
            _time(value["expires_at"]),
            tuple(_item(*each) for each in value["items"]),
            tuple(
                NoteFinding(kind, NotePlace(*at), _beside(by), tuple(said)) for kind, at, by, said in value["findings"]
            ),
        )

    return _read(text, read)


def receipt_text(receipt: ClientReceipt) -> str:
    changes = [[*each.place, each.before, each.after] for each in receipt.changes]
    undone = iso(receipt.undone_at) if receipt.undone_at else None
    head = {"id": receipt.id, "client": receipt.client, "at": iso(receipt.at), "action": receipt.action}
    return _written({**head, "changes": changes, "undone_at": undone})


def read_receipt(text: str) -> ClientReceipt:
    def read(value: dict[str, Any]) -> ClientReceipt:
        return ClientReceipt(
            str(value["id"]),
            str(value["client"]),
            _time(value["at"]),
            str(value["action"]),
            tuple(
                FileChange(_place([store, name]), _digest(before), _digest(after))
                for store, name, before, after in value["changes"]
            ),
            _time(value["undone_at"]) if value["undone_at"] else None,
        )

    return _read(text, read)


def _written(value: dict[str, Any]) -> str:
    """With a digest: a file that was cut or edited is not taken for one of ours."""
    return json.dumps({"format": FORMAT, "digest": _sum(value), **value}, ensure_ascii=True, indent=0)


def _sum(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, sort_keys=True).encode()).hexdigest()


def _read(text: str, read: Callable[[dict[str, Any]], T]) -> T:
    try:
        value = json.loads(text)
        form, digest = value.pop("format"), value.pop("digest")
        if form != FORMAT or digest != _sum(value):
            raise UnreadableRecord("its digest does not match" if form == FORMAT else f"it has format {form!r:.20}")
        return read(value)
    except UnreadableRecord:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, MemsweepError) as error:
        raise UnreadableRecord(f"it cannot be read ({type(error).__name__})") from None


def _item(kind: Any, action: Any, place: Any, beside: Any, line: str, details: Any, needs: Any) -> Item:
    return Item(
        kind,
        action,
        _place(place),
        _beside(beside),
        line,
        tuple(details),
        tuple(Need(_place([store, name]), _digest(digest)) for store, name, digest in needs),
    )


def _place(value: Any) -> NotePlace:
    store, name = value
    return checked_place(NotePlace(store, name))


def _beside(value: Any) -> NotePlace | None:
    return None if value is None else _place(value)


def _digest(value: Any) -> str:
    if not isinstance(value, str) or (value and (len(value) != 64 or not set(value) <= set("0123456789abcdef"))):
        raise ValueError("no digest")
    return value


def _time(value: str) -> datetime:
    return datetime.fromisoformat(value)
