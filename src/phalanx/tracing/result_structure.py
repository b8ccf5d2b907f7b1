# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a user's function returns: an array, or arrays in dicts, dataclasses, tuples and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

from ..errors import PhalanxError, nearest, shown

RESULT = "result"  # the name of a result without one


@dataclass(frozen=True)
class Structure:
    """A tree of dicts and sequences; without `children` it is an array."""

    names: tuple[str, ...] = ()  # of the children: keys, fields or numbers
    keys: tuple[Any, ...] = ()  # as the user has them
    children: tuple[Structure, ...] | None = None
    make: Callable[[Sequence[Any]], Any] = tuple  # from the children's values to what the user gets

    @classmethod
    def of(cls, value: Any, where: str) -> Structure:
        """The structure of a value."""
        if (found := fields_of(value)) is not None:
            keys = tuple(found)
            if bad := [key for key in keys if not isinstance(key, str)]:
                raise PhalanxError(f"{where} has the key {shown(bad[0])}, expected strings as keys.")
            children = tuple(cls.of(each, where) for each in found.values())
            if isinstance(value, Mapping):
                return cls(keys, keys, children, lambda made: dict(zip(keys, made, strict=True)))
            return cls(keys, keys, children, partial(_dataclass, type(value), keys))
        if isinstance(value, (tuple, list)) and not _is_array(value):
            fields = getattr(value, "_fields", None)
            names = tuple(fields) if fields else tuple(map(str, range(len(value))))
            children = tuple(cls.of(each, where) for each in value)
            make: Callable[[Sequence[Any]], Any] = list if isinstance(value, list) else tuple
            make = type(value)._make if fields else make  # type: ignore[union-attr]
            return cls(names, tuple(range(len(value))), children, make)
        return cls()

    @property
    def is_array(self) -> bool:
        return self.children is None

    def paths(self) -> Iterator[str]:
        """The name of each array, those of its parents before it: "task.error"."""
        for name, child in zip(self.names, self.children or (), strict=True):
            below = list(child.paths())
            yield from (f"{name}.{each}" for each in below) if not child.is_array else (name,)
        if self.is_array:
            yield RESULT

    def leaves(self, value: Any, where: str, *, partly: bool = False) -> list[Any]:
        """The arrays in a value of this structure, in order; with `partly` None where it has none."""
        if self.children is None:
            return [value]
        if value is None and partly:
            return [leaf for child in self.children for leaf in child.leaves(None, where, partly=True)]
        if (found := fields_of(value)) is not None:
            if unknown := [key for key in found if key not in self.names]:
                raise PhalanxError(
                    f"{where}: got {shown(unknown[0])};{nearest(unknown[0], self.names, what='results')}"
                )
            each = [found.get(name) for name in self.names]
            missing = [name for name, x in zip(self.names, each, strict=True) if x is None]
        elif isinstance(value, (tuple, list)) and len(value) == len(self.children):
            each, missing = list(value), []
        else:
            got = f"{len(value)} arrays" if isinstance(value, (tuple, list)) else type(value).__name__
            raise PhalanxError(
                f"{where} is {got}, expected arrays for {', '.join(self.names)}, as the results are."
            )
        if missing and not partly:
            raise PhalanxError(f"{where} has none for {', '.join(missing)}; it needs one for each result.")
        rows = zip(self.names, self.children, each, strict=True)
        return [
            leaf for name, child, x in rows for leaf in child.leaves(x, f"{where}, {name}", partly=partly)
        ]

    def packed(self, arrays: Sequence[Any]) -> Any:
        """The value whose arrays these are."""
        return self._packed(iter(arrays))

    def _packed(self, arrays: Iterator[Any]) -> Any:
        if self.children is None:
            return next(arrays)
        return self.make([child._packed(arrays) for child in self.children])


def fields_of(value: Any) -> Mapping[Any, Any] | None:
    """What a dict or a dataclass holds, by key; None for anything else."""
    if isinstance(value, Mapping):
        return value
    if not is_dataclass(value) or isinstance(value, type):
        return None
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _dataclass(kind: type, names: Sequence[str], values: Sequence[Any]) -> Any:
    """A dataclass with these values, as they are: what it computes when it is made is among them."""
    made: Any = object.__new__(kind)
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)
    return made


def _is_array(value: Any) -> bool:
    """Whether a sequence is an array that is written as a list: numbers, and lists of them, alone."""
    return isinstance(value, list) and all(_is_number(x) or _is_array(x) for x in value) and bool(value)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) or (getattr(x, "ndim", None) == 0)
