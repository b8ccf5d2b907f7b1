# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Entry points by which `casadi.external`, and packages built on CasADi, load a compiled library.

CasADi's matrices are column-major. A function whose derivatives are exported as well has an entry for
its Jacobian, so that solvers need no finite differences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import PhalanxError
from ..languages.codegen import Routine
from .api import ExportEntry, Request


def casadi_entries(request: Request, routines: Sequence[Routine]) -> str:
    """The entries of all functions of a file."""
    if request.real != "double" or request.suffix != ".c":
        raise PhalanxError(
            f"export: CasADi loads libraries in double precision, made of .c files; got {request.dtype} for "
            f'"{request.path.name}"; use dtype="float64" and a file such as arm.c.'
        )
    pairs = list(zip(request.entries, routines, strict=True))
    known = {entry.name: (entry, routine) for entry, routine in pairs}
    parts = [_PREAMBLE]
    for entry, routine in pairs:
        parts.append(_entry(request, f"${entry.name}_casadi", entry.inputs, entry.outputs, routine, entry))
        derivatives = known.get(f"{entry.name}_derivatives")
        if derivatives is not None and request.robot.nq == request.robot.nv:
            parts.append(_jacobian(request, entry, *derivatives))
    return "\n\n".join(parts)


_PREAMBLE = """/* Entries for casadi.external: NAME_casadi, jac_NAME_casadi of what has derivatives. */
#ifndef casadi_int
#define casadi_int long long int
#endif
#ifdef _WIN32
#define $EXPORTED __declspec(dllexport)
#else
#define $EXPORTED
#endif"""


def _jacobian(request: Request, entry: ExportEntry, derivatives: ExportEntry, routine: Routine) -> str:
    """`jac_NAME`: its inputs are those of the function and its result; a block for each input."""
    (output,) = entry.outputs.items()
    inputs = {**entry.inputs, f"out_{output[0]}": output[1]}
    outputs = {
        f"jac_{output[0]}_{name}": shape
        for name, shape in zip(entry.inputs, derivatives.outputs.values(), strict=True)
    }
    return _entry(request, f"jac_${entry.name}_casadi", inputs, outputs, routine, derivatives)


def _entry(
    request: Request,
    name: str,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    routine: Routine,
    entry: ExportEntry,
) -> str:
    """The functions by which CasADi queries sizes, and the one that it calls."""
    several = {**inputs, **outputs}
    sizes = {label: _size(shape) for label, shape in several.items()}
    used = list(entry.inputs)
    work = sum(
        rows * columns for label, (rows, columns) in sizes.items() if label in outputs or label in used
    )
    lines = [f"$EXPORTED int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem);"]
    for what in ("n_in", "n_out"):
        lines.append(f"$EXPORTED casadi_int {name}_{what}(void);")
    bodies = [
        f"casadi_int {name}_n_in(void) {{ return {len(inputs)}; }}",
        f"casadi_int {name}_n_out(void) {{ return {len(outputs)}; }}",
    ]
    for kind, shapes in (("in", inputs), ("out", outputs)):
        bodies.append(_names(name, kind, list(shapes)))
        bodies.append(_sparsity(name, kind, [sizes[label] for label in shapes]))
        lines.append(f"$EXPORTED const char *{name}_name_{kind}(casadi_int i);")
        lines.append(f"$EXPORTED const casadi_int *{name}_sparsity_{kind}(casadi_int i);")
    sizes_of = ", ".join(f"casadi_int *sz_{what}" for what in ("arg", "res", "iw", "w"))
    lines.append(f"$EXPORTED int {name}_work({sizes_of});")
    bodies.append(
        f"int {name}_work({sizes_of}) {{\n"
        f"  if (sz_arg) *sz_arg = {len(inputs)};\n  if (sz_res) *sz_res = {len(outputs)};\n"
        f"  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = {work + routine.workspace};\n  return 0;\n}}"
    )
    bodies.append(_call(name, list(inputs), list(outputs), sizes, routine, entry))
    return "\n".join([*lines, *bodies])


def _call(
    name: str,
    inputs: list[str],
    outputs: list[str],
    sizes: Mapping[str, tuple[int, int]],
    routine: Routine,
    entry: ExportEntry,
) -> str:
    """The function that CasADi calls: missing arguments are zero, missing results are not wanted."""
    lines = [f"int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem) {{"]
    lines += ["  int i, j;", "  (void)iw;", "  (void)mem;"]
    arguments, offset = [], 0
    for k, label in enumerate(inputs):
        if label not in entry.inputs:
            continue
        rows, columns = sizes[label]
        at = f"w[{offset} + i * {columns} + j]"
        loop = f"  for (i = 0; i < {rows}; ++i) for (j = 0; j < {columns}; ++j)"
        lines.append(f"{loop} {at} = arg[{k}] ? arg[{k}][j * {rows} + i] : 0;")
        arguments.append(f"w + {offset}")
        offset += rows * columns
    back = []
    for k, label in enumerate(outputs):
        rows, columns = sizes[label]
        at = f"w[{offset} + i * {columns} + j]"
        loop = f"for (i = 0; i < {rows}; ++i) for (j = 0; j < {columns}; ++j)"
        back.append(f"  if (res[{k}]) {loop} res[{k}][j * {rows} + i] = {at};")
        arguments.append(f"w + {offset}")
        offset += rows * columns
    arguments += [f"w + {offset}"] if routine.workspace else []
    return "\n".join([*lines, f"  ${routine.name}({', '.join(arguments)});", *back, "  return 0;", "}"])


def _names(name: str, kind: str, labels: list[str]) -> str:
    cases = " ".join(f'case {k}: return "{label}";' for k, label in enumerate(labels))
    return f"const char *{name}_name_{kind}(casadi_int i) {{ switch (i) {{ {cases} default: return 0; }} }}"


def _sparsity(name: str, kind: str, sizes: list[tuple[int, int]]) -> str:
    listed = ", ".join(f"{{{rows}, {columns}, 1}}" for rows, columns in sizes)
    return (
        f"const casadi_int *{name}_sparsity_{kind}(casadi_int i) {{\n"
        f"  static const casadi_int sizes[{len(sizes)}][3] = {{{listed}}};\n"
        f"  return i >= 0 && i < {len(sizes)} ? sizes[i] : 0;\n}}"
    )


def _size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns; of more axes the last ones are columns."""
    if len(shape) < 2:
        return (shape[0] if shape else 1), 1
    columns = 1
    for n in shape[1:]:
        columns *= n
    return shape[0], columns
