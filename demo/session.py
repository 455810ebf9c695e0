"""A debugging session that really takes place: files are read, tests fail, a fix is made. Recorded as JSON lines.

The form is that of Claude Code's session files; every tool result is what the tool said.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CART = '''"""Totals of a cart."""

from money import cents


def total(prices):
    return sum(cents(price) for price in prices)


def shipping(prices):
    return 0 if total(prices) >= 5000 else 495
'''
MONEY = """def cents(price):
    return int(price * 100)
"""
TESTS = """import unittest

from cart import shipping, total


class Totals(unittest.TestCase):
    def test_small_order(self):
        self.assertEqual(total([1.5, 2.25]), 375)

    def test_large_order(self):
        self.assertEqual(total([1131.09]), 113109)

    def test_free_shipping(self):
        self.assertEqual(shipping([49.99]), 495)
"""
FIXED = """from decimal import ROUND_HALF_EVEN, Decimal


def cents(price):
    return int((Decimal(str(price)) * 100).quantize(Decimal(1), ROUND_HALF_EVEN))
"""


class Recorder:
    """Does what the agent of the session does, and writes down what was said."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lines: list[dict[str, Any]] = []

    def say(self, role: str, content: Any) -> None:
        own, message = f"line-{len(self.lines) + 1}", {"role": role, "content": content}
        self.lines.append({"type": role, "uuid": own, "message": message})

    def read(self, why: str, name: str) -> None:
        self._use(why, "Read", {"file_path": name}, (self._folder / name).read_text(encoding="utf-8"))

    def write(self, why: str, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")
        self._use(why, "Write", {"file_path": name, "content": text}, f"{name} was written.")

    def test(self, why: str) -> None:
        command = [sys.executable, "-B", "-m", "unittest", "-v"]
        ran = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        self._use(why, "Bash", {"command": "python -m unittest -v"}, ran.stderr)

    def _use(self, why: str, tool: str, arguments: dict[str, Any], result: str) -> None:
        call = f"call-{len(self.lines)}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": arguments}
        self.say("assistant", [{"type": "text", "text": why}, use])
        self.say("user", [{"type": "tool_result", "tool_use_id": call, "content": result}])


def record(folder: Path) -> Path:
    """Let the session take place in a folder; the session file."""
    for name, text in (("cart.py", CART), ("money.py", MONEY), ("test_cart.py", TESTS)):
        (folder / name).write_text(text, encoding="utf-8")
    session = Recorder(folder)
    session.say("user", "Totals over $1,000 are off by a cent (order 88213, customer Ines Duarte). Find out why.")
    session.read("I start with the cart.", "cart.py")
    session.test("Then the tests, to see it fail.")
    session.read("The tests say what is expected.", "test_cart.py")
    session.say("user", "Never round up in favour of the shop: half to even, as the ledger does.")
    session.read("The cart adds up cents, so I look at those.", "money.py")
    session.say("assistant", "int(1131.09 * 100) is 113108: the float is just below. Decimal from the text is exact.")
    session.write("I replace it.", "money.py", FIXED)
    session.test("And run the tests again.")
    session.read("A last look at the cart, which need not change.", "cart.py")
    session.say("user", "Good. Is there anything else in it that depends on floats?")
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in session.lines), encoding="utf-8")
    return path
