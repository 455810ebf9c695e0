"""The figures of docs/forgetting.md belong to the policy that is shipped."""

import importlib.util
import json

import pytest

from tests.house.tree import ROOT


@pytest.fixture(scope="module")
def record():
    spec = importlib.util.spec_from_file_location("record", ROOT / "benchmarks" / "record.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / "docs" / "forgetting.json").read_text(encoding="utf-8"))


def test_the_figures_were_measured_on_this_policy(record, figures):
    again = (
        "benchmarks/retention.py --record docs/forgetting.json measures again, benchmarks/record.py prints the tables"
    )
    assert figures["policy_digest"] == record.policy_digest(), again


def test_the_tables_of_the_page_are_the_figures(record, figures):
    page = (ROOT / "docs" / "forgetting.md").read_text(encoding="utf-8")
    assert "\n".join(record.markdown(figures)) in page


def test_every_statement_of_the_policy_counts_and_no_comment(record, tmp_path, monkeypatch):
    before = record.policy_digest()
    for name in record.POLICY:
        copy = tmp_path / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((record.SOURCES / name).read_bytes())
    monkeypatch.setattr(record, "SOURCES", tmp_path)
    file = tmp_path / record.POLICY[-1]
    file.write_text(file.read_text("utf-8") + "# a comment\n", "utf-8")
    assert record.policy_digest() == before
    file.write_text(file.read_text("utf-8") + "CHANGED = 1\n", "utf-8")
    assert record.policy_digest() != before
