"""Git hooks: they refresh in the background, keep what was there, and never make git wait or fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memsweep.app import make_app
from memsweep.code.hooks import HOOKS, Hooks, find_hooks
from memsweep.code.lock import one_at_a_time
from memsweep.errors import BadInput, Conflict, StoreReadOnly
from memsweep.settings import load_settings
from tests.code.indexed_workspace import live
from tests.code.trees import GIT_SETTINGS, git, repository
from tests.support import contents, store_files
from tests.support.commands import ORDINARY, environment, memsweep
from tests.support.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.slow

NAMES = ["plain", "sp ace", "it's", 'quo"te', "do$llar `tick`", "été 🎉", "a;b & c", "star*[x]", "new\nline"]


def workspace_of(work: Path, home: Path) -> str:
    """All work trees of the repository have this one."""
    return make_app(load_settings({"MEMSWEEP_HOME": str(home)}), project=str(work)).workspace_id


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = repository(tmp_path / "work", {"a.py": "def alpha(): pass\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks that are installed now will not find their Python any more."""
    monkeypatch.setattr(sys, "executable", "/nowhere/bin/python")


def run_git(root: Path, *arguments: str, home: Path | str | None = None) -> subprocess.CompletedProcess[str]:
    """As a person would; what a hook leaves open on the pipes would be waited for."""
    return subprocess.run(
        ["git", *arguments],
        cwd=root,
        env=environment(home) | GIT_SETTINGS,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def commit(root: Path, home: Path | str | None = None) -> subprocess.CompletedProcess[str]:
    return run_git(root, "commit", "--allow-empty", "-q", "-m", "more", home=home)


def put_hook(root: Path, name: str, text: str | bytes, mode: int = 0o755) -> Path:
    hook = root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_bytes(text if isinstance(text, bytes) else text.encode())
    hook.chmod(mode)
    return hook


def said(log: Path, words: str) -> None:
    """Wait until what a hook has started says so."""
    wait_for(lambda: log.exists() and words in log.read_text(), f"{words!r} in the log")


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str]]:
    return {
        path.name: (path.lstat().st_mode, os.readlink(path) if path.is_symlink() else path.read_bytes())
        for path in folder.iterdir()
    }


# what they are for


@pytest.mark.parametrize("name", ['it\'s a "strange" 🎉\n$(place)', "work"])
def test_a_commit_refreshes_the_index_in_the_background(home: Path, tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / name, {"a.py": "def alpha(): pass\n"})
    # What lies in the repository is not imported by what the hook runs.
    (root / "memsweep.py").write_text("raise SystemExit('the wrong module')\n")
    (root / "json.py").write_text("raise SystemExit('the wrong module')\n")
    installed = memsweep("hooks", "install", str(root), "--workspace", "mine", home=home)
    assert (installed.status, "post-commit, post-merge, post-checkout, post-rewrite" in installed.out) == (0, True)
    git(root, "add", "-A")
    assert commit(root, home).returncode == 0
    said(root / ".git/memsweep.log", "indexed successfully")
    assert set(live(store_files.file_of(home, "mine"), root)) == {"a.py", "json.py", "memsweep.py"}


def test_git_does_not_wait_for_the_index(home: Path, work: Path) -> None:
    memsweep("hooks", "install", str(work), home=home)
    with one_at_a_time(home / "locks", workspace_of(work, home), str(work)):  # no run can begin before git has returned
        for command in (("checkout", "-q", "-b", "side"), ("commit", "--allow-empty", "-q", "-m", "x")):
            done = run_git(work, *command, home=home)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    said(work / ".git/memsweep.log", "indexed successfully")


def test_only_the_work_trees_where_they_were_installed_are_refreshed(home: Path, work: Path, tmp_path: Path) -> None:
    side, other = tmp_path / "side", tmp_path / "other"
    for tree in (side, other):
        git(work, "worktree", "add", "-q", "-b", tree.name, str(tree))
    assert memsweep("hooks", "install", str(side), "--json", home=home).json["installed"] == list(HOOKS)
    assert find_hooks(str(work)).status()["post-commit"] == "absent"
    assert find_hooks(str(side)).status()["post-commit"] == "installed"
    for tree in (work, other, side):
        assert commit(tree, home).returncode == 0
    said(work / ".git/worktrees/side/memsweep.log", "indexed successfully")
    with contents.opened(home, workspace_of(work, home)) as memory:
        assert memory.code.roots() == [str(side)]


def test_two_work_trees_share_the_hooks_and_leave_them_one_by_one(work: Path, tmp_path: Path, no_python: None) -> None:
    put_hook(work, "post-commit", "#!/bin/sh\nexit 0\n")
    before = snapshot(work / ".git/hooks")
    git(work, "worktree", "add", "-q", "-b", "side", str(tmp_path / "it's side"))
    here, there = find_hooks(str(work)), find_hooks(str(tmp_path / "it's side"))
    assert here.folder == there.folder
    assert here.install("one") == there.install("two") == list(HOOKS)
    script = (here.folder / "post-commit").read_text()
    assert [script.count(f"--workspace {name} ;;") for name in ("one", "two")] == [1, 1]
    assert there.install("three") == []
    assert "--workspace two" not in (here.folder / "post-commit").read_text()
    assert here.remove() == list(HOOKS)
    assert (here.status()["post-commit"], there.status()["post-commit"]) == ("absent", "installed beside another")
    assert there.remove() == list(HOOKS)
    assert snapshot(work / ".git/hooks") == before


def test_a_work_tree_that_is_gone_does_not_keep_the_hooks(work: Path, tmp_path: Path, no_python: None) -> None:
    git(work, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    before = snapshot(work / ".git/hooks")
    find_hooks(str(tmp_path / "side")).install("")
    find_hooks(str(work)).install("")
    shutil.rmtree(tmp_path / "side")
    find_hooks(str(work)).remove()
    assert snapshot(work / ".git/hooks") == before


# what was there


KEPT = {
    "sh": '#!/bin/sh\necho "sh:$0:$*" >>ran\n',
    "sh with a flag": '#!/bin/sh -e\necho "sh:$0:$*" >>ran\nfalse\necho never >>ran\n',
    "bash by env": '#!/usr/bin/env bash\nargs=("$@")\necho "bash:$0:${args[*]}" >>ran\n',
    "python": f"#!{sys.executable}\nimport sys\nopen('ran', 'a').write(repr(sys.argv))\n",
    "perl": '#!/usr/bin/perl\nopen(F, ">>ran"); print F "perl:$0:@ARGV\\n";\n',
    "no shebang": 'echo "none:$*" >>ran\n',
}


@pytest.mark.parametrize("language", KEPT)
def test_a_hook_that_was_there_runs_with_its_arguments(work: Path, no_python: None, language: str) -> None:
    if language == "perl" and not shutil.which("perl"):
        pytest.skip("no perl here")
    put_hook(work, "post-checkout", KEPT[language])
    alone = (run_git(work, "checkout", "-b", "one"), (work / "ran").read_text())
    (work / "ran").unlink()
    run_git(work, "checkout", "-q", "main")
    (work / "ran").unlink()
    assert find_hooks(str(work)).install("") == list(HOOKS)
    together = (run_git(work, "checkout", "-b", "two"), (work / "ran").read_text())
    assert together[0].returncode == alone[0].returncode
    assert together[1].replace(".before-memsweep", "") == alone[1]
    if "sh" in language.split()[0]:
        assert together[1] == alone[1]  # even under its own name


def test_a_hook_that_asks_its_own_name_what_it_is_still_knows(work: Path, no_python: None) -> None:
    """As husky does it: one script for all hooks, which looks for what to run by the name it was called under."""
    git(work, "config", "core.hooksPath", ".husky/_")
    folder = work / ".husky/_"
    folder.mkdir(parents=True)
    (folder / "h").write_text('n=$(basename "$0")\ns=$(dirname "$(dirname "$0")")/$n\n[ -f "$s" ] && sh -e "$s" "$@"\n')
    for name in HOOKS:
        (folder / name).write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
        (folder / name).chmod(0o755)
    (work / ".husky/post-commit").write_text("echo mine >>ran\n")
    hooks = find_hooks(str(work))
    assert hooks.folder == folder
    hooks.install("")
    assert commit(work).returncode == 0
    assert (work / "ran").read_text() == "mine\n"
    # The hook manager writes its hooks anew, and ours are installed once more.
    for name in HOOKS:
        (folder / name).write_text('#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n')
    assert hooks.status()["post-commit"] == "another"
    assert hooks.install("") == list(HOOKS)
    assert commit(work).returncode == 0
    assert (work / "ran").read_text() == "mine\nmine\n"


def test_the_exit_status_and_the_input_are_those_of_the_hook_that_was_there(work: Path, no_python: None) -> None:
    put_hook(work, "post-checkout", "#!/bin/sh\nexit 3\n")
    put_hook(work, "post-rewrite", "#!/bin/sh\ncat >rewritten\n")
    alone = run_git(work, "checkout", "-q", "-b", "one").returncode
    find_hooks(str(work)).install("")
    assert run_git(work, "checkout", "-q", "-b", "two").returncode == alone != 0
    assert run_git(work, "commit", "--amend", "--allow-empty", "-q", "-m", "again").returncode == 0
    old, new = (work / "rewritten").read_text().split()
    assert new == git(work, "rev-parse", "HEAD").strip() != old


def test_a_hook_that_is_not_executable_stays_silent(work: Path, no_python: None) -> None:
    put_hook(work, "post-commit", "#!/bin/sh\ntouch ran\n", 0o644)
    find_hooks(str(work)).install("")
    assert commit(work).returncode == 0
    assert not (work / "ran").exists()


def test_a_hook_that_is_a_link_is_followed_as_before(work: Path, no_python: None) -> None:
    (work / "scripts").mkdir()
    (work / "scripts/hook").write_text('#!/bin/sh\necho "$0" >>ran\n')
    (work / "scripts/hook").chmod(0o755)
    (work / ".git/hooks").mkdir(exist_ok=True)
    (work / ".git/hooks/post-commit").symlink_to("../../scripts/hook")
    before = snapshot(work / ".git/hooks")
    hooks = find_hooks(str(work))
    hooks.install("")
    commit(work)
    assert (work / "ran").read_text() == ".git/hooks/post-commit\n"
    hooks.remove()
    assert snapshot(work / ".git/hooks") == before


def test_removing_puts_back_every_byte(work: Path, no_python: None) -> None:
    put_hook(work, "post-commit", b"#!/bin/sh\n# \xff\xfe not text \0\nexit 0\n", 0o711)
    put_hook(work, "post-merge", "not executable", 0o600)
    put_hook(work, "pre-commit", "#!/bin/sh\nexit 0\n")
    before = snapshot(work / ".git/hooks")
    hooks = find_hooks(str(work))
    for _ in range(2):
        assert hooks.install("w") == list(HOOKS)
        assert hooks.install("w") == []
        assert set(hooks.status().values()) == {"installed", "installed beside another"}
        assert hooks.remove() == list(HOOKS)
        assert hooks.remove() == []
        assert snapshot(work / ".git/hooks") == before
    assert hooks.status() == dict.fromkeys(HOOKS, "absent") | {"post-commit": "another", "post-merge": "another"}


def test_two_hooks_to_set_aside_are_one_too_many(work: Path, no_python: None) -> None:
    hooks = find_hooks(str(work))
    put_hook(work, "post-merge", "#!/bin/sh\nexit 0\n")
    hooks.install("")
    put_hook(work, "post-merge", "#!/bin/sh\nexit 1\n")
    before = snapshot(hooks.folder)
    with pytest.raises(Conflict, match=r"both .*post-merge and .*post-merge\.before-memsweep exist"):
        hooks.install("")
    assert snapshot(hooks.folder) == before


# where they are


@pytest.mark.parametrize("setting", ["hooks here", "../outside", "/ABSOLUTE/hooks"])
def test_the_hooks_folder_is_the_one_that_git_uses(work: Path, tmp_path: Path, no_python: None, setting: str) -> None:
    setting = setting.replace("/ABSOLUTE", str(tmp_path))
    git(work, "config", "core.hooksPath", setting)
    (work / "sub").mkdir()
    for place in (work, work / "sub"):
        assert find_hooks(str(place)) == Hooks(work, (work / setting).resolve())
    find_hooks(str(work / "sub")).install("")
    hook = (work / setting) / "post-commit"
    hook.with_name("post-commit.before-memsweep").write_text("#!/bin/sh\ntouch ran\n")
    hook.with_name("post-commit.before-memsweep").chmod(0o755)
    commit(work)
    assert (work / "ran").exists()


def test_a_hooks_folder_that_is_none_is_refused(work: Path, home: Path) -> None:
    git(work, "config", "core.hooksPath", "/dev/null")
    with pytest.raises(StoreReadOnly, match=r"the hooks folder /dev/null cannot be written .*core\.hooksPath"):
        find_hooks(str(work)).install("")
    assert find_hooks(str(work)).remove() == []
    failed = memsweep("hooks", "install", str(work), home=home)
    assert (failed.status, failed.err.startswith("Error: the hooks folder")) == (5, True)


@pytest.mark.parametrize("path", ["/", "nowhere/at/all"])
def test_outside_of_a_repository_there_are_none(path: str) -> None:
    with pytest.raises(BadInput, match="is not in a git work tree"):
        find_hooks(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_repository_may_have_any_name(tmp_path: Path, no_python: None, name: str) -> None:
    root = repository(tmp_path / name, {"a.py": "x = 1\n"})
    put_hook(root, "post-commit", "#!/bin/sh\ntouch ran\n")
    hooks = find_hooks(str(root))
    assert hooks.install("") == list(HOOKS)
    assert set(hooks.status().values()) == {"installed", "installed beside another"}
    done = commit(root)
    assert (done.returncode, done.stderr) == (0, "")
    said(root / ".git/memsweep.log", "not found")  # so it was for this tree
    assert (root / "ran").exists()
    assert hooks.remove() == list(HOOKS)
    assert not list(hooks.folder.glob("post-*memsweep*"))


# when something is missing


def test_git_works_when_python_is_gone(work: Path, no_python: None) -> None:
    find_hooks(str(work)).install("")
    for command in (
        ("commit", "--allow-empty", "-q", "-m", "x"),
        ("checkout", "-q", "-b", "side"),
        ("commit", "--amend", "--allow-empty", "-q", "-m", "y"),
        ("checkout", "-q", "main"),
        ("merge", "-q", "--no-edit", "side"),
    ):
        done = run_git(work, *command)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_git_works_when_the_home_cannot_be_written(home: Path, work: Path) -> None:
    memsweep("hooks", "install", str(work), home=home)
    home.mkdir(exist_ok=True)
    home.chmod(0o500)
    try:
        done = subprocess.run(
            [*ORDINARY, shutil.which("git") or "git", "commit", "--allow-empty", "-q", "-m", "x"],
            cwd=work,
            env=environment(home) | GIT_SETTINGS,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        if done.returncode == 77:
            pytest.skip("root cannot become an ordinary user here")
        assert (done.returncode, done.stderr) == (0, "")
        log = work / ".git/memsweep.log"
        said(log, "cannot be written")
        assert "Traceback" not in log.read_text()
    finally:
        home.chmod(0o700)


def test_the_command_line_tells_what_is_there(home: Path, work: Path) -> None:
    put_hook(work, "post-merge", "#!/bin/sh\nexit 0\n")
    assert memsweep("hooks", "install", str(work), home=home).out.startswith("Installed post-commit, post-merge")
    assert memsweep("hooks", "status", str(work), home=home).out.splitlines() == [
        "post-commit    installed",
        "post-merge     installed beside another",
        "post-checkout  installed",
        "post-rewrite   installed",
    ]
    removed = memsweep("hooks", "remove", str(work), "--json", home=home).json
    assert removed == {"folder": str(work / ".git/hooks"), "removed": list(HOOKS)}
