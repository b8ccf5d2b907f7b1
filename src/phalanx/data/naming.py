# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names: of a robot's coordinates, and of the columns that hold them in files of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import PhalanxError, listing
from ..robot.robot import Robot

# What files call the quantities; the last part of a longer name ("observations/qpos") counts too.
ALIASES: dict[str, tuple[str, ...]] = {
    "q": ("q", "qpos", "position", "positions", "joint_position", "joint_positions", "joint_pos",
          "robot0_joint_pos", "observation.state"),
    "qd": ("qd", "qvel", "velocity", "velocities", "joint_velocity", "joint_velocities", "joint_vel",
           "robot0_joint_vel", "observation.velocity"),
    "qdd": ("qdd", "qacc", "acceleration", "accelerations", "joint_acceleration", "joint_accelerations",
            "observation.acceleration"),
    "tau": ("tau", "effort", "efforts", "torque", "torques", "joint_torque", "joint_torques",
            "observation.effort", "observation.torque"),
}  # fmt: skip
TIMES = ("timestamp", "time", "t")
EPISODES = ("episode_index", "episode")
INDICES = (*TIMES, "log_time", "frame_index", *EPISODES, "index", "task_index")  # what tells frames apart
# What recordings append to a joint's name, by the quantity that such an entry is.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "q": (".pos", ".position", ".q", ".qpos"),
    "qd": (".vel", ".velocity", ".qd", ".qvel"),
    "qdd": (".acc", ".acceleration", ".qdd", ".qacc"),
    "tau": (".effort", ".torque", ".tau", ".eff"),
}


def coordinates(robot: Robot) -> list[str]:
    """A name for each coordinate."""
    return _names(robot.q_slices, robot.nq, {3: "x y angle", 4: "qx qy qz qw", 7: "x y z qx qy qz qw"})


def rates(robot: Robot) -> list[str]:
    """A name for each degree of freedom."""
    return _names(robot.v_slices, robot.nv, {6: "wx wy wz vx vy vz"})


def _names(parts: Mapping[str, slice], count: int, several: dict[int, str]) -> list[str]:
    """Names of joints, with those of their axes where there are several."""
    names = [""] * count
    for joint, part in parts.items():
        size = part.stop - part.start
        axes = several.get(size, " ".join(map(str, range(size)))).split() if size > 1 else [""]
        for i, axis in zip(range(part.start, part.stop), axes, strict=True):
            # A coupled joint shares the entry of its driver.
            names[i] = names[i] or f"{joint or 'base'} {axis}".rstrip()
    return names


def split_label(label: str) -> tuple[str, str]:
    """A joint's name without what recordings append to it, and the quantity that this tells; "" for none."""
    for quantity, endings in _ENDINGS.items():
        for ending in endings:
            if label.endswith(ending) and len(label) > len(ending):
                return label.removesuffix(ending), quantity
    return label, ""


def wide_groups(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Columns that are one quantity together: `q_0`, `q_1` or `qd.elbow`; by quantity, then by label."""
    groups: dict[str, dict[str, str]] = {}
    known = {alias for aliases in ALIASES.values() for alias in aliases}
    pattern = re.compile(
        rf"({'|'.join(sorted(map(re.escape, known), key=len, reverse=True))})[._/\[](.+?)\]?"
    )
    for name in names:
        if (match := pattern.fullmatch(name)) is not None and name not in known:
            group = groups.setdefault(match[1], {})
            if match[2] in group:
                raise PhalanxError(
                    f"columns: {listing([group[match[2]], name])} are both {match[1]} of {match[2]}; "
                    f'remove one, or list the columns with columns={{"{match[1]}": […]}}.'
                )
            group[match[2]] = name
    return groups


def candidates(quantity: str, columns: Iterable[str]) -> list[str]:
    """The columns that are called like a quantity: its own name first, else those known for it."""
    columns = list(columns)
    for alias in ALIASES[quantity]:
        if alias in columns:
            return [alias]
    found = [c for c in columns if re.split(r"[/.]", c)[-1] in ALIASES[quantity]]
    # Data sets for learning repeat every observation one frame later; it is read where it is asked for.
    return [c for c in found if not re.split(r"[/.]", c)[0].startswith("next_")] or found


def one_of(found: Sequence[str], quantity: str, where: str) -> str:
    """The only candidate; several are not decided by guessing."""
    if len(found) > 1:
        raise PhalanxError(
            f"{where}: {quantity} could be any of {listing(found)}; say which with "
            f'columns={{"{quantity}": "{found[0]}"}} (--columns {quantity}={found[0]}).'
        )
    return found[0]
