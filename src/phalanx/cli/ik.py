# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx ik`: configurations whose frame is at a pose, or at each pose of a file."""

from __future__ import annotations

import argparse
import csv
import io
import time
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ..errors import PhalanxError, listing, shown
from ..files import read_bytes, write_files
from ..robot.robot import Robot
from ..tracing.math import exp3
from .arguments import add_robot, load_robot, positive_integer, positive_number
from .output import emit, emit_json, number

EXAMPLES = """
phalanx ik panda --frame panda_hand --pose "0.4 0.1 0.5  3.14 0 0"
phalanx ik ur5 --frame tool0 --pose "0.4 0.2 0.3" --json
phalanx ik panda --frame panda_hand --poses poses.npy -o solutions.npz
phalanx ik panda --frame panda_hand --poses poses.csv -o solutions.csv
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument("--frame", metavar="NAME", help="the frame that moves there (default: the last one)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--pose", metavar="NUMBERS", help="x y z, orientation free, or x y z and a rotation vector [m, rad]"
    )
    what.add_argument(
        "--poses",
        metavar="FILE",
        help=".npy, .npz (array poses) or .csv: (n, 4, 4), (n, 16), (n, 6) or (n, 3), as --pose",
    )
    parser.add_argument("--start", metavar="NUMBERS", help="coordinates to start at, separated by spaces")
    parser.add_argument("--seeds", type=positive_integer, default=32, help="tries (default: 32)")
    parser.add_argument("--tolerance", type=positive_number, default=1e-6, help="rad and m (default: 1e-6)")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="an .npz file with q, converged, error, iterations, or a .csv file",
    )


def run(args: argparse.Namespace) -> int:
    """Print solutions; exit status 0."""
    robot = load_robot(args)
    if args.pose is None and args.poses is None:
        raise PhalanxError("got no pose; give one by --pose, or a file of them by --poses.")
    frame = args.frame or robot.frame_names[-1]
    if args.output and Path(args.output).suffix not in (".npz", ".csv"):
        raise PhalanxError(
            f"--output: {shown(args.output)} is no .npz or .csv file; write one such as solutions.npz."
        )
    given = _read(args.poses) if args.poses is not None else _numbers(args.pose, "--pose")
    start = None if args.start is None else _numbers(args.start, "--start")
    begun = time.perf_counter()
    s = robot.inverse_kinematics(
        {frame: _target(given, "--pose" if args.poses is None else "--poses")},
        start,
        seeds=args.seeds,
        tolerance=args.tolerance,
    )
    seconds = time.perf_counter() - begun
    made = {"q": s.q, "converged": s.converged, "error": s.error, "iterations": s.iterations}
    if args.output:
        _save(Path(args.output), made, robot)
    if args.json:
        emit_json({"robot": robot.name, "frame": frame, "joints": list(robot.joint_names), **made})
        return 0
    saved = f"\nSaved {args.output}." if args.output else ""
    if s.q.ndim == 1:
        emit("\n".join(_one(robot, frame, made)) + saved)
    else:
        count, good = s.converged.size, int(s.converged.sum())
        emit(f"{frame} of {robot.name}: {good} of {count} poses reached in {seconds:.3g} s.{saved}")
    return 0


def _one(robot: Robot, frame: str, made: dict[str, np.ndarray]) -> list[str]:
    """A solution joint by joint."""
    left = float(np.abs(made["error"]).max(initial=0.0))
    answer = "reached" if made["converged"] else "not reached; the nearest configuration"
    lines = [f"{frame} of {robot.name}: {answer}, largest error {number(left)} rad or m."]
    width = max(map(len, robot.joint_names))
    for name in robot.joint_names:
        values = " ".join(f"{x:.9g}" for x in np.atleast_1d(made["q"][robot.q_slices[name]]))
        lines.append(f"  {name:{width}}  {values}")
    return lines


def _numbers(text: str, option: str) -> np.ndarray:
    try:
        return np.array([float(x) for x in text.replace(",", " ").split()])
    except ValueError:
        raise PhalanxError(f"{option}: got {shown(text)}, expected numbers separated by spaces.") from None


def _read(path: str) -> np.ndarray:
    """The array of a file; rows of 16 numbers are poses."""
    suffix = Path(path).suffix
    if suffix not in (".npy", ".npz", ".csv"):
        raise PhalanxError(f"--poses: {shown(path)} is no .npy, .npz or .csv file.")
    try:
        content = read_bytes(path)
        made = _csv(content) if suffix == ".csv" else np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(made, np.lib.npyio.NpzFile):
            names = made.files
            if "poses" not in names and len(names) != 1:
                raise ValueError(f'its arrays are {listing(names) or "none"}; name one "poses"')
            made = made["poses" if "poses" in names else names[0]]
    except OSError as error:
        raise PhalanxError(f'--poses: cannot read "{path}": {error.strerror or error}.') from None
    except (ValueError, EOFError, BadZipFile) as error:
        raise PhalanxError(f'--poses: cannot read "{path}": {str(error).splitlines()[0]}.') from None
    array = np.asarray(made)
    return array.reshape(-1, 4, 4) if array.ndim == 2 and array.shape[1] == 16 else array


def _csv(content: bytes) -> np.ndarray:
    """The rows of a file of numbers; a first line of words is a header."""
    rows: list[list[float]] = []
    for line, text in enumerate(content.decode("utf-8-sig").splitlines(), start=1):
        try:
            row = [float(x) for x in text.replace(";", ",").replace(",", " ").split()]
        except ValueError:
            if line == 1:
                continue
            raise ValueError(f"line {line} is {shown(text.strip())}, expected numbers") from None
        if row and rows and len(row) != len(rows[0]):
            raise ValueError(f"line {line} has {len(row)} numbers, expected {len(rows[0])}")
        if row:
            rows.append(row)
    if not rows:
        raise ValueError("it has no numbers")
    return np.array(rows)


def _target(given: np.ndarray, option: str) -> np.ndarray:
    """Poses or positions from numbers."""
    if given.shape[-2:] == (4, 4) or given.shape[-1:] == (3,):
        return given
    if given.shape[-1:] != (6,):
        raise PhalanxError(
            f"{option}: got an array of shape {given.shape}, expected three numbers of a position, or six: "
            "with a rotation vector."
        )
    pose = np.zeros((*given.shape[:-1], 4, 4))
    pose[..., :3, :3], pose[..., :3, 3], pose[..., 3, 3] = exp3(given[..., 3:]), given[..., :3], 1.0
    return pose


def _save(path: Path, made: dict[str, np.ndarray], robot: Robot) -> None:
    if path.suffix == ".npz":
        file = io.BytesIO()
        np.savez(file, **made)  # type: ignore[arg-type]
        write_files(path.parent, {path.name: file.getvalue()}, where="--output")
        return
    names = []
    for name, own in robot.q_slices.items():
        size = own.stop - own.start
        names += [name] if size == 1 else [f"{name}[{k}]" for k in range(size)]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*names, "converged", "iterations"])
    flat = (made["q"].reshape(-1, robot.nq), made["converged"].ravel(), made["iterations"].ravel())
    for q, good, count in zip(*flat, strict=True):
        rows.writerow([*map(repr, q.tolist()), int(good), int(count)])
    write_files(path.parent, {path.name: text.getvalue().encode()}, where="--output")
