"""What every engine promises (`memsweep.store.protocol`), whichever it is.

Another engine is another name in ENGINES; a test that it cannot pass is marked here with the reason.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from memsweep.errors import AlreadyExists, EmbedderError, ModelMismatch, UnknownWorkspace
from memsweep.model.columns import Bin
from memsweep.model.memory import (
    EmbeddingModel,
    Fact,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
    Workspace,
)
from memsweep.model.revision import Piece
from memsweep.model.search import Candidate, Filters, stream_and_position
from memsweep.model.text import content_hash
from memsweep.model.token import Token
from memsweep.store import views
from memsweep.store.adding import add, touch
from memsweep.store.protocol import Store
from memsweep.store.rows import Values, Where
from memsweep.store.things.collected import TombstoneRow
from memsweep.store.things.graph import RelationRow
from memsweep.store.things.memories import ChunkRow, MemoryRow
from memsweep.store.words import matched
from memsweep.store.workspaces import Engine
from tests.support.engines import ENGINES, Home

NOW = datetime(2026, 3, 31, 18, 0, 0, 123456, UTC)
MODEL = EmbeddingModel("test", 4)
OTHER = EmbeddingModel("other", 6)
NUMBERS = count(1)


@pytest.fixture(params=ENGINES)
def make_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Engine]]:
    """Engines on the same home: what two processes would have."""
    home = Home(request.param, tmp_path / "home")
    yield home.engine
    home.close()


@pytest.fixture
def engine(make_engine: Callable[[], Engine]) -> Engine:
    return make_engine()


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.open_or_create("default", NOW)


def vector(*values: int) -> bytes:
    return bytes(value & 0xFF for value in values)


def new(
    text: str,
    *,
    vectors: tuple[bytes, ...] = (vector(1, 2, 3, 4),),
    mentions: tuple[NewMention, ...] = (),
    facts: tuple[NewFact, ...] = (),
    now: datetime = NOW,
    **draft: object,
) -> NewMemory:
    """A memory whose text is cut into as many equal chunks as there are vectors."""
    number = next(NUMBERS)
    width = -(-len(text) // len(vectors))
    parts = [text[at * width : (at + 1) * width] for at in range(len(vectors))]
    chunks = tuple(
        Piece(f"chk_{number}_{at}", part, at * width, at + 1, at + 1, data)
        for at, (part, data) in enumerate(zip(parts, vectors, strict=True))
    )
    return NewMemory(
        f"mem_{number}",
        MemoryDraft(text, **draft),  # type: ignore[arg-type]
        content_hash(text),
        chunks,
        mentions,
        facts,
        now,
    )


def search(store: Store, query: str, data: bytes = vector(1, 2, 3, 4), **filters: object) -> list[str]:
    """The texts of what words or meaning find, best words first."""
    found = store.candidates(query, data, Filters(**filters), 50)  # type: ignore[arg-type]
    passages = views.passages(store.rows, [item.key for item in found])
    ranked = sorted(found, key=lambda item: (-item.words, -item.similarity))
    return [passages[item.key].text for item in ranked]


def by_words(store: Store, query: str) -> list[str]:
    found = store.candidates(query, vector(-1, -1, -1, -1), Filters(), 50)
    return [text_of(store, item.key) for item in found if item.words > 0]


# orders: what was done at one moment has a rule, too


def test_workspaces_deleted_at_one_moment_are_listed_by_name(engine: Engine) -> None:
    for name in ("b", "c", "a"):
        engine.create(name, "", NOW)
        engine.delete(name, NOW, f"wrcpt_{name}", actor="test")
    assert [each.id for each in engine.deleted_workspaces()] == ["c", "b", "a"]


def test_tokens_made_at_one_moment_are_listed_by_their_digest(engine: Engine) -> None:
    for digest in "hgfedcba":
        assert engine.tokens.add(Token(f"of {digest}", 64 * digest, (), True, NOW))
    assert [each.name for each in engine.tokens.all()] == [f"of {digest}" for digest in "abcdefgh"]


def test_tombstones_of_one_moment_are_listed_by_memory(store: Store) -> None:
    with store.collector.changing() as tx:
        tx.tombstones.add(
            [TombstoneRow(bytes([number]), NOW, f"mem_{uid}", "") for number, uid in enumerate(("b", "c", "a"))]
        )
    assert [each.memory_id for each in store.collector.tombstones()] == ["mem_a", "mem_b", "mem_c"]


# workspaces


def test_a_new_home_has_no_workspaces(engine: Engine) -> None:
    assert engine.workspaces() == []


def test_a_workspace_is_created_listed_and_deleted(engine: Engine) -> None:
    made = engine.create("beta", "the second", NOW)
    engine.create("alpha", "", NOW)
    assert made == Workspace("beta", "the second", NOW)
    assert [item.id for item in engine.workspaces()] == ["alpha", "beta"]
    engine.delete("beta", NOW, actor="test")
    assert [item.id for item in engine.workspaces()] == ["alpha"]
    with pytest.raises(UnknownWorkspace, match="'alpha'"):
        engine.open("beta")


def test_a_workspace_cannot_be_created_twice(engine: Engine) -> None:
    engine.create("alpha", "first", NOW)
    with pytest.raises(AlreadyExists, match="'alpha'"):
        engine.create("alpha", "second", NOW)
    assert engine.workspaces() == [Workspace("alpha", "first", NOW)]


def test_an_unknown_workspace_cannot_be_opened_or_deleted(engine: Engine) -> None:
    for act in (lambda: engine.open("alpha"), lambda: engine.delete("alpha", NOW, actor="test")):
        with pytest.raises(UnknownWorkspace, match="known workspaces: none yet"):
            act()
    assert engine.workspaces() == []


def test_the_first_write_creates_a_workspace_and_the_second_finds_it(engine: Engine) -> None:
    add(engine.open_or_create("alpha", NOW), new("one"), MODEL)
    add(engine.open_or_create("alpha", NOW + timedelta(days=1)), new("two"), MODEL)
    assert engine.workspaces() == [Workspace("alpha", "", NOW)]
    assert engine.open("alpha").stats().total_memories == 2


def test_a_workspace_deleted_and_made_anew_is_empty(engine: Engine, make_engine: Callable[[], Engine]) -> None:
    other = make_engine()
    add(engine.open_or_create("alpha", NOW), new("old"), MODEL)
    assert other.open("alpha").stats().total_memories == 1
    engine.delete("alpha", NOW, actor="test")
    engine.create("alpha", "new", NOW)
    for each in (engine, other, make_engine()):
        assert each.open("alpha").stats().total_memories == 0
        assert by_words(each.open("alpha"), "old") == []


def test_two_engines_on_one_home_see_each_other(engine: Engine, make_engine: Callable[[], Engine]) -> None:
    other = make_engine()
    add(engine.open_or_create("alpha", NOW), new("from one"), MODEL)
    add(other.open("alpha"), new("from other"), MODEL)
    assert sorted(search(engine.open("alpha"), "from")) == ["from one", "from other"]
    other.delete("alpha", NOW, actor="test")
    assert engine.workspaces() == []


def test_an_engine_that_was_closed_can_be_opened_again(engine: Engine) -> None:
    add(engine.open_or_create("alpha", NOW), new("kept"), MODEL)
    engine.close()
    assert engine.open("alpha").stats().total_memories == 1


# remembering


def test_an_unknown_memory_is_none(store: Store) -> None:
    assert store.memory("mem_nothing") is None


def test_seeing_a_twin_never_moves_its_time_back(store: Store) -> None:
    first = new("same")
    add(store, first, MODEL)
    assert touch(store, MemoryDraft("same"), NOW - timedelta(days=1)) == first.id
    memory = store.memory(first.id)
    assert memory is not None
    assert memory.last_seen_at == NOW


def test_the_first_vector_decides_the_model(store: Store) -> None:
    assert store.model() is None
    add(store, new("one"), MODEL)
    assert store.model() == MODEL
    with pytest.raises(ModelMismatch, match="memsweep workspace reembed"):
        add(store, new("two", vectors=(bytes(6),)), OTHER)
    assert store.stats().total_memories == 1
    assert store.model() == MODEL


def test_counts_and_sizes_are_told(store: Store) -> None:
    empty = store.stats()
    assert (empty.total_memories, empty.oldest, empty.newest, empty.model) == (0, None, None, None)
    assert empty.vector_bytes == 0
    add(store, new("one"), MODEL)
    add(store, new("two parts", vectors=(bytes(4), bytes(4)), now=NOW + timedelta(days=2)), MODEL)
    stats = store.stats()
    assert (stats.total_memories, stats.total_chunks, stats.stale_memories) == (2, 3, 0)
    assert (stats.oldest, stats.newest, stats.model) == (NOW, NOW + timedelta(days=2), MODEL)
    assert stats.database_bytes > 0
    assert stats.vector_bytes >= 3 * MODEL.dimension
    assert stats.workspace_id == store.workspace_id == "default"


# searching


def test_words_are_found_by_their_stem_and_without_accents(store: Store) -> None:
    add(store, new("The gardens were watered"), MODEL)
    add(store, new("un café à la plage"), MODEL)
    assert by_words(store, "watering garden") == ["The gardens were watered"]
    assert by_words(store, "CAFE") == ["un café à la plage"]


@pytest.mark.parametrize("query", ["京都", "ひら", "カナ", "ไทย", "蔵"])
def test_parts_of_unspaced_scripts_are_found(store: Store, query: str) -> None:
    add(store, new("私は京都でひらがなとカタカナを学び、地蔵を見た。ภาษาไทยด้วย"), MODEL)
    add(store, new("都京 逆さま"), MODEL)
    assert by_words(store, query) == ["私は京都でひらがなとカタカナを学び、地蔵を見た。ภาษาไทยด้วย"]


def test_more_and_rarer_words_score_higher(store: Store) -> None:
    for number in range(20):
        add(store, new(f"the apple number {number}"), MODEL)
    add(store, new("the apple and the pear"), MODEL)
    found = store.candidates("apple pear", vector(-1, -1, -1, -1), Filters(), 50)
    best = max(found, key=lambda item: item.words)
    assert text_of(store, best.key) == "the apple and the pear"
    assert all(item.words > 0 for item in found)


def test_meaning_is_the_cosine_of_the_vectors(store: Store) -> None:
    add(store, new("along", vectors=(vector(10, 0, 0, 0),)), MODEL)
    add(store, new("longer", vectors=(vector(120, 0, 0, 0),)), MODEL)
    add(store, new("across", vectors=(vector(0, 10, 0, 0),)), MODEL)
    add(store, new("half", vectors=(vector(10, 10, 0, 0),)), MODEL)
    found = store.candidates("zzz", vector(50, 0, 0, 0), Filters(), 10)
    texts = {text_of(store, item.key): round(item.similarity, 3) for item in found}
    assert texts == {"along": 1.0, "longer": 1.0, "half": 0.707}


def test_not_more_than_the_depth_of_each_kind(store: Store) -> None:
    for number in range(30):
        add(store, new(f"apple {number}", vectors=(vector(1, number, 0, 0),)), MODEL)
    assert len(store.candidates("zzz", vector(1, 0, 0, 0), Filters(), 7)) == 7
    assert len(store.candidates("apple", vector(-1, -1, 0, 0), Filters(), 7)) == 7
    assert 7 <= len(store.candidates("apple", vector(1, 0, 0, 0), Filters(), 7)) <= 14


def test_filters_choose(store: Store) -> None:
    add(store, new("apple one", tags=("a", "b"), source="chat"), MODEL)
    add(store, new("apple two", tags=("a",), now=NOW + timedelta(days=1)), MODEL)
    assert search(store, "apple", tags=("a", "b")) == ["apple one"]
    assert sorted(search(store, "apple", tags=("a",))) == ["apple one", "apple two"]
    assert search(store, "apple", source="chat") == ["apple one"]
    assert search(store, "apple", date_from=NOW + timedelta(hours=1)) == ["apple two"]
    assert search(store, "apple", date_to=NOW) == ["apple one"]
    assert search(store, "apple", tags=("a",), source="chat", date_from=NOW, date_to=NOW) == ["apple one"]
    assert search(store, "apple", tags=("c",)) == []
    newest = store.chunks(Filters(tags=("a",)), limit=10)
    assert [text_of(store, key) for key in newest] == ["apple two", "apple one"]


def test_the_newest_come_last_added_first(store: Store) -> None:
    for number in range(5):
        add(store, new(f"note {number}"), MODEL)
    newest = store.chunks(Filters(), limit=3)
    assert [text_of(store, key) for key in newest] == ["note 4", "note 3", "note 2"]


def test_turns_of_a_thread_stand_next_to_each_other(store: Store) -> None:
    for turn in ("one", "two", "three"):
        add(store, new(turn, thread_id="talk"), MODEL)
        add(store, new(f"{turn} elsewhere", thread_id="other"), MODEL)
    (middle,) = [item for item in _candidates(store, "two") if text_of(store, item.key) == "two"]
    assert middle.place is not None
    around = store.chunks(Filters(), at=[middle.place + step for step in (-2, -1, 1, 2)])
    texts = {place - middle.place: text_of(store, key) for key, place in around.items() if place is not None}
    assert texts == {-1: "one", 1: "three"}


def test_a_long_memory_is_an_order_of_its_own_and_a_short_one_is_none(store: Store) -> None:
    add(store, new("one two ten", vectors=(bytes(4),) * 3), MODEL)
    add(store, new("short"), MODEL)
    found = {text_of(store, item.key): item.place for item in _candidates(store, "one two ten short")}
    assert found.pop("short") is None
    places = [found[part] for part in ("one ", "two ", "ten")]
    stands = [stream_and_position(place) for place in places if place is not None]
    assert [position for _, position in stands] == [0, 1, 2]
    assert len({stream for stream, _ in stands}) == 1


def test_places_respect_the_filters(store: Store) -> None:
    add(store, new("one", thread_id="t", tags=("a",)), MODEL)
    add(store, new("two", thread_id="t"), MODEL)
    (first,) = [item for item in _candidates(store, "one") if item.words > 0]
    assert first.place is not None
    beside = [first.place + 1]
    assert list(store.chunks(Filters(), at=beside).values()) == beside
    assert store.chunks(Filters(tags=("a",)), at=beside) == {}


def _candidates(store: Store, query: str) -> list[Candidate]:
    return store.candidates(query, vector(-1, -1, -1, -1), Filters(), 50)


def test_a_passage_says_where_it_stands(store: Store) -> None:
    written = new("first\nsecond", vectors=(bytes(4), bytes(4)), tags=("a",), source="s", thread_id="t", pinned=True)
    add(store, written, MODEL)
    keys = list(store.chunks(Filters(), limit=10))
    passages = views.passages(store.rows, keys)
    assert {passage.chunk_id for passage in passages.values()} == {chunk.id for chunk in written.chunks}
    for passage in passages.values():
        assert (passage.memory_id, passage.tags, passage.source) == (written.id, ("a",), "s")
        assert (passage.thread_id, passage.pinned, passage.stale, passage.created_at) == ("t", True, False, NOW)
    assert views.passages(store.rows, [10**9]) == {}
    assert views.passages(store.rows, []) == {}


def text_of(store: Store, key: int) -> str:
    return views.passages(store.rows, [key])[key].text


def test_matched_words_are_those_of_the_query() -> None:
    found = matched("The Watering of gardens 東京", ["gardens watered", "東京都", "nothing", ""])
    assert found == [("watering", "gardens"), ("東京",), (), ()]


# re-embedding


def no_embedder(texts: Sequence[str]) -> list[bytes]:
    raise AssertionError("nothing should be embedded")


def test_a_new_model_takes_over_when_every_chunk_has_its_vector(store: Store) -> None:
    for number in range(5):
        add(store, new(f"note {number}"), MODEL)
    assert store.keeper.switch(OTHER, no_embedder, 0) == 5
    assert store.model() == MODEL
    first = store.keeper.unstaged(OTHER, 3)
    assert [text for _, text in first] == ["note 0", "note 1", "note 2"]
    store.keeper.stage([(key, bytes(6)) for key, _ in first], OTHER)
    assert store.keeper.switch(OTHER, no_embedder, 1) == 2
    add(store, new("came meanwhile"), MODEL)
    rest = store.keeper.unstaged(OTHER, 100)
    assert [text for _, text in rest] == ["note 3", "note 4", "came meanwhile"]
    store.keeper.stage([(key, vector(1, 0, 0, 0, 0, 0)) for key, _ in rest], OTHER)
    assert store.keeper.switch(OTHER, no_embedder, 0) == 0
    assert store.model() == OTHER
    found = store.candidates("zzz", vector(1, 0, 0, 0, 0, 0), Filters(), 10)
    texts = {text_of(store, item.key) for item in found}
    assert texts == {"note 3", "note 4", "came meanwhile"}
    with pytest.raises(ModelMismatch):
        add(store, new("late"), MODEL)


def test_the_last_few_are_embedded_by_the_switch(store: Store) -> None:
    for number in range(5):
        add(store, new(f"note {number}"), MODEL)
    first = store.keeper.unstaged(OTHER, 3)
    store.keeper.stage([(key, bytes(6)) for key, _ in first], OTHER)
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> list[bytes]:
        asked.extend(texts)
        return [bytes(6) for _ in texts]

    assert store.keeper.switch(OTHER, embed, 2) == 0
    assert asked == ["note 3", "note 4"]
    assert store.model() == OTHER


def test_a_switch_whose_embedder_fails_changes_nothing(store: Store) -> None:
    add(store, new("note"), MODEL)

    def embed(texts: Sequence[str]) -> list[bytes]:
        raise EmbedderError("down")

    with pytest.raises(EmbedderError):
        store.keeper.switch(OTHER, embed, 1)
    assert store.model() == MODEL
    assert search(store, "note") == ["note"]


def test_a_query_of_another_dimension_is_refused(store: Store) -> None:
    add(store, new("note"), MODEL)
    with pytest.raises(ModelMismatch):
        store.candidates("note", bytes(6), Filters(), 10)


def test_a_stage_of_another_model_is_thrown_away(store: Store) -> None:
    add(store, new("note"), MODEL)
    ((key, _),) = store.keeper.unstaged(OTHER, 10)
    store.keeper.stage([(key, bytes(6))], OTHER)
    third = EmbeddingModel("third", 8)
    assert store.keeper.switch(third, no_embedder, 0) == 1
    assert store.keeper.switch(OTHER, no_embedder, 0) == 1


def test_an_empty_workspace_takes_any_model_at_once(store: Store) -> None:
    assert store.keeper.switch(OTHER, no_embedder, 0) == 0
    assert store.model() == OTHER


# rows


def values(store: Store, row: type[object], *columns: str, where: tuple[Where, ...] = (), bin: Bin = "live") -> object:
    with store.collector.changing() as tx:
        (found,) = tx.rows.ask(Values(row, columns, where, bin))
        return sorted(map(tuple, found))


def keys(store: Store, row: type[object], *where: Where, bin: Bin = "live") -> list[int]:
    with store.collector.reading() as reads:
        (found,) = reads.rows.ask(Values(row, ("key",), where, bin))
        return sorted(key for (key,) in found)


def test_what_moves_to_the_trash_and_back_takes_its_words_along(store: Store) -> None:
    add(store, new("Ada wrote about engines."), MODEL)
    add(store, new("Grace wrote about compilers."), MODEL)
    memory, _ = keys(store, MemoryRow)
    chunk, _ = keys(store, ChunkRow)
    with store.collector.changing() as tx:
        tx.rows.move(MemoryRow, {memory: 7})
        tx.rows.move(ChunkRow, {chunk: 7})
    assert by_words(store, "engines wrote") == ["Grace wrote about compilers."]
    assert (keys(store, MemoryRow, bin="trash"), memory in keys(store, MemoryRow)) == ([memory], False)
    with store.collector.changing() as tx:
        tx.rows.move(MemoryRow, {memory: 8}, bin="trash")
        tx.rows.move(ChunkRow, {chunk: 8}, bin="trash")
    assert keys(store, ChunkRow, ("trash", "=", 8), bin="trash") == [chunk]
    with store.collector.changing() as tx:
        tx.rows.ask(Values(MemoryRow, ("key", "trash"), (("trash", "=", 8),), "trash"))
        tx.rows.move(MemoryRow, {memory: None})
        tx.rows.move(ChunkRow, {chunk: None})
    assert by_words(store, "engines")[0] == "Ada wrote about engines."
    assert search(store, "engines")[0] == "Ada wrote about engines."
    assert not keys(store, ChunkRow, bin="trash")


def test_a_relation_moves_with_all_that_it_has(store: Store) -> None:
    ada, engines = NamedThing("Ada"), NamedThing("engines")
    mentions = (NewMention("ent_1", ada, (0,), True), NewMention("ent_2", engines, (0,), True))
    fact = NewFact("rel_1", Fact(ada, "wrote_about", engines))
    add(store, new("Ada wrote about engines.", mentions=mentions, facts=(fact,)), MODEL)
    (relation,) = keys(store, RelationRow)
    said = "id", "relation", "weight", "version"
    before = values(store, RelationRow, *said)
    with store.collector.changing() as tx:
        tx.rows.move(RelationRow, {relation: 7})
    assert values(store, RelationRow, "key", "trash", bin="trash") == [(relation, 7)]
    with store.collector.changing() as tx:
        tx.rows.move(RelationRow, {relation: 9}, bin="trash")
    assert values(store, RelationRow, "key", "trash", bin="trash") == [(relation, 9)]
    with store.collector.changing() as tx:
        tx.rows.move(RelationRow, {relation: None})
    assert values(store, RelationRow, *said) == before


@pytest.mark.parametrize("bin", ["live", "trash", "any"])
def test_what_is_freed_is_found_no_more(store: Store, bin: Bin) -> None:
    add(store, new("Ada wrote about engines."), MODEL)
    add(store, new("Grace wrote about engines."), MODEL)
    memory, _ = keys(store, MemoryRow)
    chunk, _ = keys(store, ChunkRow)
    if bin == "trash":
        with store.collector.changing() as tx:
            tx.rows.move(ChunkRow, {chunk: 7})
            tx.rows.move(MemoryRow, {memory: 7})
    with store.collector.changing() as tx:
        tx.rows.free(ChunkRow, ("key", "in", [chunk]), bin=bin)
        tx.rows.free(MemoryRow, ("key", "in", [memory]), bin=bin)
    assert by_words(store, "engines") == ["Grace wrote about engines."]
    assert len(search(store, "Ada")) == 1
    assert not keys(store, MemoryRow, ("key", "=", memory), bin="any")
    assert store.stats().total_chunks == 1


def test_a_change_of_words_and_tags_is_found(store: Store) -> None:
    add(store, new("Ada wrote about engines.", tags=("old",)), MODEL)
    (memory,), (chunk,) = keys(store, MemoryRow), keys(store, ChunkRow)
    with store.collector.changing() as tx:
        tx.rows.change(ChunkRow, ("text", "words"), {chunk: ("Ada wrote about compilers.", "poetry")})
        tx.rows.change(MemoryRow, ("tags",), {memory: (("new", "other"),)})
    assert by_words(store, "engines") == []
    assert by_words(store, "compilers") == by_words(store, "poetry") == ["Ada wrote about compilers."]
    assert search(store, "compilers", tags=("new",)) == ["Ada wrote about compilers."]
    assert search(store, "compilers", tags=("old",)) == []


def test_a_new_chunk_is_found_by_its_words(store: Store) -> None:
    add(store, new("Ada wrote about engines."), MODEL)
    with store.collector.changing() as tx:
        (chunk,) = tx.rows.find(ChunkRow)
        (key,) = tx.rows.add([chunk._replace(id="chk_more", position=1, text="And about poetry.")])
    assert key > chunk.key
    assert by_words(store, "poetry") == ["And about poetry."]
