"""Keep the mirror: a folder in the home for each folder of a client, readable by nobody else.

`files/` has every content once, under its digest; `mirror.json` says which file had which; `plans/` and `receipts/`
are small files of their own. Contents are on the disk before anything speaks of them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from memsweep.adopt.clients import checked_place
from memsweep.adopt.mirror import Mirror
from memsweep.errors import Conflict, MemsweepError, NotFound, StoreBusy, StoreCorrupt
from memsweep.model.adopt import (
    CLIENT_RECEIPT,
    ClientPlan,
    ClientReceipt,
    FileChange,
    FileVersion,
    Item,
    Need,
    NoteFinding,
    NotePlace,
    digest_of,
)
from memsweep.model.ids import is_own_id
from memsweep.model.text import shown
from memsweep.model.times import iso
from memsweep.regular import read_regular
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.store.file.connect import make_folder

FOLDER = "clients"
WAIT_SECONDS = 30.0
_MOST_BYTES = 256 * 1024**2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Vault:
    """The mirror of one folder of a client."""

    folder: Path

    @property
    def is_there(self) -> bool:
        return self.folder.is_dir()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time changes the mirror and the client's files; a crash lets go."""
        from filelock import FileLock, Timeout

        for name in ("", "files", "plans", "receipts"):
            make_folder(self.folder / name)
        lock = FileLock(self.folder / "lock", mode=0o600)
        try:
            with plain_refusals(self.folder / "lock"):
                lock.acquire(timeout=WAIT_SECONDS)
        except Timeout:
            raise StoreBusy(
                f"another process has used the mirror in {self.folder} for more than {WAIT_SECONDS:.0f} s.",
                hint="Try again when it has ended.",
            ) from None
        try:
            yield
        finally:
            lock.release()

    def mirror(self) -> Mirror:
        return self._read(self.folder / "mirror.json", read_mirror) or Mirror()

    def save_mirror(self, mirror: Mirror) -> None:
        self._write(self.folder / "mirror.json", mirror_text(mirror).encode())

    def keep(self, data: bytes) -> str:
        """Keep a content; its digest."""
        digest = digest_of(data)
        place = self._content(digest)
        if not place.exists():
            make_folder(place.parent)
            self._write(place, data)
        return digest

    def content(self, digest: str) -> bytes:
        """Exactly what was kept, or an error: never something else."""
        try:
            data = read_regular(self._content(digest), _MOST_BYTES, follow_symlinks=False)
        except OSError:
            raise NotFound(f"the mirror has no content {digest[:12]} any more.", hint="It was purged.") from None
        if digest_of(data) != digest:
            raise StoreCorrupt(f"the content {digest[:12]} of the mirror is damaged; nothing was changed.")
        return data

    def has(self, digest: str) -> bool:
        return self._content(digest).exists()

    def save_plan(self, plan: ClientPlan) -> None:
        self._write(self.folder / "plans" / f"{plan.id}.json", plan_text(plan).encode())

    def plan(self, plan_id: str) -> ClientPlan:
        known = is_own_id(plan_id, "plan")
        found = self._read(self.folder / "plans" / f"{plan_id}.json", read_plan) if known else None
        if found is None:
            raise NotFound(f"plan {shown(plan_id)} does not exist, or was applied.", hint="Make a new one.")
        return found

    def use_plan(self, plan_id: str) -> None:
        """A plan is applied once."""
        with plain_refusals(self.folder):
            (self.folder / "plans" / f"{plan_id}.json").unlink()

    def drop_plans(self, now: datetime) -> None:
        """Plans that nobody may apply any more."""
        for file in (self.folder / "plans").glob("*.json"):
            with suppress(OSError, StoreCorrupt):
                plan = self._read(file, read_plan)
                if plan and plan.expires_at < now:
                    file.unlink()

    def save_receipt(self, receipt: ClientReceipt) -> None:
        self._write(self.folder / "receipts" / f"{receipt.id}.json", receipt_text(receipt).encode())

    def receipt(self, receipt_id: str) -> ClientReceipt:
        known = is_own_id(receipt_id, CLIENT_RECEIPT)
        found = self._read(self.folder / "receipts" / f"{receipt_id}.json", read_receipt) if known else None
        if found is None:
            raise NotFound(f"receipt {shown(receipt_id)} does not exist, or was purged.")
        if found.undone_at:
            raise Conflict(f"receipt {receipt_id} was undone already; nothing was changed.")
        return found

    def receipts(self) -> list[ClientReceipt]:
        """All of them, the oldest first."""
        found = [self._read(file, read_receipt) for file in (self.folder / "receipts").glob("*.json")]
        return sorted((each for each in found if each), key=lambda each: (each.at, each.id))

    def has_receipt(self, receipt_id: str) -> bool:
        return is_own_id(receipt_id, CLIENT_RECEIPT) and (self.folder / "receipts" / f"{receipt_id}.json").is_file()

    def mark_undone(self, receipt: ClientReceipt, now: datetime) -> None:
        self.save_receipt(replace(receipt, undone_at=now))

    def drop_receipt(self, receipt_id: str) -> None:
        with plain_refusals(self.folder):
            (self.folder / "receipts" / f"{receipt_id}.json").unlink()

    def free(self, needed: Iterable[str]) -> int:
        """Remove contents that nothing speaks of; how many bytes."""
        keep, freed = set(needed), 0
        for file in (self.folder / "files").glob("??/*"):
            if file.name not in keep and file.is_file():
                size = file.stat().st_size
                with plain_refusals(file):
                    file.unlink()
                freed += size
        return freed

    def _content(self, digest: str) -> Path:
        return self.folder / "files" / digest[:2] / digest

    def _write(self, place: Path, data: bytes) -> None:
        with draft_of(place, replace=True) as draft, plain_refusals(place):
            draft.write_bytes(data)

    def _read(self, place: Path, read: Callable[[str], T]) -> T | None:
        try:
            return read(read_regular(place, _MOST_BYTES, follow_symlinks=False).decode("ascii"))
        except FileNotFoundError:
            return None
        except (UnreadableRecord, UnicodeDecodeError) as error:
            raise StoreCorrupt(
                f"{place} is damaged: {error}; nothing was changed.",
                hint="Move it away; the contents in the folder files beside it are as they were.",
            ) from None
        except OSError as error:
            with plain_refusals(place):
                raise error
            raise


def vault_of(home: Path, client: str, root: str) -> Vault:
    return Vault(home / FOLDER / f"{client}-{digest_of(os.fsencode(root))[:12]}")


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
