# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The fast paths around the ufunc: they refuse what they cannot take, leak nothing, keep what they need."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import build, objects
from reference.kernels import arguments, robot, same_bits
from reference.kernels import kernel as kernel_of
from reference.sampling import agree

pytestmark = pytest.mark.skipif(
    not objects.usable(), reason="this Python or NumPy lays out objects differently"
)


class Sub(np.ndarray):
    """Arrays with another type."""


def state(dtype: Any = "float64") -> list[np.ndarray]:
    return arguments(robot("panda"), "inverse_dynamics", (), dtype)


def direct(dtype: str = "float64") -> Any:
    return kernel_of("panda", "inverse_dynamics", dtype)._native.direct


def with_offset(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)
    view = memory[1:].view(a.dtype)
    view[...] = a
    return view


BAD: dict[str, Any] = {
    "float32": lambda a: a.astype(np.float32),
    "byte-swapped": lambda a: a.astype(">f8"),
    "int64": lambda a: a.astype(np.int64),
    "bits of another kind": lambda a: a.view(np.uint64),
    "complex": lambda a: a.astype(complex),
    "object": lambda a: a.astype(object),
    "strided": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "zero stride": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": with_offset,
    "a batch of one": lambda a: a[None],
    "no axes": lambda a: np.array(1.0),
    "too short": lambda a: a[:6].copy(),
    "too long": lambda a: np.append(a, 1.0),
    "empty": lambda a: a[:0],
    "a subclass": lambda a: a.view(Sub),
    "a masked array": lambda a: np.ma.masked_array(a),
    "a matrix": lambda a: a[None].view(np.matrix),
    "a record": lambda a: np.rec.array(a),
    "a list": lambda a: a.tolist(),
    "a tuple": lambda a: tuple(a),
    "a scalar": lambda a: np.float64(1.0),
    "a number": lambda a: 1.0,
    "None": lambda a: None,
    "a type": lambda a: np.ndarray,
    "bytes": lambda a: a.tobytes(),
    "a memoryview": lambda a: memoryview(a),
}


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("bad", BAD)
def test_the_direct_entry_refuses_and_touches_nothing(bad: str, position: int) -> None:
    arrays: list[Any] = [*state(), np.full(7, 5.0)]
    arrays[position] = BAD[bad](arrays[position])
    kept = [np.array(a, copy=True) for a in arrays]
    assert direct()(*arrays) is False
    for a, b in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(np.asarray(a), b)


def test_the_direct_entry_fills_out_and_says_so() -> None:
    out = np.zeros(7)
    assert direct()(*state(), out) is True
    same_bits(out, kernel_of("panda", "inverse_dynamics").ufunc(*state()))
    narrow = np.zeros(7, np.float32)
    assert direct("float32")(*state("float32"), narrow) is True
    assert direct("float32")(*state(), narrow) is False


def test_the_direct_entry_reads_read_only_inputs_and_refuses_a_read_only_output() -> None:
    arrays = state()
    for a in arrays:
        a.setflags(write=False)
    out = np.zeros(7)
    assert direct()(*arrays, out) is True
    out.setflags(write=False)
    kept = out.copy()
    assert direct()(*(a + 1.0 for a in arrays), out) is False
    same_bits(out, kept)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 6, 40])
def test_the_direct_entry_refuses_any_other_number_of_arguments(count: int) -> None:
    assert direct()(*[np.zeros(7)] * count) is False


def test_the_direct_entry_takes_no_keywords() -> None:
    with pytest.raises(TypeError, match="takes no keyword arguments"):
        direct()(*state(), out=np.zeros(7))


def test_matrix_outputs_are_checked_along_both_axes() -> None:
    short = kernel_of("panda", "mass_matrix")._native.direct
    q = state()[0]
    assert short(q, np.zeros((7, 7))) is True
    for shape in ((7,), (49,), (7, 6), (6, 7), (1, 7, 7), (7, 7, 1)):
        assert short(q, np.zeros(shape)) is False
    assert short(q, np.asfortranarray(np.zeros((7, 7)))) is False


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("bad", [b for b in BAD if b not in ("a batch of one", "a matrix", "empty")])
def test_the_direct_entry_refuses_bad_rows_as_well(bad: str, position: int) -> None:
    arrays: list[Any] = [*(np.tile(a, (5, 1)) for a in state()), np.full((5, 7), 5.0)]
    arrays[position] = (
        BAD[bad](arrays[position].ravel()) if bad == "unaligned" else BAD[bad](arrays[position][0])
    )
    assert direct()(*arrays) is False
    if position < 3:
        assert (arrays[3] == 5.0).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "forward_kinematics"])
def test_the_direct_entry_computes_rows_of_states(function: str, dtype: str) -> None:
    k = kernel_of("panda", function, dtype)
    for count in (1, 2, 7, 16, 33):
        rows = arguments(robot("panda"), function, count, dtype)
        wanted = k.ufunc(*rows)
        out = np.zeros_like(wanted)
        assert k._native.direct(*rows, out) is True
        same_bits(out, wanted)
        same_bits(k(*rows), wanted)
        assert k(*rows, out=out) is out


def test_the_direct_entry_refuses_rows_that_do_not_match() -> None:
    q, qd, qdd = (np.tile(a, (6, 1)) for a in state())
    out = np.full((6, 7), 5.0)
    deep = np.zeros((2, 3, 7))
    for arrays in (
        (q[:5], qd, qdd, out),
        (q, qd[0], qdd, out),
        (q, qd, qdd[:0], out),
        (q, qd, qdd, out[:5]),
        (q[:0], qd[:0], qdd[:0], out[:0]),
        (deep, deep, deep, np.full((2, 3, 7), 5.0)),
        (q, qd, qdd, out[0]),
        (q[0], qd[0], qdd[0], out),
        (q[:, :6].copy(), qd, qdd, out),
        (q[::2], qd[:3], qdd[:3], out[:3]),
    ):
        assert direct()(*arrays) is False
    assert (out == 5.0).all()


@pytest.mark.parametrize("shift", [0, 1, 7, 40, 41])
def test_rows_whose_output_overlaps_an_input_are_left_to_numpy(shift: int) -> None:
    rows = arguments(robot("panda"), "inverse_dynamics", 6)
    wanted = kernel_of("panda", "inverse_dynamics")(*rows)
    for position in range(3):
        memory = np.zeros(42 + shift)
        shared = memory[:42].reshape(6, 7)
        shared[...] = rows[position]
        arrays = [shared if k == position else a for k, a in enumerate(rows)]
        out = memory[shift:].reshape(6, 7)
        assert direct()(*arrays, out) is False
        same_bits(kernel_of("panda", "inverse_dynamics")(*arrays, out=out), wanted)


def test_neighbouring_memory_is_no_overlap() -> None:
    rows = arguments(robot("panda"), "inverse_dynamics", 6)
    memory = np.zeros(126)
    before, after = memory[:42].reshape(6, 7), memory[84:].reshape(6, 7)
    before[...], after[...] = rows[0], rows[1]
    out = memory[42:84].reshape(6, 7)
    assert direct()(before, after, rows[2], out) is True
    same_bits(out, kernel_of("panda", "inverse_dynamics")(*rows))


def test_other_threads_run_while_rows_are_computed() -> None:
    """The lock is given up: a thread counts on while a long batch runs in compiled code."""
    r = px.chain(20)
    short = r.kernel("forward_dynamics")._native.direct
    rows = [np.tile(a, (200, 1)) for a in arguments(r, "forward_dynamics", 1000)]
    out = np.zeros_like(rows[2])
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    spans = []
    try:
        for _ in range(8):
            start = time.perf_counter()
            assert short(*rows, out)
            spans.append((start, time.perf_counter()))
    finally:
        stop.set()
        thread.join()
    # With the lock held, ticks would fall before or after a call, never in the middle of so long a one.
    assert min(b - a for a, b in spans) > 0.02
    times = np.array(ticks)
    inside = [(times > (2 * a + b) / 3) & (times < (a + 2 * b) / 3) for a, b in spans]
    assert max(np.count_nonzero(x) for x in inside) > 10


def test_calls_leak_no_references() -> None:
    short = direct()
    arrays = [*state(), np.zeros(7)]
    step = kernel_of("panda", "inverse_dynamics").bind(*arrays[:3], out=arrays[3])
    watched = [True, False, None, np.ndarray, arrays[0].dtype, *arrays]

    def counts() -> list[int]:
        return [sys.getrefcount(x) for x in watched]

    before = counts()
    for _ in range(10_000):
        short(*arrays)
        short(None, 1, 2, 3)
        step()
    drift = np.subtract(counts(), before)
    assert np.abs(drift).max() < 50, drift  # others may use True, False and None meanwhile


def test_kernel_calls_leak_no_memory() -> None:
    k = kernel_of("panda", "inverse_dynamics")
    arrays = state()
    fresh = np.zeros(7)
    result = k(*arrays)
    assert sys.getrefcount(result) == sys.getrefcount(fresh)
    alive = weakref.ref(result)
    del result
    assert alive() is None
    batch = arguments(robot("panda"), "inverse_dynamics", 5)
    result = k(*batch)
    others = [np.zeros(7)]
    assert sys.getrefcount(result) == sys.getrefcount(fresh)
    assert [sys.getrefcount(batch[i]) for i in range(3)] == [sys.getrefcount(others[0])] * 3


# ------------------------------------------------------------------------------ bind


def test_a_bound_step_reads_and_writes_in_place() -> None:
    k = kernel_of("ur5", "forward_dynamics")
    inputs = arguments(robot("ur5"), "forward_dynamics")
    out = np.zeros(6)
    step = k.bind(*inputs, out=out)
    assert step() is None
    same_bits(out, k(*inputs))
    inputs[0] += 0.1
    inputs[2][:] = 1.0
    step()
    same_bits(out, k(*inputs))


def test_a_bound_step_keeps_its_arrays_and_its_code_alive() -> None:
    r = px.load("ur5")
    k = r.kernel("inverse_dynamics")
    inputs = arguments(r, "inverse_dynamics", 12)
    out = np.zeros((12, 6))
    wanted = k(*inputs)
    step = k.bind(*inputs, out=out)
    last = weakref.ref(out)
    del k, r, inputs, out
    gc.collect()
    noise = [np.full((12, 6), np.nan) for _ in range(50)]  # what was freed would be used again
    step()
    held = last()
    assert held is not None
    same_bits(held, wanted)
    del step, held, noise
    gc.collect()
    assert last() is None


def test_bound_arrays_cannot_be_moved_in_memory() -> None:
    k = kernel_of("ur5", "mass_matrix")
    q, out = np.zeros(6), np.zeros((6, 6))
    step = k.bind(q, out=out)
    for array in (q, out):
        with pytest.raises(ValueError, match="cannot resize"):
            array.resize(100_000, refcheck=False)
    step()
    same_bits(out, k(q))


@pytest.mark.parametrize("batch", [(), (1,), (3,), (8,), (21,), (2, 5), (0,), (4, 0)])
def test_a_bound_batch_may_have_any_shape(batch: tuple[int, ...]) -> None:
    k = kernel_of("ur5", "inverse_dynamics")
    inputs = arguments(robot("ur5"), "inverse_dynamics", batch)
    out = np.full((*batch, 6), 3.0)
    k.bind(*inputs, out=out)()
    same_bits(out, k(*inputs))


def test_bound_arrays_may_be_strided_and_broadcast() -> None:
    k = kernel_of("ur5", "inverse_dynamics")
    q, qd, qdd = arguments(robot("ur5"), "inverse_dynamics", 10)
    out = np.zeros((20, 12))[::-2, 1::2]
    k.bind(q[::-1], qd[0], np.asfortranarray(qdd), out=out)()
    same_bits(out, k(q[::-1].copy(), qd[0], qdd))


def test_a_scalar_result_is_bound_to_an_array_without_axes() -> None:
    k = kernel_of("ur5", "kinetic_energy")
    inputs = arguments(robot("ur5"), "kinetic_energy")
    out = np.zeros(())
    k.bind(*inputs, out=out)()
    assert out == k(*inputs)


def bind_error(message: str, *inputs: Any, **more: Any) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        kernel_of("ur5", "inverse_dynamics").bind(*inputs, **more)


def test_bind_names_what_is_wrong() -> None:
    q, qd, qdd = arguments(robot("ur5"), "inverse_dynamics", 4)
    out = np.zeros((4, 6))
    frozen = out.copy()
    frozen.setflags(write=False)
    many = np.zeros((3, 4, 6))
    where = 'for robot "ur5"'
    bind_error(f"bind: q {where} is list, expected an array of float64", q.tolist(), qd, qdd, out=out)
    bind_error(f"bind: qd {where} is NoneType, expected an array", q, None, qdd, out=out)
    bind_error(f"bind: qd {where} is float32, expected an array", q, qd.astype("f4"), qdd, out=out)
    bind_error(f"bind: qd {where} is >f8, expected an array", q, qd.astype(">f8"), qdd, out=out)
    bind_error(rf"bind: qdd {where} has shape \(4, 5\), expected \(…, 6\)", q, qd, qdd[:, :5], out=out)
    bind_error(rf"bind: q {where} has shape \(\), expected \(…, 6\)", np.array(1.0), qd, qdd, out=out)
    bind_error(f"bind: out {where} is read-only or not aligned", q, qd, qdd, out=frozen)
    bind_error(f"bind: out {where} is list, expected", q, qd, qdd, out=out.tolist())
    bind_error(r"bind: out has shape \(3, 6\), expected \(4, 6\)", q, qd, qdd, out=out[:3])
    bind_error(r"bind: out has shape \(4, 6\), expected \(6,\)", q[0], qd[0], qdd[0], out=out)
    bind_error("bind: the batch shapes .* do not broadcast", q[:3], qd, qdd, out=out)
    bind_error("bind: out shares memory with an input", q, qd, qdd, out=q)
    bind_error("bind: out shares memory with an input", many[0], qd, qdd, out=many[0])
    bind_error("bind: the batch axes do not lie in one row; pass C-contiguous", many, qd, qdd, out=many + 1.0)
    bind_error(r"bind: external .* has shape \(4, 6\), expected \(…, 6, 6\)", q, qd, qdd, out=out, external=q)
    aside = np.zeros(4 * 48 + 1, np.uint8)[1:].view(np.float64).reshape(4, 6)
    bind_error(f"bind: q {where} is read-only or not aligned", aside, qd, qdd, out=out)


def test_bind_has_the_parameters_of_the_function() -> None:
    k = kernel_of("ur5", "inverse_dynamics")
    q, qd, qdd = arguments(robot("ur5"), "inverse_dynamics")
    out = np.zeros(6)
    for wrong, message in (
        (lambda: k.bind(q, qd, out=out), "missing 1 required positional argument: 'qdd'"),
        (lambda: k.bind(q, qd, qdd, out), "takes 4 positional arguments but 5 were given"),
        (lambda: k.bind(q, qd, qdd), "missing 1 required keyword-only argument: 'out'"),
        (lambda: k.bind(q, qd, qdd, out=out, externl=q), "unexpected keyword argument 'externl'"),
    ):
        with pytest.raises(TypeError, match=message):
            wrong()
    k.bind(qdd=qdd, q=q, qd=qd, out=out)()
    same_bits(out, k(q, qd, qdd))


def test_a_step_takes_no_arguments_and_says_so() -> None:
    step = kernel_of("ur5", "mass_matrix").bind(np.zeros(6), out=np.zeros((6, 6)))
    with pytest.raises(TypeError, match="takes no arguments"):
        step(1)
    assert str(inspect.signature(step)) == "()"
    assert "Recompute" in (step.__doc__ or "")


# ------------------------------------------------- where objects are laid out differently


def test_everything_works_without_the_fast_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "usable", lambda: False)
    r = px.load("ur5")
    k = r.kernel("inverse_dynamics")
    assert k._native.direct is build.never
    assert k._direct is build.never
    inputs = arguments(r, "inverse_dynamics", 9)
    one = [a[0] for a in inputs]
    wanted = kernel_of("ur5", "inverse_dynamics")(*inputs)
    same_bits(k(*inputs), wanted)
    same_bits(k(*one), wanted[0])
    for _ in range(2):
        same_bits(r.inverse_dynamics(*one), wanted[0])
        same_bits(r.inverse_dynamics(*inputs), wanted)
    out = np.zeros((9, 6))
    step = k.bind(*inputs, out=out)
    assert step() is None
    same_bits(out, wanted)
    inputs[0] += 1.0
    step()
    agree(out, r.inverse_dynamics(*inputs, backend="numpy"), 1e-13)


def test_the_fast_path_of_a_method_is_the_kernel_that_the_slow_path_made() -> None:
    r = px.load("two_link")
    assert "fast path: inverse_dynamics" not in r._memo
    first = r.inverse_dynamics(*arguments(r, "inverse_dynamics"))
    made = r._memo["fast path: inverse_dynamics"]
    assert isinstance(made[2], build.Native)
    same_bits(r.inverse_dynamics(*arguments(r, "inverse_dynamics")), first)
