"""The one place that runs git, in repositories that nobody vouches for.

A repository's own configuration can name programs. Those that git would run for what is asked of it here
(a file system monitor, a remote's upload-pack when an object is missing) and those that it would not are
switched off alike: on the command line, which a repository cannot overrule, and in an environment of its
own, which a hook's variables do not reach.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

TIMEOUT_SECONDS = 20.0
"""Enough for hundreds of thousands of files."""
USUAL_SECONDS = 1.0
"""After which is looked for a pipe that is called .gitignore: git would wait for its writer for ever."""

# The first release of each series that knows GIT_NO_LAZY_FETCH, and everything after the last of them.
# It came with 2.45.0 and, for CVE-2024-32004 and CVE-2024-32465, with these. safe.bareRepository is older (2.38).
_FIRST_SAFE = {39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1}
_FIRST_SAFE_SERIES = (2, 45)
_VERSION = re.compile(rb"git version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?")

_SETTINGS = {
    "core.fsmonitor": "false",
    "core.excludesFile": os.devnull,  # the list must not depend on who asks for it
    "core.attributesFile": os.devnull,
    "core.quotePath": "false",
    "core.pager": "",
    "core.editor": "",
    "core.askPass": "",
    "core.sshCommand": "",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "",
    "credential.helper": "",
    "diff.external": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "safe.bareRepository": "explicit",  # a folder of ordinary files that looks like a repository is none
}
_NO_HOOKS = {"core.hooksPath": os.devnull}

_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # a list of protocols, none of which has this name; unlike protocol.allow it is final
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}
# Listing needs nothing that a person or a machine has set. The safe.directory of a person is not needed either:
# where git refuses a folder of another owner, our own walk gives the same list.
_NOBODY = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


@dataclass(frozen=True, slots=True)
class Git:
    """An executable that is none of the repository's files, and the work tree that it is asked about."""

    executable: str
    top: str

    def list_files(
        self, folder: str, *arguments: str, would_wait: Callable[[], bool]
    ) -> subprocess.CompletedProcess[bytes] | None:
        """`git ls-files` in a folder of the work tree; None if it does not answer in time, or never would."""
        # core.worktree may name any folder; what is listed is the one that has the `.git` entry.
        variables = {**_NOBODY, "GIT_WORK_TREE": self.top}
        return self._run(folder, ["ls-files", *arguments], {**_SETTINGS, **_NO_HOOKS}, variables, would_wait)

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
        """A question about the repository itself, with everything that its user has configured.

        core.hooksPath is often set for a person, and is what hooks are installed by; so is safe.directory.
        Nothing that is asked here reads an index or an object.
        """
        return self._run(self.top, arguments, _SETTINGS, {})

    def _run(
        self,
        folder: str,
        arguments: Iterable[str],
        settings: Mapping[str, str],
        variables: Mapping[str, str],
        would_wait: Callable[[], bool] = lambda: False,
    ) -> subprocess.CompletedProcess[bytes] | None:
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        ceiling = {"GIT_CEILING_DIRECTORIES": os.path.dirname(self.top)}  # this repository or none
        return _completed(
            [self.executable, "--no-pager", *given, *arguments],
            folder,
            {**_ENVIRONMENT, **ceiling, **variables, "PATH": os.pathsep.join(_folders_outside(self.top))},
            would_wait,
        )


def find_git(top: str) -> Git | None:
    """Git for the work tree at `top`, or None where there is none."""
    for folder in _folders_outside(top):
        executable = os.path.join(folder, "git.exe" if os.name == "nt" else "git")
        if os.path.isfile(executable) and os.access(executable, os.X_OK) and not _is_below(executable, top):
            return Git(executable, top)
    return None


def can_be_kept_from_fetching(git: Git) -> bool:
    """Return whether this git is new enough to know every switch that listing relies on."""
    try:
        return is_new_enough(_version_line(git.executable))
    except OSError:
        return False


def is_new_enough(version_line: bytes) -> bool:
    """From what `git --version` says. A distribution's own patches do not show there and do not count."""
    found = _VERSION.match(version_line)
    if found is None:
        return False
    major, minor, patch = (int(part or 0) for part in found.groups())
    if (major, minor) >= _FIRST_SAFE_SERIES:
        return True
    return major == 2 and patch >= _FIRST_SAFE.get(minor, 10_000)


@cache
def _version_line(executable: str) -> bytes:
    """Asked once a process, in the folder of the executable, so that no repository's configuration is read."""
    path = {"PATH": os.path.dirname(executable)}
    done = _completed([executable, "--version"], os.path.dirname(executable), {**_ENVIRONMENT, **_NOBODY, **path})
    if done is None:
        raise OSError("git does not say its version")  # not remembered: it may next time
    return done.stdout


def _completed(
    command: list[str], folder: str, environment: Mapping[str, str], would_wait: Callable[[], bool] = lambda: False
) -> subprocess.CompletedProcess[bytes] | None:
    try:
        with subprocess.Popen(
            command,
            cwd=folder,
            env={"HOME": os.path.expanduser("~"), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                said = _said(process, would_wait)
            finally:
                process.kill()  # nothing, if it has ended
            return said and subprocess.CompletedProcess(command, process.returncode, *said)
    except OSError:
        return None


def _said(process: subprocess.Popen[bytes], would_wait: Callable[[], bool]) -> tuple[bytes, bytes] | None:
    """Return the output of a process, or None if it does not end in time."""
    for seconds in (USUAL_SECONDS, TIMEOUT_SECONDS - USUAL_SECONDS):
        try:
            return process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            if would_wait():
                break
    return None


def _folders_outside(top: str) -> list[str]:
    """The folders of PATH that are not in the work tree: a relative one would be, as that is where git runs."""
    return [folder for folder in os.get_exec_path() if os.path.isabs(folder) and not _is_below(folder, top)]


def _is_below(place: str, top: str) -> bool:
    """Return whether a place is in a folder, links followed."""
    return os.path.join(os.path.realpath(place), "").startswith(os.path.join(os.path.realpath(top), ""))
