"""The question about a plan: the one that was named, or one that is made to be asked about and applied after a yes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from memsweep.report import questions
from memsweep.server.consent import Question

if TYPE_CHECKING:
    from memsweep.model.plan import Plan
    from memsweep.services.memory import Memory


def plan_question(
    memory: Memory, plan_id: str | None, make: Callable[[], Plan], exclude: Collection[str] = ()
) -> Question:
    """Return the question about a plan; the tool is called with this plan, and takes nothing else."""
    plan = make() if plan_id is None else memory.sweep.get_plan(plan_id)
    if exclude:
        plan = memory.sweep.narrow(plan.id, exclude)
    sample = memory.sweep.items(plan.id, limit=questions.SAMPLE) if plan.item_count else []
    said = questions.plan_question(memory.workspace_id, plan, sample, named=plan.id == plan_id)
    return Question(said if plan.item_count else "", {"plan_id": plan.id, **({"exclude": None} if exclude else {})})
