# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the papers print about processors and times, next to what schedules give."""

from __future__ import annotations

from collections import Counter
from math import ceil, log2
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.recursive_doubling import stage_a_levels, stage_b_levels
from phalanx.study.scheduling.array_program import ArraySchedule, array_schedule
from phalanx.study.scheduling.list_scheduler import SystolicSchedule
from phalanx.study.scheduling.networks import shuffle
from phalanx.study.scheduling.placement import PlacedMessage
from phalanx.study.scheduling.validity import violations
from phalanx.study.scheduling.worker_programs import messages as program_messages
from reference.channels import run_on_threads

M = px.machines


# ------------------------------------------------------------------- Zomaya and Morris 1989


def transputers(**options: Any) -> Any:
    return px.schedule(px.load("puma560"), "inverse_dynamics", "zomaya_morris", M.transputers(**options))


def test_the_published_432_operations_are_the_load_of_one_processor_not_the_time() -> None:
    s = transputers()
    assert violations(s) == []
    assert s.loads == (0.0, 432.0, 306.0, 390.0)
    assert s.makespan == 567.0
    assert (s.path.multiplications, s.path.additions) == (291, 276)
    assert s.work == 630 + 498, "Table 3 with diagonal inertias, six joints"


@pytest.mark.parametrize(
    ("program", "makespan", "path"), [("delayed", 632.0, (346, 286)), ("ahead", 549.0, (291, 258))]
)
def test_the_other_programs_take_as_long_as_simulated_elsewhere(
    program: str, makespan: float, path: tuple[int, int]
) -> None:
    s = transputers(program=program)
    assert violations(s) == []
    assert s.loads == (0.0, 432.0, 306.0, 390.0), "the same tasks on the same processors"
    assert s.makespan == makespan
    assert (s.path.multiplications, s.path.additions) == path
    assert program in str(s.machine)


@pytest.mark.parametrize("program", ["repaired", "delayed", "ahead"])
def test_messages_are_those_of_the_program_that_really_runs(program: str) -> None:
    robot = px.load("puma560")
    s = transputers(program=program)
    assert violations(transputers(program=program, unit="microseconds")) == []
    assert (len(s.messages), s.words) == (63, 222)
    links = Counter((s.processors[m.sender], s.processors[m.receiver]) for m in s.messages)
    reals: Counter[tuple[str, str]] = Counter()
    for m in s.messages:
        reals[s.processors[m.sender], s.processors[m.receiver]] += m.words
    _, sent = run_on_threads(robot, *robot.random_state(rng=0), program=program)
    for link in links:
        told = {x: n for x, n in sent.items() if (x.sender, x.receiver) == link}
        assert links[link] == sum(told.values())
        assert reals[link] == sum(x.reals * n for x, n in told.items())
    assert len(program_messages(6, program)) == 63


def test_with_assumed_figures_of_the_t800_the_speed_up_is_near_the_published_one() -> None:
    # The time of an operation is itself inferred from the printed 2 ms; ratios do not depend on it.
    timed = transputers(unit="microseconds")
    assert violations(timed) == []
    assert timed.speedup == pytest.approx(1.7, abs=0.05), "41 % less than on one processor"
    assert timed.makespan == pytest.approx(2000.0, rel=0.01), "consistent with where the figure comes from"
    assert sum(isinstance(e, PlacedMessage) for e in timed.critical) == 38
    free = transputers(unit="microseconds", per_word=0.0)
    assert free.makespan == 567 * 3.0
    double = transputers(unit="microseconds", figures=M.T800(bytes_per_real=8.0))
    assert double.makespan == pytest.approx(2300.0, rel=0.01)


def test_a_list_schedule_on_the_same_machine_is_faster_than_the_paper() -> None:
    robot, machine = px.load("puma560"), M.transputers(assignment="list", unit="microseconds")
    s = px.schedule(
        robot, "inverse_dynamics", "zomaya_morris", machine, granularity="vector", customise="semi"
    )
    assert violations(s) == []
    assert s.makespan < 0.8 * transputers(unit="microseconds").makespan


@pytest.mark.parametrize("program", ["repaired", "delayed", "ahead"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_the_programs_run_for_any_number_of_joints_without_deadlock(n: int, program: str) -> None:
    s = px.schedule(px.chain(n), "inverse_dynamics", machine=M.transputers(program=program))
    assert violations(s) == []
    assert len(s.messages) == 3 + 10 * n
    assert s.words == 37 * n
    assert max(s.loads) == (52 + 44) * n, "dense inertias: P1 has 52 and 44 per joint"


# ------------------------------------------------------------------- Lathrop 1985


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 13])
def test_linear_recursion_takes_its_published_time_on_enough_processors(n: int) -> None:
    s = px.schedule(px.chain(n), "inverse_dynamics", "luh_walker_paul", M.pram(1000), customise="none")
    assert (s.path.multiplications, s.path.additions) == (2 * n + 3, 6 * n + 7)
    assert s.makespan == 8 * n + 10


@pytest.mark.parametrize("n", [3, 5, 6, 7, 9, 12, 15])
def test_logarithmic_recursion_takes_its_published_time_on_enough_processors(n: int) -> None:
    s = px.schedule(px.chain(n), "inverse_dynamics", "lathrop", M.pram(10_000), customise="none")
    K = ceil(log2(n + 1))
    assert (s.path.multiplications, s.path.additions) == (2 * K + 5, 6 * K + 10)


def systolic(n: int, algorithm: str = "luh_walker_paul", **options: Any) -> SystolicSchedule:
    s = px.schedule(px.chain(n), "inverse_dynamics", algorithm, M.systolic(**options), customise="none")
    assert isinstance(s, SystolicSchedule)
    assert violations(s) == []
    return s


@pytest.mark.parametrize("n", [1, 2, 6, 9])
def test_the_pipeline_has_30_processors_a_link_and_starts_a_set_every_four_operations(n: int) -> None:
    s = systolic(n)
    assert len(s.processors) == 30 * n, "132 + 48 at six joints"
    assert s.latency == 8 * n + 10
    assert s.conflicts(4.0) == [], "MV + VA, the published interval"
    assert s.interval == 3.0, "the longest single step, a product with a matrix"
    assert s.conflicts(2.0) != []


@pytest.mark.parametrize("n", [3, 4, 6, 8, 13])
def test_the_single_device_runs_at_full_speed_and_its_halves_can_overlap(n: int) -> None:
    s = systolic(n, nodes="one")
    assert s.latency == 8 * n + 10
    assert s.interval == 4 * n + 6
    assert s.conflicts(4 * n + 5.0) != []


def test_reservations_of_one_processor_never_meet_at_the_interval() -> None:
    s = systolic(5, nodes="one")
    slots: Counter[tuple[int, int]] = Counter()
    for p, row in enumerate(s.reservations):
        for start, end in row:
            slots.update((p, t % int(s.interval)) for t in range(int(start), int(end)))
    assert set(slots.values()) == {1}, "counted by hand, unit by unit"


# ------------------------------------------------------------------- recursive doubling


@pytest.mark.parametrize("n", [2, 4, 8])
def test_recursive_doubling_grows_by_the_same_time_for_every_level(n: int) -> None:
    times = [
        px.schedule(
            px.chain(k), "mass_matrix", "recursive_doubling", M.pram(10**5), customise="semi"
        ).makespan
        for k in (n, 2 * n)
    ]
    assert times[0] == 13 * log2(n) + 4
    assert times[1] - times[0] == 13.0
    assert len(stage_a_levels(n)) == len(stage_b_levels(n)) == log2(n)


# ------------------------------------------------------------------- Fijany's arrays


FORMS: dict[str, dict[str, str]] = {
    "apart": {},
    "inside": {"moment": "inside"},
    "composite": {"form": "composite"},
    "base": {"form": "composite_base"},
}


def array(
    n: int, processors: str = "n(n+1)/2", form: str = "apart", prismatic: float = 0.0, **options: Any
) -> ArraySchedule:
    robot = px.chain(n, seed=n, prismatic=prismatic)
    q = robot.random_state(rng=n)[0]
    machine = M.processor_array(processors, **options)
    s = array_schedule(robot, machine, q, algorithm=("processor_array", FORMS[form]))
    assert violations(s) == []
    expected = robot.mass_matrix(q, algorithm="crba", backend="numpy")
    np.testing.assert_allclose(s.mass_matrix, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())
    return s


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("network", ["shuffle-exchange", "nearest"])
@pytest.mark.parametrize("processors", ["n(n+1)/2", "n"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 8, 11])
def test_arrays_compute_the_mass_matrix_while_they_are_scheduled(
    n: int, processors: str, network: str, form: str
) -> None:
    for prismatic in (0.0, 0.4):
        s = array(n, processors, form, prismatic, network=network)
        assert len(s.processors) == M.processor_array(processors).count(n)
        steps = s.communication_steps
        # Driven by data, the last processor need not be the one that works longest.
        assert s.makespan <= s.busiest.total + steps, "a step of communication takes one unit"
        if prismatic == 0.0 or form != "base":
            assert s.makespan == s.busiest.total + steps


@pytest.mark.parametrize("L", range(5))
@pytest.mark.parametrize(
    ("form", "slopes", "constants"),
    [
        ("apart", (27, 27), (91, 59)),  # as listed
        ("inside", (33, 33), (109, 74)),  # printed: 33L + 109, 33L + 89
        ("composite", (48, 63), (100, 65)),  # printed, all four
        ("base", (48, 60), (100, 68)),  # arms are differences
    ],
)
def test_a_processor_of_the_triangle_has_the_published_slopes(
    form: str, slopes: tuple[int, int], constants: tuple[int, int], L: int
) -> None:
    busiest = array(2**L, form=form).busiest
    expected = tuple(slope * L + constant for slope, constant in zip(slopes, constants, strict=True))
    assert (busiest.multiplications, busiest.additions) == expected


def test_six_joints_take_what_the_table_says() -> None:
    composite, inside = array(6, form="composite").busiest, array(6, form="inside").busiest
    assert (composite.multiplications, composite.additions) == (244, 254)
    assert inside.multiplications == 208


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8])
@pytest.mark.parametrize(
    ("form", "rows", "doublings"),
    [("apart", (39, 38), (27, 18)), ("inside", (39, 38), (27, 18)), ("composite", (9, 8), (48, 60))],
)
def test_a_processor_of_the_row_has_the_published_slopes(
    form: str, rows: tuple[int, int], doublings: tuple[int, int], n: int
) -> None:
    # Printed for composite bodies: 9n + 48L and 8n + 63L; row by row no arms are doubled.
    small, large = array(n, "n", form).busiest, array(n + 1, "n", form).busiest
    levels = ceil(log2(n + 1)) - ceil(log2(n))
    assert large.multiplications - small.multiplications == rows[0] + doublings[0] * levels
    assert large.additions - small.additions == rows[1] + doublings[1] * levels


def test_the_options_of_the_algorithm_tell_the_form() -> None:
    robot, machine = px.load("puma560"), M.processor_array()
    s = px.schedule(robot, "mass_matrix", ("processor_array", {"form": "composite"}), machine)
    assert isinstance(s, ArraySchedule)
    assert (s.busiest.multiplications, s.busiest.additions) == (244, 254)
    assert 'form="composite"' in s.graph.title


@pytest.mark.parametrize("L", [1, 3, 4])
def test_communication_is_logarithmic_with_a_shuffle_and_linear_without(L: int) -> None:
    n = 2**L
    shuffled, nearest = array(n).communication_steps, array(n, network="nearest").communication_steps
    assert shuffled == 12 * L - 5, "R, P, F and N: L exchanges, L - 1 shuffles there and back; three shifts"
    assert nearest == 4 * (n - 1) + 3
    shuffled = array(n, form="composite").communication_steps
    assert shuffled == 9 * L - 4, "R, bodies and arms; two shifts"


@pytest.mark.parametrize("n", [2, 6, 16])
def test_rows_driven_by_data_end_earlier_than_clocked_ones(n: int) -> None:
    driven, clocked = (array(n, form="base", rows=rows) for rows in ("driven by data", "clocked"))
    # Clocked, all values go along the rows first, then down the columns.
    assert clocked.makespan - driven.makespan == n - 1
    assert clocked.communication_steps - driven.communication_steps == n - 1
    wave = [t.start for t in driven.tasks if t.quantity == "a"]
    assert len(set(wave)) == n, "a wave front for each column"


@pytest.mark.parametrize("processors", ["n(n+1)/2", "n"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", range(1, 11))
def test_a_shuffle_besides_neighbours_is_never_worse(n: int, form: str, processors: str) -> None:
    with_shuffle = array(n, processors, form=form)
    nearest = array(n, processors, form=form, network="nearest")
    assert with_shuffle.communication_steps <= nearest.communication_steps
    assert with_shuffle.makespan <= nearest.makespan


@pytest.mark.parametrize("count", range(1, 34))
def test_a_shuffle_makes_distant_partners_neighbours(count: int) -> None:
    to = shuffle(count)
    assert sorted(to) == list(range(count))
    back = [to.index(k) for k in range(count)]
    where = list(range(count))
    for level in range((count - 1).bit_length()):
        assert all(where[k + 2**level] - where[k] == 1 for k in range(count - 2**level))
        where = [back[k] for k in where]


@pytest.mark.parametrize("network", ["shuffle-exchange", "nearest"])
@pytest.mark.parametrize("processors", ["n(n+1)/2", "n"])
def test_what_an_array_waited_for_reaches_back_to_the_beginning(processors: str, network: str) -> None:
    machine = px.machines.processor_array(processors, network=network)
    s = px.schedule(px.load("puma560"), "mass_matrix", machine=machine)
    assert s.critical[0].start == 0.0
    last = s.critical[-1]
    assert getattr(last, "end", getattr(last, "arrival", None)) == s.makespan


@pytest.mark.parametrize("program", M.PROGRAMS)
def test_on_a_tree_the_master_relays_what_workers_send_each_other(program: str) -> None:
    robot = px.load("puma560")
    times = {}
    for network in M.TOPOLOGIES:
        machine = M.transputers(4, program=program, network=network, unit="microseconds")
        s = times[network] = px.schedule(robot, "inverse_dynamics", "zomaya_morris", machine)
        assert violations(s) == []
    tree = times["tree"]
    assert tree.makespan > times["all pairs"].makespan
    for m in tree.messages:
        wanted = [m.sender, m.receiver] if 0 in (m.sender, m.receiver) else [m.sender, 0, m.receiver]
        assert [m.hops[0].sender, *(hop.receiver for hop in m.hops)] == wanted
    free = [
        px.schedule(robot, "inverse_dynamics", "zomaya_morris", M.transputers(4, program=program, network=n))
        for n in M.TOPOLOGIES
    ]
    assert free[0].makespan == free[1].makespan, "messages that take no time"


@pytest.mark.parametrize("assignment", ["paper", "list"])
def test_a_schedule_on_a_tree_runs(assignment: str) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    robot = px.load("puma560")
    machine = M.transputers(4, assignment=assignment, network="tree", unit="microseconds")
    s = px.schedule(robot, "inverse_dynamics", "zomaya_morris", machine)
    state = robot.random_state((5,), rng=2)
    np.testing.assert_allclose(s.run(*state).result, robot.inverse_dynamics(*state), rtol=0.0, atol=1e-11)


# ------------------------------------------------------------------- Luh and Lin: one processor a joint


@pytest.mark.parametrize("per_word", [0.0, 2.0])
def test_every_task_runs_where_its_joint_is(per_word: float) -> None:
    robot = px.load("stanford")
    s = px.schedule(robot, "inverse_dynamics", "luh_walker_paul", M.joint_processors(per_word=per_word))
    assert violations(s) == []
    assert len(s.processors) == 6
    assert all(t.processor == max(t.link, 0) for t in s.tasks)
    assert bool(s.messages) == (per_word > 0.0)
    assert s.makespan >= max(s.loads)


def test_joints_with_several_axes_have_a_processor_for_each() -> None:
    robot = px.tree(4, 1.0, seed=2).with_floating_base()
    s = px.schedule(robot, "mass_matrix", machine=M.joint_processors(start_up=5.0))
    assert violations(s) == []
    assert len(s.processors) <= robot.nv
    assert str(s.machine) == "joint_processors(start_up=5, per_word=0)"


def test_concurrency_of_one_processor_a_joint() -> None:
    robot = px.load("stanford")
    s = px.schedule(
        robot, "inverse_dynamics", "luh_walker_paul", M.joint_processors(), granularity="vector",
        customise="none", convention="lathrop_online",
    )  # fmt: skip
    assert s.work / s.makespan == pytest.approx(2.71, abs=0.01)
