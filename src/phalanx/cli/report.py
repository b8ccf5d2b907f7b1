# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx report`: one page about a robot, to hand on."""

from __future__ import annotations

import argparse
import textwrap
import time
from typing import Any

from ..errors import PhalanxError
from .arguments import add_robot, load_robot, positive_integer, refuse_without
from .output import emit, emit_json, table, terminal_width

EXAMPLES = """
phalanx report panda -o panda.html
phalanx report arm.urdf -o arm.html --quick
phalanx report ur5 -o ur5.html --functions inverse_dynamics \\
    forward_dynamics_derivatives

The file needs no server and no network: open it in any browser, mail it,
print it. Its sliders compute by WebAssembly compiled for the robot.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument(
        "-o", "--output", default="report.html", metavar="FILE", help="the page (default: report.html)"
    )
    parser.add_argument(
        "--functions",
        nargs="+",
        metavar="F",
        help="to study with all their algorithms (default: inverse_dynamics mass_matrix forward_dynamics)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="time nothing: counts, schedules and errors only"
    )
    parser.add_argument(
        "--batch", type=positive_integer, metavar="B", help="states timed together (default: up to 1024)"
    )
    parser.add_argument(
        "--megabytes",
        type=float,
        default=5.0,
        metavar="MB",
        help="the most that the page may have; meshes are simplified to that (default: 5)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the page and print what is in it; exit status 0."""
    from ..studio.report import report  # the compiler half
    from ..studio.report.collect import DEFAULT

    robot = load_robot(args)
    if args.quick:
        refuse_without(args, "timing, which --quick leaves out", "batch")
    names = [name for word in args.functions or DEFAULT for name in word.split(",") if name]
    if not names:
        raise PhalanxError("--functions: got none, expected names such as inverse_dynamics.")
    start = time.perf_counter()
    made = report(
        robot, args.output, functions=names, quick=args.quick, batch=args.batch, megabytes=args.megabytes
    )
    seconds = time.perf_counter() - start
    if args.json:
        emit_json(
            {
                "file": str(made.path),
                "bytes": made.bytes,
                "seconds": seconds,
                "live": list(made.live),
                "robot": made.facts,
                "machine": made.machine,
                "functions": [
                    _plain(study) | {"speedups": made.speedups.get(study.function, {})}
                    for study in made.studies
                ],
            }
        )
        return 0
    head = ["function", "algorithms", "auto", "recommended"]
    rows = [
        [s.function, str(len(s.served)), s.auto, s.recommended if s.reason else "–"] for s in made.studies
    ]
    lines = [f"{made.path}  {made.bytes / 1e6:.2f} MB in {seconds:.1f} s; open it in a browser"]
    if rows:
        lines += ["", *table(head, rows, align="<><<", width=terminal_width())]
    if made.live:
        live = "live in the page: " + ", ".join(made.live)
        lines += ["", *textwrap.wrap(live, terminal_width(), break_on_hyphens=False)]
    emit("\n".join(lines))
    return 0


def _plain(study: Any) -> dict[str, Any]:
    """A study as plain data."""
    rows = []
    for row in study.rows:
        c, m = row.cost, row.measured
        rows.append(
            {
                "algorithm": row.algorithm,
                "options": row.options,
                "source": row.source,
                "refused": row.refused or None,
                "cost": None
                if c is None
                else {
                    "multiplications": c.multiplications,
                    "additions": c.additions,
                    "divisions": c.divisions,
                    "trigonometric": c.trigonometric,
                    "total": c.total,
                    "path": c.span.total if c.has_path else None,
                    "looped": c.looped,
                },
                "operations": row.operations if c is None else c.total,
                "times": None
                if m is None
                else {
                    k: getattr(m, k) for k in ("one_state", "per_state", "predicted", "prepare", "backend")
                },
                "errors": {name: {"largest": a, "typical": b} for name, (a, b) in row.errors.items()},
            }
        )
    facts = {k: v for k, v in vars(study).items() if k != "rows"}
    return facts | {"algorithms": rows}
