"""The tools as an agent meets them: a real server over stdio, in both generations of the protocol."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitResult

from tests.support.client import TRIED_MODES, ServerClient, ToolFailed, connected

DEFAULT = {
    "context_add",
    "context_gc_analyze",
    "context_gc_prune",
    "context_gc_pin",
    "context_gc_unpin",
    "context_gc_configure",
    "context_stash_search",
    "context_restore",
}
FULL = DEFAULT | {"context_compress", "context_working_set", "context_list", "context_delete"}
SEGMENTS = [
    {"segment_id": "rules", "text": "Never touch the production database.", "role": "system"},
    {"segment_id": "ask", "text": "Why is the total wrong for large orders?", "role": "user", "task_id": "tax"},
    {"segment_id": "log", "text": "INFO started\n" * 30, "type": "log", "role": "tool"},
    {"segment_id": "code", "text": "def tax(x): return x * 0.19", "type": "code", "file_path": "tax.py"},
    {"segment_id": "fix", "text": "We round per line, not per order.", "type": "decision", "references": ["code"]},
]


@pytest.fixture(scope="module", params=TRIED_MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, mode: str) -> Iterator[ServerClient]:
    home = tmp_path_factory.mktemp("served")
    with connected(home / "home", mode, "--profile", "full", log=home / "log") as client:
        yield client
    assert "Traceback" not in (home / "log").read_text()


_numbers = count()


@pytest.fixture
def project(server: ServerClient) -> str:
    name = f"session-{next(_numbers)}"
    server.call("context_add", project_id=name, segments=SEGMENTS)
    server.call("context_gc_configure", project_id=name, last_n=0, decision_minutes=0)
    return name


def ids(rows: list[dict[str, Any]]) -> list[str]:
    return [row["segment_id"] for row in rows]


@pytest.mark.slow
def test_the_profiles_have_their_tools(server: ServerClient, mode: str, tmp_path: Path) -> None:
    assert {name for name in server.tools() if name.startswith("context_")} == FULL
    with connected(tmp_path / "home", mode) as default:
        assert {name for name in default.tools() if name.startswith("context_")} == DEFAULT


def test_every_answer_has_the_tokens_before_and_after_and_how_they_were_counted(
    server: ServerClient, project: str
) -> None:
    one = {"project_id": project, "segment_ids": ["log"]}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("context_add", {"project_id": project, "segments": [{"text": "hello world"}]}),
        ("context_gc_analyze", {"project_id": project, "budget": 50}),
        ("context_gc_pin", one),
        ("context_gc_unpin", one),
        ("context_gc_configure", {"project_id": project}),
        ("context_gc_prune", one),
        ("context_stash_search", {"project_id": project, "query": "started"}),
        ("context_restore", one),
        ("context_compress", {**one, "summary": "it started"}),
        ("context_working_set", {"project_id": project}),
        ("context_delete", {"project_id": project, "confirm": True}),
    ]
    assert {name for name, _ in calls} == FULL - {"context_list"}, "a list is of no one window"
    for name, arguments in calls:
        answer = server.call(name, **arguments)
        assert {"tokens_before", "tokens_after", "counted_by"} <= set(answer), name
        assert answer["counted_by"] == "o200k_base"


def test_analyze_answers_usage_candidates_and_a_plan(server: ServerClient, project: str) -> None:
    seen = server.call("context_gc_analyze", project_id=project, budget=50, task_id="tax", max_candidates=10)
    assert seen["usage"]["current"] == sum(seen["usage"]["by_type"].values()) == seen["tokens_before"]
    assert (seen["usage"]["soft"], seen["usage"]["hard"]) == (100_000, 200_000)
    assert set(seen["candidates"][0]) == {
        "segment_id",
        "text",
        "type",
        "tokens",
        "keep_score",
        "reachable",
        "reasons",
        "action",
        "planned",
    }
    assert ids(seen["candidates"])[0] == "log"
    dry = server.call("context_gc_analyze", project_id=project, budget=50, task_id="tax", dry_run=True)
    assert (dry["plan_id"], dry["planned"]) == (None, seen["planned"])
    assert not {"rules", "ask"} & set(ids(seen["candidates"]))
    assert seen["plan_id"].startswith("plan_")
    plain = server.call("context_gc_analyze", project_id=project, target_tokens=1, include_scores=False)
    assert "keep_score" not in plain["candidates"][0]


def test_a_plan_is_applied_searched_and_taken_back(server: ServerClient, project: str) -> None:
    plan = server.call("context_gc_analyze", project_id=project, budget=50)
    done = server.call("context_gc_prune", project_id=project, plan_id=plan["plan_id"])
    assert "log" in ids(done["stashed"])
    assert (done["deleted"], done["refused"], done["tokens_after"]) == ([], [], plan["tokens_after"])
    found = server.call("context_stash_search", project_id=project, query="started")
    assert ids(found["results"])[0] == "log"
    assert found["results"][0]["text"].endswith("…")
    back = server.call("context_restore", project_id=project, query="started")
    assert back["restored"][0]["text"] == SEGMENTS[2]["text"]
    undone = server.call("undo_prune", receipt_id=done["receipt_id"])
    assert undone.get("restored_segments", 0) == len(done["stashed"]) - len(back["restored"])


def test_deleting_goes_to_the_trash_and_comes_back(server: ServerClient, project: str) -> None:
    with pytest.raises(ToolFailed, match="confirm=true"):
        server.call("context_gc_prune", project_id=project, segment_ids=["log"], strategy="delete")
    done = server.call(
        "context_gc_prune",
        project_id=project,
        segment_ids=["log", "rules", "nobody"],
        strategy="delete",
        confirm=True,
    )
    assert ids(done["deleted"]) == ["log"]
    rules, nobody = done["refused"]
    assert (rules["segment_id"], rules["reason"]) == ("rules", "holds for the whole session")
    assert rules["text"]
    assert nobody == {"segment_id": "nobody", "reason": "unknown"}
    assert done["tokens_before"] > done["tokens_after"]
    trashed = server.call("list_trash")["items"]
    assert [(item["id"], item["type"]) for item in trashed if item["receipt_id"] == done["receipt_id"]] == [
        ("log", "Segment")
    ]
    undone = server.call("undo_prune", receipt_id=done["receipt_id"])
    assert (undone["restored_segments"], undone["restored_memories"]) == (1, 0)
    assert server.call("context_working_set", project_id=project)["tokens_after"] == done["tokens_before"]


def test_pins_compression_and_the_working_set(server: ServerClient, project: str) -> None:
    server.call("context_gc_pin", project_id=project, segment_ids=["log"])
    (refused,) = server.call("context_gc_prune", project_id=project, segment_ids=["log"])["refused"]
    assert (refused["segment_id"], refused["reason"]) == ("log", "pinned")
    assert refused["text"].startswith("INFO started")
    server.call("context_gc_unpin", project_id=project, segment_ids=["log"])
    done = server.call("context_compress", project_id=project, segment_ids=["log"], summary="It started 30 times.")
    assert ids(done["stashed"]) == ["log"]
    kept = server.call("context_working_set", project_id=project, budget=10_000)
    assert ids(kept["segments"]) == ["rules", "ask", "code", "fix", done["summary_id"]]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("context_add", {"project_id": "../x", "segments": [{"text": "x"}]}, "project id '../x' is not valid"),
        ("context_add", {"project_id": "p", "segments": []}, "segments is empty"),
        ("context_add", {"project_id": "p", "segments": [{"txt": "x"}]}, "needs text"),
        ("context_add", {"project_id": "p", "segments": [{"text": "x", "type": "novel"}]}, "type cannot be 'novel'"),
        ("context_add", {"project_id": "p", "segments": "x"}, "segments"),
        ("context_add", {"project_id": "p", "segments": [{"text": "x"}], "colour": 1}, "unknown argument 'colour'"),
        ("context_gc_analyze", {"project_id": "nowhere"}, "'nowhere' does not exist"),
        ("context_gc_prune", {"project_id": "nowhere", "segment_ids": ["x"]}, "'nowhere' does not exist"),
        ("context_gc_prune", {"project_id": "p"}, "either segment_ids or plan_id"),
        ("context_gc_prune", {"project_id": "p", "segment_ids": ["x"], "strategy": "burn"}, "strategy"),
        ("context_restore", {"project_id": "p"}, "either segment_ids or query"),
        ("context_gc_configure", {"project_id": "p", "soft_tokens": 0}, "soft_tokens must be"),
        ("context_stash_search", {"project_id": "nowhere", "query": "x"}, "'nowhere' does not exist"),
    ],
)
def test_a_mistake_is_one_clear_sentence(
    server: ServerClient, project: str, tool: str, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolFailed, match=said) as failed:
        server.call(tool, **arguments)
    assert str(failed.value).startswith("Error: ")
    assert "\n" not in str(failed.value)


@pytest.mark.slow
@pytest.mark.parametrize("agree", [True, False])
def test_a_person_is_asked_before_segments_are_deleted(tmp_path: Path, mode: str, agree: bool) -> None:
    asked: list[str] = []

    async def answer(question: str) -> ElicitResult:
        asked.append(question)
        return ElicitResult(action="accept", content={"approve": agree})

    with connected(tmp_path / "home", mode, asked=answer) as server:
        server.call("context_add", project_id="p", segments=SEGMENTS)
        one = {"project_id": "p", "segment_ids": ["log"]}
        server.call("context_gc_prune", **one)
        assert asked == []
        delete = {**one, "strategy": "delete", "confirm": True}
        if agree:
            assert ids(server.call("context_gc_prune", **delete)["deleted"]) == ["log"]
        else:
            with pytest.raises(ToolFailed, match="did not agree"):
                server.call("context_gc_prune", **delete)
    assert asked == ["Move 1 segment of context window 'p' to the trash? This can be undone until it is purged."]


def test_windows_are_listed_and_deleted_and_come_back(server: ServerClient) -> None:
    where = {"workspace_id": "listing"}
    server.call("context_add", project_id="one", segments=[{"segment_id": "a", "text": "words"}], **where)
    assert [row["project_id"] for row in server.call("context_list", **where)["windows"]] == ["one"]
    with pytest.raises(ToolFailed, match="confirm=true"):
        server.call("context_delete", project_id="one", **where)
    gone = server.call("context_delete", project_id="one", confirm=True, **where)
    assert [each["segment_id"] for each in gone["deleted"]] == ["a"]
    assert server.call("context_list", **where) == {"windows": []}
    server.call("undo_prune", receipt_id=gone["receipt_id"], **where)
    assert [row["segments"] for row in server.call("context_list", **where)["windows"]] == [1]
