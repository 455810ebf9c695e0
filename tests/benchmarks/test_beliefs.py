"""`benchmarks/beliefs.py` on a handful of beliefs of our own, in the form of the benchmark that it reads."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "beliefs.py"


def belief(key: str, content: str, **more: Any) -> dict[str, Any]:
    usual = {"user_id": "test-user", "type": "fact", "scope": ["work"], "aliases": []}
    return {"_id": key, "canonical_name": key, "content": content, **usual, **more}


def case(key: str, query: str, right: list[str], **more: Any) -> dict[str, Any]:
    expect = {"relevantBeliefs": {"shouldOnlyInclude": right}}
    return {"caseId": key, "scope": ["work"], "query": query, "expect": expect, **more}


BELIEFS = [
    belief("hosting", "Our pages are served from Amsterdam by a rented rack."),
    belief("old-hosting", "Our pages were served from Oslo.", superseded_by="hosting"),
    belief("dog", "The office dog is called Pixel.", scope=["home"]),
    belief("mailer", "Letters leave through the mailer on the second floor.", pinned=True),
    belief("settled", "Whether to buy a fax machine.", resolved_at="2026-01-01"),
]
CASES = [
    case("found", "pages served from Amsterdam", ["hosting"]),
    case("replaced", "pages served from Oslo", ["hosting"]),
    case("settled", "buy a fax machine", []),
    case("elsewhere", "what is the office dog called", []),
    case("pinned", "letters leave through the mailer", []),
    case("nobody", "pages served from Amsterdam", [], userId="somebody-new"),
    case("blank", " ", []),
]


@pytest.mark.slow
def test_beliefs_that_were_replaced_or_settled_are_not_returned_where_that_was_said(tmp_path: Path) -> None:
    (tmp_path / "beliefs.seed.json").write_text(json.dumps(BELIEFS), "utf-8")
    (tmp_path / "retrieval.cases.json").write_text(json.dumps(CASES), "utf-8")
    passed = {}
    for options in ((), ("--told",)):
        result = tmp_path / "result.json"
        command = [sys.executable, str(SCRIPT), str(tmp_path), "--json", str(result), *options]
        subprocess.run(command, check=True, capture_output=True)
        passed[options] = {item["case"] for item in json.loads(result.read_text("utf-8"))["items"] if item["passed"]}
    always = {"found", "elsewhere", "pinned", "nobody", "blank"}
    assert passed[()] & {"settled", *always} == always
    assert passed["--told",] >= {"settled", *always}
