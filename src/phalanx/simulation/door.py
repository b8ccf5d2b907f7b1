# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From what users pass to `robot.simulation` to a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..robot.robot import Robot
from .arguments import whole_number
from .integrators import INTEGRATORS
from .simulation import Simulation
from .step import Settings
from .surroundings import several

_SWITCHES = ("damping", "friction", "limits", "springs")
_PRECISIONS: dict[str, np.dtype[Any]] = {"float64": np.dtype(np.float64), "float32": np.dtype(np.float32)}


def simulation(robot: Robot, **given: Any) -> Simulation:
    """The simulation of what users have passed, checked."""
    where = "simulation"
    dt, integrator, control, inputs = (given[k] for k in ("dt", "integrator", "control", "inputs"))
    if isinstance(dt, (bool, str)) or not isinstance(dt, (int, float, np.number)) or not 0.0 < dt < math.inf:
        raise PhalanxError(f"{where}: dt={shown(dt)}, expected a positive number of seconds.")
    if not isinstance(integrator, str) or integrator not in INTEGRATORS:
        raise PhalanxError(
            f"{where}: unknown integrator {shown(integrator)};"
            f"{nearest(integrator, INTEGRATORS, what='integrators')}"
        )
    if not robot.nv:
        raise PhalanxError(
            f'{where}: robot "{robot.name}" has no degree of freedom (nv = 0), so that nothing moves; '
            "robot.with_floating_base() frees its base."
        )
    for name in _SWITCHES:
        if not isinstance(given[name], (bool, np.bool_)):
            raise PhalanxError(f"{where}: {name}={shown(given[name])}, expected True or False.")
    if control is not None and not callable(control):
        raise PhalanxError(
            f"{where}: control is {shown(control)}, expected a function law(t, q, qd, u, robot) or None."
        )
    try:
        precision = _PRECISIONS[np.dtype(given["dtype"]).name]
    except (TypeError, KeyError):
        raise PhalanxError(
            f'{where}: dtype={shown(given["dtype"])}, expected "float64" or "float32".'
        ) from None
    if inputs is None:
        inputs = robot.nv if control is None else _inputs_of(control, robot)
    settings = Settings(
        robot=robot,
        dt=float(dt),
        integrator=integrator,
        control=control,
        forces=several(given["forces"], robot),
        **{name: bool(given[name]) for name in _SWITCHES},
        inputs=whole_number(inputs, f"{where}: inputs", 0),
        parameters=_sizes(_own_of(control, robot), robot) | _sizes(given["parameters"], robot),
    )
    if control is None and settings.inputs != robot.nv:
        raise PhalanxError(
            f"{where}: inputs={inputs}, but without a law inputs are the joint forces: {robot.nv} for robot "
            f'"{robot.name}".'
        )
    return Simulation(settings, precision, given)


def _inputs_of(control: Any, robot: Robot) -> int:
    """How many inputs a law says it takes, as a number or as a function of the robot; else nv."""
    told = getattr(control, "inputs", robot.nv)
    return int(told(robot) if callable(told) else told)


def _own_of(control: Any, robot: Robot) -> Any:
    """The parameters that a law of px.control takes of its own accord, with their sizes."""
    told = getattr(control, "parameters", None)
    return told(robot) if callable(told) else None


def _sizes(parameters: Any, robot: Robot) -> dict[str, tuple[int, ...]]:
    """The shapes of parameters by name."""
    if parameters is None:
        return {}
    own = {"gravity": (3,), "inertias": (robot.n_links, 10), "damping": (robot.nv,), "friction": (robot.nv,)}
    if not isinstance(parameters, Mapping):
        try:
            parameters = {name: own[name] for name in parameters}
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
                f"simulation: parameter {name!r} has size {shown(size)}, expected whole numbers."
            )
        if name in own and shape != own[name]:
            raise PhalanxError(
                f"simulation: parameter {name!r} has size {shown(size)}, expected {own[name]} for robot "
                f'"{robot.name}".'
            )
        made[name] = tuple(int(n) for n in shape)
    return made
