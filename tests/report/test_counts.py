"""Numbers with the right nouns, everywhere."""

import ast
import re

import pytest

from memsweep.model.audit import Purged
from memsweep.model.plan import Totals
from memsweep.model.text import counted, listed
from memsweep.report import amount, moved, moved_with_a_way_back, named, nonzero
from tests.house.tree import SOURCE, modules, nodes


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 memories"), (1, "1 memory"), (2, "2 memories"), (12_345, "12,345 memories")]
)
def test_a_number_has_its_noun(number, said):
    assert counted(number, "memory", "memories") == named(number, "memories") == said


@pytest.mark.parametrize("name", ["chunks", "relations", "segments", "facts", "tokens"])
def test_most_nouns_only_lose_their_s(name):
    assert named(1, name) == counted(1, name[:-1]) == f"1 {name[:-1]}"
    assert named(2, name) == counted(2, name[:-1]) == f"2 {name}"


def test_a_list_ends_with_and():
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        (Totals(), ""),
        (Totals(1, 3), "1 memory"),
        (Totals(0, 1), "1 chunk"),
        (Totals(1, 3, 2, 1), "1 memory, 2 entities and 1 relation"),
        (Totals(segments=1), "1 segment"),
        (Purged((), 0, 0, 1, 0), "1 entity"),
    ],
)
def test_an_amount_names_what_there_is_any_of(totals, said):
    assert amount(totals) == said


def test_zeros_are_not_named():
    assert nonzero({"memories": 1, "chunks": 0, "entities": 2}) == ["1 memory", "2 entities"]


def test_a_move_says_the_way_back():
    assert moved(Totals()) == moved_with_a_way_back(Totals(), "rcpt_1") == "Nothing was moved to the trash."
    one, two = (moved_with_a_way_back(Totals(number, number), "rcpt_1") for number in (1, 2))
    assert one == "Moved 1 memory to the trash. undo_prune with rcpt_1 brings it back."
    assert two == "Moved 2 memories to the trash. undo_prune with rcpt_1 brings them back."


_PLURAL = re.compile(
    r"^ (memories|entities|relations|chunks|segments|facts|mentions|pairs|communities|findings|hits|workspaces)\b"
)
# What agents know word for word from the first design of `prune_memory`, and numbers that are never one.
_WORD_FOR_WORD = {
    "report/collector.py",
    "collector/planner.py",
    "graph/whole_graph.py",
    "context/plan.py",
}


@pytest.mark.slow
def test_no_message_puts_a_plural_after_any_number():
    found = []
    for path in modules():
        place = path.relative_to(SOURCE).as_posix()
        for node in nodes(path):
            if isinstance(node, ast.JoinedStr) and place not in _WORD_FOR_WORD:
                pairs = zip(node.values, node.values[1:], strict=False)
                found += [
                    f"{place}:{node.lineno}"
                    for value, text in pairs
                    if isinstance(value, ast.FormattedValue)
                    and isinstance(text, ast.Constant)
                    and _PLURAL.match(str(text.value))
                ]
    assert found == []
