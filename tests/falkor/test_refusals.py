"""What FalkorDB refuses is said in a sentence, whatever state it is in. The states are real."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from memsweep.app import App
from memsweep.clock import now
from memsweep.errors import BadSetting, MemsweepError, StoreAway, StoreBusy, StoreFull, StoreReadOnly
from memsweep.settings import load_settings
from tests.falkor.servers import Start, opened, texts
from tests.support.falkor import OldServer, Server, free_port
from tests.support.waiting import wait_for


def refusal_of(url: str, tmp_path: Path, act: Callable[[App], object]) -> MemsweepError:
    with opened(url, tmp_path) as app, pytest.raises(MemsweepError) as caught:
        act(app)
    return caught.value


def test_falkor_away_is_said_in_a_sentence(tmp_path: Path) -> None:
    error = refusal_of(f"falkor://u:secret@127.0.0.1:{free_port()}", tmp_path, lambda app: app.workspaces())
    assert isinstance(error, StoreAway)
    assert "cannot be reached" in error.message
    assert "secret" not in str(error)


def test_a_wrong_password_of_falkor_is_said(start: Start, tmp_path: Path) -> None:
    server = start("--requirepass", "right")
    url = f"falkor://default:right@127.0.0.1:{server.port}"
    with opened(url, tmp_path) as app:
        assert app.workspaces() == []
    error = refusal_of(url.replace("right", "wrong"), tmp_path, lambda app: app.workspaces())
    assert "refuses the user or the password" in error.message
    assert "wrong@" not in str(error)


def test_redis_without_the_falkor_module_is_said(start: Start, tmp_path: Path) -> None:
    error = refusal_of(start(module=False).url, tmp_path, lambda app: app.workspaces())
    assert "without the FalkorDB module" in error.message


OLD = [([("graph", 40_200), ("vectorset", 1)], "module 40200"), ([("graph", 41_000)], "vector sets: no")]


@pytest.mark.parametrize(("modules", "said"), OLD, ids=["module", "redis"])
def test_a_falkor_that_is_too_old_is_said(tmp_path: Path, modules: list[tuple[str, int]], said: str) -> None:
    with OldServer(modules) as server:
        error = refusal_of(f"falkor://127.0.0.1:{server.port}", tmp_path, lambda app: app.workspaces())
    assert "is too old" in error.message
    assert said in error.message
    assert "4.8 or later" in error.hint


REFUSALS = {
    "MOVED 12182 10.0.0.7:6379": "is a node of a cluster now, and has this elsewhere (12182 10.0.0.7:6379)",
    "ASK 12182 10.0.0.7:6379": "is a node of a cluster now",
    "TRYAGAIN Multiple keys request during rehashing of slot": "moving this workspace",
    "CLUSTERDOWN The cluster is down": "cannot be reached (The cluster is down)",
    "READONLY You can't write against a read only replica.": "takes no writes",
    "NOAUTH Authentication required.": "refuses the user or the password",
    "WRONGPASS invalid username-password pair or user is disabled.": "refuses the user or the password",
    "NOPERM this user has no permissions to run the command": "refuses the user or the password",
    "LOADING Redis is loading the dataset in memory": "still loading",
    "MASTERDOWN Link with MASTER is down": "cannot be reached",
    "OOM command not allowed when used memory > 'maxmemory'.": "no room left",
    "BUSY Redis is busy running a script.": "refused: BUSY",
    "ERR anything else": "refused: anything else",
}


@pytest.mark.parametrize("greets", [True, False])
@pytest.mark.parametrize(("refusal", "said"), REFUSALS.items(), ids=[each.split()[0] for each in REFUSALS])
def test_whatever_a_single_falkor_answers_is_a_sentence(refusal: str, said: str, greets: bool, tmp_path: Path) -> None:
    with OldServer([("graph", 41_000), ("vectorset", 1)], refusal, greets=greets) as server:
        url = f"falkor://user:secret@127.0.0.1:{server.port}"
        for act in (lambda app: app.workspaces(), lambda app: app.memory("team").remember("one")):
            error = refusal_of(url, tmp_path, act)
            assert said in error.message
            assert error.hint
            assert "secret" not in str(error)


def test_a_falkor_that_is_still_loading_is_said(start: Start, tmp_path: Path) -> None:
    server = start()
    with server.client() as client:
        client.mset({f"key {number}": "x" * 50 for number in range(20_000)})
        client.save()
    server.kill()
    server.start("--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024", wait=False)
    wait_for(lambda: _is_loading(server))
    error = refusal_of(server.url, tmp_path, lambda app: app.workspaces())
    assert isinstance(error, StoreBusy)
    assert "still loading" in error.message


def _is_loading(server: Server) -> bool:
    with contextlib.suppress(redis.exceptions.ConnectionError), server.client() as client:
        return bool(client.info("persistence")["loading"])
    return False


def test_a_falkor_that_hangs_is_said_in_time_and_writes_nothing_twice(start: Start, tmp_path: Path) -> None:
    server = start()
    with opened(f"{server.url}?timeout=1", tmp_path) as app:
        memory = app.memory()
        memory.remember("before")
        for act in (lambda: memory.stats(), lambda: memory.remember("while it hangs"), lambda: app.workspaces()):
            server.freeze()
            begun = time.monotonic()
            with pytest.raises(StoreAway, match="does not answer"):
                act()
            assert time.monotonic() - begun < 5, "one wait, not several"
            server.thaw()
        assert texts(app) <= {"before", "while it hangs"}
        memory.remember("while it hangs")
        memory.remember("while it hangs")
        assert memory.stats().total_memories == 2
        assert memory.care.doctor().findings == ()


def test_falkor_without_room_refuses_and_changes_nothing(start: Start, tmp_path: Path) -> None:
    server = start("--maxmemory-policy", "noeviction")
    with opened(server.url, tmp_path) as app:
        app.memory().remember("before")
        with server.client() as client:
            client.config_set("maxmemory", "1mb")
        with pytest.raises(StoreFull, match="no room left"):
            app.memory().remember("too much")
        assert texts(app) == {"before"}


def test_a_replica_of_falkor_answers_and_takes_no_writes(start: Start, tmp_path: Path) -> None:
    primary = start()
    with opened(primary.url, tmp_path) as app:
        app.memory().remember("from the primary")
    replica = start("--replicaof", "127.0.0.1", str(primary.port))
    with replica.client() as client:
        wait_for(lambda: client.info("replication")["master_link_status"] == "up")
        with opened(replica.url, tmp_path) as app:
            wait_for(lambda: bool(app.workspaces()))
            assert [hit.passage.text for hit in app.memory().search("primary").hits] == ["from the primary"]
            app.clock = lambda: now() + timedelta(days=1)  # what is found now was not seen for a while
            assert [hit.passage.text for hit in app.memory().search("primary").hits] == ["from the primary"]
            with pytest.raises(StoreReadOnly):
                app.memory().remember("to the replica")


def test_a_store_that_is_no_address_is_refused_without_its_password() -> None:
    with pytest.raises(BadSetting) as caught:
        load_settings({"MEMSWEEP_STORE": "redis://u:secret@host"})
    assert "secret" not in str(caught.value)


def test_without_its_package_falkor_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from memsweep.app import make_app\nfrom memsweep.settings import load_settings\n"
        "make_app(load_settings({'MEMSWEEP_HOME': sys.argv[1], 'MEMSWEEP_STORE': 'falkor://u:secret@h'})).workspaces()"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert "BadSetting" in ran.stderr
    assert "uv tool install '.[falkor]'" in ran.stderr
    assert "secret" not in ran.stderr
