# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rigid contact against the physics of textbooks: friction, impacts, shapes, and against MuJoCo."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.simulation.rigid import nearest
from reference.examples import example

G = 9.81


def body(name: str = "block", mass: float = 2.0, inertia: Any = (8.3e-3, 8.3e-3, 13.3e-3)) -> px.Robot:
    """A free body."""
    builder = px.RobotBuilder(name)
    builder.add_link(name, mass=mass, inertia=inertia)
    return builder.build(floating_base=True)


CORNERS = [(x, y, -0.05) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]


def slope(angle: float, mu: float) -> tuple[Any, np.ndarray]:
    """A simulation of a block on a plane that rises along x by an angle, and the block at rest on it."""
    n = np.array([-np.sin(angle), 0.0, np.cos(angle)])
    sim = body().simulation(
        1e-3, forces=px.contact.rigid(px.contact.plane(n), {"block": CORNERS}, friction=mu)
    )
    return sim, np.array([*(0.05 * n), 0.0, -np.sin(angle / 2), 0.0, np.cos(angle / 2)])


@pytest.mark.parametrize("degrees", [-0.1, 0.1])
def test_a_block_slides_from_the_angle_of_friction_on(degrees: float) -> None:
    mu, seconds = 0.5, 1.0
    angle = np.arctan(mu) + np.radians(degrees)
    sim, q = slope(angle, mu)
    run = sim.rollout(q, np.zeros(6), steps=1000, every=10, record=("q", "contact_residual"))
    moved = np.linalg.norm(run.q[-1, :3] - q[:3])
    theory = max(0.0, 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) * seconds**2)
    assert moved == pytest.approx(theory, rel=5e-3, abs=1e-12)
    assert run["contact_residual"].max() < 1e-9


def test_a_sliding_block_stops_where_coulomb_says_within_the_cone() -> None:
    sim, q = slope(0.0, 0.4)
    qd = np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    run = sim.rollout(q, qd, steps=700, record=("q", "qd", "contact_forces"))
    assert run.q[-1, 0] == pytest.approx(2.0**2 / (2 * 0.4 * G), rel=5e-3)
    assert np.abs(run.qd[-1]).max() < 1e-13
    f = run["contact_forces"]
    assert (np.hypot(f[..., 0], f[..., 1]) <= 0.4 * f[..., 2] * (1 + 1e-6) + 1e-9).all()
    np.testing.assert_allclose(f[-1, :, 2].sum(), 2.0 * G, rtol=1e-12)
    assert (run.q[:, 2] > 0.05 - 1e-9).all()


@pytest.mark.parametrize("bounce", [0.0, 0.5, 1.0])
def test_a_ball_bounces_to_the_heights_of_newton(bounce: float) -> None:
    ball = body("ball", 1.0, (0.01, 0.01, 0.01))
    ground = px.contact.rigid(points=["ball"], radius=0.1, restitution=bounce)
    sim = ball.simulation(1e-4, forces=ground)
    q = np.array([0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 1.0])
    height = sim.rollout(q, np.zeros(6), steps=13000, record="q").q[:, 2] - 0.1
    peaks = [z for y, z, x in zip(height, height[1:], height[2:], strict=False) if y < z >= x and z > 1e-3]
    if bounce:
        count = 3 if bounce < 1.0 else 1
        np.testing.assert_allclose(peaks[:count], bounce ** (2.0 * np.arange(1, count + 1)), rtol=1e-2)
    else:
        assert not peaks
        assert height[-1] == 0.0


def test_balls_meet_head_on_and_swap_their_velocities() -> None:
    builder = px.RobotBuilder("balls")
    builder.add_link("world")
    for name in ("one", "two"):
        builder.add_link(name, mass=1.0)
        builder.add_joint(f"slide {name}", "prismatic", "world", name, axis=(1.0, 0.0, 0.0))
    robot = builder.build()
    touch = px.contact.rigid(
        px.contact.sphere("one", 0.1), ["two"], radius=0.1, restitution=1.0, friction=0.0
    )
    sim = robot.simulation(1e-3, forces=touch)
    run = sim.rollout(np.array([0.0, 0.5]), np.array([1.0, -0.5]), steps=600)
    np.testing.assert_allclose(run.qd[-1], [-0.5, 1.0], atol=1e-12)
    sticky = px.contact.rigid(px.contact.sphere("one", 0.1), ["two"], radius=0.1)
    run = robot.simulation(1e-3, forces=sticky).rollout(
        np.array([0.0, 0.5]), np.array([1.0, -0.5]), steps=600
    )
    np.testing.assert_allclose(run.qd[-1], [0.25, 0.25], atol=1e-12)
    assert run.q[-1, 1] - run.q[-1, 0] == pytest.approx(0.2, abs=1e-9)


def test_a_spinning_top_precesses_as_the_textbook_says() -> None:
    mass, length, spin, inertia = 0.5, 0.1, 100.0, (1.5e-3, 1.5e-3, 2e-3)
    builder = px.RobotBuilder("top")
    builder.add_link("top", mass=mass, com=(0.0, 0.0, length), inertia=inertia)
    robot = builder.build(floating_base=True)
    sim = robot.simulation(1e-4, forces=px.contact.rigid(points=["top"], friction=1.0))
    tilt = 0.3
    q = np.array([0.0, 0.0, 0.0, np.sin(tilt / 2), 0.0, 0.0, np.cos(tilt / 2)])
    # Steady precession: A cos(tilt) rate^2 - C spin rate + m g l = 0, spin being that about its own axis.
    A, C, weight = inertia[0] + mass * length**2, inertia[2], mass * G * length
    a = A * np.cos(tilt)
    rate = (C * spin - np.sqrt((C * spin) ** 2 - 4 * a * weight)) / (2 * a)
    w = np.array([0.0, rate * np.sin(tilt), spin])
    run = sim.rollout(q, np.array([*w, 0.0, 0.0, 0.0]), steps=10000, every=100)
    axis = np.array([robot.frame_pose(x, "top")[:3, 2] for x in run.q])
    turned = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    found = (turned[-1] - turned[0]) / (run.time[-1] - run.time[0])
    assert found == pytest.approx(rate, rel=0.01)
    assert np.abs(np.arccos(axis[:, 2]) - tilt).max() < 0.02
    assert np.linalg.norm(run.q[-1, :3]) < 1e-3


def test_painleves_rod_neither_hangs_nor_sinks() -> None:
    rod = body("rod", 1.0, (1 / 12, 1 / 12, 1e-4))
    tips = {"rod": [(0.0, 0.0, -0.5), (0.0, 0.0, 0.5)]}
    sim = rod.simulation(1e-3, forces=px.contact.rigid(points=tips, friction=2.0))
    tilt = np.radians(60.0)
    q = np.array([0.0, 0.0, 0.5 * np.cos(tilt), 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
    qd = np.zeros(6)
    R = rod.frame_pose(q, "rod")[:3, :3]
    for speed in (-3.0, 3.0):
        qd[3:] = R.T @ [speed, 0.0, 0.0]
        run = sim.rollout(q, qd, steps=3000, record=("q", "qd", "contact_residual"))
        assert not run.diverged
        low = np.array(
            [min((rod.frame_pose(x, "rod") @ [*p, 1.0])[2] for p in tips["rod"]) for x in run.q[::50]]
        )
        assert low.min() > -1e-3
        assert low[-1] == pytest.approx(0.0, abs=1e-5)
        assert np.abs(run.qd[-1]).max() < 1e-6


# ------------------------------------------------------------------------ shapes


def test_bodies_rest_on_boxes_height_fields_and_balls() -> None:
    ball = body("ball", 1.0, (0.01, 0.01, 0.01))
    x, y = np.meshgrid(np.arange(6) * 0.5, np.arange(5) * 0.5, indexing="ij")
    field = px.contact.height_field(0.2 * (x - 1.0) ** 2 + 0.2 * (y - 1.0) ** 2, 0.5)
    shapes = {
        "box": (px.contact.box((1.0, 1.0, 0.4)), (0.1, 0.2, 0.4), 0.3),
        "field": (field, (1.0, 1.0, 0.2), 0.1),
        "capsule": (px.contact.capsule(None, 0.2, (-1, 0, 0), (1, 0, 0)), (0.3, 0.0, 0.5), 0.3),
        "ball": (px.contact.sphere(None, 0.5), (0.0, 0.0, 0.8), 0.6),
    }
    for name, (shape, at, height) in shapes.items():
        sim = ball.simulation(1e-3, forces=px.contact.rigid(shape, ["ball"], radius=0.1))
        run = sim.rollout(np.array([*at, 0.0, 0.0, 0.0, 1.0]), np.zeros(6), steps=1000, every=1000)
        np.testing.assert_allclose(run.q[-1, :3], [*at[:2], height], atol=1e-6, err_msg=name)


def test_a_shape_says_how_far_and_where_points_are() -> None:
    T = np.eye(4)
    T[:3, 3] = (1.0, 0.0, 0.0)
    box = px.contact.box((2.0, 4.0, 6.0), T)
    for x, gap, n in (
        ((3.0, 0.0, 0.0), 1.0, (1, 0, 0)),
        ((1.0, 0.5, 2.8), -0.2, (0, 0, 1)),
        ((2.0 + 3.0, 2.0 + 4.0, 0.0), 5.0, (0.6, 0.8, 0)),
    ):
        found, normal = nearest(box, np.array(x))
        assert found == pytest.approx(gap)
        np.testing.assert_allclose(normal, n, atol=1e-12)
    field = px.contact.height_field([[0.0, 0.0], [1.0, 1.0]], (2.0, 2.0))
    found, normal = nearest(field, np.array([1.0, 0.3, 0.5 + np.sqrt(1.25)]))
    assert found == pytest.approx(1.0)
    np.testing.assert_allclose(normal, np.array([-0.5, 0.0, 1.0]) / np.sqrt(1.25))


def test_fingers_hold_a_box_by_friction_and_drop_it_where_they_push_too_little() -> None:
    b = px.RobotBuilder("gripper")
    b.add_link("world")
    for name, side in (("left", 1.0), ("right", -1.0)):
        b.add_link(name, mass=0.2)
        b.add_joint(
            f"{name} slide", "prismatic", "world", name, axis=(side, 0, 0), origin=(-0.1 * side, 0, 0.5)
        )
    b.add_link("box", mass=0.3, inertia=(5e-4, 5e-4, 5e-4))
    b.add_joint("free", "floating", "world", "box")
    robot, mu = b.build(), 0.6
    box = px.contact.box((0.06, 0.06, 0.06), frame="box")
    tips = {name: [(0.0, 0.0, z) for z in (-0.02, 0.02)] for name in ("left", "right")}
    sim = robot.simulation(1e-3, forces=px.contact.rigid(box, tips, friction=mu))
    q = np.array([0.07, 0.07, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])
    least = 0.3 * G / (2 * mu)
    push = np.zeros((2, robot.nv))
    push[:, :2] = [[1.01 * least], [0.99 * least]]
    run = sim.rollout(q, np.zeros(robot.nv), push[:, None], steps=1000, every=1000)
    assert np.abs(run.q[0, -1] - q).max() < 1e-12
    assert run.q[1, -1, 4] == pytest.approx(0.5 - 0.5 * 0.01 * G, rel=0.01)


# ------------------------------------------------------------------------ joints


def test_joints_stop_at_limits_and_stick_under_dry_friction() -> None:
    builder = px.RobotBuilder("slider")
    builder.add_link("world")
    builder.add_link("cart", mass=2.0)
    builder.add_joint(
        "rail", "prismatic", "world", "cart", axis=(1.0, 0.0, 0.0), lower=-0.1, upper=0.2, friction=3.0
    )
    robot = builder.build()
    sim = robot.simulation(1e-3, limits="rigid", friction="rigid")
    q, qd = np.zeros(1), np.zeros(1)
    held = sim.rollout(q, qd, np.array([2.999]), steps=1000, every=1000)
    assert abs(held.q[-1, 0]) < 1e-15
    moved = sim.rollout(q, qd, np.array([4.0]), steps=300, every=300)
    assert moved.q[-1, 0] == pytest.approx(0.5 * (1.0 / 2.0) * 0.3**2, rel=0.01)
    stopped = sim.rollout(q, qd, np.array([40.0]), steps=1000, record=("q", "qd"))
    assert stopped.q.max() <= 0.2 + 1e-12
    assert stopped.q[-1, 0] == pytest.approx(0.2, abs=1e-12)
    back = sim.rollout(q, qd, np.array([-40.0]), steps=1000, every=1000)
    assert back.q[-1, 0] == pytest.approx(-0.1, abs=1e-12)


# ------------------------------------------------------------------------ robots

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")


def standing() -> tuple[Any, np.ndarray, np.ndarray]:
    """ANYmal, a configuration on its feet, and where the law holds its legs."""
    robot = example("anymal.urdf", floating_base=True)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    q = robot.neutral()
    for leg in ("LF", "RF", "LH", "RH"):
        for joint, angle in (("HFE", 0.6), ("KFE", -1.2)):
            q[robot.q_slices[f"{leg}_{joint}"]] = angle if leg[1] == "F" else -angle
    q[2] -= min(robot.frame_pose(q, foot)[2, 3] for foot in FEET)
    return robot, q, q[7:].copy()


def legs(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.concatenate([np.zeros(6), 150.0 * (u - q[7:]) - 5.0 * qd[6:]])


@pytest.fixture(scope="module")
def anymal() -> tuple[Any, Any, np.ndarray, np.ndarray, np.ndarray]:
    """A simulation of ANYmal on rigid feet, the state in which it stands, and the controls."""
    robot, q, u = standing()
    sim = robot.simulation(1e-3, control=legs, controls=12, forces=px.contact.rigid(points=FEET))
    run = sim.rollout(q, np.zeros(robot.nv), u, steps=20_000, every=20_000)
    return robot, sim, *run.final, u


@pytest.mark.parametrize("minutes", [1, pytest.param(60, marks=pytest.mark.exhaustive)])
def test_a_standing_quadruped_does_not_move(anymal: Any, minutes: int) -> None:
    robot, sim, q, qd, u = anymal
    names = ("q", "contact_forces", "contact_residual")
    run = sim.rollout(q, qd, u, steps=60_000 * minutes, every=1000 * minutes, record=names)
    feet = np.array([[robot.frame_pose(x, foot)[:3, 3] for foot in FEET] for x in run.q])
    start = np.array([robot.frame_pose(q, foot)[:3, 3] for foot in FEET])
    assert np.abs(feet - start).max() < 1e-12
    assert np.abs(run.q - q).max() < 1e-9
    assert feet[..., 2].min() > -1e-6
    np.testing.assert_allclose(run["contact_forces"][-1].sum(axis=0), [0, 0, robot.total_mass * G], atol=1e-6)
    assert run["contact_residual"].max() < 1e-12


def test_states_have_the_same_bits_in_any_batch_order_and_number_of_threads(anymal: Any) -> None:
    robot, sim, q, qd, u = anymal
    rng = np.random.default_rng(0)
    q = robot.integrate(q, 0.02 * rng.normal(size=(37, robot.nv)))
    q[:, 2] += 0.02
    qd = 0.3 * rng.normal(size=(37, robot.nv))
    qd[5] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        whole = sim.rollout(q, qd, u, steps=60, every=60)
        np.testing.assert_array_equal(np.flatnonzero(whole.diverged), [5])
        for some in (slice(3, 4), slice(30, 10, -1), slice(0, 37, 5)):
            part = sim.rollout(q[some].copy(), qd[some].copy(), u, steps=60, every=60, threads=2)
            np.testing.assert_array_equal(part.q, whole.q[some])
            np.testing.assert_array_equal(part.final[1], whole.final[1][some])
        half = sim.rollout(q, qd, u, steps=30, every=30)
        rest = sim.rollout(*half.final, u, steps=30, every=30, start=30)
    np.testing.assert_array_equal(rest.q, whole.q)


@pytest.mark.parametrize("pushed", [0.0, 0.5])
def test_derivatives_through_sticking_and_sliding_feet_are_those_of_differences(
    anymal: Any, pushed: float
) -> None:
    robot, sim, q, qd, u = anymal
    qd = qd.copy()
    qd[3] += pushed
    A, B = sim.linearize(q, qd, u)
    q1, _ = sim.step(q, qd, u)
    nv, h = robot.nv, 1e-6

    def after(x: np.ndarray) -> np.ndarray:
        there = sim.step(robot.integrate(q, x[:nv]), qd + x[nv : 2 * nv], u + x[2 * nv :])
        return np.concatenate([robot.difference(q1, there[0]), there[1]])

    both = np.concatenate([A, B], axis=1)
    for k in range(0, both.shape[1], 3):
        e = h * np.eye(both.shape[1])[k]
        np.testing.assert_allclose((after(e) - after(-e)) / (2 * h), both[:, k], atol=1e-5 * np.abs(A).max())
    rng = np.random.default_rng(0)
    dq, dqd, lq, lqd = rng.normal(size=(4, nv))
    j = sim.jvp((q, qd, u), (dq, dqd, None), steps=4)
    v = sim.vjp((q, qd, u), (lq, lqd), steps=4)
    assert j[0] @ lq + j[1] @ lqd == pytest.approx(v.q @ dq + v.qd @ dqd, rel=1e-9)


def test_friction_and_restitution_may_differ_from_simulation_to_simulation() -> None:
    ground = px.contact.rigid(points={"block": CORNERS}, friction="mu")
    sim = body().simulation(1e-3, forces=ground, parameters={"mu": 1})
    mu = np.array([0.2, 0.4, 0.8])
    q, qd = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    run = sim.rollout(q, qd, steps=1200, every=1200, parameters={"mu": mu[:, None]})
    np.testing.assert_allclose(run.q[:, -1, 0], 2.0 / (mu * G), rtol=5e-3)


def test_mujoco_with_stiff_contacts_moves_a_block_alike() -> None:
    mujoco = pytest.importorskip("mujoco")
    geoms = "".join(
        f'<geom type="sphere" size="0.01" pos="{x} {y} -0.04" contype="1" conaffinity="2" mass="0"/>'
        for x, y, _ in CORNERS
    )
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="1e-4" cone="elliptic" impratio="100" gravity="2 0 -9.81"/>
        <worldbody><geom type="plane" size="0 0 1" friction="0.3 0 0" contype="2" conaffinity="1"
        solref="5e-4 1" solimp="0.9999 0.9999 1e-4"/><body pos="0 0 0.05"><freejoint/>
        <inertial pos="0 0 0" mass="2" diaginertia="8.3e-3 8.3e-3 13.3e-3"/>{geoms}</body></worldbody>
        </mujoco>"""
    )
    model.geom_friction[:] = [0.15, 0.0, 0.0]
    data = mujoco.MjData(model)
    data.qvel[:] = [1.0, 0.5, 0.0, 0.0, 0.0, 2.0]
    for _ in range(3000):
        mujoco.mj_step(model, data)
    spheres = {"block": [(x, y, -0.04) for x, y, _ in CORNERS]}
    robot = body().replace(gravity=(2.0, 0.0, -9.81))
    sim = robot.simulation(1e-4, forces=px.contact.rigid(points=spheres, radius=0.01, friction=0.15))
    q = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0])
    run = sim.rollout(q, np.array([0.0, 0.0, 2.0, 1.0, 0.5, 0.0]), steps=3000, every=3000)
    np.testing.assert_allclose(run.q[-1, :3], data.qpos[:3], atol=2e-3)
    np.testing.assert_allclose(run.q[-1, 3:6], data.qpos[4:7], atol=1e-2)


# ------------------------------------------------------------------------ bad input


def test_bad_input_is_refused_by_name() -> None:
    rigid, robot = px.contact.rigid, px.load("panda")
    for call, message in (
        (lambda: rigid(points=["a"], friction=-0.1), "friction is -0.1"),
        (lambda: rigid(points=["a"], restitution=1.5), "restitution is 1.5, expected 0 to 1"),
        (lambda: rigid(points=[]), "points is empty"),
        (lambda: rigid("floor", points=["a"]), "ground is 'floor', expected what px.contact.plane"),
        (lambda: px.contact.box((1.0, 0.0, 1.0)), "three positive lengths"),
        (lambda: px.contact.height_field([[1.0]], 0.1), "at least 2 x 2"),
        (lambda: px.contact.sphere("a", -1.0), "radius"),
        (lambda: robot.simulation(forces=rigid(points=["elbow?"])), "has no frame 'elbow.'"),
        (lambda: robot.simulation(forces=rigid(points=[robot.frame_names[0]])), "on a link of the world"),
        (lambda: robot.simulation(integrator="rk4", limits="rigid"), 'integrator "rk4" holds no rigid'),
        (lambda: robot.simulation(limits="soft"), 'expected True or False or "rigid"'),
    ):
        with pytest.raises(PhalanxError, match=message):
            call()


def test_points_below_the_ground_are_said_and_leave_it_slowly() -> None:
    sim = body().simulation(1e-3, forces=px.contact.rigid(points={"block": CORNERS}))
    q = np.array([[0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0] for z in (0.05, 0.03)])
    with pytest.warns(px.PhalanxWarning, match="start below the ground in 1 of 2 states, deepest 0.02 m"):
        run = sim.rollout(q, np.zeros((2, 6)), steps=300)
    assert np.abs(run.qd[1, :50]).max() < 0.25
    assert run.q[1, -1, 2] == pytest.approx(0.05, abs=1e-3)
    assert run.q[0, -1, 2] == pytest.approx(0.05, abs=1e-12)


def test_single_precision_holds_contacts_and_friction_to_its_digits() -> None:
    ground = px.contact.rigid(points={"block": CORNERS}, friction=0.4)
    sim = body().simulation(1e-3, forces=ground, dtype="float32")
    q, qd = np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    run = sim.rollout(q.astype(np.float32), qd.astype(np.float32), steps=1000, every=1000)
    assert run.q[-1, 0] == pytest.approx(2.0 / (0.4 * G), rel=1e-2)
    assert run.q[-1, 2] == pytest.approx(0.05, abs=1e-5)
    assert np.abs(run.qd[-1]).max() < 1e-5
