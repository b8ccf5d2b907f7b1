# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sites of a compiled MuJoCo model, as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phalanx.io.mjcf.tree import rotation
from phalanx.io.mujoco_names import MujocoNames
from phalanx.robot.description import FixedFrame, Link, Pose


def read_sites(model: Any, names: MujocoNames, links: Sequence[Link]) -> list[FixedFrame]:
    """The sites that have a name; one that a link has too gets the ending `_site`."""
    given = names.at(model.name_siteadr)
    bodies = {link.name for link in links}
    taken = bodies | set(given)
    found = []
    for site, name in enumerate(given):
        if name in bodies:
            name += "_site"
            while name in taken:
                name += "_"
            taken.add(name)
        if name:
            body = names.bodies[model.site_bodyid[site]]
            found.append(FixedFrame(name, body, site_pose(model, site)))
    return found


def site_pose(model: Any, site: int) -> Pose:
    """The pose of a site in the frame of its body."""
    return Pose.of(rotation(model.site_quat[site]), model.site_pos[site])
