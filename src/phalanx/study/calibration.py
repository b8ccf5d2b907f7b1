# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The unit costs of this machine: measured once in a few seconds, then read from disk.

The time of a kernel is the cost of a call and, for every block of states, the costs of all operations. These
unit costs are a least-squares fit to some kernels of generated robots; no robot of the user enters.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, astuple, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..arrays import empty_result
from ..backends.base import backend
from ..dispatch import compute, resolve, serving
from ..files import write_chunks
from ..io.generators import chain, tree
from ..program.task import Call
from ..progress import announce, steps
from ..robot.robot import Robot
from .workload import Workload, workload

FORMAT = 3
_NEAR = 1 << 19  # bytes of results that fit into the caches of a core
_NARROW = 0.58  # time of one state in loops, as a share of that of a block, where registers are the widest
_TRUST = 0.05  # weight of a usual unit cost against one measurement


@dataclass(frozen=True)
class UnitCosts:
    """Nanoseconds: per call, and per block of states for each kind of work."""

    call: float
    number: float
    far_output: float  # added where results do not fit into the caches
    operation: float
    division: float
    angle: float
    move: float
    looped_operation: float
    looped_move: float


# Of an AVX-512 server at 2.8 GHz: the fit is regularised towards the proportions of these.
_USUAL = UnitCosts(100.0, 2.5, 8.0, 0.21, 4.0, 5.0, 0.13, 0.06, 0.5)


@dataclass(frozen=True)
class Calibration:
    """Unit costs of this machine, and the standard deviation of log(predicted / measured time)."""

    unit_costs: UnitCosts
    spread: float

    def seconds(self, work: Workload, batch: int, dtype: Any) -> float:
        """Predicted seconds for all states of a batch on one thread."""
        return 1e-9 * float(np.dot(_quantities(work, batch, np.dtype(dtype)), astuple(self.unit_costs)))


def calibration() -> Calibration:
    """The calibration of this machine, measured now unless a file has it."""
    return _calibration(path())


@cache
def _calibration(file: Path) -> Calibration:
    found = _read(file)
    if found is None:
        announce(f"measuring this machine for predictions, once; stored in {file.parent}")
        found = measure()
        _write(file, found)
    return found


def path() -> Path:
    """The file of the unit costs: one for each processor and version of the package."""
    from ..backends.native import cache as kernels
    from ..backends.native.compile import host

    target = host()
    known = f"{FORMAT} {version('phalanx')} {target.cpu} {target.bits} {target.fma}"
    return kernels.folder() / "calibration" / f"{hashlib.sha256(known.encode()).hexdigest()[:16]}.json"


def measure() -> Calibration:
    """Measure the times of some kernels and fit the unit costs to them."""
    cases: list[tuple[Call, int]] = []
    jobs: dict[int, Callable[[], Any]] = {}
    for make, function, algorithm, batches in steps(_KERNELS, "measuring", lambda k: k[2]):
        call = resolve(make(), function, algorithm)
        for batch in batches:
            jobs[len(cases)] = job(call, sample(call, batch))
            cases.append((call, batch))
    seconds = [min(t) for t in timed(jobs).values()]
    rows = [_quantities(workload(call), batch, np.dtype(np.float64)) for call, batch in cases]
    return fitted(np.array(rows), 1e9 * np.array(seconds))


def fitted(rows: np.ndarray, times: np.ndarray) -> Calibration:
    """The unit costs that fit `times` best by relative error, regularised towards the usual proportions."""
    usual = np.array(astuple(_USUAL))
    shares = rows * usual / times[:, None]
    scale = float(np.median(1.0 / shares.sum(axis=1)))
    weight = math.sqrt(_TRUST * len(times) / len(usual))
    matrix = np.vstack([shares, weight / scale * np.eye(len(usual))])
    wanted = np.concatenate([np.ones(len(times)), np.full(len(usual), weight)])
    factors = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    unit_costs = usual * np.maximum(factors, 0.1 * scale)
    spread = float(np.std(np.log(rows @ unit_costs / times)))
    return Calibration(UnitCosts(*map(float, unit_costs)), spread)


def _quantities(work: Workload, batch: int, dtype: np.dtype) -> list[float]:
    """The number of occurrences of each unit cost in a batch, in the order of `UnitCosts`."""
    from ..backends.native.compile import host
    from ..backends.native.emit.widths import WIDE

    lanes, rest = host().lanes(dtype.itemsize), batch % host().lanes(dtype.itemsize)
    last = _NARROW if rest == 1 and work.looped and host().bits >= WIDE else float(rest > 0)
    blocks = batch if work.alone else batch // lanes + last
    footprint = max(work.outputs * batch * dtype.itemsize, 1)
    far = max(0.0, 1.0 - _NEAR / footprint)
    straight, looped = (0.0, 1.0) if work.looped else (1.0, 0.0)
    each = [
        (work.inputs + work.outputs) / (lanes if work.alone else 1),
        work.outputs * far / (lanes if work.alone else 1),
        work.operations * straight,
        work.divisions,
        work.angles,
        work.moves * straight,
        work.operations * looped,
        work.moves * looped,
    ]
    return [1.0, *(blocks * count for count in each)]


@cache
def _tree(n: int) -> Robot:
    return tree(n)


@cache
def _chain(n: int) -> Robot:
    return chain(n)


# Different mixtures of all kinds of work in little code, since compiling takes most of the time.
_KERNELS: list[tuple[Callable[[], Robot], str, str, tuple[int, ...]]] = [
    (lambda: _chain(2), "inverse_dynamics", "newton_euler", (1, 64, 1024)),
    (lambda: _chain(3), "mass_matrix", "crba", (64,)),
    (lambda: _chain(6), "inverse_dynamics", "cartesian_tensor", (1, 64, 1024)),
    (lambda: _chain(6), "mass_matrix", "kane_variant", (64,)),
    (lambda: _chain(5), "forward_dynamics", "aba", (1, 1024)),
    (lambda: _chain(7), "forward_dynamics", "jsiia", (64, 1024)),
    (lambda: _chain(2), "forward_dynamics", "cfa", (64,)),
    (lambda: _tree(12), "inverse_dynamics", "cartesian_tensor", (64, 4096)),
    (lambda: _tree(16), "inverse_dynamics", "newton_euler", (64,)),
    (lambda: _tree(16), "mass_matrix", "crba", (64, 4096)),
    (lambda: _tree(12), "forward_dynamics", "jsiia", (64,)),
    (lambda: _tree(80), "inverse_dynamics", "newton_euler", (8, 64)),
    (lambda: _tree(80), "inverse_dynamics", "cartesian_tensor", (64,)),
    (lambda: _tree(80), "forward_dynamics", "aba", (64,)),
    (lambda: _chain(100), "forward_dynamics", "aba", (64,)),
]


# ------------------------------------------------------------------- on disk


def _read(file: Path) -> Calibration | None:
    """The calibration in a file; None if there is none, or if it is malformed or not positive."""
    from ..backends.native.cache import own_file

    try:
        content = own_file(file)
        data = json.loads("" if content is None else content)
        if data["format"] != FORMAT:
            return None
        unit_costs = UnitCosts(**{f.name: float(data["prices"][f.name]) for f in fields(UnitCosts)})
        found = Calibration(unit_costs, float(data["spread"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    sound = all(math.isfinite(x) and x > 0.0 for x in (*astuple(unit_costs), found.spread))
    return found if sound else None


def _write(file: Path, found: Calibration) -> None:
    """Store a calibration in a file; a full or read-only disk is no error."""
    data = {"format": FORMAT, "unit": "ns", "prices": asdict(found.unit_costs), "spread": found.spread}
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_chunks(file, json.dumps(data, indent=2).encode(), private=True)


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Sample:
    """Random states of a robot and output arrays, shared by the algorithms that are compared."""

    inputs: tuple[np.ndarray, ...]
    outs: tuple[np.ndarray, ...]


def sample(call: Call, batch: int, dtype: Any = np.float64) -> Sample:
    """States for a call; a batch of one is one state without a batch axis."""
    states = call.robot.random_state(batch, rng=0)[: len(call.function.inputs)]
    inputs = tuple(np.ascontiguousarray(x[0] if batch == 1 else x, dtype) for x in states)
    shape = () if batch == 1 else (batch,)
    sizes = call.output_sizes().values()
    return Sample(inputs, tuple(empty_result((*shape, *size), np.dtype(dtype)) for size in sizes))


def job(call: Call, states: Sample, name: str = "native") -> Callable[[], Any]:
    """A call on a backend, ready to be timed."""
    return backend(name).job(call, states.inputs, states.outs)


def shared_state(call: Call, threads: int) -> Callable[[], Any] | None:
    """A call that computes one state on `threads` threads, for timing; None if one thread computes it."""
    if call.frame is not None or serving(call).name != "native":
        return None
    kernel = call.robot.kernel(call.algorithm.function, (call.algorithm.name, dict(call.options)), batch=1)
    if "threads share a state" not in kernel.form:
        return None
    state = call.robot.random_state(rng=0)[: len(call.function.inputs)]
    bound: Callable[[], Any] = kernel.bind(*state, out=np.asarray(kernel(*state)), threads=threads)
    return bound


def batch_on_threads(call: Call, batch: int, threads: int) -> Callable[[], Any]:
    """A call that computes a batch on at most `threads` threads, for timing."""
    states = sample(call, batch)
    return lambda: compute(call, states.inputs, {}, runner=serving(call), threads=threads)


def wall_times(
    jobs: Mapping[Key, Callable[[], Any]], *, rounds: int = 9, burst: float = 2e-3
) -> dict[Key, float]:
    """The median over rounds of the least wall time of each job, one job after another."""
    seconds: dict[Key, list[float]] = {key: [] for key in jobs}
    for _ in range(rounds):
        for key, run in jobs.items():
            run()
            least, end = math.inf, time.perf_counter() + burst
            while (start := time.perf_counter()) < end:
                run()
                least = min(least, time.perf_counter() - start)
            seconds[key].append(least)
    return {key: statistics.median(found) for key, found in seconds.items()}


def timed(
    jobs: Mapping[Key, Callable[[], Any]], *, rounds: int = 11, burst: float = 0.002
) -> dict[Key, list[float]]:
    """Seconds per run of each job, measured `rounds` times; the jobs are interleaved in each repetition.

    Interleaving spreads other load of the machine evenly over the jobs; where its clock is fine enough, the
    CPU time of this thread is measured. Jobs run in bursts, because wide vector units need a moment to
    power up.
    """
    fine = time.get_clock_info("thread_time").resolution <= 1e-6
    clock = time.thread_time if fine else time.perf_counter
    counts = {key: _count(job, burst) for key, job in jobs.items()}
    seconds: dict[Key, list[float]] = {key: [] for key in jobs}
    for _ in range(rounds):
        for key, job in jobs.items():
            count = counts[key]
            start = clock()
            for _ in range(count):
                job()
            seconds[key].append((clock() - start) / count)
    return seconds


def _count(job: Callable[[], Any], burst: float) -> int:
    """The number of runs of a job that take about `burst` seconds."""
    job()
    start = time.perf_counter()
    job()
    return max(1, int(burst / (time.perf_counter() - start + 1e-9)))
