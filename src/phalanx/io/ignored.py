# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot file has and a robot leaves out, in one phrase for each kind and one warning for each file.

Shapes, materials, cameras and lights are not named: nearly every file has them, and dynamics need none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from phalanx.errors import listing, warn
from phalanx.robot.description import Description

MOST = 5  # names of a kind that a message lists


def counted(kind: str, several: str = "", *, count: int, note: str = "") -> list[str]:
    """The phrase of a kind with its count and a note, in a list; none where there are none."""
    if not count:
        return []
    word = kind if count == 1 else several or f"{kind}s"
    return [f"{count} {word}{f' ({note})' * bool(note)}"]


def named(kind: str, several: str = "", *, names: Collection[str]) -> list[str]:
    """The same, with the names in place of a note."""
    return counted(kind, several, count=len(names), note=listing(names, most=MOST))


def leaving_out(description: Description, phrases: Iterable[str]) -> Description:
    """The description with what it leaves out; one warning tells of that and of its loops."""
    left_out = tuple(phrases)
    loops = named("loop", names=[f"{x.name}: {x.predecessor} to {x.successor}" for x in description.loops])
    if loops or left_out:
        kept = " The loops are kept as robot.loops." if loops else ""
        warn(
            f"{description.where}: left out, for they are not part of a tree of rigid bodies: "
            f"{'; '.join((*loops, *left_out))}.{kept} Remove them from the file if they do not matter."
        )
    return replace(description, left_out=left_out) if left_out else description
