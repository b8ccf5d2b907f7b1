# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx speedup`: how many processors are worth it for one state."""

from __future__ import annotations

import argparse
import textwrap

from ..errors import printable
from ..study.plotting import require_drawable
from ..study.speedup import Curve, Speedup, speedup
from .arguments import add_function, add_robot, frame_of, load_robot
from .output import emit, emit_json, table, terminal_width

EXAMPLES = """
phalanx speedup panda
phalanx speedup snake:200 -f forward_dynamics --plot speedup.png
phalanx speedup ur5 --message 4
phalanx speedup arm.urdf --no-measure --json
"""

_BAR = 18  # columns of the longest bar


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    add_function(parser)
    parser.add_argument(
        "--message",
        type=float,
        metavar="OPS",
        help="operations that a message takes from processor to processor (default: measured between two "
        "cores of this machine)",
    )
    parser.add_argument(
        "--no-measure", action="store_true", help="predict only; messages are free by default"
    )
    parser.add_argument("--plot", metavar="FILE", help="save the curve (.png, .pdf or .svg)")


def run(args: argparse.Namespace) -> int:
    """Print the answer, what was measured, and the curve; exit status 0."""
    robot = load_robot(args)
    if args.plot:
        require_drawable(args.plot)
    frame = frame_of(args, robot, args.function)
    found = speedup(robot, args.function, message=args.message, measure=not args.no_measure, frame=frame)
    if args.plot:
        found.plot(args.plot)
    if args.json:
        emit_json(found.to_dict())
        return 0
    lines = [_paragraph(printable(found.answer)), ""]
    if found.measured:
        lines += [_paragraph(found.measurements), ""]
    lines += _curves(found)
    emit("\n".join(lines + ([f"Saved {args.plot}."] if args.plot else [])))
    return 0


def _curves(found: Speedup) -> list[str]:
    """A row for each number of processors, with bars."""
    curve = found.charged if found.message else found.free
    head = ["p", "messages free", *(["charged"] if found.message else []), "efficiency", "by", ""]
    most = max(curve.speedups)
    rows = []
    for k, p in enumerate(curve.processors):
        charged = [f"{found.charged.speedups[k]:.2f}"] if found.message else []
        bar = "#" * max(1, round(_BAR * curve.speedups[k] / most)) + (" < knee" if k == curve.knee else "")
        rows.append(
            [
                str(p),
                f"{found.free.speedups[k]:.2f}",
                *charged,
                f"{curve.efficiencies[k]:.0%}",
                _by(curve, k),
                bar,
            ]
        )
    return table(head, rows, align=">>>><<" if found.message else ">>><<", width=terminal_width())


def _by(curve: Curve, k: int) -> str:
    """The algorithm of the k-th entry, where it changes."""
    return "" if k and curve.algorithms[k] == curve.algorithms[k - 1] else curve.algorithms[k]


def _paragraph(text: str) -> str:
    return textwrap.fill(text, terminal_width())
