# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx info`: what a robot is made of."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from ..robot.facts import describe
from .arguments import add_robot, load_robot
from .output import ENDS_OF_TABLE, MOST_ROWS, emit, emit_json, fit, number, table, terminal_width

FLOATING = "(floating base)"
LONGEST_RUN = 24  # links of a run that the drawing shows in full
ENDS_OF_RUN = 10
MOST_LINES = 120


EXAMPLES = """
phalanx info puma560
phalanx info arm.urdf --floating-base
phalanx info arm.urdf --srdf arm.srdf
phalanx info arm.urdf --json | jq .total_mass
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument("--srdf", metavar="FILE", help="an SRDF file with named configurations")
    parser.add_argument("--all", action="store_true", help="print every link and joint of a long robot")


def run(args: argparse.Namespace) -> int:
    """Print the description; exit status 0."""
    robot = load_robot(args)
    if args.srdf is not None:
        robot = robot.with_srdf(args.srdf)
    facts = describe(robot)
    if args.json:
        emit_json(facts)
        return 0
    width = terminal_width()
    labels = [_label(joint) for joint in facts["joints"]]
    blocks = [
        _summary(facts, width),
        draw_tree(robot.parents.tolist(), labels, width=width, everything=args.all),
        _joint_table(facts["joints"], width, args.all),
        _actuator_table(facts, width, args.all),
        _constraint_table(facts["constraints"], width, args.all),
    ]
    emit("\n\n".join("\n".join(block) for block in blocks if block))
    return 0


def _label(joint: dict[str, Any]) -> str:
    follows = f" (follows {joint['mimic']['joint']})" if joint["mimic"] else ""
    return f"{joint['name'] or FLOATING} ─ {joint['link']}{follows}"


def _summary(facts: dict[str, Any], width: int) -> list[str]:
    shape = "serial chain" if facts["is_serial"] else f"tree of depth {facts['depth']:,}"
    base = ", floating base" if facts["floating_base"] else ""
    fixed = f", and {number(facts['fixed_mass'])} kg that do not move" if facts["fixed_mass"] else ""
    rows = [
        ("robot", facts["name"]),
        ("freedom", f"nv = {facts['nv']:,} (nq = {facts['nq']:,} coordinates){base}"),
        ("links", f"{facts['n_links']:,}, {shape}; {len(facts['frames']):,} frames"),
        ("mass", f"{number(facts['total_mass'])} kg{fixed}"),
        ("gravity", f"({', '.join(number(g) for g in facts['gravity'])}) m/s²"),
    ]
    if followers := [joint for joint in facts["joints"] if joint["mimic"]]:
        pairs = ", ".join(f"{joint['name']} ← {joint['mimic']['joint']}" for joint in followers[:3])
        more = f" and {len(followers) - 3:,} more" if len(followers) > 3 else ""
        rows.insert(2, ("coupled", f"{len(followers):,} of the joints: {pairs}{more}"))
    inputs = f"{len(facts['actuators']):,} inputs"
    if not facts["actuation_stated"]:
        inputs += ", one for each degree of freedom of joints: none are stated"
    rows.insert(-2, ("actuated", inputs))
    if facts["configurations"]:
        rows.append(("states", ", ".join(facts["configurations"])))
    if facts["constraints"]:
        size = sum(c["rows"] for c in facts["constraints"])
        rows.insert(-2, ("held", f"{len(facts['constraints']):,} constraints of {size:,} rows: see below"))
    held = {c["name"] for c in facts["constraints"]}
    if still_open := [loop["name"] for loop in facts["loops"] if loop["name"] not in held]:
        rows.insert(-2, ("loops", f"{len(still_open):,} of a type that is not held, left open"))
    lines = [fit(f"{label:<8}  {text}", width) for label, text in rows]
    if facts["left_out"]:
        line = f"{'left out':<8}  {'; '.join(facts['left_out'])}"
        lines += textwrap.wrap(line, width, subsequent_indent=" " * 10)
    return lines


def _joint_table(joints: list[dict[str, Any]], width: int, everything: bool) -> list[str]:
    hidden = 0 if everything or len(joints) <= MOST_ROWS else len(joints) - 2 * ENDS_OF_TABLE
    rows: list[tuple[str, ...]] = []
    for k, joint in enumerate(joints):
        if not hidden or k < ENDS_OF_TABLE or k >= ENDS_OF_TABLE + hidden:
            rows += _joint_rows(joint)
        elif k == ENDS_OF_TABLE:
            rows.append((f"… {hidden:,} more", *[""] * 7))
    if not rows:
        return ["no moving joints"]
    head = ("joint", "type", "q", "lower", "upper", "velocity", "effort", "mass")
    units = "SI units; q: index in the coordinates; mass: of the link that the joint carries"
    note = ["", "--all prints every joint"] if hidden else []
    return [*table(head, rows, align="<<>>>>>>", width=width), "", units[:width], *note]


def _actuator_table(facts: dict[str, Any], width: int, everything: bool) -> list[str]:
    """Rows of the actuators that the file declares; none where there is one at each joint."""
    actuators = facts["actuators"] if facts["actuation_stated"] else []
    if not actuators:
        return []
    shown = actuators if everything or len(actuators) <= MOST_ROWS else actuators[:ENDS_OF_TABLE]
    keys = ("gear", "rotor_inertia", "lower", "upper")
    rows = [(x["name"], ", ".join(x["joints"]), *(number(x[key]) for key in keys)) for x in shown]
    if len(shown) < len(actuators):
        rows.append((f"… {len(actuators) - len(shown):,} more", *[""] * 5))
    head = ("actuator", "joints", "gear", "rotor", "lower", "upper")
    note = "rotor: inertia in front of the gear; lower, upper: of the input, a force in front of the gear"
    return [*table(head, rows, align="<<>>>>", width=width), "", *textwrap.wrap(note, width)]


def _constraint_table(constraints: list[dict[str, Any]], width: int, everything: bool) -> list[str]:
    if not constraints:
        return []
    shown = constraints if everything or len(constraints) <= MOST_ROWS else constraints[:ENDS_OF_TABLE]
    rows = [(c["name"], c["kind"], str(c["rows"]), c["first"], c["second"]) for c in shown]
    if len(shown) < len(constraints):
        rows.append((f"… {len(constraints) - len(shown):,} more", "", "", "", ""))
    note = (
        "held by simulations, constrained_dynamics and its relatives; functions of the tree, as "
        "forward_dynamics, leave them open"
    )
    head = ("constraint", "kind", "rows", "from", "to")
    return [*table(head, rows, align="<<><<", width=width), "", *textwrap.wrap(note, width)]


def _joint_rows(joint: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a row per joint, or per coordinate where these have limits of their own."""
    columns = [[number(x) for x in joint[key]] for key in ("lower", "upper", "velocity", "effort")]
    first, stop = joint["q"]
    several = any(len(set(column)) > 1 for column in columns)
    for k in range(max(map(len, columns)) if several else 1):
        bounds = [column[k] if k < len(column) else "" for column in columns]
        if several:
            where = str(first + k) if first + k < stop else ""
        else:
            where = str(first) if stop - first == 1 else f"{first}:{stop}" if stop > first else "–"
        if k == 0:
            yield joint["name"] or FLOATING, joint["type"], where, *bounds, number(joint["mass"])
        else:
            yield "", "", where, *bounds, ""


# ------------------------------------------------------------------------ the drawing


def draw_tree(
    parents: Sequence[int], labels: Sequence[str], *, width: int, everything: bool = False
) -> list[str]:
    """Return the lines of the drawing, the world on top.

    Only a branching indents: an unbranched run is one column, so that a chain of
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
    """Yield each line and how many links it represents, depth first, without recursion."""
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
