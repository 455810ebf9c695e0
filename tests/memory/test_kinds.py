"""Memories, code, facts and segments: each has its room in an answer, or all of it where it is asked for."""

from pathlib import Path

import pytest

from memsweep import Memory
from memsweep.errors import BadInput
from memsweep.model.search import Page
from tests.support.engines import on_every_engine


def kinds(page: Page) -> list[str]:
    return [hit.passage.kind for hit in page.hits]


def with_code(memory: Memory, folder: Path, files: int = 40) -> None:
    """Many files that speak of invoices, and one note that does."""
    folder.mkdir()
    for number in range(files):
        (folder / f"invoice_{number}.py").write_text(
            f"def invoice_total_{number}(lines):\n    return sum(invoice.total for invoice in lines)\n\n\n"
            f"def invoice_due_{number}(invoice):\n    return invoice.due\n"
        )
    memory.remember("Invoices are due after 30 days, the total in euros.")
    memory.code.index(folder)


@on_every_engine
@pytest.mark.slow
def test_a_note_is_not_crowded_out_by_much_code_about_the_same(memory: Memory, tmp_path: Path) -> None:
    with_code(memory, tmp_path / "shop", 120)
    for mode in ("precise", "deep"):
        assert "memory" in kinds(memory.search("when are invoices due", mode=mode))[:3]  # type: ignore[arg-type]
    assert "code" in kinds(memory.search("invoice_total_7"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "code"])
def test_a_kind_alone_is_found_by_words_by_meaning_and_by_date(memory: Memory, tmp_path: Path, kind: str) -> None:
    with_code(memory, tmp_path / "shop", 30)
    for query in ("invoice due", ""):
        found = kinds(memory.search(query, filters={"kind": kind}, mode="deep"))
        assert found
        assert set(found) == {kind}


def test_pieces_of_one_file_stand_together(memory: Memory, tmp_path: Path) -> None:
    with_code(memory, tmp_path / "shop", 6)
    page = memory.search("invoice total and due", filters={"kind": "code"}, limit=50)
    found = [hit.passage.memory_id for hit in page.hits]
    assert len(found) > len(set(found))
    assert len([at for at in range(1, len(found)) if found[at] != found[at - 1]]) == len(set(found)) - 1


@on_every_engine
def test_tests_are_left_out_or_asked_for(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "billing.py").write_text("def invoice_total(lines):\n    return sum(lines)\n")
    (tmp_path / "tests" / "test_billing.py").write_text("def test_invoice_total():\n    assert invoice_total([1])\n")
    memory.code.index(tmp_path)

    def found(**filters: object) -> set[str]:
        hits = memory.search("invoice total", mode="deep", filters=filters).hits
        return {hit.passage.code.path for hit in hits if hit.passage.code}

    assert found() == {"billing.py", "tests/test_billing.py"}
    assert found(include_tests=False) == found(role="source") == {"billing.py"}
    assert found(role="test") == {"tests/test_billing.py"}


@on_every_engine
def test_a_fact_of_the_graph_answers_a_question(memory: Memory) -> None:
    memory.remember("Tom takes his coffee black.")
    memory.graph.relate("build", "RUNS_ON", "Jenkins")
    memory.graph.relate("build server", "STANDS_IN", "the basement")
    (first, *_) = memory.search("where does the build run").hits
    assert (first.passage.kind, first.passage.text) == ("fact", "build runs on Jenkins")
    assert first.passage.chunk_id.startswith("rel_")
    assert first.relevance > 0.9
    texts = [
        hit.passage.text for hit in memory.search("where does the build server stand", filters={"kind": "fact"}).hits
    ]
    assert "build server stands in the basement" in texts
    assert kinds(memory.search("where does the build run", filters={"kind": "memory"})) == []


@on_every_engine
def test_a_fact_is_found_by_any_word_of_a_name(memory: Memory) -> None:
    names = [
        "Harvard University",
        "Royal Opera House Café",
        "Society of the Friends of Old Kestrels",
        "Ödön-von-Horváth",
        "infra/gateway.yaml:main (stable)",
    ]
    for number, name in enumerate(names):
        memory.graph.relate(name, "KEEPS", f"n{number}")
    found = {
        "university": 0, "universities": 0, "harvard": 0, "opera": 1, "house": 1, "CAFÉ": 1,
        "friends": 2, "kestrel": 2, "von": 3, "horváth": 3,
        "gateway": 4, "yaml": 4, "main": 4, "stable": 4,
    }  # fmt: skip
    for word, number in found.items():
        hits = memory.search(f"the {word}", filters={"kind": "fact"}, mode="deep").hits
        assert [hit.passage.text for hit in hits] == [f"{names[number]} keeps n{number}"], word
    for word in ("versity", "pera", "ouse"):
        assert memory.search(word, filters={"kind": "fact"}, mode="deep").hits == ()


@on_every_engine
def test_a_fact_is_found_by_its_words_in_any_form(memory: Memory) -> None:
    for number in range(120):  # newer, and each with one of the words
        memory.graph.relate(f"script {number}", "RUNS_ON", f"host {number}")
    memory.graph.relate("Nightly build", "RUNS_ON", "Jenkins", valid_at="2020-01-01")
    memory.graph.relate("Priya", "SIGNS_OFF", "Deploys")
    memory.graph.relate("Büro Zürich", "OPENS_AT", "🏔 Gipfelhaus")
    answers = {
        "where do the builds at night run": "Nightly build runs on Jenkins",
        "what is running on jenkins": "Nightly build runs on Jenkins",
        "who signs off deploys": "Priya signs off Deploys",
        "who signed it off": "Priya signs off Deploys",
        "who is responsible for the deployed version": "Priya signs off Deploys",
        "when does the Büro open": "Büro Zürich opens at 🏔 Gipfelhaus",
    }
    for query, answer in answers.items():
        first, *_ = memory.search(query, filters={"kind": "fact"}, mode="deep").hits
        assert first.passage.text == answer
    assert memory.search("who won the world cup", filters={"kind": "fact"}, mode="deep").hits == ()


@on_every_engine
def test_a_fact_is_found_while_it_holds(memory: Memory) -> None:
    memory.graph.relate("build", "RUNS_ON", "Jenkins", valid_at="2020-01-01")
    memory.graph.relate("build", "RUNS_ON", "Buildkite", valid_at="2024-01-01", replaces=True)
    memory.graph.relate("build", "RUNS_ON", "a moon base", valid_at="2999-01-01")

    def found(**filters: object) -> list[str]:
        page = memory.search("where does the build run", filters={"kind": "fact", **filters}, mode="deep")
        return [hit.passage.text for hit in page.hits]

    assert found() == ["build runs on Buildkite"]
    assert found(as_of="2022-06-01") == ["build runs on Jenkins"]
    assert found(as_of="2019-06-01") == []
    assert sorted(found(as_of="3000-01-01")) == ["build runs on Buildkite", "build runs on a moon base"]


def test_a_fact_that_was_replaced_or_removed_is_not_found(memory: Memory) -> None:
    memory.graph.relate("build", "RUNS_ON", "Jenkins")
    memory.graph.relate("build", "RUNS_ON", "Buildkite", replaces=True)
    found = [hit.passage.text for hit in memory.search("where does the build run").hits]
    assert found == ["build runs on Buildkite"]


def test_what_only_code_says_is_no_fact(memory: Memory, tmp_path: Path) -> None:
    with_code(memory, tmp_path / "shop", 3)
    assert kinds(memory.search("invoice_total_1", filters={"kind": "fact"}, mode="deep")) == []


@on_every_engine
def test_segments_are_found_where_they_are_asked_for(memory: Memory) -> None:
    window = memory.context("agent")
    window.add([{"text": "The migration of the ledger failed with error E1234.", "type": "message"}])
    memory.remember("Ledgers are closed on Fridays.")
    (found,) = memory.search("why did the ledger migration fail", filters={"kind": "segment"}).hits
    assert (found.passage.kind, found.passage.source) == ("segment", "agent")
    assert "E1234" in found.passage.text
    assert "segment" not in kinds(memory.search("why did the ledger migration fail", mode="deep"))


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"kind": "note"}, "filters.kind must be memory, code, fact or segment, not 'note'."),
        ({"kind": 3}, "filters.kind must be memory, code, fact or segment, not 3."),
        ({"role": "spec"}, "filters.role must be source, test, document, example, history or generated, not 'spec'."),
        ({"include_tests": "no"}, "filters.include_tests must be true or false, not 'no'."),
    ],
)
def test_unknown_kinds_and_roles_are_refused(memory: Memory, filters: dict[str, object], said: str) -> None:
    memory.remember("anything")
    with pytest.raises(BadInput, match=said.replace(".", r"\.")):
        memory.search("anything", filters=filters)
