"""The address of a FalkorDB server, such as `falkors://user:password@host:6379/prefix?ca=FILE`. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

SCHEMES = ("falkor", "falkors")
PARAMETERS = ("ca", "sentinel", "timeout")
_DEFAULT_PORT = 6379
_DEFAULT_PREFIX = "memsweep"
_ANSWER_SECONDS = 150.0
_LONGEST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the way to speak to it."""

    host: str
    port: int
    username: str | None
    password: str | None
    tls: bool
    prefix: str
    ca: str
    sentinel: str
    timeout_seconds: float


def parse_address(url: str) -> Address:
    """Parse an address; a `ValueError` says what is wrong with it, without the password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("is not an address") from None  # what Python says may quote the password
    # A password in which some sign stands unescaped ends there, and the rest of it is taken for something else.
    said = dict(parse_qsl(parts.query, keep_blank_values=True))
    rest = parts.path + parts.fragment + "".join(name + value for name, value in said.items() if name != "ca")
    torn = "@" in rest or ("@" in parts.query and "@" not in parts.netloc)
    if parts.scheme not in SCHEMES or not parts.hostname or port == 0 or torn:
        raise ValueError("is not an address")
    if unknown := sorted(said.keys() - set(PARAMETERS)):
        raise ValueError(f"has the parameter {unknown[0]!r}, which is unknown (known: {', '.join(PARAMETERS)})")
    tls = parts.scheme == "falkors"
    if "ca" in said and not tls:
        raise ValueError("names a certificate but does not ask for TLS")
    return Address(
        host=parts.hostname,
        port=port or _DEFAULT_PORT,
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=tls,
        prefix=parts.path.strip("/") or _DEFAULT_PREFIX,
        ca=said.get("ca", ""),
        sentinel=said.get("sentinel", ""),
        timeout_seconds=_seconds(said["timeout"]) if "timeout" in said else _ANSWER_SECONDS,
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise ValueError(f"has the timeout {text!r}, which is not a number of seconds up to {_LONGEST_SECONDS:g}")
    return seconds
