"""The code index keeps the same on FalkorDB as on SQLite, through edits, moves, removals and returns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, make_app
from memsweep.settings import load_settings
from memsweep.store.falkor import reading
from memsweep.store.file import portable
from tests.support import store_files
from tests.support.engines import Home

FILES = {
    "app.py": "import os\n\n\ndef first():\n    return second()\n\n\ndef second():\n    return os.sep\n",
    "lib/shapes.py": "class Shape:\n    def area(self):\n        return 0\n\n\nclass Square(Shape):\n    side = 1\n",
    "docs/guide.md": "# Guide\n\nHow to use it.\n\n## Install\n\nRun the installer.\n",
    "empty.py": "",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def edit(root: Path) -> None:
    write(root, {"app.py": FILES["app.py"].replace("second", "third") + "\n\ndef more():\n    return first()\n"})


def move(root: Path) -> None:
    (root / "lib/shapes.py").rename(root / "lib/forms.py")


def remove(root: Path) -> None:
    (root / "app.py").unlink()


def bring_back(root: Path) -> None:
    write(root, {"app.py": FILES["app.py"]})


def known(rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """What a workspace knows of files, by names instead of numbers."""
    path = {row["memory"]: row["path"] for row in rows["code_file"]}
    memory = {row["id"]: path[row["id"]] for row in rows["memory"]}
    entity = {row["id"]: (row["name"], row["type"]) for row in rows["entity"]}
    chunk = {row["id"]: (memory[row["memory"]], row["position"]) for row in rows["chunk"]}
    ends = {r["id"]: (entity[r["subject"]], r["relation"], entity[r["object"]]) for r in rows["relation"]}
    columns = ("position", "text", "first_line", "last_line", "symbol", "symbol_kind", "words", "stream_position")
    return {
        "files": sorted((memory[r["id"]], r["text"], r["stale"], r["version"], r["trash"]) for r in rows["memory"]),
        "marks": sorted((r["path"], r["language"], r["digest"], r["lines"], r["functions"]) for r in rows["code_file"]),
        "chunks": sorted((memory[r["memory"]], *(r[name] for name in columns)) for r in rows["chunk"]),
        "vectors": sorted((chunk[r["chunk"]], r["data"]) for r in rows["vector"]),
        "entities": sorted((entity[r["id"]], r["version"], r["handed_in"]) for r in rows["entity"]),
        "mentions": sorted((chunk[r["chunk"]], entity[r["entity"]]) for r in rows["mention"]),
        "relations": sorted((*ends[r["id"]], r["weight"], r["version"]) for r in rows["relation"]),
        "sources": sorted((ends[r["relation"]], memory[r["memory"]]) for r in rows["relation_source"]),
        "skips": sorted(r["path"] for r in rows["code_skip"]),
        "scopes": sorted((r["filters"], r["runs"]) for r in rows["code_scope"]),
    }


def rows_of(app: App, home: Path) -> dict[str, Any]:
    if app.settings.store:
        return known(reading.dump(app.engine.open("default")._graph))
    with store_files.open_file(store_files.file_of(home)) as db:
        return known(portable.rows_of(db))


@pytest.fixture
def apps(tmp_path: Path) -> Any:
    homes = [Home(kind, tmp_path / kind) for kind in ("sqlite", "falkor")]
    made = [(make_app(load_settings(home.variables)), home.folder) for home in homes]
    yield made
    for app, _ in made:
        app.close()
    homes[1].close()


def test_every_run_leaves_the_same_on_falkor(apps: list[tuple[App, Path]], tmp_path: Path) -> None:
    root = tmp_path / "repository"
    write(root, FILES)
    changes: list[Callable[[Path], None]] = [lambda root: None, edit, move, remove, bring_back, lambda root: None]
    for change in changes:
        change(root)
        told = []
        for app, home in apps:
            result = app.memory().code.index(root)
            told.append((result.files_indexed, result.files_unchanged, result.files_moved, result.files_removed,
                         result.chunks_embedded, result.stale_memories, rows_of(app, home)))  # fmt: skip
        assert told[1] == told[0], change


def test_what_the_index_found_is_found_by_path_and_symbol_on_falkor(
    apps: list[tuple[App, Path]], tmp_path: Path
) -> None:
    root = tmp_path / "repository"
    write(root, FILES)
    asked: list[dict[str, Any]] = [{}, {"path": "lib"}, {"path": "*.md"}, {"path": str(root)}, {"language": "python"}]
    asked += [{"symbol_kind": "class"}, {"path": "nowhere"}]
    for app, _ in apps:
        app.memory().code.index(root)
    for filters in asked:
        pages = [app.memory().search("area of a shape", filters=filters) for app, _ in apps]
        found = [sorted((hit.passage.code.path, hit.passage.code.symbol) for hit in page.hits) for page in pages]
        assert found[1] == found[0], filters
