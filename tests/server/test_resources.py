"""What a client can read without a tool."""

import json
from typing import Any
from urllib.parse import quote

from tests.support.client import ServerClient


def read(server: ServerClient, uri: str) -> Any:
    (content,) = server.result_of(server.client.read_resource, uri).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)


def test_the_audit_log_plans_and_trash_can_be_read(server: ServerClient) -> None:
    added = server.call("add_memory", text="a note for the log 📝", workspace_id="read")
    server.call("add_memory", text="a note that expires", expires_at="2020-01-01", workspace_id="read")
    plan = server.call("prune_memory", strategy="expired", workspace_id="read")
    deleted = server.call("delete_memory", memory_id=added["memory_id"], confirm=True, workspace_id="read")
    assert "read" in {each["id"] for each in read(server, "memsweep://workspaces")}
    actions = [(event["action"], event["subject"]) for event in read(server, "memsweep://read/audit")["events"]]
    assert ("delete", deleted["receipt_id"]) in actions
    assert ("plan", plan["plan_id"]) in actions
    assert read(server, f"memsweep://read/plans/{plan['plan_id']}")["plan_id"] == plan["plan_id"]
    (trashed,) = read(server, "memsweep://read/trash")["items"]
    assert trashed["receipt_id"] == deleted["receipt_id"]


def test_stats_receipts_and_the_graph_of_an_entity_can_be_read(server: ServerClient) -> None:
    added = server.call("add_memory", text="a note with a receipt", workspace_id="known")
    server.call("graph_relate", from_entity="Zoë 🎉", relation="KNOWS", to_entity="Bob / Co", workspace_id="known")
    deleted = server.call("delete_memory", memory_id=added["memory_id"], confirm=True, workspace_id="known")
    assert read(server, "memsweep://known/stats")["total_memories"] == 0
    (receipt,) = read(server, "memsweep://known/receipts")
    assert receipt["subject"] == deleted["receipt_id"]
    for name in ("Zoë 🎉", "Bob / Co"):
        (fact,) = read(server, f"memsweep://known/graph/{quote(name, safe='')}")["relations"]
        assert (fact["from"], fact["relation"], fact["to"]) == ("Zoë 🎉", "KNOWS", "Bob / Co")
    assert "is not known" in read(server, "memsweep://known/graph/nobody")["error"]


def test_what_is_not_there_is_told_in_one_sentence(server: ServerClient) -> None:
    assert "nowhere" in read(server, "memsweep://nowhere/audit")["error"]
    assert "does not exist" in read(server, "memsweep://read/plans/plan_none")["error"]


def test_resources_are_listed(server: ServerClient) -> None:
    listed = server.result_of(server.client.list_resources).resources
    assert [str(each.uri) for each in listed] == ["ui://memsweep/plan.html", "memsweep://workspaces"]
    templates = server.result_of(server.client.list_resource_templates).resource_templates
    assert {each.name for each in templates} == {"audit", "plan", "trash", "stats", "receipts", "graph"}
