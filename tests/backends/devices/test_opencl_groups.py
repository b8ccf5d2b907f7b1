# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Work-groups that have one state each, on PoCL: numbers, memory, and what a device must have."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference import opencl_device

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
cl_array = pytest.importorskip("pyopencl.array")

from phalanx.backends.devices import opencl_groups  # noqa: E402
from phalanx.backends.devices.base import WorkGroup  # noqa: E402
from phalanx.backends.devices.opencl_programs import default_queue  # noqa: E402
from phalanx.dispatch import resolve  # noqa: E402

if opencl_device.missing():
    pytest.skip(opencl_device.missing(), allow_module_level=True)

STATES = 300
PUBLISHED = ("cfa", {"solver": "odd_even", "bias": "global"})
HYBRID, COLUMNS = ("abia", {"form": "hybrid"}), ("jsiia", {"inertia": "columns"})
FORMS: list[tuple[str, Any]] = [
    ("inverse_dynamics", "scan"),
    ("inverse_dynamics", "lathrop"),
    ("inverse_dynamics", "partition"),
    ("inverse_dynamics", ("scan", {"segments": 9})),
    ("forward_dynamics", "partition"),
    ("forward_dynamics", "abia"),
    ("forward_dynamics", HYBRID),
    ("forward_dynamics", "cfa"),
    ("forward_dynamics", PUBLISHED),
    ("forward_dynamics", COLUMNS),
    ("mass_matrix", "crba"),
    ("mass_matrix", "recursive_doubling"),
]


def states(robot: px.Robot, function: str, count: int = STATES) -> list[np.ndarray]:
    given = 1 if function == "mass_matrix" else 3
    return [np.ascontiguousarray(x) for x in robot.random_state(count, rng=0)[:given]]


def farthest(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error of a state, relative to its largest result."""
    axes = tuple(range(1, wanted.ndim))
    return float((np.abs(found - wanted).max(axis=axes) / np.abs(wanted).max(axis=axes)).max())


@pytest.mark.parametrize(
    ("function", "algorithm"),
    [
        ("inverse_dynamics", "scan"),
        ("forward_dynamics", ("cfa", {"solver": "odd_even"})),
        pytest.param("forward_dynamics", "partition", marks=pytest.mark.exhaustive),
        pytest.param("forward_dynamics", COLUMNS, marks=pytest.mark.exhaustive),
    ],
    ids=str,
)
def test_groups_agree_with_the_kernels(function: str, algorithm: Any) -> None:
    robot = px.chain(5)
    kernel = robot.kernel(function, algorithm, device="opencl", group=4)
    inputs = states(robot, function)
    found = kernel(*inputs)
    assert farthest(found, robot.kernel(function, algorithm)(*inputs)) < 1e-12
    inputs[0][7, 2] = np.nan
    spoilt = kernel(*inputs)
    assert np.isnan(spoilt[7]).all()
    np.testing.assert_array_equal(np.delete(spoilt, 7, 0), np.delete(found, 7, 0))
    assert kernel(*(x[:0] for x in inputs)).shape == (0, *found.shape[1:])


# The published forms lose digits: what the bias adds up to cancels, eliminations from both sides do too. A
# rounding error of a sweep, which groups run in another order, grows by the same condition number.
BOUNDS = {
    str(PUBLISHED): {10: 1e-10, 100: 1e-8, 1000: 1e-5},
    str(HYBRID): {10: 1e-12, 100: 1e-11, 1000: 1e-8},
    str(COLUMNS): {10: 1e-12, 100: 1e-9, 1000: 1e-6},
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize(("function", "algorithm"), FORMS, ids=str)
def test_all_forms(function: str, algorithm: Any, n: int) -> None:
    robot, items = px.chain(n), 16
    kernel = robot.kernel(function, algorithm, device="opencl", group=items)
    inputs = states(robot, function)
    found = kernel(*inputs)
    bound = next((x for k, x in BOUNDS.get(str(algorithm), {}).items() if n <= k), 1e-12)
    assert farthest(found, robot.kernel(function, algorithm)(*inputs)) < bound


def test_segments_have_the_bits_of_the_processors_kernel() -> None:
    robot, cut = px.chain(30), ("partition", {"segments": 5})
    inputs = states(robot, "inverse_dynamics", 3)
    kernel = robot.kernel("inverse_dynamics", cut, device="opencl", group=4)
    assert kernel.form == "5 segments of 30 links over 4 work-items"
    assert kernel.group == 4
    np.testing.assert_array_equal(kernel(*inputs), robot.kernel("inverse_dynamics", cut)(*inputs))


def test_global_memory_and_arrays_of_the_device(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    robot = px.chain(5)
    inputs = states(robot, "inverse_dynamics", 6)
    kernel = robot.kernel("inverse_dynamics", "scan", device="opencl", group=8, memory="global")
    assert kernel.group == 5  # no more items than bodies
    assert kernel._first.local == 0 < kernel._first.workspace
    found = kernel(*inputs)
    assert farthest(found, robot.inverse_dynamics(*inputs)) < 1e-12
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.group, again._first.workspace, again.cached) == (5, kernel._first.workspace, True)
    queue = default_queue()
    on_device = again(*(cl_array.to_device(queue, x) for x in inputs))
    np.testing.assert_array_equal(on_device.get(), found)


@pytest.mark.exhaustive
def test_external_wrenches_in_local_memory() -> None:
    robot = px.chain(5)
    inputs = states(robot, "inverse_dynamics", 6)
    kernel = robot.kernel("inverse_dynamics", "scan", device="opencl", group=4, memory="local")
    assert kernel._first.workspace == 0 < kernel._first.local
    external = np.random.default_rng(1).standard_normal((6, robot.n_links, 6))
    wanted = robot.inverse_dynamics(*inputs, external=external)
    assert farthest(kernel(*inputs, external=external), wanted) < 1e-12


# ------------------------------------------------------------------- what a device must have


def small(**more: Any) -> Any:
    """A queue on a device that has little."""
    facts = {
        "name": "small ",
        "type": cl.device_type.GPU,
        "double_fp_config": 1,
        "max_work_group_size": 128,
        "local_mem_size": 1 << 10,
        "max_mem_alloc_size": 1 << 20,
        **dict.fromkeys(("vendor", "driver_version", "version"), "none"),
        "platform": SimpleNamespace(version="none"),
        **more,
    }
    return SimpleNamespace(context=None, device=SimpleNamespace(**facts))


def refused(group: WorkGroup, dtype: str = "float64", n: int = 5, **more: Any) -> str:
    call = resolve(px.chain(n), "inverse_dynamics", "scan")
    with pytest.raises(px.PhalanxError) as error:
        opencl_groups.built_groups(call, (), np.dtype(dtype), small(**more), group)
    return str(error.value)


def test_devices_that_have_too_little_are_named_with_a_remedy() -> None:
    assert 'device "small" has no double precision; use dtype="float32"' in refused(
        WorkGroup(8), double_fp_config=0
    )
    assert refused(WorkGroup(256)) == (
        'opencl: group=256 work-items, device "small" takes at most 128; pass group=128 or less.'
    )
    message = refused(WorkGroup(8, "local"))
    assert "a state takes 5 KB of scratch memory" in message
    assert 'device "small" has 1 KB of local memory; pass memory="auto"' in message


def test_too_little_global_memory() -> None:
    built = opencl_groups.BuiltGroups(
        small().device, None, 8, np.dtype(np.float64), 0.0, False, "", 1 << 20, 0, ()
    )
    with pytest.raises(px.PhalanxError, match=r"a work-group needs 8.4 MB of scratch memory, more than a"):
        built.launch(None, 1, [], None)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"group": 0}, "group=0, expected the work-items of a group"),
        ({"memory": "local"}, "is for work-groups; pass group="),
        ({"group": 8, "memory": "shared"}, 'choices: "auto", "local", "global"'),
        ({"group": 8, "device": "cpu"}, 'is for device="opencl" and "cuda"'),
    ],
)
def test_wrong_groups(more: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.chain(3).kernel("inverse_dynamics", **{"device": "opencl", **more})
