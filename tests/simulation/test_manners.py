# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How simulations behave beside their numbers: same bits everywhere, NaN alone, clear refusals."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.simulation.integrators import INTEGRATORS


def spring_law(t, q, qd, u, robot):
    """A law with time, controls and kinematics in it."""
    pull = robot.frame_pose(q, robot.link_names[-1])[2, 3]
    return np.tanh(u - q) * 4.0 - 0.3 * qd + 0.1 * np.sin(t) * pull


@pytest.fixture(params=INTEGRATORS, scope="module", name="sim")
def sim_(request: pytest.FixtureRequest) -> px.Simulation:
    robot = px.load("two_link")
    return robot.simulation(dt=1e-2, integrator=request.param, control=spring_law, controls=2)


def states(sim: px.Simulation, count: int = 37) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts, and controls that change with time."""
    q, qd, _ = sim.robot.random_state(count, rng=0)
    return q, qd, np.random.default_rng(1).standard_normal((count, 6, 2))


def same(one: object, other: object) -> None:
    """Equal bits."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype == other.dtype
    assert one.shape == other.shape
    assert np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


# ------------------------------------------------------------------------ same bits


def test_a_simulation_has_the_same_bits_alone_and_in_a_batch(sim: px.Simulation) -> None:
    q, qd, u = states(sim)
    together = sim.rollout(q, qd, controls=u, steps=60, every=3)
    for k in (0, 7, 8, 36):
        alone = sim.rollout(q[k], qd[k], controls=u[k], steps=60, every=3)
        same(alone.q, together.q[k])
        same(alone.qd, together.qd[k])


def test_threads_change_no_bit(sim: px.Simulation) -> None:
    q, qd, u = states(sim, 301)
    runs = [sim.rollout(q, qd, controls=u, steps=60, every=3, threads=n) for n in (1, 2, 3)]
    for run in runs[1:]:
        same(run.q, runs[0].q)
        same(run.qd, runs[0].qd)
        same(run.final[0], runs[0].final[0])


def test_two_halves_are_one_rollout(sim: px.Simulation) -> None:
    q, qd, u = states(sim)
    whole = sim.rollout(q, qd, controls=u, steps=60, every=5)
    first = sim.rollout(q, qd, controls=u[:, :3], steps=30, every=5)
    second = sim.rollout(*first.final, controls=u[:, 3:], steps=30, every=5, start=30)
    same(np.concatenate([first.q, second.q], axis=-2), whole.q)
    same(np.concatenate([first.qd, second.qd], axis=-2), whole.qd)
    same(np.concatenate([first.time, second.time]), whole.time)
    same(second.final[0], whole.final[0])
    same(second.final[1], whole.final[1])


def test_what_is_recorded_changes_no_bit(sim: px.Simulation) -> None:
    q, qd, u = states(sim)
    one = sim.rollout(q, qd, controls=u, steps=60, every=60)
    other = sim.rollout(q, qd, controls=u, steps=60, every=2, record=("q", "qd", "tau", "energy"))
    same(other.q[:, -1], one.q[:, 0])
    same(other.final[1], one.final[1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_what_branches_has_the_same_bits_too(integrator: str, dtype: str) -> None:
    """Limits, friction and contacts are choices: lanes that take different ones do not disturb each other."""
    builder = px.RobotBuilder("hopper")
    builder.add_link("trunk", mass=3.0, inertia=(0.05, 0.05, 0.05))
    builder.add_link("leg", mass=0.5, com=(0.0, 0.0, -0.2), inertia=(0.01, 0.01, 1e-3))
    builder.add_joint("hip", "revolute", "trunk", "leg", axis=(0, 1, 0), lower=-0.3, upper=0.2, friction=0.5)
    builder.add_frame("foot", "leg", (0.0, 0.0, -0.4))
    robot = builder.build(floating_base=True)
    ground = px.contact.ground(["foot", "trunk"], stiffness=3e3, damping=30.0, friction=0.7)
    sim = robot.simulation(dt=1e-3, integrator=integrator, forces=ground, dtype=dtype)
    q = np.tile(robot.neutral(), (33, 1))
    q[:, 2] = np.linspace(0.3, 0.8, 33)
    qd = np.random.default_rng(0).standard_normal((33, robot.nv))
    q, qd = q.astype(dtype), qd.astype(dtype)
    together = sim.rollout(q, qd, steps=600, every=50, threads=1)
    assert not together.diverged.any()
    assert np.abs(together.qd[:, -1]).max() > 0.1
    for k in (0, 5, 16, 32):
        same(sim.rollout(q[k], qd[k], steps=600, every=50).q, together.q[k])
    same(sim.rollout(q, qd, steps=600, every=50, threads=2).q, together.q)
    same(sim.rollout(q[::-1], qd[::-1], steps=600, every=50).q[::-1], together.q)


def test_steps_one_by_one_are_the_rollout(sim: px.Simulation) -> None:
    """Without time in the law: a single step begins at time zero."""
    sim = sim.robot.simulation(dt=1e-2, integrator=sim.integrator)
    q, qd, u = states(sim, 5)
    expected = sim.rollout(q, qd, controls=u[:, :1], steps=4, every=4)
    for _ in range(4):
        q, qd = sim.step(q, qd, u[:, 0])
    same(q, expected.q[:, 0])
    same(qd, expected.qd[:, 0])


def test_a_bound_step_advances_its_arrays_in_place() -> None:
    robot = px.load("two_link")
    sim = robot.simulation(dt=1e-2)
    q, qd, u = np.array([0.3, -0.4]), np.array([0.1, 0.2]), np.array([1.0, -2.0])
    expected = sim.rollout(q, qd, controls=u, steps=3, every=3)
    step = sim.bind(q, qd, controls=u)
    for _ in range(3):
        step()
    same(q, expected.q[0])
    same(qd, expected.qd[0])


def test_float32_follows_float64() -> None:
    robot = px.load("panda")
    q, qd, _ = robot.random_state(16, rng=0)
    runs = [
        robot.simulation(dt=1e-3, dtype=dtype).rollout(
            q.astype(dtype),
            0.1 * qd.astype(dtype),
            controls=robot.gravity_forces(q)[:, None].astype(dtype),
            steps=200,
            every=50,
        )
        for dtype in ("float64", "float32")
    ]
    assert runs[1].q.dtype == np.float32
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=2e-3)


# ------------------------------------------------------------------------ shapes


def test_batches_have_any_shape_and_broadcast() -> None:
    robot = px.load("two_link")
    sim = robot.simulation(dt=1e-2)
    q, qd, _ = robot.random_state((3, 4), rng=0)
    u = np.random.default_rng(0).standard_normal((4, 5, 2))
    run = sim.rollout(q, qd, controls=u, steps=10, every=2)
    assert run.q.shape == (3, 4, 5, 2)
    assert run.time.shape == (5,)
    np.testing.assert_allclose(run.time, 1e-2 * np.arange(2, 11, 2))
    assert run.final[0].shape == (3, 4, 2)
    assert run.diverged.shape == (3, 4)
    same(run.q[1, 2], sim.rollout(q[1, 2], qd[1, 2], controls=u[2], steps=10, every=2).q)
    empty = sim.rollout(np.zeros((0, 2)), np.zeros((0, 2)), steps=10)
    assert empty.q.shape == (0, 10, 2)


def test_records_are_what_the_functions_say_about_the_states() -> None:
    robot = px.load("panda")
    q, qd, _ = robot.random_state(5, rng=0)
    sim = robot.simulation(dt=1e-3, control=px.control.pd(100.0, 10.0))

    def height(t, q, qd, u, robot):
        return robot.center_of_mass(q)[2]

    tool = robot.link_names[-1]
    names = (
        "q",
        "qd",
        "kinetic_energy",
        "potential_energy",
        "energy",
        "center_of_mass",
        "centroidal_momentum",
    )
    run = sim.rollout(
        q,
        qd,
        controls=q[:, None],
        steps=20,
        every=4,
        record=(*names, f"frame_pose:{tool}", f"frame_velocity:{tool}", height),
    )
    kinetic, potential = robot.kinetic_energy(run.q, run.qd), robot.potential_energy(run.q)
    expected = {
        "kinetic_energy": kinetic,
        "potential_energy": potential,
        "energy": kinetic + potential,
        "center_of_mass": robot.center_of_mass(run.q),
        "centroidal_momentum": robot.centroidal_momentum(run.q, run.qd),
        f"frame_pose:{tool}": robot.frame_pose(run.q, tool),
        f"frame_velocity:{tool}": robot.frame_velocity(run.q, run.qd, tool),
        "height": robot.center_of_mass(run.q)[..., 2],
    }
    for name, value in expected.items():
        np.testing.assert_allclose(np.reshape(run[name], value.shape), value, atol=1e-11, err_msg=name)


def test_records_beyond_all_memory_are_refused() -> None:
    sim = px.load("two_link").simulation(dt=1e-3)
    with pytest.raises(PhalanxError, match=r"would take .* of memory"):
        sim.rollout(np.zeros(2), np.zeros(2), steps=10**12)


def test_derivatives_beyond_all_memory_are_refused() -> None:
    sim = px.load("two_link").simulation(dt=1e-3)
    many = np.broadcast_to(np.zeros(2), (10**11, 2))
    with pytest.raises(PhalanxError, match=r"would take .* of memory; take the states in several"):
        sim.linearize(many, np.zeros(2))


# ------------------------------------------------------------------------ divergence


@pytest.mark.parametrize("poison", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["q", "qd", "controls"])
def test_what_is_not_a_number_stays_in_its_own_simulation(where: str, poison: float) -> None:
    robot = px.load("panda")
    sim = robot.simulation(dt=1e-3, control=px.control.pd(100.0, 10.0))
    q, qd, _ = robot.random_state(21, rng=0)
    given = {"q": q.copy(), "qd": qd.copy(), "controls": q.copy()}
    clean = sim.rollout(q, qd, controls=q[:, None], steps=30, every=10)
    given[where][5, 2] = poison
    told = '1 of 21 simulations of robot "panda" diverged, the first at 5'
    told += ".* start that are not finite" if where != "controls" else ""
    with pytest.warns(px.PhalanxWarning, match=told):
        run = sim.rollout(given["q"], given["qd"], controls=given["controls"][:, None], steps=30, every=10)
    others = np.arange(21) != 5
    assert run.diverged.tolist() == [k == 5 for k in range(21)]
    assert np.isnan(run.q[5]).all()
    assert np.isnan(run.qd[5]).all()
    assert not clean.diverged.any()
    same(run.q[others], clean.q[others])
    same(run.qd[others], clean.qd[others])


def test_a_simulation_that_explodes_is_listed() -> None:
    robot = px.load("panda")
    sim = robot.simulation(
        dt=1e-2, control=px.control.pd(kp=1.0, kd=0.1, gravity=False), parameters={}, limits=False
    )
    q, qd, _ = robot.random_state(3, rng=0)
    u = np.zeros((3, 7))
    u[1] = 1e300
    with pytest.warns(px.PhalanxWarning, match="1 of 3 simulations .*dt = 0.01 s.*gains of the law"):
        run = sim.rollout(q, 0.1 * qd, controls=u[:, None], steps=50, every=25)
    assert run.diverged.tolist() == [False, True, False]
    assert np.isnan(run.final[0][1]).all()
    assert np.isfinite(run.final[0][[0, 2]]).all()


def test_rates_and_accelerations_beyond_the_bound_have_diverged() -> None:
    robot = px.load("two_link")
    sim, free = (robot.simulation(1e-3, limits=False, divergence=bound) for bound in (1e10, np.inf))
    q, qd = np.full((3, 2), 0.5), np.array([[0.0, 0.0], [3e81, 0.0], [3e5, 0.0]])
    still = np.zeros_like(q)
    with pytest.warns(px.PhalanxWarning, match=r"2 of 3 simulations .*beyond 1e\+10") as seen:
        run = sim.rollout(q, qd, steps=1, record=("q", "qdd"))
    assert len(seen) == 1
    assert run.diverged.tolist() == [False, True, True]
    assert np.abs(run.qdd[2]).max() > 1e10 > np.abs(run.final[1][2]).max()
    low = robot.simulation(1e-3, divergence=1e-3)
    with pytest.warns(px.PhalanxWarning, match="3 of 3"):  # falls
        assert low.rollout(q, still, steps=20).diverged.all()
    assert not sim.rollout(q, still, steps=20).diverged.any()
    assert not free.rollout(q[:1], qd[2:], steps=1, record="qdd").diverged.any()
    for wrong in (0.0, -1.0, np.nan, "far", None):
        with pytest.raises(PhalanxError, match="divergence"):
            robot.simulation(divergence=wrong)  # type: ignore[arg-type]


def test_loops_that_stay_open_are_said_once() -> None:
    builder = px.RobotBuilder("looped")
    builder.add_link("base")
    builder.add_link("rod", mass=1.0)
    builder.add_joint("j", "prismatic", "base", "rod")
    builder.add_loop("bar", "spherical", "base", "rod")
    robot = builder.build()
    told = r'robot "looped" has 1 loop or other constraint \("bar"\), not enforced'
    with pytest.warns(px.PhalanxWarning, match=told) as seen:
        robot.simulation(1e-3, constraints=False)
    assert len(seen) == 1


# ------------------------------------------------------------------------ bad input


def test_inputs_with_the_batch_of_the_states_are_ambiguous() -> None:
    robot = px.load("two_link")
    sim = robot.simulation(1e-3)
    q, qd, u = np.zeros((4, 2)), np.zeros((4, 2)), np.arange(8.0).reshape(4, 2)
    told = r"controls have shape \(4, 2\).*controls\[..., None, :\] .*controls\[None\]"
    with pytest.raises(PhalanxError, match=told):
        sim.rollout(q, qd, u, steps=8)
    with pytest.raises(PhalanxError, match=told):
        sim.jvp((q, qd, u), (None, None), steps=8)
    with pytest.raises(PhalanxError, match=told):
        sim.vjp((q, qd, u), (None, qd), steps=8)
    each, all_alike = sim.rollout(q, qd, u[:, None], steps=8), sim.rollout(q, qd, u[None], steps=8)
    alone = sim.rollout(q[2], qd[2], u[2], steps=8)
    same(each.q[2], alone.q)
    same(all_alike.q[0], all_alike.q[3])
    same(all_alike.q[0], sim.rollout(q[0], qd[0], u, steps=8).q)
    same(sim.step(q, qd, u)[0][2], sim.step(q[2], qd[2], u[2])[0])
    heavy = robot.simulation(1e-3, parameters=("gravity",))  # a batch of parameters is one of simulations
    with pytest.raises(PhalanxError, match=told):
        heavy.rollout(q[0], qd[0], u, steps=8, parameters={"gravity": np.zeros((4, 3))})
    with pytest.raises(PhalanxError, match=r"controls have shape \(4, 3, 2\)"):
        sim.rollout(q[:, None], qd[None, :3], np.zeros((4, 3, 2)), steps=12)


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, np.inf, "fast", None, 1e-3j])
def test_a_step_must_be_a_positive_number(dt: object) -> None:
    with pytest.raises(PhalanxError, match="dt"):
        px.load("two_link").simulation(dt=dt)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"integrator": "leapfrog"}, "leapfrog"),
        ({"integrator": 4}, "integrator"),
        ({"dtype": "int32"}, "dtype|int32"),
        ({"control": 3.0}, "control"),
        ({"forces": "wind"}, "forces"),
        ({"controls": -1}, "controls"),
    ],
)
def test_options_are_checked(options: dict[str, object], text: str) -> None:
    with pytest.raises(PhalanxError, match=text) as caught:
        px.load("two_link").simulation(dt=1e-3, **options).rollout(np.zeros(2), np.zeros(2), steps=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"steps": 0}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"steps": 10, "every": 3}, "every"),
        ({"steps": 10, "every": 0}, "every"),
        ({"record": ("speed",)}, "speed"),
        ({"record": ("frame_pose:nowhere",)}, "nowhere"),
        ({"controls": np.zeros(3)}, "controls"),
        ({"controls": np.zeros((3, 2)), "steps": 10}, "3"),
        ({"controls": ["a", "b"]}, "controls"),
        ({"parameters": {"payload": 1.0}}, "payload"),
    ],
)
def test_arguments_of_a_rollout_are_checked(arguments: dict[str, object], text: str) -> None:
    robot = px.load("two_link")
    with pytest.raises(PhalanxError, match=text) as caught:
        robot.simulation(dt=1e-3).rollout(np.zeros(2), np.zeros(2), **{"steps": 10, **arguments})
    assert "\n" not in str(caught.value)


def test_states_are_checked() -> None:
    sim = px.load("two_link").simulation(dt=1e-3)
    with pytest.raises(PhalanxError, match="q has shape"):
        sim.rollout(np.zeros(3), np.zeros(2), steps=10)
    with pytest.raises(PhalanxError, match="qd has shape"):
        sim.rollout(np.zeros(2), np.zeros(4), steps=10)
    with pytest.raises(PhalanxError, match="broadcast"):
        sim.rollout(np.zeros((3, 2)), np.zeros((4, 2)), steps=10)
    with pytest.raises(PhalanxError, match=r"complex|real"):
        sim.rollout(np.zeros(2, complex), np.zeros(2), steps=10)


def wrong_shape(t, q, qd, u, robot):
    return np.zeros(3)


def not_a_number(t, q, qd, u, robot):
    return q * np.nan


def reads_the_clock(t, q, qd, u, robot):
    return q * time.time()


def branches(t, q, qd, u, robot):
    if q[0] > 0:
        return q
    return -q


def foreign(t, q, qd, u, robot):
    return np.linalg.svd(np.outer(q, q))[1]


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (wrong_shape, "shape"),
        (not_a_number, "NaN|nan|not a number"),
        (reads_the_clock, "clock|time"),
        (branches, "where"),
        (foreign, "svd"),
    ],
)
def test_laws_that_cannot_be_compiled_are_refused_with_a_remedy(law, text: str) -> None:
    robot = px.load("two_link")
    with pytest.raises(PhalanxError, match=text) as caught:
        robot.simulation(dt=1e-3, control=law).rollout(np.zeros(2), np.zeros(2), steps=10)
    assert Path(__file__).name in str(caught.value) or law.__name__ in str(caught.value)


def test_simulations_are_immutable() -> None:
    sim = px.load("two_link").simulation(dt=1e-3)
    with pytest.raises((AttributeError, TypeError)):
        sim.dt = 2e-3
