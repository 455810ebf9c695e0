"""The files that are never indexed, whatever .gitignore says: secrets, machine-made ones, binary formats.

Tables of shell-style patterns. One without a slash is matched against the name of the file, one with
a slash against the end of its path; settings may add to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from memsweep.model.wildcards import ANYTHING, IN_NAME, expression
from memsweep.secrets.find import find

SECRET_PATTERNS: tuple[str, ...] = (
    ".env*",
    "*.env",
    # keys and stores of keys
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.p8",
    "*.ppk",
    "*.jks",
    "*.bks",
    "*.keystore",
    "*.keytab",
    "*.kdbx",
    "*.kdb",
    "*.gpg",
    "*.asc",
    "*.agekey",
    "*.ovpn",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "ssh_host_*_key",
    "secring.*",
    ".ssh/**",
    ".gnupg/**",
    # passwords and tokens of programs
    ".netrc",
    "_netrc",
    ".pypirc",
    ".npmrc",
    ".pgpass",
    "pgpass.conf",
    ".my.cnf",
    ".mylogin.cnf",
    ".htpasswd",
    ".git-credentials",
    ".gitcookies",
    ".dockercfg",
    ".dockerconfigjson",
    ".docker/config.json",
    ".vault-token",
    ".vault[-_]pass*",
    "vault[-_]pass.txt",
    ".s3cfg",
    ".boto",
    ".passwd-s3fs",
    "rclone.conf",
    ".terraformrc",
    "gh/hosts.yml",
    "settings-security.xml",
    # clouds and clusters
    ".aws/**",
    ".azure/**",
    ".config/gcloud/**",
    ".kube/**",
    "kubeconfig",
    "*.kubeconfig",
    "*kubeconfig.y*ml",
    "*kubeconfig.json",
    "credentials",
    "client_secret*.json",
    "*service[-_]account*.json",
    "*-adminsdk-*.json",
    "*.tfstate",
    "*.tfstate.backup",
    "*.tfvars",
    "*.tfvars.json",
    ".secret",
    ".secrets",
    ".secrets.*",
    ".secrets/**",
    "secrets",
    # Source files may be named after what they handle (`credentials.py`); data files hold it.
    *(
        f"*{word}.{kind}"
        for word in ("credentials", "secrets", "secret")
        for kind in ("json", "yaml", "yml", "toml", "ini", "cfg", "conf", "txt", "csv", "xml", "properties", "enc")
    ),
)

MACHINE_MADE_FOLDERS: frozenset[str] = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".tox", ".nox", ".eggs"}
)

BINARY_EXTENSIONS: frozenset[str] = frozenset(
    """
    7z a aac avi avif bin bmp br bz2 class db deb dll dmg doc docx dylib ear eot exe flac gif gz h5
    icns ico iso jar jpeg jpg lib lz4 lzma mkv mo mov mp3 mp4 node npy npz o obj odp ods odt ogg onnx
    otf parquet pdf pickle pkl png ppt pptx psd pt pth pyc pyd pyo rar rlib rpm safetensors so sqlite
    sqlite3 tar tgz tif tiff ttf war wasm wav webm webp whl wmv woff woff2 xls xlsx xz zip zst
    """.split()
)

_GLOBS = {"**": ANYTHING, "*": IN_NAME, "?": "[^/]"}
_SPECIAL = re.compile(r"[*?\[/]")
_TOKEN = re.compile(r"(?s)\*\*|\[!?[^\]\[\\/]+\]|.")


@dataclass(frozen=True, slots=True)
class Exclusions:
    secrets: tuple[str, ...] = SECRET_PATTERNS
    folders: frozenset[str] = MACHINE_MADE_FOLDERS
    binary_extensions: frozenset[str] = BINARY_EXTENSIONS

    def with_secrets(self, more: Iterable[str]) -> Exclusions:
        """The same, and these patterns too."""
        return Exclusions((*self.secrets, *more), self.folders, self.binary_extensions)

    def is_secret(self, path: str) -> bool:
        """Return whether the name of a file says that it holds a secret, or is one; case does not matter."""
        return _matcher(self.secrets).matches(path.casefold()) or bool(find(path))

    def is_binary_name(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return "." in name and name.rpartition(".")[2].casefold() in self.binary_extensions


@dataclass(frozen=True, slots=True)
class _Matcher:
    """Patterns by their shape: asked of every file, where one big expression would take the longest."""

    names: frozenset[str]
    starts: tuple[str, ...]
    ends: tuple[str, ...]
    rest: re.Pattern[str]
    """Of the whole path: whatever has a slash, or a star in the middle."""

    def matches(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return (
            name in self.names
            or name.startswith(self.starts)
            or name.endswith(self.ends)
            or self.rest.search(path) is not None
        )


@cache
def _matcher(patterns: tuple[str, ...]) -> _Matcher:
    folded = [each.casefold() for each in patterns]
    plain = [each for each in folded if not _SPECIAL.search(each[1:-1]) and each not in ("", "*", "?")]
    names = frozenset(each for each in plain if not _SPECIAL.search(each))
    starts = tuple(each[:-1] for each in plain if each[-1] == "*" and not _SPECIAL.search(each[:-1]))
    ends = tuple(each[1:] for each in plain if each[0] == "*" and not _SPECIAL.search(each[1:]))
    done = {*names, *(each + "*" for each in starts), *("*" + each for each in ends)}
    rest = "|".join(rf"(?:^|/){_regex(each)}\Z" for each in folded if each not in done)
    return _Matcher(names, starts, ends, re.compile(rest or r"(?!)"))


def _regex(pattern: str) -> str:
    """Unlike in fnmatch a star stops at a slash; two do not."""
    return expression(_GLOBS.get(token) or _literal(token) for token in _TOKEN.findall(pattern))


def _literal(token: str) -> str:
    # Like a star, a set stops at a slash.
    return "(?!/)" + token.replace("[!", "[^", 1) if len(token) > 1 else re.escape(token)


# Made by a machine for a machine: minified bundles, and the maps that belong to them.
_MINIFIED = ("js", "mjs", "cjs", "css", "html", "svg")
_ENDINGS = (
    *(f"{mark}min.{kind}" for mark in (".", "-", "_") for kind in _MINIFIED),
    *(f".{kind}.map" for kind in ("js", "mjs", "cjs", "css")),
)
_BUNDLED = (".js", ".mjs", ".cjs", ".jsx", ".css", ".html", ".htm")
_MEAN_LINE = 250
"""Characters: people who write code by hand stay far below, on average over a file."""
_FEWEST_CHARACTERS = 1_000


def has_machine_made_name(path: str) -> bool:
    return path.casefold().endswith(_ENDINGS)


def is_minified(path: str, text: str) -> bool:
    """By the length of its lines, for kinds of files that are minified."""
    if len(text) < _FEWEST_CHARACTERS or not path.casefold().endswith(_BUNDLED):
        return False
    return len(text) > _MEAN_LINE * (text.rstrip("\n").count("\n") + 1)
