# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A handle in the 3D view that drags a frame: the robot follows by inverse kinematics, live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import markup
from .stage import label_text, quaternions

if TYPE_CHECKING:  # the page and its views know each other
    from .page import Page

_CLOSE = 1e-4  # m, of a frame that is said to be at the handle


class FrameHandle:
    """A switch, the frame that is dragged, whether it keeps its orientation, and the handle."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.grip: Any = None
        self._drawn: Any = None  # coordinates at which the handle was put
        gui, session = page.server.gui, page.session
        self.on = gui.add_checkbox("Drag a frame", False)
        frames = [label_text(name) for name in session.frame_names]
        self._frames = dict(zip(frames, session.frame_names, strict=True))
        self.frame = gui.add_dropdown("dragged frame", list(self._frames), initial_value=frames[-1])
        self.turns = gui.add_checkbox("Orientation too", session.robot.nv >= 6)
        self.message = gui.add_html("")
        for element in (self.on, self.frame, self.turns):
            element.on_update(lambda _: page.safely(self.choose, self.message))

    @property
    def name(self) -> str:
        """The frame that is dragged."""
        return self._frames[self.frame.value]

    def refresh(self) -> None:
        """Put the handle to the frame, unless it was the handle that moved the robot."""
        session = self.page.session
        if self.grip is not None and self.on.value and not np.array_equal(session.q, self._drawn):
            self._place()
            self.message.content = ""

    def choose(self) -> None:
        """Show, hide or move the handle, as the elements of the page say."""
        page, session = self.page, self.page.session
        with page.lock:
            if self.on.value and self.grip is None:
                pose = session.frame_pose(self.name)
                self.grip = page.server.scene.add_transform_controls(
                    "/dragged",
                    scale=0.22 * session.size,
                    depth_test=False,
                    position=pose[:3, 3],
                    wxyz=quaternions(pose[None, :3, :3])[0],
                )
                self.grip.on_update(lambda event: page.safely(lambda: self.drag(event), self.message))
                self.grip.on_drag_end(lambda _: page.safely(self._place, self.message))
            if self.grip is not None:
                self.grip.visible = self.on.value
                self._place()
            self.message.content = ""
        if self.on.value:
            session.reach(self.name, session.frame_pose(self.name), turns=self.turns.value)  # compiles
        page.server.flush()

    def drag(self, event: Any) -> None:
        """Move the robot to where a browser has dragged the handle."""
        if event.client is None or not self.on.value:
            return
        page, session = self.page, self.page.session
        with page.lock:
            page.dynamics_view.halt()
            wanted = np.eye(4)
            w, x, y, z = self.grip.wxyz
            wanted[:3, :3] = _rotation(float(w), float(x), float(y), float(z))
            wanted[:3, 3] = self.grip.position
            q = session.reach(self.name, wanted, turns=self.turns.value)
            if q is not None:
                session.q, session.qd = q, np.zeros(session.robot.nv)
            self._drawn = session.q
            left = float(np.linalg.norm(session.frame_pose(self.name)[:3, 3] - wanted[:3, 3]))
            self.message.content = (
                markup.note(f"{100.0 * left:.2g} cm out of reach.") if left > _CLOSE else ""
            )
            page.robot_view.follow()
        page.moved()

    def _place(self) -> None:
        session = self.page.session
        pose = session.frame_pose(self.name)
        self.grip.position, self.grip.wxyz = pose[:3, 3], quaternions(pose[None, :3, :3])[0]
        self._drawn = session.q


def _rotation(w: float, x: float, y: float, z: float) -> Any:
    """The rotation (3, 3) of a quaternion of any length."""
    size = w * w + x * x + y * y + z * z
    v = np.array([x, y, z])
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * (w * cross + np.outer(v, v) - (v @ v) * np.eye(3)) / size
