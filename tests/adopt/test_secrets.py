"""A client's file with a secret in it: no byte of the secret gets into the home, and no plan touches the file."""

import pytest

from memsweep.app import App
from memsweep.settings import load_settings
from tests.adopt.conftest import git, note

KEY = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
TOLD = f"The token is {KEY} for now."


def in_home(home):
    return [file.name for file in home.rglob("*") if KEY.encode() in file.name.encode() or _has_key(file)]


def _has_key(file):
    return file.is_file() and KEY.encode() in file.read_bytes()


def left_alone(look):
    return {each.place.name for each in look.plan.findings if each.kind == "left_alone"}


def test_a_file_with_a_secret_is_mirrored_redacted_and_in_no_plan(memory, person, home):
    person.write({"MEMORY.md": "- [A](a.md)\n", "a.md": note("a", TOLD), "b.md": note("b", TOLD)})
    person.write({f"{KEY}.md": note("c", "A fact."), "d.md": note("d", "Another fact.")})
    before = person.read()
    look = memory.adopt.look("claude")
    assert left_alone(look) == {"a.md", "b.md", f"{KEY}.md"}
    assert [item.place.name for item in look.plan.items] == ["d.md"]
    assert in_home(home) == []
    done = memory.adopt.apply("claude", look.plan.id, confirm=True)
    assert {name for name, data in person.read().items() if before.get(name) != data} == {"MEMORY.md"}
    memory.adopt.undo(done.receipt_id)
    assert person.read() == before
    assert memory.adopt.look("claude").mirrored == 0, "it is known already"
    (person.memory / "a.md").unlink()
    assert [each.place.name for each in memory.adopt.look("claude").lost] == ["a.md"]
    memory.adopt.restore("claude", ["a.md"])
    assert person.read()["a.md"].decode() == note("a", "The token is [secret: github-token] for now.")
    assert in_home(home) == []


def test_where_the_index_holds_a_secret_the_folder_is_left_alone(memory, person, home, tmp_path):
    person.write({"MEMORY.md": f"- [A](a.md) {KEY}\n- [G](ghost.md)\n", "a.md": note("a", "A fact.")})
    person.write({"b.md": note("b", "A fact."), "old.md": note("old", "See src/gone.py.")})
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=person.repo)
    person.write({"t.md": note("t", "Of the tree.")}, person.memory_of((tmp_path / "tree").resolve()))
    look = memory.adopt.look("claude")
    assert {(item.action, item.place.name) for item in look.plan.items} == {("add_entry", "t.md")}, "in its own folder"
    assert left_alone(look) == {"MEMORY.md"}
    assert {each.kind for each in look.plan.findings} == {"left_alone", "stranded"}
    assert in_home(home) == []


@pytest.mark.parametrize("action", ["warn", "off"])
def test_where_secrets_are_let_in_the_mirror_is_exact(person, home, action):
    person.write({"MEMORY.md": "", "a.md": note("a", TOLD)})
    settings = load_settings({"MEMSWEEP_HOME": str(home), "MEMSWEEP_SECRETS_ACTION": action})
    with App(settings).memory() as memory:
        assert left_alone(memory.adopt.look("claude")) == set()
        (person.memory / "a.md").unlink()
        memory.adopt.restore("claude", ["a.md"])
    assert person.read()["a.md"].decode() == note("a", TOLD)
