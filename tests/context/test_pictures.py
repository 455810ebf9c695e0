"""What is not text in a message: thoughts are their text, pictures and documents cost what they cost."""

import base64
import json
import struct
from typing import Any

import pytest

from memsweep.context import sweep_messages
from memsweep.context.forms import media_tokens, picture_size, read_turn
from memsweep.context.transcripts import read_transcript
from memsweep.model.tokens import estimate_tokens
from tests.context.build import NOW

WIDE, HIGH = 1200, 500
PDF = b"%PDF /Type /Page x /Type /Page /Type /Pages"


def png(width: int = WIDE, height: int = HIGH) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def jpeg() -> bytes:
    thumbnail = b"\xff\xe1" + struct.pack(">H", 60_002) + b"\xff\xc0" * 30_000
    return b"\xff\xd8" + thumbnail + b"\xff\xc2" + struct.pack(">HBHH", 17, 8, HIGH, WIDE) + b"\0" * 20


FORMS = {
    "png": png(),
    "jpeg behind a thumbnail": jpeg(),
    "gif": b"GIF89a" + struct.pack("<HH", WIDE, HIGH) + b"\0" * 10,
    "webp, lossy": b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", WIDE, HIGH) + b"\0" * 9,
    "webp, lossless": b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", WIDE - 1 | (HIGH - 1) << 14) + b"\0" * 9,
    "webp, extended": b"RIFF\0\0\0\0WEBPVP8X"
    + b"\0" * 8
    + (WIDE - 1).to_bytes(3, "little")
    + (HIGH - 1).to_bytes(3, "little"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_size_of_a_picture_is_read_from_its_head(name: str) -> None:
    assert picture_size(FORMS[name]) == (WIDE, HIGH)


CUT_SHORT = [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBP", b"\xff\xd8\xff\xe1\0\0" * 9]


@pytest.mark.parametrize("head", CUT_SHORT)
def test_a_head_that_is_cut_short_has_no_size(head: bytes) -> None:
    assert picture_size(head) is None


def encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


BLOCKS = {
    "anthropic": ({"type": "image", "source": {"type": "base64", "data": encoded(png())}}, 800),
    "openai": ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + encoded(png())}}, 800),
    "openai, low": ({"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}}, 85),
    "langchain": ({"type": "image", "base64": encoded(png())}, 800),
    "large": ({"type": "image", "source": {"data": encoded(png(9000, 9000))}}, 1600),
    "tiny": ({"type": "image", "source": {"data": encoded(png(1, 1))}}, 1),
    "linked to": ({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}, 1600),
    "of unknown size": ({"type": "image", "source": {"data": "A" * 4000}}, 12),
    "no base64": ({"type": "image", "source": {"data": "~~~"}}, 1),
    "a document of two pages": (
        {
            "type": "document",
            "source": {"type": "base64", "data": encoded(PDF)},
        },
        4000,
    ),
    "a file": ({"type": "file", "file": {"file_id": "f"}}, 2000),
}


@pytest.mark.parametrize(("block", "tokens"), BLOCKS.values(), ids=BLOCKS.keys())
def test_pictures_and_documents_cost_what_their_size_says(block: dict[str, Any], tokens: int) -> None:
    assert media_tokens(block) == tokens
    message = {"role": "user", "content": [block]}
    label = estimate_tokens(f"[{block['type']}]")
    assert sweep_messages([message], 10_000).tokens_before == tokens + label
    (segment,) = read_transcript(json.dumps([message]), now=NOW, count=estimate_tokens)
    assert segment.tokens == tokens + label


def test_a_picture_in_a_result_counts_too() -> None:
    picture = BLOCKS["anthropic"][0]
    message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [picture]}]}
    assert (read_turn(message).media_tokens, read_turn(message).text) == (800, "[image]")


def test_a_picture_takes_its_room_in_a_budget() -> None:
    messages = [
        {"role": "user", "content": [BLOCKS["anthropic"][0]]},
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": "What was in it?"},
    ]
    assert sweep_messages(messages, 100).stash == messages[:1]


THOUGHTS = {
    "anthropic": ({"type": "thinking", "thinking": "First the cart.", "signature": "x" * 4000}, "First the cart."),
    "reasoning": ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "The cart."}]}, "The cart."),
    "hidden": ({"type": "redacted_thinking", "data": "x" * 4000}, "[redacted_thinking]"),
    "a document of text": ({"type": "document", "source": {"type": "text", "data": "All of it."}}, "All of it."),
}


@pytest.mark.parametrize(("block", "text"), THOUGHTS.values(), ids=THOUGHTS.keys())
def test_thoughts_are_their_text(block: dict[str, Any], text: str) -> None:
    turn = read_turn({"role": "assistant", "content": [block]})
    assert (turn.text, turn.media_tokens) == (text, 0)
