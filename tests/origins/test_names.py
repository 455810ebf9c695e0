"""Keys that somebody had for the name of a client or a session: redacted, given back and purged, on every engine."""

from pathlib import Path

import pytest

from memsweep.app import Memory, called_by
from memsweep.model.origin import Origin
from memsweep.services.access import collector
from tests.secrets.test_ways_in import AWS, AWS_MARK
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
OTHER_KEY = AWS[:-1] + ("A" if AWS[-1] != "A" else "B")
NAMES = {"client": "client", "client_version": "version", "session": "session", "tool": "tool"}


def plant(memory: Memory, kind: str, **values: str) -> None:
    """What a version wrote that did not look at names: in every row of the kind that has the value before the equals
    sign, `{name: "old=new"}`."""
    with collector(memory._access).store.changing() as tx:
        for row in tx.records.page(kind, 0, 100):
            changed = {name: text.partition("=")[2] for name, text in values.items()
                       if text.partition("=")[0] in (row.values[name], "*")}  # fmt: skip
            tx.records.write(kind, [(row.key, {**row.values, **changed})])


def brought(memory: Memory, session: str = "s", text: str = "There is something.") -> str:
    with called_by(Origin("mcp", "client", "version", session, "tool", "agent")):
        memory.graph.relate("Ada", "KNOWS", session)
        return memory.remember(text).memory_id


def stored(memory: Memory, path: Path) -> bytes:
    memory.care.backup(path, force=True)
    return path.read_bytes()


def test_names_are_redacted_come_back_and_are_purged(memory: Memory, tmp_path: Path) -> None:
    own = brought(memory)
    planted = {name: f"{name} {AWS}" for name in NAMES}
    plant(memory, "origin", **{name: f"*={text}" for name, text in planted.items()})

    def named() -> list[str]:
        return [getattr(memory.get(own).origin, name) for name in NAMES.values()]

    assert named() == [*planted.values()]
    receipt = memory.sweep.prune("secrets", confirm=True).id
    assert all(name.startswith(f"{column} {AWS_MARK}") for column, name in zip(NAMES, named(), strict=True))
    memory.sweep.undo(receipt)
    assert named() == [*planted.values()]
    memory.sweep.prune("secrets", confirm=True)
    memory.sweep.purge(0, confirm=True)
    assert AWS.encode() not in stored(memory, tmp_path / "b")
    assert memory.sweep.plan("secrets").item_count == 0
    client = memory.get(own).origin.client
    memory.sweep.prune("origin", origin={"client": client}, confirm=True, allow_large=True)
    assert memory.stats().total_memories == 0
    assert not memory.care.doctor().findings


def test_sessions_that_were_named_by_two_keys_are_still_two(memory: Memory) -> None:
    one, two = brought(memory, "s1"), brought(memory, "s2", "There is something else.")
    plant(memory, "origin", session=f"s1={AWS}")
    plant(memory, "origin", session=f"s2={OTHER_KEY}")
    memory.sweep.prune("secrets", confirm=True)
    session = memory.get(one).origin.session
    assert session != memory.get(two).origin.session
    with called_by(Origin("mcp", "client", "version", AWS, "tool", "agent")):
        three = memory.remember("It goes on.").memory_id
    assert memory.get(three).origin.session == session, "the session is known by the same name"
    memory.sweep.prune("origin", origin={"session": session}, confirm=True, allow_large=True)
    assert [each.id for each in memory.memories().memories] == [two]


@pytest.mark.parametrize("kind", ["audit", "receipt"])
def test_who_did_something_is_redacted_comes_back_and_is_purged(memory: Memory, tmp_path: Path, kind: str) -> None:
    memory.delete(brought(memory), confirm=True)
    plant(memory, kind, actor=f"*=mcp:{AWS}")
    receipt = memory.sweep.prune("secrets", confirm=True).id
    assert AWS.encode() in stored(memory, tmp_path / "b"), "its receipt has it"
    told = str(memory.sweep.audit(limit=50)) + str(memory.sweep.receipts())
    assert AWS not in told
    assert AWS_MARK in told
    memory.sweep.undo(receipt)
    assert AWS in str(memory.sweep.audit(limit=50)) + str(memory.sweep.receipts())
    memory.sweep.prune("secrets", confirm=True)
    memory.sweep.purge(0, confirm=True)
    assert AWS.encode() not in stored(memory, tmp_path / "b")
