# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The fast path of methods and kernels: plain arrays go straight to compiled code.

There is a method for each number and kind of inputs that functions have, since packing and unpacking
arguments would take as long as the dynamics of an arm; other functions get one that packs them. What the
fast path declines, and everything wrong, is for the slow path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from sys import intern
from types import FunctionType
from typing import Any

import numpy as np

from ..algorithms import Algorithm, Function
from ..robot.configurations import quick_wrenches
from .signatures import Parameters

AUTO = "auto"
VALUED = " with its value"  # how keys end of entries whose results have what they are the derivatives of, too
NO_REFERENCE = object()  # the default of functions without that choice
_FEW = 64  # length of `out`, of one state or of a batch, up to which threads never pay
_empty = np.empty

# The result of any call, or an error: of self, inputs, optional inputs, `out`, `threads`, and other options.
Slow = Callable[..., Any]


def entry_of(
    built: Any, sizes: tuple[int, ...], dtype: np.dtype, f: Function, optional: tuple[str, ...] = ()
) -> tuple[Any, ...]:
    """The cache entry of the fast path: (`direct`, output size, dtype, the built kernel).

    There is no `direct` unless the result is one array and one thread computes a state. `np.empty` makes a
    row quicker from a number than from a tuple.
    """
    direct = built.checked_direct if "inertias" in optional else built.direct
    is_plain = len(f.outputs) == 1 and all(f.outputs.values()) and built.groups < 2
    return (direct if is_plain else None, sizes[0] if len(sizes) == 1 else sizes, dtype, built)


def method_of(parameters: Parameters, key: str, slow: Slow) -> Any:
    """The method of a robot that tries the compiled code at `key` in its `_memo` first.

    That of a frame or with choices is found there by the frame and the choices. `slow` gets inputs and
    optional inputs as tuples, `out`, `threads`, `algorithm`, `backend`, the frame, choices and `value`.
    """
    f = parameters.function
    choices = [*(name for name in f.choices if name != "reference"), *["value"] * bool(f.value)]
    kind = (len(f.inputs), f.frame, *(name for name in f.optional if name != "inertias"), *choices)
    make = _METHODS.get(kind)
    if make is None or "inertias" in list(f.optional)[:-1] or (f.choices and not f.frame):
        return _method_of_any(parameters, key, slow)
    made = make(key, slow, next(iter(f.choices.values()), (NO_REFERENCE,))[0])
    hidden = [n for n in ("inertias", "reference") if n not in f.optional and n not in f.choices]
    return _renamed(made, tuple(f.inputs), hidden)


def kernel_of(parameters: Parameters, slow: Callable[[tuple[str, ...]], Slow]) -> Any:
    """The `__call__` of a kernel: tries compiled code in its `_entry` first; optional inputs are keywords.

    `slow` makes the slow path for the names of optional inputs, which it gets as a tuple.
    """
    f = parameters.function
    for count, make, optional in _KERNELS:
        hidden = [name for name in optional if name not in f.optional]
        taken = [name for name in optional if name in f.optional]
        if count == len(f.inputs) and taken == list(f.optional):
            return _renamed(make(slow(optional)), tuple(f.inputs), hidden)
    return _kernel_of_any(parameters, slow(tuple(f.optional)))


def _renamed(method: FunctionType, inputs: tuple[str, ...], hidden: Sequence[str] = ()) -> FunctionType:
    """A method whose first parameters, behind `self`, have these names; what is hidden cannot be given.

    Python finds defaults of interned names without comparing characters.
    """
    names = {name: intern(f"no {name}") for name in hidden}
    variables = [names.get(name, name) for name in method.__code__.co_varnames]
    variables[1 : 1 + len(inputs)] = inputs
    method.__code__ = method.__code__.replace(co_varnames=tuple(variables))
    method.__kwdefaults__ = {names.get(name, name): x for name, x in (method.__kwdefaults__ or {}).items()}
    return method


def _one(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, *, inertias: Any = None,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, result):
                        return result
                elif len(out) <= _FEW and direct(x, out):
                    return out
                result = built.batch((x,), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x,), (inertias,), out, threads, algorithm, backend)

    return method


def _two(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, *, inertias: Any = None,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, out):
                    return out
                result = built.batch((x, y), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y), (inertias,), out, threads, algorithm, backend)

    return method


def _three(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any, *, inertias: Any = None,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (inertias,), out, threads, algorithm, backend)

    return method


def _three_and_external(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any, external: Any = None, *, inertias: Any = None,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and external is None
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (external, inertias), out, threads, algorithm, backend)

    return method


def _three_and_base(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any,
        external: Any = None, base_velocity: Any = None, base_acceleration: Any = None, *,
        inertias: Any = None,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and external is None
            and base_velocity is None
            and base_acceleration is None
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(
            self,
            (x, y, z),
            (external, base_velocity, base_acceleration, inertias),
            out,
            threads,
            algorithm,
            backend,
        )

    return method


def _three_with_value(key: str, slow: Slow, reference: Any) -> Any:
    valued = key + VALUED

    def method(
        self: Any, x: Any, y: Any, z: Any, external: Any = None, *,
        inertias: Any = None, value: Any = False,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and external is None
            and inertias is None
            and (value is False or value is True)
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                result = self._memo[key if value is False else valued][3].batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (external, inertias), out, threads, algorithm, backend, None, (), value)

    return method


def _frame_of_one(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, frame: Any, *,
        inertias: Any = None, reference: Any = reference,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key][frame, reference]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, result):
                        return result
                elif len(out) <= _FEW and direct(x, out):
                    return out
                result = built.batch((x,), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x,), (inertias,), out, threads, algorithm, backend, frame, (reference,))

    return method


def _frame_of_two(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, frame: Any, *,
        inertias: Any = None, reference: Any = reference,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key][frame, reference]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, out):
                    return out
                result = built.batch((x, y), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y), (inertias,), out, threads, algorithm, backend, frame, (reference,))

    return method


def _frame_of_three(key: str, slow: Slow, reference: Any) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any, frame: Any, *,
        inertias: Any = None, reference: Any = reference,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            algorithm is AUTO
            and backend is AUTO
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, _, built = self._memo[key][frame, reference]
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (inertias,), out, threads, algorithm, backend, frame, (reference,))

    return method


def _kernel_of_one(slow: Slow) -> Any:
    def method(
        self: Any, x: Any, *,
        inertias: Any = None, out: Any = None, threads: Any = None,
    ) -> Any:  # fmt: skip
        if inertias is None and (threads is None or (type(threads) is int and threads > 0)):
            try:
                direct, shape, dtype, built = self._entry
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape, dtype)
                    if direct(x, result):
                        return result
                elif len(out) <= _FEW and direct(x, out):
                    return out
                result = built.batch((x,), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x,), (inertias,), out, threads)

    return method


def _kernel_of_two(slow: Slow) -> Any:
    def method(
        self: Any, x: Any, y: Any, *,
        inertias: Any = None, out: Any = None, threads: Any = None,
    ) -> Any:  # fmt: skip
        if inertias is None and (threads is None or (type(threads) is int and threads > 0)):
            try:
                direct, shape, dtype, built = self._entry
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape, dtype)
                    if direct(x, y, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, out):
                    return out
                result = built.batch((x, y), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y), (inertias,), out, threads)

    return method


def _kernel_of_three(slow: Slow) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any, *,
        external: Any = None, inertias: Any = None,
        out: Any = None, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            external is None
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, dtype, built = self._entry
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape, dtype)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (external, inertias), out, threads)

    return method


def _kernel_of_three_and_base(slow: Slow) -> Any:
    def method(
        self: Any, x: Any, y: Any, z: Any, *,
        external: Any = None, base_velocity: Any = None, base_acceleration: Any = None, inertias: Any = None,
        out: Any = None, threads: Any = None,
    ) -> Any:  # fmt: skip
        if (
            external is None
            and base_velocity is None
            and base_acceleration is None
            and inertias is None
            and (threads is None or (type(threads) is int and threads > 0))
        ):
            try:
                direct, shape, dtype, built = self._entry
                if direct is None:
                    pass
                elif out is None:
                    result = _empty(shape, dtype)
                    if direct(x, y, z, result):
                        return result
                elif len(out) <= _FEW and direct(x, y, z, out):
                    return out
                result = built.batch((x, y, z), out, threads)
                if result is not None:
                    return result
            except Exception:
                pass  # nothing is compiled yet, or the slow path says what is wrong
        return slow(self, (x, y, z), (external, base_velocity, base_acceleration, inertias), out, threads)

    return method


# By the number of inputs, whether of a frame, other optional inputs and choices.
_METHODS: Mapping[tuple[Any, ...], Callable[[str, Slow, Any], Any]] = {
    (1, False): _one,
    (2, False): _two,
    (3, False): _three,
    (3, False, "external"): _three_and_external,
    (3, False, "external", "base_velocity", "base_acceleration"): _three_and_base,
    (3, False, "external", "value"): _three_with_value,
    (1, True): _frame_of_one,
    (2, True): _frame_of_two,
    (3, True): _frame_of_three,
}

# By the number of inputs, with the optional inputs that they may take.
_KERNELS: Sequence[tuple[int, Callable[[Slow], Any], tuple[str, ...]]] = (
    (1, _kernel_of_one, ("inertias",)),
    (2, _kernel_of_two, ("inertias",)),
    (3, _kernel_of_three, ("external", "inertias")),
    (3, _kernel_of_three_and_base, ("external", "base_velocity", "base_acceleration", "inertias")),
)

# ------------------------------------------------------------------- any number and kind of inputs


def _method_of_any(parameters: Parameters, key: str, slow: Slow) -> Any:
    f = parameters.function
    count, none = len(f.inputs), (None,) * len(f.optional)
    is_keyed, defaults = bool(f.frame or f.choices), tuple(parameters.default_choices.values())

    def method(
        self: Any, *given: Any,
        out: Any = None, algorithm: Any = AUTO, backend: Any = AUTO, threads: Any = None, **named: Any,
    ) -> Any:  # fmt: skip
        arrays, optional, choices, value = given[:count], none, defaults, False
        frame = given[-1] if f.frame and given else None
        if named or len(given) != count + f.frame:
            inputs, how = parameters.arguments(given, named)
            optional = tuple(inputs.pop(name, None) for name in f.optional)
            arrays, frame, value = tuple(inputs.values()), how.get("frame"), how.get("value", False)
            choices = tuple(how.get("choices", {}).values())
        if algorithm is AUTO and backend is AUTO and not (value or _are_given(optional)):
            known = self._memo.get(key)
            if is_keyed and known is not None:
                with suppress(TypeError):  # not hashable
                    result = _tried(known.get((frame, *choices)), arrays, out, threads)
                    if result is not None:
                        return result
            elif (result := _tried(known, arrays, out, threads)) is not None:
                return result
        return slow(self, arrays, optional, out, threads, algorithm, backend, frame, choices, value)

    return method


def _kernel_of_any(parameters: Parameters, slow: Slow) -> Any:
    f = parameters.function
    none = (None,) * len(f.optional)

    def method(self: Any, *given: Any, out: Any = None, threads: Any = None, **named: Any) -> Any:
        arrays, optional = given, none
        if named or len(given) != len(f.inputs):
            inputs, _ = parameters.arguments(given, named)
            optional = tuple(inputs.pop(name, None) for name in f.optional)
            arrays = tuple(inputs.values())
        if not _are_given(optional):
            result = _tried(self._entry, arrays, out, threads)
            if result is not None:
                return result
        return slow(self, arrays, optional, out, threads)

    return method


def _are_given(optional: tuple[Any, ...]) -> bool:
    return any(x is not None for x in optional)


def _tried(entry: Any, inputs: tuple[Any, ...], out: Any, threads: Any) -> Any:
    """The result of the compiled code of an entry; None without an entry, or if it declines the inputs."""
    if entry is None or not (threads is None or (type(threads) is int and threads > 0)):
        return None
    try:
        direct, shape, dtype, built = entry
        if direct is None:
            pass
        elif out is None:
            result = _empty(shape, dtype)
            if direct(*inputs, result):
                return result
        elif len(out) <= _FEW and direct(*inputs, out):
            return out
        return built.batch(inputs, out, threads)
    except Exception:
        return None  # the slow path says what is wrong


# ------------------------------------------------------------------- keywords

_MOST = 256  # combinations of keywords that a robot remembers for a function, at least


def recall(
    known: Mapping[Any, Any] | None,
    robot: Any,
    words: tuple[Any, ...],
    inputs: tuple[Any, ...],
    optional: tuple[Any, ...],
    out: Any,
    threads: Any,
) -> Any:
    """The result by code that a call with the same keywords compiled before; None leaves it to the slow path.

    `known` has what `remember` stored, if anything. `words` are the keywords that select the code, the
    algorithm first. External wrenches come first among the `optional` inputs, and may be given by the names
    of links.
    """
    if known is None or not (threads is None or (type(threads) is int and threads > 0)):
        return None
    given = 0
    for x in optional:
        given += given
        if x is not None:
            if type(x) is dict and (x := quick_wrenches(robot, x)) is None:
                return None
            given += 1
            inputs += (x,)
    try:
        if type(words[0]) is not str:
            words = _spelled(words)
        direct, shape, dtype, built = known[(given, words) if given else words]
    except (KeyError, TypeError):  # unknown, or not hashable
        return None
    if out is None and direct is not None and getattr(inputs[0], "ndim", 0) == 1:
        result = _empty(shape, dtype)
        if direct(*inputs, result):
            return result
    return built.batch(inputs, out, threads)


def knows(known: Mapping[Any, Any], words: tuple[Any, ...], optional: tuple[Any, ...]) -> bool:
    """Whether a call with these keywords is remembered."""
    try:
        return _key(words, optional) in known
    except TypeError:
        return False


def remember(
    known: dict[Any, Any],
    words: tuple[Any, ...],
    optional: tuple[Any, ...],
    entry: tuple[Any, ...],
    most: int = _MOST,
) -> None:
    """Let later calls with the same keywords find an entry; what is not hashable is not remembered."""
    if len(known) >= max(most, _MOST):
        known.clear()
    with suppress(TypeError):
        known[_key(words, optional)] = entry


def _key(words: tuple[Any, ...], optional: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key of an entry: the keywords that select code, and as bits which optional inputs are given."""
    given = 0
    for x in optional:
        given = 2 * given + (x is not None)
    return (given, _spelled(words)) if given else _spelled(words)


def _spelled(words: tuple[Any, ...]) -> tuple[Any, ...]:
    """Words in which the algorithm is a name, or a name with its options as they were given."""
    chosen: Any = words[0]
    options: tuple[Any, ...] = ()
    if type(chosen) is tuple and len(chosen) == 2 and type(chosen[1]) is dict:
        # With their types: one is no True.
        chosen, options = chosen[0], tuple((name, type(x), x) for name, x in chosen[1].items())
    name = chosen.name if isinstance(chosen, Algorithm) else chosen
    if type(name) is not str:
        return (object(),)
    return ((name, *options), *words[1:]) if options else (name, *words[1:])
