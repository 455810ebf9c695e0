"""`memsweep adopt`: plan, look, apply, undo on the files that a client keeps."""

import json
import os
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest

from memsweep.errors import BadInput, Conflict, NotFound, Unconfirmed
from tests.adopt.conftest import git, note
from tests.support.commands import environment
from tests.support.waiting import PATIENCE

SAME = "Deploys go out on Tuesdays at ten from the main branch after review."
DEAD = {
    "MEMORY.md": "# Memory\n- [Deploy](deploy.md) — when\n- [Old](old.md) — parser\n- [Ghost](ghost.md) — nothing\n",
    "deploy.md": note("deploy", SAME),
    "deploy-again.md": note("deploy-again", SAME),
    "old.md": note("old", "The reader lives in src/old.py and takes JSON."),
    "port-a.md": note("port-a", "The API listens on port 8080."),
    "port-b.md": note("port-b", "The API listens on port 9090."),
}


def planned(look):
    return {(item.kind, item.action, item.place.name) for item in look.plan.items}


def test_a_plan_names_what_is_dead_and_leaves_what_may_hold(memory, person):
    person.write(DEAD)
    look = memory.adopt.look("claude")
    assert planned(look) == {
        ("duplicate", "remove", "deploy-again.md"),
        ("missing_paths", "remove", "old.md"),
        ("dead_entry", "drop_entry", "MEMORY.md"),
        ("unlisted", "add_entry", "port-a.md"),
        ("unlisted", "add_entry", "port-b.md"),
    }
    (found,) = look.plan.findings
    assert (found.kind, {found.place.name, found.beside.name}) == ("contradiction", {"port-a.md", "port-b.md"})


def test_apply_then_undo_is_the_identity(memory, person):
    person.write(DEAD)
    before = person.read()
    times = {name: (person.memory / name).stat().st_mtime for name in before}
    done = memory.adopt.apply("claude", memory.adopt.look("claude").plan.id, confirm=True)
    after = person.read()
    assert set(after) == {"MEMORY.md", "deploy.md", "port-a.md", "port-b.md"}
    index = after["MEMORY.md"].decode()
    assert index.startswith("# Memory\n- [Deploy](deploy.md) — when\n")
    assert "ghost" not in index
    assert "old.md" not in index
    assert "- [port-a](port-a.md) — port-a\n" in index
    memory.adopt.undo(done.receipt_id)
    assert person.read() == before
    assert {name: (person.memory / name).stat().st_mtime for name in ("old.md", "deploy-again.md")} == {
        name: times[name] for name in ("old.md", "deploy-again.md")
    }
    with pytest.raises(Conflict, match="undone already"):
        memory.adopt.undo(done.receipt_id)


def test_a_plan_is_applied_once_by_the_client_that_it_is_for_and_needs_a_yes(memory, person):
    person.write(DEAD)
    plan_id = memory.adopt.look("claude").plan.id
    with pytest.raises(Unconfirmed):
        memory.adopt.apply("claude", plan_id)
    with pytest.raises(NotFound):
        memory.adopt.apply("codex", plan_id, confirm=True)
    memory.adopt.apply("claude", plan_id, confirm=True)
    with pytest.raises(NotFound, match="was applied"):
        memory.adopt.apply("claude", plan_id, confirm=True)


def test_an_old_plan_is_refused(make, person):
    person.write(DEAD)
    adopt = make(MEMSWEEP_GC_PLAN_HOURS="0").memory().adopt
    with pytest.raises(Conflict, match="expired"):
        adopt.apply("claude", adopt.look("claude").plan.id, confirm=True)
    assert set(person.read()) == set(DEAD)


def test_a_file_that_changed_since_the_plan_is_skipped_and_named(memory, person):
    person.write(DEAD)
    plan_id = memory.adopt.look("claude").plan.id
    person.write({"old.md": note("old", "The reader lives in src/old.py; see the wiki.")})
    done = memory.adopt.apply("claude", plan_id, confirm=True)
    assert [(each.place.name, each.reason) for each in done.skipped] == [
        ("old.md", "it has changed since the plan was made")
    ]
    assert b"see the wiki" in person.read()["old.md"]
    assert b"[Old](old.md)" in person.read()["MEMORY.md"]
    assert "deploy-again.md" not in person.read()


def test_where_the_index_changed_nothing_that_needs_it_is_done(memory, person):
    person.write(DEAD)
    plan_id = memory.adopt.look("claude").plan.id
    person.write({"MEMORY.md": DEAD["MEMORY.md"] + "- a line of the client\n"})
    done = memory.adopt.apply("claude", plan_id, confirm=True)
    assert {each.place.name for each in done.changes} == {"deploy-again.md"}  # no line of the index names it
    assert person.read()["MEMORY.md"].endswith(b"- a line of the client\n")
    assert "old.md" in person.read()


def test_undo_leaves_alone_what_somebody_changed_since(memory, person):
    person.write(DEAD)
    done = memory.adopt.apply("claude", memory.adopt.look("claude").plan.id, confirm=True)
    person.write({"old.md": "a new fact"})
    undone = memory.adopt.undo(done.receipt_id)
    assert [each.place.name for each in undone.skipped] == ["old.md"]
    assert person.read()["old.md"] == b"a new fact"
    assert person.read()["deploy-again.md"] == DEAD["deploy-again.md"].encode()


def test_what_the_client_deletes_is_shown_and_comes_back(memory, person):
    person.write({"MEMORY.md": "- [A](a.md) — a\n", "a.md": note("a", "Ada signs off."), "b.md": "plain"})
    memory.adopt.look("claude")
    os.utime(person.memory / "a.md", (1e9, 1e9))
    memory.adopt.look("claude")
    (person.memory / "a.md").unlink()
    (person.memory / "MEMORY.md").write_text("")  # the entry goes with it
    look = memory.adopt.look("claude")
    assert [each.place.name for each in look.lost] == ["a.md"]
    done = memory.adopt.restore("claude", ["a.md"])
    assert {each.place.name for each in done.changes} == {"a.md", "MEMORY.md"}
    assert person.read()["a.md"] == note("a", "Ada signs off.").encode()
    assert b"(a.md)" in person.read()["MEMORY.md"]
    assert memory.adopt.look("claude").lost == ()
    memory.adopt.undo(done.receipt_id)
    assert "a.md" not in person.read()
    assert memory.adopt.look("claude").lost == (), "an undo of ours is no loss"


def test_a_whole_folder_that_was_deleted_comes_back(memory, person):
    person.write({"MEMORY.md": "- [A](a.md)\n", "a.md": note("a", "Ada."), "deep/er.md": "x"})
    before = person.read()
    memory.adopt.look("claude")
    shutil.rmtree(person.projects)
    assert len(memory.adopt.look("claude").lost) == 3
    memory.adopt.restore("claude", everything=True)
    assert person.read() == before
    assert person.memory.stat().st_mode & 0o777 == 0o700


def test_an_entry_whose_file_the_mirror_can_bring_back_is_not_dropped(memory, person):
    person.write({"MEMORY.md": "- [A](a.md)\n", "a.md": note("a", "Ada.")})
    memory.adopt.look("claude")
    (person.memory / "a.md").unlink()
    look = memory.adopt.look("claude")
    assert look.plan.items == ()
    assert [each.place.name for each in look.lost] == ["a.md"]


def test_what_is_only_renamed_is_not_lost(memory, person):
    person.write({"a.md": note("a", "Ada.")})
    memory.adopt.look("claude")
    (person.memory / "a.md").rename(person.memory / "b.md")
    assert memory.adopt.look("claude").lost == ()


def test_an_older_version_of_a_file_comes_back(memory, person):
    person.write({"MEMORY.md": "everything\n"})
    memory.adopt.look("claude")
    person.write({"MEMORY.md": "nothing\n"})
    memory.adopt.look("claude")
    rows = memory.adopt.history("claude", "MEMORY.md")
    assert [version.size for _, version in rows] == [8, 11]
    done = memory.adopt.restore("claude", ["MEMORY.md"], version=rows[-1][1].digest[:12])
    assert person.read() == {"MEMORY.md": b"everything\n"}
    memory.adopt.undo(done.receipt_id)
    assert person.read() == {"MEMORY.md": b"nothing\n"}


def test_a_dry_run_writes_nothing(memory, person, home):
    person.write(DEAD)
    look = memory.adopt.look("claude", dry_run=True)
    assert len(look.plan.items) == 5
    assert look.plan.id == ""
    assert look.mirrored == 0
    assert not (home / "clients").exists()


def test_the_mirror_is_exact_and_private(memory, person, home):
    person.write({"raw.md": bytes(range(256)), "ümläut 🎉.md": "x"})
    memory.adopt.look("claude")
    kept = [file for file in (home / "clients").rglob("*") if file.is_file()]
    assert {file.read_bytes() for file in kept} >= {bytes(range(256)), b"x"}
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}
    folders = [home / "clients", *(each for each in (home / "clients").rglob("*") if each.is_dir())]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


def test_the_mirror_is_never_searched(memory, person):
    person.write({"a.md": note("a", "The xylophone is in the attic.")})
    memory.adopt.look("claude")
    memory.remember("Something else entirely.")
    assert memory.search("xylophone", mode="deep").hits == [] or "xylophone" not in str(
        memory.search("xylophone", mode="deep").hits
    )


def test_work_trees_hand_their_memory_to_the_repository(memory, person, tmp_path):
    for name in ("linked", "gone"):
        git("worktree", "add", "-q", str(tmp_path / name), cwd=person.repo)
        folder = person.memory_of((tmp_path / name).resolve())
        person.write({"MEMORY.md": f"- [{name}]({name}.md)\n", f"{name}.md": note(name, f"Fact of {name}.")}, folder)
    shutil.rmtree(tmp_path / "gone")
    person.write({"MEMORY.md": "", "linked.md": "another file of that name"})
    before = {each.name: person.read(each / "memory") for each in person.projects.iterdir()}
    look = memory.adopt.look("claude")
    assert {(item.place.name, item.beside.name) for item in look.plan.items if item.action == "move"} == {
        ("linked.md", "linked-2.md"),
        ("gone.md", "gone.md"),
    }
    done = memory.adopt.apply("claude", look.plan.id, confirm=True)
    assert done.skipped == ()
    assert person.read()["linked-2.md"] == note("linked", "Fact of linked.").encode()
    assert person.read()["MEMORY.md"].count(b"\n") == 2
    assert person.read(person.memory_of((tmp_path / "gone").resolve())) == {"MEMORY.md": b""}
    assert memory.adopt.look("claude").plan.items == ()
    memory.adopt.undo(done.receipt_id)
    assert {each.name: person.read(each / "memory") for each in person.projects.iterdir()} == before


def test_a_work_tree_that_git_has_forgotten_is_found_by_where_it_was(memory, person):
    folder = person.repo / ".claude" / "worktrees" / "feature"
    person.write({"a.md": note("a", "Auth uses JWT.")}, person.memory_of(folder))
    session = person.memory_of(folder).parent / "s.jsonl"
    session.write_text(json.dumps({"cwd": str(folder)}) + "\n")
    (item,) = memory.adopt.look("claude").plan.items
    assert (item.kind, item.action, item.place.name) == ("stranded", "move", "a.md")


def test_a_git_file_that_leads_to_a_foreign_repository_gets_nothing(memory, person, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / ".git").write_text(f"gitdir: {person.repo / '.git'}\n")
    person.write({"a.md": note("a", "A fact of the repository.")})
    person.write({"b.md": note("b", "A fact of the other folder.")}, person.memory_of(other.resolve()))
    assert {item.action for item in memory.adopt.look("claude", project=other).plan.items} == {"add_entry"}
    assert [each.name for each in memory.adopt.look("claude", project=other).stores] == [
        person.memory_of(other.resolve()).parent.name
    ]


def test_other_projects_are_left_out_unless_asked_for(memory, person, tmp_path):
    person.write({"a.md": "x"})
    person.write({"b.md": "y"}, person.projects / "-somewhere-else" / "memory")
    assert memory.adopt.look("claude").files == 1
    assert memory.adopt.look("claude", all_projects=True).files == 2
    with pytest.raises(NotFound, match="keeps no memory"):
        memory.adopt.look("claude", project=tmp_path)


def test_a_store_whose_folder_nobody_knows_is_not_stranded(memory, person):
    person.write({"b.md": note("b", "y")}, person.projects / "-somewhere-else" / "memory")
    look = memory.adopt.look("claude", all_projects=True)
    assert {item.kind for item in look.plan.items} == {"unlisted"}
    assert look.plan.findings == ()


def test_codex_has_one_folder_whose_own_files_are_in_no_plan(memory, person):
    folder = person.home / ".codex" / "memories"
    summary = note("s", "The build takes ten minutes on the small machine, and two on the large one.")
    person.write(
        {
            "MEMORY.md": "- [x](gone.md)\n",
            "raw_memories.md": "raw",
            ".git/HEAD": "ref",
            "rollout_summaries/1.md": summary,
            "rollout_summaries/2.md": summary,
        },
        folder,
    )
    look = memory.adopt.look("codex")
    assert look.files == 4
    assert {(item.kind, item.place.name) for item in look.plan.items} == {("duplicate", "rollout_summaries/1.md")}
    shutil.rmtree(folder)
    assert len(memory.adopt.look("codex").lost) == 4
    memory.adopt.restore("codex", everything=True)
    assert set(person.read(folder)) == {"MEMORY.md", "raw_memories.md", *(f"rollout_summaries/{n}.md" for n in (1, 2))}


def test_a_long_index_is_shown(memory, person):
    person.write({"MEMORY.md": "".join(f"line {n}\n" for n in range(230))})
    (found,) = memory.adopt.look("claude").plan.findings
    assert (found.kind, found.details) == ("long_index", ("230", "200"))


def test_more_than_half_needs_a_word(memory, person):
    person.write({f"n{number}.md": note(f"n{number}", SAME) for number in range(30)})
    plan_id = memory.adopt.look("claude").plan.id
    with pytest.raises(Conflict, match="29 of 30 files"):
        memory.adopt.apply("claude", plan_id, confirm=True)
    assert len(person.read()) == 30
    memory.adopt.apply("claude", plan_id, confirm=True, allow_large=True)
    assert len([name for name in person.read() if name != "MEMORY.md"]) == 1


def test_old_versions_are_purged_and_what_is_there_stays(memory, person, home):
    person.write({"a.md": "one", "b.md": "b"})
    memory.adopt.look("claude")
    person.write({"a.md": "two"})
    (person.memory / "b.md").unlink()
    memory.adopt.look("claude")
    assert memory.adopt.purge("claude", confirm=True).versions == 0, "they are young"
    done = memory.adopt.purge("claude", 0, confirm=True)
    assert (done.versions, done.bytes_freed) == (2, 4)
    contents = {file.read_bytes() for file in (home / "clients").rglob("files/*/*")}
    assert contents == {b"two"}
    assert memory.adopt.look("claude").lost == ()
    with pytest.raises(Unconfirmed):
        memory.adopt.purge("claude")
    with pytest.raises(BadInput):
        memory.adopt.purge("claude", float("nan"), confirm=True)


def test_a_schedule_that_purges_the_trash_purges_old_versions(make, person, home):
    from memsweep.clock import now
    from memsweep.schedule.background import Background

    app = make(MEMSWEEP_SCHEDULE_PURGE_DAYS="7")
    person.write({"a.md": "one"})
    app.adopt.look("claude")
    person.write({"a.md": "two"})
    app.adopt.look("claude")
    for days, left in ((6, {b"one", b"two"}), (8, {b"two"})):
        Background(app, clock=lambda days=days: now() + timedelta(days=days)).run()
        assert {file.read_bytes() for file in home.rglob("files/*/*")} == left


def test_where_there_is_no_memory_nothing_is_made(memory, person, home):
    for call in (
        lambda: memory.adopt.look("claude"),
        lambda: memory.adopt.restore("claude", everything=True),
        lambda: memory.adopt.history("claude", "a.md"),
        lambda: memory.adopt.apply("claude", "plan_000000000000", confirm=True),
    ):
        with pytest.raises(NotFound):
            call()
    assert memory.adopt.purge("claude", 0, confirm=True).versions == 0
    assert not (home / "clients").exists()


@pytest.mark.slow
def test_two_processes_at_once_take_turns(person, home):
    person.write(DEAD)
    command = [sys.executable, "-m", "memsweep", "adopt", "claude", "-y", "--json"]
    many = [
        subprocess.Popen(
            command, env=environment(home), cwd=person.repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    ended = [(each.communicate(timeout=PATIENCE), each.returncode) for each in many]
    assert {status for _, status in ended} == {0}, ended
    removed = [
        each["name"]
        for (out, _), _ in ended
        for each in json.loads(out).get("changed", [])
        if each["change"] == "removed"
    ]
    assert sorted(removed) == ["deploy-again.md", "old.md"], "each goes once"
    assert set(person.read()) == {"MEMORY.md", "deploy.md", "port-a.md", "port-b.md"}
    assert person.read()["MEMORY.md"].count(b"port-a.md") == 1
