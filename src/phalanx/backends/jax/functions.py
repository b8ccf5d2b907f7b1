# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax`: the functions of a robot as pure functions of JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import ALGORITHMS, FUNCTIONS, NOTHING
from ...arrays import UNREADABLE, is_endless, refuse_masks
from ...errors import PhalanxError, is_one_of, listing, nearest, shown
from ...program.task import Call
from ...robot.assembly import Coordinates
from ...robot.frames import carriers_of, placement_of
from ...robot.model import Model
from ...robot.robot import Robot
from ...typing import ArrayLike
from ..array_functions import ArrayFunctions
from ..base import common_batch, require_shape
from ..framework_methods import attach
from ..numpy import model_in
from ..signatures import JAX
from .arrays import EXACT, array
from .doubling import JaxDoubling, NotDoubledError
from .levels import JaxLevels
from .native import NativeFunctions
from .own_functions import in_jax
from .parameters import check_parameters, parameters_of, with_parameters
from .pytrees import register_all
from .rules import MOST, RULES, Value, has_rule, ruled, run_algorithm, tangent_map

ORDERS: dict[str, type[JaxLevels]] = {"sequential": JaxLevels, "doubling": JaxDoubling}
DERIVATIVES = ("auto", "analytic", "xla")

Resolve = Callable[..., Call]


class JaxFunctions(ArrayFunctions[ArrayLike, jax.Array]):
    """Pure functions of one robot, safe under `jit`, `vmap`, `grad` and `jvp`; any batch shape.

    Float32 and float64 in, the same out; float64 needs `jax.config.update("jax_enable_x64", True)`.
    Keywords: `algorithm` as for `Robot`, `schedule` "sequential" or "doubling" (logarithmic depth),
    `parameters` (from `parameters()`) instead of the robot's own.
    """

    def __init__(self, robot: Robot, resolve: Resolve) -> None:
        self.robot = robot
        self._resolve = resolve
        self._compiled: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<functions of {self.robot!r} on JAX>"

    def parameters(self) -> dict[str, Any]:
        """The robot's mass, first_moment, inertia (about the links' origins), armature and gravity."""
        return {name: jnp.asarray(value) for name, value in self._constants.items()}

    @cached_property
    def native(self) -> NativeFunctions:
        """The same functions by native kernels on the host; their derivatives are computed by JAX."""
        return NativeFunctions(self.robot, self)

    def function(self, f: Any, /, **sizes: Any) -> Any:
        """A function of your own on JAX arrays: what `robot.function` made, or a Python function.

        It runs on the host, under `jit`, `vmap`, `grad` and `jvp`; derivatives of all orders come from
        compiled Jacobians, by q with respect to its nq coordinates.
        """
        return in_jax(f if hasattr(f, "_trace") else self.robot.function(f, **sizes))

    def inverse_kinematics(self, targets: Mapping[str, Any], q0: Any = None, **options: Any) -> Any:
        """`robot.inverse_kinematics` of JAX arrays, safe under `jit`, `vmap` and derivatives; on the host.

        Derivatives of `s.q` by the targets come from the implicit function theorem, first ones, zero where a
        target was not reached. The step of least length is taken where a target leaves motions free, and what
        is at a limit stays there.
        """
        frameworks = import_module("phalanx.inverse_kinematics.frameworks")
        return frameworks.in_jax(self.robot, targets, q0, options)

    def checked(self, function: str, inputs: tuple[Any, ...]) -> tuple[Call, list[Any], Any]:
        """The call with algorithm "auto", its inputs as JAX arrays of one dtype, and that dtype."""
        call = self._resolve(self.robot, function)
        names = FUNCTIONS[function].inputs
        if len(inputs) != len(names):
            raise PhalanxError(f"{function}: got {len(inputs)} inputs, expected {', '.join(names)}.")
        arrays, dtype = checked_inputs(call, dict(zip(names, inputs, strict=True)))
        return call, list(arrays.values()), dtype

    def frame_poses(self, q: Any, frames: Iterable[str], **keywords: Any) -> Any:
        """Poses (…, k, 4, 4) of several frames in the base frame of the file, in the order of their names.

        Keywords: `schedule` and `parameters` as for the others.
        """
        carrier, own = carriers_of(self.robot, frames)
        links = self.evaluate("forward_kinematics", {"q": q}, **keywords)
        still = jnp.broadcast_to(jnp.eye(4, dtype=links.dtype), (*links.shape[:-3], 1, 4, 4))
        poses = jnp.concatenate([links, still], axis=-3)  # the last one is the world's
        return jnp.matmul(poses[..., carrier, :, :], own.astype(links.dtype), precision=EXACT)

    @cached_property
    def _constants(self) -> dict[str, np.ndarray]:
        return parameters_of(self.robot)

    def evaluate(
        self,
        function: str,
        inputs: Mapping[str, Any],
        *,
        frame: str | None = None,
        choices: Mapping[str, Any] = NOTHING,
        algorithm: Any = "auto",
        schedule: str = "sequential",
        parameters: Mapping[str, Any] | None = None,
        derivatives: str = "auto",
    ) -> Any:
        """Evaluate a function of the robot for a batch of inputs by name."""
        if not is_one_of(schedule, ORDERS):
            raise PhalanxError(f"{function}: unknown schedule {shown(schedule)};{nearest(schedule, ORDERS)}")
        if schedule == "doubling" and is_one_of(algorithm, ("auto",)):
            algorithm = fastest_in_depth(self.robot, function)
        call = self._resolve(self.robot, function, algorithm, frame, choices)
        inputs = {n: v for n, v in inputs.items() if v is not None or n in call.function.inputs}
        if isinstance(inputs.get("external"), Mapping):
            inputs = {**inputs, "external": self.robot._wrenches(inputs["external"], _real)}
        arrays, dtype = checked_inputs(call, inputs)
        if parameters is not None:
            parameters = check_parameters(self.robot, parameters, function)
            _require_bodies(call)
        try:
            compiled = self._compiled_for(call, schedule, dtype, _is_analytic(call, arrays, derivatives))
            return compiled(arrays, parameters, frame_of(call, dtype))
        except NotDoubledError:
            raise PhalanxError(self._not_doubled(call, arrays, dtype)) from None

    def _compiled_for(self, call: Call, schedule: str, dtype: Any, analytic: bool) -> Any:
        a = call.algorithm
        key = (a.function, a.name, call.options, schedule, dtype, analytic)  # one for all frames
        if key not in self._compiled:
            self._compiled[key] = jax.jit(
                partial(run, call, ORDERS[schedule], dtype, self._constants, analytic)
            )
        return self._compiled[key]

    def _not_doubled(self, call: Call, arrays: dict[str, Any], dtype: Any) -> str:
        function, able, why = call.algorithm.function, list[str](), list[str]()
        for other in ALGORITHMS[function].values():
            if reason := other.refusal(self.robot):
                why += [f'not "{other.name}"{reason}'] if "log" in other.span else []
                continue
            probe = Call(self.robot, other, call.frame)
            try:
                run_probe = partial(run, probe, JaxDoubling, dtype, self._constants, False)
                jax.eval_shape(run_probe, arrays, None, frame_of(probe, dtype))
            except NotDoubledError:
                continue
            except PhalanxError as error:
                why.append(f'not "{other.name}": {str(error).rstrip(".")}')
            else:
                able.append(other.name)
        return (
            f'{function}: algorithm "{call.algorithm.name}" has no logarithmic depth, which '
            f'schedule="doubling" asks for; those that have for robot "{self.robot.name}": '
            f"{'; '.join([listing(able), *why])}."
        )


attach(JaxFunctions, JAX)


def fastest_in_depth(robot: Robot, function: str) -> str:
    """The name of the algorithm that "auto" selects under the doubling schedule."""
    if function != "forward_dynamics":
        return "auto"
    known = ALGORITHMS[function]
    order = ("abia", "contraction", "jsiia")
    return next(name for name in order if name in known and not known[name].refusal(robot))


def run(
    call: Call,
    order: type[JaxLevels],
    dtype: Any,
    constants: Mapping[str, Any],
    analytic: bool,
    arrays: dict[str, Any],
    parameters: Mapping[str, Any] | None,
    frame: Any = None,
) -> Any:
    """Evaluate a call on JAX arrays, under tracing; `frame` (from `frame_of`) is traced too.

    If `analytic`, its derivatives come from the rule of its function (`rules.RULES`).
    """
    register_all()
    f = call.function
    arguments = replace(call, frame=None).arguments()
    if frame is not None:
        arguments["frame"] = frame.map(lambda a: array(a, dtype))
    algorithm = replace(call.algorithm, derivative="")

    def model_of(parameters: Mapping[str, Any] | None) -> Model:
        model = model_in(call.robot, dtype)
        return model if parameters is None else with_parameters(model, parameters, constants)

    def value(arrays: dict[str, Any], parameters: Mapping[str, Any] | None) -> tuple[Any, ...]:
        model = model_of(parameters)
        return run_algorithm(algorithm, model, order(model.parents, model.pattern), dtype, arrays, arguments)

    one: Value = ruled(call, order, dtype, value, model_of) if analytic else value
    compute: Callable[[dict[str, Any]], tuple[Any, ...]] = lambda arrays: one(arrays, parameters)  # noqa: E731
    if call.algorithm.derivative:
        names = list(algorithm.served.inputs)
        compute = differentiated(compute, call.algorithm.derivative, names, call.robot._coordinates)
    cores = {name: len({**f.inputs, **f.optional}[name]) for name in arrays}
    return f.packed(over_batch(compute, arrays, cores, list(call.output_sizes().values()), dtype))


def differentiated(
    one: Callable[[dict[str, Any]], tuple[Any, ...]],
    mode: str,
    names: list[str],
    coordinates: Iterable[Coordinates],
) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """The jvp, vjp or hvp of a function of one state by JAX's autodiff, in the tangent space of q."""

    def derivative(arrays: dict[str, Any]) -> tuple[Any, ...]:
        rest = {name: a for name, a in arrays.items() if name not in names}
        cotangent = rest.pop("cotangent", None)
        rates = [rest.pop(f"d{name}", None) for name in names]
        inputs = [arrays[name] for name in names]

        def value(*inputs: Any) -> Any:
            return one(dict(zip(names, inputs, strict=True)) | rest)[0]

        def pulled(*inputs: Any) -> tuple[Any, ...]:
            slopes = jax.vjp(value, *inputs)[1](cotangent)
            return (tangent_map(coordinates, "along_rates", inputs[0], slopes[0]), *slopes[1:])

        if mode == "vjp":
            return pulled(*inputs)
        tangents = [tangent_map(coordinates, "coordinate_rates", inputs[0], rates[0]), *rates[1:]]
        made = jax.jvp(value if mode == "jvp" else pulled, inputs, tangents)[1]
        return made if isinstance(made, tuple) else (made,)

    return derivative


def frame_of(call: Call, dtype: Any) -> Any:
    """The frame of a call as JAX arrays, an argument of the compiled function; None if it has none."""
    if call.frame is None:
        return None
    return placement_of(call.robot, call.frame).map(lambda a: jnp.asarray(a, dtype))


def over_batch(
    one: Callable[..., tuple[Any, ...]],
    arrays: dict[str, Any],
    cores: dict[str, int],
    sizes: list[tuple[int, ...]],
    dtype: Any,
) -> list[Any]:
    """The results of `one` for every state of a batch; arrays without a batch are shared by all states."""
    batches = {name: a.shape[: a.ndim - cores[name]] for name, a in arrays.items()}
    batch = jnp.broadcast_shapes(*batches.values())
    if any(0 in (*batch, *size) for size in sizes):
        return [jnp.zeros((*batch, *size), dtype) for size in sizes]
    if not batch:
        return [jnp.broadcast_to(x, size) for x, size in zip(one(arrays), sizes, strict=True)]
    flat = {}
    for name, a in arrays.items():
        core = a.shape[len(batches[name]) :]
        wide = jnp.broadcast_to(a, (*batch, *core)) if batches[name] else a
        flat[name] = wide.reshape((math.prod(batch), *core)) if batches[name] else a
    axes = {name: 0 if own else None for name, own in batches.items()}
    results = jax.vmap(one, in_axes=(axes,))(flat)
    return [
        jnp.broadcast_to(x, (math.prod(batch), *size)).reshape((*batch, *size))
        for x, size in zip(results, sizes, strict=True)
    ]


def checked_inputs(call: Call, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Inputs as JAX arrays of one dtype, and that dtype; raises an error that names a wrong input."""
    f = call.function
    symbols = {**f.inputs, **f.optional}
    sizes = {name: call.sizes(symbols[name]) for name in inputs}
    arrays = {name: _real(value, f"{f.name}: {name}") for name, value in inputs.items()}
    for name, a in arrays.items():
        require_shape(call, a.shape, name, sizes[name])
    common_batch(call, {name: a.shape[: a.ndim - len(sizes[name])] for name, a in arrays.items()})
    narrow = all(a.dtype == jnp.float32 for a in arrays.values())
    dtype = np.dtype(np.float32) if narrow else jnp.zeros(0).dtype
    return {name: a.astype(dtype) for name, a in arrays.items()}, dtype


def _real(value: Any, where: str) -> Any:
    wide = getattr(value, "dtype", None) == np.float64 and not isinstance(value, jax.Array)
    if wide and jnp.zeros(0).dtype != np.float64:
        raise PhalanxError(
            f"{where} has dtype float64, but JAX works in float32 now. Begin the program with "
            'jax.config.update("jax_enable_x64", True), or pass float32.'
        )
    refuse_masks(value, where)
    try:
        a = None if is_endless(value) else jnp.asarray(value)  # it would overflow the stack
    except UNREADABLE:
        a = None
    if a is None or not (jnp.issubdtype(a.dtype, jnp.floating) or jnp.issubdtype(a.dtype, jnp.integer)):
        got = type(value).__name__ if a is None else f"dtype {a.dtype}"
        raise PhalanxError(f"{where} has {got}, expected an array of real numbers.")
    return a


def _is_analytic(call: Call, given: Iterable[str], derivatives: str) -> bool:
    """Whether the derivatives of a call come from the analytic rule of its function."""
    name = call.function.name
    if not is_one_of(derivatives, DERIVATIVES):
        raise PhalanxError(
            f"{name}: unknown derivatives {shown(derivatives)};{nearest(derivatives, DERIVATIVES)}"
        )
    ruled = has_rule(call, given)
    if derivatives == "analytic" and not ruled:
        base = [
            label for label in given if label not in {**call.function.inputs, "external": 0, "inertias": 0}
        ]
        what = f"with {base[0]}" if base and name in RULES else "on JAX"
        raise PhalanxError(
            f"{name}: there are no analytic derivatives {what}, but of {listing(RULES)} with a base at "
            'rest; leave derivatives="auto".'
        )
    return ruled and derivatives != "xla" and (derivatives == "analytic" or call.robot.nv <= MOST)


def _require_bodies(call: Call) -> None:
    a = call.algorithm
    if a.frames != "bodies":
        others = [o.name for o in ALGORITHMS[a.function].values() if o.frames == "bodies"]
        raise PhalanxError(
            f'{a.function}: algorithm "{a.name}" works in Denavit-Hartenberg frames, which are made once for '
            f"a robot and know no other parameters; use {listing(others)}."
        )
