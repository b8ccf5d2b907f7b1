# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Work-items that have one segment of a chain each, on PoCL: numbers, launches, and when they are chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference import opencl_device

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
cl_array = pytest.importorskip("pyopencl.array")

from phalanx.backends.devices import opencl_programs  # noqa: E402
from phalanx.dispatch import resolve  # noqa: E402
from phalanx.languages.dialects import opencl as dialect  # noqa: E402
from phalanx.languages.opencl import Pieces, pieces_of  # noqa: E402
from phalanx.program.builder import Builder  # noqa: E402
from phalanx.program.interpret import interpret  # noqa: E402
from phalanx.program.ir import IntExpr  # noqa: E402

if opencl_device.missing():
    pytest.skip(opencl_device.missing(), allow_module_level=True)

LANES = 4


def let_few(monkeypatch: pytest.MonkeyPatch, *, vectors: bool) -> None:
    """Let batches of up to three be few, on a processor or on what passes for a graphics processor."""
    monkeypatch.setattr(opencl_programs, "has_vectors", lambda device: vectors)
    monkeypatch.setattr(opencl_programs, "most_states", lambda device: 3)


@pytest.mark.parametrize(
    ("vectors", "function", "n", "segments", "dtype"),
    [
        (True, "forward_dynamics", 100, 6, "float64"),  # segments of two lengths
        pytest.param(False, "inverse_dynamics", 1000, 62, "float64", marks=pytest.mark.exhaustive),
        (True, "inverse_dynamics", 150, 70, "float32"),  # more than are side by side, and lanes to spare
    ],
)
def test_numbers_are_those_of_the_processors_kernel(
    monkeypatch: pytest.MonkeyPatch, vectors: bool, function: str, n: int, segments: int, dtype: Any
) -> None:
    let_few(monkeypatch, vectors=vectors)
    robot, cut = px.chain(n), ("partition", {"segments": segments})
    kernel = robot.kernel(function, algorithm=cut, dtype=dtype, device="opencl")
    on_processor = robot.kernel(function, algorithm=cut, dtype=dtype)
    whole = robot.kernel(function, algorithm="aba" if function[0] == "f" else "newton_euler", dtype=dtype)
    for count in (1, 3, 4):
        inputs = [x.astype(dtype) for x in robot.random_state(count, rng=count)]
        assert kernel._first.takes_segments(count) == (count < 4)
        found, other = kernel(*inputs), whole(*inputs)
        np.testing.assert_array_equal(found, on_processor(*inputs))
        bound = (1e-9 if dtype == "float64" else 1e-2) * np.abs(other).max()
        np.testing.assert_allclose(found, other, rtol=0, atol=bound)


@pytest.mark.exhaustive
def test_a_thousand_links_go_forward(monkeypatch: pytest.MonkeyPatch) -> None:
    let_few(monkeypatch, vectors=False)
    robot = px.chain(1000)
    kernel = robot.kernel("forward_dynamics", algorithm=("partition", {"segments": 8}), device="opencl")
    # In front of the segments one work-item asks whether all inputs are finite.
    assert kernel._first.pieces == (1, 8, 1, 8, 1, 8, 8)
    state = robot.random_state(3, rng=0)
    wanted = robot.kernel("forward_dynamics", algorithm=("partition", {"segments": 8}))(*state)
    np.testing.assert_array_equal(kernel(*state), wanted)
    out_of_order = cl.CommandQueue(
        opencl_programs.default_queue().context,
        properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE,
    )
    on_device = kernel(*(cl_array.to_device(out_of_order, x) for x in state))
    np.testing.assert_array_equal(on_device.get(), wanted)
    assert kernel(*(x[:0] for x in state)).shape == (0, 1000)
    with pytest.raises(px.PhalanxError, match="expected"):
        kernel(state[0][:, :5], *state[1:])


def test_joints_with_several_axes_feel_wrenches(monkeypatch: pytest.MonkeyPatch) -> None:
    let_few(monkeypatch, vectors=True)
    robot = px.tree(12, 0.0, seed=2, joints=("spherical", "revolute"))
    state = robot.random_state(2, rng=0)
    external = np.random.default_rng(1).standard_normal((2, robot.n_links, 6))
    kernel = robot.kernel("inverse_dynamics", algorithm=("partition", {"segments": 5}), device="opencl")
    wanted = robot.inverse_dynamics(*state, external=external, backend="numpy")
    found = kernel(*state, external=external)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    (built,) = (b for key, b in kernel._programs.items() if key[0])
    assert built.takes_segments(2)


def test_it_comes_from_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    let_few(monkeypatch, vectors=True)
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    robot, cut = px.chain(70), ("partition", {"segments": 4})
    first, again = (robot.kernel("inverse_dynamics", algorithm=cut, device="opencl") for _ in range(2))
    assert (first.cached, again.cached) == (False, True)
    assert again._first.pieces == first._first.pieces == (1, 4, 1, 4, 1, 4, 4)
    state = robot.random_state(2, rng=0)
    np.testing.assert_array_equal(again(*state), first(*state))


def test_only_few_states_of_large_devices_are_cut() -> None:
    def device(kind: int, units: int) -> Any:
        return SimpleNamespace(type=kind, max_compute_units=units)

    processor, graphics = cl.device_type.CPU, cl.device_type.GPU
    assert [opencl_programs.most_states(device(processor, k)) for k in (1, 2, 8, 64)] == [0, 0, 2, 16]
    assert opencl_programs.most_states(device(graphics, 80)) == 5120


def test_segments_are_as_many_as_a_device_has_units() -> None:
    call = resolve(px.chain(1000), "forward_dynamics", "partition")
    counts = [dict(opencl_programs.divided(call, units).options).get("segments") for units in (2, 24, 128)]
    assert counts == [None, 24, 62]  # none has fewer than sixteen links
    told = resolve(px.chain(1000), "forward_dynamics", ("partition", {"segments": 5}))
    assert opencl_programs.divided(told, 128) is told


def test_the_program_means_the_same_in_lockstep() -> None:
    robot = px.chain(50)
    call = resolve(robot, "forward_dynamics", ("partition", {"segments": 6}))
    pieces = opencl_programs.pieces_of(call, (), "double")
    assert pieces is not None
    state = dict(zip(("q", "qd", "tau"), robot.random_state(rng=0), strict=True))
    wanted = robot.forward_dynamics(*state.values(), algorithm="aba")
    found = interpret(pieces.program, state)["out"]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def refused(build: Any) -> str:
    b = Builder({"x": (LANES,)}, {"out": (LANES,)}, LANES)
    build(b, b.buffer("kept", 4))
    with pytest.raises(px.PhalanxError) as error:
        pieces_of(b.finished())
    return str(error.value)


def test_segments_that_need_each_other_are_refused() -> None:
    def neighbours(b: Any, kept: Any) -> None:
        with b.part(LANES):
            b.store(kept, 0, b.load(kept, IntExpr("lanes", tuple(range(LANES)))))

    def values(b: Any, kept: Any) -> None:
        with b.part(1):
            value = b.load(kept, 0)
        with b.part(LANES):
            b.store(kept, 0, value)

    def inside(b: Any, kept: Any) -> None:
        with b.loop(3), b.part(1):
            b.store(kept, 0, 1.0)

    assert 'accesses another one in "kept"' in refused(neighbours)
    assert "passes between launches" in refused(values)
    assert "inside of a loop" in refused(inside)


def test_pieces_share_tables_and_join_where_they_can() -> None:
    call = resolve(px.chain(100), "inverse_dynamics", ("partition", {"segments": 6}))
    pieces = opencl_programs.pieces_of(call, (), "float")
    assert isinstance(pieces, Pieces)
    assert pieces.dialect == dialect("float")
    assert pieces.widths == [1, 6, 1, 6, 1, 6, 6]
    text = "\n".join(pieces.paragraphs())
    assert text.count("__kernel") == 7
    heads = [line for line in text.splitlines() if line.startswith("__constant")]
    assert len(heads) == len(set(heads))
