"""The collector from the command line: a table and a question on a terminal, JSON for programs, exit statuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import clock
from memsweep.app import App
from tests.collector.stores import Link, Note, StoreSpec, Thing, dump, write_rows
from tests.support import contents, store_files
from tests.support.commands import Ran
from tests.support.terminal import on_a_terminal

STALE = StoreSpec(
    notes=(
        Note("def gone(): pass", path="src/gone.py", stale=True, chunks=2),
        Note("def kept(): pass", path="src/kept.py", stale=True, pinned=True),
        Note("a note about [bold]nothing[/bold]"),
    ),
    things=(Thing("gone", type="Function"), Thing("ring"), Thing("ring 2")),
    links=(Link(1, 2), Link(2, 1)),
    mentions=((0, 0, 0),),
)
GONE, KEPT, NOTE = (f"mem_{n:012}" for n in (1, 2, 3))
Run = Callable[..., Ran]


@pytest.fixture
def store(home: Path, app: App) -> Path:
    app.create_workspace("default")
    app.close()
    file = store_files.file_of(home)
    write_rows(file, STALE, clock.now())
    return file


# prune


def test_without_a_terminal_prune_shows_the_plan_and_removes_nothing(run: Run, store: Path) -> None:
    before = dump(store)
    ran = run("prune")
    assert ran.status == 0
    assert "what" in ran.out.splitlines()[0]
    assert "why" in ran.out.splitlines()[0]
    assert "src/gone.py" in ran.out
    assert "Its file is no longer in the indexed folder." in ran.out
    assert "1 memory, 2 chunks, 1 entity, 0 relations; plan plan_" in ran.out
    assert f"protected: memory {KEPT} (pinned)" in ran.out
    assert "warning: This is the default workspace." in ran.out
    assert "Nothing was removed. To apply exactly this: memsweep prune --plan plan_" in ran.out
    assert dump(store) == before


def test_prune_with_the_plan_that_was_shown(run: Run, store: Path) -> None:
    shown = run("prune", "--json").json
    assert (shown["dry_run"], shown["nodes_to_delete"]) == (True, 1)
    write_rows(store, StoreSpec(notes=(Note("later", path="later.py", stale=True),)), clock.now())
    ran = run("prune", "--plan", shown["plan_id"], "--yes", "--json")
    assert ran.status == 0
    assert (ran.json["dry_run"], ran.json["deleted_memories"], ran.json["plan_id"]) == (False, 1, shown["plan_id"])
    with contents.opened(store.parents[1]) as memory:
        assert [each.path for each in contents.listed(memory) if each.stale] == ["src/kept.py", "later.py"]
    assert run("prune", "--plan", shown["plan_id"], "--yes").status == 4, "once"


def test_prune_yes_says_how_to_undo(run: Run, store: Path) -> None:
    before = dump(store)
    ran = run("prune", "--strategy", "all", "--yes")
    assert ran.status == 0
    assert "Moved 1 memory, 3 entities and 2 relations to the trash.\n" in ran.out
    receipt = ran.out.rsplit("To bring it back: memsweep undo ", 1)[1].strip()
    undone = run("undo", receipt)
    assert (undone.status, undone.out) == (0, "Restored 1 memory, 3 entities and 2 relations.\n")
    assert dump(store) == before


def test_what_is_protected_is_shown_though_nothing_else_is(run: Run, store: Path) -> None:
    run("pin", GONE)
    ran = run("prune")
    assert ran.out.splitlines()[0] == "Nothing to collect."
    for uid, path in ((GONE, "src/gone.py"), (KEPT, "src/kept.py")):
        assert f"protected: memory {uid} (pinned)  {path}" in ran.out
    assert {item["id"] for item in run("prune", "--json").json["protected"]} == {GONE, KEPT}


def test_prune_of_nothing(run: Run, store: Path) -> None:
    ran = run("prune", "-s", "expired", "--yes")
    assert (ran.status, ran.out) == (0, "Nothing to collect.\n")


def test_prune_shows_as_many_as_wished(run: Run, store: Path) -> None:
    assert len(run("prune", "-s", "all", "-n", "2", "--json").json["preview"]) == 2
    assert "(more follow)" in run("prune", "-s", "all", "-n", "2").out
    assert run("prune", "-n", "0").status == 2


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["prune", "-s", "xyz"], 2, "Error: Invalid strategy 'xyz'. Valid: stale_code, "),
        (["prune", "--plan", "plan_x", "--yes"], 3, "plan 'plan_x' does not exist"),
        (["prune", "-s", "expired", "--ttl-days", "-1"], 2, "Error: --ttl-days must be a number of days"),
        (["prune", "-w", "nowhere"], 3, "workspace 'nowhere' does not exist"),
        (["undo", "rcpt_x"], 3, "receipt 'rcpt_x' does not exist"),
        (["recover", GONE], 3, f"'{GONE}' is not in the trash"),
        (["delete", "mem_x", "--yes"], 3, "memory 'mem_x' does not exist"),
        (["delete", GONE], 4, "was not confirmed; nothing was removed. Pass --yes."),
        (["delete", KEPT, "--yes"], 4, f"memory {KEPT} is pinned; it was not deleted. Unpin it first."),
        (["purge"], 4, "Pass --yes."),
        (["purge", "--older-than-days", "-3", "--yes"], 2, "Error: --older-than-days must be a number of days"),
        (["pin", "mem_x"], 3, "'mem_x' is neither a memory nor an entity"),
        (["unpin", "mem_x"], 3, "'mem_x' is neither a memory nor an entity"),
        (["tombstone", "remove", GONE], 3, f"there is no tombstone for '{GONE}'"),
        (["trash", "-n", "-1"], 2, "limit must be from 1"),
        (["audit", "-n", "0"], 2, "limit must be from 1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_mistake_has_its_exit_status_and_one_sentence(
    run: Run, store: Path, arguments: list[str], status: int, words: str
) -> None:
    before = dump(store)
    ran = run(*arguments)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.startswith("Error: ")
    assert words in ran.err
    assert dump(store) == before
    as_json = run(*arguments, "--json")
    assert as_json.status == status
    assert '"error"' in as_json.err


def test_more_than_half_needs_allow_large(run: Run, store: Path) -> None:
    write_rows(store, StoreSpec(notes=tuple(Note(f"n{n}", path=f"{n}.py", stale=True) for n in range(30))), clock.now())
    ran = run("prune", "--yes")
    assert ran.status == 4
    assert "31 of 33 memories (94% of the workspace, more than 50%); nothing was removed." in ran.err
    assert run("prune", "--yes", "--allow-large", "--json").json["deleted_memories"] == 31


# the others


def test_delete_trash_recover_and_audit(run: Run, store: Path) -> None:
    before = dump(store)
    assert run("trash").out == "The trash is empty.\n"
    gone = run("delete", NOTE, "--yes", "--json").json
    listed = run("trash").out
    assert gone["receipt_id"] in listed
    assert "a note about [bold]nothing[/bold]" in listed
    assert listed.endswith("1 in the trash.\n")
    (item,) = run("trash", "--json").json["items"]
    assert (item["id"], item["reason"], item["type"]) == (NOTE, "deleted", "Memory")
    assert run("recover", NOTE).out == "Restored 1 memory.\n"
    assert dump(store) == before
    said = run("audit").out
    assert f"delete  {gone['receipt_id']}  1 memory, 1 chunk" in said
    assert f"recover  {NOTE}" in said
    assert "cli:" in said
    events = run("audit", NOTE, "--json").json["events"]
    assert [event["action"] for event in events] == ["recover", "delete"]
    assert len(run("audit", "-n", "1", "--json").json["events"]) == 1


def test_purge(run: Run, store: Path) -> None:
    run("prune", "--yes")
    assert run("purge", "--yes").out == "Nothing in the trash is that old.\n"
    assert run("purge", "--older-than-days", "0", "--yes").out == "Permanently deleted 1 memory and 1 entity.\n"
    assert run("trash").out == "The trash is empty.\n"


def test_pin_and_unpin(run: Run, store: Path) -> None:
    assert run("pin", GONE).out == f"Memory {GONE} is pinned.\n"
    assert run("prune", "--json").json["nodes_to_delete"] == 0
    assert run("unpin", GONE, "--json").json == {"id": GONE, "type": "Memory", "pinned": False}
    assert run("prune", "--json").json["nodes_to_delete"] == 1
    assert run("pin", "ent_000000000002").out == "Entity ent_000000000002 is pinned.\n"


def test_deleting_forever_leaves_a_tombstone_that_can_be_removed(run: Run, store: Path) -> None:
    assert run("tombstone", "list").out == "No tombstones.\n"
    assert run("delete", NOTE, "--forever", "--yes").out == "Permanently deleted 1 memory.\n"
    (stone,) = run("tombstone", "list", "--json").json["tombstones"]
    assert (stone["memory_id"], stone["reason"]) == (NOTE, "deleted forever")
    assert NOTE in run("tombstone", "list").out
    assert run("trash").out == "The trash is empty.\n"
    assert run("tombstone", "remove", NOTE).out == f"{NOTE} can be learned again.\n"
    assert run("tombstone", "list", "--json").json == {"tombstones": []}


# on a terminal


@pytest.mark.slow
def test_prune_asks_on_a_terminal_and_a_yes_removes(home: Path, store: Path) -> None:
    status, written = on_a_terminal(home, "prune", answer="y")
    assert status == 0
    assert "Move 1 memory and 1 entity to the trash?" in written
    assert "Moved 1 memory and 1 entity to the trash." in written
    assert len(contents.ids_in(home)) == 2


@pytest.mark.slow
def test_prune_asks_on_a_terminal_and_a_no_keeps(home: Path, store: Path) -> None:
    before = dump(store)
    status, written = on_a_terminal(home, "prune", answer="")
    assert status == 0
    assert "Nothing was removed." in written
    assert dump(store) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["delete", GONE], "def gone(): pass\nMove it to the trash?"),
        (["delete", GONE, "--forever"], "Delete it permanently?"),
        (["purge", "--older-than-days", "0"], "Permanently delete everything that has been in the trash for 0 days?"),
    ],
    ids=["delete", "delete forever", "purge"],
)
def test_delete_and_purge_ask_on_a_terminal(home: Path, store: Path, arguments: list[str], question: str) -> None:
    before = dump(store)
    status, written = on_a_terminal(home, *arguments, answer="n")
    assert (status, "Nothing was removed." in written) == (0, True)
    assert question in written
    assert dump(store) == before


def test_prune_spares_what_except_names(run: Run, store: Path) -> None:
    write_rows(store, StoreSpec(notes=(Note("def more(): pass", path="src/more.py", stale=True),)), clock.now())
    shown = run("prune", "--except", GONE)
    assert f"protected: memory {GONE} (spared)" in shown.out
    done = run("prune", "--except", GONE, "--yes", "--json").json
    assert (done["deleted_memories"], done["deleted_entities"]) == (1, 0)
    refused = run("prune", "--except", "mem_none")
    assert (refused.status, "exclude: 'mem_none' is not in plan" in refused.err) == (2, True)


def test_plans_are_shown_by_cause_and_compared(run: Run, store: Path) -> None:
    first = run("prune", "--json").json["plan_id"]
    shown = run("plan", "show", first)
    assert f"memory {GONE}  src/gone.py; with it gone  Its file is no longer in the indexed folder." in shown.out
    assert run("plan", "show", first, "--json").json["groups"][0]["followers"] == 1
    assert run("plan", "diff", first, run("prune", "--except", GONE, "--json").json["plan_id"]).out.splitlines()[
        -1
    ] == ("0 added, 2 gone, 0 same")
    assert run("plan", "diff", first, "plan_none").status == 3
    preview = run("plan", "preview", "stale_code", "expired")
    assert preview.out.splitlines()[0] == "stale_code: 1 memory and 1 entity"
    assert preview.out.splitlines()[-1] == "expired: nothing"
    assert len(run("plan", "preview", "--json").json["strategies"]) == 7


def test_receipts_the_trash_of_one_and_the_log_by_page(run: Run, store: Path) -> None:
    done = run("prune", "--yes", "--json").json["receipt_id"]
    (shown,) = run("receipts", "--json").json["receipts"]
    assert (shown["receipt_id"], shown["state"], shown["held"]["memories"]) == (done, "applied", 1)
    assert f"{done}  applied  stale_code  1 memory and 1 entity" in run("receipts", "--trash").out
    assert {item["receipt_id"] for item in run("trash", "--receipt", done, "--json").json["items"]} == {done}
    assert run("trash", "--receipt", "rcpt_none", "--json").json["total"] == 0
    run("undo", done)
    assert run("receipts", "--trash", "--json").json["receipts"] == []
    page = run("audit", "--since", "2020-01-01", "--actor", "cli", "--limit", "1", "--json").json
    assert [event["action"] for event in page["events"]] == ["undo"]
    more = ["--since", "2020-01-01", "--actor", "cli", "--limit", "1", "--cursor", page["next_cursor"]]
    assert " prune " in run("audit", *more).out
    assert run("audit", "--until", "2020-01-01", "--json").json["events"] == []
