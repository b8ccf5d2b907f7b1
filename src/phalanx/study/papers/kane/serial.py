# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the operations of VCR-B go: the variant written out scalar by scalar, in the ways it can be charged.

The slides print a total and no list. Three choices change what a link takes: whether the zero of U is used,
whether composite masses are known beforehand, and how the second moment is shifted to the next joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....program.graph import Graph
from ....spatial import cross, dot, matvec, pack, shift, symmetric_product, unpack
from ...scheduling.tasks import operations_of
from ..operations import SIZES, Pair, cost_at
from ..printed_formulas import PrintedFormula, formula, parse
from ..quantities import fitted, quantity, whole
from ..verdicts import Claim


@dataclass(frozen=True)
class Charged:
    """How VCR-B is written out; by default as the library's `composite_variant` does it."""

    zero_used: bool = False  # U has a zero, of which products and sums need not be formed
    masses_known: bool = False  # composite masses are constants
    by_terms: bool = False  # M P^ P^, P^ H^ and H^ P^ apart, not (H + M P / 2) with P at once
    in_full: bool = False  # all of K U^T is formed, of which U K U^T needs eight entries if the zero is used


AS_PRINTED = Charged(zero_used=True, masses_known=True, by_terms=True, in_full=True)


@dataclass(frozen=True)
class LinkConstants:
    """What VCR-B is given of a chain of turning joints: (n, …) arrays, link i in its frame on axis i."""

    first: Any  # (3, 3) rotation from the frame of link 1 to the base frame
    cos_sin: Any  # (n, 2) of the joints' angles
    twist: Any  # (n, 2) cosine and sine of the twist before each joint
    p: Any  # (n, 3) from the origin before to the own one, in the frame before
    m: Any  # (n,)
    h: Any  # (n, 3)
    k: Any  # (n, 6)
    total: Any  # (n,) composite masses


class Composite(NamedTuple):
    """Mass, first and packed second moment of the links from one on, in its frame."""

    m: Any
    h: Any
    k: Any


def mass_matrix(links: LinkConstants, how: Charged, zero: Any = 0.0) -> tuple[np.ndarray, list[Any]]:
    """The mass matrix (n, n) of VCR-B, without rotors; and scalars that are charged, but not needed for it.

    `zero` replaces the zero entry of U, so that operations with it are counted, too.
    """
    n = len(links.m)
    turns = [_rotation(links.cos_sin[i], links.twist[i], 0.0 if how.zero_used else zero) for i in range(n)]
    beyond = Composite(links.m[-1], links.h[-1], links.k[-1])
    composites, formed = [beyond], []
    for i in range(n - 2, -1, -1):
        if how.in_full and i > 0:
            formed += (unpack(beyond.k) @ turns[i + 1].T).ravel().tolist()
        beyond = _composite(links, how, i, turns[i + 1], beyond)
        composites.insert(0, beyond)
    matrix = np.zeros((n, n), dtype=object)
    rotation = links.first
    axes, arms = [rotation[:, 2]], []
    for i, body in enumerate(composites):
        matrix[i, i] = body.k[5]
        if i == 0:
            continue
        arms.append(matvec(rotation, links.p[i]))
        rotation = rotation @ turns[i]
        axes.append(rotation[:, 2])
        moment = matvec(rotation, body.k[[2, 4, 5]])  # K Z
        force = matvec(rotation[:, :2], np.array([-body.h[1], body.h[0]]))  # Z x H
        for j in range(i - 1, -1, -1):
            moment = moment + cross(arms[j], force)
            matrix[i, j] = matrix[j, i] = dot(axes[j], moment)
    return matrix, formed


def _rotation(cos_sin: Any, twist: Any, zero: Any) -> np.ndarray:
    (ct, st), (ca, sa) = cos_sin, twist
    return np.array([[ct, -st, zero], [st * ca, ct * ca, -sa], [st * sa, ct * sa, ca]])


def _composite(links: LinkConstants, how: Charged, i: int, turn: Any, beyond: Composite) -> Composite:
    """The composite body of the links from i on, from that of the links beyond."""
    p, h = links.p[i + 1], matvec(turn, beyond.h)
    carried = symmetric_product(turn.T, unpack(beyond.k) @ turn.T)
    weight = p * beyond.m
    if how.by_terms:
        products = p[:, None] * h  # P^ H^, of which H^ P^ is the transpose
        square, both = -pack(weight[:, None] * p), -pack(products + products.T)
        square[_DIAGONAL] = _others(-square[_DIAGONAL])
        both[_DIAGONAL] = _others(products.diagonal()) * 2.0
        k = links.k[i] + carried + square + both
    else:
        k = links.k[i] + (carried + shift(p, h + weight * 0.5))
    return Composite(
        links.total[i] if how.masses_known else links.m[i] + beyond.m, links.h[i] + (h + weight), k
    )


_DIAGONAL = [0, 3, 5]  # of packed matrices


def _others(diagonal: Any) -> np.ndarray:
    """The sum of the two other entries, for each of three."""
    x, y, z = diagonal
    return np.array([y + z, x + z, x + y])


# ------------------------------------------------------------------- counted


def symbolic(n: int) -> tuple[LinkConstants, Any]:
    """A chain of which nothing is known, and what stands for the zero of U."""
    graph = Graph()

    def symbols(name: str, *shape: int) -> np.ndarray:
        return np.array([graph.input(name, k) for k in range(int(np.prod(shape)))], dtype=object).reshape(
            shape
        )

    sizes: dict[str, tuple[int, ...]] = {"first": (3, 3), "cos_sin": (n, 2), "twist": (n, 2), "p": (n, 3)}
    sizes |= {"m": (n,), "h": (n, 3), "k": (n, 6), "total": (n,)}
    return LinkConstants(**{name: symbols(name, *size) for name, size in sizes.items()}), symbols("zero", 1)[
        0
    ]


@cache
def counted(how: Charged, n: int) -> tuple[int, int]:
    """Multiplications and additions that the entries of the matrix need."""
    links, zero = symbolic(n)
    matrix, formed = mass_matrix(links, how, zero)
    found = operations_of([*matrix[np.tril_indices(n)].tolist(), *formed])
    return found.multiplications, found.additions


@quantity
def serial_work_as_charged(n: int | None = None) -> Pair:
    """operations of VCR-B written out as the slides seem to charge it, at n or as a formula"""
    return counted(AS_PRINTED, n) if n is not None else _formulas(AS_PRINTED)


@quantity
def serial_slopes_as_charged() -> Pair:
    """coefficients of n^2 and n of VCR-B written out as the slides seem to charge it"""
    made = [formula({t: part[t] for t in ("n^2", "n")}) for part in _formulas(AS_PRINTED)]
    return made[0], made[1]


@quantity
def serial_differences(printed: Sequence[str]) -> Claim:
    """coefficients of n of VCR-B written out, one choice after another, and of phalanx.cost"""
    steps = {
        "zero of U used": {"zero_used": True},
        "composite masses known": {"masses_known": True},
        "M P^ P^, P^ H^ and H^ P^ apart": {"by_terms": True},
        "all of K U' formed": {"in_full": True},
    }
    how, words = Charged(), []
    before = _slopes(how)
    own = tuple(_linear(fitted({n: _library(n)[k] for n in SIZES})) for k in (0, 1))
    for name, choice in steps.items():
        how = replace(how, **choice)
        now = _slopes(how)
        products, sums = (int(a - b) for a, b in zip(now, before, strict=True))
        words.append(f"{name} {products:+d} / {sums:+d}")
        before = now
    wanted = tuple(_linear(parse(text)) for text in printed)
    return Claim(before == wanted and own == _slopes(Charged()), "; ".join(words) + " a link")


def _library(n: int) -> tuple[int, int]:
    found = cost_at("mass_matrix", "composite_variant", n)
    return found.multiplications, found.additions


def _slopes(how: Charged) -> tuple[Any, Any]:
    products, sums = (_linear(part) for part in _formulas(how))
    return products, sums


def _linear(part: PrintedFormula | str) -> Any:
    return whole(part["n"]) if isinstance(part, PrintedFormula) else part


def _formulas(how: Charged) -> tuple[Any, Any]:
    counts = {n: counted(how, n) for n in SIZES}
    products, sums = (fitted({n: c[k] for n, c in counts.items()}) for k in (0, 1))
    return products, sums
