"""Every command that the command line prints works when it is pasted, in every workspace."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.clock import now
from memsweep.report.commands import in_commands
from tests.support import store_files
from tests.support.commands import Ran

Run = Callable[..., Ran]
_HINT = re.compile(r"`(memsweep [^`]+)`|(?:To [^:`]+|next|with): (memsweep [^`;]+?)[;.]?$", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A workspace, and how a person gets there."""

    run: Run
    app: App
    name: str
    options: tuple[str, ...]
    variables: dict[str, str]
    folder: Path

    @property
    def memory(self) -> Memory:
        return self.app.memory(self.name)

    def type(self, *arguments: str) -> Ran:
        """What a person types here."""
        return self.run(*arguments, *self.options, **self.variables)


PLACES = {
    "the default one": ("default", (), {}),
    "by option": ("a-1_x", ("-w", "a-1_x"), {}),
    "by a long option": ("other", ("--workspace=other",), {}),
    "by the settings": ("configured", (), {"MEMSWEEP_WORKSPACE": "configured"}),
    "the default one beside a configured one": ("default", ("-w", "default"), {"MEMSWEEP_WORKSPACE": "configured"}),
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, run: Run, app: App, tmp_path: Path) -> Place:
    name, options, variables = PLACES[request.param]
    made = Place(run, app, name, options, variables, tmp_path)
    made.memory.remember("Ada met Grace.", relations=[{"from": "Ada", "relation": "MET", "to": "Grace"}])
    return made


def hints(ran: Ran) -> list[str]:
    return [first or second for first, second in _HINT.findall(f"{ran.out}\n{ran.err}")]


def paste(place: Place, ran: Ran, *, count: int = 1) -> list[Ran]:
    """Run every hint exactly as it was printed, in a shell that knows nothing of the workspace but the settings."""
    found = hints(ran)
    assert len(found) == count, (ran.out, ran.err)
    done = [place.run(*shlex.split(hint)[1:], **place.variables) for hint in found]
    for hint, ran_again in zip(found, done, strict=True):
        assert ran_again.status == 0, (hint, ran_again.err)
    if place.options or place.variables:
        # also in a shell without the settings
        for hint in found:
            assert place.name in shlex.split(hint) or "wsrcpt_" in hint, hint
    return done


def expired(place: Place, number: int) -> None:
    for each in range(number):
        place.memory.remember(f"old {each}", expires_at=now() - timedelta(days=1))


@pytest.mark.parametrize("number", [2, 30], ids=["few", "above the cap"])
def test_how_to_apply_a_plan_and_how_to_undo_it(place: Place, number: int) -> None:
    expired(place, number)
    before = place.memory.stats().total_memories
    shown = place.type("prune", "-s", "expired")
    (applied,) = paste(place, shown)
    assert f"Moved {number} memories" in applied.out
    (undone,) = paste(place, applied)
    assert f"Restored {number} memories" in undone.out
    assert place.memory.stats().total_memories == before


def test_how_to_apply_a_plan_after_a_backup(place: Place) -> None:
    expired(place, 2)
    file = place.folder / "a copy.backup"
    (applied,) = paste(place, place.type("prune", "-s", "expired", "--backup", str(file)))
    assert "Moved 2 memories" in applied.out
    assert file.exists()


def test_how_to_apply_and_undo_a_pruning_of_the_graph(place: Place) -> None:
    place.app.clock = lambda: now() - timedelta(days=4000)
    names = [f"Old {number}" for number in range(50)]
    place.memory.graph.relate_many({"entities": [{"name": name, "type": "Concept"} for name in names]})
    place.app.clock = now
    (applied,) = paste(place, place.type("graph", "prune", "--max-age-days", "1"))
    assert "Moved 50 entities" in applied.out
    paste(place, applied)


def test_deleting_and_explaining_say_the_way_back(place: Place) -> None:
    note = place.memory.remember("a note").memory_id
    paste(place, place.type("delete", note, "--yes"))
    receipt = place.memory.delete(note, confirm=True).id
    explained = place.type("explain", note)
    assert hints(explained)[0].startswith(f"memsweep undo {receipt}")
    recover = hints(explained)[1]
    assert place.run(*shlex.split(recover)[1:], **place.variables).status == 0
    place.memory.delete(note, confirm=True)
    as_json = place.type("explain", note, "--json")
    (sentence,) = as_json.json["because"]
    undo = re.findall(r"`(memsweep undo [^`]+)`", sentence)[0]
    assert place.run(*shlex.split(undo)[1:], **place.variables).status == 0


def test_a_window_says_how_to_apply_and_how_to_undo(place: Place) -> None:
    texts = [{"segment_id": f"s{n}", "text": f"word{n} " * 40, "type": "log"} for n in range(30)]
    place.memory.context("talk").add(texts)
    (applied,) = paste(place, place.type("context", "prune", "-p", "talk", "--budget", "400"))
    paste(place, applied)
    deleted = place.type("context", "prune", "s1", "-p", "talk", "--strategy", "delete", "--yes")
    paste(place, deleted)
    shown = place.type("context", "prune", "-p", "talk", "--budget", "300", "--strategy", "stash")
    paste(place, shown)


def test_merging_and_splitting_say_the_way_back(place: Place) -> None:
    merged = place.type("graph", "merge", "Ada", "--into", "Grace", "--yes")
    paste(place, merged)
    found = place.memory.search("Ada met Grace", limit=1, filters={"kind": "memory"})
    (note,) = [hit.passage.memory_id for hit in found.hits]
    paste(place, place.type("graph", "unmerge", "Ada", "Ada L", "-m", note))


def test_an_index_with_stale_files_says_what_to_run(place: Place) -> None:
    code = place.folder / "code"
    code.mkdir()
    for name in ("a.py", "b.py"):
        (code / name).write_text(f"def {name[0]}(): pass\n")
    place.type("index", str(code))
    (code / "b.py").unlink()
    (shown,) = paste(place, place.type("index", str(code)))
    assert "b.py" in shown.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["get", "mem_000000000000"],
        ["undo", "rcpt_000000000000"],
        ["recover", "mem_000000000000"],
        ["prune", "--plan", "plan_000000000000", "--yes"],
        ["graph", "related", "Nobody"],
        ["delete", "mem_000000000000", "--yes"],
        ["tombstone", "remove", "mem_000000000000"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("as_json", [False, True])
def test_a_refusal_names_a_command_that_works(place: Place, arguments: list[str], as_json: bool) -> None:
    paste(place, place.type(*arguments, *(["--json"] if as_json else [])))


def test_what_may_not_be_learned_again_can_be_looked_up(place: Place) -> None:
    note = place.memory.remember("the locker code is 4711").memory_id
    place.memory.delete(note, confirm=True, forever=True)
    (listed,) = paste(place, place.type("remember", "the locker code is 4711"))
    assert note in listed.out


def test_the_doctor_says_what_to_run(place: Place, home: Path) -> None:
    place.app.close()
    store_files.damage(home, "chunks of no memory", place.name)
    said = place.type("doctor")
    assert said.status == 5
    for hint in hints(said):
        if "ID" not in hint.split():
            assert place.name in hint or not (place.options or place.variables)
            assert place.run(*shlex.split(hint)[1:], **place.variables).status in (0, 5), hint


def test_a_deleted_workspace_comes_back(run: Run, app: App) -> None:
    app.memory("gone").remember("x")
    deleted = run("workspace", "delete", "gone", "--yes")
    (hint,) = hints(deleted)
    assert run(*shlex.split(hint)[1:]).status == 0
    assert app.memory("gone").stats().total_memories == 1


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Run `memsweep doctor`.", "Run `memsweep doctor -w w1`."),
        ("memsweep doctor --repair; if it stays, look.", "memsweep doctor --repair -w w1; if it stays, look."),
        ("with `memsweep workspace reembed`, or", "with `memsweep workspace reembed w1`, or"),
        ("Embed it again with: memsweep workspace reembed", "Embed it again with: memsweep workspace reembed w1"),
        ("clear_all removes everything.", "`memsweep workspace delete w1` removes everything."),
        ("undo_prune with rcpt_1 brings it back.", "`memsweep undo rcpt_1 -w w1` brings it back."),
        (
            "`memsweep schedule run --workspace w2 --allow-large`",
            "`memsweep schedule run --workspace w2 --allow-large`",
        ),
        ("`memsweep undo x -w w2`", "`memsweep undo x -w w2`"),
        ("`memsweep prune`", "`memsweep prune -w w1`"),
        ("memsweep needs FalkorDB 4.8.", "memsweep needs FalkorDB 4.8."),
        ("memory 'memsweep undo' is unknown.", "memory 'memsweep undo' is unknown."),
        ("Let an MCP client start `memsweep serve`.", "Let an MCP client start `memsweep serve`."),
    ],
)
def test_every_command_in_a_sentence_names_the_workspace(said: str, expected: str) -> None:
    assert in_commands(said, "w1") == expected
    assert in_commands(expected, "w1") == expected
