"""Plans as people look at them: groups, previews, differences. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.model.plan import counts_of
from memsweep.report.collector import item, warning, why
from memsweep.report.memory import masked
from memsweep.report.typed import TypedDict

if TYPE_CHECKING:
    from memsweep.model.plan import PlanDifference, PlanGroup, PlanGroups, PlanView, Preview


class GroupsAnswer(TypedDict):
    groups: list[dict[str, Any]]
    total: int
    folders: list[dict[str, Any]]
    next_cursor: str | None


class PreviewAnswer(TypedDict):
    strategies: list[dict[str, Any]]


class DifferenceAnswer(TypedDict):
    """Items that only the later plan names, and only the earlier one; the counts are of all of them."""

    added: list[dict[str, Any]]
    gone: list[dict[str, Any]]
    added_count: int
    gone_count: int
    same_count: int


def groups(found: PlanGroups, next_cursor: str | None) -> GroupsAnswer:
    return {
        "groups": [_group(each) for each in found.groups],
        "total": found.total,
        "folders": [
            {
                "root": each.root,
                "path": each.path,
                "files": each.files,
                "chunks": each.chunks,
                "followers": each.followers,
            }
            for each in found.folders
        ],
        "next_cursor": next_cursor,
    }


def previews(found: Iterable[Preview]) -> PreviewAnswer:
    return {
        "strategies": [
            {
                "strategy": each.strategy,
                **counts_of(each.totals),
                "item_count": each.item_count,
                "protected": each.protected,
                "share": each.share,
                "workspace_memories": each.workspace_memories,
                "groups": [_group(group) for group in each.groups],
                "warnings": [warning(said) for said in each.warnings],
                "problem": each.problem,
            }
            for each in found
        ]
    }


def difference(found: PlanDifference) -> DifferenceAnswer:
    return {
        "added": _items(found.added),
        "gone": _items(found.gone),
        "added_count": found.added_count,
        "gone_count": found.gone_count,
        "same_count": found.same_count,
    }


def _group(group: PlanGroup) -> dict[str, Any]:
    first = [{"id": view.id, "type": view.kind.capitalize(), "name": view.name} for view in group.first]
    return {**_item(group.root), "folder": group.folder, "followers": group.followers, "first": first}


def _items(views: Sequence[PlanView]) -> list[dict[str, Any]]:
    return [_item(view) for view in views]


def _item(view: PlanView) -> dict[str, Any]:
    """With what it begins with masked: who looks at a plan need not see a secret."""
    shown = item(view, why)
    return {**shown, "name": shown["name"] and masked(shown["name"])}
