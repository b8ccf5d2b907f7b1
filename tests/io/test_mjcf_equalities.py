# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Equalities of MJCF as constraints, against MuJoCo's own constrained accelerations as it stiffens."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx import convert

mujoco = pytest.importorskip("mujoco")

LINKAGE = """<mujoco><option><flag contact="disable"/></option>
<default><geom type="capsule"/></default><worldbody>
  <body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0" ref="10"/><geom size="0.02" fromto="0 0 0 .3 0 0"/>
    <body name="b" pos=".3 0 0"><joint name="jb" axis="0 1 0"/><geom size="0.02" fromto="0 0 0 .5 0 0"/>
      <site name="tip" pos=".5 0 0"/>
      <body name="e" pos=".2 0 .1"><joint name="je" axis="1 0 .2"/>
        <joint name="jf" type="slide" axis="0 1 1"/>
        <geom type="box" size=".25 .2 .15"/></body>
    </body></body>
  <body name="c" pos=".6 0 1"><joint name="jc" axis="0 1 0"/><geom size="0.02" fromto="0 0 0 .4 0 0"/>
    <body name="d" pos=".4 0 0"><joint name="jd" type="ball"/>
      <geom size="0.2" fromto="0 0 0 .2 0 .1"/></body>
  </body>
</worldbody>
<tendon><fixed name="t1"><joint joint="ja" coef="2"/><joint joint="jc" coef="-1"/></fixed>
  <fixed name="t2"><joint joint="je" coef=".7"/></fixed></tendon>
<equality>{equality}</equality></mujoco>"""
SOFT = 'solref="{t} 1" solimp="{d} {d} 0.001 0.5 2"'
EQUALITIES = {
    "connect": ('<connect name="x" body1="b" body2="c" anchor=".5 0 0" {soft}/>', "point"),
    "weld": ('<weld name="x" body1="e" body2="d" {soft}/>', "weld"),
    "joint": ('<joint name="x" joint1="jb" joint2="ja" polycoef=".1 -.5 .3 .2 .1" {soft}/>', "coupling"),
    "held": ('<joint name="x" joint1="jf" polycoef=".1 0 0 0 0" {soft}/>', "coupling"),
    "tendon": ('<tendon name="x" tendon1="t1" tendon2="t2" polycoef="0 .5 .2 0 0" {soft}/>', "tendon"),
}


def loaded(equality: str, soft: str = "") -> px.Robot:
    with pytest.warns(px.PhalanxWarning, match="left out"):
        return px.load(LINKAGE.format(equality=equality.format(soft=soft)))


@pytest.mark.parametrize("name", EQUALITIES)
def test_accelerations_are_those_of_mujoco_as_it_stiffens(name: str) -> None:
    equality, kind = EQUALITIES[name]
    robot = loaded(equality)
    (c,) = robot.constraints
    assert (c.name, c.kind) == ("x", kind)
    rng = np.random.default_rng(0)
    for seed in range(20):
        q = robot.close_loops(0.3 * robot.random_state(rng=seed)[0] + 0.7 * robot.neutral())
        if q.converged:
            break
    assert q.converged
    q = robot.normalize(q.q)
    J = robot.constraint_jacobian(q)
    free = rng.normal(size=robot.nv)
    qd = free - np.linalg.pinv(J) @ (J @ free)
    if kind in ("coupling", "tendon"):
        qd = 0.0 * qd  # MuJoCo leaves out what rates do to the slope of a polynomial
    tau = rng.normal(size=robot.nv)
    found = robot.constrained_dynamics(q, qd, tau).qdd
    errors = []
    for d in (0.99, 0.9999):
        text = LINKAGE.format(equality=equality.format(soft=SOFT.format(t=1.0, d=d)))
        model = mujoco.MjModel.from_xml_string(text)
        model.opt.tolerance, model.opt.iterations = 0.0, 200
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = convert.to_mujoco(robot, model, q, qd)
        data.qfrc_applied[:] = convert.tau_to_mujoco(robot, model, q, tau)
        mujoco.mj_forward(model, data)
        theirs = convert.from_mujoco(robot, model, data.qpos, data.qvel, data.qacc)[2]
        errors.append(np.abs(theirs - found).max() / np.abs(found).max())
    assert errors[1] < 0.03
    assert errors[1] < 0.05 * errors[0]


def test_softness_and_what_is_not_held_are_named_once() -> None:
    with pytest.warns(px.PhalanxWarning) as caught:
        robot = px.load(
            LINKAGE.format(equality=EQUALITIES["connect"][0].format(soft=SOFT.format(t=0.01, d=0.9)))
        )
    (text,) = [str(w.message) for w in caught]
    assert "1 soft equality constraint (solref, solimp), held exactly" in text
    assert "kept as robot.constraints, which simulations hold" in text
    assert robot.constraint_error(robot.neutral()).shape == (3,)
