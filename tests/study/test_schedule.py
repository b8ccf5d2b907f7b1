# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules of robots and of random tasks on all machines: valid, and as good as list schedules must be."""

from __future__ import annotations

import pickle
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.studio.playback import PROCESSORS, speedups
from phalanx.study.machines import Machine
from phalanx.study.schedule import place, task_graph
from phalanx.study.scheduling.list_scheduler import SystolicSchedule
from phalanx.study.scheduling.placement import PlacedTask, Schedule
from phalanx.study.scheduling.tasks import TaskGraph
from phalanx.study.scheduling.validity import require_valid, violations
from reference.effort import calls_of
from reference.sampling import trees
from reference.task_graphs import machines, task, task_graphs

M = px.machines


def longest_path(graph: TaskGraph, durations: list[float]) -> float:
    """By networkx: the weight of an edge is the duration of the task it leads to."""
    flow = networkx.DiGraph()
    for k, t in enumerate(graph.tasks):
        flow.add_edge("start", k, weight=durations[k])
        for a in t.before:
            flow.add_edge(a, k, weight=durations[k])
    return float(networkx.dag_longest_path_length(flow)) if graph.tasks else 0.0


@given(task_graphs(), machines())
def test_any_tasks_on_any_machine_give_a_valid_schedule(graph: TaskGraph, machine: Machine) -> None:
    s = place(graph, machine)
    assert violations(s) == []
    assert s.span == pytest.approx(longest_path(graph, s.durations))
    assert s.makespan >= max(s.span, s.work / max(len(s.processors), 1)) - 1e-9


@given(task_graphs(), st.integers(1, 9))
def test_no_processor_idles_while_a_task_could_start(graph: TaskGraph, p: int) -> None:
    s = place(graph, M.pram(p))
    assert s.makespan <= s.work / p + (1 - 1 / p) * s.span + 1e-9, "Graham's bound"


@given(task_graphs())
def test_one_processor_takes_the_work_and_very_many_the_span(graph: TaskGraph) -> None:
    assert place(graph, M.pram(1)).makespan == place(graph, M.pram(1)).work
    assert place(graph, M.pram(1000)).makespan == place(graph, M.pram(1000)).span


@given(task_graphs(), machines())
def test_the_critical_chain_has_no_gap(graph: TaskGraph, machine: Machine) -> None:
    s = place(graph, machine)
    now = 0.0
    for event in s.critical:
        assert event.start == now
        now = event.end if isinstance(event, PlacedTask) else event.arrival
    assert now == s.makespan


@given(trees(4), machines(), st.sampled_from(("scalar", "vector", "equation", None)), st.data())
def test_robots_of_all_joint_types_give_valid_schedules(
    robot: px.Robot, machine: Machine, granularity: str | None, data: Any
) -> None:
    function = data.draw(st.sampled_from(("inverse_dynamics", "mass_matrix", "bias_forces")))
    s = require_valid(px.schedule(robot, function, "auto", machine, granularity=granularity))
    assert s.makespan >= s.span - 1e-9
    if isinstance(machine, M.Pram) and machine.times.addition == 1.0:
        assert s.work == px.cost(robot, function).total


@pytest.mark.parametrize("customise", ["none", "semi", "full"])
@pytest.mark.parametrize(
    ("function", "algorithm"),
    [
        ("inverse_dynamics", "lathrop"),
        ("inverse_dynamics", "newton_euler"),
        ("mass_matrix", "recursive_doubling"),
        ("forward_dynamics", "aba"),
    ],
)
def test_work_and_span_are_those_of_cost(function: str, algorithm: str, customise: str) -> None:
    robot = px.load("puma560")
    cost = px.cost(robot, function, algorithm=algorithm, customise=customise)
    s = px.schedule(robot, function, algorithm, M.pram(10_000), customise=customise)
    assert (s.work, s.span, s.makespan) == (cost.total, cost.span.total, cost.span.total)
    assert s.path.total == cost.span.total
    heavy = px.schedule(
        robot, function, algorithm, M.pram(10_000, multiplication=5.0, addition=2.0), customise=customise
    )
    path = cost.span_with(multiplication=5.0, addition=2.0)
    assert heavy.makespan == 5 * path.multiplications + 2 * path.additions + path.divisions


def test_four_processors_are_the_default_and_results_tell_themselves() -> None:
    robot = px.load("two_link")
    s = px.schedule(robot, "inverse_dynamics")
    assert s.processors == ("P0", "P1", "P2", "P3")
    assert s.speedup == s.least.work / s.makespan
    assert s.efficiency == s.work / s.makespan / 4
    assert sum(s.loads) == s.work
    text = repr(s)
    assert "inverse_dynamics of two_link" in text
    assert f"makespan {s.makespan:g} operations" in text
    first = s.tasks[0]
    assert (first.start, first.end - first.start) == (0.0, 1.0)
    assert first.quantity
    assert 0 <= first.link < robot.n_links


def test_a_task_graph_serves_many_machines() -> None:
    robot = px.load("panda")
    graph = task_graph(robot, "forward_dynamics", "aba")
    assert task_graph(robot, "forward_dynamics", "aba") is graph
    spans = [place(graph, M.pram(p)).makespan for p in (1, 2, 4, 8, 16, 32, 64)]
    assert spans == sorted(spans, reverse=True)
    assert (
        place(graph, M.pram(8)).makespan == px.schedule(robot, "forward_dynamics", "aba", M.pram(8)).makespan
    )


def test_the_work_of_placing_scalar_tasks_grows_with_their_number_only() -> None:
    short, long = (task_graph(px.chain(n), "forward_dynamics", "aba") for n in (4, 16))
    few, many = (calls_of(lambda g=g: place(g, M.pram(64))) for g in (short, long))
    assert len(long.tasks) > 3000
    assert many / few < 1.5 * len(long.tasks) / len(short.tasks)


def test_sines_and_cosines_are_given_unless_they_take_time() -> None:
    robot = px.load("puma560")
    free = px.schedule(robot, "inverse_dynamics", machine=M.pram(4))
    assert len(free.timed) == px.cost(robot, "inverse_dynamics").total
    timed = px.schedule(robot, "inverse_dynamics", machine=M.pram(4, trigonometric=10.0))
    cost = px.cost(robot, "inverse_dynamics")
    assert len(timed.tasks) - len(free.tasks) == cost.trigonometric > 0
    assert timed.work == cost.total + 10 * cost.trigonometric
    assert violations(timed) == []


@pytest.mark.parametrize(
    ("name", "function", "customise"),
    [
        ("puma560", "inverse_dynamics", "full"),
        ("puma560", "inverse_dynamics", "none"),
        ("stanford", "mass_matrix", "semi"),
        ("two_link", "forward_dynamics", "full"),
        ("ur5", "inverse_dynamics_derivatives", "full"),
    ],
)
def test_speedups_are_over_the_least_work_of_any_algorithm(name: str, function: str, customise: Any) -> None:
    robot = px.load(name)
    covering = [a.name for a in px.algorithms(function) if not a.refusal(robot)]
    found = {
        a: px.schedule(robot, function, a, M.pram(4), customise=customise, convention="program")
        for a in covering
    }
    least = min(s.work for s in found.values())
    for a, s in found.items():
        assert s.least.work == least == found[s.least.algorithm].work
        assert s.speedup == least / s.makespan
        assert s.efficiency == s.work / s.makespan / 4
        assert f"speed-up {s.speedup:.2f} over {s.least.algorithm} on one" in repr(s), a
    worst = max(found.values(), key=lambda s: s.makespan)
    assert worst.speedup == min(s.speedup for s in found.values())  # who takes longest gains least
    assert pickle.loads(pickle.dumps(worst)).speedup == worst.speedup


def test_compare_figures_and_schedules_mean_the_same_speedup() -> None:
    robot = px.load("two_link")
    rows = {r.algorithm: r for r in px.compare(robot, "inverse_dynamics", batch=1, processors=4) if r.cost}
    curves = speedups(robot, "inverse_dynamics", list(rows))
    for name, row in rows.items():
        s = px.schedule(robot, "inverse_dynamics", name, M.pram(4), convention="program")
        assert row.speedup == s.speedup
        assert curves[name][PROCESSORS.index(4)] == s.speedup


def test_a_papers_assignment_keeps_the_papers_meaning_and_says_so() -> None:
    s = px.schedule(px.load("puma560"), "inverse_dynamics", "zomaya_morris", M.transputers(4))
    assert s.least == ("", s.work)
    assert s.speedup == s.work / s.makespan
    assert f"speed-up {s.speedup:.2f} over the same tasks on one" in repr(s)


def test_sines_that_wait_for_a_sum_are_placed_but_not_counted() -> None:
    robot = px.load("panda")  # its angles have offsets
    s = px.schedule(robot, "inverse_dynamics", "lathrop")
    operations = px.cost(robot, "inverse_dynamics", "lathrop").total
    assert len(s.tasks) > len(s.timed) == operations
    assert f": {operations} scalar tasks on" in repr(s)


def test_sets_that_follow_each_other_gain_what_fits_into_their_interval() -> None:
    robot = px.load("puma560")
    s = px.schedule(robot, "inverse_dynamics", "lathrop", M.systolic())
    assert isinstance(s, SystolicSchedule)
    assert s.gain == s.least.work / s.interval > s.speedup
    assert s.steady_efficiency == s.work / s.interval / len(s.processors)
    assert f"a set every {s.interval:g} operations, gain {s.gain:.2f}" in repr(s)
    told = s.to_dict()
    assert (told["latency"], told["interval"], told["gain"]) == (s.makespan, s.interval, s.gain)


def test_free_messages_cost_a_list_schedule_nothing_but_the_master() -> None:
    graph = task_graph(px.load("puma560"), "inverse_dynamics", "newton_euler")
    s = place(graph, M.transputers(4, assignment="list"))
    assert s.loads[0] == 0.0
    assert s.makespan <= 1.05 * place(graph, M.pram(3)).makespan


def test_slow_messages_make_one_worker_do_all() -> None:
    graph = task_graph(px.load("puma560"), "inverse_dynamics", "newton_euler")
    s = place(graph, M.transputers(4, assignment="list", start_up=1e6))
    assert sorted(s.loads) == [0.0, 0.0, 0.0, s.work]


def test_a_result_travels_once_to_each_processor_that_needs_it() -> None:
    graph = TaskGraph((task(4), task(9, 0), task(9, 0), task(9, 0), task(9, 0)), input_words=2)
    s = place(graph, M.transputers(3, assignment="list", per_word=1.0))
    carried = [(m.task, m.receiver) for m in s.messages]
    assert len(carried) == len(set(carried))
    assert (0, 2) in carried or (0, 1) in carried


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"granularity": "matrix"}, "granularity is 'matrix', expected one of 'scalar', 'vector', 'eq"),
        ({"customise": "half"}, "customise='half'"),
        ({"algorithm": "nothing"}, "unknown algorithm 'nothing'"),
        ({"machine": "pram"}, "machine is 'pram', expected one of phalanx.machines"),
        ({"machine": Machine()}, "a Machine has no links to place tasks on"),
        ({"machine": M.transputers(), "algorithm": "lathrop"}, "by 'lathrop'; use assignment=\"list\""),
        ({"machine": M.transputers(), "granularity": "scalar"}, "has equations for tasks, got 'scalar'"),
        ({"machine": M.processor_array()}, "is for mass_matrix"),
        ({"function": "mass_matrix", "machine": M.processor_array(),
          "algorithm": ("processor_array", {"processors": "n"})}, "asks for n processors"),
        ({"function": "mass_matrix", "machine": M.processor_array(),
          "algorithm": ("processor_array", {"form": "composite", "moment": "inside"})}, "newton_euler"),
    ],
)  # fmt: skip
def test_what_cannot_be_scheduled_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.schedule(px.load("puma560"), **{"function": "inverse_dynamics", **arguments})


def test_robots_that_a_paper_does_not_cover_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match="does not turn"):
        px.schedule(px.load("stanford"), "inverse_dynamics", machine=M.transputers())
    with pytest.raises(px.PhalanxError, match="branches"):
        px.schedule(px.tree(5, 1.0, seed=3), "mass_matrix", machine=M.processor_array())


@pytest.mark.parametrize("machine", [M.pram(2), M.systolic(), M.transputers(assignment="list")], ids=str)
def test_nothing_to_do_takes_no_time(machine: Machine) -> None:
    s = require_valid(place(TaskGraph(()), machine))
    assert (s.makespan, s.speedup, s.tasks, s.critical) == (0.0, 1.0, (), ())
    assert isinstance(s, Schedule)


@pytest.mark.parametrize(
    "machine",
    [
        px.machines.pram(10**9),
        px.machines.pram(2**62),
        px.machines.transputers(10**9, assignment="list", figures=px.machines.T800(links=2**62)),
    ],
    ids=str,
)
def test_a_billion_processors_take_no_memory(machine: Any, tmp_path: Path) -> None:
    robot = px.load("two_link")
    tracemalloc.start()
    s = px.schedule(robot, "inverse_dynamics", machine=machine)
    few = px.schedule(robot, "inverse_dynamics", machine=replace(machine, count=max(4, len(s.graph) + 1)))
    assert s.makespan == few.makespan == s.span
    assert violations(s) == []
    assert len(s.processors) == len(s.loads) == machine.count
    assert s.processors[machine.count - 1] == f"P{machine.count - 1}"
    assert s.loads[machine.count - 1] == 0.0
    assert [s.loads[p] for p in range(len(few.loads))] == list(few.loads)
    assert s.efficiency == s.work / s.makespan / machine.count
    told = s.to_dict()
    assert told["processor_count"] == machine.count
    assert len(told["processors"]) < 1000
    assert pickle.loads(pickle.dumps(few)).loads == list(few.loads)
    s.plot(tmp_path / "many.html")
    s.to_trace(tmp_path / "many.json")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "8", None, 10**400, 2**62 + 1])
def test_impossible_numbers_of_processors_are_refused(count: Any) -> None:
    with pytest.raises(px.PhalanxError, match="pram: processors is"):
        px.machines.pram(count)
