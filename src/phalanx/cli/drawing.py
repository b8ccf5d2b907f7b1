# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A tree of links drawn in text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .report import fit

LONGEST_RUN = 24
ENDS_OF_RUN = 10
MOST_LINES = 120


def draw_tree(
    parents: Sequence[int], labels: Sequence[str], *, width: int, everything: bool = False
) -> list[str]:
    """Return the lines of the drawing, the world on top.

    Only a branching indents: an unbranched run stands in one column, so that a chain of
    any length stays on the page. Long runs, deep branchings and large trees are
    shortened, the first and the last of them only without `everything`.
    """
    lines = ["world"]
    covered = 0
    for line, links in _entries(parents, labels, width, LONGEST_RUN if not everything else len(parents)):
        if len(lines) > MOST_LINES and not everything:
            lines.append(_more(len(parents) - covered))
            break
        lines.append(fit(line, width))
        covered += links
    return lines


def _entries(
    parents: Sequence[int], labels: Sequence[str], width: int, longest: int
) -> Iterator[tuple[str, int]]:
    """Yield each line and how many links it stands for, depth first, without recursion."""
    children, sizes = _children_and_sizes(parents)
    stack = _branches(children[-1], "")
    while stack:
        link, first, rest = stack.pop()
        if len(rest) > width // 2:
            yield first + _more(sizes[link]), sizes[link]
            continue
        run = [link]
        while len(children[run[-1]]) == 1:
            run.append(children[run[-1]][0])
        hidden = len(run) - 2 * ENDS_OF_RUN if len(run) > longest else 0
        for k, member in enumerate(run):
            if not hidden or k < ENDS_OF_RUN or k >= ENDS_OF_RUN + hidden:
                yield (rest if k else first) + labels[member], 1
            elif k == ENDS_OF_RUN:
                yield rest + _more(hidden), hidden
        stack += _branches(children[run[-1]], rest)


def _branches(links: Sequence[int], prefix: str) -> list[tuple[int, str, str]]:
    """Return (link, prefix of its line, prefix below) with the first link last, as a stack has it."""
    last = len(links) - 1
    return [
        (link, prefix + ("└─ " if k == last else "├─ "), prefix + ("   " if k == last else "│  "))
        for k, link in enumerate(links)
    ][::-1]


def _children_and_sizes(parents: Sequence[int]) -> tuple[dict[int, list[int]], list[int]]:
    children: dict[int, list[int]] = {link: [] for link in range(-1, len(parents))}
    for link, parent in enumerate(parents):
        children[parent].append(link)
    sizes = [1] * len(parents)
    for link in reversed(range(len(parents))):
        if parents[link] >= 0:
            sizes[parents[link]] += sizes[link]
    return children, sizes


def _more(links: int) -> str:
    return f"… {links:,} more"
