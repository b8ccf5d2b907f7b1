# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A value for each of many processors, made when it is read: a machine of a billion takes no memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Many(Sequence[Value], Generic[Value]):
    """As many values as asked for, the k-th being `of(k)`; equal to any sequence of the same values."""

    def __init__(self, count: int, of: Callable[[int], Value]) -> None:
        self._places, self._of = range(count), of

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self._of(k) for k in self._places[place])
        return self._of(self._places[index(place)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Many | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), *self[:8]))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:8]))
        return f"({shown}, … {len(self) - 8:,} more)" if len(self) > 8 else f"({shown})"


def numbered(count: int) -> Many[str]:
    """The names P0, P1, … of so many processors."""
    return Many(count, "P{}".format)
