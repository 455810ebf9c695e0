"""Killed in the middle, or disturbed by somebody who writes at the same moment."""

import pytest

from tests.support.commands import run_warm

pytestmark = [pytest.mark.slow, pytest.mark.soak]


@pytest.mark.parametrize("how", ["kill", "MEMORY.md", "old.md", "deploy-again.md", "new.md"])
def test_nothing_is_lost_at_any_step(how, tmp_path):
    ran = run_warm("-m", "tests.adopt.interrupted", how, str(tmp_path / "trial"))
    assert ran.status == 0, ran.err
    assert int(ran.out) > 10
