# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled kernels of algorithms for chains: in DH frames, over pairs of links, and level by level."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.dispatch import resolve
from reference.sampling import agree

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native.compile import Target, host
from phalanx.program import unroll_policy
from reference.rolling import block_lines, frame_of, has_loops, kernel, program, reference, states, tolerance

DEFAULT: dict[str, Any] = {}
LEAST = 1e-2  # what is nothing but rounded zeros is compared with this
NOWHERE = [(f, a.name) for f, known in ALGORITHMS.items() for a in known.values() if a.splits == "segments"]


def variants() -> list[tuple[str, Any]]:
    """Function and algorithm, with one of its options at a time, of all that `test_rolled` leaves out."""
    found: list[tuple[str, Any]] = []
    for function, known in ALGORITHMS.items():
        for a in known.values():
            if a.splits or not has_loops(px.chain(41), function, a.name):
                continue
            if a.topology != "tree":
                found.append((function, (a.name, DEFAULT)))
            found += [
                (function, (a.name, {k: v})) for k, values in a.options.items() for v in list(values)[1:]
            ]
    return found


EVERY = variants()
SOME = [
    ("inverse_dynamics", ("lathrop", DEFAULT)),
    ("mass_matrix", ("composite_variant", DEFAULT)),
    ("mass_matrix", ("kane_original", DEFAULT)),
    ("mass_matrix", ("newton_euler_original", DEFAULT)),
    ("mass_matrix", ("processor_array", DEFAULT)),
    ("mass_matrix", ("recursive_doubling", DEFAULT)),
    ("forward_dynamics", ("abia", DEFAULT)),
    ("forward_dynamics", ("cfa", DEFAULT)),
    ("forward_dynamics", ("cfa", {"solver": "odd_even"})),
    ("forward_dynamics", ("cfa", {"solver": "serial"})),
    ("forward_dynamics", ("dca", DEFAULT)),
    ("forward_dynamics", ("jsiia", {"inertia": "columns"})),
]


def name_of(value: Any) -> str:
    return value if isinstance(value, str) else "-".join([value[0], *map(str, value[1].values())])


every = pytest.mark.parametrize(("function", "algorithm"), EVERY, ids=name_of)
some = pytest.mark.parametrize(("function", "algorithm"), SOME, ids=name_of)


@cache
def chain(kind: str, joints: str = "all") -> px.Robot:
    """A chain that algorithms for some joints cover."""
    slides = 0.0 if joints == "turning" else 0.3
    if kind == "one":
        return px.chain(1)
    if kind == "three":
        return px.chain(3, prismatic=slides)
    robot = px.chain(41, prismatic=slides)
    return robot.replace(armature=np.linspace(0.1, 0.5, 41))


def covered(kind: str, function: str, algorithm: Any) -> px.Robot:
    if FUNCTIONS[function].full_rank and kind in ("one", "three"):
        return px.chain(7, prismatic=0.3)
    return chain(kind, ALGORITHMS[function][algorithm[0]].joints)


def loose(robot: px.Robot, function: str, algorithm: Any, q: np.ndarray) -> float:
    """The tolerance; constraint forces lose digits of their own, more so with a global bias."""
    wide = {"cfa": 100.0, "dca": 100.0}.get(algorithm[0], 1.0)
    return wide * tolerance(robot, function, q)


@every
@pytest.mark.parametrize("kind", ["one", "three", "long"])
def test_every_algorithm_agrees_with_the_reference(kind: str, function: str, algorithm: Any) -> None:
    robot = covered(kind, function, algorithm)
    inputs = states(robot, function, 11)
    with np.errstate(all="raise"):  # nothing undefined is computed on the way
        out = kernel(program(robot, function, algorithm))(*inputs)
    wanted = reference(robot, function, algorithm, *inputs)
    agree(out, wanted, loose(robot, function, algorithm, inputs[0]), least=LEAST)


@pytest.mark.parametrize("n", [32, 64, 65])
@pytest.mark.parametrize("name", ["kane_variant", "recursive_doubling", "newton_euler_original"])
def test_matrices_of_whole_strips_agree_with_the_reference(name: str, n: int) -> None:
    robot = px.chain(n, prismatic=0.3)
    (q,) = states(robot, "mass_matrix", 9)
    agree(kernel(program(robot, "mass_matrix", name))(q), reference(robot, "mass_matrix", name, q), 1e-13)


@pytest.mark.parametrize("name", ["lathrop", "luh_walker_paul", "zomaya_morris", "abia", "cfa", "dca"])
def test_optional_inputs_agree_with_the_reference(name: str) -> None:
    function = "forward_dynamics" if name in ALGORITHMS["forward_dynamics"] else "inverse_dynamics"
    robot = covered("long", function, (name,))
    inputs = states(robot, function, 9)
    names = tuple(name for name in FUNCTIONS[function].optional if name != "inertias")
    rolled = program(robot, function, name, names)
    rng = np.random.default_rng(1)
    more = {name: rng.standard_normal((9, *rolled.layout.inputs[name])) for name in names}
    wanted = reference(robot, function, name, *inputs, **more)
    agree(kernel(rolled)(*inputs, *more.values()), wanted, loose(robot, function, (name,), inputs[0]))


def test_frames_of_nearly_parallel_axes_agree_with_the_reference() -> None:
    builder = px.RobotBuilder("tilted")
    builder.add_link("base")
    for k, before in enumerate(["base", *(f"link{j}" for j in range(8))]):
        builder.add_link(f"link{k}", mass=1.0 + k, com=(0.1, 0.2, 0.0), inertia=(0.1, 0.2, 0.3))
        tilt = 1e-9 * (k % 3)
        axis = (0.0, np.sin(tilt), np.cos(tilt))
        builder.add_joint(f"joint{k}", "revolute", before, f"link{k}", origin=(0.3, 0.1, 0.2), axis=axis)
    robot = builder.build()
    assert robot.model.dh.slipped.any()
    inputs = states(robot, "inverse_dynamics", 5)
    for name in ("luh_walker_paul", "lathrop"):
        out = kernel(program(robot, "inverse_dynamics", name))(*inputs)
        agree(out, reference(robot, "inverse_dynamics", name, *inputs), 1e-13)
    out = kernel(program(robot, "mass_matrix", "recursive_doubling"))(inputs[0])
    agree(out, reference(robot, "mass_matrix", "recursive_doubling", inputs[0]), 1e-13)


CLASSIC = [(f, a.name) for f, known in ALGORITHMS.items() for a in known.values() if a.frames == "dh"]
HEAVY = {  # links with mass, of twelve
    "all but the last": range(11),
    "all but the last three": range(9),
    "some in the middle and the last": (3, 7, 11),
    "some in the middle": (0, 2, 3, 8),
    "one in the middle": (5,),
    "the first": (0,),
    "the last": (11,),
    "none": (),
}


@cache
def light(heavy: str, joints: str) -> px.Robot:
    """A chain of twelve links some of which have no mass, in general position."""
    builder, rng = px.RobotBuilder(heavy), np.random.default_rng(3)
    before = builder.add_link("base")
    for k in range(12):
        solid = {"mass": 1.0 + 0.1 * k, "com": rng.normal(size=3), "inertia": (0.2, 0.3, 0.4)}
        builder.add_link(f"link{k}", **(solid if k in HEAVY[heavy] else {}))
        slides = joints != "turning" and k % 4 == 2
        axis = rng.normal(size=3)
        builder.add_joint(
            f"joint{k}",
            "prismatic" if slides else "revolute",
            before,
            f"link{k}",
            origin=rng.normal(size=3),
            axis=axis / np.linalg.norm(axis),
        )
        before = f"link{k}"
    return builder.build()


@cache
def light_kernel(function: str, name: str, heavy: str) -> tuple[px.Robot, Any]:
    robot = light(heavy, ALGORITHMS[function][name].joints)
    return robot, kernel(program(robot, function, name))


@pytest.mark.parametrize("heavy", HEAVY)
@pytest.mark.parametrize(("function", "name"), CLASSIC)
def test_links_without_mass_agree_with_the_reference(function: str, name: str, heavy: str) -> None:
    robot, run = light_kernel(function, name, heavy)
    inputs = states(robot, function, 11)
    with np.errstate(all="raise"):
        out = run(*inputs)
    agree(out, reference(robot, function, name, *inputs), 1e-13)
    other = {"inverse_dynamics": "newton_euler", "mass_matrix": "crba"}[function]
    agree(out, reference(robot, function, other, *inputs), 1e-13)


@pytest.mark.parametrize("heavy", HEAVY)
@pytest.mark.parametrize(("function", "name"), CLASSIC)
def test_links_without_mass_agree_with_pinocchio(function: str, name: str, heavy: str) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference.pinocchio import model_of

    robot, run = light_kernel(function, name, heavy)
    inputs = states(robot, function, 2)
    model, _ = model_of(robot.description)
    data = model.createData()
    if function == "inverse_dynamics":
        wanted = [pin.rnea(model, data, *state).copy() for state in zip(*inputs, strict=True)]
    else:
        wanted = [np.triu(pin.crba(model, data, q)) for q in inputs[0]]
        wanted = [upper + np.triu(upper, 1).T for upper in wanted]
    agree(run(*inputs), np.array(wanted), 1e-12)


@some
def test_single_precision_keeps_its_digits(function: str, algorithm: Any) -> None:
    robot = covered("three", function, algorithm)
    inputs = [x.astype(np.float32) for x in states(robot, function, 21)]
    out = kernel(program(robot, function, algorithm), np.float32)(*inputs)
    assert out.dtype == np.float32
    exact = [x.astype(float) for x in inputs]
    wide = 4e8 * loose(robot, function, algorithm, exact[0])
    agree(out, reference(robot, function, algorithm, *exact), max(wide, 2e-5))


# ------------------------------------------------------------------- bits


@some
def test_a_state_gives_the_same_bits_wherever_it_stands(function: str, algorithm: Any) -> None:
    robot = covered("long", function, algorithm)
    inputs = states(robot, function, 29)
    run = kernel(program(robot, function, algorithm))
    out = run(*inputs)
    np.testing.assert_array_equal(run(*(x[::-1] for x in inputs))[::-1], out)
    np.testing.assert_array_equal(run(*(x[5:12] for x in inputs)), out[5:12])
    np.testing.assert_array_equal(run(*(x[7] for x in inputs)), out[7])


@pytest.mark.skipif(host().bits < 512, reason="this machine has no wider registers than AVX2")
@some
def test_narrow_registers_give_the_same_bits(function: str, algorithm: Any) -> None:
    robot = covered("long", function, algorithm)
    inputs = states(robot, function, 13)
    rolled = program(robot, function, algorithm)
    narrow = kernel(rolled, target=Target(host().triple, "haswell", "", 256, True))
    np.testing.assert_array_equal(narrow(*inputs), kernel(rolled)(*inputs))


@pytest.mark.parametrize("name", ["cfa", "dca", "abia"])
def test_any_number_of_threads_gives_the_same_bits(name: str) -> None:
    robot = px.chain(12)
    q, qd, tau = robot.random_state(700, rng=0)
    alone = robot.forward_dynamics(q, qd, tau, algorithm=name, backend="native", threads=1)
    both = robot.forward_dynamics(q, qd, tau, algorithm=name, backend="native", threads=2)
    np.testing.assert_array_equal(both, alone)


@some
def test_what_is_no_number_stays_in_its_state(function: str, algorithm: Any) -> None:
    robot = covered("long", function, algorithm)
    inputs = states(robot, function, 12)
    run = kernel(program(robot, function, algorithm))
    out = run(*inputs)
    inputs[0][5] = np.nan
    spoilt = run(*inputs)
    assert np.isnan(spoilt[5]).any()
    others = np.arange(12) != 5
    np.testing.assert_array_equal(spoilt[others], out[others])


# ------------------------------------------------------------------- any length


@every
def test_the_text_does_not_grow_with_the_robot(function: str, algorithm: Any) -> None:
    # Both lengths leave a remainder of one lane, for which there is text of its own.
    few, many = (block_lines(px.chain(n), function, algorithm)[0] for n in (65, 97))
    assert many <= few + 10


SQUARE = ("kane_original", "jsiia", "ltl")  # they keep what they know of pairs of links


@pytest.mark.parametrize(
    ("function", "algorithm"), [pair for pair in EVERY if pair[1][0] not in SQUARE], ids=name_of
)
def test_scratch_memory_grows_with_the_bodies_only(function: str, algorithm: Any) -> None:
    small, middle, large = (block_lines(px.chain(n), function, algorithm)[1] for n in (64, 128, 256))
    assert large - middle <= 2 * (middle - small)


@pytest.mark.parametrize("n", [33, 1000])
def test_every_algorithm_is_served_at_any_length(n: int) -> None:
    robot = px.chain(n)
    for function, (name, options) in EVERY:
        call = resolve(robot, function, (name, options), frame_of(robot, function))
        assert unroll_policy.serves(call), name


@pytest.mark.parametrize(
    ("function", "algorithm"),
    [
        ("mass_matrix", ("recursive_doubling", DEFAULT)),
        ("mass_matrix", ("kane_variant", DEFAULT)),
        ("forward_dynamics", ("cfa", {"solver": "odd_even"})),
        ("forward_dynamics", ("dca", DEFAULT)),
    ],
    ids=name_of,
)
def test_ten_thousand_links_take_the_text_of_a_hundred(function: str, algorithm: Any) -> None:
    few, many = (block_lines(px.chain(n), function, algorithm)[0] for n in (100, 10_000))
    assert many <= 1.2 * few


def test_a_thousand_links_by_scans_agree_with_the_recursion() -> None:
    robot = px.chain(1000)
    q, qd, qdd = robot.random_state(3, rng=0)
    wanted = robot.inverse_dynamics(q, qd, qdd, algorithm="newton_euler", backend="native")
    agree(robot.inverse_dynamics(q, qd, qdd, algorithm="lathrop", backend="native"), wanted, 1e-11)


# ------------------------------------------------------------------- who else serves


@pytest.mark.parametrize(("function", "name"), NOWHERE)
def test_what_visits_no_body_after_another_is_refused(function: str, name: str) -> None:
    with pytest.raises(px.PhalanxError, match="NumPy backend"):
        program(px.chain(9), function, name)
