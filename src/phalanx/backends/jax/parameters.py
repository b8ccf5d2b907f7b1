# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A robot's inertial parameters as a pytree, and the model with these parameters.

The parameters are those in which inverse dynamics is linear: masses, first moments and moments of
inertia of the links about the origins of their own frames, as in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...arrays import UNREADABLE, is_endless, refuse_masks
from ...errors import PhalanxError, is_one_of, nearest, shown
from ...robot.model import Model
from ...robot.robot import Robot
from ...spatial import Inertia, Transform, matvec, pack, transpose, unpack
from .arrays import JaxArray, array

_SHAPES = {"mass": "l", "first_moment": "l3", "inertia": "l33", "armature": "v", "gravity": "3"}


def parameters_of(robot: Robot) -> dict[str, np.ndarray]:
    """The robot's parameters by name."""
    model = robot.model
    X = model.link_frame
    back = Transform(transpose(X.E), -matvec(X.E, X.r))
    G = back.T @ model.inertia[model.links]
    return {
        "mass": G.m.copy(),
        "first_moment": G.h,
        "inertia": unpack(G.moment),
        "armature": model.armature.copy(),
        "gravity": model.gravity.copy(),
    }


def with_parameters(model: Model, given: Mapping[str, Any], constants: Mapping[str, Any]) -> Model:
    """The model with the given parameters; those not given are the robot's own (`constants`)."""
    known = {name: array(value, model.axis.dtype) for name, value in {**constants, **given}.items()}
    moment = known["inertia"].value
    packed = JaxArray(pack(moment))
    G = model.link_frame.T @ Inertia(known["mass"], known["first_moment"], packed)
    index = np.full(model.n, len(model.links))
    index[model.links] = np.arange(len(model.links))

    def on_bodies(x: Any, rank: int) -> JaxArray:
        # Bodies inside a joint have no inertia: zero.
        widths = [(0, 0)] * (x.ndim - rank - 1) + [(0, 1)] + [(0, 0)] * rank
        return JaxArray(jnp.pad(x.value, widths))[(..., index, *(slice(None),) * rank)]

    return replace(
        model,
        inertia=G.map(on_bodies),
        armature=known["armature"],
        gravity=known["gravity"],
        dh_of=None,
        shift_of=lambda: model.inertia_shift,
    )


def check_parameters(robot: Robot, given: Any, where: str) -> dict[str, Any]:
    """The parameters as JAX arrays; raises an error that names a wrong one."""
    if not isinstance(given, Mapping):
        raise PhalanxError(
            f"{where}: parameters is {type(given).__name__}, expected a mapping "
            "such as robot.jax.parameters()."
        )
    sizes = {"l": robot.n_links, "v": robot.nv, "3": 3}
    arrays = {}
    for name, value in given.items():
        if not is_one_of(name, _SHAPES):
            raise PhalanxError(
                f"{where}: unknown parameter {shown(name)};{nearest(name, _SHAPES, what='parameters')}"
            )
        expected = tuple(sizes[s] for s in _SHAPES[name])
        refuse_masks(value, f"{where}: parameter {name}")
        try:
            if is_endless(value):
                raise TypeError
            arrays[name] = jnp.asarray(value)
        except UNREADABLE:
            raise PhalanxError(
                f"{where}: parameter {name} is {shown(value)}, expected real numbers of shape {expected}."
            ) from None
        if arrays[name].shape != expected:
            raise PhalanxError(
                f"{where}: parameter {name} has shape {arrays[name].shape}, expected {expected} "
                f'for robot "{robot.name}"; use jax.vmap for several robots at once.'
            )
    return arrays
