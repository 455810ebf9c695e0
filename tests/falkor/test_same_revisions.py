"""Updates and redactions leave the same rows in both engines, whatever is done to them afterwards."""

from typing import Any

from memsweep.collector import collect, update
from tests.collector.killed_at_each_step import NOTE, SECRET, SPEC, TELLING, new_text
from tests.collector.stores import Link, Note, StoreSpec, Thing
from tests.falkor.both_engines import BothEngines, Side, both_engines

TOLD = StoreSpec(
    notes=(
        *SPEC.notes,
        Note(f"def key(): return '{SECRET}'", path="key.py", chunks=2),
        Note(f"gone with {SECRET}", stale=True, path="old.py"),
    ),
    things=(*SPEC.things, Thing(f"key {SECRET}"), Thing(f"other {SECRET}", explicit=True)),
    links=(*SPEC.links, Link(4, 5, relation=f"HAS {SECRET}", explicit=True)),
    mentions=(*SPEC.mentions, (4, 0, 5), (2, 0, 4)),
)


MORE = update.CheckedUpdate("one half. another half.")


def two_pieces(text: str) -> update.NewText:
    """Cut in two, as `new_text` does not."""
    new = new_text(text)
    return update.NewText((new.pieces[0], new.pieces[0]._replace(id="chk_more", start=10)), new.model, new.named)


def redact(pair: BothEngines) -> str:
    receipt: Any = pair.both(lambda side: collect.plan_and_apply(side.tools(), "secrets", confirm=True))
    pair.same_by_id()
    return str(receipt.id)


def change(side: Side) -> Any:
    return update.update(side.tools(), NOTE, update.CheckedUpdate("told is another text", ("green",)), new_text)


def undo(pair: BothEngines, receipt: str) -> None:
    pair.both(lambda side: collect.undo(side.tools(), receipt))
    pair.same_by_id()


def test_a_redaction_is_the_same_and_so_is_its_undo() -> None:
    with both_engines(TOLD) as pair:
        pair.both(lambda side: collect.plan_and_apply(side.tools(), "stale_code", confirm=True))
        receipt = redact(pair)
        assert SECRET not in repr({table: rows for table, rows in pair.rows().items() if table != "revision"})
        undo(pair, receipt)
        assert SECRET in repr(pair.rows())


def test_a_redaction_that_is_purged_is_gone_in_both() -> None:
    with both_engines(TOLD) as pair:
        redact(pair)
        pair.both(lambda side: collect.purge(side.tools(), 0, confirm=True))
        pair.same_by_id()
        assert SECRET not in repr(pair.rows())


def test_updates_deletions_and_undos_are_the_same() -> None:
    with both_engines(TOLD) as pair:
        changed = pair.both(change).receipt_id
        pair.same_by_id()
        deleted = pair.both(lambda side: collect.delete(side.tools(), TELLING, confirm=True)).id
        redaction = redact(pair)
        undo(pair, deleted)
        undo(pair, changed)
        undo(pair, redaction)
        pair.both(lambda side: collect.delete(side.tools(), NOTE, confirm=True, forever=True))
        pair.same_by_id()
        pair.both(lambda side: collect.purge(side.tools(), 0, confirm=True))
        pair.same_by_id()


def test_what_comes_next_in_a_thread_stands_in_the_same_place() -> None:
    """After one was freed, one took more places, and that was undone."""
    spec = StoreSpec(notes=tuple(Note(f"turn {number}", thread="talk", chunks=1) for number in range(3)))
    with both_engines(spec) as pair:
        pair.both(lambda side: collect.delete(side.tools(), "mem_000000000003", confirm=True, forever=True))
        longer = pair.both(lambda side: update.update(side.tools(), "mem_000000000002", MORE, two_pieces)).receipt_id
        pair.same_by_id()
        undo(pair, longer)
        pair.both(lambda side: update.update(side.tools(), "mem_000000000001", MORE, two_pieces))
        pair.same_by_id()
