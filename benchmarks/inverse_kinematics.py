# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics: how many targets are solved a second, and which share of them?

    python benchmarks/inverse_kinematics.py [--targets 100000] [--peers] [--c] [--collisions] [--hard] [--set DAMPING=0.1]

One core, float64 and float32: random reachable poses, and poses whose start is 0.3 rad away. `--peers` adds, in the
same run, loops of other libraries (`inverse_kinematics_peers.py`) with the same starts and up to as many
restarts. `--c` times the exported C function, one target a call. `--collisions` keeps two arms apart. `--hard` solves targets of robots that are known to be difficult. `--set` changes a
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

import inverse_kinematics_peers
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
                given = None if start is None else start[:100]
                for other, share, pace in inverse_kinematics_peers.rows(robot, frame, poses[:100], given):
                    print(f"{f'  {other}, {label}':34}{share:10.5f}{pace:14,.0f}", flush=True)


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "arm.h"
int main(int argc, char **argv) {
    long count = atol(argv[1]), repeats = argc > 2 ? atol(argv[2]) : 5;
    double *start = malloc(count * NQ * 8), *poses = malloc(count * 16 * 8), *settings = malloc(4 * 8);
    if (fread(start, 8, count * NQ, stdin) + fread(poses, 8, count * 16, stdin) + fread(settings, 8, 4, stdin)
        != (size_t)(count * (NQ + 16) + 4)) return 1;
    for (long k = 0; k < count; k++) {
        double least = 1e9, q[NQ], error[6], facts[3];
        for (long r = 0; r < repeats; r++) {
            struct timespec a, b;
            clock_gettime(CLOCK_MONOTONIC, &a);
            CALL(start + k * NQ, poses + k * 16, settings, q, error, facts);
            clock_gettime(CLOCK_MONOTONIC, &b);
            double passed = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) * 1e-3;
            if (passed < least) least = passed;
        }
        printf("%g %g %g\\n", least, facts[0], facts[1]);
    }
    return 0;
}
"""


def in_c(count: int) -> None:
    """The exported function from 0.3 rad away, one target a call: the least of five calls of each."""
    import subprocess
    import tempfile

    robot, frame, rng = px.load("panda"), "panda_hand", np.random.default_rng(0)
    q = robot.random_state((count,), rng)[0]
    near, poses = starts(robot, q, rng), robot.frame_pose(q, frame)
    print(
        f"{'C, panda, 0.3 rad away':34}{'solved':>10}{'mean us':>10}{'99.99 %':>10}{'worst':>10}{'most':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        robot.export(Path(folder) / "arm.h", f"inverse_kinematics:{frame}")
        names = f"#define NQ {robot.nq}\n#define CALL arm_inverse_kinematics_{frame}\n"
        (Path(folder) / "main.c").write_text(names + MAIN)
        build = ["gcc", "-O2", "-march=native", "-ffp-contract=off", "main.c", "-o", "main", "-lm"]
        subprocess.run(build, cwd=folder, check=True)
        for tries, iterations in ((32, 100), (10, 30), (1, 20)):
            given = np.concatenate([near.ravel(), poses.ravel(), [1e-6, tries, iterations, 0.0]])
            done = subprocess.run(
                [f"{folder}/main", str(count)], input=given.tobytes(), capture_output=True, check=True
            )
            found = np.array([line.split() for line in done.stdout.decode().splitlines()], dtype=float)
            took, solved, most = found.T
            print(
                f"{f'{tries} tries of {iterations}':34}{solved.mean():10.5f}{took.mean():10.2f}"
                f"{np.quantile(took, 0.9999):10.2f}{took.max():10.2f}{most.max():8.0f}"
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
    sliding = px.chain(6, seed=3, prismatic=0.5)
    cases.append(("chain of 6, half sliding, pose", sliding, sliding.link_names[-1], False))
    cases += [
        ("SCARA, pose", scara(), "tool", False),
        ("gantry with a wrist, pose", gantry(), "tool", False),
        ("Shadow finger, position", finger(), "tool", True),
    ]
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


Axis = tuple[str, tuple[float, float, float], tuple[float, float, float], float, float]


def serial(name: str, axes: list[Axis], tool: tuple[float, float, float]) -> px.Robot:
    """A chain of joints: type, place after the joint before, axis and limits of each."""
    builder = px.RobotBuilder(name)
    above = builder.add_link("base")
    for k, (kind, way, axis, lower, upper) in enumerate(axes, start=1):
        link = builder.add_link(f"link{k}", mass=1.0, inertia=(0.01, 0.01, 0.01))
        pose = np.eye(4)
        pose[:3, 3] = way
        builder.add_joint(f"joint{k}", kind, above, link, origin=pose, axis=axis, lower=lower, upper=upper)
        above = link
    pose = np.eye(4)
    pose[:3, 3] = tool
    builder.add_frame("tool", above, pose)
    return builder.build()


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def scara() -> px.Robot:
    """Two horizontal links and a quill that slides and turns: four axes for poses of four freedoms."""
    axes: list[Axis] = [
        ("revolute", (0.0, 0.0, 0.4), Z, -2.6, 2.6),
        ("revolute", (0.325, 0.0, 0.0), Z, -2.5, 2.5),
        ("prismatic", (0.225, 0.0, 0.0), Z, -0.2, 0.0),
        ("revolute", (0.0, 0.0, 0.0), Z, -3.1, 3.1),
    ]
    return serial("scara", axes, (0.0, 0.0, -0.1))


def gantry() -> px.Robot:
    """Three slides and a spherical wrist."""
    axes: list[Axis] = [
        ("prismatic", (0.0, 0.0, 0.0), X, 0.0, 3.0),
        ("prismatic", (0.0, 0.0, 0.0), Y, 0.0, 2.0),
        ("prismatic", (0.0, 0.0, 2.0), Z, -1.0, 0.0),
        ("revolute", (0.0, 0.0, -0.3), Z, -3.1, 3.1),
        ("revolute", (0.0, 0.0, 0.0), Y, -2.0, 2.0),
        ("revolute", (0.0, 0.0, 0.0), Z, -3.1, 3.1),
    ]
    return serial("gantry", axes, (0.0, 0.0, -0.2))


def finger() -> px.Robot:
    """A finger with the lengths and limits of the Shadow hand's, its last joints not coupled."""
    axes: list[Axis] = [
        ("revolute", (0.033, 0.0, 0.095), Y, -0.35, 0.35),
        ("revolute", (0.0, 0.0, 0.0), X, -0.26, 1.57),
        ("revolute", (0.0, 0.0, 0.045), X, 0.0, 1.57),
        ("revolute", (0.0, 0.0, 0.025), X, 0.0, 1.57),
    ]
    return serial("finger", axes, (0.0, 0.0, 0.026))


def two_arms() -> tuple[px.Robot, list[Any]]:
    """Two Pandas 0.6 m apart, and 15 spheres on each."""
    arm, place = px.load("panda"), np.eye(4)
    place[1, 3] = 0.6
    robot = arm.merge(arm, poses=[None, place], prefixes=["left_", "right_"])
    own = [
        ("panda_link1", 0.09, (0.0, 0.0, -0.15)),
        ("panda_link1", 0.08, (0.0, -0.03, 0.0)),
        ("panda_link2", 0.08, (0.0, -0.1, 0.03)),
        ("panda_link3", 0.07, (0.0, 0.0, -0.1)),
        ("panda_link3", 0.07, (0.07, 0.03, 0.0)),
        ("panda_link4", 0.07, (-0.08, 0.06, 0.0)),
        ("panda_link5", 0.07, (0.0, 0.0, -0.25)),
        ("panda_link5", 0.06, (0.0, 0.05, -0.17)),
        ("panda_link5", 0.06, (0.0, 0.07, -0.08)),
        ("panda_link5", 0.06, (0.0, 0.05, 0.0)),
        ("panda_link6", 0.06, (0.04, 0.0, 0.0)),
        ("panda_link7", 0.06, (0.0, 0.0, 0.05)),
        ("panda_link7", 0.05, (0.04, 0.04, 0.1)),
        ("panda_hand", 0.05, (0.0, 0.05, 0.04)),
        ("panda_hand", 0.05, (0.0, -0.05, 0.04)),
    ]
    spheres = [
        px.contact.sphere(side + frame, radius, center)
        for side in ("left_", "right_")
        for frame, radius, center in own
    ]
    return robot, spheres


def collisions(count: int, repeats: int) -> None:
    """Two arms with a target each, which spheres on them keep apart; targets of random free configurations."""
    robot, spheres = two_arms()
    pairs = [(a, b) for a, b in px.contact.pairs(robot, spheres) if _apart(robot, a, b)]
    q = robot.random_state((8 * count,), np.random.default_rng(0))[0]
    q = q[robot.distances(q, pairs).min(axis=-1) > 0.0][:count]
    targets = {f"{side}_panda_hand": robot.frame_pose(q, f"{side}_panda_hand") for side in ("left", "right")}
    print(f"two Pandas, {len(spheres)} spheres, {len(pairs)} pairs, {len(q)} targets")
    print(f"{'':34}{'solved':>10}{'a second':>14}{'mean':>8}{'most':>8}{'limits':>8}{'collide':>10}")
    for label, given in (("without", None), ("with collisions", pairs)):
        first = {name: a[:8] for name, a in targets.items()}
        seconds, _ = timed(lambda g=given, f=first: robot.inverse_kinematics(f, collisions=g), 1)
        print(f"first call {seconds:.1f} s")
        seconds, s = timed(
            lambda g=given: robot.inverse_kinematics(targets, collisions=g, threads=1), repeats
        )
        found = robot.distances(s.q[s.converged], pairs).min(axis=-1)
        print(
            f"{label:34}{s.converged.mean():10.5f}{s.converged.sum() / seconds:14,.0f}"
            f"{s.iterations.mean():8.2f}{s.iterations.max():8}"
            f"{'yes' if within(robot, s.q) else 'NO':>8}{int((found <= 0.0).sum()):10}"
        )


def _apart(robot: px.Robot, a: Any, b: Any) -> bool:
    """Whether links are not so close that their shapes always overlap: more than two joints apart."""
    paths = [_path(robot, robot.frames[shape.frame].link) for shape in (a, b)]
    return len(set(paths[0]) ^ set(paths[1])) > 2


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
    parser.add_argument("--collisions", action="store_true")
    parser.add_argument("--c", action="store_true")
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
    elif args.collisions:
        collisions(min(args.targets, 10_000), args.repeats)
    elif args.c:
        in_c(args.targets)
    else:
        arms(args.targets, args.repeats, args.peers)


if __name__ == "__main__":
    main()
