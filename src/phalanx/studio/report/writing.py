# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.report`: all studies of a robot on one page."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...algorithms import FUNCTIONS
from ...errors import PhalanxError, nearest, shown, warn
from ...files import path_text, write_text
from ...io.visuals import Scene, visuals
from ...program.analyses.cost import Cost
from ...progress import steps
from ...robot.facts import describe
from ...robot.robot import Robot, require_robot
from ...study.accuracy import default_states
from ...typing import Path as PathLike
from .collect import (
    DEFAULT,
    Study,
    StudyChart,
    charts,
    costs_of_others,
    machine_facts,
    pipelines_of,
    speedups_of,
    studied,
)
from .page import Contents, Live, live, page
from .scene import kinematics, png_of, shapes

_FACES = 40_000  # triangles of meshes: about half a megabyte
_LEAST_FACES = 1_000


@dataclass(frozen=True)
class Report:
    """A page that was written: where, how large, and what it says of each function."""

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

    The file needs no server and no network. `functions` are studied with all their algorithms; `quick`
    leaves out whatever is timed. `batch` is how many states are timed together (1024, fewer of long robots).
    Meshes are simplified until the page has less than so many `megabytes`. `scene` is how the robot looks,
    by default `px.visuals(robot)`.
    """
    require_robot(robot, "report")
    where = _checked(path)
    wanted = _functions(functions)
    if not isinstance(megabytes, (int, float)) or not 0.2 <= megabytes <= 1000:
        raise PhalanxError(f"report: megabytes is {shown(megabytes)}, expected a number from 0.2 to 1000.")
    looks = visuals(robot) if scene is None else scene
    contents = _Pieces(robot, wanted, quick, batch).done(looks)
    html = _fitted(contents, looks, megabytes)
    write_text(where, html, where="report")
    return Report(
        Path(where),
        len(html.encode("utf-8")),
        dict(contents.facts),
        tuple(contents.studies),
        {name: {k: list(v) for k, v in curves.items()} for name, curves in contents.speedups.items()},
        dict(contents.machine),
        contents.live.functions if contents.live else (),
    )


def _checked(path: Any) -> str:
    where = path_text(path, "report")
    file = Path(where)
    if file.suffix.lower() not in (".html", ".htm"):
        raise PhalanxError(f'report: "{file.name}" ends in {file.suffix!r}, expected .html.')
    if not Path(os.path.expanduser(where)).parent.is_dir():
        raise PhalanxError(f'report: the folder "{file.parent}" is not there; make it first.')
    return where


def _functions(requested: Any) -> tuple[str, ...]:
    if isinstance(requested, str):
        requested = (requested,)
    names = tuple(dict.fromkeys(requested))
    for name in names:
        if name not in FUNCTIONS:
            raise PhalanxError(f"report: unknown function {shown(name)};{nearest(name, FUNCTIONS)}")
    if not names:
        raise PhalanxError("report: functions is empty, expected names such as inverse_dynamics.")
    return names


class _Pieces:
    """The contents of a report, made one after another."""

    def __init__(self, robot: Robot, wanted: tuple[str, ...], quick: bool, batch: int | None) -> None:
        self.robot, self.wanted, self.quick, self.batch = robot, wanted, quick, batch
        self.studies: list[Study] = []
        self.charts: dict[str, list[StudyChart]] = {}
        self.speedups: dict[str, dict[str, list[float]]] = {}
        self.others: dict[str, tuple[str, Cost]] = {}
        self.live: Live | None = None
        self.pipelines: dict[int, dict[str, Any]] | str = "A robot without joints has no pipeline."

    def done(self, looks: Scene) -> Contents:
        """Make everything, with a progress bar."""
        for _, job in steps(self._jobs(), "reporting", lambda item: item[0]):
            job()
        return Contents(
            describe(self.robot),
            kinematics(self.robot),
            shapes(looks, _FACES),
            png_of(self.robot, looks),
            self.studies,
            self.charts,
            self.speedups,
            self.others,
            machine_facts(),
            self.live,
            self.pipelines,
            default_states(self.robot),
            "NumPy, the reference" if self.quick else "compiled code",
        )

    def _jobs(self) -> list[tuple[str, Callable[[], None]]]:
        if not self.robot.nv:
            return []
        jobs: list[tuple[str, Callable[[], None]]] = [(n, partial(self._study, n)) for n in self.wanted]
        jobs += [(f"{n} on processors", partial(self._place, k)) for k, n in enumerate(self.wanted)]
        return [
            *jobs,
            ("other functions", self._count),
            ("WebAssembly", self._compile),
            ("pipelines", self._pipe),
        ]

    def _study(self, function: str) -> None:
        self.studies.append(studied(self.robot, function, quick=self.quick, batch=self.batch))

    def _place(self, k: int) -> None:
        study = self.studies[k]
        self.charts[study.function] = charts(self.robot, study)
        self.speedups[study.function] = speedups_of(self.robot, study)

    def _count(self) -> None:
        self.others = costs_of_others(self.robot, self.wanted)

    def _pipe(self) -> None:
        self.pipelines = pipelines_of(self.robot)

    def _compile(self) -> None:
        self.live = live(self.robot)


def _fitted(contents: Contents, looks: Scene, megabytes: float) -> str:
    """The page with its meshes simplified until it has at most `megabytes` megabytes."""
    html, faces = page(contents), _FACES
    while (size := len(html.encode("utf-8"))) > megabytes * 1e6:
        if faces < _LEAST_FACES or not contents.shapes["meshes"]:
            warn(f"report: the page has {size / 1e6:.1f} MB, more than {megabytes:g}; study fewer functions.")
            break
        faces //= 2
        html = page(replace(contents, shapes=shapes(looks, faces)))
    return html
