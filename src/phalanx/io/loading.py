# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loading: from a file, a string or a built-in name to a Robot."""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, nearest, shown, warn
from ..files import path_text, read_bytes
from ..robot.description import Description, flag, is_coupled, triple
from ..robot.joints import WELD
from ..robot.robot import FileFormats, Robot
from ..typing import Mimic, Source, Vector
from ..typing import Path as PathLike
from .dh import description_from_dh
from .link_tables import read_table
from .robots import generators
from .saved import write_description
from .sdf import read_sdf
from .srdf import with_srdf
from .urdf import read_urdf
from .urdf_writer import write_urdf
from .xacro import Macros
from .xml import root_tag

GENERATORS: dict[str, Callable[..., Description]] = {
    f.__name__: f
    for f in (generators.chain, generators.coil, generators.dill, generators.snake, generators.tree)
}
_SUFFIX = ".toml"
_FOLDER = (
    Path(__file__).parent / "robots"
)  # `importlib.resources` takes longer to import than a robot to load

Robot._formats = FileFormats(description_from_dh, write_description, write_urdf, with_srdf)


def load(
    source: Source | Description,
    *,
    strict: bool = False,
    mimic: Mimic = "coupled",
    floating_base: bool = False,
    gravity: Vector | None = None,
    xacro_args: Mapping[str, Any] | None = None,
    packages: PathLike | Iterable[PathLike] | Mapping[str, PathLike] | None = None,
    srdf: Source | None = None,
) -> Robot:
    """The robot of a URDF, MJCF, SDF, DH or saved file, a file object, a text or a built-in name.

    Names of generated robots hold their size: "snake:200", "chain:50,seed=3", "tree:30,branching=0.5".
    A `mujoco.MjModel` or `mujoco.MjSpec` is taken as it is.
    Actuators and simple transmissions are in `robot.actuated`, the configurations of an SRDF file (`srdf`) in
    `robot.configurations`. What else a file has beside links and joints (sensors, plugins) is counted in one
    warning and in `robot.left_out`. `strict` refuses inertias that no rigid body has; `mimic="independent"`
    gives mimic joints coordinates of their own; `floating_base` lets the base link move freely. Files named
    .xacro are expanded first, with `xacro_args` for their arguments and `packages` for the folders of
    $(find …); other files if `xacro_args` is given. Expand only files that you trust: they evaluate
    expressions.
    """
    coupled = is_coupled(mimic, "load")
    strict, floating_base = flag(strict, "load: strict"), flag(floating_base, "load: floating_base")
    macros = None if xacro_args is None and packages is None else Macros(xacro_args, packages)
    with _collector_paused():
        described = _describe(source, strict, macros)
        if gravity is not None:
            described = replace(described, gravity=triple(gravity, "load: gravity"))
        if floating_base:
            described = replace(described, floating_base=True)
        if not coupled:
            described = replace(described, coupled=False)
        if srdf is not None:
            described = with_srdf(described, srdf)
        return Robot(described, strict=strict, warn=not is_builtin(source))


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would traverse links and joints, which hold no cycles, many times.

    It takes a third of the time for a hundred thousand of them.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def robots() -> list[str]:
    """Names of the built-in robots."""
    return sorted(file.stem for file in _FOLDER.glob(f"*{_SUFFIX}"))


def _describe(source: Any, strict: bool, macros: Macros | None) -> Description:
    if macros is not None and (isinstance(source, Description) or is_builtin(source)):
        raise PhalanxError(f"load: {source!r:.60} is no file; xacro_args and packages are for xacro files.")
    if isinstance(source, Description):
        return source
    if type(source).__module__.partition(".")[0] == "mujoco":
        return _mjcf(source, type(source).__name__)
    if isinstance(source, bytes) or (isinstance(source, str) and is_text(source)):
        return _parse(source, "<text>", None, strict, macros)
    if hasattr(source, "read"):
        label = str(getattr(source, "name", "<file object>"))
        try:
            content = source.read()
        except (OSError, ValueError) as error:
            raise PhalanxError(f"{label}: cannot read the file object: {error}.") from None
        return _parse(content, label, None, strict, macros)
    if not isinstance(source, (str, os.PathLike)):
        raise PhalanxError(
            f"load: got {type(source).__name__}, expected a path, a file object, a text or a built-in name."
        )
    path = Path(os.path.expanduser(path_text(source, "load")))
    try:
        if is_builtin(source):
            return builtin(str(source))
        content = read_bytes(str(path))
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
        raise PhalanxError(
            f'load: cannot read "{path}": {reason}. Expected a file, a built-in name '
            f"({', '.join(robots())}) or a generated robot such as snake:200."
        ) from None
    if path.suffix.lower() == ".xacro":
        macros = macros or Macros()
    return _parse(content, str(path), path, strict, macros)


def is_builtin(source: Any) -> bool:
    """Whether a source is a bare name that no file has.

    The files of the built-in robots name their unphysical published inertias, so that no warning does.
    """
    if not isinstance(source, str) or is_text(source):
        return False
    path = Path(source)
    if names_generator(source):  # chain:50,prismatic=0.5 is no file with a suffix
        return not path.exists()
    return path.name == source and not path.suffix and not source.startswith("~") and not path.exists()


def is_text(source: str) -> bool:
    return "\n" in source or source.lstrip()[:1] in ("<", "{", "[")


def _parse(
    content: Any, label: str, path: Path | None, strict: bool, macros: Macros | None = None
) -> Description:
    """The description in a string; its first character and its root element choose the format."""
    if not isinstance(content, (str, bytes)):
        raise PhalanxError(f"{label}: reading gave {type(content).__name__}, expected text or bytes.")
    if macros is not None:
        return _parse(macros.expand(content, label, path), f"{label} (expanded)", None, strict)
    marks = "\ufeff \t\r\n" if isinstance(content, str) else b"\xef\xbb\xbf \t\r\n"
    start = content.lstrip(marks)[:1]  # type: ignore[arg-type]
    head = start if isinstance(start, str) else start.decode("latin-1")
    suffix = path.suffix.lower() if path else ""
    if head in ("<", "") or suffix in (".urdf", ".xml", ".mjcf", ".sdf"):
        read = READERS.get(root_tag(content, source=label), _urdf)
        return read(content, label, path, strict)
    table = parsed_table(content, label, as_json=head == "{")
    return read_table(table, source=label)


def _urdf(content: Any, label: str, path: Path | None, strict: bool) -> Description:
    described = read_urdf(content, source=label, strict=strict)
    _warn_of_no_mass(described)
    return described


# Readers of XML by its root element: of the content, its label in messages, its path if any, and strict.
READERS: dict[str, Callable[[Any, str, Path | None, bool], Description]] = {
    "robot": _urdf,
    "mujoco": lambda content, label, path, strict: _mjcf(path if path else content, label),
    "sdf": lambda content, label, path, strict: read_sdf(content, source=label),
}


def _mjcf(given: Any, label: str) -> Description:
    from .mjcf import is_mujoco, read_mjcf  # takes a while, and most robots are no MJCF

    if not isinstance(given, (str, bytes, Path)) and not is_mujoco(given):
        raise PhalanxError(f"load: got {label} of MuJoCo, expected a MjModel or a MjSpec.")
    return read_mjcf(given, source=label)


def _warn_of_no_mass(description: Description) -> None:
    """Warn of a robot on which nothing has inertia: files for pictures often have none."""
    moves = any(joint.type != WELD for joint in description.joints)
    if moves and not any(link.mass or any(link.inertia) for link in description.links):
        warn(
            f"{description.where}: no link has a mass or an inertia, so that all forces are zero and only "
            "kinematics make sense. Add <inertial> elements."
        )


def parsed_table(content: str | bytes, label: str, *, as_json: bool) -> dict[str, Any]:
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        table = json.loads(text) if as_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # of the parsers, and integers of thousands of digits
        kind = "JSON" if as_json else "TOML"
        raise PhalanxError(
            f"{label}: neither XML nor {kind}: {str(error).splitlines()[0]}. "
            "Expected URDF, MJCF, SDF, a DH table (TOML or JSON) or a saved robot."
        ) from None
    return table


# ------------------------------------------------------------------- built-in and generated robots


def builtin(name: str) -> Description:
    """The description of the built-in robot of that name, or of a generator's, as in `snake:200`."""
    if ":" in name:
        return _generated(name)
    return read_table(builtin_table(name), source=name + _SUFFIX)


def names_generator(name: str) -> bool:
    """Whether a name has the form of a generated robot, such as "snake:200"."""
    return name.partition(":")[0] in GENERATORS and ":" in name


def _generated(name: str) -> Description:
    """The robot of `generator:size`, or of `generator:size,option=number` as in `chain:50,seed=3`."""
    word, _, rest = name.partition(":")
    if word not in GENERATORS:
        raise PhalanxError(f'no generator "{word}" of robots;{nearest(word, GENERATORS, what="generators")}')
    make = GENERATORS[word]
    options = [p.name for p in inspect.signature(make).parameters.values() if p.name != "joints"]
    given: dict[str, int | float] = {}
    for k, part in enumerate(rest.split(",")):
        key, equals, text = part.partition("=") if k else (options[0], "=", part)
        value = _number(text)
        if not equals or key not in options or key in given or value is None:
            known = f", then options of {word} ({', '.join(options[1:])})" if options[1:] else ""
            example = f"{word}:{_EXAMPLE[word]}"
            raise PhalanxError(
                f'robot "{name}": got {shown(part)}, expected an integer as in {example}{known}.'
            )
        given[key] = value
    return make(**given)


_EXAMPLE = {"chain": "50", "coil": "100", "dill": "6", "snake": "200", "tree": "30"}


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def builtin_table(name: str) -> dict[str, Any]:
    """The parameter file of the built-in robot of that name, parsed."""
    if name in GENERATORS:
        raise PhalanxError(f'robot "{name}": expected its size too, as in {name}:{_EXAMPLE[name]}.')
    if name not in robots():
        raise PhalanxError(f'no built-in robot "{name}";{nearest(name, robots(), what="built in")}')
    return tomllib.loads((_FOLDER / (name + _SUFFIX)).read_text(encoding="utf-8"))
