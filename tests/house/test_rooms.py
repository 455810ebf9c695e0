"""Size, purity and tidiness of the rooms."""

import ast
import re
import subprocess
import sys

from tests.house.tree import ROOT, SOURCE, functions, imports, modules, named, nodes, offences

MOST_LINES = 700
MOST_FUNCTION_LINES = 60

# Decisions are pure: what they need of the world is handed in.
PURE = re.compile(
    r"(model|secrets|report)/.*|errors\.py|memory/(draft|filters|chunking|names|fusion)\.py"
    r"|store/(file|sqlite)/(\w*sql|schema|script)\.py|store/falkor/(\w*cypher|schema|wire)\.py"
    r"|server/schema\.py|collector/(planner|roots|strategies/.*)\.py"
    r"|graph/(batch|validate|building|exchange/.*)\.py|context/(?!(service|receipts|counting)\.py).*"
    r"|adopt/(clients|notes|dead|stranded|changing|mirror|codec|restoring)\.py"
    r"|schedule/(cron|runs)\.py|code/(delta|chunk|symbols)\.py|care/invariants\.py"
)
IMPURE_MODULES = {"os", "time", "random", "secrets", "socket", "subprocess", "pathlib", "apsw", "httpx", "threading"}
IMPURE_CALLS = {"now", "today", "utcnow", "open", "print", "input"}

# Only doors may catch everything, each once.
DOORS = {"hooks/answering.py", "hooks/door.py"}


def test_a_module_is_small_enough_to_read():
    sizes = {named(path): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert [name for name, lines in sizes.items() if lines > MOST_LINES] == []


def test_a_function_does_one_thing():
    def too_long(path):
        # A function that only holds the tools of one feature is a table, and its rows are counted one by one.
        return (
            f"{function.name} has {size} lines"
            for function in functions(path)
            if (size := function.end_lineno - function.lineno + 1) > MOST_FUNCTION_LINES
            and not any(isinstance(inner, ast.FunctionDef) for inner in function.body)
        )

    assert offences(too_long) == []


def test_a_pure_module_touches_nothing():
    def impure(path):
        called = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in nodes(path)
            if isinstance(node, ast.Call)
        }
        return ({name.split(".")[0] for name in imports(path)} & IMPURE_MODULES) | (called & IMPURE_CALLS)

    assert offences(impure, [path for path in modules() if PURE.fullmatch(named(path))]) == []


def test_nothing_catches_everything_outside_the_doors():
    def broad(path):
        return (
            f"line {node.lineno}"
            for node in nodes(path)
            if isinstance(node, ast.ExceptHandler)
            and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
            and not any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node))
        )

    assert offences(broad, [path for path in modules() if named(path) not in DOORS]) == []


def test_sql_lives_in_the_engine_and_in_modules_of_its_own():
    statement = re.compile(r"\s*(select|insert|update|delete|create|drop)\s+\w+.*\b(from|into|set|table|view)\b")

    def sql(path):
        return (
            node.value[:60]
            for node in nodes(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and statement.match(node.value)
        )

    # In the engine a query may stand beside the steps that it is for.
    places = r"store/(sqlite/\w+|file/(\w*sql|schema))\.py"
    others = [path for path in modules() if not re.fullmatch(places, named(path))]
    assert offences(sql, others) == []


def test_only_the_settings_read_the_environment():
    def reads(path):
        text = path.read_text("utf-8")
        return (name for name in ("os.environ", "getenv") if name in text or f"os.{name}" in imports(path))

    allowed = {"__main__.py", "places.py", "settings/load.py"}  # the first sets one for numpy
    assert offences(reads, [path for path in modules() if named(path) not in allowed]) == []


def test_importing_the_package_costs_nothing():
    heavy = {"mcp", "numpy", "apsw", "tokenizers", "httpx", "typer", "rich", "pydantic", "numkong"}
    code = "import sys, memsweep; print(*sorted(name for name in sys.modules if '.' not in name))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) & heavy == set()


def test_no_file_names_a_registry_host_or_a_folder_of_one_machine():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = (("py", "pi.org"), ("python", "hosted"), ("npm", "js."), ("/ro", "ot/"), ("/wo", "rk/"))
    forbidden = re.compile("|".join(re.escape(head + tail) for head, tail in parts))
    guilty = [
        name
        for name in listed.split("\0")
        if name and (ROOT / name).is_file() and forbidden.search((ROOT / name).read_text("utf-8", errors="replace"))
    ]
    assert guilty == []


def test_the_architecture_names_every_room_and_no_other():
    page = (ROOT / "docs/architecture.md").read_text()
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}/`" not in page} <= {"store", "settings"}, "say what is in it"
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", page))
    assert {place for place in named if not (SOURCE / place).exists() and not (ROOT / place).exists()} == set()
