# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Dynamics under constraints against Pinocchio and dense equations in extended precision."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.constrained import FEET, four_bar, loop_state, ring
from reference.examples import example

CLOSURES = {
    "contacts": FEET,
    "welds": (px.constraint.weld("LF_FOOT"), px.constraint.weld("RH_SHANK")),
    "mixed": ("LF_FOOT", px.constraint.weld("RF_SHANK"), px.constraint.point("LH_FOOT", "RH_FOOT")),
    "pair of welds": (px.constraint.weld("LF_FOOT", "RF_FOOT"),),
    "across": (px.constraint.point("LF_SHANK", "RH_FOOT", offset=(0.0, 0.1, 0.05)),),
}
INPUTS = ("q", "qd", "tau")


def anymal() -> px.Robot:
    robot = example("anymal.urdf", floating_base=True)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    return robot


def state(robot: px.Robot, batch: int = 3, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    q = robot.random_state(batch, rng)[0]
    return q, rng.normal(size=(batch, robot.nv)), 10.0 * rng.normal(size=(batch, robot.nv))


def dense(robot: px.Robot, q: Any, qd: Any, tau: Any, contacts: Any = (), digits: int = 40) -> Any:
    """(qdd, forces) of one state: M, h, J and dJ/dt qd in floats, the equations solved with many digits."""
    mpmath = pytest.importorskip("mpmath")
    J = robot.constraint_jacobian(q, contacts=contacts)
    nv, m = robot.nv, len(J)
    K = np.block([[robot.mass_matrix(q), -J.T], [J, np.zeros((m, m))]])
    b = np.concatenate([tau - robot.bias_forces(q, qd), -robot.constraint_bias(q, qd, contacts=contacts)])
    with mpmath.workdps(digits):
        x = np.array(
            mpmath.lu_solve(mpmath.matrix(K.tolist()), mpmath.matrix(b.tolist())), dtype=float
        ).ravel()
    return x[:nv], x[nv:]


def differences(f: Any, args: tuple[Any, ...], robot: px.Robot, k: int, step: float = 1e-6) -> list[Any]:
    """Central differences of the results along the degrees of freedom of input k."""
    columns = []
    for unit in np.eye(robot.nv) * step:
        sides = []
        for sign in (1.0, -1.0):
            moved = list(args)
            moved[k] = robot.integrate(args[0], sign * unit) if k == 0 else args[k] + sign * unit
            sides.append(f(*moved))
        columns.append([(a - b) / (2 * step) for a, b in zip(*sides, strict=True)])
    return [np.stack(each, axis=-1) for each in zip(*columns, strict=True)]


def close(a: Any, b: Any, tolerance: float) -> None:
    assert np.abs(a - b).max() <= tolerance * (1.0 + np.abs(b).max())


# ------------------------------------------------------------------- Pinocchio


def pinocchio(robot: px.Robot, constraints: Any, *, floating: bool = True) -> tuple[Any, ...]:
    pin = pytest.importorskip("pinocchio")
    model = pin.buildModelFromUrdf(robot.description.source, *[pin.JointModelFreeFlyer()] * floating)
    data = model.createData()
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in constraints:
        c = px.constraint.point(c) if isinstance(c, str) else c
        kind = pin.ContactType.CONTACT_3D if c.kind == "point" else pin.ContactType.CONTACT_6D
        ends: list[Any] = []
        for name, own in ((c.first, c.first_pose), (c.second, c.second_pose)):
            if name:
                frame = model.frames[model.getFrameId(name)]
                ends += [frame.parentJoint, frame.placement * pin.SE3(own.matrix)]
        made = pin.RigidConstraintModel(kind, model, *ends, pin.LOCAL)
        models.append(made)
        datas.append(made.createData())
    pin.initConstraintDynamics(model, data, models, datas)
    return pin, model, data, models, datas


def in_pinocchios_order(constraints: Any, forces: Any) -> Any:
    """Forces row by row, those of welds with the forces before the moments."""
    made, start = [], 0
    for c in constraints:
        rows = 3 if isinstance(c, str) else c.rows
        part = forces[start : start + rows]
        made.append(part if rows == 3 else np.concatenate([part[3:], part[:3]]))
        start += rows
    return np.concatenate(made)


@pytest.mark.parametrize("name", CLOSURES)
def test_accelerations_and_forces_are_those_of_pinocchio(name: str) -> None:
    """At any state, also where the constraints are violated."""
    robot, constraints = anymal(), CLOSURES[name]
    pin, model, data, models, datas = pinocchio(robot, constraints)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    q, qd, tau = state(robot)
    found = robot.constrained_dynamics(q, qd, tau, contacts=constraints)
    for k in range(len(q)):
        own = px.convert.to_pinocchio(robot, model, q[k], qd[k], found.qdd[k])
        forces = px.convert.tau_to_pinocchio(robot, model, q[k], tau[k])
        a = pin.constraintDynamics(model, data, own[0], own[1], forces, models, datas, settings)
        close(own[2], a, 1e-11)
        close(in_pinocchios_order(constraints, found.forces[k]), np.array(data.lambda_c), 1e-11)


@pytest.mark.parametrize("kind", ["point", "weld"])
def test_derivatives_are_those_of_pinocchio(kind: str) -> None:
    robot = example("ur5_robot.urdf")
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    contacts = (getattr(px.constraint, kind)("tool0"),)
    pin, model, data, models, datas = pinocchio(robot, contacts, floating=False)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    q, qd, tau = (x[0] for x in state(robot))
    J = robot.constraint_jacobian(q, contacts=contacts)
    qd = qd - np.linalg.pinv(J) @ (J @ qd)  # Pinocchio's take contacts to be at rest
    pin.constraintDynamics(model, data, q, qd, tau, models, datas, settings)
    theirs = pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)
    ours = robot.constrained_dynamics_derivatives(q, qd, tau, contacts=contacts)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if k >= 3 and kind == "weld":
            b = np.concatenate([b[3:], b[:3]])
        close(a, b, 1e-9)


# ------------------------------------------------------------------- dense equations


@pytest.mark.parametrize(("n", "closure"), [(6, "point"), (9, "weld")])
def test_rings_move_as_the_dense_equations_in_extended_precision_say(n: int, closure: str) -> None:
    robot = ring(n, closure)
    q, qd = loop_state(robot, seed=1)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    found = robot.constrained_dynamics(q, qd, tau)
    qdd, forces = dense(robot, q, qd, tau)
    close(found.qdd, qdd, 1e-11)
    close(found.forces, forces, 1e-11)


@pytest.mark.parametrize("kind", ["point", "axis", "weld"])
def test_every_joint_type_under_every_constraint(kind: str) -> None:
    types = ("revolute", "prismatic", "spherical", "planar", "universal", "helical")
    robot = px.tree(7, branching=0.2, seed=3, joints=types)
    first, second = robot.link_names[-1], robot.link_names[1]
    contacts = {
        "point": (px.constraint.point(first, second),),
        "axis": (px.constraint.axis(first, axis=(0.3, 1.0, 0.2), offset=(0.0, 0.1, 0.0)),),
        "weld": (px.constraint.weld(first),),
    }[kind]
    q, qd, tau = (x[0] for x in state(robot))
    assert robot.constraint_rank(q, contacts=contacts) == contacts[0].rows
    found = robot.constrained_dynamics(q, qd, tau, contacts=contacts)
    qdd, forces = dense(robot, q, qd, tau, contacts)
    close(found.qdd, qdd, 1e-9)
    close(found.forces, forces, 1e-9)
    d = robot.constrained_dynamics_derivatives(q, qd, tau, contacts=contacts)
    f = lambda *args: robot.constrained_dynamics(*args, contacts=contacts)  # noqa: E731
    for k, name in enumerate(INPUTS):
        for own, other in zip(
            (getattr(d, f"d{name}"), getattr(d, f"forces_d{name}")),
            differences(f, (q, qd, tau), robot, k),
            strict=True,
        ):
            close(own, other, 2e-6)


def test_the_jacobian_and_bias_are_those_of_frames() -> None:
    robot = anymal()
    q, qd, _ = state(robot)
    a, b = "LF_FOOT", "RH_SHANK"
    R = robot.frame_pose(q, a)[..., :3, :3]
    for first, second in ((a, None), (a, b)):
        J = robot.jacobian(q, first)[..., 3:, :]
        bias = robot.frame_acceleration(q, qd, 0.0 * qd, first)[..., 3:]
        if second:
            J = J - robot.jacobian(q, second)[..., 3:, :]
            bias = bias - robot.frame_acceleration(q, qd, 0.0 * qd, second)[..., 3:]
        contacts = (px.constraint.point(first, second),)
        close(robot.constraint_jacobian(q, contacts=contacts), R.swapaxes(-1, -2) @ J, 1e-12)
        close(
            robot.constraint_bias(q, qd, contacts=contacts),
            (R.swapaxes(-1, -2) @ bias[..., None])[..., 0],
            1e-12,
        )


def test_equations_between_coordinates_hold_and_have_derivatives() -> None:
    chain = px.chain(5, seed=4)
    j = chain.joint_names
    robot = chain.with_constraint(
        px.constraint.coupling(j[1], j[0], (0.1, -0.5, 0.3, 0.2), offset=0.2, driver_offset=-0.1),
        px.constraint.tendon({j[2]: 2.0, j[3]: -1.0}, {j[4]: 0.5}, (0.0, 1.0, 0.4)),
    )
    q, qd = loop_state(robot, seed=5)
    x = q[0] - 0.1
    assert abs(q[1] + 0.2 - (0.1 - 0.5 * x + 0.3 * x**2 + 0.2 * x**3)) < 1e-9
    tau = np.random.default_rng(1).normal(size=robot.nv)
    qdd, forces = dense(robot, q, qd, tau)
    found = robot.constrained_dynamics(q, qd, tau)
    close(found.qdd, qdd, 1e-11)
    close(found.forces, forces, 1e-11)
    d = robot.constrained_dynamics_derivatives(q, qd, tau)
    for k, name in enumerate(INPUTS):
        by = differences(robot.constrained_dynamics, (q, qd, tau), robot, k)
        close(getattr(d, f"d{name}"), by[0], 1e-7)
        close(getattr(d, f"forces_d{name}"), by[1], 1e-7)
    (error,) = differences(lambda q: (robot.constraint_error(q),), (q,), robot, 0)
    close(robot.constraint_jacobian(q), error, 1e-8)


def test_mimic_joints_are_held_with_their_drivers() -> None:
    b = px.RobotBuilder("mimic")
    b.add_link("base")
    for k, parent in enumerate(("base", "l0", "l1", "l2")):
        b.add_link(f"l{k}", mass=1.0, com=(0.1, 0.0, 0.05), inertia=(0.01, 0.02, 0.03))
        mimic = ("j0", -0.5, 0.2) if k == 2 else None
        b.add_joint(
            f"j{k}", "revolute", parent, f"l{k}", axis=(0.1 * k, 1.0, 0.3), origin=(0.3, 0, 0), mimic=mimic
        )
    robot = b.build()
    assert robot.nv == 3
    q, qd, tau = (x[0] for x in state(robot))
    contacts = (px.constraint.coupling("j2", "j1"),)
    found = robot.constrained_dynamics(q, qd, tau, contacts=contacts)
    assert abs(-0.5 * found.qdd[0] - found.qdd[1]) < 1e-12
    qdd, _ = dense(robot, q, qd, tau, contacts)
    close(found.qdd, qdd, 1e-11)
    tip = robot.constrained_dynamics(q, qd, tau, contacts=(px.constraint.coupling("j3"),))
    assert abs(tip.qdd[2]) < 1e-12


def test_external_wrenches_inertias_and_damping_have_their_effect() -> None:
    robot = px.chain(5, seed=2)
    contacts = (px.constraint.point(robot.link_names[3]),)
    q, qd, tau = (x[0] for x in state(robot))
    external = np.random.default_rng(7).normal(size=(robot.n_links, 6))
    inertias = robot.inertial_parameters.reshape(-1, 10) * 1.2
    how = {"external": external, "inertias": inertias}
    found = robot.constrained_dynamics(q, qd, tau, contacts=contacts, damping=0.01, **how)
    J = robot.constraint_jacobian(q, contacts=contacts)
    rest = robot.constraint_bias(q, qd, contacts=contacts)
    close(J @ found.qdd + rest, -0.01 * found.forces, 1e-11)
    close(robot.inverse_dynamics(q, qd, found.qdd, **how), tau + J.T @ found.forces, 1e-10)
    d = robot.constrained_dynamics_derivatives(q, qd, tau, contacts=contacts, damping=0.01, **how)
    f = lambda *args: robot.constrained_dynamics(*args, contacts=contacts, damping=0.01, **how)  # noqa: E731
    close(d.dq, differences(f, (q, qd, tau), robot, 0)[0], 1e-6)
    link = robot.link_names[2]
    named = robot.constrained_dynamics(q, qd, tau, contacts=contacts, external={link: np.ones(6)})
    wrench = np.zeros((robot.n_links, 6))
    wrench[2] = 1.0
    same = robot.constrained_dynamics(q, qd, tau, contacts=contacts, external=wrench)
    assert np.array_equal(named.qdd, same.qdd)


# ------------------------------------------------------------------- redundancy


def test_a_flat_four_bar_in_space_moves_as_in_its_plane() -> None:
    robot, open_chain = four_bar("axis"), four_bar("")
    q, qd = loop_state(robot, start=(-1.0, 1.0, 1.2))
    tau = np.array([0.3, -0.2, 0.5])
    assert robot.constraint_rank(q) == 2 < sum(c.rows for c in robot.constraints)
    J = open_chain.jacobian(q, "tip")[[3, 5]]
    bias = open_chain.frame_acceleration(q, qd, 0.0 * qd, "tip")[[3, 5]]
    K = np.block([[open_chain.mass_matrix(q), -J.T], [J, np.zeros((2, 2))]])
    x = np.linalg.solve(K, np.concatenate([tau - open_chain.bias_forces(q, qd), -bias]))
    close(robot.constrained_dynamics(q, qd, tau).qdd, x[:3], 1e-11)


def test_a_weld_twice_moves_as_once() -> None:
    robot = ring(7, "weld")
    (weld,) = robot.constraints
    twice = robot.with_constraint(px.constraint.weld(weld.first, at=weld.second_pose.matrix, name="again"))
    q, qd = loop_state(robot, seed=1)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    once = robot.constrained_dynamics(q, qd, tau)
    close(twice.constrained_dynamics(q, qd, tau).qdd, once.qdd, 1e-11)
    assert twice.constraint_rank(q) == 6


# ------------------------------------------------------------------- inverse dynamics and impacts


def test_inverse_dynamics_gives_back_what_moved_the_robot() -> None:
    robot = anymal()
    q, qd, _ = state(robot)
    tau = np.zeros((3, robot.nv))
    tau[:, 6:] = np.random.default_rng(3).normal(size=(3, 12))
    found = robot.constrained_dynamics(q, qd, tau, contacts=FEET[:2])
    back = robot.constrained_inverse_dynamics(q, qd, found.qdd, contacts=FEET[:2])
    J = robot.constraint_jacobian(q, contacts=FEET[:2])
    assert np.abs(back.tau[:, :6]).max() == 0.0
    assert np.abs(back.residual).max() < 1e-9
    A = np.concatenate([np.broadcast_to(np.eye(18)[:, 6:], (3, 18, 12)), J.swapaxes(-1, -2)], axis=-1)
    known = np.concatenate([tau[:, 6:], found.forces], axis=-1)
    least = np.concatenate([back.tau[:, 6:], back.forces], axis=-1)
    apart = known - least
    assert np.abs(A @ apart[..., None]).max() < 1e-9  # in the null space
    assert np.abs((least * apart).sum(axis=-1)).max() < 1e-8 * np.abs(known).max() ** 2  # and of least norm
    again = robot.constrained_dynamics(q, qd, back.tau, contacts=FEET[:2])
    close(again.qdd, found.qdd, 1e-9)


def test_forces_of_joints_without_motors_are_told() -> None:
    robot = anymal()
    q, qd, _ = (x[0] for x in state(robot))
    back = robot.constrained_inverse_dynamics(q, qd, np.ones(18), contacts=("LF_FOOT",), actuated=("LF_KFE",))
    knee = robot.v_slices["LF_KFE"]
    assert np.flatnonzero(back.tau).tolist() == [knee.start]
    J = robot.constraint_jacobian(q, contacts=("LF_FOOT",))
    wanted = robot.inverse_dynamics(q, qd, np.ones(18))
    close(back.tau + J.T @ back.forces + back.residual, wanted, 1e-12)
    assert np.abs(back.residual).max() > 1e-3


@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_impacts_keep_momentum_and_turn_the_velocity_of_contacts(restitution: float) -> None:
    robot = anymal()
    q, qd, _ = state(robot)
    after = robot.impulse_dynamics(q, qd, contacts=FEET, restitution=restitution)
    J = robot.constraint_jacobian(q, contacts=FEET)
    close(J @ after.qd[..., None], -restitution * (J @ qd[..., None]), 1e-12)
    change = robot.mass_matrix(q) @ (after.qd - qd)[..., None]
    close(change, J.swapaxes(-1, -2) @ after.impulses[..., None], 1e-11)


# ------------------------------------------------------------------- calls


def test_the_same_bits_alone_and_in_any_batch_and_nan_stays_in_its_state() -> None:
    robot = anymal()
    q, qd, tau = state(robot, 37)
    f = robot.kernel("constrained_dynamics", contacts=FEET)
    whole = f(q, qd, tau, threads=2)
    for k in (0, 8, 36):
        one = f(q[k], qd[k], tau[k])
        assert np.array_equal(one.qdd, whole.qdd[k])
        assert np.array_equal(one.forces, whole.forces[k])
    assert np.array_equal(f(q[5:12], qd[5:12], tau[5:12]).qdd, whole.qdd[5:12])
    q = q.copy()
    q[7, 9] = np.nan
    broken = f(q, qd, tau)
    assert np.isnan(broken.qdd[7]).all()
    assert np.isnan(broken.forces[7]).all()
    assert np.array_equal(np.delete(broken.qdd, 7, 0), np.delete(whole.qdd, 7, 0))


def test_functions_are_kernels_with_derivatives_that_pickle() -> None:
    robot = four_bar("axis")
    q, qd = loop_state(robot, start=(-1.0, 1.0, 1.2))
    tau = np.array([0.3, -0.2, 0.5])
    f = robot.function("constrained_dynamics")
    found = robot.constrained_dynamics(q, qd, tau)
    assert type(found).__name__ == "ConstrainedDynamics"
    assert np.array_equal(pickle.loads(pickle.dumps(f))(q, qd, tau).qdd, found.qdd)
    d = robot.constrained_dynamics_derivatives(q, qd, tau)
    for name in INPUTS:
        close(f.jacobian("qdd", name)(q, qd, tau), getattr(d, f"d{name}"), 1e-11)
        close(f.jacobian("forces", name)(q, qd, tau), getattr(d, f"forces_d{name}"), 1e-11)
    out = np.empty(3), np.empty(5)
    assert robot.constrained_dynamics(q, qd, tau, out=out) is out
    assert np.array_equal(out[0], found.qdd)
    narrow = robot.constrained_dynamics(*(x.astype(np.float32) for x in (q, qd, tau)), damping=1e-6)
    assert narrow.qdd.dtype == np.float32


def test_functions_are_exported(tmp_path: Any) -> None:
    robot = four_bar("axis")
    (header,) = robot.export(tmp_path / "bar.h", ["constrained_dynamics", "constraint_error"])
    text = header.read_text()
    assert "constrained_dynamics" in text
    assert "forces" in text


def test_functions_on_jax_have_gradients() -> None:
    jax = pytest.importorskip("jax")
    robot = four_bar("axis")
    q, qd = loop_state(robot, start=(-1.0, 1.0, 1.2))
    tau = np.array([0.3, -0.2, 0.5])
    with jax.enable_x64(True):
        found = jax.jit(robot.jax.constrained_dynamics)(q, qd, tau)
        close(np.asarray(found.qdd), robot.constrained_dynamics(q, qd, tau).qdd, 1e-14)
        slope = jax.jacobian(lambda x: robot.jax.constrained_dynamics(q, qd, x).qdd)(tau)
        close(np.asarray(slope), robot.constrained_dynamics_derivatives(q, qd, tau).dtau, 1e-12)


# ------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r, s: r.constrained_dynamics(*s),
            r'robot "anymal" has no constraints and the call no contacts',
        ),
        (lambda r, s: r.close_loops(s[0]), r'close_loops: robot "anymal" has no constraints'),
        (
            lambda r, s: r.constrained_dynamics(*s, contacts=("LF_FOT",)),
            r'no frame .LF_FOT.; did you mean "LF_FOOT"',
        ),
        (
            lambda r, s: r.constrained_dynamics(*s, contacts="LF_FOOT"),
            r"contacts is 'LF_FOOT', expected several",
        ),
        (lambda r, s: r.constrained_dynamics(*s, contacts=(3,)), r"contacts has 3, expected names of frames"),
        (lambda r, s: r.constrained_dynamics(*s, contacts=("LF_FOOT",) * 2), r"is given twice"),
        (
            lambda r, s: r.constrained_dynamics(s[0], s[1][:, :3], s[2], contacts=FEET),
            r'qd has shape \(3, 3\), expected \(…, 18\) for robot "anymal"',
        ),
        (
            lambda r, s: r.constrained_inverse_dynamics(*s, contacts=FEET, actuated=("knee",)),
            r'actuated: robot "anymal" has no joint .knee.',
        ),
        (lambda r, s: r.kernel("constrained_dynamics", frame="LF_FOOT"), r"takes dtype and contacts alone"),
        (lambda r, s: r.kernel("mass_matrix", contacts=FEET), r"takes no contacts"),
        (lambda r, s: r.function("constrained_dynamics", contact=FEET), r'did you mean "contacts"'),
    ],
)
def test_bad_calls_say_what_is_wrong(call: Any, message: str) -> None:
    robot = anymal()
    with pytest.raises(px.PhalanxError, match=message):
        call(robot, state(robot))


def test_contacts_on_links_of_the_world_are_refused() -> None:
    robot = example("anymal.urdf")
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    with pytest.raises(px.PhalanxError, match=r'contact "base" is on a link of the world of robot "anymal"'):
        robot.constrained_dynamics(*state(robot), contacts=("base",))


def test_misspelt_keywords_are_refused() -> None:
    robot = anymal()
    with pytest.raises(TypeError, match=r"constrained_dynamics.*'dampng'.*Did you mean 'damping'"):
        robot.constrained_dynamics(*state(robot), contacts=FEET, dampng=0.1)
