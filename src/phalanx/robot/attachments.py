# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Checks of what is attached to the links of a description: frames, and joints that close loops."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest
from .description import Description, LoopClosure, Pose
from .joints import joint_type


def check_attachments(description: Description) -> None:
    """Raise for frames and loops without sense: unknown links or types, names given twice, NaN."""
    where = description.where
    links = {link.name: None for link in description.links}
    taken = set(links)
    for frame in description.frames:
        what = f'frame "{frame.name}"'
        if frame.name in taken:
            other = "link" if frame.name in links else "frame"
            raise PhalanxError(
                f"{where}: {what} has the name of another {other}; expected unique names. Rename one."
            )
        taken.add(frame.name)
        _require_link(where, f"{what}: its link", frame.link, links)
        _check_numbers(where, what, frame)
    taken = set()
    for loop in description.loops:
        if loop.name in taken:
            raise PhalanxError(
                f'{where}: two loops are named "{loop.name}"; expected unique names. Rename one.'
            )
        taken.add(loop.name)
        _check_loop(where, loop, links)


def _check_loop(where: str, loop: LoopClosure, links: dict[str, None]) -> None:
    what = f'loop "{loop.name}"'
    for role in ("predecessor", "successor"):
        _require_link(where, f"{what}: {role}", getattr(loop, role), links)
    kind = joint_type(loop.type, where=where, joint=loop.name)
    _check_numbers(where, what, loop)
    if any(math.hypot(*axis) < 1e-12 for axis in (loop.axis, loop.axis2)[: kind.axes]):
        raise PhalanxError(f"{where}: {what} ({loop.type}) has the axis (0, 0, 0); expected a direction.")


def _require_link(where: str, what: str, link: str, links: dict[str, None]) -> None:
    if link not in links:
        raise PhalanxError(
            f'{where}: {what} is the unknown link "{link}";{nearest(link, links, what="links")}'
        )


def _check_numbers(where: str, what: str, item: Any) -> None:
    """Raise unless all numbers are finite and all poses are rigid."""
    for f in fields(item):
        value = getattr(item, f.name)
        if isinstance(value, str):
            continue
        numbers = np.hstack(value) if isinstance(value, Pose) else np.atleast_1d(value)
        if not np.isfinite(numbers).all():
            raise PhalanxError(f"{where}: {what} has {f.name} = {numbers.tolist()}; expected finite numbers.")
        if isinstance(value, Pose):
            rotation = np.reshape(value.rotation, (3, 3))
            if np.abs(rotation @ rotation.T - np.eye(3)).max() > 1e-6 or np.linalg.det(rotation) < 0:
                raise PhalanxError(
                    f"{where}: {what} has a {f.name} that is not rigid; "
                    "expected a right-handed orthonormal rotation."
                )
