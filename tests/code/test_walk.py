"""What is on disk: present, unreadable, absent."""

import os
import subprocess

import pytest

from memsweep.code.fingerprint import stamp_of
from memsweep.code.walk import Present, Seen, is_spelled
from tests.code.trees import git, grow, look, look_as_ordinary_user, names, repository

DEPTH = 1020


def test_a_present_file_has_its_stamp_and_its_language(tmp_path):
    grow(tmp_path, {"pkg/a.py": "x = 1\n"})
    stamp = stamp_of(os.stat(tmp_path / "pkg/a.py"))
    assert look(tmp_path).present == {"pkg/a.py": Present("pkg/a.py", stamp, "python")}
    assert stamp.size == 6


def test_the_first_line_is_read_only_when_a_filter_asks_for_the_language(tmp_path):
    grow(tmp_path, {"tool": "#!/bin/sh\n", "LICENSE": "MIT"})
    assert look(tmp_path).present["tool"].language is None
    seen = look(tmp_path, ["bash"]).present
    assert (seen["tool"].language, seen["LICENSE"].language) == ("bash", "text")


def test_filters_hide_nothing_from_the_walk(tmp_path):
    grow(tmp_path, {"a.py": "x" * 100, "tests/t.py": "", "b.go": ""})
    seen = look(tmp_path, ["go"], recursive=False, max_file_size=1, include_tests=False)
    assert set(seen.present) == {"a.py", "tests/t.py", "b.go"}


def test_symlinks_are_neither_followed_nor_indexed(tmp_path):
    grow(tmp_path, {"outside/secret.py": "", "root/in/a.py": ""})
    root = tmp_path / "root"
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to("../outside")
    (root / "file.py").symlink_to("in/a.py")
    (root / "dangling.py").symlink_to("nowhere")
    assert names(root) == {"in/a.py"}
    repository(root, {})
    assert names(root) == {"in/a.py"}


def test_a_tracked_folder_that_became_a_symlink_leads_nowhere(tmp_path):
    root = repository(tmp_path / "r", {"pkg/a.py": "", "b.py": ""})
    git(root, "add", ".")
    (root / "pkg").rename(tmp_path / "moved_out")
    (root / "pkg").symlink_to(tmp_path / "moved_out")
    assert names(root) == {"b.py"}


def test_pipes_and_sockets_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    assert look(tmp_path) == Seen()


@pytest.mark.parametrize("versioned", [False, True])
def test_strange_names_are_names(tmp_path, versioned):
    strange = {
        "back\\slash.py",
        "new\nline.py",
        "tab\t.py",
        "grün/日本.py",
        ' "q".py',
        "-rf.py",
        "a b.py",
        "e\u0301.py",
    }
    root = (repository if versioned else grow)(tmp_path / "r", dict.fromkeys(strange, ""))
    assert names(root) == strange


def test_a_name_that_is_no_text_is_reported_and_not_indexed(tmp_path):
    (tmp_path / os.fsdecode(b"bad\xff.py")).write_text("")
    seen = look(tmp_path)
    assert seen.present == {}
    assert seen.unreadable == {"bad\\udcff.py": "its name is not valid UTF-8"}


def test_a_deleted_file_that_is_still_tracked_is_absent(tmp_path):
    root = repository(tmp_path / "r", {"a.py": "", "b.py": ""})
    git(root, "add", ".")
    (root / "a.py").unlink()
    seen = look(root)
    assert (seen.state("a.py"), seen.state("b.py"), seen.total_files) == ("absent", "present", 1)


def test_a_file_that_is_ignored_now_is_absent(tmp_path):
    root = repository(tmp_path / "r", {"a.py": "", "b.log": ""})
    assert look(root).state("b.log") == "present"
    grow(root, {".gitignore": "*.log\n"})
    assert look(root).state("b.log") == "absent"


@pytest.mark.slow
@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("mode", [0o000, 0o300, 0o600])
def test_what_is_below_an_unreadable_folder_is_unknown(tmp_path, versioned, mode):
    root = (repository if versioned else grow)(tmp_path / "r", {"shut/deep/a.py": "", "open/b.py": ""})
    (root / "shut").chmod(mode)
    try:
        seen = look_as_ordinary_user(root, "shut/deep/a.py", "open/b.py", "open/c.py")
    finally:
        (root / "shut").chmod(0o755)
    assert seen["states"] == {"shut/deep/a.py": "unreadable", "open/b.py": "present", "open/c.py": "absent"}
    assert seen["present"] == ["open/b.py"]


@pytest.mark.slow
def test_a_folder_whose_rules_cannot_be_read_is_unknown(tmp_path):
    root = repository(tmp_path / "r", {"a.py": "", "sub/.gitignore": "*.log\n", "sub/b.py": "", "sub/c.log": ""})
    (root / "sub/.gitignore").chmod(0)
    seen = look_as_ordinary_user(root, "sub/b.py", "a.py")
    assert seen["states"] == {"sub/b.py": "unreadable", "a.py": "present"}
    assert seen["folders"] == {"sub": "Permission denied"}


@pytest.mark.slow
def test_an_unreadable_file_is_present_until_it_must_be_read(tmp_path):
    grow(tmp_path, {"a.py": "x"})
    (tmp_path / "a.py").chmod(0)
    seen = look_as_ordinary_user(tmp_path, "a.py")
    assert seen["states"] == {"a.py": "present"}
    assert seen["reads"] == {"a.py": "Permission denied"}


@pytest.mark.slow
def test_an_unreadable_root_is_said_to_be_one(tmp_path):
    root = grow(tmp_path / "r", {"a.py": ""})
    root.chmod(0)
    try:
        assert look_as_ordinary_user(root)["root"] == "unreadable"
    finally:
        root.chmod(0o755)


def test_a_root_can_be_missing_or_a_file(tmp_path):
    grow(tmp_path, {"a.py": ""})
    assert look(tmp_path / "nowhere").root_state == "missing"
    assert look(tmp_path / "a.py").root_state == "not_a_folder"
    assert look(tmp_path / "a.py" / "below").root_state == "missing"


@pytest.mark.slow
def test_folders_can_be_deeper_than_a_stack(tmp_path):
    deep = "/".join(["d"] * DEPTH)
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("d", dir_fd=here)
        here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(above)
    os.close(os.open("a.py", os.O_CREAT, dir_fd=here))
    os.close(here)
    found = names(tmp_path)
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # too deep for Python's own way to delete
    assert found == {f"{deep}/a.py"}


def test_a_path_is_spelled_as_the_folders_list_it(tmp_path):
    grow(tmp_path, {"Pkg/Mod.py": ""})
    assert is_spelled(str(tmp_path), "Pkg/Mod.py")
    assert not is_spelled(str(tmp_path), "Pkg/mod.py")
    assert not is_spelled(str(tmp_path), "pkg/Mod.py")


def test_hard_links_are_two_files(tmp_path):
    grow(tmp_path, {"a.py": "x"})
    os.link(tmp_path / "a.py", tmp_path / "A.py")
    assert names(tmp_path) == {"a.py", "A.py"}
