"""Count a server's work, in Prometheus' text form. No name of a workspace, a token or a client is in it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping

from memsweep import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the histogram."""

Labels = tuple[tuple[str, str], ...]


class Meter:
    """Counted in the event loop alone."""

    def __init__(self) -> None:
        self._started_at = time.time()
        self._requests: Counter[Labels] = Counter()
        self._tools: Counter[Labels] = Counter()
        self._took: Counter[float] = Counter()
        self._seconds = 0.0
        self.in_progress = 0

    def request(self, method: str, status: int, seconds: float | None) -> None:
        """`seconds`: how long it took; None for a stream, which lasts as long as its client likes."""
        known = method if method in ("GET", "POST", "DELETE") else "other"
        self._requests[(("method", known), ("status", str(status)))] += 1
        if seconds is not None:
            self._took[next((end for end in SECONDS if seconds <= end), float("inf"))] += 1
            self._seconds += seconds

    def tool(self, name: str, outcome: str) -> None:
        self._tools[(("tool", name), ("outcome", outcome))] += 1

    def text(self) -> str:
        families = (
            _family("memsweep_build_info", "gauge", "The version.", {(("version", __version__),): 1}),
            _family("memsweep_start_time_seconds", "gauge", "When it was started.", {(): self._started_at}),
            _family("memsweep_http_requests_in_progress", "gauge", "Being answered now.", {(): self.in_progress}),
            _family("memsweep_http_requests_total", "counter", "Answered, by method and status.", self._requests),
            _family("memsweep_tool_calls_total", "counter", "Calls of tools, by outcome.", self._tools),
            self._histogram(),
        )
        return "".join(f"{line}\n" for family in families for line in family)

    def _histogram(self) -> Iterator[str]:
        name = "memsweep_http_request_seconds"
        yield from _head(name, "histogram", "How long an answer took, streams left out.")
        total = 0
        for end in (*SECONDS, float("inf")):
            total += self._took[end]
            yield f'{name}_bucket{{le="{"+Inf" if end == float("inf") else f"{end:g}"}"}} {total}'
        yield f"{name}_sum {self._seconds:.6f}"
        yield f"{name}_count {total}"


def _family(name: str, kind: str, about: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield from _head(name, kind, about)
    for labels, value in sorted(values.items()):
        shown = ",".join(f'{key}="{said}"' for key, said in labels)
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _head(name: str, kind: str, about: str) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
