"""Indexes of paths in metadata: made and dropped as the settings say, and no stranger to backups and the doctor."""

import contextlib
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App
from memsweep.settings import load_settings


def indexes(home: Path) -> set[str]:
    (file,) = (home / "workspaces").glob("*.db")
    with contextlib.closing(apsw.Connection(str(file))) as db:
        names = {name for (name,) in db.execute("select name from sqlite_schema where type = 'index'")}
    return {name.removeprefix("memory_metadata ") for name in names if name.startswith("memory_metadata ")}


def test_indexes_of_metadata_come_and_go_with_the_setting_and_every_copy_is_sound(tmp_path: Path) -> None:
    def with_paths(paths: str, folder: str = "home") -> App:
        given = {"MEMSWEEP_HOME": str(tmp_path / folder), "MEMSWEEP_SEARCH_METADATA_INDEX": paths}
        return App(load_settings({}, overrides=given))

    with contextlib.closing(with_paths("ticket.id,state")) as app:
        app.memory().remember("The lamps are green.", metadata={"ticket": {"id": 42}})
        assert indexes(tmp_path / "home") == {"ticket.id", "state"}
        assert app.memory().care.doctor().findings == ()
        app.memory().care.backup(tmp_path / "backup.db")
    with contextlib.closing(with_paths("state", "other")) as other:
        other.restore(tmp_path / "backup.db", "default")
        assert listed_texts(other, {"ticket.id": 42}) == ["The lamps are green."]
        assert other.memory().care.doctor().findings == ()
    with contextlib.closing(with_paths("")) as app:
        app.memory().remember("The lamps are blue.")
        assert indexes(tmp_path / "home") == set()


def listed_texts(app: App, metadata: dict[str, Any]) -> list[str]:
    return [each.text for each in app.memory().memories(filters={"metadata": metadata}).memories]
