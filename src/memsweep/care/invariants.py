"""The invariants of every store: their names, the repair, or the next step where none exists. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from memsweep.model.care import Finding

# In this order: what one cure brings to light, a later one can still mend.
HOME_CURES = ("registry_losses", "registry_values", "salvage", "marks", "adopt")
CURES = (
    *HOME_CURES,
    "losses",
    "duplicates",
    "structure",
    "indexes",
    "values",
    "texts",
    "trash",
    "edges",
    "tags",
    "places",
    "lost",
    "code",
    "doubles",
    "chunks",
    "plans",
    "vectors",
    "embed",
    "words",
    "vector_files",
    "names",
)

_LOOK = "memsweep doctor --repair; if it stays, look at it with `memsweep get ID`; a backup may have it as it was."


@dataclass(frozen=True, slots=True)
class Invariant:
    """`one` and `many` follow the number of places; where no cure helps, `next_step` says what a person can do."""

    one: str
    many: str
    cure: str = ""
    next_step: str = ""


INVARIANTS = {
    # the home
    "file_missing": Invariant(
        "workspace has no file",
        "workspaces have no file",
        next_step="Put it back, restore a backup with --replace, or delete the workspace.",
    ),
    "file_unreadable": Invariant("workspace file cannot be read", "workspace files cannot be read", "salvage"),
    "disk_refuses": Invariant(
        "file cannot be read: the disk refuses",
        "files cannot be read: the disk refuses",
        next_step="Check the disk, or copy the file to another one; then run `memsweep doctor` again.",
    ),
    "file_disagrees": Invariant(
        "file does not say of itself what the registry says",
        "files do not say of themselves what the registry says",
        "marks",
    ),
    "workspace_lost": Invariant("workspace is not in the registry", "workspaces are not in the registry", "adopt"),
    "stranger": Invariant(
        "file among the workspaces is none", "files among the workspaces are none", next_step="Move it elsewhere."
    ),
    "registry_writes_lost": Invariant(
        "loss in the log of the registry is not acknowledged yet",
        "losses in the log of the registry are not acknowledged yet",
        "registry_losses",
    ),
    "registry_value_damaged": Invariant(
        "row of the registry has values that cannot be right",
        "rows of the registry have values that cannot be right",
        "registry_values",
    ),
    # the file
    "writes_lost": Invariant(
        "loss in the log of the workspace is not acknowledged yet",
        "losses in the log of the workspace are not acknowledged yet",
        "losses",
    ),
    "file_damaged": Invariant("place in the file is damaged", "places in the file are damaged", "salvage"),
    "page_lost": Invariant(
        "page of the file is used by nothing",
        "pages of the file are used by nothing",
        next_step="`memsweep compact` gives them back.",
    ),
    "index_damaged": Invariant(
        "entry of an index differs from its table", "entries of an index differ from their table", "indexes"
    ),
    "value_damaged": Invariant(
        "row has values that cannot be right", "rows have values that cannot be right", "values"
    ),
    "table_changed": Invariant(
        "table is missing or is not as it was made",
        "tables are missing or are not as they were made",
        "salvage",
    ),
    "structure_changed": Invariant(
        "index or view is missing or is not as it was made",
        "indexes or views are missing or are not as they were made",
        "structure",
    ),
    "foreign_structure": Invariant(
        "thing in the file was not made by memsweep",
        "things in the file were not made by memsweep",
        next_step="Remove it with the tool that made it.",
    ),
    # memories and chunks
    "chunk_without_memory": Invariant(
        "chunk belongs to no memory", "chunks belong to no memory", next_step="memsweep prune -s orphaned_chunks"
    ),
    "chunk_out_of_step": Invariant(
        "chunk is not in the trash when its memory is, or the other way round",
        "chunks are not in the trash when their memory is, or the other way round",
        "trash",
    ),
    "memory_without_chunks": Invariant(
        "memory has no chunks, so no search can find it",
        "memories have no chunks, so no search can find them",
        "chunks",
    ),
    "memory_without_text": Invariant(
        "memory has neither text nor chunks",
        "memories have neither text nor chunks",
        next_step="memsweep prune -s empty_memories",
    ),
    "position_gap": Invariant(
        "memory has chunks that are not numbered 0, 1, 2 …",
        "memories have chunks that are not numbered 0, 1, 2 …",
        "places",
    ),
    "place_twice": Invariant(
        "thread or text has two chunks in one place", "threads or texts have two chunks in one place", "places"
    ),
    "thread_missing": Invariant(
        "memory is in a thread that is not there", "memories are in a thread that is not there", "lost"
    ),
    "text_changed": Invariant("text is not what it was", "texts are not what they were", "texts", next_step=_LOOK),
    "tags_differ": Invariant(
        "memory is not found by the tags that it has", "memories are not found by the tags that they have", "tags"
    ),
    "alias_without_entity": Invariant("other name leads to no entity", "other names lead to no entity", "edges"),
    "move_without_receipt": Invariant("move of a merge has no receipt", "moves of a merge have no receipt", "edges"),
    "revision_without_receipt": Invariant("revision has no receipt", "revisions have no receipt", "edges"),
    "tag_without_memory": Invariant("tag belongs to no memory", "tags belong to no memory", "edges"),
    "name_of_no_chunk": Invariant(
        "name was counted in a chunk that is not there", "names were counted in a chunk that is not there", "edges"
    ),
    # full text and vectors
    "words_damaged": Invariant("place in the full text is damaged", "places in the full text are damaged", "words"),
    "words_differ": Invariant(
        "full text does not say what the chunks say", "full texts do not say what the chunks say", "words"
    ),
    "chunk_without_words": Invariant("chunk is not in the full text", "chunks are not in the full text", "words"),
    "words_without_chunk": Invariant(
        "chunk is in the full text, but gone or in the trash",
        "chunks are in the full text, but gone or in the trash",
        "words",
    ),
    "chunk_without_vector": Invariant("chunk has no vector", "chunks have no vector", "embed"),
    "vector_misfit": Invariant(
        "vector has not the dimension of the workspace", "vectors have not the dimension of the workspace", "embed"
    ),
    "vector_without_chunk": Invariant("vector belongs to no chunk", "vectors belong to no chunk", "vectors"),
    "vector_file_differs": Invariant(
        "vector file does not hold what the workspace holds",
        "vector files do not hold what the workspace holds",
        "vector_files",
    ),
    "model_unknown": Invariant(
        "workspace does not say which model made its vectors",
        "workspaces do not say which model made their vectors",
        next_step="memsweep workspace reembed",
    ),
    # names and facts
    "mention_without_end": Invariant(
        "mention links to something that is not there", "mentions link to something that is not there", "edges"
    ),
    "mention_out_of_step": Invariant(
        "mention is not in the trash when one of its ends is, or the other way round",
        "mentions are not in the trash when one of their ends is, or the other way round",
        "trash",
    ),
    "relation_without_end": Invariant(
        "relation links to an entity that is not there", "relations link to an entity that is not there", "edges"
    ),
    "relation_of_trash": Invariant(
        "relation links to an entity in the trash", "relations link to an entity in the trash", "trash"
    ),
    "relation_only_in_trash": Invariant(
        "relation lives that only memories in the trash state",
        "relations live that only memories in the trash state",
        "trash",
    ),
    "relation_of_nobody": Invariant(
        "relation of a code file is left from a purge",
        "relations of code files are left from a purge",
        "edges",
    ),
    "source_without_end": Invariant(
        "statement of a relation links to something that is not there",
        "statements of a relation link to something that is not there",
        "edges",
    ),
    "supersession_without_end": Invariant(
        "memory is superseded by, or supersedes, something that is not there",
        "memories are superseded by, or supersede, something that is not there",
        "edges",
    ),
    "supersession_in_a_circle": Invariant(
        "memory supersedes what supersedes it", "memories supersede what supersedes them", "edges"
    ),
    "name_unmentioned": Invariant(
        "text names an entity and does not mention it",
        "texts name an entity and do not mention it",
        "names",
    ),
    "entity_twice": Invariant("entity is there more than once", "entities are there more than once", "duplicates"),
    "name_twice": Invariant(
        "thing is there twice, once without a type of its own",
        "things are there twice, once without a type of their own",
        next_step="`memsweep graph merge ID --into ID --yes` makes the two one; `memsweep undo` takes them apart.",
    ),
    "relation_twice": Invariant("relation is there more than once", "relations are there more than once", "duplicates"),
    # code
    "file_without_memory": Invariant("code file has no memory", "code files have no memory", "edges"),
    "skip_without_root": Invariant("skipped file has no folder", "skipped files have no folder", "edges"),
    "scope_without_root": Invariant("scope of an index has no folder", "scopes of an index have no folder", "edges"),
    "note_with_file": Invariant(
        "memory has a code file, but another source", "memories have a code file, but another source", "code"
    ),
    "code_without_file": Invariant(
        "code memory does not say which file it is of", "code memories do not say which file they are of", "code"
    ),
    "file_twice": Invariant("code file has more than one memory", "code files have more than one memory", "doubles"),
    "root_missing": Invariant(
        "code file is in a folder that is not known", "code files are in a folder that is not known", "lost"
    ),
    "scope_missing": Invariant(
        "code file was seen by an index that is not known", "code files were seen by an index that is not known", "lost"
    ),
    # context windows
    "link_without_segment": Invariant("reference comes from no segment", "references come from no segment", "edges"),
    "project_missing": Invariant(
        "segment is in a context window that is not there", "segments are in a context window that is not there", "lost"
    ),
    "project_miscounted": Invariant(
        "context window counts its segments wrongly", "context windows count their segments wrongly", "lost"
    ),
    "project_behind": Invariant(
        "context window has its next place taken", "context windows have their next place taken", "lost"
    ),
    "project_ahead": Invariant("context window passes a segment over", "context windows pass segments over", "lost"),
    # plans and receipts
    "origin_missing": Invariant(
        "origin that something came from is not there", "origins that things came from are not there", "lost"
    ),
    "contribution_without_relation": Invariant(
        "contribution is to a fact that is not there", "contributions are to facts that are not there", "edges"
    ),
    "act_without_memory": Invariant(
        "act is on a memory that is not there", "acts are on memories that are not there", "edges"
    ),
    "item_without_plan": Invariant("item of a plan has no plan", "items of a plan have no plan", "edges"),
    "plan_changed": Invariant(
        "plan is not what it was when it was made", "plans are not what they were when they were made", "plans"
    ),
    "receipt_missing": Invariant("number in the trash has no receipt", "numbers in the trash have no receipt", "lost"),
    "purged_but_there": Invariant(
        "receipt counts as purged, but its trash is there", "receipts count as purged, but their trash is there", "lost"
    ),
    "plan_of_receipt_missing": Invariant(
        "receipt names a plan that is not there", "receipts name a plan that is not there", "lost"
    ),
}


def cure_of(finding: Finding) -> str:
    return INVARIANTS[finding.invariant].cure


def sentence(finding: Finding) -> str:
    """Return a sentence on a finding, with the number and a few of the places."""
    invariant = INVARIANTS[finding.invariant]
    said = f"{finding.count:,} {invariant.one if finding.count == 1 else invariant.many}"
    if finding.samples:
        more = finding.count - len(finding.samples)
        said += ": " + ", ".join(finding.samples) + (f" and {more:,} more" if more > 0 else "")
    return said + "."


def next_step(finding: Finding) -> str:
    """Return the next step for a finding that is left; empty if it was repaired."""
    if finding.repaired:
        return ""
    invariant = INVARIANTS[finding.invariant]
    return invariant.next_step or "memsweep doctor --repair"
