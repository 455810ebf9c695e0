"""`prune_memory` and the other tools of the collector over the real server.

Names, defaults, fields, and the first sentence of each message are those that agents know from the tool's first design.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitResult

from memsweep import clock
from memsweep.model.listing import ListedMemory
from tests.collector.stores import Link, Note, StoreSpec, Thing, broken, dump, write_rows
from tests.support import contents, store_files
from tests.support.client import ServerClient, ToolFailed, connected, say_yes
from tests.support.paging import pages_of

DRY_RUN = (
    "Dry run complete. Set dry_run=false and confirm=true to delete."
    " With this plan_id as well, exactly this plan is applied; everything goes to the trash first."
)
UNCONFIRMED = (
    "Error: Deletion requires explicit confirmation. Set confirm=true to proceed."
    " Run with dry_run=true first to preview."
)
PREVIEW_FIELDS = {
    "dry_run", "strategy", "plan_id", "nodes_to_delete", "chunks_to_delete", "entities_to_delete",
    "relations_to_delete", "preview", "protected", "warnings", "message", "next_cursor",
}  # fmt: skip
ITEM_FIELDS = {
    "id", "type", "file_path", "relative_path", "name", "created_at", "chunk_count", "text_length", "entity_type",
    "reason", "why",
}  # fmt: skip
RESULT_FIELDS = {
    "dry_run", "strategy", "plan_id", "receipt_id", "deleted_memories", "deleted_chunks", "deleted_entities",
    "deleted_relations", "skipped", "message",
}  # fmt: skip
_numbers = count()


class Server:
    """One workspace as an agent meets it, and its file."""

    def __init__(self, client: ServerClient, home: Path, workspace: str) -> None:
        self._client, self.home, self.workspace = client, home, workspace

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self._client.call(tool, workspace_id=self.workspace, **arguments)

    def refusal(self, tool: str, **arguments: Any) -> str:
        with pytest.raises(ToolFailed) as caught:
            self.call(tool, **arguments)
        return str(caught.value)

    def prune(self, **arguments: Any) -> dict[str, Any]:
        return self.call("prune_memory", **arguments)

    @property
    def file(self) -> Path:
        return store_files.file_of(self.home, self.workspace)

    def write_rows(self, spec: StoreSpec) -> None:
        write_rows(self.file, spec, clock.now())

    def beside(self) -> Server:
        """Another workspace of the same server."""
        return make_workspace(self._client, self.home)

    def listed(self) -> list[ListedMemory]:
        with contents.opened(self.home, self.workspace) as memory:
            return contents.listed(memory)

    def names(self) -> list[str]:
        with contents.opened(self.home, self.workspace) as memory:
            return contents.names(memory)


def in_the_trash(answer: dict[str, Any], number: int) -> str:
    which, them = ("It is", "it") if number == 1 else ("They are", "them")
    return f"{which} in the trash; undo_prune with {answer['receipt_id']} brings {them} back."


def make_workspace(client: ServerClient, home: Path) -> Server:
    server = Server(client, home, f"w{next(_numbers)}")
    client.call("create_workspace", workspace_id=server.workspace)
    return server


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerClient, Path]]:
    home = tmp_path_factory.mktemp("served") / "home"
    with connected(home, "legacy", "--profile", "full", asked=say_yes) as client:
        yield client, home


@pytest.fixture
def server(shared: tuple[ServerClient, Path]) -> Server:
    return make_workspace(*shared)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "billing.py").write_text("class Invoice:\n    def total(self):\n        return sum(self.lines)\n")
    (folder / "mailer.py").write_text("def send_receipt(address):\n    return deliver(address)\n")
    (folder / "tax.py").write_text("def flat_tax(amount):\n    return round_up(amount * 0.19)\n")
    return folder


STALE = StoreSpec(
    notes=(
        Note("def gone(): pass", path="src/gone.py", stale=True, chunks=2),
        Note("def here(): pass", path="src/here.py"),
        Note("a note"),
    ),
    things=(Thing("gone", type="Function"), Thing("here", type="Function")),
    mentions=((0, 0, 0), (1, 0, 1)),
)

# Looking, confirming and the strategies


def test_dry_run_returns_preview(server: Server) -> None:
    server.write_rows(STALE)
    before = dump(server.file)
    answer = server.prune(dry_run=True)
    assert answer.keys() == PREVIEW_FIELDS
    assert answer["dry_run"] is True
    assert answer["strategy"] == "stale_code"
    assert (answer["nodes_to_delete"], answer["chunks_to_delete"], answer["entities_to_delete"]) == (1, 2, 1)
    assert answer["message"] == DRY_RUN
    assert answer["next_cursor"] is None
    memory, entity = answer["preview"]
    assert memory.keys() == entity.keys() == ITEM_FIELDS
    assert memory | {"created_at": "", "id": ""} == {
        "id": "",
        "type": "Memory",
        "file_path": "/repository/0/src/gone.py",
        "relative_path": "src/gone.py",
        "name": None,
        "created_at": "",
        "chunk_count": 2,
        "text_length": 16,
        "entity_type": None,
        "reason": "stale_file",
        "why": "Its file is no longer in the indexed folder.",
    }
    assert (entity["type"], entity["name"], entity["entity_type"]) == ("Entity", "gone", "Function")
    assert dump(server.file) == before


def test_dry_run_is_default(server: Server, shared: tuple[ServerClient, Path]) -> None:
    server.write_rows(STALE)
    before = dump(server.file)
    assert server.prune()["dry_run"] is True
    assert server.prune(confirm=True)["dry_run"] is True, "confirm is ignored in a dry run"
    assert dump(server.file) == before
    tool = shared[0].tools()["prune_memory"]
    properties = tool.input_schema["properties"]
    assert properties["dry_run"] == {"type": "boolean", "default": True}
    assert properties["confirm"] == {"type": "boolean", "default": False}
    assert properties["strategy"]["default"] == "stale_code"
    assert properties["workspace_id"]["type"] == "string"
    assert tool.input_schema.get("required", []) == []
    assert tool.input_schema["additionalProperties"] is False
    assert "agreed" not in properties


def test_deletion_requires_confirmation(server: Server) -> None:
    server.write_rows(STALE)
    plan_id = server.prune()["plan_id"]
    before = dump(server.file)
    assert server.refusal("prune_memory", dry_run=False) == UNCONFIRMED
    assert server.refusal("prune_memory", dry_run=False, confirm=False, plan_id=plan_id) == UNCONFIRMED
    assert server.refusal("delete_memory", memory_id="mem_000000000001").startswith(
        "Error: Deletion requires explicit confirmation. Set confirm=true to proceed."
    )
    assert server.refusal("purge_trash").startswith("Error: Deletion requires explicit confirmation.")
    assert "DELETE ALL MEMORIES" in server.refusal("clear_all", confirm_phrase="yes")
    assert dump(server.file) == before


@pytest.mark.parametrize("by_plan", [True, False])
def test_deletion_with_confirmation(server: Server, by_plan: bool) -> None:
    server.write_rows(STALE)
    before = dump(server.file)
    chosen = {"plan_id": server.prune()["plan_id"]} if by_plan else {}
    answer = server.prune(dry_run=False, confirm=True, **chosen)
    assert answer.keys() == RESULT_FIELDS
    assert answer["dry_run"] is False
    assert (answer["deleted_memories"], answer["deleted_chunks"], answer["deleted_entities"]) == (1, 2, 1)
    assert answer["message"] == (f"Successfully deleted 1 stale memory nodes and 2 chunks. {in_the_trash(answer, 3)}")
    assert answer["skipped"] == []
    if by_plan:
        assert answer["plan_id"] == chosen["plan_id"]
        assert "was applied already" in server.refusal("prune_memory", dry_run=False, confirm=True, **chosen)
    undone = server.call("undo_prune", receipt_id=answer["receipt_id"])
    assert undone == {
        "restored_memories": 1,
        "restored_chunks": 2,
        "restored_entities": 1,
        "restored_relations": 0,
        "conflicts": [],
        "message": "Restored 1 memory and 1 entity.",
    }
    assert dump(server.file) == before


def test_a_warning_says_why_it_matters(server: Server) -> None:
    server.call("add_memory", text="Gone in a moment.", expires_at="2026-01-01")
    assert server.prune(strategy="expired")["warnings"] == [
        "1 nodes are less than 24h old. Items this new may still be in use; check them before you remove them."
    ]


RINGED = StoreSpec(
    STALE.notes,
    (*STALE.things, Thing("Ring"), Thing("Ring 2"), Thing("Alone", type="Person")),
    (Link(2, 3), Link(3, 2)),
    STALE.mentions,
    ((), ()),
)


@pytest.mark.parametrize(
    ("strategy", "first", "deleted", "said"),
    [
        ("stale_files", "Memory", (1, 2, 1, 0), "Successfully deleted 1 stale memory nodes and 2 chunks."),
        ("orphaned_chunks", "Chunk", (0, 2, 0, 0), "Successfully deleted 2 orphaned chunks."),
        ("orphaned_entities", "Entity", (0, 0, 1, 0), "Successfully deleted 1 orphaned entities."),
        ("all", "Memory", (1, 4, 4, 2), "Successfully deleted 1 memories, 4 chunks, and 4 entities."),
        ("expired", None, (0, 0, 0, 0), "Successfully deleted 0 memories, 0 chunks, and 0 entities."),
    ],
)
def test_each_strategy_counts_and_says_what_went(
    server: Server, strategy: str, first: str | None, deleted: tuple[int, ...], said: str
) -> None:
    server.write_rows(RINGED)
    preview = server.prune(strategy=strategy)
    assert preview["strategy"] == strategy
    assert next((item["type"] for item in preview["preview"]), None) == first
    answer = server.prune(strategy=strategy, dry_run=False, confirm=True)
    assert tuple(answer[f"deleted_{kind}"] for kind in ("memories", "chunks", "entities", "relations")) == deleted
    then = in_the_trash(answer, sum(deleted)) if any(deleted) else "There was nothing to remove."
    assert answer["message"] == f"{said} {then}"


def test_workspace_isolation(server: Server) -> None:
    other = server.beside()
    server.write_rows(STALE)
    other.write_rows(STALE)
    before = dump(other.file)
    plan_id = server.prune()["plan_id"]
    missing = f"Error: plan '{plan_id}' does not exist in this workspace. Make a new one with dry_run=true."
    assert other.refusal("prune_memory", plan_id=plan_id, dry_run=False, confirm=True) == missing
    receipt = server.prune(plan_id=plan_id, dry_run=False, confirm=True)["receipt_id"]
    assert "does not exist in this workspace" in other.refusal("undo_prune", receipt_id=receipt)
    assert dump(other.file) == before


def test_invalid_strategy_error(server: Server) -> None:
    said = server.refusal("prune_memory", strategy="xyz")
    assert said.startswith("Error: Invalid strategy 'xyz'. Valid: stale_code, ")
    valid = said.removeprefix("Error: Invalid strategy 'xyz'. Valid: ").split(", ")
    assert {"stale_code", "orphaned_chunks", "orphaned_entities", "all"} <= set(valid)
    assert server.refusal("prune_memory", strategy="xyz", dry_run=False) == said, "before the confirmation"


@pytest.mark.parametrize("arguments", [{"force": True}, {"dry_run": "perhaps"}, {"ttl_days": -1}, {"limit": 0}])
def test_validation_errors_are_one_sentence(server: Server, arguments: dict[str, Any]) -> None:
    said = server.refusal("prune_memory", **arguments)
    assert said.startswith("Error: ")
    assert next(iter(arguments)) in said
    assert "\n" not in said


def test_a_preview_shows_twenty_and_pages_through_the_rest(server: Server) -> None:
    server.write_rows(StoreSpec(notes=tuple(Note(f"n{n}", path=f"{n:02}.py", stale=True) for n in range(47))))
    page = server.prune()
    shown = [item["relative_path"] for item in page["preview"]]
    assert len(shown) == 20
    while page["next_cursor"]:
        page = server.prune(plan_id=page["plan_id"], cursor=page["next_cursor"], limit=20)
        shown += [item["relative_path"] for item in page["preview"]]
    assert shown == [f"{n:02}.py" for n in range(47)]
    other = server.prune(limit=5)
    assert "does not belong to this listing" in server.refusal(
        "prune_memory", plan_id=page["plan_id"], cursor=other["next_cursor"]
    )


# With a real code index


def index(server: Server, repo: Path) -> dict[str, Any]:
    return server.call("index_codebase", repo_path=str(repo))


def test_full_gc_workflow(server: Server, repo: Path) -> None:
    """Index, delete a file, index again, prune, and undo."""
    assert index(server, repo)["files_indexed"] == 3
    before = server.call("get_stats")
    (repo / "tax.py").unlink()
    assert index(server, repo)["stale_memories"] == 1
    preview = server.prune()
    assert [item["relative_path"] for item in preview["preview"] if item["type"] == "Memory"] == ["tax.py"]
    answer = server.prune(dry_run=False, confirm=True, plan_id=preview["plan_id"])
    assert answer["deleted_memories"] == 1
    assert server.call("get_stats")["total_memories"] == before["total_memories"] - 1
    assert index(server, repo)["stale_memories"] == 0
    back = server.call("undo_prune", receipt_id=answer["receipt_id"])
    assert back["restored_memories"] == 1
    assert server.call("get_stats")["total_chunks"] == before["total_chunks"]


# What a collection has to be


def test_user_can_preview_deletions_before_executing(server: Server) -> None:
    server.write_rows(STALE)
    preview = server.prune()
    shown = {item["id"] for item in preview["preview"]}
    answer = server.prune(dry_run=False, confirm=True, plan_id=preview["plan_id"])
    trash = server.call("list_trash")
    assert {item["id"] for item in trash["items"]} == shown
    assert {item["receipt_id"] for item in trash["items"]} == {answer["receipt_id"]}
    assert all(item["reason"] and item["trashed_at"] < item["kept_until"] for item in trash["items"])


def test_deletion_is_atomic_and_consistent(server: Server) -> None:
    """What a crash leaves is tested statement by statement elsewhere; here: a refusal leaves everything."""
    server.write_rows(StoreSpec(notes=tuple(Note(f"n{n}", path=f"{n}.py", stale=True, chunks=2) for n in range(25))))
    before = dump(server.file)
    assert "25 of 25 memories (100% of the workspace" in server.refusal("prune_memory", dry_run=False, confirm=True)
    assert dump(server.file) == before
    answer = server.prune(dry_run=False, confirm=True, allow_large=True)
    assert (answer["deleted_memories"], answer["deleted_chunks"]) == (25, 50)
    assert broken(server.file) == []


# A person who can be asked


@pytest.mark.slow
@pytest.mark.parametrize("agree", [True, False])
def test_a_person_is_asked_with_count_share_and_sample_before_a_plan_is_applied(tmp_path: Path, agree: bool) -> None:
    asked: list[str] = []

    async def answer(question: str) -> ElicitResult:
        asked.append(question)
        return ElicitResult(action="accept", content={"approve": agree})

    home = tmp_path / "home"
    with connected(home, "legacy", "--profile", "full", asked=answer) as client:
        server = make_workspace(client, home)
        server.write_rows(STALE)
        before = dump(server.file)
        plan_id = server.prune()["plan_id"]
        assert asked == [], "not for a preview"
        assert server.refusal("prune_memory", dry_run=False, plan_id=plan_id) == UNCONFIRMED
        apply = {"dry_run": False, "confirm": True, "plan_id": plan_id}
        if agree:
            assert server.prune(**apply)["deleted_memories"] == 1
        else:
            assert "the person who was asked did not agree" in server.refusal("prune_memory", **apply)
            assert dump(server.file) == before
    (question,) = asked
    asks = f"Move 1 memory and 1 entity (33% of the memories) of workspace '{server.workspace}' to the trash?"
    for part in (asks, plan_id, "src/gone.py", "can be undone"):
        assert part in question


# The other tools of the collector


def test_delete_recover_and_forget_one_memory(server: Server) -> None:
    uid = server.call("add_memory", text="the locker code is 4711")["memory_id"]
    gone = server.call("delete_memory", memory_id=uid, confirm=True)
    way_back = f"undo_prune with {gone['receipt_id']} brings it back."
    assert gone["message"] == f"Moved 1 memory to the trash. {way_back}"
    assert server.call("recover_memory", memory_id=uid)["restored_memories"] == 1
    assert server.call("get_memory", memory_id=uid)["text"] == "the locker code is 4711"
    gone = server.call("delete_memory", memory_id=uid, confirm=True, forever=True)
    assert gone["message"] == "Permanently deleted 1 memory."
    assert "must not be learned again" in server.refusal("add_memory", text="the locker code is 4711")
    assert "cannot be undone" in server.refusal("undo_prune", receipt_id=gone["receipt_id"])


def test_clear_all_and_purge(server: Server) -> None:
    for number in range(3):
        server.call("add_memory", text=f"note {number}", pinned=number == 0)
    answer = server.call("clear_all", confirm_phrase="DELETE ALL MEMORIES")
    assert answer["deleted_memories"] == 2
    assert server.call("list_trash")["total"] == 2
    assert server.call("purge_trash", confirm=True)["purged_memories"] == 0, "it is not 30 days old"
    assert server.call("purge_trash", confirm=True, older_than_days=0)["purged_memories"] == 2
    emptied = {"items": [], "total": 0, "next_cursor": None, "deleted_workspaces": []}
    assert server.call("list_trash") == emptied


def test_the_trash_pages(server: Server) -> None:
    for number in range(7):
        uid = server.call("add_memory", text=f"note {number}")["memory_id"]
        server.call("delete_memory", memory_id=uid, confirm=True)
    pages = list(pages_of(server.call, tool="list_trash", limit=3))
    names = [item["name"] for page in pages for item in page["items"]]
    assert names == [f"note {number}" for number in reversed(range(7))]
    assert pages[-1]["total"] == 7


def test_a_pin_keeps_what_it_mentions(server: Server) -> None:
    server.write_rows(STALE)
    (uid,) = (each.id for each in server.listed() if each.stale)
    assert server.call("pin", id=uid) == {"id": uid, "type": "Memory", "pinned": True}
    answer = server.prune(strategy="all")
    assert answer["preview"] == []
    assert answer["protected"] == [{"id": uid, "type": "Memory", "name": "src/gone.py", "reason": "pinned"}]
    server.call("pin", id=uid, pinned=False)
    assert server.prune(strategy="all")["nodes_to_delete"] == 1


def test_who_did_it_is_in_the_audit_log(server: Server) -> None:
    uid = server.call("add_memory", text="watched")["memory_id"]
    receipt = server.call("delete_memory", memory_id=uid, confirm=True)["receipt_id"]
    with contents.opened(server.home, server.workspace) as memory:
        (event,) = memory.sweep.audit(subject=receipt)
    assert event.action == "delete"
    assert event.actor.startswith("mcp:")


def test_exclude_spares_items_in_a_look_and_in_an_apply(server: Server) -> None:
    spec = StoreSpec(notes=tuple(Note(f"def f{n}(): pass", path=f"{n}.py", stale=True) for n in range(4)))
    server.write_rows(spec)
    first, second, third, fourth = (f"mem_{n:012}" for n in (1, 2, 3, 4))
    whole = server.prune()
    part = server.prune(plan_id=whole["plan_id"], exclude=[first])
    assert part["plan_id"] != whole["plan_id"]
    assert {item["id"] for item in part["preview"]} == {second, third, fourth}
    assert [(item["id"], item["reason"]) for item in part["protected"]] == [(first, "spared")]
    refused = server.refusal("prune_memory", plan_id=whole["plan_id"], exclude=["mem_none"])
    assert refused.startswith(f"Error: exclude: 'mem_none' is not in plan {whole['plan_id']}; nothing was changed.")
    done = server.prune(plan_id=part["plan_id"], exclude=[second], dry_run=False, confirm=True)
    assert (done["deleted_memories"], done["skipped"]) == (2, [])
    again = server.refusal("prune_memory", plan_id=whole["plan_id"], dry_run=False, confirm=True)
    assert f"was applied already (receipt {done['receipt_id']})" in again
    assert server.refusal("prune_memory", exclude=[first], dry_run=False) == UNCONFIRMED
    assert server.prune(exclude=[first], dry_run=False, confirm=True)["deleted_memories"] == 1
