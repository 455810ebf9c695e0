"""The law of fading."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.model.decay import DEFAULT_RATES, Rates, age_days, confirmed, corrected, faded

SHARES = st.floats(0, 1)
RATES = st.floats(0.9, 1)
DAYS = st.floats(0, 5000)
THEN = datetime(2026, 1, 1, tzinfo=UTC)

# The documented rates, and one that is not named there.
DOCUMENTED_RATES = {
    "Person": 0.998,
    "Project": 0.995,
    "Preference": 0.999,
    "Concept": 0.999,
    "Decision": 0.997,
    "Fact": 0.996,
    "Event": 0.993,
    "Object": 0.996,
}


@pytest.mark.parametrize(("kind", "rate"), DOCUMENTED_RATES.items())
def test_the_rates_are_those_of_the_table_whatever_the_case(kind, rate):
    assert Rates().of(kind) == Rates().of(kind.upper()) == rate


def test_a_rule_never_fades():
    assert faded(0.7, Rates().of("Rule"), 10_000) == 0.7


def test_every_rate_is_a_share():
    assert all(0 < rate <= 1 for rate in DEFAULT_RATES.values())


def test_thirty_nightly_readings_leave_what_one_leaves():
    nightly = [faded(1.0, Rates().edge, night) for night in range(1, 31)]
    assert nightly[-1] == faded(1.0, Rates().edge, 30) == pytest.approx(0.914, abs=0.001)


@given(SHARES, RATES, st.floats(-1000, 5000), SHARES)
def test_weights_stay_shares(base, rate, days, amount):
    for value in (faded(base, rate, days), confirmed(base, rate, days, amount), corrected(base, rate, days, amount)):
        assert 0 <= value <= 1


@given(SHARES, RATES, DAYS, SHARES)
def test_a_correction_lowers_what_counts_now_and_keeps_the_clock(base, rate, days, loss):
    before = faded(base, rate, days)
    after = faded(corrected(base, rate, days, loss), rate, days)
    assert after == pytest.approx(max(0.0, before - loss), abs=1e-9)


def test_a_clock_that_went_backwards_makes_nothing_stronger():
    assert age_days(THEN, THEN - timedelta(days=3)) == 0
    assert faded(0.5, 0.9, -3) == 0.5
