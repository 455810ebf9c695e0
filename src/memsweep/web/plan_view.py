"""A plan as it is reviewed: on the page, and in the chat of a host that shows MCP Apps."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from memsweep.model.paging import cursor_at
from memsweep.model.plan import why_unusable
from memsweep.report.collector import planned, why
from memsweep.web.plan_sections import BY_NAME, is_all_memories, sections
from memsweep.web.rendering import STATIC, render

if TYPE_CHECKING:
    from memsweep.services.memory import Memory

PER_PAGE = 200
IN_CHAT = 60
_DOCUMENT = """\
<!doctype html>
<html lang="en" data-theme="system">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plan · memsweep</title>
<style>{style}</style>
</head>
<body class="chat">
<main id="main" aria-live="polite"><p class="soft">Waiting for the plan…</p></main>
<script>{script}</script>
</body>
</html>
"""


def plan_values(
    memory: Memory, plan_id: str, *, page: int, per_page: int, spared: Collection[str], now: datetime
) -> dict[str, Any]:
    """Return the values for the template of a plan, for one page of its groups."""
    plan = memory.sweep.get_plan(plan_id)
    found = memory.sweep.groups(plan_id, offset=(page - 1) * per_page, limit=per_page)
    here = {group.root.id for group in found.groups}
    offered = BY_NAME.get(plan.strategy)
    usable = not why_unusable(plan, plan.receipt_id, now)
    return {
        "plan": plan,
        "finds": offered.finds if offered else "",
        "sections": sections(found),
        "total": found.total,
        "nouns": ("memory", "memories") if is_all_memories(found.groups) else ("item", "items"),
        "stats": memory.stats(),
        "page": page,
        "pages": max(1, -(-found.total // per_page)),
        "elsewhere": found.total - len(here) - len(set(spared) - here),
        "spared": spared,
        "usable": usable,
        "over_cap": memory.sweep.over_cap(plan_id) if usable else "",
        "warnings": planned(plan, (), why, None)["warnings"],
    }


def plan_in_chat(memory: Memory, plan_id: str, offset: int, now: datetime) -> str:
    """The same as a part of a document that a host has: no links, no forms that are sent, and cursors for the pages."""
    page = offset // IN_CHAT + 1
    values = plan_values(memory, plan_id, page=page, per_page=IN_CHAT, spared=(), now=now)
    around = {
        "before": cursor_at((page - 2) * IN_CHAT, values["total"], plan_id) if page > 1 else "",
        "after": cursor_at(page * IN_CHAT, values["total"], plan_id) or "",
        "workspace": memory.workspace_id,
        "url": lambda path="/", **query: "#",
        "csrf_field": "",
        "read_only": False,
        "now": now,
    }
    return render("plan_in_chat.html", values | around)


@cache
def plan_document() -> str:
    """One document for every plan. Its policy allows this style and this script by their hashes, and nothing else."""
    style = (STATIC / "page.css").read_text("utf-8") + (STATIC / "plan_in_chat.css").read_text("utf-8")
    script = "".join((STATIC / name).read_text("utf-8") for name in ("ticks.js", "plan_in_chat.js"))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return _DOCUMENT.format(style=style, script=script, policy=policy)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
