import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.memory.names import _WORD, MAX_NAMES, Name, _capitalised, find_names
from memsweep.model.memory import ENOUGH_EVIDENCE


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I met Ada Lovelace in London.", {"Ada Lovelace": 2, "London": 2}),
        ("The weather is fine. Tomorrow it rains.", {"Tomorrow": 0}),
        ("Hey Mel, is it you?", {"Mel": 2}),
        ("We saw Caroline's dog and Caroline saw us.", {"Caroline": 4}),
        ("on Monday in March I will go", {}),
        ("we use SQLite and HTTP/2 at Jean-Luc's", {"SQLite": 2, "Jean-Luc": 2}),
        ("im Café Müller bei Émile", {"Café Müller": 2, "Émile": 2}),
        ("all lower case here", {}),
        ("", {}),
        ("see 42 and 2026", {}),
        ("a plan by A for us", {}),
    ],
)
def test_names_are_capitalised_words_with_their_evidence(text: str, names: dict[str, int]) -> None:
    assert {found.name: found.evidence for found in find_names([text])} == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Grace Hopper worked at Harvard University in Cambridge.",
            {"Grace Hopper", "Harvard University", "Cambridge"},
        ),
        ("She studied at the University of Edinburgh.", {"University of Edinburgh"}),
        ("We call parse_config in src/main.py, see HAR-212.", {"parse_config", "src/main.py", "HAR-212"}),
        ("calculateTotal is in os.path.join, not in config.yaml.", {"calculateTotal", "os.path.join", "config.yaml"}),
        ("Write to billing@acme.io or look at s3://acme/prod!", {"billing@acme.io", "s3://acme/prod"}),
        ("Rui and Beatriz met Dr. Weiss.", {"Rui", "Beatriz", "Weiss"}),
        ("NASA returned the PDF as JSON. ASAP!", {"NASA"}),
        ("Yesterday and/or today, he/she, 3.5 km/h, e.g. top-10 in UTF-8.", set()),
        ("TODO: nothing. WARNING: nothing.", set()),
    ],
)
def test_one_sentence_is_enough_for(text: str, names: set[str]) -> None:
    assert {found.name for found in find_names([text]) if found.evidence >= ENOUGH_EVIDENCE} == names


def test_code_blocks_hold_no_names() -> None:
    assert find_names(["look:\n```python\nthe Class Foo = Bar\n```\ndone"]) == []


def test_a_name_is_counted_over_all_texts_whatever_its_case() -> None:
    found = find_names(["I know Ada.", "nothing here", "so does ADA, and Ada"])
    assert found == [Name("Ada", 6, (0, 2))]


def test_names_come_in_the_order_of_their_evidence() -> None:
    assert [name.name for name in find_names(["we met Bob and Ada and again Ada"])] == ["Ada", "Bob"]


def test_not_more_names_than_the_limit() -> None:
    text = " and ".join(f"Name{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300))
    assert len(find_names([text])) == MAX_NAMES


@given(st.lists(st.text() | st.text("Ab .'’\n\"`", max_size=80), max_size=4))
def test_any_text_has_names_that_stand_in_it(texts: list[str]) -> None:
    for found in find_names(texts):
        assert found.texts
        assert len(found.name) > 1
        assert any(found.name in texts[index] for index in found.texts)


@pytest.mark.parametrize("part", ["A", "A ", "A.", "```", "```\n", "~~~~\n", "Ab-", ". A", "  ", "\n\n", "'"])
@pytest.mark.timeout(60)
def test_a_long_run_of_anything_is_read_without_delay(part: str) -> None:
    find_names([part * (200_000 // len(part))])


@given(st.text("aB1'.&- _\n", max_size=30))
def test_plain_letters_make_the_words_that_all_letters_make(text: str) -> None:
    words = [(word.group(), word.start()) for word in _WORD.finditer(text) if word.group()[0].isupper()]
    assert [(word.group(), word.start()) for word in _capitalised(text)] == words


def test_a_run_of_letters_that_goes_on_and_on_is_no_name() -> None:
    assert [found.name for found in find_names([f"the key is A{'b' * 300} for Ada"])] == ["Ada"]
