# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Write the signatures that editors, type checkers and `help` show, from the registered functions.

    python tools/make_surface.py  # after a change of algorithms/registry.py

The files can be read like any other but are never edited: `tests/test_surface.py` compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from textwrap import wrap

from wording import (
    FUNCTIONS,
    SOURCE,
    Function,
    algorithm,
    camel,
    choices,
    details,
    family,
    filled,
    inputs,
    method,
    optional,
    pairs,
    parameters,
    places,
    required,
    result,
    shape,
    shapes,
    summary,
    together,
    typed,
    with_value,
)

from phalanx.simulation.integrators import DEFAULT, INTEGRATORS

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
    several = [f for f in FUNCTIONS.values() if len(f.outputs) > 1]
    for f in [*several, *(with_value(f.name) for f in several if f.value)]:
        rows = [f"    {name}: A  # ({shape(sizes)})" for name, sizes in f.outputs.items()]
        of, _, value = f.name.partition(".")
        told = f'    """The results of `{of}`{" with its value" * bool(value)}."""'
        text += "\n".join(["", "", f"class {camel(f.name)}(NamedTuple, Generic[A]):", told, "", *rows, ""])
    return text


def robot_functions() -> str:
    """`robot/functions.py`: the methods of a robot that compute."""
    text = HEAD.format(role="What a robot computes: one method for each registered function.")
    text += "from typing import Literal, overload\n\n"
    text += "from ..typing import AlgorithmLike, Array, ArrayLike, Backend, External, Reference\n"
    text += "from . import results\nfrom .motion import Motion\n\n\nclass Functions(Motion):\n"
    text += '    """The methods of `Robot` that compute; `methods` gives them their code."""\n'
    text += "".join(robot_method(f) for f in family("dynamics"))
    return text + "".join(f"\n    {alias} = {name}" for alias, name in ALIASES.items()) + "\n"


def robot_motion() -> str:
    """`robot/motion.py`: those of them that tell where and how fast links move."""
    text = HEAD.format(
        role="How a robot moves: one method for each registered function of places and speeds."
    )
    text += "from ..typing import AlgorithmLike, Array, ArrayLike, Backend, Reference\n\n\nclass Motion:\n"
    text += '    """Methods of `Robot`, as `Functions`."""\n'
    return text + "".join(robot_method(f) for f in family("motion"))


def robot_method(f: Function) -> str:
    keywords = [f"out: {places(f)} | None = None", 'algorithm: AlgorithmLike = "auto"']
    keywords += ['backend: Backend = "auto"', "threads: int | None = None"]
    told = f"{BATCH} {filled(f)}; {algorithm(f)}; "
    told += f'`backend` is "auto", "native", "numpy" or "jax"; {THREADS}.'
    described = [summary(f), *details(f), *inputs(f), told]
    if not f.value:
        return "\n" + method(f.name, parameters(f, *keywords), result(f), described)
    more = with_value(f.name)
    described[-1] += f" With `value` also `{f.value}`, of the same pass."
    text = ""
    for kind, of in (("Literal[False] = False", f), ("Literal[True]", more)):
        keywords[0] = f"out: {places(of)} | None = None"
        text += "\n    @overload\n" + method(
            f.name, parameters(f, f"value: {kind}", *keywords), result(of), None
        )
    keywords[0] = "out: tuple[Array, ...] | None = None"
    either = f"{result(f)} | {result(more)}"
    return text + "\n" + method(f.name, parameters(f, "value: bool = False", *keywords), either, described)


def robot_api() -> str:
    """`robot/api.py`: kernels, JAX, and several frames at once."""
    text = HEAD.format(role="What a robot hands out: kernels, functions of JAX arrays, poses of frames.")
    text += API_HEAD + simulation() + EXPORT + DERIVATIVES
    for f in FUNCTIONS.values():
        keywords = ["*", *(["frame: str", *choices(f)] if f.frame else []), "batch: int | None = None"]
        text += kernel_overload(f, keywords + ["value: Literal[False] = False"] * bool(f.value), f)
        text += kernel_overload(f, [*keywords, "value: Literal[True]"], with_value(f.name)) if f.value else ""
    return text + KERNEL


def simulation() -> str:
    """The declaration of `simulation`, with the integrators that there are."""
    described = [f'"{i.name}" ({i.summary})' for i in INTEGRATORS.values()]
    told = f"- `integrator`: {', '.join(described[:-1])} or {described[-1]}."
    lines = wrap(told, 110, initial_indent=" " * 8, subsequent_indent=" " * 10)
    names = ", ".join(f'"{name}"' for name in INTEGRATORS)
    given = {"NAMES": names, "DEFAULT": DEFAULT, "INTEGRATORS": "\n".join(lines)}
    return Template(SIMULATION).substitute(given)


def kernel_overload(f: Function, keywords: list[str], made: Function) -> str:
    rows = [f'self, function: Literal["{f.name}"],', 'algorithm: AlgorithmLike = "auto", ']
    rows[1] += 'dtype: FloatType = "float64",'
    rows += [f"{', '.join(keywords)},"]
    body = "\n".join(f"        {row}" for row in rows)
    return f"    @overload\n    def kernel(\n{body}\n    ) -> kernels.{kernel(made)}: ...\n\n"


API_HEAD = '''from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from ..typing import AlgorithmLike, Array, ArrayLike, Backend, Device, External, FloatType, Path, Reference

if TYPE_CHECKING:
    from ..backends.devices.kernel import DeviceKernel
    from ..backends.jax.functions import JaxFunctions
    from ..backends.native import kernels
    from ..backends.native.kernel import Kernel
    from ..backends.torch.functions import TorchFunctions
    from ..simulation.simulation import Simulation


class EntryPoints:
    """What a robot hands out; `methods` gives it its code."""

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
SIMULATION = '''    def simulation(
        self, dt: float = 1e-3,
        *, integrator: Literal[$NAMES] = "$DEFAULT",
        control: Callable[..., Any] | None = None, controls: int | None = None, forces: Any = None,
        damping: bool = True, friction: bool = True, limits: bool = True, springs: bool = True,
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
        - `damping`, `friction`, `limits`, `springs`: whether what the file says of joints is applied.
        - `parameters`: sizes, by name, of what may differ from simulation to simulation: "gravity",
          "inertias", "armature", "damping", "friction" and "stiffness" replace the robot's own, "effort"
          bounds the joint forces of the law, others are keywords of the law and of forces.
        - `divergence`: rates and accelerations beyond it count as diverged.
        """

'''
EXPORT = '''    def export(
        self, path: Path, functions: Any = ("inverse_dynamics", "forward_dynamics"),
        *, dtype: FloatType = "float64", target: str | None = None, **options: Any,
    ) -> list[Path]:
        """Write functions of this robot as code for other programs and machines; the files written.

        - `path`: its suffix tells the language: .h or .c (C99), .cl (OpenCL C), .cu or .cuh (CUDA), .ptx,
          .ll or .o (LLVM's own output for `target`), .wasm.
        - `functions`: names such as "inverse_dynamics", "vjp:forward_dynamics", "jacobian:FRAME",
          "forward_dynamics+external"; kernels; simulations, of which it is the step; or a mapping from the
          names they shall have to any of these.
        - `target`: a processor such as "cortex-m4" or "aarch64" (.ll, .o), an architecture such as "sm_80".

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
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Literal["cpu"] = "cpu", value: bool = False,
    ) -> Kernel: ...

    @overload
    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Literal["opencl", "cuda"], value: bool = False,
    ) -> DeviceKernel: ...

    def kernel(
        self, function: str, algorithm: AlgorithmLike = "auto", dtype: FloatType = "float64",
        *, frame: str | None = None, reference: Reference | None = None, batch: int | None = None,
        device: Device = "cpu", value: bool = False,
    ) -> Any:
        """The function of that name compiled now; call it like the method, with the same inputs.

        `algorithm` is one of `px.algorithms(function)`; `dtype` is "float64" or "float32". Functions of a
        frame are told which one by `frame`, the name of a link of the file; all frames of a robot share
        their machine code. `reference` is that of `jacobian`. A kernel has one algorithm, by default the one
        that "auto" takes for many states; `batch=1` asks for the one that it takes for a single state, which
        is another for long chains. `device` is "cpu", "opencl" or "cuda": kernels of the latter two take
        arrays on the device, or NumPy's, which are copied there and back. With `value`, kernels of
        derivatives also give what they are the derivatives of, as the methods do.
        """
'''


def native_kernels() -> str:
    """`backends/native/kernels.py`: the class of kernels of each function."""
    text = HEAD.format(role="The kernels of each registered function: how to call and how to bind them.")
    text += "from ...robot import results\nfrom ...typing import Array, ArrayLike, Bound, External\n"
    text += "from .kernel import Kernel\nfrom .motion_kernels import *  # noqa: F403\n"
    every = family("dynamics")
    return text + "".join(kernel_class(f) for f in [*every, *(with_value(f.name) for f in every if f.value)])


def motion_kernels() -> str:
    """`backends/native/motion_kernels.py`: those of them that tell where and how fast links move."""
    text = HEAD.format(role="Kernels of functions of places and speeds, as `kernels`.")
    text += "from ...typing import Array, ArrayLike, Bound\nfrom .kernel import Kernel\n"
    return text + "".join(kernel_class(f) for f in family("motion"))


def kernel_class(f: Function) -> str:
    call = [*(typed(n) for n in f.inputs), "*", *optional(f, named=False), *optional(f, named=True)]
    call += [f"out: {places(f)} | None = None", "threads: int | None = None"]
    told = f"{BATCH} {filled(f)}; {THREADS}."
    bound = [*(f"{n}: Array" for n in f.inputs), "*", f"out: {places(f)}"]
    bound += [f"{n}: Array | None = None" for n in f.optional]
    whose = f"A step() that recomputes `out` {shapes(f)} from these very arrays."
    if len(f.outputs) > 3:
        whose = f"A step() that recomputes `out`, {len(f.outputs)} arrays, from these very arrays."
    how = "For control loops: fill the inputs in place, call, read `out` in place."
    run = f"return self._bound({together(f.inputs)}, {{{pairs(f.optional)}}}, out)"
    of, _, value = f.name.partition(".")
    told_of = f"`{of}` of one robot{', with its value' * bool(value)}, compiled."
    text = f'\n\nclass {kernel(f)}(Kernel):\n    """{told_of}"""\n\n'
    text += method("__call__", call, result(f), [summary(f), *inputs(f), told]) + "\n"
    return text + method("bind", bound, "Bound", [whose, how], run)


def kernel(f: Function) -> str:
    return f"{camel(f.name)}Kernel"


def jax_signatures() -> str:
    """`backends/jax/signatures.py`: the functions of a robot on JAX."""
    text = HEAD.format(role="`robot.jax`: one method for each registered function.")
    text += "from collections.abc import Mapping\nfrom typing import TYPE_CHECKING\n\n"
    text += "from ...robot import results\n"
    text += "from ...typing import AlgorithmLike, ArrayLike, Derivatives, External, Reference, Schedule\n"
    text += "from .motion_signatures import MotionSignatures\n\n"
    text += JAX.format(name="JaxSignatures(MotionSignatures)", whose="JaxFunctions").rstrip() + "\n"
    return text + "".join(jax_method(f) for f in family("dynamics"))


def jax_motion_signatures() -> str:
    """`backends/jax/motion_signatures.py`: those of them that tell where and how fast links move."""
    text = HEAD.format(role="`robot.jax`: the functions of places and speeds.")
    text += "from collections.abc import Mapping\nfrom typing import TYPE_CHECKING, Any\n\n"
    text += "from ...typing import AlgorithmLike, ArrayLike, Derivatives, Reference, Schedule\n\n"
    text += JAX.format(name="MotionSignatures", whose="JaxFunctions")
    text += "    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...\n"
    return text + "".join(jax_method(f) for f in family("motion"))


def jax_method(f: Function) -> str:
    keywords = ['algorithm: AlgorithmLike = "auto"', 'schedule: Schedule = "sequential"']
    keywords += ["parameters: Mapping[str, ArrayLike] | None = None", 'derivatives: Derivatives = "auto"']
    told = f'Any batch shape. {algorithm(f)}; `schedule` is "sequential" or "doubling" (logarithmic depth); '
    told += (
        "`parameters` from `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those "
    )
    told += 'of the "analytic" algorithms, of "xla", or by default the first where there are any.'
    given = [f'"{f.name}"', f"{{{pairs((*f.inputs, *f.optional))}}}", *["frame=frame"] * f.frame]
    given += [f"choices={{{pairs(f.choices)}}}"] if f.choices else []
    given += [f"{name}={name}" for name in ("algorithm", "schedule", "parameters", "derivatives")]
    described = [summary(f), *details(f), *inputs(f), told]
    run = f"return self.evaluate({', '.join(given)})"
    return "\n" + method(f.name, parameters(f, *keywords), result(f), described, run)


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


def torch_signatures() -> str:
    """`backends/torch/signatures.py`: the functions of a robot on PyTorch."""
    text = HEAD.format(role="`robot.torch`: one method for each registered function.")
    text += "from collections.abc import Mapping\nfrom typing import TYPE_CHECKING\n\n"
    text += "from ...robot import results\nfrom ...typing import AlgorithmLike, Reference\n"
    text += "from .motion_signatures import MotionSignatures\n\n"
    text += TORCH.format(name="TorchSignatures(MotionSignatures)").rstrip() + "\n"
    return text + "".join(torch_method(f) for f in family("dynamics"))


def torch_motion_signatures() -> str:
    """`backends/torch/motion_signatures.py`: those of them that tell where and how fast links move."""
    text = HEAD.format(role="`robot.torch`: the functions of places and speeds.")
    text += "from typing import TYPE_CHECKING, Any\n\nfrom ...typing import AlgorithmLike, Reference\n\n"
    text += TORCH.format(name="MotionSignatures")
    text += "    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...\n"
    return text + "".join(torch_method(f) for f in family("motion"))


def torch_method(f: Function) -> str:
    keywords = ['algorithm: AlgorithmLike = "auto"', "threads: int | None = None"]
    given = [f'"{f.name}"', f"{{{pairs((*f.inputs, *f.optional))}}}", *["frame=frame"] * f.frame]
    given += [f"choices={{{pairs(f.choices)}}}"] if f.choices else []
    given += ["algorithm=algorithm", "threads=threads"]
    told = f"Tensors on the CPU, any batch shape. {algorithm(f)}; {THREADS}."
    types = {"ArrayLike": "Tensor", "External": "Tensor | Mapping[str, Tensor]"}
    declared = [_with(types, parameter) for parameter in parameters(f, *keywords)]
    described = [summary(f), *details(f), *inputs(f), told]
    run = f"return self.evaluate({', '.join(given)})"
    return "\n" + method(f.name, declared, result(f).replace("Array", "Tensor"), described, run)


def _with(types: Mapping[str, str], parameter: str) -> str:
    """A parameter with other types."""
    name, colon, rest = parameter.partition(": ")
    kind, space, default = rest.partition(" ")
    return f"{name}{colon}{types.get(kind, kind)}{space}{default}"


TORCH = '''if TYPE_CHECKING:
    from torch import Tensor


class {name}:
    """The methods of `TorchFunctions`, whose `evaluate` does the work."""

'''
JAX = '''if TYPE_CHECKING:
    from jax import Array


class {name}:
    """The methods of `{whose}`, whose `evaluate` does the work."""

'''
FILES = {
    "robot/results.py": robot_results,
    "robot/functions.py": robot_functions,
    "robot/motion.py": robot_motion,
    "robot/api.py": robot_api,
    "backends/native/kernels.py": native_kernels,
    "backends/native/motion_kernels.py": motion_kernels,
    "backends/jax/signatures.py": jax_signatures,
    "backends/jax/motion_signatures.py": jax_motion_signatures,
    "backends/jax/native_signatures.py": jax_native_signatures,
    "backends/torch/signatures.py": torch_signatures,
    "backends/torch/motion_signatures.py": torch_motion_signatures,
}


def texts() -> Mapping[Path, str]:
    """What the files shall say."""
    return {SOURCE / name: make() for name, make in FILES.items()}


if __name__ == "__main__":
    for file, content in texts().items():
        file.write_text(content, encoding="utf-8")
