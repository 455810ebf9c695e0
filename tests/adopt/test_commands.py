"""`memsweep adopt` at the command line."""

import pytest

from tests.adopt.conftest import note
from tests.adopt.test_adopt import DEAD


def test_plan_look_apply_undo(run, person):
    person.write(DEAD)
    before = person.read()
    looked = run("adopt", "claude")
    assert "remove: " in looked.out
    assert "says the same as deploy.md" in looked.out
    assert "Nothing was changed. To apply exactly this: memsweep adopt claude --plan plan_" in looked.out
    plan_id = looked.out.split("--plan ")[1].split()[0]
    applied = run("adopt", "claude", "--plan", plan_id)
    assert "removed: " in applied.out
    receipt = applied.out.split("memsweep undo ")[1].split()[0]
    assert person.read() != before
    assert "were made what they were." in run("undo", receipt).out
    assert person.read() == before


def test_json_at_every_step(run, person):
    person.write(DEAD)
    looked = run("adopt", "claude", "--json").json
    assert {item["kind"] for item in looked["items"]} == {"duplicate", "missing_paths", "dead_entry", "unlisted"}
    assert all(item["why"] for item in [*looked["items"], *looked["findings"]])
    applied = run("adopt", "claude", "--yes", "--json").json
    assert {each["change"] for each in applied["changed"]} == {"removed", "changed"}
    assert run("adopt", "claude", "--undo", applied["receipt_id"], "--json").json["skipped"] == []
    assert run("adopt", "claude", "--purge", "--older-than-days", "0", "-y", "--json").json["purged_receipts"] == 1


def test_deleted_files_come_back(run, person):
    person.write({"a.md": "x", "b.md": "y"})
    run("adopt", "claude")
    for name in ("a.md", "b.md"):
        (person.memory / name).unlink()
    assert "deleted by others: " in run("adopt", "claude", "--dry-run").out
    assert run("adopt", "claude", "--restore", "a.md").out.startswith("added: ")
    assert set(person.read()) == {"a.md"}
    assert "1 file was brought back." in run("adopt", "claude", "--all").out
    assert set(person.read()) == {"a.md", "b.md"}
    assert "deleted" in run("adopt", "claude", "--history", "a.md").out


def test_status_says_what_a_client_deleted(run, person):
    person.write({"a.md": "x", "b.md": "y"})
    assert run("status", "--json").json["deleted_by_clients"] == {}
    run("adopt", "claude")
    (person.memory / "a.md").unlink()
    assert "1 memory file of claude by others; `memsweep adopt claude` shows them" in run("status").out
    assert run("status", "--json").json["deleted_by_clients"] == {"claude": 1}


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["cursor"], 2, "client 'cursor' is unknown. Use one of: claude, codex."),
        (["codex"], 3, "Codex keeps no memory in "),
        (["claude", "--project", "/"], 3, "Pass --all-projects"),
        (["claude", "--restore", "../../x"], 3, "no deleted file '../../x' is in the mirror."),
        (["claude", "--restore", "a.md", "--at", "xyz"], 3, "'a.md' has no single version 'xyz'."),
        (["claude", "--all", "--at", "abcdef"], 2, "Name a file"),
        (["claude", "--history", "nothing.md"], 3, "the mirror has no file 'nothing.md'."),
        (["claude", "--plan", "plan_000000000000"], 3, "does not exist, or was applied."),
        (["claude", "--plan", "../mirror"], 3, "plan '../mirror' does not exist"),
        (["claude", "--undo", "clrcpt_000000000000"], 3, "does not exist, or was purged."),
        (["claude", "--undo", "../../x"], 3, "does not exist, or was purged."),
        (["claude", "--undo", "x", "--all"], 2, "--restore and --undo cannot be used together."),
        (["claude", "--purge"], 4, "Pass --yes."),
        (["claude", "--purge", "--older-than-days", "-1", "-y"], 2, "--older-than-days"),
    ],
)
def test_a_mistake_gets_one_sentence(run, person, arguments, status, words):
    person.write({"a.md": note("a", "Ada.")})
    ran = run("adopt", *arguments)
    assert (ran.status, words in ran.err) == (status, True), ran.err
