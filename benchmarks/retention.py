"""What forgetting loses: the share of later questions and tool calls that still have their evidence.

python benchmarks/retention.py --data DIR [--set NAME] [--budget F ...] [--json FILE] [--record FILE] [--seeds N]

DIR holds `*.jsonl.gz`, one conversation a line:
{"id", "set", "segments": [{"id", "role", "type", "text", "session"}], "probes": [{"kind", "question", "at", "need"}]}
A probe is satisfied when every list in `need` has a kept segment. Tokens are length/4. `memsweep` is the
policy alone (no soft roots); `memsweep, defaults` is what a user gets without a setting. `restored` keeps
half the budget blind and fills the rest from the stash with the probe's question. `all_evidence` is the share
of probes with all they need, `per_evidence` the mean share of what a probe needs. `--record` writes the few
figures that docs/forgetting.md shows.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import DEFAULT_DATA
from memsweep.context import ContextHeap, ContextSegment, Focus, GCEngine, Limits
from memsweep.context.supersede import find_replacements
from record import record_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BLIND_SHARE = 0.5
POLICY_ALONE = Focus(last_n=0)
TYPE_IMPORTANCE = {"decision": 1.0, "note": 0.8, "summary": 0.7, "code": 0.6, "message": 0.5, "log": 0.2}

Segments = Sequence[ContextSegment]
Policy = Callable[[Segments, int, random.Random], set[str]]


@dataclass(frozen=True, slots=True)
class Probe:
    kind: str
    question: str | None
    at: int
    need: list[list[str]]


@dataclass(frozen=True, slots=True)
class Conversation:
    name: str
    set: str
    segments: list[ContextSegment]
    probes: list[Probe]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One probe under one policy at one budget."""

    conversation: str
    kind: str
    evidence_share: float
    tokens: int
    """What was kept, in tokens."""

    @property
    def satisfied(self) -> bool:
        return self.evidence_share == 1.0


def load(folder: Path, only: str | None) -> list[Conversation]:
    conversations = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            conversations += [_conversation(json.loads(line)) for line in lines]
    return [conversation for conversation in conversations if only in (None, conversation.set)]


def _conversation(data: dict[str, Any]) -> Conversation:
    segments = [
        ContextSegment(row["id"], row["text"], row["type"], NOW, NOW, role=row["role"]) for row in data["segments"]
    ]
    return Conversation(data["id"], data["set"], segments, [Probe(**probe) for probe in data["probes"]])


# Policies: which segments stay within a budget.


def memsweep(focus: Focus) -> Policy:
    def keep(segments: Segments, budget: int, _: random.Random) -> set[str]:
        plan = GCEngine().fit(segments, budget, now=NOW, focus=focus)
        return {s.segment_id for s in segments} - plan.segment_ids

    return keep


def recency(segments: Segments, budget: int, _: random.Random) -> set[str]:
    """From the end until one does not fit, as `trim_messages` does."""
    kept: set[str] = set()
    for segment in reversed(segments):
        if segment.tokens > budget:
            break
        budget -= segment.tokens
        kept.add(segment.segment_id)
    return kept


def shuffled(segments: Segments, budget: int, rng: random.Random) -> set[str]:
    return _fill(rng.sample(segments, len(segments)), budget)


def clear_tool_results(segments: Segments, budget: int, rng: random.Random) -> set[str]:
    """All but the last three tool results go first, then from the start."""
    results = [s.segment_id for s in segments if s.role == "tool"][:-3]
    return recency([s for s in segments if s.segment_id not in set(results)], budget, rng)


def age_and_type(segments: Segments, budget: int, _: random.Random) -> set[str]:
    """A fixed sum of age, in seconds, and type, with a segment a minute: a formula from the first design."""
    count = len(segments)

    def score(place: int) -> float:
        return 0.4 / (1 + 60 * (count - place)) + 0.3 * TYPE_IMPORTANCE[segments[place].type] + 0.01

    return _fill([segments[place] for place in sorted(range(count), key=score, reverse=True)], budget)


def _fill(segments: Segments, budget: int) -> set[str]:
    kept: set[str] = set()
    for segment in segments:
        if segment.tokens <= budget:
            budget -= segment.tokens
            kept.add(segment.segment_id)
    return kept


POLICIES: dict[str, Policy] = {
    "memsweep": memsweep(POLICY_ALONE),
    "memsweep, defaults": memsweep(Focus()),
    "memsweep, last_n=4": memsweep(Focus(last_n=4)),
    "recency": recency,
    "random": shuffled,
    "clear tool results": clear_tool_results,
    "age and type": age_and_type,
}


# Running


def run_blind(conversations: Sequence[Conversation], policy: Policy, share: float, seed: int) -> Iterator[Outcome]:
    rng = random.Random(seed)
    for conversation in conversations:
        for at, probes in _by_moment(conversation.probes).items():
            segments = conversation.segments[:at]
            kept = policy(segments, _budget(segments, share), rng)
            tokens = sum(segment.tokens for segment in segments if segment.segment_id in kept)
            yield from (_outcome(conversation, probe, kept, tokens) for probe in probes)


def run_restored(conversations: Sequence[Conversation], share: float) -> Iterator[Outcome]:
    for conversation in conversations:
        asked = [probe for probe in conversation.probes if probe.question is not None]
        for at, probes in _by_moment(asked).items():
            segments = conversation.segments[:at]
            budget = _budget(segments, share)
            heap = _filled_heap(segments)
            heap.collect(now=NOW, budget=int(budget * BLIND_SHARE))
            for probe in probes:
                restored = heap.restore_matching(probe.question or "", budget - heap.tokens)
                yield _outcome(conversation, probe, {s.segment_id for s in heap.segments}, heap.tokens)
                heap.prune(segment.segment_id for segment in restored)


def run_oracle(conversations: Sequence[Conversation], share: float) -> Iterator[Outcome]:
    """What a greedy choice keeps that knows every probe: the cheapest evidence first. No policy can know that."""
    for conversation in conversations:
        cost = {segment.segment_id: segment.tokens for segment in conversation.segments}
        for at, probes in _by_moment(conversation.probes).items():
            room, kept = _budget(conversation.segments[:at], share), set[str]()
            wanted = [
                {min(alternatives, key=lambda own: cost.get(own, 0)) for alternatives in probe.need} for probe in probes
            ]
            while wanted:
                cheapest = min(wanted, key=lambda need: sum(cost.get(own, 0) for own in need - kept))
                wanted.remove(cheapest)
                price = sum(cost.get(own, 0) for own in cheapest - kept)
                if price <= room:
                    room -= price
                    kept |= cheapest
            yield from (_outcome(conversation, probe, kept, sum(cost.get(own, 0) for own in kept)) for probe in probes)


def _filled_heap(segments: Segments) -> ContextHeap:
    roomy = Limits(soft_tokens=1 << 60, hard_tokens=1 << 60, changes_per_step=1 << 60)
    heap = ContextHeap(limits=roomy, focus=POLICY_ALONE)
    for segment in segments:
        heap.add(segment, now=NOW)
    return heap


def _by_moment(probes: Sequence[Probe]) -> dict[int, list[Probe]]:
    moments: dict[int, list[Probe]] = defaultdict(list)
    for probe in probes:
        moments[probe.at].append(probe)
    return moments


def _budget(segments: Segments, share: float) -> int:
    return int(share * sum(segment.tokens for segment in segments))


def _outcome(conversation: Conversation, probe: Probe, kept: set[str], tokens: int) -> Outcome:
    found = [not kept.isdisjoint(alternatives) for alternatives in probe.need] or [True]
    return Outcome(conversation.name, probe.kind, sum(found) / len(found), tokens)


# Summing up


def summary(outcomes: Sequence[Outcome], seconds: float, resamples: int) -> dict[str, Any]:
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.kind].append(outcome.satisfied)
    low, high = _interval(outcomes, resamples)
    return {
        "all_evidence": round(statistics.fmean(o.satisfied for o in outcomes), 4),
        "per_evidence": round(statistics.fmean(o.evidence_share for o in outcomes), 4),
        "interval_95": [round(low, 4), round(high, 4)],
        "by_kind": {kind: round(statistics.fmean(hits), 4) for kind, hits in sorted(by_kind.items())},
        "probes": len(outcomes),
        "tokens": round(statistics.fmean(o.tokens for o in outcomes)),
        "seconds": round(seconds, 3),
    }


def _interval(outcomes: Sequence[Outcome], resamples: int) -> tuple[float, float]:
    """A bootstrap over conversations, since probes of one conversation stand or fall together."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.conversation].append(outcome.satisfied)
    sums = [(sum(hits), len(hits)) for hits in groups.values()]
    rng = random.Random(0)
    means = []
    for _ in range(resamples):
        drawn = rng.choices(sums, k=len(sums))
        means.append(sum(hits for hits, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


def supersession(conversations: Sequence[Conversation], budgets: Sequence[float]) -> dict[str, Any]:
    """What a later segment replaced: the old one retired, the new one kept; and what the probes about changes need.

    The data names no outdated fact, so `old retired` and `new kept` are about the pairs that the policy found.
    """
    kinds: dict[str, int] = defaultdict(int)
    shares: dict[str, list[float]] = defaultdict(list)
    keep = memsweep(POLICY_ALONE)
    for share in budgets:
        hits: dict[str, list[bool]] = defaultdict(list)
        for conversation in conversations:
            segments = conversation.segments
            kept = keep(segments, _budget(segments, share), random.Random(0))
            for old, replacement in find_replacements(segments).items():
                kinds[replacement.kind] += share == budgets[0]
                hits["old retired"].append(old not in kept)
                hits["new kept"].append(replacement.by in kept)
            _count_changes(conversation, kept, hits)
        for label, found in sorted(hits.items()):
            shares[label].append(round(statistics.fmean(found), 4))
    return {"found": dict(kinds), "shares": dict(shares)}


def _count_changes(conversation: Conversation, kept: set[str], hits: dict[str, list[bool]]) -> None:
    """Whether the newest statement of each probe about a change is kept, and whether all of them are."""
    places = {segment.segment_id: place for place, segment in enumerate(conversation.segments)}
    for probe in conversation.probes:
        if probe.need and ("update" in probe.kind or "contradiction" in probe.kind):
            newest = max(probe.need, key=lambda alternatives: max(places.get(own, -1) for own in alternatives))
            hits[f"{probe.kind}, newest kept"].append(not kept.isdisjoint(newest))
            hits[f"{probe.kind}, all kept"].append(not any(map(kept.isdisjoint, probe.need)))


def measure(conversations: Sequence[Conversation], budgets: Sequence[float], seeds: int) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for name, policy in POLICIES.items():
        for share in budgets:
            began = time.process_time()
            tries = range(seeds if policy is shuffled else 1)
            outcomes = [o for seed in tries for o in run_blind(conversations, policy, share, seed)]
            seconds = (time.process_time() - began) / len(tries)
            rows.setdefault(name, {})[str(share)] = summary(outcomes, seconds, 200 * seeds)
    for name, run in {"memsweep, restored": run_restored, "oracle": run_oracle}.items():
        for share in budgets:
            began = time.process_time()
            outcomes = list(run(conversations, share))
            if outcomes:
                row = summary(outcomes, time.process_time() - began, 200 * seeds)
                rows.setdefault(name, {})[str(share)] = row
    return {"policies": rows, "supersession": supersession(conversations, budgets)}


def show(name: str, report: dict[str, Any]) -> None:
    print(f"\n{name}: share of probes with all evidence (95 % interval) [per evidence]")
    for policy, row in report["policies"].items():
        cells = (
            f"{cell['all_evidence']:.3f} ({cell['interval_95'][0]:.2f}-{cell['interval_95'][1]:.2f})"
            f" [{cell['per_evidence']:.2f}]"
            for cell in row.values()
        )
        print(f"  {policy:20} {'   '.join(cells)}")
    print(f"  superseded: {report['supersession']['found'] or 'none'}")
    for label, shares in report["supersession"]["shares"].items():
        print(f"    {label:40} {'   '.join(f'{share:.3f}' for share in shares)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--set")
    parser.add_argument("--budget", type=float, nargs="+", default=[0.5, 0.25, 0.1])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    sets: dict[str, list[Conversation]] = defaultdict(list)
    for conversation in load(arguments.data, arguments.set):
        sets[conversation.set].append(conversation)
    if not sets and arguments.data != DEFAULT_DATA:
        parser.error(f"no conversations in {arguments.data}")
    if not sets:
        print(f"no conversations in {arguments.data}: nothing to measure; --data names another folder")
        return
    reports = {name: measure(found, arguments.budget, arguments.seeds) for name, found in sets.items()}
    for name, report in reports.items():
        show(name, report)
    if arguments.json:
        arguments.json.write_text(json.dumps(reports, indent=1), encoding="utf-8")
    if arguments.record:
        arguments.record.write_text(json.dumps(record_of(reports), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
