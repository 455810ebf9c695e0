"""Folders of clients that hold anything: links, pipes, names and texts that somebody chose to do harm."""

import json
import os
import socket

import pytest

from memsweep.errors import BadInput, MemsweepError, StoreCorrupt
from memsweep.settings.load import client_variables
from tests.adopt.conftest import git, note
from tests.adopt.test_adopt import DEAD

HOSTILE = [
    "a\nb.md",
    "\x1b[31mred.md",
    "](x.md",
    "-rf.md",
    "%2e%2e%2fx.md",
    "👩‍👩‍👧.md",
    "x" * 250 + ".md",
    "con.md",
    " .md",
]


def test_links_are_not_followed(memory, person, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("a secret of another folder")
    person.write({"MEMORY.md": "- [S](secret.md)\n- [D](deep/x.md)\n"})
    (person.memory / "secret.md").symlink_to(secret)
    (person.memory / "deep").symlink_to(tmp_path)
    look = memory.adopt.look("claude")
    assert look.files == 1
    assert look.plan.items == (), "what is a link is there"
    assert {finding.place.name for finding in look.plan.findings} == {"secret.md", "deep"}


def test_a_memory_folder_that_is_a_link_is_left_alone(memory, person, tmp_path):
    person.write({"a.md": note("a", "A fact.")})
    git("worktree", "add", "-q", str(tmp_path / "tree"), cwd=person.repo)
    other = person.memory_of((tmp_path / "tree").resolve())
    other.parent.mkdir()
    other.symlink_to(person.memory)
    look = memory.adopt.look("claude")
    assert look.files == 1
    assert {item.action for item in look.plan.items} == {"add_entry"}


def test_a_link_that_comes_after_the_plan_is_not_followed(memory, person, tmp_path):
    person.write(DEAD)
    plan_id = memory.adopt.look("claude").plan.id
    elsewhere = tmp_path / "elsewhere"
    person.memory.rename(elsewhere)
    person.memory.symlink_to(elsewhere)
    before = person.read(elsewhere)
    done = memory.adopt.apply("claude", plan_id, confirm=True)
    assert done.changes == ()
    assert person.read(elsewhere) == before
    assert memory.adopt.look("claude").lost == (), "what is behind a link is unknown, not gone"


def test_a_folder_of_the_client_may_itself_be_a_link(memory, person, tmp_path):
    person.write({"a.md": note("a", "A fact.")})
    (person.home / ".claude").rename(tmp_path / "dotfiles")
    (person.home / ".claude").symlink_to(tmp_path / "dotfiles")
    memory.adopt.apply("claude", memory.adopt.look("claude").plan.id, confirm=True)
    assert person.read()["MEMORY.md"] == "- [a](a.md) — a\n".encode()


def test_pipes_sockets_and_giants_are_left_alone(memory, person, monkeypatch):
    person.write({"a.md": note("a", "A fact."), "MEMORY.md": "- [a](a.md)\n"})
    os.mkfifo(person.memory / "pipe.md")
    with (person.memory / "giant.md").open("wb") as file:
        file.truncate(20 * 1024**2)
    monkeypatch.chdir(person.memory)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        look = memory.adopt.look("claude", project=person.repo)
    assert {finding.place.name for finding in look.plan.findings} == {"pipe.md", "giant.md", "socket.md"}
    assert look.plan.items == ()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_mirrored_planned_and_comes_back(run, person, name):
    text = note("n", "A fact that nobody else states.")
    person.write({name: text, "MEMORY.md": "# Index\n"})
    before = person.read()
    applied = run("adopt", "claude", "-y", "--json").json
    index = person.read()["MEMORY.md"].decode()
    assert index.count("\n") == 2, "one line for one file"
    assert run("adopt", "claude", "--json").json["items"] == []
    assert "\x1b" not in run("adopt", "claude", "--history", name).out.replace("\x1b[31mred", "")
    run("undo", applied["receipt_id"])
    assert person.read() == before
    (person.memory / name).unlink()
    assert run("adopt", "claude", "--restore", name).status == 0
    assert person.read()[name] == text.encode()


def test_a_name_that_is_no_unicode_comes_back(run, person):
    person.write({"MEMORY.md": "x"})
    name = os.path.join(os.fsencode(person.memory), b"caf\xe9.md")
    with open(name, "wb") as file:
        file.write(note("n", "A fact.").encode())
    assert run("adopt", "claude", "-y", "--json").status == 0
    assert b"caf%E9.md" in person.read()["MEMORY.md"]
    assert run("adopt", "claude", "--json").json["items"] == []
    os.unlink(name)
    assert run("adopt", "claude", "--all").status == 0
    assert os.path.exists(name)


@pytest.mark.parametrize(
    "head",
    [
        "name: a](evil.md)\n",
        "name: 'a\u2028- [x](y.md)'\n",
        "name: a\r- [x](y.md)\n",
        "description: " + "x" * 100_000 + "\n",
        "name: \x1b[2J\x00\n",
        "name: {{7*7}} <script>\n",
    ],
)
def test_front_matter_cannot_write_more_than_its_line(memory, person, head):
    person.write({"a.md": f"---\n{head}---\nA fact.\n".encode()})
    memory.adopt.apply("claude", memory.adopt.look("claude").plan.id, confirm=True)
    index = person.read()["MEMORY.md"].decode()
    assert index.endswith("\n")
    assert len(index.splitlines()) == 1
    assert "(a.md)" in index
    assert "(evil.md)" not in index
    assert len(index) < 400
    assert memory.adopt.look("claude").plan.items == ()


@pytest.mark.parametrize("path", ["/etc/shadow.md", "//host/share/x.py", "../../../x.py", "C:/x/y.py", "src/\x00.py"])
def test_a_path_outside_of_the_project_is_unknown(memory, person, path):
    person.write({"MEMORY.md": "- [a](a.md)\n", "a.md": note("a", f"It lives in {path} and works.")})
    assert memory.adopt.look("claude").plan.items == ()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("src/old.py was removed; do not bring it back.", "project"),
        ("Ada prefers src/old.py as an example.", "user"),
        ("The reader in src/old.py calls src/parser.py.", "project"),
    ],
)
def test_what_may_still_hold_is_shown_and_not_removed(memory, person, body, kind):
    person.write({"MEMORY.md": "- [a](a.md)\n", "a.md": note("a", body, kind=kind)})
    look = memory.adopt.look("claude")
    assert look.plan.items == ()
    assert [(found.kind, found.details) for found in look.plan.findings] == [("missing_paths", ("src/old.py",))]


def test_a_project_that_is_not_there_makes_no_path_gone(memory, person, tmp_path):
    person.write({"MEMORY.md": "- [a](a.md)\n", "a.md": note("a", "It lives in src/parser.py.")})
    (person.repo).rename(tmp_path / "moved")
    look = memory.adopt.look("claude", project=person.repo)
    assert look.plan.items == ()


@pytest.mark.parametrize("junk", [b"", b"{}", b"[]", b"\xff\xfe", b'{"format": 2, "digest": ""}', b"[" * 100_000])
def test_a_damaged_mirror_is_said_and_nothing_is_changed(memory, person, home, junk):
    person.write(DEAD)
    plan_id = memory.adopt.look("claude").plan.id
    (file,) = home.rglob("mirror.json")
    file.write_bytes(junk)
    for call in (lambda: memory.adopt.look("claude"), lambda: memory.adopt.apply("claude", plan_id, confirm=True)):
        with pytest.raises(StoreCorrupt, match=r"mirror\.json is damaged"):
            call()
    assert person.read() == {name: text.encode() for name, text in DEAD.items()}


def test_a_damaged_content_is_never_written_into_a_file(memory, person, home):
    person.write({"a.md": "the text"})
    memory.adopt.look("claude")
    (person.memory / "a.md").unlink()
    (content,) = home.rglob("files/*/*")
    content.write_bytes(b"another text")
    with pytest.raises(StoreCorrupt, match="damaged"):
        memory.adopt.restore("claude", everything=True)
    assert person.read() == {}


def test_a_forged_receipt_leads_nowhere(memory, person, home, tmp_path):
    person.write(DEAD)
    done = memory.adopt.apply("claude", memory.adopt.look("claude").plan.id, confirm=True)
    (file,) = home.rglob("receipts/*.json")
    value = json.loads(file.read_text())
    value["changes"][0][1] = "../../../../x"
    file.write_text(json.dumps(value))
    with pytest.raises(MemsweepError, match="damaged"):
        memory.adopt.undo(done.receipt_id)


def test_a_session_file_of_any_content_is_no_obstacle(memory, person):
    person.write({"a.md": note("a", "A fact.")}, person.projects / "-nowhere" / "memory")
    (person.projects / "-nowhere" / "s.jsonl").write_bytes(
        b'{"cwd": 7}\n[]\n\xff\n{"cwd": "/\\u0000"}\n' + b"[" * 99_999 + b"\n"
    )
    (person.home / ".claude.json").write_bytes(b'{"projects": [1, 2]}')
    assert memory.adopt.look("claude", all_projects=True).files == 1


def test_the_folder_of_a_client_can_be_elsewhere(memory, person, monkeypatch, tmp_path):
    person.write({"a.md": "x"})
    (person.home / ".claude").rename(tmp_path / "config")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    assert client_variables()["CLAUDE_CONFIG_DIR"]
    assert memory.adopt.look("claude").files == 1


def test_a_name_that_several_have_must_say_which(memory, person, tmp_path):
    for folder in (person.repo, tmp_path / "other"):
        person.write({"a.md": folder.name}, person.memory_of(folder))
    memory.adopt.look("claude", all_projects=True)
    for folder in (person.repo, tmp_path / "other"):
        (person.memory_of(folder) / "a.md").unlink()
    with pytest.raises(BadInput, match=r"2 deleted files are called 'a\.md'"):
        memory.adopt.restore("claude", ["a.md"], all_projects=True)
    store = person.memory_of(tmp_path / "other").parent.name
    memory.adopt.restore("claude", [f"{store}/a.md"], all_projects=True)
    assert person.read(person.memory_of(tmp_path / "other")) == {"a.md": b"other"}
    assert person.read() == {}


def test_it_works_while_no_store_can_be_reached(run, person):
    person.write({"a.md": "x"})
    assert run("adopt", "claude", MEMSWEEP_STORE="falkor://127.0.0.1:1").status == 0
