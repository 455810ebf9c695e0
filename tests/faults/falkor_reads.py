"""Campaign: random histories on both engines, and after every step everything that can be read of both is the same.

A seed is one history: notes, facts, files, windows, collections, undos, purges, in any order and with few words, so
that much of it is alike and was done at the same moment. Every answer, every refusal and every read is compared, in
its order and with its figures.
"""

import atexit
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from memsweep import clock
from memsweep.app import App, Memory, make_app
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.graph.exchange import FORMS
from memsweep.graph.facts import SORTS, Neighbourhood
from memsweep.graph.whole_graph import Queried
from memsweep.model.graph import Edge
from memsweep.model.ids import make_id
from memsweep.model.listing import STATES
from memsweep.model.search import KINDS
from memsweep.model.strategies import QUICK, WITHOUT_QUESTION
from memsweep.model.text import content_hash
from memsweep.settings import load_settings
from tests.faults import doors
from tests.faults.falkor_acts import NOW
from tests.support.engines import Home
from tests.support.memory_disk import MEMORY_DISK

_STEPS = 10
_NAMES = ("Ada", "ada", "Grace Hopper", "Zürich", "ÉCOLE", "build-server", "Ada Lovelace", "B", "b")
_TYPES = (None, "Person", "Concept", "Place")
_VERBS = ("knows", "KNOWS", "RUNS_ON", "calls")
_WORDS = ("harbour", "violin", "comet", "ledger")
_TAGS = ("red", "blue", "Red", "éa")
# Each time with another number: what is there already takes an id of its own on one of the engines.
_CODE = (
    "def alpha_{n}(x):\n    return beta_{n}(x) + 1\n",
    "def gamma_{n}(x):\n    return delta_{n}(x) * 2\n",
    "class Shape{n}(Base{n}):\n    size = 1\n",
)
_TIERS = ("", "agent", "tool", "import")
_NOT_COMPARED = {
    "key",
    "digest",
    "engine",
    "path",
    "bytes",
    "size_bytes",
    "database_bytes",
    "vector_bytes",
    "processing_time_ms",
    "letters",
    "into",
}
Read = Callable[[Memory], Any]


@cache
def folder() -> Path:
    doors.warm_up()
    made = Path(tempfile.mkdtemp(prefix="memsweep-reads-", dir=MEMORY_DISK))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


class History:
    """The same workspace in both engines, and what was done to both."""

    def __init__(self, place: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.seed, self.turn, self.compared, self.files = seed, 0, 0, 0
        self.now = NOW
        self.names = self.chance.sample(_NAMES, 4)  # few, so that they meet
        self.root = place / "root"
        self.root.mkdir()
        self.homes = [Home(engine, place / engine) for engine in ("sqlite", "falkor")]
        self.apps = [self._open(home) for home in self.homes]
        self.done: list[str] = []
        self.wrong: list[str] = []
        self.ids: dict[str, list[str]] = {prefix: [] for prefix in ("mem", "ent", "rel", "rcpt", "plan")}

    def _open(self, home: Home) -> App:
        app = make_app(load_settings({**home.variables, "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))
        app.clock = lambda: self.now
        app.create_workspace("default")
        return app

    def close(self) -> None:
        for app, home in zip(self.apps, self.homes, strict=True):
            app.close()
            home.close()

    def both(self, what: str, call: Read) -> Any:
        """The answer or the refusal of SQLite, if that of FalkorDB is the same."""
        self.turn += 1
        said = [self._ask(app, call) for app in self.apps]
        mine, theirs = map(plainly, said)
        self.compared += 1
        if mine != theirs:
            self.wrong.append(f"after {self.done}: {what}: {difference(mine, theirs)}")
        return said[0]

    def _ask(self, app: App, call: Read) -> Any:
        clock.make_id = equal_ids(f"{self.seed} {self.turn}")  # type: ignore[attr-defined]
        try:
            return call(app.memory("default"))
        except MemsweepError as error:
            return type(error).__name__, error.message
        finally:
            clock.make_id = make_id  # type: ignore[attr-defined]

    def pick(self, kind: str) -> str:
        return self.chance.choice(self.ids[kind][-12:] or [f"{kind}_000000000000"])

    def note(self, said: Any) -> None:
        """Ids in an answer, for later steps."""
        for text in texts_in(plainly(said)):
            known = self.ids.get(text.partition("_")[0])
            if known is not None and len(text) < 20 and text not in known:
                known.append(text)


def equal_ids(call: str) -> Callable[[str, bytes], str]:
    """Ids that are the same on both sides of a call, however entities and relations take turns in it."""
    made: Counter[str] = Counter()

    def next_id(prefix: str, _: bytes) -> str:
        made[prefix] += 1
        return make_id(prefix, content_hash(f"{call} {prefix} {made[prefix]}")[:8])

    return next_id


def run(seed: int, steps: int = _STEPS) -> dict[str, Any]:
    place = Path(tempfile.mkdtemp(dir=folder()))
    history = History(place, seed)
    try:
        for act in history.chance.choices(ACTS, k=steps):
            history.done.append(act.__name__)
            history.now += timedelta(hours=history.chance.choice((0, 0, 0, 1, 30)))
            act(history)
            for name, read in reads(history):
                history.both(name, read)
            if history.wrong:
                break
        history.both("doctor", lambda memory: memory.care.doctor().findings)
        return {"histories": 1, "operations": len(history.done), "reads": history.compared, "violations": history.wrong}
    finally:
        history.close()
        shutil.rmtree(place, ignore_errors=True)


# what is done


def add(h: History) -> None:
    for _ in range(h.chance.choice((1, 3))):
        _add(h)


def _add(h: History) -> None:
    chance = h.chance
    text = f"{chance.choice(_WORDS)} {chance.choice(h.names)} {chance.choice(_WORDS)} {chance.randrange(3)}."
    options: dict[str, Any] = {
        "thread_id": chance.choice((None, "talk", "Talk")),
        "tags": chance.sample(_TAGS, chance.randrange(3)),
        "entities": chance.choice((None, [_entity(h) for _ in range(chance.randrange(3))])),
        "relations": chance.choice((None, None, [_typed(h) for _ in range(2)])),
        "expires_at": chance.choice((None, None, "2020-01-01T00:00:00Z", "2026-11-02T00:00:00Z")),
        "pinned": chance.random() < 0.1,
        "source": chance.choice(("", "cli", "notes.md")),
        "tier": chance.choice(_TIERS),
        "supersedes": [h.pick("mem")] if h.ids["mem"] and chance.random() < 0.2 else None,
        "find_similar": chance.random() < 0.5,
        "metadata": chance.choice((None, {"b": 1, "a": [1.5, None]})),
    }
    h.note(h.both(f"remember {text!r} {options}", lambda memory: memory.remember(text, **options)))


def add_long(h: History) -> None:
    text = " ".join(f"{h.chance.choice(_WORDS)} {number}." for number in range(400))
    h.note(h.both("remember a long text", lambda memory: memory.remember(text, thread_id="talk")))


def _entity(h: History) -> str | dict[str, Any]:
    name, kind = h.chance.choice(h.names), h.chance.choice(_TYPES)
    return name if kind is None else {"name": name, "type": kind}


def _relation(h: History) -> dict[str, Any]:
    chance = h.chance
    ends = {"from": chance.choice(h.names), "to": chance.choice(h.names), "relation": chance.choice(_VERBS)}
    return {**ends, "weight": chance.choice((1.0, 0.3, 0.1 + 0.2))}


def _typed(h: History) -> dict[str, Any]:
    types = {end: kind for end in ("from_type", "to_type") if (kind := h.chance.choice(_TYPES)) is not None}
    return {**_relation(h), **types}


def relate(h: History) -> None:
    chance = h.chance
    for _ in range(chance.choice((1, 3))):
        ends = chance.choice(h.names), chance.choice(_VERBS), chance.choice(h.names)
        options: dict[str, Any] = {
            "weight": chance.choice((1.0, 0.3, 0.07)),
            "from_type": chance.choice(_TYPES),
            "to_type": chance.choice(_TYPES),
            "replaces": chance.random() < 0.2,
            "valid_at": chance.choice((None, None, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")),
            "source": h.pick("mem") if h.ids["mem"] and chance.random() < 0.3 else "",
            "tier": chance.choice(_TIERS),
        }
        h.note(h.both(f"relate {ends} {options}", partial(_related, ends, options)))


def _related(ends: tuple[str, str, str], options: dict[str, Any], memory: Memory) -> Any:
    return memory.graph.relate(*ends, **options)


def relate_many(h: History) -> None:
    batch = {"entities": [{"name": name, "type": h.chance.choice(_TYPES[1:])} for name in h.chance.sample(h.names, 2)]}
    whole = {**batch, "relations": [_relation(h) for _ in range(3)]}
    h.note(h.both(f"relate many {whole}", lambda memory: memory.graph.relate_many(whole)))


def reinforce(h: History) -> None:
    ends = h.chance.choice(h.names), h.chance.choice(_VERBS), h.chance.choice(h.names)
    kind: Any = h.chance.choice(("confirm", "correct"))
    h.both(f"reinforce {ends} {kind}", lambda memory: memory.graph.reinforce(*ends, kind=kind))


def build(h: History) -> None:
    one, other = h.chance.sample(h.names, 2)
    text = f"{one} (Person) -[{h.chance.choice(_VERBS)}]-> {other}. {other} knows {one}."
    h.note(h.both(f"build {text!r}", lambda memory: memory.graph.build(text)))


def load(h: History) -> None:
    """What another workspace told, or this one at another time."""
    form = h.chance.choice(list(FORMS))
    text = (
        h.apps[0]
        .memory("default")
        .graph.dump(form)
        .replace("Ada", "Grace Hopper" if h.chance.random() < 0.3 else "Lin")
    )
    h.note(h.both(f"load {form}", lambda memory: memory.graph.load(text)))


def merge(h: History) -> None:
    ids, into = h.chance.sample([*h.ids["ent"], *h.names], h.chance.choice((1, 2))), h.chance.choice(h.names)
    h.note(h.both(f"merge {ids} into {into}", lambda memory: memory.graph.merge(ids, into)))


def plan_merge(h: History) -> None:
    ids, into = h.chance.sample(h.names, 2), h.chance.choice(h.names)
    h.note(h.both(f"plan to merge {ids} into {into}", lambda memory: memory.graph.plan_merge(ids, into)))


def unmerge(h: History) -> None:
    entity, name = h.chance.choice([*h.ids["ent"], *h.names]), h.chance.choice((*h.names, "Part"))
    options: dict[str, Any] = {
        "relations": [h.pick("rel")] if h.chance.random() < 0.5 else (),
        "memories": [h.pick("mem")] if h.chance.random() < 0.5 else (),
        "entity_type": h.chance.choice(_TYPES),
    }
    h.note(h.both(f"unmerge {entity} {name} {options}", lambda memory: memory.graph.unmerge(entity, name, **options)))


def decay(h: History) -> None:
    h.both("decay", lambda memory: memory.graph.decay(dry_run=False))


def prune_graph(h: History) -> None:
    options: dict[str, Any] = {
        "node_threshold": 0.9,
        "edge_threshold": h.chance.choice((0.2, 0.9)),
        "max_age_days": 0.0,
    }
    h.note(h.both("prune the graph", lambda memory: memory.graph.prune(**options, confirm=True, allow_large=True)))


def update(h: History) -> None:
    memory_id, chance = h.pick("mem"), h.chance
    options: dict[str, Any] = {
        "text": chance.choice((None, f"{chance.choice(h.names)} has a {chance.choice(_WORDS)} {chance.randrange(3)}.")),
        "tags": chance.choice((None, [], ["blue", "new"])),
    }
    h.note(h.both(f"update {memory_id} {options}", lambda memory: memory.update(memory_id, **options)))


def delete(h: History) -> None:
    memory_id, forever = h.pick("mem"), h.chance.random() < 0.3
    h.note(
        h.both(
            f"delete {memory_id} {'forever' * forever}",
            lambda memory: memory.delete(memory_id, confirm=True, forever=forever),
        )
    )


def pin(h: History) -> None:
    item, pinned = h.pick(h.chance.choice(("mem", "ent"))), h.chance.random() < 0.7
    h.both(f"pin {item} {pinned}", lambda memory: memory.pin(item, pinned))


def release(h: History) -> None:
    memory_id, relation_id = h.pick("mem"), h.pick("rel")
    h.both(f"release {memory_id}", lambda memory: memory.release(memory_id))
    h.both(f"release {relation_id}", lambda memory: memory.graph.release(relation_id))


def prune(h: History) -> None:
    strategy, ttl = h.chance.choice(WITHOUT_QUESTION), h.chance.choice((None, 0.0, 1.0))
    h.note(
        h.both(
            f"prune {strategy} {ttl}",
            lambda memory: memory.sweep.prune(strategy, confirm=True, allow_large=True, ttl_days=ttl),
        )
    )


def apply(h: History) -> None:
    plan_id = h.pick("plan")
    spared = [h.pick("mem")] if h.chance.random() < 0.3 else []
    h.note(
        h.both(
            f"apply {plan_id} without {spared}",
            lambda memory: memory.sweep.apply(plan_id, confirm=True, allow_large=True, exclude=spared),
        )
    )


def undo(h: History) -> None:
    receipt = h.pick("rcpt")
    h.note(h.both(f"undo {receipt}", lambda memory: memory.sweep.undo(receipt)))


def recover(h: History) -> None:
    item = h.pick(h.chance.choice(("mem", "ent", "rel")))
    h.note(h.both(f"recover {item}", lambda memory: memory.sweep.recover(item)))


def clear(h: History) -> None:
    h.note(h.both("clear", lambda memory: memory.sweep.clear(CLEAR_PHRASE)))


def purge(h: History) -> None:
    days = h.chance.choice((0, 0, 1))
    h.both(f"purge {days}", lambda memory: memory.sweep.purge(days, confirm=True))


def remove_tombstone(h: History) -> None:
    memory_id = h.pick("mem")
    h.both(f"remove tombstone {memory_id}", lambda memory: memory.sweep.remove_tombstone(memory_id))


def index(h: History) -> None:
    """Files come and go."""
    there = sorted(h.root.glob("*.py"))
    if there and h.chance.random() < 0.4:
        h.chance.choice(there).unlink()
    for _ in range(2):
        h.files += 1
        text = "\n".join(h.chance.sample(_CODE, 2)).format(n=h.files)
        (h.root / f"m{h.files}.py").write_text(text)
    h.note(h.both("index", lambda memory: memory.code.index(h.root)))


def window(h: History) -> None:
    chance = h.chance
    new = [
        {
            "segment_id": f"s{chance.randrange(12)}",
            "text": f"{chance.choice(h.names)} {chance.choice(_WORDS)} {chance.choice(_WORDS)}",
            "type": chance.choice(("message", "code", "log", "note", "decision")),
            "tokens": chance.choice((0, 5, 5, 40)),
            "references": chance.choice(([], ["s1"])),
        }
        for _ in range(chance.choice((1, 4)))
    ]
    ids = [f"s{number}" for number in chance.sample(range(12), 3)]
    budget = chance.choice((0, 20, 60))
    act = chance.choice(
        (
            lambda memory: memory.context("talk").add(new),
            lambda memory: memory.context("talk").add(new),
            lambda memory: memory.context("talk").prune(ids, strategy="stash"),
            lambda memory: memory.context("talk").prune(ids, strategy="delete", confirm=True),
            lambda memory: memory.context("talk").restore(ids),
            lambda memory: memory.context("talk").restore(query="comet violin", budget=budget),
            lambda memory: memory.context("talk").compress(ids, "in short"),
            lambda memory: memory.context("talk").pin(ids[:1]),
            lambda memory: memory.context("talk").configure(soft_tokens=60, hard_tokens=140, last_n=2),
            lambda memory: memory.context("talk").analyze(budget=budget),
            lambda memory: memory.context("talk").delete(confirm=True),
        )
    )
    h.note(h.both(f"window {[each['segment_id'] for each in new]} {ids}", act))


ACTS: tuple[Callable[[History], None], ...] = (
    *(add, add, add, add, relate, relate, relate_many, window, window, update, build, load, index),
    *(add_long, reinforce, merge, plan_merge, unmerge, decay, prune_graph, delete, pin, release, prune, prune, apply),
    *(undo, undo, undo, recover, clear, purge, remove_tombstone),
)  # fmt: skip


# what is read


def reads(h: History) -> Iterator[tuple[str, Read]]:
    chance = h.chance
    yield from _searches(h)
    yield from _lists(chance)
    yield from _graph(h)
    yield from _collector(h)
    yield from _windows(h)
    for number in chance.sample(h.ids["mem"], min(5, len(h.ids["mem"]))):
        yield f"get {number}", partial(lambda number, memory: memory.get(number), number)
        yield f"history {number}", partial(lambda number, memory: memory.history(number), number)
        yield f"explain {number}", partial(lambda number, memory: memory.sweep.explain(number), number)
    for number in chance.sample(h.ids["ent"], min(3, len(h.ids["ent"]))):
        yield f"explain {number}", partial(lambda number, memory: memory.sweep.explain(number), number)


def _searches(h: History) -> Iterator[tuple[str, Read]]:
    chance = h.chance
    queries = {
        chance.choice(_WORDS),
        f"{chance.choice(h.names)} {chance.choice(_WORDS)}",
        f"who {chance.choice(_VERBS)} {chance.choice(h.names)}",
        chance.choice(("", "alpha", "beta size", "what is the capital of France")),
    }
    filters = chance.choice(
        (
            {"tags": ["red"]},
            {"source": "cli"},
            {"kind": chance.choice(KINDS)},
            {"include_stale": True},
            {"as_of": "2026-11-01T12:00:00Z"},
            {"tier": "person"},
            {"include_tests": False},
        )
    )
    for query in sorted(queries):
        for mode in ("precise", "deep"):
            for limit, chosen in ((chance.choice((2, 50)), None), (50, filters)):
                name = f"search {query!r} {mode} {limit} {chosen}"
                yield name, partial(_search, query, {"mode": mode, "filters": chosen, "limit": limit})


def _search(query: str, options: dict[str, Any], memory: Memory) -> Any:
    return _pages(lambda cursor: memory.search(query, cursor=cursor, **options), "hits")


def _pages(page: Callable[[str | None], Any], name: str) -> list[Any]:
    """Up to three pages."""
    found = [page(None)]
    while len(found) < 3 and getattr(found[-1], name) and (cursor := _cursor(found[-1])):
        found.append(page(cursor))
    return found


def _cursor(page: Any) -> str | None:
    return getattr(page, "cursor", None) or getattr(page, "next_cursor", None)


def _lists(chance: random.Random) -> Iterator[tuple[str, Read]]:
    for state in (None, *STATES):
        yield f"memories {state}", partial(_listed, {"state": state, "limit": chance.choice((2, 50))})
    yield "memories with a tag", partial(_listed, {"filters": {"tags": [chance.choice(_TAGS)]}})
    yield "stats", lambda memory: memory.stats()
    yield "counts", lambda memory: memory.counts()
    yield "briefing", lambda memory: memory.briefing(limit=chance.choice((2, 5)) and 3)
    yield "model", lambda memory: memory.care.model()
    yield "roots", lambda memory: memory.code.roots()
    yield "overview", lambda memory: memory.code.overview()


def _listed(options: dict[str, Any], memory: Memory) -> Any:
    return _pages(lambda cursor: memory.memories(cursor=cursor, **options), "memories")


def _graph(h: History) -> Iterator[tuple[str, Read]]:
    chance, limit = h.chance, h.chance.choice((2, 20))
    for sort_by in SORTS:
        options = {"sort_by": sort_by, "limit": limit}
        yield f"entities {options}", partial(lambda options, memory: memory.graph.entities(**options), options)
    search = chance.choice(("a", "ADA", "é", "b"))
    yield f"entities {search}", lambda memory: memory.graph.entities(search, limit=limit)
    for prefix in (False, True):
        options = {"prefix": prefix, "limit": limit}
        yield f"names {options}", partial(_names, chance.choice(("", search)), options)
    for name in chance.sample(h.names, 3):
        yield (
            f"related {name}",
            partial(lambda name, memory: _walked(memory.graph.related(name, depth=2, limit=limit)), name),
        )
        for more in ({}, {"include_ended": True}, {"as_of": "2026-11-02"}, {"min_weight": 0.2}):
            options = {"limit": limit, **more}
            yield (
                f"query {name} {options}",
                partial(lambda name, options, memory: _walked(memory.graph.query(name, **options)), name, options),
            )
    yield "query of all", lambda memory: _walked(memory.graph.query(list(h.names[:3]), limit=limit))
    yield "status", lambda memory: memory.graph.status()
    yield "validate", lambda memory: memory.graph.validate()
    yield "communities", lambda memory: memory.graph.communities()
    yield f"graph briefing {limit}", lambda memory: memory.graph.briefing(limit=limit)
    yield "decay", lambda memory: memory.graph.decay()
    for form in chance.sample(list(FORMS), 2):
        yield f"dump {form}", partial(lambda form, memory: memory.graph.dump(form), form)


def _walked(found: Neighbourhood | Queried) -> Any:
    """With the ids of entities in place of the numbers that each engine gave them."""
    starts = (found.start,) if isinstance(found, Neighbourhood) else found.starts
    ids = {each.key: each.id for each in (*starts, *found.entities)}
    edges = [edge._replace(subject=ids[edge.subject], object=ids[edge.object]) for edge in found.walk.edges]  # type: ignore[arg-type]
    told = plainly(found)
    del told["walk"]
    return told, [(ids[key], steps) for key, steps in found.walk.distance.items()], edges


def _names(search: str, options: dict[str, Any], memory: Memory) -> Any:
    return _pages(lambda cursor: memory.graph.names(search, cursor=cursor, **options), "entities")


def _collector(h: History) -> Iterator[tuple[str, Read]]:
    chance = h.chance
    yield "preview", lambda memory: memory.sweep.preview(*QUICK, limit=3)
    for strategy in chance.sample(WITHOUT_QUESTION, 3):
        yield f"plan {strategy}", partial(_planned, h, strategy, chance.choice((None, 0.0)))
    chosen = [h.pick("mem"), h.pick("mem")]
    yield f"plan of {chosen}", lambda memory: memory.sweep.plan_chosen(chosen)
    yield "check of a deletion", lambda memory: memory.sweep.check_deletion(chosen)
    plan_id = h.pick("plan")
    yield f"items of {plan_id}", lambda memory: memory.sweep.items(plan_id, limit=50)
    yield f"groups of {plan_id}", lambda memory: memory.sweep.groups(plan_id)
    for kind in ("receipts", "trash_by_receipt"):
        yield kind, partial(_receipts, kind, chance.choice((2, 20)))
    receipt = h.pick("rcpt")
    yield f"receipt {receipt}", lambda memory: memory.sweep.receipt(receipt)
    yield f"trash of {receipt}", lambda memory: memory.sweep.trash(receipt_id=receipt)
    offset = chance.randrange(3)
    yield "trash", lambda memory: memory.sweep.trash(offset=offset, limit=chance and 50)
    yield "audit", lambda memory: memory.sweep.audit(limit=50)
    yield "tombstones", lambda memory: memory.sweep.tombstones()


def _planned(h: History, strategy: str, ttl: float | None, memory: Memory) -> Any:
    plan = memory.sweep.plan(strategy, ttl_days=ttl)
    if plan.id not in h.ids["plan"]:
        h.ids["plan"].append(plan.id)
    # Its items are known by numbers that each engine gives; the next answer has them by their ids.
    return replace(plan, items=()), memory.sweep.items(plan.id, limit=50), memory.sweep.groups(plan.id)


def _receipts(kind: str, limit: int, memory: Memory) -> Any:
    return _pages(lambda cursor: getattr(memory.sweep, kind)(limit=limit, cursor=cursor), "receipts")


def _windows(h: History) -> Iterator[tuple[str, Read]]:
    chance = h.chance
    budget = chance.choice((0, 10, 60))
    yield "contexts", lambda memory: memory.contexts()
    yield "segments", lambda memory: memory.context("talk").segments(stashed=True)
    yield "stash", lambda memory: memory.context("talk").stash(limit=2)
    yield "strip", lambda memory: memory.context("talk").strip(budget=budget)
    yield "state", lambda memory: memory.context("talk").state()
    yield "working set", lambda memory: memory.context("talk").working_set(budget)
    yield "analyze", lambda memory: memory.context("talk").analyze(budget=budget, dry_run=True)
    query = f"{chance.choice(h.names)} {chance.choice(_WORDS)}"
    yield "search of the stash", lambda memory: memory.context("talk").search(query)


# what is compared


def plainly(value: Any) -> Any:
    """A value as data, without what each engine gives numbers of its own, floats to nine digits."""
    match value:
        case float():
            return float(f"{value:.9g}")
        case str() | int() | None | bytes() | datetime():
            return value
        case Enum():
            return value.name
        case Edge() if isinstance(value.subject, int):
            return plainly(value._asdict() | {"subject": None, "object": None})
        case dict() if any(isinstance(name, int) for name in value):
            return [plainly(each) for each in value.values()]  # by numbers that each engine gave
        case dict():
            kept = {name: each for name, each in value.items() if name not in _NOT_COMPARED}
            return {name: bool(each) if name == "next_cursor" else plainly(each) for name, each in kept.items()}
        case set() | frozenset():
            return sorted(map(plainly, value), key=repr)
    names: Sequence[str] = getattr(value, "_fields", ()) or getattr(value, "__match_args__", ())
    if names:
        return plainly({name: getattr(value, name) for name in names})
    if isinstance(value, Sequence):
        return [plainly(each) for each in value]
    return repr(value)


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from texts_in(each)
        case list():
            for each in value:
                yield from texts_in(each)


def difference(mine: Any, theirs: Any, where: str = "") -> str:
    """The first place where they differ."""
    match mine, theirs:
        case dict(), dict() if mine.keys() == theirs.keys():
            pairs = ((f"{where}.{name}", mine[name], theirs[name]) for name in mine)
        case list(), list() if len(mine) == len(theirs):
            pairs = ((f"{where}[{n}]", one, other) for n, (one, other) in enumerate(zip(mine, theirs, strict=True)))
        case str(), str():
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(mine, theirs, strict=False)))
            at = max(0, same - 40)
            return f"{where} is …{mine[at : at + 160]!r} on sqlite\n    and …{theirs[at : at + 160]!r} on falkor"
        case _:
            return f"{where} is {mine!r:.600} on sqlite\n    and {theirs!r:.600} on falkor"
    return next(difference(one, other, name) for name, one, other in pairs if one != other)
