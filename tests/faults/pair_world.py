"""A workspace with something for every operation, and what lives in it, by names and texts."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memsweep.app import App, Memory, called_by
from memsweep.model.origin import Origin
from tests.secrets.test_ways_in import AWS
from tests.support import store_files

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
               (select count(*) from chunk where chunk.memory = memory.id), released_at is not null, session
        from live_memory as memory left join thread on thread.id = memory.thread
        left join origin on origin.id = memory.origin""",
    "entities": "select name, type, pinned, handed_in from live_entity",
    "tombstones": "select reason, hash from tombstone",
    "mentions": """
        select memory.text, chunk.position, entity.name, entity.type from live_mention as mention
        join chunk on chunk.id = mention.chunk join live_memory as memory on memory.id = chunk.memory
        join live_entity as entity on entity.id = mention.entity""",
    "relations": """
        select a.name, relation_key, b.name, round(weight, 6), relation.handed_in, invalid_at is null,
               released_at is not null
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

_NUMBER = re.compile(r"(?<=\]) \d+$")
DOCTOR = "findings of the doctor"
State = dict[str, Counter[tuple[Any, ...]]]
Made = str | None
"""The receipt of an operation, if it has one."""


class NotDone(Exception):
    """There is nothing for this operation."""


class NotComparable(Exception):
    """The operation depends on one that is not done here."""


def _unnumbered(row: Iterable[Any]) -> tuple[Any, ...]:
    """Without the number that a redacted name gets while another one, or itself, is in the trash."""
    return tuple(_NUMBER.sub("", part) if isinstance(part, str) else part for part in row)


@dataclass
class Taken:
    """What an operation found when it was first done: where it is done once more, it takes nothing beside that."""

    items: frozenset[tuple[Any, ...]] | None = None
    names: tuple[str, ...] | None = None


_ID = re.compile(r"\b(?:mem|ent|rel|seg)_[0-9a-z]{12}\b")
_CALLED = {
    "mem": """
        select id as item, text from memory union select item, before ->> 'text' from revision where kind = 'memory'
        union select memory.id, path from code_file join memory on memory.id = code_file.memory""",
    "ent": "select id as item, name from entity union select entity, name from alias",
    "rel": "select relation.id as item, json_array(a.name, relation_key, b.name) from relation "
    "join entity as a on a.id = subject join entity as b on b.id = object",
}
"""By the letters that ids begin with: how the things are called in `VIEWS`."""
_TABLE = {"mem": "memory", "ent": "entity", "rel": "relation"}


@dataclass
class Named:
    """Things that answers have named as standing in the way, by what they are called in `VIEWS`."""

    texts: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    facts: set[tuple[str, ...]] = field(default_factory=set)
    segments: set[str] = field(default_factory=set)

    def with_what_hangs_on_it(self, *states: State) -> "Named":
        """With all that a memory mentions and states, which comes and goes with it."""
        mentions = {row for state in states for row in state["mentions"]}
        statements = {row for state in states for row in state["statements"]}
        names = self.names | {row[2] for row in mentions if row[0] in self.texts}
        facts = self.facts | {row[:3] for row in statements if row[3] in self.texts}
        return Named(self.texts, names, facts, self.segments)

    def explains(self, view: str, row: tuple[Any, ...]) -> bool:
        """Return whether a row of a view is about something that was named."""
        match view:
            case "entities":
                return row[0] in self.names
            case "relations" | "statements":
                return row[:3] in self.facts or bool({row[0], row[2]} & self.names)
            case "mentions":
                return row[0] in self.texts or row[2] in self.names
            case "names":
                return bool({*row} & self.names)
            case "segments":
                return row[1] in self.segments
            case "windows":
                return bool(self.segments)
            case "order":
                return any(text in (row[1] or "") for text in self.texts)
        return bool({*row} & self.texts)


@dataclass
class World:
    """A workspace of its own, and a folder."""

    app: App
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

    def named(self, conflicts: Iterable[tuple[str, str]], named: Named) -> None:
        """Add what conflicts name, in the place of what comes back or in its reason."""
        ids = {uid for said in conflicts for uid in (said[0], *_ID.findall(said[1]))}
        with store_files.into(self.memory) as db:
            for uid in ids:
                kind = uid.partition("_")[0]
                if kind not in _CALLED or "_" not in uid:
                    named.segments |= {text for (text,) in db.execute("select text from segment where uid = ?", (uid,))}
                    continue
                query = f"""select called.* from ({_CALLED[kind]}) as called join {_TABLE[kind]} as thing
                    on thing.id = called.item where thing.uid = ?"""
                said = {row[1] for row in db.execute(query, (uid,)) if row[1]}
                match kind:
                    case "mem":
                        named.texts |= {_unnumbered([text])[0] for text in said}
                    case "ent":
                        named.names |= {_unnumbered([name])[0] for name in said}
                    case "rel":
                        named.facts |= {_unnumbered(json.loads(fact)) for fact in said}

    def state(self) -> State:
        with store_files.into(self.memory) as db:
            found = {name: Counter(_unnumbered(row) for row in db.execute(query)) for name, query in VIEWS.items()}
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
        w.add("lone", "Ova Lind sent a letter.", entities=["Ova Lind"])
        w.add("kept", "Una Park keeps the keys.", pinned=True)
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
