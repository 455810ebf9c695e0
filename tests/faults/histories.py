"""Campaign: random histories in one process, each call and each row compared with a model.

A seed is one history: some writes and collections in any order; then a stretch of nothing but collections, whose
receipts are undone in any order, after which every row must be what it was; then perhaps a purge; then the doctor,
and the same again for a process that opens the files anew.
"""

import atexit
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from memsweep import clock
from memsweep.app import App, make_app
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.errors import MemsweepError
from memsweep.settings import load_settings
from tests.collector.stores import broken
from tests.faults import doors
from tests.faults.model import Kept, Model, Refused, Saved
from tests.support import store_files
from tests.support.memory_disk import MEMORY_DISK

PAST = "2020-01-01T00:00:00Z"
PEOPLE = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Maria Mitchell", "Kurt Gödel")
VERBS = ("knows", "wrote to", "works on")
WORDS = ("harbour", "violin", "comet", "ledger", "glacier", "orchard", "lantern", "compass")
_WINDOWED = {"project", "segment", "segment_link"}  # the model looks after these
TABLES = (
    *("meta", "thread", "memory", "memory_tag", "chunk", "vector", "entity", "relation", "mention", "relation_source"),
    *(
        "supersession",
        "alias",
        "merge_move",
        "code_root",
        "code_file",
        "name_seen",
        "project",
        "segment",
        "segment_link",
    ),
)
_MEMORIES = """
    select memory.uid, text, thread.uid, tags, pinned, receipt.uid from memory
    left join thread on thread.id = thread left join receipt on receipt.id = trash"""
_RECEIPTS = "select uid, undone_at is not null, purged_at is not null from receipt"
_SEGMENTS = """
    select segment.uid, pinned, s.uid, t.uid from segment
    left join receipt s on s.id = stash left join receipt t on t.id = trash"""


class Wrong(Exception):
    """Something does not agree with the model."""


@cache
def template() -> Path:
    """A home with an empty workspace, to be copied."""
    doors.warm_up()
    folder = Path(tempfile.mkdtemp(prefix="memsweep-histories-", dir=MEMORY_DISK))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    app = _open(folder / "template")
    app.create_workspace("default")
    app.close()
    return folder / "template"


def _open(home: Path) -> App:
    return make_app(load_settings({"MEMSWEEP_HOME": str(home), "MEMSWEEP_CONTEXT_ENCODING": "length/4"}))


class History:
    """One workspace, its model, and what was done so far."""

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.chance = home, random.Random(seed)
        # The same ids for the same seed: this is where the next ones are taken from.
        clock._entropy.pid, clock._entropy.left = os.getpid(), self.chance.randbytes(8 * 10_000)
        self.app = _open(home)
        self.memory = self.app.memory()
        self.window = self.memory.context("talk")
        self.model = Model()
        self.done: list[str] = []
        self.merges = False
        self.merged: set[str] = set()
        """Receipts of merges."""
        self.own_receipts: list[str] | None = None
        """Receipts of the stretch that is undone as a whole; None outside of it."""
        self._db = store_files.open_file(store_files.file_of(home))

    @property
    def rows(self) -> apsw.Connection:
        """A connection beside that of the app."""
        return self._db.__enter__()

    def close(self) -> None:
        self._db.__exit__()
        self.app.close()

    def reopen(self) -> None:
        self.close()
        self.app = _open(self.home)
        self.memory = self.app.memory()
        self.window = self.memory.context("talk")
        self._db = store_files.open_file(store_files.file_of(self.home))

    # helpers

    def pick(self, choices: Sequence[str], missing: str = "mem_000000000000") -> str:
        """One of them, or now and then something that is not there."""
        return missing if not choices or self.chance.random() < 0.05 else self.chance.choice(choices)

    def expect(self, said: object, wanted: object, what: str) -> None:
        if said != wanted:
            raise Wrong(f"{what}: it said {said!r:.300}, but the model {wanted!r:.300}")

    def ask(self, call: Callable[[], Any]) -> Any:
        """The answer, or the class of the error that it was refused with."""
        try:
            return call()
        except MemsweepError as error:
            return type(error).__name__

    def agree(self) -> None:
        """Every row of memories, receipts, segments and tombstones is as the model has it."""
        db = self.rows
        notes = {
            uid: (text, thread, json.loads(tags), bool(pinned), receipt)
            for uid, text, thread, tags, pinned, receipt in db.execute(_MEMORIES)
        }
        wanted = {uid: (n.text, n.thread, n.tags, n.pinned, n.receipt) for uid, n in self.model.notes.items()}
        self.expect(_other(notes, wanted), _other(wanted, notes), "memories")
        receipts = {uid: (bool(undone), bool(purged)) for uid, undone, purged in db.execute(_RECEIPTS)}
        known = {uid: (kept.undone, kept.purged) for uid, kept in self.model.receipts.items()}
        self.expect({uid: receipts.get(uid) for uid in known}, known, "receipts")
        segments = Counter((uid, bool(pinned), stash, trash) for uid, pinned, stash, trash in db.execute(_SEGMENTS))
        self.expect(segments, Counter((uid, p.pinned, p.stash, p.trash) for uid, p in self.model.pieces), "segments")
        tombstones = {memory for (memory,) in db.execute("select memory from tombstone")}
        self.expect(tombstones, set(self.model.tombstones.values()), "tombstones")
        self.expect(self.memory.stats().total_memories, len(self.model.live()), "stats")


def _other(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mine.items() if theirs.get(key) != value}


# what can be done: writes


def add(h: History) -> None:
    chance, model = h.chance, h.model
    text = f"{chance.choice(WORDS)} {chance.randrange(3)}: {chance.choice(PEOPLE)} met {chance.choice(PEOPLE)}."
    thread = chance.choice((None, None, "talk"))
    tags, expired = chance.sample(("red", "blue", "green"), chance.randrange(3)), chance.random() < 0.4
    named = chance.choice((None, [], chance.sample(PEOPLE, 2)))
    facts = [{"from": PEOPLE[0], "relation": chance.choice(VERBS), "to": chance.choice(PEOPLE[1:])}]
    said = h.ask(
        lambda: h.memory.remember(
            text,
            thread_id=thread,
            tags=tags,
            entities=named,
            relations=facts if chance.random() < 0.4 else None,
            expires_at=PAST if expired else None,
        )
    )
    try:
        model.refuse_add(text, thread)
    except Refused as refusal:
        h.expect(said, str(refusal), "add of what has a tombstone")
        return
    if isinstance(said, str):
        raise Wrong(f"add was refused: {said}")
    h.expect(said.duplicate_of, model.add(said.memory_id, text, thread, tags, expired), "duplicate_of")


def pin(h: History) -> None:
    uid, pinned = h.pick(list(h.model.notes)), h.chance.random() < 0.5
    said = h.ask(lambda: h.memory.pin(uid, pinned))
    h.expect(said, _or_refusal(lambda: h.model.pin(uid, pinned) or "memory"), "pin")


def relate(h: History) -> None:
    chance = h.chance
    subject, target = chance.sample(PEOPLE, 2)
    weight, replaces = chance.choice((1.0, 0.5, 0.06)), chance.random() < 0.3
    h.memory.graph.relate(subject, chance.choice(VERBS), target, weight=weight, replaces=replaces)


def reinforce(h: History) -> None:
    subject, target = h.chance.sample(PEOPLE, 2)
    kind = h.chance.choice(("confirm", "correct"))
    h.ask(lambda: h.memory.graph.reinforce(subject, h.chance.choice(VERBS), target, kind=kind))


def pin_entity(h: History) -> None:
    found, _ = h.memory.graph.entities(limit=20)
    if found:
        h.expect(h.memory.pin(h.chance.choice(found).id, h.chance.random() < 0.5), "entity", "pin of an entity")


def unmerge(h: History) -> None:
    found, _ = h.memory.graph.entities(limit=20)
    live = list(h.model.live())
    if found and live:
        entity, memories = h.chance.choice(found).id, h.chance.sample(live, 1)
        h.ask(lambda: h.memory.graph.unmerge(entity, f"Part {h.chance.randrange(9)}", memories=memories))


def add_segment(h: History) -> None:
    own = f"s{h.chance.randrange(6)}"
    said = h.ask(lambda: h.window.add([{"segment_id": own, "text": f"{own} says something", "type": "code"}]))
    wanted = _or_refusal(lambda: h.model.add_piece(own) or (own,))
    h.expect(said if isinstance(said, str) else said.segment_ids, wanted, "add of a segment")


def pin_segment(h: History) -> None:
    own = [f"s{h.chance.randrange(6)}"]
    pinned = h.chance.random() < 0.4
    if not isinstance(h.ask(lambda: h.window.pin(own, pinned)), str):
        h.model.pin_pieces(own, pinned)


def forever(h: History) -> None:
    uid = h.pick(list(h.model.notes))
    said = h.ask(lambda: h.memory.delete(uid, confirm=True, forever=True))
    wanted = _or_refusal(lambda: h.model.delete(uid) and "done")
    h.expect(said if isinstance(said, str) else "done", wanted, "delete forever")
    if not isinstance(said, str):
        h.model.forget(uid)


def remove_tombstone(h: History) -> None:
    if h.model.tombstones:
        text = h.chance.choice(list(h.model.tombstones))
        h.memory.sweep.remove_tombstone(h.model.tombstones.pop(text))


def purge(h: History) -> None:
    said = h.memory.sweep.purge(0, confirm=True)
    receipts, gone = h.model.purge()
    h.expect(said.memories, len(gone), "purge")
    if not receipts <= set(said.receipts):
        raise Wrong(f"purge left {receipts - set(said.receipts)}")


# what can be done: collections, all of which can be undone


def _moved(h: History, receipt: Any, uids: set[str]) -> None:
    h.expect(receipt.totals.memories, len(uids), "memories moved")
    h.model.to_trash(uids, receipt.id)
    if h.own_receipts is not None:
        h.own_receipts.append(receipt.id)


def delete(h: History) -> None:
    uid = h.pick(list(h.model.notes))
    said = h.ask(lambda: h.memory.delete(uid, confirm=True))
    wanted = _or_refusal(lambda: h.model.delete(uid))
    if isinstance(wanted, str) or isinstance(said, str):
        h.expect(said, wanted, "delete")
    else:
        _moved(h, said, wanted)


def plan(h: History) -> None:
    made, wanted = h.memory.sweep.plan("expired"), h.model.expired()
    shown = {each.id for each in h.memory.sweep.items(made.id, limit=50) if each.kind == "memory"}
    h.expect(shown, set(wanted), "plan")
    h.model.plans[made.id] = Saved(wanted)


def apply(h: History) -> None:
    which = h.pick(list(h.model.plans), "plan_000000000000")
    said = h.ask(lambda: h.memory.sweep.apply(which, confirm=True, allow_large=True))
    wanted = _or_refusal(lambda: h.model.apply(which))
    if isinstance(wanted, str) or isinstance(said, str):
        h.expect(said, wanted, "apply")
        return
    going, skipped = wanted
    _moved(h, said, going)
    h.expect({uid for uid, _ in said.skipped if uid in h.model.notes}, skipped & set(h.model.notes), "skipped")


def prune(h: History) -> None:
    strategy = h.chance.choice(("expired", "all", "unreachable_entities", "superseded"))
    wanted = set(h.model.expired()) if strategy == "expired" else set()
    ttl = 0 if strategy == "superseded" else None
    _moved(h, h.memory.sweep.prune(strategy, confirm=True, allow_large=True, ttl_days=ttl), wanted)


def clear(h: History) -> None:
    wanted = h.model.unpinned()
    said = h.memory.sweep.clear(CLEAR_PHRASE)
    _moved(h, said, wanted)
    h.model.clear_window(said.id)


def undo(h: History) -> None:
    among = list(h.model.receipts) if h.own_receipts is None else h.own_receipts
    _undo(h, h.pick(among, "rcpt_000000000000"))


def _undo(h: History, receipt: str) -> Any:
    said = h.ask(lambda: h.memory.sweep.undo(receipt))
    kept = h.model.receipts.get(receipt)
    if receipt in h.merged and said == "Conflict" and kept is not None and not (kept.undone or kept.purged):
        return None  # what it was merged into is in the trash, or merged itself
    if said == "Conflict" and kept is not None and not (kept.undone or kept.purged) and h.model.waits(receipt):
        return None
    wanted = _or_refusal(lambda: h.model.undo(receipt))
    if isinstance(wanted, str) or isinstance(said, str):
        h.expect(said, wanted, f"undo of {receipt}")
        return None
    back, clashes = wanted
    h.expect(said.totals.memories, len(back), f"undo of {receipt}")
    named = {uid for uid, _ in said.conflicts}
    if not clashes <= named:
        raise Wrong(f"undo of {receipt} does not name {clashes - named} as conflicts")
    return said


def recover(h: History) -> None:
    own = h.own_receipts
    uids = [uid for uid, note in h.model.notes.items() if own is None or note.receipt in own or note.live]
    uid = h.pick(uids)
    said = h.ask(lambda: h.memory.sweep.recover(uid))
    wanted = _or_refusal(lambda: h.model.recover(uid, f"recovery {len(h.model.receipts)}") or "done")
    h.model.receipts.pop(f"recovery {len(h.model.receipts) - 1}", None)  # its id is in no answer
    h.expect(said if isinstance(said, str) else "done", wanted, "recover")


def merge(h: History) -> None:
    if not h.merges:
        return
    found, _ = h.memory.graph.entities(limit=20)
    if len(found) > 1:
        first, second = h.chance.sample(found, 2)
        said = h.ask(lambda: h.memory.graph.merge([first.id], second.id))
        if not isinstance(said, str) and said.receipt_id:
            h.model.receipts[said.receipt_id] = Kept()
            h.merged.add(said.receipt_id)
            if h.own_receipts is not None:
                h.own_receipts.append(said.receipt_id)


def take_out(h: History) -> None:
    ids = h.chance.sample([f"s{n}" for n in range(6)], 2)
    way = h.chance.choice(("stash", "delete"))
    said = h.ask(lambda: h.window.prune(ids, strategy=way, confirm=True))
    if said in ("NotFound", "Conflict"):
        h.expect([own for own in ids if h.model.piece(own)], [], "prune of a window that is not there")
        return
    going, refused = h.model.take_out(ids, delete=way == "delete")
    h.expect(set(said.refused), refused, "refused segments")
    h.expect({gone.segment_id for gone in (*said.stashed, *said.deleted)}, going, "segments taken out")
    if said.receipt_id:
        h.model.gone(going, said.receipt_id, delete=way == "delete")
        if h.own_receipts is not None:
            h.own_receipts.append(said.receipt_id)


def restore(h: History) -> None:
    ids = h.chance.sample([f"s{n}" for n in range(6)], 2)
    said = h.ask(lambda: h.window.restore(ids))
    if not isinstance(said, str):
        h.expect({segment.segment_id for segment in said.restored}, h.model.restore(ids), "restored segments")


def search(h: History) -> None:
    """What is live is found by its words; what is not is not."""
    if not h.model.notes:
        return
    uid = h.chance.choice(list(h.model.notes))
    note = h.model.notes[uid]
    found = {
        hit.passage.memory_id
        for hit in h.memory.search(note.text, limit=50, filters={"kind": "memory", "include_expired": True}).hits
    }
    if not found <= set(h.model.live()):
        raise Wrong(f"search shows {found - set(h.model.live())}, which are not live")
    h.expect(uid in found, note.live, f"search for {note.text!r}")


def get(h: History) -> None:
    uid = h.pick(list(h.model.notes))
    said = h.ask(lambda: h.memory.get(uid))
    note = h.model.notes.get(uid)
    wanted = note.text if note is not None and note.live else "NotFound"
    h.expect(said if isinstance(said, str) else said.text, wanted, "get")


def trash(h: History) -> None:
    items, _ = h.memory.sweep.trash(limit=50)
    said = {(item.id, item.receipt_id) for item in items if item.kind == "memory"}
    h.expect(said, {(uid, n.receipt) for uid, n in h.model.notes.items() if not n.live}, "trash")


def _or_refusal(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Refused as refusal:
        return str(refusal)


WRITES = (add, add, add, add, pin, relate, relate, reinforce, pin_entity, unmerge, add_segment, add_segment)
WRITES += (pin_segment, forever, remove_tombstone, purge)
COLLECTIONS = (delete, delete, plan, apply, prune, clear, undo, undo, recover, merge, merge, take_out, restore)
READS = (search, get, trash)


def run(seed: int) -> dict[str, Any]:
    home = template().parent / "home"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(template(), home)
    history = History(home, seed)
    violations: list[str] = []
    try:
        live(history)
    except Wrong as wrong:
        violations.append(f"{wrong} (after {', '.join(history.done)})")
    except MemsweepError as error:
        violations.append(f"{type(error).__name__}: {error} (after {', '.join(history.done)})")
    finally:
        history.close()
    return {"histories": 1, "operations": len(history.done), "violations": violations}


def live(h: History) -> None:
    h.merges = h.chance.random() < 0.4
    for _ in range(4):
        _do(h, add)
    for _ in range(h.chance.randint(3, 9)):
        _do(h, h.chance.choice(WRITES * 2 + COLLECTIONS + READS))
    _stretch(h)
    _do(h, purge if h.chance.random() < 0.3 else search)
    _healthy(h)
    h.reopen()
    h.agree()
    _do(h, h.chance.choice(READS))


def _do(h: History, act: Callable[[History], None]) -> None:
    h.done.append(act.__name__)
    act(h)
    h.agree()


def _stretch(h: History) -> None:
    """Collections only, undone in any order: every row is what it was."""
    before = _rows(h)
    h.own_receipts = []
    for _ in range(h.chance.randint(2, 6)):
        _do(h, h.chance.choice(COLLECTIONS + READS))
    conflicts = _undo_all(h, h.own_receipts)
    h.own_receipts = None
    after = _rows(h)
    for table, rows in before.items():
        if rows != after[table]:
            differ = sorted(set(rows) ^ set(after[table]))[:4]
            raise Wrong(f"undoing everything did not bring back {table}: {differ} (conflicts {conflicts[:3]})")


def _undo_all(h: History, receipts: Sequence[str]) -> list[Any]:
    """In any order; a merge may have to wait until what it kept is back. What was named as a conflict."""
    conflicts: list[Any] = []
    while left := [uid for uid in receipts if not h.model.receipts[uid].undone]:
        h.chance.shuffle(left)
        for receipt in left:
            h.done.append("undo at last")
            said = _undo(h, receipt)
            conflicts += said.conflicts if said is not None else []
            h.agree()
        if all(not h.model.receipts[uid].undone for uid in left):
            if all(map(h.model.waits, left)):
                break
            raise Wrong(f"none of {left} can be undone any more")
    return conflicts


def _rows(h: History) -> dict[str, list[str]]:
    """Every row but those of windows and records. A merge and its undo change rows, so they raise versions."""
    db = h.rows
    found = {}
    for table in [name for name in TABLES if name not in _WINDOWED]:
        columns = [name for (name,) in db.execute("select name from pragma_table_info(?)", (table,))]
        kept = ", ".join(name for name in columns if name != "version" or not h.merges)
        found[table] = sorted(map(repr, db.execute(f'select {kept} from "{table}"')))
    return found


def _healthy(h: History) -> None:
    found = [f"{each.invariant}: {', '.join(each.samples)}" for each in h.memory.care.doctor().findings]
    h.expect(found, [], "doctor")
    h.expect(broken(store_files.file_of(h.home)), [], "rows that do not fit together")
