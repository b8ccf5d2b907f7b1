# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules on real workers: equal to kernels, refused where they would hang, ended when a worker dies."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.mailboxes import Worker
from phalanx.study.machines import PROGRAMS
from phalanx.study.scheduling.execution import execution_plan
from reference.sampling import agree

_TOLERANCE = 1e-14  # relative


def puma() -> tuple[px.Robot, px.Schedule]:
    robot = px.load("puma560").replace(armature=0.1)
    return robot, px.schedule(robot, "inverse_dynamics", "zomaya_morris", px.machines.transputers(4))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("block", [1, 3, 64])
def test_the_transputers_give_the_kernels_torques(program: str, block: int) -> None:
    robot = px.load("puma560").replace(armature=0.1)
    s = px.schedule(robot, "inverse_dynamics", "zomaya_morris", px.machines.transputers(4, program=program))
    q, qd, qdd = robot.random_state((3, 67), rng=0)
    run = s.run(q, qd[0], qdd, block=block, repeats=2)
    agree(run.result, robot.inverse_dynamics(q, qd[0], qdd), _TOLERANCE)
    assert run.result.shape == (3, 67, 6)
    assert run.states == 201
    assert run.seconds_per_state == run.seconds / 201 > 0.0


@dataclass(frozen=True)
class Star(px.machines.Machine):
    """Workers that are linked with the master only, which relays what they exchange."""

    count: int = 4
    master: int = 0
    links: px.machines.LinkTimes = field(default_factory=lambda: px.machines.LinkTimes(1.0, 0.1))

    def pairs(self) -> list[tuple[int, int]]:
        return [(0, k) for k in range(1, self.count)]


@pytest.mark.parametrize(
    ("function", "machine", "granularity"),
    [
        ("inverse_dynamics", px.machines.pram(3), "scalar"),
        ("forward_dynamics", px.machines.pram(4), "equation"),
        ("mass_matrix", px.machines.pram(2), "vector"),
        ("forward_dynamics", px.machines.pram(2, assignment="segments"), "equation"),
        ("inverse_dynamics", px.machines.transputers(3, assignment="list"), "equation"),
        ("inverse_dynamics", Star(), "equation"),
        ("mass_matrix", px.machines.processor_array("n", assignment="list"), "equation"),
    ],
)
def test_list_schedules_give_the_kernels_results(function: str, machine: Any, granularity: str) -> None:
    robot = px.load("puma560")
    s = px.schedule(robot, function, machine=machine, granularity=granularity)
    inputs = robot.random_state((5,), rng=1)[: 1 if function == "mass_matrix" else 3]
    for block in (1, 64):
        agree(s.run(*inputs, block=block).result, getattr(robot, function)(*inputs), 1e-13)


def test_a_star_relays_through_its_master() -> None:
    robot = px.load("puma560")
    plan = execution_plan(px.schedule(robot, "inverse_dynamics", machine=Star(), granularity="equation"))
    by_number = {m.number: m for m in plan.messages}
    assert all(0 in (m.sender, m.receiver) for m in plan.messages)
    master = plan.workers[0]
    passed_on = {by_number[s.number].task for s in master.steps if s.kind == "send"}
    received = {by_number[s.number].task for s in master.steps if s.kind == "receive"}
    assert (passed_on - {-1}) <= received


@pytest.mark.parametrize("processors", ["n", "n(n+1)/2"])
@pytest.mark.parametrize("form", ["newton_euler", "composite"])
def test_the_processor_array_computes_the_mass_matrix(form: str, processors: str) -> None:
    robot = px.chain(3).replace(armature=0.2)
    machine = px.machines.processor_array(processors)
    s = px.schedule(robot, "mass_matrix", ("processor_array", {"form": form}), machine)
    q, _, _ = robot.random_state((9,), rng=2)
    agree(s.run(q).result, robot.mass_matrix(q), 1e-13)


def test_messages_carry_what_is_needed_and_no_more_than_the_schedule_says() -> None:
    _, s = puma()
    plan = execution_plan(s)
    assert {(m.sender, m.receiver, m.task) for m in plan.messages} <= {
        (m.sender, m.receiver, m.task) for m in s.messages
    }
    assert 0 < sum(len(m.content) for m in plan.messages) <= s.words
    sends = sorted(x.number for w in plan.workers for x in w.steps if x.kind == "send")
    receives = sorted(x.number for w in plan.workers for x in w.steps if x.kind == "receive")
    assert sends == receives == list(range(len(plan.messages)))


def test_the_timeline_has_every_task_once_and_in_the_order_of_its_processor() -> None:
    robot, s = puma()
    run = s.run(*robot.random_state((130,), rng=0))
    assert sorted(t.task for t in run.timeline) == sorted(t.task for t in s.tasks)
    assert {t.task: t.processor for t in run.timeline} == {t.task: t.processor for t in s.tasks}
    for p in range(4):
        own = [t for t in run.timeline if t.processor == p]
        assert all(a.end <= b.start + 1e-6 for a, b in pairwise(own))
    assert max(t.end for t in run.timeline) <= 1e6 * run.seconds
    assert "by threads: 130 states" in repr(run)


@pytest.mark.parametrize("suffix", [".png", ".html"])
def test_predicted_and_measured_charts_are_drawn_together(tmp_path: Path, suffix: str) -> None:
    robot, s = puma()
    file = s.run(*robot.random_state(rng=0)).plot(tmp_path / f"chart{suffix}")
    assert file.stat().st_size > 5000
    if suffix == ".html":
        page = file.read_text(encoding="utf-8")
        assert page.index("predicted") < page.index("measured") < page.index("microseconds")
    with pytest.raises(px.PhalanxError, match=r"expected \.html"):
        s.run(*robot.random_state(rng=0)).plot(tmp_path / "chart.gif")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transport": "thread"}, 'did you mean "threads"'),
        ({"transport": 3}, "transports: "),
        ({"block": 0}, "block is 0, expected an integer of at least 1"),
        ({"in_flight": 1.5}, "in_flight is 1.5"),
        ({"repeats": True}, "repeats is True"),
    ],
)
def test_wrong_options_are_refused(change: dict[str, Any], message: str) -> None:
    robot, s = puma()
    with pytest.raises(px.PhalanxError, match=message):
        s.run(*robot.random_state(rng=0), **change)


def test_wrong_shapes_are_refused() -> None:
    _, s = puma()
    with pytest.raises(px.PhalanxError, match=r"q has shape \(5,\), expected \(…, 6\)"):
        s.run(np.zeros(5), np.zeros(6), np.zeros(6))
    with pytest.raises(px.PhalanxError, match="2 inputs, expected 3: q, qd, qdd"):
        s.run(np.zeros(6), np.zeros(6))
    with pytest.raises(px.PhalanxError, match="do not broadcast"):
        s.run(np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(6))
    with pytest.raises(px.PhalanxError, match="at least one state"):
        s.run(np.zeros((0, 6)), np.zeros(6), np.zeros(6))
    with pytest.raises(px.PhalanxError, match="q is 'x', expected numbers"):
        s.run("x", np.zeros(6), np.zeros(6))


def test_counted_schedules_do_not_run() -> None:
    robot = px.load("puma560")
    s = px.schedule(robot, "inverse_dynamics", "zomaya_morris", px.machines.pram(2), customise="semi")
    with pytest.raises(px.PhalanxError, match="counted, not computed"):
        s.run(*robot.random_state(rng=0))
    frame, pram = robot.frame_names[-1], px.machines.pram(2)
    s = px.schedule(robot, "jacobian", "auto", pram, frame=frame, customise="full", convention="program")
    with pytest.raises(px.PhalanxError, match=r"jacobian of .*counted.*of a function that is not of a frame"):
        s.run(robot.neutral())


def test_receives_that_can_never_be_met_are_refused_before_anything_runs() -> None:
    robot, s = puma()
    state = robot.random_state(rng=0)
    w = next(t for t in s.tasks if t.name == "w[1]")
    silent = replace(s, messages=tuple(m for m in s.messages if m.task != w.task))
    with pytest.raises(px.PhalanxError, match=r"waits for task \d+ \(w\[1\]\), and no message brings it"):
        silent.run(*state)
    # The processor that computes w[1] for others does so after what needs the others' answers.
    last = max(t.end for t in s.tasks if t.processor == w.processor)
    late = tuple(replace(t, start=last, end=last + 1.0) if t is w else t for t in s.tasks)
    with pytest.raises(px.PhalanxError, match=r"wait for each other's messages.*can never be met"):
        replace(s, tasks=late).run(*state)


def test_a_worker_that_dies_ends_the_run_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, s = puma()
    state = robot.random_state((200,), rng=0)
    s.run(*state)
    whole = Worker.run

    def run(self: Worker, repeat: int = 0) -> bool:
        if self.number == 2:
            raise MemoryError("no more")
        return whole(self, repeat)

    monkeypatch.setattr(Worker, "run", run)
    begun = time.monotonic()
    with pytest.raises(px.PhalanxError, match="worker P2 died"):
        s.run(*state)
    assert time.monotonic() - begun < 10.0


def test_more_workers_than_cores_still_end() -> None:
    robot = px.load("puma560")
    s = px.schedule(robot, "inverse_dynamics", machine=px.machines.pram(24), granularity="vector")
    state = robot.random_state((100,), rng=0)
    agree(s.run(*state, block=1).result, robot.inverse_dynamics(*state), 1e-13)


def test_a_schedule_that_has_run_can_be_pickled_and_runs_again() -> None:
    robot, s = puma()
    state = robot.random_state(rng=0)
    first = s.run(*state).result
    assert np.array_equal(pickle.loads(pickle.dumps(s)).run(*state).result, first)
    listed = px.schedule(robot, "inverse_dynamics", machine=px.machines.pram(2), granularity="equation")
    assert np.array_equal(pickle.loads(pickle.dumps(listed)).run(*state).result, listed.run(*state).result)


def test_segments_exchange_only_what_passes_the_cut() -> None:
    robot = px.chain(12)
    s = px.schedule(
        robot, "inverse_dynamics", machine=px.machines.pram(2, assignment="segments"), granularity="equation"
    )
    half = {t.link: t.processor for t in s.tasks}
    assert [half[k] for k in sorted(half)] == sorted(half[k] for k in half)
    assert set(half.values()) == {0, 1}
    listed = px.schedule(robot, "inverse_dynamics", machine=px.machines.pram(2), granularity="equation")
    assert len(execution_plan(s).messages) < len(execution_plan(listed).messages) / 3
    with pytest.raises(px.PhalanxError, match="pram: assignment is 'paper'"):
        px.machines.pram(2, assignment="paper")


@pytest.mark.parametrize(("block", "in_flight"), [(1, 1), (1, 7), (8, 2), (8, 3), (64, 1000)])
def test_overlapping_blocks_give_the_same_bits(block: int, in_flight: int) -> None:
    # Every block passes from worker to worker and back.
    robot = px.chain(12)
    machine = px.machines.pram(3, assignment="segments")
    s = px.schedule(robot, "inverse_dynamics", machine=machine, granularity="equation")
    states = robot.random_state((131,), rng=4)
    wanted = robot.inverse_dynamics(*states)
    alone = s.run(*states, block=block, in_flight=1).result
    agree(alone, wanted, 1e-13)
    run = s.run(*states, block=block, in_flight=in_flight, repeats=3)
    np.testing.assert_array_equal(run.result, alone)
    assert sorted(t.task for t in run.timeline) == sorted(t.task for t in s.tasks)
    assert all(t.start <= t.end for t in run.timeline)
