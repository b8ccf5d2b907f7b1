# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a function of a robot to a backend: function, algorithm, backend, threads; inputs are checked here."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .algorithms import (
    FUNCTIONS,
    NOTHING,
    Algorithm,
    default_algorithm,
    find,
    functions_algorithms,
    require_covered,
)
from .algorithms.registry import INTEGERS
from .arrays import empty_result, float_type, memory_for
from .backends.base import (
    Backend,
    available_threads,
    backend,
    checked_array,
    checked_out,
    checked_outs,
    common_batch,
    given_inputs,
    positive,
)
from .backends.devices.base import device_kernel, group_of
from .backends.structure import factors_well, require_invertible, require_six_directions, segments_well
from .errors import PhalanxError, is_one_of, listing, nearest, shown
from .program.task import SEGMENTS, Call, cuts
from .robot.constrained import CONSTRAINED
from .robot.formulas import STEPS
from .robot.frames import carriers_of
from .robot.robot import Robot, require_robot
from .sweeps.orders.segments import starts

_DEEP = 14
ANY = 64  # degrees of freedom up to which "auto" takes no notice of the batch
# Beyond which one state of a chain goes in segments or runs.
_SEGMENTED = {
    "inverse_dynamics": ANY, "bias_forces": ANY, "gravity_forces": ANY, "mass_matrix": ANY,
    "forward_kinematics": ANY, "forward_dynamics": 128,
}  # fmt: skip
_PARTITIONED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")  # by the algorithm "partition"
# Algorithms that name no segments and take less time for one state if their sweeps run in segments.
_CUT = {
    "inverse_dynamics": (
        "cartesian_tensor", "lathrop", "luh_walker_paul", "newton_euler", "scan", "zomaya_morris",
    ),
    "forward_dynamics": ("abia", "cfa", "dca"),
    "bias_forces": ("newton_euler",),
    "gravity_forces": ("newton_euler",),
    "forward_kinematics": ("recursive",),
    "mass_matrix": ("recursive_doubling",),
}  # fmt: skip
# The values of options with which they do; the first ones are the defaults.
_CUT_FORMS = {"form": ("scanned",), "solver": ("cyclic_reduction", "odd_even")}
_PREFERRED = ("native", "numpy")  # backends in the order in which "auto" asks them
_MANY = 40  # links beyond which several frames cost less together than one after another
_BLOCK = 1 << 18  # bytes of the poses of all links that are kept at once


def evaluate(
    robot: Robot,
    function: str,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    *,
    frame: str | None = None,
    choices: Mapping[str, Any] = NOTHING,
    out: Any = None,
    algorithm: Any = "auto",
    backend: str = "auto",
    threads: int | None = None,
    value: Any = False,
) -> Any:
    """The function of the robot for a batch of inputs; with `value` also what it is the derivative of."""
    call, alone = resolved(robot, function, frame, choices, algorithm, value)
    runner = serving(call, backend)
    if alone is not None and alone.segments is not None and runner.name != "native":
        alone = None  # segments are lanes
    return compute(call, inputs, optional, out=out, threads=threads, runner=runner, alone=alone)


def resolved(
    robot: Robot, function: str, frame: Any, choices: Mapping[str, Any], algorithm: Any, value: Any
) -> tuple[Call, Call | None]:
    """The call that serves a function for many states, and that for one state if it is another."""
    call = with_value(resolve(robot, function, algorithm, frame, choices), value)
    if value:
        return call, None
    is_open = isinstance(algorithm, str) and algorithm == "auto"
    return call, (single(call) if is_open else None) or _in_segments(call)


def with_value(call: Call, value: Any) -> Call:
    """The call as it is, or with `value=True` one that also returns the function that it differentiates."""
    f = call.function
    if not isinstance(value, (bool, np.bool_)):
        raise PhalanxError(f"{f.name}: value={shown(value)}, expected True or False.")
    if not value:
        return call
    if not f.value:
        known = listing(name for name, other in FUNCTIONS.items() if other.value)
        raise PhalanxError(f"{f.name}: got value=True, but is no derivative; leave it out, or use {known}.")
    return replace(call, algorithm=replace(call.algorithm, valued=True))


def compute(
    call: Call,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    *,
    out: Any = None,
    threads: int | None = None,
    runner: Backend | None = None,
    dtype: Any = None,
    alone: Call | None = None,
) -> Any:
    """The result of a call for inputs that have not been checked yet; by `alone` if they are one state."""
    with memory_for(call.function.name, "take the states in several batches"):
        return _computed(call, inputs, optional, out, threads, runner, dtype, alone)


def _computed(
    call: Call,
    inputs: tuple[Any, ...],
    optional: Mapping[str, Any],
    out: Any,
    threads: int | None,
    runner: Backend | None,
    dtype: Any,
    alone: Call | None,
) -> Any:
    f = call.function
    given = given_inputs(call, inputs, optional)
    labels = list(given)
    sizes = [call.sizes({**f.inputs, **f.optional}[label]) for label in labels]
    arrays = [checked_array(call, x, n, s) for x, n, s in zip(given.values(), labels, sizes, strict=True)]
    dtype = dtype or (np.float32 if all(a.dtype == np.float32 for a in arrays) else np.float64)
    rows = zip(labels, arrays, sizes, strict=True)
    batch = common_batch(call, {label: a.shape[: a.ndim - len(size)] for label, a, size in rows})
    shapes = {label: (*batch, *size) for label, size in call.output_sizes().items()}
    if out is None:
        results = tuple(empty_result(shape, dtype) for shape in shapes.values())
    else:
        results = checked_outs(call, out, shapes, dtype)
    count = _thread_count(threads)
    if all(result.size for result in results):
        k = len(inputs)
        optional_arrays = dict(zip(labels[k:], arrays[k:], strict=True))
        if alone is not None and math.prod(batch) == 1 and "inertias" not in given:
            call = alone
        (runner or serving(call)).run(call, arrays[:k], optional_arrays, results, count)
    return f.packed([result[()] for result in results]) if out is None else out


def frame_poses(
    robot: Robot,
    q: Any,
    frames: Iterable[str],
    *,
    out: Any = None,
    backend: Any = "auto",
    threads: int | None = None,
) -> Any:
    """`Robot.frame_poses`, as `robot/api.py` declares it."""
    if isinstance(frames, str) or not isinstance(frames, Iterable) or getattr(frames, "ndim", 1) != 1:
        raise PhalanxError(
            f"frame_poses: frames is {shown(frames)}, expected several names such as robot.frame_names; "
            "for one, use frame_pose."
        )
    names = list(frames)
    for name in names:
        robot.frame(name)
    links = resolve(robot, "forward_kinematics")
    array = checked_array(links, q, "q", (robot.nq,))
    batch = common_batch(links, {"q": array.shape[:-1]})
    dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
    shape = (*batch, len(names), 4, 4)
    result = (
        empty_result(shape, dtype)
        if out is None
        else checked_out(links, f"{links.function.name}: out", out, shape, dtype)
    )
    if np.may_share_memory(array, result):
        array = array.copy()
    if robot.n_links > _MANY and len(names) > 2:
        _place(links, names, array, result, backend, threads)
    else:
        for k, name in enumerate(names):
            robot.frame_pose(array, name, out=result[..., k, :, :], backend=backend, threads=threads)
    return result


def _place(links: Call, names: list[Any], q: np.ndarray, out: np.ndarray, backend: str, threads: Any) -> None:
    """Fill `out` with the poses of frames, computed from those of all links in blocks of states."""
    carrier, own = carriers_of(links.robot, names)
    own = own.astype(out.dtype)
    batch = out.shape[:-3]
    rows = q.reshape(math.prod(batch), links.robot.nq)
    flat = out.reshape((len(rows), *own.shape))  # a copy where `out` has gaps
    size = max(1, _BLOCK // (128 * links.robot.n_links))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        poses = compute(links, (rows[part],), {}, threads=threads, runner=serving(links, backend))
        flat[part] = poses[:, carrier] @ own
        flat[part, carrier < 0] = own[carrier < 0]
    if not np.may_share_memory(flat, out):
        out[...] = flat.reshape(out.shape)


def kernel(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    dtype: Any = "float64",
    *,
    frame: str | None = None,
    reference: str | None = None,
    batch: int | None = None,
    device: Any = "cpu",
    value: bool = False,
    group: Any = None,
    memory: Any = "auto",
    contacts: Any = (),
) -> Any:
    """`Robot.kernel`, as `robot/api.py` declares it."""
    from .backends.native.kernel import kernel_class

    if is_one_of(function, tuple(CONSTRAINED)):
        given = (algorithm, frame, reference, batch, device, value, group, memory)
        if given != ("auto", None, None, None, "cpu", False, None, "auto"):
            raise PhalanxError(f"kernel: {function} takes dtype and contacts alone; leave the others out.")
        made = robot.function(function, contacts=contacts)
        made.llvm_ir(float_type(dtype, "kernel"))
        return made
    if not isinstance(contacts, tuple) or contacts:
        raise PhalanxError(f"kernel: {shown(function)} takes no contacts; leave them out.")
    if is_one_of(function, STEPS):
        return robot.function(function)
    call = resolve(
        robot, function, algorithm, frame, {} if reference is None else {"reference": reference}, batch
    )
    on_device = not (isinstance(device, str) and device == "cpu")
    groups = None if group is None and memory == "auto" else group_of(group, memory)
    if groups is not None and not on_device:
        raise PhalanxError(f'kernel: group={shown(group)} is for device="opencl" and "cuda"; leave it out.')
    if on_device and groups is None and (call.segments is not None or call.uncut):
        call = replace(call, options=tuple(option for option in call.options if option[0] != SEGMENTS))
    call = with_value(call, value)
    kind = float_type(dtype, "kernel")
    if not is_native(call):
        raise PhalanxError(f'kernel: robot "{robot.name}" has no degree of freedom; nothing to compile.')
    if on_device:
        return device_kernel(device, call, kind, groups)
    return kernel_class(call.function.name)(call, kind, compute)


def resolve(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    frame: str | None = None,
    choices: Mapping[str, Any] = NOTHING,
    batch: int | None = None,
) -> Call:
    """The call that serves a function of a robot, or an error that names one that does.

    With `batch` "auto" knows the number of states; otherwise it is that of many. A `batch` of one state of a
    long chain runs the sweeps of an algorithm in segments where that takes less time.
    """
    require_robot(robot, function)
    algorithm, options = _with_options(function, algorithm)
    auto = isinstance(algorithm, str) and algorithm == "auto"
    chosen = choose(robot, function, batch) if auto else find(function, algorithm)
    require_covered(robot, chosen)
    options = {**_chosen(function, choices), **options}
    known = {**chosen.options, SEGMENTS: INTEGERS} if _may_be_cut(chosen, options) else chosen.options
    for key, value in options.items():
        if not is_one_of(key, known) or not _is_value(value, known[key]):
            raise PhalanxError(_wrong_option(chosen, key, value, options))
    if FUNCTIONS[function].frame:
        _require_frame(robot, function, frame)
    elif frame is not None:
        raise PhalanxError(f"{function}: got frame={shown(frame)}, but takes none; leave it out.")
    if FUNCTIONS[function].inverts:
        require_invertible(robot)
    if FUNCTIONS[function].full_rank:
        require_six_directions(robot, function, str(frame))
    call = Call(robot, chosen, frame, tuple(sorted(options.items())))
    if batch != 1 or SEGMENTS in options or not _may_be_cut(chosen, options):
        return call
    return _in_segments(call) or (call if auto else _with_segments(call, 1))


def _require_frame(robot: Robot, function: str, frame: Any) -> None:
    if not isinstance(frame, str):
        more = "" if frame is None else f"; a list of several is for robot.{function} and robot.function"
        raise PhalanxError(
            f"{function}: frame is {shown(frame)}, expected the name of one, such as "
            f'frame="{robot.frame_names[-1]}"{more}.'
        )
    robot.frame(frame)


def _wrong_option(algorithm: Algorithm, key: Any, value: Any, options: Mapping[str, Any]) -> str:
    """The error message for a wrong option of an algorithm."""
    where = f'{algorithm.function}: algorithm "{algorithm.name}"'
    known: dict[str, Any] = dict(algorithm.options)
    if algorithm.name in _CUT.get(algorithm.function, ()):
        known.setdefault(SEGMENTS, INTEGERS)
    if not is_one_of(key, known):
        return f"{where} has no option {key}={shown(value)};{nearest(key, known, what='options')}"
    if not _is_value(value, known[key]):
        return f"{where}: {key}={shown(value)}, expected {_values(known[key])}."
    needed = {k: v for k, v in _CUT_FORMS.items() if k in known and not is_one_of(options.get(k, v[0]), v)}
    forms = " and ".join(f"{k}={' or '.join(map(repr, v))}" for k, v in needed.items())
    return f"{where} takes {key} with {forms} alone; leave it out."


def _values(values: Iterable[Any]) -> str:
    """The values of an option, in words."""
    return " or ".join(x if values is INTEGERS else shown(x) for x in values)


def _may_be_cut(algorithm: Algorithm, options: Mapping[str, Any]) -> bool:
    """Whether the sweeps of an algorithm may run in segments of a chain."""
    return algorithm.name in _CUT.get(algorithm.function, ()) and all(
        is_one_of(options.get(key, values[0]), values)
        for key, values in _CUT_FORMS.items()
        if key in algorithm.options
    )


def _in_segments(call: Call) -> Call | None:
    """The call with its sweeps in segments of one state; None where that is no faster."""
    robot, a, options = call.robot, call.algorithm, dict(call.options)
    if SEGMENTS in options or not _may_be_cut(a, options) or not _may_cut(robot, a.function):
        return None
    cut = _with_segments(call, len(starts(robot.model.links, None)))
    return None if cut.segments is None else cut


def _with_segments(call: Call, count: int) -> Call:
    return replace(call, options=tuple(sorted((*call.options, (SEGMENTS, count)))))


def _chosen(function: str, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of a function that differ from its defaults, as options of its algorithms."""
    known = FUNCTIONS[function].choices
    for name, value in choices.items():
        if name not in known:
            raise PhalanxError(f"{function}: got {name}={shown(value)}, but takes none; leave it out.")
        if not isinstance(value, str) or value not in known[name]:
            words = " or ".join(f'"{word}"' for word in known[name])
            raise PhalanxError(f"{function}: {name}={shown(value)}, expected {words}.")
    return {name: value for name, value in choices.items() if value != known[name][0]}


def _is_value(value: Any, values: Any) -> bool:
    """Whether an option may have a value; arrays compare with nothing."""
    return isinstance(value, Hashable) and bool(value in values)


def _with_options(function: str, algorithm: Any) -> tuple[Any, Mapping[str, Any]]:
    if not isinstance(algorithm, tuple):
        return algorithm.name if isinstance(algorithm, Algorithm) else algorithm, {}
    if len(algorithm) != 2 or not isinstance(algorithm[1], Mapping):
        raise PhalanxError(
            f"{function}: algorithm={shown(algorithm)}; expected a name or a pair of a name and its options "
            'such as ("name", {"option": value}).'
        )
    return algorithm


def choose(robot: Robot, function: str, batch: int | None = None) -> Algorithm:
    """The algorithm that "auto" stands for: of those that cover the robot, the least work.

    Up to 64 degrees of freedom the choice depends on the robot alone, so that one state and a batch agree
    in bits. Beyond, a `batch` of one state of a chain goes in segments, side by side; forward dynamics from
    where registers of four numbers gain by it, too.
    """
    require_robot(robot, function)
    functions_algorithms(function)
    if batch == 1 and function in _PARTITIONED and _may_cut(robot, function):
        return find(function, "partition")
    if function == "forward_dynamics":
        return find(function, "jsiia" if robot.is_coupled or _may_factor(robot) else "aba")
    if function == "operational_space_inertia":
        return find(function, "ltl" if robot.is_coupled or _may_factor(robot) else "articulated")
    return default_algorithm(function)


def single(call: Call) -> Call | None:
    """The call that "auto" makes for one state, where it differs from this one for several; else None."""
    chosen = choose(call.robot, call.algorithm.function, 1)
    return None if chosen is call.algorithm else Call(call.robot, chosen, call.frame, call.options)


def _may_cut(robot: Robot, function: str) -> bool:
    """Whether one state takes less time in segments than link by link, and keeps the digits."""
    if robot.nv <= _SEGMENTED.get(function, robot.nv):
        return False
    well: bool = robot._memoized(
        ("goes in segments", function),
        lambda: cuts(robot.model) and (function != "forward_dynamics" or segments_well(robot)),
    )
    return well


def _may_factor(robot: Robot) -> bool:
    """Whether factoring the mass matrix takes less work than articulated inertias and keeps the digits.

    Elimination grows with the square of the depth; the paths agree in work up to about a dozen joints
    in a row. What badly scaled links do to the factor is looked up once.
    """
    return int(robot.model.depth.max(initial=0)) < _DEEP and factors_well(robot)


def serving(call: Call, name: str = "auto") -> Backend:
    """The backend that runs a call for a requested name."""
    if isinstance(name, str) and name in ("auto", "native") and not is_native(call):
        name = "numpy"
    if not call.robot.nv and call.algorithm.derivative and is_one_of(name, ("jax",)):
        name = "numpy"  # there is nothing that JAX could differentiate by
    if isinstance(name, str) and name == "auto":
        return next(found for found in map(backend, _PREFERRED) if found.serves(call))
    return backend(name)


def is_native(call: Call) -> bool:
    """Whether there is anything to compile: ufuncs know no axes of length zero."""
    return call.robot.nv > 0 and not any(0 in size for size in call.output_sizes().values())


def _thread_count(threads: int | None) -> int:
    return available_threads() if threads is None else positive(threads, "threads")
