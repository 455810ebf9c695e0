"""Whatever is told, read, built, imported and collected, both engines answer and hold the same graph."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memsweep.graph import facts, whole_graph
from memsweep.graph.building import Named
from memsweep.graph.carrying import dump, load
from memsweep.graph.exchange import FORMS
from memsweep.graph.facts import GraphDependencies
from memsweep.model.graph import (
    ExportedEntity,
    ExportedRelation,
    GraphBatch,
    GraphDump,
    Imported,
    NamedEntities,
    RelationDraft,
)
from memsweep.model.ids import make_id
from memsweep.model.memory import (
    EmbeddingModel,
    Fact,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
)
from memsweep.model.revision import Piece
from memsweep.model.strategies import NAMES as STRATEGIES
from memsweep.model.text import content_hash
from memsweep.store.adding import add
from tests.collector.random_stores import random_stores
from tests.collector.stores import NOW, StoreSpec
from tests.falkor.both_engines import BothEngines, Side, both_engines
from tests.falkor.test_same_as_sqlite import Acting
from tests.support.counts import rounds

NAMES = (*(f"Thing {number}" for number in range(4)), "New 0", "New 1", "THING  0", "cut\x01name")
KINDS = ("knows", "calls", "CALLS", "likes")
TYPES = ("Concept", "Rule", "")
Choice = TypeVar("Choice")


class Dice:
    """Choices, one after the other, out of one number."""

    def __init__(self, number: int) -> None:
        self._left = number

    def pick(self, choices: Sequence[Choice]) -> Choice:
        self._left, at = divmod(self._left, len(choices))
        return choices[at]

    def thing(self) -> NamedThing:
        return NamedThing(self.pick(NAMES), self.pick(TYPES))

    def share(self) -> float:
        return self.pick((1.0, 0.0, 0.3, 0.75))

    def time(self) -> datetime:
        return NOW + timedelta(days=self.pick((0, -50, 1, -2)))

    def memory(self) -> str:
        return f"mem_{1 + self.pick(range(5)):012}"


class GraphActing(Acting):
    """Acts on the knowledge graph, beside those of the collector."""

    def __init__(self, both_engines: BothEngines) -> None:
        super().__init__(both_engines, Path("nowhere"))
        self.texts: list[str] = []

    def new_id(self) -> Callable[[str], str]:
        """Equal on both sides in each act, however entities and relations take turns in it."""
        ticks: dict[str, Iterator[int]] = defaultdict(lambda: count((1 << 41) + 1000 * self.hours))
        return lambda prefix: make_id(prefix, next(ticks[prefix]).to_bytes(8, "big"))

    def relate(self, number: int, strategy: str) -> None:
        dice = Dice(number)
        drafts = tuple(
            RelationDraft(
                dice.pick([dice.thing(), dice.pick(NAMES)]),
                dice.pick(KINDS),
                dice.thing(),
                dice.share(),
                source=dice.pick(["", dice.memory()]),
                replaces=dice.pick([False, True]),
                mention=dice.pick([False, True]),
            )
            for _ in range(1 + dice.pick(range(2)))
        )
        batch = GraphBatch((dice.thing(),) if dice.pick([False, True]) else (), drafts)
        self.both_engines.both(lambda side: rounded(facts.relate(self._graphing(side), batch)))

    def reinforce(self, number: int, strategy: str) -> None:
        dice = Dice(number)
        ends, relation, kind = (dice.pick(NAMES), dice.pick(NAMES)), dice.pick(KINDS), dice.pick(("confirm", "correct"))
        amount = dice.pick((None, 0.4))
        self.both_engines.both(
            lambda side: rounded(facts.reinforce(self._graphing(side), *ends, relation, kind, amount, "why"))  # type: ignore[arg-type]
        )

    def build(self, number: int, strategy: str) -> None:
        dice = Dice(number)
        one, verb, other = dice.pick(NAMES[:6]), dice.pick(KINDS), dice.pick(NAMES[:6])
        text = dice.pick(
            (f"{one} {verb} {other}.", f"{one} -[{verb}]-> {other} (Rule)", f"{one} never {verb} {other}.")
        )
        found = [Named(dice.pick(NAMES[:6]), dice.pick([True, False]))]
        options = {"dry_run": dice.pick([False, True]), "related": dice.pick([False, True])}
        self.both_engines.both(lambda side: rounded(whole_graph.build(self._graphing(side), text, found, options)))

    def load(self, number: int, strategy: str) -> None:
        """An import; some of its ids and names are known, some are in the trash, some are another's."""
        dice = Dice(number)
        ids = [f"ent_{dice.pick(range(1, 12)) + each:012}" for each in range(2)] + ["foreign"]
        things = [
            ExportedEntity(
                uid, dice.pick(NAMES), dice.pick(TYPES) or "Concept", dice.share(), dice.pick([True, False]),
                dice.pick([False, False, True]), dice.time(), dice.time(),
                dice.pick([None, '[["Once","concept"]]', '[["Thing 1","concept"],["Twice","rule"]]']),
            )
            for uid in ids
        ]  # fmt: skip
        stated = [
            ExportedRelation(
                f"rel_{dice.pick(range(1, 20)):012}", dice.pick(ids), dice.pick(ids), dice.pick(KINDS),
                dice.pick([None, 0.1 + 0.2, 1.0]), dice.pick(range(3)), dice.pick([True, False]), dice.time(),
                dice.time(), dice.pick([None, NOW]), dice.pick([None, None, NOW]),
            )
            for _ in range(2)
        ]  # fmt: skip
        given = GraphDump(tuple(things), tuple(stated))
        self.both_engines.both(lambda side: self._load(side, given))

    def add(self, number: int, strategy: str) -> None:
        """A text with what it speaks of and what is told beside it; perhaps one that is known."""
        dice = Dice(number)
        things = [NamedThing(dice.pick(NAMES), dice.pick(TYPES) or "Concept") for _ in range(2)]
        said = f"{things[0].name} {dice.pick(KINDS)} {things[1].name} {len(self.texts)}."
        text = dice.pick([*self.texts, said])
        self.texts.append(text)
        stated = [NewFact("", Fact(things[0], dice.pick(KINDS), things[1], dice.pick([None, 0.5])))] * dice.pick(
            range(2)
        )
        by_hand = [True] * 2 if stated else [dice.pick([True, False]), dice.pick([True, False])]
        evidence = dice.pick(range(3))

        def act(side: Side) -> Any:
            new_id = self.new_id()
            mentions = [
                NewMention(new_id("ent"), thing, (0,), explicit, evidence)
                for thing, explicit in zip(things, by_hand, strict=True)
            ]
            new = NewMemory(
                new_id("mem"),
                MemoryDraft(text),
                content_hash(text),
                (Piece(new_id("chk"), text, 0, 1, 1, bytes([1, 2, 3, 4])),),
                tuple(mentions),
                tuple(NewFact(new_id("rel"), fact.fact) for fact in stated),
                NOW + timedelta(hours=self.hours),
            )
            return add(side.store, new, EmbeddingModel("test", 4))

        self.both_engines.both(act)

    def survey(self, number: int, strategy: str) -> None:
        """Everything that looks at the graph as a whole says the same of both."""
        self.both_engines.both(lambda side: FORMS["json"].write(_exact(dump(side.store.graph))))
        self.both_engines.both(lambda side: rounded(whole_graph.graph_status(self._graphing(side))))
        self.both_engines.both(lambda side: rounded(_without_keys(self._graphing(side))))
        self.both_engines.both(lambda side: side.store.graph.known_names({"thing 0", "new 1", "cut\x01name", "nobody"}))

    def _load(self, side: Side, given: GraphDump) -> Imported:
        tools = self._graphing(side)
        with side.store.graph.changing() as tx:
            return load(tx, given, tools.operation(), tools.new_id, None)

    def _graphing(self, side: Side) -> GraphDependencies:
        return GraphDependencies(side.store.graph, "tester", lambda: NOW + timedelta(hours=self.hours), self.new_id())


def rounded(value: Any) -> Any:
    """Without the digits that the server does not tell."""
    if isinstance(value, float):
        return round(value, 9)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [rounded(each) for each in value]
    slots = getattr(value, "__slots__", ())
    return {name: rounded(getattr(value, name)) for name in slots} if slots else value


def _exact(dump: GraphDump) -> GraphDump:
    return GraphDump(
        tuple(row._replace(confidence=round(row.confidence, 9)) for row in dump.entities),
        tuple(row._replace(weight=None if row.weight is None else round(row.weight, 9)) for row in dump.relations),
    )


def _without_keys(tools: GraphDependencies) -> Any:
    """What a survey and a walk along every edge say, by the ids of entities."""
    survey, now = tools.survey()
    ids = {entity.key: entity.id for entity in survey.entities}
    entities = [(each.id, each.name, each.confidence, each.mentions, each.last_seen) for each in survey.entities]
    edges = [(ids[edge.subject], ids[edge.object], *edge[3:], edge.id) for edge in survey.edges]
    near = tools.store.edges_at(list(ids), None, tools.rates, now)
    sources = sorted((edge.id, sorted(edge.sources)) for edge in near)
    listed = tools.store.counted([each for _, each in tools.store.named(NamedEntities(), None, 0, tools.rates, now)])
    return entities, edges, sources, sorted((each.id, each.mentions, each.relations) for each in listed)


ACTS = ("relate", "reinforce", "build", "load", "add", "survey", "relate", "load", "add",
        "merge", "decay", "prune", "undo", "recover", "delete", "pin", "purge", "look")  # fmt: skip
acts = st.lists(
    st.tuples(st.sampled_from(ACTS), st.integers(0, 10**15), st.sampled_from(STRATEGIES)), min_size=2, max_size=10
)


@given(random_stores(), acts)
@example(StoreSpec((), (), (), (), ()), [("load", 5_085_167_175, ""), ("prune", 0, "orphaned_entities")])
@settings(max_examples=rounds(6, 30))
def test_any_run_of_facts_imports_and_texts_gives_the_same_on_falkor(
    spec: StoreSpec, acts: list[tuple[str, int, str]]
) -> None:
    with both_engines(spec) as pair:
        acting = GraphActing(pair)
        for name, number, strategy in [*acts, ("survey", 0, "")]:
            acting.act(name, number, strategy)
            pair.same_by_id()
