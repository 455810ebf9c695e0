"""Segments: what is accepted, and the JSON form both ways."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from memsweep.context import segment_from_dict, segments_from_json, segments_to_json
from memsweep.errors import BadInput
from tests.context.build import NOW, segment, segment_lists


@given(segment_lists())
def test_json_out_and_in_is_the_identity(segments):
    assert segments_from_json(segments_to_json(segments), now=NOW) == segments


def test_a_short_form_gets_its_defaults_from_the_caller():
    read = segment_from_dict({"segment_id": "a", "text": "one two"}, now=NOW, count=lambda text: len(text.split()))
    assert (read.type, read.created_at, read.last_touched_at, read.tokens) == ("message", NOW, NOW, 2)


def test_tokens_that_nobody_counted_are_estimated():
    assert segment("a", "x" * 41).tokens == 11


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"text": "x"}, "segment_id"),
        ({"segment_id": "a"}, "text"),
        ({"segment_id": "", "text": "x"}, "needs an id"),
        ({"segment_id": "a", "text": "x", "type": "poem"}, "poem"),
        ({"segment_id": "a", "text": "x", "role": "king"}, "king"),
        ({"segment_id": "a", "text": "x", "generation": "middle"}, "middle"),
        ({"segment_id": "a", "text": "x", "colour": "red"}, "colour"),
        ({"segment_id": "a", "text": "x", "tags": "one"}, "tags"),
        ({"segment_id": "a", "text": "x", "references": [1]}, "references"),
        ({"segment_id": "a", "text": "x", "line_range": [3]}, "line_range"),
        ({"segment_id": "a", "text": "x", "line_range": [9, 3]}, "line_range"),
        ({"segment_id": "a", "text": "x", "tokens": "many"}, "tokens"),
        ({"segment_id": "a", "text": "x", "created_at": "soon"}, "created_at 'soon' is not a date"),
        ({"segment_id": "a", "text": "x", "created_at": 7}, "created_at must be an ISO 8601"),
    ],
)
def test_what_is_no_segment_is_refused_by_name(values, complaint):
    with pytest.raises(BadInput, match=complaint):
        segment_from_dict(values, now=NOW)


def test_a_thousand_unknown_fields_are_not_all_repeated():
    with pytest.raises(BadInput) as refused:
        segment_from_dict({"segment_id": "s", "text": "x", **{f"f{number}": 1 for number in range(1000)}}, now=NOW)
    assert "has no field f0, f1" in str(refused.value)
    assert len(str(refused.value)) < 220


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"segments": 3}', '{"segments": ["a"]}'])
def test_what_is_not_the_json_form_is_refused(text):
    with pytest.raises(BadInput):
        segments_from_json(text, now=NOW)


def test_times_of_any_zone_are_read_as_utc():
    read = segment_from_dict({"segment_id": "a", "text": "x", "created_at": "2026-05-01T14:00:00+02:00"}, now=NOW)
    assert read.created_at == NOW
    assert read.created_at.tzname() == "UTC"


@pytest.mark.parametrize("name", ["created_at", "last_touched_at"])
def test_a_time_without_a_zone_is_utc_as_everywhere(name):
    for said in ("2026-05-01", "2026-05-01T00:00:00", "2026-05-01T02:00:00+02:00", datetime(2026, 5, 1)):
        read = segment_from_dict({"segment_id": "a", "text": "x", name: said}, now=NOW)
        assert getattr(read, name) == datetime(2026, 5, 1, tzinfo=UTC)
        assert getattr(read, name).utcoffset() == timedelta(0)


@pytest.mark.parametrize("name", ["created_at", "last_touched_at"])
def test_a_segment_itself_has_aware_times(name):
    with pytest.raises(BadInput, match=name):
        segment("a", **{name: datetime(2026, 5, 1)})


@pytest.mark.parametrize(
    ("field", "known"),
    [
        ("type", "message, code, log, note, decision, summary"),
        ("role", "system, user, assistant, tool"),
        ("generation", "young, old"),
    ],
)
def test_a_value_that_is_not_known_is_answered_with_those_that_are(field: str, known: str) -> None:
    with pytest.raises(BadInput) as refused:
        segment_from_dict({"segment_id": "a", "text": "x", field: "chat" * 40}, now=NOW)
    assert refused.value.hint == f"Use one of: {known}."
    assert len(str(refused.value)) < 200
