"""A few rounds of the campaign on damaged backups; a soak runs as many as it likes."""

from __future__ import annotations

import pytest

from tests.faults import backups


@pytest.mark.parametrize("seed", range(10))
def test_a_damaged_backup_is_restored_as_it_was_or_refused(seed: int) -> None:
    outcome = backups.run(seed)
    assert outcome["violations"] == []
    assert outcome["flips"] == backups.ROUNDS
