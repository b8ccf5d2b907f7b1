# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Bound steps: arrays given once, then read and written in place."""

from __future__ import annotations

import gc
import inspect
import weakref
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.kernels import arguments, robot, same_bits
from reference.kernels import kernel as kernel_of


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
