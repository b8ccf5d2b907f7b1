# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The programs of Fijany's processor arrays in time: computation and communication in lock-step.

Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", PA for
VN-EB, repaired as in `algorithms.inertia.processor_array`; every operation is charged but sines, cosines
and the moments of single links. One processor for each column (PPA), and composite bodies (VCR-B) on
either array, are given by their cost only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...algorithms.inertia.processor_array import require_summed
from ...dispatch import resolve
from ...errors import PhalanxError
from ...program.cost import Count
from ...robot.robot import Robot
from ..machines import ProcessorArray
from . import array_composite, array_newton_euler
from .networks import array_network
from .placement import Schedule
from .tasks import TaskGraph


@dataclass(frozen=True, eq=False, repr=False)
class ArraySchedule(Schedule):
    """A schedule in lock-step, with the matrix that its tasks have computed on the way.

    `busiest` are the operations of the busiest processor in each step, added up;
    `communication_steps` counts the steps in which messages pass, all at the same time.
    """

    busiest: Count = field(default_factory=Count)
    communication_steps: int = 0
    mass_matrix: Any = None


def array_schedule(
    robot: Robot, machine: ProcessorArray, q: Any = None, *, algorithm: Any = "processor_array"
) -> ArraySchedule:
    """The paper's own assignment for a chain; `q` is the state that is computed with (neutral).

    `algorithm` tells, by the options of "processor_array", which form of the equations.
    """
    call = resolve(robot, "mass_matrix", "processor_array" if algorithm == "auto" else algorithm)
    options = dict(call.options)
    if (asked := options.pop("processors", machine.processors)) != machine.processors:
        raise PhalanxError(
            f"schedule: the algorithm asks for {asked} processors, and {machine} has {machine.processors}; "
            "leave the option out, or use the other array."
        )
    state = np.asarray(robot.neutral() if q is None else q, dtype=float)
    form, moment = options.get("form", "newton_euler"), options.get("moment", "apart")
    require_summed(form, moment)
    forms = array_composite if form == "composite" else array_newton_euler
    program = forms.on_columns if machine.processors == "n" else forms.on_triangle
    steps, matrix, results = program(robot, machine, state, moment)
    network = array_network(machine, robot.nv)
    tasks = tuple(
        replace(t, is_result=k in results, reads_input=not t.before) for k, t in enumerate(steps.tasks)
    )
    told = ", ".join(f'{key}="{value}"' for key, value in options.items())
    title = f"mass_matrix of {robot.name} by processor_array{f' ({told})' * bool(told)}"
    return ArraySchedule(
        TaskGraph(tasks, title, "equation", robot.link_names, robot.nv, "processor_array"),
        machine,
        network.names,
        tuple(sorted(steps.placed, key=lambda t: (t.start, t.processor, t.task))),
        tuple(steps.messages),
        network=network,
        busiest=sum(steps.phases, Count()),
        communication_steps=steps.steps,
        mass_matrix=matrix + np.diag(robot.armature),
    )
