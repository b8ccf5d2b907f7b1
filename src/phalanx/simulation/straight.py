# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One step of a simulation as a straight-line program, for other languages and machines."""

from __future__ import annotations

from typing import Any

from ..errors import PhalanxError
from ..program.form.builder import straight
from ..program.form.program import Program
from ..program.rewrite import instructions
from ..program.trace import TracedProgram as Equations
from .engine import Engine
from .rollout import TIME

NEXT = "next "  # in front of the outputs' names


def straight_step(sim: Any) -> Program:
    """The state after one step from q, qd, and what else the step depends on: u, parameters, time."""
    engine = sim._engine
    if not isinstance(engine, Engine):
        raise PhalanxError(
            f'export: a step of robot "{sim.robot.name}" ({sim.robot.model.n} bodies) is no straight-line '
            "program; export forward_dynamics and integrate on the other side."
        )
    step, after = engine.traced
    s = sim._settings
    inputs: dict[str, tuple[int, ...]] = {"q": step.q.shape, "qd": step.qd.shape}
    inputs |= {"u": (s.controls,)} if s.controls else {}
    inputs |= {"parameters": (s.packed,)} if s.packed else {}
    inputs |= {TIME: (1,)}
    outputs = {f"{NEXT}q": step.q.shape, f"{NEXT}qd": step.qd.shape}
    equations = Equations(inputs, outputs, [*after.q.tolist(), *after.qd.tolist()])
    return straight(instructions(equations), inputs, outputs)
