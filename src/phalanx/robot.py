# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robot: an immutable robot, its facts and its changed copies; no algorithm.

The dynamics methods are attached by `dispatch`, which lies below the algorithms.
"""

from __future__ import annotations

import hashlib
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from . import description as d
from .description import Description, Joint, Mimic, Pose, ordered
from .errors import PhalanxError, PhalanxWarning, listing, nearest
from .io.dh import description_from_dh
from .io.saved import write_description
from .joints import JointType, Motion, Screw, Step, Turn, joint_type, pose_of, split_turn
from .model import Coupling, Group, Model
from .spatial import Inertia, Transform

BASE = ""  # the name of the joint that a floating base stands on


@dataclass(frozen=True)
class Limits:
    """Position limits per coordinate, velocity and effort limits per degree of freedom; inf = none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


@dataclass(frozen=True)
class Frame:
    """A link of the file: the moving link that carries it (-1 = world) and its pose there."""

    link: int
    pose: Pose


@dataclass(frozen=True)
class _Moving:
    """A moving joint ready for use: its description, type, bodies and place among the links."""

    joint: Joint
    kind: type[JointType]
    steps: list[Step]
    parent: int
    origin: Pose  # joint frame in the parent link's frame (world's for -1)


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

    def __init__(self, description: Description, *, strict: bool = False, warn: bool = True) -> None:
        d.check_numbers(description)
        root, joints = ordered(description)
        self.description = description
        if strict or warn:
            _judge_inertias(description, strict)
        moving, frames = _weld(description, root, joints)
        self._moving = tuple(moving)
        self.frames: Mapping[str, Frame] = MappingProxyType(frames)
        self._number_coordinates()
        self._memo: dict[Any, Any] = {}
        self.model = _model(self)
        for array in (*self._indices(), *self._constants()):
            array.setflags(write=False)

    # ------------------------------------------------------------------------ facts

    name: str = property(lambda self: self.description.name)  # type: ignore[assignment]

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The moving joints, parents first; mimic joints that follow their driver are among them."""
        return tuple(m.joint.name for m in self._moving if m.joint.name != BASE)

    @cached_property
    def joint_types(self) -> tuple[str, ...]:
        """Type name of each joint in `joint_names`."""
        return tuple(m.joint.type for m in self._moving if m.joint.name != BASE)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """The link that each moving joint carries; first the base if it floats."""
        return tuple(m.joint.child for m in self._moving)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Every link of the file, welded or not."""
        return tuple(self.frames)

    @cached_property
    def parents(self) -> np.ndarray:
        """Parent link of each link, -1 = world."""
        return _frozen(np.array([m.parent for m in self._moving], dtype=np.intp))

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
        return len(self._moving)

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
        return MappingProxyType(self._drivers)

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
        return MappingProxyType(dict(self._q_of))

    @cached_property
    def v_slices(self) -> Mapping[str, slice]:
        """Where each joint's rates stand in qd; the floating base under the empty name."""
        return MappingProxyType(dict(self._v_of))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that the equations see."""
        m = self.model
        sha = hashlib.sha256(f"{m.n} {m.nq} {m.nv} {[g.motion.__name__ for g in m.groups]}".encode())
        for array in (*self._indices(), *self._constants()):
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
                replace(j, armature=tuple(values[self._v_of[j.name]].tolist()))
                if j.name in self._v_of and not self._follows(j)
                else replace(j, armature=())
                for j in new.joints
            )
            new = replace(
                new, joints=joints, base_armature=tuple(values[self._v_of.get(BASE, slice(0, 0))].tolist())
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
        by_name = {m.joint.name: m for m in self._moving}
        for name, value in joints.items():
            if name not in by_name or name == BASE:
                raise PhalanxError(
                    f'robot "{self.name}" has no moving joint "{name}";'
                    f"{nearest(name, self.joint_names, what='joints')}"
                )
            m = by_name[name]
            if name in self._drivers:
                raise PhalanxError(
                    f'robot "{self.name}": joint "{name}" follows "{self._drivers[name].joint}" '
                    'and cannot be fixed alone; fix its driver, or load with mimic="independent".'
                )
            poses[name] = self._joint_pose(m, value)
        for name, mimic in self._drivers.items():  # followers stop with their driver
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
        joint = Joint(f"{name}_joint", "fixed", link, name)
        new = self.description
        loaded = _rebuild(replace(new, links=(*new.links, body), joints=(*new.joints, joint)))
        _judge_inertias(replace(new, links=(body,)), strict=False)  # `_rebuild` is silent
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

    def _own_joints(self) -> list[tuple[slice, _Moving]]:
        """Joints with coordinates of their own, with their place in q."""
        return [(self._q_of[m.joint.name], m) for m in self._moving if not self._follows(m.joint)]

    def _v_own(self) -> list[slice]:
        return [self._v_of[m.joint.name] for m in self._moving if not self._follows(m.joint)]

    def _follows(self, joint: Joint) -> bool:
        return joint.mimic is not None and self.description.coupled and joint.type != "fixed"

    def _number_coordinates(self) -> None:
        nq = nv = 0
        self._q_of: dict[str, slice] = {}
        self._v_of: dict[str, slice] = {}
        for m in self._moving:
            if not self._follows(m.joint):
                self._q_of[m.joint.name] = slice(nq, nq := nq + m.kind.nq)
                self._v_of[m.joint.name] = slice(nv, nv := nv + m.kind.nv)
        self._drivers = _drivers(self)
        for name, mimic in self._drivers.items():
            self._q_of[name] = self._q_of[mimic.joint]
            self._v_of[name] = self._v_of[mimic.joint]
        self._sizes = (nq, nv)

    def _joint_pose(self, m: _Moving, value: Any) -> Pose:
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

    def _indices(self) -> list[np.ndarray]:
        m = self.model
        return [m.parents, m.carrier, m.links, *(a for g in m.groups for a in (g.bodies, g.coordinates))]

    def _constants(self) -> list[np.ndarray]:
        m = self.model
        arrays = [m.rest.E, m.rest.r, m.offset, m.pitch, m.axis, m.inertia.m, m.inertia.h, m.inertia.moment]
        arrays += [m.armature, m.gravity, m.link_frame.E, m.link_frame.r]
        if m.coupling is not None:
            arrays += [m.coupling.Q, m.coupling.offset, m.coupling.A]
        return arrays


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


def _judge_inertias(description: Description, strict: bool) -> None:
    found = d.unphysical(description)
    if not found:
        return
    rows = "; ".join(f'"{link}": {what} {amount:.3g} kg m2' for link, what, amount in found[:10])
    more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
    links = "1 link has an inertia" if len(found) == 1 else f"{len(found)} links have inertias"
    text = f"{description.where}: {links} that no rigid body has ({rows}{more})."
    if strict:
        raise PhalanxError(f"{text} Correct them, or load with strict=False.")
    warnings.warn(
        f"{text} The numbers are used as they are; load with strict=True to refuse them.",
        PhalanxWarning,
        stacklevel=4,
    )


def _weld(description: Description, root: str, joints: list[Joint]) -> tuple[list[_Moving], dict[str, Frame]]:
    """Moving joints with their parents among the moving links, and every link as a frame."""
    moving: list[_Moving] = []
    frames = {root: Frame(-1, d.IDENTITY)}
    if description.floating_base:
        base = Joint(BASE, "floating", "", root, armature=description.base_armature)
        joints = [base, *joints]
        frames[""] = frames.pop(root)
    for joint in joints:
        kind = joint_type(joint.type, where=description.where, joint=joint.name)
        parent = frames[joint.parent]
        origin = joint.origin if parent.pose is d.IDENTITY else parent.pose @ joint.origin
        if kind.nv == 0:
            frames[joint.child] = Frame(parent.link, origin @ joint.after)
            continue
        frames[joint.child] = Frame(len(moving), d.IDENTITY)
        steps = kind.steps(joint.axis, joint.axis2, joint.pitch)
        moving.append(_Moving(joint, kind, steps, parent.link, origin))
    frames.pop("", None)
    return moving, {link.name: frames[link.name] for link in description.links}


def _drivers(robot: Robot) -> dict[str, Mimic]:
    """For each mimic joint the joint it follows in the end, with multiplier and offset of the whole way."""
    by_name = {m.joint.name: m for m in robot._moving}
    result: dict[str, Mimic] = {}
    for m in robot._moving:
        multiplier, offset, seen, here = 1.0, 0.0, [m.joint.name], m
        while here.joint.mimic and robot._follows(here.joint):
            mimic = here.joint.mimic
            here = _driver(robot, here, by_name.get(mimic.joint))
            offset += multiplier * mimic.offset
            multiplier *= mimic.multiplier
            if mimic.joint in seen:
                raise PhalanxError(
                    f"{robot.description.where}: the mimic joints {listing(seen)} follow each other in a "
                    "circle; expected one of them to move by itself. Remove one <mimic>, or load with "
                    'mimic="independent".'
                )
            seen.append(mimic.joint)
        if here is not m:
            result[m.joint.name] = Mimic(here.joint.name, multiplier, offset)
    return result


def _driver(robot: Robot, m: _Moving, found: _Moving | None) -> _Moving:
    """The joint that a mimic joint names, or an error."""
    assert m.joint.mimic is not None
    where, name, driver = robot.description.where, m.joint.name, m.joint.mimic.joint
    if found is None:
        fixed = any(j.name == driver for j in robot.description.joints)
        raise PhalanxError(
            f'{where}: joint "{name}" mimics "{driver}", which is '
            + (
                "fixed. Fix the follower too."
                if fixed
                else f"unknown;{nearest(driver, robot.joint_names, what='joints')}"
            )
        )
    if found.kind.nq != 1 or m.kind.nq != 1:
        raise PhalanxError(
            f'{where}: joint "{name}" mimics "{driver}"; both need one coordinate '
            f"({m.kind.name} has {m.kind.nq}, {found.kind.name} {found.kind.nq})."
        )
    return found


# ------------------------------------------------------------------------ bodies of a robot


def _model(robot: Robot) -> Model:
    """The bodies of a robot, in body frames."""
    n = sum(len(m.steps) for m in robot._moving)
    parents = np.empty(n, dtype=np.intp)
    carrier = np.empty(n, dtype=np.intp)
    rest = np.tile(np.eye(4), (n, 1, 1))
    pitch, axis = np.zeros(n), np.zeros((n, 6))
    links = np.empty(len(robot._moving), dtype=np.intp)
    link_frame = np.tile(np.eye(4), (len(robot._moving), 1, 1))  # pose in the last body's frame
    groups: dict[type[Motion], tuple[list[int], list[range]]] = {}
    body = coordinate = 0
    for k, m in enumerate(robot._moving):
        above = int(links[m.parent]) if m.parent >= 0 else -1
        before = (link_frame[m.parent] if m.parent >= 0 else np.eye(4)) @ m.origin.matrix
        for step in m.steps:
            parents[body] = above
            carrier[body] = body + step.carrier
            rest[body] = before
            rest[body, :3, :3] = before[:3, :3] @ step.frame
            pitch[body], axis[body] = step.pitch, step.axis
            bodies, coordinates = groups.setdefault(step.motion, ([], []))
            bodies.append(body)
            coordinates.append(range(coordinate, coordinate := coordinate + step.motion.nq))
            # The next step stands where this one does, turned back to the joint's axes.
            above, before = body, np.eye(4)
            before[:3, :3] = step.frame.T
            body += 1
        links[k] = body - 1
        link_frame[k] = before @ m.joint.after.matrix
    at_rest = _transform(rest)
    offset = np.zeros(n)
    for turning in (Turn, Screw):
        for i in groups.get(turning, ([], []))[0]:
            at_rest.E[i], offset[i] = split_turn(at_rest.E[i])
    return Model(
        n=n,
        nq=robot._sizes[0],
        nv=robot._sizes[1],
        parents=parents,
        groups=tuple(
            Group(
                motion,
                np.array(b, dtype=np.intp),
                np.array([list(c) for c in q], dtype=np.intp).reshape(len(b), motion.nq),
            )
            for motion, (b, q) in groups.items()
        ),
        rest=at_rest,
        offset=offset,
        pitch=pitch,
        axis=axis,
        carrier=carrier,
        inertia=_inertias(robot, n, links, link_frame),
        armature=_armature(robot),
        gravity=np.array(robot.description.gravity),
        links=links,
        link_frame=_transform(link_frame),
        coupling=_coupling(robot, n, coordinate),
    )


def _transform(poses: np.ndarray) -> Transform:
    turns = np.swapaxes(poses[:, :3, :3], 1, 2).copy()
    turns[np.abs(turns) < 1e-15] = 0.0
    near = np.abs(np.abs(turns) - 1.0) < 1e-15
    turns[near] = np.sign(turns[near])
    return Transform(turns, poses[:, :3, 3].copy())


def _inertias(robot: Robot, n: int, links: np.ndarray, link_frame: np.ndarray) -> Inertia:
    """Inertias about the body frames' origins, welded links added to their carriers."""
    m, h, moment = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    carried = [(link, robot.frames[link.name]) for link in robot.description.links]
    carried = [(link, frame) for link, frame in carried if frame.link >= 0]
    if carried:
        where = np.array([frame.link for _, frame in carried])
        poses = np.array([(*f.pose.rotation, *f.pose.translation) for _, f in carried])
        carrier = link_frame[where]
        turn = carrier[:, :3, :3] @ poses[:, :9].reshape(-1, 3, 3)
        place = np.einsum("kij,kj->ki", carrier[:, :3, :3], poses[:, 9:]) + carrier[:, :3, 3]
        mass = np.array([link.mass for link, _ in carried])
        com = np.einsum("kij,kj->ki", turn, np.array([link.com for link, _ in carried])) + place
        packed = np.array([link.inertia for link, _ in carried])
        own = turn @ packed[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3) @ np.swapaxes(turn, 1, 2)
        square = (
            np.einsum("ki,ki->k", com, com)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
        )
        body = links[where]
        np.add.at(m, body, mass)
        np.add.at(h, body, mass[:, None] * com)
        np.add.at(moment, body, own + mass[:, None, None] * square)
    return Inertia(m, h, moment[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])


def _armature(robot: Robot) -> np.ndarray:
    armature = np.zeros(robot._sizes[1])
    for m in robot._moving:
        if m.joint.armature:
            mimic = robot._drivers.get(m.joint.name)
            ratio = mimic.multiplier if mimic else 1.0
            armature[robot._v_of[m.joint.name]] += ratio**2 * np.array(m.joint.armature)
    return armature


def _coupling(robot: Robot, n: int, coordinates: int) -> Coupling | None:
    if not robot._drivers:
        return None
    q_map, offset = np.zeros((coordinates, robot._sizes[0])), np.zeros(coordinates)
    v_map = np.zeros((n, robot._sizes[1]))
    body = coordinate = 0
    for m in robot._moving:
        q, v = robot._q_of[m.joint.name], robot._v_of[m.joint.name]
        ratio = 1.0
        if mimic := robot._drivers.get(m.joint.name):
            ratio, offset[coordinate] = mimic.multiplier, mimic.offset
        q_map[coordinate : coordinate + m.kind.nq, q] = ratio * np.eye(m.kind.nq)
        v_map[body : body + m.kind.nv, v] = ratio * np.eye(m.kind.nv)
        coordinate += m.kind.nq
        body += m.kind.nv
    return Coupling(q_map, offset, v_map)
