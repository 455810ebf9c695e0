"""How SQLite finds the facts that a search asks for."""

from pathlib import Path

import apsw

from memsweep import Memory
from memsweep.memory.recall import fact_words
from memsweep.model.text import to_json
from memsweep.store.sqlite import graph_sql


def test_facts_are_found_by_indexes_alone(memory: Memory, home: Path) -> None:
    memory.graph.relate("Harvard University", "KEEPS", "the kestrel")
    (file,) = (home / "workspaces").glob("*.db")
    asked = fact_words("harvard university keeps", ["harvard", "university", "keeps"])
    given = {name: to_json(list(words)) for name, words in asked._asdict().items()}
    statement = f"explain query plan {graph_sql.STATEMENTS_ABOUT}"
    with apsw.Connection(str(file)) as db:
        plan = [line for *_, line in db.execute(statement, {**given, "ended": False, "expired_by": 1, "limit": 5})]
    assert [line for line in plan if line.startswith(("SCAN entity", "SCAN relation", "SCAN memory"))] == []
    assert any("entity_told_by_last_word" in line for line in plan)
