# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sliders and shapes of a page, and the picture that needs no browser, read back by matplotlib."""

import base64
import io
import math

import matplotlib.image
import numpy as np

import phalanx as px
from phalanx.io.visuals.shapes import Surface
from phalanx.studio.report.scene import (
    _encoded,
    clustered,
    kinematics,
    png_encoded,
    png_of,
    shapes,
    simplified,
    sliders,
    start,
)


def test_there_is_a_slider_for_each_degree_of_freedom_with_the_limits_of_the_file() -> None:
    robot = px.load("panda")
    made = list(sliders(robot))
    assert [s["v"] for s in made] == list(range(robot.nv))
    assert [s["label"] for s in made] == list(robot.joint_names)
    np.testing.assert_array_equal([s["lower"] for s in made], robot.limits.lower)
    np.testing.assert_array_equal([s["upper"] for s in made], robot.limits.upper)
    np.testing.assert_array_equal([s["effort"] for s in made], robot.limits.effort)
    assert {s["unit"] for s in made} == {"rad"}
    for name in ("damping", "friction", "stiffness"):
        np.testing.assert_array_equal([s[name] for s in made], getattr(robot, name))


def test_sliders_of_a_floating_base_turn_and_shift_it() -> None:
    robot = px.load("stanford").with_floating_base()
    made = list(sliders(robot))
    assert [s["unit"] for s in made[:6]] == ["rad"] * 3 + ["m"] * 3
    assert [s.get("q") for s in made[:6]] == [None, None, None, 0, 1, 2]
    assert [s.get("quaternion") for s in made[:6]] == [3, 3, 3, None, None, None]
    assert made[5]["label"] == "floating base, shift z"
    assert [s["force"] for s in made if s["label"] == "joint3"] == ["N"]


def test_sliders_without_limits_reach_half_a_turn() -> None:
    made = list(sliders(px.chain(2)))
    assert [(s["lower"], s["upper"], s["limited"]) for s in made] == [(-math.pi, math.pi, False)] * 2


def test_the_first_pose_lies_within_the_limits() -> None:
    for name in px.robots():
        robot = px.load(name)
        q = start(robot)
        assert ((q >= robot.limits.lower) & (q <= robot.limits.upper)).all()


def test_masses_and_their_centres_are_those_of_the_robot() -> None:
    robot = px.load("puma560")
    told = kinematics(robot)
    parameters = robot.inertial_parameters.reshape(-1, 10)
    np.testing.assert_array_equal(told["masses"], robot.link_masses)
    np.testing.assert_allclose(np.array(told["centres"]) * parameters[:, :1], parameters[:, 1:4], atol=1e-12)


def test_solids_keep_their_sizes_and_meshes_become_few_triangles() -> None:
    told = shapes(px.visuals("panda"), 1000)
    assert {part[3] for part in told["parts"]} <= {"box", "cylinder", "capsule", "ellipsoid"}
    assert all(-1 <= part[0] < 7 for part in told["parts"])


def sphere(n: int) -> Surface:
    """A sphere of n times n squares, cut into triangles."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, n), np.linspace(0, np.pi, n))
    points = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], axis=-1).reshape(-1, 3)
    k = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([np.stack([k, k + n, k + 1], 1), np.stack([k + 1, k + n, k + n + 1], 1)])
    return Surface(points.astype(np.float32), faces.astype(np.uint32), (1.0, 0.0, 0.0, 1.0))


def test_simplified_meshes_stay_near_the_surface_and_look_outward() -> None:
    before = sphere(80)
    (after,) = simplified([before], 1500)
    assert 300 < len(after.faces) <= 1500 < len(before.faces)
    assert after.colour == before.colour
    radii = np.linalg.norm(after.vertices, axis=1)
    assert radii.min() > 0.9
    assert radii.max() <= 1.0 + 1e-6
    corners = after.vertices[after.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    outward = np.einsum("ij,ij->i", normals, corners.mean(axis=1)) > 0
    first = before.vertices[before.faces]
    reference = np.cross(first[:, 1] - first[:, 0], first[:, 2] - first[:, 0])
    is_outward = np.einsum("ij,ij->i", reference, first.mean(axis=1)).sum() > 0
    assert (outward == is_outward).mean() > 0.97


def test_meshes_with_few_faces_stay_as_they_are() -> None:
    mesh = sphere(6)
    assert simplified([mesh], 1000)[0] is mesh
    assert simplified([], 10) == []


def test_faces_that_lose_their_area_are_gone() -> None:
    assert len(clustered(sphere(10), 10.0).faces) == 0


def test_an_encoded_mesh_decodes_to_its_vertices() -> None:
    mesh = sphere(12)
    told = _encoded(mesh)
    numbers = np.frombuffer(base64.b64decode(told["vertices"]), "<u2").reshape(-1, 3)
    np.testing.assert_allclose(told["low"] + numbers * told["step"], mesh.vertices, atol=2e-5)
    faces = np.frombuffer(base64.b64decode(told["faces"]), "<u2").reshape(-1, 3)
    np.testing.assert_array_equal(faces, mesh.faces)


def test_a_png_file_holds_the_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 4), dtype=np.uint8)
    read = matplotlib.image.imread(io.BytesIO(png_encoded(image)), format="png")
    np.testing.assert_array_equal(np.rint(read * 255).astype(np.uint8), image)


def test_the_robot_fills_the_picture_and_leaves_its_ground_clear() -> None:
    robot = px.load("two_link")
    image = matplotlib.image.imread(io.BytesIO(png_of(robot, px.visuals("two_link"), 120, 90)), format="png")
    drawn = image[..., 3] > 0.5
    assert 0.02 < drawn.mean() < 0.8
    assert not drawn[0].any()
    assert not drawn[:, 0].any()
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    assert max(np.ptp(rows) / 90, np.ptp(columns) / 120) > 0.8


def test_what_is_nearer_hides_what_is_behind() -> None:
    text = """<robot name="two"><link name="a">
      <visual><origin xyz="0.64 -0.77 0.3"/><geometry><box size="2 2 2"/></geometry>
        <material name="r"><color rgba="1 0 0 1"/></material></visual>
      <visual><origin xyz="-1.3 1.5 -0.6"/><geometry><box size="1 1 1"/></geometry>
        <material name="b"><color rgba="0 0 1 1"/></material></visual>
    </link></robot>"""
    image = matplotlib.image.imread(
        io.BytesIO(png_of(px.load(text), px.visuals(text), 100, 100)), format="png"
    )
    seen = image[image[..., 3] > 0.99][:, :3]
    assert (seen[:, 0] > 0.2).mean() > 0.95
