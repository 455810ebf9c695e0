"""Of two hits that answer equally well, the better vouched one leads."""

from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import Memory, called_by
from memsweep.memory.ranking import OTHERS, WEIGHTS, by_tier, leading, settled
from memsweep.model.origin import Origin
from memsweep.model.search import Owner

ROWS = [(-0.9, 1, 0.9, 0.0, 0.0), (-0.9, 2, 0.9, 0.0, 0.0), (-0.5, 3, 0.5, 0.0, 0.0)]


def test_an_import_gives_way_to_an_equal_hit_and_not_to_a_worse_one() -> None:
    owners = {1: Owner(1, None, "import"), 2: Owner(2, None, "agent"), 3: Owner(3, None, "person")}
    assert [row[1] for row in by_tier(ROWS, owners)] == [2, 1, 3]


def test_within_one_tier_the_order_stays() -> None:
    for tier in (*WEIGHTS, "import", "unknown"):
        owners = {key: Owner(key, None, tier) for key in (1, 2, 3)}
        assert [row[1] for row in by_tier(ROWS, owners)] == [1, 2, 3]


def test_the_weights_fall_with_the_tiers_and_stay_close() -> None:
    assert [WEIGHTS["person"], WEIGHTS["agent"], WEIGHTS["tool"], OTHERS] == sorted([*WEIGHTS.values(), OTHERS])[::-1]
    assert OTHERS >= 0.9


@given(
    st.lists(st.tuples(st.floats(0, 3), st.sampled_from([*WEIGHTS, "import"]), st.integers(0, 3)), max_size=40),
    st.integers(1, 12),
)
def test_those_that_lead_are_enough_to_know_the_first_few(drawn: list[tuple[float, str, int]], first: int) -> None:
    rows = sorted((-score, key, 0.0, 0.0, 0.0) for key, (score, _, _) in enumerate(drawn))
    owners = {key: Owner(key, None, tier, at) for key, (_, tier, at) in enumerate(drawn)}
    lead = rows[: leading(rows, first)]
    assert settled(by_tier(lead, owners), owners)[:first] == settled(by_tier(rows, owners), owners)[:first]


def test_a_search_ranks_by_it(memory: Memory) -> None:
    for text, tier in (("The port is 8080 imported.", "import"), ("The port is 8081 reported.", "agent")):
        with called_by(Origin("mcp", "c", tier=tier)):
            memory.remember(text)
    assert [hit.passage.origin.tier for hit in memory.search("port").hits] == ["agent", "import"]
