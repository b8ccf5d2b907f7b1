# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx cache`: the compiled kernels on disk, and how to delete them."""

from __future__ import annotations

import argparse

from ..errors import printable
from .output import emit, emit_json

EXAMPLES = """
phalanx cache
phalanx cache --clear
phalanx cache --json | jq .bytes
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--clear", action="store_true", help="remove all entries; kernels are rebuilt on demand"
    )


def run(args: argparse.Namespace) -> int:
    """Print what the cache holds, or what was removed from it; exit status 0."""
    # Reading the folder needs no compiler: only this module of the native backend is imported.
    from ..backends.native import cache

    removed, freed = cache.clear() if args.clear else (0, 0)
    sizes = [facts.st_size for _, facts in cache.entries()]
    if args.json:
        facts = {"folder": str(cache.folder()), "entries": len(sizes), "bytes": sum(sizes)}
        emit_json({**facts, "limit": cache.limit(), "removed": removed, "removed_bytes": freed})
        return 0
    lines = [
        f"folder    {printable(cache.folder())}",
        f"entries   {len(sizes):,}",
        f"size      {_size(sum(sizes))} of at most {_size(cache.limit())}",
    ]
    if args.clear:
        lines.append(f"removed   {removed:,} ({_size(freed)})")
    emit("\n".join(lines))
    return 0


def _size(count: int) -> str:
    """A number of bytes as text, such as "1.5 MB"."""
    for unit, size in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
