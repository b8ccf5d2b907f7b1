# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What `phalanx simulate` starts from, what drives it, and the rollout with its progress."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest
from ..progress import steps as with_bar
from ..robot.robot import Robot
from ..simulation.driving import BASE, FORCES, floats, holding, laws_of, middle
from ..simulation.records import warn_diverged
from .arguments import pairs, refuse_without

CLEARANCE = 0.02  # metres between the ground and the lowest foot at the start
FEEL = 0.005  # metres that a robot's weight presses its feet into the ground
_PIECES = 50  # of a rollout at most, for the bar
_LEAST = 50_000  # steps of a piece
FRICTION = 0.8  # of the ground
BANDWIDTH = 5.0  # hertz of --hold
RECORD = ("q", "qd", "tau", "kinetic_energy", "potential_energy")


@dataclass(frozen=True)
class SimulatedMotion:
    """A finished simulation: its records, and the seconds that it took."""

    robot: Robot
    q: np.ndarray  # (batch, T + 1, nq), the start included
    qd: np.ndarray
    tau: np.ndarray  # (batch, T, nv)
    energy: np.ndarray  # (batch, T + 1)
    kinetic: np.ndarray
    time: np.ndarray  # (T + 1,)
    diverged: np.ndarray
    steps: int
    preparing: float  # seconds of tracing and compiling
    computing: float  # seconds of the rollout


# ------------------------------------------------------------------------ starts


def starts(robot: Robot, args: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """Initial states (batch, nq), (batch, nv): at rest in the middle of the limits, or drawn at random."""
    for foot in args.ground or ():
        robot.frame(foot)  # or an error that names the nearest
    if args.seed is None and args.batch == 1:
        q, qd = middle(robot)[None], np.zeros((1, robot.nv))
    else:
        q, qd, _ = robot.random_state((args.batch,), rng=np.random.default_rng(args.seed or 0))
        if floats(robot):  # anywhere in the air is no start
            q[:, : BASE + 1] = robot.neutral()[: BASE + 1]
            qd[:, :BASE] = 0.0
    for name, value in _pose(robot, args.pose).items():
        q[:, robot.q_slices[name]] = value
    if floats(robot):
        q[:, 2] = args.height if args.height is not None else _standing(robot, q, args.ground)
    elif args.height is not None:
        raise PhalanxError(f'--height: robot "{robot.name}" has a fixed base; add --floating-base.')
    return q, qd


def _pose(robot: Robot, text: str | None) -> dict[str, float]:
    """Coordinates of joints by name from `elbow=1.2,wrist=-0.3`."""
    pose = {}
    for name, value in pairs(text or "", "--pose", "joint").items():
        if name not in robot.joint_names:
            known = nearest(name, robot.joint_names, what="joints")
            raise PhalanxError(f'--pose: robot "{robot.name}" has no joint {name!r};{known}')
        if robot.q_slices[name].stop - robot.q_slices[name].start != 1:
            raise PhalanxError(
                f'--pose: joint "{name}" has several coordinates; only joints of one can be set.'
            )
        try:
            pose[name] = float(value)
        except ValueError:
            pose[name] = math.nan
        if not math.isfinite(pose[name]):
            raise PhalanxError(f"--pose: joint {name!r} gets {value!r}, expected a number that is finite.")
    return pose


def _standing(robot: Robot, q: np.ndarray, feet: list[str] | None) -> Any:
    """The height of the base at which the lowest foot is just above the ground."""
    if not feet:
        return q[:, 2]
    lowest = np.min([robot.frame_pose(q, foot)[:, 2, 3] for foot in feet], axis=0)
    return q[:, 2] - lowest + CLEARANCE


# ------------------------------------------------------------------------ forces


def driven(robot: Robot, args: argparse.Namespace, q: np.ndarray) -> dict[str, Any]:
    """The options of `robot.simulation` for control laws, external forces and contacts."""
    options: dict[str, Any] = {}
    friction = FRICTION if args.friction is None else args.friction
    if not args.hold:
        refuse_without(args, "--hold", "bandwidth")
    if not args.ground:
        refuse_without(args, "--ground", "friction")
    if args.hold:
        options = {"control": holding(robot, q, args.bandwidth or BANDWIDTH, args.ground or [])}
    elif args.control:
        options = laws_of(args.control, where="--control")
    around = [options.pop(FORCES)] if FORCES in options else []
    if args.ground:
        from ..simulation import contact

        # Each foot carries its share of the weight, critically damped.
        share = robot.total_mass / len(args.ground)
        stiffness = share * float(np.linalg.norm(robot.gravity) or 9.81) / FEEL
        damping = 2.0 * math.sqrt(stiffness * share)
        around.append(contact.ground(args.ground, stiffness=stiffness, damping=damping, friction=friction))
    return {**options, FORCES: around or None}


# ------------------------------------------------------------------------ running


def simulated(robot: Robot, args: argparse.Namespace) -> SimulatedMotion:
    """The rollout that the arguments request, piece by piece so that a bar can show the progress."""
    q, qd = starts(robot, args)
    every = max(1, round(args.record / args.dt))
    rows = max(1, round(args.seconds / (args.dt * every)))
    begin = time.perf_counter()
    sim = robot.simulation(
        dt=args.dt,
        integrator=args.integrator,
        damping=args.damping,
        friction=args.dry_friction,
        limits=args.limits,
        dtype=args.dtype,
        **driven(robot, args, q),
    )
    controls = (
        q if sim.controls == robot.nq and (args.hold or args.control) else np.zeros((len(q), sim.controls))
    )
    go = _rollout(sim, controls.astype(args.dtype)[:, None], every, args.threads)
    state = q.astype(args.dtype), qd.astype(args.dtype)
    go(state[0][:1], state[1][:1], 1, 0)  # compiles
    preparing = time.perf_counter() - begin
    runs: list[Any] = []
    begin = time.perf_counter()
    pieces = _pieces(rows, len(q) * every)
    for done, count in with_bar(pieces, "simulate", lambda at: f"{at[0] * every * args.dt:.3g} s"):
        runs.append(go(*state, count, done * every))
        state = runs[-1].final
    computing = time.perf_counter() - begin
    warn_diverged(np.any([run.diverged for run in runs], axis=0), sim._settings)
    return _joined(
        robot, q, qd, runs, args.dt * every * np.arange(rows + 1), rows * every, preparing, computing
    )


def _rollout(sim: Any, controls: np.ndarray, every: int, threads: int | None) -> Callable[..., Any]:
    def go(q: np.ndarray, qd: np.ndarray, rows: int, start: int) -> Any:
        own = controls[: len(q)]
        return sim._rolled(q, qd, own, rows * every, every, RECORD, threads, start=start)

    return go


def _pieces(rows: int, steps: int) -> list[tuple[int, int]]:
    """(records before it, records in it) for each piece of a rollout; a record takes `steps` steps.

    Pieces are equal, and large enough that their number costs nothing.
    """
    count = max(1, min(_PIECES, rows, rows * steps // _LEAST))
    ends = [rows * k // count for k in range(count + 1)]
    return [(done, end - done) for done, end in pairwise(ends)]


def _joined(
    robot: Robot,
    q: np.ndarray,
    qd: np.ndarray,
    runs: list[Any],
    times: np.ndarray,
    steps: int,
    preparing: float,
    computing: float,
) -> SimulatedMotion:
    """The motion whose records are those of all pieces, the initial state first."""
    kinetic, potential = robot.kinetic_energy(q, qd), robot.potential_energy(q)

    def joined(name: str, first: np.ndarray | None = None) -> np.ndarray:
        parts = [] if first is None else [first[:, None]]
        return np.concatenate([*parts, *(run[name] for run in runs)], axis=1)

    moving = joined("kinetic_energy", kinetic)
    return SimulatedMotion(
        robot=robot,
        q=joined("q", q),
        qd=joined("qd", qd),
        tau=joined("tau"),
        energy=moving + joined("potential_energy", potential),
        kinetic=moving,
        time=times,
        diverged=np.any([run.diverged for run in runs], axis=0),
        steps=steps,
        preparing=preparing,
        computing=computing,
    )
