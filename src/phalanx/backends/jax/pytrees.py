# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fields and frame placements as pytrees, so that JAX can trace, batch and differentiate them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import jax

from ...robot.frames import Placement
from ...spatial import Array, Field, Identity

_known: set[type[Field]] = set()


def register(kind: type[Field]) -> None:
    """Register a class of fields as a pytree node, unless it is one already."""
    if kind not in _known:
        _known.add(kind)
        names = [f.name for f in fields(kind)]
        jax.tree_util.register_pytree_node(
            kind,
            lambda x: (tuple(getattr(x, name) for name in names), None),
            lambda _, children: kind(*children),
        )


def register_all(kind: type[Field] = Field) -> None:
    """Register all subclasses of a class of fields that exist by now as pytree nodes."""
    for child in kind.__subclasses__():
        register(child)
        register_all(child)


jax.tree_util.register_pytree_node(
    Placement, lambda p: ((p.at, p.world, p.moves, p.X.E, p.X.r), None), lambda _, a: Placement.of(*a)
)
jax.tree_util.register_pytree_node(Identity, lambda x: ((), None), lambda *_: Identity())


def each(field: Any, change: Callable[[Array, int], Array]) -> Any:
    """Map `change(array, component axes)` over every array of a field, a tuple of fields, or None."""
    if isinstance(field, Field):
        return field.map(change)
    if isinstance(field, tuple):
        return tuple(each(f, change) for f in field)
    return field if field is None or isinstance(field, Identity) else change(field, 1)


def merge(a: Any, b: Any, join: Callable[[Array, Array, int], Array]) -> Any:
    """Map `join(x, y, component axes)` over the arrays x and y of two fields of the same type."""
    if isinstance(a, Field):
        return a.zip(b, join)
    if isinstance(a, tuple):
        return tuple(merge(x, y, join) for x, y in zip(a, b, strict=True))
    return join(a, b, 1)
