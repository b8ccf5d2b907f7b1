# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables of TOML and JSON that can be damaged: keys and values dropped, doubled, renamed and replaced."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from .elements import WORDS

VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 0.0, -0.0, 0.5, 1e-320, 1e-160, 1e8, 1e150, 1e300, -1e300, 1.7e308, math.nan, math.inf),
    *(-math.inf, 10**30, 10**400, -(10**400), True, False, None, "", "inf", "-inf", "nan", "1", [], {}, [[]]),
    *([1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1] * 6, [1] * 9, [1] * 16, [math.nan] * 3, ["a", "b", "c"]),
    *([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 2], [3]], [True] * 3, [None] * 3, {"x": 1}, [{}], [[[]]]),
    *([10**400] * 3, {"xyz": [1, 2, 3]}, {"rpy": [1e300, 0, 0]}, {"joint": "joint1"}, [0.0] * 5000),
)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All containers of a tree with each of their keys."""
    stack = [tree]
    while stack:
        box = stack.pop()
        keys = list(box) if isinstance(box, dict) else range(len(box))
        for key in keys:
            yield box, key
            if isinstance(box[key], dict | list):
                stack.append(box[key])


def damage(tree: dict[str, Any], rng: Random) -> None:
    """Apply one random change to a table."""
    places = list(_places(tree))
    if places:
        box, key = rng.choice(places)
        rng.choice(_CHANGES)(box, key, places, rng)


def _drop(box: Any, key: Any, _: list[Any], rng: Random) -> None:
    del box[key]


def _replace(box: Any, key: Any, _: list[Any], rng: Random) -> None:
    box[key] = copy.deepcopy(rng.choice((*VALUES, rng.choice(WORDS))))


def _borrow(box: Any, key: Any, places: list[Any], rng: Random) -> None:
    other, place = rng.choice(places)
    box[key] = copy.deepcopy(other[place])


def _double(box: Any, key: Any, _: list[Any], rng: Random) -> None:
    if isinstance(box, list):
        box += [copy.deepcopy(box[key]) for _ in range(rng.choice((1, 1, 40)))]
    else:
        box[rng.choice(WORDS)] = copy.deepcopy(box[key])


def _rename(box: Any, key: Any, places: list[Any], rng: Random) -> None:
    if isinstance(box, dict):
        names = [k for _, k in places if isinstance(k, str)]
        box[rng.choice([*names, "x", ""])] = box.pop(key)
    else:
        rng.shuffle(box)


def _nest(box: Any, key: Any, _: list[Any], rng: Random) -> None:
    for _ in range(rng.choice((1, 2, 40))):
        box[key] = [box[key]] if rng.random() < 0.5 else {"x": box[key]}


_CHANGES: tuple[Callable[[Any, Any, list[Any], Random], None], ...] = (
    *(_drop, _replace, _replace, _replace, _borrow, _double, _rename, _nest),
)


def as_json(tree: Any) -> str:
    """JSON text of a tree; NaN and infinities as Python writes them."""
    return json.dumps(tree, indent=1)


def as_toml(tree: dict[str, Any]) -> str:
    """TOML text of a tree; what TOML has no words for is written as text."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in tree.items())


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value!r}".replace("inf", "inf")
    if isinstance(value, int):
        return hex(value) if abs(value) > 10**4000 else str(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps("none" if value is None else value)


def damaged_text(text: str, rng: Random) -> str:
    """A text with one random change that is none of its structure."""
    at = rng.randrange(len(text) + 1)
    match rng.randrange(8):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[at + rng.randrange(1, 20) :]
        case 2:
            return text[:at] + rng.choice('{}[]",:=\n#\x00\\') + text[at:]
        case 3:
            return text[:at] + "[" * rng.choice((10, 100_000)) + text[at:]
        case 4:
            return rng.choice(("\ufeff", " ", "\n", "#\n", "<", "[x]\n", "{", "[")) + text
        case 5:
            return (
                text[:at]
                + rng.choice(("9" * 5000, "1979-05-27", "0x_", "1e999", "'''", "\\ud800"))
                + text[at:]
            )
        case 6:
            return text + text
        case _:
            return text[:at] + rng.choice(WORDS) + text[at:]
