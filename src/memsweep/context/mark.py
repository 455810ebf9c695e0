"""Mark: what the roots hold on to, through references that were given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def compute_reachability(roots: Iterable[str], references: Mapping[str, Iterable[str]]) -> set[str]:
    """Every id the roots lead to, themselves included: any depth, cycles too."""
    reachable = set(roots)
    waiting = list(reachable)
    while waiting:
        for target in references.get(waiting.pop(), ()):
            if target not in reachable:
                reachable.add(target)
                waiting.append(target)
    return reachable
