"""Sessions of the older protocols: a client that opens them without end pushes out none but its own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.server.http.door import MOST_OF_A_TOKEN, HttpSession, longest_idle
from tests.support.http import HttpServer, open_session

PING = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"}).encode()


@pytest.mark.slow
def test_a_token_without_end_of_sessions_takes_no_place_of_another(server: HttpServer, tokens: dict[str, str]) -> None:
    def status(session: dict[str, str]) -> int:
        return server.ask("POST", "/mcp", PING, **session).status

    patient = open_session(server, tokens["mine"])
    greedy = [open_session(server, tokens["other"]) for _ in range(MOST_OF_A_TOKEN)]
    assert status(greedy[0]) == 200, "the first is the last to be used now"
    greedy += [open_session(server, tokens["other"]) for _ in range(2)]
    assert status(patient) == 200
    assert [status(greedy[each]) for each in (0, 1, 2, 3, -1)] == [200, 404, 404, 200, 200]
    stolen = {**greedy[0], "authorization": f"Bearer {tokens['mine']}"}
    assert status(stolen) == 404
    assert status(greedy[0]) == 200, "who asks for another one's session ends it for nobody"


@given(st.dictionaries(st.text(max_size=3), st.tuples(st.integers(0, 9), st.integers(0, 1)), max_size=6))
def test_the_longest_idle_gives_way_and_none_that_is_in_use(found: dict[str, tuple[int, int]]) -> None:
    sessions = {name: HttpSession(used, requests) for name, (used, requests) in found.items()}
    chosen = longest_idle(sessions)
    idle = [used for used, requests in found.values() if not requests]
    assert (chosen is None) == (not idle)
    assert chosen is None or (found[chosen][1], found[chosen][0]) == (0, min(idle))
