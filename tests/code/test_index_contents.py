"""What files may hold: odd encodings and letters, secrets, and text that a grammar cannot take."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.code.sandbox import Sandbox
from tests.code.conftest import FILES
from tests.code.indexed_workspace import IndexedWorkspace, live, problems
from tests.code.test_sandbox import BAD_WORKER
from tests.code.trees import grow, repository
from tests.support import store_files

ODD = {
    "latin.py": "# caf\xe9 findme\nx = 1\n".encode("latin-1"),
    "utf16.txt": "findme in sixteen bits\n".encode("utf-16"),
    "mark.py": b"\xef\xbb\xbfdef findme(): pass\n",
    "crlf.py": b"def findme():\r\n    return 1\r\n\r\n\r\ndef other():\r\n    return 2\r\n",
    "cr.txt": b"findme\rold\rmac\r",
    "late_nul.txt": b"findme " * 1500 + b"\0 after a NUL findme\n" + b"more " * 500,
    "long_line.py": b"findme = [" + b"1234567," * 20_000 + b"]\n",
    "many_lines.txt": b"findme\n" * 3000,
    "separators.py": "def findme(): return 'a\u2028b\x85c\x0bd\x0ce\x1cf'\n".encode(),
    "wide.py": "def 日本(): return '𝕗𝕚𝕟𝕕 🎉 findme'\n".encode(),
    "no_end.py": b"def findme(): pass",
    "broken.py": b"def findme(:\n    class (((\n\nfindme = \n",
    "brackets.c": b"}}}}}\n{{{{ findme\n",
    "tabs.go": b"package main\n\nfunc\tfindme()\t{\n\t}\n",
    "spaces only in name .py": b"findme = 1\n",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_text_is_kept_found_and_left_alone(workspace: IndexedWorkspace, tmp_path: Path, name: str) -> None:
    root = repository(tmp_path / "odd", {name: ODD[name]})
    result = workspace.index(root)
    assert (result.files_indexed, result.warnings) == (1, ())
    file = workspace.live(root)[name]
    assert "".join(chunk[0] for chunk in file.content["chunks"]) == file.content["text"]
    assert [hit.code.path for hit in workspace.hits("findme")][:1] == [name]
    assert problems(workspace.file) == []
    (root / name).write_bytes(ODD[name] + ODD[name][-40:])
    workspace.index(root)
    assert workspace.content(root) == workspace.anew(root)
    assert problems(workspace.file) == []
    assert workspace.index(root).chunks_embedded == 0


def test_odd_names_of_things_do_no_harm(workspace: IndexedWorkspace, tmp_path: Path) -> None:
    root = repository(
        tmp_path / "odd",
        {
            " ": "# Heading\n\ntext\n",
            "names.md": "#  \n\n## \u200b\n\n### `code` and *stars*\n\n#### " + "long " * 500 + "\n",
            "names.js": 'class A { ["computed"]() {} #private() {} "quoted name"() {} 42() {} }\n',
            "names.py": "def ａ(): pass\n\n\ndef a(): pass\n\n\ndef A(): pass\n",  # equal when normalised
        },
    )
    assert workspace.index(root).files_indexed == 4
    assert workspace.content(root) == workspace.anew(root)
    assert problems(workspace.file) == []


def test_secrets_are_not_indexed_and_the_list_can_be_extended(
    make: Callable[..., App], home: Path, tmp_path: Path
) -> None:
    root = repository(
        tmp_path / "repo",
        {
            ".env": "A=1\n",
            "prod.env": "A=1\n",
            "sub/.env.production": "A=1\n",
            "server.pem": "x\n",
            "sub/id_ed25519": "x\n",
            ".aws/credentials": "x\n",
            "key.txt": "-----BEGIN EC PRIVATE KEY-----\nx\n",
            "house.internal": "x\n",
            "vault/plain.txt": "x\n",
            "credentials.py": "def load(): pass\n",
        },
    )
    memory = make().memory()
    memory.code.index(root)
    assert set(live(store_files.file_of(home), root)) == {"house.internal", "vault/plain.txt", "credentials.py"}
    (home / "memsweep.toml").write_text('[code]\nsecrets = ["*.internal", "vault/**"]\n')
    result = make().memory().code.index(root)
    assert (result.files_removed, result.stale_memories) == (2, 2)
    assert set(live(store_files.file_of(home), root)) == {"credentials.py"}


@pytest.mark.slow
def test_a_grammar_that_crashes_costs_one_file_its_symbols(home: Path, repo: Path, unsynced: None) -> None:
    grow(repo, {"bad.py": "def CRASH(): pass\n", "worse.py": "def HANG(): pass\n"})
    with Sandbox(program=BAD_WORKER, seconds_per_file=0.5) as sandbox, IndexedWorkspace(home, sandbox) as workspace:
        result = workspace.index(repo)
        assert (result.files_indexed, result.functions_found) == (len(FILES) + 2, 5)
        assert [warning.partition(":")[0] for warning in result.warnings] == ["bad.py", "worse.py"]
        assert "crashed" in result.warnings[0]
        assert "longer than 0.5 seconds" in result.warnings[1]
        assert {hit.code.path for hit in workspace.hits("CRASH HANG")} >= {"bad.py", "worse.py"}
        assert workspace.index(repo).files_unchanged == len(FILES) + 2
        assert problems(workspace.file) == []


def test_a_file_that_outgrows_the_limit_becomes_stale_with_a_warning(workspace: IndexedWorkspace, repo: Path) -> None:
    workspace.index(repo, max_file_size=200)
    before = workspace.live(repo)["app.py"]
    (repo / "app.py").write_text(FILES["app.py"] * 10)
    result = workspace.index(repo, max_file_size=200)
    size = len(FILES["app.py"]) * 10
    assert (result.files_seen, result.files_removed, result.stale_memories) == (len(FILES) - 1, 1, 1)
    assert result.warnings == (
        f"app.py: it has {size} bytes now, more than the 200 of max_file_size; its memory is stale",
    )
    assert workspace.stale(repo) == {"app.py"}
    assert "app.py" not in {hit.code.path for hit in workspace.hits("first second sep")}
    again = workspace.index(repo, max_file_size=200)
    assert (again.files_removed, again.stale_memories, again.warnings) == (0, 1, ()), "said once"
    assert workspace.index(repo).files_indexed == 1
    assert workspace.live(repo)["app.py"].id == before.id
