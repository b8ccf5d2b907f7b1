# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile simulations: control laws, forces and records that are random programs, and arguments of all kinds.

A law is source text, so that it has a signature, lines and keywords as users' functions have. Robots have one
or two joints and rollouts few steps: a case that compiles takes some twenty milliseconds.
"""

from __future__ import annotations

import itertools
import warnings
from functools import cache
from random import Random
from typing import Any

import numpy as np

import phalanx as px
from phalanx.simulation.integrators import INTEGRATORS

from .pool import state
from .values import REAL, anything, numbers

NAMED = ("gain", "target", "wind")  # parameters of laws
RECORDS = ("q", "qd", "tau", "qdd", "energy", "kinetic_energy", "center_of_mass", "mass_matrix")


@cache
def robots() -> list[px.Robot]:
    ball = px.tree(1, seed=2, joints=("spherical",))
    return [px.chain(1), px.load("two_link"), px.tree(2, seed=3, joints=("prismatic", "helical")), ball]


def near(rng: Random, *values: Any, odds: float = 0.08) -> Any:
    return anything(rng) if rng.random() < odds else rng.choice(values)


def law_case(seed: int) -> None:
    """Make a simulation from a seed and use it once."""
    rng = Random(f"law {seed}")
    rng.choices((_simulated, _builtin_law, _surrounded), (7, 2, 2))[0](rng)


# ------------------------------------------------------------------------ programs

_UNARY = ("np.sin({})", "np.cos({})", "np.tanh({})", "np.exp(-np.abs({}))", "-{}", "({} ** 2)", "np.abs({})")
_BINARY = ("({} + {})", "({} - {})", "({} * {})", "np.maximum({}, {})", "np.minimum({}, {})", "({} / {})")
_MORE = (
    *("np.where({} > {}, {}, 0.0)", "np.clip({}, -1.0, 1.0)", "np.sqrt(np.abs({}))", "np.arctan2({}, {})"),
    *("np.log(np.abs({}) + 1.0)", "np.sum({}) * {}", "np.cumsum({})", "np.interp({}, [0, 1, 2], [0, 5, 1])"),
    *("np.sign({})", "np.linalg.norm({}) * {}", "np.concatenate([{}, {}])[:NV]", "np.stack([{}, {}])[0]"),
)
# What cannot be recorded, is no array, or is nobody's force.
_WRONG = (
    *(
        "math.sin(({})[0])",
        "float(({})[0])",
        "int(({})[0])",
        "bool(({})[0])",
        "({}).tolist()",
        "str({})",
        "None",
    ),
    *(
        "np.linalg.inv({})",
        "np.fft.fft({})",
        "np.random.rand(NV) * {}",
        "({} if q[0] > 0 else {})",
        "1j * {}",
    ),
    *(
        "np.nan * {}",
        "np.inf * {}",
        "({})[5]",
        "({})[q]",
        "({})[:, None]",
        "np.array(['a']) + {}",
        "(lambda: {})",
    ),
    *(
        "[{}, {}]",
        "{{'a': {}}}",
        "np.zeros((0,)) + {}",
        "np.float32(1) * {}",
        "1e308 * {} * 1e308",
        "q0 + {}",
    ),
    *(
        "hash({})",
        "len({})",
        "sorted({})",
        "[x for x in {}]",
        "next(iter({}))",
        "({}).astype(int)",
        "{} @ {}",
    ),
    *("np.sum({}, axis=3)", "np.reshape({}, (7, 7))", "{} // 1", "{} % 2.0", "np.sort({})", "np.argmax({})"),
    *("np.take({}, [0, 9])", "np.einsum('i,j->ij', {}, {})", "np.dot({}, {}) * q", "np.where({})", "(yield)"),
    *("robot.mass_matrix({}) @ {}", "robot.nothing({})", "robot.frame_pose({}, 'nowhere')", "robot.jax({})"),
    *("np.broadcast_to({}, (10**13, NV))", "np.tile({}, 3)", "np.outer({}, {})", "np.ones(10**4) * ({})[0]"),
)
_ROBOT = (
    *("robot.gravity_forces(q)", "robot.bias_forces(q, qd)", "robot.inverse_dynamics(q, qd, {})"),
    *(
        "robot.mass_matrix(q) @ {}",
        "robot.jacobian(q, FRAME).T @ np.ones(6)",
        "robot.frame_pose(q, FRAME)[0, :1]",
    ),
    *("robot.difference(q, q)", "robot.kinetic_energy(q, qd) * {}", "robot.forward_dynamics(q, qd, {})"),
)
# Statements before the result.
_BEFORE = (
    *(
        "q[0] = 1.0",
        "q += 1.0",
        "global kept; kept = q",
        "raise ValueError('no \\x1b[2J')",
        "1 / 0",
        "import os",
    ),
    *(
        "assert q[0] > 0",
        "while q[0] > 0: q = q - 1",
        "for _ in range(3): qd = qd + q",
        "del q",
        "u.shape = (9,)",
    ),
    *(
        "x = [q[k] for k in range(len(q))]",
        "counter.append(1); qd = qd * len(counter)",
        "robot.nv = 3",
        "pass",
    ),
    *(
        "raise px.PhalanxError('mine')",
        "qd = qd.copy(); qd[0] = 0.0",
        "out = np.zeros(NV); out[:] = qd",
        "q.sort()",
    ),
    *(
        "raise StopIteration",
        "raise RecursionError",
        "law(t, q, qd, u, robot)",
        "np.add(q, q, out=q)",
        "q.fill(0)",
    ),
)


def expression(rng: Random, depth: int, hostile: float, leaves: tuple[str, ...]) -> str:
    """A random expression over the arguments of a law."""
    if depth == 0:
        return rng.choice(leaves) if rng.random() < 0.8 else repr(rng.choice((*REAL[:6], 2, True)))
    draw = rng.random()
    if draw < hostile:
        form = rng.choice(_WRONG)
    elif draw < hostile + 0.15:
        form = rng.choice(_ROBOT)
    elif draw < hostile + 0.3:
        form = rng.choice(_MORE)
    else:
        form = rng.choice(_UNARY + 2 * _BINARY)
    blanks = form.count("{}")
    return form.format(*(expression(rng, depth - 1, hostile, leaves) for _ in range(blanks)))


def function(rng: Random, robot: px.Robot, result: str, *, hostile: float, own: tuple[str, ...] = ()) -> Any:
    """A function of Python from text: mostly with the right arguments, its result an expression."""
    head = ", ".join(("t", "q", "qd", "u", "robot", *(("*", *own) if own else ())))
    wrong = ("q, qd", "t, q, qd, u, robot, missing", "*everything", "t, q, qd, u, robot, /", "**anything", "")
    if rng.random() < hostile:
        head = rng.choice((*wrong, f"{head}, more=1.0" if own else "t, q, qd, u, robot, *, gain=None"))
    body = [rng.choice(_BEFORE)] if rng.random() < hostile + 0.03 else []
    if rng.random() < 0.02:  # long ones
        body += ["x = qd", *(f"x = np.sin(x) + {k}.5 * q[0]" for k in range(rng.choice((50, 300))))]
    text = "\n    ".join([f"def law({head}):", *body, f"return {result}"])
    text = text.replace("NV", str(robot.nv)).replace("FRAME", repr(robot.frame_names[-1]))
    import math

    names: dict[str, Any] = {"np": np, "px": px, "math": math, "counter": [], "q0": robot.neutral()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Python's compiler, about odd expressions
        exec(compile(text, "law of a case", "exec"), names)
    made = names["law"]
    if rng.random() < 0.03:
        return rng.choice((functionless(made), staticmethod(made), [made], made.__code__, type, np.sin))
    return made


def functionless(made: Any) -> Any:
    """The same as an object without a name."""

    class Law:
        controls = 3.5

        def __call__(self, *given: Any) -> Any:
            return made(*given)

    return Law()


# ------------------------------------------------------------------------ cases


def _options(rng: Random, robot: px.Robot) -> dict[str, Any]:
    """Keywords of a simulation, few of them wrong."""
    made: dict[str, Any] = {}
    for name, odds, values in (
        ("dt", 0.5, (1e-3, 4e-3, 1e-9, 10.0)),
        ("integrator", 0.7, tuple(INTEGRATORS)),
        ("damping", 0.1, (True, False)),
        ("friction", 0.1, (True, False)),
        ("limits", 0.1, (True, False)),
        ("springs", 0.1, (True, False)),
        ("dtype", 0.2, ("float64", "float32", np.float32, "float16")),
        ("controls", 0.1, (0, 1, robot.nv, 3, 60, 50_001, 10**9)),
        ("divergence", 0.1, (1e10, 1.0, np.inf)),
    ):
        if rng.random() < odds:
            made[name] = near(rng, *values, odds=0.06)
    return made


def _parameters(rng: Random, robot: px.Robot, names: tuple[str, ...]) -> Any:
    """What a simulation declares."""
    sizes = {name: rng.choice((1, robot.nv, (robot.nv,), (1, 1), (2, 3))) for name in names}
    if rng.random() < 0.25:
        own = ("gravity", "armature", "damping", "friction", "stiffness", "effort", "inertias")
        counts = {"gravity": 3, "inertias": (robot.n_links, 10)}
        sizes |= {name: counts.get(name, robot.nv) for name in rng.sample(own, 2)}
    if rng.random() < 0.06:
        word = near(rng, "gain", "mass", "gravitiy", "class", "", "a b")
        try:
            sizes[word] = near(rng, 0, -1, 10**9, (2, 10**9), "3", 2.0, odds=0.4)
        except TypeError:
            return anything(rng)
    return near(rng, sizes, odds=0.03)


def _simulated(rng: Random) -> None:
    """A law, forces or neither."""
    robot = rng.choice(robots()[: rng.choice((2, 2, 4))])
    hostile = rng.choice((0.0, 0.0, 0.05, 0.25))
    own = tuple(rng.sample(NAMED, rng.choice((0, 0, 1, 2))))
    leaves = ("q", "qd", "u", "t * qd", *own) if robot.nq == robot.nv else ("qd", "u", "t * qd", *own)
    options = _options(rng, robot)
    if own or rng.random() < 0.2:
        options["parameters"] = _parameters(rng, robot, own)
    result = expression(rng, rng.randrange(4), hostile, leaves)
    if rng.random() < 0.75:
        shaped = result if rng.random() < 0.3 else f"qd * 0.0 + {result}"
        options["control"] = function(rng, robot, shaped, hostile=hostile, own=own)
    else:
        frame = near(rng, *robot.frame_names, "nowhere", odds=0.05)
        wrench = f"np.concatenate([np.zeros(3), ({result})[:1], np.ones(2)])"
        forms = ("{{{0!r}: {1}}}", "{{{0!r}: {2}}}", "{1}", "[{{{0!r}: {1}}}]", "{{3: {1}}}")
        form = rng.choice((forms[0], forms[0], forms[0], *forms))
        name = frame if isinstance(frame, str) else "x"
        one = function(rng, robot, form.format(name, wrench, result), hostile=hostile, own=own)
        options["forces"] = near(rng, one, [one], [one, one], (), odds=0.1)
    _used(rng, robot, robot.simulation(**options))


def _gain(rng: Random, size: int) -> Any:
    return near(rng, 1.0, 5, "kp", np.ones(size), [1.0] * size, -1.0, 0.0, 1e300, np.nan, odds=0.15)


def _builtin_law(rng: Random) -> None:
    """A law of `px.control` with gains of all kinds."""
    robot = rng.choice(robots())
    nv = robot.nv
    target = near(rng, None, None, robot.neutral(), np.eye(4), [0.0] * robot.nq, odds=0.1)
    match rng.randrange(4):
        case 0:
            law = px.control.pd(_gain(rng, nv), _gain(rng, nv), target, near(rng, True, False))
        case 1:
            law = px.control.computed_torque(_gain(rng, nv), _gain(rng, nv), target)
        case 2:
            frame = near(rng, robot.frame_names[-1], "nowhere")
            law = px.control.impedance(frame, _gain(rng, 6), _gain(rng, 6), target)
        case _:
            sizes = (robot.nq + nv, rng.choice((1, 4)), nv)
            layers = [
                (numbers(rng, (b, a), "f8"), near(rng, np.zeros(b), np.zeros(b + 1), odds=0.05))
                for a, b in itertools.pairwise(sizes)
            ]
            weights, biases = [w for w, _ in layers], [b for _, b in layers]
            which = near(rng, "tanh", "relu", "sine", odds=0.05)
            law = px.control.network(near(rng, weights, odds=0.05), biases, activation=which)
    options = _options(rng, robot)
    if rng.random() < 0.1:
        law(0.0, *(numbers(rng, (n,), "f8") for n in (robot.nq, nv, law.controls(robot))), robot)
    _used(rng, robot, robot.simulation(control=law, **options))


def _surrounded(rng: Random) -> None:
    """Ground, springs and tendons with numbers of all kinds."""
    robot = rng.choice(robots())
    frames = (*robot.frame_names, "nowhere")
    point = lambda: near(rng, *frames, None, (frames[0], (0, 0, 1)), (None, (1, 0)), odds=0.1)  # noqa: E731
    number = lambda: near(rng, 0.0, 1e3, "k", -1.0, 1e300, np.nan, odds=0.1)  # noqa: E731
    match rng.randrange(3):
        case 0:
            points = near(rng, frames[:-1][-1:], {frames[-2]: np.zeros((2, 3))}, frames[-1:], {}, odds=0.1)
            more = {"height": number(), "normal": near(rng, (0, 0, 1), (0, 0, 0), (1, 1), odds=0.2)}
            more["passes"] = near(rng, 1, 2, 3)
            chosen = {name: more[name] for name in more if rng.random() < 0.3}
            force = px.contact.ground(points, 1e3 if rng.random() < 0.5 else number(), number(), **chosen)
        case 1:
            force = px.contact.spring(point(), point(), number(), number(), number())
        case _:
            force = px.contact.tendon([point() for _ in range(rng.randrange(4))], number(), number())
    options = _options(rng, robot)
    if rng.random() < 0.5:
        options["parameters"] = {"k": 1}
    forces = near(rng, force, [force, force], odds=0.05)
    _used(rng, robot, robot.simulation(forces=forces, **options))


def _used(rng: Random, robot: px.Robot, sim: Any) -> None:
    """One method of a simulation with arguments that are mostly right."""
    repr(sim)
    batch = rng.choice(((), (), (1,), (3,), (2, 2), (0,)))
    q, qd = (_state(rng, (*batch, n), sim.dtype) for n in (robot.nq, robot.nv))
    u = near(rng, None, np.zeros(sim.controls), np.ones((*batch, 1, sim.controls)), np.ones(1), odds=0.05)
    more: dict[str, Any] = {}
    if sim.parameters or rng.random() < 0.03:
        given = {name: np.ones((*batch, *shape), sim.dtype) for name, shape in sim.parameters.items()}
        if rng.random() < 0.1 and given:
            given[next(iter(given))] = anything(rng)
        more["parameters"] = near(rng, given, odds=0.04)
    if rng.random() < 0.1:
        more["threads"] = near(rng, 1, 2, None, odds=0.3)
    steps = near(rng, 1, 2, 6, odds=0.05)
    # So many steps that nobody waits for them are refused for their records, not taken.
    steps = steps if not isinstance(steps, int) or steps < 100 else 10**30
    with np.errstate(all="ignore"):
        match rng.choices(range(7), (6, 3, 2, 2, 1, 1, 1))[0]:
            case 0:
                more["record"] = _records(rng, robot)
                if rng.random() < 0.2:
                    more["every"] = near(rng, 1, 2, 4, odds=0.2)
                if rng.random() < 0.1:
                    more["start"] = near(rng, 0, 5, 2**22, odds=0.3)
                if rng.random() < 0.1:
                    more["out"] = near(rng, {"q": np.zeros((*batch, 6, robot.nq))}, {}, odds=0.3)
                repr(sim.rollout(q, qd, u, steps=steps, **more))
            case 1:
                sim.step(q, qd, u, **more)
                sim.step(q, qd, u, **more)
            case 2:
                more.pop("threads", None)
                again = sim.bind(q, qd, u, **more)
                again()
                again()
            case 3:
                sim.linearize(q, qd, u, **more)
            case 4:
                tangents = (_state(rng, (*batch, robot.nv), sim.dtype), qd)
                sim.jvp((q, qd), near(rng, tangents, odds=0.1), steps=steps, **more)
            case 5:
                cotangents = (_state(rng, (*batch, robot.nv), sim.dtype), qd)
                sim.vjp((q, qd), near(rng, cotangents, odds=0.1), steps=steps, **more)
            case _:
                sim.llvm_ir(_records(rng, robot))
                str(sim.cost)


def _state(rng: Random, shape: tuple[int, ...], dtype: Any) -> Any:
    if rng.random() < 0.06:
        return state(rng, shape[-1:], shape[:-1])
    made = numbers(rng, shape, dtype) if rng.random() < 0.2 else np.full(shape, rng.uniform(-1, 1), dtype)
    return made.tolist() if rng.random() < 0.03 else made


def _records(rng: Random, robot: px.Robot) -> Any:
    some: list[Any] = rng.sample(RECORDS, rng.randrange(3))
    if rng.random() < 0.1:
        some.append(near(rng, f"frame_pose:{robot.frame_names[-1]}", "jacobian:nowhere", "nothing", odds=0.2))
    if rng.random() < 0.1:
        result = expression(rng, 2, 0.1, ("qd", "u", "qd[0]"))
        some.append(function(rng, robot, result, hostile=0.1))
    return near(rng, some, tuple(some), odds=0.04)
