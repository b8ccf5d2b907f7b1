# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Leaves of the expression graph of a symbolic body: the sources of its operands and targets of its results.

While an algorithm is traced, a leaf is a value of a sweep; once loops are planned, an address in memory.
`whose` selects the body from which a leaf is gathered: the body itself, the one to which a map sends it, or,
in a loop over several bodies, that of the "row", of the "column", the "third" one, the ancestor "there" of
an ancestor loop, or an operand by its number; where there are no operands, a number is that of a body.
"""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"  # the body itself; also the map from a body to itself
ROW, COLUMN, THIRD, THERE = "row", "column", "third", "there"
NEXT = "next"  # of an ancestor loop over a chain: the ancestor after "there", at the end "there" itself
BODY, LINK = "body", "link"  # between the last body of a joint and all of its bodies
DIAGONAL = "diagonal"  # of pairs: the one on the diagonal of the same column
OWNER = "owner"  # the body to which operations are attributed, if not the body itself

OUT = "out"  # the buffer of the output; of several outputs, the prefix of the names of their buffers
COMMONS = "commons"  # the buffer of uniforms: values per state

Whose = str | int


@dataclass(frozen=True)
class Leaf:
    """The source of an operand, or the target of a result."""


@dataclass(frozen=True)
class Numbered(Leaf):
    """A leaf that its kind and a number identify."""

    number: int


# ------------------------------------------------------------------- memory


@dataclass(frozen=True)
class Param(Leaf):
    """A column of the table of parameters."""

    column: int
    whose: Whose = OWN


@dataclass(frozen=True)
class State(Leaf):
    """The scalar number map[body] * width + offset of a buffer: of an input, or of the output."""

    name: str
    map: str
    width: int
    offset: int


@dataclass(frozen=True)
class Added(State):
    """A scalar of the output to which several bodies may add."""


@dataclass(frozen=True)
class Global(Leaf):
    """A scalar that all bodies share: number `index` of the buffer `name`."""

    name: str
    index: int


@dataclass(frozen=True)
class SpillSlot(Leaf):
    """The spill slot where a loop stores a value of a body, or of a pair of bodies, for later loops."""

    slot: int
    whose: Whose = OWN


@dataclass(frozen=True)
class Angle(Leaf):
    """The target of an angle: its sine and cosine are stored in these slots, unless None."""

    sine: int | None
    cosine: int | None
    quantity: str


# ------------------------------------------------------------------- sweeps


class CarriedLeaf(Numbered):
    """A loop-carried value, passed from body to body."""


class Walked(Numbered):
    """A loop-carried value of an ancestor loop."""


class Total(Numbered):
    """A sum over all bodies; as a target, its index among the values per state."""


class Pick(Numbered):
    """The value of one given body, uniform for all others."""


class SolutionLeaf(Numbered):
    """The solution of a linear system."""


@dataclass(frozen=True)
class Gathered(Leaf):
    """A gather: another scalar, by its number, read from another body."""

    node: int
    whose: Whose


# ------------------------------------------------------------------- pairs of bodies


class Delta(Leaf):
    """The Kronecker delta of a pair: one on the diagonal, else zero."""


class EntryLeaf(Leaf):
    """An entry of a matrix."""


class SoFar(Leaf):
    """The accumulator of a sum, before the next term is added."""


class Sum(Numbered):
    """A sum over the bodies from the row of a pair on."""


@dataclass(frozen=True)
class PairThird(Leaf):
    """A scalar of the pair of a third body and the one of this pair's row or column."""

    side: str
    node: int


@dataclass(frozen=True)
class StoredPair(Numbered):
    """A stored value of the pair of a third body and the one of this pair's `side`."""

    side: str = ROW


# ------------------------------------------------------------------- eliminations and segments


class InBounds(Numbered):
    """1, or 0 if the operand of that number is clamped because it is beyond the ends."""


@dataclass(frozen=True)
class Variable(Leaf):
    """A value of a row that an elimination updates in place."""

    elimination: int
    number: int


@dataclass(frozen=True)
class EliminationResult(Leaf):
    """The value of a variable, by the number of its scalar, after an elimination."""

    elimination: int
    variable: int


class Share(Numbered):
    """A scalar of the segment of a link; its slot once it is planned."""


@dataclass(frozen=True)
class End(Numbered):
    """A scalar at the link where the loop of a phase ends over a segment; its address once it is planned."""

    phase: int = -1
