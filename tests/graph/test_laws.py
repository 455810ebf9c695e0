"""Laws of the graph in a store: time may be cut, reordered, turned back or told in another zone; a failure leaves
nothing; weights stay shares.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import make_app
from memsweep.clock import new_id
from memsweep.errors import MemsweepError
from memsweep.graph import facts
from memsweep.graph.batch import many_relations
from memsweep.graph.carrying import dump
from memsweep.graph.facts import GraphDependencies
from memsweep.model.decay import Rates, age_days, faded
from memsweep.settings import load_settings
from tests.support.counts import rounds
from tests.support.engines import Home, on_every_engine

START = datetime(2026, 1, 1, tzinfo=UTC)
SHARES = st.floats(0, 1)
SPANS = st.lists(st.floats(0, 400), min_size=1, max_size=8)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
NAMES = st.sampled_from(["Ada", "Bob", "Carol"])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["relate", "mention", "confirm", "correct", "read"]), st.floats(-50, 400), SHARES, NAMES, NAMES
    ),
    max_size=12,
)


@contextmanager
def graph(kind, folder) -> Iterator[Callable[[datetime], GraphDependencies]]:
    """An empty graph and a hand on its clock: `tools(moment)` is the graph at that moment."""
    home = Home(kind, folder)
    app = make_app(load_settings(home.variables))
    try:
        store = app.engine.open_or_create("w", START)

        def at(moment):
            return GraphDependencies(store.graph, "test", lambda: moment, new_id)

        yield at
    finally:
        app.close()
        home.close()


def weight_at(tools):
    survey, _ = tools.survey()
    return [edge.weight for edge in survey.edges]


@given(SHARES, st.floats(0.9, 1), SPANS)
def test_fading_over_any_split_of_time_is_fading_over_the_whole(base, rate, spans):
    left = base
    for span in spans:
        left = faded(left, rate, span)
    assert left == pytest.approx(faded(base, rate, math.fsum(spans)), abs=1e-9)


@given(SHARES, st.floats(0.9, 1), st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), ZONES, ZONES)
def test_the_zone_in_which_a_time_is_told_changes_nothing(base, rate, moment, one, other):
    then, later = moment.replace(tzinfo=UTC), moment.replace(tzinfo=UTC) + timedelta(days=30)
    plain = faded(base, rate, age_days(then, later))
    assert faded(base, rate, age_days(then.astimezone(one), later.astimezone(other))) == plain


@on_every_engine
@settings(max_examples=rounds(8, 15))
@given(st.lists(st.floats(-30, 900), min_size=1, max_size=6), st.randoms(), ZONES)
def test_readings_in_any_order_and_any_zone_leave_the_graph_as_it_was(
    tmp_path_factory, engine_kind, days, chance, zone
):
    with graph(engine_kind, tmp_path_factory.mktemp("law")) as at:
        batch = many_relations({"entities": [{"name": "A"}, {"name": "B"}], "relations": [_edge("A", "B", 0.7)]})
        facts.relate(at(START), batch)
        before = dump(at(START).store)
        nights = [START + timedelta(days=day) for day in days]
        once = [weight_at(at(night)) for night in nights]
        shuffled = list(range(len(nights)))
        chance.shuffle(shuffled)
        again = {number: weight_at(at(nights[number].astimezone(zone))) for number in shuffled}
        assert [again[number] for number in range(len(nights))] == once
        assert dump(at(START).store) == before
        for night, (weight,) in zip(nights, once, strict=True):  # a clock that went back makes nothing stronger
            assert weight == pytest.approx(0.7 * Rates().edge ** max(0.0, (night - START) / timedelta(days=1)))


@on_every_engine
@settings(max_examples=rounds(7, 25))
@given(STEPS)
def test_whatever_happens_weights_stay_shares_and_no_clock_goes_back(tmp_path_factory, engine_kind, steps):
    with graph(engine_kind, tmp_path_factory.mktemp("law")) as at:
        moment, latest = START, {}
        for kind, days, amount, one, other in steps:
            moment += timedelta(days=days)
            tools = at(moment)
            if kind in ("relate", "mention"):
                fact = {**_edge(one, other, amount)}
                batch = many_relations({"entities": [{"name": name} for name in {one, other}], "relations": [fact]})
                draft = batch.relations[0]
                mention = type(draft)(draft.subject, draft.relation, draft.object, amount, mention=kind == "mention")
                facts.relate(tools, type(batch)(batch.entities, (mention,)))
            elif kind in ("confirm", "correct"):
                try:
                    changed = facts.reinforce(tools, one, other, "R", kind, amount, "")
                except MemsweepError:
                    continue
                assert 0 <= changed.new_weight <= 1
                growth = changed.new_weight - changed.old_weight
                assert growth >= -1e-9 if kind == "confirm" else growth <= 1e-9
            survey, _ = tools.survey()
            for edge in survey.edges:
                assert 0 <= edge.weight <= 1
                assert edge.last_seen >= latest.get(edge.id, edge.last_seen)
                latest[edge.id] = edge.last_seen
            assert all(0 <= entity.confidence <= 1 for entity in survey.entities)


@on_every_engine
@settings(max_examples=rounds(7, 25))
@given(st.integers(0, 6), st.lists(st.tuples(NAMES, NAMES, SHARES), min_size=1, max_size=6))
def test_a_batch_that_fails_anywhere_leaves_nothing(tmp_path_factory, engine_kind, place, told):
    with graph(engine_kind, tmp_path_factory.mktemp("law")) as at:
        facts.relate(at(START), many_relations({"entities": [{"name": "Ada"}], "relations": []}))
        before = dump(at(START).store)
        relations = [_edge(one, other, weight) for one, other, weight in told]
        relations.insert(min(place, len(relations)), _edge("Ada", "nobody", 1.0))
        entities = [{"name": name} for name in ("Ada", "Bob", "Carol")]
        later = at(START + timedelta(days=9))
        with pytest.raises(MemsweepError, match="nobody"):
            facts.relate(later, many_relations({"entities": entities, "relations": relations}))
        assert dump(at(START).store) == before


def _edge(one, other, weight):
    return {"from": one, "to": other, "relation": "R", "weight": weight}
