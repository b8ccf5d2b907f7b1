# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Write the declarations that editors and type checkers read, from the registered functions.

    python tools/make_surface.py  # after a change of algorithms/registry.py

The files can be read like any other but are never edited: `tests/test_surface.py` compares them. What `help`
shows comes from the same source, by `backends/signatures.py`, at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from textwrap import wrap
from types import ModuleType

SOURCE = Path(__file__).parents[1] / "src" / "phalanx"
if "phalanx" not in sys.modules:  # the registry alone: methods of new functions are not declared yet
    package = ModuleType("phalanx")
    package.__path__ = [str(SOURCE)]
    sys.modules["phalanx"] = package

from phalanx.algorithms import ALIASES, FUNCTIONS, Function  # noqa: E402
from phalanx.algorithms.registry import VALUE, with_value  # noqa: E402
from phalanx.backends.signatures import JAX, ROBOT, Parameters, camel, outs, shape, summary  # noqa: E402
from phalanx.robot.constrained import CONSTRAINED  # noqa: E402
from phalanx.simulation.integrators import DEFAULT, INTEGRATORS  # noqa: E402

WIDTH = 110
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
    text = HEAD.format(role="The results of functions that have several: named tuples.")
    text += 'from typing import Generic, NamedTuple, TypeVar\n\nA = TypeVar("A")\n'
    several = [f for f in FUNCTIONS.values() if len(f.outputs) > 1]
    for f in [*several, *(with_value(f.name) for f in several if f.value)]:
        rows = [f"    {name}: A  # ({shape(sizes)})" for name, sizes in f.outputs.items()]
        of, _, value = f.name.partition(".")
        described = f'    """The results of `{of}`{" with its value" * bool(value)}."""'
        text += "\n".join(
            ["", "", f"class {camel(f.name)}(NamedTuple, Generic[A]):", described, "", *rows, ""]
        )
    return text


def robot_functions() -> str:
    """`robot/functions.py`: the methods of a robot that compute."""
    text = HEAD.format(role="What a robot computes: one method for each registered function.")
    text += "from typing import Literal, overload\n\n"
    text += "from ..typing import AlgorithmLike, Array, ArrayLike, Backend, External, Frames, Reference\n"
    text += "from . import results\n\n\nclass Functions:\n"
    text += '    """The methods of `Robot` that compute; `methods` gives them their code and docstrings."""\n'
    text += "".join(robot_method(f) for f in FUNCTIONS.values())
    return text + "".join(f"\n    {alias} = {name}" for alias, name in ALIASES.items()) + "\n"


def robot_method(f: Function) -> str:
    parameters = Parameters(f, ROBOT)
    rows = declarations(parameters)
    text = ""
    if f.value:
        for kind, of in (("Literal[False] = False", f), ("Literal[True]", with_value(f.name))):
            types = {"value": f"value: {kind}", "out": f"out: {outs(of)} | None = None"}
            own = [types.get(row.partition(":")[0], row) for row in rows]
            text += "\n    @overload\n" + method(f.name, own, f"results.{camel(of.name)}[Array]")
    return text + "\n" + method(f.name, rows, parameters.result, summary(f))


def array_functions() -> str:
    """`backends/array_functions.py`: the functions of a robot on arrays of other libraries."""
    text = HEAD.format(role="`robot.jax` and `robot.torch`: one method for each registered function.")
    text += "from collections.abc import Mapping\nfrom typing import Generic, TypeVar, Unpack\n\n"
    text += "from ..robot import results\nfrom ..typing import ArrayOptions, Reference\n\n"
    text += 'X = TypeVar("X")  # arrays that are given\nA = TypeVar("A")  # arrays that are returned\n\n\n'
    text += "class ArrayFunctions(Generic[X, A]):\n"
    text += (
        '    """The methods of `JaxFunctions` and `TorchFunctions`, where they get code and docstrings."""\n'
    )
    for f in FUNCTIONS.values():
        parameters = Parameters(f, JAX)
        types = {"external": "external: X | Mapping[str, X] | None = None"}
        rows = [row for row in declarations(parameters) if row.partition(":")[0] not in JAX.options]
        rows = [types.get(row.partition(":")[0], row.replace("ArrayLike", "X")) for row in rows]
        rows = (rows[:-1] if rows[-1] == "*" else rows) + ["**options: Unpack[ArrayOptions]"]
        text += "\n" + method(f.name, rows, parameters.result.replace("Array", "A"), summary(f))
    return text


def robot_api() -> str:
    """`robot/api.py`: kernels, simulations, exports, derivatives, functions of other arrays."""
    text = HEAD.format(
        role="What a robot makes: kernels, simulations, exports, derivatives, functions of other arrays."
    )
    text += (
        IMPORTS
        + one_result()
        + API_HEAD
        + FUNCTION
        + INVERSE_KINEMATICS
        + simulation()
        + EXPORT
        + DERIVATIVES
    )
    for f in FUNCTIONS.values():
        if len(f.outputs) > 1:
            text += kernel_overload(f, ["value: Literal[False] = False"] * bool(f.value), f.name)
            text += kernel_overload(f, ["value: Literal[True]"], f.name + VALUE) if f.value else ""
    return text + KERNEL


def one_result() -> str:
    """The type of the names of functions with one result."""
    names = [f'"{f.name}"' for f in FUNCTIONS.values() if len(f.outputs) == 1]
    constrained = [f'"{name}"' for name in CONSTRAINED]
    text = "\n".join(["_OneResult: TypeAlias = Literal[", *_rows(names, 4), "]\n"])
    return text + "\n".join(["_Constrained: TypeAlias = Literal[", *_rows(constrained, 4), "]\n\n\n"])


def simulation() -> str:
    """The declaration of `simulation`, with all integrators."""
    described = [f'"{i.name}" ({i.summary})' for i in INTEGRATORS.values()]
    line = f"- `integrator`: {', '.join(described[:-1])} or {described[-1]}."
    lines = wrap(line, 110, initial_indent=" " * 8, subsequent_indent=" " * 10)
    names = ", ".join(f'"{name}"' for name in INTEGRATORS)
    given = {"NAMES": names, "DEFAULT": DEFAULT, "INTEGRATORS": "\n".join(lines)}
    return Template(SIMULATION).substitute(given)


def kernel_overload(f: Function, value: list[str], made: str) -> str:
    rows = [f'self, function: Literal["{f.name}"],', 'algorithm: AlgorithmLike = "auto", ']
    rows[1] += 'dtype: FloatType = "float64",'
    rows += [f"{', '.join(['*', 'batch: int | None = None', *value])},"]
    body = "\n".join(f"        {row}" for row in rows)
    result = f"FunctionKernel[results.{camel(made)}[Array]]"
    return f"    @overload\n    def kernel(\n{body}\n    ) -> {result}: ...\n\n"


IMPORTS = """from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from numpy.random import Generator

from ..typing import AlgorithmLike, Array, ArrayLike, Backend, Device, External, FloatType, Path, Reference
from . import results
from .constrained import Contacts

if TYPE_CHECKING:
    from ..backends.devices.base import DeviceKernel
    from ..backends.jax.functions import JaxFunctions
    from ..backends.native.kernel import FunctionKernel, Kernel
    from ..backends.torch.functions import TorchFunctions
    from ..inverse_kinematics.reach import Reachability
    from ..inverse_kinematics.solve import Solutions
    from ..simulation.simulation import Simulation
    from ..tracing.function import OwnFunction

"""
API_HEAD = '''class EntryPoints:
    """Properties and methods of `Robot` that lead to other packages; `methods` attaches their code."""

    @property
    def jax(self) -> JaxFunctions:
        """Pure functions of JAX arrays, safe under `jit`, `vmap`, `grad` and `jvp`."""

    @property
    def torch(self) -> TorchFunctions:
        """Functions of PyTorch's tensors on the CPU by compiled kernels, with gradients."""

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
FUNCTION = '''    def function(
        self, f: Callable[..., Any] | str, /, **sizes: int | tuple[int, ...] | str,
    ) -> OwnFunction:
        """A function of your own, compiled: NumPy on arrays and the robot's own functions, with derivatives.

        - `f`: a Python function such as `f(q, qd, target, robot, *, stiffness)` that returns an array, or
          arrays in dicts, tuples and lists. It is traced now: what cannot be is refused with your line.
          Or "integrate", "difference" or "normalize": those of the robot, with derivatives along rates.
        - `sizes`: the size of each argument, a number of entries, a shape, or the name of what it is like, as
          in `goal="q"`. `t`, `q`, `qd`, `qdd`, `tau` and `u` (nv) are known by name, and so are `gravity`,
          `inertias` and `armature`, which replace the robot's own; an argument with a default is a constant.

        What it returns is called as `f` is, without the robot, on any batch shape; see `OwnFunction`.
        """

'''
INVERSE_KINEMATICS = '''    def inverse_kinematics(
        self, targets: Mapping[str, Any], q0: ArrayLike | None = None,
        *, tolerance: float = 1e-6, seeds: int = 32, rng: int | Generator = 0, limits: bool = True,
        rest: ArrayLike | None = None, weights: Mapping[str, float | tuple[float, float]] | None = None,
        position_only: bool = False, iterations: int = 100, threads: int | None = None,
        cost: Callable[..., Any] | None = None, all: bool = False,
        collisions: bool | Sequence[Any] | None = None, clearance: float = 0.0,
    ) -> Solutions:
        """Configurations whose frames reach their targets: `s.q` (…, nq), `s.converged`, `s.error`.

        - `targets`: poses (…, 4, 4) or positions (…, 3) in the base by the names of frames, and of
          "center_of_mass"; or what `px.target` makes, also several of a frame in a list.
        - `q0` (…, nq): where to start; the solution is near it if there is one. Without it, starts are the
          same for all targets.
        - `tolerance` [rad and m]: that of each turn and distance. `seeds`: tries, each from another start in
          the limits, `iterations`: the most that one takes. `rng`: a seed or a generator, for other starts.
        - `limits`: whether q stays in `robot.limits`, to the last bit.
        - `rest` (…, nq): of the solutions that are connected, that nearest to a posture; `cost`: a function
          `cost(q, robot)` in NumPy that is to be small instead.
        - `weights`: of a target, or of its turns and of its distances, where not all can be reached. What has
          weight zero is free.
        - `position_only`: of poses, whether orientations are free.
        - `all`: whether `s.all` (…, m, nq) shall be the distinct solutions that the tries find, then NaN.
        - `collisions`: pairs of bodies as `robot.distances` takes them, True for the capsules around all
          visuals; solutions keep them more than `clearance` [m] apart.

        Loops of the robot (`robot.constraints`) are closed within the tolerance; their errors follow those of
        the targets in `error`.

        Targets and q0 may be batches of any shape, float64 or float32. What is not reached has `converged`
        False, the nearest configuration found and its error; `iterations` are those of all tries. A result
        depends on its own target and start alone, to the last bit.
        """

    def track(
        self, targets: Mapping[str, Any], q0: ArrayLike,
        *, dt: float | None = None, tolerance: float = 1e-6, limits: bool = True,
        weights: Mapping[str, float | tuple[float, float]] | None = None, position_only: bool = False,
        iterations: int = 100, threads: int | None = None,
    ) -> Solutions:
        """Configurations that follow paths of targets: `s.q` (…, T, nq), each from the one before.

        - `targets`: as those of `inverse_kinematics`, with an axis of T moments: poses (…, T, 4, 4).
        - `q0` (…, nq): where it starts, before the first moment.
        - `dt`: seconds between moments; then no joint moves faster than its velocity limit, and where that is
          too slow, `s.converged` is False and q the nearest configuration in reach.

        The other options are those of `inverse_kinematics`; there is one try for each moment.
        """

    def reachable(
        self, frame: str, grid: ArrayLike | tuple[ArrayLike, ArrayLike, ArrayLike],
        *, seeds: int = 16, tolerance: float = 1e-6, **options: Any,
    ) -> Reachability:
        """Which points or poses a frame reaches: `reached` (…), `manipulability` (…), `q` (…, nq).

        - `grid`: points (…, 3) or poses (…, 4, 4) in the base, or three axes (x, y, z) that span points; an
          axis may be a number, as in `(x, 0.0, z)` for a cut.
        - `seeds`: starts that are tried for each; of the solutions, that of the largest manipulability is
          taken: the volume of the ellipsoid of velocities, in the directions that the frame moves in.
        - `options` are others of `inverse_kinematics`, such as `limits`, `collisions` and `clearance`.

        `px.figures.reachability` draws a cut.
        """

    def inverse_kinematics_derivatives(
        self, q: ArrayLike, targets: Mapping[str, Any],
        *, limits: bool = True, position_only: bool = False, threads: int | None = None,
    ) -> dict[str, Array]:
        """How solutions change with their targets, by the implicit function theorem: an array for each name.

        - `q` (…, nq): solutions for the `targets`, as `inverse_kinematics` finds them.

        Of a pose (…, nv, 6): rates of q for a motion [angular; linear] of the target along the axes of the
        base; of others (…, nv, 3), for a change of their numbers. Of all rates that follow the targets, those
        of least length; coordinates at a limit stay, unless `limits` is False.
        """

'''
SIMULATION = '''    def simulation(
        self, dt: float = 1e-3,
        *, integrator: Literal[$NAMES] = "$DEFAULT",
        control: Callable[..., Any] | None = None, controls: int | None = None, forces: Any = None,
        damping: bool = True, friction: bool | Literal["rigid"] = True,
        limits: bool | Literal["rigid"] = True, springs: bool = True, constraints: bool = True,
        parameters: Mapping[str, int | tuple[int, ...]] | Iterable[str] | None = None,
        dtype: FloatType = "float64", divergence: float = 1e10,
    ) -> Simulation:
        """A simulation in steps of `dt` seconds: whole rollouts inside one compiled loop over time.

$INTEGRATORS
        - `control`: a law `f(t, q, qd, u, robot)` that returns joint forces (nv,), written with NumPy's own
          functions, or one of `px.control`; without one, controls are the joint forces.
        - `controls`: how many numbers the law is given as u (by default nv, or what the law says).
        - `forces`: a function `f(t, q, qd, u, robot)` that returns wrenches on frames, {"frame": (6,)}, one
          of `px.contact`, or a list of these.
        - `damping`, `friction`, `limits`, `springs`: whether what the file says of joints is applied. With
          "rigid" friction sticks, or joints stop at limits, exactly: the solver of rigid contacts holds both.
        - `constraints`: whether `robot.constraints` are held, closed to rounding after each step.
        - `parameters`: sizes, by name, of what may differ from simulation to simulation: "gravity",
          "inertias", "armature", "damping", "friction" and "stiffness" replace the robot's own, "effort"
          bounds the joint forces of the law, others are keywords of the law and of forces.
        - `divergence`: rates and accelerations beyond it count as diverged.
        """

'''
EXPORT = '''    def export(
        self, path: Path, functions: Any = None,
        *, dtype: FloatType = "float64", target: str | None = None, **options: Any,
    ) -> list[Path]:
        """Write functions of this robot as code for other programs and machines; returns the files written.

        - `path`: its suffix tells the language: .h or .c (C99), .cl (OpenCL C), .cu or .cuh (CUDA), .ptx,
          .ll or .o (LLVM's own output for `target`), .wasm, .v (pipelines in Verilog).
        - `functions`: names such as "inverse_dynamics", "vjp:forward_dynamics", "jacobian:FRAME",
          "forward_dynamics+external", "inverse_kinematics:FRAME"; kernels; what `robot.function` returns, and
          derivatives of it; simulations, of which it is the step; or a mapping from the names they shall
          have to any of these.
          Default: "inverse_dynamics" and, but for .v, "forward_dynamics".
        - `target`: a processor such as "cortex-m4" or "aarch64" (.ll, .o), an architecture such as "sm_80",
          the FPGA whose cells Yosys shall count for .v: "xilinx", "ecp5" or "generic".
        - `dtype`: "float64" or "float32"; of .v "float32" alone has an effect: floating, not fixed point.
        - `options` of single languages, such as `accuracy`, `word`, `interval` and `bounds` of .v.

        Files appear under their names only when they are complete.
        """

'''
DERIVATIVES = '''    def jvp(
        self, function: str, primals: Sequence[ArrayLike], tangents: Sequence[ArrayLike],
        *, frame: str | None = None, reference: Reference | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The derivative of a function's result along tangents of its inputs.

        `primals` are the inputs of the method of that name. `tangents` has one for each, all (…, nv): that
        of q is in the tangent space, along `robot.integrate(q, dq)`.

        Any batch shape. `out` takes the result, an array of its shape; `algorithm` is one of
        `px.algorithms(function)`, whose text is differentiated; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def vjp(
        self, function: str, primals: Sequence[ArrayLike], cotangent: ArrayLike,
        *, frame: str | None = None, reference: Reference | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> tuple[Array, ...]:
        """The derivatives (…, nv) of a function's result times a cotangent with respect to each input.

        `primals` are the inputs of the method of that name, `cotangent` has the shape of its result. The
        derivative with respect to q is in the tangent space, along `robot.integrate(q, dq)`. The keywords
        are those of `jvp`.
        """

    def hvp(
        self, function: str, primals: Sequence[ArrayLike], cotangent: ArrayLike,
        tangents: Sequence[ArrayLike],
        *, frame: str | None = None, reference: Reference | None = None, external: External | None = None,
        inertias: ArrayLike | None = None, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> tuple[Array, ...]:
        """The derivative of `vjp(function, primals, cotangent)` along tangents of the primals.

        With cotangent c and tangents t it is the second derivative of c . f times t, as differential dynamic
        programming asks for it; tuple by tuple the shapes are those of `vjp` and `jvp`.
        """

'''
KERNEL = '''    @overload
    def kernel(
        self, function: _OneResult, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Literal["cpu"] = "cpu",
    ) -> FunctionKernel[Array]: ...

    @overload
    def kernel(  # type: ignore[overload-overlap]
        self, function: _Constrained, algorithm: Literal["auto"] = "auto", dtype: FloatType = "float64",
        *, contacts: Contacts = (),
    ) -> OwnFunction: ...

    @overload
    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Literal["cpu"] = "cpu", value: bool = False,
    ) -> Kernel: ...

    @overload
    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Literal["opencl", "cuda"], value: bool = False, group: int | None = None,
        memory: Literal["auto", "local", "global"] = "auto",
    ) -> DeviceKernel: ...

    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Device = "cpu", value: bool = False, group: int | None = None,
        memory: Literal["auto", "local", "global"] = "auto", contacts: Contacts = (),
    ) -> Any:
        """The function of that name compiled now; call it like the method, with the same inputs.

        `algorithm` is one of `px.algorithms(function)`; `dtype` is "float64" or "float32". Functions of a
        frame are told which one by `frame`, the name of a link of the file; all frames of a robot share
        their machine code. `reference` is that of `jacobian`. A kernel has one algorithm, by default the one
        that "auto" takes for many states; `batch=1` asks for the one that it takes for a single state, which
        is another for long chains. `device` is "cpu", "opencl" or "cuda": kernels of the latter two take
        arrays on the device, or NumPy's, which are copied there and back. With `value`, kernels of
        derivatives also give what they are the derivatives of, as the methods do.

        On "opencl" and "cuda" each work-item, or thread, has a state of its own. With `group`, that many
        share the links of one state of a chain; `memory` says where their scratch memory is: in local
        (shared) memory as far as that goes ("auto"), only there ("local"), or in global memory.

        Functions under constraints, such as "constrained_dynamics", take `contacts`: each kernel is an
        `OwnFunction`.
        """
'''


# ------------------------------------------------------------------------------------------- methods


def declarations(parameters: Parameters) -> list[str]:
    """Parameters as they are written, `*` before those that are given by name only."""
    rows = list[str]()
    for p in list(parameters.signature.parameters.values())[1:]:
        if p.kind is p.KEYWORD_ONLY and "*" not in rows:
            rows.append("*")
        default = (
            ""
            if p.default is p.empty
            else f' = "{p.default}"'
            if isinstance(p.default, str)
            else f" = {p.default}"
        )
        rows.append(f"{p.name}: {p.annotation}{default}")
    return rows


def method(name: str, parameters: list[str], result: str, summary: str = "") -> str:
    """A method with its docstring; without, one of its overloads."""
    head = [f"    def {name}({', '.join(['self', *parameters])}) -> {result}:"]
    if len(head[0]) > WIDTH:
        head = [f"    def {name}(", *_rows(["self", *parameters], 8), f"    ) -> {result}:"]
    if not summary:
        return "\n".join(head) + " ...\n"
    line = f'        """{summary}"""'
    return "\n".join([*head, line if len(line) <= WIDTH else f'{line[:-3]}\n        """']) + "\n"


def _rows(parts: Iterable[str], indent: int) -> list[str]:
    """Parts with commas behind them in as few rows as will do; keyword-only ones begin another."""
    rows = [""]
    for part in parts:
        if part == "*" or len(rows[-1]) + len(part) + 2 > WIDTH - indent:
            rows.append("")
        rows[-1] += f" {part}," if rows[-1] else f"{part},"
    return [" " * indent + row for row in rows]


FILES = {
    "robot/results.py": robot_results,
    "robot/functions.py": robot_functions,
    "robot/api.py": robot_api,
    "backends/array_functions.py": array_functions,
}


def texts() -> Mapping[Path, str]:
    """The content of each file."""
    return {SOURCE / name: make() for name, make in FILES.items()}


if __name__ == "__main__":
    for file, content in texts().items():
        file.write_text(content, encoding="utf-8")
