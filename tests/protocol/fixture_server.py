"""Our server over HTTP with the fixtures that the conformance suite calls by name: `python -m … PORT`.

Server class, door, guard, tokens and limits are ours; the suite cannot send a token, so one is put into its requests.
"""

import asyncio
import base64
import json
import sys
from typing import Annotated, Any, Literal

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel, Field

from memsweep.app import App, make_app
from memsweep.server.http.door import Door, bind, serve_until_signalled
from memsweep.server.http.servers import Meter, make_servers
from memsweep.web.guard import make_guard

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0\x80>\0\0\2\0\x10\0data\0\0\0\0"
IMAGE = ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png")


def text_resource(uri: str, kind: str, text: str) -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, mime_type=kind, text=text))


class Person(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email address")


class Name(BaseModel):
    name: str


class Confirmed(BaseModel):
    ok: bool


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def ask_person(message: str) -> Elicit[Person]:
    return Elicit(message, Person)


def user_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def confirm() -> Elicit[Confirmed]:
    return Elicit("Please confirm", Confirmed)


def ask_with_defaults() -> Elicit[Defaults]:
    return Elicit("Please look through this", Defaults)


def add_tools(server: MCPServer[Any]) -> None:
    def test_simple_text() -> str:
        """Text."""
        return "This is a simple text response for testing."

    def test_image_content() -> ImageContent:
        """A picture."""
        return IMAGE

    def test_audio_content() -> AudioContent:
        """A sound."""
        return AudioContent(type="audio", data=base64.b64encode(WAV).decode(), mime_type="audio/wav")

    def test_embedded_resource() -> EmbeddedResource:
        """A resource."""
        return text_resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")

    def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """Several kinds."""
        said = TextContent(type="text", text="Multiple content types test:")
        data = json.dumps({"test": "data", "value": 123})
        return [said, IMAGE, text_resource("test://mixed-content-resource", "application/json", data)]

    def test_error_handling() -> str:
        """Fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    async def test_tool_with_progress(context: Context) -> str:
        """Takes its time."""
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return "done"

    def test_elicitation(message: str, person: Annotated[ElicitationResult[Person], Resolve(ask_person)]) -> str:
        """Asks a person, as our tools do before they remove something."""
        answer = person.data.model_dump() if isinstance(person, AcceptedElicitation) else {}
        return f"User response: {json.dumps(answer)}"

    def test_elicitation_sep1034_defaults(
        given: Annotated[ElicitationResult[Defaults], Resolve(ask_with_defaults)],
    ) -> str:
        """Asks with a suggestion for each kind of field."""
        content = given.data.model_dump() if isinstance(given, AcceptedElicitation) else {}
        return f"Elicitation completed: action={given.action}, content={json.dumps(content)}"

    def test_input_required_result_elicitation(
        user_name: Annotated[ElicitationResult[Name], Resolve(user_name)],
    ) -> str:
        """Asks a person, in rounds."""
        return f"Hello, {user_name.data.name if isinstance(user_name, AcceptedElicitation) else 'nobody'}!"

    def test_input_required_result_request_state(
        confirm: Annotated[ElicitationResult[Confirmed], Resolve(confirm)],
    ) -> str:
        """Asks a person, and knows the question again."""
        return f"state-ok {confirm.action}"

    def test_input_required_result_tampered_state(
        confirm: Annotated[ElicitationResult[Confirmed], Resolve(confirm)],
    ) -> str:
        """The same."""
        return f"state-ok {confirm.action}"

    def test_missing_capability() -> str:
        """Needs what the client cannot do."""
        required = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", required)

    for tool in (
        test_elicitation_sep1034_defaults,
        test_input_required_result_elicitation,
        test_input_required_result_request_state,
        test_input_required_result_tampered_state,
        test_missing_capability,
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_elicitation,
    ):
        server.add_tool(tool, structured_output=False)


def add_resources(server: MCPServer[Any]) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return PNG

    @server.resource("test://template/{id}/data", mime_type="application/json")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_prompts(server: MCPServer[Any]) -> None:
    @server.prompt()
    def test_simple_prompt() -> str:
        """Without arguments"""
        return "This is a simple prompt for testing."

    @server.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """With two arguments"""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
        """With a resource in it"""
        embedded = text_resource(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(embedded), UserMessage("Please process the embedded resource above.")]

    @server.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """With a picture in it"""
        return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


def with_token(app: Any, secret: str) -> Any:
    async def asgi(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {secret}".encode())]}
        await app(scope, receive, send)

    return asgi


def main(port: int) -> None:
    app: App = make_app()
    _, secret = app.tokens.create("suite")
    meter = Meter()
    servers = make_servers(app, "full", meter)
    for add in (add_tools, add_resources, add_prompts):
        add(servers["whole"])
    with bind("127.0.0.1", port) as listener:
        own_port = listener.getsockname()[1]
        door = Door(app, servers, make_guard(own_port), meter, is_local=True)
        door.asgi = with_token(door.asgi, secret)
        print(f"memsweep serves agents at http://127.0.0.1:{own_port}/mcp", file=sys.stderr, flush=True)
        serve_until_signalled(door, listener, 30)
    app.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
