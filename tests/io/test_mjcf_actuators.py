# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Limits of effort against the largest forces that MuJoCo's own actuators exert."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import phalanx as px

mujoco = pytest.importorskip("mujoco", reason="MJCF is read through it")

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:phalanx.PhalanxWarning")

BOX = '<geom type="box" size="0.1 0.2 0.3" mass="1.5"/>'
HEAD = """
<default><default class="strong"><motor gear="20" ctrlrange="-3 4"/></default>
  <default class="servo"><position kp="100" inheritrange="1" forcerange="-8 8"/></default></default>
"""
TENDON = """<tendon><fixed name="t" {}><joint joint="i" coef="0.5"/><joint joint="j" coef="-3"/></fixed>
<spatial name="s"><site site="u"/><site site="v"/></spatial></tendon>"""
INF = np.inf
# What stands in <actuator>, an attribute of joint i, one of the tendon, and the efforts of joints i and j.
CASES: dict[str, tuple[str, str, str, tuple[float, float]]] = {
    "a motor by its control": ('<motor joint="i" ctrlrange="-3 2" gear="-20"/>', "", "", (60, INF)),
    "a motor by its force": (
        '<motor joint="i" ctrlrange="-3 2" gear="5" forcerange="-1 1"/>', "", "", (5, INF)),
    "a motor by the joint": ('<motor joint="i" ctrlrange="-9 9"/>', 'actuatorfrcrange="-3 4"', "", (4, INF)),
    "no bound": ('<motor joint="i" ctrllimited="false" ctrlrange="-1 1"/>', "", "", (INF, INF)),
    "the joint alone": ('<motor joint="i"/>', 'actuatorfrcrange="-3 4"', "", (4, INF)),
    "two motors": (
        '<motor joint="i" ctrlrange="-3 2"/><motor joint="i" ctrlrange="0 7" gear="2"/>', "", "", (16, INF)),
    "one of two unbounded": ('<motor joint="i" ctrlrange="-3 2"/><motor joint="i"/>', "", "", (INF, INF)),
    "defaults of a class": (
        '<motor class="strong" joint="i"/><position class="servo" joint="j"/>', "", "", (80, 8)),
    "a servo without force range": ('<position joint="i" kp="10" ctrlrange="-1 1"/>', "", "", (INF, INF)),
    "a velocity servo": ('<velocity joint="i" kv="9" forcerange="-5 6" gear="2"/>', "", "", (12, INF)),
    "a constant bias": (
        '<general joint="i" gainprm="2" biastype="affine" biasprm="5" ctrlrange="-1 1"/>', "", "", (7, INF)),
    "a cylinder's filter": ('<cylinder joint="i" timeconst="1" area="3" ctrlrange="1 2"/>', "", "", (6, INF)),
    "an integrated control": ('<intvelocity joint="i" kp="3" actrange="-2 2"/>', "", "", (INF, INF)),
    "in the parent": ('<motor jointinparent="i" ctrlrange="-3 2"/>', "", "", (3, INF)),
    "a fixed tendon": ('<motor tendon="t" gear="2" forcerange="-4 4"/>', "", "", (4, 24)),
    "a limited tendon": (
        '<motor tendon="t" gear="2" forcerange="-4 4"/>', "", 'actuatorfrcrange="-1 1"', (1, 6)),
    "two on a limited tendon": (
        '<motor tendon="t" gear="2" forcerange="-4 4"/><motor tendon="t" gear="2" forcerange="-4 4"/>', "",
        'actuatorfrcrange="-5 5"', (5, 30)),
    "a tendon and a motor": (
        '<motor tendon="t" forcerange="-4 4"/><motor joint="j" forcerange="-1 1"/>', "", "", (2, 13)),
    "a path over sites": ('<motor tendon="s" forcerange="-4 4"/>', "", "", (INF, INF)),
}  # fmt: skip


def model_of(actuators: str, joint: str = "", tendon: str = "", head: str = "") -> Any:
    return mujoco.MjModel.from_xml_string(
        f'<mujoco>{head}{HEAD}<worldbody><body><joint name="i" range="-50 60" {joint}/>{BOX}<site name="u"/>'
        f'<body pos="1 0 0"><joint name="j" range="-50 60" axis="0 1 0"/>{BOX}<site name="v"/></body></body>'
        "</worldbody>"
        f"{TENDON.format(tendon)}<actuator>{actuators}</actuator></mujoco>"
    )


def largest(model: Any) -> np.ndarray:
    """The largest force at each joint that MuJoCo finds at the ends of controls and at large rates."""
    data, found = mujoco.MjData(model), np.zeros(model.nv)
    for ends in itertools.product((-1e6, 1e6), repeat=model.nu):
        for rate in (-1e6, 0.0, 1e6):
            mujoco.mj_resetData(model, data)
            data.ctrl[:] = ends
            data.qvel[:] = rate
            if model.na:  # where a filter ends up
                data.act[:] = np.clip(
                    ends, *np.where(model.actuator_ctrllimited, model.actuator_ctrlrange.T, ends)
                )
            mujoco.mj_forward(model, data)
            found = np.maximum(found, np.abs(data.qfrc_actuator))
    return found


@pytest.mark.parametrize("case", CASES)
def test_efforts_are_the_largest_forces_of_mujocos_actuators(case: str) -> None:
    actuators, joint, tendon, expected = CASES[case]
    model = model_of(actuators, joint, tendon)
    effort = px.load(model).limits.effort
    assert effort.tolist() == pytest.approx(expected)
    bounded = np.isfinite(effort)
    np.testing.assert_allclose(largest(model)[bounded], effort[bounded], rtol=1e-12)


def test_disabled_actuators_bound_nothing() -> None:
    motor = '<motor joint="i" ctrlrange="-3 2" group="2"/>'
    for head in ('<option actuatorgroupdisable="2"/>', '<option><flag actuation="disable"/></option>'):
        assert px.load(model_of(motor, head=head)).limits.effort.tolist() == [INF, INF]
    unclamped = '<option><flag clampctrl="disable"/></option>'
    assert px.load(model_of(motor, head=unclamped)).limits.effort.tolist() == [INF, INF]


def test_a_ball_joint_has_an_effort_for_each_axis() -> None:
    text = f'<mujoco><worldbody><body><joint name="b" type="ball"/>{BOX}</body></worldbody><actuator>'
    text += "{}</actuator></mujoco>"
    model = mujoco.MjModel.from_xml_string(text.format('<motor joint="b" gear="1 -2 0" forcerange="-3 3"/>'))
    effort = px.load(model).limits.effort
    assert effort.tolist() == [3.0, 6.0, 0.0]
    np.testing.assert_allclose(largest(model), effort)
    inside = mujoco.MjModel.from_xml_string(text.format('<motor jointinparent="b" forcerange="-3 3"/>'))
    assert px.load(inside).limits.effort.tolist() == [INF] * 3


def test_controls_are_found_beside_actuators_with_several() -> None:
    try:
        model = model_of('<pid joint="j"/><motor joint="i" ctrlrange="-3 2"/>')
    except ValueError as error:
        pytest.skip(f"this MuJoCo knows no pid: {error}")
    assert model.nu == 3
    assert px.load(model).limits.effort.tolist() == [3.0, INF]
