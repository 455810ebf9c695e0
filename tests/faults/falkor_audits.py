"""Campaign: the same as `audits`, on FalkorDB."""

from __future__ import annotations

from typing import Any

from tests.faults import audited_lives

NAME = "falkor_audits"


def run(seed: int) -> dict[str, Any]:
    return audited_lives.run(seed, "falkor")
