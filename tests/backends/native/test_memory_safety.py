# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compiled code stays within its arrays, whatever they share, and refuses those that are too large."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import pytest

import phalanx as px
from reference.kernels import arguments, in_fresh_interpreter, kernel, robot, same_bits


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("shift", [0, 1, 3, 6, 7, 48, 300])
def test_out_may_lie_across_any_input(function: str, shift: int) -> None:
    r, count = robot("ur5"), 50
    k = kernel("ur5", function)
    state = arguments(r, function, count)
    wanted = k(*state)
    for position in range(3):
        for step in (1, -1):
            memory = np.zeros(count * 6 + shift)
            shared = memory[: count * 6].reshape(count, 6)[::step]
            shared[...] = state[position]
            inputs = [shared if i == position else a for i, a in enumerate(state)]
            out = memory[shift:].reshape(count, 6)
            k(*inputs, out=out)
            same_bits(out, wanted)


def test_out_may_be_an_input_of_one_state() -> None:
    k = kernel("ur5", "inverse_dynamics")
    state = arguments(robot("ur5"), "inverse_dynamics")
    wanted = k(*state)
    for position in range(3):
        inputs = [a.copy() for a in state]
        assert k(*inputs, out=inputs[position]) is inputs[position]
        same_bits(inputs[position], wanted)


def test_one_array_may_be_all_inputs_and_the_output() -> None:
    r, k = robot("ur5"), kernel("ur5", "inverse_dynamics")
    x = arguments(r, "inverse_dynamics", 20)[0]
    wanted = k(x.copy(), x.copy(), x.copy())
    same_bits(k(x, x, x), wanted)
    k(x, x, x, out=x)
    same_bits(x, wanted)


def test_results_stay_inside_the_output() -> None:
    for function in ("inverse_dynamics", "mass_matrix", "forward_kinematics"):
        for name in ("two_link", "ur5", "panda"):
            for dtype in ("float64", "float32"):
                k = kernel(name, function, dtype)
                for count in (1, 3, 8, 9, 16, 21):
                    state = arguments(robot(name), function, count, dtype)
                    wanted = k(*state)
                    memory = np.full(wanted.size + 200, 7.0, dtype)
                    out = memory[100 : 100 + wanted.size].reshape(wanted.shape)
                    k(*state, out=out)
                    same_bits(out, wanted)
                    k.bind(*state, out=out)()
                    one = memory[100 : 100 + wanted[0].size].reshape(wanted[0].shape)
                    k._native.direct(*(a[0].copy() for a in state), one)
                    assert (memory[:100] == 7.0).all()
                    assert (memory[100 + wanted.size :] == 7.0).all()


GUARD = """
import ctypes, mmap, sys
import numpy as np
import phalanx as px
from reference.kernels import arguments

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)

def fenced(like, at_end):
    '''Memory of the array's shape that touches a page nobody may read or write.'''
    pages = -(-like.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert libc.mprotect(ctypes.c_void_p(start + page * PAGE), PAGE, 0) == 0
    offset = PAGE * (pages + 1) - like.nbytes if at_end else PAGE
    array = np.frombuffer(memory, like.dtype, like.size, offset).reshape(like.shape)
    array[...] = like
    return array

MORE = {2: ["mass_matrix", "inverse_dynamics"], 3: ["mass_matrix", "forward_kinematics"]}
for n in (1, 2, 3, 5, 6, 7, 8, 9, 15, 17):
    r = px.chain(n, seed=n)
    for function in ["gravity_forces", *MORE.get(n, [])]:
        for dtype in ("float64", "float32"):
            k = r.kernel(function, dtype=dtype)
            for count in (1, 2, 8, 11, 19):
                state = arguments(r, function, count, dtype)
                wanted = k(*state)
                for at_end in (False, True):
                    inputs = [fenced(a, at_end) for a in state]
                    out = fenced(wanted * 0, at_end)
                    k(*inputs, out=out)
                    assert np.array_equal(out, wanted)
                    out[...] = 0
                    k.ufunc(*inputs, out=out)
                    assert np.array_equal(out, wanted)
                    out[...] = 0
                    k.bind(*inputs, out=out)()
                    assert np.array_equal(out, wanted)
                    if count == 1:
                        one = fenced(wanted[0] * 0, at_end)
                        assert k._native.direct(*(fenced(a[0], at_end) for a in state), one)
                        assert np.array_equal(one, wanted[0])
print("inside")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is fenced by mmap and mprotect")
@pytest.mark.parametrize("level", ["", "avx2", "sse2"])
def test_no_byte_outside_the_arrays_is_touched(level: str) -> None:
    from phalanx.backends.native.compile import host

    if level and (not host().triple.startswith("x86_64") or host().bits < {"avx2": 256, "sse2": 128}[level]):
        pytest.skip(f"this machine has no {level}")
    assert in_fresh_interpreter(GUARD, PHALANX_CPU=level, PYTHONFAULTHANDLER="1") == "inside"


# ----------------------------------------------------------------------------- huge shapes


def test_huge_results_are_refused_before_anything_is_computed() -> None:
    r = robot("ur5")
    for count in (2**40, 2**57):
        huge = np.broadcast_to(np.zeros(6), (count, 6))
        for function, more in (("inverse_dynamics", 3), ("mass_matrix", 1), ("kinetic_energy", 2)):
            for way in (getattr(r, function), kernel("ur5", function), kernel("ur5", function).ufunc):
                for _ in range(2):
                    with pytest.raises((px.PhalanxError, MemoryError, ValueError)):
                        way(*[huge] * more)


def test_batches_too_large_together_are_refused() -> None:
    r = robot("ur5")
    tall = np.broadcast_to(np.zeros(6), (2**40, 1, 6))
    wide = np.broadcast_to(np.zeros(6), (1, 2**40, 6))
    for way in (
        r.inverse_dynamics,
        kernel("ur5", "inverse_dynamics"),
        kernel("ur5", "inverse_dynamics").ufunc,
    ):
        with pytest.raises((px.PhalanxError, MemoryError, ValueError)):
            way(tall, wide, tall)


def test_many_repeated_states_take_no_memory_for_inputs() -> None:
    r = robot("ur5")
    one = arguments(r, "kinetic_energy")
    many = [np.broadcast_to(a, (300_000, 6)) for a in one]
    result = r.kinetic_energy(*many)
    assert result.shape == (300_000,)
    assert (result == r.kinetic_energy(*one)).all()


def test_more_axes_than_can_be_broadcast_are_refused_in_every_way() -> None:
    r, k = robot("two_link"), kernel("two_link", "mass_matrix")
    ways = {
        "method": r.mass_matrix,
        "one thread": partial(r.mass_matrix, threads=1),
        "two threads": partial(r.mass_matrix, threads=2),
        "reference": partial(r.mass_matrix, backend="numpy"),
        "kernel": k,
        "kernel, two threads": partial(k, threads=2),
        "into out": lambda q: r.mass_matrix(q, out=np.empty((*q.shape, 2))),
    }
    for name, way in ways.items():
        most = np.zeros((1,) * 31 + (3, 2))
        assert way(most).shape == (*most.shape, 2), name
        for axes in (33, 62):
            with pytest.raises(px.PhalanxError, match=f"^mass_matrix: q has {axes} batch axes, expected at "):
                way(np.zeros((1,) * axes + (2,)))
    many = np.zeros((1,) * 33 + (2,))
    with pytest.raises(px.PhalanxError, match="bind: q has 33 batch axes, expected at most 32; reshape it"):
        k.bind(many, out=np.zeros((*many.shape, 2)))
