"""The operations that are killed, as a table, and the home that each of them begins with."""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from tests.faults.doors import Act
from tests.secrets.lines import positives
from tests.support import store_files

Given = Mapping[str, Any]
Law = Literal["atomic", "staged", "converging"]


def open_app(place: Path, **settings: str) -> App:
    return make_app(load_settings({"MEMSWEEP_HOME": str(place / "home"), "MEMSWEEP_GC_PLAN_HOURS": "1000", **settings}))


def _no_preparation(place: Path) -> None: ...


@dataclass(frozen=True, slots=True)
class Operation:
    """`acts` are the doors it can be done at.

    atomic       it is done, or nothing is
    staged       several transactions: each workspace is as before or as it will be, and doing it again completes it
    converging   many transactions: doing it again leads where an undisturbed run leads
    """

    acts: Callable[[Given, Path], list[Act]]
    law: Law = "atomic"
    prepare: Callable[[Path], None] = _no_preparation
    settings: tuple[tuple[str, str], ...] = ()


def tool(name: str, /, **arguments: Any) -> Act:
    return Act(tool=name, arguments=arguments)


def command(*words: str) -> Act:
    return Act(command=words)


TEXT = "Grace Hopper wrote the compiler in Philadelphia, and Alan Turing read it."
FACT = {"from": "Grace Hopper", "relation": "knows", "to": "Alan Turing"}
LONG = "A long night at the observatory; the telescope of Maria Mitchell found a comet. " * 60
SEGMENT = {"segment_id": "fresh", "text": "a fresh message", "type": "message"}
PHRASE = "DELETE ALL MEMORIES"


def _damage(place: Path) -> None:
    """Things that `doctor --repair` mends, each in a transaction of its own."""
    with store_files.open_file(store_files.file_of(place / "home")) as db, db:
        db.execute("delete from vector where chunk in (select id from chunk order by id limit 2)")
        db.execute("delete from memory_tag")
        db.execute("delete from relation_source where relation = (select min(relation) from relation_source)")
        db.execute("insert into mention (chunk, entity) values (999999, 999999)")


_SCHEDULE = (("MEMSWEEP_SCHEDULE_STRATEGIES", "expired"), ("MEMSWEEP_SCHEDULE_PURGE_DAYS", "0"))

OPERATIONS: dict[str, Operation] = {
    "add": Operation(
        lambda g, p: [
            tool("add_memory", text=TEXT, tags=["new"], relations=[FACT], thread_id="talk"),
            command("remember", TEXT, "--tag", "new", "--thread", "talk"),
        ]
    ),
    "add long": Operation(lambda g, p: [tool("add_memory", text=LONG), command("remember", LONG)]),
    "add again": Operation(lambda g, p: [tool("add_memory", text=g["text"], tags=["again"])]),
    "first add": Operation(
        lambda g, p: [tool("add_memory", text=TEXT, workspace_id="new"), command("remember", TEXT, "-w", "new")],
        "converging",
    ),
    "update": Operation(
        lambda g, p: [
            tool("update_memory", memory_id=g["note"], text=TEXT, tags=["new"]),
            command("update", g["note"], TEXT, "--tag", "new"),
        ]
    ),
    "undo of an update": Operation(
        lambda g, p: [tool("undo_prune", receipt_id=g["updated"]), command("undo", g["updated"])]
    ),
    "redact": Operation(
        lambda g, p: [
            tool("prune_memory", dry_run=False, confirm=True, plan_id=g["redaction"]),
            command("prune", "--plan", g["redaction"], "--yes"),
        ]
    ),
    "pin": Operation(lambda g, p: [tool("pin", id=g["note"]), command("pin", g["note"])]),
    "relate": Operation(
        lambda g, p: [
            tool("graph_relate", from_entity="Ada", relation="wrote", to_entity="Notes", replaces=True),
            command("graph", "relate", "Ada", "wrote", "Notes", "--replaces"),
        ]
    ),
    "relate batch": Operation(lambda g, p: [tool("graph_relate", batch=g["batch"])]),
    "reinforce": Operation(
        lambda g, p: [tool("graph_reinforce", from_entity="Ada", relation="knows", to_entity="Hub")]
    ),
    "build": Operation(lambda g, p: [tool("build_graph", text="Lin (Person) -[WORKS_ON]-> Engine (Project)")]),
    "decay": Operation(lambda g, p: [tool("graph_decay", dry_run=False)]),
    "merge": Operation(
        lambda g, p: [
            tool("merge_entities", ids=["Ring one", "Ring two"], into="Hub", dry_run=False),
        ]
    ),
    "merge at a terminal": Operation(
        lambda g, p: [command("graph", "merge", "Ring one", "Ring two", "--into", "Hub", "--yes")], "staged"
    ),
    "undo of a merge": Operation(
        lambda g, p: [tool("undo_prune", receipt_id=g["merged"]), command("undo", g["merged"])]
    ),
    "unmerge": Operation(lambda g, p: [tool("unmerge_entity", entity="Hub", name="Half", memory_ids=[g["note"]])]),
    "import": Operation(
        lambda g, p: [
            tool("import_graph", content=g["graph"]),
            command("graph", "import", str(p / "graph.json")),
        ]
    ),
    "index": Operation(
        lambda g, p: [tool("index_codebase", repo_path=g["repo"]), command("index", g["repo"])], "converging"
    ),
    "plan": Operation(lambda g, p: [tool("prune_memory", strategy="expired")]),
    "apply": Operation(
        lambda g, p: [
            tool("prune_memory", dry_run=False, confirm=True, plan_id=g["plan"]),
            command("prune", "--plan", g["plan"], "--yes"),
        ]
    ),
    "prune": Operation(lambda g, p: [tool("prune_memory", dry_run=False, confirm=True, strategy="expired")]),
    "prune at a terminal": Operation(lambda g, p: [command("prune", "-s", "expired", "--yes")], "staged"),
    "undo": Operation(lambda g, p: [tool("undo_prune", receipt_id=g["deleted"]), command("undo", g["deleted"])]),
    "recover": Operation(
        lambda g, p: [tool("recover_memory", memory_id=g["trashed"]), command("recover", g["trashed"])]
    ),
    "delete": Operation(
        lambda g, p: [
            tool("delete_memory", memory_id=g["note"], confirm=True),
            command("delete", g["note"], "--yes"),
        ]
    ),
    "delete forever": Operation(
        lambda g, p: [
            tool("delete_memory", memory_id=g["note"], confirm=True, forever=True),
            command("delete", g["note"], "--forever", "--yes"),
        ]
    ),
    "remove tombstone": Operation(lambda g, p: [command("tombstone", "remove", g["forgotten"])]),
    "purge": Operation(
        lambda g, p: [
            tool("purge_trash", older_than_days=0, confirm=True),
            command("purge", "--older-than-days", "0", "--yes"),
        ],
        "staged",
    ),
    "clear": Operation(lambda g, p: [tool("clear_all", confirm_phrase=PHRASE)]),
    "context add": Operation(lambda g, p: [tool("context_add", project_id="talk", segments=[SEGMENT])]),
    "context import": Operation(lambda g, p: [command("context", "import", str(p / "session.json"), "-p", "talk")]),
    "context prune": Operation(
        lambda g, p: [
            tool("context_gc_prune", project_id="talk", segment_ids=["s1", "s2"], strategy="delete", confirm=True),
            command("context", "prune", "s1", "s2", "-p", "talk", "--strategy", "delete", "--yes"),
        ]
    ),
    "context restore": Operation(
        lambda g, p: [
            tool("context_restore", project_id="talk", segment_ids=["s3", "s4"]),
            command("context", "restore", "s3", "s4", "-p", "talk"),
        ]
    ),
    "context compress": Operation(
        lambda g, p: [
            tool("context_compress", project_id="talk", segment_ids=["s1", "s2"], summary="what was said"),
        ]
    ),
    "context pin": Operation(
        lambda g, p: [
            tool("context_gc_pin", project_id="talk", segment_ids=["s1"]),
            command("context", "pin", "s1", "-p", "talk"),
        ]
    ),
    "context configure": Operation(lambda g, p: [tool("context_gc_configure", project_id="talk", soft_tokens=5000)]),
    "context delete": Operation(
        lambda g, p: [
            tool("context_delete", project_id="talk", confirm=True),
            command("context", "delete", "talk", "--yes"),
        ]
    ),
    "workspace create": Operation(
        lambda g, p: [tool("create_workspace", workspace_id="new"), command("workspace", "create", "new")]
    ),
    "workspace delete": Operation(
        lambda g, p: [
            tool("delete_workspace", workspace_id="other", confirm=True),
            command("workspace", "delete", "other", "--yes"),
        ]
    ),
    "workspace undelete": Operation(
        lambda g, p: [tool("undo_prune", receipt_id=g["hidden"]), command("undo", g["hidden"])]
    ),
    "reembed": Operation(lambda g, p: [command("workspace", "reembed")], "converging"),
    "backup": Operation(lambda g, p: [command("backup", str(p / "made.backup"), "--force")]),
    "restore": Operation(lambda g, p: [command("restore", str(p / "copy.backup"), "-w", "copy")]),
    "restore over": Operation(lambda g, p: [command("restore", str(p / "copy.backup"), "--replace")]),
    "copy": Operation(lambda g, p: [command("workspace", "copy", "--to", f"sqlite:{p / 'away'}")]),
    "compact": Operation(lambda g, p: [command("compact")]),
    "repair": Operation(lambda g, p: [command("doctor", "--repair")], "converging", _damage),
    "schedule": Operation(lambda g, p: [command("schedule", "run")], "staged", settings=_SCHEDULE),
}


def build(place: Path, repo: Path) -> dict[str, Any]:
    """A home with a bit of everything; the ids that operations need."""
    place.mkdir(parents=True)
    _write_repo(repo)
    app = open_app(place)
    memory = app.memory()
    given: dict[str, Any] = {"repo": str(repo), "text": "Deploys go out on Tuesdays."}
    memory.remember(given["text"], tags=["team", "ops"], entities=["Deploy", "Priya"], thread_id="talk")
    note = "Hub, Ring one and Ring two were seen with Ada in London."
    facts = [{"from": "Ring one", "relation": "touches", "to": "Ring two"}, FACT]
    given["note"] = memory.remember(note, entities=["Hub", "Ring one", "Ring two", "Ada"], relations=facts).memory_id
    for number in range(3):
        text = f"An old remark number {number} about nothing."
        memory.remember(text, expires_at="2020-01-01T00:00:00Z", entities=[f"Remark {number}", "Hub"])
    memory.remember("A pinned note.", pinned=True, expires_at="2020-01-01T00:00:00Z")
    memory.graph.relate("Ada", "knows", "Hub")
    memory.graph.relate("Ada", "wrote", "Letters")
    memory.graph.relate("Kept", "touches", "Hub", weight=0.5)
    memory.graph.relate("Lost", "touches", "Hub", weight=0.4)
    given["merged"] = memory.graph.merge(["Lost"], "Kept").receipt_id
    given["trashed"] = memory.remember("To the trash with it.", entities=["Trash", "Hub"]).memory_id
    given["deleted"] = memory.delete(given["trashed"], confirm=True).id
    given["forgotten"] = memory.remember("Forget this for good.").memory_id
    memory.delete(given["forgotten"], confirm=True, forever=True)
    window = memory.context("talk")
    window.add([{"segment_id": f"s{n}", "text": f"message {n} of the talk", "type": "code"} for n in range(1, 7)])
    window.prune(["s3", "s4"], strategy="stash")
    memory.code.index(repo)
    _change_repo(repo)
    given["updated"] = memory.update(memory.remember("Once.").memory_id, text="Twice.", tags=["x"]).receipt_id
    _tell_a_secret(place)
    given["redaction"] = memory.sweep.plan("secrets").id
    given["plan"] = memory.sweep.plan("expired").id
    given["batch"] = {
        "entities": [{"local_id": "a", "name": "Charles", "type": "Person"}],
        "relations": [{"from": "a", "to": "Ada", "relation": "knows"}, {"from": "a", "to": "Hub", "relation": "saw"}],
    }
    app.memory("other").remember("In another workspace.")
    app.memory("gone").remember("In a workspace that was deleted.")
    given["hidden"] = app.delete_workspace("gone", confirm=True).receipt_id
    memory.care.backup(place / "copy.backup")
    memory.care.backup(place / "made.backup")
    other = app.memory("elsewhere")
    other.graph.relate("Ada", "visited", "Paris")
    other.graph.relate("Paris", "is in", "France")
    given["graph"] = json.loads(other.graph.dump())
    (place / "graph.json").write_text(other.graph.dump())
    segments = [{"segment_id": f"t{n}", "text": f"turn {n}", "type": "message"} for n in range(4)]
    (place / "session.json").write_text(json.dumps({"segments": segments}))
    app.close()
    return given


def _tell_a_secret(place: Path) -> None:
    """While the gate is off."""
    app = open_app(place, MEMSWEEP_SECRETS_ACTION="off")
    key = next(line.text for line in positives() if line.kind == "aws-access-key")
    app.memory().remember(f"The key is {key}.", tags=["ops"], entities=["Hub"])
    app.memory().context("talk").add([{"segment_id": "told", "text": f"use {key}", "type": "code"}])
    app.close()


def _write_repo(repo: Path) -> None:
    repo.mkdir(parents=True)
    for number in range(4):
        (repo / f"m{number}.py").write_text(f"def f{number}():\n    return f{number + 1}()\n\n\ndef g{number}(): ...\n")
    subprocess.run(["git", "init", "-q", str(repo)], check=True, capture_output=True)


def _change_repo(repo: Path) -> None:
    """Edited, gone, moved, new."""
    (repo / "m0.py").write_text("def f0():\n    return 1\n")
    (repo / "m1.py").unlink()
    (repo / "m2.py").rename(repo / "moved.py")
    (repo / "new.py").write_text("def new():\n    return f3()\n")


def copy_place(template: Path, target: Path) -> Path:
    shutil.copytree(template, target)
    return target
