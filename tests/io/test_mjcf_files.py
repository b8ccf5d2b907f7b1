# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF from paths and from objects of MuJoCo, with and without the files that it names."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px

mujoco = pytest.importorskip("mujoco", reason="MJCF is read through it")

INERTIAL = '<inertial pos="0.1 0 0" mass="2" diaginertia="0.1 0.2 0.3"/>'
MESH = '<geom class="visual" name="{}"/>'
BALL = '<geom size="0.1" mass="1"/>'
HEAD = """
<compiler meshdir="meshes" texturedir="pictures"/>
<default><default class="visual">
  <geom type="mesh" mesh="part" material="paint" group="2"/>
</default></default>
<asset>
  <mesh name="part" file="part.stl"/>
  <texture name="wood" type="2d" file="wood.png"/>
  <texture name="sky" type="skybox" fileright="a.png" fileleft="b.png"/>
  <material name="paint" texture="wood"/>
  <hfield name="ground" file="ground.png" size="1 1 1 1"/>
</asset>
"""
TAIL = """
<contact><pair geom1="g" geom2="h"/></contact>
<sensor><framepos objtype="geom" objname="g"/><jointpos joint="j"/></sensor>
<keyframe><key qpos="0.3 0.4"/></keyframe>
"""


def model(first: str, second: str, head: str = HEAD, tail: str = TAIL) -> str:
    return f"""<mujoco>{head}<worldbody>
      <geom type="hfield" hfield="ground"/><body name="base">{MESH.format("b")}
      <body name="upper"><joint name="j" axis="0 1 0"/>{first}{MESH.format("g")}
      <site name="s" material="paint"/>
      <body name="lower" pos="1 0 0"><joint name="k" axis="0 1 0"/>{second}{MESH.format("h")}</body>
    </body></body></worldbody>{tail}</mujoco>"""


PLAIN = (
    f"<mujoco><worldbody><body><body><joint axis='0 1 0'/>{INERTIAL}<body pos='1 0 0'><joint axis='0 1 0'/>"
    f"{BALL}</body></body></body></worldbody></mujoco>"
)


def tetrahedron() -> bytes:
    """A mesh as STL."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    data = b" " * 80 + struct.pack("<I", len(faces))
    for face in faces:
        data += struct.pack("<12fH", 0, 0, 0, *corners[list(face)].ravel(), 0)
    return data


def same(robot: px.Robot, text: str) -> None:
    """Raise unless the robot moves as MuJoCo has it with a model without files."""
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    data.qpos[:] = q = [0.3, -0.7]
    data.qvel[:] = qd = [0.5, 0.2]
    mujoco.mj_forward(other, data)
    np.testing.assert_allclose(robot.bias_forces(q, qd), data.qfrc_bias, atol=1e-12)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, [0, 0]), data.qacc, atol=1e-10)


LEFT_OUT = r"left out, .*: 1 keyframe; 2 sensors\. Remove"
GIVEN = model(INERTIAL, INERTIAL.replace('pos="0.1', 'pos="0.2'))


@pytest.mark.parametrize("kind", ["text", "bytes", "path", "spec"])
def test_missing_files_do_not_matter_where_inertias_are_given(kind: str, tmp_path: Path) -> None:
    text = GIVEN
    (tmp_path / "model.xml").write_text(text)
    source: Any = {"text": text, "bytes": text.encode(), "path": tmp_path / "model.xml"}.get(kind)
    with pytest.warns(px.PhalanxWarning, match=LEFT_OUT):
        robot = px.load(source or mujoco.MjSpec.from_string(text))
    plain = PLAIN.replace(BALL, INERTIAL.replace('pos="0.1', 'pos="0.2'))
    same(robot, plain)
    assert robot.frame_names == ("world", "base", "upper", "lower", "s")


def test_missing_files_do_not_matter_where_other_geometry_has_the_mass() -> None:
    light = HEAD.replace('group="2"', 'group="2" mass="0"')
    same(px.load(model(INERTIAL, BALL, light, "")), PLAIN)
    outside = HEAD.replace("<compiler ", '<compiler inertiagrouprange="0 1" ')
    same(px.load(model(INERTIAL, BALL, outside, "")), PLAIN)


def test_a_mesh_that_is_there_is_used_while_others_are_missing(tmp_path: Path) -> None:
    head = HEAD.replace("<asset>", '<asset><mesh name="there" file="there.stl"/>')
    solid = '<geom type="mesh" mesh="there"/>'
    text = model(INERTIAL, solid, head.replace('group="2"', 'group="2" mass="0"'), "")
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "there.stl").write_bytes(tetrahedron())
    (tmp_path / "model.xml").write_text(text)
    assert px.load(tmp_path / "model.xml").total_mass == pytest.approx(2.0 + 1000.0 / 6.0, rel=1e-6)


def test_a_missing_mesh_that_an_inertia_comes_from_is_named(tmp_path: Path) -> None:
    text = model(INERTIAL, "")
    (tmp_path / "model.xml").write_text(text)
    told = r'body "lower" takes its inertia from the mesh file "part\.stl"'
    with pytest.raises(
        px.PhalanxError, match=rf"model\.xml: MuJoCo refuses .*\.stl.* {told}: put the files in"
    ):
        px.load(tmp_path / "model.xml")
    with pytest.raises(px.PhalanxError, match=rf"^<text>: {told}, and a text or file object reads no other"):
        px.load(text)
    forced = GIVEN.replace("<compiler ", '<compiler inertiafromgeom="true" ')
    with pytest.raises(
        px.PhalanxError, match=r'body "upper" takes its inertia .* \(and 1 more\), and a text'
    ):
        px.load(forced)


def test_a_text_reads_no_mesh_although_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.stl").write_bytes(tetrahedron())
    text = model(INERTIAL, "", HEAD.partition("<texture")[0] + "</asset>", "")
    text = text.replace('<geom type="hfield" hfield="ground"/>', "").replace(' material="paint"', "")
    (tmp_path / "model.xml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert px.load("model.xml").total_mass == pytest.approx(2.0 + 1000.0 / 6.0, rel=1e-6)
    with pytest.raises(px.PhalanxError, match=r"a text or file object reads no other files"):
        px.load(text)
    with (
        open("model.xml") as file,
        pytest.raises(px.PhalanxError, match=r"Load the path of the model instead"),
    ):
        px.load(file)


def test_relative_paths_read_what_absolute_ones_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "robots" / "arm").mkdir(parents=True)
    body = f'<body name="a"><joint/>{BALL}</body>'
    (tmp_path / "robots" / "leaf.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    (tmp_path / "robots" / "part.xml").write_text('<mujoco><include file="leaf.xml"/></mujoco>')
    (tmp_path / "robots" / "arm" / "arm.xml").write_text('<mujoco><include file="../part.xml"/></mujoco>')
    expected = px.load(tmp_path / "robots" / "arm" / "arm.xml")
    for folder, path in (
        (".", "robots/arm/arm.xml"), ("robots", "arm/arm.xml"), ("robots/arm", "arm.xml"),
        ("robots/arm", "../arm/arm.xml"), ("robots", "../robots/arm/arm.xml"),
    ):  # fmt: skip
        monkeypatch.chdir(tmp_path / folder)
        assert px.load(path) == expected


@pytest.mark.parametrize("kind", ["MjModel", "MjSpec"])
def test_objects_of_mujoco_are_taken_as_they_are(kind: str) -> None:
    spec = mujoco.MjSpec.from_string(PLAIN)
    spec.modelname = "arm"
    spec.worldbody.add_site(name="tool", pos=[1, 2, 3])
    robot = px.load(spec.compile() if kind == "MjModel" else spec)
    same(robot, PLAIN)
    assert robot.name == "arm"
    assert robot.frame_names[-1] == "tool"
    assert robot.description.source == kind
    assert px.load(spec, gravity=(0, 0, -1)).gravity.tolist() == [0, 0, -1]


def test_a_specification_stays_as_it_was() -> None:
    spec = mujoco.MjSpec.from_string(GIVEN)
    before = [(geom.name, geom.meshname, geom.material) for geom in spec.geoms]
    with pytest.warns(px.PhalanxWarning, match=LEFT_OUT):
        px.load(spec)
    assert [(geom.name, geom.meshname, geom.material) for geom in spec.geoms] == before
    assert len(spec.meshes) == 1
    assert len(spec.sensors) == 2


def test_nothing_is_written_into_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    singular = f"<mujoco><worldbody><body><joint/><joint/>{INERTIAL}</body></worldbody></mujoco>"
    strange = singular.replace('mass="2"', 'mass="nan"')
    px.load(singular)
    for load in (px.load, mujoco.MjModel.from_xml_string):
        assert os.listdir(tmp_path) == []
        assert mujoco.get_mju_user_warning() is None
        with pytest.raises(ValueError, match=r"(?i)nan|mass"):
            load(strange)
    if os.listdir(tmp_path) != ["MUJOCO_LOG.TXT"]:
        pytest.skip("this MuJoCo writes no log of its own")


def test_a_handler_of_warnings_that_is_set_stays() -> None:
    def handler(message: str) -> None:
        seen.append(message)

    seen: list[str] = []
    mujoco.set_mju_user_warning(handler)
    try:
        px.load(f"<mujoco><worldbody><body><joint/><joint/>{INERTIAL}</body></worldbody></mujoco>")
        assert mujoco.get_mju_user_warning() is handler
    finally:
        mujoco.set_mju_user_warning(None)


def test_the_complaint_is_about_what_is_left_once_the_files_are_dropped(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(
        GIVEN.replace("</mujoco>", '<actuator><motor joint="nobody"/></actuator></mujoco>')
    )
    with pytest.raises(px.PhalanxError, match=r"model\.xml: MuJoCo refuses the model: .*nobody"):
        px.load(tmp_path / "model.xml")


def test_names_that_are_no_text_are_escaped(tmp_path: Path) -> None:
    body = f'<body name="@"><joint name="j"/>{BALL}</body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    (tmp_path / "model.xml").write_bytes(text.encode().replace(b"@", b"\xff\xe9"))
    assert px.load(tmp_path / "model.xml").link_names == ("\\xff\\xe9",)
