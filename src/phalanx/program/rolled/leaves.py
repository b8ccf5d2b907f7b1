# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the scalars of one body that stands for all are made of, and where its results go.

A leaf tells where a scalar comes from: while an algorithm is recorded, from a sweep; once loops are
planned, from memory. Results of loops go where leaves come from. `whose` tells of which body it is: of the
body itself, of the one that a map leads to, or, in a loop over several, of the "row", the "column", the
"third" one, the ancestor "there" that a walk has reached, or of an operand by its number, or, where there are
no operands, of the body of that number.
"""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"  # the body itself; also the map from a body to itself
ROW, COLUMN, THIRD, THERE = "row", "column", "third", "there"
BODY, LINK = "body", "link"  # between the last body of a joint and all of its bodies
DIAGONAL = "diagonal"  # of pairs: the one on the diagonal of the same column
OWNER = "owner"  # in whose name operations count, if not in that of the body itself

OUT = "out"  # the region of the output, while it is made; of several, those that begin so
COMMONS = "commons"  # that of values per state

Whose = str | int


@dataclass(frozen=True)
class Leaf:
    """Where a scalar comes from, or goes to."""


@dataclass(frozen=True)
class Numbered(Leaf):
    """One of several leaves of a kind."""

    number: int


# ------------------------------------------------------------------- memory


@dataclass(frozen=True)
class Param(Leaf):
    """A column of the table of parameters."""

    column: int
    whose: Whose = OWN


@dataclass(frozen=True)
class State(Leaf):
    """The scalar number map[body] * width + offset of a region: of an input, or of the output."""

    name: str
    map: str
    width: int
    offset: int


@dataclass(frozen=True)
class Added(State):
    """A scalar of the output to which several bodies may add."""


@dataclass(frozen=True)
class Global(Leaf):
    """A scalar of a region that all bodies share."""

    name: str
    index: int


@dataclass(frozen=True)
class SpillSlot(Leaf):
    """What a loop keeps for a body, or for a pair of them."""

    slot: int
    whose: Whose = OWN


@dataclass(frozen=True)
class Angle(Leaf):
    """Take sine and cosine for a quantity, and keep them in slots, if they have any."""

    sine: int | None
    cosine: int | None
    quantity: str


# ------------------------------------------------------------------- sweeps


class CarriedLeaf(Numbered):
    """A value that goes from body to body."""


class Walked(Numbered):
    """A value that goes along a walk over ancestors."""


class Total(Numbered):
    """A sum over all bodies; as a result, its place among the values per state."""


class Pick(Numbered):
    """A value of one body."""


class SolutionLeaf(Numbered):
    """The solution of a linear system."""


@dataclass(frozen=True)
class Gathered(Leaf):
    """Another scalar, by its number, as another body has it."""

    node: int
    whose: Whose


# ------------------------------------------------------------------- pairs of bodies


class Delta(Leaf):
    """One for pairs on the diagonal, else zero."""


class EntryLeaf(Leaf):
    """An entry of a matrix."""


class SoFar(Leaf):
    """A sum before the next one is added."""


class Sum(Numbered):
    """A sum over the bodies from the row of a pair on."""


@dataclass(frozen=True)
class PairThird(Leaf):
    """A scalar of the pair of a third body and the one of this pair's row or column."""

    side: str
    node: int


@dataclass(frozen=True)
class StoredPair(Numbered):
    """What is kept of the pair of a third body and the one of this pair's `side`."""

    side: str = ROW


# ------------------------------------------------------------------- eliminations and segments


class InBounds(Numbered):
    """One unless the operand of that number would lie beyond the ends, where the nearest row is read."""


@dataclass(frozen=True)
class Variable(Leaf):
    """A value of a row that an elimination changes in place."""

    elimination: int
    number: int


@dataclass(frozen=True)
class EliminationResult(Leaf):
    """What a variable, by the number of its scalar, is after an elimination."""

    elimination: int
    variable: int


class Share(Numbered):
    """A scalar of the segment of a link; once planned, its slot."""


class End(Numbered):
    """A scalar at the link where a loop over a segment ends; once planned, its place."""
