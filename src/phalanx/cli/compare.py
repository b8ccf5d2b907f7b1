# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx compare`: the algorithms of a function on one robot."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import asdict
from typing import Any

from ..algorithms import FUNCTIONS
from ..explain.compare import Comparison, compare
from .arguments import add_command, add_robot, load_robot, positive_integer
from .report import emit, emit_json, table, terminal_width


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "compare",
        run,
        summary="count, time and check all algorithms of a function on a robot",
        examples="""
            phalanx compare panda
            phalanx compare arm.urdf --function forward_dynamics --batch 4096
            phalanx compare puma560 --function mass_matrix --json
        """,
    )
    add_robot(parser)
    choices = [f.name for f in FUNCTIONS.values() if not f.frame]
    parser.add_argument(
        "--function",
        choices=choices,
        default="inverse_dynamics",
        metavar="F",
        help="one of " + ", ".join(choices) + " (default: inverse_dynamics)",
    )
    parser.add_argument("--batch", type=positive_integer, default=1024, help="states (default: 1024)")


def run(args: argparse.Namespace) -> int:
    """Print the table; exit status 0."""
    robot = load_robot(args)
    rows = compare(
        robot, args.function, batch=args.batch, progress=_progress if sys.stderr.isatty() else None
    )
    if sys.stderr.isatty():
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    if args.json:
        emit_json([asdict(row) for row in rows])
        return 0
    title = f"{args.function} of {robot.name} ({robot.nv} degrees of freedom), one thread"
    emit("\n".join([title, "", *_table(rows, args.batch), "", *_notes(rows)]))
    return 0


def _progress(name: str) -> None:
    print(f"\r{name:40}", end="", file=sys.stderr, flush=True)


def _table(rows: list[Comparison], batch: int) -> list[str]:
    head = ["algorithm", "*", "+", "path", "build", "1 state", f"{batch}", "error"]
    cells = [
        [
            ("> " if r.chosen else "  ") + r.algorithm + ("" if r.backend == "native" else " (numpy)"),
            str(r.cost.multiplications) if r.cost else "–",
            str(r.cost.additions) if r.cost else "–",
            str(r.cost.span.total) if r.cost else "–",
            _time(r.prepare),
            _time(r.one_state),
            _time(r.per_state),
            f"{r.error:.0e}",
        ]
        for r in rows
        if not r.refused
    ]
    return table(head, cells, align="<>>>>>>>", width=terminal_width())


def _notes(rows: list[Comparison]) -> list[str]:
    """What the columns mean, and who is missing."""
    notes = [
        '> is what algorithm="auto" takes. * and +: operations of the kernel; path: those',
        "along its longest path; the last times are per state, alone and in the batch.",
    ]
    refused = [r.algorithm for r in rows if r.refused]
    return notes + ([f"Not for this robot: {', '.join(refused)}."] if refused else [])


def _time(seconds: float) -> str:
    if math.isnan(seconds):
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
