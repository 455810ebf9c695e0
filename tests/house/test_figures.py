"""How much of the house one change touches: no figure gets worse."""

import importlib.util
import json

from tests.house.tree import ROOT


def test_no_figure_of_the_house_gets_worse():
    spec = importlib.util.spec_from_file_location("house", ROOT / "scripts" / "house.py")
    house = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(house)
    limits = json.loads(house.LIMITS.read_text("utf-8"))
    worse = {name: figure for name, figure in house.figures().items() if figure > limits[name]}
    assert worse == {}, f"look at `python scripts/house.py`; limits are in {house.LIMITS.name}"
