"""The gate: a person is asked before a tool takes something away or lets it out, where the client can ask one.

An agent sets `confirm=true` by itself; a person who sees count, share and sample may think otherwise. A row of the tool
table that does so has a function that says what to ask, and `gated` puts it before the tool. What cannot be undone, and
what only a person may decide, is refused where nobody can be asked, with the command that a person can run. A question
is the same each time it is put, which the protocol needs.
"""

# No postponed annotations here: the SDK must see the resolvers themselves, not their names.

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, get_type_hints

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel, Field

from memsweep import deadline
from memsweep.errors import Unconfirmed
from memsweep.model.visible import visible


class Consent(BaseModel):
    approve: bool = Field(description="Do it?", strict=True)


@dataclass(frozen=True, slots=True)
class Question:
    """A question for a person, and the arguments of the tool after a yes: the plan that they saw."""

    text: str = ""
    """Empty where nothing would be taken away."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AskedRemoval:
    """A call that a person has to agree to. `question` looks at what; `command` is how a person does it, for what is
    refused where nobody can be asked."""

    question: Callable[[], Question]
    command: str = ""
    why: str = "this cannot be undone"


Asks = Callable[..., AskedRemoval | None]
"""What a call of a tool would take away, from its arguments; None if nothing, or if the tool will refuse it."""


def can_ask(context: Context) -> bool:
    """Return whether the client can put a form before a person."""
    known = context.client_capabilities
    elicitation = None if known is None else known.elicitation
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def gated(function: Callable[..., Any], asks: Asks | None, hidden: Collection[str] = ()) -> Callable[..., Any]:
    """The tool behind its question, without arguments that this profile does not have."""
    if asks is None:
        return _with_signature(lambda **given: function(**given), function, {}, hidden) if hidden else function

    def look(context: Context, **given: Any) -> Question:
        with deadline.at_most(deadline.CALL_SECONDS):
            removal = asks(**given)
            if removal is not None and can_ask(context):
                return removal.question()
        if removal is not None and removal.command:
            raise Unconfirmed(
                f"{removal.why}, and the client cannot ask a person; nothing was changed.",
                hint=f"A person can run it: `{removal.command}`",
            )
        return Question()

    looked = Annotated[Question, Resolve(_with_signature(look, asks, {"context": Context}, hidden))]

    def consent(question: looked) -> Elicit[Consent] | Consent:
        return Elicit(visible(question.text), Consent) if question.text else Consent(approve=True)

    def call(looked: Question, agreed: ElicitationResult[Consent], **given: Any) -> Any:
        _require_yes(agreed)
        return function(**{**given, **looked.arguments})

    added = {"looked": looked, "agreed": Annotated[ElicitationResult[Consent], Resolve(consent)]}
    return _with_signature(call, function, added, hidden)


def _require_yes(answer: ElicitationResult[Consent]) -> None:
    if not isinstance(answer, AcceptedElicitation) or not answer.data.approve:
        raise Unconfirmed("the person who was asked did not agree; nothing was changed.")


def _with_signature(
    wrapper: Callable[..., Any], like: Callable[..., Any], added: Mapping[str, Any], hidden: Collection[str]
) -> Callable[..., Any]:
    """The wrapper as the SDK sees it: the parameters of another function, with some more and some fewer."""
    hints = get_type_hints(like, include_extras=True)
    shown = [each for each in inspect.signature(like).parameters.values() if each.name not in hidden]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [each.replace(kind=keyword, annotation=hints.get(each.name, Any)) for each in shown]
    parameters += [inspect.Parameter(name, keyword, annotation=kind) for name, kind in added.items()]
    result = hints.get("return", Any)
    wrapper.__signature__ = inspect.Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {**{each.name: each.annotation for each in parameters}, "return": result}
    wrapper.__name__, wrapper.__qualname__, wrapper.__doc__ = like.__name__, like.__qualname__, like.__doc__
    return wrapper
