# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx compare`: the algorithms of a function on one robot, and which one to take."""

from __future__ import annotations

import argparse
import math
import textwrap
from dataclasses import asdict

from ..errors import printable
from ..study.compare import Comparison, compare
from ..study.plotting import require_drawable
from ..study.recommend import duration
from .arguments import add_function, add_robot, frame_of, load_robot, positive_integer
from .output import emit, emit_json, table, terminal_width

EXAMPLES = """
phalanx compare panda
phalanx compare arm.urdf --function forward_dynamics --batch 64
phalanx compare puma560 --function mass_matrix --plot puma560.png
phalanx compare panda --function inverse_dynamics_derivatives
phalanx compare ur5 --processors 4 --json
phalanx compare ur5 --batch 100000 --threads 2
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    add_function(parser)
    parser.add_argument("--batch", type=positive_integer, default=4096, help="states (default: 4096)")
    parser.add_argument(
        "--processors", type=positive_integer, default=8, metavar="P", help="to predict for (default: 8)"
    )
    parser.add_argument(
        "--threads",
        type=positive_integer,
        default=1,
        metavar="T",
        help="measure on so many, too (default: 1)",
    )
    parser.add_argument("--plot", metavar="FILE", help="save a picture too (.png, .pdf or .svg)")


def run(args: argparse.Namespace) -> int:
    """Print the table; exit status 0."""
    robot = load_robot(args)
    if args.plot:
        require_drawable(args.plot)
    frame = frame_of(args, robot, args.function)
    rows = compare(
        robot,
        args.function,
        batch=args.batch,
        processors=args.processors,
        frame=frame,
        threads=args.threads,
    )
    count = "one thread" if args.threads == 1 else f"one thread and {args.threads}"
    title = f"{args.function} of {printable(robot.name)} ({robot.nv} degrees of freedom), {count}"
    if args.plot:
        from ..study.figures import comparison

        comparison(rows, args.plot, title=f"{args.function} of {robot.name}", batch=args.batch)
    if args.json:
        emit_json([asdict(row) for row in rows])
        return 0
    lines = [title, "", *_table(rows, args.batch), "", *_notes(rows)]
    emit("\n".join(lines + ([f"Saved {args.plot}."] if args.plot else [])))
    return 0


def _table(rows: list[Comparison], batch: int) -> list[str]:
    shown = [r for r in rows if not r.refused]
    processors = shown[0].processors if shown else 1
    head = ["algorithm", "ops", "path", f"on {processors}", "build", "1 state", f"of {batch:,}", "error"]
    if shown and shown[0].threads > 1:
        return _on_threads(shown, batch)
    cells = [
        [
            ("> " if r.recommended else "  ") + _name(r) + ("" if r.backend == "native" else " (numpy)"),
            str(r.cost.total) if r.cost else "–",
            str(r.cost.span.total) if r.cost else "–",
            "–" if math.isnan(r.speedup) else f"{r.speedup:.1f}x",
            _time(r.prepare),
            _time(r.one_state),
            _time(r.per_state),
            f"{r.error:.0e}",
        ]
        for r in shown
    ]
    return table(head, cells, align="<>>>>>>>", width=terminal_width())


def _on_threads(rows: list[Comparison], batch: int) -> list[str]:
    """Times on one thread and on several; one state alone has no batch."""
    count = f"{rows[0].threads} thr."
    head = ["algorithm", "1 state", count]
    cells = [
        [
            ("> " if r.recommended else "  ") + _name(r) + ("" if r.backend == "native" else " (numpy)"),
            _time(r.one_state),
            _time(r.one_state_on_threads),
        ]
        for r in rows
    ]
    if batch > 1:
        head += [f"of {batch:,}", count]
        for cell, r in zip(cells, rows, strict=True):
            cell += [_time(r.per_state), _time(r.per_state_on_threads)]
    for cell, r in zip(cells, rows, strict=True):
        cell.append(f"{r.error:.0e}")
    return table([*head, "error"], cells, align="<" + ">" * len(head), width=terminal_width())


def _name(row: Comparison) -> str:
    options = " ".join(f"{k}={v}" for k, v in row.options.items())
    return row.algorithm + (f" {options}" if options else "")


def _notes(rows: list[Comparison]) -> list[str]:
    """The recommendation with its reason, what the columns mean, and which algorithms are missing."""
    reason = next(r.reason for r in rows if r.recommended)
    processors = next(r.processors for r in rows if not r.refused)
    threads = next(r.threads for r in rows if not r.refused)
    columns = (
        f"Times per state, alone and in the batch, on one thread and on {threads}; –: threads share no state."
        if threads > 1
        else "ops: operations of the kernel; path: those along its critical path; "
        f"on {processors}: predicted gain of {processors} processors over one with the fewest operations. "
        "Times per state: alone, in the batch."
    )
    notes = [_paragraph("> " + reason), "", _paragraph(columns)]
    reasons: dict[str, list[str]] = {}
    for r in rows:
        if r.refused:
            reasons.setdefault(r.reason, []).append(r.algorithm)
    refused = [f"Not for this robot: {', '.join(names)}{why}." for why, names in reasons.items()]
    return [*notes, "", *map(_paragraph, refused)] if refused else notes


def _paragraph(text: str) -> str:
    return textwrap.fill(text, terminal_width())


def _time(seconds: float) -> str:
    return "–" if math.isnan(seconds) else duration(seconds)
