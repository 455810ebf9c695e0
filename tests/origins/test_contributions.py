"""A fact is what its contributions make it: doing them again gives what is stored, to the last digit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import Memory, called_by
from memsweep.model.contribution import Contribution, FactState, from_text, state_of, step
from memsweep.model.origin import Origin
from tests.support.engines import on_every_engine
from tests.support.store_files import rows_in

WEIGHTS = st.floats(0, 1, allow_nan=False)
TIMES = st.integers(1_700_000_000_000_000, 1_900_000_000_000_000)
ACTS = st.lists(
    st.builds(
        Contribution,
        relation=st.just(1),
        act=st.sampled_from(["state", "mention", "confirm", "correct", "see", "end"]),
        at=TIMES,
        rate=st.floats(0.9, 1.0),
        value=WEIGHTS,
        explicit=st.booleans(),
        origin=st.integers(1, 3),
    ),
    max_size=12,
)


def numbered(acts: list[Contribution]) -> list[Contribution]:
    """As they would be stored: each with what the fact was before it."""
    state: FactState | None = None
    stored = []
    for key, act in enumerate(acts, 1):
        stored.append(act._replace(key=key, before=state))
        state = step(state, act)
    return stored


@given(ACTS)
def test_without_somebody_is_as_if_they_had_never_been(acts: list[Contribution]) -> None:
    stored = numbered(acts)
    gone = {act.key for act in stored if act.origin == 1}
    others = numbered([act for act in acts if act.origin != 1])
    expected = state_of(others)
    assert state_of(stored, gone) == expected
    assert state_of([act._replace(trash=7) if act.key in gone else act for act in stored]) == expected


@given(ACTS)
def test_a_weight_stays_a_share_and_a_fact_that_nobody_stated_is_none(acts: list[Contribution]) -> None:
    state = state_of(numbered(acts))
    assert state is None or state.weight is None or 0 <= state.weight <= 1
    if not any(act.act in ("state", "mention", "see") for act in acts):
        assert state is None


@on_every_engine
def test_what_is_stored_is_what_the_contributions_make(memory: Memory, tmp_path: Path) -> None:
    for n in range(6):
        with called_by(Origin("mcp", "c", session=f"s{n % 3}", tier="agent")):
            memory.graph.relate("Ada", "KNOWS", "Bob", weight=0.1 + n / 10)
            memory.remember(f"Ada knows Bob, says {n}.", relations=[{"from": "Ada", "relation": "KNOWS", "to": "Bob"}])
            memory.graph.reinforce("Ada", "KNOWS", "Bob", kind="correct" if n % 2 else "confirm", amount=0.07)
            memory.graph.relate("Ada", "LIVES_IN", f"City {n % 2}", replaces=True)
    memory.graph.load(memory.graph.dump("json"))
    memory.care.backup(tmp_path / "b")
    for relation, acts in journals(tmp_path / "b").items():
        folded = state_of(acts)
        assert folded is not None
        stored = relations(tmp_path / "b")[relation]
        assert folded[1:] == stored[1:]
        assert folded.weight == pytest.approx(stored.weight, abs=1e-12)


def journals(path: Path) -> dict[int, list[Contribution]]:
    found: dict[int, list[Contribution]] = {}
    asked = ("relation", "act", "at", "rate", "value", "explicit", "valid_at", "origin", "memory")
    for row in sorted(rows_in(path)["contribution"], key=lambda row: row["id"]):
        said = (row[name] for name in asked)
        before, after = (said and from_text(said) for said in (row["before"], row["after"]))
        act = Contribution(*said, before, after, row["id"], row["trash"])
        found.setdefault(act.relation, []).append(act)
    return found


def relations(path: Path) -> dict[int, FactState]:
    asked = ("weight", "last_seen", "evidence", "handed_in", "created_at", "valid_at", "invalid_at")
    found = {row["id"]: [row[name] for name in asked] for row in rows_in(path)["relation"]}
    return {key: FactState(*said[:3], bool(said[3]), *said[4:]) for key, said in found.items()}
