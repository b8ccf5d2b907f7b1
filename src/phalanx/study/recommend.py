# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which algorithm to take for a robot, a function and a number of states, and why.

"auto" decides from the robot, for long chains also by whether there is one state or more; a recommendation
also knows this machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..algorithms import algorithms, functions_algorithms
from ..arrays import float_type
from ..backends.base import positive
from ..backends.native.threads import is_brief
from ..dispatch import ANY, choose, compute, resolve, serving
from ..errors import PhalanxError, printable, shown
from ..program.task import Call
from ..progress import steps
from ..robot.robot import Robot
from ..typing import FloatType
from .accuracy import has_long_floats, largest_error, longdouble_result
from .calibration import calibration, job, sample, shared_state, timed, wall_times
from .workload import workload

# Checked by benchmarks/recommendations.py.
# A prediction has to be this much shorter than that of "auto" to speak against it, a measured time this,
# whether interleaved in one run or not.
MARGIN = 1.03
IN_TURNS = 1.1
_NOISE = 1.2
# Options are tried for algorithms whose defaults come this near to the fastest.
_NEAR = 4.0
# Multiple of the work of "auto" beyond which an algorithm is not timed.
_HOPELESS = 20
# Seconds of one state beyond which its throughput in a batch is guessed.
_LONG = 0.01
# How much larger the errors may be than those of "auto": two digits.
_DIGITS = 100.0
# The difference that counts as none on machines without long floats.
_AGREE = 1e-10


@dataclass(frozen=True)
class Recommendation:
    """The algorithm to use, the reason, and the seconds per state predicted for it and for all others.

    `auto` is what algorithm="auto" takes. Predictions are for one thread; one state of a robot with more
    than 64 degrees of freedom is timed instead, on all threads that the recommendation is for. The keys of
    `predicted` are names of algorithms, with options where these are not the defaults. `threads` is how many
    of the threads are worth using.
    """

    robot: str
    function: str
    batch: int
    dtype: str
    algorithm: str
    options: Mapping[str, Any]
    backend: str
    auto: str
    reason: str
    predicted: Mapping[str, float]
    threads: int = 1

    @property
    def is_auto(self) -> bool:
        """Whether algorithm="auto" does the same."""
        return self.algorithm == self.auto and not self.options

    @property
    def choice(self) -> Any:
        """The value for `algorithm=`."""
        return (self.algorithm, dict(self.options)) if self.options else self.algorithm

    def __str__(self) -> str:
        return f'{self.function} of "{printable(self.robot)}", {_states(self.batch)}: {self.reason}'


def recommend(
    robot: Robot,
    function: str,
    batch: int = 4096,
    dtype: FloatType = "float64",
    *,
    frame: str | None = None,
    threads: int | None = None,
) -> Recommendation:
    """The algorithm predicted to be fastest for a batch, as accurate as that of "auto", with the reason.

    It may be another one than algorithm="auto" takes, which knows nothing of this machine and little of the
    batch: see `is_auto`, and `choice` is what to pass as `algorithm=`. Where the prediction is a tie, it is
    the choice of "auto". The first call on a machine measures it for some seconds. `frame` is that of
    functions which take one. With several `threads` the reason says whether they are worth
    waking; None is one.
    """
    kind = _checked(function, batch, dtype)
    count = 1 if threads is None else positive(threads, "recommend: threads")
    auto = resolve(robot, function, choose(robot, function, int(batch)).name, frame)
    found = _predictions(auto, batch, kind)
    how, margin = "predicted", MARGIN if served(auto) == "native" else _NOISE
    if batch == 1 and robot.nv > ANY:  # in narrow code of its own, which the unit costs do not cover
        found, how, margin = _timed_near(found, kind), "measured", _NOISE
    alone = {label(call): seconds for call, seconds in found}
    shared: dict[str, float] = {}
    if batch == 1 and count > 1 and kind == np.float64:
        found, shared = _on_threads(found, count)
    predicted = {label(call): seconds for call, seconds in found}
    eps = float(np.finfo(kind).eps)
    best, remark = best_of(found, auto, margin, eps, lambda call: _errors(call, auto, kind))
    why = reason(best, auto, predicted, batch, remark, how, margin)
    used, remark = 1, ""
    if count > 1:
        used, remark = _worth(best, batch, count, alone, shared)
    return Recommendation(
        robot.name,
        function,
        int(batch),
        kind.name,
        best.algorithm.name,
        dict(best.options),
        served(best),
        auto.algorithm.name,
        why + remark,
        dict(sorted(predicted.items(), key=lambda item: item[1])),
        used,
    )


def _on_threads(
    found: list[tuple[Call, float]], threads: int
) -> tuple[list[tuple[Call, float]], dict[str, float]]:
    """The seconds of all calls, less where threads share a state; and of the shared ones alone.

    Where threads can only share more segments than the default, that is a call of its own.
    """
    limit = _NEAR * min(seconds for _, seconds in found)
    jobs, more = {}, {}
    for call, seconds in found:
        if seconds > limit:
            continue
        if run := shared_state(call, threads):
            jobs[label(call)] = run
        elif (other := in_more_segments(call, threads)) and (run := shared_state(other, threads)):
            jobs[label(other)], more[label(other)] = run, other
    times = wall_times(jobs) if jobs else {}
    known = [(call, min(seconds, times.get(label(call), seconds))) for call, seconds in found]
    return [*known, *((other, times[name]) for name, other in more.items())], times


def in_more_segments(call: Call, threads: int) -> Call | None:
    """The call in more segments, if its default has fewer than threads could share."""
    robot, algorithm = call.robot, call.algorithm
    lanes = 8  # of the widest registers, as in the default number of segments
    if robot.nv < 2 * lanes * lanes * threads or "segments" in dict(call.options):
        return None
    try:
        options = {**dict(call.options), "segments": lanes * threads}
        return resolve(robot, algorithm.function, (algorithm.name, options), call.frame)
    except PhalanxError:  # it has none, or not of this robot
        return None


def _worth(
    best: Call, batch: int, threads: int, alone: Mapping[str, float], shared: Mapping[str, float]
) -> tuple[int, str]:
    """How many threads are worth using, and a sentence about it."""
    name = label(best)
    if batch > 1:
        if served(best) != "native" or is_brief(batch, alone[name]):
            return 1, " One thread computes the batch before another one would be awake."
        return threads, f" {threads} threads share the batch."
    if name not in shared:
        return 1, " One thread computes the state: this form has nothing that threads could share."
    one, both = alone.get(name, min(alone.values())), shared[name]
    ratio = f"{duration(both)} in a loop, {both / one:.2f} of the time of one thread"
    if both * IN_TURNS <= one:
        return threads, f" {threads} threads share the state: {ratio}."
    return 1, f" One thread computes the state, since {threads} would take {ratio}."


def best_of(
    found: list[tuple[Call, float]],
    auto: Call,
    margin: float,
    eps: float,
    errors_of: Callable[[Call], tuple[float, float]],
) -> tuple[Call, str]:
    """The fastest call that is about as accurate as that of "auto", and a remark on its errors.

    Another one than "auto" takes has to be faster by `margin`. `errors_of` gives the errors of a call and of
    that of "auto".
    """
    limit, remark = {label(call): seconds for call, seconds in found}[label(auto)], ""
    for call, seconds in sorted(found, key=lambda pair: pair[1]):
        if seconds * margin >= limit:
            break
        errors = errors_of(call)
        if errors[0] <= _DIGITS * max(errors[1], eps):
            return call, _errors_in_words(errors)
        timing = _errors_in_words(errors).replace(" Its", " its")
        remark = remark or f" {label(call)} would take {duration(seconds)}, but{timing}"
    return auto, remark


def label(call: Call) -> str:
    """The name of an algorithm, with its options if they are not the defaults."""
    return with_options(call.algorithm.name, dict(call.options))


def with_options(algorithm: str, options: Mapping[str, Any]) -> str:
    """An algorithm with its options, as reports and recommendations write it."""
    chosen = ", ".join(f"{k}={v}" for k, v in options.items())
    return algorithm + (f"({chosen})" if chosen else "")


def served(call: Call) -> str:
    """The name of the backend that "auto" selects for a call."""
    return serving(call).name


# ------------------------------------------------------------------- candidates


def _checked(function: str, batch: int, dtype: Any) -> np.dtype:
    functions_algorithms(function)
    if isinstance(batch, bool) or not isinstance(batch, int | np.integer) or not 1 <= batch <= 2**62:
        raise PhalanxError(f"recommend: batch is {shown(batch)}, expected a positive integer.")
    return float_type(dtype, "recommend")


def _predictions(auto: Call, batch: int, dtype: np.dtype) -> list[tuple[Call, float]]:
    """All algorithms that cover the robot, with their seconds per state; options of the near ones too."""
    robot, function = auto.robot, auto.algorithm.function
    others = [a for a in algorithms(function) if a is not auto.algorithm and not a.refusal(robot)]
    calls = [auto, *(resolve(robot, function, a.name, auto.frame) for a in others if robot.nv)]
    compiled = [call for call in calls if served(call) == "native"]
    if not compiled:
        return _timed(calls, batch, dtype)
    # Algorithms that only NumPy runs are no match for compiled code.
    found = _predicted(compiled, batch, dtype)
    limit = _NEAR * min(seconds for _, seconds in found)
    more = [other for call, seconds in found if seconds <= limit for other in _variants(call)]
    found += _predicted([call for call in more if served(call) == "native"], batch, dtype, timed=False)
    return found if served(auto) == "native" else found + _timed([auto], batch, dtype)


def _timed(calls: list[Call], batch: int, dtype: np.dtype) -> list[tuple[Call, float]]:
    """Calls on the reference, whose array operations are not counted, with their seconds per state."""
    return [(call, _timed_per_state(call, batch, "numpy", dtype)) for call in steps(calls, "timing", label)]


def _predicted(
    calls: list[Call], batch: int, dtype: np.dtype, *, timed: bool = True
) -> list[tuple[Call, float]]:
    """Compiled calls with their seconds per state; what cannot be counted is timed, or left out."""
    machine = calibration()
    found = []
    for call in steps(calls, "predicting", label):
        try:
            found.append((call, machine.seconds(workload(call, dtype), batch, dtype) / batch))
        except PhalanxError:
            if timed and _is_comparable(call):
                found.append((call, _timed_per_state(call, batch, "native", dtype)))
    return found


def _timed_near(found: list[tuple[Call, float]], dtype: np.dtype) -> list[tuple[Call, float]]:
    """Calls with their seconds for one state, measured for those whose predictions come near the shortest."""
    limit = _NEAR * min(seconds for _, seconds in found)
    return [
        (call, _timed_per_state(call, 1, served(call), dtype) if seconds <= limit else seconds)
        for call, seconds in steps(found, "timing", lambda pair: label(pair[0]))
    ]


def _is_comparable(call: Call) -> bool:
    """Whether a call has at most `_HOPELESS` times the operations of the choice of "auto"."""
    from ..program.lowering import operations_in_loops

    choice = choose(call.robot, call.algorithm.function).name
    auto = resolve(call.robot, call.algorithm.function, choice, call.frame)
    return operations_in_loops(call) <= _HOPELESS * operations_in_loops(auto)


def _variants(call: Call) -> Iterator[Call]:
    """The call with every combination of options but the defaults, if they can be listed."""
    options = {k: v for k, v in call.algorithm.options.items() if isinstance(v, tuple)}
    for values in list(product(*options.values()))[1:]:
        changed = {k: v for (k, known), v in zip(options.items(), values, strict=True) if v != known[0]}
        yield resolve(call.robot, call.algorithm.function, (call.algorithm.name, changed), call.frame)


def _timed_per_state(call: Call, batch: int, name: str, dtype: np.dtype) -> float:
    """Seconds per state measured instead of predicted: from the times of one state and of a few."""
    key = ("throughput", call.algorithm.function, label(call), name, dtype.str)
    first, each = call.robot._memoized(key, lambda: _throughput(call, name, dtype))
    return float((first - each) / batch + each)


def _throughput(call: Call, name: str, dtype: np.dtype) -> tuple[float, float]:
    """Seconds of one state alone and of every further one.

    A call that is slow for one state is not timed for more: it will not be recommended.
    """
    few, rounds, burst = (8, 3, 0.0) if name == "numpy" else (64, 11, 0.002)
    alone = job(call, sample(call, 1, dtype), name)
    start = time.perf_counter()
    alone()
    once = time.perf_counter() - start
    if once > _LONG:
        return once, once / 8
    times = timed({1: alone, few: job(call, sample(call, few, dtype), name)}, rounds=rounds, burst=burst)
    first = min(times[1])
    return first, max(min(times[few]) - first, 0.0) / (few - 1)


def _errors(call: Call, auto: Call, dtype: np.dtype) -> tuple[float, float]:
    """The errors of a candidate and of the choice of "auto" in some random states.

    Without extended precision only their difference is known.
    """
    states = call.robot.random_state(8 if call.robot.nv <= 100 else 2, rng=0)[: len(call.function.inputs)]
    inputs = tuple(x.astype(dtype) for x in states)
    one, other = (compute(c, inputs, {}, runner=serving(c), threads=1) for c in (call, auto))
    if has_long_floats():
        right = longdouble_result(call.robot, call.algorithm.function, inputs, call.frame)
        return largest_error(one, right), largest_error(other, right)
    return largest_error(one, other), max(_AGREE / _DIGITS, float(np.finfo(dtype).eps))


# ------------------------------------------------------------------- reasons


def reason(
    best: Call, auto: Call, times: Mapping[str, float], batch: int, remark: str, how: str, margin: float
) -> str:
    """Why a call is recommended, in one or two sentences with times; `remark` is a sentence on its errors."""
    name, mine = label(best), times[label(best)]
    timing = f"{duration(mine)} per state {how} for {_states(batch)}"
    if label(best) != label(auto):
        why = "without knowing this machine"
        if auto.robot.nv <= ANY:
            why = "from the shape of the robot alone, so that one state and a batch agree in bits"
        return (
            f'{name}, not the choice of "auto": {timing}, {_times(times[label(auto)] / mine)} as fast as '
            f'{label(auto)}, which "auto" takes {why}; ask for {best.algorithm.name} by name.{remark}'
        )
    rivals = [(s, k) for k, s in times.items() if k.partition("(")[0] != best.algorithm.name]
    if not rivals:
        return f'{name} is the only choice there is for this robot and what "auto" takes: {timing}.'
    if remark:
        return f'{name} is what "auto" takes: {timing}.{remark}'
    seconds, second = min(rivals)
    if seconds < mine * margin:
        known = "predictions" if how == "predicted" else "such measurements"
        return (
            f'{name} is what "auto" takes: {timing}. With {duration(seconds)} {second} is as fast; '
            f"the difference is less than {known} resolve."
        )
    return (
        f'{name} is what "auto" takes and the fastest of {len(times)} choices: {timing}, '
        f"{_times(seconds / mine)} as fast as {second}."
    )


def _errors_in_words(errors: tuple[float, float], least: float = 10.0) -> str:
    """A remark on errors where they are larger than those of "auto", else empty."""
    worse = errors[0] > least * errors[1] and errors[0] > 1e-14
    return f" Its errors reach {errors[0]:.0e} instead of {errors[1]:.0e}." if worse else ""


def duration(seconds: float) -> str:
    """A time in words, in a readable unit (ns, µs, ms, s)."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if ratio < 10 else f"{ratio:.0f} times"


def _states(batch: int) -> str:
    return "one state" if batch == 1 else f"{batch:,} states"
