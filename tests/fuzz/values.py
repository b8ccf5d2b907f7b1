# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arguments of all kinds, most of them wrong: numbers, texts, arrays of any type, shape and layout."""

from __future__ import annotations

import array
import io
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from random import Random
from typing import Any

import numpy as np

from .elements import WORDS

DTYPES = (
    *(
        "f8",
        "f8",
        "f8",
        "f4",
        "f2",
        "g",
        ">f8",
        "i8",
        "i4",
        "u1",
        "?",
        "c16",
        "O",
        "U3",
        "S3",
        "M8[s]",
        "m8[s]",
    ),
    *("V8", "i4,f8", ">f4", "u8"),
)
# Nothing between what any machine does at once and what none does.
WHOLE = (-1, 0, 1, 2, 3, 5, 7, -(2**63), 2**62, 2**63, 2**64, 10**18, 10**30, 10**400, -(10**5000))
REAL = (
    0.0,
    -0.0,
    0.5,
    1.0,
    -1.0,
    1e-320,
    1e-160,
    1e20,
    1e155,
    1e300,
    -1.7e308,
    math.nan,
    math.inf,
    -math.inf,
)


class Unreadable:
    """An object that is an array of nothing."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("no array here")


def anything(rng: Random) -> Any:
    """A value of any kind."""
    return rng.choice(_KINDS)(rng)


def numbers(rng: Random, shape: tuple[int, ...], dtype: Any = None) -> np.ndarray:
    """An array of some type and layout, its numbers mostly plain."""
    kind = np.dtype(rng.choice(DTYPES) if dtype is None else dtype)
    size = math.prod(shape)
    plain = np.array([rng.uniform(-2.0, 2.0) for _ in range(size)]).reshape(shape)
    if rng.random() < 0.15 and size:
        plain.reshape(-1)[rng.randrange(size)] = rng.choice(REAL)
    with np.errstate(all="ignore"):
        made = np.zeros(shape, kind) if kind.kind in "VSUM" else plain.astype(kind)
    return laid_out(made, rng)


def laid_out(made: np.ndarray, rng: Random) -> np.ndarray:
    """The same entries in another layout: reversed, strided, transposed, unaligned, read-only, masked, …"""
    match rng.randrange(16):
        case 0:
            return made[::-1] if made.ndim else made
        case 1:
            wide = np.zeros((*made.shape[:-1], 2 * made.shape[-1]), made.dtype) if made.ndim else made
            return wide[..., ::2] if made.ndim else made
        case 2:
            return np.asfortranarray(made)
        case 3 if made.dtype.kind in "fiub":
            place = np.zeros(made.nbytes + 1, np.uint8)[1:].view(made.dtype).reshape(made.shape)
            place[...] = made
            return place
        case 4:
            fixed = made.copy()
            fixed.setflags(write=False)
            return fixed
        case 5 if made.ndim:
            return np.broadcast_to(made[:1], made.shape) if made.shape[0] else made
        case 6 if made.dtype.kind in "fiub":
            return np.ma.masked_array(made, mask=rng.random() < 0.5)
        case 7 if made.dtype.kind in "fiub" and made.ndim == 2:
            return np.asmatrix(made)
        case 8 if made.dtype.kind in "fi":
            return made.view(np.recarray)
        case _:
            return made


def shape(rng: Random) -> tuple[int, ...]:
    """Any small shape, or one with very many axes."""
    if rng.random() < 0.05:
        return (1,) * rng.choice((31, 32, 33, 64))
    return tuple(rng.choice((0, 1, 2, 3, 6, 7)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))))


def nested(rng: Random, depth: int = 3) -> Any:
    """Lists in lists, perhaps of unequal lengths."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice((*REAL[:6], 1, 2, "a", None, True, 10**400))
    return [nested(rng, depth - 1) for _ in range(rng.randrange(4))]


def _looped(_: Random) -> Any:
    loop: list[Any] = []
    loop.append(loop)
    return loop


_KINDS: tuple[Callable[[Random], Any], ...] = (
    lambda rng: None,
    lambda rng: rng.random() < 0.5,
    lambda rng: rng.choice(WHOLE),
    lambda rng: rng.choice(WHOLE),
    lambda rng: rng.choice(REAL),
    lambda rng: complex(1.0, rng.choice(REAL)),
    lambda rng: rng.choice(WORDS),
    lambda rng: rng.choice(WORDS).encode("utf-8", "surrogatepass"),
    lambda rng: "\ud800",
    lambda rng: "a\x00b",
    lambda rng: numbers(rng, shape(rng)),
    lambda rng: numbers(rng, shape(rng)),
    lambda rng: np.broadcast_to(np.zeros(1), (2**40, rng.choice((1, 2, 7)))),
    nested,
    nested,
    _looped,
    lambda rng: {rng.choice(WORDS): rng.choice(REAL)},
    lambda rng: {1.0, 2.0},
    lambda rng: object(),
    lambda rng: Unreadable(),
    lambda rng: iter([1.0, 2.0]),
    lambda rng: (x for x in (1.0, 2.0)),
    lambda rng: range(rng.choice((0, 2, 7))),
    lambda rng: array.array("d", [1.0, 2.0]),
    lambda rng: memoryview(b"12345678"),
    lambda rng: Decimal("1.5"),
    lambda rng: Fraction(1, 3),
    lambda rng: np.float64(1.5),
    lambda rng: np.int8(3),
    lambda rng: np.bool_(True),
    lambda rng: np.datetime64("2020-01-01"),
    lambda rng: np.ma.masked,
    lambda rng: np.array(1.0),
    lambda rng: len,
    lambda rng: int,
    lambda rng: np,
    lambda rng: Ellipsis,
    lambda rng: slice(None),
    lambda rng: io.BytesIO(b"x"),
    lambda rng: PurePath("/no/such/place"),
    lambda rng: np.random.default_rng(0),
    lambda rng: ("aba", {}),
    lambda rng: ("cfa", {"solver": rng.choice(("serial", 1, None, [1]))}),
    lambda rng: ("partition", {"segments": rng.choice(WHOLE)}),
)
