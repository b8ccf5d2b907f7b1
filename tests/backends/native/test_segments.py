# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Segments in lanes: the same bits at every width, for every state of a batch, however lengths divide."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import compile, gufunc, loop
from phalanx.backends.native.compile import Target, aarch64, host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.dispatch import resolve
from phalanx.program.lowering import looped
from phalanx.program.passes.order import nearest_first
from phalanx.program.rolled.segments.roll import SegmentProgram
from phalanx.program.rolled.stages.loops import BodyLoop, Once
from phalanx.program.task import cuts
from reference.chains import agrees_with_articulated_bodies, chains_of_all_types
from reference.sampling import agree

ELEMENTS = {np.float64: "double", np.float32: "float"}
_alive: list[Any] = []


@cache
def robot(n: int) -> px.Robot:
    made = px.chain(n, seed=n, prismatic=0.3)
    return made.replace(armature=np.linspace(0.0, 0.1, n))


SEVERAL = {
    "floating base": lambda n: px.chain(n).with_floating_base(),
    "spherical": lambda n: px.tree(n // 2, 0.0, seed=1, joints=("spherical",)),
    "mixed": lambda n: px.tree(n // 2, 0.0, seed=1, joints=("universal", "spherical", "planar", "revolute")),
}


def program(n: int, count: int) -> SegmentProgram:
    return program_of(robot(n), count)


def program_of(made: px.Robot, count: int) -> SegmentProgram:
    """The loops of a chain cut into so many segments."""
    found = looped(resolve(made, "forward_dynamics", ("partition", {"segments": count})), ())
    assert isinstance(found, SegmentProgram)
    return found


def text(cut: SegmentProgram, dtype: Any, target: Target) -> str:
    block, declarations, scratch = block_function(
        cut.built(target.lanes(np.dtype(dtype).itemsize)), target, ELEMENTS[dtype]
    )
    shapes = [*cut.inputs.values(), cut.output]
    return loop.module_text(block, declarations, shapes, ELEMENTS[dtype], target, scratch, 1)


def kernel(cut: SegmentProgram, dtype: Any = np.float64, target: Target | None = None) -> Any:
    """The gufunc of a program of segments."""
    loaded = compile.load(compile.object_code(text(cut, dtype, target or host()), target or host()))
    shapes = [*cut.inputs.values(), cut.output]
    *inputs, output = ("(" + ",".join(map(str, s)) + ")" for s in shapes)
    signature = ",".join(inputs) + "->" + output
    made, needs = gufunc.make_gufunc(
        "cut", "", signature, (len(shapes) - 1, 1), [(np.dtype(dtype), loaded.loop)]
    )
    _alive.append((loaded, needs))
    return made


@pytest.mark.parametrize(("n", "count"), [(1, 1), (10, 8), (33, 3), (40, 19)])
def test_narrow_registers_give_the_same_bits(n: int, count: int) -> None:
    if not host().triple.startswith(("x86_64", "amd64")) or not host().fma:
        pytest.skip("this machine knows no AVX2")
    inputs, cut = robot(n).random_state(3, rng=n), program(n, count)
    narrow = kernel(cut, target=Target(host().triple, "haswell", "", 256, True))(*inputs)
    np.testing.assert_array_equal(narrow, kernel(cut)(*inputs))
    plain = kernel(cut, target=Target(host().triple, "x86-64", "", 128, False))(*inputs)
    agree(plain, narrow, 1e-11)


def test_a_state_gives_the_same_bits_wherever_it_stands() -> None:
    k = robot(50).kernel("forward_dynamics", algorithm=("partition", {"segments": 6}))
    q, qd, tau = robot(50).random_state(21, rng=0)
    wanted = np.array([k(*(x[i].copy() for x in (q, qd, tau))) for i in range(21)])
    np.testing.assert_array_equal(k(q, qd, tau), wanted)
    np.testing.assert_array_equal(k(q[::-2], qd[::-2], tau[::-2]), wanted[::-2])
    gaps = [np.repeat(x, 2, axis=-1)[..., ::2] for x in (q, qd, tau)]
    np.testing.assert_array_equal(k(*gaps), wanted)
    np.testing.assert_array_equal(k(q, qd, tau, threads=2), wanted)
    out = np.full((21, 51), 7.0)
    k(q, qd, tau, out=out[:, :50])
    np.testing.assert_array_equal(out[:, :50], wanted)
    assert (out[:, 50] == 7.0).all()


def test_what_fills_up_a_segment_never_shows() -> None:
    # Lengths that leave one, some or no segments short, below and above the width of a register.
    for n in (10, 41):
        q, qd, tau = robot(n).random_state(2, rng=n)
        wanted = robot(n).forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")
        for count in (2, 8, 11):
            memory = np.full((3, n + 2), 7.0)
            kernel(program(n, count))(q, qd, tau, out=memory[:2, 1 : n + 1])
            agree(memory[:2, 1 : n + 1], wanted, 1e-10)
            assert (memory[:2, [0, -1]] == 7.0).all()
            assert (memory[2] == 7.0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_external_wrenches_reach_the_links(dtype: Any) -> None:
    robots = robot(21), px.tree(9, 0.0, seed=2, joints=("planar", "universal", "fixed", "helical"))
    for made in robots:
        assert cuts(made.model)
        q, qd, tau = (x.astype(dtype) for x in made.random_state(2, rng=0))
        external = np.random.default_rng(1).standard_normal((2, made.n_links, 6)).astype(dtype)
        found, wanted = (
            made.forward_dynamics(q, qd, tau, external=external, algorithm=a, backend=b)
            for a, b in ((("partition", {"segments": 4}), "native"), ("aba", "numpy"))
        )
        assert found.dtype == dtype
        agree(found, wanted, 1e-10 if dtype is np.float64 else 2e-2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_state(value: float) -> None:
    q, qd, tau = robot(30).random_state(5, rng=0)
    run = kernel(program(30, 8))
    clean = run(q, qd, tau)
    q[2, 7] = value
    spoilt = run(q, qd, tau)
    assert np.isnan(spoilt[2]).any()
    np.testing.assert_array_equal(np.delete(spoilt, 2, axis=0), np.delete(clean, 2, axis=0))


def test_large_angles_are_as_exact_as_small_ones() -> None:
    q, qd, tau = robot(20).random_state(rng=0)
    q[[3, 11]] = 123456.789, -7e9
    wanted = robot(20).forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy")
    agree(kernel(program(20, 5))(q, qd, tau), wanted, 1e-10)


@pytest.mark.parametrize("count", [1, 3, 11])
def test_joints_of_all_types_agree_with_the_serial_recursion(count: int) -> None:
    # Cuts at the ends of joints leave segments of many lengths, and lanes to spare.
    for k, made in enumerate(made for made in chains_of_all_types() if not one_coordinate_each(made)):
        cut = ("partition", {"segments": count})
        assert isinstance(looped(resolve(made, "forward_dynamics", cut), ()), SegmentProgram)
        agrees_with_articulated_bodies(cut, made, k)


def one_coordinate_each(made: px.Robot) -> bool:
    """Whether all bodies move by a coordinate of their own."""
    return made.nq == made.nv


@pytest.mark.parametrize("several", SEVERAL)
def test_long_chains_of_joints_with_several_axes_compile_and_agree(several: str) -> None:
    made = SEVERAL[several](1000)
    state = made.random_state(rng=0)
    k = made.kernel("forward_dynamics", algorithm="partition")
    assert k.compile_seconds < 20.0  # alone it takes one second
    wanted = made.forward_dynamics(*state, algorithm="aba", backend="numpy")
    agree(k(*state), wanted, 1e-10)
    agree(made.forward_dynamics(*state, algorithm="partition", backend="numpy"), wanted, 1e-10)


def test_joints_with_several_axes_need_the_forces_that_pinocchio_finds() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference.pinocchio import inertia, placement

    made = px.tree(60, 0.0, seed=3, joints=("spherical", "revolute", "prismatic")).with_floating_base()
    base, *links = made.description.links
    model = pin.Model()
    model.gravity.linear = made.gravity
    parent = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.appendBodyToJoint(parent, inertia(base), pin.SE3.Identity())
    along = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}
    for joint, link in zip(made.description.joints, links, strict=True):
        axis = np.array(joint.axis)
        motion = pin.JointModelSpherical() if joint.type == "spherical" else along[joint.type](axis)
        parent = model.addJoint(parent, motion, placement(joint.origin), joint.name)
        model.appendBodyToJoint(parent, inertia(link), pin.SE3.Identity())
    q, qd, tau = made.random_state(rng=1)
    swapped = np.r_[3:6, 0:3, 6 : made.nv]  # the base's linear part comes first there

    def forces(qdd: np.ndarray) -> np.ndarray:
        # Pinocchio's articulated bodies lose all digits on spherical joints in a row, its recursion does not.
        return pin.rnea(model, model.createData(), q, qd[swapped], qdd[swapped])

    largest = float(np.abs(forces(0.0 * qd)).max())
    for count in (3, 8, 20):
        cut = ("partition", {"segments": count})
        qdd = made.forward_dynamics(q, qd, tau, algorithm=cut, backend="native")
        agree(forces(qdd), tau[swapped], 1e-11, least=largest)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_joints_with_several_axes_feel_wrenches_and_keep_to_their_output(dtype: Any) -> None:
    made = px.tree(20, 0.0, seed=2, joints=("spherical", "revolute", "universal")).with_floating_base()
    q, qd, tau = (x.astype(dtype) for x in made.random_state(3, rng=0))
    external = np.random.default_rng(1).standard_normal((3, made.n_links, 6)).astype(dtype)
    wanted = made.forward_dynamics(q, qd, tau, external=external, algorithm="aba", backend="numpy")
    for count in (1, 5, 8):
        cut = ("partition", {"segments": count})
        memory = np.full((4, made.nv + 2), 7.0, dtype)
        found = made.forward_dynamics(q, qd, tau, external=external, algorithm=cut, backend="native")
        agree(found, wanted, 1e-10 if dtype is np.float64 else 2e-2)
        made.forward_dynamics(
            q, qd, tau, external=external, algorithm=cut, backend="native", out=memory[:3, 1:-1]
        )
        np.testing.assert_array_equal(memory[:3, 1:-1], found)
        assert (memory[:, [0, -1]] == 7.0).all()
        assert (memory[3] == 7.0).all()


def test_placed_joints_give_the_same_bits_at_every_width() -> None:
    if not host().triple.startswith(("x86_64", "amd64")) or not host().fma:
        pytest.skip("this machine knows no AVX2")
    made = px.tree(25, 0.0, seed=4, joints=("spherical", "floating", "revolute"))
    inputs, cut = made.random_state(3, rng=1), program_of(made, 7)
    narrow = kernel(cut, target=Target(host().triple, "haswell", "", 256, True))(*inputs)
    np.testing.assert_array_equal(narrow, kernel(cut)(*inputs))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_quaternions_of_any_length_mean_the_same(scale: float) -> None:
    made = px.tree(20, 0.0, seed=5, joints=("spherical",))
    q, qd, tau = made.random_state(2, rng=1)
    found = made.forward_dynamics(scale * q, qd, tau, algorithm="partition", backend="native")
    agree(found, made.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy"), 1e-11)


def test_the_text_does_not_grow_with_the_chain() -> None:
    for made in (robot, *SEVERAL.values()):
        few, many = (text(program_of(made(n), 8), np.float64, host()).count("\n") for n in (200, 1600))
        assert abs(many - few) < 0.3 * few  # narrow registers take joints of several axes in more pieces


def test_scratch_memory_grows_with_the_links_only() -> None:
    sizes = [block_function(program(n, 8).built(), host(), "double")[2] for n in (64, 128, 192)]
    assert sizes[2] - sizes[1] == sizes[1] - sizes[0]
    for made in SEVERAL.values():
        few, many = (made(n) for n in (500, 1000))
        sizes = [block_function(program_of(m, 8).built(), host(), "double")[2] for m in (few, many)]
        assert sizes[1] < 1.05 * sizes[0] * many.model.n / few.model.n


def test_object_code_for_another_machine_is_produced() -> None:
    for cut in (program(10, 4), program_of(SEVERAL["mixed"](20), 4)):
        code = compile.object_code(text(cut, np.float64, aarch64()), aarch64())
        assert code[:4] == b"\x7fELF"


def test_the_local_order_computes_every_operand_first_and_the_same_results() -> None:
    for _, stage in program(12, 3).stages:
        assert isinstance(stage, BodyLoop | Once)
        made = nearest_first(stage.code)
        assert len(made.values) <= len(stage.code.values)
        known: set[Any] = set()
        for s in made.values:
            assert all(a in known for a in s.args if not isinstance(a, float))
            known.add(s)
        assert made.results == stage.code.results
