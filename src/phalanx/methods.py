# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The methods of `Robot` that compute: one for each registered function, and doors to kernels and JAX.

They are attached to `Robot` when this module is imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from inspect import cleandoc
from textwrap import wrap
from typing import Any

import numpy as np

from .algorithms import ALGORITHMS, FUNCTIONS, NOTHING, Function
from .backends.base import Call, memo_key, module_of
from .dispatch import available_threads, evaluate, frame_poses, is_native, kernel, resolve, single
from .robot.frames import frames_kept
from .robot.robot import Robot

__all__ = ["Robot"]

_SMALL = 1 << 12  # numbers in the largest input up to which nobody asks whether threads pay


_METHOD = """
def {name}(self, {parameters}, *, {choices}out=None, algorithm="auto", backend="auto", threads=None):
    short = {short}
    if short is not None and algorithm is auto and backend is auto{absent}:
        direct, shape, built = short
        if out is None and threads is None:
            result = empty(shape)
            if direct({inputs}, result):
                return result
        if threads is None or type(threads) is int:
            result = batch(built, ({inputs},), out, threads)
            if result is not None:
                return result
    result = evaluate(
        self, {name!r}, ({inputs},), {{{given}}}, frame={frame}, choices={{{chosen}}}, out=out,
        algorithm=algorithm, backend=backend, threads=threads,
    )
    if short is None:
        prepare(self, {name!r}, {frame}, {{{chosen}}})
    return result
"""


# The entry for a frame, if names are plain words that a mapping may look up.
_SHORT_OF_FRAME = "self._memo.get({key!r}, none).get(({words})) if {all} else None"


def _method(f: Function) -> Any:
    """A method of Robot for a registered function.

    One state in plain arrays goes straight to its compiled kernel; everything else, and
    everything wrong, takes the slow path. Written out with real parameters because packing and
    unpacking arguments would take as long as the dynamics of an arm.
    """
    inputs = ", ".join(f.inputs)
    words = "".join(f"{word}, " for word in ("frame", *f.choices))
    tests = [f"type({word}) is str" for word in ("frame", *f.choices)]
    source = _METHOD.format(
        name=f.name,
        parameters=inputs + (", frame" if f.frame else "") + "".join(f", {n}=None" for n in f.optional),
        short=_SHORT_OF_FRAME.format(key=_short_key(f.name), words=words, all=" and ".join(tests))
        if f.frame
        else f"self._memo.get({_short_key(f.name)!r})",
        choices="".join(f"{n}={known[0]!r}, " for n, known in f.choices.items()),
        chosen=", ".join(f"{n!r}: {n}" for n in f.choices),
        absent="".join(f" and {n} is None" for n in f.optional),
        inputs=inputs,
        given=", ".join(f"{n!r}: {n}" for n in f.optional),
        frame="frame" if f.frame else None,
    )
    scope: dict[str, Any] = {"evaluate": evaluate, "prepare": _prepare_fast_path, "empty": np.empty}
    scope |= {"batch": _plain_batch, "auto": "auto", "none": NOTHING}
    exec(source, scope)
    method = scope[f.name]
    method.__doc__ = _explained(f)
    method.__qualname__, method.__module__ = f"Robot.{f.name}", __name__
    return method


_OPTIONAL = {
    "external": "wrenches [N m, N] on the links, each in its own link frame at its origin; some of them by "
    'name as {"link": wrench}',
    "base_velocity": "twist of the base [rad/s, m/s], in its own coordinates",
    "base_acceleration": "the component-wise derivative of that twist",
}
_INPUTS = {
    "q": "positions",
    "qd": "rates",
    "qdd": "accelerations",
    "tau": "joint forces (N m of turning joints, N of sliding ones)",
}
_KEYWORDS = """Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its
    shape; `algorithm` is one of `px.algorithms("{name}")`; `backend` is "auto", "native", "numpy" or "jax";
    at most `threads` threads share a large batch."""


def _explained(f: Function) -> str:
    """The docstring of a method: what it computes, from what, and by which algorithms."""
    choices = ALGORITHMS[f.name].values()
    text = cleandoc(next(iter(choices)).run.__doc__ or "").split("\n")
    lines = ["    " * (k > 0 and line != "") + line for k, line in enumerate(text if f.frame else text[:1])]
    lines += ["", *(f"    `{n}` (…, {_sizes(s)}): {_INPUTS[n]}." for n, s in f.inputs.items())]
    lines += [f"    `{n}` (…, {_sizes(f.optional[n])}): {_OPTIONAL[n]}." for n in f.optional]
    lines += ["", "    " + _KEYWORDS.format(name=f.name)]
    if len(choices) > 1:
        names = ", ".join(a.name for a in choices)
        lines += ["", *wrap(f"Algorithms: {names}.", 100, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines) + "\n    "


def _sizes(shape: tuple[str, ...]) -> str:
    return ", ".join({"q": "nq", "v": "nv", "l": "n_links"}.get(s, s) for s in shape)


def _plain_batch(built: Any, inputs: tuple[Any, ...], out: Any, threads: int | None) -> Any:
    """The result of a batch without anything to convert, else None."""
    if threads is None:
        large = any(type(x) is np.ndarray and x.size > _SMALL for x in inputs)
        threads = available_threads() if large else 1
    return built.batch(inputs, out, threads) if threads > 0 else None


def _short_key(function: str) -> str:
    return f"fast path: {function}"


def _prepare_fast_path(robot: Robot, function: str, frame: Any, choices: Mapping[str, Any]) -> None:
    """Remember the entry of a float64 kernel that the slow path has compiled."""
    f = FUNCTIONS[function]
    call = resolve(robot, function, "auto", frame, choices)
    if not call.sizes(f.output) or not is_native(call):
        return
    built = _ByBatch(call, alone) if (alone := single(call)) else robot._memo.get(_key(call))
    if built is None:
        return
    entry = (built.direct, call.sizes(f.output), built)
    if not f.frame:
        robot._memo[_short_key(function)] = entry
        return
    known = robot._memo.setdefault(_short_key(function), {})
    if len(known) >= frames_kept(robot):
        known.clear()
    known[frame, *choices.values()] = entry


def _key(call: Call) -> Any:
    return memo_key(call, (), np.dtype(np.float64))


class _ByBatch:
    """What the slow path has compiled for one state, and for several, where these are not the same."""

    def __init__(self, many: Call, alone: Call) -> None:
        self._known, self._keys = many.robot._memo, (_key(many), _key(alone))
        self._sizes = [math.prod(many.sizes(size)) for size in many.function.inputs.values()]

    def direct(self, *arrays: Any) -> bool:
        """One state, whose result has no batch."""
        built = self._known.get(self._keys[1])
        return built is not None and built.direct(*arrays)

    def batch(self, inputs: tuple[Any, ...], out: Any, threads: int) -> Any:
        """One state or several, the arrays told apart by their sizes."""
        one = all(type(x) is np.ndarray and x.size == n for x, n in zip(inputs, self._sizes, strict=True))
        built = self._known.get(self._keys[one])
        return None if built is None else built.batch(inputs, out, threads)


def _on_jax(robot: Robot) -> Any:
    """Pure functions of JAX arrays, safe under `jit`, `vmap`, `grad` and `jvp`."""
    return robot.memo("jax", lambda: module_of("jax", "jax.functions").JaxFunctions(robot, resolve))


for _f in FUNCTIONS.values():
    setattr(Robot, _f.name, _method(_f))
for _alias, _name in (("rnea", "inverse_dynamics"), ("crba", "mass_matrix"), ("aba", "forward_dynamics")):
    setattr(Robot, _alias, getattr(Robot, _name))
Robot.frame_poses = frame_poses
Robot.kernel = kernel
Robot.jax = property(_on_jax)
