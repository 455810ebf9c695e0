"""Links are rows that are known by their ends, the same on both engines."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from memsweep.model.columns import part
from memsweep.model.graph_rows import Mention
from memsweep.services.memory import Memory
from memsweep.store.facts import OwnedMention
from memsweep.store.rows import Rows, SumsBy, Values, Where, linked
from memsweep.store.things.graph import RELATION_SOURCE, EntityRow, MentionLink, RelationRow, RelationSource
from memsweep.store.things.memories import ChunkRow, MemoryRow, Supersession
from tests.support.engines import on_every_engine
from tests.support.inside import store_of


class StatedBy(NamedTuple):
    relation: int
    memory: int
    lost: int | None


part(StatedBy, RELATION_SOURCE, lost="memory.trash")


@pytest.fixture
def told(memory: Memory) -> Memory:
    """Three notes that name Ada and the Engine and state what they have to do with each other; one is in the trash."""
    for text in ("Ada built the Engine.", "Ada runs the Engine.", "Ada left the Engine."):
        said = memory.remember(text, entities=["Ada", "Engine"])
        memory.graph.relate("Ada", "KNOWS", "Engine", source=said.memory_id)
    memory.delete(said.memory_id, confirm=True)
    return memory


@contextmanager
def rows_of(memory: Memory) -> Iterator[Rows]:
    with store_of(memory).graph.changing() as tx:
        yield tx.rows


@on_every_engine
def test_links_are_found_from_either_end_wherever_the_other_is(told: Memory) -> None:
    with rows_of(told) as rows:
        (found,) = rows.ask(Values(EntityRow, ("key",)))
        entities = {key for (key,) in found}
        live, gone = ({row.key for row in rows.find(ChunkRow, bin=bin)} for bin in ("live", "trash"))
        every = {Mention(chunk, entity) for chunk in live | gone for entity in entities}
        assert {*rows.find(Mention, bin="any")} == {*rows.ask(linked(Mention, "entity", entities))[0]} == every
        assert {*rows.find(Mention)} == {*rows.find(Mention, ("entity", "in", entities))}
        assert {chunk for chunk, _ in rows.find(Mention)} == live
        assert {*rows.ask(linked(Mention, "chunk", live))[0]} == {*rows.find(Mention)}
        assert rows.ask(linked(Mention, "chunk", gone))[0] == []  # these are not live
        assert len(rows.ask(linked(Mention, "chunk", gone, near="trash"))[0]) == 2
        counted = rows.ask(SumsBy(MentionLink, "entity", entities))[0]
        assert sorted(map(tuple, counted)) == [(key, 2, 0) for key in sorted(entities)]
        away: Where = ("chunk.trash", "known", None)
        (lost,) = rows.ask(Values(MentionLink, ("entity",), (("entity", "in", entities), away), "any", distinct=True))
        assert {key for (key,) in lost} == entities


@on_every_engine
def test_a_row_of_a_link_has_columns_of_what_it_leads_to(told: Memory) -> None:
    with rows_of(told) as rows:
        (relation,) = (row.key for row in rows.find(RelationRow))
        lost = sorted(each.lost is None for each in rows.find(StatedBy, ("relation", "=", relation), bin="any"))
        assert lost == [False, True, True]
        memories = {row.key for row in rows.find(MemoryRow)}
        assert {each.memory for each in rows.find(StatedBy, ("relation", "in", [relation]))} == memories


@on_every_engine
def test_a_link_that_is_there_stays_and_one_without_ends_is_not_made(told: Memory) -> None:
    with rows_of(told) as rows:
        relation, *_ = rows.find(RelationRow)
        chunk = rows.find(ChunkRow)[0].key
        (gone,) = rows.find(MemoryRow, bin="trash")
        (kept, other) = rows.find(MemoryRow)
        rows.put([OwnedMention(chunk, relation.subject, 7), OwnedMention(10_000, relation.subject, 7)], replace=False)
        rows.free(RelationSource, ("memory", "in", [gone.key]))
        rows.drop(Mention, [(chunk, relation.object)])
        says = (frozenset({3}),)
        links = [Supersession(gone.key, kept.key, 5, says), Supersession(kept.key, other.key, 5, says)]
        rows.put(links, replace=True)
    with rows_of(told) as rows:
        assert {*rows.find(OwnedMention, ("chunk", "=", chunk))} == {(chunk, relation.subject, None)}
        assert {each.memory for each in rows.find(StatedBy, bin="any")} == {kept.key, other.key}
        assert {*rows.find(Supersession, bin="any")} == {*links}
        assert rows.find(Supersession) == links[1:]
        rows.put([RelationSource(relation.key, gone.key)], replace=False)
        rows.put([RelationSource(relation.key, kept.key)], replace=False)
        rows.put([links[0]._replace(at=6)], replace=True)
        rows.put([links[1]._replace(at=6)], replace=False)
        rows.drop(RelationSource, [(relation.key, other.key)])
    with rows_of(told) as rows:
        assert {each.memory: each.lost is None for each in rows.find(StatedBy, bin="any")} == {
            kept.key: True,
            gone.key: False,
        }
        assert [each.at for each in sorted(rows.find(Supersession, bin="any"))] == [5, 6]


@on_every_engine
def test_links_and_facts_are_handed_on_with_whose_they_are(told: Memory) -> None:
    told.graph.relate("Ada", "BUILT", "Shop")
    with rows_of(told) as rows:
        by_name = {row.name: row.key for row in rows.find(EntityRow)}
        chunk, other = (row.key for row in rows.find(ChunkRow))
        versions = {row.key: row.version for row in rows.find(RelationRow)}
        rows.put([OwnedMention(chunk, by_name["Shop"], None)], replace=False)
        rows.drop(Mention, [(chunk, by_name["Ada"]), (other, by_name["Ada"])])
        rows.put([OwnedMention(chunk, by_name["Ada"], 7), OwnedMention(other, by_name["Ada"], 8)], replace=False)
    with rows_of(told) as rows:
        rows.set(MentionLink, ("entity", "=", by_name["Ada"]), entity=by_name["Shop"])
        rows.set(RelationRow, ("subject", "=", by_name["Ada"]), subject=by_name["Shop"])
    with rows_of(told) as rows:
        assert rows.find(Mention, ("entity", "=", by_name["Ada"]), bin="any") == []
        owners = {each.chunk: each.origin for each in rows.find(OwnedMention, ("entity", "=", by_name["Shop"]))}
        assert owners == {chunk: None, other: 8}  # what was there already stayed as it was
        facts = rows.find(RelationRow)
        assert {row.subject for row in facts} == {by_name["Shop"]}
        assert {row.key: row.version for row in facts} == versions
        (known,) = (row.key for row in facts if row.relation == "KNOWS")
        assert len(rows.find(RelationSource, ("relation", "=", known), bin="any")) == 3
