# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constrained dynamics by articulated bodies against Pinocchio, extended precision and the dense route."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.constrained import FEET, four_bar, ring
from reference.examples import example

LENGTHS = [20, 60, pytest.param(100, marks=pytest.mark.exhaustive), 200]


def state(robot: px.Robot, batch: int = 3, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    qd, tau = rng.normal(size=(2, batch, robot.nv))
    return robot.random_state(batch, rng)[0], qd, 10.0 * tau


def apart(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def welded(n: int) -> tuple[px.Robot, px.Constraint]:
    chain = px.chain(n)
    return chain, px.constraint.weld(chain.link_names[-1])


def refined(robot: px.Robot, q: Any, qd: Any, tau: Any, tip: str) -> tuple[Any, Any]:
    """(qdd, forces) of dense equations, their residual made zero in extended precision."""
    J = robot.jacobian(q, tip, reference="local")
    w, v = np.split(robot.frame_velocity(q, qd, tip, reference="local"), 2)
    bias = robot.frame_acceleration(q, qd, 0.0 * qd, tip, reference="local") - np.append(
        0.0 * w, np.cross(w, v)
    )
    K = np.block([[robot.mass_matrix(q), -J.T], [J, np.zeros((6, 6))]])
    b = np.concatenate([tau - robot.bias_forces(q, qd), -bias])
    x = np.linalg.solve(K, b).astype(np.longdouble)
    for _ in range(8):
        left = b.astype(np.longdouble) - K.astype(np.longdouble) @ x
        x = x + np.linalg.solve(K, left.astype(float))
    return x[: robot.nv].astype(float), x[robot.nv :].astype(float)


@pytest.mark.parametrize("n", LENGTHS)
def test_long_rings_move_as_those_of_pinocchio_and_of_dense_equations_in_extended_precision(n: int) -> None:
    pin = pytest.importorskip("pinocchio")
    robot, weld = welded(n)
    q, qd, tau = state(robot)
    found = robot.constrained_dynamics(q, qd, tau, contacts=(weld,), algorithm="articulated")
    model = pin.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    frame = model.frames[model.getFrameId(weld.first)]
    made = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_6D, model, frame.parentJoint, frame.placement, pin.LOCAL
    )
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    models.append(made)
    datas.append(made.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    for k in range(len(q)):
        qdd, forces = refined(robot, q[k], qd[k], tau[k], weld.first)
        assert apart(found.qdd[k], qdd) < 1e-9
        assert apart(found.forces[k], forces) < 1e-9
        own = px.convert.to_pinocchio(robot, model, q[k], qd[k], found.qdd[k])
        forces = px.convert.tau_to_pinocchio(robot, model, q[k], tau[k])
        settings = pin.ProximalSettings(1e-12, 0.0, 1)
        theirs = pin.constraintDynamics(model, data, *own[:2], forces, models, datas, settings)
        assert apart(own[2], theirs) < 1e-9


@pytest.mark.parametrize(
    "contacts",
    [
        FEET,
        (px.constraint.weld("LF_FOOT", "RF_FOOT"), px.constraint.axis("LH_FOOT")),
        (px.constraint.point("LF_SHANK", "RH_FOOT", offset=(0.0, 0.1, 0.05)),),
    ],
)
def test_trees_with_floating_bases_move_as_by_the_dense_route(contacts: Any) -> None:
    robot = example("anymal.urdf", floating_base=True)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    own, other = (
        robot.constrained_dynamics(*state(robot), contacts=contacts, algorithm=name)
        for name in ("articulated", "dense")
    )
    assert apart(own.qdd, other.qdd) < 1e-9
    assert apart(own.forces, other.forces) < 1e-9


def test_every_joint_type_external_wrenches_inertias_and_damping() -> None:
    types = ("revolute", "prismatic", "spherical", "universal", "planar", "floating", "helical")
    robot = px.tree(12, branching=0.3, seed=3, joints=types)
    contacts = (px.constraint.weld(robot.link_names[-1]), px.constraint.point(robot.link_names[-3]))
    rng = np.random.default_rng(1)
    more = {
        "external": rng.normal(size=(3, robot.n_links, 6)),
        "inertias": robot.inertial_parameters.reshape(-1, 10) * 1.3,
        "damping": 0.2,
    }
    own, other = (
        robot.constrained_dynamics(*state(robot), contacts=contacts, algorithm=name, **more)
        for name in ("articulated", "dense")
    )
    assert apart(own.qdd, other.qdd) < 1e-10
    assert apart(own.forces, other.forces) < 1e-10


def test_redundant_rows_have_no_force() -> None:
    robot = four_bar("axis")
    q, qd, tau = (x[0] for x in state(robot))
    q = robot.close_loops(0.3 * q).q
    own, other = (robot.constrained_dynamics(q, 0 * qd, tau, algorithm=a) for a in ("articulated", "dense"))
    assert apart(own.qdd, other.qdd) < 1e-8


def test_a_state_has_the_same_bits_in_any_batch_and_nan_stays_in_its_lane() -> None:
    robot, weld = welded(40)
    f = robot.function("constrained_dynamics", contacts=(weld,))
    q, qd, tau = state(robot, 37)
    made = f(q, qd, tau)
    for k in (0, 20, 36):
        alone = f(q[k], qd[k], tau[k])
        assert (alone.qdd == made.qdd[k]).all()
        assert (alone.forces == made.forces[k]).all()
    q[5, 3] = np.nan
    again = f(q, qd, tau)
    assert np.isnan(again.qdd[5]).all()
    assert np.isnan(again.forces[5]).all()
    assert (np.delete(again.qdd, 5, axis=0) == np.delete(made.qdd, 5, axis=0)).all()
    assert (pickle.loads(pickle.dumps(f))(q[0], qd[0], tau[0]).qdd == made.qdd[0]).all()


def test_auto_takes_articulated_bodies_for_long_robots() -> None:
    for n, name in ((6, "dense"), (40, "articulated")):
        robot = ring(n) if n == 6 else welded(n)[0].with_constraint(welded(n)[1])
        x = state(robot, 1)
        own, named = robot.constrained_dynamics(*x), robot.constrained_dynamics(*x, algorithm=name)
        assert (own.qdd == named.qdd).all()


def test_what_articulated_bodies_do_not_cover_is_refused_with_the_remedy() -> None:
    robot = px.chain(6)
    coupled = robot.with_constraint(px.constraint.coupling(robot.joint_names[0], robot.joint_names[1]))
    with pytest.raises(
        px.PhalanxError, match=r'does not cover.*equation between coordinates; use algorithm "dense"'
    ):
        coupled.constrained_dynamics(*state(coupled), algorithm="articulated")
    weld = px.constraint.weld(robot.link_names[-1])
    with pytest.raises(px.PhalanxError, match='expected "auto", "dense" or "articulated"'):
        robot.constrained_dynamics(*state(robot), contacts=(weld,), algorithm="lcaba")


def test_derivatives_are_those_of_the_dense_route() -> None:
    robot, weld = welded(8)
    x = state(robot)
    own, other = (
        robot.function("constrained_dynamics", contacts=(weld,), algorithm=name)
        for name in ("articulated", "dense")
    )
    assert (own.jacobian("qdd", "q")(*x) == other.jacobian("qdd", "q")(*x)).all()
    assert (own.jvp(x, (x[1], x[1], x[1])).forces == other.jvp(x, (x[1], x[1], x[1])).forces).all()
    assert own.cost.total > 0
    long, end = welded(150)
    f = long.function("constrained_dynamics", contacts=(end,))
    with pytest.raises(px.PhalanxError, match=r"has 150 degrees of freedom .* more than 250,000 operations"):
        f.jacobian("qdd", "q")
