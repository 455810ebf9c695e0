"""Behind the operations of a memory, where no operation shows what a test has to see."""

from memsweep.app import App, Memory
from memsweep.clock import now
from memsweep.collector.collect import CollectorDependencies
from memsweep.graph.facts import GraphDependencies
from memsweep.graph.whole_graph import read_graph
from memsweep.model.graph import GraphDump
from memsweep.services import access as graph_dependencies
from memsweep.services.access import collector
from memsweep.store.protocol import Store


def app_of(memory: Memory) -> App:
    return memory._access.app


def store_of(memory: Memory) -> Store:
    return memory._access.store


def collector_of(memory: Memory, actor: str | None = None) -> CollectorDependencies:
    return collector(memory._access, actor)


def facts_of(memory: Memory) -> GraphDependencies:
    return graph_dependencies.graph_facts(memory._access)


def dump_of(memory: Memory) -> GraphDump:
    """The graph as it is exported."""
    return read_graph(memory.graph.dump(), "json", now())
