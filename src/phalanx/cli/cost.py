# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx cost`: how many operations an algorithm takes on a robot, and how many can go at once."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..dispatch import resolve
from ..errors import PhalanxError, printable
from ..program.analyses.cost import Cost, Count
from ..study.closed_form import ClosedForm, closed_form
from ..study.conventions import CONVENTIONS
from ..study.cost import cost
from ..study.fitting import FittedFormula
from .arguments import (
    add_algorithm,
    add_customise,
    add_derivative,
    add_function,
    add_robot,
    algorithm_of,
    frame_of,
    load_robot,
)
from .output import emit, emit_json, table, terminal_width

EXAMPLES = """
phalanx cost panda
phalanx cost arm.urdf --function forward_dynamics --algorithm aba --by link
phalanx cost puma560 --algorithm zomaya_morris --customise semi --formula
phalanx cost ur5 --algorithm lathrop --plot lathrop.png --json
phalanx cost panda --function forward_dynamics --derivative vjp
phalanx cost ur5 --function jacobian_time_derivative --frame tool0
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    add_function(parser)
    add_algorithm(parser)
    add_derivative(parser)
    add_customise(parser)
    parser.add_argument(
        "--convention",
        metavar="C",
        help=f"whose bookkeeping: {', '.join(CONVENTIONS)} (default: the source's; program for full)",
    )
    parser.add_argument("--by", choices=("quantity", "link"), default="quantity", help="(default: quantity)")
    parser.add_argument("--formula", action="store_true", help="also as formulas in the number n of joints")
    parser.add_argument("--plot", metavar="FILE", help="save a picture too (.png, .pdf or .svg)")


def run(args: argparse.Namespace) -> int:
    """Print the count; exit status 0."""
    robot = load_robot(args)
    algorithm = algorithm_of(args)
    frame = frame_of(args, robot, args.function)
    name = resolve(robot, args.function, algorithm, frame).algorithm.name
    found = cost(
        robot,
        args.function,
        algorithm,
        customise=args.customise,
        convention=args.convention,
        frame=frame,
        derivative=args.derivative,
    )
    form = None
    function = args.function if args.derivative is None else f"{args.function}.{args.derivative}"
    if args.formula:
        if frame is not None or args.derivative is not None:
            raise PhalanxError(f"--formula: no formula in n is implemented for {function}; leave it out.")
        own = (name, *algorithm[1:]) if isinstance(algorithm, tuple) else name
        form = closed_form(args.function, own, customise=args.customise, convention=args.convention)
    title = f"{function} of {printable(robot.name)} by {name}"
    if args.plot:
        from ..study.figures.cost_figures import cost_profile

        cost_profile(found, args.plot, title=title, by=args.by)
    if args.json:
        emit_json(_plain(found, function, name, form))
        return 0
    lines = [title, f"customise {found.customise}, convention {found.convention}", "", *_totals(found), ""]
    lines += [*_parts(found, args.by), "", *_notes(found)]
    lines += ["", *_formulas(form)] if form else []
    emit("\n".join(lines + ([f"Saved {args.plot}."] if args.plot else [])))
    return 0


_HEAD = ["*", "+", "/", "sin, cos", "total"]


def _cells(count: Count) -> list[str]:
    numbers = (count.multiplications, count.additions, count.divisions, count.trigonometric, count.total)
    return [f"{x:,}" for x in numbers]


def _totals(found: Cost) -> list[str]:
    path = ["–"] * len(_HEAD) if not found.has_path else _cells(found.span)
    rows = [["operations", *_cells(found)], ["critical path", *path]]
    return table(["", *_HEAD], rows, align="<>>>>>", width=terminal_width())


def _parts(found: Cost, by: str) -> list[str]:
    """Quantities with most operations first, links along the robot."""
    parts: Mapping[Any, Count] = found.by_quantity if by == "quantity" else found.by_link
    ranked = list(parts.items())
    if by == "quantity":
        ranked.sort(key=lambda item: -item[1].total)
    rows = [[str(name), *_cells(count)] for name, count in ranked]
    return table([by, *_HEAD], rows, align="<>>>>>", width=terminal_width())


def _notes(found: Cost) -> list[str]:
    """Sentences on width, on bytes, and on what the convention charges."""
    b, steps = found.bytes, len(found.width)
    too_long = "" if found.has_path else "; their path is not known"
    loops = f"The kernel consists of loops over bodies, which operations and path are about{too_long}. "
    at_once = (
        f"With as many processors as there is work for: {steps:,} steps, at most {found.max_width:,} "
        f"operations in one, {sum(found.width) / max(steps, 1):.1f} on average. "
    )
    flow = loops * found.looped + at_once * (steps > 0 or not found.looped)
    flow += (
        f"A state moves {b.inputs:,} bytes in, {b.outputs:,} out and {b.parameters:,} of parameters, "
        f"and {b.intermediate:,} if every partial result goes through memory."
    )
    notes = [flow, f"Charged: {CONVENTIONS[found.convention].charges}"]
    notes += [f"Compiled: {found.form}."] if found.form else []
    return [line for note in notes for line in textwrap.wrap(note, terminal_width())]


def _formulas(form: ClosedForm) -> list[str]:
    """Lines with formulas in n, the sizes they were verified for, the meaning of L, and exceptions."""
    rows, found = [], []
    for what, part in (("operations", form), ("critical path", form.span)):
        for kind in _KINDS:
            formula = _formula(part, kind)
            if formula is None:
                rows.append([what, kind, "no such formula", ""])
            elif formula.coefficients:
                rows.append([what, kind, str(formula), _sizes(formula.verified)])
                found.append(formula)
    head = ["on a general chain", "", "formula", "verified for n ="]
    notes = []
    if any("L" in str(f) for f in found):
        notes.append(f"L = ceil(log2({found[0].levels}))" if "+" in found[0].levels else "L = ceil(log2 n)")
    if wrong := sorted({n for f in found for n in f.exceptions}):
        notes.append(f"not for n = {_sizes(tuple(wrong))}")
    lines = textwrap.wrap("; ".join(notes) + ".", terminal_width()) if notes else []
    return [*table(head, rows, align="<<<<", width=terminal_width()), *lines]


_KINDS = ("multiplications", "additions", "divisions")


def _formula(part: Any, kind: str) -> FittedFormula | None:
    try:
        found: FittedFormula = getattr(part, kind)
    except PhalanxError:
        return None
    return found


def _sizes(sizes: tuple[int, ...]) -> str:
    """Integers with runs of neighbours as ranges."""
    runs: list[list[int]] = []
    for n in sizes:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(", ".join(map(str, r)) if len(r) < 3 else f"{r[0]}-{r[-1]}" for r in runs)


def _plain(found: Cost, function: str, algorithm: str, form: ClosedForm | None) -> dict[str, Any]:
    plain = {"function": function, "algorithm": algorithm, **asdict(found)}
    plain |= {"total": found.total, "width": found.width, "max_width": found.max_width}
    plain["span"]["total"] = found.span.total
    if form is not None:
        plain["formula"] = {
            where: {kind: _exact(_formula(part, kind)) for kind in _KINDS}
            for where, part in (("operations", form), ("span", form.span))
        }
    return plain


def _exact(formula: FittedFormula | None) -> dict[str, Any] | None:
    if formula is None:
        return None
    return {
        "text": str(formula),
        "coefficients": {term: str(c) for term, c in formula.coefficients.items()},
        "fitted": formula.fitted,
        "verified": formula.verified,
        "exceptions": formula.exceptions,
    }
