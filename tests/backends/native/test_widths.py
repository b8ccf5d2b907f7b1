# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Long robots: a single state runs in narrow loops, a huge matrix in narrow ones throughout; same bits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import build
from phalanx.backends.native.emit import widths
from phalanx.program import unroll_policy
from reference.kernels import arguments, same_bits


def robot_of(seed: int) -> px.Robot:
    return px.tree(60, branching=0.1, seed=seed)


@pytest.mark.parametrize("limit", ["_LITTLE", "_MUCH"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("function", "algorithm"),
    [
        ("inverse_dynamics", "newton_euler"),
        ("forward_dynamics", "aba"),
        ("forward_dynamics", "jsiia"),
        ("mass_matrix", "crba"),
        ("mass_matrix_inverse", "auto"),
    ],
)
def test_all_widths_give_the_same_bits(
    function: str, algorithm: str, dtype: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unroll_policy, "_ENTRIES", 0)
    monkeypatch.setattr(build.cache, "read", lambda key: None)
    monkeypatch.setattr(build.cache, "write", lambda key, code: None)
    usual = robot_of(3).kernel(function, algorithm=algorithm, dtype=dtype)
    monkeypatch.setattr(widths, limit, 0)
    other = robot_of(3).kernel(function, algorithm=algorithm, dtype=dtype)
    state = arguments(robot_of(3), function, 21, dtype)
    wanted = usual(*state)
    same_bits(other(*state), wanted)
    for k in (0, 20):
        same_bits(other(*(x[k] for x in state)), wanted[k])
        same_bits(other(*(x[k : k + 1] for x in state)), wanted[k : k + 1])
        out = np.empty_like(wanted[k])
        other.bind(*(np.ascontiguousarray(x[k]) for x in state), out=out)()
        same_bits(out, wanted[k])
    if build.host().bits > 128:
        wide = f"<{build.host().lanes(np.dtype(dtype).itemsize)} x "
        assert ("@alone(" in other.llvm_ir()) == (limit == "_LITTLE")
        assert (wide in other.llvm_ir()) == (limit == "_LITTLE")


@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [
        ("crba", "float64"),
        ("crba", "float32"),
        ("kane_variant", "float64"),
        ("newton_euler_original", "float32"),
        ("newton_euler_variant", "float64"),
        ("processor_array", "float64"),
        (("processor_array", {"form": "composite"}), "float32"),
        (("processor_array", {"form": "composite_base"}), "float64"),
        (("processor_array", {"moment": "inside"}), "float64"),
    ],
)
def test_columns_of_one_state_side_by_side_give_the_bits_of_a_batch(algorithm: Any, dtype: str) -> None:
    # Lengths that leave no, one and many columns over, at every width of registers.
    for n in (32, 33, 47, 70) if algorithm == "crba" else (33, 48):
        robot = px.chain(n, seed=n, prismatic=0.3).replace(armature=np.linspace(0.0, 0.1, n))
        k = robot.kernel("mass_matrix", algorithm=algorithm, dtype=dtype)
        assert "@alone(" in k.llvm_ir()
        (q,) = arguments(robot, "mass_matrix", 9, dtype)
        wanted = k(q)
        for state, M in zip(q, wanted, strict=True):
            same_bits(k(state), M)


def test_loops_have_narrow_registers_for_one_state_where_registers_are_the_widest() -> None:
    robot = px.chain(70)
    for function in ("inverse_dynamics", "forward_dynamics"):
        text = robot.kernel(function, algorithm="newton_euler" if "inv" in function else "aba").llvm_ir()
        assert ("@alone(" in text) == (build.host().bits >= widths.WIDE)


def test_a_matrix_that_fits_no_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (px.chain(301, seed=77) for _ in range(2))
    real = os.sysconf
    monkeypatch.setattr(os, "sysconf", lambda name: 8 if name == "SC_PHYS_PAGES" else real(name))
    with pytest.raises(
        px.PhalanxError,
        match=r'algorithm "jsiia" keeps a matrix over the bodies of robot "chain" \(301 bodies\)'
        r'.* GB for each thread, more than half of the memory of this machine; use algorithm "auto"',
    ):
        first.kernel("forward_dynamics", algorithm="jsiia")
    with pytest.raises(px.PhalanxError, match="no other algorithm covers it; take a shorter robot"):
        second.kernel("mass_matrix_inverse")
