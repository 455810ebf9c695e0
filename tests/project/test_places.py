"""Which workspace is meant: by the settings, `.memsweep.toml`, the git repository, or none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import open_memory
from memsweep.app import App, make_app
from memsweep.errors import BadInput
from memsweep.model.ids import check_name
from memsweep.project.locate import locate
from memsweep.project.naming import slug, title_of, workspace_name
from memsweep.project.resolver import Resolver
from memsweep.settings import load_settings
from tests.code.trees import git
from tests.project.conftest import repository
from tests.support.commands import Ran

Run = Callable[..., Ran]


def test_outside_of_a_project_it_is_the_default(at: Callable[..., App], tmp_path: Path) -> None:
    place = at(tmp_path).resolver.place
    assert (place.workspace_id, place.why, place.owner) == ("default", "default", "")


def test_a_call_that_names_its_workspace_does_not_look_for_the_projects(
    at: Callable[..., App], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "api")
    at(folder).memory("other").remember("The port is 8080.")
    monkeypatch.setattr(Resolver, "place", property(lambda _: pytest.fail("looked for")))
    memory = at(folder).memory("other")
    memory.remember("The port is 8081.", find_similar=True)
    assert memory.search("port").total == 2


def test_subfolders_and_work_trees_of_a_repository_share_one_workspace(at: Callable[..., App], tmp_path: Path) -> None:
    main = repository(tmp_path / "api")
    git(main, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    (main / "src" / "deep").mkdir(parents=True)
    names = {at(place).workspace_id for place in (main, main / "src" / "deep", tmp_path / "elsewhere")}
    assert len(names) == 1
    assert names.pop().startswith("api-")


def test_two_clones_with_one_folder_name_do_not_share(at: Callable[..., App], tmp_path: Path) -> None:
    one, two = (at(repository(tmp_path / side / "api")) for side in ("left", "right"))
    assert one.workspace_id != two.workspace_id
    one.memory().remember("the left one speaks Go")
    assert two.memory().search("Go").hits == ()


def test_a_symlink_to_a_repository_is_that_repository(at: Callable[..., App], tmp_path: Path) -> None:
    main = repository(tmp_path / "api")
    (tmp_path / "link").symlink_to(main)
    assert at(tmp_path / "link").workspace_id == at(main).workspace_id


def test_a_bare_repository_with_work_trees_beside_it_is_one_project(at: Callable[..., App], tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(tmp_path / "shop" / ".bare"))
    for name in ("one", "two"):
        git(tmp_path / "shop" / ".bare", "worktree", "add", "-q", "-b", name, str(tmp_path / "shop" / name))
    names = {at(tmp_path / "shop" / name).workspace_id for name in ("one", "two")}
    assert len(names) == 1
    assert names.pop().startswith("shop-")


@pytest.mark.parametrize("form", ["file", "commondir", "symlink", "worktree"])
def test_a_folder_that_only_claims_to_be_of_a_repository_stands_alone(
    at: Callable[..., App], tmp_path: Path, form: str
) -> None:
    """Anybody can write a `.git` that leads to somebody's repository; its memories stay where they are."""
    victim, fake = repository(tmp_path / "secret"), tmp_path / "fake"
    fake.mkdir()
    if form == "file":
        (fake / ".git").write_text(f"gitdir: {victim / '.git'}\n")
    elif form == "symlink":
        (fake / ".git").symlink_to(victim / ".git")
    elif form == "commondir":
        (fake / ".git").mkdir()
        (fake / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (fake / ".git" / "commondir").write_text(f"{victim / '.git'}\n")
    else:
        git(victim, "worktree", "add", "-q", str(tmp_path / "real"))
        shutil.copy(tmp_path / "real" / ".git", fake / ".git")
    assert at(fake).workspace_id != at(victim).workspace_id


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"gitdir: \0", b"gitdir: ../../..", b"\xff\xfe", b"x" * 100_000])
def test_a_broken_git_file_is_no_project(at: Callable[..., App], tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert at(tmp_path).workspace_id == "default"


def test_a_pipe_for_a_git_file_or_a_project_file_does_not_hold_anybody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    os.mkfifo(tmp_path / ".memsweep.toml")
    found = locate(str(tmp_path))
    assert found is not None
    assert "regular file" in found.file.notes[0]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("API", "api"),
        ("🚀", "project"),
        ("Über uns", "uber-uns"),
        ("a" * 99, "a" * 40),
        ("日本", "project"),
        ("-x-", "x"),
    ],
)
def test_every_folder_name_gives_a_name_that_is_allowed(title: str, expected: str) -> None:
    assert slug(title) == expected
    check_name(workspace_name(title, "/anywhere"))


@pytest.mark.parametrize(
    ("path", "title"),
    [("/x/api/.git", "api"), ("/x/api.git", "api"), ("/x/api/.bare", "api"), ("C:\\x\\api\\.git", "api")],
)
def test_a_repository_is_called_what_people_call_it(path: str, title: str) -> None:
    assert title_of(path) == title


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names")
def test_a_path_that_is_no_text_is_a_project_as_well(at: Callable[..., App], tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    app = at(repository(Path(folder)))
    app.memory().remember("an old encoding")
    assert app.memory().search("encoding").total == 1
    assert app.projects.stranded() == []


def test_the_settings_come_before_the_project_and_a_name_before_both(at: Callable[..., App], tmp_path: Path) -> None:
    app = at(repository(tmp_path / "api"), MEMSWEEP_WORKSPACE="mine")
    assert app.workspace_id == "mine"
    assert app.memory("other").workspace_id == "other"


def test_the_folder_that_a_client_names_comes_before_the_working_directory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, given, here = (repository(tmp_path / name) for name in ("named", "given", "here"))
    monkeypatch.chdir(here)

    def title(project: str = "", **more: str) -> str:
        return make_app(load_settings({"MEMSWEEP_HOME": str(home), **more}), project=project).workspace_id[:-9]

    assert title() == "here"
    assert title(CLAUDE_PROJECT_DIR=str(named)) == "named"
    assert title(CLAUDE_PROJECT_DIR=str(tmp_path / "gone")) == "here"
    assert title(str(given), CLAUDE_PROJECT_DIR=str(named)) == "given"
    with pytest.raises(BadInput, match="does not exist"):
        title(str(tmp_path / "gone"))


def test_the_library_resolves_as_every_other_door(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = repository(tmp_path / "api")
    with open_memory(home=home, project=main) as memory:
        memory.remember("by the library")
        name = memory.workspace_id
    monkeypatch.chdir(main)
    with open_memory(home=home) as memory:
        assert memory.workspace_id == name
        assert memory.search("library").total == 1


def test_a_working_directory_that_is_gone_is_no_project(home: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); from memsweep.cli import run; run(['where'])"
    )
    environment = {**os.environ, "MEMSWEEP_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "workspace  default" in done.stdout


def test_where_says_which_workspace_and_why(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository(tmp_path / "api"))
    first = run("where", "--json").json
    assert (first["why"], first["made"], first["memories"]) == ("git", False, 0)
    assert str(tmp_path / "api" / ".git") in first["reason"]
    run("remember", "the first")
    shown = run("where").out
    assert f"workspace  {first['workspace_id']} (1 memory)" in shown
    assert run("where", "--project", str(tmp_path)).out.startswith("workspace  default (the first memory makes it)")
    assert run("--project", str(tmp_path), "stats", "--json").json["workspace_id"] == "default"


def test_where_reads_an_older_home_and_one_without_a_registry(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository(tmp_path / "api"))
    run("remember", "kept")
    name = run("where", "--json").json["workspace_id"]
    for path in home.glob("registry.db*"):
        path.unlink()
    found = run("where", "--json").json
    assert (found["workspace_id"], found["memories"]) == (name, 1)


def test_where_shows_no_sequence_that_commands_a_terminal(run: Run, tmp_path: Path) -> None:
    folder = repository(tmp_path / "x\x1b[31mred")
    assert "\x1b" not in run("where", "--project", str(folder)).out
