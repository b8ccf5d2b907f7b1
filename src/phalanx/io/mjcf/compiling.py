# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From MJCF, a `mujoco.MjSpec` or a `mujoco.MjModel` to a compiled model.

MuJoCo compiles what the dynamics of a tree need. Files of meshes, height fields and pictures are
left out where they are missing and no inertia comes from them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from phalanx.errors import PhalanxError, installing
from phalanx.io.mjcf.prescan import check_file, check_text
from phalanx.io.xml import root_tag
from phalanx.robot.checks import reversed_range

_LOCK = threading.Lock()
_BROKEN: list[str] = []  # the model on which MuJoCo failed inside, after which it hangs


def is_mujoco(value: object) -> bool:
    """Whether a value is a model or a specification of the `mujoco` package, which stays unloaded."""
    kind = type(value)
    return kind.__module__.split(".")[0] == "mujoco" and kind.__name__ in ("MjModel", "MjSpec")


class CompiledModel(NamedTuple):
    """A compiled model, and its number of sensors before those of missing files were dropped."""

    model: Any
    sensors: int


def compiled(given: Any, source: str) -> CompiledModel:
    """The `mujoco.MjModel` of a text, a path, a specification or a model; `source` names it in messages."""
    if isinstance(given, str | bytes):
        # MuJoCo would read anything else as an empty model or as URDF.
        tag = root_tag(given, source=source)
        if tag != "mujoco":
            raise PhalanxError(f"{source}: the root element is <{tag}>; expected <mujoco> of an MJCF file.")
    try:
        import mujoco
    except ImportError:
        raise PhalanxError(
            f"{source}: reading MJCF needs the package mujoco, which is not installed; {installing('mjcf')}."
        ) from None
    if isinstance(given, mujoco.MjModel):
        return CompiledModel(given, given.nsensor)
    if isinstance(given, str | bytes):
        check_text(given, source)
    elif isinstance(given, os.PathLike):
        # From a relative path MuJoCo does not find a file that is included from the folder above.
        given = Path(os.path.abspath(given))
        check_file(str(given), source)
    else:
        _check_ranges(mujoco, given, source)
    with _quiet(mujoco):
        return _model(mujoco, given, not isinstance(given, str | bytes), source)


def missing_files(given: Any, source: str) -> list[str]:
    """The names of mesh files that a path or a text names and that are not there."""
    import mujoco

    if isinstance(given, mujoco.MjModel):
        return []
    given = Path(os.path.abspath(given)) if isinstance(given, os.PathLike) else given
    try:
        with _quiet(mujoco):
            spec = _specification(mujoco, given)
    except (ValueError, TypeError, RuntimeError, mujoco.FatalError):
        return []
    names = [mesh.file for mesh in spec.meshes if mesh.file]
    if isinstance(given, str | bytes):
        return names
    folder = os.path.join(spec.modelfiledir, spec.meshdir)
    return [name for name in names if "\0" in name or not os.path.exists(os.path.join(folder, name))]


def _model(mujoco: Any, given: Any, reads_files: bool, source: str) -> CompiledModel:
    """The model with all its files or, where that fails, without those that no inertia comes from."""
    if _BROKEN:
        raise PhalanxError(
            f"{source}: MuJoCo has failed inside on {_BROKEN[0]} and may hang on any other model; load this "
            "one in a new process."
        )
    failures = (ValueError, TypeError, mujoco.FatalError)
    needed: list[tuple[str, str]] = []
    try:
        spec = _specification(mujoco, given)
        sensors = len(spec.sensors)
        if reads_files:
            refuse_irregular(spec, source)
        elif named_files(spec) and (needed := drop_files(spec)):
            raise PhalanxError(
                f"{source}: {_takers(needed)}, and a text or file object reads no other files. "
                "Load the path of the model instead."
            )
        return CompiledModel(spec.compile(), sensors)
    except PhalanxError:
        raise
    except RuntimeError as error:
        _BROKEN.append(source)
        raise PhalanxError(f"{source}: MuJoCo fails on the model: {error}") from None
    except failures as error:
        reason = _reason(error)
    try:
        spec = _specification(mujoco, given)
        if named_files(spec):
            sensors = len(spec.sensors)
            needed = drop_files(spec)
            return CompiledModel(spec.compile(), sensors)
        if " Time = " in reason and not isinstance(given, mujoco.MjSpec):
            # Versions before 4 refuse specifications that would be hard to simulate, but not files.
            make = mujoco.MjModel.from_xml_path if reads_files else mujoco.MjModel.from_xml_string
            model = make(str(given) if reads_files else _decoded(given))
            return CompiledModel(model, model.nsensor)
    except failures as error:
        reason = reason if needed else _reason(error)
    hint = f" {_takers(needed)}: put the files in place, or give an <inertial>." if needed else ""
    raise PhalanxError(f"{source}: MuJoCo refuses the model: {reason.rstrip('.')}.{hint}")


def _check_ranges(mujoco: Any, spec: Any, source: str) -> None:
    """Raise for a joint of a specification whose range is reversed, which MuJoCo takes for none at all."""
    for joint in spec.joints:
        low, high = joint.range.tolist()
        if low > high and joint.limited != mujoco.mjtLimited.mjLIMITED_FALSE:
            raise PhalanxError(reversed_range(f'{source}: joint "{joint.name}"', low, high))


def _reason(error: Exception) -> str:
    """MuJoCo's complaint in one line."""
    return " ".join(str(error).split()).removeprefix("Error: ").removeprefix("XML Error: ")


def _takers(needed: list[tuple[str, str]]) -> str:
    body, file = needed[0]
    more = f" (and {len(needed) - 1} more)" if len(needed) > 1 else ""
    return f'body "{body}" takes its inertia from the mesh file "{file}"{more}'


def _specification(mujoco: Any, given: Any) -> Any:
    """The `MjSpec` to compile, without parts that cost time and change no robot."""
    if isinstance(given, mujoco.MjSpec):
        spec = given.copy()
    elif isinstance(given, Path) and given.suffix == ".xml":
        spec = mujoco.MjSpec.from_file(str(given))
    elif isinstance(
        given, Path
    ):  # MuJoCo 4 reads no other suffix, unless it takes the content for such a file
        name = f"{given}.xml"
        spec = mujoco.MjSpec.from_file(name, include={name: given.read_bytes()})
    else:
        spec = mujoco.MjSpec.from_string(_decoded(given))
    spec.compiler.LRopt.mode = int(mujoco.mjtLRMode.mjLRMODE_NONE)  # lengths of actuators, by simulation
    spec.nkey = spec.nuserdata = 0
    for name in ("actuator", "body", "cam", "geom", "jnt", "sensor", "site", "tendon"):
        setattr(spec, f"nuser_{name}", -1)  # as many as there are
    return spec


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8-sig")


@contextlib.contextmanager
def _quiet(mujoco: Any) -> Iterator[None]:
    """Keep MuJoCo from writing a log into the working directory while it compiles, and from warning.

    Its warnings are about simulations. A handler that somebody has set stays.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handled = mujoco.get_mju_user_warning() is not None
        if not handled:
            mujoco.set_mju_user_warning(lambda _: None)
        try:
            yield
        finally:
            if not handled:
                mujoco.set_mju_user_warning(None)


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

    Returns (body, file) for each file that remains.
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
