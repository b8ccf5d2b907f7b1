# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Long robots: a loop over time in Python gives what one kernel gives, with the same laws and records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.simulation import simulation, step
from phalanx.simulation.integrators import names
from reference.sampling import agree

RECORD = ("q", "qd", "tau", "qdd", "energy", "center_of_mass")
EULER = {"integrator": "euler"}  # "implicit", the default, is for shorter ones


def height(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return robot.center_of_mass(q)[..., 2] + 0.0 * t


@pytest.mark.parametrize("integrator", names(explicit=True))
def test_both_ways_agree(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = px.tree(5, 0.4, seed=3, joints=("spherical", "revolute", "prismatic")).with_floating_base()
    rng = np.random.default_rng(0)
    q, qd, _ = robot.random_state((4,), rng)
    options: dict[str, Any] = {
        "integrator": integrator,
        "control": px.control.pd(2.0, "kd"),
        "forces": lambda t, q, qd, u, robot: {robot.link_names[-1]: np.array([0.0, 0.1, 0.0, 1.0, 0.0, 2.0])},
    }
    arguments: dict[str, Any] = {
        "controls": np.broadcast_to(robot.neutral(), (4, 2, robot.nq)),
        "parameters": {"kd": rng.uniform(0.1, 0.3, (4, robot.nv))},
        "steps": 20,
        "every": 5,
        "record": {**{name: name for name in RECORD}, "height": height},
        "start": 3,
    }
    wanted = robot.simulation(1e-3, **EULER | options).rollout(q, 0.1 * qd, **arguments)
    monkeypatch.setattr(simulation, "LONG", 0)
    found = robot.simulation(1e-3, **EULER | options).rollout(q, 0.1 * qd, **arguments)
    for name in (*RECORD, "height"):
        agree(found[name], wanted[name], 1e-12)
    agree(found.final[0], wanted.final[0], 1e-12)
    assert found.time.tobytes() == wanted.time.tobytes()


def one_by_one(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, k: Any) -> Any:
    """Written for one state: of a batch q[0] would be the first simulation."""
    return u - k[0] * q[0] * np.ones(3) + robot.gravity_forces(q)


def first(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.stack([q[0], qd[-1], t])


def constant(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.arange(4.0)


@pytest.mark.parametrize("batch", [(), (4,), (2, 2)])
def test_laws_and_records_of_one_state_mean_the_same(
    monkeypatch: pytest.MonkeyPatch, batch: tuple[int, ...]
) -> None:
    robot = px.tree(3, seed=2)
    rng = np.random.default_rng(0)
    q, qd, _ = robot.random_state(batch, rng)
    own = robot.inertial_parameters.reshape(robot.n_links, 10) * rng.uniform(0.5, 2.0, (*batch, 1, 1))
    options: dict[str, Any] = {
        "control": one_by_one,
        "forces": lambda t, q, qd, u, robot: {robot.link_names[-1]: np.stack([q[0], 0, 0, qd[1], 0, t])},
        "parameters": {"k": 1, "inertias": own.shape[-2:]},
    }
    arguments: dict[str, Any] = {
        "parameters": {"k": rng.uniform(1.0, 2.0, (*batch, 1)), "inertias": own},
        "steps": 6,
        "every": 3,
        "record": ("q", "tau", "energy", "gravity_forces", first, constant),
    }
    wanted = robot.simulation(1e-2, **EULER | options).rollout(q, qd, **arguments)
    monkeypatch.setattr(simulation, "LONG", 0)
    found = robot.simulation(1e-2, **EULER | options).rollout(q, qd, **arguments)
    for name in wanted:
        agree(found[name], wanted[name], 1e-12)


def test_laws_of_long_robots_cannot_change_the_state_in_place() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        q[...] = 0.0
        return u

    with pytest.raises(px.PhalanxError, match=r"control law: it raises ValueError: .*read-only"):
        px.snake(300).simulation(1e-3, integrator="euler", control=law).step(np.ones(300), np.ones(300))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_snake_of_300_links_moves(dtype: str) -> None:
    robot = px.snake(300)
    sim = robot.simulation(
        1e-3, integrator="euler", control=px.control.pd(5.0, 1.0, gravity=False), dtype=dtype
    )
    rng = np.random.default_rng(0)
    q = 0.1 * rng.normal(size=(3, 300))
    run = sim.rollout(q, np.zeros_like(q), np.zeros(300), steps=4, every=2, record=("q", "energy"))
    assert run.q.dtype == dtype
    assert not run.diverged.any()
    state, h = (q.astype(dtype), np.zeros(q.shape, dtype)), 1e-3
    for k in range(4):
        tau = -5.0 * state[0] - state[1] - robot.damping * state[1]
        qd = state[1] + h * robot.forward_dynamics(*state, tau)
        state = state[0] + h * qd, qd
        if k % 2:
            agree(run.q[:, k // 2], state[0], 1e-12 if dtype == "float64" else 1e-5)
    one = sim.step(q[0], np.zeros(300), np.zeros(300))
    assert one[0].shape == (300,)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"control": lambda t, q, qd, u, robot: 1j * q}, "control law: its result: got .*real numbers"),
        ({"control": lambda t, q, qd, u, robot: None}, "control law: its result: got None"),
        ({"control": lambda q: q}, r"control law has the arguments \(q\), expected f\(t, q, qd, u, robot\)"),
        ({"control": lambda t, q, qd, u, robot, *, kp: q}, r'takes "kp" beside .* but none is declared'),
        ({"forces": lambda t, q, qd, u, robot: q}, "forces: got .* expected wrenches by frame"),
        ({"forces": lambda t, q, qd, u, robot: {"nowhere": np.zeros(6)}}, "nowhere"),
    ],
)
def test_what_laws_and_forces_of_long_robots_must_not_return(options: dict[str, Any], text: str) -> None:
    with pytest.raises(px.PhalanxError, match=text):
        px.snake(300).simulation(**EULER | options).step(np.zeros((3, 300)), np.zeros((3, 300)))


def test_long_robots_without_a_law_take_forces_for_all_alike() -> None:
    robot = px.snake(300)
    q = 0.1 * np.random.default_rng(0).normal(size=(3, 300))
    for u in (None, np.ones(300), np.ones((3, 300))):
        found, _ = robot.simulation(1e-3, integrator="euler", damping=False).step(q, 0.0 * q, u)
        tau = np.zeros(300) if u is None else u
        agree(found, q + 1e-6 * robot.forward_dynamics(q, 0.0 * q, tau), 1e-12)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"integrator": "implicit"},
            r"301 bodies; beyond 200 there is no integrator .implicit.; use 'euler'",
        ),
        ({"parameters": ("gravity",)}, "no parameter .gravity.; take a robot for each"),
    ],
)
def test_what_long_robots_lack_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(px.PhalanxError, match=text):
        px.snake(301).simulation(**EULER | options)


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda sim, q: sim.linearize(q, q), "no derivative of rollouts; use robot.jvp"),
        (lambda sim, q: sim.vjp((q, q), (q, None)), "no derivative of rollouts; use robot.vjp"),
        (lambda sim, q: sim.bind(q, q.copy()), "no bound step; use sim.step"),
        (lambda sim, q: sim.cost, "no program of a whole step; ask px.cost"),
        (lambda sim, q: sim.llvm_ir(), "several kernels"),
        (
            lambda sim, q: sim.robot.simulation(1e-3, integrator="euler", control=_one).step(q, q),
            r"shape \(1,\), expected \(300,\)",
        ),
        (
            lambda sim, q: sim.robot.simulation(1e-3, integrator="euler", control=_fails).step(q, q),
            "control law: it raises ZeroDivisionError",
        ),
    ],
)
def test_what_one_kernel_would_do_is_refused(ask: Any, text: str) -> None:
    with pytest.raises(px.PhalanxError, match=text):
        ask(px.snake(300).simulation(1e-3, integrator="euler"), np.zeros(300))


def _one(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q[..., :1]


def _fails(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return 1 // 0


def test_four_evaluations_a_step_count_as_four_robots() -> None:
    robot = px.snake(60)
    q = np.full(60, 0.1)
    run = robot.simulation(1e-3, integrator="rk4").rollout(q, 0.0 * q, steps=2, record="energy")
    assert abs(run.energy[1] - run.energy[0]) < 1e-6 * abs(run.energy[0])


def test_the_warning_of_divergence_offers_no_integrator_that_long_robots_lack() -> None:
    robot = px.snake(201)
    with pytest.warns(px.PhalanxWarning, match="1 of 1 simulations") as caught:
        robot.simulation(dt=0.1, integrator="euler").rollout(
            robot.neutral(), np.full(robot.nv, np.inf), steps=1
        )
    assert "implicit" not in str(caught[0].message)


def moving(robot: px.Robot) -> tuple[Any, Any]:
    """A state whose energy changes hands quickly."""
    rng = np.random.default_rng(0)
    return 0.1 * rng.normal(size=robot.nq), 0.1 * rng.normal(size=robot.nv)


@pytest.mark.parametrize("integrator", names(explicit=True))
def test_one_long_chain_moves_in_segments(integrator: str) -> None:
    """Accelerations are those of the one-state kernel in all bits, those of a batch equal to rounding."""
    robot = px.snake(400)
    sim = robot.simulation(1e-5, integrator=integrator)
    q, qd = moving(robot)
    one = sim.rollout(q, qd, steps=20, every=1, record=("q", "qd", "qdd", "energy"))
    kernel = robot.kernel("forward_dynamics", batch=1)
    assert kernel.algorithm == "partition"
    assert kernel.form.startswith("one state in all lanes")
    tau = np.zeros(robot.nv)
    assert one.qdd[7].tobytes() == kernel(one.q[6], one.qd[6], tau).tobytes()
    many = sim.rollout(np.stack([q, q, -q]), np.stack([qd, qd, qd]), steps=20, every=1)
    pair = sim.rollout(np.stack([q, q]), np.stack([qd, qd]), steps=20, every=20)
    assert pair.final[0][0].tobytes() == many.final[0][1].tobytes()
    agree(many.final[0][1], one.final[0], 1e-9)
    agree(many.final[1][0], one.final[1], 1e-9)
    assert one.qdd[7].tobytes() != robot.kernel("forward_dynamics", "aba")(one.q[6], one.qd[6], tau).tobytes()
    if integrator == "rk4":
        start = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
        assert np.abs(one.energy - start).max() < 1e-9 * robot.kinetic_energy(*one.final)
    for batch in ((1,), (1, 1)):  # one state, too
        again = sim.rollout(q.reshape(*batch, -1), qd.reshape(*batch, -1), steps=20, every=20)
        assert again.final[0].tobytes() == one.final[0].tobytes()
    half = sim.rollout(q, qd, steps=12, every=12)
    assert sim.rollout(*half.final, steps=8, every=8, start=12).final[1].tobytes() == one.final[1].tobytes()


def test_threads_share_one_long_chain_in_rollouts_and_do_not_change_its_bits() -> None:
    robot = px.snake(10_000)
    kernel = robot.kernel("forward_dynamics", batch=1)
    assert "threads share a state" in kernel.form
    sim = robot.simulation(1e-5, integrator="euler")
    q, qd = moving(robot)
    states = [sim.rollout(q, qd, steps=6, every=6, threads=p).final for p in (1, 2, 3, 7, None)]
    assert len({a.tobytes() + b.tobytes() for a, b in states}) == 1
    many = sim.rollout(np.stack([q, q]), np.stack([qd, qd]), steps=6, every=6)
    agree(many.final[1][0], states[0][1], 1e-9)


def test_stops_of_one_simulation_leave_the_bits_of_the_others() -> None:
    robot = px.snake(300)
    sim = robot.simulation(1e-4, integrator="euler")
    q, qd = moving(robot)
    beyond = q.copy()
    beyond[5] = robot.limits.upper[5] + 0.1
    inside = sim.rollout(np.stack([q, q]), np.stack([qd, qd]), steps=5, every=5)
    both = sim.rollout(np.stack([beyond, q]), np.stack([qd, qd]), steps=5, every=5)
    assert both.final[1][1].tobytes() == inside.final[1][1].tobytes()
    free = robot.simulation(1e-4, integrator="euler", limits=False)
    pushed = free.rollout(np.stack([beyond, q]), np.stack([qd, qd]), steps=5, every=5)
    assert np.abs(both.final[1][0] - pushed.final[1][0]).max() > 1e-3  # it is pushed back
    assert both.final[1][1].tobytes() == pushed.final[1][1].tobytes()


def test_inertias_at_joints_of_long_robots_need_no_mass_matrix() -> None:
    robot = px.tree(90, 0.3, seed=5, joints=("spherical", "revolute", "prismatic"))
    for found, wanted in zip(step._by_unit_forces(robot), step.inertias_at_joints(robot), strict=True):
        agree(found, wanted, 1e-6)  # numbers of 24 bits
