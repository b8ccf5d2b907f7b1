# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arrays of recording scalars on which NumPy's own functions act: what traced functions are given.

What depends on a value that is known only in a simulation is refused, with the user's line and a remedy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from ..arrays import real_or_none
from ..errors import PhalanxError, nearest, shown
from ..program.ir import Scalar
from .elementwise import MASKS, OF_MASKS, UFUNCS, chosen, objects
from .reductions import REDUCED, reduced
from .refusals import FILLED, refuse, refuse_array, refuse_number, refuse_truth
from .vocabulary import FACTS, MOVES, OWN, SUMS, clip

_ORDERING = (
    *("argsort", "argmax", "argmin", "unique", "nonzero", "searchsorted", "digitize", "partition"),
    *("percentile", "quantile", "histogram", "argpartition", "flatnonzero", "argwhere"),
)
_DECOMPOSED = ("eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals", "qr", "cond", "matrix_rank")
_CHOOSING = ("choose", "piecewise", "putmask", "place", "put", "compress", "extract")
_LOOPING = ("vectorize", "apply_along_axis", "apply_over_axes")
_FEW = "+ - * / **, sin, cos, sqrt, exp, tanh, minimum, maximum, clip, where, dot, cross, sum and stack"
_TESTS = (
    *("isnan", "isfinite", "isinf", "nan_to_num", "nansum", "nanmean", "nanmax", "nanmin", "nanstd"),
    *("nanargmax", "nanargmin", "nanprod", "nanmedian"),
)
_ALIKE = ("allclose", "array_equal", "array_equiv")


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers that are known only in a simulation; NumPy's functions record what is done to it.

    `scalars` is an array of objects, each a node of a graph or a float. Comparisons give masks for
    `np.where`, with `&`, `|` and `~` between them. Arrays that a function is given cannot be changed in
    place; copies can.
    """

    __slots__ = ("is_mask", "scalars")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, scalars: Any, *, is_mask: bool = False) -> None:
        self.scalars = objects(scalars)
        self.is_mask = is_mask

    # ------------------------------------------------------------- NumPy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **more: Any) -> Any:
        out = more.pop("out", (None,))[0]
        name = ufunc.__name__
        if ufunc is np.divmod and method == "__call__":
            return np.floor_divide(*inputs), np.remainder(*inputs)
        rule = UFUNCS.get(ufunc) or MASKS.get(ufunc)
        if rule is None:
            _refuse_ufunc(ufunc)
        if ufunc in OF_MASKS and not all(_is_mask(x) for x in inputs):
            refuse(
                f"uses np.{name} between traced values", "& and | stand between conditions, as in (a < b) & c"
            )
        given = [_plain(x) for x in inputs]
        if method == "__call__":
            if more.get("where", True) is not True or more.keys() - {"where", "dtype", "casting"}:
                refuse(f"calls np.{name} with {', '.join(more)}", "use np.where(condition, a, b)")
            made = Traced(rule(*given), is_mask=ufunc in MASKS)
        elif method == "outer":
            first, *others = given
            spread = objects(first).reshape(np.shape(first) + (1,) * sum(np.ndim(x) for x in others))
            made = Traced(rule(spread, *others), is_mask=ufunc in MASKS)
        elif method == "reduce" and ufunc in (np.add, np.multiply, *REDUCED):
            axis, keepdims = more.get("axis", 0), bool(more.get("keepdims", False))
            made = Traced(reduced(REDUCED.get(ufunc, rule), given[0], axis, keepdims))
        elif method == "accumulate" and ufunc in (np.add, np.multiply, np.minimum, np.maximum):
            made = Traced(_accumulated(rule, given[0], more.get("axis", 0)))
        else:
            _refuse_function(f"{name}.{method}")
        if out is None:
            return made
        if not isinstance(out, Traced):
            refuse(
                "puts traced values into an array of floats",
                f"write x = x + y in place of x += y, or {FILLED}",
            )
        out[...] = made
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, more: Any) -> Any:
        if function in FACTS:
            return function(*_unwrapped(args), **more)
        if function in JOINED:
            return Traced(objects(_plain(args[0])).copy())
        if function in IN_PLACE:
            if not isinstance(args[0], Traced):
                refuse("puts traced values into an array of floats", FILLED)
            return IN_PLACE[function](*args, **more)
        rule = OWN.get(function) or (function if function in MOVES or function in SUMS else None)
        if rule is None:
            _refuse_function(_within(function))
        if more.get("out") is not None:
            refuse(f"passes out= to {_name(function)}", "take what it returns")
        if (dtype := more.pop("dtype", None)) is not None and np.dtype(dtype).kind not in "fO":
            refuse(
                f"passes dtype={np.dtype(dtype)} to {_name(function)}", "leave it out: traced values are real"
            )
        try:
            made = rule(*_unwrapped(args), **{k: _unwrapped(v) for k, v in more.items() if k != "out"})
        except TypeError as error:
            if "argument" not in str(error):
                raise
            refuse(
                f"calls {_name(function)} in a way that cannot be recorded: {error}",
                "leave that argument out",
            )
        is_mask = function in (np.all, np.any, np.isclose) or (function in MOVES and _all_masks(args))
        return _wrapped(made, is_mask)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """An array of objects, each a traced value: `np.array([a, b])` then joins them."""
        if dtype is not None and np.dtype(dtype) != object:
            refuse_array(np.dtype(dtype))
        made = np.empty(self.shape, dtype=object)
        flat = made.ravel()
        for k, x in enumerate(self.scalars.ravel()):
            flat[k] = Traced(x, is_mask=self.is_mask)
        return flat.reshape(self.shape)

    # ------------------------------------------------------------- as an array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.scalars.shape

    @property
    def ndim(self) -> int:
        return self.scalars.ndim

    @property
    def size(self) -> int:
        return self.scalars.size

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(bool if self.is_mask else float)

    @property
    def real(self) -> Traced:
        return self

    @property
    def T(self) -> Traced:  # noqa: N802
        return Traced(self.scalars.T, is_mask=self.is_mask)

    @property
    def mT(self) -> Traced:  # noqa: N802
        return Traced(np.swapaxes(self.scalars, -1, -2), is_mask=self.is_mask)

    def __len__(self) -> int:
        return len(self.scalars)

    def __iter__(self) -> Iterator[Traced]:
        if not self.shape:
            raise TypeError("iteration over a traced value without axes")
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Traced:
        return Traced(self.scalars[_index(key)], is_mask=self.is_mask)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.scalars.flags.writeable:
            refuse("changes an array in place that the function was given", "change a copy: x = q.copy()")
        scalars = objects(_plain(value))
        if isinstance(key, Traced) and key.is_mask:
            self.scalars[...] = _where_masked(key.scalars, scalars, self.scalars)
        else:
            self.scalars[_index(key)] = scalars if scalars.ndim else scalars.item()
        self.is_mask = self.is_mask and _is_mask(value)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            _refuse_function(name, "ndarray")
        raise AttributeError(f"traced values have no {name!r}; their attributes are those of NumPy's arrays")

    def __repr__(self) -> str:
        return f"<traced {'mask' if self.is_mask else 'values'} of shape {self.shape}>"

    def copy(self, order: str = "C") -> Traced:
        return Traced(self.scalars.copy(), is_mask=self.is_mask)

    def __copy__(self) -> Traced:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Traced:
        return self.copy()

    def astype(self, dtype: Any, **unused: Any) -> Traced:
        if np.dtype(dtype).kind not in "fb":
            refuse(
                f"makes {np.dtype(dtype)} of traced values", "they are real numbers; use np.where to choose"
            )
        return np.not_equal(self, 0.0) if np.dtype(dtype).kind == "b" else Traced(self.scalars)  # type: ignore[return-value]

    def reshape(self, *shape: Any, order: str = "C") -> Traced:
        return Traced(self.scalars.reshape(*shape), is_mask=self.is_mask)

    def ravel(self, order: str = "C") -> Traced:
        return Traced(self.scalars.ravel(), is_mask=self.is_mask)

    def flatten(self, order: str = "C") -> Traced:
        return Traced(self.scalars.flatten(), is_mask=self.is_mask)

    def transpose(self, *axes: Any) -> Traced:
        return Traced(self.scalars.transpose(*axes), is_mask=self.is_mask)

    def squeeze(self, axis: Any = None) -> Traced:
        return Traced(self.scalars.squeeze(axis), is_mask=self.is_mask)

    def clip(self, min: Any = None, max: Any = None) -> Traced:
        return Traced(clip(self.scalars, *(None if x is None else _plain(x) for x in (min, max))))

    def __bool__(self) -> bool:
        return bool(self._number() if _is_known(self) else refuse_truth())

    def __float__(self) -> float:
        return self._number() if _is_known(self) else refuse_number("float")

    def __int__(self) -> int:
        return int(self._number()) if _is_known(self) else refuse_number("int")

    def __complex__(self) -> complex:
        return complex(self._number()) if _is_known(self) else refuse_number("complex")

    def __index__(self) -> int:
        refuse_number("index")

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(self._number(), spec) if _is_known(self) else refuse_number("format")

    def __round__(self, digits: int | None = None) -> Traced:
        made: Any = np.round(self, digits or 0)
        return made

    def __divmod__(self, other: Any) -> tuple[Traced, Traced]:
        return self // other, self % other

    def fill(self, value: Any) -> None:
        self[...] = value

    def sort(self, axis: int = -1) -> None:
        self[...] = np.sort(self, axis)

    def conj(self) -> Traced:
        return self

    def item(self, *args: Any) -> Traced:
        return self[args] if args else self.reshape(())

    def tolist(self) -> Any:
        return [x.tolist() for x in self] if self.ndim else self

    def _number(self) -> float:
        return float(self.scalars.item())


def _method(name: str) -> Any:
    """A method of arrays that does what NumPy's function does."""
    function = getattr(np, name)

    def method(self: Traced, *args: Any, **more: Any) -> Any:
        return function(self, *args, **more)

    method.__name__, method.__doc__ = name, f"As `np.{name}`."
    return method


# Ufuncs among them are what NumPy calls for each entry of an array of objects, as `np.array([a, b])` is one.
_METHODS = [
    *("sum", "mean", "prod", "min", "max", "all", "any", "dot", "cumsum", "trace", "diagonal", "repeat"),
    *("swapaxes", "take", "sin", "cos", "tan", "sqrt", "exp", "log", "tanh", "arctan2", "arctan"),
    *("arcsin", "arccos", "sinh", "cosh", "hypot", "sign", "square", "expm1", "deg2rad", "rad2deg"),
    *("std", "var", "log1p", "logaddexp", "cumprod", "round", "rint", "trunc", "log2", "log10", "conjugate"),
    *("arcsinh", "arccosh", "arctanh", "fmod"),
]
for _function in _METHODS:
    setattr(Traced, _function, _method(_function))


# ------------------------------------------------------------------- in and out


def scalars_of(value: Any, shape: tuple[int, ...] | None, where: str) -> np.ndarray:
    """An array of nodes and floats from traced values, arrays, lists or numbers, broadcast to a shape.

    `where` begins the message if it is none of these, or of another shape.
    """
    found = _scalars(value, where)
    if shape is None:
        return found
    try:
        if found.ndim > len(shape):
            raise ValueError
        return np.broadcast_to(found, shape)
    except ValueError:
        raise PhalanxError(f"{where} has shape {found.shape}, expected {shape}.") from None


def _scalars(value: Any, where: str) -> np.ndarray:
    if isinstance(value, Traced):
        return value.scalars
    if isinstance(value, Scalar):
        return objects(value)
    if isinstance(value, (list, tuple)) or _holds_objects(value):
        try:
            value = np.asarray(value)
        except ValueError:  # of rows that are not equally long
            raise PhalanxError(f"{where}: got {shown(value)}, expected numbers in an array.") from None
    if _holds_objects(value):
        made = np.empty(value.shape, dtype=object)
        flat = made.ravel()
        for k, x in enumerate(value.ravel()):
            flat[k] = x if isinstance(x, Scalar) else _scalars(x, where).item()
        return flat.reshape(value.shape)
    numbers = real_or_none(value, where) if value is not None else None
    if numbers is None:
        raise PhalanxError(f"{where}: got {shown(value)}, expected real numbers.")
    return objects(numbers)


def _holds_objects(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def _plain(x: Any) -> Any:
    """Traced values, and containers of them, as NumPy arrays of objects."""
    if isinstance(x, Traced):
        return x.scalars
    if isinstance(x, (list, tuple)) or _holds_objects(x):
        return scalars_of(x, None, "an array")
    if x is None or isinstance(x, (str, bytes, complex)):
        refuse(f"joins a traced value and {shown(x)}", "expected real numbers")
    if isinstance(x, np.ndarray) and x.dtype.kind not in "fiub":
        refuse(f"joins a traced value and an array of {x.dtype}", "expected real numbers")
    return x


def _accumulated(rule: Any, x: Any, axis: int) -> np.ndarray:
    """All entries along an axis joined with those before them."""
    rows = list(np.moveaxis(objects(x), axis, 0))
    for k in range(1, len(rows)):
        rows[k] = rule(rows[k - 1], rows[k])
    return np.moveaxis(np.stack([objects(row) for row in rows]), 0, axis)


def _where_masked(mask: np.ndarray, value: np.ndarray, x: np.ndarray) -> np.ndarray:
    """An array whose entries, or rows, are a value where a mask holds."""
    rest = x.ndim - mask.ndim
    if mask.shape != x.shape[: mask.ndim] or value.ndim > rest:
        refuse(
            f"puts an array of shape {value.shape} where a traced condition of shape {mask.shape} holds",
            "write x = np.where(condition, values, x) with as many values as conditions",
        )
    return chosen(mask.reshape(mask.shape + (1,) * rest), value, x)


def _copy_to(to: Traced, values: Any, casting: str = "same_kind", where: Any = True) -> None:
    to[...] = values if where is True else np.where(where, values, to)


def _fill_diagonal(a: Traced, value: Any, wrap: bool = False) -> None:
    along = np.arange(min(a.shape))
    a[(along,) * a.ndim] = value


JOINED = (np.array, np.asarray, np.asanyarray, np.ascontiguousarray)  # called with like=
IN_PLACE: dict[Any, Any] = {np.copyto: _copy_to, np.fill_diagonal: _fill_diagonal}


def _unwrapped(value: Any) -> Any:
    """Arguments of a function, at any depth, with traced values as arrays of objects."""
    if isinstance(value, Traced) or _holds_objects(value):
        return _plain(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_unwrapped(x) for x in value)
    return value


def _wrapped(value: Any, is_mask: bool) -> Any:
    if isinstance(value, (list, tuple)):
        made = [_wrapped(x, is_mask) for x in value]
        return type(value)._make(made) if hasattr(value, "_make") else type(value)(made)
    return Traced(value, is_mask=is_mask)


def _index(key: Any) -> Any:
    parts = key if isinstance(key, tuple) else (key,)
    if any(isinstance(k, Traced) and k.is_mask for k in parts):
        refuse(
            "picks entries by a traced condition, so that their number is not known",
            "use np.where(condition, a, b) with all entries, or x[condition] = one value",
        )
    if any(isinstance(k, Traced) for k in parts):
        refuse("indexes by a traced value", "use np.where(condition, a, b), or np.interp for a table")
    return key


def _is_known(x: Traced) -> bool:
    return x.size == 1 and not isinstance(x.scalars.item(), Scalar)


def _is_mask(x: Any) -> bool:
    return x.is_mask if isinstance(x, Traced) else np.asarray(x).dtype == bool


def _all_masks(args: Any) -> bool:
    found = [x for x in _flat(args) if isinstance(x, Traced)]
    return all(x.is_mask for x in found)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for x in value:
            yield from _flat(x)
    else:
        yield value


# ------------------------------------------------------------------- what is refused


_ALL: tuple[Any, ...] = (*UFUNCS, *MASKS, *OWN, *MOVES, *SUMS, *JOINED, *IN_PLACE)
NAMES = sorted({f.__name__ for f in _ALL})


def _name(function: Any) -> str:
    return f"np.{_within(function)}"


def _within(function: Any) -> str:
    """The name of a function within NumPy."""
    module = function.__module__.removeprefix("numpy").lstrip(".")
    return f"{module}.{function.__name__}" if module else str(function.__name__)


def _refuse_ufunc(ufunc: np.ufunc) -> NoReturn:
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        _refuse_function(name)
    if " " in name:  # of np.frompyfunc
        refuse(f"calls {name}, which cannot be recorded", "call the Python function itself, on whole arrays")
    _refuse_function(name, "scipy.special")


def _refuse_function(name: str, module: str = "np") -> NoReturn:
    short = name.rpartition(".")[2]
    if short in _ORDERING:
        remedy = "use np.sort, np.minimum, np.maximum, np.min, np.max or np.where"
    elif short in _CHOOSING:
        remedy = "use np.where(condition, a, b), or np.select of several conditions"
    elif short in _LOOPING:
        remedy = "use a Python loop and np.stack"
    elif short in _DECOMPOSED:
        remedy = (
            "return the matrix and decompose it outside, or use np.linalg.det(J @ J.T) for a measure of "
            "manipulability, np.linalg.solve, cholesky or px.math.damped_solve for systems of equations"
        )
    elif short in ("pinv", "lstsq"):
        remedy = (
            "use px.math.damped_solve(J, x), or np.linalg.solve, as J.T @ np.linalg.solve(J @ J.T + 1e-6 * "
            "np.eye(6), x) for pinv(J) @ x"
        )
    elif short in _TESTS:
        remedy = "a state that is not finite makes all results NaN and ends its simulation: test it outside"
    elif short in _ALIKE:
        remedy = "use np.isclose(a, b) inside np.where"
    else:
        hint = nearest(short, NAMES, what="").rpartition("?")[0].lstrip()
        remedy = f"{hint}{'? ' if hint else ''}what can is {_FEW}, and some more"
    refuse(f"calls {module}.{name}, which cannot be recorded", remedy)
