# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.schedule`: the tasks of an algorithm for one robot, assigned to the processors of a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ..algorithms import algorithms
from ..dispatch import choose
from ..errors import PhalanxError, is_one_of, shown
from ..program.ir import Program
from ..program.ops import INPUT
from ..robot.robot import Robot, require_robot
from ..typing import AlgorithmLike, Customise
from .cost import charged, program_at
from .machines import (
    MACHINES,
    Cores,
    JointProcessors,
    LinkTimes,
    Machine,
    Pram,
    ProcessorArray,
    Systolic,
    Transputers,
    numbered,
    pram,
)
from .scheduling.array_program import array_schedule
from .scheduling.list_scheduler import (
    Placed,
    SystolicSchedule,
    by_joint,
    by_segment,
    on_assigned_network,
    on_assigned_processors,
    on_dedicated_processors,
    on_network,
    on_shared_memory,
)
from .scheduling.networks import Network, all_pairs, array_network, own_network, transputer_network
from .scheduling.placement import Baseline, PlacedTask, Schedule
from .scheduling.tasks import TaskCode, TaskGraph, require_granularity, task_code_of, task_graph_of
from .scheduling.transputer_program import paper_schedule
from .scheduling.validity import require_valid

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
    speed-ups are then over the same tasks on one processor, as papers have them. The result is checked: a
    scheduler of your own that starts a task before its inputs have arrived is an error.
    """
    machine = pram() if machine is None else machine
    require_robot(robot, "schedule")
    _require_machine(machine)
    if has_paper_assignment(machine):
        _require(machine, algorithm, function, granularity)
        return require_valid(_of_kind(machine, _PAPERS)(robot, machine, algorithm))
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
    made = require_valid(place(graph, machine))
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
            machine.times, at_once=machine.at_once
        )
        found.append(Baseline(name, sum(durations)))
    return min(found, key=lambda b: b.work)


def default_granularity(machine: Machine) -> str:
    """The granularity for a machine: vectors for matrix-vector processors, equations for messages."""
    return machine.granularity


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
    """The task graph of an algorithm for one robot, which `place` schedules on any machine."""
    call, rules = charged(robot, function, algorithm, customise, convention, frame, derivative)
    require_granularity(granularity)

    def make() -> TaskGraph:
        program = program_at(call, customise, rules)
        code = partial(
            _code, robot, function, algorithm, granularity, customise, convention, frame, derivative
        )
        return task_graph_of(
            program,
            granularity,
            free=rules.free_quantities(customise),
            fused=customise == "full" and rules.name == "program",
            title=f"{call.function.name} of {robot.name} by {call.algorithm.name}",
            links=robot.link_names,
            algorithm=call.algorithm.name,
            code=code if _computes(program) else None,
        )

    what = (call.function.name, call.algorithm.name, call.options, call.frame)
    key = ("task graph", *what, granularity, customise, rules.name)
    graph: TaskGraph = robot._memoized(key, make)
    return graph


def _computes(program: Program) -> bool:
    """Whether a program computes its outputs from its inputs and numbers of the robot."""
    return all(x.buffer in program.inputs or x in program.meanings for x in program.values if x.op is INPUT)


def _code(
    robot: Robot,
    function: str,
    algorithm: Any,
    granularity: str,
    customise: str,
    convention: str | None,
    frame: str | None,
    derivative: str | None,
) -> TaskCode:
    """The program behind the tasks of `task_graph`, traced again: graphs hold counts only."""
    call, rules = charged(robot, function, algorithm, customise, convention, frame, derivative)
    free, fused = rules.free_quantities(customise), customise == "full" and rules.name == "program"
    return task_code_of(program_at(call, customise, rules), granularity, free=free, fused=fused)


def speedups(
    robot: Robot,
    function: str,
    names: Iterable[str],
    processors: Sequence[int],
    *,
    granularity: str = "scalar",
    frame: str | None = None,
) -> dict[str, list[float]]:
    """The speed-up of p processors with one memory over one that runs the algorithm with the least work.

    All operations of the program are charged and placed by list scheduling; a list for each algorithm,
    none where there is nothing to compute.
    """
    times = {}
    for name in names:
        graph = task_graph(robot, function, name, granularity=granularity, convention="program", frame=frame)
        times[name] = [place(graph, pram(p)).makespan for p in (1, *processors)]
    least = min((t[0] for t in times.values()), default=0.0)
    return {name: [least / t for t in taken[1:]] for name, taken in times.items()} if least else {}


def place(graph: TaskGraph, machine: Machine) -> Schedule:
    """Schedule a task graph on a machine, by list scheduling or, on systolic machines, step by step."""
    _require_machine(machine)
    return _of_kind(machine, PLACING)(graph, machine)


def _require_machine(machine: Any) -> None:
    if not isinstance(machine, Machine):
        known = ", ".join(make.__name__ for make in MACHINES.values())
        raise PhalanxError(
            f"schedule: machine is {shown(machine)}, expected one of phalanx.machines: {known}."
        )


# The scheduler of each type of machine.
PLACING: dict[type[Machine], Callable[[TaskGraph, Any], Schedule]] = {}


def placing(kind: type[Machine]) -> Callable[[Any], Any]:
    """Register the decorated function as the scheduler for machines of a type."""

    def declare(put: Any) -> Any:
        PLACING[kind] = put
        return put

    return declare


@placing(Pram)
def _on_pram(graph: TaskGraph, machine: Pram) -> Schedule:
    names, durations = numbered(machine.count), _durations(graph, machine)
    if machine.assignment == "segments":
        placed = on_assigned_processors(graph, durations, by_segment(graph, durations, machine.count))
    else:
        placed = on_shared_memory(graph, durations, machine.count)
    return placed_on(graph, machine, names, placed)


@placing(Machine)
def _on_own_links(graph: TaskGraph, machine: Machine) -> Schedule:
    """List scheduling on a machine defined by the user, whose `pairs` are its links."""
    network = own_network(machine)
    return _on_links(graph, machine, network, network.names)


@placing(Systolic)
def _on_systolic(graph: TaskGraph, machine: Systolic) -> Schedule:
    names, placed = on_dedicated_processors(graph, _durations(graph, machine), machine.nodes)
    one = placed_on(graph, machine, names, placed)
    return SystolicSchedule(graph, machine, names, one.tasks, at_once=True)


@placing(Cores)
def _on_cores(graph: TaskGraph, machine: Cores) -> Schedule:
    names = numbered(machine.count)
    network = all_pairs(tuple(names[: len(graph) + 1]), machine.links)
    return _on_links(graph, machine, network, names)


@placing(Transputers)
def _on_transputers(graph: TaskGraph, machine: Transputers) -> Schedule:
    network = transputer_network(machine, tuple(machine.names[: len(graph) + 2]))
    return _on_links(graph, machine, network, machine.names)  # also of processors without work


@placing(JointProcessors)
def _on_joints(graph: TaskGraph, machine: JointProcessors) -> Schedule:
    durations = _durations(graph, machine)
    of = by_joint(graph, durations)
    names = tuple(f"joint {k + 1}" for k in range(1 + max(of.values(), default=0)))
    if machine.links == LinkTimes():
        return placed_on(graph, machine, names, on_assigned_processors(graph, durations, of))
    network = all_pairs(names, machine.links)
    placed, messages = on_assigned_network(graph, durations, network, of)
    return replace(placed_on(graph, machine, names, placed), messages=tuple(messages), network=network)


@placing(ProcessorArray)
def _on_array(graph: TaskGraph, machine: ProcessorArray) -> Schedule:
    network = array_network(machine, len(graph.links))
    return _on_links(graph, machine, network, network.names)


def _on_links(graph: TaskGraph, machine: Machine, network: Network, names: Sequence[str]) -> Schedule:
    placed, messages = on_network(graph, _durations(graph, machine), network)
    made = placed_on(graph, machine, names, placed)
    return replace(made, messages=tuple(messages), network=network)


_PAPERS: dict[type[Machine], Callable[[Robot, Any, Any], Schedule]] = {
    Transputers: lambda robot, machine, _: paper_schedule(robot, machine),
    ProcessorArray: lambda robot, machine, algorithm: array_schedule(robot, machine, algorithm=algorithm),
}


def has_paper_assignment(machine: Machine) -> bool:
    """Whether a paper says which processor of a machine does what."""
    return getattr(machine, "assignment", "list") == "paper"


def _of_kind(machine: Machine, known: Mapping[type[Machine], Any]) -> Any:
    """The entry for the class of a machine, or for its nearest base class."""
    for kind in type(machine).__mro__:
        if kind in known:
            return known[kind]
    raise PhalanxError(
        f"schedule: no scheduler for a {type(machine).__name__} is known; declare one with "
        "@phalanx.study.schedule.placing."
    )


def _durations(graph: TaskGraph, machine: Machine) -> list[float]:
    return graph.durations(machine.times, at_once=machine.at_once)


def placed_on(graph: TaskGraph, machine: Machine, names: Sequence[str], placed: Placed) -> Schedule:
    """The schedule of tasks with the given processors (by number) and start times."""
    durations = _durations(graph, machine)
    tasks = tuple(
        PlacedTask(k, p, start, start + durations[k], t.quantity, t.link, t.name)
        for k, p, start in sorted(placed, key=lambda x: (x[2], x[1], x[0]))
        for t in (graph.tasks[k],)
    )
    return Schedule(graph, machine, names, tasks)


def _require(machine: Machine, algorithm: Any, function: str, granularity: str | None) -> None:
    """Raise unless a paper's assignment is for this function, algorithm and granularity."""
    assert machine.paper is not None
    only, name = machine.paper
    requested = algorithm[0] if isinstance(algorithm, tuple) else algorithm
    if not is_one_of(function, (only,)) or not is_one_of(requested, ("auto", name)):
        raise PhalanxError(
            f'schedule: the paper\'s assignment of {machine} is for {only} by "{name}", '
            f'got {shown(function)} by {shown(requested)}; use assignment="list" for others.'
        )
    if granularity is not None and not is_one_of(granularity, ("equation",)):
        raise PhalanxError(
            f"schedule: the paper's assignment of {machine} has equations for tasks, "
            f'got {shown(granularity)}; use assignment="list" for others.'
        )
