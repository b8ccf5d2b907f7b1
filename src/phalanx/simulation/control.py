# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Common control laws (`px.control`), written as users write theirs.

Each is a function law(t, q, qd, u, robot) that returns joint forces (…, nv). It runs in a simulation,
`robot.simulation(control=law)`, and on plain arrays with the robot itself, where it can be tested.

A gain is a number, an array, or a name: then it is a parameter, of which every simulation of a batch may have
its own, as with `sim = robot.simulation(control=px.control.pd("kp", "kd"))` and `sim.rollout(…,
parameters={"kp": kp, "kd": kd})`, arrays (…, nv).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..arrays import is_masked_array, real_numbers, refuse_masks
from ..errors import PhalanxError, listing, nearest, shown
from ..tracing.math import damped_solve
from ..typing import ArrayLike

__all__ = ["Law", "computed_torque", "differential_ik", "impedance", "network", "pd"]

_SMALLEST = 1e-30  # of a squared sine, so that its root has a slope
_DAMPED = 1e-12  # of the trace of J M⁻¹ Jᵀ, added to its diagonal
ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
}


class Law(Protocol):
    """A control law: joint forces (…, nv) at time t, coordinates q, rates qd and controls u."""

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> Any: ...

    def controls(self, robot: Any) -> int:
        """The number of controls that it takes for a robot."""

    def parameters(self, robot: Any) -> dict[str, tuple[int, ...]]:
        """The parameters that its gains are, by name, with their shapes."""


def pd(kp: Gain, kd: Gain, target: ArrayLike | None = None, gravity: bool = True) -> Law:
    """PD control of the joints: kp (q_d ⊖ q) + kd (qd_d - qd), with the forces of gravity added.

    - `kp` and `kd`: gains (nv,) or one number for all joints, in N·m/rad and N·m·s/rad (N/m and N·s/m).
    - `target` (nq,): the coordinates to hold. Without, they are controls: u is q_d (nq,), or q_d and then its
      rates qd_d (nq + nv,) with `robot.simulation(controls=robot.nq + robot.nv)`.
    - `gravity`: whether the forces that hold the robot against gravity are added.

    Differences of coordinates are those of `robot.difference`: of a ball joint the rotation that is left.
    """
    return _Joints(
        "pd", gain_of(kp, "pd: kp"), gain_of(kd, "pd: kd"), target_of(target, "pd"), switch(gravity)
    )


def computed_torque(kp: Gain, kd: Gain, target: ArrayLike | None = None) -> Law:
    """Inverse dynamics at the acceleration qdd_d + kp (q_d ⊖ q) + kd (qd_d - qd): every joint a unit mass.

    - `kp` and `kd`: gains (nv,) or one number, in 1/s² and 1/s. With kd = 2 sqrt(kp) errors fade without
      overshoot.
    - `target` (nq,): the coordinates to hold. Without, u is q_d, qd_d and qdd_d one after another
      (nq + 2 nv,), or less of it, if `robot.simulation(controls=…)` says so: (nq + nv,) or (nq,).
    """
    where = "computed_torque"
    return _Joints(
        where, gain_of(kp, f"{where}: kp"), gain_of(kd, f"{where}: kd"), target_of(target, where), True
    )


def impedance(
    frame: str,
    stiffness: Gain,
    damping: Gain,
    target: ArrayLike | None = None,
    *,
    gravity: bool = True,
    nullspace: tuple[Gain, Gain, ArrayLike] | None = None,
) -> Law:
    """A spring and damper between a frame and a pose, as joint forces Jᵀ w, with those of gravity added.

    - `stiffness` and `damping` (6,) or (6, 6), along the axes of the base, [angular; linear]: N·m/rad and
      N/m, N·m·s/rad and N·s/m. A pair (angular, linear) is for all directions alike.
    - `target` (4, 4): the pose. Without, u is the position and a quaternion xyzw (7,), or the position alone
      (3,) with `robot.simulation(controls=3)`: then only the last three of the gains act.
    - `nullspace` (kp, kd, q): joints are also drawn to the coordinates q (nq,), as far as that does not
      accelerate the frame: what would is projected out, M⁻¹ taken into account.

    The error of the pose is the remaining rotation, a rotation vector, and the remaining translation.
    """
    where = "impedance"
    if not isinstance(frame, str):
        raise PhalanxError(f'{where}: frame is {shown(frame)}, expected the name of a frame, as "tool".')
    goal = None if target is None else pose_of(target)
    posture = None
    if nullspace is not None:
        if not isinstance(nullspace, (tuple, list)) or len(nullspace) != 3:
            raise PhalanxError(f"{where}: nullspace is {shown(nullspace)}, expected a tuple (kp, kd, q).")
        kp, kd, rest = nullspace
        posture = _Joints(
            where,
            gain_of(kp, f"{where}: kp of nullspace"),
            gain_of(kd, f"{where}: kd of nullspace"),
            target_of(rest, f"{where}: q of nullspace"),
            False,
        )
    own = [gain_of(x, f"{where}: {name}") for x, name in ((stiffness, "stiffness"), (damping, "damping"))]
    return _Impedance(frame, own[0], own[1], goal, switch(gravity), posture)


def differential_ik(
    frame: str,
    rate: float,
    kd: Gain,
    target: ArrayLike | None = None,
    *,
    damping: float = 1e-3,
    gravity: bool = True,
) -> Law:
    """Differential inverse kinematics: joint rates that lead a frame to a pose, followed by dampers.

    The rates are damped least squares of J qd_d = rate e, within the robot's velocity limits; coordinates
    approach their limits no faster than by `rate` times what is left. Forces are kd (qd_d - qd), with
    those of gravity added.

    - `rate` [1/s]: by how much of it the error falls in a second. `kd`: gains as those of `pd`.
    - `target` (4, 4): the pose. Without, u is the position and a quaternion xyzw (7,), or the position alone
      (3,) with `robot.simulation(controls=3)`.
    - `damping`: of the squares of rates against those of the error, so that no singularity makes them large.
    """
    where = "differential_ik"
    if not isinstance(frame, str):
        raise PhalanxError(f'{where}: frame is {shown(frame)}, expected the name of a frame, as "tool".')
    numbers = []
    for name, value in (("rate", rate), ("damping", damping)):
        found = finite(value, f"{where}: {name}")
        if found.shape or found <= 0.0:
            raise PhalanxError(f"{where}: {name} is {shown(value)}, expected a positive number.")
        numbers.append(float(found))
    goal = None if target is None else pose_of(target, where)
    return _DifferentialIK(frame, numbers[0], gain_of(kd, f"{where}: kd"), goal, numbers[1], switch(gravity))


def network(
    weights: Sequence[ArrayLike],
    biases: Sequence[ArrayLike],
    activation: str = "tanh",
    *,
    observe: Callable[..., Any] | None = None,
    scale: Gain = 1.0,
) -> Law:
    """A small neural network: tau = scale (W₃ f(W₂ f(W₁ x + b₁) + b₂) + b₃), of any number of layers.

    - `weights` and `biases`: one matrix (outputs, inputs) and one vector (outputs,) for each layer.
    - `activation` f: "tanh" or "relu", after all layers but the last.
    - `observe(t, q, qd, u, robot)` gives x. Without, x is q, qd and u one after another.
    - `scale`: what the last layer is multiplied by, a number or (nv,).
    """
    where = "network"
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        hint = nearest(activation, ACTIVATIONS, what="activations")
        raise PhalanxError(f"{where}: unknown activation {shown(activation)};{hint}")
    given: tuple[tuple[str, Any], ...] = (("weights", weights), ("biases", biases))
    for label, several in given:
        if isinstance(several, str) or not isinstance(several, (Sequence, np.ndarray)):
            raise PhalanxError(
                f"{where}: {label} is {shown(several)}, expected one array for each layer in a list."
            )
    if len(weights) != len(biases) or not len(weights):
        raise PhalanxError(
            f"{where}: {len(weights)} weights and {len(biases)} biases, expected one of both for each layer."
        )
    layers, size = [], None
    for k, (matrix, vector) in enumerate(zip(weights, biases, strict=True)):
        w, b = finite(matrix, f"{where}: weights[{k}]"), finite(vector, f"{where}: biases[{k}]")
        if w.ndim != 2 or b.shape != w.shape[:1] or (size is not None and w.shape[1] != size):
            expected = "(outputs, inputs)" if size is None else f"(outputs, {size})"
            raise PhalanxError(
                f"{where}: layer {k} has weights {w.shape} and biases {b.shape}, expected {expected} and "
                "(outputs,)."
            )
        size = w.shape[0]
        layers.append((w, b))
    return _Network(tuple(layers), activation, observe, gain_of(scale, f"{where}: scale"))


# ------------------------------------------------------------------- the laws


def _named(gains: tuple[Any, ...], shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {gain: shape for gain in gains if isinstance(gain, str)}


class _NamedLaw:
    """A law with a `__name__`, by which messages call it."""

    kind: str

    @property
    def __name__(self) -> str:
        return self.kind


@dataclass(frozen=True, eq=False)
class _Joints(_NamedLaw):
    """PD control of the joints, by forces or by accelerations."""

    kind: str
    kp: Any
    kd: Any
    target: np.ndarray | None
    gravity: bool

    def parameters(self, robot: Any) -> dict[str, tuple[int, ...]]:
        return _named((self.kp, self.kd), (int(robot.nv),))

    def controls(self, robot: Any) -> int:
        if self.target is not None:
            return 0
        return int(robot.nq) + (2 * int(robot.nv) if self.kind == "computed_torque" else 0)

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> Any:
        kp, kd = (of_joints(given(g, parameters), robot, self.kind) for g in (self.kp, self.kd))
        position, velocity, acceleration = self._desired(u, robot)
        pull = kp * robot.difference(q, position) + kd * (velocity - qd)
        if self.kind == "computed_torque":
            return robot.inverse_dynamics(q, qd, acceleration + pull)
        return pull + robot.gravity_forces(q) if self.gravity else pull

    def _desired(self, u: Any, robot: Any) -> tuple[Any, Any, Any]:
        """The coordinates, rates and accelerations that are wanted."""
        nq, nv = int(robot.nq), int(robot.nv)
        if self.target is not None:
            expect(self.target.shape, (nq,), f"{self.kind}: target", robot)
            return self.target, 0.0, 0.0
        sizes = (nq, nq + nv, nq + 2 * nv)[: 3 if self.kind == "computed_torque" else 2]
        count = np.shape(u)[-1] if np.ndim(u) else 0
        if count not in sizes:
            expected = " or ".join(map(str, sizes))
            raise PhalanxError(
                f'{self.kind}: there are {count} controls, expected {expected} for robot "{robot.name}": '
                "coordinates that are wanted, then their rates; pass controls=… to robot.simulation, or a "
                "target."
            )
        velocity = u[..., nq : nq + nv] if count > nq else 0.0
        return u[..., :nq], velocity, u[..., nq + nv :] if count > nq + nv else 0.0


@dataclass(frozen=True, eq=False)
class _Impedance(_NamedLaw):
    """A spring and damper between a frame and a pose."""

    kind = "impedance"

    frame: str
    stiffness: Any
    damping: Any
    target: np.ndarray | None
    gravity: bool
    posture: _Joints | None

    def parameters(self, robot: Any) -> dict[str, tuple[int, ...]]:
        own = {} if self.posture is None else self.posture.parameters(robot)
        return own | _named((self.stiffness, self.damping), (6,))

    def controls(self, robot: Any) -> int:
        return 0 if self.target is not None else 7

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> Any:
        gains = [of_pose(given(g, parameters)) for g in (self.stiffness, self.damping)]
        error, rows = _to_target(self.kind, self.target, robot.frame_pose(q, self.frame), u, robot)
        jacobian = robot.jacobian(q, self.frame)[..., rows, :]
        stiffness, damping = (g[..., rows, rows] for g in gains)
        wrench = _times(stiffness, error) - _times(damping, _times(jacobian, qd))
        tau = _times(np.swapaxes(jacobian, -1, -2), wrench)
        if self.gravity:
            tau = tau + robot.gravity_forces(q)
        if self.posture is not None:
            pull = self.posture(t, q, qd, u, robot, **parameters)
            tau = tau + _in_null_space(jacobian, robot.mass_matrix_inverse(q), pull)
        return tau


@dataclass(frozen=True, eq=False)
class _DifferentialIK(_NamedLaw):
    """Joint rates that lead a frame to a pose."""

    kind = "differential_ik"

    frame: str
    rate: float
    kd: Any
    target: np.ndarray | None
    damping: float
    gravity: bool

    def parameters(self, robot: Any) -> dict[str, tuple[int, ...]]:
        return _named((self.kd,), (int(robot.nv),))

    def controls(self, robot: Any) -> int:
        return 0 if self.target is not None else 7

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> Any:
        kd = of_joints(given(self.kd, parameters), robot, self.kind)
        error, rows = _to_target(self.kind, self.target, robot.frame_pose(q, self.frame), u, robot)
        jacobian = robot.jacobian(q, self.frame)[..., rows, :]
        wanted = damped_solve(jacobian, self.rate * error[..., None], self.damping)[..., 0]
        coordinates, lower, upper, most = _room(robot)
        at = q[..., coordinates]
        wanted = np.maximum(wanted, np.maximum(-most, self.rate * (lower - at)))
        wanted = np.minimum(wanted, np.minimum(most, self.rate * (upper - at)))
        tau = kd * (wanted - qd)
        return tau + robot.gravity_forces(q) if self.gravity else tau


@dataclass(frozen=True, eq=False)
class _Network(_NamedLaw):
    """A small neural network."""

    kind = "network"

    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    activation: str
    observe: Callable[..., Any] | None
    scale: Any

    def parameters(self, robot: Any) -> dict[str, tuple[int, ...]]:
        return _named((self.scale,), (int(robot.nv),))

    def controls(self, robot: Any) -> int:
        own = int(robot.nq) + int(robot.nv)
        return max(0, self.layers[0][0].shape[1] - own) if self.observe is None else int(robot.nv)

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> Any:
        if self.observe is not None:
            x = self.observe(t, q, qd, u, robot)
        else:
            refuse_masks((q, qd, u), "network: a state")
            x = np.concatenate([q, qd, u], axis=-1)
            x = x.data if is_masked_array(x) else x  # nothing is masked: NumPy's product fails on such arrays
        first, last = self.layers[0][0].shape[1], self.layers[-1][0].shape[0]
        if np.shape(x)[-1] != first:
            raise PhalanxError(
                f"network: the first layer takes {first} numbers, but q, qd and u, or what `observe` gives, "
                f'are {np.shape(x)[-1]} for robot "{robot.name}"; pass controls=… to robot.simulation.'
            )
        expect((last,), (int(robot.nv),), "network: the last layer", robot)
        f = ACTIVATIONS[self.activation]
        for k, (w, b) in enumerate(self.layers):
            x = _times(w, x if k == 0 else f(x)) + b
        return of_joints(given(self.scale, parameters), robot, "network: scale") * x


# ------------------------------------------------------------------- poses

_FAR = 1e9  # a limit where there is none


def _room(robot: Any) -> tuple[list[int], np.ndarray, np.ndarray, np.ndarray]:
    """For each degree of freedom a coordinate, its limits, and the largest rate."""
    coordinates = [0] * int(robot.nv)
    lower, upper = (np.full(int(robot.nv), sign * _FAR) for sign in (-1.0, 1.0))
    for c in robot._coordinates:
        if c.kind.quaternion is None:
            coordinates[c.v] = range(c.q.start, c.q.stop)
            lower[c.v] = np.maximum(robot.limits.lower[c.q], -_FAR)
            upper[c.v] = np.minimum(robot.limits.upper[c.q], _FAR)
    return coordinates, lower, upper, np.minimum(robot.limits.velocity, _FAR)


def _to_target(kind: str, target: np.ndarray | None, pose: Any, u: Any, robot: Any) -> tuple[Any, slice]:
    """The pose error to the target, and which rows of [angular; linear] it has."""
    if target is not None:
        return _left(pose, target[:3, :3], target[:3, 3]), slice(0, 6)
    count = np.shape(u)[-1] if np.ndim(u) else 0
    if count == 3:
        return u - pose[..., :3, 3], slice(3, 6)
    if count != 7:
        raise PhalanxError(
            f"{kind}: there are {count} controls, expected 7 (position, quaternion xyzw) or 3 "
            f'(position) for robot "{robot.name}"; pass controls=… to robot.simulation, or a target.'
        )
    return _left(pose, _rotation(u[..., 3:]), u[..., :3]), slice(0, 6)


def _left(pose: Any, rotation: Any, position: Any) -> Any:
    """The rotation vector and translation (…, 6) from a pose to another, along the axes of the base."""
    # Of D = R_d Rᵀ: its axis times the sine of its angle, and the cosine.
    d = rotation @ np.swapaxes(pose[..., :3, :3], -1, -2)
    skew = [d[..., 2, 1] - d[..., 1, 2], d[..., 0, 2] - d[..., 2, 0], d[..., 1, 0] - d[..., 0, 1]]
    sine = 0.5 * np.stack(skew, axis=-1)
    cosine = 0.5 * (d[..., 0, 0] + d[..., 1, 1] + d[..., 2, 2] - 1.0)
    size = np.sqrt(np.maximum(np.sum(sine * sine, axis=-1), _SMALLEST))
    rotation = sine * (np.arctan2(size, cosine) / size)[..., None]
    return np.concatenate([rotation, position - pose[..., :3, 3]], axis=-1)


def _rotation(quaternion: Any) -> Any:
    """The rotation matrix of a quaternion xyzw of any length but zero."""
    x, y, z, w = (quaternion[..., k] for k in range(4))
    s = 2.0 / (x * x + y * y + z * z + w * w)
    rows = [
        [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
        [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
        [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _in_null_space(jacobian: Any, inverse: Any, tau: Any) -> Any:
    """Joint forces without what accelerates the frame: (1 - Jᵀ (J M⁻¹ Jᵀ)⁻¹ J M⁻¹) tau.

    The projector is dynamically consistent: J M⁻¹ times the result is zero. Near singularities the inverse
    of J M⁻¹ Jᵀ is damped.

    Source: Khatib 1987, A unified approach for motion and force control of robot manipulators.
    """
    across, moved = np.swapaxes(jacobian, -1, -2), jacobian @ inverse
    mobility = moved @ across
    size = np.trace(mobility, axis1=-2, axis2=-1)[..., None, None]
    mobility = mobility + _DAMPED * size * np.eye(jacobian.shape[-2])
    return tau - _times(across, np.linalg.solve(mobility, _times(moved, tau)[..., None])[..., 0])


def _times(matrix: Any, vector: Any) -> Any:
    """A matrix (…, m, n) times a vector (…, n)."""
    return (matrix @ vector[..., None])[..., 0]


# ------------------------------------------------------------------------ gains and targets


Gain = float | ArrayLike | str


LARGEST = 10**7  # numbers of a gain or a layer: each is a constant of compiled code


def gain_of(value: Gain, where: str) -> Any:
    """A gain as an array of finite numbers that are not negative, or the name of a parameter."""
    if isinstance(value, str):
        if not value.isidentifier():
            raise PhalanxError(f"{where} is {shown(value)}, expected numbers or the name of a parameter.")
        return value
    found = finite(value, where)
    if (found < 0.0).any():
        raise PhalanxError(
            f"{where} is {_shown(found)}, expected no negative number: that would drive errors up."
        )
    return found


def finite(value: Any, where: str) -> np.ndarray:
    found = real_numbers(value, where, "real numbers")
    if found.size > LARGEST:
        raise PhalanxError(
            f"{where} is an array of shape {found.shape}, expected at most {LARGEST:,} numbers."
        )
    if not np.isfinite(found).all():
        raise PhalanxError(f"{where} is {_shown(found)}, expected finite numbers.")
    found = found.copy()
    found.setflags(write=False)
    return found


def _shown(found: np.ndarray) -> str:
    return str(found.tolist()) if found.size <= 8 else f"an array of shape {found.shape}"


def given(gain: Any, parameters: dict[str, Any]) -> Any:
    """A gain as numbers: itself, or, if it is a name, the parameter of that name."""
    if not isinstance(gain, str):
        return gain
    if gain not in parameters:
        declared = f"declared are {listing(parameters)}" if parameters else "none is declared"
        raise PhalanxError(
            f"gain {gain!r} is a parameter, but {declared}; declare it: robot.simulation(…, "
            f"parameters={{{gain!r}: n}})."
        )
    return parameters[gain]


def of_joints(gain: Any, robot: Any, where: str) -> Any:
    """A gain of the joints: one number, or (…, nv)."""
    shape = np.shape(gain)
    if shape and shape[-1] != 1:
        expect(shape[-1:], (int(robot.nv),), f"{where}: a gain", robot)
    return gain


def of_pose(gain: Any) -> Any:
    """A gain of a pose as a matrix (…, 6, 6): given as such, as its diagonal, or as (angular, linear)."""
    shape = np.shape(gain)
    if shape[-2:] == (6, 6):
        return gain
    if shape[-1:] == (2,):
        gain = np.concatenate([gain[..., :1]] * 3 + [gain[..., 1:]] * 3, axis=-1)
    elif shape[-1:] != (6,):
        raise PhalanxError(
            f"impedance: a gain has shape {shape}, expected (6,) or (6, 6), [angular; linear], or (2,): one "
            "for rotations and one for translations."
        )
    return gain[..., None] * np.eye(6)


def target_of(value: ArrayLike | None, where: str) -> np.ndarray | None:
    if value is None:
        return None
    found = finite(value, f"{where}: target" if ":" not in where else where)
    if found.ndim != 1:
        raise PhalanxError(f"{where}: target has shape {found.shape}, expected (nq,).")
    return found


def pose_of(value: ArrayLike, where: str = "impedance") -> np.ndarray:
    found = finite(value, f"{where}: target")
    if found.shape != (4, 4):
        raise PhalanxError(f"{where}: target has shape {found.shape}, expected a pose (4, 4).")
    rotation = found[:3, :3]
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0.0:
        raise PhalanxError(f"{where}: the first three rows and columns of target are no rotation.")
    return found


def switch(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise PhalanxError(f"control: gravity is {shown(value)}, expected True or False.")
    return bool(value)


def expect(shape: tuple[int, ...], expected: tuple[int, ...], where: str, robot: Any) -> None:
    if shape != expected:
        raise PhalanxError(f'{where} has shape {shape}, expected {expected} for robot "{robot.name}".')
