# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From what users pass to `robot.simulation` to a simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arrays import float_type
from ..errors import PhalanxError, listing, nearest, shown, warn
from ..robot.robot import Robot
from .arguments import integer_of
from .declared import MOST, declared
from .external_forces import several
from .integrators import INTEGRATORS
from .simulation import Simulation
from .step import Settings

_NUMBER = (int, float, np.floating, np.integer)
_LARGEST = 1e300  # integers beyond it are no floats
_SWITCHES = ("damping", "friction", "limits", "springs")


def simulation(robot: Robot, **given: Any) -> Simulation:
    """The simulation of what users have passed, checked."""
    where = "simulation"
    dt, integrator, control, controls = (given[k] for k in ("dt", "integrator", "control", "controls"))
    if isinstance(dt, (bool, str)) or not isinstance(dt, _NUMBER) or not 0.0 < dt <= _LARGEST:
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
    precision = float_type(given["dtype"], where)
    if controls is None:
        controls = robot.nv if control is None else _controls_of(control, robot)
    forces = several(given["forces"], robot)
    settings = Settings(
        robot=robot,
        dt=float(dt),
        integrator=integrator,
        stiff=INTEGRATORS[integrator].stiff,
        control=control,
        forces=forces,
        **{name: bool(given[name]) for name in _SWITCHES},
        controls=integer_of(controls, f"{where}: controls", 0, MOST),
        divergence=_bound(given["divergence"], f"{where}: divergence"),
        parameters=declared(given["parameters"], robot, control, forces),
    )
    if control is None and settings.controls != robot.nv:
        raise PhalanxError(
            f"{where}: controls={controls}, but without a law controls are the joint forces: {robot.nv} for "
            f'robot "{robot.name}".'
        )
    if count := len(robot.loops):
        joints = "joint that closes" if count == 1 else "joints that close"
        warn(
            f'{where}: robot "{robot.name}" has {count} {joints} loops '
            f"({listing([x.name for x in robot.loops], most=4)}), not enforced: they stay open here. "
            "Add forces between the two sides, as px.contact.spring, or accept it."
        )
    return Simulation(settings, precision, given)


def _bound(value: Any, where: str) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, _NUMBER) or not value > 0.0:
        raise PhalanxError(f"{where}={shown(value)}, expected a positive number, or infinity for none.")
    return math.inf if value > _LARGEST else float(value)


def _controls_of(control: Any, robot: Robot) -> Any:
    """How many controls a law says it takes, as a number or as a function of the robot; else nv."""
    told = getattr(control, "controls", robot.nv)
    return told(robot) if callable(told) else told
