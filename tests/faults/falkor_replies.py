"""Campaign: an answer of FalkorDB gets lost, at any request of an operation, and the server may stay away from then on.

A seed takes one operation, on the same workspace each time. What it says has to be so: with "done" all of it is done;
with a refusal nothing is, or it says that the change may have been made, and how to look.
"""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

from memsweep.errors import MemsweepError
from memsweep.store.falkor.engine import FalkorEngine
from memsweep.store.falkor.refusals import MAY_BE_DONE
from tests.falkor.killed_at_each_command import Bench
from tests.faults.falkor_acts import Given, frozen_app
from tests.faults.falkor_kills import folder, shared_server
from tests.faults.falkor_stalls import STALLED, Act, furnished
from tests.support.killing import in_child
from tests.support.proxy import Proxy

_LOST, _ALWAYS = 12, 6


def run(seed: int, lost: int = _LOST) -> dict[str, Any]:
    name = list(STALLED)[seed % len(STALLED)]
    server, chance = shared_server(), random.Random(seed)
    with server.client() as client:
        client.flushall()
    url = f"{server.url}/replies"
    given = furnished({"MEMSWEEP_HOME": str(folder() / "home"), "MEMSWEEP_STORE": url})
    with contextlib.closing(Bench(FalkorEngine(url), server.port)) as bench:
        with _way(server.port) as proxy:
            _attempt(proxy, STALLED[name], given)
            requests = proxy.asked
        bench.rest()
        done, violations = bench.state(), []
        points = [(at, away) for at in range(1, requests + 1) for away in (False, True)]
        last, before = points[-_ALWAYS:], points[:-_ALWAYS]  # what is changed is asked for at the end
        chosen = sorted(chance.sample(before, min(max(0, lost - _ALWAYS), len(before)))) + last
        for at, away in chosen:
            bench.put_back()
            with _way(server.port) as proxy:
                proxy.lose_reply_at, proxy.is_away_then = at, away
                said = _attempt(proxy, STALLED[name], given)
            bench.rest()
            left = bench.state()
            where = f"{name}, reply {at} of {requests} lost{', and away' * away}: {said!r}"
            if left not in (bench.before, done):
                violations.append(f"{where}: neither done nor undone")
            elif left != bench.before and said and MAY_BE_DONE not in said:
                violations.append(f"{where}: it is done, and does not say so")
            elif left != done and not said:
                violations.append(f"{where}: it is not done")
        return {"replies_lost": len(chosen), "violations": violations}


@contextlib.contextmanager
def _way(port: int) -> Iterator[Proxy]:
    with contextlib.closing(Proxy(port)) as proxy:
        yield proxy


def _attempt(proxy: Proxy, act: Act, given: Given) -> str:
    """What it says in a process of its own, whose clock stands still: nothing if it is done, else why not."""

    def work() -> str:
        url = f"falkor://127.0.0.1:{proxy.port}/replies"
        try:
            act(frozen_app({"MEMSWEEP_HOME": str(folder() / "home"), "MEMSWEEP_STORE": url}), given)
        except MemsweepError as error:
            return str(error)
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is no sentence
            return f"no sentence: {error!r}"
        return ""

    return str(in_child(work))
