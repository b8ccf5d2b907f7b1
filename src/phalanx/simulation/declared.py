# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parameters that a simulation declares: their sizes, and that something reads each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..robot.robot import Robot
from .external_forces import Surroundings
from .laws import read_by

MOST = 50_000  # numbers that a step reads beside the state: each is a load of compiled code
_LINKS, _JOINTS = "link", "joint"
# What replaces numbers of the robot, with the axes of each.
_OWN: dict[str, tuple[Any, ...]] = {
    "gravity": (3,),
    "inertias": (_LINKS, 10),
    "armature": (_JOINTS,),
    "damping": (_JOINTS,),
    "friction": (_JOINTS,),
    "stiffness": (_JOINTS,),
    "effort": (_JOINTS,),
}
OWN = tuple(_OWN)
# Names that users try, and what serves them.
_INSTEAD = dict.fromkeys(
    ("mass", "masses", "inertia"),
    'declare "inertias" and pass robot.inertial_parameters.reshape(-1, 10) times a factor for each link, '
    "which scales mass and moments together",
)


def declared(
    parameters: Any, robot: Robot, control: Any, forces: Sequence[Any]
) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters by name, those of the law first; each is read, or there is an error."""
    of_law = getattr(control, "parameters", None)
    own = _sizes(of_law(robot), robot) if callable(of_law) else {}
    made = own | _sizes(parameters, robot)
    known = {*OWN, *own}
    # A law that says what it reads, as those of px.control, takes all names and ignores the others.
    readers = [*([] if control is None or callable(of_law) else [control]), *forces]
    for reader in readers:
        names = reader.reads() if isinstance(reader, Surroundings) else read_by(reader)
        known |= made.keys() if names is None else names
    for name in made:
        if name not in known:
            _refuse(name, robot, known)
    if (total := sum(map(math.prod, made.values()))) > MOST:
        raise PhalanxError(
            f"simulation: parameters have {shown(total)} numbers for each simulation, expected at most "
            f"{MOST} in all."
        )
    return made


def _refuse(name: str, robot: Robot, known: set[str]) -> None:
    if name in _INSTEAD:
        told = f" {_INSTEAD[name]}."
    else:
        told = nearest(name, [*OWN, *sorted(known - {*OWN})], what="read are")
    raise PhalanxError(
        f'simulation: nothing reads the parameter {shown(name)} of robot "{robot.name}", neither the robot '
        f"nor a keyword of the law or of forces;{told}"
    )


def _sizes(parameters: Any, robot: Robot) -> dict[str, tuple[int, ...]]:
    """The shapes of parameters by name."""
    if parameters is None:
        return {}
    counts = {_LINKS: robot.n_links, _JOINTS: robot.nv}
    own = {name: tuple(counts.get(n, n) for n in axes) for name, axes in _OWN.items()}
    if isinstance(parameters, str):
        parameters = (parameters,)
    if not isinstance(parameters, Mapping):
        try:
            names = list(islice(parameters, MOST))  # of arrays without end, as many as could be
            if unknown := [name for name in names if isinstance(name, str) and name not in own]:
                _refuse(unknown[0], robot, set())
            parameters = {name: own[name] for name in names}
        except (TypeError, KeyError):
            raise PhalanxError(
                f"simulation: parameters={shown(parameters)}, expected a mapping of names to sizes, or some "
                f"of {', '.join(own)}."
            ) from None
    made = {}
    for name, size in parameters.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise PhalanxError(f"simulation: the parameter {shown(name)} has no name that a law could take.")
        shape = size if isinstance(size, tuple) else (size,)
        if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in shape):
            raise PhalanxError(
                f"simulation: parameter {name!r} has size {shown(size)}, expected integers from 1 on."
            )
        if name in own and shape != own[name]:
            raise PhalanxError(
                f"simulation: parameter {name!r} has size {shown(size)}, expected {own[name]}: it replaces "
                f'that of robot "{robot.name}"; a parameter of your own needs another name.'
            )
        made[name] = tuple(int(n) for n in shape)
    return made
