# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The methods of `Robot` for constraints: arguments to a compiled function, and its call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing, nearest, shown
from ..robot.assembly import BASE
from ..robot.constrained import CONSTRAINED
from ..robot.robot import Robot
from ..tracing.function import OwnFunction
from .compiled import Specification, compiled, contacts_of, in_order
from .looped import is_looped


def call(robot: Robot, name: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A function of `CONSTRAINED` for arrays of any batch shape."""
    out, threads = options.pop("out", None), options.pop("threads", None)
    named = {n: options.pop(n, None) for n in CONSTRAINED[name][1]}
    given = {n: x for n, x in named.items() if x is not None and not (n in _SCALAR and _is_zero(x))}
    if isinstance(given.get("external"), Mapping):
        given["external"] = robot.wrenches(given["external"])
    for n in _SCALAR & given.keys():
        if isinstance(given[n], (int, float)) and getattr(inputs[0], "dtype", None) == np.float32:
            given[n] = np.float32(given[n])
    f = function_of(robot, name, options, tuple(given))
    return f(*inputs, **given, out=out, threads=threads)


_SCALAR = {"damping", "restitution"}


def _is_zero(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and x == 0


def function_of(
    robot: Robot, name: str, options: Mapping[str, Any], optional: tuple[str, ...]
) -> OwnFunction:
    """The compiled function for some contacts and optional inputs."""
    contacts, actuated = options.get("contacts", ()), options.get("actuated")
    algorithm = options.get("algorithm", "auto")
    key: Any = ("constrained", name, contacts, actuated, algorithm, optional)
    try:
        found = robot._memo.get(key)
    except TypeError:  # lists
        key, found = None, None
    if found is not None:
        made: OwnFunction = found
        return made
    constraints = in_order((*robot.constraints, *contacts_of(robot, contacts, name)))
    chosen = None
    if name == "constrained_inverse_dynamics":
        chosen = joints_of(robot, actuated, f"{name}: actuated")
    spec = Specification(name, constraints, optional, chosen)
    if name == "constrained_dynamics" and is_looped(robot, constraints, algorithm):
        spec = replace(spec, algorithm="articulated")
    made = compiled(robot, spec)
    if key is not None:
        robot._memo[key] = made
    return made


def joints_of(robot: Robot, names: Any, where: str) -> tuple[str, ...]:
    """Names of joints, checked; None is all but a floating base."""
    if names is None:
        return tuple(robot.joint_names)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise PhalanxError(f'{where} is {shown(names)}, expected several joints such as ("hip", "knee").')
    made = tuple(names)
    for name in made:
        if not isinstance(name, str) or name not in robot.v_slices or name == BASE:
            raise PhalanxError(
                f'{where}: robot "{robot.name}" has no joint {shown(name)};'
                f"{nearest(name, robot.joint_names, what='joints')}"
            )
    return made


# Options of single functions.
_MORE = {"constrained_inverse_dynamics": ("actuated",), "constrained_dynamics": ("algorithm",)}


def function(robot: Robot, name: str, options: Mapping[str, Any]) -> OwnFunction:
    """`robot.function(name, contacts=…, optional=(…))`: the compiled function itself."""
    known = ("contacts", "optional", *_MORE.get(name, ()))
    for option in options:
        if option not in known:
            raise PhalanxError(f"{name}: got {option!r};{nearest(option, known, what='options')}")
    optional = options.get("optional", ())
    optional = (optional,) if isinstance(optional, str) else tuple(optional)
    for each in optional:
        if each not in CONSTRAINED[name][1]:
            raise PhalanxError(
                f"{name}: optional has {shown(each)}; it takes {listing(CONSTRAINED[name][1]) or 'none'}."
            )
    return function_of(robot, name, options, tuple(n for n in CONSTRAINED[name][1] if n in optional))


def rank(robot: Robot, q: Any, contacts: Any) -> Any:
    """`Robot.constraint_rank`: independent rows, at unit length each."""
    rows = call(robot, "constraint_jacobian", (q,), {"contacts": contacts})
    size = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit = np.divide(rows, size, out=np.zeros_like(rows), where=size > 0)
    bad = ~np.isfinite(unit).all(axis=(-1, -2))
    values = np.linalg.svd(np.where(bad[..., None, None], 0.0, unit), compute_uv=False)
    return (values > 1e-7).sum(axis=-1)
