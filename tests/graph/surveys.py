"""Small graphs for the pure decisions, and values for their laws."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from memsweep.model.decay import kept
from memsweep.model.graph import Edge, Entity, ExportedEntity, ExportedRelation, GraphDump, GraphSurvey
from memsweep.model.text import name_key

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def survey(facts, *, types=None, alone=(), weight=1.0, ended=(), seen_days_ago=0):
    """Facts as (subject, relation, object) names; `ended` are facts that do not hold any more."""
    types = types or {}
    keys = {}
    for subject, _, target in [*facts, *ended]:
        for name in (subject, target):
            keys.setdefault(name, len(keys) + 1)
    for name in alone:
        keys.setdefault(name, len(keys) + 1)
    seen = NOW - timedelta(days=seen_days_ago)
    entities = tuple(
        Entity(key, f"ent_{key}", name, types.get(name, "Concept"), 1.0, 1.0, seen, False, 0, 0)
        for name, key in keys.items()
    )
    told = [(fact, None) for fact in facts] + [(fact, NOW - timedelta(days=1)) for fact in ended]
    edges = tuple(
        Edge(f"rel_{number}", keys[subject], keys[target], relation, weight, seen, NOW - timedelta(days=90), until)
        for number, ((subject, relation, target), until) in enumerate(told)
    )
    return GraphSurvey(entities, edges)


_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)
_SHARES = st.floats(0, 1).map(kept)
_TIMES = st.datetimes(datetime(1970, 1, 2), datetime(9990, 1, 1), timezones=st.just(UTC))
_LETTERS = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=12, max_size=12)


@st.composite
def dumps(draw):
    """Any graph that a store can hold."""
    things = draw(
        st.lists(
            st.builds(
                ExportedEntity,
                _LETTERS.map("ent_{}".format),
                _TEXT,
                _TEXT,
                _SHARES,
                st.booleans(),
                st.booleans(),
                _TIMES,
                _TIMES,
                st.none(),
            ),
            max_size=6,
            unique_by=(lambda row: row.id, lambda row: (name_key(row.name), name_key(row.type))),
        )
    )
    if not things:
        return GraphDump((), ())
    ends = st.sampled_from([row.id for row in things])
    facts = draw(
        st.lists(
            st.builds(
                ExportedRelation,
                _LETTERS.map("rel_{}".format),
                ends,
                ends,
                _TEXT,
                st.none() | _SHARES,
                st.integers(0, 10**6),
                st.booleans(),
                _TIMES,
                _TIMES,
                st.none() | _TIMES,
                st.none() | _TIMES,
            ),
            max_size=8,
            unique_by=(
                lambda row: row.id,
                lambda row: (row.source, name_key(row.relation), row.target, row.invalid_at),
            ),
        )
    )
    return GraphDump(tuple(things), tuple(facts))
