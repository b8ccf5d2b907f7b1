# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The geoms of a model of MuJoCo that its own viewer shows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ...robot.description import Pose
from ..mjcf.compiling import compiled, missing_files
from ..mjcf.tree import MujocoNames, rotation
from .of_urdf import Found
from .shapes import Box, Capsule, Colour, Cylinder, Ellipsoid, Shape, Sphere, Triangles, Visual

_SHOWN = 2  # groups of geoms up to this number are shown, the others are for contacts


def mjcf_visuals(given: Any, *, source: str) -> Found:
    """The geoms of MJCF that are meant to be seen, on the frames of their bodies.

    Those are the geoms of groups 0, 1 and 2; on a body without any, all of its geoms.
    """
    import mujoco

    model = compiled(given, source).model
    names = MujocoNames.of(model)
    groups: dict[int, list[int]] = defaultdict(list)
    for g, body in enumerate(model.geom_bodyid.tolist()):
        groups[body].append(g)
    found = Found()
    for body, geoms in groups.items():
        seen = [g for g in geoms if model.geom_group[g] <= _SHOWN and model.geom_rgba[g, 3] > 0] or geoms
        for g in seen:
            shape = _shape(mujoco, model, g)
            if shape is not None:
                pose = Pose.of(rotation(model.geom_quat[g]), model.geom_pos[g])
                found.visuals.append(Visual(names.bodies[body], shape, pose, _colour(model, g)))
    found.missing = [("", name) for name in missing_files(given, source)]
    return found


def _shape(mujoco: Any, model: Any, g: int) -> Shape | None:
    kinds = mujoco.mjtGeom
    a, b, c = (float(x) for x in model.geom_size[g])
    kind = int(model.geom_type[g])
    if kind == kinds.mjGEOM_BOX:
        return Box((2 * a, 2 * b, 2 * c))
    if kind == kinds.mjGEOM_SPHERE:
        return Sphere(a)
    if kind == kinds.mjGEOM_CAPSULE:
        return Capsule(a, 2 * b)
    if kind == kinds.mjGEOM_CYLINDER:
        return Cylinder(a, 2 * b)
    if kind == kinds.mjGEOM_ELLIPSOID:
        return Ellipsoid((a, b, c))
    if kind == kinds.mjGEOM_MESH:
        mesh = int(model.geom_dataid[g])
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        vertices = np.array(model.mesh_vert[first : first + count])
        first, count = int(model.mesh_faceadr[mesh]), int(model.mesh_facenum[mesh])
        return Triangles(vertices, np.array(model.mesh_face[first : first + count]))
    return None  # planes and height fields have no end


def _colour(model: Any, g: int) -> Colour:
    material = int(model.geom_matid[g])
    rgba = model.mat_rgba[material] if material >= 0 else model.geom_rgba[g]
    red, green, blue, opacity = (float(min(max(x, 0.0), 1.0)) for x in rgba)
    return (red, green, blue, opacity)
