"""A graph into a workspace file, page by page, at one moment; an unfinished file is continued."""

from __future__ import annotations

from pathlib import Path

from memsweep.errors import StoreCorrupt
from memsweep.store.copy_progress import CopyProgress
from memsweep.store.falkor import gc_cypher
from memsweep.store.falkor.reading import Extent, GraphReader, extent
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.file import portable

_ATTEMPTS = 5


def save(graph: GraphHandle, path: Path, progress: CopyProgress) -> portable.PortableFile:
    """A file with all that is in the graph. If somebody always writes meanwhile, they have to wait at last."""
    draft = portable.PortableFile(path)
    try:
        said = draft.marks()
        if said and said != {**said, **_moment(graph, graph.name)}:
            progress.notes.append("The source has changed since its copy was interrupted, so that was begun anew.")
        elif said.get("done"):
            progress.notes.append(f"{said['done']:,} rows had been read before.")
        for _ in range(_ATTEMPTS):
            if _fill(graph, graph, draft, progress):
                return draft
        with graph.writing() as tx:
            _fill(graph, tx, draft, progress)
        return draft
    except BaseException:
        draft.close()
        raise


def _fill(
    graph: GraphHandle, asked: GraphHandle | Transaction, draft: portable.PortableFile, progress: CopyProgress
) -> bool:
    """Read from where the draft ends; False if somebody wrote meanwhile."""
    moment = _moment(asked, graph.name)
    marks = draft.marks()
    if any(marks.get(name) != value for name, value in moment.items()):
        if marks:
            draft.clear()
        draft.append((), **moment, place=0, done=0)
        marks = draft.marks()
    whole, reader = extent(asked), GraphReader(asked)
    place, done = marks["place"], marks["done"]
    progress.enter(1, whole.rows, done)
    while place < whole.end:
        page = reader.page(whole, place)
        if page.revision != moment["revision"]:
            return False
        place = page.next_place
        counted = sum(table not in portable.DERIVED for table, _ in page.rows)
        done += counted
        draft.append(page.rows, place=place, done=done)
        progress.did(counted)
    _require(draft, whole, graph.name)
    draft.finish()
    return True


def _moment(asked: GraphHandle | Transaction, name: str) -> dict[str, str | int]:
    """Return the graph, and its state."""
    ((revision,),) = asked.ask(gc_cypher.REVISION)
    return {"graph": name, "revision": revision}


def _require(draft: portable.PortableFile, whole: Extent, name: str) -> None:
    if (found := portable.count(draft.db)) != whole.rows:
        raise StoreCorrupt(
            f"{found:,} rows of {name} were read instead of {whole.rows:,}.", hint="Run `memsweep doctor`."
        )
