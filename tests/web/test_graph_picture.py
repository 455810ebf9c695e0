"""The picture of a neighbourhood: everybody has a place of their own, whatever the facts are."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from memsweep.clock import now
from memsweep.model.graph import Edge, Entity
from memsweep.web.pictures import MOST_NODES, draw

NOW = now()


def entity(key: int) -> Entity:
    return Entity(key, f"ent_{key}", f"name {key}", f"type {key % 9}", 0.5, 0.5, NOW, False, 0, 0)


@given(
    st.integers(1, MOST_NODES),
    st.lists(st.tuples(st.integers(0, MOST_NODES), st.integers(0, MOST_NODES), st.floats(0, 1)), max_size=90),
)
def test_names_never_cover_each_other_and_every_known_fact_is_told(size: int, pairs: list) -> None:
    edges = [Edge(str(at), a, b, "KNOWS", weight, NOW, None, None) for at, (a, b, weight) in enumerate(pairs)]
    picture = draw(entity(0), [entity(key) for key in range(1, size)], edges)
    spots = {(node.x, node.y) for node in picture.nodes}
    assert len(spots) == len(picture.nodes) <= size
    assert all(0 < node.x < picture.width and 0 < node.y < picture.height for node in picture.nodes)
    for side in (1, -1):
        leaves = sorted(node.y for node in picture.nodes if node.side == side and node.hops and not node.has_more)
        assert all(second - first >= 20 for first, second in pairwise(leaves))
    reached = {node.entity.key for node in picture.nodes}
    assert len(picture.lines) == sum(
        edge.subject in reached for edge in edges if {edge.subject, edge.object} <= reached
    )
    assert picture.nodes[0].hops == 0


def test_a_fact_stands_at_its_object_and_at_its_subject() -> None:
    edges = [Edge("1", 0, 1, "OWNS", 0.9, NOW, None, None), Edge("2", 2, 0, "USES", 0.2, NOW, None, None)]
    picture = draw(entity(0), [entity(1), entity(2)], edges)
    found = {node.entity.key: node.is_object for node in picture.nodes if node.hops}
    assert found == {1: True, 2: False}
    assert [line.edge.id for line in picture.lines] == ["2", "1"], "the stronger lies above"
