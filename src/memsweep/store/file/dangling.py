"""Rows that lead to a row that is not there: how the doctor finds them, and how they go. Pure text."""

from __future__ import annotations

from typing import NamedTuple


def without(table: str, key: str) -> str:
    return f"not exists (select 1 from {table} where {table}.id = {key})"


class Dangling(NamedTuple):
    """Rows that say nothing without a row that is not there."""

    table: str
    sample: str
    condition: str

    @property
    def find(self) -> str:
        return f"select {self.sample} from {self.table} where {self.condition}"

    @property
    def drop(self) -> str:
        return f"delete from {self.table} where {self.condition}"


DANGLING = {
    "mention_without_end": Dangling(
        "mention",
        "format('chunk %d and entity %d', chunk, entity)",
        f"{without('chunk', 'mention.chunk')} or {without('entity', 'mention.entity')}",
    ),
    "relation_without_end": Dangling(
        "relation", "uid", f"{without('entity', 'relation.subject')} or {without('entity', 'relation.object')}"
    ),
    "source_without_end": Dangling(
        "relation_source",
        "format('relation %d and memory %d', relation, memory)",
        f"{without('relation', 'relation_source.relation')} or {without('memory', 'relation_source.memory')}",
    ),
    # A memory that supersedes itself, or what supersedes it, would never be found again.
    "supersession_without_end": Dangling(
        "supersession",
        "format('memory %d by %d', old, new)",
        f"{without('memory', 'supersession.old')} or {without('memory', 'supersession.new')}",
    ),
    "supersession_in_a_circle": Dangling(
        "supersession",
        "format('memory %d by %d', old, new)",
        "new <= old and exists (select 1 from supersession as back"
        " where back.old = supersession.new and back.new = supersession.old)",
    ),
    "alias_without_entity": Dangling("alias", "name", without("entity", "alias.entity")),
    "move_without_receipt": Dangling(
        "merge_move", "format('%s of receipt %d', kind, receipt)", without("receipt", "merge_move.receipt")
    ),
    "revision_without_receipt": Dangling(
        "revision", "format('%s %d', kind, item)", without("receipt", "revision.receipt")
    ),
    "contribution_without_relation": Dangling(
        "contribution", "format('relation %d', relation)", without("relation", "contribution.relation")
    ),
    "act_without_memory": Dangling("memory_act", "format('memory %d', memory)", without("memory", "memory_act.memory")),
    "tag_without_memory": Dangling("memory_tag", "tag", without("memory", "memory_tag.memory")),
    "file_without_memory": Dangling("code_file", "path", without("memory", "code_file.memory")),
    "skip_without_root": Dangling("code_skip", "path", without("code_root", "code_skip.root")),
    "scope_without_root": Dangling("code_scope", "filters", without("code_root", "code_scope.root")),
    "item_without_plan": Dangling(
        "plan_item", "format('item %d of plan %d', position, plan)", without("plan", "plan_item.plan")
    ),
    "link_without_segment": Dangling("segment_link", "target", without("segment", "segment_link.source")),
    "vector_without_chunk": Dangling("vector", "format('chunk %d', chunk)", without("chunk", "vector.chunk")),
}
