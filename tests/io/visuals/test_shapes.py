# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Triangles of shapes: volumes against formulas, closed and facing outwards."""

import math

import numpy as np
import pytest

from phalanx.io.visuals.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere, along

trimesh = pytest.importorskip("trimesh", reason="trimesh judges meshes")

BALL = 4 / 3 * math.pi
SOLIDS = [
    (Box((0.2, 0.3, 0.5)), 0.03),
    (Cylinder(0.3, 0.5), math.pi * 0.09 * 0.5),
    (Capsule(0.2, 0.5), math.pi * 0.04 * 0.5 + BALL * 0.008),
    (Sphere(0.4), BALL * 0.064),
    (Ellipsoid((0.1, 0.2, 0.4)), BALL * 0.008),
]


@pytest.mark.parametrize(("shape", "volume"), SOLIDS, ids=lambda x: type(x).__name__)
def test_the_triangles_enclose_the_volume_and_face_outwards(shape, volume) -> None:
    (surface,) = shape.surfaces()
    assert surface.vertices.dtype == np.float32
    assert surface.faces.dtype == np.uint32
    solid = trimesh.Trimesh(surface.vertices, surface.faces)  # joins equal vertices
    assert solid.is_watertight
    assert solid.volume == pytest.approx(volume, rel=0.03)  # polygons lie inside their circles


def test_a_mesh_file_is_read_scaled_and_still_faces_outwards_when_mirrored(tmp_path) -> None:
    path = tmp_path / "box.stl"
    trimesh.creation.box((1.0, 2.0, 3.0)).export(path)
    for scale in ((1.0, 1.0, 1.0), (0.5, 0.5, 0.5), (-1.0, 1.0, 1.0)):
        (surface,) = Mesh(str(path), scale).surfaces()
        solid = trimesh.Trimesh(surface.vertices, surface.faces)
        assert solid.volume == pytest.approx(6.0 * abs(math.prod(scale)))


def test_a_rotation_takes_z_to_any_direction() -> None:
    for axis in ((1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0.3, -0.4, 0.5)):
        turn = along(axis)
        np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(turn) == pytest.approx(1.0)
        np.testing.assert_allclose(turn[:, 2], np.array(axis) / np.linalg.norm(axis), atol=1e-14)
    np.testing.assert_array_equal(along((0, 0, 0)), np.eye(3))
