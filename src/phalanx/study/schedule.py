# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.schedule`: an algorithm for one robot placed on the processors of a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ..algorithms import algorithms
from ..dispatch import choose
from ..errors import PhalanxError, is_one_of, shown
from ..robot.robot import Robot, require_robot
from ..typing import AlgorithmLike, Customise
from .cost import charged, program_at
from .machines import Machine, Pram, ProcessorArray, Systolic, Transputers, pram
from .machines.many import numbered
from .scheduling.array_program import array_schedule
from .scheduling.list_scheduler import Placed, on_network, on_shared_memory
from .scheduling.networks import Network, all_pairs, array_network, own_network
from .scheduling.placement import Baseline, PlacedTask, Schedule
from .scheduling.reservation import SystolicSchedule, on_dedicated_processors
from .scheduling.tasks import TaskGraph, require_granularity, task_graph_of
from .scheduling.transputer_program import paper_schedule

_DEEP = 24  # joints in a row up to which all algorithms are counted for a speed-up


def schedule(
    robot: Robot,
    function: str,
    algorithm: AlgorithmLike = "auto",
    machine: Machine | None = None,
    *,
    granularity: Literal["scalar", "vector", "equation"] | None = None,
    customise: Customise = "full",
    convention: str | None = None,
    frame: str | None = None,
    derivative: str | None = None,
) -> Schedule:
    """Where and when each task of an algorithm runs on a machine (default: four processors, one memory).

    `granularity` cuts the traced program into "scalar" operations, "vector" operations or "equation"s, a
    quantity of a link each; None is what suits the machine: vectors for systolic ones, equations
    where messages pass, scalars else. `customise`, `convention`, `frame` and `derivative` are those of
    `phalanx.cost`. Speed-ups are over the least work of any algorithm for the function on one processor.
    With a paper's own assignment, the paper also says what the tasks are, and these choices do not apply;
    speed-ups are then over the same tasks on one processor, as papers have them.
    """
    machine = pram() if machine is None else machine
    require_robot(robot, "schedule")
    if isinstance(machine, Transputers) and machine.assignment == "paper":
        _require(machine, algorithm, "zomaya_morris", function, "inverse_dynamics", granularity)
        return paper_schedule(robot, machine)
    if isinstance(machine, ProcessorArray) and machine.assignment == "paper":
        _require(machine, algorithm, "processor_array", function, "mass_matrix", granularity)
        return array_schedule(robot, machine, algorithm=algorithm)
    cut = default_granularity(machine) if granularity is None else granularity
    graph = task_graph(
        robot,
        function,
        algorithm,
        granularity=cut,
        customise=customise,
        convention=convention,
        frame=frame,
        derivative=derivative,
    )
    made = place(graph, machine)
    call, _ = charged(robot, function, algorithm, customise, convention, frame, derivative)
    more = {"customise": customise, "convention": convention, "frame": frame, "derivative": derivative}
    own = Baseline(call.algorithm.name, made.work)
    return replace(made, baseline=partial(_least, robot, function, own, machine, granularity=cut, **more))


def _least(robot: Robot, function: str, own: Baseline, machine: Machine, **more: Any) -> Baseline:
    """The algorithm with the least work on one processor of a machine, and that work.

    Algorithms of logarithmic depth do more than those they come from and are left out. Of a robot with long
    chains the program of a kernel is counted for the choice of "auto" alone, beside the schedule's own: the
    others would take long and do more.
    """
    names = [choose(robot, function).name]
    if robot.depth <= _DEEP or more["customise"] != "full":
        names += [a.name for a in algorithms(function) if "log" not in a.span and not a.refusal(robot)]
    found = [own]
    for name in dict.fromkeys(names):
        durations = task_graph(robot, function, name, **more).durations(
            machine.times, at_once=isinstance(machine, Systolic)
        )
        found.append(Baseline(name, sum(durations)))
    return min(found, key=lambda b: b.work)


def default_granularity(machine: Machine) -> str:
    """What suits a machine: whole vectors for matrix-vector processors, whole equations for messages."""
    if isinstance(machine, Systolic):
        return "vector"
    return "scalar" if isinstance(machine, Pram) else "equation"


def task_graph(
    robot: Robot,
    function: str,
    algorithm: Any = "auto",
    *,
    granularity: str = "scalar",
    customise: str = "full",
    convention: str | None = None,
    frame: str | None = None,
    derivative: str | None = None,
) -> TaskGraph:
    """The tasks of an algorithm for one robot; `place` puts them on one machine after another."""
    call, rules = charged(robot, function, algorithm, customise, convention, frame, derivative)
    require_granularity(granularity)

    def make() -> TaskGraph:
        program = program_at(call, customise, rules)
        return task_graph_of(
            program,
            granularity,
            free=rules.free_quantities(customise),
            fused=customise == "full" and rules.name == "program",
            title=f"{call.function.name} of {robot.name} by {call.algorithm.name}",
            links=robot.link_names,
            algorithm=call.algorithm.name,
        )

    what = (call.function.name, call.algorithm.name, call.options, call.frame)
    key = ("task graph", *what, granularity, customise, rules.name)
    graph: TaskGraph = robot.memo(key, make)
    return graph


def place(graph: TaskGraph, machine: Machine) -> Schedule:
    """A task graph on a machine, by list scheduling or, on systolic machines, step by step."""
    if not isinstance(machine, Machine):
        raise PhalanxError(
            f"schedule: machine is {shown(machine)}, expected one of phalanx.machines: pram, transputers, "
            "systolic, processor_array."
        )
    durations = graph.durations(machine.times, at_once=isinstance(machine, Systolic))
    if isinstance(machine, Pram):
        all_names = numbered(machine.count)
        return _schedule(graph, machine, all_names, on_shared_memory(graph, durations, machine.count))
    if isinstance(machine, Systolic):
        names, placed = on_dedicated_processors(graph, durations, machine.nodes)
        one = _schedule(graph, machine, names, placed)
        return SystolicSchedule(graph, machine, names, one.tasks, at_once=True)
    network = _network(machine, len(graph.links), len(graph))
    placed, messages = on_network(graph, durations, network)
    return replace(
        _schedule(graph, machine, _names(machine, network), placed), messages=tuple(messages), network=network
    )


def _network(machine: Machine, n: int, tasks: int) -> Network:
    """The processors of a machine that so many tasks can use, for a chain of n links."""
    if isinstance(machine, Transputers):
        return all_pairs(tuple(machine.names[: tasks + 2]), machine.links, master=0)
    if isinstance(machine, ProcessorArray):
        return array_network(machine, n)
    return own_network(machine)


def _names(machine: Machine, network: Network) -> Sequence[str]:
    """All processors, those without work too."""
    return machine.names if isinstance(machine, Transputers) else network.names


def _schedule(graph: TaskGraph, machine: Machine, names: Sequence[str], placed: Placed) -> Schedule:
    durations = graph.durations(machine.times, at_once=isinstance(machine, Systolic))
    tasks = tuple(
        PlacedTask(k, p, start, start + durations[k], t.quantity, t.link, t.name)
        for k, p, start in sorted(placed, key=lambda x: (x[2], x[1], x[0]))
        for t in (graph.tasks[k],)
    )
    return Schedule(graph, machine, names, tasks)


def _require(
    machine: Machine, algorithm: Any, name: str, function: str, only: str, granularity: str | None
) -> None:
    """Raise unless what is asked for is what a paper's assignment is for."""
    asked = algorithm[0] if isinstance(algorithm, tuple) else algorithm
    if not is_one_of(function, (only,)) or not is_one_of(asked, ("auto", name)):
        raise PhalanxError(
            f'schedule: the paper\'s assignment of {machine} is for {only} by "{name}", '
            f'got {shown(function)} by {shown(asked)}; use assignment="list" for others.'
        )
    if granularity is not None and not is_one_of(granularity, ("equation",)):
        raise PhalanxError(
            f"schedule: the paper's assignment of {machine} has equations for tasks, "
            f'got {shown(granularity)}; use assignment="list" for others.'
        )
