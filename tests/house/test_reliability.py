"""docs/reliability.md: every test that it names exists, and every campaign is named."""

import re

from tests.faults.soak import CAMPAIGNS
from tests.house.tree import ROOT

PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")


def test_every_test_that_the_page_names_exists():
    named = set(re.findall(r"`(tests/[\w/.]+)`", PAGE))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).is_file()] == []


def test_every_promise_names_a_test():
    promises = [line for line in PAGE.split("## The campaigns")[0].splitlines() if line.startswith("| ")]
    bare = [line for line in promises if "`tests/" not in line and not line.startswith("| promise")]
    assert bare == []


def test_every_campaign_stands_behind_a_promise():
    files = [campaign.module.replace(".", "/") + ".py" for campaign in CAMPAIGNS.values()]
    assert [file for file in files if f"`{file}`" not in PAGE] == []
