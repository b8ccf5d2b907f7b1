# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What each kind of work costs on this machine: measured once in a few seconds, then read from disk.

A kernel takes the price of a call and, for every block of states, the prices of all it does. The
prices come from some kernels of generated robots by least squares; nothing about a user's robot enters.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ...backends.base import Call
from ...dispatch import resolve
from ...files import write_chunks
from ...io.generators import chain, tree
from ...progress import announce, steps
from ...robot.robot import Robot
from .timing import job, sample, timed
from .workload import Workload, workload

FORMAT = 3
_NEAR = 1 << 19  # bytes of results that caches next to a core hold
_NARROW = 0.58  # of the time of a block: loops for one state alone, where registers are the widest
_TRUST = 0.05  # weight of a usual price beside a measurement


@dataclass(frozen=True)
class UnitCosts:
    """Nanoseconds: per call, and per block of states for each thing done."""

    call: float
    number: float
    far_output: float  # on top, where results go to distant memory
    operation: float
    division: float
    angle: float
    move: float
    looped_operation: float
    looped_move: float


# Of an AVX-512 server at 2.8 GHz: where a measurement says little, proportions stay near these.
_USUAL = UnitCosts(100.0, 2.5, 8.0, 0.21, 4.0, 5.0, 0.13, 0.06, 0.5)


@dataclass(frozen=True)
class Calibration:
    """Prices of this machine and how far kernels of the measurement are off them (one deviation)."""

    unit_costs: UnitCosts
    spread: float

    def seconds(self, work: Workload, batch: int, dtype: Any) -> float:
        """Predicted seconds for all states of a batch on one thread."""
        return 1e-9 * float(np.dot(_quantities(work, batch, np.dtype(dtype)), astuple(self.unit_costs)))


def calibration() -> Calibration:
    """The prices of this machine, measured now if nobody did before."""
    return _calibration(path())


@cache
def _calibration(place: Path) -> Calibration:
    found = _read(place)
    if found is None:
        announce(f"measuring this machine for predictions, once; kept in {place.parent}")
        found = measure()
        _write(place, found)
    return found


def path() -> Path:
    """Where the prices are kept: one file for each processor and version of the package."""
    from ...backends.native import cache as kernels
    from ...backends.native.compile import host

    target = host()
    known = f"{FORMAT} {version('phalanx')} {target.cpu} {target.bits} {target.fma}"
    return kernels.folder() / "calibration" / f"{hashlib.sha256(known.encode()).hexdigest()[:16]}.json"


def measure() -> Calibration:
    """Prices from the times of some kernels."""
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
    """The prices that explain times best, relative to each; what is not seen keeps its usual proportion."""
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
    """How often each price is due, in the order of `UnitCosts`."""
    from ...backends.native.compile import host
    from ...backends.native.emit.widths import WIDE

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


# Different mixtures of all kinds of work, in as little code as will do: compiling takes most of the time.
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


def _read(place: Path) -> Calibration | None:
    """The calibration in a file, or None unless everything in it makes sense."""
    from ...backends.native.cache import own_file

    try:
        text = own_file(place)
        data = json.loads("" if text is None else text)
        if data["format"] != FORMAT:
            return None
        unit_costs = UnitCosts(**{f.name: float(data["prices"][f.name]) for f in fields(UnitCosts)})
        found = Calibration(unit_costs, float(data["spread"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    sound = all(math.isfinite(x) and x > 0.0 for x in (*astuple(unit_costs), found.spread))
    return found if sound else None


def _write(place: Path, found: Calibration) -> None:
    """Keep a calibration; a full or read-only disk is no error."""
    data = {"format": FORMAT, "unit": "ns", "prices": asdict(found.unit_costs), "spread": found.spread}
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_chunks(place, json.dumps(data, indent=2).encode(), private=True)
