"""Every engine there is, on a home of its own; test ids carry the name."""

import atexit
import secrets
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest

from memsweep.store.workspaces import Engine
from tests.support import falkor

ENGINES = ("sqlite", "falkor") if falkor.can_run() else ("sqlite",)
on_every_engine = pytest.mark.parametrize("engine_kind", ENGINES)
"""For tests whose `make`, `app` or `memory` may be of any engine."""


@cache
def falkor_server() -> falkor.Server:
    """One server for all tests of this process; each home has a prefix of its own there."""
    folder = Path(tempfile.mkdtemp(prefix="memsweep-falkor-"))
    server = falkor.Server(folder)

    def end() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server


class Home:
    """Where one engine keeps its workspaces: a folder, or a prefix on the server."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder = kind, folder
        self.url = "" if kind == "sqlite" else f"{falkor_server().url}/t{secrets.token_hex(6)}"
        self._made: list[Engine] = []

    @property
    def variables(self) -> dict[str, str]:
        """The settings that lead here."""
        return {"MEMSWEEP_HOME": str(self.folder), **self.settings}

    @property
    def settings(self) -> dict[str, str]:
        """What to say beside the folder."""
        return {} if self.kind == "sqlite" else {"MEMSWEEP_STORE": self.url}

    def engine(self) -> Engine:
        self._made.append(_make(self.kind, self.folder, self.url))
        return self._made[-1]

    def close(self) -> None:
        for engine in self._made:
            engine.close()
        if self.kind != "sqlite":
            _clear(self.url)


def _make(kind: str, folder: Path, url: str) -> Engine:
    if kind == "sqlite":
        from memsweep.store.sqlite.engine import SqliteEngine

        return SqliteEngine(folder)
    from memsweep.store.falkor.engine import FalkorEngine

    return FalkorEngine(url)  # type: ignore[return-value]


def _clear(url: str) -> None:
    prefix = url.rsplit("/", 1)[1]
    with falkor_server().client() as client:
        keys = list(client.scan_iter(match=f"{prefix}:*", count=1000))
        if keys:
            client.unlink(*keys)
