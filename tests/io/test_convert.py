# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Converted states give the same motion in the other engines, and come back unchanged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from reference.effort import calls_of

MASS, COM = 1.5, (0.1, -0.2, 0.3)
INERTIA = np.array([[0.3, 0.02, -0.03], [0.02, 0.25, 0.01], [-0.03, 0.01, 0.2]])
AXIS = np.array([0.6, 0.0, 0.8])
ORIGIN = np.eye(4)
ORIGIN[:3, :3] = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]
ORIGIN[:3, 3] = [0.3, -0.1, 0.4]

# Joint, type, parent; in the order of the robot. Siblings stand in another order below.
JOINTS = (
    ("root", "floating", "base"),
    ("z", "continuous", "root"),
    ("y", "spherical", "root"),
    ("x", "planar", "z"),
    ("w", "revolute", "z"),
    ("v", "helical", "y"),
    ("u", "prismatic", "v"),
    ("t", "universal", "v"),
)
PINOCCHIO_ORDER = ("root", "y", "v", "t", "u", "z", "w", "x")


def mixed_robot() -> px.Robot:
    """A tree with a joint of every type that Pinocchio has too."""
    builder = px.RobotBuilder("mixed")
    builder.add_link("base")
    for name, kind, parent in JOINTS:
        builder.add_link(name, mass=MASS, com=COM, inertia=INERTIA)
        axis = (0, 0, 1) if kind in ("planar", "continuous") else AXIS
        builder.add_joint(name, kind, parent, name, origin=ORIGIN, axis=axis, axis2=(0, 1, 0), pitch=0.3)
    return builder.build()


def mixed_pinocchio(pin: Any) -> Any:
    """The same tree as Pinocchio's model, with its joints in another order."""
    kinds = {
        "floating": pin.JointModelFreeFlyer(),
        "continuous": pin.JointModelRUBZ(),
        "revolute": pin.JointModelRevoluteUnaligned(AXIS),
        "prismatic": pin.JointModelPrismaticUnaligned(AXIS),
        "spherical": pin.JointModelSpherical(),
        "planar": pin.JointModelPlanar(),
        "helical": pin.JointModelHelicalUnaligned(AXIS, 0.3),
        "universal": pin.JointModelUniversal(AXIS, np.array([0.0, 1.0, 0.0])),
    }
    by_name = {name: (kind, parent) for name, kind, parent in JOINTS}
    model = pin.Model()
    for name in PINOCCHIO_ORDER:
        kind, parent = by_name[name]
        above = 0 if parent == "base" else model.getJointId(parent)
        joint = model.addJoint(above, kinds[kind], pin.SE3(ORIGIN), name)
        model.appendBodyToJoint(joint, pin.Inertia(MASS, np.array(COM), INERTIA), pin.SE3.Identity())
    return model


@pytest.fixture(name="mixed")
def mixed_() -> tuple[px.Robot, Any, Any]:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    model = mixed_pinocchio(pin)
    return mixed_robot(), model, pin


def close(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got, expected, atol=1e-11 * max(1.0, np.abs(expected).max()), rtol=0)


# ------------------------------------------------------------------- the fast path


@pytest.mark.parametrize("batch", [(), (4,)])
def test_conversions_are_compiled_and_the_same_at_every_call(
    mixed: tuple[px.Robot, Any, Any], batch: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, model, _ = mixed
    q, qd, qdd = robot.random_state(batch, rng=1)
    p, v, a = convert.to_pinocchio(robot, model, q, qd, qdd)
    calls: list[Callable[[], Any]] = [
        lambda: convert.to_pinocchio(robot, model, q),
        lambda: convert.to_pinocchio(robot, model, q, qd),
        lambda: convert.from_pinocchio(robot, model, p),
        lambda: convert.from_pinocchio(robot, model, p, v, a),
        lambda: convert.tau_to_pinocchio(robot, model, q, qd),
        lambda: convert.tau_from_pinocchio(robot, model, q, v),
        lambda: convert.pinocchio_basis(robot, model, q),
    ]
    wanted = [call() for call in calls]
    monkeypatch.setattr(convert, "_checked_and_run", lambda *args: pytest.fail("the slow path"))
    for call, each in zip(calls, wanted, strict=True):
        for found, want in zip(*(x if isinstance(x, tuple) else (x,) for x in (call(), each)), strict=True):
            assert found.shape == want.shape
            np.testing.assert_array_equal(found, want)
        assert calls_of(call) <= 40  # with those of the model's own attributes; the slow path makes hundreds


def test_what_is_odd_and_what_is_wrong_stay_as_they_were(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, _ = mixed
    q, qd, qdd = robot.random_state(3, rng=2)
    for _ in range(3):
        there, rates = convert.to_pinocchio(robot, model, q[0], qd)
        assert there.shape == (model.nq,)
        assert rates.shape == (3, model.nv)
        assert convert.to_pinocchio(robot, model, q.astype("f4")).dtype == np.float32
        close(convert.to_pinocchio(robot, model, q.tolist()), convert.to_pinocchio(robot, model, q))
        with pytest.raises(px.PhalanxError, match="without velocities"):
            convert.to_pinocchio(robot, model, q, None, qdd)  # type: ignore[call-overload]
        with pytest.raises(px.PhalanxError, match=r"q has shape \(3, 2\)"):
            convert.to_pinocchio(robot, model, q[:, :2])
        with pytest.raises(px.PhalanxError, match="do not broadcast"):
            convert.to_pinocchio(robot, model, q, qd[:2])


def test_models_that_grow_are_matched_again() -> None:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    robot, model = px.load("two_link"), pin.Model()
    first = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), robot.joint_names[0])
    with pytest.raises(px.PhalanxError, match="only the robot has"):
        convert.to_pinocchio(robot, model, robot.neutral())
    model.addJoint(first, pin.JointModelRZ(), pin.SE3.Identity(), robot.joint_names[1])
    for _ in range(3):
        assert convert.to_pinocchio(robot, model, robot.neutral()).shape == (2,)
    model.addJoint(first, pin.JointModelRZ(), pin.SE3.Identity(), "third")
    with pytest.raises(px.PhalanxError, match="only the model has"):
        convert.to_pinocchio(robot, model, robot.neutral())


# ------------------------------------------------------------------- Pinocchio


def test_all_joint_types_move_in_pinocchio_as_here(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, pin = mixed
    for seed in range(3):
        q, qd, qdd = robot.random_state(rng=seed)
        p, v, a = convert.to_pinocchio(robot, model, q, qd, qdd)
        data = model.createData()
        tau = pin.rnea(model, data, p, v, a)
        close(convert.tau_to_pinocchio(robot, model, q, robot.inverse_dynamics(q, qd, qdd)), tau)
        close(robot.inverse_dynamics(q, qd, qdd), convert.tau_from_pinocchio(robot, model, q, tau))
        basis = convert.pinocchio_basis(robot, model, q)
        crba = np.triu(pin.crba(model, data, p))
        close(basis @ robot.mass_matrix(q) @ basis.T, crba + np.triu(crba, 1).T)
        force = convert.tau_to_pinocchio(robot, model, q, qdd)
        back = convert.from_pinocchio(robot, model, p, v, pin.aba(model, data, p, v, force))
        close(back[2], robot.forward_dynamics(q, qd, qdd))


def test_rates_are_the_rates_of_the_coordinates(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, pin = mixed
    q, qd, _ = robot.random_state(rng=0)
    step = 1e-6
    ahead, behind = (convert.to_pinocchio(robot, model, robot.integrate(q, s * qd)) for s in (step, -step))
    _, v = convert.to_pinocchio(robot, model, q, qd)
    np.testing.assert_allclose(pin.difference(model, behind, ahead) / (2 * step), v, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_come_back_from_pinocchio_unchanged(mixed: tuple[px.Robot, Any, Any], dtype: Any) -> None:
    robot, model, _ = mixed
    state = tuple(x.astype(dtype) for x in robot.random_state(batch=(4, 3), rng=1))
    there = convert.to_pinocchio(robot, model, *state)
    back = convert.from_pinocchio(robot, model, *there)
    assert [x.shape for x in there] == [(4, 3, model.nq), (4, 3, model.nv), (4, 3, model.nv)]
    for got, expected in zip(back, state, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, atol=2e-5 if dtype == np.float32 else 1e-13)


def test_batch_axes_broadcast(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, _ = mixed
    q, qd, _ = robot.random_state(batch=(4, 1), rng=1)
    _, _, qdd = robot.random_state(batch=3, rng=2)
    _, _, a = convert.to_pinocchio(robot, model, q, qd, qdd)
    assert a.shape == (4, 3, model.nv)
    close(a[2, 1], convert.to_pinocchio(robot, model, q[2, 0], qd[2, 0], qdd[1])[2])
    tau = convert.tau_to_pinocchio(robot, model, q[0, 0], qdd)
    close(tau[1], convert.tau_to_pinocchio(robot, model, q[0, 0], qdd[1]))


def test_as_many_arrays_return_as_are_given(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, _ = mixed
    q, qd, _ = robot.random_state(rng=0)
    p = convert.to_pinocchio(robot, model, q)
    assert p.shape == (model.nq,)
    both = convert.to_pinocchio(robot, model, q, qd)
    np.testing.assert_array_equal(both[0], p)
    close(convert.from_pinocchio(robot, model, p), q)
    close(convert.from_pinocchio(robot, model, *both)[1], qd)


LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1.5" izz="2" ixy="0.1" ixz="0" iyz="0"/></inertial>'


def arm(mimic: str = "") -> str:
    links = "".join(f'<link name="{name}">{LINK}</link>' for name in "abc")
    joint = (
        '<joint name="{}" type="{}"><parent link="a"/><child link="{}"/><axis xyz="0 0.6 0.8"/>{}{}</joint>'
    )
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    second = joint.format("second", "continuous", "b", limit, "")
    return f'<robot name="arm">{links}{second}{joint.format("first", "revolute", "c", limit, mimic)}</robot>'


def test_a_floating_base_is_pinocchios_root_joint() -> None:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    robot = px.load(arm(), floating_base=True)
    model = pin.buildModelFromXML(arm(), pin.JointModelFreeFlyer())
    assert list(model.names) == ["universe", "root_joint", "first", "second"]  # siblings by the alphabet
    assert robot.joint_names == ("second", "first")
    q, qd, qdd = robot.random_state(rng=0)
    tau = pin.rnea(model, model.createData(), *convert.to_pinocchio(robot, model, q, qd, qdd))
    close(convert.tau_from_pinocchio(robot, model, q, tau), robot.inverse_dynamics(q, qd, qdd))


def test_coupled_robots_match_pinocchios_coupled_models() -> None:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    text = arm('<mimic joint="second" multiplier="2" offset="0.1"/>').replace("continuous", "prismatic")
    text = text.replace('"second"', '"driver"')  # Pinocchio wants drivers first, by the alphabet
    robot, model = px.load(text), pin.buildModelFromXML(text, True)
    assert robot.nv == model.nv == 1
    q, qd, qdd = robot.random_state(rng=0)
    tau = pin.rnea(model, model.createData(), *convert.to_pinocchio(robot, model, q, qd, qdd))
    close(convert.tau_from_pinocchio(robot, model, q, tau), robot.inverse_dynamics(q, qd, qdd))


def test_followers_are_filled_in_for_models_that_do_not_couple_them() -> None:
    pin = pytest.importorskip("pinocchio", reason="the other engine of this test")
    text = arm('<mimic joint="second" multiplier="2"/>')
    model = pin.buildModelFromXML(text)
    robot = px.load(text)
    assert convert.to_pinocchio(robot, model, [0.25]).tolist() == [0.5, np.cos(0.25), np.sin(0.25)]
    close(convert.from_pinocchio(robot, model, [0.5, np.cos(0.25), np.sin(0.25)]), np.array([0.25]))
    q, qd, qdd = robot.random_state(5, rng=0)
    for k in range(5):
        state = convert.to_pinocchio(robot, model, q[k], qd[k], qdd[k])
        tau = pin.rnea(model, model.createData(), *state)
        close(
            convert.tau_from_pinocchio(robot, model, q[k], tau), robot.inverse_dynamics(q[k], qd[k], qdd[k])
        )
    independent = px.load(text, mimic="independent")
    assert convert.to_pinocchio(independent, model, [0.5, 0.25]).tolist() == [0.25, np.cos(0.5), np.sin(0.5)]


# ------------------------------------------------------------------- MuJoCo


MJCF = """<mujoco><worldbody><body pos="1 2 3"><freejoint/><geom size="0.1"/>
<body pos="0.1 0.2 0.3"><joint type="ball"/><joint name="s" type="slide" ref="0.2"/><geom size="0.2"/></body>
<body><joint axis="1 1 0"/><geom size="0.2" pos="0.1 0 0"/></body></body></worldbody></mujoco>"""


@pytest.fixture(name="free")
def free_() -> tuple[px.Robot, Any]:
    mujoco = pytest.importorskip("mujoco", reason="the oracle of this test")
    return px.load(MJCF), mujoco.MjModel.from_xml_string(MJCF)


def test_mujoco_integrates_the_rates_to_the_same_coordinates(free: tuple[px.Robot, Any]) -> None:
    import mujoco

    robot, model = free
    q, qd, _ = robot.random_state(rng=0)
    step = 1e-6
    ahead, behind = (convert.to_mujoco(robot, model, robot.integrate(q, s * qd)) for s in (step, -step))
    rates = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, rates, 2 * step, behind, ahead)
    np.testing.assert_allclose(rates, convert.to_mujoco(robot, model, q, qd)[1], atol=1e-8)


def test_accelerations_are_the_rates_of_the_rates(free: tuple[px.Robot, Any]) -> None:
    robot, model = free
    q, qd, qdd = robot.random_state(rng=0)
    step = 1e-6
    rates = [
        convert.to_mujoco(robot, model, robot.integrate(q, s * qd), qd + s * qdd)[1] for s in (step, -step)
    ]
    _, _, qacc = convert.to_mujoco(robot, model, q, qd, qdd)
    np.testing.assert_allclose((rates[0] - rates[1]) / (2 * step), qacc, atol=1e-7)


def test_batches_come_back_from_mujoco_unchanged(free: tuple[px.Robot, Any]) -> None:
    robot, model = free
    state = robot.random_state(batch=(4, 3), rng=1)
    back = convert.from_mujoco(robot, model, *convert.to_mujoco(robot, model, *state))
    for got, expected in zip(back, state, strict=True):
        close(got, expected)
    tau = convert.tau_to_mujoco(robot, model, state[0], state[2])
    close(convert.tau_from_mujoco(robot, model, state[0], tau), state[2])


def test_power_is_the_same_everywhere(free: tuple[px.Robot, Any]) -> None:
    robot, model = free
    q, qd, tau = robot.random_state(rng=3)
    _, rates = convert.to_mujoco(robot, model, q, qd)
    assert convert.tau_to_mujoco(robot, model, q, tau) @ rates == pytest.approx(tau @ qd)


COUPLED = """<mujoco><option gravity="1 -2 -9"/><worldbody>
<body><joint type="free" armature="0.2"/><geom size="0.1"/>
<body pos="0.1 0.2 0.3"><joint name="i" axis="1 2 3" ref="25" armature="0.3"/><geom size="0.2" pos="0.3 0 0"/>
<body pos="0.4 0 0"><joint name="j" type="slide" axis="0 1 1" ref="0.2" armature="0.5"/><geom size="0.1"/>
<body pos="0 0.3 0.1"><joint type="ball"/><geom size="0.1" pos="0.2 0 0"/></body>
</body></body></body></worldbody>
<equality><joint joint1="i" joint2="j" polycoef="0.2 -1.5 0 0 0"/></equality></mujoco>"""


def test_coupled_robots_move_as_mujocos_model_does_along_the_coupling() -> None:
    mujoco = pytest.importorskip("mujoco", reason="the oracle of this test")
    robot, model = px.load(COUPLED), mujoco.MjModel.from_xml_string(COUPLED)
    assert (robot.nv, model.nv) == (10, 11)
    states = robot.random_state(4, rng=0)
    for q, qd, qdd in zip(*states, strict=True):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qacc[:] = convert.to_mujoco(robot, model, q, qd, qdd)
        mujoco.mj_forward(model, data)
        assert np.abs(data.efc_pos[: data.ne]).max() < 1e-14  # the equality holds
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        basis = convert.mujoco_basis(robot, model, q)
        close(basis @ qd, data.qvel)
        close(robot.mass_matrix(q), basis.T @ M @ basis)
        _, _, data.qacc[:] = convert.to_mujoco(robot, model, q, qd, qdd)
        force = M @ data.qacc + data.qfrc_bias
        close(robot.inverse_dynamics(q, qd, qdd), convert.tau_from_mujoco(robot, model, q, force))
    there = convert.to_mujoco(robot, model, *states)
    for got, expected in zip(convert.from_mujoco(robot, model, *there), states, strict=True):
        close(got, expected)
    tau = convert.tau_to_mujoco(robot, model, states[0], states[2])
    close(convert.tau_from_mujoco(robot, model, states[0], tau), states[2])


# ------------------------------------------------------------------- what is refused


def test_wrong_arrays_are_refused(free: tuple[px.Robot, Any]) -> None:
    robot, model = free
    q, _, qdd = robot.random_state(rng=0)
    with pytest.raises(px.PhalanxError, match=r"^convert: q has shape \(3,\), expected \(…, 13\) for robot"):
        convert.to_mujoco(robot, model, np.zeros(3))
    with pytest.raises(
        px.PhalanxError, match=r"^convert: qd has shape \(13,\), expected \(…, 11\) for robot"
    ):
        convert.to_mujoco(robot, model, q, q)
    with pytest.raises(
        px.PhalanxError, match=r"^convert: v has shape \(13,\), expected \(…, 11\) for MuJoCo model"
    ):
        convert.from_mujoco(robot, model, q, q)
    with pytest.raises(px.PhalanxError, match=r"^convert: q is not an array, expected real numbers"):
        convert.to_mujoco(robot, model, [[1.0], [1.0, 2.0]])
    with pytest.raises(px.PhalanxError, match=r"^convert: q has dtype complex128, expected real numbers"):
        convert.to_mujoco(robot, model, q + 0j)
    with pytest.raises(px.PhalanxError, match=r"^convert: got accelerations without velocities"):
        convert.to_mujoco(robot, model, q, None, qdd)  # type: ignore[call-overload]


def test_other_robots_are_refused(free: tuple[px.Robot, Any]) -> None:
    _, model = free
    robot = px.load(arm())
    with pytest.raises(
        px.PhalanxError, match=r'^convert: robot "arm" .* only the robot has "second", "first"; only'
    ):
        convert.to_mujoco(robot, model, robot.neutral())


def test_joints_of_another_type_are_refused() -> None:
    mujoco = pytest.importorskip("mujoco", reason="the other engine of this test")
    ball = '<body><joint name="second" type="ball"/><geom size="1"/></body>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{ball}</worldbody></mujoco>")
    robot = px.load(arm())
    with pytest.raises(
        px.PhalanxError, match=r'joint "second" of robot "arm" is continuous, but has 4 coordinates'
    ):
        convert.to_mujoco(robot, model, robot.neutral())


def test_batches_that_do_not_broadcast_are_refused() -> None:
    pinocchio = pytest.importorskip("pinocchio")
    robot, model = px.load("two_link"), pinocchio.Model()
    parent = 0
    for name in robot.joint_names:
        parent = model.addJoint(parent, pinocchio.JointModelRZ(), pinocchio.SE3.Identity(), name)
    with pytest.raises(px.PhalanxError, match=r"batch shapes \(2,\) of q and \(3,\) do not broadcast"):
        px.convert.to_pinocchio(robot, model, np.zeros((2, 2)), np.zeros((3, 2)))


# ------------------------------------------------------------------- derivatives


def test_derivatives_are_those_of_pinocchio(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, pin = mixed
    q, qd, qdd = robot.random_state(3, rng=8)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    x, v, a = convert.to_pinocchio(robot, model, q, qd, qdd)
    d = robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")
    found = convert.derivatives_to_pinocchio(robot, model, d, q, qd, qdd, tau)
    assert type(found) is type(d)
    # Pinocchio leaves out that the second axis of a universal joint turns with the first.
    known = np.delete(np.arange(model.nv), model.idx_vs[model.getJointId("t")] + np.arange(2))
    data = model.createData()
    for k in range(3):
        wanted = pin.computeRNEADerivatives(model, data, x[k], v[k], a[k])
        for mine, right in zip(found, wanted, strict=True):
            close(mine[k][:, known], np.array(right)[:, known])


def test_derivatives_are_slopes_of_pinocchio(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, pin = mixed
    q, qd, qdd = robot.random_state(rng=8)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    x, v, a = convert.to_pinocchio(robot, model, q, qd, qdd)
    forces = convert.tau_to_pinocchio(robot, model, q, tau)
    inverse = robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")
    forward = robot.forward_dynamics_derivatives(q, qd, tau, backend="numpy")
    data, step = model.createData(), 1e-6
    steps = step * np.array([1.0, -1.0])[:, None, None, None] * np.eye(3 * model.nv).reshape(-1, 3, model.nv)
    for d, f, third in ((inverse, pin.rnea, a), (forward, pin.aba, forces)):
        found = convert.derivatives_to_pinocchio(robot, model, d, q, qd, qdd, tau)
        ahead, back = (
            [f(model, data, pin.integrate(model, x, s[0]), v + s[1], third + s[2]).copy() for s in side]
            for side in steps
        )
        slopes = np.split((np.array(ahead) - back).T / (2 * step), 3, axis=1)
        for mine, slope in zip(found, slopes, strict=True):
            np.testing.assert_allclose(mine, slope, atol=1e-7 * np.abs(slope).max(), rtol=0)


FREE_BODY = """
<mujoco><option integrator="Euler"><flag contact="disable"/></option><worldbody>
  <body name="trunk"><freejoint name="root"/><inertial pos=".1 .2 .05" mass="2" diaginertia=".05 .04 .03"/>
    <body name="arm" pos="0 .2 .3"><joint name="shoulder" type="ball"/>
      <inertial pos="0 .1 .2" mass="1" diaginertia=".02 .03 .01"/>
      <body name="hand" pos="0 0 .4"><joint name="wrist" axis="1 0 0"/>
        <inertial pos="0 .1 0" mass=".5" diaginertia=".01 .01 .02"/></body></body></body>
</worldbody></mujoco>"""


def test_derivatives_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco", reason="the oracle of this test")
    model = mujoco.MjModel.from_xml_string(FREE_BODY)
    robot = px.load(FREE_BODY)
    q, qd, qdd = robot.random_state(rng=3)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    d = robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")
    found = convert.derivatives_to_mujoco(robot, model, d, q, qd, qdd, tau)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = convert.to_mujoco(robot, model, q, qd, qdd)
    slopes = [np.zeros((model.nv, model.nv)) for _ in range(3)]
    mujoco.mjd_inverseFD(model, data, 1e-6, False, *slopes, None, None, None, None)
    for mine, theirs in zip(found, slopes, strict=True):
        np.testing.assert_allclose(mine, theirs.T, atol=1e-4 * np.abs(theirs).max(), rtol=0)
    # Values beside derivatives come along.
    valued = robot.inverse_dynamics_derivatives(q, qd, qdd, value=True, backend="numpy")
    close(
        convert.derivatives_to_mujoco(robot, model, valued, q, qd, qdd, tau)[3],
        convert.tau_to_mujoco(robot, model, q, tau),
    )
    moved = robot.forward_dynamics_derivatives(q, qd, tau, value=True, backend="numpy")
    close(
        convert.derivatives_to_mujoco(robot, model, moved, q, qd, qdd, tau)[3],
        convert.to_mujoco(robot, model, q, qd, qdd)[2],
    )
    # Nothing of forward dynamics is new: both belong to the same equation of motion.
    f = robot.forward_dynamics_derivatives(q, qd, tau, backend="numpy")
    forward = convert.derivatives_to_mujoco(robot, model, f, q, qd, qdd, tau)
    np.testing.assert_allclose(forward.dq, -forward.dtau @ found.dq, atol=1e-9 * np.abs(forward.dq).max())
    np.testing.assert_allclose(forward.dqd, -forward.dtau @ found.dqd, atol=1e-9 * np.abs(forward.dqd).max())


def test_derivatives_of_other_models_are_refused(mixed: tuple[px.Robot, Any, Any]) -> None:
    robot, model, _ = mixed
    q, qd, qdd = robot.random_state(rng=8)
    with pytest.raises(
        px.PhalanxError, match=r"derivatives are tuple, expected what robot\.inverse_dynamics_d"
    ):
        convert.derivatives_to_pinocchio(robot, model, (q, q, q), q, qd, qdd, qdd)  # type: ignore[type-var]
    d = robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")
    with pytest.raises(px.PhalanxError, match=r"tau has shape \(3,\)"):
        convert.derivatives_to_pinocchio(robot, model, d, q, qd, qdd, qd[:3])
