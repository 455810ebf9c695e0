"""What the services offer, as operations on a workspace that has something for each of them.

Operations go by names and texts, so that two workspaces do the same.
"""

import json
from collections.abc import Callable, Collection
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from memsweep.app import called_by
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.model.origin import Origin
from tests.faults.pair_world import ALPHA, BEGIN, EVIL, GOOD, GRAPH, Made, NotComparable, NotDone, Taken, World
from tests.secrets.test_ways_in import AWS

# what the services offer

Operation = Callable[[World, Taken], Made]
OPERATIONS: dict[str, Operation] = {}
WITHOUT_RECEIPT: set[str] = set()


def _nothing() -> str:
    raise NotDone


def operation(act: Operation) -> Operation:
    OPERATIONS[act.__name__] = act
    return act


def without_receipt(act: Operation) -> Operation:
    """One that cannot be undone."""
    WITHOUT_RECEIPT.add(act.__name__)
    return operation(act)


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
        look = w.memory.graph.unmerge(meant, name, dry_run=True, **asked)
        if taken.items is None:
            taken.items = frozenset((each,) for each in owned.values()) | {("mentions", look.mentions)}
        if ("mentions", look.mentions) not in taken.items:
            raise NotComparable
        if ("mentions", 0) in taken.items:
            asked["memories"] = []
        asked["relations"] = [uid for uid, end in owned.items() if (end,) in taken.items]
        return w.memory.graph.unmerge(meant, name, **asked).receipt_id

    return act


OPERATIONS["split_hal"] = _split("Hal Reed", "hal")
OPERATIONS["split_dan"] = _split("Dan Quill", "dan")


@without_receipt
def pin_entity(w: World, taken: Taken) -> None:
    found, _ = w.memory.graph.entities("Dan Quill")
    named = [each for each in found if each.name == "Dan Quill"]
    if not named:
        raise NotDone
    w.memory.pin(named[0].id)


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
    "empty_memories", "duplicates", "decayed", "superseded", "all",
):  # fmt: skip
    OPERATIONS[f"prune_{strategy}"] = _prune(strategy)
# A secret is redacted wherever it is: in a text here, in an earlier one there.
OPERATIONS["prune_secrets"] = lambda w, _: _as_planned(w, w.memory.sweep.plan("secrets").id, Taken())
OPERATIONS["prune_origin"] = _prune("origin", origin={"session": EVIL.session})


@operation
def graph_prune(w: World, taken: Taken) -> Made:
    return _as_planned(w, w.memory.graph.plan_prune(edge_threshold=0.6, max_age_days=0).id, taken)


def _if_all_is_as_it_was(w: World, taken: Taken) -> None:
    """Of what takes everything: it is not the same where there is something else."""
    state = w.state()
    there = frozenset(("memory", *row) for row in state["memories"]) | {("entity", *row) for row in state["entities"]}
    there |= {("segment", *row) for row in state["segments"]} | {("fact", *row[:3]) for row in state["relations"]}
    if taken.items is None:
        taken.items = there
    if taken.items != there:
        raise NotComparable


@operation
def clear(w: World, taken: Taken) -> Made:
    _if_all_is_as_it_was(w, taken)
    return w.memory.sweep.clear(CLEAR_PHRASE).id


@operation
def prune_origin_good(w: World, taken: Taken) -> Made:
    _if_all_is_as_it_was(w, taken)
    return w.memory.sweep.prune("origin", origin={"session": GOOD.session}, confirm=True, allow_large=True).id


@without_receipt
def edit_and_index(w: World, taken: Taken) -> None:
    w.write("a.py", ALPHA + "\n\ndef delta(x):\n    return alpha(x)\n")
    w.memory.code.index(w.root)


@without_receipt
def edit_away(w: World, taken: Taken) -> None:
    w.write("b.py", "def beta(x):\n    return alpha(x) * 3\n")
    w.memory.code.index(w.root)


@without_receipt
def file_gone(w: World, taken: Taken) -> None:
    (w.root / "b.py").unlink(missing_ok=True)
    w.memory.code.index(w.root)


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


@without_receipt
def context_restore(w: World, taken: Taken) -> None:
    if not w.memory.context("talk").restore(["s1"]).restored:
        raise NotDone


@operation
def context_clear(w: World, taken: Taken) -> Made:
    before = {(row[1], row[4]) for row in w.state()["segments"]}
    if taken.items is None:
        taken.items = frozenset(before)
    if taken.items != before:
        raise NotComparable
    return w.memory.context("talk").delete(confirm=True).receipt_id


@without_receipt
def context_pin(w: World, taken: Taken) -> None:
    if not w.memory.context("talk").pin(["s1"]).pinned:
        raise NotDone


# what else the services offer


OPERATIONS["update_to_the_same"] = _update("dan", text="In spring Hal Reed tunes the pianos of Ida Moss.")
OPERATIONS["update_metadata"] = _update("hal", metadata={"place": "Genoa"})
OPERATIONS["update_in_order"] = _update("after", text="The talk with Ida Moss and Una Park was over.")
OPERATIONS["update_secret_away"] = _update("secret", text="The deploy key of Hal Reed is in the vault.")
OPERATIONS |= {
    f"delete_{label}": _delete(label) for label in ("ida", "first", "third", "secret", "kept", "twin a", "lone")
}
OPERATIONS["merge_symbol_into_person"] = _merge("alpha", "Dan Quill")
OPERATIONS["merge_lone"] = _merge("Ova Lind", "Hal Reed")
OPERATIONS["merge_into_lone"] = _merge("Hal Reed", "Ova Lind")


@operation
def merge_two(w: World, taken: Taken) -> Made:
    *gone, into = _meant(w, taken, "Dan Quill", "Ida Moss", "Hal Reed")
    return w.memory.graph.merge(gone, into).receipt_id


@operation
def merge_as_planned(w: World, taken: Taken) -> Made:
    gone, into = _meant(w, taken, "Hal Reed", "Dan Quill")
    return w.memory.graph.merge(plan_id=w.memory.graph.plan_merge([gone], into).plan_id).receipt_id


@operation
def delete_several(w: World, taken: Taken) -> Made:
    return _as_planned(w, w.memory.sweep.plan_chosen([w.own(label) for label in ("dan", "twin a", "long")]).id, taken)


@without_receipt
def remove_tombstone(w: World, taken: Taken) -> None:
    known = [each.memory_id for each in w.memory.sweep.tombstones() if each.memory_id in w.ids.values()]
    w.memory.sweep.remove_tombstone(known[0] if known else _nothing())


@without_receipt
def recover_entity(w: World, taken: Taken) -> None:
    trashed, _ = w.memory.sweep.trash(limit=200)
    found = [each for each in trashed if each.kind == "entity" and each.name == "Steinway"]
    w.memory.sweep.recover(found[0].id if found else _nothing())


@without_receipt
def release_fact(w: World, taken: Taken) -> None:
    (owner,) = _meant(w, taken, "Hal Reed")
    near = w.memory.graph.related(owner, limit=100)
    owned = [each.id for each in near.walk.edges if each.relation == "OWNS" and each.subject == near.start.key]
    w.memory.graph.release(owned[0] if owned else _nothing())


@without_receipt
def index_with_a_new_file(w: World, taken: Taken) -> None:
    w.write("d.py", "def delta(x):\n    return beta(x) - 1\n")
    w.memory.code.index(w.root)


@without_receipt
def file_moved(w: World, taken: Taken) -> None:
    if not (w.root / "a.py").exists():
        raise NotDone
    (w.root / "a.py").rename(w.root / "z.py")
    w.memory.code.index(w.root)


@without_receipt
def file_back(w: World, taken: Taken) -> None:
    w.write("c.py", "def gamma(x):\n    return x\n")
    w.memory.code.index(w.root)


@without_receipt
def index_a_folder_of_it(w: World, taken: Taken) -> None:
    (w.root / "sub").mkdir()
    w.write("sub/e.py", "def eps(x):\n    return alpha(x)\n")
    w.memory.code.index(w.root / "sub")


@without_receipt
def index_flat(w: World, taken: Taken) -> None:
    w.write("a.py", "def alpha(x):\n    return gamma(x)\n")
    w.memory.code.index(w.root, recursive=False)


@without_receipt
def reembed(w: World, taken: Taken) -> None:
    w.memory.care.reembed()
    w.memory.care.compact()


@without_receipt
def back_up_and_restore(w: World, taken: Taken) -> None:
    file = w.root.with_suffix(".backup")
    w.memory.care.backup(file)
    try:
        w.app.restore(file, w.memory.workspace_id, replace=True)
    finally:
        file.unlink()


@without_receipt
def delete_workspace_and_undo(w: World, taken: Taken) -> None:
    gone = w.app.delete_workspace(w.memory.workspace_id, confirm=True)
    w.app.undo(gone.receipt_id)


@without_receipt
def context_unpin(w: World, taken: Taken) -> None:
    if not w.memory.context("talk").unpin(["s1"]).pinned:
        raise NotDone


@operation
def context_compress_others(w: World, taken: Taken) -> Made:
    ids = _segments(w, taken, ("s1", "s3", "s4"), stashed=False)  # what is stashed already stays with who stashed it
    return w.memory.context("talk").compress(ids, "in other words").receipt_id


@without_receipt
def context_restore_all(w: World, taken: Taken) -> None:
    ids = _segments(w, taken, tuple(f"s{n}" for n in range(6)), stashed=True)
    if not w.memory.context("talk").restore(ids).restored:
        raise NotDone


@without_receipt
def context_add_more(w: World, taken: Taken) -> None:
    drafts = [{"segment_id": f"m{n}", "text": f"more of turn {n}", "references": ["s1"]} for n in range(3)]
    w.memory.context("talk").add(drafts)


@without_receipt
def context_transcript(w: World, taken: Taken) -> None:
    said = {"role": "user", "content": f"The key is {AWS}."}
    line = {"type": "user", "uuid": "u1", "sessionId": "s", "timestamp": "2026-03-01T12:00:00Z", "message": said}
    w.memory.context("talk").add_transcript(json.dumps(line))


_PLAIN: dict[str, Callable[[World], object]] = {
    "pin_memory": lambda w: w.memory.pin(w.own("hal"), True),
    "unpin_memory": lambda w: w.memory.pin(w.own("kept"), False),
    "add_in_thread": lambda w: w.add("threaded", "At last they spoke of Hal Reed.", thread_id="talk"),
    "supersede": lambda w: w.add("third", "The office of Ida Moss is closed.", supersedes=[w.own("second")]),
    "relate_again": lambda w: w.memory.graph.relate("Dan Quill", "OWNS", "Steinway", weight=0.9),
    "relate_instead": lambda w: w.memory.graph.relate(
        "Dan Quill", "LIVES_IN", "Rome", replaces=True, source=w.own("dan")
    ),
    "reinforce": lambda w: w.memory.graph.reinforce("Dan Quill", "OWNS", "Steinway", kind="correct", amount=0.2),
    "build_graph": lambda w: w.memory.graph.build("Dan Quill (Person) -[WORKS_ON]-> Engine (Project)"),
    "import_graph": lambda w: w.memory.graph.load(GRAPH),
    "graph_decay": lambda w: w.memory.graph.decay(dry_run=False),
    "release": lambda w: w.memory.release(w.own("hal")),
    "context_add": lambda w: w.memory.context("talk").add(
        [{"segment_id": "s9", "text": "turn 9 of a talk", "type": "message"}]
    ),
    "purge": lambda w: w.memory.sweep.purge(0, confirm=True),
    "supersede_several": lambda w: w.add(
        "fourth", "Dan Quill and Hal Reed play no more.", supersedes=[w.own("dan"), w.own("hal")]
    ),
    "relate_to_symbol": lambda w: w.memory.graph.relate("Dan Quill", "WROTE", "alpha", source=w.own("ida")),
    "repair": lambda w: w.memory.care.doctor(repair=True),
    "context_configure": lambda w: w.memory.context("talk").configure(soft_tokens=20, hard_tokens=4000, last_n=1),
}
_BY_EVIL: dict[str, Callable[[World], object]] = {
    "add": lambda w: w.add("added", "It was known that Dan Quill sings for Una Park."),
    "add_again": lambda w: w.memory.remember(
        "In spring Hal Reed tunes the pianos of Ida Moss.", tags=["again"], entities=["Dan Quill"]
    ),
    "relate": lambda w: w.memory.graph.relate("Dan Quill", "OWNS", "Viola"),
    "add_elsewhere": lambda w: w.add(
        "elsewhere", "In spring Hal Reed tunes the pianos of Ida Moss.", thread_id="elsewhere"
    ),
    "relate_with_source": lambda w: w.memory.graph.relate(
        "Dan Quill", "KNOWS", "Hal Reed", source=w.own("ida"), valid_at=BEGIN
    ),
    "confirm": lambda w: w.memory.graph.reinforce("Dan Quill", "LIVES_IN", "Turin", reason="seen there"),
}


def _plainly(act: Callable[[World], object], who: Origin | None = None) -> Operation:
    def acted(w: World, taken: Taken) -> None:
        with called_by(who) if who else nullcontext():
            act(w)

    return acted


def _erase(label: str) -> Operation:
    return _plainly(lambda w: w.memory.delete(w.own(label), confirm=True, forever=True))


def _recover(label: str) -> Operation:
    return _plainly(lambda w: w.memory.sweep.recover(w.own(label)))


_OTHERS = {name: _plainly(act) for name, act in _PLAIN.items()}
_OTHERS |= {name: _plainly(act, EVIL) for name, act in _BY_EVIL.items()}
_OTHERS |= {f"delete_forever_{label}": _erase(label) for label in ("dan", "hal", "second", "long", "lone")}
_OTHERS |= {f"recover_{label}": _recover(label) for label in ("dan", "hal", "long", "second")}
OPERATIONS |= _OTHERS
UNDONE = OPERATIONS.keys() - WITHOUT_RECEIPT - _OTHERS.keys()
"""Those that have a receipt."""
