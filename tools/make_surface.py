# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Write the signatures that editors, type checkers and `help` show, from the registered functions.

    python tools/make_surface.py  # after a change of algorithms/registry.py

The files can be read like any other but are never edited: `tests/test_surface.py` compares them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap
from types import ModuleType

SOURCE = Path(__file__).parents[1] / "src" / "phalanx"
if "phalanx" not in sys.modules:  # the registry alone: methods of new functions are not declared yet
    package = ModuleType("phalanx")
    package.__path__ = [str(SOURCE)]
    sys.modules["phalanx"] = package

from phalanx.algorithms import ALGORITHMS, FUNCTIONS, Function  # noqa: E402

WIDTH = 110

INPUTS = {
    "q": "positions",
    "qd": "rates",
    "qdd": "accelerations",
    "tau": "joint forces (N m of turning joints, N of sliding ones)",
    "external": "wrenches [N m, N] on the links, each in its own link frame at its origin, or some of them "
    'by name as {"link": wrench} with (…, 6) each',
    "inertias": "ten inertial parameters of each link in place of the robot's own, as in "
    "`robot.inertial_parameters`",
    "base_velocity": "twist of the base [rad/s, m/s], in its own coordinates",
    "base_acceleration": "the component-wise derivative of that twist",
}
TYPES = {"external": "External"}  # of inputs other than ArrayLike
SIZES = {"q": "nq", "v": "nv", "l": "n_links", "10l": "10 n_links"}
NAMED = ("inertias",)  # optional inputs that nobody gives by position
ALIASES = {"rnea": "inverse_dynamics", "crba": "mass_matrix", "aba": "forward_dynamics"}
BATCH = "Any batch shape, by NumPy's rules of broadcasting."
THREADS = "at most `threads` threads share a large batch (None: `px.set_threads`)"

HEAD = '''# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""{role}

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

'''

# ------------------------------------------------------------------------------------------- files


def robot_results() -> str:
    """`robot/results.py`: the named tuples of functions with several results."""
    text = HEAD.format(role="What functions with several results give: tuples with a name for each.")
    text += 'from typing import Generic, NamedTuple, TypeVar\n\nA = TypeVar("A")\n'
    for f in FUNCTIONS.values():
        if len(f.outputs) > 1:
            rows = [f"    {name}: A  # ({shape(sizes)})" for name, sizes in f.outputs.items()]
            told = f'    """The results of `{f.name}`."""'
            text += "\n".join(
                ["", "", f"class {camel(f.name)}(NamedTuple, Generic[A]):", told, "", *rows, ""]
            )
    return text


def robot_functions() -> str:
    """`robot/functions.py`: the methods of a robot that compute."""
    text = HEAD.format(role="What a robot computes: one method for each registered function.")
    text += "from ..typing import AlgorithmLike, Array, ArrayLike, Axes, Backend, External\n"
    text += "from . import results\n\n\n"
    text += (
        'class Functions:\n    """The methods of `Robot` that compute; `methods` gives them their code."""\n'
    )
    for f in FUNCTIONS.values():
        keywords = [f"out: {places(f)} | None = None", 'algorithm: AlgorithmLike = "auto"']
        keywords += ['backend: Backend = "auto"', "threads: int | None = None"]
        told = f"{BATCH} {filled(f)}; {algorithm(f)}; "
        told += f'`backend` is "auto", "native", "numpy" or "jax"; {THREADS}.'
        parameters = [
            *required(f),
            *optional(f, named=False),
            "*",
            *optional(f, named=True),
            *choices(f),
            *keywords,
        ]
        text += "\n" + method(f.name, parameters, result(f), [summary(f), *details(f), *inputs(f), told])
    return text + "".join(f"\n    {alias} = {name}" for alias, name in ALIASES.items()) + "\n"


def robot_doors() -> str:
    """`robot/doors.py`: kernels, JAX, and several frames at once."""
    text = HEAD.format(role="What a robot hands out: kernels, functions of JAX arrays, poses of frames.")
    text += DOORS + DERIVATIVES
    for f in FUNCTIONS.values():
        keywords = ["*", *(["frame: str", *choices(f)] if f.frame else []), "batch: int | None = None"]
        rows = [f'self, function: Literal["{f.name}"],', 'algorithm: AlgorithmLike = "auto", ']
        rows[1] += 'dtype: FloatType = "float64",'
        rows += [f"{', '.join(keywords)},"]
        body = "\n".join(f"        {row}" for row in rows)
        text += f"    @overload\n    def kernel(\n{body}\n    ) -> kernels.{camel(f.name)}Kernel: ...\n\n"
    return text + KERNEL


DOORS = '''from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, overload

from ..typing import AlgorithmLike, Array, ArrayLike, Axes, Backend, External, FloatType

if TYPE_CHECKING:
    from ..backends.jax.functions import JaxFunctions
    from ..backends.native import kernels
    from ..backends.native.kernel import Kernel


class Doors:
    """What a robot hands out; `methods` gives it its code."""

    @property
    def jax(self) -> JaxFunctions:
        """Pure functions of JAX arrays, safe under `jit`, `vmap`, `grad` and `jvp`."""

    def frame_poses(
        self, q: ArrayLike, frames: Iterable[str],
        *, out: Array | None = None, backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Poses (…, k, 4, 4) of several frames in the base frame of the file.

        - `q` (…, nq): positions.
        - `frames`: names of links of the file, such as `robot.frame_names`; poses come in their order.

        Any batch shape. `out` takes the result, an array of its shape; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

'''
DERIVATIVES = '''    def jvp(
        self, function: str, inputs: Sequence[ArrayLike], tangents: Sequence[ArrayLike],
        *, frame: str | None = None, axes: Axes | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The derivative of a function's result along tangents of its inputs.

        `inputs` are those of the method of that name. `tangents` has one for each, all of shape (…, nv): that
        of q is in the tangent space, along `robot.integrate(q, dq)`.

        Any batch shape. `out` takes the result, an array of its shape; `algorithm` is one of
        `px.algorithms(function)`, whose text is differentiated; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def vjp(
        self, function: str, inputs: Sequence[ArrayLike], cotangent: ArrayLike,
        *, frame: str | None = None, axes: Axes | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> tuple[Array, ...]:
        """The derivatives (…, nv) of a function's result times a cotangent with respect to each input.

        `inputs` are those of the method of that name, `cotangent` has the shape of its result. The derivative
        with respect to q is in the tangent space, along `robot.integrate(q, dq)`. What else as in `jvp`.
        """

    def hvp(
        self, function: str, inputs: Sequence[ArrayLike], cotangent: ArrayLike,
        tangents: Sequence[ArrayLike],
        *, frame: str | None = None, axes: Axes | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> tuple[Array, ...]:
        """The derivative of `vjp(function, inputs, cotangent)` along tangents of the inputs.

        With cotangent c and tangents t it is the second derivative of c . f times t, as differential dynamic
        programming asks for it; tuple by tuple the shapes are those of `vjp` and `jvp`.
        """

'''
KERNEL = '''    @overload
    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        frame: str | None = None, axes: Axes | None = None, batch: int | None = None,
    ) -> Kernel: ...

    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        frame: str | None = None, axes: Axes | None = None, batch: int | None = None,
    ) -> Kernel:
        """The function of that name compiled now; call it like the method, with the same inputs.

        `algorithm` is one of `px.algorithms(function)`; `dtype` is "float64" or "float32". Functions of a
        frame are told which one by `frame`, the name of a link of the file; all frames of a robot share
        their machine code. `axes` is that of `jacobian`. A kernel has one algorithm, by default the one that
        "auto" takes for many states; `batch=1` asks for the one that it takes for a single state, which is
        another for long chains.
        """
'''


def native_kernels() -> str:
    """`backends/native/kernels.py`: the class of kernels of each function."""
    text = HEAD.format(role="The kernels of each registered function: how to call and how to bind them.")
    text += "from ...robot import results\nfrom ...typing import Array, ArrayLike, Bound, External\n"
    text += "from .kernel import Kernel\n"
    for f in FUNCTIONS.values():
        call = [*(typed(n) for n in f.inputs), "*", *optional(f, named=False), *optional(f, named=True)]
        call += [f"out: {places(f)} | None = None", "threads: int | None = None"]
        told = f"{BATCH} {filled(f)}; {THREADS}."
        bound = [*(f"{n}: Array" for n in f.inputs), "*", f"out: {places(f)}"]
        bound += [f"{n}: Array | None = None" for n in f.optional]
        whose = f"A step() that recomputes `out` {shapes(f)} from these very arrays."
        how = "For control loops: fill the inputs in place, call, read `out` in place."
        run = f"return self._bound({together(f.inputs)}, {{{pairs(f.optional)}}}, out)"
        text += f'\n\nclass {camel(f.name)}Kernel(Kernel):\n    """`{f.name}` of one robot, compiled."""\n\n'
        text += method("__call__", call, result(f), [summary(f), *inputs(f), told]) + "\n"
        text += method("bind", bound, "Bound", [whose, how], run)
    return text


def jax_signatures() -> str:
    """`backends/jax/signatures.py`: the functions of a robot on JAX."""
    text = HEAD.format(role="`robot.jax`: one method for each registered function.")
    text += "from collections.abc import Mapping\nfrom typing import TYPE_CHECKING, Any\n\n"
    text += "from ...robot import results\n"
    text += "from ...typing import AlgorithmLike, ArrayLike, Axes, External, Schedule\n\n"
    text += JAX.format(name="JaxSignatures", whose="JaxFunctions")
    text += "    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...\n"
    for f in FUNCTIONS.values():
        keywords = ['algorithm: AlgorithmLike = "auto"', 'schedule: Schedule = "sequential"']
        keywords += ["parameters: Mapping[str, ArrayLike] | None = None"]
        told = (
            f'Any batch shape. {algorithm(f)}; `schedule` is "sequential" or "doubling" (logarithmic depth); '
        )
        told += "`parameters` from `robot.jax.parameters()` replace the robot's own."
        given = [f'"{f.name}"', f"{{{pairs((*f.inputs, *f.optional))}}}", *["frame=frame"] * f.frame]
        given += [f"choices={{{pairs(f.choices)}}}"] if f.choices else []
        given += ["algorithm=algorithm", "schedule=schedule", "parameters=parameters"]
        parameters = [
            *required(f),
            *optional(f, named=False),
            "*",
            *optional(f, named=True),
            *choices(f),
            *keywords,
        ]
        paragraphs = [summary(f), *details(f), *inputs(f), told]
        text += "\n" + method(
            f.name, parameters, result(f), paragraphs, f"return self.evaluate({', '.join(given)})"
        )
    return text


def jax_native_signatures() -> str:
    """`backends/jax/native_signatures.py`: the functions of a robot by native kernels under JAX."""
    text = HEAD.format(role="`robot.jax.native`: one method for each registered function without a frame.")
    text += "from typing import TYPE_CHECKING, Any\n\nfrom ...typing import ArrayLike\n\n"
    text += JAX.format(name="NativeSignatures", whose="NativeFunctions")
    text += "    def evaluate(self, function: str, inputs: tuple[Any, ...]) -> Any: ...\n"
    for f in FUNCTIONS.values():
        if not f.frame and len(f.outputs) == 1:
            told = [summary(f), *inputs(f)[: len(f.inputs)], "By the native kernel. Any batch shape."]
            run = f'return self.evaluate("{f.name}", {together(f.inputs)})'
            text += "\n" + method(f.name, required(f), "Array", told, run)
    return text


JAX = '''if TYPE_CHECKING:
    from jax import Array


class {name}:
    """The methods of `{whose}`, whose `evaluate` does the work."""

'''
FILES = {
    "robot/results.py": robot_results,
    "robot/functions.py": robot_functions,
    "robot/doors.py": robot_doors,
    "backends/native/kernels.py": native_kernels,
    "backends/jax/signatures.py": jax_signatures,
    "backends/jax/native_signatures.py": jax_native_signatures,
}

# ------------------------------------------------------------------------------------------ pieces


def summary(f: Function) -> str:
    """What a function returns, with its shape: the first line of its first algorithm."""
    return _paragraphs(f)[0]


def details(f: Function) -> list[str]:
    """What more there is to say of functions of a frame."""
    return _paragraphs(f)[1:] if f.frame else []


def _paragraphs(f: Function) -> list[str]:
    first = next(iter(ALGORITHMS[f.name].values()))
    summary, *others = cleandoc(first.run.__doc__ or "").split("\n", 1)
    return [summary, *(" ".join(part.split()) for part in "".join(others).split("\n\n") if part.strip())]


def inputs(f: Function) -> list[str]:
    """Of each input, optional ones last, its name, shape and meaning."""
    return [f"`{n}` ({shape(s)}): {INPUTS[n]}." for n, s in (f.inputs | f.optional).items()]


def result(f: Function) -> str:
    """The type of what a function gives."""
    return "Array" if len(f.outputs) == 1 else f"results.{camel(f.name)}[Array]"


def places(f: Function) -> str:
    """The type of what takes it."""
    return "Array" if len(f.outputs) == 1 else f"tuple[{', '.join(['Array'] * len(f.outputs))}]"


def filled(f: Function) -> str:
    """What `out` takes."""
    if len(f.outputs) == 1:
        return "`out` takes the result, an array of its shape"
    return f"`out` takes the results, {len(f.outputs)} arrays of their shapes"


def shapes(f: Function) -> str:
    """The shapes of all results."""
    return ", ".join(f"({shape(sizes)})" for sizes in f.outputs.values())


def shape(symbols: Iterable[str]) -> str:
    return ", ".join(["…", *(SIZES.get(s, s) for s in symbols)])


def algorithm(f: Function) -> str:
    """Which algorithms there are."""
    names = list(ALGORITHMS[f.name])
    return f'`algorithm` is one of `px.algorithms("{f.name}")`' + f" ({', '.join(names)})" * (len(names) > 1)


def typed(name: str) -> str:
    return f"{name}: {TYPES.get(name, 'ArrayLike')}"


def required(f: Function) -> list[str]:
    return [typed(n) for n in f.inputs] + ["frame: str"] * f.frame


def optional(f: Function, *, named: bool) -> list[str]:
    """Optional inputs that are given by name only, or the others."""
    return [f"{typed(n)} | None = None" for n in f.optional if (n in NAMED) == named]


def choices(f: Function) -> list[str]:
    return [f'{n}: {camel(n)} = "{known[0]}"' for n, known in f.choices.items()]


def pairs(names: Iterable[str]) -> str:
    """The content of a dictionary from names to variables."""
    return ", ".join(f'"{name}": {name}' for name in names)


def together(names: Iterable[str]) -> str:
    """A tuple of variables."""
    names = list(names)
    return f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def method(name: str, parameters: list[str], result: str, told: list[str], run: str = "") -> str:
    """A method with its docstring, whose first line is the first of `told`."""
    head = [f"    def {name}({', '.join(['self', *parameters])}) -> {result}:"]
    if len(head[0]) > WIDTH:
        head = [f"    def {name}(", *_rows(["self", *parameters], 8), f"    ) -> {result}:"]
    return "\n".join([*head, *docstring(told), *(statement(run) if run else [])]) + "\n"


def docstring(told: list[str]) -> list[str]:
    """Paragraphs; inputs make a list."""
    margin = " " * 8
    lines = [f'{margin}"""{told[0]}']
    was_input = False
    for text in told[1:]:
        is_input = re.match(r"`\w+` \(…", text) is not None
        lines += [] if is_input and was_input else [""]
        first, other = (f"{margin}- ", f"{margin}  ") if is_input else (margin, margin)
        lines += wrap(text, WIDTH, initial_indent=first, subsequent_indent=other)
        was_input = is_input
    return [*lines, f'{margin}"""']


def statement(text: str) -> list[str]:
    """A call as a statement, broken behind commas where it is too long."""
    if len(text) + 8 <= WIDTH:
        return [f"        {text}"]
    head, _, inside = text.removesuffix(")").partition("(")
    return [f"        {head}(", *_rows(inside.split(", "), 12), "        )"]


def _rows(parts: Iterable[str], indent: int) -> list[str]:
    """Parts with commas behind them in as few rows as will do; keyword-only ones begin another."""
    rows = [""]
    for part in parts:
        if part == "*" or len(rows[-1]) + len(part) + 2 > WIDTH - indent:
            rows.append("")
        rows[-1] += f" {part}," if rows[-1] else f"{part},"
    return [" " * indent + row for row in rows]


def texts() -> Mapping[Path, str]:
    """What the files shall say."""
    return {SOURCE / name: make() for name, make in FILES.items()}


if __name__ == "__main__":
    for file, content in texts().items():
        file.write_text(content, encoding="utf-8")
