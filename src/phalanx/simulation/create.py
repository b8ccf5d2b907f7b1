# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From what users pass to `robot.simulation` to a simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ..arrays import float_type
from ..errors import PhalanxError, listing, nearest, shown, warn
from ..robot.constraint import not_enforced
from ..robot.robot import Robot
from .arguments import integer_of
from .enforced import held
from .external_forces import Surroundings, several
from .integrators import INTEGRATORS
from .laws import read_by
from .rigid import RigidContact
from .simulation import Simulation
from .step import Settings
from .stepping import LONG

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
        is_own = isinstance(reader, (Surroundings, RigidContact))
        names = reader.reads() if is_own else read_by(reader)
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
        hint = f" {_INSTEAD[name]}."
    else:
        hint = nearest(name, [*OWN, *sorted(known - {*OWN})], what="read are")
    raise PhalanxError(
        f'simulation: nothing reads the parameter {shown(name)} of robot "{robot.name}", neither the robot '
        f"nor a keyword of the law or of forces;{hint}"
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


_NUMBER = (int, float, np.floating, np.integer)
_LARGEST = 1e300  # integers beyond it are no floats
_SWITCHES = ("damping", "friction", "limits", "springs", "constraints")
_RIGID = ("friction", "limits")  # which steps may hold as contacts are


def simulation(robot: Robot, **given: Any) -> Simulation:
    """A `Simulation` from the arguments of `robot.simulation`, which are checked."""
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
        if not isinstance(given[name], (bool, np.bool_)) and not (name in _RIGID and given[name] == "rigid"):
            more = ' or "rigid"' if name in _RIGID else ""
            raise PhalanxError(f"{where}: {name}={shown(given[name])}, expected True or False{more}.")
    if control is not None and not callable(control):
        raise PhalanxError(
            f"{where}: control is {shown(control)}, expected a function law(t, q, qd, u, robot) or None."
        )
    precision = float_type(given["dtype"], where)
    if controls is None:
        controls = robot.nv if control is None else _controls_of(control, robot)
    forces = () if given["forces"] is None else several(given["forces"], robot)
    has_loops = bool(robot.loops or robot.description.constraints)
    settings = Settings(
        robot=robot,
        dt=float(dt),
        integrator=integrator,
        stiff=INTEGRATORS[integrator].stiff,
        control=control,
        forces=tuple(f for f in forces if not isinstance(f, RigidContact)),
        **{name: bool(given[name]) for name in _SWITCHES if name != "constraints"},
        constraints=bool(given["constraints"] and has_loops and robot.constraints),
        contacts=tuple(f for f in forces if isinstance(f, RigidContact)),
        rigid_limits=given["limits"] == "rigid",
        rigid_friction=given["friction"] == "rigid",
        is_single=precision == np.float32,
        controls=integer_of(controls, f"{where}: controls", 0, MOST),
        divergence=_bound(given["divergence"], f"{where}: divergence"),
        parameters=declared(given["parameters"], robot, control, forces),
    )
    if control is None and settings.controls != robot.nv:
        raise PhalanxError(
            f"{where}: controls={controls}, but without a law controls are the joint forces: {robot.nv} for "
            f'robot "{robot.name}".'
        )
    if settings.is_held:
        _require_held(settings, where)
    left = not_enforced(robot.description) if has_loops else []
    if has_loops and not settings.constraints:
        left = [*left, *(c.name for c in robot.constraints)]
    if count := len(left):
        joints = "loop or other constraint" if count == 1 else "loops and other constraints"
        warn(
            f'{where}: robot "{robot.name}" has {count} {joints} '
            f"({listing(left, most=4)}), not enforced: they stay open here."
        )
    return Simulation(settings, precision, given)


def _require_held(s: Settings, where: str) -> None:
    """Raise if steps cannot hold what the settings ask for."""
    found = held(s)
    if found is None:
        return
    integrator, robot = INTEGRATORS[s.integrator], s.robot
    bodies = robot.model.n * integrator.evaluations
    if bodies > LONG:
        raise PhalanxError(
            f'{where}: robot "{robot.name}" has {robot.model.n} bodies; beyond '
            f"{LONG // integrator.evaluations} steps hold neither constraints nor rigid contacts; pass "
            "constraints=False, compliant contacts, "
            "and limits and friction that are True or False."
        )
    wanted = {"loops": found.loops, "contacts": found.layout.rows}
    for what, count in wanted.items():
        if count and what not in integrator.holds:
            others = [name for name, other in INTEGRATORS.items() if what in other.holds]
            what = "rigid contacts, limits or friction" if what == "contacts" else what
            remedy = "constraints=False" if what == "loops" else "px.contact.ground and no rigid ones"
            raise PhalanxError(
                f'{where}: integrator "{s.integrator}" holds no {what} of robot "{robot.name}"; take '
                f"{listing(others)}, or {remedy}."
            )


def _bound(value: Any, where: str) -> float:
    if isinstance(value, (bool, str)) or not isinstance(value, _NUMBER) or not value > 0.0:
        raise PhalanxError(f"{where}={shown(value)}, expected a positive number, or infinity for none.")
    return math.inf if value > _LARGEST else float(value)


def _controls_of(control: Any, robot: Robot) -> Any:
    """How many controls a law says it takes, as a number or as a function of the robot; else nv."""
    count = getattr(control, "controls", robot.nv)
    return count(robot) if callable(count) else count
