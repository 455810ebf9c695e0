"""The table of settings. What is written here is checked, shown by `config init` and printed in docs/settings.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memsweep.model.decay import DEFAULT_EDGE_RATE, DEFAULT_RATE, DEFAULT_RATES, Rates
from memsweep.model.frozen import field, fields_of, frozen
from memsweep.model.ids import PERSONAL_WORKSPACE
from memsweep.model.origin import TIERS
from memsweep.model.strategies import WITHOUT_QUESTION as STRATEGIES
from memsweep.model.text import name_key, without_password

DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
DEFAULT_MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}
_RATES = ", ".join(f"{kind} {rate:g}" for kind, rate in DEFAULT_RATES.items())
_MANY = 1_000_000
_INDEXED_PATH = re.compile(r"[A-Za-z0-9_-]{1,40}(?:\.[A-Za-z0-9_-]{1,40}){0,7}")  # it becomes part of a name
_ACTIONS = ("redact", "refuse", "warn", "off")


@frozen
class About:
    """The meaning and the limits of a setting; numbers lie from `least` to `most`."""

    meaning: str
    default: str = ""
    """In words, where the value itself says too little."""
    least: float | None = None
    most: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    is_command: bool = False
    """A list that may also be written as one line, as in a shell."""
    form: re.Pattern[str] | None = None
    """What texts have to match."""


def setting(value: Any, meaning: str, **about: Any) -> Any:
    """A field of a settings class; a table's default is made anew for everyone."""
    metadata = {"about": About(meaning, **about)}
    if isinstance(value, dict):
        return field(default_factory=lambda: dict(value), metadata=metadata)
    return field(default=value, metadata=metadata)


def table(kind: type[Any], meaning: str) -> Any:
    return field(default_factory=kind, metadata={"about": About(meaning)})


def about(kind: type[Any]) -> dict[str, About]:
    """Every setting of a class by its name; what is not for the file has no entry."""
    return {name: one.metadata["about"] for name, one in fields_of(kind).items() if one.metadata}


@frozen
class Embedding:
    """The table `[embedding]`."""

    provider: str = setting(
        "local",
        "what embeds texts: the bundled model (fast, no network), the stronger `minilm` (no network; the"
        " extra `minilm`), Ollama, or any OpenAI-compatible server",
        choices=("local", "minilm", "ollama", "openai"),
    )
    url: str = setting("", "address of the server", default="the provider's usual one")
    model: str = setting("", "model on the server", default=" or ".join(DEFAULT_MODELS.values()))
    api_key_env: str = setting(
        "OPENAI_API_KEY", "environment variable that holds the key; the key itself is never stored or shown"
    )
    timeout_seconds: float = setting(30.0, "how long to wait for the server", above=0, most=3600)
    threads: int = setting(
        0, "how many texts `minilm` embeds at once, or the reader reads; 0: one per core", least=0, most=256
    )


@frozen
class Search:
    """The table `[search]`."""

    reader: str = setting(
        "none",
        "which model reads the query together with each of the best hits, to order and judge them: none, or `ms-marco`"
        " (English prose, no network, 50 to 200 ms per search; the extra `reader`)",
        choices=("none", "ms-marco"),
    )
    metadata_index: tuple[str, ...] = setting(
        (),
        "paths in metadata that have an index, such as `ticket.id`; it is made with the next memory that is stored",
        default="none",
        form=_INDEXED_PATH,
    )


@frozen
class Chunking:
    """The table `[chunking]`."""

    size: int = setting(512, "tokens in a chunk at most", least=16, most=8192)
    overlap: int = setting(50, "tokens repeated from the previous chunk, at most half of `size`", least=0, most=4096)


@frozen
class Code:
    """The table `[code]`."""

    max_file_size: int = setting(1_048_576, "bytes; larger files are not indexed", least=1)
    secrets: tuple[str, ...] = setting(
        (), "patterns of files that are never indexed, besides `.env*`, keys and credentials"
    )


@frozen
class Gc:
    """The table `[gc]`."""

    plan_hours: float = setting(1.0, "how long a saved plan can be applied", least=0, most=_MANY)
    grace_days: float = setting(0.0, "what is younger is protected", least=0, most=_MANY)
    apply_seconds: float = setting(60.0, "an apply that takes longer is rolled back", least=0, most=_MANY)
    purge_days: float = setting(30.0, "how long trash is kept at least", least=0, most=_MANY)
    history_days: float = setting(
        90.0,
        "purged receipts with their plans, and events of the audit log, are let go after so many days, a few with every"
        " change that the collector makes; of the events of a day, one line for each actor and action keeps how many"
        " there were, from when to when, and the sums of their counts; 0: never",
        least=0,
        most=_MANY,
    )


@frozen
class GraphSettings:
    """The table `[graph]`."""

    rates: Mapping[str, float] = setting(
        {},
        "what is left of a fact after a day without confirmation, by type of entity, such as"
        f" `{{ person = 0.998, event = 0.993 }}`; types that are not named keep theirs: {_RATES}",
        above=0,
        most=1,
    )
    other_rate: float = setting(DEFAULT_RATE, "the same for every other type", above=0, most=1)
    edge_rate: float = setting(DEFAULT_EDGE_RATE, "the same for relations", above=0, most=1)
    node_threshold: float = setting(0.1, "an entity below this confidence has faded away", least=0, most=1)
    edge_threshold: float = setting(0.05, "a relation below this weight has faded away", least=0, most=1)
    max_age_days: float = setting(
        30.0, "entities seen within this many days are kept when the graph is pruned", least=0, most=_MANY
    )

    def decay(self) -> Rates:
        """The rates by type: ours, and over them those of the settings."""
        given = {name_key(kind): rate for kind, rate in self.rates.items()}
        return Rates({**DEFAULT_RATES, **given}, self.other_rate, self.edge_rate)


@frozen
class Context:
    """The table `[context]`."""

    soft_tokens: int = setting(100_000, "above it, small batches of a window are stashed", least=1)
    hard_tokens: int = setting(200_000, "at 90 % of it a full collection stashes down to the soft limit", least=1)
    changes_per_step: int = setting(
        20, "new segments between two small steps, which look at the young ones and a few of the old", least=1
    )
    batch: int = setting(20, "how many segments a small step stashes at most", least=1)
    last_n: int = setting(10, "how many of the last messages are roots", least=0)
    decision_minutes: int = setting(60, "how long a decision is a root", least=0)
    encoding: str = setting(
        "o200k_base",
        "how tokens are counted; `length/4` is an estimate",
        choices=("o200k_base", "cl100k_base", "length/4"),
    )
    weights: Mapping[str, float] = setting(
        {},
        "numbers of the scoring table to change, by name, such as `{ recency = 0.15, references = 0.1 }`;"
        " `memsweep/context/weights.py` has them all",
    )


@frozen
class Secrets:
    """The table `[secrets]`."""

    action: str = setting(
        "redact",
        "what happens to a password or a key in what is to be stored: a mark such as `[secret: aws-access-key]` takes"
        " its place, or all of it is refused, or it is stored with a warning",
        choices=_ACTIONS,
    )
    workspaces: Mapping[str, str] = setting(
        {}, 'the same for single workspaces, such as `{ scratch = "off" }`', choices=_ACTIONS
    )
    sources: Mapping[str, str] = setting(
        {},
        "the same by source, which counts before the workspace: the `source` of a memory, `code_indexer`, `context`,"
        " `transcript`, `graph`, `import`",
        choices=_ACTIONS,
    )

    def action_for(self, workspace_id: str, source: str) -> str:
        return self.sources.get(source) or self.workspaces.get(workspace_id) or self.action


@frozen
class QuarantineSettings:
    """The table `[quarantine]`."""

    tiers: tuple[str, ...] = setting(
        (), "memories from these tiers stay out of search until they are released", default="none", choices=TIERS
    )
    days: float = setting(30.0, "for how many days at most; 0: until they are released", least=0, most=_MANY)


@frozen
class Schedule:
    """The table `[schedule]`."""

    enabled: bool = setting(False, "whether a running server collects in the background")
    cron: str = setting("0 2 * * *", "minute, hour, day, month, weekday, in local time")
    strategies: tuple[str, ...] = setting(("stale_code",), "the strategies it runs", choices=STRATEGIES)
    workspaces: tuple[str, ...] = setting((), "the workspaces it collects in", default="all")
    ttl_days: float = setting(0.0, "for `expired`; 0: only what has a date of its own")
    purge_days: float = setting(
        0.0,
        "also purge what has been in the trash for this many days, and versions of client files replaced that long"
        " ago; 0: never",
    )
    notify_command: tuple[str, ...] = setting(
        (),
        'gets the summary as JSON on standard input; `["mail", "-s", "memsweep"]` or `"mail -s memsweep"`,'
        " which no shell sees",
        is_command=True,
    )
    notify_url: str = setting("", "gets the summary as JSON by POST")


@frozen
class HookSettings:
    """The table `[hooks]`."""

    enabled: bool = setting(True, "whether hooks of agents' clients do anything; `memsweep hooks off` is the quick way")
    briefing_tokens: int = setting(2000, "how much a session is told when it starts, at most", least=0, most=2300)
    prompt_tokens: int = setting(500, "how much recalled text a prompt gets, at most", least=0, most=2000)
    least_relevance: float = setting(0.7, "what is less relevant to a prompt is not shown", least=0, most=1)
    quarantine: tuple[str, ...] = setting(
        ("tool", "import"),
        "what comes from these tiers is not told until it is released, but for the places of indexed code",
        choices=TIERS,
    )
    memories_a_session: int = setting(
        5, "how many decisions and corrections of a session become memories; 0: none", least=0, most=100
    )
    shrink_output_chars: int = setting(
        0, "longer output of commands is cut, and the whole of it stashed first; 0: never (Claude Code only)", least=0
    )


@frozen
class Http:
    """The table `[http]`."""

    requests_per_second: float = setting(
        50.0, "how many requests a token may send in the long run; more are answered with 429", above=0, most=_MANY
    )
    burst: int = setting(500, "how many it may send at once before that counts", least=1, most=_MANY)
    patience_seconds: float = setting(
        30.0,
        "how long the head or the body of a request may take to arrive",
        above=0,
        most=3600,
    )


@frozen
class Settings:
    """Everything that can be set, with its default."""

    home: Path = setting(Path(), "where memories live; folders 0700, files 0600", default="the platform's data folder")
    store: str = setting(
        "",
        "`falkor://user:password@host:6379` keeps everything in FalkorDB"
        " (`falkors://` for TLS; `?ca=`, `?sentinel=`, `?timeout=`)",
        default="files in `home`",
    )
    workspace: str = setting(
        "", "what an empty workspace id means, in every project", default="the project's; `memsweep where` says which"
    )
    personal: str = setting(
        PERSONAL_WORKSPACE,
        "the workspace of what holds in every project: preferences, people, habits; it is searched along with the"
        " project's",
    )
    log_level: str = setting("WARNING", "the log goes to standard error", choices=("DEBUG", "INFO", "WARNING", "ERROR"))
    embedding: Embedding = table(Embedding, "who makes the vectors")
    search: Search = table(Search, "how hits are judged")
    chunking: Chunking = table(Chunking, "how texts are cut")
    code: Code = table(Code, "the code index")
    gc: Gc = table(Gc, "the collector")
    graph: GraphSettings = table(GraphSettings, "how facts fade, and when they have faded away")
    context: Context = table(Context, "the defaults of context windows, each of which can have its own")
    secrets: Secrets = table(Secrets, "passwords and keys in what is to be stored")
    quarantine: QuarantineSettings = table(QuarantineSettings, "what is held back before somebody has looked at it")
    schedule: Schedule = table(Schedule, "background collection by a running server")
    hooks: HookSettings = table(HookSettings, "what the hooks of agents' clients do")
    http: Http = table(Http, "what `memsweep serve --http` lets in")
    api_key: str = field(default="", repr=False)
    project: str = field(default="", repr=False)
    """A folder of the project that a client says it is in; empty: the working directory."""

    def shown(self) -> dict[str, Any]:
        """Return the settings that a person may see, without secrets."""
        from dataclasses import asdict

        values: dict[str, Any] = asdict(self)
        del values["api_key"], values["project"]
        values["embedding"]["url"] = without_password(self.embedding.url)
        return {**values, "home": str(self.home), "store": without_password(self.store)}
