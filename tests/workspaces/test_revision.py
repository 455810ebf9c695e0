"""A text that is another one after every change of a workspace, whoever made it, and the same while nothing happens."""

from collections.abc import Callable

from memsweep.app import App, Memory
from tests.support.engines import on_every_engine


@on_every_engine
def test_every_change_gives_another_revision_and_reading_none(make: Callable[..., App]) -> None:
    memory, other = (make().memory() for _ in range(2))
    assert memory.revision() == "", "nothing is stored yet"
    seen = [memory.revision()]

    def changed(act: Callable[[], object]) -> None:
        act()
        assert memory.revision() == other.revision() == memory.revision()
        seen.append(memory.revision())
        assert len(set(seen)) == len(seen), act

    note = "The demo is on Friday."
    changed(lambda: other.remember(note, expires_at="2020-01-01"))
    uid = other.search(note, mode="deep", filters={"include_expired": True}).hits[0].passage.memory_id
    for act in _acts(other, uid):
        changed(act)
    _look(other, uid)
    assert memory.revision() == seen[-1]


def _acts(memory: Memory, uid: str) -> list[Callable[[], object]]:
    return [
        lambda: memory.pin(uid),
        lambda: memory.pin(uid, False),
        lambda: memory.update(uid, tags=["red"]),
        lambda: memory.graph.relate("Ada", "KNOWS", "Grace"),
        lambda: memory.context("p").add([{"text": "a turn", "type": "message"}]),
        lambda: memory.context("p").configure(soft_tokens=500),
        lambda: memory.sweep.plan("expired"),
        lambda: memory.sweep.prune("expired", confirm=True),
        lambda: memory.sweep.recover(uid),
        lambda: memory.sweep.purge(0, confirm=True),
    ]


def _look(memory: Memory, uid: str) -> None:
    memory.stats()
    memory.get(uid)
    memory.sweep.preview("stale_code")
    memory.sweep.trash()
    memory.sweep.audit()
    memory.graph.entities()
