"""Pairs and triples of operations, undone in any order: what is left is a workspace in which only the others were done.

A seed makes a workspace with something for every operation, does two or three of them, and undoes those that have a
receipt, in a random order. After each undo the workspace must be what another one is in which only the operations that
stand were done; or an undo has named a conflict. Operations go by names and texts, so that both do the same.
"""

from __future__ import annotations

import atexit
import itertools
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from memsweep.app import App, Memory, called_by
from memsweep.code.sandbox import Sandbox
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.model.origin import Origin
from memsweep.settings import load_settings
from tests.code.indexed_workspace import CountingEmbedder
from tests.secrets.test_ways_in import AWS
from tests.support import store_files
from tests.support.engines import Home
from tests.support.memory_disk import MEMORY_DISK

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOOD = Origin("mcp", "claude-code", "2.1", "ses_good", "add_memory", "agent")
EVIL = Origin("mcp", "cursor", "1.0", "ses_evil", "add_memory", "agent")
LONG = " ".join(f"In talk {n} Dan Quill and Ida Moss spoke of gardens, cellos and rain." for n in range(60))
ALPHA = "def alpha(x):\n    return beta(x) + 1\n"
BETA = "def beta(x):\n    return gamma(x) * 2\n"
GRAPH = json.dumps(
    {
        "entities": [
            {"id": "x1", "name": "Hal Reed", "type": "concept"},
            {"id": "x2", "name": "Una Park", "type": "x"},
        ],
        "relations": [{"source": "x1", "target": "x2", "relation": "KNOWS", "weight": 0.7}],
    }
)

VIEWS = {
    "memories": """
        select memory.text, tags, source, metadata, thread.uid, stale, memory.pinned, expires_at,
               (select count(*) from chunk where chunk.memory = memory.id)
        from live_memory as memory left join thread on thread.id = memory.thread""",
    "entities": "select name, type, pinned, handed_in from live_entity",
    "mentions": """
        select memory.text, chunk.position, entity.name, entity.type from live_mention as mention
        join chunk on chunk.id = mention.chunk join live_memory as memory on memory.id = chunk.memory
        join live_entity as entity on entity.id = mention.entity""",
    "relations": """
        select a.name, relation_key, b.name, round(weight, 6), relation.handed_in, invalid_at is null
        from live_relation as relation join entity as a on a.id = subject join entity as b on b.id = object""",
    "statements": """
        select a.name, relation_key, b.name, memory.text from relation_source
        join live_relation as relation on relation.id = relation_source.relation
        join live_memory as memory on memory.id = relation_source.memory
        join entity as a on a.id = subject join entity as b on b.id = object""",
    "names": "select alias.name, entity.name from alias join live_entity as entity on entity.id = alias.entity",
    "supersessions": """
        select a.text, b.text from supersession join live_memory as a on a.id = supersession.old
        join live_memory as b on b.id = supersession.new""",
    "segments": """
        select project.uid, text, segment.type, pinned, stash is not null, refs from segment
        join project on project.id = segment.project where segment.trash is null""",
    "windows": "select uid, tokens, segments, stashed from project",
    "order": """
        select thread.uid, group_concat(memory.text, ' | ' order by stream_position) from chunk
        join thread on thread.id = chunk.stream join live_memory as memory on memory.id = chunk.memory group by 1""",
    "files": "select path, stale from code_file join live_memory as memory on memory.id = code_file.memory",
}
"""What lives, by names and texts; ids, dates and counts of changes have a history of their own."""

DOCTOR = "findings of the doctor"
State = dict[str, Counter[tuple[Any, ...]]]
Made = str | None
"""The receipt of an operation, if it has one."""


class NotDone(Exception):
    """There is nothing for this operation."""


class NotComparable(Exception):
    """The operation depends on one that is not done here."""


@dataclass
class Taken:
    """What an operation found when it was first done: where it is done once more, it takes nothing beside that."""

    items: frozenset[tuple[Any, ...]] | None = None
    names: tuple[str, ...] | None = None


@dataclass
class World:
    """A workspace of its own, and a folder."""

    memory: Memory
    root: Path
    clock: list[datetime]
    ids: dict[str, str] = field(default_factory=dict)

    def tick(self) -> None:
        """Nothing is made at the same moment as something else, so that things are known by when they were made."""
        self.clock[0] += timedelta(seconds=1)

    def add(self, label: str, text: str, **more: Any) -> None:
        self.tick()
        self.ids[label] = self.memory.remember(text, **more).memory_id

    def own(self, label: str) -> str:
        if label not in self.ids:
            raise NotDone
        return self.ids[label]

    def labelled(self, uid: str) -> str:
        return next((label for label, own in self.ids.items() if own == uid), uid)

    def state(self) -> State:
        with store_files.into(self.memory) as db:
            found = {name: Counter(map(tuple, db.execute(query))) for name, query in VIEWS.items()}
        # That two have one name is for a person to see to; an undo says it.
        findings = (each.invariant for each in self.memory.care.doctor().findings if each.invariant != "name_twice")
        return found | {DOCTOR: Counter((each,) for each in findings)}

    def write(self, path: str, text: str) -> None:
        (self.root / path).write_text(text)


def prepare(w: World) -> None:
    """Something for every operation."""
    with called_by(GOOD):
        people = [{"name": "Dan Quill", "type": "Person"}, {"name": "Hal Reed", "type": "Person"}]
        knows = [{"from": "Dan Quill", "relation": "KNOWS", "to": "Hal Reed"}]
        w.add("dan", "In the evening Dan Quill plays the cello with Hal Reed.", entities=people, relations=knows)
        w.add("hal", "In spring Hal Reed tunes the pianos of Ida Moss.")
        w.add("ida", "We asked them about it.", entities=["Dan Quill"])
        w.add("long", LONG, thread_id="talk")
        w.add("after", "And then the talk with Ida Moss was over.", thread_id="talk")
        w.add("old", "The offer of Zed Park ends in March.", expires_at=BEGIN + timedelta(hours=2))
        w.add("twin a", "Everybody knows that Ida Moss likes tea.", thread_id="a")
        w.add("twin b", "Everybody knows that Ida Moss likes tea.", thread_id="b")
        w.add("first", "The office of Ida Moss is in Turin.")
        w.add("second", "The office of Ida Moss moved to Genoa.", supersedes=[w.ids["first"]])
        w.add("secret", f"The deploy key of Hal Reed is {AWS}.")
        w.tick()
        w.memory.graph.relate("Hal Reed", "OWNS", "Steinway", weight=0.03)
        w.tick()
        w.memory.graph.relate("Dan Quill", "OWNS", "Steinway", weight=0.5)
        w.tick()
        w.memory.graph.relate("Dan Quill", "LIVES_IN", "Turin")
        w.tick()
        w.memory.graph.relate("Ida Moss", "LIVES_IN", "Genoa", source=w.ids["second"])
        w.tick()
        w.memory.graph.relate_many({"entities": [{"name": "Loner", "type": "person"}]})
        segments = [{"segment_id": f"s{n}", "text": f"turn {n} of a talk", "type": "message"} for n in range(6)]
        w.memory.context("talk").add(segments)
    w.write("a.py", ALPHA)
    w.write("b.py", BETA)
    w.write("c.py", "def gamma(x):\n    return x\n")
    w.memory.code.index(w.root)
    (w.root / "c.py").unlink()
    w.memory.code.index(w.root)


# what the services offer

Operation = Callable[[World, Taken], Made]
OPERATIONS: dict[str, Operation] = {}


def _nothing() -> str:
    raise NotDone


def operation(act: Operation) -> Operation:
    OPERATIONS[act.__name__] = act
    return act


@operation
def add(w: World, taken: Taken) -> Made:
    with called_by(EVIL):
        w.add("added", "It was known that Dan Quill sings for Una Park.")
    return None


@operation
def add_in_thread(w: World, taken: Taken) -> Made:
    w.add("threaded", "At last they spoke of Hal Reed.", thread_id="talk")
    return None


@operation
def add_again(w: World, taken: Taken) -> Made:
    with called_by(EVIL):
        w.memory.remember("In spring Hal Reed tunes the pianos of Ida Moss.", tags=["again"], entities=["Dan Quill"])
    return None


@operation
def supersede(w: World, taken: Taken) -> Made:
    w.add("third", "The office of Ida Moss is closed.", supersedes=[w.own("second")])
    return None


def _update(label: str, **change: Any) -> Operation:
    def act(w: World, taken: Taken) -> Made:
        with called_by(EVIL):
            return w.memory.update(w.own(label), **change).receipt_id or _nothing()

    return act


OPERATIONS["update_text"] = _update("dan", text="In the morning Dan Quill plays the viola.")
OPERATIONS["update_to_another_name"] = _update("dan", text="In the morning Ida Moss plays the viola.")
OPERATIONS["update_tags"] = _update("dan", tags=["music"])
OPERATIONS["update_to_short"] = _update("long", text="They spoke of Dan Quill.")
OPERATIONS["update_added"] = _update("added", text="It was known that Hal Reed sings for Una Park.")
OPERATIONS["update_handed_in"] = _update("ida", text="We asked Ida Moss and Hal Reed about it.")


def _delete(label: str) -> Operation:
    return lambda w, taken: w.memory.delete(w.own(label), confirm=True).id


OPERATIONS |= {f"delete_{label}": _delete(label) for label in ("dan", "hal", "long", "second", "added")}


@operation
def relate(w: World, taken: Taken) -> Made:
    with called_by(EVIL):
        w.memory.graph.relate("Dan Quill", "OWNS", "Viola")
    return None


@operation
def relate_again(w: World, taken: Taken) -> Made:
    w.memory.graph.relate("Dan Quill", "OWNS", "Steinway", weight=0.9)
    return None


@operation
def relate_instead(w: World, taken: Taken) -> Made:
    w.memory.graph.relate("Dan Quill", "LIVES_IN", "Rome", replaces=True, source=w.own("dan"))
    return None


@operation
def reinforce(w: World, taken: Taken) -> Made:
    w.memory.graph.reinforce("Dan Quill", "OWNS", "Steinway", kind="correct", amount=0.2)
    return None


@operation
def build_graph(w: World, taken: Taken) -> Made:
    w.memory.graph.build("Dan Quill (Person) -[WORKS_ON]-> Engine (Project)")
    return None


@operation
def import_graph(w: World, taken: Taken) -> Made:
    w.memory.graph.load(GRAPH)
    return None


def _meant(w: World, taken: Taken, *names: str) -> tuple[str, ...]:
    """The things that names stood for when they were first used: after a merge it is another one."""
    if taken.names is None:
        taken.names = tuple(w.memory.graph.related(name).start.name for name in names)
    return taken.names


def _merge(gone: str, into: str) -> Operation:
    def act(w: World, taken: Taken) -> Made:
        gone_now, into_now = _meant(w, taken, gone, into)
        return w.memory.graph.merge([gone_now], into_now).receipt_id

    return act


OPERATIONS["merge"] = _merge("Dan Quill", "Hal Reed")
OPERATIONS["merge_further"] = _merge("Hal Reed", "Ida Moss")
OPERATIONS["merge_back"] = _merge("Ida Moss", "Dan Quill")
OPERATIONS["merge_symbols"] = _merge("beta", "alpha")


def _split(entity: str, label: str) -> Operation:
    def act(w: World, taken: Taken) -> Made:
        (meant,) = _meant(w, taken, entity)
        name, near = f"{entity} II", w.memory.graph.related(meant, limit=100)
        ends = {each.key: each.name for each in near.entities}
        owned = {each.id: ends[each.object] for each in near.walk.edges if each.relation == "OWNS"}
        asked = {"relations": list(owned), "memories": [w.own(label)]}
        if taken.items is None:
            look = w.memory.graph.unmerge(meant, name, dry_run=True, **asked)
            taken.items = frozenset((each,) for each in owned.values()) | {("mentions", look.mentions)}
        if ("mentions", 0) in taken.items:
            asked["memories"] = []
        asked["relations"] = [uid for uid, end in owned.items() if (end,) in taken.items]
        return w.memory.graph.unmerge(meant, name, **asked).receipt_id

    return act


OPERATIONS["split_hal"] = _split("Hal Reed", "hal")
OPERATIONS["split_dan"] = _split("Dan Quill", "dan")


def _pin(label: str, pinned: bool = True) -> Operation:
    def act(w: World, taken: Taken) -> Made:
        w.memory.pin(w.own(label), pinned)

    return act


OPERATIONS["pin_memory"] = _pin("hal")


@operation
def pin_entity(w: World, taken: Taken) -> Made:
    found, _ = w.memory.graph.entities("Dan Quill")
    named = [each for each in found if each.name == "Dan Quill"]
    if not named:
        raise NotDone
    w.memory.pin(named[0].id)
    return None


def _named(w: World, view: Any) -> str:
    if view.kind != "memory":
        return str(view.created_at)
    return Path(view.file_path).name if view.file_path else w.labelled(view.id)


def _as_planned(w: World, plan_id: str, taken: Taken) -> Made:
    """Apply a plan, or what the first one of its kind had of it."""
    views = []
    while plan_id and (page := w.memory.sweep.items(plan_id, offset=len(views), limit=200)):
        views += page
    described = {view.id: (view.kind, _named(w, view), view.relation, view.reason) for view in views}
    if not views:
        raise NotDone
    if taken.items is None:
        taken.items = frozenset(described.values())
    others = [uid for uid, said in described.items() if said not in taken.items]
    return w.memory.sweep.apply(plan_id, confirm=True, allow_large=True, exclude=others).id


def _prune(strategy: str, **more: Any) -> Operation:
    return lambda w, taken: _as_planned(w, w.memory.sweep.plan(strategy, **more).id, taken)


for strategy in (
    "stale_code", "missing_files", "orphaned_chunks", "orphaned_entities", "unreachable_entities", "expired",
    "empty_memories", "duplicates", "decayed", "superseded", "all", "secrets",
):  # fmt: skip
    OPERATIONS[f"prune_{strategy}"] = _prune(strategy)
OPERATIONS["prune_origin"] = _prune("origin", origin={"session": EVIL.session})


@operation
def graph_prune(w: World, taken: Taken) -> Made:
    return _as_planned(w, w.memory.graph.plan_prune(edge_threshold=0.6, max_age_days=0).id, taken)


@operation
def graph_decay(w: World, taken: Taken) -> Made:
    w.memory.graph.decay(dry_run=False)
    return None


@operation
def clear(w: World, taken: Taken) -> Made:
    state = w.state()
    there = frozenset(("memory", *row) for row in state["memories"]) | {("entity", *row) for row in state["entities"]}
    there |= {("segment", *row) for row in state["segments"]} | {("fact", *row[:3]) for row in state["relations"]}
    if taken.items is None:
        taken.items = there
    if taken.items != there:
        raise NotComparable
    return w.memory.sweep.clear(CLEAR_PHRASE).id


@operation
def release(w: World, taken: Taken) -> Made:
    w.memory.release(w.own("hal"))
    return None


@operation
def edit_and_index(w: World, taken: Taken) -> Made:
    w.write("a.py", ALPHA + "\n\ndef delta(x):\n    return alpha(x)\n")
    w.memory.code.index(w.root)
    return None


@operation
def edit_away(w: World, taken: Taken) -> Made:
    w.write("b.py", "def beta(x):\n    return alpha(x) * 3\n")
    w.memory.code.index(w.root)
    return None


@operation
def file_gone(w: World, taken: Taken) -> Made:
    (w.root / "b.py").unlink(missing_ok=True)
    w.memory.code.index(w.root)
    return None


@operation
def context_add(w: World, taken: Taken) -> Made:
    w.memory.context("talk").add([{"segment_id": "s9", "text": "turn 9 of a talk", "type": "message"}])
    return None


def _segments(w: World, taken: Taken, wanted: Collection[str], *, stashed: bool) -> list[str]:
    """Those of them that were there when this was first done."""
    there = {each.segment_id for each in w.memory.context("talk").segments(stashed=stashed)}
    if taken.items is None:
        taken.items = frozenset((own,) for own in wanted if own in there)
    return [own for own in wanted if (own,) in taken.items and own in there] or [_nothing()]


@operation
def context_compress(w: World, taken: Taken) -> Made:
    ids = _segments(w, taken, ("s0", "s1"), stashed=False)
    return w.memory.context("talk").compress(ids, "in short").receipt_id


@operation
def context_stash(w: World, taken: Taken) -> Made:
    return w.memory.context("talk").prune(_segments(w, taken, ("s1", "s2"), stashed=False)).receipt_id


@operation
def context_delete_some(w: World, taken: Taken) -> Made:
    ids = _segments(w, taken, ("s0", "s3"), stashed=True)
    return w.memory.context("talk").prune(ids, strategy="delete", confirm=True).receipt_id


@operation
def context_restore(w: World, taken: Taken) -> Made:
    if not w.memory.context("talk").restore(["s1"]).restored:
        raise NotDone
    return None


@operation
def context_clear(w: World, taken: Taken) -> Made:
    before = {(row[1], row[4]) for row in w.state()["segments"]}
    if taken.items is None:
        taken.items = frozenset(before)
    if taken.items != before:
        raise NotComparable
    return w.memory.context("talk").delete(confirm=True).receipt_id


@operation
def context_pin(w: World, taken: Taken) -> Made:
    if not w.memory.context("talk").pin(["s1"]).pinned:
        raise NotDone
    return None


UNDONE = OPERATIONS.keys() - {
    "add", "add_in_thread", "add_again", "supersede", "relate", "relate_again", "relate_instead", "reinforce",
    "build_graph", "import_graph", "pin_memory", "pin_entity", "graph_decay", "release", "edit_and_index", "edit_away",
    "file_gone", "context_add", "context_restore", "context_pin",
}  # fmt: skip
"""Those that have a receipt."""


# histories


@dataclass
class Done:
    """An operation that was done, and what its receipt is."""

    name: str
    number: int
    receipt: Made
    taken: Taken


class Campaign:
    """One home, in which every world is a workspace."""

    def __init__(self, engine: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="memsweep-pairs-", dir=MEMORY_DISK))
        self.home = Home(engine, self.folder / "home")
        settings = load_settings(self.home.variables | {"MEMSWEEP_SECRETS_ACTION": "off"})
        self.clock = [BEGIN]
        self.app = App(settings, clock=lambda: self.clock[0])
        self.app.embedder = CountingEmbedder()  # type: ignore[misc]
        self.app.sandbox = _sandbox()  # type: ignore[misc]
        self.numbers = itertools.count()
        self.known: dict[tuple[Any, ...], State | None] = {}
        """States in which only some operations were done, which many histories compare with."""

    @cached_property
    def untouched(self) -> State:
        with self.world() as w:
            return w.state()

    def close(self) -> None:
        self.app.close()
        self.home.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextmanager
    def world(self) -> Iterator[World]:
        name = f"w{next(self.numbers)}"
        root = self.folder / name
        root.mkdir()
        self.clock[0] = BEGIN
        made = World(self.app.memory(name), root, self.clock)
        prepare(made)
        try:
            yield made
        finally:
            shutil.rmtree(root, ignore_errors=True)
            self.app.delete_workspace(name, confirm=True)
            self.app.purge_workspaces(0)


@cache
def _sandbox() -> Sandbox:
    made = Sandbox(1)
    atexit.register(made.close)
    return made


_OPEN: dict[str, Campaign] = {}


def _campaign(engine: str) -> Campaign:
    """One home for some histories: a process keeps files of every workspace that it has seen."""
    known = _OPEN.get(engine)
    if known is not None and next(known.numbers) < 300:
        return known
    if known is not None:
        atexit.unregister(known.close)
        known.close()
    made = _OPEN[engine] = Campaign(engine)
    atexit.register(made.close)
    return made


@cache
def _pairs() -> list[tuple[str, str]]:
    names = sorted(OPERATIONS)
    pairs = [(one, other) for one in names for other in names if UNDONE & {one, other}]
    random.Random(0).shuffle(pairs)
    return pairs


def names_of(seed: int) -> list[str]:
    """Every pair of which something can be undone first, then triples."""
    if seed < len(_pairs()):
        return list(_pairs()[seed])
    chance = random.Random(seed)
    names = [chance.choice(sorted(UNDONE)), *chance.choices(sorted(OPERATIONS), k=2)]
    chance.shuffle(names)
    return names


def run(seed: int, engine: str) -> dict[str, Any]:
    """One history; what was wrong with it."""
    return History(_campaign(engine), names_of(seed), random.Random(seed)).run()


class History:
    def __init__(self, campaign: Campaign, names: list[str], chance: random.Random) -> None:
        self.campaign, self.names, self.chance = campaign, names, chance
        self.counts: Counter[str] = Counter(histories=1)
        self.log: list[str] = []
        self.told: list[str] = []
        self.wrong: list[str] = []

    def run(self) -> dict[str, Any]:
        with self.campaign.world() as w:
            done = list(self._do(w, enumerate(self.names)))
            waiting = [each for each in done if each.receipt]
            self.chance.shuffle(waiting)
            standing = {each.number for each in done}
            looked_at: list[tuple[frozenset[int], State, int]] = []
            for number, each in enumerate(waiting):
                self.campaign.clock[0] = BEGIN + timedelta(hours=20 + number)
                if self._undo(w, each):
                    standing -= {each.number}
                looked_at.append((frozenset(standing), w.state(), len(self.told)))
        for kept, state, told in looked_at:
            self._compare([each for each in done if each.number in kept], state, told)
        return {**self.counts, "violations": [f"{said}\n    after {'; '.join(self.log)}" for said in self.wrong]}

    def _do(self, w: World, wanted: Any) -> Iterator[Done]:
        for number, name in wanted:
            self.campaign.clock[0] = BEGIN + timedelta(hours=4 + number)
            taken = Taken()
            try:
                receipt = OPERATIONS[name](w, taken)
            except NotDone:
                self.log.append(f"{name}: nothing to do")
                continue
            except MemsweepError as error:
                self.log.append(f"{name} was refused: {error.message[:70]}")
                continue
            self.counts["operations"] += 1
            self.log.append(name)
            yield Done(name, number, receipt, taken)

    def _undo(self, w: World, done: Done) -> bool:
        try:
            said = w.memory.sweep.undo(str(done.receipt))
        except MemsweepError as error:
            self.counts["refused"] += 1
            self.log.append(f"undo {done.name} was refused: {error.message} {error.hint}")
            return False
        self.counts["undos"] += 1
        self.told += [f"{w.labelled(uid)}: {why}" for uid, why in said.conflicts]
        named = f" ({'; '.join(self.told)})" if said.conflicts else ""
        self.log.append(f"undo {done.name}{named}")
        return True

    def _compare(self, standing: Collection[Done], state: State, told: int) -> None:
        wanted = self._only(standing) if standing else self.campaign.untouched
        if wanted is None:
            self.counts["not_comparable"] += 1
            return
        found = list(differences(state, wanted))
        self.counts["compared"] += 1
        if found and told and not any(said.startswith(DOCTOR) for said in found):
            self.counts["named_conflicts"] += 1
        elif found:
            names = ", ".join(each.name for each in standing) or "nothing"
            self.wrong.append(f"with {names}: {'; '.join(found)}")

    def _only(self, standing: Collection[Done]) -> State | None:
        """A workspace in which nothing else was done; None if that cannot be done without the others."""
        known = tuple((each.name, each.number, each.taken.items, each.taken.names) for each in standing)
        if known not in self.campaign.known:
            self.campaign.known[known] = self._without_others(standing)
        return self.campaign.known[known]

    def _without_others(self, standing: Collection[Done]) -> State | None:
        with self.campaign.world() as w:
            for each in standing:
                self.campaign.clock[0] = BEGIN + timedelta(hours=4 + each.number)
                try:
                    OPERATIONS[each.name](w, each.taken)
                except (NotDone, NotComparable, MemsweepError):
                    return None
            return w.state()


def differences(found: Mapping[str, Counter[Any]], wanted: Mapping[str, Counter[Any]]) -> Iterator[str]:
    for name in (*VIEWS, DOCTOR):
        for sign, rows in (("too many", found[name] - wanted[name]), ("missing", wanted[name] - found[name])):
            if rows:
                yield f"{name} {sign}: {[tuple(_short(part) for part in row) for row in list(rows)[:3]]}"


def _short(part: Any) -> Any:
    return f"{part[:40]}…" if isinstance(part, str) and len(part) > 50 else part
