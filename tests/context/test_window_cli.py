"""The command line of the context window, as a user types it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Ran, memsweep

Run = Callable[..., Ran]

MESSAGES = [
    {"role": "system", "content": "You are a careful engineer."},
    {"role": "user", "content": "Staging is db-7.internal, port 6432."},
    *({"role": "assistant", "content": f"Thinking about step {n} of many. " * 8} for n in range(20)),
    {"role": "user", "content": "Which port does staging use?"},
]


@pytest.fixture
def filled(home: Path, tmp_path: Path, run: Run) -> Path:
    file = tmp_path / "messages.json"
    file.write_text(json.dumps(MESSAGES))
    said = run("context", "import", str(file))
    assert said.out.startswith("Added 23 segments; 0 → ")
    return home


def test_a_window_is_imported_analyzed_pruned_and_restored(filled: Path, run: Run) -> None:
    seen = run("context", "analyze", "--budget", "300")
    assert "soft 100,000, hard 200,000, counted by o200k_base" in seen.out
    assert "message" in seen.out
    assert "█" in seen.out
    assert "no root leads to it" in seen.out
    done = run("context", "prune", "--budget", "300", "--yes", "--json").json
    assert done["tokens_after"] <= 300
    assert len(done["stashed"]) > 5
    found = run("context", "search", "step")
    assert "in the stash" in found.out
    back = run("context", "restore", "-q", "step 3", "--budget", "80", "--json").json
    assert 0 < back["tokens_after"] - back["tokens_before"] <= 80
    undone = run("undo", done["receipt_id"])
    assert "segments" in undone.out
    assert run("context", "analyze", "--json").json["tokens_before"] == done["tokens_before"]


def test_without_a_yes_nothing_moves_and_the_plan_can_be_applied_later(filled: Path, run: Run) -> None:
    said = run("context", "prune", "--budget", "300")
    command = said.out.strip().splitlines()[-1].partition("memsweep ")[2].split()
    assert said.out.strip().splitlines()[-1].startswith("Nothing was moved.")
    done = run(*command)
    assert "Stashed " in done.out
    assert "To bring it back: memsweep undo rcpt_" in done.out
    again = run(*command)
    assert (again.status, again.err.startswith("Error: plan")) == (4, True)


def test_ids_are_pruned_pinned_and_refused(filled: Path, run: Run) -> None:
    segments = run("context", "export").json["segments"]
    first, second = segments[0]["segment_id"], segments[1]["segment_id"]
    assert run("context", "pin", second, "nobody", "--json").json["refused"] == [
        {"segment_id": "nobody", "reason": "unknown"}
    ]
    said = run("context", "prune", first, second)
    assert f"refused: {first} (holds for the whole session)" in said.out
    assert f"refused: {second} (pinned)" in said.out
    run("context", "unpin", second)
    assert run("context", "prune", second, "--strategy", "delete").status == 4
    gone = run("context", "prune", second, "--strategy", "delete", "--yes", "--json").json
    assert [each["segment_id"] for each in gone["deleted"]] == [second]
    assert run("trash").out.count("segment") == 1


@pytest.mark.slow
def test_an_export_is_an_import(filled: Path) -> None:
    memsweep("context", "prune", "--budget", "300", "--yes", home=filled)
    whole = memsweep("context", "export", "--all", home=filled)
    part = memsweep("context", "export", home=filled)
    assert len(part.json["segments"]) < len(whole.json["segments"]) == 23
    quiet = {"MEMSWEEP_CONTEXT_CHANGES_PER_STEP": "1000"}  # a step would count one more survival
    memsweep("context", "import", "-", "-p", "copy", home=filled, stdin=whole.raw, **quiet)
    assert memsweep("context", "export", "-p", "copy", home=filled).json == whole.json


def test_windows_are_listed_and_deleted_once_it_is_sure(filled: Path, run: Run) -> None:
    (row,) = run("context", "list", "--json").json["windows"]
    assert row["segments"] == 23
    name = row["project_id"]
    assert run("context", "delete", name).status == 4, "nobody was there to ask"
    said = run("context", "delete", name, "--yes")
    assert "memsweep undo rcpt_" in said.out
    assert "No context window" in run("context", "list").out
    run("undo", said.out.split()[-1])
    assert f"{name}  23 segments" in run("context", "list").out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["analyze", "-p", "nowhere"], 3),
        (["delete", "nowhere", "--yes"], 3),
        (["analyze", "-p", "../x"], 2),
        (["analyze", "--budget", "1", "--target", "1"], 2),
        (["import", "no-such-file"], 3),
        (["import", "."], 2),
        (["prune", "x", "--plan", "y"], 2),
        (["prune", "--plan", "y"], 3),
        (["restore"], 2),
    ],
)
def test_mistakes_have_their_exit_status(filled: Path, run: Run, arguments: list[str], status: int) -> None:
    said = run("context", *arguments)
    assert (said.status, said.err.startswith("Error: ")) == (status, True)
    as_json = run("context", *arguments, "--json")
    assert set(json.loads(as_json.err)["error"]) == {"code", "message", "hint"}


def test_a_session_that_is_still_being_written_is_read_up_to_there(run: Callable[..., Ran], tmp_path: Path) -> None:
    lines = [{"role": "user", "content": f"message {number}"} for number in range(3)]
    rows = [{"type": "user", "uuid": f"u{n}", "message": message} for n, message in enumerate(lines)]
    text = "\n".join(json.dumps(row) for row in rows) + '\n{"type": "user", "uuid": "u3", "message": {"content": "né'
    file = tmp_path / "session.jsonl"
    file.write_bytes(text.encode()[:-1])
    said = run("context", "import", str(file))
    assert (said.status, "Added 3 segments" in said.out) == (0, True), said.err
    assert "Line 4, the last one, is half written: 3 lines before it were read." in said.out
    piped = run("context", "import", "-", "-p", "other", "--json", stdin=text.encode()[:-1])
    assert piped.json["notes"] == ["Line 4, the last one, is half written: 3 lines before it were read."]


def test_a_person_sees_texts_beside_ids(filled: Path, run: Run) -> None:
    seen = run("context", "analyze", "--budget", "300", "--dry-run")
    assert "Thinking about step" in seen.out
    assert "plan_" not in seen.out
    rows = run("context", "export").json["segments"]
    step, port = rows[2]["segment_id"], rows[1]["segment_id"]
    pinned = run("context", "pin", port)
    assert f"  {port}  Staging is db-7.internal, port 6432." in pinned.out
    pruned = run("context", "prune", step, port)
    assert f"  {step}  Thinking about step 0 of many." in pruned.out
    assert f"refused: {port} (pinned)  Staging is db-7.internal" in pruned.out
    run("context", "prune", rows[3]["segment_id"])
    assert "(beside a hit)" in run("context", "search", "1").out
