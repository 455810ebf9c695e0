"""Fixtures: a home of its own for every test, memories in it, children and servers on it."""

import functools
import gc
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer.main
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

from memsweep import cli
from memsweep.app import App, Memory, make_app
from memsweep.code.sandbox import Sandbox
from memsweep.embed.local import LocalEmbedder
from memsweep.settings import load_settings
from tests.support.commands import Ran
from tests.support.counts import THOROUGH, rounds
from tests.support.engines import Home
from tests.support.fork_server import ForkServer
from tests.support.memory_disk import MEMORY_DISK

if MEMORY_DISK and "TMPDIR" not in os.environ:
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY_DISK
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # hundreds of processes are started, and each would compile all it needs
sys.dont_write_bytecode = False

set_hypothesis_home_dir(Path(__file__).parents[1] / ".hypothesis")  # its tables of letters are made once
settings.register_profile(
    "memsweep",
    deadline=None,
    report_multiple_bugs=False,  # to shrink one takes long enough
    max_examples=rounds(15, 60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=not THOROUGH or "CI" in os.environ,  # a gate judges the change, a soak looks for new examples
)
settings.load_profile("memsweep")
gc.disable()  # of what is collected now, nothing is garbage


_LONG = {"faults", "falkor", "house"}  # first, so that in the end no worker waits for one of them


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.parent.name not in _LONG)


def pytest_collection_finish() -> None:
    gc.freeze()  # nor later: a look at all of it each time would take longer than what the tests leave behind
    gc.enable()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """One message of a test that passes to the process that prints, not five: they take longer than most tests."""
    option = item.config.option
    if not hasattr(item.config, "workerinput") or option.durations or option.xmlpath:
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            report.keywords = {}  # which nobody reads there
            item.ihook.pytest_runtest_logreport(report=report)
    return True


@pytest.fixture(scope="session", autouse=True)
def outside() -> Iterator[Path]:
    """The working directory of all tests, which is in no project."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="memsweep-outside-") as folder:
        os.chdir(folder)
        yield Path(folder)
        os.chdir(before)


@pytest.fixture(autouse=True)
def _nothing_of_the_machine(monkeypatch: pytest.MonkeyPatch, outside: Path) -> None:
    """No settings, and no project: where a test does not say otherwise, `default` is the workspace."""
    for name in os.environ:
        if name.startswith(("MEMSWEEP_", "OPENAI_", "CLAUDE_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(outside)


@pytest.fixture(scope="session")
def parsers() -> Iterator[Sandbox]:
    """Of all tests; what a crash of one does has its own tests."""
    with Sandbox() as made:
        yield made


@pytest.fixture(scope="session", autouse=True)
def _one_model_and_one_parser_for_all(parsers: Sandbox) -> Iterator[None]:
    """The bundled model is only read, and loading it takes longer than most tests; so does starting a parser."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "local_model", LocalEmbedder())
        patch.setattr(App, "sandbox", parsers)
        yield


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def engine_kind() -> str:
    """Which engine the apps have; `on_every_engine` runs a test on each."""
    return "sqlite"


@pytest.fixture
def make(home: Path, engine_kind: str) -> Iterator[Callable[..., App]]:
    """Apps on the home, with settings as environment variables: `make(MEMSWEEP_WORKSPACE="x")`."""
    made: list[App] = []
    place = Home(engine_kind, home)

    def make_one(**variables: str) -> App:
        made.append(make_app(load_settings({**place.variables, **variables})))
        return made[-1]

    yield make_one
    for app in made:
        app.close()
    place.close()


@pytest.fixture
def app(make: Callable[..., App]) -> App:
    return make()


@pytest.fixture
def memory(app: App) -> Memory:
    """The default workspace; the first write creates it."""
    return app.memory()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path, engine_kind: str
) -> Iterator[Callable[..., Ran]]:
    """The command line in this process, which starts at once: `run("search", "x", MEMSWEEP_WORKSPACE="y")`.

    What needs a process of its own takes `memsweep` of tests/support/commands.py.
    """
    monkeypatch.setattr("typer.main.get_command", _command)
    place = Home(engine_kind, home)
    for name, value in {**place.variables, "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdin", _input(b""))  # nobody who could be asked

    def run_one(*arguments: str, stdin: bytes | None = None, **settings: str) -> Ran:
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            if stdin is not None:
                patch.setattr("sys.stdin", _input(stdin))
            status = cli.run(arguments)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(status, out.encode("utf-8", "surrogateescape"), err)

    yield run_one
    place.close()


_command = functools.cache(typer.main.get_command)  # Typer makes all commands anew for each command line


def _input(given: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(given), "utf-8")


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """A process that forks children to order."""
    fork_server = ForkServer()
    yield fork_server
    fork_server.close()
