# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names of a robot's coordinates, and of the columns and entries of files that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import PhalanxError, listing, shown
from ..robot.robot import Robot

# Names of the quantities in files; the last part of a longer name ("observations/qpos") counts too.
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
INDICES = (*TIMES, "log_time", "frame_index", *EPISODES, "index", "task_index")  # what identifies a frame
# Suffixes of joint names in recordings, by the quantity of such an entry.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "q": (".pos", ".position", ".q", ".qpos"),
    "qd": (".vel", ".velocity", ".qd", ".qvel"),
    "qdd": (".acc", ".acceleration", ".qdd", ".qacc"),
    "tau": (".effort", ".torque", ".tau", ".eff"),
}


def coordinates(robot: Robot) -> list[str]:
    """The name of each coordinate of a robot."""
    return _names(robot.q_slices, robot.nq, {3: "x y angle", 4: "qx qy qz qw", 7: "x y z qx qy qz qw"})


def rates(robot: Robot) -> list[str]:
    """The name of each degree of freedom of a robot."""
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
    """A label without its suffix, and the quantity of the suffix; "" for none."""
    for quantity, endings in _ENDINGS.items():
        for ending in endings:
            if label.endswith(ending) and len(label) > len(ending):
                return label.removesuffix(ending), quantity
    return label, ""


def wide_groups(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Columns that together form a quantity: `q_0`, `q_1` or `qd.elbow`; by quantity, then by label."""
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
    """The columns named like a quantity: by its own name, else by names known for it."""
    columns = list(columns)
    for alias in ALIASES[quantity]:
        if alias in columns:
            return [alias]
    found = [c for c in columns if re.split(r"[/.]", c)[-1] in ALIASES[quantity]]
    # Data sets for learning repeat every observation one frame later; it is read only if named.
    return [c for c in found if not re.split(r"[/.]", c)[0].startswith("next_")] or found


def one_of(found: Sequence[str], quantity: str, where: str) -> str:
    """The only candidate; raises if there are several."""
    if len(found) > 1:
        raise PhalanxError(
            f"{where}: {quantity} could be any of {listing(found)}; say which with "
            f'columns={{"{quantity}": "{found[0]}"}} (--columns {quantity}={found[0]}).'
        )
    return found[0]


# ------------------------------------------------------------------------ entries of a column


ROBOT = "robot"  # joints="robot": entries are in the robot's own order
NONE = "-"  # an entry that is no joint of the robot, a quantity that is not recorded


class JointNames:
    """The user's mapping of joints, and the matching of entries to coordinates with it."""

    def __init__(self, robot: Robot, given: Any, where: str) -> None:
        self.robot, self.where = robot, where
        self.renamed: dict[str, str] = {}  # names in the file: joints
        self.listed: list[str] | None = None  # a joint for each entry
        self.in_order = isinstance(given, str) and given == ROBOT
        self._used: set[str] = set()
        if isinstance(given, Mapping):
            if not all(isinstance(k, str) and (v is None or isinstance(v, str)) for k, v in given.items()):
                raise PhalanxError(
                    f"{where}: joints= holds {shown(given)}, expected names of entries and joints."
                )
            self.renamed = {k: NONE if v is None else v for k, v in given.items()}
        elif given is not None and not self.in_order:
            if not isinstance(given, list | tuple):
                raise PhalanxError(
                    f"{where}: joints= is {shown(given)}, expected a list with a joint for each entry, a "
                    f'mapping from names in the file to joints, or "{ROBOT}".'
                )
            if any(j is not None and not isinstance(j, str) for j in given):
                raise PhalanxError(f"{where}: joints= holds {shown(given)}, expected names of joints.")
            self.listed = [j or NONE for j in given]

    def picks(
        self, quantity: str, count: int, labels: Sequence[str], *, own: bool, ordered: bool
    ) -> tuple[int, ...]:
        """Which entry of the file each coordinate is.

        Endings of labels select entries: those of another quantity are left out, those without one count if
        the column is the quantity's `own`. `ordered`: entries without names are in the robot's order.
        """
        wanted = coordinates(self.robot) if quantity == "q" else rates(self.robot)
        mine = [k for k in range(count) if not labels or self._is_of(labels[k], quantity, wanted, own)]
        if self.listed is not None:
            at = self._listed(quantity, count, labels, wanted, mine)
        elif self.renamed and not labels:
            raise PhalanxError(
                f"{self.where}: joints= maps names, but the entries of {quantity} have none; "
                "list the joints in the order of the entries instead."
            )
        elif labels and not self.in_order:
            at = self._by_name(quantity, labels, wanted, mine)
        elif self.in_order or ordered:
            return self._in_order(quantity, labels, wanted, mine)
        else:
            raise PhalanxError(
                f"{self.where}: the {count} entries of {quantity} have no names; say which joints they are, "
                f'in order, with joints=[…] (--joints a,b,…), or joints="{ROBOT}" for the order of '
                f"{self._of_robot}: {listing(wanted, most=40)}."
            )
        missing = [name for name in wanted if name not in at]
        if missing:
            alone = f"; without {quantity} go on with --columns {quantity}={NONE}" if quantity != "q" else ""
            raise PhalanxError(
                f"{self.where}: {quantity} has no entry for {listing(missing)} of {self._of_robot}; it has "
                f"{listing(labels or map(str, range(count)), most=40)}. Map names with "
                f'joints={{"file": "robot"}}, or weld joints that were not recorded with robot.fix{alone}.'
            )
        return tuple(at[name] for name in wanted)

    def require_used(self) -> None:
        """Raise for names that were mapped and that no entry has."""
        unused = [name for name in self.renamed if name not in self._used]
        if unused:
            raise PhalanxError(f"{self.where}: joints= maps {listing(unused)}, which no entry is called.")

    @property
    def _of_robot(self) -> str:
        return f'robot "{self.robot.name}"'

    def _require_known(self, unknown: Sequence[str], known: Sequence[str]) -> None:
        if unknown:
            raise PhalanxError(
                f"{self.where}: joints= names {listing(unknown)}; {self._of_robot} has "
                f"{listing(known, most=40)}."
            )

    @staticmethod
    def _is_of(label: str, quantity: str, wanted: Sequence[str], own: bool) -> bool:
        """Whether an entry is one of a quantity, by its ending."""
        ending = "" if label in wanted else split_label(label)[1]
        return ending == quantity if ending else own

    def _named(self, label: str, wanted: Sequence[str]) -> str | None:
        """The coordinate that a label names; None if it names none."""
        plain = split_label(label)[0]
        for name in (label, plain):
            if name in self.renamed:
                self._used.add(name)
                return self.renamed[name] if self.renamed[name] in wanted else None
        return next((name for name in (label, plain) if name in wanted), None)

    def _by_name(
        self, quantity: str, labels: Sequence[str], wanted: Sequence[str], mine: Sequence[int]
    ) -> dict[str, int]:
        known = list(dict.fromkeys((*coordinates(self.robot), *rates(self.robot))))
        self._require_known([v for v in self.renamed.values() if v not in (*known, NONE)], known)
        at: dict[str, int] = {}
        for k in mine:
            name = self._named(labels[k], wanted)
            if name is not None:
                self._put(at, quantity, name, k, labels)
        return at

    def _put(self, at: dict[str, int], quantity: str, name: str, k: int, labels: Sequence[str]) -> None:
        if name in at:
            entries = [labels[i] if labels else str(i) for i in (at[name], k)]
            raise PhalanxError(
                f'{self.where}: the entries {listing(entries)} are both {quantity} of "{name}"; leave one '
                f'out with joints={{"{entries[1]}": "{NONE}"}}, or "{NONE}" in a list of joints.'
            )
        at[name] = k

    def _listed(
        self, quantity: str, count: int, labels: Sequence[str], wanted: Sequence[str], mine: Sequence[int]
    ) -> dict[str, int]:
        given = self.listed or []
        if len(given) != count:
            raise PhalanxError(
                f"{self.where}: joints= names {len(given)} joints, but {quantity} has {count} entries a "
                f'frame; name one for each, "{NONE}" for those that are none of the robot.'
            )
        self._require_known([j for j in given if j not in (*wanted, NONE)], wanted)
        at: dict[str, int] = {}
        for k in mine:
            if given[k] != NONE:
                self._require_agreement(quantity, given[k], k, labels, wanted)
                self._put(at, quantity, given[k], k, labels)
        return at

    def _in_order(
        self, quantity: str, labels: Sequence[str], wanted: Sequence[str], mine: Sequence[int]
    ) -> tuple[int, ...]:
        if len(mine) != len(wanted):
            raise PhalanxError(
                f"{self.where}: {quantity} has {len(mine)} entries a frame, expected {len(wanted)} for "
                f'{self._of_robot}; name the joint of each with joints= (--joints), "{NONE}" for those that '
                "are none of the robot."
            )
        for name, k in zip(wanted, mine, strict=True):
            self._require_agreement(quantity, name, k, labels, wanted)
        return tuple(mine)

    def _require_agreement(
        self, quantity: str, name: str, k: int, labels: Sequence[str], wanted: Sequence[str]
    ) -> None:
        """Raise if the file names an entry after another joint."""
        label = self._named(labels[k], wanted) if labels else None
        if label is not None and label != name:
            raise PhalanxError(
                f'{self.where}: joints= takes entry {k} of {quantity} for "{name}", but the file calls it '
                f'"{labels[k]}"; leave joints= out to go by the names, or correct them: '
                f'joints={{"{labels[k]}": "{name}", …}}.'
            )
