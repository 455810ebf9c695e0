"""Evidence recall@10 on the LoCoMo conversations: words alone, vectors alone, fused, and the product as it is.

One workspace a conversation, one memory a turn, one thread a session; every question is searched. Evidence
recall is the mean, over the questions, of the share of the needed evidence that is among the first ten hits.
The variants are the product's own parts with other weights, so they show what each part is worth.
`MEMSWEEP_EMBEDDING_PROVIDER=minilm` measures another model, as for every other command, and
`MEMSWEEP_SEARCH_READER=ms-marco` what a reader adds.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

from common import Conversation, Figure, Recall, arguments, at_least, load_locomo, show_figures, table, write_json
from memsweep import Memory, open_memory
from memsweep.app import App, make_app
from memsweep.embed.protocol import quantise
from memsweep.memory.ranking import DEPTH, FusionWeights, fuse, shown, weights_for
from memsweep.model.search import Filters, SearchMode
from memsweep.settings import load_settings
from memsweep.store import views

LIMIT = 10
FIRST = (1, 5)
TARGETS = {"local": 0.66, "minilm": 0.74}
PRODUCT = 'search(mode="deep"): fused, with neighbours'
SHORT = "search(): what answers"
Search = Callable[[str], Sequence[str]]


def variants(model: str) -> dict[str, FusionWeights]:
    return {
        "BM25 alone": FusionWeights(meaning=0.0),
        "vectors alone": FusionWeights(meaning=1.0, floor=0.0),
        "fused, without neighbours": weights_for(model),
    }


def main() -> None:
    options = arguments(__doc__).parse_args()
    conversations = load_locomo(options.data)
    if not conversations:
        print(f"Nothing to measure: there is no locomo.jsonl.gz in {options.data}; give its folder with --data.")
        write_json(options.json, "recall", [], skipped=f"no data in {options.data}")
        return
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="memsweep-recall-") as home:
        measured = measure(conversations, Path(home))
    questions = sum(len(conversation.questions) for conversation in conversations)
    turns = sum(len(conversation.turns) for conversation in conversations)
    print(f"LoCoMo: {len(conversations)} conversations, {turns} turns, {questions} questions, recall@{LIMIT}\n")
    rows = [(name, f"{recall.evidence:.3f}", f"{recall.all_evidence:.3f}") for name, recall in measured.items()]
    print(table(("search", "evidence", "all evidence"), rows), end="\n\n")
    target = TARGETS.get(load_settings().embedding.provider, TARGETS["local"])
    figures = [at_least(f"evidence recall@{LIMIT}, deep", measured[PRODUCT].evidence, target)]
    figures.append(Figure(f"evidence recall@{LIMIT}, precise", measured[SHORT].evidence))
    figures.append(Figure("time for everything", time.perf_counter() - started, "s"))
    show_figures(figures)
    found = {
        name: {"evidence": recall.evidence, "all_evidence": recall.all_evidence} for name, recall in measured.items()
    }
    write_json(options.json, "recall", figures, questions=questions, turns=turns, limit=LIMIT, variants=found)


def measure(conversations: list[Conversation], home: Path) -> dict[str, Recall]:
    parts = make_app(load_settings(overrides={"MEMSWEEP_HOME": str(home)}))
    weighed = variants(parts.embedder.model.name)
    measured = {name: Recall() for name in (*weighed, PRODUCT, SHORT, *(_first(count) for count in FIRST))}
    for conversation in conversations:
        with open_memory(conversation.id, home=home) as memory:
            turn_of = remember(memory, conversation)
            searches = {name: with_weights(parts, conversation.id, weights) for name, weights in weighed.items()}
            searches |= {PRODUCT: as_it_is(memory, "deep"), SHORT: as_it_is(memory, "precise")}
            for question in conversation.questions:
                for name, search in searches.items():
                    found = [turn_of[memory_id] for memory_id in search(question.text)]
                    measured[name].count(question, set(chain.from_iterable(found)))
                    for count in FIRST if name == PRODUCT else ():
                        measured[_first(count)].count(question, set(chain.from_iterable(found[:count])))
    parts.close()
    return measured


def _first(count: int) -> str:
    return f"{PRODUCT}, the first {count}"


def remember(memory: Memory, conversation: Conversation) -> dict[str, list[str]]:
    """Which turns each memory stands for: a turn that repeats another of its session is the same memory."""
    turn_of: dict[str, list[str]] = {}
    for turn in conversation.turns:
        added = memory.remember(turn.text, thread_id=turn.thread)
        turn_of.setdefault(added.memory_id, []).append(turn.id)
    return turn_of


def as_it_is(memory: Memory, mode: SearchMode) -> Search:
    return lambda query: [hit.passage.memory_id for hit in memory.search(query, limit=LIMIT, mode=mode).hits]


def with_weights(app: App, workspace_id: str, weights: FusionWeights) -> Search:
    store, embedder = app.engine.open(workspace_id), app.embedder

    def search(query: str) -> Sequence[str]:
        (vector,) = quantise(embedder.embed([query]))
        ranking = fuse(store.candidates(query, vector, Filters(), DEPTH), weights)
        keys = [item.key for item in shown(ranking[:LIMIT]) if item.score > 0]
        return [passage.memory_id for passage in views.passages(store.rows, keys).values()]

    return search


if __name__ == "__main__":
    main()
