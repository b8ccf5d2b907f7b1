# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernel: a compiled function of one robot in the user's hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms import FUNCTIONS
from ...algorithms.registry import with_value
from ...arrays import is_masked_array, overlaps_itself
from ...errors import PhalanxError, printable
from ...robot.checks import require_masses
from ...robot.configurations import quick_wrenches
from ...typing import Array, ArrayLike, Bound
from ..base import Call, memo_key, require_few_axes
from ..fastpath import with_fast_path
from . import compile, objects
from .build import Native, native
from .compile import host
from .lazy import Facts, know

if TYPE_CHECKING:
    from ...program.cost import Cost


class Kernel:
    """A function of one robot, compiled; call it like the method of `Robot`.

    Each function has a class of its own (`kernels`), with the names of its inputs as parameters.
    `evaluate` is the slow path of the library, taken whenever the fast path does not apply.
    """

    _call: Call

    def __init__(self, call: Call, dtype: Any, evaluate: Callable[..., Any]) -> None:
        self._call = call
        self._evaluate = evaluate
        self._native: Native = native(call, (), dtype)
        self.dtype = self._native.dtype
        self.ufunc = self._native.ufunc
        know(self.ufunc, Facts(self.__reduce__(), self._native.shapes, self.dtype))
        objects.show_first(self.ufunc)
        self._output, self._direct = self._native.outputs[0], self._native.direct
        self._with: dict[tuple[str, ...], Native] = {}  # what takes some optional inputs

    @property
    def robot(self) -> Any:
        """The robot it was compiled for."""
        return self._call.robot

    @property
    def function(self) -> str:
        """The function it computes."""
        return self._call.algorithm.function

    @property
    def algorithm(self) -> str:
        """The algorithm it uses."""
        return self._call.algorithm.name

    @property
    def signature(self) -> str:
        """Core sizes as numbers, e.g. "(7),(7),(7)->(7)"."""
        return self._native.signature

    @property
    def output_sizes(self) -> dict[str, int]:
        """Sizes of the output's axes by their names in `signature`, for `dask.array.apply_gufunc`."""
        return {str(n): n for shape in self._native.outputs for n in shape}

    @property
    def compile_seconds(self) -> float:
        """Time that building took, tracing included; a few milliseconds when it came from the cache."""
        return self._native.seconds

    @property
    def cached(self) -> bool:
        """Whether the machine code came from the cache on disk."""
        return self._native.cached

    @cached_property
    def cost(self) -> Cost:
        """Operations that the kernel carries out for one state."""
        from .costs import kernel_cost  # the compiler half

        return kernel_cost(self._call)

    @property
    def form(self) -> str:
        """Whether it is unrolled, looped over bodies or made of segments, and the counts that decided it."""
        from .lowering import form_of  # the compiler half

        return str(form_of(self._call))

    def llvm_ir(self) -> str:
        """The LLVM text of the kernel."""
        from .loop import module

        return module(self._call, (), self.dtype, host())

    def assembly(self) -> str:
        """The machine code of the kernel as assembly."""
        return compile.assembly(self.llvm_ir(), host())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function for any batch of inputs; one state in plain arrays takes the fast path.

        Inputs come as in the method of `Robot`, then keywords: optional inputs, `out`, `threads`.
        """
        raise NotImplementedError

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        """A step() that recomputes `out` from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        raise NotImplementedError

    @cached_property
    def jvp(self) -> DerivativeKernel:
        """The kernel of `robot.jvp` of this function; call it with inputs, then tangents."""
        return self._derived("jvp")

    @cached_property
    def vjp(self) -> DerivativeKernel:
        """The kernel of `robot.vjp` of this function; call it with inputs, then the cotangent."""
        return self._derived("vjp")

    @cached_property
    def hvp(self) -> DerivativeKernel:
        """The kernel of `robot.hvp` of this function; call it with inputs, cotangent and tangents."""
        return self._derived("hvp")

    def _derived(self, mode: str) -> DerivativeKernel:
        call = self._call
        if len(call.function.outputs) > 1 or call.algorithm.derivative:
            raise PhalanxError(
                f"{mode}: kernels of {call.function.name} have none; take that of a function with one result."
            )
        call = replace(call, algorithm=replace(call.algorithm, derivative=mode))
        return DerivativeKernel(call, self.dtype, self._evaluate)

    def _quickly(
        self, inputs: tuple[Any, ...], optional: Mapping[str, Any], out: Any, threads: int | None
    ) -> Any:
        """The result with optional inputs by code compiled for them before; None if there is none."""
        given = {name: x for name, x in optional.items() if x is not None}
        built = self._with.get(key := tuple(given))
        if built is None:
            names = tuple(name for name in self._call.function.optional if name in given)
            built = self.robot._memo.get(memo_key(self._call, names, self.dtype)) if names else None
            if built is None:
                return None
            self._with[key] = built
        if not (threads is None or (type(threads) is int and threads > 0)):
            return None
        if type(given.get("external")) is dict:
            given["external"] = quick_wrenches(self.robot, given["external"])
        return built.batch((*inputs, *(given[name] for name in built.optional)), out, threads)

    def _bound(self, inputs: tuple[Array, ...], optional: Mapping[str, Array | None], out: Any) -> Bound:
        given = {name: array for name, array in optional.items() if array is not None}
        kernel = native(self._call, tuple(given), self.dtype)
        outs = out if isinstance(out, (tuple, list)) and len(kernel.outputs) > 1 else (out,)
        arrays = [*inputs, *(given[name] for name in kernel.optional), *outs]
        self._check_bound(kernel, arrays)
        cores = [len(s) for s in kernel.shapes]
        if not objects.usable():

            def through_ufunc() -> None:
                kernel.ufunc(*arrays[: -len(outs)], out=tuple(outs))

            return through_ufunc
        try:
            step: Bound = objects.bound_function(
                kernel.loaded, self.function, arrays, cores, kernel.address, kernel
            )
        except ValueError as error:
            raise PhalanxError(f"bind: {error}; pass C-contiguous arrays.") from None
        return step

    def _check_bound(self, kernel: Native, arrays: list[Any]) -> None:
        labels = self._call.function.outputs
        outs = [f"out, {label}" for label in labels] if len(labels) > 1 else ["out"]
        names = [*self._call.function.inputs, *kernel.optional, *outs]
        if len(arrays) != len(names):
            got, told = len(arrays) - len(names) + len(outs), ", ".join(labels)
            raise PhalanxError(f"bind: out is {got} arrays, expected a tuple of {len(outs)}: {told}.")
        for name, array, shape in zip(names, arrays, kernel.shapes, strict=True):
            where = f'bind: {name} for robot "{self.robot.name}"'
            plain = isinstance(array, np.ndarray) and not is_masked_array(array)
            if not plain or array.dtype != self.dtype:
                kind = array.dtype if plain else type(array).__name__
                raise PhalanxError(f"{where} is {kind}, expected an array of {self.dtype}.")
            if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
                raise PhalanxError(
                    f"{where} has shape {array.shape}, expected (…, {', '.join(map(str, shape))})."
                )
            if not array.flags.aligned or not (array.flags.writeable or name not in outs):
                raise PhalanxError(f"{where} is read-only or not aligned; pass an ordinary array.")
        if "inertias" in names:
            given = arrays[names.index("inertias")]
            require_masses("bind: inertias", given, self.robot.link_names, self.robot.name)
        first = len(names) - len(outs)
        rows = zip(names[:first], arrays, kernel.shapes, strict=False)
        batch = _batch({name: a.shape[: a.ndim - len(s)] for name, a, s in rows})
        for k in range(first, len(names)):
            shape = (*batch, *kernel.shapes[k])
            if arrays[k].shape != shape:
                raise PhalanxError(f"bind: {names[k]} has shape {arrays[k].shape}, expected {shape}.")
            if overlaps_itself(arrays[k]):
                raise PhalanxError(
                    f"bind: {names[k]} has several elements in one place of memory (strides "
                    f"{arrays[k].strides}); pass an ordinary array."
                )
            if any(np.may_share_memory(a, arrays[k]) for a in arrays[:k]):
                what = "an input" if k == first else "an input or another output"
                raise PhalanxError(f"bind: {names[k]} shares memory with {what}; pass an array of its own.")

    def __repr__(self) -> str:
        what = f'{self._call.function.name} of "{printable(self.robot.name)}" by {self.algorithm}'
        return f"<Kernel {what}, {self.dtype}: {self.signature}>"

    def __reduce__(self) -> Any:
        return _again, _facts(self._call, self.dtype.name)


class DerivativeKernel(Kernel):
    """A derivative of a function of one robot, compiled; its inputs come one after another."""

    def __call__(
        self, *inputs: ArrayLike, out: Any = None, threads: int | None = None, **optional: ArrayLike | None
    ) -> Any:
        """The derivative for any batch of inputs: an array, or one for each input of the function."""
        if any(x is not None for x in optional.values()):
            made = self._quickly(inputs, optional, out, threads)
        else:
            made = self._native.batch(inputs, out, threads)
        if made is not None:
            return made
        return self._evaluate(self._call, inputs, optional, out=out, threads=threads, dtype=self.dtype)

    def bind(self, *inputs: Array, out: Any, **optional: Array | None) -> Bound:
        """A step() that recomputes `out` from these very arrays."""
        f = self._call.function
        if len(inputs) != len(f.inputs):
            raise PhalanxError(f"bind: got {len(inputs)} inputs, expected {', '.join(f.inputs)}.")
        return self._bound(inputs, optional, out)

    def __reduce__(self) -> Any:
        return _derived_again, (self._call.algorithm.derivative, *_facts(self._call, self.dtype.name))


def _derived_again(mode: str, *facts: Any) -> DerivativeKernel:
    return _again(*facts)._derived(mode)


def _facts(call: Call, dtype: str) -> tuple[Any, ...]:
    algorithm = (call.algorithm.name, dict(call.options))
    return call.robot, call.algorithm.function, algorithm, dtype, call.frame, call.algorithm.valued


def _again(
    robot: Any, function: str, algorithm: Any, dtype: str, frame: str | None, value: bool = False
) -> Kernel:
    made: Kernel = robot.kernel(function, algorithm=algorithm, dtype=dtype, frame=frame, value=value)
    return made


def _batch(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The batch that is bound."""
    require_few_axes("bind", shapes)
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise PhalanxError(f"bind: the batch shapes {list(shapes.values())} do not broadcast.") from None


@cache
def kernel_class(function: str) -> type[Kernel]:
    """The class of kernels of a function: `kernels` declares it, here it gets its code."""
    from . import kernels

    of, _, value = function.partition(".")
    f = with_value(of) if value else FUNCTIONS[of]
    words = function.replace(".", "_").split("_")
    made: type[Kernel] = getattr(kernels, "".join(map(str.capitalize, words)) + "Kernel")
    given = ", ".join(f"{name!r}: {name}" for name in f.optional)
    call = with_fast_path(
        made.__call__,
        tuple(f.inputs),
        applies=tuple(f"{name} is None" for name in f.optional),
        direct="self._direct" if len(f.outputs) == 1 and all(f.outputs.values()) else None,
        memory="self._output, self.dtype",
        built="self._native",
        slow=f"""
inputs, optional = ({", ".join(f.inputs)},), {{{given}}}
result = self._quickly(inputs, optional, out, threads)
if result is not None:
    return result
return self._evaluate(self._call, inputs, optional, out=out, threads=threads, dtype=self.dtype)
""",
        scope={},
    )
    setattr(made, "__call__", call)  # noqa: B010
    return made
