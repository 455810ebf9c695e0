"""Ask a person before something is removed, where the client can ask one.

An agent sets `confirm=true` by itself; a person who sees count, share and sample may think otherwise.
The question is bound to the plan, and is the same each time it is put, which the protocol needs.
"""

from __future__ import annotations

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from mcp_types import ClientCapabilities, ElicitationCapability
from pydantic import BaseModel, Field

from memsweep.errors import Unconfirmed
from memsweep.model.plan import Plan, PlanView
from memsweep.report.counts import amount

_SAMPLE = 5


class Consent(BaseModel):
    approve: bool = Field(description="Remove them?")


def can_ask(context: Context) -> bool:
    wanted = ClientCapabilities(elicitation=ElicitationCapability())
    return context.request_context.session.check_client_capability(wanted)


def question(workspace_id: str, plan: Plan, sample: list[PlanView]) -> Elicit[Consent]:
    names = "; ".join(_name(item) for item in sample[:_SAMPLE])
    more = f" and {plan.item_count - _SAMPLE:,} more" if plan.item_count > _SAMPLE else ""
    share = f" ({plan.share:.0%} of the memories)" if plan.totals.memories else ""
    return Elicit(
        f"Move {amount(plan.totals) or 'nothing'}{share} of workspace {workspace_id!r} to the trash?"
        f" Plan {plan.id}, strategy {plan.strategy}: {names}{more}."
        " This can be undone until the trash is purged.",
        Consent,
    )


def granted(answer: ElicitationResult[Consent]) -> None:
    """Go on only with a yes."""
    if not isinstance(answer, AcceptedElicitation) or not answer.data.approve:
        raise Unconfirmed("the person who was asked did not agree; nothing was removed.")


def _name(item: PlanView) -> str:
    return " ".join((item.relative_path or item.name or item.id).split())[:60]
