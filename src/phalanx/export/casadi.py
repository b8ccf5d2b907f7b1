# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions by which `casadi.external`, and packages built on CasADi, load a library with its derivatives.

CasADi finds derivatives by their names: `jac_NAME` is the Jacobian, `adj1_NAME` the derivatives of results
times cotangents, and `jac_adj1_NAME` the Jacobian of those: second derivatives of a weighted sum of results,
which are computed by products along directions. CasADi's matrices are column-major.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..errors import PhalanxError, shown, warn
from ..languages.codegen import Routine
from ..languages.dialects import Dialect
from ..program.trace import TooLongError
from ..tracing.traces import Trace
from .api import ExportEntry, Request
from .casadi_derivatives import Differentiable, Pattern, columnwise, matrix_size

_ORDERS = (0, 1, 2)


@dataclass
class CasadiDerivatives:
    """The exported derivatives of one function: routines, and the positions of entries that are not zero."""

    name: str
    jacobian: Routine | None = None
    blocks: Mapping[tuple[int, int], Pattern] | None = None  # of results by arguments
    jvp: Routine | None = None  # in place of `jacobian` where that is too long
    depends: np.ndarray | None = None
    vjp: Routine | None = None
    hvp: Routine | None = None
    curved: np.ndarray | None = None  # where the Hessian may differ from zero

    @property
    def routines(self) -> list[Routine]:
        found = (self.jacobian, self.jvp, self.vjp, self.hvp)
        return [routine for routine in found if routine is not None]


def casadi_derivatives(
    request: Request, dialect: Dialect, wanted: Mapping[str, Any]
) -> list[CasadiDerivatives]:
    """The derivatives that are exported, function by function; a warning names those that have none."""
    order = wanted["derivatives"]
    if not wanted["casadi"]:
        if order is not None:
            raise PhalanxError("export: derivatives are those that CasADi loads; pass casadi=True, too.")
        return []
    order = _ORDERS[-1] if order is None else order
    if isinstance(order, bool) or order not in _ORDERS:
        raise PhalanxError(f"export: derivatives is {shown(order)}, expected 0, 1 or 2, the highest order.")
    if request.real != "double" or request.suffix != ".c":
        raise PhalanxError(
            f"export: CasADi loads libraries in double precision, made of .c files; got {request.dtype} for "
            f'"{request.path.name}"; use dtype="float64" and a file such as arm.c.'
        )
    return [_derivatives(entry, dialect, order) for entry in request.entries]


def _derivatives(entry: ExportEntry, dialect: Dialect, order: int) -> CasadiDerivatives:
    made = CasadiDerivatives(entry.name)
    if not order:
        return made
    try:
        found = entry.differentiable() if entry.differentiable else None
    except (TooLongError, PhalanxError):
        found = None
    if found is None:
        _warn(
            entry, "no derivatives: it is too long for straight-line code", "its solvers need enable_fd=True"
        )
        return made
    _first(made, found, dialect)
    if order > 1 and not _second(made, found, dialect):
        _warn(
            entry,
            "no second derivatives: they are too long for straight-line code",
            'use hessian_approximation="limited-memory", or a function of fewer joints',
        )
    return made


def _warn(entry: ExportEntry, what: str, remedy: str) -> None:
    warn(f'export: {entry.name} of robot "{entry.robot.name}" has {what}; in CasADi, {remedy}.')


def _first(made: CasadiDerivatives, f: Differentiable, dialect: Dialect) -> None:
    """A Jacobian, or products along directions where that is too long; and the transposed product."""
    rows, columns = list(f.outputs), list(f.inputs)
    if f.jacobian is not None:
        trace, patterns = f.jacobian
        made.jacobian = _routine(f"{made.name}_casadi_jac", trace, dialect)
        made.blocks = {
            (rows.index(of), columns.index(wrt)): pattern for (of, wrt), pattern in patterns.items()
        }
    else:
        trace, made.depends = f.jvp
        made.jvp = _routine(f"{made.name}_casadi_jvp", trace, dialect)
        masks = _masks(f, made.depends, list(f.trace.outputs.values()), list(f.trace.inputs.values()))
        made.blocks = {at: Pattern.of(mask) for at, mask in masks.items()}
    made.vjp = _routine(f"{made.name}_casadi_adj", f.vjp, dialect)


def _second(made: CasadiDerivatives, f: Differentiable, dialect: Dialect) -> bool:
    if f.hvp is None:
        return False
    trace, made.curved = f.hvp
    if made.curved.any():
        made.hvp = _routine(f"{made.name}_casadi_hvp", trace, dialect)
    return True


def _masks(
    f: Differentiable, whole: np.ndarray, rows: Sequence[Any], columns: Sequence[Any]
) -> dict[tuple[int, int], np.ndarray]:
    """The blocks of a mask, rows and columns in CasADi's order."""
    made, first = {}, 0
    for i, of in enumerate(shape for shape in rows if prod(shape)):
        start = 0
        for j, wrt in enumerate(shape for shape in columns if prod(shape)):
            made[i, j] = whole[np.ix_(first + columnwise(of), start + columnwise(wrt))]
            start += prod(wrt)
        first += prod(of)
    return made


def _routine(name: str, trace: Trace, dialect: Dialect) -> Routine:
    program = trace.program()
    inputs = {f"x{k}": prod(program.shapes[b.name]) for k, b in enumerate(program.inputs)}
    outputs = {f"y{k}": prod(program.shapes[b.name]) for k, b in enumerate(program.outputs)}
    return Routine(name, inputs, outputs, program, dialect)


# ------------------------------------------------------------------- entries


def casadi_entries(
    request: Request, routines: Sequence[Routine], derived: Sequence[CasadiDerivatives]
) -> list[str]:
    """The sources of all entries, and of the routines of derivatives."""
    parts = [_PREAMBLE]
    for entry, routine, more in zip(request.entries, routines, derived, strict=True):
        for each in more.routines:
            parts += [*each.tables(), each.source(), each.of_one_state("static")]
        parts += [w.source for w in _functions(entry, routine, more)]
    return parts


_PREAMBLE = """/* Entries for casadi.external: NAME_casadi, and derivatives by the names that it looks for. */
#ifndef casadi_int
#define casadi_int long long int
#endif
#ifdef _WIN32
#define $EXPORTED __declspec(dllexport)
#else
#define $EXPORTED
#endif"""


class _External:
    """One function of CasADi's interface: its inputs, its results, and the statements of its body."""

    def __init__(self, name: str, inputs: Mapping[str, Pattern], outputs: Mapping[str, Pattern]) -> None:
        self.name, self.inputs, self.outputs = name, dict(inputs), dict(outputs)
        self.lines: list[str] = []
        self.tables: list[str] = []
        self.size = 0  # numbers of working memory

    def memory(self, size: int) -> int:
        """The offset of `size` numbers, allocated in the working memory."""
        at = self.size
        self.size += size
        return at

    def read(self, k: int, shape: tuple[int, ...], at: int) -> None:
        """Copy an argument, zero where CasADi passes none, rows one after another."""
        rows, columns = matrix_size(shape)
        where = f"w[{at} + i * {columns} + j] = arg[{k}] ? arg[{k}][j * {rows} + i] : 0;"
        self.lines.append(f"for (i = 0; i < {rows}; ++i) for (j = 0; j < {columns}; ++j) {where}")

    def write(self, k: int, shape: tuple[int, ...], at: int) -> None:
        """Copy a result from rows one after another, if it is wanted."""
        rows, columns = matrix_size(shape)
        loop = f"for (i = 0; i < {rows}; ++i) for (j = 0; j < {columns}; ++j)"
        self.lines.append(f"if (res[{k}]) {loop} res[{k}][j * {rows} + i] = w[{at} + i * {columns} + j];")

    def pick(self, k: int, addresses: Sequence[int]) -> None:
        """Copy the entries of a result from working memory, if the caller wants the result."""
        if not addresses:
            return
        table = f"{self.name}_t{len(self.tables)}"
        listed = ", ".join(map(str, addresses))
        self.tables.append(f"static const int {table}[{len(addresses)}] = {{{listed}}};")
        loop = f"for (i = 0; i < {len(addresses)}; ++i) res[{k}][i] = w[{table}[i]];"
        self.lines.append(f"if (res[{k}]) {loop}")

    def constant(self, values: Sequence[int]) -> str:
        """The name of a table of integers."""
        table = f"{self.name}_t{len(self.tables)}"
        self.tables.append(f"static const int {table}[{len(values)}] = {{{', '.join(map(str, values))}}};")
        return table

    @property
    def source(self) -> str:
        """The functions by which CasADi queries sizes, and the one that it calls."""
        name = self.name
        lines = [
            f"$EXPORTED int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem);"
        ]
        for what in ("n_in", "n_out"):
            lines.append(f"$EXPORTED casadi_int {name}_{what}(void);")
        bodies = [
            f"casadi_int {name}_n_in(void) {{ return {len(self.inputs)}; }}",
            f"casadi_int {name}_n_out(void) {{ return {len(self.outputs)}; }}",
        ]
        for kind, patterns in (("in", self.inputs), ("out", self.outputs)):
            bodies += [_names(name, kind, list(patterns)), _sparsity(name, kind, list(patterns.values()))]
            lines.append(f"$EXPORTED const char *{name}_name_{kind}(casadi_int i);")
            lines.append(f"$EXPORTED const casadi_int *{name}_sparsity_{kind}(casadi_int i);")
        sizes_of = ", ".join(f"casadi_int *sz_{what}" for what in ("arg", "res", "iw", "w"))
        lines.append(f"$EXPORTED int {name}_work({sizes_of});")
        bodies.append(
            f"int {name}_work({sizes_of}) {{\n"
            f"  if (sz_arg) *sz_arg = {len(self.inputs)};\n  if (sz_res) *sz_res = {len(self.outputs)};\n"
            f"  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = {max(1, self.size)};\n  return 0;\n}}"
        )
        body = [
            f"int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{",
            *(
                f"  {line}"
                for line in (
                    "int i, j, k;",
                    "(void)i, (void)j, (void)k, (void)arg, (void)res, (void)iw, (void)w, (void)mem;",
                )
            ),
            *(f"  {line}" for line in self.lines),
            "  return 0;",
            "}",
        ]
        return "\n".join([*lines, *self.tables, *bodies, *body])


def _functions(entry: ExportEntry, routine: Routine, d: CasadiDerivatives) -> list[_External]:
    """The entries of one function and of its derivatives."""
    name = f"${entry.name}_casadi"
    made = [_value(name, entry, routine)]
    if d.blocks is not None and d.vjp is not None:
        made += [_jacobian(name, entry, d), _adjoint(name, entry, d.vjp)]
    if d.curved is not None:
        made.append(_hessian(name, entry, d))
    return made


def _dense(shapes: Mapping[str, tuple[int, ...]], before: str = "") -> dict[str, Pattern]:
    return {f"{before}{name}": _full(matrix_size(shape)) for name, shape in shapes.items()}


def _full(shape: tuple[int, int]) -> Pattern:
    return Pattern.of(np.ones(shape, dtype=bool))


def _value(name: str, entry: ExportEntry, routine: Routine) -> _External:
    w = _External(name, _dense(entry.inputs), _dense(entry.outputs))
    given = _read_all(w, entry.inputs, 0)
    results = [(k, shape, w.memory(prod(shape))) for k, shape in enumerate(entry.outputs.values())]
    scratch = [w.memory(routine.workspace)] if routine.workspace else []
    w.lines.append(_call(routine, [*given, *(at for *_, at in results), *scratch]))
    for k, shape, at in results:
        w.write(k, shape, at)
    return w


def _read_all(w: _External, shapes: Mapping[str, tuple[int, ...]], first: int) -> list[int]:
    """The addresses of arguments, numbered from `first`, after code that reads them."""
    addresses = []
    for k, shape in enumerate(shapes.values()):
        addresses.append(w.memory(prod(shape)))
        w.read(first + k, shape, addresses[-1])
    return addresses


def _call(routine: Routine, addresses: Sequence[int]) -> str:
    return f"${routine.name}({', '.join(f'w + {at}' for at in addresses)});"


def _block_names(of: Mapping[str, Any], wrt: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(a, b) for a in of for b in wrt]


def _jacobian(name: str, entry: ExportEntry, d: CasadiDerivatives) -> _External:
    """`jac_NAME`: of the arguments and the results, a block for each result and argument."""
    assert d.blocks is not None
    inputs = {**_dense(entry.inputs), **_dense(entry.outputs, "out_")}
    columns = len(entry.inputs)
    outputs = {
        f"jac_{of}_{wrt}": d.blocks[divmod(k, columns)]
        for k, (of, wrt) in enumerate(_block_names(entry.outputs, entry.inputs))
    }
    w = _External(f"jac_{name}", inputs, outputs)
    given = _read_all(w, entry.inputs, 0)
    if d.jacobian is not None:
        made, k = [], 0
        for position, pattern in enumerate(outputs.values()):
            if pattern.entries:
                made.append(f"res[{position}] ? res[{position}] : w + {w.memory(len(pattern.entries))}")
        w.lines.append(f"${d.jacobian.name}({', '.join([*(f'w + {at}' for at in given), *made])});")
        return w
    address = _matrix(w, d, entry, given)
    for k, block in enumerate(outputs.values()):
        i, j = divmod(k, columns)
        w.pick(k, [address(i, j, *at) for at in block.entries])
    return w


def _matrix(w: _External, d: CasadiDerivatives, entry: ExportEntry, given: Sequence[int]) -> Any:
    """The function to the address of a derivative's entry, after code for a product along each direction."""
    assert d.jvp is not None
    sizes = [prod(shape) for shape in entry.inputs.values()]
    rows = [prod(shape) for shape in entry.outputs.values()]
    total, height = sum(sizes), sum(rows)
    along, matrix = w.memory(total), w.memory(total * height)
    tangents = [along + sum(sizes[:k]) for k in range(len(sizes))]
    at = [f"w + {matrix + sum(rows[:k])} + k * {height}" for k in range(len(rows))]
    call = f"${d.jvp.name}({', '.join([*(f'w + {x}' for x in (*given, *tangents)), *at])});"
    w.lines += [
        f"for (k = 0; k < {total}; ++k) {{",
        f"  for (i = 0; i < {total}; ++i) w[{along} + i] = i == k;",
        f"  {call}",
        "}",
    ]
    orders = [columnwise(shape) for shape in (*entry.outputs.values(), *entry.inputs.values())]

    def place(i: int, j: int, row: int, column: int) -> int:
        first = sum(sizes[:j]) + int(orders[len(rows) + j][column])
        return matrix + first * height + sum(rows[:i]) + int(orders[i][row])

    return place


def _adjoint(name: str, entry: ExportEntry, vjp: Routine) -> _External:
    """`adj1_NAME`: of the arguments, the results and cotangents, the derivatives by the arguments."""
    inputs = {**_dense(entry.inputs), **_dense(entry.outputs, "out_"), **_dense(entry.outputs, "adj_")}
    w = _External(f"adj1_{name}", inputs, _dense(entry.inputs, "adj_"))
    given = _read_all(w, entry.inputs, 0)
    given += _read_all(w, entry.outputs, len(entry.inputs) + len(entry.outputs))
    results = [(k, shape, w.memory(prod(shape))) for k, shape in enumerate(entry.inputs.values())]
    w.lines.append(_call(vjp, [*given, *(at for *_, at in results)]))
    for k, shape, at in results:
        w.write(k, shape, at)
    return w


def _hessian(name: str, entry: ExportEntry, d: CasadiDerivatives) -> _External:
    """`jac_adj1_NAME`: the Hessian of the weighted sum of results, and the transposed Jacobian.

    A product with the Hessian is made for each column that is not known by symmetry from others.
    """
    assert d.curved is not None
    assert d.blocks is not None
    n, m = len(entry.inputs), len(entry.outputs)
    inputs = {**_dense(entry.inputs), **_dense(entry.outputs, "out_"), **_dense(entry.outputs, "adj_")}
    shapes = list(entry.inputs.values())
    curved = _blocks_of(d.curved, shapes)
    outputs: dict[str, Pattern] = {}
    for i, of in enumerate(entry.inputs):
        size = prod(shapes[i])
        outputs |= {f"jac_adj_{of}_{wrt}": Pattern.of(curved[i, j]) for j, wrt in enumerate(entry.inputs)}
        outputs |= {
            f"jac_adj_{of}_out_{wrt}": Pattern((size, prod(shape)), ())
            for wrt, shape in entry.outputs.items()
        }
        outputs |= {
            f"jac_adj_{of}_adj_{wrt}": _transposed(d.blocks[k, i]) for k, wrt in enumerate(entry.outputs)
        }
    w = _External(f"jac_adj1_{name}", {**inputs, **_dense(entry.inputs, "out_adj_")}, outputs)
    given = _read_all(w, entry.inputs, 0)
    weights = _read_all(w, entry.outputs, n + m)
    sizes = [prod(shape) for shape in shapes]
    total, starts = sum(sizes), [sum(sizes[:k]) for k in range(n)]
    columns = _columns(d.curved)
    if d.hvp is not None:
        along, matrix = w.memory(total), w.memory(len(columns) * total)
        table = w.constant(columns)
        tangents = [f"w + {along + start}" for start in starts]
        at = [f"w + {matrix + start} + k * {total}" for start in starts]
        listed = [*(f"w + {x}" for x in (*given, *weights)), *tangents, *at]
        w.lines += [
            f"for (k = 0; k < {len(columns)}; ++k) {{",
            f"  for (i = 0; i < {total}; ++i) w[{along} + i] = i == {table}[k];",
            f"  ${d.hvp.name}({', '.join(listed)});",
            "}",
        ]
        slots = {column: k for k, column in enumerate(columns)}
        orders = [columnwise(shape) for shape in shapes]
        for i in range(n):
            for j in range(n):
                addresses = []
                for row, column in Pattern.of(curved[i, j]).entries:
                    a, b = starts[i] + int(orders[i][row]), starts[j] + int(orders[j][column])
                    a, b = (a, b) if b in slots else (b, a)
                    addresses.append(matrix + slots[b] * total + a)
                w.pick(i * (n + 2 * m) + j, addresses)
    _transposes(w, d, entry, given)
    return w


def _transposes(w: _External, d: CasadiDerivatives, entry: ExportEntry, given: Sequence[int]) -> None:
    """The derivatives by cotangents, if any are wanted: the Jacobian's blocks transposed."""
    assert d.blocks is not None
    n, m = len(entry.inputs), len(entry.outputs)
    wanted = " || ".join(f"res[{i * (n + 2 * m) + n + m + k}]" for i in range(n) for k in range(m))
    first = len(w.lines)
    starts: dict[tuple[int, int], int] = {}
    if d.jacobian is not None:
        for at, pattern in d.blocks.items():
            starts[at] = w.memory(len(pattern.entries))
        used = [starts[k, i] for k in range(m) for i in range(n) if d.blocks[k, i].entries]
        w.lines.append(_call(d.jacobian, [*given, *used]))
    else:
        place = _matrix(w, d, entry, given)
    for i in range(n):
        for k in range(m):
            known = d.blocks[k, i].entries
            order = {at: position for position, at in enumerate(known)}
            addresses = [
                starts[k, i] + order[b, a] if d.jacobian is not None else place(k, i, b, a)
                for a, b in _transposed(d.blocks[k, i]).entries
            ]
            w.pick(i * (n + 2 * m) + n + m + k, addresses)
    w.lines[first:] = [f"if ({wanted}) {{", *(f"  {line}" for line in w.lines[first:]), "}"]


def _blocks_of(mask: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> dict[tuple[int, int], np.ndarray]:
    """Blocks of a mask over all arguments, rows and columns in CasADi's order."""
    starts = [sum(prod(s) for s in shapes[:k]) for k in range(len(shapes))]
    return {
        (i, j): mask[np.ix_(starts[i] + columnwise(a), starts[j] + columnwise(b))]
        for i, a in enumerate(shapes)
        for j, b in enumerate(shapes)
    }


def _columns(mask: np.ndarray) -> list[int]:
    """Few columns that hold one of each pair of symmetric entries, chosen greedily."""
    left = mask.copy()
    columns = []
    while left.any():
        best = int(left.sum(axis=0).argmax())
        columns.append(best)
        left[:, best] = left[best, :] = False
    return sorted(columns)


def _transposed(pattern: Pattern) -> Pattern:
    mask = np.zeros(pattern.shape, dtype=bool)
    for at in pattern.entries:
        mask[at] = True
    return Pattern.of(mask.T)


def _names(name: str, kind: str, labels: list[str]) -> str:
    cases = " ".join(f'case {k}: return "{label}";' for k, label in enumerate(labels))
    return f"const char *{name}_name_{kind}(casadi_int i) {{ switch (i) {{ {cases} default: return 0; }} }}"


def _sparsity(name: str, kind: str, patterns: list[Pattern]) -> str:
    """The function that returns where a matrix may differ from zero; equal patterns are one table."""
    rows = [", ".join(map(str, pattern.compressed())) for pattern in patterns]
    known = list(dict.fromkeys(rows))
    tables = [f"  static const casadi_int s{k}[] = {{{row}}};" for k, row in enumerate(known)]
    cases = " ".join(f"case {k}: return s{known.index(row)};" for k, row in enumerate(rows))
    head = f"const casadi_int *{name}_sparsity_{kind}(casadi_int i) {{"
    return "\n".join([head, *tables, f"  switch (i) {{ {cases} default: return 0; }}", "}"])
