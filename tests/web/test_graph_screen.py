"""The graph on the page: find, look, pin, merge after a look, and take apart again; on both engines."""

from urllib.parse import quote

import pytest

from memsweep.app import Memory
from memsweep.collector.collect import CLEAR_PHRASE
from memsweep.web.login import Grant
from tests.support.engines import on_every_engine

HOSTILE = "<b>Mallory</b>\u202e\"'"


def entity_id(memory: Memory, name: str) -> str:
    return memory.graph.related(name, limit=1).start.id


@on_every_engine
def test_a_name_is_found_shown_pinned_merged_and_taken_apart(memory: Memory, browser) -> None:
    memory.graph.relate("Ada", "OWNS", "ledger", from_type="Person", to_type="Service")
    memory.graph.relate("Ada L.", "REVIEWS", "ledger", from_type="Person", to_type="Service", weight=0.4)
    memory.graph.relate("ledger", "RUNS_IN", "Oregon")
    browser.see("/graph?q=ada")
    assert "2 names with that in it" in browser.text
    ada, other = entity_id(memory, "Ada"), entity_id(memory, "Ada L.")
    browser.see("/graph?name=Ada")
    assert browser.page.url.path.endswith(f"/graph/{ada}")
    assert browser.page.text.count('class="under"') == 4, "two steps reach Oregon and the other Ada"
    assert 'opacity="0.4"' in browser.page.text
    assert "Ada owns ledger" in browser.text
    browser.do(f"/graph/{ada}/pin", pinned="yes")
    assert memory.graph.related("Ada").start.pinned
    browser.see(f"/graph/{ada}/merge?q=ada")
    before = memory.graph.dump()
    browser.do(f"/graph/{ada}/merge", take=other)
    assert "Ada takes in 1 name" in browser.text
    assert memory.graph.dump() == before, "a look moves nothing"
    plan = browser.page.text.partition("/graph/merges/")[2].partition('"')[0]
    browser.do(f"/graph/merges/{plan}")
    assert "Merged Ada L. into Ada" in browser.text
    assert entity_id(memory, "Ada L.") == ada
    assert "Merged and split" in browser.see(f"/graph/{ada}/why").text
    receipt = browser.page.text.partition("/receipts/")[2].partition('"')[0]
    browser.do(f"/receipts/{receipt}/undo")
    assert entity_id(memory, "Ada L.") == other
    assert "Merged and split" not in browser.see(f"/graph/{ada}/why").text


def test_a_merge_that_was_looked_at_is_made_once(memory: Memory, browser) -> None:
    memory.graph.relate("Ada", "KNOWS", "Ada L.")
    ada = entity_id(memory, "Ada")
    browser.see(f"/graph/{ada}/merge")
    assert browser.do(f"/graph/{ada}/merge").status_code == 400, "nothing was ticked"
    browser.see(f"/graph/{ada}/merge")
    assert browser.do(f"/graph/{ada}/merge", take=ada).status_code == 400, "into itself"
    browser.see(f"/graph/{ada}/merge")
    looked_at = browser.do(f"/graph/{ada}/merge", take=entity_id(memory, "Ada L."))
    plan = looked_at.text.partition("/graph/merges/")[2].partition('"')[0]
    browser.see(f"/plans/{plan}")
    assert "Names that become one with another Ada L." in browser.text
    assert "Move to trash" not in browser.text
    assert browser.do(f"/graph/merges/{plan}").status_code == 200
    browser.page = looked_at
    assert browser.do(f"/graph/merges/{plan}").status_code == 409


@on_every_engine
def test_a_part_of_a_name_becomes_a_name_of_its_own(memory: Memory, browser) -> None:
    moved = memory.graph.relate("Mercury", "ORBITS", "Sun").relations[0].id
    memory.graph.relate("Mercury", "IS_A", "metal")
    own = entity_id(memory, "Mercury")
    browser.see(f"/graph/{own}/split")
    assert browser.do(f"/graph/{own}/split", name="Mercury (planet)").status_code == 400, "nothing was ticked"
    browser.see(f"/graph/{own}/split")
    before = memory.graph.dump()
    browser.do(f"/graph/{own}/split", name="Mercury (planet)", type="Planet", fact=moved)
    assert "Mercury (planet) becomes a name of its own" in browser.text
    assert "Mercury orbits Sun" in browser.text
    assert memory.graph.dump() == before, "a look moves nothing"
    browser.do(f"/graph/{own}/split/off", name="Mercury (planet)", type="Planet", fact=moved)
    assert "is a name of its own, with 1 fact" in browser.text
    assert [each.name for each in memory.graph.related("Mercury (planet)").entities] == ["Sun"]
    assert [each.name for each in memory.graph.related(own).entities] == ["metal"]
    assert browser.see(f"/graph/{own}/split").status_code == 200
    assert browser.do(f"/graph/{own}/split", name="Mercury (planet)", type="Planet", fact=moved).status_code in (
        400,
        409,
    )
    receipt = browser.see("/history").text.partition("/receipts/")[2].partition('"')[0]
    assert "can be undone" in browser.see(f"/receipts/{receipt}").text
    browser.do(f"/receipts/{receipt}/undo")
    assert {each.name for each in memory.graph.related(own).entities} == {"metal", "Sun"}
    assert f"/receipts/{receipt}/undo" not in browser.see("/history").text


def test_hostile_names_are_names_in_the_picture_and_beside_it(memory: Memory, browser) -> None:
    memory.graph.relate(HOSTILE, "<i>OWNS</i>", "ledger", from_type="<u>Person</u>")
    memory.graph.relate(HOSTILE, "EMPLOYS", HOSTILE)
    own = entity_id(memory, HOSTILE)
    paths = [
        f"/graph/{own}",
        f"/graph/{own}/merge",
        f"/graph/{own}/split",
        f"/graph/{own}/why",
        "/graph/doubts",
        "/graph",
    ]
    for path in (*paths, f"/graph?q={quote(HOSTILE[:8])}", f"/graph?name={quote(HOSTILE)}"):
        assert browser.see(path).status_code == 200, path
        for markup in ("<b>Mallory", "<i>OWNS", "<u>Person", "\u202e"):
            assert markup not in browser.page.text, path


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/graph/ent_000000000000", 404),
        ("/graph?after=nonsense", 400),
        ("/graph/doubts", 200),
        ("/graph?name=Nobody", 200),
    ],
)
def test_what_is_not_there_is_said(memory: Memory, browser, path: str, status: int) -> None:
    memory.remember("Something.")
    assert browser.see(path).status_code == status
    assert "<h1>" in browser.page.text


def test_a_reader_looks_at_the_graph_and_cannot_merge(memory: Memory, browse) -> None:
    memory.graph.relate("Ada", "KNOWS", "Grace")
    ada = entity_id(memory, "Ada")
    reader = browse(Grant(read_only=True))
    reader.see(f"/graph/{ada}")
    assert "Merge" not in reader.text
    assert reader.do(f"/graph/{ada}/merge", take=entity_id(memory, "Grace")).status_code == 403
    assert reader.see(f"/graph/{ada}/merge").status_code == 200


@on_every_engine
def test_a_name_and_a_fact_are_restored_one_by_one(memory: Memory, browser) -> None:
    knows = memory.graph.relate("Ada", "KNOWS", "Grace").relations[0].id
    memory.graph.relate("Ada", "OWNS", "Engine")
    engine = entity_id(memory, "Engine")
    memory.sweep.clear(CLEAR_PHRASE)
    browser.see("/trash")
    assert f"/trash/{engine}/restore" in browser.page.text
    browser.do(f"/trash/{engine}/restore")
    assert "1 entity came back" in browser.text
    browser.do(f"/trash/{knows}/restore")
    assert [each.name for each in memory.graph.related("Ada").entities] == ["Grace"]
    assert browser.do(f"/trash/{knows}/restore").status_code == 404
