"""The scenes that the reader is taught with (`train_reader.py`), and those of them that are left out to look at."""

from __future__ import annotations

import json
from typing import Any

from common import ROOT

_FILE = ROOT / "benchmarks" / "data" / "reader_scenes.jsonl"
_LEFT_OUT = 18  # of so many scenes one
Scene = dict[str, Any]
"""`notes`; `asked`, questions with the numbers of the notes that answer; `near`, with that of one that seems to."""


def load_scenes() -> tuple[list[Scene], list[Scene]]:
    """Those that are taught, some of which are small talk without a question, and those that are left out."""
    scenes = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    left_out = [scene for scene in scenes if scene["asked"]][::_LEFT_OUT]
    return [scene for scene in scenes if scene not in left_out], left_out
