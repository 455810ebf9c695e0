"""Symbols and relations, language by language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.languages import LANGUAGES
from memsweep.code.parse import has_grammar, parse
from memsweep.code.rules import RULES
from memsweep.code.symbols import THIS_FILE
from tests.code.samples import SAMPLES


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_symbols_of_a_language(language):
    sample = SAMPLES[language]
    parsed = parse(sample.text, language)
    assert not parsed.had_errors
    assert [f"{symbol.kind} {symbol.qualified_name}" for symbol in parsed.symbols] == sample.symbols.splitlines()


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_relations_of_a_language(language):
    sample = SAMPLES[language]
    found = {
        f"{relation.source or 'file'} {relation.relation} {relation.target}{'' if relation.local else '?'}"
        for relation in parse(sample.text, language).relations
    }
    assert set(sample.relations.splitlines()) <= found
    assert not {each for each in found if any(never in each for never in sample.never.splitlines())}


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_every_symbol_is_defined_once_by_what_encloses_it(language):
    parsed = parse(SAMPLES[language].text, language)
    defined = {(each.source, each.target) for each in parsed.relations if each.relation == "DEFINES"}
    enclosing = {
        (parsed.symbols[each.parent].qualified_name if each.parent >= 0 else THIS_FILE, each.qualified_name)
        for each in parsed.symbols
    }
    assert defined == enclosing


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_a_symbol_is_where_it_says(language):
    text = SAMPLES[language].text
    lines = text.split("\n")
    for symbol in parse(text, language).symbols:
        assert symbol.name in text[symbol.start : symbol.end]
        assert text[: symbol.start].count("\n") + 1 == symbol.line
        assert 1 <= symbol.first_line <= symbol.line <= symbol.last_line <= len(lines)


@pytest.mark.parametrize("language", sorted(SAMPLES))
def test_parsing_twice_gives_the_same(language):
    text = SAMPLES[language].text
    assert parse(text, language) == parse(text, language)


def test_every_row_with_a_grammar_has_a_sample():
    assert set(SAMPLES) == set(RULES) == {row.name for row in LANGUAGES if has_grammar(row.name)}


def test_decorators_and_comments_above_belong_to_a_symbol():
    text = "x = 1  # not mine\n# mine\n@decorate\n@again(1)\ndef f():\n    pass\n"
    (symbol,) = parse(text, "python").symbols
    assert (symbol.first_line, symbol.line, symbol.last_line) == (2, 5, 6)


def test_positions_count_letters_and_not_bytes():
    text = "größe = '日本'\ndef länge(): return 'ß'\nclass Ö: pass\n"
    parsed = parse(text, "python")
    assert [text[each.start : each.end] for each in parsed.symbols] == ["def länge(): return 'ß'", "class Ö: pass"]


def test_what_a_grammar_does_not_understand_is_said_and_the_rest_is_found():
    parsed = parse("function ok() {}\nfunction ( { ]\nclass A {}\n", "javascript")
    assert parsed.had_errors
    assert "ok" in {symbol.name for symbol in parsed.symbols}


def test_a_header_that_only_cpp_understands_is_read_as_cpp():
    text = "namespace n {\ntemplate <class T> class Box : public Base<T> { public: T get() { return x; } };\n}\n"
    parsed = parse(text, "c")
    assert parsed.language == "c"
    assert [each.qualified_name for each in parsed.symbols] == ["n", "n::Box", "n::Box::get"]


def test_python_that_only_python_understands_is_complete():
    # The grammar takes `print` and a line that begins with a bracket for the statement of Python 2.
    text = "def before(): pass\ndef f():\n    print\n    (a.\n     b)(\n    )\nclass After:\n    def m(self): f()\n"
    parsed = parse(text, "python")
    assert [each.qualified_name for each in parsed.symbols] == ["before", "f", "After", "After.m"]


@pytest.mark.parametrize("language", ["text", "markdown", "klingon"])
def test_a_language_without_a_grammar_has_no_code(language):
    assert parse("def f(): pass", language).symbols == ()


@pytest.mark.parametrize("language", sorted(RULES))
@pytest.mark.parametrize("text", ["", "\n", "\0", "}" * 100, "(" * 3000, "'" * 99, "é" * 50, "\ufeffx"])
def test_no_text_is_too_strange_to_parse(language, text):
    parse(text, language)


@given(st.text(alphabet=st.sampled_from(list("def class():\n  @#'\"\\{}[]=,.xé日")), max_size=200))
def test_a_symbol_is_inside_the_text_whatever_it_is(text):
    lines = text.count("\n") + 1
    for symbol in parse(text, "python").symbols:
        assert 1 <= symbol.first_line <= symbol.line <= symbol.last_line <= lines
        assert 0 <= symbol.start < symbol.end <= len(text)


def test_deep_nesting_overflows_nothing():
    depth = 3000
    text = "\n".join("  " * level + f"def f{level}():" for level in range(90)) + "\n" + "  " * 90 + "pass\n"
    assert len(parse(text, "python").symbols) == 90
    parse("[" * depth + "]" * depth, "python")
    parse("{" * depth + "}" * depth, "javascript")
