"""A label is not a setting: only the same subject with another value is a change, and what is uncertain is not."""

import pytest

from memsweep.context.supersede import find_replacements
from tests.context.build import segment

CHANGES = [
    ("The timeout is 30 seconds", "The timeout is 60 seconds"),
    ("The timeout is 30 seconds.", "OK, the timeout is now 60 seconds."),
    ("The timeout was 30 seconds", "The timeout is 60 seconds"),
    ("The timeout is 30 seconds", "The timeout was raised to 60 seconds"),
    ("my daily quota is 1000 calls", "my daily quota is now 1200 calls"),
    ("My daily quota is 1000 calls", "my daily quota has been increased to 1200 calls, up from 1000 calls"),
    ("Our budget is $5,000", "Our budget is $6,500"),
    ("The deploy day is Thursday", "The deploy day is Friday"),
    ("The retention period is 30 days", "The retention period is 90 days, not 30"),
    ("The feature flag is on", "The feature flag is off"),
    ("Our release date is March 3", "Our release date is April 10"),
    ("the error rate is 5%", "the error rate is 2%"),
    ("My rent is €900 a month", "My rent is €950 a month"),
    ("The retry limit is 3. Keep it low.", "We talked. The retry limit is 5."),
    ("The cluster has 3 nodes", "The cluster has 5 nodes"),
]
LINES_CHANGED = [
    ("port: 8080", "port: 9090"),
    ("Port: 8080", "port = 9090"),
    ("timeout: 30 seconds", "timeout: 60 seconds"),
    ("- max retries: 3", "- max retries: 5"),
    ("Retention: 30 days", "Retention: 90 days"),
    ("Replicas: 3", "Replicas: 5"),
    ("DB_HOST=localhost", "DB_HOST=db-7.internal"),
    ("log_level: debug", "log_level: info"),
    ("maxConnections: 100", "maxConnections: 250"),
    ("server.port = 80", "server.port = 443"),
    ("cache-ttl: 5m", "cache-ttl: 10m"),
    ("Budget: $5,000", "Budget: $6,500"),
    ("Deploy window: Thursday", "Deploy window: Friday"),
    ("verbose: on", "verbose: off"),
    ("Setup\nport: 8080\nhost_name: a", "port: 9090"),
]
OTHERS = [
    ("The timeout is 30 seconds", "The timeout is 30 seconds"),
    ("The read timeout is 30 seconds", "The write timeout is 60 seconds"),
    ("The timeout is 30 seconds for reads", "The timeout is 60 seconds for writes"),
    ("In staging the timeout is 30 seconds", "In production the timeout is 60 seconds"),
    ("The timeout is 30 seconds", "If the timeout is 60 seconds, it works"),
    ("The timeout is 30 seconds", "The timeout was 10 seconds"),
    ("The price is 30 euros", "The price is 40 dollars"),
    ("My budget is $300", "Our budget is $5,000"),
    ("The next step is 3", "The next step is 4"),
    ("The page is 12", "The page is 13"),
    ("The line is 10", "The line is 20"),
    ("The server is down", "The server is slow"),
    ("The database is Postgres", "The cache is Redis"),
    ("The cluster has 3 nodes", "The cluster has 2 gateways"),
    ("The total is 30 euros for 2 people", "The total is 45 euros for 3 people"),
    ("I saw the build is 41", "The build is 42"),
    ("The timeout is 30 seconds", "Is the timeout 60 seconds?"),
    ("User: root", "User: guest"),
    ("Decision: 3", "Decision: 5"),
]
LINES_KEPT = [
    ("Decision: use Postgres for orders.", "Decision: logs go to Loki."),
    ("TODO: write tests", "TODO: update docs"),
    ("Note: the API is public", "Note: billing is slow"),
    ("User: root", "User: guest"),
    ("File: a", "File: b"),
    ("File: a.py", "File: b.py"),
    ("Step: 1", "Step: 2"),
    ("Page: 3", "Page: 4"),
    ("Line: 10", "Line: 20"),
    ("Issue: 41", "Issue: 42"),
    ("Ticket: 1234", "Ticket: 1235"),
    ("Date: 2026-05-01", "Date: 2026-05-02"),
    ("Question: why?", "Question: how?"),
    ("Bug: crash on start", "Bug: crash on exit"),
    ("Server: web1", "Server: web2"),
    ("Exit code: 1", "Exit code: 1"),
    ("Test run: 12", "Test run: 13"),
    ("Name: Ada", "Name: Grace"),
    ("Result: 5 passed", "Result: 7 passed"),
    ("Decision: 2 replicas", "Decision: 30 days of logs"),
    ("user = root", "user = guest"),
    ("port of web: 80", "port of db: 5432"),
    ("Status: ok", "Status: failed"),
    ("timeout: 30 seconds", "timeout: 30 seconds"),
    ("timeout: 30 seconds", "timeout: 5 retries"),
    ("price: 3 euros for 2", "price: 4 euros for 3"),
]
MESSAGES = [(pair, True) for pair in CHANGES] + [(pair, False) for pair in OTHERS]
NOTES = [(pair, True) for pair in LINES_CHANGED] + [(pair, False) for pair in LINES_KEPT]


def replaced(pair: tuple[str, str], kind: str) -> dict[str, str]:
    old, new = (segment(own, text, type=kind, role="user") for own, text in zip(("old", "new"), pair, strict=True))
    return {own: found.kind for own, found in find_replacements([old, new]).items()}


@pytest.mark.parametrize(("pair", "changed"), MESSAGES, ids=[" | ".join(pair) for pair, _ in MESSAGES])
def test_a_message_replaces_one_that_gave_the_same_thing_another_value(pair: tuple[str, str], changed: bool) -> None:
    assert replaced(pair, "message") == ({"old": "changed"} if changed else {})


@pytest.mark.parametrize("kind", ["note", "decision", "summary"])
@pytest.mark.parametrize(("pair", "changed"), NOTES, ids=[" | ".join(pair) for pair, _ in NOTES])
def test_a_note_replaces_one_that_gave_the_same_thing_another_value(
    pair: tuple[str, str], changed: bool, kind: str
) -> None:
    assert replaced(pair, kind) == ({"old": "changed"} if changed else {})


@pytest.mark.parametrize("kind", ["note", "decision"])
@pytest.mark.parametrize("pair", CHANGES, ids=[old for old, _ in CHANGES])
def test_sentences_count_in_notes_too(pair: tuple[str, str], kind: str) -> None:
    assert replaced(pair, kind) == {"old": "changed"}
