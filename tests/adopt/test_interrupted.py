"""Killed in the middle, or disturbed by somebody who writes at the same moment."""

from __future__ import annotations

import sys

import pytest

from tests.support.commands import run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", ["kill", "MEMORY.md", "old.md", "deploy-again.md", "new.md"])
def test_nothing_is_lost_at_any_step(how, tmp_path):
    ran = run([sys.executable, "-m", "tests.adopt.interrupted", how, str(tmp_path / "trial")], home=None)
    assert ran.status == 0, ran.err
    assert int(ran.out) > 20
