# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The view "Dynamics": forces, accelerations and energies live, simulations, and a push on a link."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PhalanxError
from . import markup
from .running import DROP, HOLD, LAW, LiveSimulation
from .session import Slider, groups
from .stage import NEGATIVE, label_text, linear

if TYPE_CHECKING:
    from .page import Page

_PLOTS = 0.2  # seconds between two plots
_START = "Start a simulation to see energies and coordinates over time, and the joint forces of a law."
_MOTIONS = {"Drop it": DROP, "Hold the pose": HOLD, "Law of the file": LAW}


class DynamicsView:
    """The tab "Dynamics": controls of the simulation and the push, live figures and plots."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.playing = False
        self.run: LiveSimulation | None = None
        self._drawn = 0.0
        gui, session = page.server.gui, page.session
        self.message = gui.add_html("")
        motions = [name for name, kind in _MOTIONS.items() if kind != LAW or page.control]
        self._motion = gui.add_dropdown(
            "Simulation", motions, initial_value=motions[-1] if page.control else motions[0]
        )
        self._play = gui.add_button_group("Time", ("Start", "Pause", "Reset"))
        self._play.on_click(self._pressed)
        self._shown = groups(session.robot.nv)
        self._group: Any = None
        if len(self._shown) > 1:
            self._group = gui.add_dropdown("Show", list(self._shown))
            self._group.on_update(lambda _: page.refresh())
        self._live = gui.add_html("")
        with gui.add_folder("Over time", expand_by_default=True):
            self._plots = gui.add_html(markup.note(_START))
        with gui.add_folder("Push a link", expand_by_default=False):
            names = [label_text(name) for name in session.frame_names]
            self._frames = dict(zip(names, session.frame_names, strict=True))
            self._frame = gui.add_dropdown("Frame", names, initial_value=names[-1])
            self._on = gui.add_checkbox(
                "Handle in the 3D view", False, hint="Drag it: the force is its distance."
            )
            most = max(round(2.0 * session.robot.total_mass * 9.81), 10)
            self._force = gui.add_vector3("Force [N]", (0.0, 0.0, 0.0), step=most / 100.0)
            gui.add_button("No force").on_click(lambda _: self._push(np.zeros(3)))
        self._frame.on_update(lambda _: self._push(page.session.push))
        self._on.on_update(lambda _: self._push(page.session.push))
        self._force.on_update(
            lambda e: self._push(np.array(self._force.value)) if e.client is not None else None
        )
        self._per_metre = float(most) / page.session.size
        self._handle: Any = None
        self._arrow: Any = None

    # --------------------------------------------------------------------- simulations

    def _pressed(self, event: Any) -> None:
        word = event.target.value
        if word == "Pause":
            self.playing = False
            return
        if word == "Reset":
            with self.page.lock:
                self.halt()
                self.page.session.reset()
            self._plots.content = markup.note(_START)
            self.page.robot_view.follow()
            self.page.refresh()
            return
        self.message.content = markup.note("Compiling the simulation …")
        self.page.server.flush()
        self.page.safely(self._start, self.message)

    def _start(self) -> None:
        session, kind = self.page.session, _MOTIONS[self._motion.value]
        if self.run is None or self.run.kind != kind or kind == LAW:
            run = LiveSimulation(session.robot, session.q, session.qd, kind, self.page.control)
            with self.page.lock:
                self.run = run
        self.message.content = ""
        self.playing = True

    def halt(self) -> None:
        """End the simulation, because the user has moved the robot."""
        self.playing = False
        self.run = None

    def tick(self) -> None:
        """Advance the simulation by one picture (frame of the animation)."""
        page = self.page
        with page.lock:
            run = self.run
            if run is None:
                return
            try:
                run.advance(1.0 / 30.0, page.session.pushed())
            except PhalanxError:
                self.halt()
                raise
            page.session.q, page.session.qd = run.q, run.qd
            now = time.perf_counter()
            plots = now - self._drawn > _PLOTS
            with page.server.atomic():
                poses = page.stage.pose()
                self.refresh(poses)
                if plots:
                    self._drawn = now
                    page.robot_view.follow()
                    page.robot_view.refresh(poses)
                    self._draw(run)
        page.server.flush()

    def _draw(self, run: LiveSimulation) -> None:
        """Plot energies, coordinates and forces of a law: all joints of the group, a plot for each unit."""
        past, session, part = run.history(), self.page.session, self._part()
        rates = range(session.robot.nv)[part]
        energies = {
            "kinetic": past["kinetic"],
            "potential": past["potential"],
            "sum": [a + b for a, b in zip(past["kinetic"], past["potential"], strict=True)],
        }
        plots = [("energies", "energy [J]", energies)]
        if run.kind != DROP:
            for unit in dict.fromkeys(session.units[k] for k in rates):
                lines = {
                    label_text(session.rate_names[k]): past["tau"][:, k].tolist()
                    for k in rates
                    if session.units[k] == unit
                }
                plots.append((f"forces in {unit}", f"joint force [{unit}]", lines))
        sliders = self._sliders(rates)
        for unit in dict.fromkeys(s.unit for s in sliders):
            lines = {label_text(s.label): [s.of(q) for q in past["q"]] for s in sliders if s.unit == unit}
            plots.append((f"coordinates in {unit}", f"coordinate [{unit}]", lines))
        self._plots.content = "".join(
            markup.curves(past["time"], lines, name=name, x_label="time [s]", y_label=label)
            for name, label, lines in plots
        )

    def _part(self) -> slice:
        """The slice of joints of the selected group."""
        return self._shown[self._group.value] if self._group is not None else slice(None)

    def _sliders(self, rates: range) -> list[Slider]:
        """The coordinates of the group: as many sliders as there are degrees of freedom, in their order."""
        return self.page.session.sliders[rates.start : rates.stop]

    # --------------------------------------------------------------------------- live

    def refresh(self, poses: Any) -> None:
        """Update the figures to the current state."""
        session, run = self.page.session, self.run
        kinetic, potential = session.energies()
        tau = np.zeros(session.robot.nv) if run is None else run.tau
        qdd = session.accelerations() if run is None else run.qdd
        what = "let go" if run is None else f"t = {run.seconds:.2f} s"
        rows = []
        for k in range(session.robot.nv)[self._part()]:
            unit = session.units[k]
            length = "m" if unit == "N" else "rad"
            rows.append(
                (
                    label_text(session.rate_names[k]),
                    markup.figure(tau[k], unit),
                    markup.figure(session.qd[k], f"{length}/s", 3),
                    markup.figure(qdd[k], f"{length}/s²"),
                )
            )
        energies = [
            ("kinetic energy", f"{kinetic:.4g} J"),
            ("potential energy", f"{potential:.4g} J"),
            ("sum", f"{kinetic + potential:.6g} J"),
        ]
        self._live.content = markup.table(("energy", what), energies, name="energy") + markup.table(
            ("joint", "force", "rate", "acceleration"), rows, name="live"
        )
        self._place_arrow()

    # --------------------------------------------------------------------------- push

    def _push(self, force: Any) -> None:
        page, session = self.page, self.page.session
        with page.lock:
            session.push_frame, session.push = self._frames[self._frame.value], np.asarray(force, dtype=float)
            self._force.value = tuple(float(x) for x in session.push)
            if self._on.value and self._handle is None:
                self._handle = page.server.scene.add_transform_controls(
                    "/push", scale=0.18 * session.size, disable_rotations=True, depth_test=False
                )
                self._handle.on_update(self._dragged)
            if self._handle is not None:
                self._handle.visible = self._on.value
                self._place_handle()
        page.refresh()

    def _dragged(self, event: Any) -> None:
        if event.client is None:
            return
        session = self.page.session
        with self.page.lock:
            origin = session.frame_pose(session.push_frame)[:3, 3]
            session.push = (np.asarray(self._handle.position) - origin) * self._per_metre
            self._force.value = tuple(round(float(x), 2) for x in session.push)
        self.page.refresh()

    def _place_handle(self) -> None:
        session = self.page.session
        origin = session.frame_pose(session.push_frame)[:3, 3]
        self._handle.position = origin + session.push / self._per_metre

    def _place_arrow(self) -> None:
        session = self.page.session
        if not session.push.any():
            if self._arrow is not None:
                self._arrow.visible = False
            return
        origin = session.frame_pose(session.push_frame)[:3, 3]
        points = np.array([[origin, origin + session.push / self._per_metre]], np.float32)
        if self._arrow is None:
            thick = 0.01 * session.size
            self._arrow = self.page.server.scene.add_arrows(
                "/force",
                points,
                linear(NEGATIVE),
                shaft_radius=thick,
                head_radius=2.4 * thick,
                head_length=5 * thick,
            )
        self._arrow.points = points
        self._arrow.visible = True
