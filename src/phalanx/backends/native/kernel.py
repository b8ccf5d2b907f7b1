# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernel: a compiled function of one robot, as users call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...algorithms import FUNCTIONS
from ...algorithms.registry import with_value
from ...errors import PhalanxError, printable
from ...program.task import Call
from ...typing import Array, ArrayLike, Bound, External
from ..base import CompiledFunction, available_threads, memo_key, positive
from ..fastpath import AUTO, entry_of, kernel_of, knows, recall, remember
from ..signatures import BINDING, KERNEL, Parameters, camel, declared
from . import compile, objects
from .bound_arrays import bound
from .build import Native, native
from .compile import host
from .gufunc import Facts, know

if TYPE_CHECKING:
    from ...program.analyses.cost import Cost
    from ...program.ir import Program


class Kernel(CompiledFunction):
    """A function of one robot, compiled; call it like the method of `Robot`.

    Each function has a class of its own (`kernel_class`), with the names of its inputs as parameters.
    `evaluate` is the slow path of the library, taken whenever the fast path does not apply.
    """

    def __init__(self, call: Call, dtype: Any, evaluate: Callable[..., Any]) -> None:
        self._call = call
        self._evaluate = evaluate
        self._native: Native = native(call, (), dtype)
        self.dtype = self._native.dtype
        self.ufunc = self._native.ufunc
        know(self.ufunc, Facts(self.__reduce__(), self._native.shapes, self.dtype))
        objects.show_first(self.ufunc)
        self._known: dict[Any, Any] = {}  # fast paths by the optional inputs given

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
        from ...program.analyses.cost import kernel_cost  # the compiler half

        return kernel_cost(self._call)

    @property
    def form(self) -> str:
        """The form, unrolled, looped over bodies or segments, and why; how many threads can share a state."""
        from ...program.lowering import form_of  # the compiler half

        parts = [str(form_of(self._call)), self._call.uncut, self._cores]
        return "; ".join(part for part in parts if part)

    @property
    def _cores(self) -> str:
        """The number of threads that can share one state, in words; part of a sentence."""
        groups = self._native.groups
        return f"up to {groups} threads share a state" if groups > 1 else "one thread computes a state"

    def program(self) -> Program:
        """The program that the kernel runs for one state; printed, it is text that a person can read.

        Each line names its quantity and, in straight-line code, its body. What makes results NaN where an
        input is not finite is left out.
        """
        from ...program.lowering import readable  # the compiler half

        return readable(self._call, host().lanes(self.dtype.itemsize))

    def llvm_ir(self) -> str:
        """The LLVM IR of the kernel."""
        from .loop import module

        return module(self._call, (), self.dtype, host())

    def assembly(self) -> str:
        """The machine code of the kernel as assembly."""
        from .loop import codegen_options

        ir = self.llvm_ir()
        return compile.assembly(ir, host(), codegen_options(self._call, (), ir))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function for any batch of inputs; one state in plain arrays takes the fast path.

        Inputs come as in the method of `Robot`, then keywords: optional inputs, `out`, `threads`.
        """
        raise NotImplementedError

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        """A function of no arguments that recomputes `out` from these arrays, in place.

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

    def _with_optional(
        self, inputs: tuple[Any, ...], names: Sequence[str], optional: tuple[Any, ...], out: Any, threads: Any
    ) -> Any:
        """The result with optional inputs, None where not given; their code is compiled at the first call."""
        result = recall(self._known, self.robot, _WORDS, inputs, optional, out, threads)
        if result is not None:
            return result
        named = dict(zip(names, optional, strict=True))
        result = self._evaluate(self._call, inputs, named, out=out, threads=threads, dtype=self.dtype)
        given = tuple(name for name, x in named.items() if x is not None)
        if given and not knows(self._known, _WORDS, optional):
            built = self.robot._memo.get(memo_key(self._call, given, self.dtype))
            if built is not None:
                entry = entry_of(built, built.outputs[0], self.dtype, self._call.function, given)
                remember(self._known, _WORDS, optional, entry)
        return result

    def _bound(
        self, inputs: tuple[Array, ...], optional: Mapping[str, Array | None], out: Any, threads: Any = 1
    ) -> Bound:
        threads = available_threads() if threads is None else positive(threads, "bind: threads")
        given = {name: array for name, array in optional.items() if array is not None}
        kernel = native(self._call, tuple(given), self.dtype)
        outs = out if isinstance(out, (tuple, list)) and len(kernel.outputs) > 1 else (out,)
        labels = self._call.function.outputs
        if len(outs) != len(labels):
            wanted = ", ".join(labels)
            raise PhalanxError(
                f"bind: out is {len(outs)} arrays, expected a tuple of {len(labels)}: {wanted}."
            )
        named = dict(zip(self._call.function.inputs, inputs, strict=True))
        named |= {name: given[name] for name in kernel.optional}
        words = [f"out, {label}" for label in labels] if len(labels) > 1 else ["out"]
        return bound(kernel, self.function, named, dict(zip(words, outs, strict=True)), self.robot, threads)

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
        names = tuple(self._call.function.optional)
        if not optional:
            made = self._native.batch(inputs, out, threads)
            if made is not None:
                return made
        elif not optional.keys() <= self._call.function.optional.keys():
            names += tuple(optional)
        return self._with_optional(inputs, names, tuple(map(optional.get, names)), out, threads)

    def bind(self, *inputs: Array, out: Any, threads: int | None = 1, **optional: Array | None) -> Bound:
        """A function step() that recomputes `out` from these arrays, on at most `threads` threads."""
        f = self._call.function
        if len(inputs) != len(f.inputs):
            raise PhalanxError(f"bind: got {len(inputs)} inputs, expected {', '.join(f.inputs)}.")
        return self._bound(inputs, optional, out, threads)

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


R = TypeVar("R")


class FunctionKernel(Kernel, Generic[R]):
    """A registered function of one robot, compiled; `kernel_class` gives each its parameters."""

    def __init__(self, call: Call, dtype: Any, evaluate: Callable[..., Any]) -> None:
        super().__init__(call, dtype, evaluate)
        outputs = self._native.outputs[0]
        self._entry = entry_of(self._native, outputs, self.dtype, call.function)

    if TYPE_CHECKING:

        def __call__(
            self, *inputs: ArrayLike, out: Any = None, threads: int | None = None, **optional: External | None
        ) -> R: ...

        def bind(
            self, *inputs: Array, out: Any, threads: int | None = 1, **optional: Array | None
        ) -> Bound: ...


_WORDS = (AUTO,)  # a kernel has one algorithm


@cache
def kernel_class(function: str) -> type[Kernel]:
    """The class of kernels of a function, with its inputs as parameters."""
    of, _, value = function.partition(".")
    f = with_value(of) if value else FUNCTIONS[of]
    name = f"{camel(function)}Kernel"
    calling, binding = Parameters(f, KERNEL, f"{name}.__call__"), Parameters(f, BINDING, f"{name}.bind")

    def slow(names: tuple[str, ...]) -> Any:
        def run(self: Any, inputs: tuple[Any, ...], optional: tuple[Any, ...], out: Any, threads: Any) -> Any:
            return self._with_optional(inputs, names, optional, out, threads)

        return run

    def bind(self: Any, *given: Any, **options: Any) -> Bound:
        inputs, how = binding.split(binding.bind(given, options))
        optional = {name: inputs.pop(name) for name in f.optional}
        bound: Bound = self._bound(tuple(inputs.values()), optional, how["out"], how["threads"])
        return bound

    summary = f"`{of}` of one robot{', with its value' * bool(value)}, compiled."
    made = type(name, (FunctionKernel,), {"__doc__": summary, "__module__": __name__})
    call = kernel_of(calling, slow)
    setattr(made, "__call__", declared(call, calling, __name__))  # noqa: B010
    setattr(made, "bind", declared(bind, binding, __name__))  # noqa: B010
    return made
