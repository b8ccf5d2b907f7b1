# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics: how many targets are solved a second, and which share of them?

    python benchmarks/inverse_kinematics.py [--targets 100000] [--peers] [--hard] [--set DAMPING=0.1]

One core, float64 and float32: random reachable poses, and poses whose start is 0.3 rad away. `--peers` adds, in the
same run, a damped Gauss-Newton loop on Pinocchio from Python as its examples have it, with the same starts
and up to as many restarts. `--hard` solves targets of robots that are known to be difficult. `--set` changes a
constant of `inverse_kinematics/iteration.py`. The median of the repeats counts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.inverse_kinematics import iteration

ARMS = {"panda": "panda_hand", "ur5": "tool0", "iiwa14": "iiwa_link_ee"}


def timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The median of the seconds of a call, and its result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        made = call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), made


def starts(robot: px.Robot, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Configurations at most 0.3 rad away, within the limits."""
    return np.clip(q + rng.uniform(-0.3, 0.3, q.shape), robot.limits.lower, robot.limits.upper)


def within(robot: px.Robot, q: np.ndarray) -> bool:
    wide = q.astype(float)
    return bool(((wide >= robot.limits.lower) & (wide <= robot.limits.upper)).all())


def row(name: str, count: int, seconds: float, s: Any, robot: px.Robot) -> None:
    print(
        f"{name:34}{s.converged.mean():10.5f}{count / seconds:14,.0f}{s.iterations.mean():8.2f}"
        f"{s.iterations.max():8}{'yes' if within(robot, s.q) else 'NO':>8}",
        flush=True,
    )


def arms(count: int, repeats: int, peers: bool) -> None:
    print(f"{'':34}{'solved':>10}{'a second':>14}{'mean':>8}{'most':>8}{'limits':>8}")
    for name, frame in ARMS.items():
        robot, rng = px.load(name), np.random.default_rng(0)
        q = robot.random_state((count,), rng)[0]
        poses = robot.frame_pose(q, frame)
        near = starts(robot, q, rng)
        cases = [("random", poses, None, 1e-6), ("0.3 rad away", poses, near, 1e-6)]
        single = poses.astype(np.float32), near.astype(np.float32)
        cases += [("random, 1e-4", poses, None, 1e-4), ("random, 1e-4, float32", single[0], None, 1e-4)]
        cases += [("0.3 rad away, 1e-4", poses, near, 1e-4)]
        cases += [("0.3 rad away, 1e-4, float32", *single, 1e-4)]
        for label, given, start, tolerance in cases:
            robot.inverse_kinematics(
                {frame: given[:10]}, None if start is None else start[:10], tolerance=tolerance
            )
            call = partial(robot.inverse_kinematics, {frame: given}, start, tolerance=tolerance, threads=1)
            seconds, s = timed(call, repeats)
            row(f"{name}, {label}", count, seconds, s, robot)
        if peers:
            for label, start in (("random", None), ("0.3 rad away", near)):
                pinocchio(robot, frame, poses[:100], None if start is None else start[:100], label)


def pinocchio(robot: px.Robot, frame: str, poses: np.ndarray, start: np.ndarray | None, label: str) -> None:
    """A damped loop on Pinocchio, as its examples have it, clipped to the limits, with restarts."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference import pinocchio as other

    pin = other.pin
    model, place = other.model_of(robot.description)
    data = model.createData()
    joint, offset = place[frame]
    number = model.addFrame(pin.Frame("target", joint, 0, offset, pin.FrameType.OP_FRAME))
    data = model.createData()
    lower, upper, rng = robot.limits.lower, robot.limits.upper, np.random.default_rng(1)
    solved, begun = 0, time.perf_counter()
    for k, pose in enumerate(poses):
        wanted = pin.SE3(pose)
        for attempt in range(32):
            q = rng.uniform(lower, upper) if start is None or attempt else start[k].copy()
            for _ in range(100):
                pin.framesForwardKinematics(model, data, q)
                left = data.oMf[number].actInv(wanted)
                error = pin.log6(left).vector
                if np.linalg.norm(error[:3]) < 1e-6 and np.linalg.norm(error[3:]) < 1e-6:
                    break
                J = -pin.Jlog6(left.inverse()) @ pin.computeFrameJacobian(model, data, q, number)  # noqa: N806
                step = -J.T @ np.linalg.solve(J @ J.T + 1e-6 * np.eye(6), error)
                q = np.clip(q + step, lower, upper)
            else:
                continue
            solved += 1
            break
    seconds = time.perf_counter() - begun
    count = len(poses)
    print(
        f"{f'  Pinocchio from Python, {label}':34}{solved / count:10.5f}{count / seconds:14,.0f}", flush=True
    )


def hard(count: int) -> None:
    """Robots that are difficult, and what is asked of them; the share of reachable targets solved."""
    print(f"{'hard cases':34}{'solved':>10}{'a second':>14}{'mean':>8}{'most':>8}{'limits':>8}")
    cases: list[tuple[str, px.Robot, str, bool]] = [
        (f"{name}, pose", px.load(name), frame, False)
        for name, frame in {**ARMS, "stanford": "link6", "puma560": "link6"}.items()
    ]
    for name in ("snake:30", "chain:12,seed=1", "chain:7,seed=2"):
        robot = px.load(name)
        cases.append((f"{name}, pose", robot, robot.link_names[-1], False))
    gantry = px.chain(6, seed=3, prismatic=0.5)
    cases.append(("chain of 6, half sliding, pose", gantry, gantry.link_names[-1], False))
    planar = px.Robot.from_dh([{"a": length} for length in (1.0, 0.8, 0.5)])
    cases.append(("planar 3R, position", planar, planar.link_names[-1], True))
    cases += _examples()
    for label, robot, frame, position in cases:
        q = robot.random_state((count,), np.random.default_rng(0))[0]
        if label.startswith("planar"):
            q[:, 1:] *= 1e-2  # at the edge of its reach
        given = robot.frame_pose(q, frame)
        given = given[:, :3, 3] if position else given
        robot.inverse_kinematics({frame: given[:4]})
        seconds, s = timed(lambda r=robot, f=frame, g=given: r.inverse_kinematics({f: g}, threads=1), 1)
        row(label, count, seconds, s, robot)


def _examples() -> list[tuple[str, px.Robot, str, bool]]:
    """Robots of the package example-robot-data, where it is installed."""
    import importlib.util

    spec = importlib.util.find_spec("pinocchio")
    folders = Path(spec.origin).parents if spec and spec.origin else []
    share = next(
        (f / "share/example-robot-data" for f in folders if (f / "share/example-robot-data").is_dir()), None
    )
    wanted = {
        "kinova.urdf": ("", False),
        "talos_left_arm.urdf": ("", False),
        "talos_reduced.urdf": ("gripper_left_base_link", False),
        "sr_hand_edited.urdf": ("", True),
        "sr_hand.urdf": ("", True),
        "ur3_robot.urdf": ("tool0", False),
        "ur10_robot.urdf": ("tool0", False),
        "tiago.urdf": ("", False),
        "baxter.urdf": ("left_gripper_base", False),
        "fetch.urdf": ("gripper_link", False),
        "anymal.urdf": ("LF_FOOT", True),
        "romeo_laas_small.urdf": ("l_wrist", False),
        "icub.urdf": ("l_hand", False),
        "finger_edu.urdf": ("", True),
    }
    made = []
    for name, (frame, position) in wanted.items():
        found = next(iter(sorted(share.rglob(name))), None) if share else None
        if found is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            robot = px.load(found)
        if not robot.nv:
            continue
        if frame not in robot.frames:
            depths = [len(_path(robot, i)) for i in range(robot.n_links)]
            frame = robot.link_names[int(np.argmax(depths))]
        made.append(
            (f"{name.removesuffix('.urdf')}, {'position' if position else 'pose'}", robot, frame, position)
        )
    return made


def _path(robot: px.Robot, link: int) -> list[int]:
    """A link and its ancestors."""
    return [] if link < 0 else [link, *_path(robot, robot.parents[link])]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()
    for each in args.set:
        name, _, value = each.partition("=")
        assert hasattr(iteration, name), name
        setattr(iteration, name, float(value))
    print(conditions())
    if args.hard:
        hard(min(args.targets, 10_000))
    else:
        arms(args.targets, args.repeats, args.peers)


if __name__ == "__main__":
    main()
