# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robot: an immutable robot, its facts and its changed copies; no algorithm.

The dynamics methods are attached by `dispatch`, which lies below the algorithms.
"""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from . import description as d
from .assembly import BASE, Frame, Moving, assemble, judge_inertias
from .description import Description, Joint, Mimic, Pose
from .dh import require_chain
from .errors import PhalanxError, nearest
from .io.dh import description_from_dh
from .io.dh_table import DHTable, table_of
from .io.saved import write_description
from .joints import WELD, pose_of


@dataclass(frozen=True)
class Limits:
    """Position limits per coordinate, velocity and effort limits per degree of freedom; inf = none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class Robot:
    """An immutable robot; made by `px.load`, the generators or `px.RobotBuilder`.

    Safe to share between threads; pickles and copies by its description.
    """

    # Attached by `dispatch`, one per registered function; declared here for editors and checkers.
    inverse_dynamics: Callable[..., Any]
    forward_dynamics: Callable[..., Any]
    mass_matrix: Callable[..., Any]
    mass_matrix_inverse: Callable[..., Any]
    bias_forces: Callable[..., Any]
    gravity_forces: Callable[..., Any]
    forward_kinematics: Callable[..., Any]
    frame_pose: Callable[..., Any]
    jacobian: Callable[..., Any]
    center_of_mass: Callable[..., Any]
    kinetic_energy: Callable[..., Any]
    potential_energy: Callable[..., Any]
    rnea: Callable[..., Any]
    crba: Callable[..., Any]
    aba: Callable[..., Any]
    kernel: Callable[..., Any]
    jax: Any

    def __init__(self, description: Description, *, strict: bool = False, warn: bool = True) -> None:
        self.description = description
        self._assembly = assemble(description, strict=strict, warn=warn)
        self._memo: dict[Any, Any] = {}
        self.model = self._assembly.model
        for array in (*self.model.indices(), *self.model.constants()):
            array.setflags(write=False)

    # ------------------------------------------------------------------------ facts

    name: str = property(lambda self: self.description.name)  # type: ignore[assignment]

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The moving joints, parents first; mimic joints that follow their driver are among them."""
        return tuple(m.joint.name for m in self._assembly.moving if m.joint.name != BASE)

    @cached_property
    def joint_types(self) -> tuple[str, ...]:
        """Type name of each joint in `joint_names`."""
        return tuple(m.joint.type for m in self._assembly.moving if m.joint.name != BASE)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """The link that each moving joint carries; first the base if it floats."""
        return tuple(m.joint.child for m in self._assembly.moving)

    @cached_property
    def frames(self) -> Mapping[str, Frame]:
        """Every link of the file by name, with the moving link that carries it."""
        return MappingProxyType(self._assembly.frames)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Every link of the file, welded or not."""
        return tuple(self.frames)

    @cached_property
    def parents(self) -> np.ndarray:
        """Parent link of each link, -1 = world."""
        return _frozen(np.array([m.parent for m in self._assembly.moving], dtype=np.intp))

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of degrees of freedom."""
        return self.model.nv

    @property
    def n_links(self) -> int:
        """Number of moving links."""
        return len(self._assembly.moving)

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall (3,) in the base frame of the file."""
        gravity: np.ndarray = self.model.gravity
        return gravity

    @property
    def armature(self) -> np.ndarray:
        """Rotor inertia seen by each degree of freedom (nv,); part of the mass matrix."""
        armature: np.ndarray = self.model.armature
        return armature

    @cached_property
    def limits(self) -> Limits:
        """Limits of positions, velocities and efforts."""
        lower, upper = self._per_coordinate("lower", -np.inf), self._per_coordinate("upper", np.inf)
        return Limits(lower, upper, self._per_rate("velocity", np.inf), self._per_rate("effort", np.inf))

    @cached_property
    def damping(self) -> np.ndarray:
        """Viscous damping as the file gives it (nv,); kept, never applied."""
        return self._per_rate("damping", 0.0)

    @cached_property
    def friction(self) -> np.ndarray:
        """Dry friction as the file gives it (nv,); kept, never applied."""
        return self._per_rate("friction", 0.0)

    @cached_property
    def link_masses(self) -> np.ndarray:
        """Mass of each moving link with what is welded to it (n_links,)."""
        return _frozen(self.model.inertia.m[self.model.links])

    @property
    def total_mass(self) -> float:
        """Mass of all moving links; what is welded to the world is not counted."""
        return float(self.link_masses.sum())

    @cached_property
    def is_serial(self) -> bool:
        """Whether the links form one unbranched chain from the world."""
        return bool(np.array_equal(self.parents, np.arange(-1, self.n_links - 1)))

    @cached_property
    def is_coupled(self) -> bool:
        """Whether mimic joints follow other joints."""
        return self.model.coupling is not None

    @cached_property
    def mimics(self) -> Mapping[str, Mimic]:
        """The joint that each coupled mimic joint follows in the end, with multiplier and offset."""
        return MappingProxyType(self._assembly.drivers)

    @cached_property
    def depth(self) -> int:
        """Number of joints on the longest path from the world to a link."""
        depth: list[int] = []
        for p in self.parents.tolist():
            depth.append(1 if p < 0 else depth[p] + 1)
        return max(depth, default=0)

    @cached_property
    def q_slices(self) -> Mapping[str, slice]:
        """Where each joint's coordinates stand in q; the floating base under the empty name."""
        return MappingProxyType(self._assembly.q_of)

    @cached_property
    def v_slices(self) -> Mapping[str, slice]:
        """Where each joint's rates stand in qd; the floating base under the empty name."""
        return MappingProxyType(self._assembly.v_of)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that the equations see."""
        m = self.model
        sha = hashlib.sha256(f"{m.n} {m.nq} {m.nv} {[g.motion.__name__ for g in m.groups]}".encode())
        for array in (*m.indices(), *m.constants()):
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    def memo(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make()` returned the first time for this key; robots never change."""
        try:
            return self._memo[key]
        except KeyError:
            return self._memo.setdefault(key, make())

    def frame(self, name: Any) -> Frame:
        """The frame of that name, or an error naming the nearest."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise PhalanxError(
                f'robot "{self.name}" has no frame {name!r};{nearest(name, self.frames, what="frames")}'
            ) from None

    def __repr__(self) -> str:
        shape = "chain" if self.is_serial else "tree"
        return f'<Robot "{self.name}": {shape} of {self.n_links} links, nq = {self.nq}, nv = {self.nv}>'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.description == other.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __reduce__(self) -> Any:
        return _rebuild, (self.description,)

    def __setattr__(self, name: str, value: Any) -> None:
        if "model" in self.__dict__:
            raise AttributeError(
                f'robot "{self.name}" is immutable; use robot.replace(…) for a changed copy.'
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f'robot "{self.name}" is immutable; "{name}" cannot be deleted.')

    # -------------------------------------------------------------------- from and to files

    @classmethod
    def from_dh(cls, rows: Sequence[Mapping[str, Any]], convention: str = "standard", **more: Any) -> Robot:
        """The robot of a Denavit-Hartenberg table; rows and keywords as in a DH file."""
        return cls(description_from_dh(rows, convention=convention, **more))

    def to_dh(self) -> DHTable:
        """The Denavit-Hartenberg table (standard) of a serial chain, with base and tool frames."""
        joints = [m.joint for m in self._assembly.moving]
        require_chain(self.model, self.name, [joint.name for joint in joints])
        return table_of(self.model.dh, self.description, joints)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the robot to a file that `px.load` reads back exactly."""
        text = write_description(self.description)
        if not isinstance(path, (str, os.PathLike)):
            raise PhalanxError(f"save: got {type(path).__name__}, expected a path.")
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise PhalanxError(f'save: cannot write "{path}": {error.strerror or error}.') from None

    # ----------------------------------------------------------------- changed copies

    def replace(self, *, gravity: Any = None, armature: Any = None, name: str | None = None) -> Robot:
        """A copy with another gravity (3,), armature (scalar or (nv,)) or name."""
        new = self.description
        if gravity is not None:
            new = replace(new, gravity=d.triple(gravity, f'robot "{self.name}": gravity'))
        if name is not None:
            new = replace(new, name=str(name))
        if armature is not None:
            values = self._checked_armature(armature)
            joints = tuple(
                replace(j, armature=tuple(values[self._assembly.v_of[j.name]].tolist()))
                if j.name in self._assembly.v_of and j.name not in self._assembly.drivers
                else replace(j, armature=())
                for j in new.joints
            )
            new = replace(
                new,
                joints=joints,
                base_armature=tuple(values[self._assembly.v_of.get(BASE, slice(0, 0))].tolist()),
            )
        return _rebuild(new)

    def fix(self, joints: Mapping[str, Any]) -> Robot:
        """A smaller robot with the named joints welded at the given coordinates."""
        if not isinstance(joints, Mapping):
            raise PhalanxError(
                f'robot "{self.name}": fix got {type(joints).__name__}, expected a mapping from joints to '
                'coordinates such as {"joint": 0.0}.'
            )
        poses: dict[str, Pose] = {}
        by_name = {m.joint.name: m for m in self._assembly.moving}
        for name, value in joints.items():
            if name not in by_name or name == BASE:
                raise PhalanxError(
                    f'robot "{self.name}" has no moving joint "{name}";'
                    f"{nearest(name, self.joint_names, what='joints')}"
                )
            m = by_name[name]
            if name in self._assembly.drivers:
                raise PhalanxError(
                    f'robot "{self.name}": joint "{name}" follows "{self._assembly.drivers[name].joint}" '
                    'and cannot be fixed alone; fix its driver, or load with mimic="independent".'
                )
            poses[name] = self._joint_pose(m, value)
        for name, mimic in self._assembly.drivers.items():  # followers stop with their driver
            if mimic.joint in joints:
                driven = mimic.multiplier * np.asarray(joints[mimic.joint], dtype=float) + mimic.offset
                poses[name] = self._joint_pose(by_name[name], driven)
        return _rebuild(d.weld(self.description, poses))

    def with_floating_base(self) -> Robot:
        """The robot with its base link free to move (first link, first coordinates)."""
        return _rebuild(replace(self.description, floating_base=True))

    def with_payload(
        self, link: str, mass: float, com: Sequence[float] = (0.0, 0.0, 0.0), inertia: Any = None
    ) -> Robot:
        """The robot carrying a body welded to `link`; `com` in its frame, `inertia` about the mass centre."""
        self.frame(link)
        taken = set(self.frames)
        name = next(n for k in range(len(taken) + 1) if (n := f"{link}_payload{k or ''}") not in taken)
        where = f'payload on "{link}"'
        body = d.Link(
            name,
            d.number(mass, f"{where}: mass"),
            d.triple(com, f"{where}: com"),
            d.packed_inertia(inertia, name),
        )
        joint = Joint(f"{name}_joint", WELD, link, name)
        new = self.description
        loaded = _rebuild(replace(new, links=(*new.links, body), joints=(*new.joints, joint)))
        judge_inertias(replace(new, links=(body,)), strict=False)  # `_rebuild` is silent
        return loaded

    # ------------------------------------------------------------------- configurations

    def neutral(self) -> np.ndarray:
        """Coordinates (nq,) with every joint at zero."""
        q = np.zeros(self.nq)
        for part, m in self._own_joints():
            q[part] = m.kind.neutral()
        return q

    def random_state(
        self, batch: int | Sequence[int] = (), rng: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random (q, qd, qdd): q within limits (else ±pi), qd and qdd normal, qd clipped to its limits."""
        rng, shape = _generator(rng), _batch_shape(batch)
        limits = self.limits
        lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
        upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
        # A limit on one side only leaves a window of the usual width on the other.
        lower = np.where(np.isfinite(limits.upper) & ~np.isfinite(limits.lower), upper - 2 * np.pi, lower)
        upper = np.where(np.isfinite(limits.lower) & ~np.isfinite(limits.upper), lower + 2 * np.pi, upper)
        q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (*shape, self.nq))
        for part, m in self._own_joints():
            if m.kind.quaternion is not None:
                own = q[..., part]
                own[..., m.kind.quaternion] = rng.standard_normal((*shape, 4))
        qd = np.clip(rng.standard_normal((*shape, self.nv)), -limits.velocity, limits.velocity)
        return self.normalize(q), qd, rng.standard_normal((*shape, self.nv))

    def integrate(self, q: Any, dq: Any) -> np.ndarray:
        """Coordinates reached from q with the constant rates dq for unit time."""
        q, dq = self._coordinates(q, "q"), self._rates(dq, "dq")
        shape = _common_batch(self, "integrate", q=q, dq=dq)
        result = np.empty((*shape, self.nq), dtype=np.result_type(q, dq))
        for (part, m), rates in zip(self._own_joints(), self._v_own(), strict=True):
            result[..., part] = m.kind.integrate(*_together(q[..., part], dq[..., rates]))
        return result

    def difference(self, q0: Any, q1: Any) -> np.ndarray:
        """The rates dq with integrate(q0, dq) equal to q1."""
        q0, q1 = self._coordinates(q0, "q0"), self._coordinates(q1, "q1")
        shape = _common_batch(self, "difference", q0=q0, q1=q1)
        result = np.empty((*shape, self.nv), dtype=np.result_type(q0, q1))
        for (part, m), rates in zip(self._own_joints(), self._v_own(), strict=True):
            result[..., rates] = m.kind.difference(*_together(q0[..., part], q1[..., part]))
        return result

    def normalize(self, q: Any) -> np.ndarray:
        """Coordinates with every quaternion at unit length."""
        result: np.ndarray = np.array(self._coordinates(q, "q"))
        for part, m in self._own_joints():
            if m.kind.quaternion is not None:
                turn = result[..., part][..., m.kind.quaternion]
                with np.errstate(invalid="ignore"):  # a quaternion of zeros becomes NaN
                    turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
        return result

    # ------------------------------------------------------------------------- inside

    def _own_joints(self) -> list[tuple[slice, Moving]]:
        """Joints with coordinates of their own, with their place in q."""
        return [(self._assembly.q_of[m.joint.name], m) for m in self._assembly.own]

    def _v_own(self) -> list[slice]:
        return [self._assembly.v_of[m.joint.name] for m in self._assembly.own]

    def _joint_pose(self, m: Moving, value: Any) -> Pose:
        try:
            q = np.atleast_1d(np.asarray(value, dtype=float))
        except (TypeError, ValueError):
            q = np.empty(0)
        if q.shape != (m.kind.nq,) or not np.isfinite(q).all():
            raise PhalanxError(
                f'robot "{self.name}": joint "{m.joint.name}" ({m.kind.name}) got the coordinates {value!r}; '
                f"expected {m.kind.nq} finite number{'s' if m.kind.nq > 1 else ''}."
            )
        moved = pose_of(m.steps, q)
        return Pose.of(moved[:3, :3], moved[:3, 3])

    def _checked_armature(self, armature: Any) -> np.ndarray:
        try:
            values = np.broadcast_to(np.asarray(armature, dtype=float), (self.nv,))
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if not np.isfinite(values).all() or (values < 0).any():
            raise PhalanxError(
                f'robot "{self.name}": armature got {armature!r}; '
                f"expected one number or ({self.nv},), finite, >= 0."
            )
        return values

    def _coordinates(self, q: Any, label: str) -> np.ndarray:
        return _checked(self, q, label, self.nq, "nq")

    def _rates(self, v: Any, label: str) -> np.ndarray:
        return _checked(self, v, label, self.nv, "nv")

    def _per_coordinate(self, attribute: str, default: float) -> np.ndarray:
        values = np.full(self.nq, default)
        for part, m in self._own_joints():
            if given := getattr(m.joint, attribute):
                values[part] = given
        return _frozen(values)

    def _per_rate(self, attribute: str, default: float) -> np.ndarray:
        values = np.full(self.nv, default)
        for part, (_, m) in zip(self._v_own(), self._own_joints(), strict=True):
            if given := getattr(m.joint, attribute):
                values[part] = given
        return _frozen(values)


def _rebuild(description: Description) -> Robot:
    return Robot(description, warn=False)  # the original has already warned about its inertias


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise PhalanxError(
            f"random_state: rng is {rng!r}; expected None, a whole number >= 0 or a numpy.random.Generator."
        ) from None


def _batch_shape(batch: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(batch) if isinstance(batch, Iterable) else (batch,)
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        shape = (-1,)
    if any(size < 0 for size in shape):
        raise PhalanxError(f"random_state: batch is {batch!r}; expected a size or a shape, all >= 0.")
    return shape


def _common_batch(robot: Robot, where: str, **arrays: np.ndarray) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(a.shape[:-1] for a in arrays.values()))
    except ValueError:
        told = ", ".join(f"{name} {a.shape[:-1]}" for name, a in arrays.items())
        raise PhalanxError(
            f'{where}: the batch shapes for robot "{robot.name}" do not broadcast: {told}.'
        ) from None


def _together(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return np.broadcast_to(a, (*shape, a.shape[-1])), np.broadcast_to(b, (*shape, b.shape[-1]))


def _checked(robot: Robot, value: Any, label: str, size: int, symbol: str) -> np.ndarray:
    array = real_array(value, label, robot)
    if array.ndim == 0 or array.shape[-1] != size:
        raise PhalanxError(
            f"{label} has shape {array.shape}, expected (…, {size}) "
            f'for robot "{robot.name}" ({symbol} = {size}).'
        )
    return array


def real_array(value: Any, label: str, robot: Robot) -> np.ndarray:
    """Return `value` as float64 or float32; object, string and complex arrays are refused."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise PhalanxError(
            f"{label} is not an array: its rows differ in length or cannot be read; "
            f'expected real numbers for robot "{robot.name}".'
        ) from None
    if array.dtype == np.float64 or array.dtype == np.float32:
        return array
    if array.dtype.kind not in "fiub":
        raise PhalanxError(
            f'{label} has dtype {array.dtype}, expected real numbers for robot "{robot.name}"; '
            "convert it with np.asarray(x, dtype=float)."
        )
    return array.astype(np.float64)


def require_robot(value: Any, where: str) -> None:
    """Raise unless the value is a robot; names and files are for `px.load`."""
    if not isinstance(value, Robot):
        raise PhalanxError(f"{where}: got {value!r:.60}, expected a Robot; px.load reads or finds one.")
