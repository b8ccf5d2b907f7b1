# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics of tensors of PyTorch and arrays of JAX, with derivatives by the targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import PhalanxError, shown
from ..robot.robot import Robot
from .implicit_derivatives import corrected, function_of, sizes
from .solve import WHERE, Solutions, inverse_kinematics, read
from .target import FrameTarget

_NOT = ("rest", "cost", "all", "collisions")  # options whose solutions the theorem says nothing about


def _values(targets: Any) -> list[Any]:
    """The arrays of targets, in their order."""
    if not isinstance(targets, Mapping) or not targets:
        raise PhalanxError(
            f'{WHERE}: targets are {shown(targets)}, expected a dict such as {{"hand": pose}}.'
        )
    return [x.value if isinstance(x, FrameTarget) else x for value in targets.values() for x in _each(value)]


def _each(value: Any) -> list[Any]:
    several = isinstance(value, (list, tuple)) and all(isinstance(x, FrameTarget) for x in value)
    return list(value) if several else [value]


def _with(targets: Mapping[str, Any], values: list[Any]) -> dict[str, Any]:
    """The same targets with other arrays."""
    left = iter(values)

    def one(x: Any) -> Any:
        return replace(x, value=next(left)) if isinstance(x, FrameTarget) else next(left)

    return {
        name: one(value) if len(_each(value)) == 1 and _each(value)[0] is value else [one(x) for x in value]
        for name, value in targets.items()
    }


def _checked(options: Mapping[str, Any]) -> None:
    for name in _NOT:
        if name in options:
            raise PhalanxError(
                f"{WHERE}: {name} has no derivative; use robot.inverse_kinematics for the solution."
            )


def _problem(robot: Robot, targets: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    known = {name: options[name] for name in ("limits", "position_only") if name in options}
    if known.get("position_only"):
        raise PhalanxError(f"{WHERE}: pass positions (…, 3) in place of position_only.")
    if options.get("weights") is not None:
        raise PhalanxError(
            f"{WHERE}: weights do not change what is solved; leave them out, or pass positions."
        )
    return read(robot, targets, **known).problem


def in_torch(robot: Robot, targets: Any, q0: Any, options: dict[str, Any]) -> Solutions:
    """`robot.torch.inverse_kinematics`: `s.q` has gradients with respect to the numbers of the targets."""
    torch: Any = import_module("torch")
    own: Any = import_module("phalanx.backends.torch.own_functions")
    _checked(options)
    given = _values(targets)
    for value in given:
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
            raise PhalanxError(f"{WHERE}: a target is {shown(value)}, expected a tensor on the CPU.")
    plain = _with(targets, [x.detach().resolve_neg().numpy() for x in given])
    problem = _problem(robot, plain, options)
    start = q0.detach().numpy() if isinstance(q0, torch.Tensor) else q0
    s = inverse_kinematics(robot, plain, start, **options)
    q = torch.from_numpy(np.ascontiguousarray(s.q))
    converged = torch.from_numpy(np.asarray(s.converged))
    if any(x.requires_grad for x in given):
        batch = q.shape[:-1]
        flat = [
            x.to(q.dtype).reshape(*x.shape[: x.ndim - n], -1).expand(*batch, -1)
            for x, n in zip(given, sizes(problem), strict=True)
        ]
        moved = own.in_torch(function_of(problem, "corrected", corrected))(q, torch.cat(flat, dim=-1))
        q = q + torch.where(converged[..., None], moved - moved.detach(), torch.zeros((), dtype=q.dtype))
    error, count = (torch.from_numpy(np.asarray(x)) for x in (s.error, s.iterations))
    return Solutions(q, converged, error, count)


def in_jax(robot: Robot, targets: Any, q0: Any, options: dict[str, Any]) -> Solutions:
    """`robot.jax.inverse_kinematics`: safe under `jit`, `vmap`, `grad` and `jvp`, by the compiled solver."""
    jax: Any = import_module("jax")
    jnp: Any = import_module("jax.numpy")
    own: Any = import_module("phalanx.backends.jax.own_functions")
    _checked(options)
    given = [jnp.asarray(x) for x in _values(targets)]
    # Only shapes count here: under `jit` there are no numbers yet.
    shaped = _with(targets, [np.zeros(x.shape, x.dtype) for x in given])
    problem = _problem(robot, shaped, options)
    axes = sizes(problem)
    start = None if q0 is None else jnp.asarray(q0)
    batches = [x.shape[: x.ndim - n] for x, n in zip(given, axes, strict=True)]
    batch = jnp.broadcast_shapes(*batches, *([start.shape[:-1]] if start is not None else []))
    dtype = jnp.result_type(*given)
    rows = problem.rows

    def host(*arrays: Any) -> Any:
        numbers = [np.asarray(x) for x in arrays]
        first = None if start is None else numbers.pop()
        s = inverse_kinematics(robot, _with(targets, numbers), first, **options)
        return (
            np.asarray(s.q, dtype), np.asarray(s.converged), np.asarray(s.error, dtype),
            np.asarray(s.iterations, np.int32),
        )  # fmt: skip

    def wanted(batch: tuple[int, ...]) -> Any:
        shapes = [((robot.nq,), dtype), ((), bool), ((rows,), dtype), ((), jnp.int32)]
        return tuple(jax.ShapeDtypeStruct((*batch, *shape), kind) for shape, kind in shapes)

    flat = [
        jnp.broadcast_to(x.astype(dtype), (*batch, *x.shape[x.ndim - n :]))
        for x, n in zip(given, axes, strict=True)
    ]
    arrays = [*flat, *([] if start is None else [jnp.broadcast_to(start.astype(dtype), (*batch, robot.nq))])]
    stopped = [jax.lax.stop_gradient(x) for x in arrays]
    q, converged, error, count = jax.pure_callback(host, wanted(batch), *stopped, vmap_method="expand_dims")
    joined = jnp.concatenate([x.reshape(*batch, -1) for x in flat], axis=-1)
    q = jax.lax.stop_gradient(q)
    moved = own.in_jax(function_of(problem, "corrected", corrected))(q, joined)
    difference = jnp.where(converged[..., None], moved - jax.lax.stop_gradient(moved), 0.0)
    return Solutions(q + difference, converged, error, count)
