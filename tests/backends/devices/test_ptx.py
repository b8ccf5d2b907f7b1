# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX of programs: run by a machine of the tests' own, bit for bit as compiled code, and accepted by NVIDIA's
assembler."""

from __future__ import annotations

import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.devices.ptx import ARCHITECTURES, LaunchLayout, assembled, reordered
from phalanx.backends.native import refill
from phalanx.backends.native.compile import CodegenOptions, host, object_code
from phalanx.backends.native.freestanding import ExportedFunction
from phalanx.export.api import ExportEntry, entries
from reference.examples import example
from reference.loops import kepler, smoothing
from reference.ptx_machine import Machine
from reference.ptxas import Report, assemble, ptxas

needs_ptxas = pytest.mark.skipif(ptxas() is None, reason="the package nvidia-cuda-nvcc is not installed")
ELEMENTS = {"float32": "float", "float64": "double"}
FIVE = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")


@cache
def robot_of(name: str) -> px.Robot:
    made: Any = {
        "chain": lambda: px.chain(20),
        "talos": lambda: example("talos_reduced.urdf"),
        "anymal": lambda: example("anymal.urdf", floating_base=True),
    }.get(name, lambda: px.load(name))()
    if made is None:
        pytest.skip("the package example-robot-data is not installed")
    return made


@cache
def made(
    name: str, function: str, dtype: str, target: str = "sm_75", *, functions: bool = False
) -> tuple[ExportEntry, str, LaunchLayout]:
    (entry,) = entries(robot_of(name), function)
    kernel = ExportedFunction("kernel", reordered(entry.built(1)))
    ptx, (layout,) = assembled([kernel], ELEMENTS[dtype], target, functions=functions)
    return entry, ptx, layout


def states_of(robot: px.Robot, entry: ExportEntry, count: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(count)
    given = [rng.normal(size=(count, *shape)) for shape in entry.inputs.values()]
    given[0] = robot.random_state(count, rng)[0] if count else given[0]
    return [np.ascontiguousarray(x, dtype) for x in given]


class Device:
    """A machine with one kernel, and its arrays."""

    def __init__(self, entry: ExportEntry, text: str, layout: LaunchLayout, dtype: str) -> None:
        self.entry, self.layout, self.dtype = entry, layout, dtype
        self.machine = Machine(text)
        self.memory = self.machine.memory["global"]

    def run(self, inputs: list[np.ndarray], blocks: int) -> list[np.ndarray]:
        """The outputs of the kernel; places that it does not write are NaN."""
        count = len(inputs[0])
        shapes = [(count, *shape) for shape in self.entry.outputs.values()]
        outs = [np.full(shape, np.nan, self.dtype) for shape in shapes]
        places = [self.memory.allocate(x.tobytes()) for x in inputs]
        places += [self.memory.allocate(x.nbytes) for x in outs]
        if self.layout.scratch:
            places.append(self.memory.allocate(self.layout.workspace(blocks)))
        self.machine.launch("kernel", blocks, self.layout.block, [count, *places])
        for out, place in zip(outs, places[len(inputs) :], strict=False):
            at = place - self.memory.base
            assert self.memory.written[at : at + out.nbytes].all()
            out[...] = self.memory.data[at : at + out.nbytes].view(self.dtype).reshape(out.shape)
        return outs


def expected(robot: px.Robot, function: str, inputs: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    mode, _, rest = function.rpartition(":")
    if mode == "vjp":
        found = robot.vjp(rest, tuple(inputs[:-1]), inputs[-1])
    else:
        found = getattr(robot, function)(*inputs)
    return found if isinstance(found, tuple) else (found,)


CASES = [
    ("panda", "inverse_dynamics", "float32", 300),
    ("panda", "forward_dynamics", "float64", 129),
    ("panda", "mass_matrix", "float64", 65),
    ("panda", "vjp:inverse_dynamics", "float32", 5),
    ("ur5", "forward_dynamics_derivatives", "float32", 130),
    ("anymal", "forward_dynamics", "float32", 130),
    ("chain", "forward_dynamics", "float32", 70),
    ("chain", "mass_matrix", "float64", 3),
]


@pytest.mark.parametrize(("name", "function", "dtype", "count"), CASES)
def test_ptx_gives_the_bits_of_compiled_code(name: str, function: str, dtype: str, count: int) -> None:
    robot = robot_of(name)
    entry, ptx, layout = made(name, function, dtype)
    inputs = states_of(robot, entry, count, dtype)
    blocks = layout.blocks(count, 2)
    found = Device(entry, ptx, layout, dtype).run(inputs, blocks)
    for a, b in zip(found, expected(robot, function, inputs), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("program", [kepler, smoothing], ids=["ends on data", "parallel"])
def test_loops_that_end_on_data_and_parallel_loops(program: Any) -> None:
    made = program()
    ptx, (layout,) = assembled([ExportedFunction("kernel", reordered(made, spreads=False))], "double")
    rng = np.random.default_rng(3)
    inputs = [rng.uniform(0, 0.9, (40, *made.shapes[b.name])) for b in made.inputs]
    entry: Any = SimpleNamespace(outputs={b.name: made.shapes[b.name] for b in made.outputs})
    found = Device(entry, ptx, layout, "float64").run(inputs, 2)
    wanted = refill.compiled(made, "loops")(*inputs)
    for a, b in zip(found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", ["panda", "chain"])
def test_a_frame_is_a_part_of_the_code(name: str) -> None:
    robot = robot_of(name)
    frame = robot.frame_names[-2]
    entry, ptx, layout = made(name, f"jacobian:{frame}", "float64")
    inputs = states_of(robot, entry, 3, "float64")
    (found,) = Device(entry, ptx, layout, "float64").run(inputs, 1)
    assert np.abs(found - robot.jacobian(inputs[0], frame)).max() < 1e-14 * np.abs(found).max()


def test_what_was_compiled_before_changes_nothing() -> None:
    """Some kernels for the processor switch LLVM's scheduling, for the whole process."""
    (entry,) = entries(robot_of("panda"), "forward_dynamics")
    kernel = ExportedFunction("kernel", reordered(entry.built(1)))
    before = assembled([kernel], "float")
    object_code("define void @nothing() {\n  ret void\n}\n", host(), CodegenOptions(high_pressure=True))
    assert assembled([kernel], "float") == before


@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_large_angles_are_right(target: str) -> None:
    robot = robot_of("ur5")
    entry, ptx, layout = made("ur5", "gravity_forces", "float64", target)
    rng = np.random.default_rng(0)
    q = rng.normal(size=(40, 6)) * 10.0 ** rng.uniform(-3, 300, size=(40, 6))
    (found,) = Device(entry, ptx, layout, "float64").run([q], 1)
    turned = np.arctan2(np.sin(q), np.cos(q))  # by the C library
    assert np.abs(found - robot.gravity_forces(turned)).max() < 1e-13 * np.abs(found).max()


def test_states_do_not_depend_on_the_grid() -> None:
    robot = robot_of("ur5")
    entry, ptx, layout = made("ur5", "inverse_dynamics", "float32")
    inputs = states_of(robot, entry, 500, "float32")
    (once,) = Device(entry, ptx, layout, "float32").run(inputs, 4)
    for blocks in (1, 3, 9):
        (again,) = Device(entry, ptx, layout, "float32").run(inputs, blocks)
        assert np.array_equal(once, again)


@pytest.mark.parametrize("count", [0, 1, 127, 128, 129])
def test_tails_neither_read_nor_write_beyond(count: int) -> None:
    robot = robot_of("ur5")
    entry, ptx, layout = made("ur5", "mass_matrix", "float32")
    inputs = states_of(robot, entry, count, "float32")
    (found,) = Device(entry, ptx, layout, "float32").run(inputs, 2)
    assert np.array_equal(found, robot.mass_matrix(inputs[0]))


def test_a_nan_stays_in_its_state() -> None:
    robot = robot_of("ur5")
    entry, ptx, layout = made("ur5", "inverse_dynamics", "float32")
    inputs = states_of(robot, entry, 10, "float32")
    inputs[0][4] = np.nan
    (found,) = Device(entry, ptx, layout, "float32").run(inputs, 1)
    assert np.isnan(found[4]).any()
    assert np.isfinite(np.delete(found, 4, axis=0)).all()


def test_threads_meet_in_no_bank_of_shared_memory() -> None:
    for name, function, dtype in (
        ("ur5", "mass_matrix", "float32"),
        ("panda", "forward_dynamics", "float64"),
    ):
        _, _, layout = made(name, function, dtype)
        for k in range(len(layout.sizes)):
            words = layout.element // 4
            threads = np.arange(32 // words)  # that are served together
            banks = words * (threads * layout.pitch(k)) % 32
            assert len(set(banks)) == len(threads)


def test_neighbours_read_and_write_neighbours_in_global_memory() -> None:
    """What a warp loads or stores at once lies in one piece."""
    robot = robot_of("panda")
    entry, ptx, layout = made("panda", "inverse_dynamics", "float32")
    device = Device(entry, ptx, layout, "float32")
    seen: list[np.ndarray] = []
    places = device.memory.places

    def watched(addresses: np.ndarray, size: int) -> np.ndarray:
        seen.append(addresses)
        return places(addresses, size)

    device.memory.places = watched  # type: ignore[method-assign]
    device.run(states_of(robot, entry, 128, "float32"), 1)
    moved = [a for a in seen if len(a) == 128]
    assert len(moved) == 28
    assert all((np.diff(a.astype(np.int64)) == 4).all() for a in moved)


def test_the_assembler_may_fuse_nothing() -> None:
    for dtype in ELEMENTS:
        _, ptx, _ = made("panda", "forward_dynamics", dtype)
        rounded = re.findall(r"\b(?:add|sub|mul|fma|div|sqrt|rcp)(\S*)\.f(?:32|64)", ptx)
        assert rounded
        assert set(rounded) == {".rn"}


def test_functions_of_one_state_can_be_called_by_other_kernels() -> None:
    robot = robot_of("ur5")
    entry, ptx, _ = made("ur5", "gravity_forces", "float32", functions=True)
    mine = """
.visible .entry mine(.param .u64 mine_param_0, .param .u64 mine_param_1)
{
    .reg .b64 %rd<3>;
    ld.param.b64 %rd1, [mine_param_0];
    ld.param.b64 %rd2, [mine_param_1];
    {
    .param .b64 param0;
    .param .b64 param1;
    st.param.b64 [param0], %rd1;
    st.param.b64 [param1], %rd2;
    call.uni kernel_state, (param0, param1);
    }
    ret;
}
"""
    text = ptx + mine
    machine = Machine(text)
    q = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6], np.float32)
    memory = machine.memory["global"]
    at, to = memory.allocate(q.tobytes()), memory.allocate(24)
    machine.launch("mine", 1, 1, [at, to])
    start = to - memory.base
    assert np.array_equal(memory.data[start : start + 24].view(np.float32), robot.gravity_forces(q))
    assert list(entry.inputs) == ["q"]
    if ptxas() is not None:
        assert assemble(text, "sm_75", "mine").registers > 0


@needs_ptxas
@pytest.mark.parametrize("target", FIVE)
@pytest.mark.parametrize("dtype", ELEMENTS)
def test_the_assembler_accepts_every_form(target: str, dtype: str) -> None:
    for name, function in (("ur5", "gravity_forces"), ("chain", "mass_matrix")):
        _, ptx, layout = made(name, function, dtype, target, functions=True)
        report = assemble(ptx, target, "kernel", alone=False)
        assert report.shared == layout.shared


ARMS = [
    (name, f)
    for name in ("ur5", "panda", "puma560")
    for f in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
]


@needs_ptxas
@pytest.mark.parametrize("target", FIVE)
def test_float32_needs_no_spills(target: str) -> None:
    """The whole table is made by `benchmarks/gpu.py`."""
    arms = ARMS if target == "sm_75" else [("panda", "forward_dynamics")]
    reports: dict[tuple[str, str], Report] = {}
    for name, function in (*arms, ("talos", "inverse_dynamics"), ("anymal", "forward_dynamics")):
        reports[name, function] = assemble(made(name, function, "float32", target)[1], target)
    assert {key for key, report in reports.items() if report.spill_stores} == set()
    assert {key for key in arms if reports[key].registers > 128} == set()


def test_all_targets_make_text() -> None:
    for target in ARCHITECTURES:
        assert f".target {target}\n" in made("ur5", "gravity_forces", "float32", target)[1]
