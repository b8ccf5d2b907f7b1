# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The program of a master and three workers: its messages, its loads, and that it runs on threads."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import phalanx as px
from phalanx.program.graph import Graph
from phalanx.program.ops import ADD, MUL, SUB
from phalanx.study.machines import PROGRAMS as NAMES
from phalanx.study.scheduling import worker_programs as program
from phalanx.study.scheduling.worker_programs import Message, Send
from reference import channels
from reference.channels import Channel, prepared, run_on_threads, tasks
from reference.sampling import agree


def table(n: int) -> Counter[Message]:
    """The paper's table of messages, for any number of joints."""
    vectors = {
        ("P1", "P2"): ("w", "n"),
        ("P1", "P3"): ("w",),
        ("P2", "P1"): ("wd",),
        ("P2", "P3"): ("wd", "psi"),
        ("P3", "P2"): ("vd",),
        ("P3", "P1"): ("F", "f"),
    }
    wanted = Counter({Message(a, b, x, 3): n for (a, b), contents in vectors.items() for x in contents})
    wanted += Counter({Message("P0", worker, "joints", 3 * n): 1 for worker in ("P1", "P2", "P3")})
    return wanted + Counter({Message("P2", "P0", "tau", 1): n})


@pytest.mark.parametrize("name", program.PROGRAMS)
@pytest.mark.parametrize("n", [1, 2, 6, 11])
def test_four_threads_give_the_torques_with_the_messages_of_the_paper(n: int, name: str) -> None:
    robot = (px.load("puma560") if n == 6 else px.chain(n)).replace(armature=0.1)
    q, qd, qdd = robot.random_state((3,), rng=0)
    tau, sent = run_on_threads(robot, q, qd, qdd, program=name)
    agree(tau, robot.inverse_dynamics(q, qd, qdd, algorithm="newton_euler"), 1e-12)
    assert sent == table(n)
    assert sent == Counter(m for m, _ in program.messages(n, name))
    one, _ = run_on_threads(robot, q[0], qd, qdd[0], program=name)
    agree(one, robot.inverse_dynamics(q[0], qd, qdd[0]), 1e-12)


def test_six_joints_take_63_messages_of_222_reals() -> None:
    # 3 x 18 of joint data, 54 vectors, 6 torques.
    sent = Counter(m for m, _ in program.messages(6))
    assert sent.total() == 63
    assert sum(m.reals * k for m, k in sent.items()) == 54 + 162 + 6
    reals = Counter[tuple[str, str]]()
    for m, k in sent.items():
        reals[m.sender, m.receiver] += m.reals * k
    assert reals["P1", "P2"] == reals["P2", "P3"] == reals["P3", "P1"] == 36
    assert reals["P1", "P3"] == reals["P2", "P1"] == reals["P3", "P2"] == 18
    assert reals["P2", "P0"] == 6


@pytest.mark.parametrize("name", program.PROGRAMS)
def test_every_task_finds_its_inputs_on_its_own_processor(name: str) -> None:
    n = 5
    arrived = {(m.receiver, (m.content, i)) for m, i in program.messages(n, name)}
    made = {(t.processor, t.output) for t in tasks(n, name)}
    known = prepared(px.chain(n).model, np.zeros(n), np.zeros(n), np.zeros(n))
    for task in tasks(n, name):
        for value in task.inputs:
            here = (task.processor, value)
            assert value in known or here in made or here in arrived, f"{task.processor} lacks {value}"
    assert {t.equation for t in tasks(n, name)} == {f"({k})" for k in range(5, 14)}


def test_the_loads_of_the_workers_are_those_of_the_paper() -> None:
    # Per joint, J diagonal, A, p and A' z0 prepared; the projection (13) is not charged.
    graph = Graph()
    fresh = lambda *shape: np.reshape(  # noqa: E731
        [graph.input(f"symbol {len(graph.nodes)}", k) for k in range(int(np.prod(shape)))], shape
    )
    values = {}
    i = 3
    for name in ("w", "wd", "vd", "psi", "F", "f", "n", "p", "s"):
        for k in (i - 1, i, i + 1):
            values[name, k] = fresh(3)
    for k in (i, i + 1):
        values["A", k] = fresh(3, 3)
        values["A", k][2, 0] = 0.0
    values["J", i] = np.diag(fresh(3)) + np.zeros((3, 3))
    values["m", i], values["Az", i] = fresh(1), fresh(3)
    for name in ("zqd", "zqdd"):
        values[name, i] = np.array([0.0, 0.0, fresh(1)[0]], dtype=object)
    loads = {}
    for task in tasks(6):
        if task.output[1] != i or task.equation == "(13)":
            continue
        before = len(graph.nodes)
        values[task.output] = task.run(*(values[x] for x in task.inputs))
        made = [node.op for node in graph.nodes[before:]]
        old = loads.get(task.processor, (0, 0))
        loads[task.processor] = (old[0] + made.count(MUL), old[1] + made.count(ADD) + made.count(SUB))
    assert loads == {"P1": (40, 32), "P2": (28, 23), "P3": (37, 28)}


def test_all_programs_have_the_same_tasks_on_the_same_processors() -> None:
    assert tuple(program.PROGRAMS) == NAMES
    wanted = {(t.processor, t.output) for t in tasks(4)}
    assert all({(t.processor, t.output) for t in tasks(4, name)} == wanted for name in program.PROGRAMS)


def test_a_full_buffer_does_not_hold_up_the_sender() -> None:
    channel = Channel("P1", "P2", buffered=True)
    for i in (1, 2):
        channel.offer(("w", i), float(i))
        channel.wait()
    assert [channel.take(("w", i)) for i in (1, 2)] == [1.0, 2.0]


def test_processors_that_wait_for_each_other_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = program.TransputerProgram((program.Receive("w", "P2"),), ())
    deaf = {**program.PROGRAMS["repaired"].of, "P1": stuck}
    monkeypatch.setitem(program.PROGRAMS, "repaired", program.Programs(deaf))
    with pytest.raises(px.PhalanxError, match="transputers: P0, P1, P2, P3 wait for each other's messages"):
        px.schedule(px.chain(3), "inverse_dynamics", "zomaya_morris", px.machines.transputers())


def test_an_unknown_program_is_refused() -> None:
    with pytest.raises(px.PhalanxError, match="program is 'printed', expected one of 'repaired'"):
        run_on_threads(px.chain(2), np.zeros(2), np.zeros(2), np.zeros(2), program="printed")


def test_other_chains_are_refused() -> None:
    robot = px.load("stanford")
    with pytest.raises(
        px.PhalanxError, match='"zomaya_morris" does not cover robot "stanford": joint "joint3"'
    ):
        run_on_threads(robot, *robot.random_state(rng=0))


def test_states_of_another_length_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match=r"run_on_threads: q, qd, qdd have shapes \(3,\).*\(…, 2\)"):
        run_on_threads(px.chain(2), np.zeros(3), np.zeros(2), np.zeros(2))


def test_a_channel_delivers_only_what_is_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = Channel("P1", "P2")
    channel.offer(("w", 1), 0.0)
    with pytest.raises(px.PhalanxError, match=r"channel P1 to P2: got \('w', 1\), expected \('w', 2\)"):
        channel.take(("w", 2))
    monkeypatch.setattr(channels, "_PATIENCE", 0.01)
    with pytest.raises(px.PhalanxError, match="channel P1 to P2: nothing came within"):
        channel.take(("w", 1))
    assert program.message("P1", Send("tau", "P0"), 6).reals == 1
