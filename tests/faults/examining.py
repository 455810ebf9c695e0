"""What a home holds, and whether it is in order and can be used."""

import json
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.schedule.background import Background
from memsweep.store.words import spread_script
from tests.faults import lab

State = dict[str, Any]
_REGISTRY = "select name, file, description, created_at, deleted_at, receipt from workspace order by id"
_HAS_REGISTRY = "select 1 from sqlite_schema where name = 'workspace'"
_TABLES = "select name from sqlite_schema where type = 'table' and sql not like 'create virtual%' order by name"
_OF_THE_MARK = "deleted_at"  # is also in the registry, and follows it by a moment
_OWN_EVENTS = {"delete_workspace", "restore_workspace"}  # wait in the registry until the file has them
_HAS_WAITING = "select 1 from sqlite_schema where name = 'pending_event'"
_MOMENTS = {"code_file": 6, "code_skip": 5}


def state_of(home: Path) -> State:
    """Every row of the registry and of the files that it knows, but for what is made from other rows."""
    registry = home / "registry.db"
    entries = _query(registry, _REGISTRY) if registry.exists() and _query(registry, _HAS_REGISTRY) else []
    state: State = {"registry": entries}
    for _, file, _, _, deleted_at, _ in entries:
        path = home / "workspaces" / file
        if path.exists() and path.stat().st_size:
            state[file] = _rows(path)
            state[file]["workspace_events"] = sorted({*state[file].pop("own_events"), *_waiting(registry, file)})
        elif deleted_at is None:
            state[file] = "missing"
    return state


def difference(one: State, other: State) -> str:
    """The first few rows that are in only one of two states."""
    said = []
    for file in sorted({*one, *other}):
        if one.get(file) == other.get(file):
            continue
        left, right = one.get(file, {}), other.get(file, {})
        if not isinstance(left, dict) or not isinstance(right, dict):
            said.append(f"{file}: {str(left)[:300]} / {str(right)[:300]}")
            continue
        for table in sorted({*left, *right}):
            rows = set(map(repr, left.get(table, []))) ^ set(map(repr, right.get(table, [])))
            if rows:
                said.append(f"{file} {table}: {' | '.join(sorted(rows))[:300]}")
    return "; ".join(said[:4])


def faults_of(home: Path, out: Path | None = None, repo: Path | None = None) -> tuple[list[str], int]:
    """What is wrong with a home that nobody has open, and how many findings the doctor had to mend.

    Every workspace is examined and mended, read, written and read again; every backup in `out` is restored, and an
    index of `repo` completed.
    """
    said: list[str] = []
    mended = 0
    app = lab.open_app(home)
    try:
        for workspace in app.workspaces():
            found, repaired = _examine(app, workspace.id)
            said += found
            mended += repaired
        said += _use(app)
        Background(app).status()
        if repo is not None:
            app.memory().code.index(repo)
            said += _examine(app, app.settings.workspace)[0]
        for backup in sorted(out.glob("*.backup")) if out else []:
            app.restore(backup, "check", replace=True)
    except MemsweepError as error:
        said.append(f"refused: {error}")
    except Exception as error:  # noqa: BLE001  # whatever it is, it is no answer
        said.append(f"raised {type(error).__name__}: {error}")
    finally:
        lab.close_app(app)
    return said, mended


def _examine(app: App, workspace: str) -> tuple[list[str], int]:
    memory = app.memory(workspace)
    if not memory.care.doctor().findings:
        return [], 0
    checkup = memory.care.doctor(repair=True)
    left = [f"{workspace}: the doctor leaves {finding}" for finding in checkup.left]
    return left, len(checkup.findings) - len(left)


def _use(app: App) -> list[str]:
    memory = app.memory()
    added = memory.remember("written after the fault, in peace")
    said = [] if memory.get(added.memory_id).text else ["what was just written cannot be read"]
    if not any(hit.passage.memory_id == added.memory_id for hit in memory.search("after the fault in peace").hits):
        said.append("what was just written is not found")
    return said


def _query(path: Path, statement: str) -> list[Any]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return list(db.execute(statement))
    finally:
        db.close()


def _rows(path: Path) -> dict[str, list[Any]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.create_scalar_function("spread_script", spread_script, 1, deterministic=True)
        tables = [name for (name,) in db.execute(_TABLES) if "_fts" not in str(name)]
        rows = {str(table): sorted(db.execute(f"select * from {table}"), key=repr) for table in tables}
    finally:
        db.close()
    for table, column in _MOMENTS.items():  # by the clock of the system, which nobody pins
        rows[table] = [(*row[:column], *row[column + 1 :]) for row in rows.get(table, [])]
    rows["meta"] = [(key, value) for key, value in rows.get("meta", []) if key != _OF_THE_MARK]
    audit = [row[1:] for row in rows.get("audit", [])]
    rows["own_events"] = [
        (at, actor, action, about, why) for at, actor, action, about, _, why in audit if action in _OWN_EVENTS
    ]
    rows["audit"] = sorted((row for row in audit if row[2] not in _OWN_EVENTS), key=repr)
    rows["sqlite_sequence"] = [row for row in rows.get("sqlite_sequence", []) if row[0] != "audit"]
    return rows


def _waiting(registry: Path, file: str) -> list[tuple[Any, ...]]:
    """What the audit log of a file will say as soon as the file can be written."""
    if not _query(registry, _HAS_WAITING):
        return []
    waiting = _query(registry, "select file, event from pending_event")
    return [tuple(json.loads(event).values()) for of, event in waiting if of == file]
