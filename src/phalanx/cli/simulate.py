# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx simulate`: a robot that falls, holds itself or follows a law, in time."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from ..data.naming import coordinates, rates
from ..errors import PhalanxError, printable
from ..files import writing
from ..simulation.integrators import DEFAULT, INTEGRATORS
from ..study.plotting import output_path, require_drawable
from .arguments import add_robot, load_robot, positive_integer, positive_number
from .output import ENDS_OF_TABLE, MOST_ROWS, emit, emit_json, number, table, terminal_width
from .simulated_motion import BANDWIDTH, FRICTION, SimulatedMotion, simulated

_MOST_LIMITS = 12  # lines about them in print
_NOTHING = 1e-12  # coordinates and energies below are rounding


EXAMPLES = """
phalanx simulate panda --seconds 2 --hold --plot hold.png
phalanx simulate puma560 --drop --batch 1000 --seed 1
phalanx simulate solo12.urdf --floating-base --hold \\
    --ground FL_FOOT FR_FOOT HL_FOOT HR_FOOT --save stand.npz
phalanx simulate ur5 --control law.py --json

law.py holds law(t, q, qd, u, robot), which returns the joint forces;
u are the coordinates at the start. It may hold forces(t, q, qd, u,
robot) too: wrenches by frame. law.py:name takes another function.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--drop", action="store_true", help="nothing drives the joints (default)")
    kinds.add_argument("--hold", action="store_true", help="hold the start: PD with gravity compensation")
    kinds.add_argument("--control", metavar="FILE", help="a Python file with a law (see below)")
    parser.add_argument(
        "--seconds", type=positive_number, default=2.0, metavar="S", help="to simulate (default: 2)"
    )
    parser.add_argument("--dt", type=positive_number, default=1e-3, metavar="S", help="step (default: 0.001)")
    parser.add_argument(
        "--integrator",
        choices=list(INTEGRATORS),
        default=DEFAULT,
        help=f"default: {DEFAULT}, stable when stiff",
    )
    parser.add_argument(
        "--batch", type=positive_integer, default=1, metavar="N", help="simulations (default: 1)"
    )
    parser.add_argument(
        "--seed", type=int, metavar="K", help="random starts; default 0 where --batch is over 1"
    )
    parser.add_argument("--pose", metavar="J=X,…", help="coordinates of joints at the start")
    parser.add_argument("--height", type=float, metavar="M", help="of a floating base at the start")
    parser.add_argument("--ground", nargs="+", metavar="FRAME", help="frames that stand on the plane z = 0")
    parser.add_argument("--friction", type=float, metavar="MU", help=f"of the ground (default: {FRICTION})")
    parser.add_argument(
        "--bandwidth", type=positive_number, metavar="HZ", help=f"of --hold (default: {BANDWIDTH:g})"
    )
    for name, what in (("damping", "damping"), ("limits", "joint limits"), ("dry-friction", "dry friction")):
        parser.add_argument(
            f"--no-{name}",
            dest=name.replace("-", "_"),
            action="store_false",
            help=f"leave the {what} of the file out",
        )
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    parser.add_argument("--threads", type=positive_integer, metavar="N", help="default: all")
    parser.add_argument(
        "--record", type=positive_number, default=0.01, metavar="S", help="between records (default: 0.01)"
    )
    parser.add_argument("--plot", metavar="FILE", help="save a picture (.png, .pdf or .svg)")
    parser.add_argument("--save", metavar="FILE", help="save time, q, qd, tau and energy (.npz)")


def run(args: argparse.Namespace) -> int:
    """Print how the robot moved; exit status 0."""
    if args.plot:
        require_drawable(args.plot)
    saved = _savable(args.save) if args.save else None
    robot = load_robot(args)
    if not robot.nv:
        raise PhalanxError(f'robot "{robot.name}" has no moving joint; expected one that can be simulated.')
    motion = simulated(robot, args)
    facts = summarised(motion, args)
    if saved is not None:
        _save(saved, motion)
    if args.plot:
        from ..study import figures

        figures.motion(
            motion.time, motion.q, motion.energy, args.plot, names=coordinates(robot), title=_title(facts)
        )
    if args.json:
        emit_json(facts)
    else:
        emit("\n".join([*_readable(facts), *(f"Saved {x}." for x in (args.plot, args.save) if x)]))
    return 0


def _savable(path: str) -> Path:
    target = output_path(path, "--save")
    if target.suffix != ".npz":
        raise PhalanxError(f"--save: {target} ends in {target.suffix!r}, expected .npz.")
    if not target.absolute().parent.is_dir():
        raise PhalanxError(f"--save: there is no folder {target.parent}.")
    return target


def _save(target: Path, motion: SimulatedMotion) -> None:
    arrays = {name: getattr(motion, name) for name in ("time", "q", "qd", "tau", "energy", "diverged")}
    with writing(target, where="--save") as file:
        np.savez_compressed(file, **arrays, coordinates=coordinates(motion.robot))


# ------------------------------------------------------------------------ what happened


def summarised(motion: SimulatedMotion, args: argparse.Namespace) -> dict[str, Any]:
    """The facts of the summary, for print and for JSON."""
    robot, good = motion.robot, ~motion.diverged
    finite = motion.q[good]
    energy, kinetic = motion.energy[good], motion.kinetic[good]
    change = energy[:, -1] - energy[:, 0]
    scale = kinetic.max() if kinetic.size else 0.0
    batch, done = len(motion.q), len(motion.q) * motion.steps
    return {
        "robot": robot.name,
        "what": "hold" if args.hold else "control" if args.control else "drop",
        "law": args.control,
        "integrator": args.integrator,
        "dtype": args.dtype,
        "dt": args.dt,
        "steps": motion.steps,
        "seconds": float(motion.time[-1]),
        "batch": batch,
        "seed": args.seed,
        "records": len(motion.time) - 1,
        "prepare_seconds": motion.preparing,
        "compute_seconds": motion.computing,
        "steps_per_second": done / motion.computing,
        "energy": {
            "start": _span(energy[:, 0]),
            "end": _span(energy[:, -1]),
            "largest_change": float(np.abs(change).max()) if change.size else None,
            "relative": float(np.abs(change).max() / scale) if change.size and scale > 0.0 else None,
        },
        "diverged": np.flatnonzero(motion.diverged).tolist(),
        "limits": _limits(motion),
        "coordinates": [
            {
                "name": name,
                "start": _span(finite[:, 0, k]),
                "end": _span(finite[:, -1, k]),
                "range": _span(finite[:, :, k]),
            }
            for k, name in enumerate(coordinates(robot))
        ],
    }


def _span(values: np.ndarray) -> list[float | None]:
    return [float(values.min()), float(values.max())] if values.size else [None, None]


def _limits(motion: SimulatedMotion) -> list[dict[str, Any]]:
    """Which limits were passed, in how many simulations, and when first."""
    robot = motion.robot
    found = []
    with np.errstate(invalid="ignore"):  # those that diverged
        kinds = {
            "lower": (robot.limits.lower - motion.q, motion.time, coordinates(robot)),
            "upper": (motion.q - robot.limits.upper, motion.time, coordinates(robot)),
            "velocity": (np.abs(motion.qd) - robot.limits.velocity, motion.time, rates(robot)),
            "effort": (np.abs(motion.tau) - robot.limits.effort, motion.time[1:], rates(robot)),
        }
        for kind, (beyond, times, names) in kinds.items():
            for k, name in enumerate(names):
                passed = beyond[..., k] > 0.0
                if passed.any():
                    first = float(times[passed.any(axis=0)][0])
                    most = float(np.nanmax(beyond[..., k]))
                    count = int(passed.any(axis=1).sum())
                    row = {"joint": name, "limit": kind, "beyond": most, "first": first, "simulations": count}
                    found.append(row)
    return found


# ------------------------------------------------------------------------ in print


def _title(facts: dict[str, Any]) -> str:
    doing = {"hold": "held at its start", "drop": "let go", "control": f"under {facts['law']}"}[facts["what"]]
    many = f"{facts['batch']:,} simulations" if facts["batch"] > 1 else "one simulation"
    return f"{printable(facts['robot'])}, {printable(doing)}: {many} of {facts['seconds']:.4g} s"


def _readable(facts: dict[str, Any]) -> list[str]:
    width = terminal_width()
    many = facts["batch"] > 1
    head = ("coordinate", "start", "end", "lowest", "highest")
    rows = [
        (c["name"], _between(c["start"], many), _between(c["end"], many), *map(_shown, c["range"]))
        for c in facts["coordinates"]
    ]
    if (hidden := len(rows) - 2 * ENDS_OF_TABLE) > MOST_ROWS - 2 * ENDS_OF_TABLE:
        rows[ENDS_OF_TABLE:-ENDS_OF_TABLE] = [(f"… {hidden:,} more (--json)", *[""] * 4)]
    steps = f"{facts['steps']:,} steps of {facts['dt'] * 1e3:.4g} ms, {facts['integrator']}, {facts['dtype']}"
    lines = [
        *textwrap.wrap(_title(facts), width),
        steps,
        "",
        *table(head, rows, align="<>>>>", width=width),
        "",
    ]
    for label, text in _summary(facts):
        lines += textwrap.wrap(f"{label:10}{text}", width, subsequent_indent=" " * 10)
    return [*lines, *_passed(facts, width)]


def _summary(facts: dict[str, Any]) -> list[tuple[str, str]]:
    e, batch, lost = facts["energy"], facts["batch"], facts["diverged"]
    energy = "–"
    if e["largest_change"] is not None:
        ends = f"{_between(e['start'], batch > 1)} J to {_between(e['end'], batch > 1)} J"
        share = "" if e["relative"] is None else f", {e['relative']:.1e} of the largest kinetic energy"
        energy = f"{ends}, changed by up to {number(e['largest_change'])} J{share}"
    names = ", ".join(map(str, lost[:8])) + (", …" if len(lost) > 8 else "")
    speed = f"{facts['steps_per_second']:,.0f} steps a second"
    return [
        (
            "speed",
            f"{speed} ({facts['compute_seconds']:.2g} s; prepared in {facts['prepare_seconds']:.2g} s)",
        ),
        ("energy", energy),
        ("diverged", f"{len(lost):,} of {batch:,}: {names}" if lost else "none"),
        ("limits", "reached, see below" if facts["limits"] else "none reached"),
    ]


def _passed(facts: dict[str, Any], width: int) -> list[str]:
    """The limits that were passed, as a table."""
    if not facts["limits"]:
        return []
    rows = [
        (x["joint"], x["limit"], number(x["beyond"]), f"{x['first']:.3g} s", f"{x['simulations']:,}")
        for x in facts["limits"][:_MOST_LIMITS]
    ]
    more = len(facts["limits"]) - len(rows)
    head = ("joint", "limit", "beyond", "first", "simulations")
    return [
        "",
        *table(head, rows, align="<<>>>", width=width),
        *([f"… {more} more (--json)"] if more else []),
    ]


def _shown(value: float | None) -> str:
    return "–" if value is None else number(value if abs(value) > _NOTHING else 0.0)


def _between(span: list[float | None], many: bool) -> str:
    low, high = map(_shown, span)
    return f"{low} … {high}" if many and low != high else low
