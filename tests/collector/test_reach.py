"""Reachability against a walk from node to node, which is slow and plain."""

from hypothesis import given
from hypothesis import strategies as st

from memsweep.model.reach import components, spanning, unreachable, without_root

Edges = list[tuple[int, int]]
numbers = st.integers(0, 30) | st.integers(0, 10**6)
graphs = st.tuples(
    st.lists(numbers, unique=True, max_size=25),
    st.lists(st.tuples(numbers, numbers), max_size=40),
).flatmap(
    lambda graph: st.tuples(
        st.just(graph[0]),
        st.lists(st.tuples(st.sampled_from(graph[0]), st.sampled_from(graph[0])), max_size=30).map(
            lambda inner: [*inner, *graph[1]]
        )
        if graph[0]
        else st.just(graph[1]),
    )
)


def walked(start: int, nodes: set[int], edges: Edges) -> frozenset[int]:
    """Everything that can be reached from a node over listed nodes."""
    seen, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        for left, right in edges:
            for near, far in ((left, right), (right, left)):
                if near == here and far in nodes and far not in seen:
                    seen.add(far)
                    waiting.append(far)
    return frozenset(seen)


def parts(nodes: list[int], edges: Edges) -> set[frozenset[int]]:
    return {walked(node, set(nodes), edges) for node in nodes}


@given(graphs)
def test_components_are_what_a_walk_reaches(graph: tuple[list[int], Edges]) -> None:
    nodes, edges = graph
    standing_for = components(nodes, edges)
    groups: dict[int, set[int]] = {}
    for node, part in zip(nodes, standing_for, strict=True):
        groups.setdefault(part, set()).add(node)
    assert {frozenset(group) for group in groups.values()} == parts(nodes, edges)
    assert all(part in group for part, group in groups.items()), "one of its own stands for each"


@given(graphs, st.sets(numbers))
def test_unreachable_is_whatever_no_walk_from_a_root_reaches(graph: tuple[list[int], Edges], roots: set[int]) -> None:
    nodes, edges = graph
    dead = unreachable(nodes, edges, roots)
    assert dead == {node for node in nodes if not walked(node, set(nodes), edges) & roots}


@given(graphs)
def test_a_few_edges_connect_what_all_of_them_connect(graph: tuple[list[int], Edges]) -> None:
    nodes, edges = graph
    few = spanning(nodes, edges)
    assert parts(nodes, few) == parts(nodes, edges)
    listed = [(left, right) for left, right in edges if left in nodes and right in nodes]
    loops = [edge for edge in listed if edge[0] == edge[1]]
    assert set(loops) <= set(few) <= set(edges)
    assert len([edge for edge in few if edge[0] != edge[1]]) == len(nodes) - len(parts(nodes, edges))
    assert {end for edge in few for end in edge if end in nodes} >= {end for edge in listed for end in edge}


@given(graphs, st.sets(numbers))
def test_what_has_no_root_is_named_with_the_edges_that_connect_it(
    graph: tuple[list[int], Edges], roots: set[int]
) -> None:
    nodes, edges = graph
    left, few = without_root(nodes, edges, roots)
    assert set(left) == unreachable(nodes, edges, roots)
    assert [node for node in nodes if node in set(left)] == left
    assert parts(left, few) == parts(left, edges)
    assert set(few) <= {edge for edge in edges if set(edge) <= set(left)}
