# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.report`: all studies of a robot on one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...algorithms import FUNCTIONS
from ...errors import PhalanxError, nearest, shown
from ...io.files import path_text, write_text
from ...io.visuals import Scene, visuals
from ...progress import steps
from ...robot.facts import describe
from ...robot.robot import Robot, require_robot
from ...study.accuracy import default_states
from ...typing import Path as PathLike
from . import schedules
from .collect import DEFAULT, Study, costs_of_others, machine_facts, studied
from .live import Live, live
from .page import Contents, page
from .picture import png_of
from .scene import kinematics, shapes

_FACES = 40_000  # triangles of meshes: about a megabyte
_BYTES_OF_FACE = 14  # in the page, with its share of the vertices
_LEAST_FACES = 2_000


@dataclass(frozen=True)
class Report:
    """A page that was written: where, how large, and what it tells of each function."""

    path: Path
    bytes: int
    facts: dict[str, Any]
    studies: tuple[Study, ...]
    speedups: dict[str, dict[str, list[float]]]
    machine: dict[str, str]
    live: tuple[str, ...]  # functions that compute in the page


def report(
    robot: Robot,
    path: PathLike,
    *,
    functions: Sequence[str] = DEFAULT,
    quick: bool = False,
    batch: int | None = None,
    megabytes: float = 5.0,
    scene: Scene | None = None,
) -> Report:
    """Write one page about a robot: in 3D, with facts, costs, schedules, speed-ups, times and errors.

    The file needs no server and no network. `functions` are studied with all their algorithms; `quick` leaves
    out whatever is timed. `batch` is how many states are timed together (1024, fewer of long robots). Meshes
    are simplified until the page has less than so many `megabytes`. `scene` is how the robot looks, by default
    `px.visuals(robot)`.
    """
    require_robot(robot, "report")
    where = _checked(path)
    wanted = _functions(functions)
    if not isinstance(megabytes, (int, float)) or not 0.2 <= megabytes <= 1000:
        raise PhalanxError(f"report: megabytes is {shown(megabytes)}, expected a number from 0.2 to 1000.")
    contents = _contents(robot, wanted, quick, batch, megabytes, scene)
    text = page(contents)
    write_text(where, text, where="report")
    return Report(
        Path(where),
        len(text.encode("utf-8")),
        dict(contents.facts),
        tuple(contents.studies),
        {name: {k: list(v) for k, v in curves.items()} for name, curves in contents.speedups.items()},
        dict(contents.machine),
        contents.live.functions if contents.live else (),
    )


def _checked(path: Any) -> str:
    where = path_text(path, "report")
    place = Path(where)
    if place.suffix.lower() not in (".html", ".htm"):
        raise PhalanxError(f'report: "{place.name}" ends in {place.suffix!r}, expected .html.')
    if not Path(os.path.expanduser(where)).parent.is_dir():
        raise PhalanxError(f'report: the folder "{place.parent}" is not there; make it first.')
    return where


def _functions(asked: Any) -> tuple[str, ...]:
    if isinstance(asked, str):
        asked = (asked,)
    names = tuple(dict.fromkeys(asked))
    for name in names:
        if name not in FUNCTIONS:
            raise PhalanxError(f"report: unknown function {shown(name)};{nearest(name, FUNCTIONS)}")
    if not names:
        raise PhalanxError("report: functions is empty, expected names such as inverse_dynamics.")
    return names


def _contents(
    robot: Robot, wanted: tuple[str, ...], quick: bool, batch: int | None, megabytes: float, scene: Scene | None
) -> Contents:
    """Everything, one piece after another, with a bar for those who wait."""
    moves = robot.nv > 0
    found: dict[str, Any] = {"studies": [], "charts": {}, "speedups": {}, "others": {}, "live": None}

    def study(function: str) -> None:
        one = studied(robot, function, quick=quick, batch=batch)
        found["studies"].append(one)

    def placed(one: Study) -> None:
        found["charts"][one.function] = schedules.charts(robot, one)
        found["speedups"][one.function] = schedules.speedups(robot, one)

    def looks() -> None:
        found["scene"] = visuals(robot) if scene is None else scene
        found["picture"] = png_of(robot, found["scene"])

    jobs: list[tuple[str, Callable[[], Any]]] = [("shapes", looks)]
    if moves:
        jobs += [(name, lambda name=name: study(name)) for name in wanted]  # type: ignore[misc]
        jobs += [(f"{name} on processors", lambda k=k: placed(found["studies"][k])) for k, name in enumerate(wanted)]  # type: ignore[misc]
        jobs.append(("other functions", lambda: found.update(others=costs_of_others(robot, wanted))))
        jobs.append(("WebAssembly", lambda: found.update(live=live(robot))))
    for _, job in steps(jobs, "reporting", lambda item: item[0]):
        job()
    made: Live | None = found["live"]
    spent = 300_000 + (len(made.module) if made else 0)
    faces = int(max((megabytes * 1e6 - spent) / _BYTES_OF_FACE, _LEAST_FACES))
    return Contents(
        describe(robot),
        kinematics(robot),
        shapes(found["scene"], min(_FACES, faces)),
        found["picture"],
        found["studies"],
        found["charts"],
        found["speedups"],
        found["others"],
        machine_facts(),
        made,
        default_states(robot),
        "NumPy, the reference" if quick else "compiled code",
    )
