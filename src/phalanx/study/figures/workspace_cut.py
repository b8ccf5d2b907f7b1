# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A cut through a workspace, coloured by manipulability."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import PhalanxError, shown
from ...inverse_kinematics.reach import Reachability
from ...typing import Path
from ..plotting import GREY, PALE, new_figure, saved, styled

_WHERE = "figures.reachability"


def reachability(found: Reachability, path: Path | None = None, *, title: str | None = None) -> Any:
    """A cut through the workspace as `robot.reachable` found it: reached points coloured by manipulability.

    The points must be a plane (a, b, 3) along two axes, as of `robot.reachable(frame, (x, 0.0, z))`.
    """
    if not isinstance(found, Reachability):
        raise PhalanxError(f"{_WHERE}: got {shown(found)}, expected what robot.reachable returns.")
    points = np.asarray(found.points)
    if points.ndim != 3 or min(points.shape[:2]) < 2:
        raise PhalanxError(
            f"{_WHERE}: the points have shape {points.shape}, expected a plane (a, b, 3); pass "
            "robot.reachable two axes and a number, as in (x, 0.0, z)."
        )
    # The axis of the base along which each axis of the plane runs.
    ways = [np.abs(points[-1, 0] - points[0, 0]), np.abs(points[0, -1] - points[0, 0])]
    across, up = (int(np.argmax(way)) for way in ways)
    if across == up:
        raise PhalanxError(
            f"{_WHERE}: both axes of the points run along {'xyz'[across]}; expected two axes of the base."
        )
    third = 3 - across - up
    value = np.ma.masked_where(~np.asarray(found.reached), np.asarray(found.manipulability))
    with styled():
        figure, axes = new_figure(5.2, 4.2)
        axes.grid(visible=False)
        axes.set_facecolor(PALE)
        drawn = axes.pcolormesh(
            points[..., across], points[..., up], value, shading="nearest", cmap="viridis", vmin=0.0
        )
        drawn.set_rasterized(True)
        axes.plot(0.0, 0.0, marker="+", color=GREY, markersize=8, clip_on=True)
        axes.set_xlim(points[..., across].min(), points[..., across].max())
        axes.set_ylim(points[..., up].min(), points[..., up].max())
        axes.set_aspect("equal")
        axes.set_xlabel(f"{'xyz'[across]} [m]")
        axes.set_ylabel(f"{'xyz'[up]} [m]")
        figure.colorbar(drawn, ax=axes, label="manipulability")
        place = points[..., third]
        share = f"{np.asarray(found.reached).mean():.0%} of the points reached"
        at = f", {'xyz'[third]} = {place.flat[0]:.3g} m" if np.ptp(place) < 1e-9 else ""
        axes.set_title(f"{title or 'Workspace'}{at}: {share}")
    return saved(figure, path)
