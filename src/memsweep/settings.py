"""Settings: the only reader of the environment and of memsweep.toml.

A value comes from the environment, else from memsweep.toml, else from the defaults below. The file is
never looked for in the current folder: a checked-out repository must not decide where memories go.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from memsweep.errors import BadSetting
from memsweep.example import EXAMPLE as EXAMPLE
from memsweep.model.address import parse_address
from memsweep.model.decay import DEFAULT_EDGE_RATE, DEFAULT_RATE, DEFAULT_RATES, Rates
from memsweep.model.ids import DEFAULT_WORKSPACE, check_name
from memsweep.model.text import check_text, name_key, without_password

EMBEDDERS = ("local", "ollama", "openai")
ENCODINGS = ("o200k_base", "cl100k_base", "length/4")
_DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
_DEFAULT_MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}


@dataclass(frozen=True, slots=True)
class Embedding:
    """Who embeds: the bundled model, or a server. An API key is read from the variable named here."""

    provider: str = "local"
    url: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Chunking:
    """In tokens."""

    size: int = 512
    overlap: int = 50


@dataclass(frozen=True, slots=True)
class Code:
    """`secrets`: patterns of files that are never indexed, besides the ones that are built in."""

    max_file_size: int = 1_048_576
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gc:
    """The collector: how long a plan lasts, what is too young to go, how long an apply may take, when trash is old."""

    plan_hours: float = 1.0
    grace_days: float = 0.0
    apply_seconds: float = 60.0
    purge_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Graph:
    """The knowledge graph: how fast facts fade, and below what they have faded away."""

    rates: Mapping[str, float] = field(default_factory=dict)
    other_rate: float = DEFAULT_RATE
    edge_rate: float = DEFAULT_EDGE_RATE
    node_threshold: float = 0.1
    edge_threshold: float = 0.05
    max_age_days: float = 30.0

    def decay(self) -> Rates:
        """The rates by type: ours, and over them those of the settings."""
        given = {name_key(kind): rate for kind, rate in self.rates.items()}
        return Rates({**DEFAULT_RATES, **given}, self.other_rate, self.edge_rate)


@dataclass(frozen=True, slots=True)
class Context:
    """Context windows: when they are collected, what is a root for how long, how tokens are counted."""

    soft_tokens: int = 100_000
    hard_tokens: int = 200_000
    changes_per_step: int = 20
    batch: int = 20
    last_n: int = 10
    decision_minutes: int = 60
    encoding: str = "o200k_base"
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Background collection, off by default. No workspaces means all; 0 days means never."""

    enabled: bool = False
    cron: str = "0 2 * * *"
    strategies: tuple[str, ...] = ("stale_code",)
    workspaces: tuple[str, ...] = ()
    ttl_days: float = 0.0
    purge_days: float = 0.0
    notify_command: tuple[str, ...] = ()
    notify_url: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default."""

    home: Path = Path()
    store: str = ""
    workspace: str = DEFAULT_WORKSPACE
    log_level: str = "WARNING"
    embedding: Embedding = field(default_factory=Embedding)
    chunking: Chunking = field(default_factory=Chunking)
    code: Code = field(default_factory=Code)
    gc: Gc = field(default_factory=Gc)
    graph: Graph = field(default_factory=Graph)
    context: Context = field(default_factory=Context)
    schedule: Schedule = field(default_factory=Schedule)
    api_key: str = field(default="", repr=False)

    def shown(self) -> dict[str, Any]:
        """What may be shown to a person: no secret."""
        values = asdict(self)
        del values["api_key"]
        values["embedding"]["url"] = without_password(self.embedding.url)
        return {**values, "home": str(self.home), "store": without_password(self.store)}


def stored_at(settings: Settings, where: str) -> Settings:
    """The same settings with another store: `sqlite`, `sqlite:FOLDER` or an address; empty changes nothing."""
    kind, _, folder = where.partition(":")
    if kind == "sqlite":
        return replace(settings, store="", home=_expanded(folder).absolute() if folder else settings.home)
    return replace(settings, store=_checked_store(where)) if where else settings


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    if given := environ.get("MEMSWEEP_CONFIG"):
        return _expanded(given)
    if home := environ.get("MEMSWEEP_HOME"):
        return _expanded(home) / "memsweep.toml"
    from platformdirs import user_config_path

    return user_config_path("memsweep", appauthor=False) / "memsweep.toml"


def load_settings(environ: Mapping[str, str] = os.environ, *, overrides: Mapping[str, str] | None = None) -> Settings:
    """Read the file and the environment; refuse what is unknown or impossible."""
    environ = {**environ, **(overrides or {})}
    named = bool(environ.get("MEMSWEEP_CONFIG"))
    stored = {} if _home_is_locked(environ) else _from_file(config_file(environ), must_exist=named)
    values = _merge(stored, _from_environ(environ))
    settings: Settings = _build(Settings, values, "")
    embedding = _checked_embedding(settings.embedding)
    check_name(settings.workspace, "the workspace in the settings")
    for name in ("plan_hours", "grace_days", "apply_seconds", "purge_days"):
        if not 0 <= getattr(settings.gc, name) < 1e6:
            raise BadSetting(f"gc.{name} {getattr(settings.gc, name)} is not from 0 to 1,000,000.")
    if settings.code.max_file_size < 1:
        raise BadSetting(f"code.max_file_size {settings.code.max_file_size} is not a number of bytes.")
    if not 16 <= settings.chunking.size <= 8192 or not 0 <= settings.chunking.overlap <= settings.chunking.size // 2:
        raise BadSetting(
            f"chunking.size {settings.chunking.size} and chunking.overlap {settings.chunking.overlap} do not fit.",
            hint="size is from 16 to 8192, overlap at most half of it.",
        )
    return Settings(
        home=_home(settings.home),
        store=_checked_store(settings.store),
        workspace=settings.workspace,
        log_level=_one_of(settings.log_level.upper(), ("DEBUG", "INFO", "WARNING", "ERROR"), "log_level"),
        embedding=embedding,
        chunking=settings.chunking,
        code=settings.code,
        gc=settings.gc,
        graph=_checked_graph(settings.graph),
        context=_checked_context(settings.context),
        schedule=settings.schedule,
        api_key=_api_key(environ, embedding.api_key_env),
    )


def _checked_graph(graph: Graph) -> Graph:
    named = {f"rates.{kind}": rate for kind, rate in graph.rates.items()}
    for name, rate in {**named, "other_rate": graph.other_rate, "edge_rate": graph.edge_rate}.items():
        if not 0 < rate <= 1:
            raise BadSetting(f"graph.{name} {rate} is not a share that is left after a day: above 0, at most 1.")
    for name in ("node_threshold", "edge_threshold"):
        if not 0 <= getattr(graph, name) <= 1:
            raise BadSetting(f"graph.{name} {getattr(graph, name)} is not from 0 to 1.")
    if not 0 <= graph.max_age_days < 1e6:
        raise BadSetting(f"graph.max_age_days {graph.max_age_days} is not from 0 to 1,000,000.")
    return graph


def _api_key(environ: Mapping[str, str], name: str) -> str:
    key = environ.get(name, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadSetting(f"the key in {name} has letters that cannot be sent.", hint="Set it again.")
    return key


def _home_is_locked(environ: Mapping[str, str]) -> bool:
    """A home that is absent or cannot be entered has no settings; a server starts, and its tools say what is wrong."""
    home = environ.get("MEMSWEEP_HOME")
    if not home or environ.get("MEMSWEEP_CONFIG"):
        return False
    return not os.access(_expanded(home), os.X_OK)


def _home(given: Path) -> Path:
    if given != Path():
        return Path(check_text(str(_expanded(given).absolute()), "the path of home"))
    from platformdirs import user_data_path

    return user_data_path("memsweep", appauthor=False)


def _checked_store(url: str) -> str:
    """Empty, or the address of a server; an address that cannot be read is refused without showing its password."""
    try:
        if url:
            parse_address(url)
    except ValueError as error:
        raise BadSetting(
            f"store {without_password(url)!r} {error}.",
            hint="Write it like falkor://user:password@host:6379, or falkors:// for TLS.",
        ) from None
    return url


def _checked_embedding(embedding: Embedding) -> Embedding:
    _one_of(embedding.provider, EMBEDDERS, "embedding.provider")
    url = embedding.url or _DEFAULT_URLS.get(embedding.provider, "")
    if url and not url.startswith(("http://", "https://")):
        raise BadSetting(f"embedding.url {url!r} is not an http address.")
    if not 0 < embedding.timeout_seconds <= 3600:
        raise BadSetting(f"embedding.timeout_seconds {embedding.timeout_seconds} is not from 0 to 3600.")
    model = embedding.model or _DEFAULT_MODELS.get(embedding.provider, "")
    return Embedding(embedding.provider, url, model, embedding.api_key_env, embedding.timeout_seconds)


def _checked_context(context: Context) -> Context:
    _one_of(context.encoding, ENCODINGS, "context.encoding")
    for name in ("soft_tokens", "hard_tokens", "changes_per_step", "batch"):
        if getattr(context, name) < 1:
            raise BadSetting(f"context.{name} {getattr(context, name)} is not above 0.")
    if min(context.last_n, context.decision_minutes) < 0:
        raise BadSetting("context.last_n and context.decision_minutes cannot be negative.")
    if context.soft_tokens > context.hard_tokens:
        raise BadSetting(
            f"context.soft_tokens {context.soft_tokens} is above context.hard_tokens {context.hard_tokens}."
        )
    return context


def _one_of(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        raise BadSetting(f"{name} {value!r} is unknown.", hint=f"Use one of: {', '.join(known)}.")
    return value


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadSetting(f"{path} cannot be found: there is no such user.") from None


def _from_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return {}
        raise BadSetting(f"{path} cannot be read: {error}.", hint="Correct it or move it away.") from None


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    """MEMSWEEP_WORKSPACE=x sets `workspace`, MEMSWEEP_EMBEDDING_MODEL=x sets `embedding.model`."""
    values: dict[str, Any] = {}
    for name, path in _variables().items():
        if text := environ.get(name):
            table = values
            for part in path[:-1]:
                table = table.setdefault(part, {})
            table[path[-1]] = text
    return values


def _variables() -> dict[str, tuple[str, ...]]:
    """Every environment variable and the setting it stands for."""
    names: dict[str, tuple[str, ...]] = {}
    for one in fields(Settings):
        hint = get_type_hints(Settings)[one.name]
        inner = [(one.name, sub.name) for sub in fields(hint)] if is_dataclass(hint) else [(one.name,)]
        names |= {"MEMSWEEP_" + "_".join(path).upper(): path for path in inner if path != ("api_key",)}
    return names


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    joined = dict(base)
    for key, value in over.items():
        below = joined.get(key)
        joined[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return joined


def _build(kind: type[Any], values: dict[str, Any], prefix: str) -> Any:
    known = {one.name for one in fields(kind)} - {"api_key"}
    if unknown := sorted(values.keys() - known):
        raise BadSetting(
            f"the setting {prefix}{unknown[0]} is unknown.", hint=f"Known here: {', '.join(sorted(known))}."
        )
    hints = get_type_hints(kind)
    return kind(**{key: _convert(hints[key], value, prefix + key) for key, value in values.items()})


def _convert(kind: type[Any], value: Any, name: str) -> Any:
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise BadSetting(f"the setting {name} must be a table, not {value!r:.40}.")
        return _build(kind, value, f"{name}.")
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise BadSetting(f"the setting {name} must be a list of texts, not {value!r:.40}.")
        return tuple(part for part in parts if part)
    if get_origin(kind) is Mapping:
        return _numbers(value, name)
    if kind is bool:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if isinstance(value, str):
            value = words.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise BadSetting(f"the setting {name} must be true or false, not {value!r:.40}.")
        return value
    try:
        if isinstance(value, bool) or (kind in (str, Path) and not isinstance(value, str)):
            raise ValueError
        if kind is int and isinstance(value, float):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        raise BadSetting(f"the setting {name} must be {kind.__name__}, not {value!r:.40}.") from None


def _numbers(value: Any, name: str) -> dict[str, float]:
    """A table of numbers, or `a=1,b=2` in the environment."""
    if isinstance(value, str):
        value = dict(part.strip().partition("=")[::2] for part in value.split(",") if part.strip())
    if not isinstance(value, dict):
        raise BadSetting(f"the setting {name} must be a table of numbers, not {value!r:.40}.")
    return {str(key).strip(): _convert(float, number, f"{name}.{key}") for key, number in value.items()}
