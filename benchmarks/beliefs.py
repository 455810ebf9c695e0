"""PrecisionMemBench (MIT, github.com/tenurehq/precisionMemBench): does search return a belief, and only that one?

python benchmarks/beliefs.py FOLDER [--told] [--mode precise|deep] [--unscoped] [--json FILE]

FOLDER is a checkout of the benchmark, or its `fixtures`; none of it is in this repository, and nothing here was chosen
by it. A belief is a memory with its scope as a tag, a user is a workspace, and a question asks for its scope
(`--unscoped`: for everything). With `--told` a belief that replaces another says so, and one that is settled was
deleted, as an agent would do with memsweep; without it everything is only added, which is all that the benchmark tells
to those it measures.

Scored as the benchmark does: what it pins itself is taken out of an answer, a relation brings those it is between, and
the answer is cut to its budget. Precision counts where something is right or was returned, recall where something is
right; a case passes if the answer is exactly what is right.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from common import Figure, at_least, show_figures, write_json
from memsweep import Memory, open_memory

USER = "test-user"
MOST = 20
PRECISION, RECALL, SILENCE = 0.70, 0.90, 0.85
Belief = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case: whether memsweep was asked, what is right (None where the case does not say), and what was returned."""

    case: str
    asked: bool
    right: frozenset[str] | None
    forbidden: frozenset[str]
    returned: tuple[str, ...]

    @property
    def hits(self) -> int:
        return len((self.right or frozenset()).intersection(self.returned))

    @property
    def precision(self) -> float | None:
        if not self.returned:
            return 0.0 if self.right else None
        return self.hits / len(self.returned)

    @property
    def recall(self) -> float | None:
        return self.hits / len(self.right) if self.right else None

    @property
    def passed(self) -> bool:
        exact = self.right is None or self.right == frozenset(self.returned)
        return exact and self.forbidden.isdisjoint(self.returned)


def main() -> None:
    options = _options()
    folder = options.folder / "fixtures" if (options.folder / "fixtures").is_dir() else options.folder
    beliefs = {each["_id"]: each for each in json.loads((folder / "beliefs.seed.json").read_text("utf-8"))}
    cases = json.loads((folder / "retrieval.cases.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix="memsweep-beliefs-") as home:
        asking = Asking(beliefs, Path(home), options)
        outcomes = [asking.ask(case) for case in cases]
        asking.close()
    figures = _figures(outcomes)
    show_figures(figures)
    print(f"passed: {sum(each.passed for each in outcomes)} of {len(outcomes)}")
    items = [{"case": each.case, "returned": each.returned, "passed": each.passed} for each in outcomes]
    write_json(options.json, "beliefs", figures, told=options.told, mode=options.mode, items=items)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of the benchmark")
    parser.add_argument("--told", action="store_true", help="say what replaces what, and delete what is settled")
    parser.add_argument("--mode", choices=("precise", "deep"), default="precise")
    parser.add_argument("--unscoped", action="store_true", help="do not filter by scope")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args()


class Asking:
    """All beliefs as memories of their users, and the questions of cases to them."""

    def __init__(self, beliefs: Mapping[str, Belief], home: Path, options: argparse.Namespace) -> None:
        self._beliefs, self._options = beliefs, options
        users = {belief["user_id"] for belief in beliefs.values()}
        self._memories = {user: open_memory(user, home=home) for user in users}
        kept = [each for each in beliefs.values() if not (options.told and each.get("resolved_at"))]
        self._ids = {self._add(belief): belief["_id"] for belief in kept}
        if options.told:
            by_belief = {belief: memory_id for memory_id, belief in self._ids.items()}
            for old in kept:
                if (new := old.get("superseded_by")) is not None:
                    self._add(beliefs[new], supersedes=[by_belief[old["_id"]]])

    def _add(self, belief: Belief, **said: Any) -> str:
        parts = [belief["canonical_name"], *belief["aliases"], belief.get("content"), belief.get("why_it_matters")]
        memory = self._memories[belief["user_id"]]
        return memory.remember(" ".join(filter(None, parts)), tags=belief["scope"][:1], **said).memory_id

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()

    def ask(self, case: Mapping[str, Any]) -> Outcome:
        user, scopes = case.get("userId", USER), case["scope"]
        most = case.get("budget", {}).get("maxBeliefs", MOST)
        asked = bool(case["query"].strip()) and most > 0
        pinned = [key for key, each in self._beliefs.items() if _is_pinned(each, user, scopes)]
        memory = self._memories.get(user) if asked else None
        lists = [self._found(memory, case["query"], scope, most) for scope in scopes] if memory else []
        found = [key for key in _in_turns(lists) if key not in pinned][:most]
        found += self._ends_of(found, user, scopes, pinned)
        expected = case["expect"].get("relevantBeliefs", {})
        right = expected.get("shouldOnlyInclude")
        return Outcome(
            case["caseId"],
            asked,
            None if right is None else frozenset(right),
            frozenset(expected.get("mustExclude", ())),
            tuple(dict.fromkeys(found))[: max(0, most - len(pinned))],
        )

    def _found(self, memory: Memory, query: str, scope: str, most: int) -> list[str]:
        filters = {} if self._options.unscoped else {"tags": [scope]}
        page = memory.search(query, limit=most, mode=self._options.mode, filters=filters)
        return list(dict.fromkeys(self._ids[hit.passage.memory_id] for hit in page.hits))

    def _ends_of(self, found: Sequence[str], user: str, scopes: Sequence[str], pinned: Sequence[str]) -> list[str]:
        """What the relations among the found are between."""
        ends = [end for key in found for end in self._beliefs[key].get("participants") or ()]
        return [
            end
            for end in ends
            if end not in (*pinned, *found)
            and (belief := self._beliefs.get(end)) is not None
            and belief["type"] != "open_question"
            and belief["user_id"] == user
            and not set(scopes).isdisjoint(belief["scope"])
        ]


def _is_pinned(belief: Belief, user: str, scopes: Sequence[str]) -> bool:
    over = belief.get("superseded_by") or belief.get("resolved_at") or belief["type"] == "open_question"
    own = belief["user_id"] == user and not set(scopes).isdisjoint(belief["scope"])
    return own and belief.get("pinned") is True and not over


def _in_turns(lists: Sequence[Sequence[str]]) -> list[str]:
    """The best of each list, then the second of each."""
    return list(dict.fromkeys(key for places in zip_longest(*lists) for key in places if key is not None))


def _figures(outcomes: Sequence[Outcome]) -> list[Figure]:
    answerable = [each for each in outcomes if each.right]
    silent = [not each.returned for each in outcomes if each.asked and not each.right]
    return [
        at_least("precision", _mean(each.precision for each in outcomes), PRECISION),
        at_least("precision, cases with an answer", _mean(each.precision for each in answerable), PRECISION),
        at_least("recall", _mean(each.recall for each in outcomes), RECALL),
        at_least("right silence", statistics.fmean(silent), SILENCE),
    ]


def _mean(values: Iterator[float | None]) -> float:
    return statistics.fmean(value for value in values if value is not None)


if __name__ == "__main__":
    main()
