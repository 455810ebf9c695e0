"""The retention benchmark runs on any folder of its format, with every option."""

import gzip
import json
import subprocess
import sys

import pytest

from tests.house.tree import ROOT

MODES = {"memsweep", "memsweep, defaults", "recency", "random", "clear tool results", "age and type"}


def conversation(name, kind, questions):
    texts = ["My sister Ana moved to Lisbon on May 3.", "ok " * 40, "The port is 6432.", "Sure! " * 30] * 3
    roles = ["user", "assistant", "tool", "assistant"] * 3
    segments = [
        {"id": f"{name}-{place}", "role": role, "type": "message", "text": text, "session": 1}
        for place, (role, text) in enumerate(zip(roles, texts, strict=True))
    ]
    probes = [
        {"kind": kind, "question": question, "at": 12, "need": [[f"{name}-0", f"{name}-4"]]} for question in questions
    ]
    return {"id": name, "set": kind, "segments": segments, "probes": probes}


@pytest.fixture
def folder(tmp_path):
    for kind, questions in (("asked", ["Where does Ana live?", None]), ("tool_call", [None])):
        with gzip.open(tmp_path / f"{kind}.jsonl.gz", "wt", encoding="utf-8") as file:
            for name in ("one", "two"):
                file.write(json.dumps(conversation(f"{kind}-{name}", kind, questions)) + "\n")
    return tmp_path


def run(*options):
    command = [sys.executable, ROOT / "benchmarks" / "retention.py", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_set_policy_and_budget_is_measured(folder):
    done = run(
        "--data", folder, "--budget", 0.5, 0.2, "--seeds", 2, "--json", folder / "out", "--record", folder / "rec"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "out").read_text())
    assert set(report) == {"asked", "tool_call"}
    assert set(report["asked"]["policies"]) >= MODES | {"memsweep, restored"}
    assert "memsweep, restored" not in report["tool_call"]["policies"], "nobody asks there"
    cell = report["asked"]["policies"]["memsweep"]["0.5"]
    assert cell["all_evidence"] == cell["per_evidence"] == 1.0
    assert cell["by_kind"] == {"asked": 1.0}
    assert 0 < cell["tokens"] <= sum(len(each["text"]) for each in conversation("x", "x", [])["segments"]) / 8 + 12
    low, high = report["asked"]["policies"]["random"]["0.2"]["interval_95"]
    assert 0 <= low <= high <= 1
    assert set(json.loads((folder / "rec").read_text())["policies"]) == set(report["asked"]["policies"])


@pytest.mark.slow
def test_one_set_can_be_chosen_and_a_folder_without_any_is_an_error(folder, tmp_path):
    assert "asked:" not in run("--data", folder, "--set", "tool_call", "--budget", 0.5).stdout
    (tmp_path / "empty").mkdir()
    missing = run("--data", tmp_path / "empty")
    assert (missing.returncode, "no conversations in" in missing.stderr) == (2, True)
