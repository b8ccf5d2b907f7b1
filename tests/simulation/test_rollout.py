# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The program of a rollout: compiled code against its interpreter, and counts against those of a step."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import phalanx as px
from phalanx.program.analyses.count import runs
from phalanx.program.interpret import interpret
from phalanx.simulation.integrators import INTEGRATORS
from phalanx.simulation.rollout import COUNT, builder_of, final, forward, record
from reference.sampling import agree

STEPS, EVERY, HOLD = 12, 3, 4
RECORD = ("q", "qd", "tau", "qdd", "energy")


@pytest.fixture(params=["ur5", "floating"], name="robot")
def _robot(request: pytest.FixtureRequest) -> px.Robot:
    return px.load("ur5") if request.param == "ur5" else px.tree(3, seed=1).with_floating_base()


def program(sim: px.Simulation, steps: int = STEPS):  # type: ignore[no-untyped-def]
    """The program with numbers of steps in place of what is told."""
    step = sim._engine.repeated({name: name for name in RECORD})
    rows = steps // HOLD
    return forward(step, steps, EVERY, HOLD, builder_of(step, steps, EVERY, rows))


# Discrete mechanics compiles long.
@pytest.mark.parametrize("integrator", [name for name in INTEGRATORS if name != "variational"])
def test_compiled_loops_are_those_of_the_interpreter(robot: px.Robot, integrator: str) -> None:
    rng = np.random.default_rng(3)
    q, qd, _ = robot.random_state(rng=rng)
    u, gravity = rng.normal(size=(STEPS // HOLD, robot.nv)), np.array([1.0, 2.0, -9.0])
    sim = robot.simulation(1e-2, integrator=integrator, parameters=("gravity",))
    given = {"q": q, "qd": qd, "u": u, "parameters": gravity, COUNT: np.zeros(2)}
    meant = interpret(program(sim), given)
    run = sim.rollout(q, qd, u, steps=STEPS, every=EVERY, record=RECORD, parameters={"gravity": gravity})
    for name in RECORD:
        agree(run[name].ravel(), meant[record(name)].ravel(), 1e-11)
    for name, array in zip(("q", "qd"), run.final, strict=True):
        agree(array, meant[final(name)], 1e-11)
    assert meant[final(COUNT)].tolist() == [STEPS, 0.0]
    assert run.steps == STEPS


def test_operations_are_those_of_a_step_times_steps() -> None:
    """What only parameters enter is computed once."""
    robot = px.load("two_link")

    def law(t, q, qd, u, robot, *, kp):  # type: ignore[no-untyped-def]
        return u - kp * q - np.sqrt(2.0 * kp) * qd

    sim = robot.simulation(1e-2, integrator="euler", control=law, parameters={"kp": 2})

    def counted(steps: int) -> int:
        return sum(int(run.times.sum()) * len(run.values) for run in runs(program(sim, steps)))

    few, more = counted(12), counted(24)
    assert counted(48) - more == 2 * (more - few)
    # Two products and two roots stand before the loop, five operations on the clock behind it.
    assert few == more - few + 4 + 5


def test_a_step_costs_forward_dynamics_and_two_multiply_adds_a_joint() -> None:
    robot = px.load("ur5")
    own = robot.kernel("forward_dynamics").cost
    cost = robot.simulation(1e-3, damping=False, friction=False, limits=False).cost
    assert (cost.multiplications, cost.additions) == (own.multiplications + 12, own.additions + 12)


def test_a_step_too_long_for_one_kernel_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.tracing.equations.MOST", 300)
    sim = px.load("two_link").simulation(1e-3)
    with pytest.raises(
        px.PhalanxError, match=r"2 bodies\) is too long for one kernel; loop over robot.forward"
    ):
        sim.step(np.zeros(2), np.zeros(2))


def test_a_simulation_is_rebuilt_from_a_pickle() -> None:
    sim = px.load("two_link").simulation(2e-3, integrator="rk4", dtype="float32", damping=False)
    again = pickle.loads(pickle.dumps(sim))
    assert repr(again) == repr(sim)
    state = np.array([0.3, 0.4], np.float32), np.array([0.1, -0.2], np.float32)
    for a, b in zip(again.step(*state), sim.step(*state), strict=True):
        assert a.dtype == np.float32
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("most", [1, 3, 7, 21, 60])
@pytest.mark.parametrize(("every", "rows"), [(4, 6), (60, 60), (60, 1), (1, 2), (12, 4), (10, 3)])
def test_long_rollouts_in_several_calls_have_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, most: int, every: int, rows: int
) -> None:
    robot = px.load("two_link")
    sim = robot.simulation(1e-3, control=lambda t, q, qd, u, robot: u * np.sin(t) - q)
    rng = np.random.default_rng(0)
    q, qd, _ = robot.random_state((5,), rng)
    u = rng.normal(size=(5, rows, 2))
    whole = sim.rollout(q, qd, u, steps=60, every=every, record=("q", "tau"))
    monkeypatch.setattr("phalanx.simulation.engine._AT_ONCE", 5 * most)
    told: list[int] = []
    fill = sim._engine._fill
    monkeypatch.setattr(sim._engine, "_fill", lambda *a: (told.append(a[3][0]), fill(*a)))
    pieces = sim.rollout(q, qd, u, steps=60, every=every, record=("q", "tau"))
    assert sum(told) == 60
    assert max(told) <= most
    assert pieces.q.tobytes() == whole.q.tobytes()
    assert pieces.tau.tobytes() == whole.tau.tobytes()
    assert pieces.final[1].tobytes() == whole.final[1].tobytes()
