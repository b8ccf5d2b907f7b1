# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arguments that several commands share: the robot and the form of the answer."""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

from ..algorithms import FUNCTIONS
from ..errors import PhalanxError
from ..io.loading import load
from ..robot.robot import Robot
from ..study.cost import LEVELS, PRODUCTS


def add_robot(parser: argparse.ArgumentParser, *, default: str | None = None) -> None:
    """Add the robot and how to read it."""
    parser.add_argument(
        "robot",
        metavar="ROBOT",
        nargs=None if default is None else "?",
        default=default,
        help="a built-in robot, a generated one (snake:200, chain:50, tree:30), a URDF, MJCF, SDF, DH "
        "or saved robot file, or - for standard input"
        + ("" if default is None else f" (default: {default})"),
    )
    parser.add_argument("--floating-base", action="store_true", help="let the base move freely")
    parser.add_argument(
        "--mimic",
        choices=("coupled", "independent"),
        default="coupled",
        help="whether a mimic joint follows its driver (default) or moves by itself",
    )


def add_function(parser: argparse.ArgumentParser, default: str = "inverse_dynamics", more: str = "") -> None:
    """Add the function and its frame; `more` says where another one is the default, then None."""
    choices = list(FUNCTIONS)
    parser.add_argument(
        "-f",
        "--function",
        choices=choices,
        default=None if more else default,
        metavar="F",
        help=f"one of {', '.join(choices)} (default: {default}{more})",
    )
    parser.add_argument(
        "--frame",
        metavar="NAME",
        help="of which frame, for functions that take one (default: that of the last link)",
    )


def frame_of(args: argparse.Namespace, robot: Robot, function: str) -> str | None:
    """The frame of a function, the last link's by default; None if it takes none."""
    if args.frame is not None or not FUNCTIONS[function].frame:
        name: str | None = args.frame
        return name
    return robot.link_names[-1] if robot.link_names else robot.frame_names[0]


def add_customise(parser: argparse.ArgumentParser) -> None:
    """Add the choice of what is known of the robot when operations are counted."""
    parser.add_argument(
        "--customise",
        choices=LEVELS,
        default="full",
        help="what of the robot is used: nothing, its structure, its numbers (default: full)",
    )


def add_derivative(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a product with the function's derivative."""
    parser.add_argument(
        "--derivative",
        choices=PRODUCTS,
        help="a product with the function's derivative instead of the function: along tangents (jvp), with a "
        "cotangent (vjp), the latter's derivative along tangents (hvp)",
    )


def add_algorithm(parser: argparse.ArgumentParser) -> None:
    """Add the algorithm, read by `algorithm_of`."""
    parser.add_argument(
        "--algorithm",
        default="auto",
        metavar="A",
        help="a name, with options as in cfa:solver=serial,bias=local (default: auto)",
    )


def algorithm_of(args: argparse.Namespace) -> Any:
    """A name, or a name with its options, from `name:key=value,key=value`."""
    name, _, rest = args.algorithm.partition(":")
    if not rest:
        return name
    options: dict[str, Any] = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise PhalanxError(f"--algorithm: got {part!r} in {args.algorithm!r}, expected option=value.")
        options[key] = int(value) if value.isdigit() else value
    return name, options


def load_robot(args: argparse.Namespace) -> Robot:
    """Return the robot that the arguments name."""
    source = sys.stdin if args.robot == "-" else args.robot
    return load(source, floating_base=args.floating_base, mimic=args.mimic)


def positive_integer(text: str) -> int:
    """Return an integer of at least 1, as argparse wants its types."""
    try:
        value = int(text.replace("_", "").replace(",", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected an integer of at least 1")
    return value


def positive_number(text: str) -> float:
    """Return a finite number above 0, as argparse wants its types."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number above 0")
    return value


def pairs(text: str, option: str, what: str = "name") -> dict[str, str]:
    """Return the mapping that `a=b,c=d` states; raise naming the option if it states none."""
    found = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        if not equals or not name or not value:
            raise PhalanxError(f"{option}: got {part!r}, expected {what}=value,{what}=value.")
        found[name] = value
    return found


def refuse_without(args: argparse.Namespace, needed: str, *options: str) -> None:
    """Raise if one of the options is given: without `needed` it would have no effect."""
    for name in options:
        if getattr(args, name) is not None:
            raise PhalanxError(f"--{name}: needs {needed}; without it the option has no effect.")
