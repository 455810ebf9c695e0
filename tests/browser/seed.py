"""A workspace as a team's agents would fill it: notes of three months, code of which some files are gone, a graph,
a context window, and texts that try to be markup."""

import random
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from memsweep.app import App, called_by
from memsweep.clock import now
from memsweep.model.origin import Origin
from memsweep.settings import load_settings

PEOPLE = "Ada Grace Linus Margaret Edsger Barbara Ken Radia Donald Frances".split()
SERVICES = "checkout ledger catalog search-api gateway mailer auth-proxy recommender pricing warehouse-sync".split()
PLACES = ["staging", "production", "the canary fleet", "Frankfurt", "Oregon"]
TAGS = "decision incident deploy preference howto meeting customer security performance onboarding".split()
CUSTOMERS = "Acme Globex Initech Umbrella Hooli Stark Wonka".split()
DAYS = "Monday Tuesday Wednesday Thursday".split()
NOTES = [
    "{p} decided that {s} keeps its own retry budget of {n} attempts in {l}; the shared limiter confused everyone.",
    "Deploys of {s} go out on {d}s at {n}:00. {p} holds the pager that day.",
    "{p} prefers small pull requests, under {m} lines, with the reason in the first sentence.",
    "Incident {m}: {s} timed out in {l} because the connection pool was {n}. {p} wrote the postmortem.",
    "The customer {c} asked for exports of {s} as CSV by {d}. Agreed: no personal data, {n} columns.",
    "To rebuild the index of {s}: drain {l}, run `make reindex N={n}`, wait for lag under {m} ms, undrain.",
    "{s} needs Postgres {n} in {l}. The upgrade note is in the runbook, page {m}.",
    "{p} measured {s}: p99 went from {m} ms to {n} ms after the cache key lost the tenant prefix.",
    "Security review of {s}: tokens live {n} minutes, refresh is bound to the device.",
    "Onboarding: new people get read access to {s} on day {n}, write access after {p} paired with them.",
]
HOSTILE = [
    "<script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=2>",
    "safe\u202egnp.exe\u202c and zero\u200bwidth",
    "&lt;script&gt; already escaped &amp;amp;",
    "<style>*{display:none}</style>",
    "</textarea></title><svg onload=window.pwned=3>",
    "[x](javascript:window.pwned=4) <a href=javascript:window.pwned=4>x</a>",
    "{{7*7}} {% raw %} ${7*7}",
    '"\' onmouseover=window.pwned=5 x="',
    '<div data-later="/w/seed/trash" id="main" data-fetch="/w/seed/trash">',
    "<base href=//evil.example><meta http-equiv=refresh content='0;url=//evil.example'>",
    "A" * 300,
    "👩\u200d👩\u200d👧 a family",
]
BROUGHT_BY = [
    Origin("mcp", "claude-code", "2.1", tier="agent"),
    Origin("mcp", "cursor", "1.9", tier="agent"),
    Origin("cli", "memsweep", "0.1", tier="person"),
    Origin("hook", "codex", "0.1", tier="tool"),
]
MODULES = {
    "core": ["config", "retry", "clock"],
    "billing": ["invoice", "ledger", "export", "tax"],
    "legacy": ["soap", "fax"],
}
GONE = {"legacy": ["soap", "fax"], "billing": ["tax"]}
MANY_MODULES = {
    "src/core": ["config", "retry", "clock", "errors", "tenancy"],
    "src/billing": ["invoice", "ledger", "export", "tax", "currency", "dunning"],
    "src/legacy/soap": ["client", "envelope", "faults", "session", "transport", "wsdl"],
    "src/legacy/fax": ["cover_page", "dialer", "queue", "status"],
    "src/catalog": ["search", "facets", "ranking", "import_feed"],
}
MANY_GONE = {folder: names for folder, names in MANY_MODULES.items() if "legacy" in folder} | {"src/billing": ["tax"]}
VERBS = "read write check build parse render".split()


class Code(NamedTuple):
    modules: dict[str, list[str]]
    gone: dict[str, list[str]]


def seeded(home: Path, notes: int = 60, workspace: str = "seed", *, hostile: bool = True) -> App:
    """The app of a home with one workspace; whatever is asked of it later happens now."""
    chance, moment = random.Random(7), [now()]
    app = App(load_settings({"MEMSWEEP_HOME": str(home), "MEMSWEEP_WORKSPACE": workspace}), clock=lambda: moment[0])
    app.create_workspace(workspace)
    memory, begin = app.memory(workspace), now() - timedelta(days=90)
    for number in range(notes):
        moment[0] = begin + timedelta(days=90 * (number / notes) ** 0.8)
        expires = moment[0] + timedelta(days=chance.randint(5, 60)) if number % 12 == 0 else None
        source = chance.choices(["claude-code", "slack", "meeting-notes", "cursor"], [6, 3, 2, 2])[0]
        with called_by(chance.choice(BROUGHT_BY)):
            memory.remember(
                note(chance),
                tags=chance.sample(TAGS, chance.choice([1, 1, 2, 3])),
                source=source,
                pinned=number % 29 == 28,
                expires_at=expires,
            )
    many = notes > 200
    code = Code(MANY_MODULES if many else MODULES, MANY_GONE if many else GONE)
    _index(app, home.parent / f"{home.name}-shopfront", code, workspace, moment)
    _relate(memory.graph, chance, moment)
    for text in HOSTILE if hostile else ():
        memory.remember(text, tags=[text[:60], "hostile"], source="hostile")
    if hostile:
        memory.graph.relate("<script>pwned=6</script>", '"onmouseover="pwned=7', "checkout")
    _fill(memory.context("checkout-rewrite"), chance)
    gone = memory.search("deploys of checkout", limit=1, filters={"kind": "memory"}).hits[0].passage.memory_id
    memory.delete(gone, confirm=True)
    app.clock = now
    return app


def note(chance: random.Random) -> str:
    return chance.choice(NOTES).format(
        p=chance.choice(PEOPLE),
        s=chance.choice(SERVICES),
        l=chance.choice(PLACES),
        c=chance.choice(CUSTOMERS),
        d=chance.choice(DAYS),
        n=chance.randint(2, 30),
        m=chance.randint(40, 900),
    )


def _index(app: App, root: Path, code: Code, workspace: str, moment: list) -> None:
    """Code that was indexed three weeks ago, of which some files are gone since."""
    for folder, names in code.modules.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name in names:
            functions = [f"def {verb}_{name}(value):\n    return value * {len(verb)}\n" for verb in VERBS]
            (root / folder / f"{name}.py").write_text(f'"""The {name} of the shop."""\n\n\n' + "\n\n".join(functions))
    moment[0] = now() - timedelta(days=21)
    app.memory(workspace).code.index(root)
    moment[0] = now()
    for folder, names in code.gone.items():
        for name in names:
            (root / folder / f"{name}.py").unlink()
    app.memory(workspace).code.index(root)


def _relate(graph, chance: random.Random, moment: list) -> None:
    """Facts of different ages, so that some have faded further than others."""
    for person in PEOPLE:
        for service in chance.sample(SERVICES, 3):
            moment[0] = now() - timedelta(days=chance.choice([0, 3, 20, 60, 85]))
            verb, weight = chance.choice(["OWNS", "WORKS_ON", "REVIEWS"]), round(chance.uniform(0.3, 1), 2)
            graph.relate(person, verb, service, from_type="Person", to_type="Service", weight=weight)
    for service in SERVICES:
        moment[0] = now() - timedelta(days=chance.choice([0, 10, 40]))
        graph.relate(service, "RUNS_IN", chance.choice(PLACES), from_type="Service", to_type="Region")
        graph.relate(service, "CALLS", chance.choice(SERVICES), from_type="Service", to_type="Service", weight=0.6)
    moment[0] = now()


def _fill(window, chance: random.Random) -> None:
    window.configure(soft_tokens=2400, hard_tokens=6000)
    segments = [{"text": "You are a careful engineer.", "type": "message", "role": "system"}]
    for number in range(40):
        kind = chance.choices(["message", "code", "log", "note"], [8, 4, 3, 2])[0]
        role = {"message": chance.choice(["user", "assistant"]), "code": "tool", "log": "tool"}.get(kind)
        text = " ".join(note(chance) for _ in range({"message": 1, "code": 5, "log": 6, "note": 1}[kind]))
        segments.append({"text": f"{number}: {text}", "type": kind, "role": role})
    window.add(segments)
