# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of any number and kind of inputs have methods and kernels, with a fast path of their own."""

from collections.abc import Iterator
from inspect import CO_VARARGS
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import dispatch
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.algorithms.registry import algorithm, function
from phalanx.backends.signatures import INPUTS, ROBOT, declare
from phalanx.methods import _method
from phalanx.robot.frames import AnyFrame
from phalanx.robot.model import Model
from phalanx.spatial import Array

TIP = "link2"
NEW = ("sum_of_four", "sum_of_five", "scaled", "sum_at_frame")


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Functions of kinds that no other has, registered as any is, for one test."""
    four = {"q": "q", "qd": "v", "qdd": "v", "tau": "v"}
    function("sum_of_four", four, "v")
    function("sum_of_five", {**four, "gain": "v"}, "v", optional={"offset": ("v",), "external": ("l", "6")})
    function("scaled", {"q": "q", "qd": "v"}, "v", choices={"scale": ("one", "two")})
    function("sum_at_frame", four, "v", frame=True)
    for name in ("gain", "offset"):
        monkeypatch.setitem(INPUTS, name, "numbers")

    @algorithm("sum_of_four", source="a test")
    def plain(model: Model, q: Array, qd: Array, qdd: Array, tau: Array) -> Array:
        """The sum (…, nv) of all inputs, weighted."""
        return qd + 2.0 * qdd + 3.0 * tau

    @algorithm("sum_of_five", source="a test")
    def weighted(
        model: Model, q: Array, qd: Array, qdd: Array, tau: Array, gain: Array,
        *, offset: Array = 0.0, external: Array = 0.0,
    ) -> Array:  # fmt: skip
        """The sum (…, nv) of all inputs, weighted."""
        return qd + 2.0 * qdd + 3.0 * tau + 4.0 * gain + offset

    @algorithm("scaled", source="a test", options={"scale": ("one", "two")})
    def scaled(model: Model, q: Array, qd: Array, *, scale: str = "one") -> Array:
        """The rates (…, nv), scaled."""
        return qd + qd if scale == "two" else qd + 0.0

    @algorithm("sum_at_frame", source="a test")
    def at_frame(model: Model, q: Array, qd: Array, qdd: Array, tau: Array, *, frame: AnyFrame) -> Array:
        """The sum (…, nv) of all inputs, weighted, whatever the frame."""
        return qd + 2.0 * qdd + 3.0 * tau

    declare(px.Robot, ROBOT, [FUNCTIONS[name] for name in NEW], _method)
    yield
    for name in NEW:
        delattr(px.Robot, name)
        del FUNCTIONS[name], ALGORITHMS[name]


def inputs(count: int, *batch: int) -> list[np.ndarray]:
    return list(np.random.default_rng(count).normal(size=(count, *batch, 2)))


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-14, strict=True)


def no_slow_path(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(dispatch, "_computed", lambda *args: pytest.fail("the slow path"))


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_methods_and_kernels_take_any_number_of_inputs(
    batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    robot: Any = px.load("two_link")
    _, qd, qdd, tau, gain = given = inputs(5, *batch)
    kernel, other = robot.kernel("sum_of_four"), robot.kernel("sum_of_five")
    four, offset = qd + 2 * qdd + 3 * tau, np.ones(2)
    calls = {
        "method": (lambda: robot.sum_of_four(*given[:4]), four),
        "method, out": (lambda: robot.sum_of_four(*given[:4], out=np.empty((*batch, 2))), four),
        "method by name": (lambda: robot.sum_of_four(tau=tau, qdd=qdd, qd=qd, q=given[0]), four),
        "method of five": (lambda: robot.sum_of_five(*given), four + 4 * gain),
        "optional": (lambda: robot.sum_of_five(*given, offset), four + 4 * gain + 1),
        "optional by name": (lambda: robot.sum_of_five(*given, offset=offset), four + 4 * gain + 1),
        "algorithm": (lambda: robot.sum_of_four(*given[:4], algorithm="plain", threads=1), four),
        "choice": (lambda: robot.scaled(given[0], qd, scale="two"), 2 * qd),
        "default choice": (lambda: robot.scaled(given[0], qd), qd),
        "frame": (lambda: robot.sum_at_frame(*given[:4], TIP), four),
        "kernel": (lambda: kernel(*given[:4]), four),
        "kernel, out": (lambda: kernel(*given[:4], out=np.empty((*batch, 2)), threads=1), four),
        "kernel by name": (lambda: kernel(tau=tau, qdd=qdd, qd=qd, q=given[0]), four),
        "kernel of five": (lambda: other(*given, offset=None), four + 4 * gain),
        "kernel, optional": (lambda: other(*given, offset=offset), four + 4 * gain + 1),
    }
    for call, wanted in calls.values():
        same(call(), wanted)
        with monkeypatch.context() as patch:
            no_slow_path(patch)
            same(call(), wanted)
    out = np.empty((*batch, 2))
    kernel.bind(*given[:4], out=out)()
    same(out, four)


def test_what_is_wrong_is_said() -> None:
    robot: Any = px.load("two_link")
    given = inputs(4)
    kernel = robot.kernel("sum_of_four")
    for _ in range(2):
        for call in (robot.sum_of_four, kernel):
            with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'tau'"):
                call(*given[:3])
            with pytest.raises(TypeError, match="unexpected keyword argument 'gains'"):
                call(*given, gains=1.0)
            with pytest.raises(TypeError, match="takes 5 positional arguments but 6 were given"):
                call(*given, given[0])
            with pytest.raises(px.PhalanxError, match=r"tau has shape \(3,\), expected \(…, 2\)"):
                call(*given[:3], np.ones(3))
            with pytest.raises(px.PhalanxError, match="expected a positive integer"):
                call(*given, threads=0)
        with pytest.raises(px.PhalanxError, match="no frame 'hand'"):
            robot.sum_at_frame(*given, "hand")
        with pytest.raises(px.PhalanxError, match="scale='three', expected"):
            robot.scaled(*given[:2], scale="three")
        robot.sum_of_four(*given)


def test_no_registered_function_packs_its_arguments() -> None:
    robot: Any = px.load("two_link")
    for f in FUNCTIONS.values():
        packs = f.name in NEW
        assert bool(getattr(px.Robot, f.name).__code__.co_flags & CO_VARARGS) is packs
        if not f.frame:
            call: Any = type(robot.kernel(f.name)).__call__
            assert bool(call.__code__.co_flags & CO_VARARGS) is (packs and len(f.inputs) > 3)
