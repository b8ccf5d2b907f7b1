# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Nothing a user passes crashes the interpreter: the reference's answer, or one clear error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phalanx as px
from reference.kernels import in_fresh_interpreter, kernel, reference, robot
from reference.sampling import agree

DTYPES = (
    "float64",
    "float64",
    "float64",
    "float32",
    ">f8",
    ">f4",
    "int64",
    "int8",
    "uint32",
    "bool",
    "float16",
)
DTYPES += ("longdouble", "complex128", "object", "U3", "S2", "datetime64[s]", "V8")
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (2,),
    (3,),
    (9,),
    (17,),
    (0,),
    (3, 1),
    (1, 3),
    (2, 3),
    (2, 0),
    (1, 1, 3),
)
LAYOUTS = (
    "c",
    "c",
    "f",
    "negative",
    "inside out",
    "strided",
    "unaligned",
    "read-only",
    "broadcast",
    "turned",
)
KINDS = ("array",) * 12 + (
    "list",
    "subclass",
    "masked",
    "matrix",
    "scalar",
    "none",
    "text",
    "ragged",
    "set",
    "type",
)


class Sub(np.ndarray):
    """Arrays with another type."""


def laid(a: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers in other memory."""
    if layout == "f":
        return np.asfortranarray(a)
    if layout == "negative" and a.ndim:
        return a[::-1].copy()[::-1]
    if layout == "inside out" and a.ndim:
        return a[..., ::-1].copy()[..., ::-1]
    if layout == "strided" and a.ndim:
        return np.repeat(a, 2, axis=-1)[..., ::2]
    if layout == "unaligned" and a.dtype != object:
        view = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
        view[...] = a
        return view
    if layout == "read-only":
        a.setflags(write=False)
    if layout == "broadcast" and a.ndim:
        return np.broadcast_to(a[:1], a.shape) if len(a) else a
    if layout == "turned" and a.ndim > 1:
        return np.ascontiguousarray(a.T).T
    return a


@st.composite
def values(draw: Any, size: int) -> Any:
    """Something that somebody may pass for an input."""
    kind = draw(st.sampled_from(KINDS))
    if kind == "none":
        return None
    if kind == "text":
        return "0.5"
    if kind == "ragged":
        return [[1.0] * size, [2.0]]
    if kind == "set":
        return {1.0, 2.0}
    if kind == "type":
        return np.ndarray
    if kind == "scalar":
        return draw(st.sampled_from([1, 1.5, np.float64(2.0), np.array(3.0), True, 1j]))
    core = draw(st.sampled_from([(size,)] * 9 + [(size + 1,), (size - 1,), (), (1,), (0,), (size, size)]))
    shape = (*draw(st.sampled_from(SHAPES)), *core)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    numbers = rng.uniform(-3.0, 3.0, shape)
    if draw(st.integers(0, 5)) == 0 and numbers.size:
        numbers.flat[rng.integers(numbers.size)] = draw(st.sampled_from([np.nan, np.inf, 1e300, 1e7, -0.0]))
    with np.errstate(all="ignore"):
        dtype = draw(st.sampled_from(DTYPES))
        if np.dtype(dtype).kind in "Viub" or dtype.startswith("datetime"):
            numbers = np.nan_to_num(numbers, posinf=1.0, neginf=1.0).clip(0, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = numbers.astype(np.int64).astype(dtype) if dtype[0] in "dV" else numbers.astype(dtype)
    array = laid(array, draw(st.sampled_from(LAYOUTS)))
    if kind == "list":
        return array.tolist()
    if kind == "subclass":
        return array.view(Sub)
    if kind == "masked":
        return np.ma.masked_array(array)
    if kind == "matrix" and array.ndim == 2:
        return array.view(np.matrix)
    return array


FUNCTIONS = {"inverse_dynamics": 3, "mass_matrix": 1, "kinetic_energy": 2, "forward_kinematics": 1}


@st.composite
def calls(draw: Any) -> tuple[str, list[Any], Any, dict[str, Any]]:
    """A function, its inputs, what to pass as `out` and optional inputs."""
    function = draw(st.sampled_from(list(FUNCTIONS)))
    inputs = [draw(values(6)) for _ in range(FUNCTIONS[function])]
    if draw(st.integers(0, 9)) == 0:
        inputs = inputs[:-1] if draw(st.booleans()) else [*inputs, inputs[-1]]
    out = draw(st.sampled_from(["none"] * 4 + ["fits", "fits", "shares", "wrong", "odd"]))
    more = {}
    if function == "inverse_dynamics" and draw(st.integers(0, 4)) == 0:
        more["external"] = draw(st.sampled_from([None, np.ones((6, 6)), np.ones((3, 6, 6)), np.ones(6), "x"]))
    return function, inputs, (out, draw(st.sampled_from(LAYOUTS)), draw(st.integers(0, 99))), more


def outcome(call: Any) -> Any:
    """The result of a call, or the error that it raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return call()
    except (px.PhalanxError, TypeError, ValueError, MemoryError) as error:
        return error


def output(how: Any, inputs: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """An array for the results: fitting, sharing memory with an input, or wrong."""
    kind, layout, number = how
    if kind == "odd":
        return [[0.0] * 6, 3.0, "out", np.float64(1.0), (), np.zeros(shape, object)][number % 6]
    if kind == "wrong":
        return np.zeros([(*shape, 1), (2, *shape), shape[:-1], (7,), (0,)][number % 5], dtype)
    if kind == "shares":
        arrays = [a for a in inputs if isinstance(a, np.ndarray) and a.dtype == dtype and a.flags.writeable]
        same = [a for a in arrays if a.shape == shape]
        if same:
            return same[number % len(same)]
        # Somewhere across the memory of an input.
        base = arrays[number % len(arrays)] if arrays else np.zeros(0, dtype)
        if base.flags.c_contiguous and base.size >= int(np.prod(shape)) > 0:
            return base.reshape(-1)[-int(np.prod(shape)) :].reshape(shape)
    return laid(np.full(shape, 9.0, dtype), layout)


def check(call: tuple[str, list[Any], Any, dict[str, Any]]) -> None:
    """Hold every way to call against the reference."""
    function, inputs, how, more = call
    r = robot("ur5")
    if len(inputs) != FUNCTIONS[function]:
        # The next parameter takes one too many; one missing is Python's own error.
        for way in (getattr(r, function), kernel("ur5", function), kernel("ur5", function).ufunc):
            found = outcome(lambda w=way: w(*inputs))
            assert len(inputs) > FUNCTIONS[function] or isinstance(found, TypeError | ValueError)
        return
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in inputs]
    wanted = outcome(lambda: reference(r, function, copies, **more))
    given_out = how[0] != "none" and not isinstance(wanted, Exception)
    if given_out:
        shape, dtype = np.shape(wanted), np.asarray(wanted).dtype
        plain = output(how, copies, shape, dtype)
        refused = outcome(lambda: reference(r, function, copies, **more, out=plain))
        if isinstance(refused, Exception):
            wanted = refused
    for way in (getattr(r, function), kernel("ur5", function)):
        fresh = [a.copy("K") if isinstance(a, np.ndarray) else a for a in inputs]
        fresh = [laid(b, "read-only") if _frozen(a) else b for a, b in zip(inputs, fresh, strict=True)]
        extra = {"out": output(how, fresh, shape, dtype)} if given_out else {}
        found = outcome(lambda w=way, f=fresh, e=extra: w(*f, **more, **e))
        compare(found, wanted, r is getattr(way, "__self__", None))
        if given_out and not isinstance(found, Exception):
            assert found is extra["out"]
    # NumPy's own rules hold here: only a crash or a wrong number is wrong.
    found = outcome(lambda: kernel("ur5", function).ufunc(*inputs))
    if not isinstance(found, Exception) and not isinstance(wanted, Exception) and not more and not given_out:
        compare(np.asarray(found), wanted, False)


def _frozen(a: Any) -> bool:
    return isinstance(a, np.ndarray) and not a.flags.writeable


def compare(found: Any, wanted: Any, same_dtype: bool) -> None:
    if isinstance(wanted, Exception) or isinstance(found, Exception):
        # A kernel computes in its own precision, so that its `out` must have another dtype.
        if not same_dtype and isinstance(found, px.PhalanxError) and "and dtype float32" in str(found):
            return
        assert type(found) is type(wanted), f"{found!r} instead of {wanted!r}"
        if isinstance(found, px.PhalanxError):
            assert str(found) == str(wanted)
        return
    if same_dtype:
        assert np.asarray(found).dtype == np.asarray(wanted).dtype
    both_wide = np.asarray(found).dtype == np.asarray(wanted).dtype == np.float64
    found, wanted = np.asarray(found, float), np.asarray(wanted, float)
    assert found.shape == wanted.shape
    # Folding 0 x = 0 may keep a number that NaN or infinity would have spoilt in the reference.
    finite = np.isfinite(wanted)
    scale = np.abs(wanted[finite]).max(initial=1.0)
    assert np.isfinite(found[finite]).all()
    if scale < 1e20:
        agree(found[finite] / scale, wanted[finite] / scale, 1e-12 if both_wide else 1e-4)


quiet = {"database": None, "deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=150, **quiet)
@given(calls())
def test_any_arguments_give_the_references_answer_or_its_error(call: Any) -> None:
    check(call)


@settings(max_examples=400, **quiet)
@given(calls())
def many(call: Any) -> None:
    """The same many times, for a process of its own."""
    check(call)


def test_no_arguments_crash_the_interpreter() -> None:
    source = f"import runpy; runpy.run_path({__file__!r})['many'](); print('alive')"
    assert in_fresh_interpreter(source, PYTHONFAULTHANDLER="1") == "alive"
