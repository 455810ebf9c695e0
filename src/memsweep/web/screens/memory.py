"""One memory: its text, what is known about it, what keeps it; edit, supersede, pin, release, delete."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.errors import Conflict
from memsweep.report.collector import deleted
from memsweep.web.events import event_lines
from memsweep.web.screen import Call, Screen

_MOST_SHOWN = 20_000


def memory(call: Call) -> Response:
    found = call.memory.get(call.part("memory"))
    earlier = call.memory.history(found.id) if found.revisions else []
    return call.show("memory.html", memory=found, text=found.text[:_MOST_SHOWN], earlier=earlier)


def explain(call: Call) -> Response:
    """Show what keeps it and what would take it: a part of the page, which comes after the rest."""
    verdict, path, history = call.memory.sweep.explain(call.part("memory"))
    return call.show("explained.html", verdict=verdict, path=path, lines=event_lines(history))


def edit_form(call: Call) -> Response:
    return call.show("memory_edit.html", memory=call.memory.get(call.part("memory")), supersedes=False)


def supersede_form(call: Call) -> Response:
    return call.show("memory_edit.html", memory=call.memory.get(call.part("memory")), supersedes=True)


def edit(call: Call) -> Response:
    memory_id, version = call.part("memory"), call.given("version")
    if version != str(call.memory.get(memory_id).version):
        raise Conflict(f"{memory_id} was changed while you edited it.", hint="Go back to copy your text, then reload.")
    done = call.memory.update(memory_id, text=_text(call), tags=_tags(call))
    said = "Saved." if done.receipt_id else "Nothing was different, so nothing was changed."
    return call.go(f"/memories/{memory_id}", said + _secrets(done.redacted), receipt_id=done.receipt_id or "")


def supersede(call: Call) -> Response:
    older = call.memory.get(call.part("memory"))
    made = call.memory.remember(_text(call), tags=_tags(call), source=older.source, supersedes=[older.id])
    said = f"Remembered. Search leaves {older.id} out from now on." + _secrets(made.redacted)
    return call.go(f"/memories/{made.memory_id}", said)


def pin(call: Call) -> Response:
    memory_id, pinned = call.part("memory"), call.given("pinned") == "yes"
    call.memory.pin(memory_id, pinned)
    return call.go(f"/memories/{memory_id}", "Pinned: no collection takes it." if pinned else "No longer pinned.")


def release(call: Call) -> Response:
    call.memory.release(call.part("memory"))
    return call.go(f"/memories/{call.part('memory')}", "Released: search finds it from now on.")


def delete(call: Call) -> Response:
    receipt = call.memory.delete(call.part("memory"), confirm=True)
    gone = deleted(receipt)["removed_with_it"]
    along = f" {len(gone)} that only it stated went along." if gone else ""
    return call.go("/memories", f"Moved to the trash.{along}", receipt_id=receipt.id)


def _text(call: Call) -> str:
    return call.given("text").replace("\r\n", "\n")  # as forms send it; a memory is kept as it was typed


def _tags(call: Call) -> list[str]:
    return [tag for each in call.given("tags").split(",") if (tag := each.strip())]


def _secrets(kinds: tuple[str, ...]) -> str:
    return f" A secret was left out ({', '.join(kinds)})." if kinds else ""


SCREEN = Screen(
    "memories",
    "Memories",
    "/memories",
    shows={
        "/memories/{memory}": memory,
        "/memories/{memory}/why": explain,
        "/memories/{memory}/edit": edit_form,
        "/memories/{memory}/supersede": supersede_form,
    },
    acts={
        "/memories/{memory}/edit": edit,
        "/memories/{memory}/supersede": supersede,
        "/memories/{memory}/pin": pin,
        "/memories/{memory}/release": release,
        "/memories/{memory}/delete": delete,
    },
)
