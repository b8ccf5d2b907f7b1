# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which cases of a parametrised test `make test` runs: few in which every value of every parameter occurs.

The others are marked `exhaustive` and run in `make test-all`. A case that carries the mark itself is never
chosen for its values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MARK = "exhaustive"


def representatives(cases: Sequence[Mapping[str, Any]]) -> set[int]:
    """Numbers of few cases (parameter → value) in which every value occurs; the first where several do."""
    values = [{(name, *_identity(value)) for name, value in case.items()} for case in cases]
    missing = set().union(*values) if values else set()
    chosen: set[int] = set()
    # A case gains at most what it gained before: one that gains all it can is taken at once.
    for gain in range(max(map(len, values), default=0), 0, -1):
        for k, own in enumerate(values):
            if len(own & missing) >= gain:
                chosen.add(k)
                missing -= own
    return chosen


def _identity(value: Any) -> tuple[Any, ...]:
    """What tells a value from others: itself and its type, or which object it is where it has no hash."""
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, tuple | list):
        return type(value), *map(_identity, value)
    try:
        hash(value)
    except TypeError:
        return (id(value),)
    return type(value), value


def exhaustive(items: Iterable[Any]) -> list[Any]:
    """The items that quick runs leave out for the sake of others of the same test."""
    tests: dict[Any, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker(MARK) is None:
            tests[item.parent, item.originalname].append(item)
    return [
        case
        for cases in tests.values()
        for chosen in [representatives([case.callspec.params for case in cases])]
        for k, case in enumerate(cases)
        if k not in chosen
    ]
