# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page: a robot in the middle, four views beside it, and the clock that moves both."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..io.visuals import Scene
from . import markup, server
from .dynamics_view import DynamicsView
from .robot_view import RobotView
from .schedule_views import CompareView, ParallelView
from .session import Session
from .stage import RobotView3D, hover_texts, label_text

PICTURES = 30  # a second; benchmarks/studio.py measures how many arrive
_APART = 0.004  # seconds from figures to their picture, so that two messages are sent


class Page:
    """The page of one robot; all state is in the session, which every connected browser shares."""

    def __init__(
        self, scene: Scene, *, port: int | None = None, control: str | None = None, dark: bool = False
    ) -> None:
        self.session = Session(scene)
        self.control = control
        self.lock = threading.RLock()
        title = f"Phalanx studio – {label_text(scene.robot.name)}"
        self.server = server.start(port, title, hover_texts(scene.robot))
        self._ending, self._moved = threading.Event(), threading.Event()
        try:
            self._set_scene(dark)
            self._set_panel(dark)
        except BaseException:
            server.stop(self.server)
            raise
        self._clock = threading.Thread(target=self._run_clock, daemon=True, name="phalanx studio")
        self._clock.start()
        self._drawing = threading.Thread(target=self._draw_first, daemon=True, name="phalanx schedules")
        self._drawing.start()

    @property
    def port(self) -> int:
        """The port that the page is on."""
        return int(self.server.get_port())

    @property
    def address(self) -> str:
        """The URL of the page."""
        return f"http://{server.HOST}:{self.port}"

    def close(self) -> None:
        """End the page and its threads."""
        self._ending.set()
        self._moved.set()
        for thread in (self._clock, self._drawing):
            thread.join(timeout=2.0)
        server.stop(self.server)

    # ------------------------------------------------------------------------ making

    def _set_scene(self, dark: bool) -> None:
        s, view = self.session, self.server.scene
        view.set_up_direction("+z")
        low, high = s.bounds()
        size, middle = s.size, 0.5 * (low + high)
        floor = min(float(low[2]), 0.0)
        cell = float(10.0 ** np.floor(np.log10(max(size, 1e-3)))) / 4.0
        # Lines and one plain light with the sky's: a grid drawn by a shader, reflections and shadows take
        # many times as long where no graphics card draws (benchmarks/studio.py).
        lines = _floor(8 * size, cell, floor)
        self._grid = view.add_line_segments("/floor", lines, (205, 205, 205), thickness=0.0015 * size)
        self._sun = view.add_light_directional("/sun", intensity=3.0, position=(0.3, -0.5, 1.0))
        self._lit(False)
        view.add_light_hemisphere(
            "/sky", sky_color=(255, 255, 255), ground_color=(120, 125, 135), intensity=1.6
        )
        camera = self.server.initial_camera
        camera.look_at = middle
        camera.position = middle + size * np.array([1.0, -0.9, 0.45])
        camera.near, camera.far, camera.fov = 0.01 * size, 60.0 * size, np.pi / 4
        self.server.on_client_connect(lambda client: self._fit(client, middle, size))
        self.stage = RobotView3D(self.server, s, "/robot", (0.0, 0.0, 0.0))

    def _fit(self, client: Any, middle: Any, size: float) -> None:
        """Move the camera back if the view is narrow, as on a phone, whose lower two thirds are the panel."""
        aspect = client.camera.aspect
        if aspect < 0.9:
            back = min(max(1.0 / aspect, 2.6), 3.0)
            # In this order: setting the position also moves the look-at point.
            client.camera.position = middle + size * back * np.array([1.0, -0.9, 0.25])
            client.camera.look_at = middle - (0.0, 0.0, 0.37 * size * back)

    def _set_panel(self, dark: bool) -> None:
        gui = self.server.gui
        self._theme(dark)
        gui.main_panel.dock_right()
        gui.main_panel.set_width(430)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Robot"):
            self.robot_view = RobotView(self)
        with tabs.add_tab("Dynamics"):
            self.dynamics_view = DynamicsView(self)
        with tabs.add_tab("Parallelism"):
            self.parallel_view = ParallelView(self)
        with tabs.add_tab("Compare"):
            self.compare_view = CompareView(self)
        self._shadows = gui.add_checkbox("Shadows", False, hint="And reflections: for graphics cards.")
        self._shadows.on_update(lambda _: self._lit(self._shadows.value))
        self._dark = gui.add_checkbox("Dark page", dark)
        self._dark.on_update(lambda _: self._theme(self._dark.value))
        self.refresh()

    def _theme(self, dark: bool) -> None:
        gui, grid = self.server.gui, getattr(self, "_grid", None)
        gui.configure_theme(
            dark_mode=dark,
            show_logo=False,
            show_share_button=False,
            brand_color=(0, 114, 178),
            control_width="large",
        )
        if grid is not None:
            grid.colors = np.full(3, 75 if dark else 205, np.uint8)

    def _lit(self, richly: bool) -> None:
        """Shadows and reflections, or plain light."""
        self.server.scene.configure_default_lights(enabled=richly, cast_shadow=richly)
        self._sun.visible = not richly
        self.server.scene.configure_environment_map("warehouse" if richly else None)

    # ----------------------------------------------------------------------- moving

    def refresh(self, tau: Any = None) -> None:
        """Update everything on the page that depends on the state."""
        with self.lock, self.server.atomic():
            poses = self.stage.pose()
            self.robot_view.refresh(poses, tau)
            self.dynamics_view.refresh(poses)
        self.server.flush()

    def moved(self) -> None:
        """Handle a move of the robot by the user: update the figures at once, then request a picture.

        If moves come faster than pictures, the latest is drawn.
        """
        with self.lock:
            self.robot_view.show_forces()
        self.server.flush()
        self._moved.set()

    def safely(self, act: Callable[[], None], element: Any) -> None:
        """Call `act`; show any error in the `element` instead of raising it."""
        try:
            act()
        except PhalanxError as error:
            element.content = markup.note(error, is_error=True)
        except Exception as error:  # a defect of ours must not take the page down
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{last.name}, line {last.lineno}"
            element.content = markup.note(f"{type(error).__name__}: {error} ({where})", is_error=True)

    def _draw_first(self) -> None:
        """Draw the first schedules once a browser is connected: they take a second or two."""
        while not self.server.get_clients():
            if self._ending.wait(0.1):
                return
        for view in (self.parallel_view, self.compare_view):
            try:
                if not self._ending.is_set():
                    view.begin()
                    self.server.flush()
            except Exception:  # the page was closed meanwhile
                if not self._ending.is_set():
                    raise

    def _run_clock(self) -> None:
        """The animation loop: pictures at an even rate while something plays and a browser is connected."""
        period, due = 1.0 / PICTURES, time.perf_counter()
        while not self._ending.is_set():
            if self._moved.wait(max(0.0, due - time.perf_counter())):
                self._ending.wait(_APART)
                self._moved.clear()
                self.safely(self.refresh, self.dynamics_view.message)
            now = time.perf_counter()
            if now < due:
                continue
            due = max(due + period, now - period)
            if not self.server.get_clients():
                continue
            for view in (self.dynamics_view, self.parallel_view, self.compare_view):
                if view.playing:
                    self.safely(view.tick, view.message)


def _floor(width: float, cell: float, height: float) -> Any:
    """The lines (k, 2, 3) of a square grid."""
    count = max(1, round(0.5 * width / cell))
    at = cell * np.arange(-count, count + 1)
    far = np.full(len(at), count * cell)
    along = np.stack([np.stack([at, -far], -1), np.stack([at, far], -1)], 1)
    both = np.concatenate([along, along[..., ::-1]])
    return np.concatenate([both, np.full((*both.shape[:2], 1), height)], -1).astype(np.float32)
