# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""xacro files are expanded with arguments and packages; what is missing is named."""

from __future__ import annotations

import builtins
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px

pytest.importorskip("xacro", reason="the package xacro is not installed")
pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
MACRO = f"""<robot {NAMESPACE}>
<xacro:macro name="rod" params="name mass length:=1.0">
  <link name="${{name}}"><inertial><origin xyz="0 0 ${{length / 2}}"/><mass value="${{mass}}"/>
    <inertia ixx="${{mass * length**2 / 12}}" ixy="0" ixz="0" iyy="${{mass * length**2 / 12}}" iyz="0"
     izz="0.001"/></inertial></link>
</xacro:macro></robot>"""
ARM = f"""<?xml version="1.0"?>
<robot name="arm" {NAMESPACE}>
<xacro:arg name="prefix" default=""/><xacro:arg name="tool" default="false"/>
<xacro:include filename="$(find rods)/macros/rod.xacro"/>
<xacro:property name="reach" value="${{2 * 0.35}}"/>
<link name="base"/>
<xacro:rod name="$(arg prefix)upper" mass="2" length="${{reach}}"/>
<joint name="$(arg prefix)shoulder" type="revolute"><parent link="base"/><child link="$(arg prefix)upper"/>
<axis xyz="0 1 0"/><limit lower="-${{pi / 2}}" upper="${{pi / 2}}" effort="1" velocity="1"/></joint>
<xacro:if value="$(arg tool)"><xacro:rod name="tool" mass="$(arg tool_mass)"/>
<joint name="wrist" type="continuous"><parent link="$(arg prefix)upper"/><child link="tool"/>
<origin xyz="0 0 ${{reach}}"/><axis xyz="0 1 0"/></joint></xacro:if>
</robot>"""
BY_HAND = """<robot name="arm"><link name="base"/><link name="left_upper"><inertial><origin xyz="0 0 0.35"/>
<mass value="2"/><inertia ixx="0.08166666666666667" ixy="0" ixz="0" iyy="0.08166666666666667" iyz="0"
izz="0.001"/></inertial></link><link name="tool"><inertial><origin xyz="0 0 0.5"/><mass value="0.5"/>
<inertia ixx="0.041666666666666664" ixy="0" ixz="0" iyy="0.041666666666666664" iyz="0"
izz="0.001"/></inertial></link>
<joint name="left_shoulder" type="revolute"><parent link="base"/><child link="left_upper"/>
<axis xyz="0 1 0"/><limit lower="-1.5707963267948966" upper="1.5707963267948966" effort="1" velocity="1"/>
</joint><joint name="wrist" type="revolute"><parent link="left_upper"/><child link="tool"/>
<origin xyz="0 0 0.7"/><axis xyz="0 1 0"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A xacro file that includes a macro of a package elsewhere."""
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    package = tmp_path / "elsewhere" / "rods"
    (package / "macros").mkdir(parents=True)
    (package / "macros" / "rod.xacro").write_text(MACRO)
    (package / "package.xml").write_text("<package><name>rods</name></package>")
    (tmp_path / "robots").mkdir()
    path = tmp_path / "robots" / "arm.urdf.xacro"
    path.write_text(ARM)
    return path


def test_arguments_and_macros_give_the_robot_written_by_hand(arm: Path, tmp_path: Path) -> None:
    arguments = {"prefix": "left_", "tool": True, "tool_mass": 0.5}
    robot = px.load(arm, xacro_args=arguments, packages=tmp_path / "elsewhere")
    assert robot.name == "arm"
    assert robot.joint_names == ("left_shoulder", "wrist")
    assert robot.limits.upper[0] == np.pi / 2
    model = pin.buildModelFromXML(BY_HAND)
    q, qd, qdd = np.random.default_rng(0).standard_normal((3, 2))
    expected = pin.rnea(model, model.createData(), q, qd, qdd)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12)
    assert px.load(arm, packages={"rods": tmp_path / "elsewhere" / "rods"}).joint_names == ("shoulder",)


def test_packages_are_found_by_folder_by_environment_and_beside_the_file(
    arm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "elsewhere" / "rods"
    for packages in ([package], [tmp_path / "elsewhere"], str(tmp_path), {"rods": str(package)}):
        assert px.load(arm, packages=packages).nv == 1
    with pytest.raises(px.PhalanxError, match='no folder of the package "rods"'):
        px.load(arm)
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        with monkeypatch.context() as patch:
            patch.setenv(name, f"/no/such/folder:{tmp_path / 'elsewhere'}")
            assert px.load(arm).nv == 1
    prefix = tmp_path / "install"
    (prefix / "share").mkdir(parents=True)
    package.rename(prefix / "share" / "rods")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    assert px.load(arm).nv == 1
    monkeypatch.delenv("AMENT_PREFIX_PATH")
    (prefix / "share" / "rods").rename(tmp_path / "rods")
    assert px.load(arm).nv == 1  # a neighbour of the folder that holds the file


def test_text_is_expanded_only_if_that_is_asked_for(arm: Path, tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match="<xacro:include> is an unprocessed xacro instruction"):
        px.load(ARM)
    packages = tmp_path / "elsewhere"
    assert px.load(ARM, xacro_args={}, packages=packages).nv == 1
    assert px.load(ARM.encode(), packages=packages).nv == 1
    with arm.open("rb") as file:
        assert px.load(file, xacro_args={"prefix": "a"}, packages=packages).joint_names == ("ashoulder",)


def test_threads_may_expand_at_the_same_time(arm: Path, tmp_path: Path) -> None:
    names: dict[int, tuple[str, ...]] = {}

    def work(k: int) -> None:
        for _ in range(5):
            arguments = {"prefix": f"p{k}_"}
            names[k] = px.load(arm, xacro_args=arguments, packages=tmp_path / "elsewhere").joint_names

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == {k: (f"p{k}_shoulder",) for k in range(4)}


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    (ARM, {"xacro_args": {"tool": True}}, 'the xacro argument "tool_mass" has no value; pass xacro_args='),
    (ARM, {"xacro_args": {"prefx": "a"}}, '"prefx", which the file does not use; did you mean "prefix"?'),
    (ARM, {"xacro_args": {"prefix": [1]}}, "xacro_args has 'prefix': [1]; expected a name and a text"),
    (ARM, {"xacro_args": 3}, "xacro_args is 3; expected a mapping"),
    (ARM, {"xacro_args": {"prefix": 10**5000}}, '"prefix" is a value of type int, too long to write'),
    (ARM, {"packages": 3}, "packages is 3; expected folders to look in"),
    (ARM, {"packages": {"rods": "/no/such"}}, '$(find rods): no folder of the package "rods" is known; pass'),
    (ARM.replace("</robot>", "<xacro:gone/></robot>"), {}, "the file: unknown macro name: xacro:gone"),
    (ARM.replace("2 * 0.35", "2 * x"), {}, "xacro cannot expand the file: name 'x' is not defined"),
    (ARM.replace("rod.xacro", "no.xacro"), {}, "xacro cannot expand the file: No such file or directory"),
    (ARM.replace("</robot>", ""), {}, "not well-formed XML (no element found)"),
    ("<!DOCTYPE r>" + ARM.split("\n", 1)[1], {}, "the file declares a document type or an entity"),
    (MACRO, {}, 'the file only defines xacro macros ("rod") and calls none of them'),
    (f'<robot name="e" {NAMESPACE}/>', {}, "the robot has no links"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "message"), MISTAKES, ids=[m[-30:] for _, _, m in MISTAKES])
def test_mistakes_give_one_clear_line(
    text: str, options: dict[str, Any], message: str, arm: Path, tmp_path: Path
) -> None:
    arm.write_text(text)
    with pytest.raises(px.PhalanxError) as caught:
        px.load(arm, **{"packages": tmp_path / "elsewhere", **options})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    # What failed leaves nothing behind that the next file would notice.
    arm.write_text(ARM)
    assert px.load(arm, packages=tmp_path / "elsewhere").nv == 1


def test_an_error_in_an_included_file_names_it(arm: Path, tmp_path: Path) -> None:
    macro = tmp_path / "elsewhere" / "rods" / "macros" / "rod.xacro"
    macro.write_text(MACRO.replace("</robot>", "<xacro:gone/></robot>"))
    with pytest.raises(px.PhalanxError, match=r"arm.urdf.xacro \(in .*rod.xacro\): .*unknown macro name"):
        px.load(arm, packages=tmp_path / "elsewhere")


def test_without_the_package_the_message_names_the_extra(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = builtins.__import__

    def refuse(name: str, *args: Any) -> Any:
        if name == "xacro" or name.startswith("xacro."):
            raise ImportError(name)
        return imports(name, *args)

    monkeypatch.delitem(sys.modules, "xacro", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(px.PhalanxError, match=r'needs the package xacro.*pip install "\.\[xacro\]"'):
        px.load(arm)


def test_arguments_for_what_is_no_file_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match="'panda' is no file; xacro_args and packages are for xacro"):
        px.load("panda", xacro_args={})
