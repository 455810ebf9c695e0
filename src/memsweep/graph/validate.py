"""Doubts about the graph: names that say nothing, names that are nearly the same, facts that hang in the air,
facts that contradict each other; and the communities in it. Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations, pairwise

from memsweep.model.graph import Communities, Community, Doubt, DoubtKind, Edge, Entity, GraphSurvey, by_name
from memsweep.model.text import name_key
from memsweep.model.times import holds

GENERIC = frozenset(
    """
    it he she they we you i me us them this that these those here there one other others something someone anything
    nothing thing things stuff item object entity concept person people user users guy man woman system app
    application project program software code file files function class method data value result output input test
    example name type text string number list error issue problem bug task todo note info information unknown none
    null undefined n/a misc other etc foo bar baz temp tmp main default
    """.split()
)
# Two current objects of one subject cannot both be true.
SINGLE = frozenset(
    """
    lives_in born_in born_on died_in died_on married_to capital_of has_capital located_in headquartered_in reports_to
    has_status status has_state state has_version version has_deadline deadline due_on has_priority has_owner owned_by
    assigned_to based_in
    """.split()
)
# Both between the same two cannot be true.
OPPOSITES = (
    ("likes", "dislikes"),
    ("likes", "hates"),
    ("loves", "hates"),
    ("prefers", "avoids"),
    ("prefers", "dislikes"),
    ("uses", "avoids"),
    ("allows", "forbids"),
    ("requires", "forbids"),
    ("supports", "opposes"),
    ("enables", "disables"),
    ("agrees_with", "disagrees_with"),
    ("trusts", "distrusts"),
    ("before", "after"),
)
# True in one direction only.
ONE_WAY = frozenset(
    """
    parent_of child_of part_of contains manages reports_to before after precedes follows older_than younger_than
    replaces supersedes larger_than smaller_than ancestor_of descendant_of
    """.split()
)
_CAN_CONTRADICT = SINGLE | ONE_WAY | {relation for pair in OPPOSITES for relation in pair}
SIMILAR = 0.88
_SHORTEST_SIMILAR = 5
_MOST_IN_BLOCK = 50
_NOT_WORDS = re.compile(r"[\W_]+")


def doubts(survey: GraphSurvey, now: datetime) -> list[Doubt]:
    """Everything that deserves a look: what cannot both be true first."""
    current = [edge for edge in survey.edges if holds(edge, now)]
    entities = {entity.key: entity for entity in survey.entities}
    known = [edge for edge in current if edge.subject in entities and edge.object in entities]
    return [
        *contradictions(known, entities, superseded(survey.edges)),
        *_dangling(survey.edges, entities),
        *_near_duplicates(survey.entities),
        *_generic_names(survey.entities),
    ]


def superseded(edges: Iterable[Edge]) -> set[tuple[int, str]]:
    """Subjects and relations of which one fact has replaced another: they have one object at a time."""
    return {(edge.subject, _plain(edge.relation)) for edge in edges if edge.invalid_at is not None}


def may_contradict(relation: str) -> bool:
    """Return whether a fact of this kind can contradict another one, by what the relation means."""
    return _plain(relation) in _CAN_CONTRADICT


def contradictions(edges: Sequence[Edge], entities: dict[int, Entity], single: set[tuple[int, str]]) -> Iterator[Doubt]:
    """Facts that hold now and cannot all be true."""
    objects: dict[tuple[int, str], list[Edge]] = defaultdict(list)
    between: dict[tuple[int, int], dict[str, Edge]] = defaultdict(dict)
    for edge in edges:
        relation = _plain(edge.relation)
        if relation in SINGLE or (edge.subject, relation) in single:
            objects[edge.subject, relation].append(edge)
        between[edge.subject, edge.object].setdefault(relation, edge)

    def doubt(facts: Sequence[Edge], why: str) -> Doubt:
        names = dict.fromkeys(entities[end].name for fact in facts for end in (fact.subject, fact.object))
        score = min(fact.weight for fact in facts)
        return Doubt("contradiction", tuple(fact.id for fact in facts), tuple(names), why, score)

    for (subject, _), facts in objects.items():
        if len({fact.object for fact in facts}) > 1:
            ordered = sorted(facts, key=lambda fact: (-fact.weight, fact.id))
            listed = ", ".join(repr(entities[fact.object].name) for fact in ordered)
            yield doubt(ordered, f"{entities[subject].name!r} has several current {ordered[0].relation}: {listed}.")
    for (subject, target), facts_between in between.items():
        names = f"{entities[subject].name!r} and {entities[target].name!r}"
        for one, other in OPPOSITES:
            if one in facts_between and other in facts_between:
                both = (facts_between[one], facts_between[other])
                yield doubt(both, f"{both[0].relation} and {both[1].relation} are both stated of {names}.")
        for relation in ONE_WAY & facts_between.keys() if subject < target else ():
            back = between.get((target, subject), {}).get(relation)
            if back is not None:
                yield doubt((facts_between[relation], back), f"{back.relation} is stated both ways of {names}.")


def _dangling(edges: Iterable[Edge], entities: dict[int, Entity]) -> Iterator[Doubt]:
    for edge in edges:
        ends = [entities[key].name for key in (edge.subject, edge.object) if key in entities]
        if len(ends) < 2:
            yield Doubt(
                "dangling_fact", (edge.id,), tuple(ends), f"{edge.relation} leads to nothing that is here.", 1.0
            )
        elif edge.subject == edge.object:
            yield Doubt("dangling_fact", (edge.id,), (ends[0],), f"{ends[0]!r} {edge.relation} itself.", 0.5)


def _generic_names(entities: Iterable[Entity]) -> Iterator[Doubt]:
    for entity in entities:
        words = [word for word in name_key(entity.name).split() if word not in ("a", "an", "the")]
        if not words or (len(words) == 1 and (words[0] in GENERIC or len(words[0]) == 1 or words[0].isdigit())):
            why = f"{entity.name!r} could be anything."
            yield Doubt("generic_name", (entity.id,), (entity.name,), why, 1.0)


def _near_duplicates(entities: Sequence[Entity]) -> Iterator[Doubt]:
    """Pairs in blocks of names that share something; each pair once, the best reason first."""
    reported: set[tuple[int, int]] = set()
    for block, judge in ((_letters, _same_letters), (_words, _same_words), (_begin, _alike), (_end, _alike)):
        blocks: dict[str, list[Entity]] = defaultdict(list)
        for entity in entities:
            if key := block(entity.name):
                blocks[key].append(entity)
        for group in blocks.values():
            for one, other in _pairs(group):
                pair = (one.key, other.key)
                if pair not in reported and (found := judge(one, other)):
                    reported.add(pair)
                    score, why = found
                    kind: DoubtKind = "near_duplicate"
                    yield Doubt(kind, (one.id, other.id), (one.name, other.name), why, score)


def _pairs(group: Sequence[Entity]) -> Iterable[tuple[Entity, Entity]]:
    """All pairs of a small group; of a large one only neighbours in the order of names, or it would never end."""
    if len(group) <= _MOST_IN_BLOCK:
        return combinations(group, 2)
    ordered = sorted(group, key=lambda entity: (name_key(entity.name), entity.key))
    return ((min(pair, key=_key), max(pair, key=_key)) for pair in pairwise(ordered))


_key: Callable[[Entity], int] = lambda entity: entity.key  # noqa: E731


@lru_cache(maxsize=100_000)  # every name is compared with several others
def _letters(name: str) -> str:
    return _NOT_WORDS.sub("", name_key(name))


def _words(name: str) -> str:
    words = sorted(_NOT_WORDS.sub(" ", name_key(name)).split())
    return " ".join(words) if len(words) > 1 else ""


def _begin(name: str) -> str:
    letters = _letters(name)
    return letters[:4] if len(letters) >= _SHORTEST_SIMILAR else ""


def _end(name: str) -> str:
    letters = _letters(name)
    return letters[-4:] if len(letters) >= _SHORTEST_SIMILAR else ""


def _same_letters(one: Entity, other: Entity) -> tuple[float, str]:
    if name_key(one.name) == name_key(other.name):
        return 0.95, f"{one.name!r} is both {one.type} and {other.type}."
    return 0.98, f"{one.name!r} and {other.name!r} have the same letters."


def _same_words(one: Entity, other: Entity) -> tuple[float, str]:
    return 0.92, f"{one.name!r} and {other.name!r} have the same words."


def _alike(one: Entity, other: Entity) -> tuple[float, str] | None:
    """Typing errors and other endings, but not numbers: v1 and v2 are two things."""
    left, right = _letters(one.name), _letters(other.name)
    if _digits(left) != _digits(right) or name_key(one.type) != name_key(other.type):
        return None
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.real_quick_ratio() < SIMILAR or matcher.quick_ratio() < SIMILAR or matcher.ratio() < SIMILAR:
        return None
    return round(matcher.ratio(), 4), f"{one.name!r} and {other.name!r} are spelt nearly the same."


@lru_cache(maxsize=100_000)
def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdigit())


def _plain(relation: str) -> str:
    return _NOT_WORDS.sub("_", name_key(relation)).strip("_")


# Communities by Louvain's method: every node moves where it raises modularity most, then communities become nodes.
#
# Pure and deterministic: nodes are visited in their order, and of equal gains the smallest label wins.


Links = dict[int, dict[int, float]]
"""For each node its neighbours with the weight between; a node's own entry counts each inner edge twice."""

MAX_PASSES = 20
_GAIN = 1e-9


def communities(survey: GraphSurvey, now: datetime, *, smallest: int = 2) -> Communities:
    """Communities of at least so many entities, the largest first, by facts that hold now."""
    entities = {entity.key: entity for entity in survey.entities}
    edges = [
        (edge.subject, edge.object, edge.weight)
        for edge in survey.edges
        if holds(edge, now) and edge.subject in entities and edge.object in entities
    ]
    links = link(entities, edges)
    label = louvain(links)
    groups: dict[int, list[int]] = defaultdict(list)
    for key in entities:
        groups[label[key]].append(key)
    found = []
    for members in groups.values():
        if len(members) < smallest:
            continue
        within = set(members)
        strength = {key: sum(links[key].values()) for key in members}
        inner = sum(weight for key in members for other, weight in links[key].items() if other in within) / 2
        ordered = sorted(members, key=lambda key: (-strength[key], *by_name(entities[key])))
        outer = sum(strength.values()) - 2 * inner
        found.append(Community(tuple(entities[key] for key in ordered), inner, max(0.0, outer)))
    found.sort(key=lambda each: (-len(each.members), *by_name(each.members[0])))
    return Communities(tuple(found), modularity(links, label))


def link(nodes: Iterable[int], edges: Iterable[tuple[int, int, float]]) -> Links:
    """Undirected: facts between the same two add up, and one of a node with itself says nothing."""
    links: Links = {node: {} for node in nodes}
    for a, b, weight in edges:
        if a != b and weight > 0:
            links[a][b] = links[a].get(b, 0.0) + weight
            links[b][a] = links[b].get(a, 0.0) + weight
    return links


def louvain(links: Links) -> dict[int, int]:
    """For each node the label of its community."""
    label = {node: node for node in links}
    while True:
        moved = _settle(links)
        if len(set(moved.values())) == len(links):
            return label
        label = {node: moved[home] for node, home in label.items()}
        links = _condense(links, moved)


def modularity(links: Links, label: dict[int, int]) -> float:
    """Return how much more of the weight lies inside communities than chance would put there."""
    total = sum(sum(near.values()) for near in links.values())
    if not total:
        return 0.0
    strength: dict[int, float] = defaultdict(float)
    inside = 0.0
    for node, near in links.items():
        strength[label[node]] += sum(near.values())
        inside += sum(weight for other, weight in near.items() if label[other] == label[node])
    return inside / total - sum((each / total) ** 2 for each in strength.values())


def _settle(links: Links) -> dict[int, int]:
    """Move nodes one by one until nothing gains any more."""
    home = {node: node for node in links}
    strength = {node: sum(near.values()) for node, near in links.items()}
    of_home = dict(strength)
    total = sum(strength.values())
    order: Sequence[int] = [node for node in links if strength[node] > 0]
    for _ in range(MAX_PASSES):
        again: set[int] = set()
        for node in order:
            old, own = home[node], strength[node]
            to: dict[int, float] = {old: 0.0}
            for other, weight in links[node].items():
                if other != node:
                    to[home[other]] = to.get(home[other], 0.0) + weight
            of_home[old] -= own
            best, most = old, to[old] - own * of_home[old] / total
            for where, weight in to.items():
                gain = weight - own * of_home[where] / total
                if gain > most + _GAIN or (gain > most - _GAIN and where < best and best != old):
                    best, most = where, gain
            of_home[best] += own
            if best != old:
                home[node] = best
                again.update(other for other in links[node] if home[other] != best)
        order = sorted(again)
        if not order:
            break
    return home


def _condense(links: Links, home: dict[int, int]) -> Links:
    """Communities as nodes; what is inside becomes a weight of its own."""
    joined: Links = {label: {} for label in sorted(set(home.values()))}
    for node, near in links.items():
        row = joined[home[node]]
        for other, weight in near.items():
            row[home[other]] = row.get(home[other], 0.0) + weight
    return joined
