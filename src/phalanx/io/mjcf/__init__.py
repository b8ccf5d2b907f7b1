# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF: robots from models of MuJoCo, compiled by the `mujoco` package."""

from __future__ import annotations

import os
from typing import Any

from phalanx.convert import MujocoNames
from phalanx.description import Description
from phalanx.errors import PhalanxError, warn
from phalanx.io.mjcf.equalities import read_equalities
from phalanx.io.mjcf.leftover import left_out
from phalanx.io.mjcf.sites import read_sites
from phalanx.io.mjcf.tree import read_tree, triple
from phalanx.io.xml import root_tag


def read_mjcf(text: str | bytes | os.PathLike[str], *, source: str) -> Description:
    """The bodies, joints, sites and loops of an MJCF text or file; `source` names it in messages.

    Only a path lets the model include other files and meshes. What moves bodies but is no
    part of a tree of rigid bodies (tendons, springs, loops) is named in one warning.
    """
    model = _compiled(text, source)
    names = MujocoNames.of(model)
    links, joints = read_tree(model, names)
    joints, loops, others = read_equalities(model, names, joints)
    if ignored := left_out(model, names, loops, others):
        kept = " The loops are kept as robot.loops." if loops else ""
        _warn(
            f"{source}: left out, for they are not part of a tree of rigid bodies: {'; '.join(ignored)}."
            f"{kept} Remove them from the file if they do not matter."
        )
    gravity = (0.0, 0.0, 0.0) if _weightless(model) else triple(model.opt.gravity)
    return Description(
        names.model,
        tuple(links),
        tuple(joints),
        gravity,
        frames=tuple(read_sites(model, names, links)),
        loops=tuple(loops),
        source=source,
    )


def _warn(text: str) -> None:
    warn(text)


def _compiled(text: str | bytes | os.PathLike[str], source: str) -> Any:
    """The model as MuJoCo compiles it; its complaints become one line of ours."""
    if isinstance(text, str | bytes):
        # MuJoCo would read anything else as an empty model or as URDF.
        tag = root_tag(text, source=source)
        if tag != "mujoco":
            raise PhalanxError(f"{source}: the root element is <{tag}>; expected <mujoco> of an MJCF file.")
    try:
        import mujoco
    except ImportError:
        raise PhalanxError(
            f"{source}: reading MJCF needs the package mujoco. Install it: pip install phalanx[mjcf]"
        ) from None
    try:
        if isinstance(text, bytes):
            text = text.decode()
        if isinstance(text, str):
            return mujoco.MjModel.from_xml_string(text)
        return mujoco.MjModel.from_xml_path(os.fspath(text))
    except (ValueError, TypeError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error: ").removeprefix("XML Error: ")
        hint = (
            "" if isinstance(text, os.PathLike) else " Files it refers to are found only if a path is loaded."
        )
        raise PhalanxError(f"{source}: MuJoCo refuses the model: {reason.rstrip('.')}.{hint}") from None


def _weightless(model: Any) -> bool:
    import mujoco

    return bool(model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY)
