# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Calls of every public function with arguments that are right, nearly right and wrong."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms import FUNCTIONS

from . import robot_files, tables
from .elements import WORDS
from .entry_points import command_line, costs, machines, others
from .pool import ALL, NAMES, a_robot, near, robots, state
from .values import REAL, anything, numbers


def _choices(rng: Random, robot: px.Robot, function: str) -> dict[str, Any]:
    """Algorithm, backend, threads; robots beyond the first two stay on the reference."""
    more: dict[str, Any] = {}
    native = robot in robots()[:2]
    if rng.random() < 0.3:
        known = [a.name for a in px.algorithms(function)]
        more["algorithm"] = near(rng, rng.choice((*known, rng.choice(NAMES), "auto")))
        native = False
    more["backend"] = near(rng, rng.choice(("auto", "native")) if native else "numpy", 0.1)
    if rng.random() < 0.3:
        more["threads"] = near(rng, rng.choice((1, 2, None)))
    return more


def _inputs(rng: Random, robot: px.Robot, function: str) -> tuple[list[Any], dict[str, Any], tuple[int, ...]]:
    f = FUNCTIONS[function]
    known = {"q": robot.nq, "v": robot.nv, "l": robot.n_links, "10l": 10 * robot.n_links}
    sizes = lambda symbols: tuple(known.get(s) or (0 if s in known else int(s)) for s in symbols)  # noqa: E731
    batch = rng.choice(((), (), (1,), (2,), (3, 2), (0,), (65,)))
    given = [state(rng, sizes(s), batch) for s in f.inputs.values()]
    more = {n: state(rng, sizes(s), batch) for n, s in f.optional.items() if rng.random() < 0.15}
    return given, more, (*batch, *sizes(next(iter(f.outputs.values()))))


def dynamics(rng: Random) -> None:
    """A method of a robot."""
    robot, function = a_robot(rng), rng.choice(list(FUNCTIONS))
    given, more, out = _inputs(rng, robot, function)
    if FUNCTIONS[function].frame:
        given.append(near(rng, rng.choice(robot.frame_names)))
        if "reference" in FUNCTIONS[function].choices and rng.random() < 0.5:
            more["reference"] = near(rng, rng.choice(("world_aligned", "world", "local")))
        if function == "frame_pose" and rng.random() < 0.5:
            frames = near(rng, rng.sample(robot.frame_names, min(2, len(robot.frame_names))))
            robot.frame_poses(given[0], frames, backend="numpy")
            return
    if "external" in FUNCTIONS[function].optional and rng.random() < 0.1:
        more["external"] = {rng.choice((*robot.frame_names, "x")): anything(rng)}
    if rng.random() < 0.3:
        more["out"] = near(rng, numbers(rng, out, rng.choice(("f8", "f8", "f4", None))))
    getattr(robot, function)(*given, **more, **_choices(rng, robot, function))


def kernels(rng: Random) -> None:
    """A kernel: made, called, bound."""
    robot, function = rng.choice(robots()[:2]), rng.choice(list(FUNCTIONS))
    frame = near(rng, robot.frame_names[-1]) if FUNCTIONS[function].frame else None
    dtype = near(rng, rng.choice(("float64", "float64", np.float32)), 0.1)
    kernel = robot.kernel(near(rng, function, 0.05), near(rng, "auto", 0.1), dtype, frame=frame)
    given, more, out = _inputs(rng, robot, kernel.function)
    if rng.random() < 0.4:
        more["out"] = near(rng, numbers(rng, out, kernel.dtype if rng.random() < 0.9 else "f8"))
    if rng.random() < 0.5 or "out" not in more:
        if rng.random() < 0.3:
            more["threads"] = near(rng, 2)
        kernel(*given, **more)
    else:
        fresh = lambda x: isinstance(x, np.ndarray) and x.size < 1000 and rng.random() < 0.8  # noqa: E731
        given = [numbers(rng, x.shape, kernel.dtype) if fresh(x) else x for x in given]
        step = kernel.bind(*given, **more)
        step()
        step()
    repr(kernel)


def configurations(rng: Random) -> None:
    """States and steps between them."""
    robot = a_robot(rng)
    batch = rng.choice(((), (2,), (3, 1)))
    q, dq = state(rng, (robot.nq,), batch), state(rng, (robot.nv,), batch)
    match rng.randrange(6):
        case 4:
            robot.expand(q)
        case 5:
            names = [near(rng, name) for name in robot.frame_names[-2:]]
            given = {name: state(rng, (6,), batch) for name in names if _is_hashable(name)}
            robot.wrenches(near(rng, given))
        case 0:
            robot.random_state(near(rng, batch, 0.5), near(rng, 0, 0.3))
        case 1:
            robot.integrate(q, dq)
        case 2:
            robot.difference(q, state(rng, (robot.nq,), batch))
        case _:
            robot.normalize(q)


def changes(rng: Random) -> None:
    """Changed copies."""
    robot = a_robot(rng)
    match rng.randrange(6):
        case 0:
            robot.replace(
                gravity=near(rng, None, 0.5),
                armature=near(rng, _armature(rng, robot), 0.3),
                name=near(rng, "n", 0.3),
            )
        case 1:
            names = [near(rng, name) for name in robot.joint_names[:3]]
            joints: Any = {name: near(rng, 0.0, 0.3) for name in names if _is_hashable(name)}
            robot.fix(near(rng, joints, 0.1))
        case 2:
            link = near(rng, rng.choice(robot.frame_names))
            com, inertia = near(rng, (0, 0, 1), 0.3), near(rng, None, 0.3)
            robot.with_payload(link, near(rng, 1.0, 0.3), com, inertia)
        case 3:
            px.load(robot.to_urdf())
            str(robot.with_floating_base().to_dh() if rng.random() < 0.3 else robot.to_dh())
        case 4:
            _saved(rng, robot)
        case _:
            other = pickle.loads(pickle.dumps(robot))
            assert other == robot
            assert copy.deepcopy(robot) == robot
            robot.frame(near(rng, robot.frame_names[0], 0.5))


def _armature(rng: Random, robot: px.Robot) -> Any:
    return {name: anything(rng) for name in robot.joint_names[:1]} if rng.random() < 0.3 else None


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _saved(rng: Random, robot: px.Robot) -> None:
    """Save and load; whoever fails to save leaves nothing behind, which the judge looks at."""
    before = set(os.listdir())
    path = near(rng, rng.choice(("robot.json", "robot.urdf", "robot.xml", *WORDS)), 0.2)
    robot.save(path)
    try:
        px.load(path)
    finally:
        for name in set(os.listdir()) - before:
            os.remove(name)
        if path == "../../x":
            os.remove(path)


def builders(rng: Random) -> None:
    """Robots by hand."""
    builder = px.RobotBuilder(near(rng, "robot", 0.05), gravity=near(rng, (0, 0, -9.81), 0.05))
    names = [f"link{i}" for i in range(rng.randrange(1, 5))]
    for name in names:
        mass, com = near(rng, rng.choice((0.0, 1.0, *REAL)), 0.05), near(rng, (0, 0, 0.1), 0.05)
        builder.add_link(near(rng, name, 0.02), mass=mass, com=com, inertia=near(rng, (1, 1, 1), 0.1))
    for i, name in enumerate(names[1:]):
        more: dict[str, Any] = {}
        for key in ("origin", "after", "axis", "axis2", "pitch", "mimic", "lower", "upper", "velocity"):
            if rng.random() < 0.1:
                more[key] = near(rng, rng.choice((*REAL, (0, 0, 1), np.eye(4), ("joint0", 1.0))), 0.4)
        parent = near(rng, rng.choice(names[: i + 1]), 0.03)
        builder.add_joint(f"joint{i}", near(rng, rng.choice(ALL), 0.05), parent, name, **more)
    if rng.random() < 0.2:
        builder.add_frame(near(rng, "tip", 0.2), near(rng, names[-1], 0.2), near(rng, (0, 0, 1), 0.2))
        ends = near(rng, names[0], 0.1), near(rng, names[-1], 0.1)
        builder.add_loop("loop", near(rng, "revolute", 0.3), *ends, successor_pose=near(rng, None, 0.3))
    robot = builder.build(floating_base=near(rng, False, 0.1), mimic=near(rng, "coupled", 0.05))
    robot.mass_matrix(robot.neutral(), backend="numpy")


def dh_rows(rng: Random) -> None:
    """Denavit-Hartenberg tables from Python."""
    table = robot_files.dh(rng)
    for _ in range(rng.randrange(3)):
        tables.damage(table, rng)
    rows = table.pop("rows", table.pop("row", []))
    for key in ("base", "tool"):
        if rng.random() < 0.3:
            table[key] = near(rng, np.eye(4), 0.5)
    known = ("name", "gravity", "base", "tool", "angles")
    more = {k: near(rng, v, 0.1) for k, v in table.items() if k in known}
    px.Robot.from_dh(near(rng, rows, 0.1), near(rng, "standard", 0.2), **more)


def generators(rng: Random) -> None:
    """Random robots."""
    n, seed = near(rng, rng.choice((1, 3, 8)), 0.4), near(rng, 1, 0.3)
    match rng.randrange(5):
        case 0:
            px.chain(n, seed, near(rng, 0.5, 0.3))
        case 1:
            px.tree(n, near(rng, 0.5, 0.3), seed, near(rng, rng.sample(ALL, 3), 0.3))
        case 2:
            px.snake(n)
        case 3:
            px.generators.coil(n)
        case _:
            px.generators.dill(near(rng, 3, 0.5))


def on_jax(rng: Random) -> None:
    """A pure function of JAX arrays; each compiles, so that there are few of these."""
    robot, function = rng.choice(robots()[:2]), rng.choice(("inverse_dynamics", "mass_matrix", "frame_pose"))
    given, more, _ = _inputs(rng, robot, function)
    if FUNCTIONS[function].frame:
        given.append(near(rng, robot.frame_names[-1]))
    given[0] = near(rng, given[0], 0.5)
    more["schedule"] = near(rng, rng.choice(("sequential", "doubling")), 0.3)
    more["algorithm"] = near(rng, "auto", 0.3)
    if rng.random() < 0.3:
        more["parameters"] = near(rng, {rng.choice(("armature", "mass", "x")): anything(rng)}, 0.3)
    getattr(robot.jax, function)(*given, **more)


TARGETS: tuple[tuple[Callable[[Random], None], int], ...] = (
    *((dynamics, 30), (kernels, 12), (configurations, 10), (changes, 12), (builders, 12), (dh_rows, 6)),
    *((generators, 6), (machines, 6), (costs, 4), (others, 6), (command_line, 4)),
)


def jax_call(seed: int) -> None:
    """One call of a function on JAX from a seed."""
    on_jax(Random(f"jax {seed}"))


def call(seed: int) -> None:
    """One call from a seed; what it raises is for the judge."""
    rng = Random(f"call {seed}")
    targets, weights = zip(*TARGETS, strict=True)
    rng.choices(targets, weights)[0](rng)
