"""Print the figures that say how much of the house one change touches; none may get worse.

`python scripts/house.py` prints them beside their limits, `--tighten` writes today's figures where they are better.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "memsweep"
LIMITS = Path(__file__).with_suffix(".json")
RIDDLE = re.compile(r"(What|Those|Whether|Who|Whose|Which|Where|How)\b")
SMALL_MODULE = 100


@cache
def parsed() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


def lines(folder: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob("*.py"))


def files(folder: Path) -> int:
    return len([*folder.rglob("*.py")])


def port_methods() -> int:
    """Count the methods in `store/` that every engine has to write: of protocols, and abstract ones."""
    classes = [
        node
        for path, tree in parsed().items()
        if (SOURCE / "store") in path.parents
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    return sum(
        any("Protocol" in ast.unparse(base) for base in node.bases)
        or any("abstractmethod" in ast.unparse(each) for each in member.decorator_list)
        for node in classes
        for member in node.body
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def statements(language: re.Pattern[str]) -> int:
    """Count the constants in `store/` that are a statement of a query language."""
    return sum(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(language.match(node.value))
        for path, tree in parsed().items()
        if (SOURCE / "store") in path.parents
        for node in ast.walk(tree)
    )


def lone_modules() -> int:
    """Count small modules that one module of the same folder imports, and no other one."""
    users: dict[str, set[Path]] = defaultdict(set)
    for path, tree in parsed().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    users[name].add(path)
    found = 0
    for path in parsed():
        name = ".".join(("memsweep", *path.relative_to(SOURCE).with_suffix("").parts))
        importers = users[name] - {path}
        if len(importers) == 1 and next(iter(importers)).parent == path.parent and path.name != "__init__.py":
            found += len(path.read_text("utf-8").splitlines()) < SMALL_MODULE
    return found


def docstrings() -> Iterator[str]:
    for tree in parsed().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield text


def riddles_per_mille() -> int:
    """Of 1,000 docstrings, how many begin like a question."""
    texts = [*docstrings()]
    return round(1000 * sum(bool(RIDDLE.match(text)) for text in texts) / len(texts))


def shared_class_names() -> int:
    """Count public names that stand for classes of several modules."""
    places: dict[str, set[Path]] = defaultdict(set)
    for path, tree in parsed().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(path)
    return sum(len(each) > 1 for each in places.values())


def traced(call: Callable[[], Any]) -> tuple[Any, int]:
    """Run a call, and count the files of memsweep in which a function ran."""
    seen: set[str] = set()
    source = str(SOURCE)

    def note(frame: FrameType, event: str, _: object) -> None:
        code: CodeType = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(source):
            seen.add(code.co_filename)

    threading.setprofile_all_threads(note) if hasattr(threading, "setprofile_all_threads") else sys.setprofile(note)
    try:
        result = call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return result, len(seen)


def calls() -> dict[str, int]:
    """Return the files that five tools pass, each called a second time so that nothing is loaded."""
    import apsw

    from memsweep.app import make_app
    from memsweep.server.app import tool_rows
    from memsweep.settings import load_settings

    passed = {}
    asked: list[str] = []

    def hear(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))

    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code")
        code.mkdir()
        for name in ("one", "two", "three"):
            (code / f"{name}.py").write_text(f"def {name}():\n    return {name!r}\n", "utf-8")
        app = make_app(load_settings(overrides={"MEMSWEEP_HOME": str(Path(folder, "home"))}))
        tools = {row.function.__name__: row.function for row in tool_rows(app, "full")}
        add, search, prune, undo = (tools[name] for name in ("add_memory", "search_memory", "prune_memory", "undo"))
        index = partial(app.memory("house").code.index, code)
        for count in (False, True):
            add("Ada Lovelace wrote the first program for the engine.", workspace_id="house")
            _, passed["an add"] = traced(
                lambda: add(f"Charles Babbage built the engine in London. {count}", workspace_id="house")  # noqa: B023
            )
            _, passed["a search"] = traced(lambda: search("who built the engine", workspace_id="house"))
            index()
            (code / ("two.py" if count else "one.py")).unlink()
            index()
            plan, passed["a dry run"] = traced(lambda: prune(workspace_id="house"))
            apply = partial(prune, workspace_id="house", dry_run=False, confirm=True, plan_id=plan["plan_id"])
            receipt, passed["an apply"] = traced(apply)
            app.close()
            apsw.connection_hooks.append(hear)
            search("engine", workspace_id="house")
            asked.clear()
            _, passed["an undo"] = traced(lambda: undo(receipt["receipt_id"], workspace_id="house"))  # noqa: B023
            apsw.connection_hooks.remove(hear)
        passed["statements"] = len([said for said in asked if not said.startswith("--") and "'main'." not in said])
        app.close()
    return passed


def figures() -> dict[str, int]:
    passed = calls()
    store, falkor = SOURCE / "store", SOURCE / "store" / "falkor"
    sql = re.compile(r"\s*(with|select|insert|update|delete|replace|create|drop|alter|pragma)\s", re.IGNORECASE)
    cypher = re.compile(r"\s*(MATCH|OPTIONAL MATCH|UNWIND|CREATE|MERGE|CALL|WITH|RETURN|DROP)\s")
    return {
        "methods in the engines' ports": port_methods(),
        "statements in SQL or Cypher": statements(re.compile(f"({sql.pattern})|({cypher.pattern})", re.IGNORECASE)),
        "lines in src/memsweep/store": lines(store),
        "files in src/memsweep/store": files(store),
        "lines in src/memsweep/store/falkor": lines(falkor),
        "lines in src": lines(SOURCE),
        "files in src": files(SOURCE),
        **{
            f"files that {call} passes": passed[call]
            for call in ("an add", "a search", "a dry run", "an apply", "an undo")
        },
        "statements of an undo of one file": passed["statements"],
        "small modules with one importer, next door": lone_modules(),
        "docstrings of 1,000 that begin like a question": riddles_per_mille(),
        "public class names with several meanings": shared_class_names(),
        "lines of Python in tests": lines(ROOT / "tests"),
    }


def main() -> None:
    now, limits = figures(), json.loads(LIMITS.read_text("utf-8")) if LIMITS.exists() else {}
    for name, figure in now.items():
        print(f"{figure:>7,}  of at most {limits.get(name, figure):>7,}  {name}")
    if "--tighten" in sys.argv:
        kept = {name: min(figure, limits.get(name, figure)) for name, figure in now.items()}
        LIMITS.write_text(json.dumps(kept, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
