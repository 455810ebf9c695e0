"""What children of the fork_server can do with a context window."""

from collections.abc import Callable
from typing import Any

from memsweep.app import App
from memsweep.errors import MemsweepError


def sweep_until_killed(app: App, say: Callable[[Any], None], *, prefix: str, project: str) -> None:
    """Add, stash and restore in turns; say what was acknowledged: each id, with its text and where it is."""
    window = app.memory().context(project)
    number = 0
    while True:
        number += 1
        own, text = f"{prefix}-{number}", f"{prefix} value_{number} " * (1 + number % 40)
        window.add([{"segment_id": own, "text": text, "references": [f"{prefix}-{number - 1}"]}])
        say([own, text, "active"])
        if number % 2 == 0:
            window.prune([own])
            say([own, text, "stashed"])
        if number % 4 == 0:
            window.restore([own])
            say([own, text, "active"])


def add_segments(app: App, say: Callable[[Any], None], *, prefix: str, count: int, project: str) -> None:
    """Add so many segments, one a call; say the ids that were acknowledged and the errors."""
    from tests.support.fork_server import wait_for_word

    window = app.memory().context(project)
    say("ready")
    wait_for_word()
    ids = [own for n in range(count) for own in window.add([{"text": f"{prefix} says item_{n}"}]).segment_ids]
    say(ids)


def fill_window(app: App, say: Callable[[Any], None], *, project: str, text: str, count: int) -> None:
    """Add large segments, then stash and restore one; say what became of each call."""
    window = app.memory().context(project)
    outcomes = [
        _outcome(lambda n=n: window.add([{"segment_id": f"big{n}", "text": f"{n} {text}"}])) for n in range(count)
    ]
    outcomes.append(_outcome(lambda: window.prune(["kept"])))
    outcomes.append(_outcome(lambda: window.restore(["kept"])))
    say(outcomes)


def _outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except MemsweepError as error:
        return f"{type(error).__name__}: {error}"
    return "done"


CONTEXT_JOBS = {job.__name__: job for job in (sweep_until_killed, add_segments, fill_window)}
