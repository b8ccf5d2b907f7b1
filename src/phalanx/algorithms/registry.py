# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is computed (functions) and by which published method (algorithms)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import index, itemgetter
from types import MappingProxyType
from typing import Any

from ..errors import PhalanxError, listing, nearest, shown
from ..robot import results
from ..robot.dh.chain import link_wrenches_dh
from ..robot.dh.frames import refusal
from ..robot.model import Model, link_wrenches, with_inertias
from ..robot.robot import Robot
from .links import singular_link


class _Integers:
    """Values of an option: any integer from one on."""

    def __contains__(self, value: object) -> bool:
        try:
            return value is not True and index(value) >= 1  # type: ignore[arg-type]
        except TypeError:
            return False

    def __iter__(self) -> Iterator[str]:
        yield "an integer from 1 on"


INTEGERS = _Integers()
VALUE = ".value"  # how names of functions end that also return what they differentiate
NOTHING: Mapping[str, Any] = MappingProxyType({})
# Of which point and along which axes the motion of a frame is given.
REFERENCE = MappingProxyType({"reference": ("world_aligned", "world", "local")})


@dataclass(frozen=True)
class Function:
    """A quantity that users ask for: its inputs, optional inputs and outputs as symbolic sizes.

    Sizes are named `q` (nq), `v` (nv), `l` (n_links), or are numbers; `frame` says that the
    function is asked for one frame of the robot. `choices` are keywords that take one of some words, the
    first by default; its algorithms know them as options. `forces` says which input, or the "result", joint
    forces are.
    """

    name: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    frame: bool = False
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    symbol: str = "result"  # what the literature calls it
    forces: str = ""
    inverts: bool = False  # whether it needs the inverse of the mass matrix
    full_rank: bool = False  # whether its frame must move in all six directions
    motion: bool = False  # whether inertias matter to it as far as they change forces and motions
    value: str = ""  # what it is the derivative of, if it can return that, too
    default: str = ""  # the algorithm that "auto" takes by default, if there are several
    solves: str = ""  # the function that gives its last input if its result stands there instead

    @cached_property
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """Converts the list of output arrays to what users get: the only array, or a named tuple."""
        if "." in self.name and not self.name.endswith(VALUE):
            return itemgetter(0) if self.name.endswith(".jvp") else tuple
        named = len(self.outputs) > 1
        return _named_tuple(self.name.replace(".", "_"))._make if named else itemgetter(0)


@dataclass(frozen=True)
class Algorithm:
    """A published way to compute a function, and which robots it covers.

    `frames` says whose frames its equations are written in: those of the bodies, or the
    Denavit-Hartenberg frames `model.dh`, whose inertias are the links' own about their mass centres.
    `bodies` says what it needs of inertias: "any" will do that gives the same motion, or those of the
    "rigid" links themselves, or these must be "definite", since it inverts them.
    """

    name: str
    function: str
    run: Callable[..., Any] = field(repr=False)
    source: str
    topology: str = "tree"
    joints: str = "all"
    coupled: bool = False
    frames: str = "bodies"  # or "dh"
    bodies: str = "any"  # or "rigid", "definite"
    work: str = "O(n)"
    span: str = "O(depth)"
    symmetric: bool = True  # whether it fills symmetric matrices, if any
    assembles: bool = False  # whether it forms a matrix over all bodies on its way
    side_by_side: bool = False  # whether it solves a problem for each degree of freedom, all at once
    splits: str = ""  # a chain: into "segments" swept side by side, or into "runs" of ancestors
    options: Mapping[str, tuple[Any, ...] | _Integers] = field(default_factory=dict)
    derivative: str = ""  # "jvp", "vjp" or "hvp": its text is differentiated
    valued: bool = False  # whether its text is asked for what it differentiates, too

    @property
    def served(self) -> Function:
        """The function that this computes: the registered one, its derivative, or it with its value."""
        if self.valued:
            return with_value(self.function)
        return derived(self.function, self.derivative) if self.derivative else FUNCTIONS[self.function]

    def __call__(self, model: Model, *inputs: Any, **more: Any) -> Any:
        """The result of the equations for inputs as users give them (in link frames)."""
        model, more = self.in_frames(model, more)
        return self.with_rotors(model, inputs, more)

    def in_frames(self, model: Model, more: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
        """The model with the inertias that are given, and inputs by name in the frames of the equations."""
        more = dict(more)
        if (inertias := more.pop("inertias", None)) is not None:
            model = with_inertias(model, inertias)
        return model, self._in_frames(model, more)

    def _in_frames(self, model: Model, more: Mapping[str, Any]) -> dict[str, Any]:
        external = more.get("external")
        if external is None:
            return {name: value for name, value in more.items() if name != "external"}
        in_dh = self.frames == "dh"
        wrenches = link_wrenches_dh(model.dh, external) if in_dh else link_wrenches(model, external)
        return {**more, "external": wrenches}

    def with_rotors(self, model: Model, inputs: Sequence[Any], more: Mapping[str, Any]) -> Any:
        """The result of the equations, plus the velocity-dependent forces of rotors on moving axes."""
        function = FUNCTIONS[self.function]
        given = dict(zip(function.inputs, inputs, strict=True))
        force = model.rotor_forces(given["qd"]) if function.forces and "qd" in given else None
        if force is not None and function.forces in given:
            given[function.forces] = given[function.forces] - force
        result = self.run(model, *given.values(), **more)
        return result + force if force is not None and function.forces not in given else result

    def refusal(self, robot: Robot) -> str:
        """Why the algorithm does not cover a robot, as the end of a sentence; empty if it does."""
        if robot.is_coupled and not self.coupled:
            return " with its mimic joints"
        if self.frames == "bodies":
            return self._refusal_of_bodies(robot)
        reason: str = robot._memoized(
            ("refusal in DH frames", self.joints), lambda: self._refusal_of_frames(robot)
        )
        return reason

    def _refusal_of_frames(self, robot: Robot) -> str:
        joints = tuple(robot.v_slices)
        reason = refusal(robot.model, joints)
        if not reason and self.joints == "turning" and not robot.model.dh.turns.all():
            reason = f'joint "{joints[robot.model.dh.turns.tolist().index(False)]}" does not turn'
        return reason and f": {reason}"

    def _refusal_of_bodies(self, robot: Robot) -> str:
        if self.topology == "chain" and not robot.is_serial:
            return ": it branches"
        if self.bodies != "definite":
            return ""
        singular = robot._memoized("singular link", lambda: singular_link(robot.model))
        return "" if singular < 0 else f': the inertia of link "{robot.link_names[singular]}" has no inverse'


MODES = ("jvp", "vjp", "hvp")  # of derivatives


@dataclass(frozen=True)
class FunctionSpec:
    """A function of a robot as users name it: `[jvp:|vjp:|hvp:]FUNCTION[+OPTIONAL…][:FRAME]`."""

    function: str
    frame: str | None = None
    derivative: str = ""
    optional: tuple[str, ...] = ()

    @classmethod
    def parse(cls, name: str) -> FunctionSpec:
        """The parts of a name such as "jvp:function:frame"; the function is not looked up."""
        mode, _, rest = name.partition(":")
        if mode not in MODES:
            mode, rest = "", name
        words, _, frame = rest.partition(":")
        function, *optional = words.split("+")
        return cls(function, frame or None, mode, tuple(optional))

    @property
    def is_plain(self) -> bool:
        """Whether it is a registered function itself, of a frame if and only if it needs one."""
        f = FUNCTIONS.get(self.function)
        return f is not None and not (self.derivative or self.optional) and f.frame == bool(self.frame)


@cache
def derived(function: str, mode: str) -> Function:
    """A derivative of a function as a function of more inputs.

    "jvp" is that along tangents, "vjp" that of the result times a cotangent with respect to each input, "hvp"
    the derivative of the latter along tangents. All are in the tangent space of q.
    """
    f = FUNCTIONS[function]
    (output,) = f.outputs.values()
    cotangent = {} if mode == "jvp" else {"cotangent": output}
    tangents = {} if mode == "vjp" else {f"d{name}": ("v",) for name in f.inputs}
    outputs = f.outputs if mode == "jvp" else dict.fromkeys(f.inputs, ("v",))
    return replace(
        f, name=f"{function}.{mode}", inputs={**f.inputs, **cotangent, **tangents}, outputs=outputs, forces=""
    )


@cache
def with_value(function: str) -> Function:
    """A function of several derivatives that also returns what they are the derivatives of."""
    f = FUNCTIONS[function]
    return replace(f, name=function + VALUE, outputs={**f.outputs, f.value: ("v",)})


@cache
def _named_tuple(function: str) -> Any:
    """The class of several results, as `robot/results.py` declares it."""
    return vars(results)["".join(map(str.capitalize, function.split("_")))]


FUNCTIONS: dict[str, Function] = {}
ALIASES = {"rnea": "inverse_dynamics", "crba": "mass_matrix", "aba": "forward_dynamics"}  # other names
ALGORITHMS: dict[str, dict[str, Algorithm]] = {}


def function(name: str, inputs: Mapping[str, Any], output: Any, **more: Any) -> None:
    """Make a function known with its output, or several by name."""
    outputs = output if isinstance(output, Mapping) else {more.get("symbol", "result"): output}
    outputs = MappingProxyType({label: tuple(sizes) for label, sizes in outputs.items()})
    FUNCTIONS[name] = Function(name, MappingProxyType(dict(inputs)), outputs, **more)
    ALGORITHMS[name] = {}


def algorithm(function: str, *, name: str | None = None, **facts: Any) -> Callable[[Any], Any]:
    """Register the decorated equations as an algorithm of `function`."""

    def register(run: Any) -> Any:
        entry = Algorithm(name or run.__name__, function, run, **facts)
        ALGORITHMS[function][entry.name] = entry
        return run

    return register


def default_algorithm(function: str) -> Algorithm:
    """The algorithm that the registry names as the default, or the only one."""
    known, name = ALGORITHMS[function], FUNCTIONS[function].default
    if not name and len(known) > 1:
        raise ValueError(
            f"{function}: several algorithms ({listing(known)}) but no default; name it in the registry."
        )
    return known[name] if name else next(iter(known.values()))


def find(function: str, name: str) -> Algorithm:
    """The algorithm of that name, or an error naming the nearest."""
    known = functions_algorithms(function)
    if not isinstance(name, str) or name not in known:
        raise PhalanxError(
            f"{function}: unknown algorithm {shown(name)};{nearest(name, known, what='algorithms')}"
        )
    return known[name]


def require_covered(robot: Robot, chosen: Algorithm) -> None:
    """Raise if an algorithm does not cover a robot, naming the reason and those that do."""
    if not (reason := chosen.refusal(robot)):
        return
    others = [a.name for a in ALGORITHMS[chosen.function].values() if not a.refusal(robot)]
    remedy = ', or load the robot with mimic="independent"' if robot.is_coupled else ""
    raise PhalanxError(
        f'{chosen.function}: algorithm "{chosen.name}" does not cover robot "{robot.name}"{reason}; '
        f"use {listing(others)}{remedy}."
    )


def functions_algorithms(function: str) -> dict[str, Algorithm]:
    """The algorithms of a function by name, or an error naming the nearest function."""
    if not isinstance(function, str) or function not in ALGORITHMS:
        raise PhalanxError(
            f"unknown function {shown(function)};{nearest(function, ALGORITHMS, what='functions')}"
        )
    return ALGORITHMS[function]


def algorithms(function: str) -> list[Algorithm]:
    """The algorithms of a function: name, source, topology, joints, work, span, options."""
    return list(functions_algorithms(function).values())


EXTERNAL = {"external": ("l", "6")}
BASE = {"base_velocity": ("6",), "base_acceleration": ("6",)}
INERTIAS = {"inertias": ("l", "10")}

function(
    "inverse_dynamics",
    {"q": "q", "qd": "v", "qdd": "v"},
    "v",
    optional=EXTERNAL | BASE | INERTIAS,
    symbol="tau",
    forces="result",
    motion=True,
    default="cartesian_tensor",
)
function("mass_matrix", {"q": "q"}, "vv", optional=INERTIAS, symbol="M", motion=True, default="crba")
function(
    "forward_dynamics",
    {"q": "q", "qd": "v", "tau": "v"},
    "v",
    optional=EXTERNAL | INERTIAS,
    symbol="qdd",
    forces="tau",
    inverts=True,
    motion=True,
    default="aba",
    solves="inverse_dynamics",
)
function("bias_forces", {"q": "q", "qd": "v"}, "v", optional=INERTIAS, forces="result", motion=True)
function("gravity_forces", {"q": "q"}, "v", optional=INERTIAS, motion=True)
function("mass_matrix_inverse", {"q": "q"}, "vv", optional=INERTIAS, inverts=True, motion=True)
function("forward_kinematics", {"q": "q"}, "l44")
function("frame_pose", {"q": "q"}, "44", frame=True)
function("jacobian", {"q": "q"}, "6v", frame=True, choices=REFERENCE)
function("center_of_mass", {"q": "q"}, "3", optional=INERTIAS)
function("kinetic_energy", {"q": "q", "qd": "v"}, "", optional=INERTIAS)
function("potential_energy", {"q": "q"}, "", optional=INERTIAS)
function(
    "inverse_dynamics_derivatives",
    {"q": "q", "qd": "v", "qdd": "v"},
    {"dq": "vv", "dqd": "vv", "dqdd": "vv"},
    optional=EXTERNAL | INERTIAS,
    motion=True,
    default="idsva",
    value="tau",
)
function(
    "forward_dynamics_derivatives",
    {"q": "q", "qd": "v", "tau": "v"},
    {"dq": "vv", "dqd": "vv", "dtau": "vv"},
    optional=EXTERNAL | INERTIAS,
    forces="tau",
    inverts=True,
    motion=True,
    value="qdd",
)
function("coriolis_matrix", {"q": "q", "qd": "v"}, "vv", optional=INERTIAS, symbol="C", motion=True)
function("regressor", {"q": "q", "qd": "v", "qdd": "v"}, ("v", "10l"), symbol="Y")
function("centroidal_momentum", {"q": "q", "qd": "v"}, "6", optional=INERTIAS, symbol="h")
function("centroidal_momentum_matrix", {"q": "q"}, "6v", optional=INERTIAS, symbol="A")
function(
    "centroidal_momentum_time_variation",
    {"q": "q", "qd": "v", "qdd": "v"},
    "6",
    optional=INERTIAS,
    symbol="hd",
)
function("center_of_mass_jacobian", {"q": "q"}, "3v", optional=INERTIAS, symbol="J")
function("center_of_mass_velocity", {"q": "q", "qd": "v"}, "3", optional=INERTIAS)
function("center_of_mass_acceleration", {"q": "q", "qd": "v", "qdd": "v"}, "3", optional=INERTIAS)
function(
    "operational_space_inertia",
    {"q": "q"},
    "66",
    optional=INERTIAS,
    frame=True,
    choices=REFERENCE,
    symbol="Lambda",
    inverts=True,
    full_rank=True,
    motion=True,
    default="ltl",
)
function("frame_velocity", {"q": "q", "qd": "v"}, "6", frame=True, choices=REFERENCE, symbol="V")
function(
    "frame_acceleration",
    {"q": "q", "qd": "v", "qdd": "v"},
    "6",
    frame=True,
    choices=REFERENCE,
    symbol="A",
)
function("jacobian_time_derivative", {"q": "q", "qd": "v"}, "6v", frame=True, choices=REFERENCE, symbol="Jd")
function("kinematic_hessian", {"q": "q"}, "6vv", frame=True, choices=REFERENCE, symbol="dJ")
