"""Servers of one test, and an app that uses them."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from memsweep.app import App, make_app
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.settings import load_settings
from tests.support.falkor import Server

Start = Callable[..., Server]


@contextlib.contextmanager
def opened(url: str, tmp_path: Path, **variables: str) -> Iterator[App]:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(tmp_path / "home"), "MEMSWEEP_STORE": url, **variables}))
    try:
        yield app
    finally:
        app.close()


def texts(app: App, workspace: str = "") -> set[str]:
    store = app.engine.open(workspace or DEFAULT_WORKSPACE)
    return {text for (text,) in store._graph.ask("MATCH (m:Memory) RETURN m.text")}


def end_leases(server: Server) -> None:
    """Those of dead writers, which would end by themselves after seconds."""
    with server.client() as client:
        for key in list(client.scan_iter(match="*:writer")):
            client.delete(key)
