# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops in simulations: closed over any time, with the motion that constraints leave, beside MuJoCo."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from reference.constrained import four_bar

BASE = 0.55  # m: between the two hinges on the ground; the four-bar never lies flat


def start(robot: px.Robot) -> np.ndarray:
    closed = robot.close_loops(np.array([-1.2, 0.9, 0.8]))
    assert closed.converged
    return np.asarray(closed.q)


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_loops_stay_closed_over_a_million_steps(integrator: Any) -> None:
    robot = four_bar("point", BASE)
    sim = robot.simulation(1e-3, integrator=integrator)
    run = sim.rollout(start(robot), np.zeros(3), steps=1_000_000, every=5000)
    assert not run.diverged
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-9
    assert np.ptp(run.q, axis=0).min() > 0.1


def test_a_frictionless_four_bar_keeps_its_energy_over_long_times() -> None:
    robot = four_bar("axis", BASE)
    sim = robot.simulation(1e-3, integrator="rk4")
    run = sim.rollout(start(robot), np.zeros(3), steps=100_000, every=50, record=("q", "qd", "energy"))
    kinetic = robot.kinetic_energy(run.q, run.qd).max()
    assert np.ptp(run.energy) < 1e-2 * kinetic
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-9
    along = robot.constraint_jacobian(run.q) @ run.qd[..., None]
    assert np.abs(along).max() < 1e-9


def test_redundant_rows_change_no_motion() -> None:
    q = start(four_bar("axis", BASE))
    runs = []
    for closure in ("axis", "point"):
        sim = four_bar(closure, BASE).simulation(1e-3)
        runs.append(sim.rollout(q, np.zeros(3), steps=2000, every=100).q)
    twice = four_bar("axis", BASE).with_constraint(
        px.constraint.axis("tip", axis=(0.0, 1.0, 0.0), at=(BASE, 0.0, 0.0), name="again")
    )
    runs.append(twice.simulation(1e-3).rollout(q, np.zeros(3), steps=2000, every=100).q)
    for other in runs[1:]:
        np.testing.assert_allclose(other, runs[0], atol=1e-8)


def test_integrators_converge_to_the_same_motion() -> None:
    robot = four_bar("point", BASE)
    q = start(robot)
    exact = robot.simulation(1e-3, integrator="rk4").rollout(q, np.zeros(3), steps=400).q[-1]
    errors = []
    for h in (1e-3, 5e-4):
        run = robot.simulation(h, integrator="euler").rollout(q, np.zeros(3), steps=round(0.4 / h))
        errors.append(np.abs(run.q[-1] - exact).max())
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_every_kind_of_constraint_is_held_on_a_floating_base_under_stiff_laws() -> None:
    tree = px.tree(9, branching=0.4, seed=3).with_floating_base()
    names = [n for n in tree.joint_names if n in tree.q_slices][-9:]
    leaves = [i for i in range(tree.n_links) if i not in tree.parents]
    a, b = (tree.link_names[i] for i in leaves[:2])
    q0 = 0.1 * np.arange(tree.nq) % 0.7
    q0[:7] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    T = np.linalg.inv(tree.frame_pose(q0, a)) @ tree.frame_pose(q0, b)
    kinds = {
        "point": px.constraint.point(a, b, offset=T[:3, 3]),
        "coupling": px.constraint.coupling(names[0], names[1], (q0[tree.q_slices[names[0]]][0], 0.0, 0.3)),
        "tendon": px.constraint.tendon({names[2]: 1.0, names[3]: -0.5}, polynomial=(0.2,)),
    }
    robot = tree.with_constraint(*kinds.values())
    closed = robot.close_loops(q0)
    assert closed.converged
    gain = 2000.0

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.concatenate([np.zeros(6), gain * (u - q[7:]) - 20.0 * qd[6:]])

    sim = robot.simulation(1e-3, control=law, controls=robot.nv - 6, limits=False)
    run = sim.rollout(closed.q, np.zeros(robot.nv), closed.q[7:] + 0.05, steps=1500, every=10)
    assert not run.diverged
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-9
    record = sim.rollout(closed.q, np.zeros(robot.nv), closed.q[7:], steps=3, record="constraint_forces")
    assert record["constraint_forces"].shape == (3, sum(c.rows for c in robot.constraints))


def test_a_closed_leg_stands_on_rigid_ground() -> None:
    """A body on a vertical rail, on a four-bar whose coupler has a foot."""
    b = px.RobotBuilder("leg")
    b.add_link("world")
    b.add_link("hip", mass=3.0)
    b.add_joint("rail", "prismatic", "world", "hip", axis=(0.0, 0.0, 1.0))
    b.add_link("front", mass=0.3, com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4))
    b.add_joint("motor", "revolute", "hip", "front", axis=(0.0, 1.0, 0.0), damping=5.0, stiffness=200.0)
    b.add_link("back", mass=0.3, com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4))
    b.add_joint("free", "revolute", "hip", "back", axis=(0.0, 1.0, 0.0), origin=(0.1, 0.0, 0.0))
    b.add_link("foot", mass=0.2, inertia=(1e-3, 1e-3, 1e-3))
    b.add_joint("ankle", "revolute", "front", "foot", axis=(0.0, 1.0, 0.0), origin=(0.0, 0.0, -0.2))
    b.add_frame("rear", "foot", (0.1, 0.0, 0.0))
    b.add_frame("knee", "back", (0.0, 0.0, -0.2))
    b.add_frame("sole", "foot", (0.05, 0.0, -0.05))
    robot = b.build().with_constraint(px.constraint.point("rear", "knee"))
    ground = px.contact.rigid(points=["sole"], friction=1.0)
    sim = robot.simulation(1e-3, forces=ground)
    q = np.array([0.26, 0.1, 0.1, -0.1])
    q = q[[["rail", "motor", "free", "ankle"].index(n) for n in robot.joint_names]]
    closed = robot.close_loops(q)
    run = sim.rollout(closed.q, np.zeros(4), steps=4000, record=("q", "qd", "contact_forces"))
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-9
    heights = np.array([robot.frame_pose(x, "sole")[2, 3] for x in run.q[::20]])
    assert heights.min() > -1e-5
    assert abs(heights[-1]) < 1e-6
    assert run["contact_forces"][-1, 0, 2] == pytest.approx(3.8 * 9.81, rel=1e-3)


@pytest.mark.parametrize("integrator", ["implicit", "rk4"])
def test_derivatives_of_steps_on_loops_are_those_of_differences(integrator: Any) -> None:
    robot = four_bar("axis", BASE)
    sim = robot.simulation(1e-3, integrator=integrator)
    run = sim.rollout(start(robot), np.zeros(3), steps=300)
    q, qd = run.final
    rng = np.random.default_rng(0)
    dq, dqd, lq, lqd = rng.normal(size=(4, 3))
    J = robot.constraint_jacobian(q)
    dq = dq - np.linalg.pinv(J, rcond=1e-9) @ (J @ dq)
    j = sim.jvp((q, qd), (dq, dqd), steps=3)
    v = sim.vjp((q, qd), (lq, lqd), steps=3)
    assert j[0] @ lq + j[1] @ lqd == pytest.approx(v.q @ dq + v.qd @ dqd, rel=1e-9)
    h = 1e-6
    one, other = (sim.rollout(q + s * dq, qd + s * dqd, steps=3, every=3) for s in (h, -h))
    for name, found in zip(("q", "qd"), j, strict=True):
        np.testing.assert_allclose((one[name][-1] - other[name][-1]) / (2 * h), found, rtol=1e-5, atol=1e-5)


def test_open_loops_are_closed_at_the_start_and_hopeless_ones_flagged_alone() -> None:
    robot = four_bar("point", BASE)
    sim, q = robot.simulation(1e-3), start(robot)
    states, still = np.stack([q, q + 0.2, q]), np.zeros((3, 3))
    still[2] = np.nan
    with pytest.warns(px.PhalanxWarning) as seen:
        run = sim.rollout(states, still, steps=50)
    assert "are open in 1 of 3 states at the start, by 0.2" in str(seen[0].message)
    np.testing.assert_array_equal(run.diverged, [False, False, True])
    assert np.abs(robot.constraint_error(run.q[:2])).max() < 1e-9
    np.testing.assert_array_equal(sim.rollout(q, still[0], steps=50).q, run.q[0])
    far = four_bar("", BASE).with_constraint(px.constraint.point("tip", at=(9.0, 0.0, 0.0)))
    with pytest.warns(px.PhalanxWarning) as seen:
        assert far.simulation(1e-3).rollout(q, still[0], steps=2).diverged
    assert "1 could not be closed, of which the loop 'point tip world' stays open by" in str(seen[0].message)


def test_integrators_that_hold_no_loops_say_so() -> None:
    robot = four_bar("point", BASE)
    with pytest.raises(PhalanxError, match='"variational" holds no loops of robot "four-bar"; take '):
        robot.simulation(integrator="variational")
    with pytest.warns(px.PhalanxWarning, match="not enforced: they stay open here") as seen:
        robot.simulation(integrator="variational", constraints=False)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = robot.simulation()
    with pytest.raises(PhalanxError, match="no count is implemented"):
        _ = sim.cost
    with pytest.raises(PhalanxError, match='"contact_forces" is of rigid contacts, which this simulation'):
        sim.rollout(start(robot), np.zeros(3), steps=1, record="contact_forces")


MJCF = """<mujoco><option timestep="2e-4" integrator="implicitfast"/><worldbody>
  <body name="crank"><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
    <body name="rod" pos=".3 0 0"><joint name="b" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/></body></body>
  <body name="rocker" pos=".55 0 0"><joint name="c" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/></body>
  <body name="dial" pos="0 1 0"><joint name="d" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .1 0 0" size=".02"/></body>
  </worldbody><equality>
  <connect name="pin" body1="rod" body2="rocker" anchor=".5 0 0" solref="1e-3 1" solimp=".9999 .9999 .001"/>
  <joint name="gear" joint1="d" joint2="a" polycoef="0.1 0.5 0.2 0 0"
  solref="1e-3 1" solimp=".9999 .9999 .001"/>
  </equality></mujoco>"""


def test_mujoco_with_stiff_equality_moves_alike() -> None:
    mujoco = pytest.importorskip("mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        robot = px.load(MJCF)
    assert [c.kind for c in robot.constraints] == ["point", "coupling"]
    q = robot.close_loops(np.array([-1.2, 0.9, -1.5, -0.2])).q
    model = mujoco.MjModel.from_xml_string(MJCF.replace("<geom", '<geom contype="0" conaffinity="0"'))
    data = mujoco.MjData(model)
    data.qpos[:], _ = px.convert.to_mujoco(robot, model, q, np.zeros(4))
    for _ in range(1500):
        mujoco.mj_step(model, data)
    run = robot.simulation(2e-4).rollout(q, np.zeros(4), steps=1500, every=1500)
    there, _ = px.convert.from_mujoco(robot, model, data.qpos, data.qvel)
    np.testing.assert_allclose(run.q[-1], there, atol=5e-3)
    assert np.abs(run.q[-1] - q).max() > 0.1


def test_single_precision_closes_loops_to_its_digits() -> None:
    robot = four_bar("point", BASE)
    sim = robot.simulation(1e-3, dtype="float32")
    run = sim.rollout(start(robot).astype(np.float32), np.zeros(3, np.float32), steps=5000, every=100)
    assert np.abs(robot.constraint_error(run.q.astype(float))).max() < 1e-5
