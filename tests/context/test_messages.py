"""sweep_messages: three providers' lists in and out, valid, within the budget, with reasons."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.context import sweep_messages
from memsweep.context.forms import read_turn
from memsweep.errors import BadInput
from tests.context.build import anthropic_messages, openai_messages, turn_lists

BUDGETS = st.integers(0, 60)
SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=8)


def count(text):
    return len(text.split())


@dataclass
class Spoken:
    """Shaped like a LangChain message, as far as duck typing goes."""

    type: str
    content: object
    tool_calls: list = field(default_factory=list)
    tool_call_id: str | None = None


def langchain_messages(script, words):
    kinds = {"user": "human", "assistant": "ai", "tool": "tool", "system": "system"}
    return [
        Spoken(
            kinds[message["role"]],
            message["content"] or "",
            [{"id": call["id"], "name": "look", "args": {}} for call in message.get("tool_calls", ())],
            message.get("tool_call_id"),
        )
        for message in openai_messages(script, True, words)
    ]


def check_calls(turns):
    """Every result follows its call, every call is followed by all its results."""
    waiting = set()
    for calls, answers in turns:
        if answers:
            assert answers <= waiting
            waiting -= answers
        else:
            assert not waiting
            waiting = set(calls)
    assert not waiting


def openai_turns(messages):
    for message in messages:
        answer = message.get("tool_call_id")
        yield {call["id"] for call in message.get("tool_calls") or ()}, {answer} if answer else set()


def anthropic_turns(messages):
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else []
        yield (
            {block["id"] for block in blocks if block["type"] == "tool_use"},
            {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"},
        )


def check_sums(messages, budget, swept):
    assert swept.tokens_after <= budget or (swept.shortfall == swept.tokens_after - budget and swept.note)
    assert len(swept.reasons) == len(swept.stash)
    assert all(swept.reasons.values())
    assert [messages[place] for place in swept.reasons] == swept.stash


@given(turn_lists(), st.booleans(), SIZES, BUDGETS)
def test_an_openai_list_stays_valid(script, system, words, budget):
    messages = openai_messages(script, system, words)
    swept = sweep_messages(messages, budget, count=count)
    check_sums(messages, budget, swept)
    check_calls(openai_turns(swept.messages))
    kept = iter(messages)
    assert all(any(message is other for other in kept) for message in swept.messages)
    assert not system or swept.messages[0]["role"] == "system"
    assert swept.messages[-1] is messages[-1]


@given(turn_lists(), SIZES, BUDGETS)
def test_an_anthropic_list_stays_valid(script, words, budget):
    messages = anthropic_messages(script, words)
    swept = sweep_messages(messages, budget, count=count, form="anthropic")
    check_sums(messages, budget, swept)
    check_calls(anthropic_turns(swept.messages))
    roles = [message["role"] for message in swept.messages]
    assert roles[0] == "user"
    assert all(one != next_one for one, next_one in pairwise(roles))


@given(turn_lists(), SIZES, BUDGETS)
def test_a_langchain_list_stays_valid(script, words, budget):
    messages = langchain_messages(script, words)
    swept = sweep_messages(messages, budget, count=count)
    check_sums(messages, budget, swept)
    check_calls(
        ({call["id"] for call in m.tool_calls}, {m.tool_call_id} if m.tool_call_id else set()) for m in swept.messages
    )
    assert swept.messages[0].type == "system"


@given(turn_lists(), SIZES, BUDGETS)
def test_sweeping_twice_changes_nothing(script, words, budget):
    once = sweep_messages(openai_messages(script, True, words), budget, count=count)
    assert sweep_messages(once.messages, max(budget, once.tokens_after), count=count).messages == once.messages


@given(turn_lists(), SIZES, BUDGETS, st.integers(0, 3))
def test_a_pinned_message_always_stays(script, words, budget, place):
    messages = openai_messages(script, False, words)
    swept = sweep_messages(messages, budget, count=count, pinned=[place % len(messages)])
    assert place % len(messages) not in swept.reasons


SAID = st.sampled_from(("", " ", "go on", "the port is 6432", "alpha " * 12))
TEXTS = SAID | SAID.map(lambda text: [{"type": "text", "text": text}, {"type": "text", "text": "and so on"}])
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400}}
PLAIN = st.builds(dict, role=st.sampled_from(("user", "assistant")), content=TEXTS)


def answered(calls, results):
    return st.tuples(calls, results).map(list)


def one(messages):
    return messages.map(lambda message: [message])


ANTHROPIC_TURNS = (
    one(PLAIN)
    | one(SAID.map(lambda text: {"role": "user", "content": [{"type": "text", "text": text}, PICTURE]}))
    | answered(
        SAID.map(
            lambda text: {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": text},
                    {"type": "tool_use", "id": "t", "name": "look", "input": {}},
                ],
            }
        ),
        SAID.map(
            lambda text: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}
        ),
    )
)
LOOK = {"name": "look", "arguments": "{}"}
OPENAI_TURNS = (
    one(PLAIN)
    | st.just([{"role": "system", "content": "be brief"}])
    | answered(
        st.just({"role": "assistant", "content": None, "tool_calls": [{"id": "t", "function": LOOK}]}),
        SAID.map(lambda text: {"role": "tool", "tool_call_id": "t", "content": text}),
    )
    | answered(
        st.just({"role": "assistant", "content": None, "function_call": LOOK}),
        SAID.map(lambda text: {"role": "function", "name": "look", "content": text}),
    )
)


def lists(turns):
    """Lists with anything at any place: an assistant first, results without a call, two of one role, empty ones."""
    halves = turns.map(lambda turn: turn[-1:]) | turns.map(lambda turn: turn[:1])
    return st.lists(turns | turns | turns | halves, min_size=1, max_size=8).map(
        lambda each: [m for t in each for m in t]
    )


def check_anthropic(messages):
    assert all(message.keys() == {"role", "content"} for message in messages)
    for message in messages:
        blocks = message["content"] if isinstance(message["content"], list) else [{"type": "text", **message}]
        assert blocks
        assert all(
            str(b.get("text", b["content"] if "role" in b else "")).strip() for b in blocks if b["type"] == "text"
        )
    waits = messages[-1:] if any(calls for calls, _ in anthropic_turns(messages[-1:])) else []
    check_calls(anthropic_turns(messages[: len(messages) - len(waits)]))


def check_opens(messages, given, name):
    roles = [each.get("role") if isinstance(each, dict) else each.type for each in messages]
    if any(turn.role == "user" and not turn.is_empty for turn in map(read_turn, given)):
        assert next(role for role in roles if role != "system") == name


@given(lists(one(PLAIN)), BUDGETS)
def test_a_list_that_may_be_anybodys_is_valid_for_everybody(messages, budget):
    swept = sweep_messages(messages, budget, count=count).messages
    check_opens(swept, messages, "user")
    check_anthropic(swept)
    roles = [[message["role"] for message in each] for each in (messages, swept)]
    if all(one != other for one, other in pairwise(roles[0])):
        assert all(one != other for one, other in pairwise(roles[1]))


@given(lists(ANTHROPIC_TURNS), BUDGETS)
def test_a_list_of_anthropics_is_recognised_and_valid(messages, budget):
    swept = sweep_messages(messages, budget, count=count).messages
    check_opens(swept, messages, "user")
    check_anthropic(swept)


@given(lists(OPENAI_TURNS), BUDGETS)
def test_a_list_of_openais_is_valid_in_both_its_forms(messages, budget):
    swept = sweep_messages(messages, budget, count=count).messages
    turns = [read_turn(message) for message in swept]
    check_calls((turn.calls, turn.answers) for turn in (turns[:-1] if turns and turns[-1].calls else turns))
    assert not any(turn.is_empty for turn in turns)
    if next((m["role"] for m in messages if m["role"] != "system"), "") == "user":
        check_opens(swept, messages, "user")


@given(turn_lists(), SIZES, BUDGETS, st.integers(1, 4))
def test_a_langchain_list_opens_with_a_human(script, words, budget, cut):
    messages = langchain_messages(script, words)
    del messages[1 : 1 + cut]
    check_opens(sweep_messages(messages, budget, count=count).messages, messages, "human")


def test_a_refusal_and_a_sound_are_not_empty():
    messages = [
        {"role": "user", "content": "Say it."},
        {"role": "assistant", "content": None, "audio": {"id": "a"}},
        {"role": "user", "content": "Say more."},
        {"role": "assistant", "content": None, "refusal": "I cannot."},
    ]
    assert sweep_messages(messages, 100).messages == messages


def test_a_list_that_fits_comes_back_as_it_was():
    messages = anthropic_messages([("user", 0), ("assistant", 2), ("assistant", 0), ("user", 0)], [3])
    swept = sweep_messages(messages, 10_000)
    assert (swept.messages, swept.stash, swept.reasons) == (messages, [], {})
    assert swept.counted_by == "length/4"


def test_an_empty_list_is_an_empty_list():
    assert sweep_messages([], 0).messages == []


def test_a_result_without_its_call_and_a_call_without_its_results_cannot_be_sent():
    function = {"name": "look", "arguments": "{}"}
    messages = [
        {"role": "tool", "tool_call_id": "gone", "content": "42"},
        {"role": "assistant", "tool_calls": [{"id": "open", "function": function}]},
        {"role": "user", "content": "hello"},
    ]
    swept = sweep_messages(messages, 1000)
    assert swept.messages == messages[2:]
    assert swept.reasons == {0: "its call is not in the list", 1: "its results are not in the list"}


def test_a_last_call_that_waits_for_its_result_stays():
    messages = [
        {"role": "user", "content": "x " * 50},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "look", "input": {}}]},
    ]
    assert sweep_messages(messages, 20, form="openai").messages == messages[1:]


@pytest.mark.parametrize("kind", ["bash_code_execution_tool_result", "container_upload", "of_next_year"])
def test_a_list_with_a_block_that_nobody_knows_is_valid_for_both(kind: str) -> None:
    messages = [
        {"role": "assistant", "content": [{"type": "text", "text": " "}, {"type": kind, "id": "1"}]},
        {"role": "user", "content": "Go on."},
        {"role": "assistant", "content": [{"type": "text", "text": " "}, {"type": kind, "id": "2"}]},
    ]
    kept = sweep_messages(messages, 1000).messages
    assert kept == [messages[1], {"role": "assistant", "content": [{"type": kind, "id": "2"}]}]


def test_a_leading_pin_of_the_assistant_gets_a_user_message_before_it():
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b c"},
        {"role": "user", "content": "d " * 20},
        {"role": "assistant", "content": "e"},
        {"role": "user", "content": "f"},
    ]
    swept = sweep_messages(messages, 4, pinned=[1], count=count, form="anthropic")
    assert [message["content"] for message in swept.messages] == ["a", "b c", "f"]


def test_a_later_result_of_the_same_call_sends_the_earlier_one_off_first():
    def look(number, text):
        function = {"name": "read", "arguments": '{"path": "a.py"}'}
        return [
            {"role": "assistant", "content": None, "tool_calls": [{"id": number, "function": function}]},
            {"role": "tool", "tool_call_id": number, "content": text},
        ]

    messages = [*look("1", "def a(): return 1"), *look("2", "def a(): return 2"), {"role": "user", "content": "go on"}]
    swept = sweep_messages(messages, 20, last_n=0)
    assert swept.stash == messages[:2]
    assert "3" in swept.reasons[1]


def test_blocks_of_all_kinds_are_read():
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look at this"},
                {"type": "image", "source": {"data": "A" * 4000}},
                {"type": "odd", "x": 1},
                "plain",
            ],
        },
        {"role": "user", "content": {"some": "object"}},
    ]
    assert sweep_messages(messages, 1000).tokens_before < 40


@pytest.mark.parametrize(("messages", "budget"), [([], -1), ([{"role": "king", "content": "x"}], 9), ([object()], 9)])
def test_what_is_no_message_list_is_refused(messages, budget):
    with pytest.raises(BadInput):
        sweep_messages(messages, budget)
