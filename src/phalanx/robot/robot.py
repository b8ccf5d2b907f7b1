# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robot: an immutable robot, its facts and its changed copies; no algorithm.

The methods that compute are declared in `functions` and `api`; `methods`, which lies below the algorithms,
gives them their code.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ..arrays import real_array
from ..errors import PhalanxError, nearest, printable, shown, warn
from ..files import write_text
from ..typing import Array, ArrayLike, Convention, Generator, InertiaLike, Source, Vector
from ..typing import Path as PathLike
from . import actuation, changes, configurations, constraint, editing, formulas
from .actuation import Actuation
from .api import EntryPoints
from .assembly import BASE, Coordinates, Frame, assemble, judge_inertias
from .configurations import Limits, per_rate
from .constrained import ConstrainedFunctions
from .description import Actuator, Constraint, Description, LoopClosure, Mimic
from .dh.frames import require_chain
from .dh.table import DHTable, table_of
from .functions import Functions
from .model import frozen, link_parameters

T = TypeVar("T")
PerJoint: TypeAlias = float | Vector | Mapping[str, float | Vector]
Actuators: TypeAlias = Sequence[str | Actuator] | Mapping[str, float | Mapping[str, Any]]


class FileFormats(NamedTuple):
    """Readers and writers of descriptions, which `io` registers since `Robot` cannot import it."""

    description_from_dh: Callable[..., Description]
    json_of: Callable[[Description], str]
    urdf_of: Callable[[Description, Mapping[str, Mimic]], tuple[str, list[str]]]  # and what URDF cannot hold
    with_srdf: Callable[[Description, Any], Description]


class Robot(Functions, ConstrainedFunctions, EntryPoints):
    """An immutable robot; made by `px.load`, the generators or `px.RobotBuilder`.

    Safe to share between threads; pickles and copies by its description. `description` has its links and
    joints as the file gives them.
    """

    _formats: ClassVar[FileFormats]  # set by `io.loading`

    def __init__(self, description: Description, *, strict: bool = False, warn: bool = True) -> None:
        self.description = description
        self._assembly = assemble(description, strict=strict, warn=warn)
        self._memo: dict[Hashable, Any] = {}
        self.model = self._assembly.model

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
        """Every link and frame of the file by name, with the moving link that carries it."""
        return MappingProxyType(self._assembly.frames)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Every link of the file, welded or not, then its other frames (sites of MJCF)."""
        return tuple(self.frames)

    @cached_property
    def parents(self) -> np.ndarray:
        """Parent link of each link, -1 = world."""
        return frozen(np.array([m.parent for m in self._assembly.moving], dtype=np.intp))

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
        """Rotor inertia seen by each degree of freedom (nv,), added to the diagonal of the mass matrix."""
        armature: np.ndarray = self.model.armature
        return armature

    @cached_property
    def limits(self) -> Limits:
        """Limits of positions, velocities and efforts."""
        return configurations.limits_of(self._assembly)

    @cached_property
    def _coordinates(self) -> tuple[Coordinates, ...]:
        """The type of each joint, and the slices of its coordinates in q and of its rates in qd."""
        return self._assembly.coordinates

    @cached_property
    def inertial_parameters(self) -> np.ndarray:
        """Ten parameters of each link (10 n_links,) with what is welded to it.

        They are its mass, first moment and moments of inertia xx, xy, xz, yy, yz, zz about its origin, in its
        frame.
        """
        return frozen(link_parameters(self.model).ravel())

    @cached_property
    def damping(self) -> np.ndarray:
        """Viscous damping as the file gives it (nv,); applied in simulations only."""
        return per_rate(self._assembly, "damping", 0.0)

    @cached_property
    def friction(self) -> np.ndarray:
        """Dry friction as the file gives it (nv,); applied in simulations only."""
        return per_rate(self._assembly, "friction", 0.0)

    @cached_property
    def stiffness(self) -> np.ndarray:
        """Stiffness of the joints' springs as the file gives it (nv,); applied in simulations only."""
        return per_rate(self._assembly, "stiffness", 0.0)

    @cached_property
    def spring_reference(self) -> np.ndarray:
        """Coordinates (nq,) at which the joints' springs are at rest; neutral where there is none."""
        return configurations.spring_reference(self._assembly)

    @cached_property
    def link_masses(self) -> np.ndarray:
        """Mass of each moving link with what is welded to it (n_links,)."""
        return frozen(self.model.inertia.m[self.model.links])

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

    @property
    def loops(self) -> tuple[LoopClosure, ...]:
        """The joints of the file that close loops; `constraints` has them as constraints."""
        return self.description.loops

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of `constrained_dynamics` and its relatives: the file's closed loops, then others.

        `forward_dynamics` and the other functions of the tree know nothing of them.
        """
        if not self.description.loops and not self.description.constraints:
            return ()
        for c in self.description.constraints:
            constraint.check(self, c, f'robot "{self.name}"')
        return constraint.constraints_of(self.description)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The kinds of elements in the file that are ignored, with counts: ("6 actuators", "1 keyframe")."""
        return self.description.left_out

    @cached_property
    def actuated(self) -> Actuation:
        """The inputs: of MJCF actuators, URDF transmissions or `with_actuation`, else one for each joint.

        `actuated.matrix @ u` are joint forces; free joints and floating bases have no inputs of their own.
        """
        return actuation.actuation_of(self._assembly)

    @cached_property
    def coupling(self) -> np.ndarray:
        """G (nv with mimic="independent", nv): rates of all joints are G @ qd, forces G.T @ theirs."""
        coupling = self.model.coupling
        return frozen(np.eye(self.nv) if coupling is None else np.array(coupling.A))

    @cached_property
    def depth(self) -> int:
        """Number of joints on the longest path from the world to a link."""
        depth: list[int] = []
        for p in self.parents.tolist():
            depth.append(1 if p < 0 else depth[p] + 1)
        return max(depth, default=0)

    @cached_property
    def q_slices(self) -> Mapping[str, slice]:
        """The slice of each joint's coordinates in q; the floating base under the empty name."""
        return MappingProxyType(self._assembly.q_of)

    @cached_property
    def v_slices(self) -> Mapping[str, slice]:
        """The slice of each joint's rates in qd; the floating base under the empty name."""
        return MappingProxyType(self._assembly.v_of)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything that the equations see."""
        m = self.model
        sha = hashlib.sha256(f"{m.n} {m.nq} {m.nv} {[g.motion.__name__ for g in m.groups]}".encode())
        for array in (*m.indices(), *m.constants()):
            sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()

    def _memoized(self, key: Hashable, make: Callable[[], T]) -> T:
        """The memoized result of `make()` for this key; robots never change."""
        try:
            found: T = self._memo[key]
        except KeyError:
            found = self._memo.setdefault(key, make())
        return found

    def frame(self, name: Any) -> Frame:
        """The frame of that name, or an error naming the nearest."""
        try:
            return self.frames[name]
        except (KeyError, TypeError):
            raise PhalanxError(
                f'robot "{self.name}" has no frame {shown(name)};{nearest(name, self.frames, what="frames")}'
            ) from None

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") and name != "model"]

    def __repr__(self) -> str:
        name, shape = printable(self.name), "chain" if self.is_serial else "tree"
        more = [f"{len(self.mimics)} joints follow others"] if len(self.mimics) > 1 else []
        more += ["1 joint follows another"] if len(self.mimics) == 1 else []
        count = len(constraint.constraints_of(self.description))
        more += [f"{count} constraint{'s' * (count > 1)}"] if count else []
        facts = ", ".join([f"nq = {self.nq}", f"nv = {self.nv}", *more])
        return f'<Robot "{name}": {shape} of {self.n_links} links, {facts}>'

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
    def from_dh(
        cls,
        rows: Sequence[Mapping[str, Any]],
        convention: Convention = "standard",
        *,
        strict: bool = False,
        **more: Any,
    ) -> Robot:
        """The robot of a Denavit-Hartenberg table; rows and keywords as in a DH file.

        `strict` refuses inertias that no rigid body has.
        """
        return cls(cls._formats.description_from_dh(rows, convention=convention, **more), strict=strict)

    def to_dh(self) -> DHTable:
        """The Denavit-Hartenberg table (standard) of a serial chain, with base and tool frames."""
        joints = [m.joint for m in self._assembly.moving]
        require_chain(self.model, self.name, [joint.name for joint in joints])
        return table_of(self.model.dh, self.description, joints)

    def save(self, path: PathLike) -> None:
        """Write a file by its suffix: ".json" or none keeps every bit, ".urdf" is for other tools.

        What was there before is replaced in one step, once the new file is complete.
        """
        if not isinstance(path, (str, os.PathLike)):
            raise PhalanxError(f"save: got {type(path).__name__}, expected a path.")
        suffix = Path(os.fsdecode(path)).suffix
        if suffix.lower() == ".urdf":
            self.to_urdf(path)
        elif suffix.lower() in ("", ".json"):
            write_text(path, self._formats.json_of(self.description), where="save")
        else:
            raise PhalanxError(
                f'save: no format for the suffix "{suffix}" of "{os.fsdecode(path)}"; expected ".json" or '
                'none (every bit of the robot) or ".urdf" (for other tools).'
            )

    def to_urdf(self, path: PathLike | None = None) -> str:
        """The robot as URDF text, written to `path` if that is given; links keep their names and poses.

        Joints that URDF lacks become several with massless links between. One warning names what it
        cannot hold (armature, another gravity, a floating base); robots have no shapes.
        """
        text, lost = self._formats.urdf_of(self.description, self.mimics)
        if path is not None:
            write_text(path, text, where="to_urdf")
        if lost:
            warn(
                f'to_urdf: URDF cannot hold everything of robot "{self.name}"; left out: {"; ".join(lost)}. '
                'robot.save("….json") keeps it.'
            )
        return text

    # ----------------------------------------------------------------- changed copies

    def replace(
        self,
        *,
        gravity: Vector | None = None,
        armature: PerJoint | None = None,
        damping: PerJoint | None = None,
        friction: PerJoint | None = None,
        stiffness: PerJoint | None = None,
        spring_reference: Vector | Mapping[str, float | Vector] | None = None,
        limits: Limits | Mapping[str, Any] | None = None,
        actuated: Actuators | None = None,
        name: str | None = None,
    ) -> Robot:
        """A copy with another gravity (3,), name, or other numbers of its joints.

        `armature`, `damping`, `friction` and `stiffness` are one number for all joints of one axis (others
        then have none), values (nv,), or a mapping from some joints to theirs such as {"elbow": 0.1};
        `spring_reference` has values (nq,) or a mapping. In mappings of armature "" names a floating base.
        `limits` are as `robot.limits`, or a mapping from joints to (lower, upper) or to some of {"lower": …,
        "upper": …, "velocity": …, "effort": …}, None being no limit. Values (nv,) leave the numbers of mimic
        joints as they are, except armature, which includes theirs. `actuated` is as in `with_actuation`.
        """
        numbers = {
            "armature": armature,
            "damping": damping,
            "friction": friction,
            "stiffness": stiffness,
            "spring_reference": spring_reference,
        }
        robot = _rebuild(changes.replaced(self._assembly, gravity, numbers, limits, name))
        return robot if actuated is None else robot.with_actuation(actuated)

    def fix(self, joints: Mapping[str, float | Vector]) -> Robot:
        """A smaller robot with the named joints welded at the given coordinates."""
        return _rebuild(changes.welded(self._assembly, joints))

    def with_floating_base(self) -> Robot:
        """The robot with its base link free to move (first link, first coordinates)."""
        return _rebuild(replace(self.description, floating_base=True))

    def with_payload(
        self, link: str, mass: float, com: Vector = (0.0, 0.0, 0.0), inertia: InertiaLike | None = None
    ) -> Robot:
        """The robot carrying a body welded to a link or frame; `com` in that frame, `inertia` about `com`."""
        self.frame(link)
        new, body = changes.loaded(self.description, link, mass, com, inertia)
        robot = _rebuild(new)
        judge_inertias(body, strict=False, remedy="check mass, com and inertia")  # `_rebuild` is silent
        return robot

    def with_actuation(self, actuators: Actuators) -> Robot:
        """The robot with these inputs: see `robot.actuated`.

        Given are names of joints, which have an input for each degree of freedom; or a mapping from joints to
        gears, {"elbow": 100.0}, or to some of {"gear": …, "rotor_inertia": …, "lower": …, "upper": …}, the
        bounds being those of the input. Under any other name, "joints": {"elbow": 0.5, "wrist": -0.5} is a
        tendon with these coefficients. A rotor's inertia, in front of the gear, replaces the joint's
        armature by gear² times itself.
        """
        return _rebuild(actuation.actuated(self._assembly, actuators))

    def with_configuration(self, name: str, q: Vector | Mapping[str, float | Vector]) -> Robot:
        """The robot with named coordinates `q` (nq,), or those of some joints, in `robot.configurations`."""
        return _rebuild(changes.configured(self._assembly, name, q))

    def with_srdf(self, source: Source) -> Robot:
        """The robot with the <group_state>s of an SRDF file, or text of one, in `robot.configurations`.

        States of one name, of several groups, are one configuration. Values of "root_joint" or of the
        <virtual_joint> are the floating base's. One warning counts what else the file has (groups, pairs
        without collision checks); `robot.left_out` lists it.
        """
        return _rebuild(self._formats.with_srdf(self.description, source))

    def with_frame(self, name: str, parent: str, pose: ArrayLike | None = None) -> Robot:
        """The robot with a frame such as a tool centre point; `pose` (4, 4) in the parent link's or frame's.

        A translation (3,) is a pose too.
        """
        return _rebuild(editing.framed(self.description, name, parent, pose))

    def attach(
        self,
        other: Robot,
        frame: str,
        pose: ArrayLike | None = None,
        *,
        prefix: str = "",
        joint: str | None = None,
    ) -> Robot:
        """The robot with another one mounted on a link or frame, its base welded there at `pose` (4, 4).

        The mounted robot's links, joints and frames get the prefix, its coordinates come last. Gravity is
        that of this robot, and a floating base of the other one floats no more. `joint` names the mount.
        """
        require_robot(other, "attach")
        new = editing.attached(self.description, other.description, frame, pose, prefix, joint)
        return _rebuild(new)

    def merge(
        self,
        other: Robot,
        *,
        poses: Sequence[ArrayLike | None] | None = None,
        prefixes: Sequence[str] | None = None,
        name: str | None = None,
    ) -> Robot:
        """Two robots side by side in one world: coordinates of this one, then of the other.

        `poses` are those of both bases in the world, `prefixes` are put before the names of both. A floating
        base becomes the joint `<prefix>floating_base`, its coordinates from the given pose on.
        """
        require_robot(other, "merge")
        return _rebuild(editing.merged(self.description, other.description, poses, prefixes, name))

    def remove(self, link: str) -> Robot:
        """The robot without a link and all that it carries, such as a gripper; or without a frame."""
        return _rebuild(editing.removed(self.description, link))

    def subtree(self, link: str, *, name: str | None = None) -> Robot:
        """A link and all that it carries as a robot of its own, whose base is that link; it is fixed."""
        return _rebuild(editing.subtree(self.description, link, name))

    def reroot(self, link: str) -> Robot:
        """The robot with another link as its base: the joints on the way there lead the other way.

        Links keep their frames and inertias. Revolute, continuous, prismatic and helical joints keep their
        coordinates, those of a universal one change places, those of spherical, planar and floating ones
        are of the inverse motion. The new base stands where the old one stood, or floats.
        """
        return _rebuild(editing.rerooted(self.description, link))

    def with_constraint(self, *constraints: Constraint) -> Robot:
        """The robot with one more constraint, or several, as `px.constraint.point` and others make them."""
        return _rebuild(constraint.with_constraints(self, constraints))

    # ------------------------------------------------------------------- configurations

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """Named coordinates (nq,), from an SRDF file or by hand; joints that are not named are at zero."""
        return MappingProxyType(configurations.named(self._assembly))

    def neutral(self) -> np.ndarray:
        """Coordinates (nq,) with every joint at zero."""
        return configurations.neutral(self._assembly)

    def random_state(
        self, batch: int | Sequence[int] = (), rng: Generator | None = None
    ) -> tuple[Array, Array, Array]:
        """Random q (…, nq), qd (…, nv), qdd (…, nv): as many states as `batch`, a number or a shape.

        q lies within limits (else ±pi), qd and qdd are normal, qd clipped to its limits. `rng` is a seed or a
        `numpy.random.Generator`.
        """
        return configurations.random_state(self._assembly, self.limits, batch, rng)

    def wrenches(self, given: Mapping[str, ArrayLike]) -> Array:
        """Wrenches (…, n_links, 6) on all links from {"link": wrench} (…, 6), each in its own frame.

        What `external={"link": wrench}` does; any frame of the file is a link here.
        """
        made: Array = self._wrenches(given, lambda value, where: real_array(value, where, self.name))
        return made

    def _wrenches(self, given: Mapping[str, Any], read: Callable[[Any, str], Any]) -> Any:
        """`wrenches` for values that `read(value, where)` makes arrays of."""
        return configurations.wrenches(self._assembly, given, read)

    def expand(self, q: ArrayLike) -> Array:
        """Coordinates (…, nq with mimic="independent") of all joints at `q` (…, nq), followers included."""
        return configurations.expand(self._assembly, q)

    def integrate(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Coordinates (…, nq) reached from `q` (…, nq) with the constant rates `dq` (…, nv) for unit time."""
        return formulas.integrate(self, q, dq)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """The rates dq (…, nv) with integrate(q0, dq) equal to q1; `q0` and `q1` are (…, nq)."""
        return formulas.difference(self, q0, q1)

    def normalize(self, q: ArrayLike) -> Array:
        """Coordinates (…, nq) as `q` (…, nq), with every quaternion at unit length."""
        return formulas.normalize(self, q)

    def _formula(
        self,
        name: str,
        inputs: Mapping[str, tuple[int, ...]],
        outputs: Mapping[str, tuple[int, ...]],
        run: Callable[..., Any],
    ) -> Any:
        """Machine code of a function of arrays of these shapes, None if there is none; `methods` has it."""
        return None


def _rebuild(description: Description) -> Robot:
    return Robot(description, warn=False)  # the original has already warned about its inertias


def require_robot(value: Any, where: str) -> None:
    """Raise unless the value is a robot; names and files are for `px.load`."""
    if not isinstance(value, Robot):
        raise PhalanxError(f"{where}: got {shown(value)}, expected a Robot; px.load reads or finds one.")
