"""What a person decides: trust, adoption, copies from before; and what is personal. On every engine."""

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import BadInput, BadSetting, Conflict, NotFound, Unconfirmed, UnknownWorkspace
from memsweep.model.search import Page
from memsweep.project.locate import read_project_file
from memsweep.report import memory as report
from memsweep.report import place as words
from tests.project.conftest import repository
from tests.support.commands import Ran
from tests.support.engines import on_every_engine

At = Callable[..., App]


def names(folder: Path, workspace: str) -> Path:
    """A repository whose file asks for a workspace."""
    repository(folder)
    (folder / ".memsweep.toml").write_text(f'workspace = "{workspace}"\n')
    return folder


def said(app: App) -> str:
    return " ".join(words.notes(app.projects.whereabouts()))


@on_every_engine
def test_a_free_name_is_taken_once_somebody_agreed_and_belongs_to_the_project_from_then_on(
    at: At, tmp_path: Path
) -> None:
    first = names(tmp_path / "one", "shared")
    assert at(first).workspace_id.startswith("one-")
    assert "`memsweep trust shared`" in said(at(first))
    at(first).projects.trust("", agreed=True)
    assert at(first).workspace_id == "shared"
    at(first).memory().remember("ours")
    assert at(first).memory().search("ours").total == 1
    other = at(names(tmp_path / "two", "shared"))
    assert other.workspace_id.startswith("two-")
    assert "`memsweep trust shared`" in said(other)
    assert other.memory().search("ours").hits == ()
    assert "`memsweep trust shared`" in other.memory().search("ours").note


@on_every_engine
@pytest.mark.parametrize("name", ["default", "personal", "notes"])
def test_the_name_of_a_workspace_that_is_not_its_own_counts_once_somebody_agreed(
    at: At, tmp_path: Path, name: str
) -> None:
    at(tmp_path).memory(name).remember("a private thing")
    project = names(tmp_path / "stranger", name)
    app = at(project)
    assert app.workspace_id != name
    app.projects.trust(name, agreed=True)
    assert app.workspace_id == at(project).workspace_id == name
    assert at(names(tmp_path / "another", name)).workspace_id != name
    app.projects.trust("", agreed=False)
    assert at(project).workspace_id != name


@pytest.mark.parametrize("name", ["default", "wages"])
def test_a_stranger_does_not_read_what_is_put_under_the_name_that_its_file_chose(
    at: At, tmp_path: Path, name: str
) -> None:
    stranger = names(tmp_path / "stranger", name)
    at(stranger).memory().remember("we were here first")
    at(tmp_path).memory(name).remember("Priya earns 4,200 a month")
    assert at(stranger).workspace_id.startswith("stranger-")
    assert at(stranger).memory().search("Priya").hits == ()


PUTTING = {
    "a memory": lambda app, folder: app.memory("wages").remember("Priya earns 4,200 a month"),
    "a fact": lambda app, folder: app.memory("wages").graph.relate("Priya", "EARNS", "4200"),
    "a segment": lambda app, folder: app.memory("wages").context("p").add([{"text": "Priya earns 4,200"}]),
    "code": lambda app, folder: app.memory("wages").code.index(folder),
    "a workspace": lambda app, folder: app.create_workspace("wages"),
    "a copy": lambda app, folder: app.copy_workspace("notes", "", "", new_name="wages", replace=True),
    "by the settings": lambda app, folder: app.memory().remember("Priya earns 4,200 a month"),
}


@on_every_engine
@pytest.mark.parametrize("is_made", [False, True])
@pytest.mark.parametrize("way", PUTTING)
def test_nothing_is_put_under_a_name_that_the_file_of_another_project_chose_before_a_person_agreed(
    at: At, tmp_path: Path, way: str, is_made: bool
) -> None:
    stranger = at(names(tmp_path / "stranger", "wages"))
    stranger.projects.trust("wages", agreed=True)
    if is_made:
        stranger.memory().remember("we were here first")
    settings = {"MEMSWEEP_WORKSPACE": "wages"} if way == "by the settings" else {}
    app = at(repository(tmp_path / "mine"), **settings)
    app.memory("notes").remember("a note")
    with pytest.raises(Unconfirmed, match=r"stranger.* chose the name 'wages'.*memsweep trust wages"):
        PUTTING[way](app, tmp_path / "mine")
    assert app.projects.memories("wages") == is_made
    assert app.projects.trust("wages", agreed=True) == ("wages", True)
    if not (is_made and way == "a workspace"):
        PUTTING[way](app, tmp_path / "mine")
    assert app.projects.trust("wages", agreed=False) == ("wages", True)


def test_a_backup_is_not_restored_under_a_name_that_another_project_chose(at: At, tmp_path: Path) -> None:
    at(names(tmp_path / "stranger", "wages")).projects.trust("", agreed=True)
    app = at(repository(tmp_path / "mine"))
    app.memory("notes").remember("Priya earns 4,200 a month")
    backup = app.memory("notes").care.backup(tmp_path / "copy")
    with pytest.raises(Unconfirmed, match="chose the name 'wages'"):
        app.restore(backup.path, "wages")


@on_every_engine
def test_a_project_that_chose_its_name_before_anybody_was_asked_keeps_it_until_that_is_revoked(
    at: At, tmp_path: Path
) -> None:
    """As the version before wrote it: the registry has the project, and no person was asked."""
    project = names(tmp_path / "api", "acme")
    app = at(project)
    app.engine.create("acme", "", app.clock(), project=app.resolver.owner())
    app.memory().remember("ours")
    assert at(project).memory().search("ours").total == 1
    with pytest.raises(Unconfirmed, match="chose the name 'acme'"):
        at(repository(tmp_path / "other")).memory("acme").remember("a thought")
    app.projects.trust("", agreed=False)
    assert at(project).workspace_id.startswith("api-")


def test_what_a_project_is_asked_about_is_asked_outside_of_all_projects_as_well(at: At, tmp_path: Path) -> None:
    at(names(tmp_path / "stranger", "wages")).projects.trust("", agreed=True)
    app = at(tmp_path)
    with pytest.raises(Unconfirmed):
        app.memory("wages").remember("Priya earns 4,200 a month")
    app.projects.trust("wages", agreed=True)
    app.memory("wages").remember("Priya earns 4,200 a month")


def test_trust_is_for_what_the_file_asks_for(at: At, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="names no workspace"):
        at(repository(tmp_path / "plain")).projects.trust("", agreed=True)
    with pytest.raises(BadInput, match="not for 'other'"):
        at(names(tmp_path / "one", "shared")).projects.trust("other", agreed=True)
    with pytest.raises(BadInput, match="no project was found"):
        at(tmp_path).projects.trust("", agreed=True)


@pytest.mark.parametrize("broken", ["{", "[1]", '{"x": 1}', '{"x": [1]}'])
def test_what_somebody_agreed_to_cannot_be_read(at: At, home: Path, tmp_path: Path, broken: str) -> None:
    home.mkdir()
    (home / "trusted.json").write_text(broken)
    app = at(names(tmp_path / "one", "personal"))
    assert app.workspace_id.startswith("one-")
    with pytest.raises(BadSetting, match=r"trusted\.json"):
        app.projects.trust("", agreed=True)
    assert (home / "trusted.json").read_text() == broken


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("workspace = ", "is ignored"),
        ("workspace = 5", "is not valid"),
        ("workspace = '../x'", "is not valid"),
        ("home = '/tmp/stolen'\nstore = 'falkor://evil'", "home is ignored"),
        ("[index]\nsecrets = []", "index.secrets is ignored"),
        ("[index]\nexclude = 'x'", "must be a list"),
        ("index = 3", "index must be a table"),
        ("[index]\ninclude_tests = 'no'", "must be true or false"),
        ("a = " + "[" * 50_000, "is ignored"),
        ("x" * 100_000, "larger than"),
    ],
)
def test_whatever_else_a_project_file_says_is_ignored_with_a_sentence(
    at: At, tmp_path: Path, text: str, sentence: str
) -> None:
    repository(tmp_path / "api")
    (tmp_path / "api" / ".memsweep.toml").write_text(text)
    app = at(tmp_path / "api")
    assert app.workspace_id.startswith("api-")
    assert sentence in said(app)


def test_a_project_file_that_is_a_link_or_no_text_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "secret.toml").write_text('workspace = "x"')
    (tmp_path / ".memsweep.toml").symlink_to(tmp_path / "secret.toml")
    linked = read_project_file(str(tmp_path))
    assert linked is not None
    assert linked.workspace == ""
    (tmp_path / ".memsweep.toml").unlink()
    (tmp_path / ".memsweep.toml").write_bytes(b"\xff\xfe")
    broken = read_project_file(str(tmp_path))
    assert broken is not None
    assert broken.notes


def test_outside_of_git_the_file_makes_a_project(at: At, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / ".memsweep.toml").write_text('workspace = "diary"')
    app = at(tmp_path / "notes" / "deep")
    assert app.workspace_id == "default"
    app.projects.trust("", agreed=True)
    assert app.workspace_id == "diary"


@on_every_engine
def test_a_project_that_was_moved_is_adopted(at: At, tmp_path: Path) -> None:
    old = at(repository(tmp_path / "old" / "api"))
    old.memory().remember("the port is 8080")
    name = old.workspace_id
    shutil.move(tmp_path / "old" / "api", tmp_path / "new" / "api")
    moved = at(tmp_path / "new" / "api")
    assert moved.workspace_id != name
    assert f"memsweep workspace adopt {name}" in said(moved)
    assert moved.memory(name).care.doctor().stranded == ((name, str(tmp_path / "old" / "api" / ".git")),)
    assert moved.projects.adopt() == name
    assert at(tmp_path / "new" / "api").memory().search("port").total == 1
    assert moved.projects.stranded() == []
    assert [event.action for event in moved.memory().sweep.audit(limit=1)] == ["adopt"]


@on_every_engine
def test_a_new_project_at_the_old_path_of_a_moved_one_gets_a_workspace_of_its_own(at: At, tmp_path: Path) -> None:
    at(repository(tmp_path / "api")).memory().remember("the port is 8080")
    shutil.move(tmp_path / "api", tmp_path / "new" / "api")
    name = at(tmp_path / "new" / "api").projects.adopt()
    newcomer = at(repository(tmp_path / "api"))
    assert newcomer.workspace_id != name
    assert newcomer.memory().search("port").total == 0


@on_every_engine
def test_what_is_in_use_is_not_adopted(at: At, tmp_path: Path) -> None:
    one, two = at(repository(tmp_path / "one")), at(repository(tmp_path / "two"))
    one.memory().remember("mine")
    with pytest.raises(Conflict, match="belongs to another project"):
        two.projects.adopt(one.workspace_id)
    with pytest.raises(UnknownWorkspace):
        two.projects.adopt("nothing")
    with pytest.raises(BadInput, match="no single project"):
        two.projects.adopt("personal")
    with pytest.raises(BadInput, match="no workspace may be"):
        two.projects.adopt()
    shutil.rmtree(tmp_path / "one")
    two.memory().remember("also mine")
    with pytest.raises(Conflict, match="already has workspace"):
        two.projects.adopt(one.workspace_id)
    assert two.memory().search("also").total == 1


@on_every_engine
def test_a_deleted_and_restored_workspace_is_still_that_of_its_project(at: At, tmp_path: Path) -> None:
    app = at(repository(tmp_path / "api"))
    app.memory().remember("kept")
    name = app.workspace_id
    receipt = app.delete_workspace(name, confirm=True).receipt_id
    assert receipt is not None
    app.undo(receipt)
    owner = app.engine.owner_of(name)
    assert owner
    backup = app.memory(name).care.backup(tmp_path / "copy")
    app.restore(backup.path, name, replace=True)
    assert app.engine.owner_of(name) == owner
    assert app.engine.workspace_of(owner) == name


@on_every_engine
def test_what_default_holds_from_before_is_told_and_copied(at: At, tmp_path: Path) -> None:
    at(tmp_path).memory().remember("we deploy on Fridays")
    app = at(repository(tmp_path / "api"))
    page = app.memory().search("deploy")
    command = f"memsweep workspace copy default --as {app.workspace_id}"
    assert page.hits == ()
    assert command in page.note
    assert command in report.found(page)["note"]
    assert command in said(app)
    app.copy_workspace("default", "", "", new_name=app.workspace_id)
    fresh = at(tmp_path / "api")
    assert fresh.memory().search("deploy").total == 1
    assert fresh.engine.owner_of(fresh.workspace_id) == fresh.resolver.owner()


@on_every_engine
def test_what_is_personal_is_found_in_every_project_and_marked(at: At, tmp_path: Path) -> None:
    one, two = at(repository(tmp_path / "one")), at(repository(tmp_path / "two"))
    one.memory().remember("I prefer tabs over spaces", scope="personal")
    one.memory().remember("tabs are four wide in this project")
    hits = one.memory().search("tabs").hits
    assert [hit.scope for hit in hits] == ["", "personal"]
    (only,) = two.memory().search("tabs").hits
    assert report.found(two.memory().search("tabs"))["results"][0]["scope"] == "personal"
    assert two.memory().get(only.passage.memory_id).text == "I prefer tabs over spaces"
    assert [hit.scope for hit in one.memory(one.workspace_id).search("tabs").hits] == [""]
    with pytest.raises(NotFound):
        one.memory(one.workspace_id).get(only.passage.memory_id)


def test_every_page_has_room_for_both_and_nothing_is_shown_twice(at: At, tmp_path: Path) -> None:
    memory = at(repository(tmp_path / "api")).memory()
    for number in range(9):
        memory.remember(f"kettle number {number} is blue")
    for number in range(5):
        memory.remember(f"my own kettle {number} is red", scope="personal")
    seen, cursor, pages = [], None, 0
    while cursor or not pages:
        page = memory.search("kettle", limit=4, cursor=cursor)
        assert len(page.hits) <= 4
        seen += [hit.passage.memory_id for hit in page.hits]
        cursor, pages = page.next_cursor, pages + 1
    assert len(seen) == len(set(seen)) == page.total == 14
    with pytest.raises(BadInput, match="cursor"):
        memory.search("kettle", cursor="x.y")
    with pytest.raises(BadInput, match="limit"):
        memory.search("kettle", limit=0)


def test_for_a_single_hit_the_projects_own_goes_first(at: At, tmp_path: Path) -> None:
    memory = at(repository(tmp_path / "api")).memory()
    memory.remember("my kettle is red", scope="personal")
    assert [hit.scope for hit in memory.search("kettle", limit=1).hits] == ["personal"]
    memory.remember("the kettle is blue")
    page = memory.search("kettle", limit=1)
    assert [hit.scope for hit in page.hits] == [""]
    assert [hit.scope for hit in memory.search("kettle", limit=1, cursor=page.next_cursor).hits] == ["personal"]


def test_a_scope_is_one_of_two_and_may_be_switched_off(at: At, tmp_path: Path) -> None:
    memory = at(tmp_path).memory()
    with pytest.raises(BadInput, match="scope 'mine' is unknown"):
        memory.remember("x", scope="mine")
    config = tmp_path / "memsweep.toml"
    config.write_text("personal = ''")
    with pytest.raises(BadInput, match="no personal workspace"):
        at(tmp_path, MEMSWEEP_CONFIG=str(config)).memory().remember("x", scope="personal")


def test_the_index_of_a_project_leaves_out_what_its_file_says(at: At, tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    for name in ("app.py", "app.go", "generated/big.py", "tests/test_app.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x = 1\n")
    filters = {"exclude": ["generated/**"], "languages": ["python", "klingon"], "include_tests": False}
    lines = [f"{key} = {json.dumps(value)}" for key, value in filters.items()]
    (folder / ".memsweep.toml").write_text("\n".join(["[index]", *lines]))
    memory = at(folder).memory()
    assert memory.code.index(folder).files_indexed == 1
    with contextlib.suppress(NotFound):
        assert {hit.passage.code.path for hit in memory.search("x").hits if hit.passage.code} == {"app.py"}


def test_two_apps_that_make_a_project_at_once_make_one_workspace(at: At, tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    apps = [at(folder) for _ in range(2)]
    assert [app.resolver.place.exists for app in apps] == [False, False]
    for number, app in enumerate(apps):
        app.memory().remember(f"note {number}")
    assert [each.id for each in apps[0].workspaces()] == [apps[0].workspace_id]


def test_a_project_is_led_elsewhere_while_a_server_waits_for_its_first_memory(at: At, tmp_path: Path) -> None:
    at(repository(tmp_path / "old" / "api")).memory().remember("from before")
    shutil.move(tmp_path / "old" / "api", tmp_path / "new" / "api")
    server = at(tmp_path / "new" / "api")
    assert server.memory().search("before").total == 0
    name = at(tmp_path / "new" / "api").projects.adopt()
    server.memory().remember("afterwards")
    assert server.workspace_id == name


@on_every_engine
def test_a_project_without_memories_is_empty_and_one_whose_workspace_was_deleted_says_so(
    at: At, tmp_path: Path
) -> None:
    app = at(repository(tmp_path / "api"))
    assert app.memory().search("anything") == Page((), 0, None)
    app.memory().remember("something")
    app.delete_workspace(app.workspace_id, confirm=True)
    with pytest.raises(UnknownWorkspace, match="It was deleted"):
        at(tmp_path / "api").memory().search("anything")


@pytest.mark.slow
def test_the_commands_for_projects(run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("remember", "from before", "-w", "default")
    folder = names(tmp_path / "api", "default")
    monkeypatch.chdir(folder)
    own = run("where", "--json").json["workspace_id"]
    assert own.startswith("api-")
    assert "`memsweep workspace copy default --as" in run("search", "before").out
    assert "`memsweep trust default`" in run("remember", "meanwhile").err
    run("workspace", "delete", own, "--yes")
    assert run("trust").out == "This project may use workspace 'default'.\n"
    assert run("trust", "default", "--json").json == {"workspace_id": "default", "trusted": True, "changed": False}
    assert run("where", "--json").json["workspace_id"] == "default"
    assert run("trust", "--revoke").out == "This project may no longer use workspace 'default'.\n"
    assert run("workspace", "copy", "default", "--as", own).status == 0
    assert run("search", "before", "--json").json["total"] == 1
    assert run("remember", "I like tea", "--scope", "personal").status == 0
    assert "  [person] personal\n" in run("search", "tea").out
    shutil.move(folder, tmp_path / "moved")
    (tmp_path / "moved" / ".memsweep.toml").unlink()
    monkeypatch.chdir(tmp_path / "moved")
    assert own in run("doctor", "-w", own).out
    assert run("workspace", "adopt", own).out == f"This project uses workspace {own!r} now.\n"
    assert run("search", "before", "--json").json["results"][0]["text"] == "from before"
    assert run("trust").status == 2
