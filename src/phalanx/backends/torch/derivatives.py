# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A function of a robot and its derivatives on NumPy arrays, with respect to coordinates and all inputs.

The library's derivatives are along rates, in the tangent space of q; PyTorch's are with respect to the nq
coordinates of q. They are the same but for quaternions. No result depends on the length of a quaternion,
so derivatives along it are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...algorithms import FUNCTIONS
from ...errors import PhalanxError
from ...robot.robot import Robot

Arrays = tuple[np.ndarray, ...]

# How joint forces follow from inertial parameters: the inputs of `regressor`, by name or at rest.
_BY_REGRESSOR = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "bias_forces": ("q", "qd", None),
    "gravity_forces": ("q", None, None),
    "forward_dynamics": ("q", "qd", "result"),
}
_SMALL = 64  # degrees of freedom up to which one kernel serves one state and many
_BY_WRENCHES = ("inverse_dynamics", "forward_dynamics")


@dataclass(frozen=True, eq=False)
class Work:
    """A function of a robot with the names of the inputs that it is given, and how it shall be computed."""

    robot: Robot
    function: str
    given: tuple[str, ...]
    frame: Mapping[str, str]
    choices: Mapping[str, Any]
    algorithm: Any
    threads: int | None
    wanted: frozenset[str] = frozenset()  # whose gradients are needed, of optional inputs

    @cached_property
    def inputs(self) -> int:
        """The number of inputs among the arguments; optional ones are last."""
        return len(FUNCTIONS[self.function].inputs)

    def cores(self, mode: str) -> list[int]:
        """The number of axes behind the batch of each argument of the function or of its derivative."""
        f = FUNCTIONS[self.function]
        own = [len({**f.inputs, **f.optional}[name]) for name in self.given]
        cotangent = [len(next(iter(f.outputs.values())))] if mode in ("vjp", "hvp") else []
        return own + cotangent + [1] * (self.inputs if mode in ("jvp", "hvp") else 0)

    @cached_property
    def is_flat(self) -> bool:
        """Whether rates are those of the coordinates: no joint has a quaternion."""
        return all(c.kind.quaternion is None for c in self.robot._coordinates)

    # ------------------------------------------------------------------ the function and its derivatives

    def value(self, *arrays: np.ndarray) -> Arrays:
        """The results, as a tuple."""
        optional = self._optional(arrays)
        if 0 < self.robot.nv <= _SMALL and not optional:
            made = self._kernel(arrays[0].dtype, "")(*arrays, threads=self.threads)
        else:
            how = {**self.frame, **self.choices, "algorithm": self.algorithm, "threads": self.threads}
            made = getattr(self.robot, self.function)(*arrays[: self.inputs], **optional, **how)
        return made if isinstance(made, tuple) else (np.asarray(made),)

    def vjp(self, *arrays: np.ndarray) -> Arrays:
        """Gradients of a result times a cotangent, the last array, with respect to all inputs given."""
        *given, cotangent = arrays
        made = list(self._derivative("vjp", given, (cotangent,)))
        for name in self.given[self.inputs :]:
            made.append(self._slope(name, given, cotangent, made))
        made[0] = self._coordinates("coordinate_slopes", given[0], made[0], self.robot.nq)
        return tuple(made)

    def jvp(self, *arrays: np.ndarray) -> Arrays:
        """The tangent of the result; the tangents of all inputs follow the arguments."""
        given, changes = arrays[: len(self.given)], list(arrays[len(self.given) :])
        changes[0] = self._coordinates("rates_of", given[0], changes[0], self.robot.nv)
        return (np.asarray(self._derivative("jvp", given, (tuple(changes),))),)

    def hvp(self, *arrays: np.ndarray) -> Arrays:
        """The tangents of all gradients; those of the inputs follow the cotangent."""
        given, (cotangent, *changes) = arrays[: len(self.given)], arrays[len(self.given) :]
        made: Arrays = self._derivative("hvp", given, (cotangent, tuple(changes)))
        return made

    def _derivative(self, mode: str, given: Sequence[np.ndarray], more: tuple[Any, ...]) -> Any:
        inputs, optional = tuple(given[: self.inputs]), self._optional(given)
        if 0 < self.robot.nv <= _SMALL and not optional:
            flat = [a for part in more for a in (part if isinstance(part, tuple) else (part,))]
            return self._kernel(inputs[0].dtype, mode)(*inputs, *flat, threads=self.threads)
        how = {**self.frame, **self.choices, "algorithm": self.algorithm, "threads": self.threads}
        return getattr(self.robot, mode)(self.function, inputs, *more, **optional, **how)

    def _kernel(self, dtype: np.dtype, mode: str) -> Any:
        """The kernel of the function, or of a derivative of it: plain arrays take its fast path."""
        key = dtype.char, mode
        if key not in self._kernels:
            make: Any = self.robot.kernel
            how = {**self.frame, **self.choices}
            kernel = make(self.function, self.algorithm, dtype.name, **how)
            self._kernels[key] = getattr(kernel, mode) if mode else kernel
        return self._kernels[key]

    @cached_property
    def _kernels(self) -> dict[tuple[str, str], Any]:
        return {}

    # ------------------------------------------------------------------ pieces

    def _optional(self, given: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        return dict(zip(self.given[self.inputs :], given[self.inputs :], strict=False))

    def _coordinates(self, how: str, q: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
        """Cotangents of coordinates from those of rates, or the reverse."""
        if self.is_flat:
            return values
        batch = np.broadcast_shapes(q.shape[:-1], values.shape[:-1])
        made = np.empty((*batch, size), values.dtype)
        with np.errstate(all="ignore"):
            for c in self.robot._coordinates:
                there, here = (c.v, c.q) if how == "coordinate_slopes" else (c.q, c.v)
                made[..., here] = getattr(c.kind, how)(q[..., c.q], values[..., there])
        return made

    def _slope(self, name: str, given: Any, cotangent: np.ndarray, gradients: Any) -> np.ndarray:
        """The gradient with respect to wrenches or inertias, zero where autograd does not need it."""
        inputs = dict(zip(self.given, given, strict=True))
        if name not in self.wanted:
            return np.zeros(inputs[name].shape, cotangent.dtype)
        forces, sign = cotangent, 1.0
        if self.function == "forward_dynamics":  # accelerations follow from forces by the inverse of M
            forces, sign = gradients[2], -1.0
        if name == "external":
            return -sign * self._link_twists(inputs["q"], forces)
        rest = np.zeros(self.robot.nv, cotangent.dtype)
        known: dict[Any, Any] = {**inputs, None: rest}
        if sign < 0:
            known["result"] = self.value(*given)[0]
        Y = self.robot.regressor(*(known[n] for n in _BY_REGRESSOR[self.function]), threads=self.threads)
        slope = sign * np.einsum("...ij,...i->...j", Y, forces)
        return slope.reshape((*slope.shape[:-1], self.robot.n_links, 10))

    def _link_twists(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Twists (…, n_links, 6) of all links in their own frames at these rates."""
        T = self.robot.forward_kinematics(q, threads=self.threads)
        Td = self.robot.jvp("forward_kinematics", (q,), (rates,), threads=self.threads)
        back = np.swapaxes(T[..., :3, :3], -1, -2)
        spin, speed = back @ Td[..., :3, :3], (back @ Td[..., :3, 3:])[..., 0]
        turn = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
        return np.concatenate([turn, speed], axis=-1)


def require_gradients(work: Work, wanted: Mapping[str, bool]) -> None:
    """Raise if a requested gradient is not implemented."""
    known = {*FUNCTIONS[work.function].inputs}
    known |= {"external"} if work.function in _BY_WRENCHES else set()
    known |= {"inertias"} if work.function in _BY_REGRESSOR else set()
    for name, is_wanted in wanted.items():
        if is_wanted and name not in known:
            raise PhalanxError(
                f"{work.function}: there is no gradient with respect to {name}; pass {name}.detach()."
            )
    moving = [name for name in work.given if name.startswith("base_")]
    if moving and any(wanted.values()):
        raise PhalanxError(
            f"{work.function}: there are no gradients with {moving[0]}; float the base, and give its rates "
            "in qd."
        )
