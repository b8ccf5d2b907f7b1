# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the scalars of one body that stands for all are made of, and where its results go.

A leaf tells where a scalar comes from: while an algorithm is recorded, from a sweep; once loops are
planned, from memory. `whose` tells of which body it is: of the body itself, of the one that a map leads
to, or, in a loop over several, of the "row", the "column", the "third" one, the ancestor "there" that a
walk has reached, or of an operand by its number, or, where there are no operands, of the body of that number.
"""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"  # the body itself; also the map from a body to itself
ROW, COLUMN, THIRD, THERE = "row", "column", "third", "there"
BODY, LINK = "body", "link"  # between the last body of a joint and all of its bodies
DIAGONAL = "diagonal"  # of pairs: the one on the diagonal of the same column
OWNER = "owner"  # in whose name operations count, if not in that of the body itself

Whose = str | int


@dataclass(frozen=True)
class Leaf:
    """Where a scalar comes from."""


@dataclass(frozen=True)
class Target:
    """Where the result of a loop goes."""


# ------------------------------------------------------------------- recorded and planned


@dataclass(frozen=True)
class Param(Leaf):
    """A column of the table of parameters."""

    column: int
    whose: Whose = OWN


@dataclass(frozen=True)
class State(Leaf, Target):
    """The scalar number map[body] * width + offset of an input, or of the output."""

    name: str
    map: str
    width: int
    offset: int


@dataclass(frozen=True)
class Global(Leaf, Target):
    """A scalar of an input, or of the output, that all bodies share."""

    name: str
    index: int


@dataclass(frozen=True)
class Told(Leaf):
    """A number that is told with a call, for all states alike: number + that of the body, or `to_all`."""

    number: int
    to_all: bool = False


@dataclass(frozen=True)
class Carry(Leaf, Target):
    """A value that goes from body to body."""

    number: int


@dataclass(frozen=True)
class Walked(Leaf, Target):
    """A value that goes along a walk over ancestors."""

    number: int


@dataclass(frozen=True)
class Delta(Leaf):
    """One for pairs on the diagonal, else zero."""


@dataclass(frozen=True)
class Inside(Leaf):
    """One unless an operand would lie beyond the ends, where the nearest row is read."""

    operand: int


@dataclass(frozen=True)
class SoFar(Leaf):
    """A sum before the next one is added."""


@dataclass(frozen=True)
class Sum(Leaf):
    """A sum over the bodies from the row of a pair on."""

    number: int


# ------------------------------------------------------------------- recorded only


@dataclass(frozen=True)
class Elsewhere(Leaf):
    """Another scalar, by its number, as another body has it."""

    node: int
    whose: Whose


@dataclass(frozen=True)
class PairThird(Leaf):
    """A scalar of the pair of a third body and the one of this pair's row or column."""

    side: str
    node: int


@dataclass(frozen=True)
class Total(Leaf, Target):
    """A sum over all bodies."""

    number: int


@dataclass(frozen=True)
class Pick(Leaf):
    """A value of one body."""

    number: int


@dataclass(frozen=True)
class Variable(Leaf):
    """A value of a row that an elimination changes in place."""

    elimination: int
    number: int


@dataclass(frozen=True)
class Result(Leaf):
    """What a variable, by the number of its scalar, is after an elimination."""

    elimination: int
    variable: int


@dataclass(frozen=True)
class Solution(Leaf):
    """The solution of a linear system."""

    number: int


@dataclass(frozen=True)
class Share(Leaf):
    """A scalar of the segment of a link; once planned, its slot."""

    number: int


@dataclass(frozen=True)
class End(Leaf, Target):
    """A scalar at the link where a loop over a segment ends; once planned, its place."""

    number: int


# ------------------------------------------------------------------- planned only


@dataclass(frozen=True)
class Slot(Leaf, Target):
    """What a loop keeps for a body, or for a pair of them."""

    slot: int
    whose: Whose = OWN


@dataclass(frozen=True)
class Common(Leaf, Target):
    """A value per state."""

    number: int


@dataclass(frozen=True)
class Turned(Leaf, Target):
    """The cosine of an angle, or its sine."""

    number: int
    sine: bool


@dataclass(frozen=True)
class KeptPair(Leaf, Target):
    """What is kept of the pair of a third body and the one of this pair's `side`."""

    number: int
    side: str = ROW


@dataclass(frozen=True)
class Angle(Target):
    """Take sine and cosine, for a quantity."""

    number: int
    quantity: str


@dataclass(frozen=True)
class Entry(Target):
    """An entry of a matrix."""
