"""What the command line says is about commands and options, and its counts have the right nouns."""

import pytest

from memsweep.errors import MemsweepError

TOOL_WORDS = ("undo_prune", "list_trash", "search_memory", "add_memory", "confirm=", "dry_run=", "prune_memory")


@pytest.fixture
def note(run) -> str:
    return run("remember", "Priya signs off deploys.", "--json").json["memory_id"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["undo", "rcpt_000000000000"], "`memsweep trash` shows the receipts."),
        (["recover", "mem_000000000000"], "`memsweep trash` shows what is."),
        (["get", "mem_000000000000"], "Take an id from `memsweep search ''`,"),
        (["prune", "--plan", "plan_000000000000", "--yes"], "Make a new one with `memsweep prune`."),
        (["context", "prune", "a", "--strategy", "delete"], "Deleting needs --yes; nothing was removed."),
        (["context", "prune", "a", "--strategy", "delete"], "Or use --strategy stash."),
        (["context", "analyze", "--budget", "1", "--target", "1"], "--target and budget cannot be used together."),
        (["workspace", "delete", "default"], "Pass --yes to proceed."),
        (["search", "x", "--since", "2026-02-01", "--until", "2026-01-01"], " is after --until "),
        (["graph", "related", "Nobody"], "`memsweep graph entities` lists the entities."),
        (["prune", "--ttl-days", "-1", "-s", "expired"], "--ttl-days must be a number of days"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_refusal_speaks_of_commands_and_options(run, note, arguments, words, as_json):
    ran = run(*arguments, *(["--json"] if as_json else []))
    assert ran.status in (2, 3, 4)
    assert words in ran.err
    assert not [word for word in TOOL_WORDS if word in ran.err]


def test_the_value_of_somebody_is_repeated_as_it_was_given(run, note):
    assert "'undo_prune'" in run("graph", "related", "undo_prune").err


def test_what_was_removed_and_the_way_back_are_said_in_commands(run, note):
    gone = run("delete", note, "--yes", "--json").json
    way_back = f"`memsweep undo {gone['receipt_id']}`"
    assert gone["message"] == f"Moved 1 memory to the trash. {way_back} brings it back."
    assert run("explain", note, "--json").json["because"] == [
        f"It is in the trash; {way_back} or `memsweep recover {note}` brings it back."
    ]
    assert f"{way_back} or `memsweep recover {note}`" in run("explain", note).out
    assert run("undo", gone["receipt_id"]).out == "Restored 1 memory.\n"


def test_a_deleted_workspace_and_an_index_name_the_next_command(run, note, tmp_path):
    (tmp_path / "code").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "code" / name).write_text(f"def {name[0]}(): pass\n")
    run("index", str(tmp_path / "code"))
    (tmp_path / "code" / "b.py").unlink()
    assert "Stale memories detected: 1 (run `memsweep prune` to clean up)" in run("index", str(tmp_path / "code")).out
    gone = run("workspace", "delete", "default", "--yes").out
    assert gone.startswith("Moved workspace 'default' to the trash; `memsweep undo wsrcpt_")


def test_the_metadata_of_a_memory_is_nobody_elses_words(run):
    given = run("remember", "A note.", "--metadata", '{"note": "use undo_prune", "reason": "confirm=true"}', "--json")
    kept = run("get", given.json["memory_id"], "--json").json["metadata"]
    assert kept == {"note": "use undo_prune", "reason": "confirm=true"}


def test_errors_keep_the_words_of_the_tools_for_the_other_doors():
    assert str(MemsweepError("x.", hint="list_trash shows what is.")) == "x. list_trash shows what is."
