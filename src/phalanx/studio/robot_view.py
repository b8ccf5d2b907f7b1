# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The view "Robot": sliders, what is drawn, and the forces of gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import markup
from .frame_handle import FrameHandle
from .session import Slider, groups
from .stage import label_text

if TYPE_CHECKING:
    from .page import Page


_ARROWS = 32  # arrows that are still distinguishable


class RobotView:
    """Sliders of all coordinates and switches of what is drawn."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.quiet = False  # while sliders follow a simulation
        gui, session = page.server.gui, page.session
        self.sliders: list[tuple[Slider, Any]] = []
        self._largest = 1e-9  # largest force seen: the full length of bars without a limit
        self._shown = groups(session.robot.nv)
        self._group: Any = None
        if len(self._shown) > 1:
            self._group = gui.add_dropdown("Forces of", list(self._shown))
            self._group.on_update(lambda _: page.refresh())
        self._torques = gui.add_html("")
        for number, (title, part) in enumerate(groups(len(session.sliders)).items()):
            with gui.add_folder(title, expand_by_default=number == 0):
                for slider in session.sliders[part]:
                    self._add_slider(slider)
        with gui.add_folder("Pose", expand_by_default=True):
            gui.add_button_group("Go to", ("Home", "Random")).on_click(self._go)
            self.handle = FrameHandle(page)
        with gui.add_folder("Show", expand_by_default=True):
            self._arrows = self._switch("Gravity torques", session.robot.nv <= _ARROWS)
            for what, label in (
                ("names", "Link names"),
                ("frames", "Frames"),
                ("centres", "Mass centres"),
                ("ellipsoids", "Inertia ellipsoids"),
            ):
                box = gui.add_checkbox(label, False)
                box.on_update(lambda event, what=what: page.stage.show(what, event.target.value))
            frames = [label_text(name) for name in session.frame_names]
            self._frames = dict(zip(frames, session.frame_names, strict=True))
            self._moves = self._switch("Manipulability", False)
            self._frame = gui.add_dropdown("of frame", list(self._frames), initial_value=frames[-1])
            self._frame.on_update(lambda _: page.refresh())
        with gui.add_folder("Link", expand_by_default=True):
            self._link = gui.add_html(markup.note("Click a link to see its name, mass and frames."))
        page.stage.on_click(self._clicked)

    def _add_slider(self, slider: Slider) -> None:
        page, session = self.page, self.page.session
        handle = page.server.gui.add_slider(
            f"{label_text(slider.label)} [{slider.unit}]",
            slider.lower,
            slider.upper,
            slider.step,
            session.value(slider),
            hint=f"{label_text(slider.label)}: {slider.lower:.4g} to {slider.upper:.4g} {slider.unit}",
        )
        self.sliders.append((slider, handle))

        def moved(event: Any) -> None:
            if self.quiet or event.client is None:
                return
            with page.lock:
                page.dynamics_view.halt()
                session.move(slider, float(handle.value))
            page.moved()

        handle.on_update(moved)

    def _switch(self, label: str, value: bool) -> Any:
        box = self.page.server.gui.add_checkbox(label, value)
        box.on_update(lambda _: self.page.refresh())
        return box

    def _go(self, event: Any) -> None:
        page = self.page
        with page.lock:
            page.dynamics_view.halt()
            if event.target.value == "Random":
                q, _, _ = page.session.robot.random_state()
                page.session.q, page.session.qd = q, np.zeros(page.session.robot.nv)
                self._keep_base()
            else:
                page.session.reset()
        self.follow()
        page.refresh()

    def _keep_base(self) -> None:
        """Reset the floating base to its neutral pose, so that the robot remains in view."""
        robot = self.page.session.robot
        if "" in robot.q_slices:
            at = robot.q_slices[""]
            self.page.session.q[at] = robot.neutral()[at]

    def follow(self) -> None:
        """Set the sliders to the state of the session."""
        self.quiet = True
        try:
            for slider, handle in self.sliders:
                value = self.page.session.value(slider)
                if abs(value - handle.value) > 0.2 * slider.step:
                    handle.value = value
        finally:
            self.quiet = False

    def show_forces(self) -> Any:
        """Show the forces of gravity as figures; these forces (nv,)."""
        session = self.page.session
        forces = session.gravity_torques()
        self._largest = max(self._largest, float(np.abs(forces).max()))
        part = self._shown[self._group.value] if self._group is not None else slice(None)
        limits = session.robot.limits.effort[part].tolist()
        rows = [
            (label_text(name), float(value), markup.figure(value, unit))
            for name, value, unit in zip(
                session.rate_names[part], forces[part], session.units[part], strict=True
            )
        ]
        self._torques.content = markup.bars(
            rows,
            name="gravity",
            unit="Joint forces that hold the robot against gravity",
            limits=limits,
            most=self._largest,
        ) + markup.note(_reach(limits))
        return forces

    def refresh(self, poses: Any, tau: Any = None) -> None:
        """Update the forces of gravity and the ellipsoids to the state."""
        stage, forces = self.page.stage, self.show_forces()
        stage.arrows(forces if self._arrows.value and tau is None else tau, poses)
        self.handle.refresh()
        stage.ellipsoid(self._frames[self._frame.value] if self._moves.value else None)

    def _clicked(self, name: str) -> None:
        robot = self.page.session.robot
        frame = robot.frames[name]
        rows: list[tuple[str, str]] = [("name", name)]
        if frame.link >= 0:
            i = frame.link
            parent = int(robot.parents[i])
            rows.append(("carried by", robot.link_names[parent] if parent >= 0 else "world"))
            rows.append(("mass", f"{robot.link_masses[i]:.4g} kg"))
            at = self.page.session.frame_pose(name)[:3, 3]
            rows.append(("origin", ", ".join(f"{x:.3f}" for x in at) + " m"))
        others = [n for n, f in robot.frames.items() if f.link == frame.link and n != name]
        if others:
            rows.append(("frames", ", ".join(others[:4]) + (" …" if len(others) > 4 else "")))
        self._link.content = markup.table(("link", ""), rows, name="link")


def _reach(limits: list[float]) -> str:
    """A sentence on the meaning of a bar's length."""
    known = sum(np.isfinite(limits))
    if known == len(limits):
        return f"Bars reach to the limits of the file; {markup.BEYOND} is beyond."
    if not known:
        return "The file has no limits: bars reach to the largest force seen."
    with_one = f"Bars reach to the limits of the file ({markup.BEYOND} is beyond)"
    return f"{with_one}, without one to the largest force seen."
