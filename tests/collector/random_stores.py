"""Hypothesis makes stores: cycles, shared entities, pins, explicit facts, two repositories, threads, strays."""

from hypothesis import strategies as st

from tests.collector.stores import Link, Note, StoreSpec, Thing

_AGES = st.sampled_from([0.5, 2.0, 10.0, 40.0, 400.0])
_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")


@st.composite
def notes(draw: st.DrawFn, number: int) -> Note:
    is_code = draw(st.booleans())
    text = " ".join(draw(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12))) + f" {number}"
    return Note(
        text=text,
        path=f"src/m{number}.py" if is_code else None,
        root=draw(st.integers(0, 1)),
        stale=is_code and draw(st.booleans()),
        pinned=draw(st.integers(0, 4)) == 0,
        age_days=draw(_AGES),
        seen_days=draw(st.none() | _AGES),
        never_seen=draw(st.integers(0, 5)) == 0,
        expires_days=draw(st.none() | st.sampled_from([-3.0, 3.0])),
        thread=draw(st.sampled_from([None, None, "talk", "walk"])),
        chunks=draw(st.sampled_from([1, 1, 2, 3, 0])),
        tags=tuple(draw(st.lists(st.sampled_from(["red", "blue"]), unique=True))),
    )


@st.composite
def things(draw: st.DrawFn, number: int) -> Thing:
    return Thing(
        name=f"Thing {number}",
        type=draw(st.sampled_from(["Concept", "Concept", "Concept", "Rule"])),
        pinned=draw(st.integers(0, 7)) == 0,
        explicit=draw(st.integers(0, 5)) == 0,
        age_days=draw(_AGES),
    )


@st.composite
def random_stores(draw: st.DrawFn, most_notes: int = 6, most_things: int = 9, *, closed: bool = False) -> StoreSpec:
    """With `closed`, some facts have been replaced by others."""
    note_count = draw(st.integers(0, most_notes))
    thing_count = draw(st.integers(0, most_things))
    some_notes = st.integers(0, note_count - 1) if note_count else st.nothing()
    some_things = st.integers(0, thing_count - 1) if thing_count else st.nothing()
    mentions = st.lists(st.tuples(some_notes, st.integers(0, 2), some_things), max_size=10, unique=True)
    links = st.lists(
        st.builds(
            Link,
            subject=some_things,
            object=some_things,
            relation=st.sampled_from(["knows", "calls"]),
            explicit=st.integers(0, 4).map(lambda n: n == 0),
            sources=st.lists(some_notes, max_size=2).map(tuple) if note_count else st.just(()),
            weight=st.sampled_from([None, 0.0, 1.0]),
            closed=st.integers(0, 3).map(lambda n: n == 0) if closed else st.just(False),
        ),
        max_size=14,
    )
    strays = st.lists(
        st.lists(some_things, max_size=2, unique=True).map(tuple) if thing_count else st.just(()), max_size=2
    )
    return StoreSpec(
        notes=tuple(draw(notes(number)) for number in range(note_count)),
        things=tuple(draw(things(number)) for number in range(thing_count)),
        links=tuple(draw(links)) if thing_count else (),
        mentions=tuple(draw(mentions)) if note_count and thing_count else (),
        strays=tuple(draw(strays)),
    )
