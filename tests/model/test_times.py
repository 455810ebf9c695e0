from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.errors import BadInput
from memsweep.model.times import from_micros, iso, parse_time, to_micros
from memsweep.settings import load_settings

TOKYO = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-03-31", datetime(2026, 3, 31, tzinfo=UTC)),
        ("20260331", datetime(2026, 3, 31, tzinfo=UTC)),
        ("2026-W14-2", datetime(2026, 3, 31, tzinfo=UTC)),
        ("2026-03-31T18:00:00Z", datetime(2026, 3, 31, 18, tzinfo=UTC)),
        ("2026-03-31T18:00", datetime(2026, 3, 31, 18, tzinfo=UTC)),
        ("2026-03-31 18:00:00+09:00", datetime(2026, 3, 31, 9, tzinfo=UTC)),
        ("2026-03-31T18:00:00.123456-05:30", datetime(2026, 3, 31, 23, 30, 0, 123456, UTC)),
        ("  2026-03-31T18:00:00Z  ", datetime(2026, 3, 31, 18, tzinfo=UTC)),
        ("0001-01-01", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime.max.replace(tzinfo=UTC)),
        (datetime(2026, 3, 31, 18), datetime(2026, 3, 31, 18, tzinfo=UTC)),
        (datetime(2026, 3, 31, 18, tzinfo=TOKYO), datetime(2026, 3, 31, 9, tzinfo=UTC)),
    ],
    ids=str,
)
def test_a_date_or_time_is_read_as_utc(written: object, meant: datetime) -> None:
    read = parse_time(written, "date_from")
    assert read == meant
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize("written", ["2026-03-31", "20260331", "2026-W14-2"])
def test_a_bare_date_may_mean_its_last_instant(written: str) -> None:
    assert parse_time(written, "date_to", end_of_day=True) == datetime(2026, 3, 31, 23, 59, 59, 999999, UTC)


def test_a_time_is_never_moved_to_the_end_of_its_day() -> None:
    assert parse_time("2026-03-31T18:00:00Z", "date_to", end_of_day=True) == datetime(2026, 3, 31, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        "",
        "yesterday",
        "2026-02-30",
        "2026-13-01",
        "2025-02-29",
        "2026-03-31T25:00:00Z",
        "2026-03-31T18:61:00Z",
        "0000-01-01",
        "10000-01-01",
        "2026-03-31T18:00:00+99:00",
        "31.03.2026",
        "1774980000",
        "2026-03-31\0",
        "\ud800",
        "２０２６-03-31",
        "0001-01-01T00:00:00+09:00",
        "9999-12-31T23:59:59-09:00",
        5,
        1774980000.5,
        True,
        ["2026-03-31"],
        datetime(1, 1, 1, tzinfo=TOKYO),
    ],
    ids=ascii,
)
def test_an_impossible_date_is_refused_by_name(written: object) -> None:
    with pytest.raises(BadInput, match="expires_at") as caught:
        parse_time(written, "expires_at")
    assert len(str(caught.value)) < 300


@given(st.text())
def test_any_text_is_a_time_or_a_clear_refusal(text: str) -> None:
    with suppress(BadInput):
        assert parse_time(text, "date_from").utcoffset() == timedelta(0)


@given(st.datetimes(timezones=st.just(UTC)))
def test_micros_and_iso_lose_nothing(moment: datetime) -> None:
    assert from_micros(to_micros(moment)) == moment
    assert parse_time(iso(moment), "x") == moment


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.timezones()))
def test_a_zone_changes_how_a_moment_is_written_but_not_the_moment(moment: datetime) -> None:
    assert parse_time(moment, "x") == moment.astimezone(UTC)
    assert iso(moment).endswith("Z")


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_micros_keep_the_order_of_moments(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_a_clock_at_the_end_of_the_calendar_breaks_nothing(home: Path, moment: datetime) -> None:
    with closing(App(load_settings({"MEMSWEEP_HOME": str(home)}), clock=lambda: moment)) as app:
        memory = app.memory("notes")
        added = memory.remember("Ada uses Postgres.", entities=["Ada"])
        assert memory.search("Postgres").hits
        assert memory.sweep.plan("expired", ttl_days=365_000).item_count == 0
        receipt = memory.delete(added.memory_id, confirm=True)
        assert memory.sweep.purge(365_000, confirm=True).receipts == ()
        assert memory.sweep.undo(receipt.id).totals.memories == 1
