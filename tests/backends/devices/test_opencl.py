# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on OpenCL devices, run for real on PoCL: numbers, tails, queues, errors, memory."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from reference import opencl_device
from reference.sampling import agree

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
cl_array = pytest.importorskip("pyopencl.array")

from phalanx.backends.devices import opencl, opencl_programs  # noqa: E402

if opencl_device.missing():
    pytest.skip(opencl_device.missing(), allow_module_level=True)

DTYPES: Any = ("float64", "float32")
ROBOTS = {"iiwa14": 0, "panda": 0, "puma560": 0, "stanford": 0, "two_link": 0, "ur5": 0}
# What compiles longest is compiled for small robots only.
LONG = ("derivative", "regressor", "momentum", "hessian", "inverse", "coriolis", "kinetic")


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this processor be a graphics processor: one state a work-item, rows through local memory."""
    monkeypatch.setattr(opencl_programs, "has_vectors", lambda device: False)


def states(
    robot: px.Robot, names: Any, count: int, dtype: Any = "float64", seed: int = 0
) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    q, *_ = robot.random_state(count, rng=seed)
    made = []
    for name, size in names.items():
        made.append((q if name == "q" else rng.uniform(-2, 2, (count, *size))).astype(dtype))
    return made


def same(found: Any, wanted: Any, *, exactly: bool = True) -> None:
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    for a, b in zip(found if isinstance(found, tuple) else (found,), several, strict=True):
        assert a.dtype == b.dtype
        if exactly:
            np.testing.assert_array_equal(a, b)
        else:
            size = np.abs(b).max(initial=1e-30)
            np.testing.assert_allclose(a, b, rtol=0, atol=64 * np.finfo(b.dtype).eps * size)


def cases() -> list[tuple[str, str, str]]:
    """Every function once, robots and precisions in turn."""
    names = list(ROBOTS)
    made = []
    for k, f in enumerate(name for name in FUNCTIONS if "." not in name):
        robot = "two_link" if any(word in f for word in LONG) else names[k % len(names)]
        robot = "panda" if FUNCTIONS[f].full_rank else robot
        made.append((f, robot, DTYPES[k % 2]))
    return made


@pytest.mark.parametrize(("function", "name", "dtype"), cases())
def test_functions_have_the_numbers_of_the_processors_kernels(function: str, name: str, dtype: Any) -> None:
    robot = px.load(name)
    frame: Any = {"frame": robot.frame_names[-1]} if FUNCTIONS[function].frame else {}
    kernel = robot.kernel(function, dtype=dtype, device="opencl", **frame)
    inputs = states(robot, kernel._call.input_sizes(), 13, dtype)
    # A frame is a part of the program here, and told to kernels of the processor: they round differently.
    wanted = robot.kernel(function, dtype=dtype, **frame)(*inputs)
    if FUNCTIONS[function].full_rank:  # which loses the digits of its condition
        agree(kernel(*inputs), wanted, 100.0 * np.finfo(dtype).eps * np.linalg.cond(wanted).max())
    else:
        same(kernel(*inputs), wanted, exactly=not frame)


@pytest.mark.parametrize("mode", ["vectors", "tiles"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_batch_size_gives_the_same_states(
    mode: str, dtype: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "tiles":
        request.getfixturevalue("tiles")
        monkeypatch.setattr(opencl_programs, "_MOST_GROUPS", 2)
    robot = px.load("two_link")
    kernel = robot.kernel("mass_matrix", dtype=dtype, device="opencl")
    (q,) = states(robot, kernel._call.input_sizes(), 400, dtype)
    wanted = robot.kernel("mass_matrix", dtype=dtype)(q)
    queue = opencl_programs.default_queue()
    for count in (0, 1, 3, 4, 5, 8, 9, 63, 64, 65, 130, 400):
        same(kernel(q[:count]), wanted[:count])
        # What lies behind the rows of a batch stays as it is.
        room = cl_array.zeros(queue, (400, 2, 2), q.dtype)
        assert kernel(cl_array.to_device(queue, q[:count]), out=room[:count]) is not None
        same(room.get()[:count], wanted[:count])
        assert not room.get()[count:].any()
    assert kernel(q.reshape(4, 5, 20, 2)).shape == (4, 5, 20, 2, 2)
    same(kernel(q[0]), wanted[0])


@pytest.mark.parametrize("mode", ["vectors", "tiles"])
def test_far_angles_and_bad_numbers_stay_in_their_states(mode: str, request: pytest.FixtureRequest) -> None:
    if mode == "tiles":
        request.getfixturevalue("tiles")
    robot = px.load("two_link")
    kernel = robot.kernel("inverse_dynamics", device="opencl")
    inputs = states(robot, kernel._call.input_sizes(), 70)
    plain = kernel(*inputs)
    q = inputs[0]
    q[3, 0], q[9, 1], q[20, 0], q[64, 1], q[69, 0] = 1e7, -3e15, np.nan, np.inf, 123456.5
    found = kernel(*inputs)
    far, lost = [3, 9, 69], [20, 64]
    wanted = robot.inverse_dynamics(*(x[far] for x in inputs), backend="numpy")
    np.testing.assert_allclose(found[far], wanted, rtol=1e-12)
    assert np.isnan(found[lost]).any(axis=1).all()
    rest = [k for k in range(70) if k not in far + lost]
    same(found[rest], plain[rest])


@pytest.mark.parametrize("mode", ["vectors", "tiles"])
def test_long_chains_loop_in_scratch_memory(
    mode: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == "tiles":
        request.getfixturevalue("tiles")
        monkeypatch.setattr(opencl_programs, "_MOST_GROUPS", 1)
    else:
        monkeypatch.setattr(opencl_programs, "_SHARES", 1)
    robot = px.chain(300, seed=1)
    for function, algorithm in (("inverse_dynamics", "newton_euler"), ("forward_dynamics", "partition")):
        kernel = robot.kernel(function, algorithm, device="opencl")
        assert kernel._first.numbers > 0
        inputs = states(robot, kernel._call.input_sizes(), 77)
        inputs[0][5] += 2e6
        wanted = robot.kernel(function, algorithm)(*inputs)
        found = kernel(*inputs)
        np.testing.assert_array_equal(np.delete(found, 5, 0), np.delete(wanted, 5, 0))
        np.testing.assert_allclose(found[5], wanted[5], rtol=1e-6, atol=1e-6 * np.abs(wanted[5]).max())


def test_joints_of_all_types_and_optional_inputs() -> None:
    robot = px.tree(5, joints=("revolute", "spherical", "prismatic", "floating"), seed=5)
    kernel = robot.kernel("inverse_dynamics", device="opencl", algorithm="newton_euler")
    inputs = states(robot, kernel._call.input_sizes(), 11)
    rng = np.random.default_rng(3)
    native = robot.kernel("inverse_dynamics", algorithm="newton_euler")
    external = rng.normal(size=(11, robot.n_links, 6))
    same(kernel(*inputs, external=external), native(*inputs, external=external))
    same(
        kernel(*inputs, external={robot.link_names[-1]: external[:, 0]}),
        native(*inputs, external={robot.link_names[-1]: external[:, 0]}),
    )
    assert kernel(*inputs, external=external[:1]).shape == (11, robot.nv)
    q, qd, qdd = inputs
    same(kernel(q, qdd=qdd, qd=qd), native(q, qd, qdd))


def test_numpy_inputs_broadcast_and_are_converted() -> None:
    robot = px.load("two_link")
    kernel = robot.kernel("inverse_dynamics", device="opencl", dtype="float32")
    q, qd, qdd = states(robot, kernel._call.input_sizes(), 12)
    wanted = robot.kernel("inverse_dynamics", dtype="float32")(q.reshape(3, 4, 2)[:, ::2], qd[0], [1, 2])
    same(kernel(q.reshape(3, 4, 2)[:, ::2], qd[0], [1, 2]), wanted)
    out = np.full((2, 12), np.nan, np.float32).T
    assert kernel(q, qd, qdd, out=out) is out
    same(np.ascontiguousarray(out), robot.kernel("inverse_dynamics", dtype="float32")(q, qd, qdd))


def test_batches_go_in_pieces_where_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.load("two_link")
    kernel = robot.kernel("mass_matrix", device="opencl")
    (q,) = states(robot, kernel._call.input_sizes(), 1001)
    monkeypatch.setattr(opencl, "_memory_limits", lambda device: (10_000, 20_000))
    same(kernel(q), robot.mass_matrix(q))


def test_arrays_of_the_device_stay_there_and_nobody_waits() -> None:
    robot = px.load("two_link")
    kernel = robot.kernel("forward_dynamics", device="opencl")
    inputs = states(robot, kernel._call.input_sizes(), 33)
    context = cl.Context(opencl_programs.default_queue().context.devices)
    later = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    for properties in (0, later):
        queue = cl.CommandQueue(context, properties=properties)
        gate = cl.UserEvent(context)
        arrays = [cl_array.to_device(queue, x) for x in inputs]
        arrays[1].add_event(gate)
        result = kernel(*arrays)
        assert isinstance(result, cl_array.Array)
        assert result.queue == queue
        # The kernel waits for its input on the device; the call has come back nevertheless.
        assert result.events[-1].command_execution_status != cl.command_execution_status.COMPLETE
        gate.set_status(cl.command_execution_status.COMPLETE)
        same(result.get(), robot.forward_dynamics(*inputs))
        again = kernel(*arrays, out=result)
        assert again is result
        assert len(result.events) == 1
    without = [cl_array.to_device(queue, x).with_queue(None) for x in inputs]
    same(kernel(*without, queue=queue).get(queue), robot.forward_dynamics(*inputs))


def test_arrays_that_do_not_fit_are_refused_before_any_launch() -> None:
    robot = px.load("two_link")
    kernel = robot.kernel("inverse_dynamics", device="opencl")
    inputs = states(robot, kernel._call.input_sizes(), 8)
    queue = opencl_programs.default_queue()
    q, qd, qdd = (cl_array.to_device(queue, x) for x in inputs)
    other = cl.CommandQueue(queue.context)
    foreign = cl.CommandQueue(cl.Context(queue.context.devices))
    room = cl_array.to_device(queue, np.zeros((9, 2)))
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ((q, qd), {}, "got 2 inputs, expected q, qd, qdd"),
        ((q, qd, inputs[2]), {}, "qdd is ndarray and q is on a device"),
        ((q, qd.astype(np.float32), qdd), {}, "qd has dtype float32 on the device, expected float64"),
        ((q, qd[:4], qdd), {}, r"qd has batch shape \(4,\) on the device, expected \(8,\)"),
        ((q, qd, qdd.reshape(4, 4)), {}, r'qdd has shape \(4, 4\), expected \(…, 2\) for robot "two_link"'),
        ((q, qd, qdd[::2]), {}, "qdd has strides|batch shape"),
        ((q, qd, cl_array.to_device(queue, np.asfortranarray(inputs[2]))), {}, "qdd has strides"),
        ((q, qd.with_queue(other), qdd), {}, "qd is on another queue"),
        ((q, qd, qdd), {"queue": foreign}, "q belongs to another context"),
        ((q, qd, qdd), {"queue": 3}, "queue is int, expected a pyopencl.CommandQueue"),
        ((q, qd, qdd), {"out": np.empty((8, 2))}, "out is ndarray, expected an array of pyopencl"),
        ((q, qd, qdd), {"out": room}, r"out has shape \(9, 2\), expected \(8, 2\)"),
        ((q, qd, qdd), {"out": q}, "out shares memory"),
        ((q, qd, qdd), {"wind": q}, "unknown input 'wind'"),
        ((*(x.with_queue(None) for x in (q, qd, qdd)),), {}, "the arrays have no queue"),
        ((inputs[0], inputs[1], inputs[2]), {"out": np.empty((8, 3))}, "out has shape"),
        ((inputs[0], inputs[1][:3], inputs[2]), {}, "do not broadcast"),
        ((inputs[0], inputs[1].astype(complex), inputs[2]), {}, "dtype complex128"),
    ]
    for given, more, told in wrong:
        with pytest.raises(px.PhalanxError, match=told):
            kernel(*given, **more)


def test_several_results() -> None:
    robot = px.load("two_link")
    kernel = robot.kernel("inverse_dynamics_derivatives", device="opencl")
    inputs = states(robot, kernel._call.input_sizes(), 6)
    wanted = robot.inverse_dynamics_derivatives(*inputs)
    same(tuple(kernel(*inputs)), tuple(wanted))
    queue = opencl_programs.default_queue()
    arrays = [cl_array.to_device(queue, x) for x in inputs]
    outs = tuple(cl_array.zeros(queue, x.shape, x.dtype) for x in wanted)
    assert kernel(*arrays, out=outs) is outs
    same(tuple(x.get() for x in outs), tuple(wanted))
    with pytest.raises(px.PhalanxError, match="out shares memory"):
        kernel(*arrays, out=(outs[0], outs[0], outs[2]))


def test_kernels_are_kept_on_disk_and_picklable(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    robot = px.load("two_link")
    first = robot.kernel("gravity_forces", device="opencl")
    assert not first.cached
    again = pickle.loads(pickle.dumps(first))
    assert again.cached
    assert repr(again) == repr(first)
    q = robot.random_state(3, rng=0)[0]
    same(again(q), robot.gravity_forces(q))
    for entry in tmp_path.glob("*/*.kernel"):
        entry.write_bytes(entry.read_bytes()[:-1] + b"?")
    assert not robot.kernel("gravity_forces", device="opencl").cached
    # Right digest, yet no program of this driver.
    monkeypatch.setattr(opencl_programs.cache, "read", lambda key: b"\0" * 64)
    same(robot.kernel("gravity_forces", device="opencl")(q), robot.gravity_forces(q))


def test_threads_may_build_and_call_at_once() -> None:
    robot = px.load("two_link")
    inputs = robot.random_state(50, rng=1)
    wanted = robot.inverse_dynamics(*inputs)

    def work(k: int) -> Any:
        return robot.kernel("inverse_dynamics", device="opencl")(*inputs)

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(8)):
            same(found, wanted)
    kernel = robot.kernel("inverse_dynamics", device="opencl")
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda k: kernel(*inputs), range(32)):
            same(found, wanted)


def test_missing_devices_and_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.load("two_link")
    monkeypatch.setattr(opencl_programs, "_queues", {})
    monkeypatch.setattr(cl, "get_platforms", list)
    with pytest.raises(px.PhalanxError, match=r"finds 0 devices.*pip install 'pyopencl\[pocl\]'"):
        robot.kernel("mass_matrix", device="opencl")

    def none() -> Any:
        raise cl.LogicError("PLATFORM_NOT_FOUND_KHR")

    monkeypatch.setattr(cl, "get_platforms", none)
    with pytest.raises(px.PhalanxError, match=r"finds no platform.*pip install 'pyopencl\[pocl\]'"):
        robot.kernel("mass_matrix", device="opencl")
    for module in ("opencl", "opencl_programs"):
        monkeypatch.delitem(sys.modules, f"phalanx.backends.devices.{module}")
    monkeypatch.setitem(sys.modules, "pyopencl", None)
    with pytest.raises(px.PhalanxError, match=r"needs the package \"pyopencl\".*\.\[opencl\]"):
        robot.kernel("mass_matrix", device="opencl")


def test_a_device_whose_compiler_refuses_everything_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, build, tried = px.load("two_link"), cl.Program.build, []
    works = opencl_programs.default_queue().device
    monkeypatch.setattr(opencl_programs, "_queues", {})
    monkeypatch.setattr(cl, "get_platforms", lambda: [SimpleNamespace(get_devices=lambda: [works, works])])

    def refuse(program: Any, *args: Any, **options: Any) -> Any:
        tried.append(program)
        raise cl.RuntimeError("clBuildProgram failed\nerror: unknown target CPU 'generic'")

    monkeypatch.setattr(cl.Program, "build", refuse)
    with pytest.raises(px.PhalanxError, match=r"no device whose compiler works: .*unknown target CPU.*newer"):
        robot.kernel("mass_matrix", device="opencl")
    assert len(tried) == 2

    def refuse_third(program: Any, *args: Any, **options: Any) -> Any:
        return refuse(program) if len(tried) == 2 else build(program, *args, **options)

    monkeypatch.setattr(cl.Program, "build", refuse_third)
    assert robot.kernel("mass_matrix", device="opencl")(np.zeros(2)).shape == (2, 2)
    assert len(tried) == 3


def test_devices_without_what_a_kernel_needs_are_named() -> None:
    class Small:
        name = "small "
        double_fp_config = 0
        max_mem_alloc_size = 1 << 10
        max_compute_units = 2

    with pytest.raises(px.PhalanxError, match='device "small" has no double precision; use dtype="float32"'):
        opencl_programs.real_of(np.dtype(np.float64), Small())
    assert opencl_programs.real_of(np.dtype(np.float32), Small()) == "float"
    built = px.chain(70).kernel("inverse_dynamics", device="opencl")._first
    with pytest.raises(px.PhalanxError, match="numbers of scratch memory, more than device"):
        replace(built, device=Small())._items(5)


def test_a_process_ends_well_whatever_it_holds() -> None:
    """Drivers abort at the end of a process if contexts are released before programs."""
    code = (
        "import phalanx as px, numpy as np, pyopencl as cl\n"
        "k = px.load('two_link').kernel('mass_matrix', device='opencl')\n"
        "queue = cl.CommandQueue(cl.Context([d for p in cl.get_platforms() for d in p.get_devices()][:1]))\n"
        "k(np.zeros((5, 2)), queue=queue)\n"
        "held = [k, k._programs]\n"
        "try:\n"
        "    k(np.zeros(3))\n"
        "except px.PhalanxError as e:\n"
        "    kept = e\n"
        "del queue\n"
        "raise SystemExit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 7, done.stderr
