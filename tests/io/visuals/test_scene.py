# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Shapes of robots from all sources, against Pinocchio and MuJoCo; hostile paths and missing meshes."""

import io
import warnings
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.io.visuals.generated import inertia_ellipsoids
from phalanx.io.visuals.meshes import MeshFiles
from phalanx.io.visuals.shapes import Box, Capsule, Mesh, Sphere

trimesh = pytest.importorskip("trimesh", reason="meshes are read with trimesh")

URDF = """<robot name="arm">
  <material name="red"><color rgba="1 0 0 0.5"/></material>
  <link name="base"><visual><geometry><box size="0.1 0.2 0.3"/></geometry><material name="red"/></visual>
  </link>
  <link name="arm">
    <inertial><mass value="2"/><origin xyz="0 0 0.1"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 0.2" rpy="0 1.5707963 0"/><geometry>%s</geometry></visual>
  </link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def example(name: str) -> Path:
    """A file of example-robot-data."""
    cmeel = pytest.importorskip("cmeel", reason="example-robot-data comes with it")
    for folder in Path(cmeel.__path__[0]).parent.glob("*.prefix"):
        path = folder / "share" / "example-robot-data" / "robots" / name
        if path.is_file():
            return path
    pytest.skip("the package example-robot-data is not installed")


def test_visuals_of_a_urdf_have_their_place_shape_and_colour() -> None:
    scene = px.visuals(URDF % '<sphere radius="0.05"/>')
    box, ball = scene.parts
    assert box.visual.shape == Box((0.1, 0.2, 0.3))
    assert (box.link, box.surfaces[0].colour) == (-1, (1.0, 0.0, 0.0, 0.5))
    assert ball.visual.shape == Sphere(0.05)
    assert not scene.is_generated
    assert ball.surfaces[0].colour is not None
    poses = scene.poses(np.array([[0.0], [0.5]]))
    assert poses.shape == (2, 2, 4, 4)
    np.testing.assert_allclose(
        poses[1, 1, :3, 3], [0.2 * np.sin(0.5), 0, 0.3 + 0.2 * np.cos(0.5)], atol=1e-12
    )


@pytest.mark.parametrize(
    "name",
    [
        "ur_description/urdf/ur5_robot.urdf",
        "panda_description/urdf/panda.urdf",
        "talos_data/robots/talos_reduced.urdf",
        "anymal_b_simple_description/robots/anymal.urdf",
    ],
)
def test_meshes_stand_where_pinocchio_puts_them(name: str) -> None:
    pin = pytest.importorskip("pinocchio", reason="an independent reader of visuals")
    path = example(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the file's masses
        scene = px.visuals(path)
    assert scene.missing == ()
    model = pin.buildModelFromUrdf(str(path))
    theirs = pin.buildGeomFromUrdf(
        model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(path.parents[4])]
    )
    data, geometry = model.createData(), theirs.createData()
    robot = scene.robot
    q, _, _ = robot.random_state(rng=1)
    pin.updateGeometryPlacements(model, data, theirs, geometry, px.convert.to_pinocchio(robot, model, q))
    files = {Path(g.meshPath).name for g in theirs.geometryObjects}
    assert {Path(p.visual.shape.path).name for p in scene.parts if isinstance(p.visual.shape, Mesh)} <= files
    poses = scene.poses(q)
    unmatched = [geometry.oMg[k].homogeneous for k in range(len(theirs.geometryObjects))]
    assert len(unmatched) == len(poses)
    for pose in poses:
        best = min(range(len(unmatched)), key=lambda k: np.abs(unmatched[k] - pose).max())
        np.testing.assert_allclose(unmatched.pop(best), pose, atol=1e-9)


def test_geoms_of_mjcf_stand_where_mujoco_puts_them() -> None:
    mujoco = pytest.importorskip("mujoco", reason="reads MJCF")
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="a" pos="0 0 1" euler="0 20 0"><joint name="j" axis="0 1 0" pos="0.1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.04" rgba="0.1 0.2 0.3 1"/>
        <geom type="box" size="0.1 0.2 0.3" group="3"/>
        <body name="b" pos="0.3 0 0"><joint name="k" type="slide" axis="1 0 0"/>
          <geom type="ellipsoid" size="0.1 0.05 0.02" group="3" quat="0.9 0.1 0.2 0.3"/></body></body>
    </worldbody></mujoco>"""
    scene = px.visuals(text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.4, 0.2
    mujoco.mj_forward(model, data)
    shown = [1, 3]  # no plane; of the first body only the geom for eyes; of the second what there is
    assert [part.visual.frame for part in scene.parts] == ["a", "b"]
    assert scene.parts[0].surfaces[0].colour == pytest.approx((0.1, 0.2, 0.3, 1.0))
    for pose, g in zip(scene.poses(data.qpos), shown, strict=True):
        np.testing.assert_allclose(pose[:3, 3], data.geom_xpos[g], atol=1e-12)
        np.testing.assert_allclose(pose[:3, :3], data.geom_xmat[g].reshape(3, 3), atol=1e-12)


def test_visuals_of_sdf_are_read() -> None:
    text = """<sdf version="1.9"><model name="m"><link name="a"><visual name="v"><pose>0 0 1 0 0 0</pose>
      <geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry>
      <material><diffuse>0 1 0 1</diffuse></material></visual></link>
      <link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child>
      <axis><xyz>0 0 1</xyz></axis></joint></model></sdf>"""
    (part,) = px.visuals(text).parts
    assert part.surfaces[0].colour == (0.0, 1.0, 0.0, 1.0)
    assert part.pose[2, 3] == 1.0


def test_inertia_ellipsoids_have_the_inertia_of_their_link() -> None:
    robot = px.chain(5, seed=3)
    rows = robot.inertial_parameters.reshape(-1, 10)
    for (name, shape, pose), row in zip(inertia_ellipsoids(robot), rows, strict=True):
        a, b, c = np.square(shape.radii)
        own = row[0] / 5 * np.diag([b + c, a + c, a + b])
        turn, at = pose.matrix[:3, :3], pose.matrix[:3, 3]
        about = turn @ own @ turn.T + row[0] * (at @ at * np.eye(3) - np.outer(at, at))
        np.testing.assert_allclose(
            about[np.triu_indices(3)], row[4:], atol=1e-3 * row[4:].max(), err_msg=name
        )


@pytest.mark.parametrize("name", px.robots())
def test_built_in_robots_have_shapes_on_every_link_of_some_extent(name: str) -> None:
    scene = px.visuals(name)
    assert {part.link for part in scene.parts} == {-1, *range(scene.robot.n_links)}
    assert px.visuals(px.load(name)).faces == scene.faces  # a robot knows where it came from
    low = min(p.surfaces[0].vertices.min() for p in scene.parts)
    assert np.isfinite(low)


@pytest.mark.parametrize(
    "robot",
    [
        px.chain(30),
        px.snake(4),
        px.generators.dill(3),
        px.tree(12, joints=("revolute", "spherical", "prismatic", "planar", "universal", "helical")),
        px.tree(5).with_floating_base(),
    ],
    ids=lambda r: r.name,
)
def test_generated_robots_get_shapes(robot: px.Robot) -> None:
    scene = px.visuals(robot)
    assert scene.is_generated
    assert np.isfinite(scene.poses(robot.neutral())).all()
    assert scene.faces > 0


def test_a_changed_robot_keeps_the_shapes_of_its_file(tmp_path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(URDF % '<sphere radius="0.05"/>', encoding="utf-8")
    robot = px.load(path)
    for other in (robot.with_floating_base(), robot.with_payload("arm", 1.0), robot.fix({"hinge": 0.5})):
        assert [p.visual.frame for p in px.visuals(other).parts] == ["base", "arm"]


BARE = URDF.replace("<visual>", "<nothing>").replace("</visual>", "</nothing>") % ""


def test_a_file_without_visuals_is_a_skeleton() -> None:
    scene = px.visuals(BARE)
    assert scene.is_generated
    kinds = [type(part.visual.shape).__name__ for part in scene.parts]
    assert "Ellipsoid" not in kinds  # they hide each other, and say nothing about where joints are
    assert {"Capsule", "Cylinder"} <= set(kinds)
    assert kinds.count("Cylinder") == 4  # the drum of the hinge, and three axes of its frame


@pytest.mark.parametrize("robot", [px.chain(6), px.tree(9), px.snake(5)], ids=lambda r: r.name)
def test_bones_go_from_joint_to_joint(robot: px.Robot) -> None:
    q, _, _ = robot.random_state(rng=2)
    joints = robot.forward_kinematics(q)[:, :3, 3]
    scene = px.visuals(robot)
    bones = [
        (pose, part.visual.shape.length)
        for part, pose in zip(scene.parts, scene.poses(q), strict=True)
        if isinstance(part.visual.shape, Capsule)
    ]
    ends = np.array([pose[:3, 3] + s * 0.5 * length * pose[:3, 2] for pose, length in bones for s in (-1, 1)])
    apart = np.linalg.norm(joints[:, None] - ends[None], axis=-1).min(axis=1)
    np.testing.assert_allclose(apart, 0.0, atol=1e-9)
    assert all(
        part.visual.shape.radius < 0.02 * np.linalg.norm(np.ptp(joints, axis=0)) + 0.02
        for part in scene.parts
        if isinstance(part.visual.shape, Capsule)
    )


@pytest.mark.parametrize("robot", [px.snake(200), px.generators.coil(100)], ids=lambda r: r.name)
def test_a_long_robot_is_thick_enough_to_see(robot: px.Robot) -> None:
    scene = px.visuals(robot)
    long = np.linalg.norm(np.ptp(robot.forward_kinematics(robot.neutral())[:, :3, 3], axis=0))
    thick = [2 * p.visual.shape.radius for p in scene.parts if isinstance(p.visual.shape, Capsule)]
    assert min(thick) > 0.01 * long  # six pixels of a view 600 pixels wide


def test_a_single_free_body_is_its_ellipsoid() -> None:
    text = """<robot name="brick"><link name="brick"><inertial><mass value="2"/>
      <inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
    scene = px.visuals(px.load(text, floating_base=True))
    assert [type(part.visual.shape).__name__ for part in scene.parts] == ["Ellipsoid"]
    assert px.visuals(text).parts == ()  # nothing moves, nothing is drawn


def test_tables_may_have_shapes_of_their_own() -> None:
    text = """
[[row]]
a = 1
mass = 1
[[visual]]
link = "link1"
shape = "sphere"
radius = 0.2
xyz = [1, 0, 0]
colour = [1, 0, 0]
"""
    scene = px.visuals(text)
    own = [part for part in scene.parts if part.visual.frame == "link1"]
    assert [part.visual.shape for part in own] == [Sphere(0.2)]
    with pytest.raises(px.PhalanxError, match='visual 1: "shape" is "ball"'):
        px.visuals(text.replace("sphere", "ball"))
    with pytest.raises(px.PhalanxError, match=r'"colour" is .*from 0 to 1'):
        px.visuals(text.replace("[1, 0, 0]\n", "[1, 0, 7]\n"))


# ------------------------------------------------------------------------ meshes that are not there

REMOTE = [
    "http://127.0.0.1:9/a.stl",
    "https://example.com/a.stl",
    "ftp://example.com/a.stl",
    "//example.com/share/a.stl",
    "\\\\example.com\\share\\a.stl",
    "file://///example.com/a.stl",
    "javascript:alert(1)//a.stl",
    "data:model/stl,a.stl",
]


@pytest.mark.parametrize("name", REMOTE)
def test_remote_meshes_are_never_asked_for(tmp_path, name: str) -> None:
    assert MeshFiles(tmp_path / "arm.urdf").find(name) is None


def test_paths_stay_in_their_package_and_name_regular_mesh_files(tmp_path, monkeypatch) -> None:
    for folder in ("ws/arm/meshes", "ws/arm/urdf", "ws/other", "outside", "ros/share/far"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("arm", "other"):
        (tmp_path / "ws" / name / "package.xml").write_text(f"<package><name>{name}</name></package>")
    for file in ("ws/arm/meshes/a.stl", "outside/b.stl", "ros/share/far/c.STL", "ws/arm/secret.txt"):
        (tmp_path / file).write_bytes(b"solid\nendsolid\n")
    (tmp_path / "ws/arm/meshes/d.stl").mkdir()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ros"))
    places = MeshFiles(tmp_path / "ws/arm/urdf/arm.urdf")
    mesh = str(tmp_path / "ws/arm/meshes/a.stl")
    for good in (
        "package://arm/meshes/a.stl",
        "../meshes/a.stl",
        f"file://{mesh}",
        f"file://localhost{mesh}",
        mesh,
        "package://arm/meshes/%61.stl",
    ):
        assert places.find(good) == mesh, good
    assert places.find("package://far/c.STL") == str(tmp_path / "ros/share/far/c.STL")
    for bad in (
        "package://arm/../../outside/b.stl",
        "package://arm/%2e%2e/%2e%2e/outside/b.stl",
        "package://../outside/b.stl",
        "package://arm/secret.txt",
        "package://arm/meshes/d.stl",
        "package://unknown/a.stl",
        "package:///a.stl",
        "",
        "a\0.stl",
        "../secret.txt",
        "/etc/passwd",
    ):
        assert places.find(bad) is None, bad
    assert MeshFiles(None).find(mesh) is None  # a text names no files


@pytest.mark.filterwarnings("default::phalanx.errors.PhalanxWarning")
def test_missing_and_broken_meshes_are_drawn_without_and_told_once(tmp_path) -> None:
    (tmp_path / "broken.dae").write_text("<COLLADA><not closed", encoding="utf-8")
    (tmp_path / "bomb.dae").write_text('<!DOCTYPE x [<!ENTITY e "e">]><COLLADA/>', encoding="utf-8")
    (tmp_path / "empty.stl").write_bytes(b"")
    names = ("http://example.com/x.stl", "nowhere.stl", "broken.dae", "bomb.dae", "empty.stl")
    meshes = "".join(f'</geometry></visual><visual><geometry><mesh filename="{name}"/>' for name in names)
    path = tmp_path / "arm.urdf"
    path.write_text(URDF % f'<mesh filename="gone.obj"/>{meshes}', encoding="utf-8")
    with pytest.warns(px.PhalanxWarning, match="6 meshes not found or not readable") as caught:
        scene = px.visuals(path)
    assert len(caught) == 1
    assert len(scene.missing) == 6
    assert {part.link for part in scene.parts} == {-1, 0}  # the arm is drawn from its joint


def test_a_mesh_names_no_further_files(tmp_path) -> None:
    (tmp_path / "secret.mtl").write_text("newmtl m\nKd 1 0 0\n", encoding="utf-8")
    (tmp_path / "tri.obj").write_text("mtllib secret.mtl\nusemtl m\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    path = tmp_path / "arm.urdf"
    path.write_text(URDF % '<mesh filename="tri.obj"/>', encoding="utf-8")
    part = px.visuals(path).parts[1]
    assert len(part.surfaces[0].faces) == 1
    assert part.surfaces[0].colour != (1.0, 0.0, 0.0, 1.0)


def test_a_file_object_is_read_once() -> None:
    assert len(px.visuals(io.StringIO(URDF % '<sphere radius="0.05"/>')).parts) == 2
