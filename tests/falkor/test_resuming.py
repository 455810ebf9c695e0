"""A copy between the engines that is interrupted shows nothing of itself, and the next one goes on behind it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memsweep.app import App, make_app
from memsweep.errors import Conflict, StoreAway
from memsweep.settings import load_settings
from memsweep.store.falkor import copying, keeper, reading
from memsweep.store.file import portable
from tests.falkor.both_engines import comparable, graph_rows
from tests.falkor.servers import Start, opened
from tests.falkor.test_copy import fill
from tests.support import store_files
from tests.support.commands import memsweep
from tests.support.counts import some_of
from tests.support.engines import Home
from tests.support.fork_server import ForkServer

BATCH = 9
ANEW = "The source has changed since its copy was interrupted, so that was begun anew."


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_BATCH", BATCH)
    monkeypatch.setattr(reading, "_PAGE", BATCH)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "here")}))
    fill(app, tmp_path)
    yield app
    app.close()


@pytest.fixture
def server() -> Iterator[str]:
    home = Home("falkor", Path("/nonexistent"))
    yield home.url
    home.close()


@dataclass
class Steps:
    """Hears how a copy goes, and does something at one step."""

    at: int = -1
    act: object = None
    heard: list[tuple[int, int]] = field(default_factory=list)

    def __call__(self, done: int, total: int) -> None:
        self.heard.append((done, total))
        if len(self.heard) - 1 == self.at:
            assert callable(self.act)
            self.act()


class Stopped(Exception):
    pass


def stop() -> None:
    raise Stopped


def in_file(home: Path) -> dict[str, list[str]]:
    with store_files.open_file(store_files.file_of(home)) as db:
        return comparable(portable.rows_of(db))


def on_server(url: str, tmp_path: Path) -> dict[str, list[str]]:
    with opened(url, tmp_path) as there:
        assert there.memory().care.doctor().findings == ()
        return graph_rows(there.engine)


def nothing_shows(url: str, tmp_path: Path) -> None:
    with opened(url, tmp_path) as there:
        assert there.workspaces() == []
        assert there.engine.keeper.examine() == []


def test_a_copy_to_falkor_and_back_tells_every_batch(app: App, server: str, tmp_path: Path) -> None:
    rows = portable_count(tmp_path / "here")
    there, back = Steps(), Steps()
    app.copy_workspace("default", "", server, progress=there)
    app.copy_workspace("default", server, f"sqlite:{tmp_path / 'back'}", progress=back)
    for steps, passes, things in ((there, 2, rows), (back, 1, rows + 1)):  # the copy itself is in the audit log
        done = [each for each, _ in steps.heard]
        assert {total for _, total in steps.heard} == {passes * things}
        assert done == sorted(done)
        assert done[-1] == passes * things
        assert len(steps.heard) > passes * things / BATCH
    assert in_file(tmp_path / "back") == in_file(tmp_path / "here")


def portable_count(home: Path) -> int:
    with store_files.open_file(store_files.file_of(home)) as db:
        return portable.count(db)


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_copy_killed_at_random_moments_is_continued(
    way: str, app: App, server: str, tmp_path: Path, fork_server: ForkServer
) -> None:
    chance, source, target = random.Random(way), "sqlite", server
    if way == "back":
        app.copy_workspace("default", "", server)
        source, target = server, f"sqlite:{tmp_path / 'back'}"
    order = {"source": source, "target": target, "batch": BATCH}
    killed, reached, said = 0, 0, []
    while killed < 5:
        child = fork_server.fork("copy_in_small_batches", tmp_path / "here", **order)
        said = [child.said() for _ in range(chance.randrange(1, 5) if way == "back" else chance.randrange(1, 15))]
        said += child.kill()
        if child.status != -9:
            break  # it was quicker
        killed += 1
        reached = max(reached, *(done for done, _ in said))
        if way == "there":
            nothing_shows(server, tmp_path)
        else:
            assert not (tmp_path / "back" / "registry.db").exists() or not store_files.files_of(tmp_path / "back")
    else:
        said = fork_server.fork("copy_in_small_batches", tmp_path / "here", **order).rest()
    assert killed >= 2
    assert said[0][0] >= (reached if way == "back" else 0)
    assert "before" in said[-1][0]
    found = in_file(tmp_path / "back") if way == "back" else on_server(server, tmp_path)
    assert found == in_file(tmp_path / "here")
    assert list((tmp_path / "here" / "copies").iterdir()) == []


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_copy_is_continued_after_the_server_was_killed(way: str, app: App, start: Start, tmp_path: Path) -> None:
    server = start(durable=True)
    source, target = "sqlite", server.url
    if way == "back":
        app.copy_workspace("default", "", server.url)
        source, target = server.url, f"sqlite:{tmp_path / 'back'}"
    for at in (3, 9):
        with pytest.raises(StoreAway):
            app.copy_workspace("default", source, target, progress=Steps(at, server.kill))
        server.start()
    made = app.copy_workspace("default", source, target)
    assert "before" in made.notes[0]
    found = in_file(tmp_path / "back") if way == "back" else on_server(server.url, tmp_path)
    assert found == in_file(tmp_path / "here")


@pytest.mark.parametrize("at", some_of(range(0, 40, 5), 4))
def test_a_copy_to_falkor_stopped_at_any_step_goes_on_there(at: int, app: App, server: str, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        app.copy_workspace("default", "", server, progress=Steps(at, stop))
    nothing_shows(server, tmp_path)
    app.copy_workspace("default", "", server)
    assert on_server(server, tmp_path) == in_file(tmp_path / "here")


@pytest.mark.parametrize("way", ["there", "back"])
def test_a_copy_of_a_source_that_has_changed_is_begun_anew_and_says_so(
    way: str, app: App, server: str, tmp_path: Path
) -> None:
    if way == "back":
        app.copy_workspace("default", "", server)
        order = (server, f"sqlite:{tmp_path / 'back'}")
        changing = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "here"), "MEMSWEEP_STORE": server}))
    else:
        order, changing = ("sqlite", server), app
    with pytest.raises(Stopped):
        app.copy_workspace("default", *order, progress=Steps(5, stop))
    changing.memory().remember("something new")
    assert app.copy_workspace("default", *order).notes == (ANEW,)
    if way == "there":
        assert on_server(server, tmp_path) == in_file(tmp_path / "here")
    else:
        assert in_file(tmp_path / "back") == graph_rows(changing.engine)
        changing.close()


def test_a_source_that_changes_while_it_is_read_is_copied_as_of_one_moment(
    app: App, server: str, tmp_path: Path
) -> None:
    app.copy_workspace("default", "", server)
    with opened(server, tmp_path) as there:
        late = iter(range(100))
        steps = Steps()

        def progress(done: int, total: int) -> None:
            steps(done, total)
            if len(steps.heard) % 4 == 0 and next(late) < 3:
                there.memory().remember(f"written meanwhile {len(steps.heard)}", entities=["Ada"])

        app.copy_workspace("default", server, f"sqlite:{tmp_path / 'back'}", progress=progress)
        assert in_file(tmp_path / "back") == graph_rows(there.engine)
    assert store_files.problems(store_files.file_of(tmp_path / "back")) == []


def test_a_source_that_never_rests_is_read_while_its_writers_wait(
    app: App, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_ATTEMPTS", 0)
    app.copy_workspace("default", "", server)
    app.copy_workspace("default", server, f"sqlite:{tmp_path / 'back'}")
    assert in_file(tmp_path / "back") == in_file(tmp_path / "here")


@pytest.mark.parametrize("at", some_of([2, 20, 50, 70], 2))
def test_a_copy_from_falkor_to_falkor_goes_on_where_it_stopped(at: int, app: App, server: str, tmp_path: Path) -> None:
    app.copy_workspace("default", "", server)
    steps = Steps(at, stop)
    with pytest.raises(Stopped):
        app.copy_workspace("default", server, f"{server}-other", progress=steps)
    nothing_shows(f"{server}-other", tmp_path)
    made = app.copy_workspace("default", server, f"{server}-other")
    assert "before" in made.notes[0]
    assert on_server(f"{server}-other", tmp_path) == in_file(tmp_path / "here")


def test_the_command_says_that_it_went_on(
    app: App, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_BATCH", 500)  # as it is in the command
    with pytest.raises(Stopped):
        app.copy_workspace("default", "", server, progress=Steps(4, stop))
    ran = memsweep("workspace", "copy", "--to", server, "--json", home=tmp_path / "here")
    assert ran.status == 0, ran.err
    assert ran.json["memories"] == 27
    assert "had been written before" in ran.json["notes"][0]
    assert on_server(server, tmp_path) == in_file(tmp_path / "here")


def test_one_copy_is_made_by_one_process(app: App, server: str, tmp_path: Path) -> None:
    def again() -> None:
        with pytest.raises(Conflict, match="another process is making this copy"):
            app.copy_workspace("default", "", server)

    app.copy_workspace("default", "", server, progress=Steps(3, again))
    assert on_server(server, tmp_path) == in_file(tmp_path / "here")


def test_a_purge_frees_a_copy_that_nobody_went_on_with(app: App, server: str, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        app.copy_workspace("default", "", server, progress=Steps(6, stop))
    with opened(server, tmp_path) as there:
        assert len(there.engine.all_graphs()) == 1
        assert there.purge_workspaces(0) == 1
        assert there.engine.all_graphs() == []
    app.purge_workspaces(1)
    assert list((tmp_path / "here" / "copies").iterdir())
    app.purge_workspaces(0)
    assert list((tmp_path / "here" / "copies").iterdir()) == []
    assert app.copy_workspace("default", "", server).notes == ()
    assert on_server(server, tmp_path) == in_file(tmp_path / "here")


def test_a_file_of_an_interrupted_copy_that_is_damaged_is_no_use_and_no_harm(
    app: App, server: str, tmp_path: Path
) -> None:
    app.copy_workspace("default", "", server)
    order = (server, f"sqlite:{tmp_path / 'back'}")
    with pytest.raises(Stopped):
        app.copy_workspace("default", *order, progress=Steps(5, stop))
    (rows,) = (tmp_path / "here" / "copies").glob("*/rows.db")
    rows.write_bytes(b"not a database" * 1000)
    app.copy_workspace("default", *order)
    assert in_file(tmp_path / "back") == in_file(tmp_path / "here")
