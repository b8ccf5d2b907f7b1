# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lathrop's machines at work: states of an arm pass through them, and torques leave."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....hardware.circuit import Circuit, Port
from ....hardware.folding import folded
from ....io.generators import chain
from ....io.loading import load
from ...machines import systolic
from ...schedule import schedule
from ...scheduling.list_scheduler import SystolicSchedule
from ...scheduling.systolic_run import SystolicRun
from ..printed_formulas import PrintedFormula
from ..quantities import fitted, quantity
from ..verdicts import Claim

_ARM, _SETS = "puma560", 12
_BITS = 16  # of a coordinate


@quantity
def time_of_single_device() -> PrintedFormula | str:
    """time from a set's entry to its torques on the running single device, one set at a time"""
    return fitted({n: int(_general(n, "one").latency) for n in range(2, 7)})


@quantity
def sets_leave(interval: int) -> Claim:
    """torques that leave the running pipeline, against inverse dynamics by the compiled kernel"""
    arm = load(_ARM)
    states = arm.random_state(_SETS, rng=0)[:3]
    placed = _placed(schedule(arm, "inverse_dynamics", "luh_walker_paul", systolic()))
    run = placed.simulate(*states, interval=float(interval))
    error = float(np.abs(run.result - arm.inverse_dynamics(*states)).max())
    apart = set(np.diff(run.left))
    figures = f"{len(run.left)} sets of {_ARM}, one every {interval} operations, off by {error:.0e} N m"
    return Claim(apart == {float(interval)} and error < 1e-10, figures)


@quantity
def ready_times(name: str) -> tuple[int, ...]:
    """when a quantity of the first four links is ready in the running pipeline"""
    ready = _general(6, "per link").ready
    return tuple(int(ready[f"{name}[{i}]"]) for i in range(4))


@quantity
def buffered_words(interval: int) -> Claim:
    """numbers in the buffers of the running pipeline, six links, most at a time"""
    words = _general(6, "per link", float(interval)).words
    outside = sum(words.values()) - words["intermediate"]
    figures = ", ".join(f"{kind} {count}" for kind, count in words.items()) + " numbers"
    return Claim(words["intermediate"] < outside, figures)


@quantity
def units_of_module(interval: int) -> tuple[int, int]:
    """units of a dot product as a folded pipeline, as px.Robot.export writes it, whose numbers are checked"""
    circuit = Circuit()
    ends = np.full(3, 2.0**_BITS)
    for name in ("a", "b"):
        wires = [circuit.wire("input", (), _BITS + 2, 0, name, k) for k in range(3)]
        circuit.inputs.append(Port(name, (3,), _BITS + 2, wires, -ends, ends))
    a, b = (port.wires for port in circuit.inputs)
    products = [circuit.wire("mul", pair, 2 * _BITS + 2, 0, 0) for pair in zip(a, b, strict=True)]
    result = products[0]
    for product in products[1:]:
        result = circuit.wire("add", (result, product), 2 * _BITS + 4, 0, 0, 0, 0)
    circuit.outputs.append(Port("y", (1,), result.width, [result], -ends[:1], ends[:1]))
    x, y = np.random.default_rng(0).integers(-(2**_BITS), 2**_BITS, (2, _SETS, 3))
    if not (circuit.run({"a": x, "b": y})["y"][:, 0] == (x * y).sum(axis=1)).all():
        raise ArithmeticError("the module computes another number.")
    placed = folded(circuit, interval)
    return placed.count("multiplier"), placed.count("adder")


@cache
def _general(n: int, nodes: str, interval: float | None = None) -> SystolicRun:
    """States of a chain through the machine of the general equations, with a moving base and a free tip."""
    robot = chain(n)
    placed = _placed(
        schedule(
            robot, "inverse_dynamics", "luh_walker_paul", systolic(nodes=nodes), customise="none",
            convention="lathrop_linear",
        )
    )  # fmt: skip
    states = robot.random_state(_SETS, rng=0)[:3]
    return placed.simulate(*states, interval=placed.makespan if interval is None else interval)


def _placed(found: Any) -> SystolicSchedule:
    assert isinstance(found, SystolicSchedule)
    return found
