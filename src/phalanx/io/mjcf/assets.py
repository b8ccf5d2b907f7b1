# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Files that a specification of MuJoCo names: meshes, height fields, pictures, skins.

Dynamics need none of them unless the inertia of a moving body comes from a mesh.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from phalanx.errors import PhalanxError


def named_files(spec: Any) -> list[str]:
    """The names of all files that the compiler would open."""
    items = (*spec.meshes, *spec.hfields, *spec.textures, *spec.skins)
    names = [item.file for item in items]
    names += [name for texture in spec.textures for name in texture.cubefiles]
    return [name for name in names if name]


def refuse_irregular(spec: Any, source: str) -> None:
    """Raise for a named file that is a pipe or a device, which might be read without end."""
    folders = ("", spec.meshdir, spec.texturedir)
    for name in named_files(spec):
        for folder in dict.fromkeys(folders):
            path = os.path.join(spec.modelfiledir, folder, name)
            if "\0" not in path and os.path.exists(path) and not os.path.isfile(path):
                raise PhalanxError(f'{source}: names the file "{name}", which is not a regular file.')


def drop_files(spec: Any) -> list[tuple[str, str]]:
    """Remove from the specification every file that no inertia comes from.

    Returned are the body and the file of each one that is left.
    """
    # Versions before 3.3.3 let elements delete themselves.
    delete = getattr(spec, "delete", None) or (lambda element: element.delete())
    for element in (*spec.sensors, *spec.pairs, *spec.tuples, *spec.skins):
        delete(element)
    files = {mesh.name or _stem(mesh.file): mesh.file for mesh in spec.meshes}
    needed: set[str] = set()
    left = []
    for body, moves in _bodies(spec):
        for geom in list(body.geoms):
            geom.material = ""
            mesh = geom.meshname
            if not mesh and not geom.hfieldname:
                continue
            if _gives_inertia(spec, body, moves, geom):
                needed.add(mesh)
                left += [(body.name, files[mesh])] if files.get(mesh) else []
            else:
                delete(geom)
        for site in body.sites:
            site.material = ""
            if getattr(site, "meshname", ""):
                delete(site)
    for element in (*spec.tendons, *spec.flexes):
        element.material = ""
    unused = [mesh for mesh in spec.meshes if (mesh.name or _stem(mesh.file)) not in needed]
    for element in (*spec.materials, *spec.textures, *spec.hfields, *unused):
        delete(element)
    return left


def _bodies(spec: Any) -> Iterator[tuple[Any, bool]]:
    """Every body, and whether it moves in the world."""
    stack = [(spec.worldbody, False)]
    while stack:
        body, moves = stack.pop()
        yield body, moves
        stack += [(child, moves or bool(len(child.joints))) for child in body.bodies]


def _gives_inertia(spec: Any, body: Any, moves: bool, geom: Any) -> bool:
    """Whether the inertia of anything that moves depends on a geom."""
    import mujoco

    compiler, rules = spec.compiler, mujoco.mjtInertiaFromGeom
    first, last = compiler.inertiagrouprange
    if compiler.inertiafromgeom == int(rules.mjINERTIAFROMGEOM_FALSE):
        return False
    if compiler.inertiafromgeom == int(rules.mjINERTIAFROMGEOM_AUTO) and body.explicitinertial:
        return False
    if not moves and compiler.settotalmass <= 0.0:
        return False
    # A mass that is not given is NaN.
    return first <= geom.group <= last and geom.mass != 0.0 and (geom.mass > 0.0 or geom.density != 0.0)


def _stem(file: str) -> str:
    """The name of a mesh that has none of its own."""
    return os.path.splitext(os.path.basename(file))[0]
