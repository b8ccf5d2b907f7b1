# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Times on machines: pipelines, one processor a joint, and this computer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

from ....io.generators import chain
from ....io.loading import load
from ...machines import joint_processors, systolic
from ...schedule import schedule
from ...scheduling.list_scheduler import SystolicSchedule
from ..operations import span
from ..printed_formulas import PrintedFormula, parse
from ..quantities import quantity
from ..verdicts import Claim
from .timing import propagation_interval

_INVERSE = "inverse_dynamics"


@quantity
def systolic_interval() -> int:
    """MV + VA of the recursion if px.schedule on px.machines.systolic() has no conflict at it"""
    interval, placed = sum(propagation_interval("w")), _pipeline()
    return interval if not placed.conflicts(float(interval)) else round(placed.interval)


@quantity
def shortest_interval() -> int:
    """shortest interval without conflict of px.schedule on px.machines.systolic()"""
    return round(_pipeline().interval)


@cache
def _pipeline() -> SystolicSchedule:
    """The linear recursion of six joints on systolic processors."""
    placed = schedule(
        chain(6), _INVERSE, "luh_walker_paul", systolic(), customise="none", convention="lathrop_linear"
    )
    assert isinstance(placed, SystolicSchedule)
    return placed


@quantity
def reduction_of_time(formulas: Sequence[str], least: float) -> Claim:
    """slope of printed serial operations over that of phalanx.cost's critical path"""
    serial = [parse(text)["n"] for text in formulas]
    parallel = [
        part["n"] if isinstance(part, PrintedFormula) else 0
        for part in span(_INVERSE, "luh_walker_paul", "lathrop_linear")
    ]
    products, all_of_them = serial[0] / parallel[0], sum(serial) / sum(parallel)
    figures = f"{float(products):.0f} times for multiplications, {float(all_of_them):.0f} for all operations"
    return Claim(min(products, all_of_them) >= least, figures)


@quantity
def concurrency(
    robot: str, granularity: Literal["vector", "equation"] = "vector", per_word: float = 0.0
) -> float:
    """work over makespan of px.schedule on px.machines.joint_processors"""
    machine = joint_processors(per_word=per_word)
    placed = schedule(
        load(robot), _INVERSE, "luh_walker_paul", machine, granularity=granularity, customise="none",
        convention="lathrop_online",
    )  # fmt: skip
    return placed.work / placed.makespan


@quantity
def seconds_of_inverse_dynamics(robot: str) -> float:
    """measured here: one state by the compiled kernel"""
    return _seconds(robot)


@quantity
def rate_of_inverse_dynamics(robot: str, least: float) -> Claim:
    """measured here: one state by the compiled kernel"""
    rate = 1.0 / _seconds(robot)
    return Claim(rate >= least, f"{rate:,.0f} Hz")


@cache
def _seconds(robot: str) -> float:
    arm = load(robot)
    state = arm.random_state(rng=0)
    return shortest(lambda: arm.inverse_dynamics(*state))


def shortest(run: Callable[[], Any], seconds: float = 0.05) -> float:
    """The shortest time of a run, in seconds: of three or more, within `seconds`, after a warm-up."""
    run()
    best, runs, end = float("inf"), 0, time.perf_counter() + seconds
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best
