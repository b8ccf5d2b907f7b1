# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.function`: a user's function of a robot, traced when it is made, compiled at its first call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from ..arrays import common_batch, empty_result, memory_for, real_array, require_shape
from ..backends.base import available_threads, checked_out, positive, require_few_axes
from ..backends.native import availability
from ..backends.native.bound_arrays import bound
from ..backends.native.formulas import CompiledProgram, compiled_program
from ..backends.native.gufunc import signature
from ..backends.native.objects import OPERANDS
from ..errors import PhalanxError, nearest, printable, shown
from ..program.analyses.cost import Cost, cost_of, cost_of_loops
from ..program.interpret import program_on_arrays
from ..program.ir import Program
from ..robot.robot import Robot
from ..typing import Array, ArrayLike, Bound
from .result_structure import RESULT
from .tracer import traced
from .traces import Shape, Trace

_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
_AXES = 3  # of an array that compiled code takes


class OwnFunction:
    """A user's function of one robot, compiled; call it with arrays of any batch shape.

    `inputs` and `outputs` are the shapes of its arguments and results by name. Results come in the dicts,
    tuples and lists in which the Python function returns them.
    """

    def __init__(self, trace: Trace, source: tuple[Any, ...] = ()) -> None:
        self._trace = trace
        self._source = source  # what makes it again: a function of the robot, and its arguments
        self.robot: Robot = trace.robot
        self.name: str = trace.name
        self.inputs: dict[str, Shape] = trace.inputs
        self.outputs: dict[str, Shape] = trace.outputs
        self._names = tuple(self.inputs)
        self._positional = tuple(n for n in self._names if n not in trace.keywords)
        self._compiled: dict[np.dtype, CompiledProgram] = {}
        self._made: dict[Any, OwnFunction] = {}
        self._is_array = trace.structure.is_array
        self._packed = trace.structure.packed

    # ------------------------------------------------------------- calls

    def __call__(
        self, *args: ArrayLike, out: Any = None, threads: int | None = None, **named: ArrayLike
    ) -> Any:
        """The results for any batch of arguments, as the Python function takes them.

        `out` takes the results, arrays in the dicts and tuples of the results; at most `threads` threads
        share a large batch (None: `px.set_threads`).
        """
        given = (*args, *named.values())
        if len(given) != len(self._names) or tuple(named) != self._names[len(args) :]:
            given = self._arguments(args, named)
        if threads is None or (type(threads) is int and threads > 0):
            made = self._quick(given, out, threads)
            if made is not None:
                return made
        return self._computed(given, out, threads)

    def _arguments(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All inputs in order, from those given by position and by name."""
        found = dict(zip(self._positional, args, strict=False))
        for name in named:
            if name not in self.inputs:
                raise PhalanxError(
                    f"{self.name}: got {name!r};{nearest(name, self.inputs, what='arguments')}"
                )
            if name in found:
                raise PhalanxError(f"{self.name}: got {name!r} twice, by position and by name.")
        found |= named
        if len(args) > len(self._positional) and len(args) != len(self._names):
            raise PhalanxError(
                f"{self.name}: got {len(args)} arguments by position, expected {', '.join(self._positional)}."
            )
        if missing := [name for name in self._names if name not in found]:
            raise PhalanxError(
                f"{self.name}: got no {', '.join(missing)}; expected {', '.join(self._names)}."
            )
        return tuple(found[name] for name in self._names)

    def _quick(self, given: tuple[Any, ...], out: Any, threads: int | None) -> Any:
        """The results for plain arrays by code that is compiled already; None leaves it to the slow path."""
        first = given[0]
        if type(first) is not np.ndarray or not self._is_plain:
            return None
        code = self._compiled.get(first.dtype)
        if code is None:
            return None
        try:
            if out is None:
                made = code.batch(given, None, threads)
                return made if made is None or self._is_array else self._packed(made)
            leaves = self._trace.structure.leaves(out, "out")
            return (
                None if code.batch(given, leaves[0] if self._is_array else leaves, threads) is None else out
            )
        except Exception:
            return None  # the slow path says what is wrong

    def _computed(self, given: Sequence[Any], out: Any, threads: int | None) -> Any:
        """The slow path: arguments are checked and converted."""
        count = available_threads() if threads is None else positive(threads, "threads")
        arrays = self._checked(given)
        dtype = _SINGLE if all(a.dtype == _SINGLE for a in arrays) else _DOUBLE
        rows = zip(self.inputs.items(), arrays, strict=True)
        batches = {name: a.shape[: a.ndim - len(core)] for (name, core), a in rows}
        require_few_axes(self.name, batches)
        batch = common_batch(batches, self.name, f' for robot "{self.robot.name}"')
        with memory_for(self.name, "take the states in several batches"):
            outs = self._outs(out, batch, dtype)
            if any(a.size for a in outs):
                self._fill(arrays, outs, batch, dtype, count)
        return self._packed([a[()] for a in outs]) if out is None else out

    def _checked(self, given: Sequence[Any]) -> list[np.ndarray]:
        made, robot = [], self.robot
        for (name, core), value in zip(self.inputs.items(), given, strict=True):
            array = real_array(value, f"{self.name}: {name}", robot.name)
            require_shape(array.shape, core, f"{self.name}: {name}", f' for robot "{robot.name}"')
            made.append(array)
        return made

    def _outs(self, out: Any, batch: Shape, dtype: np.dtype) -> list[np.ndarray]:
        """The arrays that take the results: new ones, or those of the user."""
        shapes = {name: (*batch, *core) for name, core in self.outputs.items()}
        if out is None:
            return [empty_result(shape, dtype) for shape in shapes.values()]
        where = f"{self.name}: out"
        leaves = self._trace.structure.leaves(out, where)
        made: list[np.ndarray] = []
        for leaf, (name, shape) in zip(leaves, shapes.items(), strict=True):
            label = where if self._is_array else f"{where}, {name}"
            array = checked_out(self, label, leaf, shape, dtype)
            if any(np.may_share_memory(array, other) for other in made):
                raise PhalanxError(f"{label} shares memory with another result; pass an array of its own.")
            made.append(array)
        return made

    def _fill(
        self, arrays: list[np.ndarray], outs: list[np.ndarray], batch: Shape, dtype: np.dtype, threads: int
    ) -> None:
        inputs = [
            _merged(a, core) for a, core in zip(arrays, self.inputs.values(), strict=True) if prod(core)
        ]
        filled = [(a, core) for a, core in zip(outs, self.outputs.values(), strict=True) if prod(core)]
        if availability.refusal():
            self._interpret(inputs, [a for a, _ in filled], batch, dtype)
            return
        code = self._code(dtype)
        if not self._is_joined:
            targets = [_merged(a, core) for a, core in filled]
            code.fill_any(inputs, targets, threads)
            for (a, _), target in zip(filled, targets, strict=True):
                if not np.may_share_memory(a, target):
                    a[...] = target.reshape(a.shape)
            return
        joined = np.empty((*batch, code.shapes[-1][0]), dtype)
        code.fill_any(inputs, [joined], threads)
        _split(joined, [a for a, _ in filled])

    def _interpret(
        self, inputs: list[np.ndarray], outs: list[np.ndarray], batch: Shape, dtype: np.dtype
    ) -> None:
        """Without a compiler: the program's operations on NumPy arrays."""
        availability.warn_of_numpy()
        program = self._program
        flat = {
            buffer.name: np.broadcast_to(a, (*batch, *program.shapes[buffer.name]))
            .reshape((prod(batch), *program.shapes[buffer.name]))
            .astype(dtype)
            for buffer, a in zip(program.inputs, inputs, strict=True)
        }
        with np.errstate(all="ignore"):
            made = program_on_arrays(program, flat)
        for a, result in zip(outs, made if isinstance(made, list) else [made], strict=True):
            a[...] = result.reshape(a.shape)

    def bind(self, *args: Array, out: Any, threads: int | None = 1, **named: Array) -> Bound:
        """A function of no arguments that recomputes `out`, arrays like the results, from these arrays.

        For control loops: fill the arguments in place, call, read `out` in place. At most `threads` threads
        share a batch (None: `px.set_threads`).
        """
        count = available_threads() if threads is None else positive(threads, "bind: threads")
        given = dict(zip(self._names, self._arguments(args, named), strict=True))
        leaves = self._trace.structure.leaves(out, "bind: out")
        dtype = next((a.dtype for a in leaves if isinstance(a, np.ndarray)), _DOUBLE)
        if dtype not in (_DOUBLE, _SINGLE):
            raise PhalanxError(f"bind: out has dtype {dtype}, expected float64 or float32.")
        code = self._code(dtype)
        if not self._is_plain:
            arrays = self._checked(list(given.values()))
            batch = common_batch(
                {n: a.shape[: a.ndim - len(self.inputs[n])] for n, a in zip(given, arrays, strict=True)},
                "bind",
            )
            outs = self._outs(out, batch, dtype)
            return lambda: self._fill(arrays, outs, batch, dtype, count)
        labels = ["out"] if self._is_array else [f"out, {name}" for name in self.outputs]
        return bound(code, self.name, given, dict(zip(labels, leaves, strict=True)), self.robot, count)

    # ------------------------------------------------------------- derivatives

    @cached_property
    def jvp(self) -> Derivative:
        """The derivative of the results along tangents: `f.jvp(primals, tangents)`, results as those of f.

        Primals are the arguments as a tuple, or by name in a dict; tangents likewise, where None, or a name
        left out, is zero. The tangent of q is (…, nv), along `robot.integrate(q, dq)`.
        """
        return Derivative(self, "jvp")

    @cached_property
    def vjp(self) -> Derivative:
        """The derivatives of results times cotangents: `f.vjp(primals, cotangents)`, one for each argument.

        Cotangents are arrays in the structure of the results, where None, or a name left out, is zero. The
        derivative with respect to q is (…, nv), along `robot.integrate(q, dq)`.
        """
        return Derivative(self, "vjp")

    @cached_property
    def hvp(self) -> Derivative:
        """The derivative of `vjp` along tangents: `f.hvp(primals, cotangents, tangents)`.

        It has one array for each argument, as `vjp` has; tangents that are None, or whose names are left
        out, are zero.
        """
        return Derivative(self, "hvp")

    def jacobian(self, of: str | None = None, wrt: str | None = None) -> OwnFunction:
        """The function, of the same arguments, that returns the derivative of one result by one argument.

        Its axes are those of the result `of`, then those of the argument `wrt`, (nv,) for q; both may be left
        out where there is only one.
        """
        result = self._one(of, self.outputs, "of", "results")
        argument = self._one(wrt, self.inputs, "wrt", "arguments")
        key = ("jacobian", result, argument)
        if key not in self._made:
            trace = self._trace.jacobian(result, argument)
            self._made[key] = OwnFunction(trace, (_jacobian_again, self, result, argument))
        return self._made[key]

    def _one(self, name: Any, known: Iterable[str], label: str, what: str) -> str:
        names = list(known)
        if name is None and len(names) == 1:
            return names[0]
        if not isinstance(name, str) or name not in names:
            raise PhalanxError(
                f"{self.name}.jacobian: {label} is {shown(name)};{nearest(name, names, what=what)}"
            )
        return name

    @cached_property
    def _plain(self) -> OwnFunction:
        """The same function whose derivatives are with respect to the coordinates of q."""
        if not self._trace.configurations:
            return self
        return OwnFunction(replace(self._trace, configurations=frozenset()), (_plain_again, self))

    def _jacobians(self, wrt: tuple[str, ...]) -> OwnFunction:
        """The derivatives of all results by some arguments, result by result."""
        key = ("jacobians", wrt)
        if key not in self._made:
            self._made[key] = OwnFunction(self._trace.jacobians(wrt), (_jacobians_again, self, wrt))
        return self._made[key]

    def _flat(self, *arrays: Any) -> list[Any]:
        """The results one after another, as a list."""
        return self._trace.structure.leaves(self(*arrays), self.name)

    # ------------------------------------------------------------- what it is

    @property
    def signature(self) -> str:
        """Core sizes as numbers, e.g. "(7),(7),(4,4),(6)->(7),(6)"."""
        return signature([*self.inputs.values(), *self.outputs.values()], len(self.outputs))

    @property
    def ufunc(self) -> Callable[..., Any]:
        """A NumPy generalized ufunc of it in double precision, results as a flat tuple."""
        if not self._is_plain:
            raise PhalanxError(
                f"{self.name}: it has more arrays or axes than a ufunc takes; call the function itself."
            )
        return self._code(_DOUBLE).ufunc

    @property
    def compile_seconds(self) -> float:
        """Time that compiling for double precision takes or took; milliseconds if read from the cache."""
        return self._code(_DOUBLE).seconds

    @property
    def cached(self) -> bool:
        """Whether the machine code for double precision came from the cache on disk."""
        return self._code(_DOUBLE).cached

    @cached_property
    def cost(self) -> Cost:
        """Operations for one state, by quantity and by link, and along the critical path."""
        if self._program.is_straight:
            return cost_of(self._program, fused=True).named(self.robot)
        return cost_of_loops(self._program, self.name).named(self.robot)

    def program(self) -> Program:
        """The program for one state; printed, it is text that a person can read."""
        return self._program

    def llvm_ir(self, dtype: Any = _DOUBLE) -> str:
        """The LLVM IR of the compiled code."""
        return self._code(np.dtype(dtype)).ir

    def __repr__(self) -> str:
        return f'<OwnFunction {self.name} of "{printable(self.robot.name)}": {self.signature}>'

    def __reduce__(self) -> Any:
        again, *facts = self._source
        return again, tuple(facts)

    @cached_property
    def _program(self) -> Program:
        return self._trace.program()

    @cached_property
    def _is_joined(self) -> bool:
        """Whether there are more results than compiled code fills one by one."""
        arrays = [core for core in (*self.inputs.values(), *self.outputs.values()) if prod(core)]
        return len(arrays) > OPERANDS

    @cached_property
    def _is_plain(self) -> bool:
        """Whether compiled code takes and fills the arrays as they are."""
        cores = [*self.inputs.values(), *self.outputs.values()]
        return not self._is_joined and all(len(core) <= _AXES and prod(core) for core in cores)

    def _code(self, dtype: np.dtype) -> CompiledProgram:
        found = self._compiled.get(dtype)
        if found is None:
            availability.require()
            program = self._trace.program(joined=True) if self._is_joined else self._program
            if len(program.inputs) >= OPERANDS:
                raise PhalanxError(
                    f"{self.name}: it has {len(program.inputs)} arguments, expected at most {OPERANDS - 1}; "
                    "join some into one array."
                )
            one = len(program.outputs) == 1
            buffers = (*program.inputs, *program.outputs)
            cores = [core_of(program.shapes[buffer.name]) for buffer in buffers]
            pack: Any = (_alone if not self._is_array else itemgetter(0)) if one else tuple
            found = compiled_program(self.name, program, dtype, pack, cores)
            found = self._compiled.setdefault(dtype, found)
        return found


def _alone(arrays: Sequence[Any]) -> tuple[Any, ...]:
    return (arrays[0],)


def core_of(shape: Shape) -> Shape:
    """A shape as compiled code knows it: of more than three axes, all but the last two are one."""
    return shape if len(shape) <= _AXES else (prod(shape[:-2]), *shape[-2:])


def _merged(array: np.ndarray, core: Shape) -> np.ndarray:
    """An array whose core axes are those of compiled code; a copy where memory requires one."""
    if len(core) <= _AXES:
        return array
    return array.reshape((*array.shape[: array.ndim - len(core)], *core_of(core)))


def _split(joined: np.ndarray, outs: Sequence[np.ndarray]) -> None:
    """Fill several results from one array that has all of them."""
    start, batch = 0, joined.shape[:-1]
    for out in outs:
        size = prod(out.shape[len(batch) :])
        out[...] = joined[..., start : start + size].reshape(out.shape)
        start += size


# ------------------------------------------------------------------- derivatives


class Derivative(OwnFunction):
    """A derivative of a user's function: call it with groups of arrays, or with all arrays one by one.

    As a function of single arrays (`inputs`: arguments, cotangents, tangents) it has all that functions have:
    `bind`, `jacobian`, `program`, `robot.export`.
    """

    def __init__(
        self,
        function: OwnFunction,
        mode: str,
        of: Sequence[str] | None = None,
        wrt: Sequence[str] | None = None,
        along: Sequence[str] | None = None,
    ) -> None:
        self._function, self._mode = function, mode
        results, arguments = tuple(of or function.outputs), tuple(wrt or function.inputs)
        moved = tuple(along or arguments)  # the arguments that have tangents in an hvp
        trace = function._trace
        if mode == "jvp":
            made = trace.jvp(arguments)
        else:
            made = trace.vjp(results, arguments) if mode == "vjp" else trace.hvp(results, arguments, moved)
        super().__init__(made, (Derivative, function, mode, results, arguments, moved))

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None, **named: Any) -> Any:
        """The derivative, for groups of arrays: primals, then tangents, cotangents, or both."""
        groups = 3 if self._mode == "hvp" else 2
        if named or len(args) != groups or not _is_group(args[0]):
            return super().__call__(*args, out=out, threads=threads, **named)
        primals, *more = args
        arrays = self._group(primals, "primals")
        result: dict[str, Any] = {}
        along = self._group(more[-1], "tangents", partly=True) if self._mode != "vjp" else {}
        if self._mode != "jvp":
            f = self._function
            leaves = f._trace.structure.leaves(more[0], f"{self.name}: cotangents", partly=True)
            result = {n: x for n, x in zip(f.outputs, leaves, strict=True) if x is not None}
        of, moved = tuple(result) or None, tuple(along) or None
        if self._mode != "vjp" and not along:
            raise PhalanxError(f"{self.name}: all tangents are None, expected at least one.")
        if self._mode != "jvp" and not result:
            raise PhalanxError(f"{self.name}: all cotangents are None, expected at least one.")
        chosen = self._variant(of, None, moved) if self._mode == "hvp" else self._variant(of, moved)
        made = OwnFunction.__call__(
            chosen, *arrays.values(), *result.values(), *along.values(), out=out, threads=threads
        )
        if self._mode != "jvp" and isinstance(primals, Mapping) and out is None:
            return dict(zip(chosen._trace.structure.names, made, strict=True))
        return made

    def _variant_of(self, of: Sequence[str], wrt: Sequence[str]) -> Derivative:
        """The derivative of some results with respect to some arguments, both by name."""
        return self._variant(None if self._mode == "jvp" else tuple(of), tuple(wrt))

    def _variant(self, of: Any, wrt: Any, along: Any = None) -> Derivative:
        """The derivative of some results with respect to some arguments, along tangents of some."""
        f = self._function
        of = None if of is None or len(of) == len(f.outputs) else of
        wrt = None if wrt is None or len(wrt) == len(f.inputs) else wrt
        along = None if along is None or len(along) == len(f.inputs) else along
        if of is None and wrt is None and along is None:
            return self
        key = (self._mode, of, wrt, along)
        if key not in f._made:
            f._made[key] = Derivative(f, self._mode, of, wrt, along)
        made = f._made[key]
        assert isinstance(made, Derivative)
        return made

    def _group(self, group: Any, label: str, *, partly: bool = False) -> dict[str, Any]:
        """Arrays of a group by the names of arguments; with `partly` those that are not None."""
        f = self._function
        if isinstance(group, Mapping):
            for name in group:
                if name not in f.inputs:
                    raise PhalanxError(
                        f"{self.name}: {label} has {name!r};{nearest(name, f.inputs, what='arguments')}"
                    )
            found = {name: group.get(name) for name in f.inputs}
        elif isinstance(group, (tuple, list)) and len(group) == len(f.inputs):
            found = dict(zip(f.inputs, group, strict=True))
        else:
            got = f"{len(group)} arrays" if isinstance(group, (tuple, list)) else type(group).__name__
            raise PhalanxError(
                f"{self.name}: {label} are {got}, expected a tuple of {len(f.inputs)}: {', '.join(f.inputs)}."
            )
        if partly:
            return {name: x for name, x in found.items() if x is not None}
        if missing := [name for name, x in found.items() if x is None]:
            raise PhalanxError(f"{self.name}: {label} has no {', '.join(missing)}.")
        return found


def _is_group(value: Any) -> bool:
    """Whether an argument is several arrays; a list of numbers is one."""
    if isinstance(value, (tuple, Mapping)):
        return True
    return isinstance(value, list) and all(isinstance(x, (np.ndarray, list, tuple)) for x in value)


# ------------------------------------------------------------------- entry point


def function(robot: Robot, f: Callable[..., Any] | str, sizes: Mapping[str, Any]) -> OwnFunction:
    """`Robot.function`, as `robot/api.py` declares it."""
    if isinstance(f, str):
        return _named(robot, f, sizes)
    if isinstance(f, OwnFunction):
        raise PhalanxError(
            f"function: {f.name} is compiled already; pass the Python function it was made of."
        )
    return OwnFunction(traced(robot, f, sizes), (_function_again, robot, f, dict(sizes)))


def _integrate(q: Any, dq: Any, robot: Any) -> Any:
    return robot.integrate(q, dq)


def _difference(q0: Any, q1: Any, robot: Any) -> Any:
    return robot.difference(q0, q1)


def _normalize(q: Any, robot: Any) -> Any:
    return robot.normalize(q)


_STEPS: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "integrate": (_integrate, {"dq": "qd"}),
    "difference": (_difference, {"q0": "q", "q1": "q"}),
    "normalize": (_normalize, {}),
}


def _named(robot: Robot, name: str, sizes: Mapping[str, Any]) -> OwnFunction:
    """A step of coordinates as a function; derivatives of coordinates are rates."""
    if name not in _STEPS or sizes:
        known = nearest(name, _STEPS, what="steps of coordinates")
        raise PhalanxError(
            f"function: got {shown(name)};{known} Others are robot.kernel(name), or Python functions."
        )

    def made() -> OwnFunction:
        run, own = _STEPS[name]
        moving = frozenset() if name == "difference" else frozenset({RESULT})
        trace = replace(traced(robot, run, own), name=name, moving=moving)
        return OwnFunction(trace, (_function_again, robot, name, {}))

    found: OwnFunction = robot._memoized(("function", name), made)
    return found


def _function_again(robot: Robot, f: Callable[..., Any] | str, sizes: Mapping[str, Any]) -> OwnFunction:
    return function(robot, f, sizes)


def _plain_again(f: OwnFunction) -> OwnFunction:
    return f._plain


def _jacobians_again(f: OwnFunction, wrt: tuple[str, ...]) -> OwnFunction:
    return f._jacobians(wrt)


def _jacobian_again(f: OwnFunction, of: str, wrt: str) -> OwnFunction:
    return f.jacobian(of, wrt)
