"""What a home holds, in a form that two runs of the same operation have in common: no ids, no times, no numbers."""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

from tests.collector.stores import broken
from tests.support import store_files

View = dict[str, Counter[str]]

# What is remembered; everything else is a record of what was done.
CONTENT = {
    "memory": """
        select memory.text, tags, source, metadata, thread.uid, stale, pinned, memory.trash is not null, code_file.path,
               (select count(*) from chunk where chunk.memory = memory.id)
        from memory left join thread on thread.id = memory.thread
        left join code_file on code_file.memory = memory.id""",
    "entity": "select name, type, pinned, handed_in, round(current, 2), trash is not null from entity",
    "relation": """
        select a.name, relation, b.name, round(weight, 3), evidence, relation.handed_in, invalid_at is null,
               relation.trash is not null,
               (select group_concat(memory.text) from relation_source join memory on memory.id = memory
                where relation_source.relation = relation.id)
        from relation join entity a on a.id = subject join entity b on b.id = object""",
    "mention": """
        select chunk.text, entity.name, entity.type, mention.trash is not null
        from mention join chunk on chunk.id = chunk join entity on entity.id = entity""",
    "alias": "select alias.name, entity.name from alias join entity on entity.id = alias.entity",
    "segment": """
        select project.uid, text, segment.type, pinned, stash is not null, trash is not null
        from segment join project on project.id = project""",
    "project": "select uid, tokens, segments, stashed, config from project",
    "tombstone": "select hash from tombstone",
}
RECORDS = {
    "plan": "select strategy, receipt is not null, (select count(*) from plan_item where plan = plan.id) from plan",
    "receipt": "select action, strategy, undone_at is not null, purged_at is not null from receipt",
    "audit": "select action from audit",
    "run": "select filters, runs from code_scope",
}


def view(home: Path) -> View:
    """Every workspace by name (deleted ones too), table by table; and the registry."""
    with store_files.open_file(home / "registry.db") as db:
        rows = list(db.execute("select name, file, deleted_at is not null from workspace"))
    found: View = {"registry": Counter(f"{name} {'deleted' if deleted else 'live'}" for name, _, deleted in rows)}
    for name, file, deleted in rows:
        path = home / "workspaces" / file
        where = f"{name}{' (deleted)' if deleted else ''}"
        if not path.exists():
            found[f"{where}: file missing"] = Counter({"": 1})
            continue
        with store_files.open_file(path) as db:
            for table, statement in {**CONTENT, **RECORDS}.items():
                found[f"{where}: {table}"] = Counter(map(repr, db.execute(statement)))
            marked = db.execute("select count(*) from meta where key = 'deleted_at' and value is not null").fetchone()
            found[f"{where}: marked as deleted"] = Counter({str(bool(marked[0])): 1})
    schedule = home / "schedule.json"
    if schedule.exists():
        found["schedule"] = Counter([json.dumps(_without_times(json.loads(schedule.read_text())), sort_keys=True)])
    return found


def _without_times(record: Any) -> Any:
    if isinstance(record, dict):
        kept = {key: value for key, value in record.items() if not key.endswith(("_run", "_at", "receipts", "receipt"))}
        return {key: _without_times(value) for key, value in kept.items()}
    return [_without_times(each) for each in record] if isinstance(record, list) else record


def content(found: View) -> View:
    """A view without the records."""
    return {key: rows for key, rows in found.items() if key.rsplit(": ", 1)[-1] not in RECORDS and key != "schedule"}


def records(found: View) -> View:
    return {key: rows for key, rows in found.items() if key.rsplit(": ", 1)[-1] in RECORDS}


def difference(left: View, right: View) -> str:
    """The first few rows in which two views differ."""
    said = []
    for key in sorted(left.keys() | right.keys()):
        mine, theirs = left.get(key, Counter()), right.get(key, Counter())
        said += [f"{key} -{row}" for row in list(mine - theirs)[:2]] + [
            f"{key} +{row}" for row in list(theirs - mine)[:2]
        ]
    return "; ".join(said)[:600]


def flaws(home: Path) -> list[str]:
    """What is broken in the files of the live workspaces, as seen without memsweep."""
    found = []
    for file in store_files.files_of(home):
        try:
            found += [f"{file.name}: {flaw}" for flaw in broken(file)]
        except apsw.Error as error:
            found.append(f"{file.name}: {error}")
    return found


def leftovers(home: Path) -> list[str]:
    """Files that no workspace of the registry owns."""
    with store_files.open_file(home / "registry.db") as db:
        known = {Path(str(file)).stem for (file,) in db.execute("select file from workspace")}
    files = [path for path in (home / "workspaces").iterdir() if not path.name.startswith(".")]
    return _described(path for path in files if path.name.split(".")[0] not in known)


def drafts(place: Path) -> list[str]:
    """What killed processes left of files that they were writing; the next one of their kind sweeps them away."""
    return _described(path for folder in (place, place / "home" / "workspaces") for path in folder.glob(".*.draft*"))


def _described(paths: Iterable[Path]) -> list[str]:
    return sorted(f"{path.name[:12]}… ({path.stat().st_size} bytes)" for path in paths)
