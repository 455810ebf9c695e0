"""Pictures of every screen, light and dark, wide and narrow, into shots/; those of the documents into docs/pictures."""

import tempfile
from pathlib import Path
from typing import Any

from memsweep.app import App, called_by
from memsweep.model.origin import Origin
from memsweep.web.screens import SCREENS
from tests.browser.conftest import NARROW, ROOT, WIDE, launched, serving
from tests.browser.seed import seeded

SHOTS, PICTURES = ROOT / "shots", ROOT / "docs" / "pictures"
KINDS = {
    "wide-light": (WIDE, "light"),
    "wide-dark": (WIDE, "dark"),
    "narrow-light": (NARROW, "light"),
    "narrow-dark": (NARROW, "dark"),
}
DOCUMENTED = {
    "overview-wide-light": "overview",
    "plan-wide-light": "plan",
    "trash-wide-dark": "trash",
    "search-wide-light": "search",
}
NOTES = 900


def main() -> None:
    SHOTS.mkdir(exist_ok=True)
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, launched() as chromium:
        app = seeded(Path(folder) / "home", NOTES, "shopfront", hostile=False)
        _collect(app)
        with serving(app) as (address, link):
            context = chromium.new_context()
            page = context.new_page()
            page.goto(link)
            page.wait_for_url(f"{address}/w/**")
            state = context.storage_state()
            for kind, (size, theme) in KINDS.items():
                _take(chromium, state, f"{address}/w/shopfront", kind, size, theme, _places(app))
        app.close()


def _collect(app: App) -> None:
    """Some of what has expired goes, one note is edited, and an undo takes something back."""
    memory = app.memory("shopfront")
    with called_by(Origin("page", "memsweep", tier="person")):
        plan = memory.sweep.plan("expired")
        spared = [group.root.id for group in memory.sweep.groups(plan.id, limit=100).groups[14:]]
        memory.sweep.apply(plan.id, confirm=True, exclude=spared)
        memory.sweep.undo(memory.sweep.prune("stale_code", confirm=True).id)
    with called_by(Origin("mcp", "claude-code", tier="agent")):
        note = memory.memories(limit=9, filters={"kind": "memory"}).memories[-1]
        memory.update(note.id, text=f"{note.text} Confirmed by the team.")


def _places(app: App) -> dict[str, str]:
    memory = app.memory("shopfront")
    note = memory.memories(limit=5, filters={"source": "slack"}).memories[-1].id
    known = {screen.name: screen.path for screen in SCREENS if screen.icon}
    return known | {
        "search": "/memories?q=checkout+incident+staging",
        "memory": f"/memories/{note}",
        "plan": f"/plans/{memory.sweep.plan('stale_code').id}",
        "expired": f"/plans/{memory.sweep.plan('expired').id}",
        "forgetting": "/forget?q=postgres+upgrade",
        "names": "/graph",
        "graph": f"/graph/{memory.graph.related('checkout', limit=1).start.id}",
        "context": "/context/checkout-rewrite?budget=900",
    }


def _take(
    chromium: Any, state: Any, address: str, kind: str, size: dict[str, int], theme: str, places: dict[str, str]
) -> None:
    phone = size is NARROW
    context = chromium.new_context(
        viewport=size, color_scheme=theme, storage_state=state, locale="en-GB", is_mobile=phone, has_touch=phone
    )
    page = context.new_page()
    for name, path in places.items():
        page.goto(f"{address}{path}")
        page.locator("[data-later], [aria-busy=true]").first.wait_for(state="detached")
        shot = f"{name}-{kind}"
        page.screenshot(path=SHOTS / f"{shot}.png")
        if shot in DOCUMENTED:
            page.screenshot(path=PICTURES / f"{DOCUMENTED[shot]}.png")
        print(shot)
    context.close()


if __name__ == "__main__":
    main()
