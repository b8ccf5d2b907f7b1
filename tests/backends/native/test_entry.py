# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The fast paths around the ufunc: they refuse what they cannot take, leak nothing, keep what they need."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends import base
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


ODD: dict[str, Any] = {
    "strided": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "backwards": lambda a: a[..., ::-1].copy()[..., ::-1],
    "zero stride": lambda a: np.broadcast_to(a[..., :1], a.shape),
    "turned": lambda a: np.ascontiguousarray(a.T).T,
    "far apart": lambda a: np.repeat(a, 3, 0)[::-3] if a.ndim > 1 else a,
}


@pytest.mark.parametrize("batch", [(), (5,), (2, 9)])
@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("odd", ODD)
def test_the_direct_entry_takes_arrays_as_they_lie(odd: str, position: int, batch: tuple[int, ...]) -> None:
    if odd == "zero stride" and position == 3:
        return  # read-only
    arrays = [*arguments(robot("panda"), "inverse_dynamics", batch), np.full((*batch, 7), 5.0)]
    arrays[position] = ODD[odd](arrays[position])
    assert direct()(*arrays) is True
    same_bits(arrays[3], kernel_of("panda", "inverse_dynamics").ufunc(*arrays[:3]))


@pytest.mark.parametrize(
    "batches",
    [
        ((9,), (), ()),
        ((), (1,), (9,)),
        ((9, 1), (5,), ()),
        ((1, 9), (5, 1), (5, 9)),
        ((3, 1, 1), (4, 1), (1, 1, 7)),
        ((2, 3, 5), (3, 1), (1, 3, 5)),
        ((1, 1), (), (1,)),
    ],
)
@pytest.mark.parametrize("flip", [1, -1])
def test_the_direct_entry_broadcasts_as_numpy_does(batches: Any, flip: int) -> None:
    arrays = [
        a[::flip]
        for a in (arguments(robot("panda"), "inverse_dynamics", b)[k] for k, b in enumerate(batches))
    ]
    wanted = kernel_of("panda", "inverse_dynamics").ufunc(*arrays)
    for out in (np.zeros_like(wanted), np.asfortranarray(np.zeros_like(wanted))):
        assert direct()(*arrays, out) is True
        same_bits(out, wanted)
    same_bits(kernel_of("panda", "inverse_dynamics")(*arrays), wanted)
    for shape in ((1, *wanted.shape), wanted.shape[1:], (2, *wanted.shape[1:])):
        if shape != wanted.shape:
            assert direct()(*arrays, np.zeros(shape)) is False


@pytest.mark.parametrize("start", [0, 3, 44, 45])
@pytest.mark.parametrize("stop", [-1, 0, 3, 17, 45, 10**6])
def test_some_rows_of_a_batch_are_computed_alone(start: int, stop: int) -> None:
    q, qd, qdd = arguments(robot("panda"), "inverse_dynamics", (9, 5))
    wanted = kernel_of("panda", "inverse_dynamics").ufunc(q, qd[0], qdd)
    out = np.full((9, 5, 7), np.nan)
    assert direct()(q, qd[0], qdd, out, start, stop, 4, 0) is True
    # The longest axis is the innermost.
    rows, all_rows = (np.moveaxis(a, 0, 1).reshape(45, 7) for a in (out, wanted))
    within = slice(start, max(min(stop, 45), start))
    same_bits(rows[within], all_rows[within])
    assert np.isnan(np.delete(rows, within, 0)).all()


@pytest.mark.parametrize("words", [(None, 1, 1, 1), (0, 1.0, 1, 1), (0, 1, "1", 1), (0, 1, 1, 2**70)])
def test_rows_that_are_no_numbers_raise_and_nothing_is_touched(words: Any) -> None:
    out = np.full((5, 7), 5.0)
    with pytest.raises((TypeError, OverflowError)):
        direct()(*(np.tile(a, (5, 1)) for a in state()), out, *words)
    assert (out == 5.0).all()


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


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 6, 7, 9, 40])
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
    turned = np.asfortranarray(np.zeros((7, 7)))
    assert short(q, turned) is True
    same_bits(turned, kernel_of("panda", "mass_matrix").ufunc(q))


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
        (q, qd, qdd[:0], out),
        (q[0], qd[0], qdd[0], out[:1]),
        (q, qd, qdd, out[:5]),
        (q[:0], qd[:0], qdd[:0], out[:0]),
        (deep, deep, deep, out),
        (q, qd, qdd, out[0]),
        (q[0], qd[0], qdd[0], out),
        (q[:, :6].copy(), qd, qdd, out),
        (q[::2], qd[:2], qdd[:3], out[:3]),
        (q[:1], qd[:1], qdd[:1], out),
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
    """The GIL is given up: a thread that only waits for it gets on during a call in compiled code."""
    rows = [np.tile(a, (100, 1)) for a in arguments(robot("panda"), "inverse_dynamics", 1000)]
    out = np.zeros_like(rows[2])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600.0)  # nobody is made to give it up
    try:
        for _ in range(100):  # the other thread may find no processor during one call
            ran = threading.Event()
            gate = threading.Lock()
            with gate:
                thread = threading.Thread(target=lambda gate=gate, ran=ran: gate.acquire() and ran.set())
                thread.start()
            before = ran.is_set()
            assert direct()(*rows, out) is True
            during = ran.is_set()
            thread.join()
            if during and not before:
                return
    finally:
        sys.setswitchinterval(interval)
    pytest.fail("no other thread ran")


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


# ------------------------------------------------- where objects are laid out differently


def test_everything_works_without_the_fast_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = arguments(robot("ur5"), "inverse_dynamics", 9)
    # Before the change: this robot is shared, and keeps what is built for it.
    wanted = kernel_of("ur5", "inverse_dynamics")(*inputs)
    monkeypatch.setattr(objects, "usable", lambda: False)
    r = px.load("ur5")
    k = r.kernel("inverse_dynamics")
    assert k._native.direct is base.never
    one = [a[0] for a in inputs]
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
    assert isinstance(made[-1], build.Native)
    same_bits(r.inverse_dynamics(*arguments(r, "inverse_dynamics")), first)
