# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Zomaya and Morris's programs for a master and three workers, as data.

Source: Zomaya, Morris, "A parallel Newton-Euler formulation for fast dynamic simulation of robot
manipulators", 1989, the parallel form (PSCSNEA). The printed program uses angular velocities and
accelerations before they have arrived. In "repaired" their exchange stands behind (5) and (6), which takes
as many messages; in "delayed" it stays at the head of a pass, and the work of a link comes one pass
later. "ahead" is not in the paper: channels are buffered, so that each worker runs through its own recursion
first and only then does what no other link waits for.

P0 is the master. P1 holds (5), (10) and (12); P2 (6), (8) and (13); P3 (7), (9) and (11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...spatial import Array, cross, dot, matvec, transpose

MASTER = "P0"
WORKERS = ("P1", "P2", "P3")
PROCESSORS = (MASTER, *WORKERS)

Value = tuple[str, int]  # a quantity of a link; the base is link 0, the environment link n + 1

# ------------------------------------------------------------------- one line of a program


@dataclass(frozen=True)
class Compute:
    """A new value of link i; inputs of the links beside it are marked `-` (i - 1) and `+` (i + 1)."""

    output: str
    equation: str
    inputs: tuple[str, ...]
    run: Callable[..., Array]


@dataclass(frozen=True)
class Send:
    """A value of link i goes to another processor."""

    content: str
    receiver: str


@dataclass(frozen=True)
class Receive:
    """A value of link i comes from another processor."""

    content: str
    sender: str


@dataclass(frozen=True)
class Par:
    """Messages that are exchanged at the same time."""

    exchanges: tuple[Send | Receive, ...]


Line = Compute | Send | Receive | Par


@dataclass(frozen=True)
class Ahead:
    """A line about link i + 1 in the pass of link i."""

    line: Compute


@dataclass(frozen=True)
class Outward:
    """Phase 1: lines for i = 0 … n from the base outward; links are 1 to n."""

    lines: tuple[Line | Ahead, ...]


@dataclass(frozen=True)
class Inward:
    """Lines for i = n … 1: phase 2."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class TransputerProgram:
    """The program of one processor: a prologue, then loops over the links."""

    first: tuple[Line, ...]
    loops: tuple[Outward | Inward, ...]

    def lines(self, n: int) -> Iterator[tuple[int, int, Line]]:
        """Phase, link and line in the order in which they run."""
        yield from ((0, 0, line) for line in self.first)
        for loop in self.loops:
            outward = isinstance(loop, Outward)
            for i in range(n + 1) if outward else range(n, 0, -1):
                for line in loop.lines:
                    link, own = (i + 1, line.line) if isinstance(line, Ahead) else (i, line)
                    if 1 <= link <= n:
                        yield (1 if outward else 2), link, own


@dataclass(frozen=True)
class Programs:
    """The programs of all processors; without buffers, who sends waits until the message is taken."""

    of: Mapping[str, TransputerProgram]
    buffered: bool = False


# ------------------------------------------------------------------- the equations

eq_5 = Compute("w", "(5)", ("A", "w-", "zqd"), lambda A, w, zqd: _back(A, w + zqd))
eq_6 = Compute(
    "wd",
    "(6)",
    ("A", "wd-", "w-", "zqd", "zqdd"),
    lambda A, wd, w, zqd, zqdd: _back(A, wd + (zqdd + cross(w, zqd))),
)
eq_7a = Compute("Avd", "(7)", ("A", "vd-"), lambda A, vd: _back(A, vd))
eq_7b = Compute(
    "vd",
    "(7)",
    ("Avd", "wd", "w", "p"),
    lambda Avd, wd, w, p: Avd + cross(wd, p) + cross(w, cross(w, p)),
)
eq_8a = Compute("c", "(8)", ("wd", "w", "s"), lambda wd, w, s: cross(wd, s) + cross(w, cross(w, s)))
eq_8b = Compute("psi", "(8)", ("c", "vd"), lambda c, vd: c + vd)
eq_9 = Compute("F", "(9)", ("m", "psi"), lambda m, psi: m * psi)
eq_10a = Compute("Jw", "(10)", ("J", "w"), lambda J, w: matvec(J, w))
eq_10b = Compute("Jwd", "(10)", ("J", "wd"), lambda J, wd: matvec(J, wd))
eq_10c = Compute("N", "(10)", ("Jwd", "w", "Jw"), lambda Jwd, w, Jw: Jwd + cross(w, Jw))
eq_11 = Compute("f", "(11)", ("A+", "f+", "F"), lambda A, f, F: matvec(A, f) + F)
eq_12a = Compute("AnN", "(12)", ("A+", "n+", "N"), lambda A, n, N: matvec(A, n) + N)
eq_12b = Compute("AnNsF", "(12)", ("AnN", "s", "F"), lambda AnN, s, F: AnN + cross(s, F))
eq_12c = Compute("n", "(12)", ("AnNsF", "p", "f"), lambda AnNsF, p, f: AnNsF + cross(p, f))
eq_13 = Compute("tau", "(13)", ("n", "Az"), lambda n, Az: np.asarray(dot(n, Az))[..., None])


def _back(A: Array, x: Array) -> Array:
    """A' x: from O_{i-1} to O_i."""
    return matvec(transpose(A), x)


# ------------------------------------------------------------------- who does what

JOINTS = "joints"  # theta, theta', theta'' of all joints

_START = (Receive(JOINTS, "P0"),)
_MASTER = TransputerProgram(
    (Par((Send(JOINTS, "P1"), Send(JOINTS, "P2"), Send(JOINTS, "P3"))),), (Inward((Receive("tau", "P2"),)),)
)
# Phase 2 is the same in all of them.
_P1_INWARD = Inward((Receive("F", "P3"), eq_12a, eq_12b, Receive("f", "P3"), eq_12c, Send("n", "P2")))
_P2_INWARD = Inward((Receive("n", "P1"), eq_13, Send("tau", "P0")))
_P3_INWARD = Inward((Send("F", "P1"), eq_11, Send("f", "P1")))
# Angular velocities and accelerations change hands.
_P1_EXCHANGE = Par((Send("w", "P2"), Send("w", "P3"), Receive("wd", "P2")))
_P2_EXCHANGE = Par((Send("wd", "P1"), Send("wd", "P3"), Receive("w", "P1")))
_P3_EXCHANGE = Par((Receive("w", "P1"), Receive("wd", "P2")))


def _programs(
    p1: tuple[Outward, ...], p2: tuple[Outward, ...], p3: tuple[Outward, ...], *, buffered: bool = False
) -> Programs:
    workers = {
        "P1": TransputerProgram(_START, (*p1, _P1_INWARD)),
        "P2": TransputerProgram(_START, (*p2, _P2_INWARD)),
        "P3": TransputerProgram(_START, (*p3, _P3_INWARD)),
    }
    return Programs({"P0": _MASTER, **workers}, buffered)


_P3_LINK = Outward(
    (eq_7a, _P3_EXCHANGE, eq_7b, Send("vd", "P2"), Receive("psi", "P2"), eq_9),
)
PROGRAMS: Mapping[str, Programs] = {
    "repaired": _programs(
        (Outward((eq_5, _P1_EXCHANGE, eq_10a, eq_10b, eq_10c)),),
        (Outward((eq_6, _P2_EXCHANGE, eq_8a, Receive("vd", "P3"), eq_8b, Send("psi", "P3"))),),
        (_P3_LINK,),
    ),
    "delayed": _programs(
        (Outward((_P1_EXCHANGE, Ahead(eq_5), eq_10a, eq_10b, eq_10c)),),
        (Outward((_P2_EXCHANGE, Ahead(eq_6), eq_8a, Receive("vd", "P3"), eq_8b, Send("psi", "P3"))),),
        (_P3_LINK,),
    ),
    "ahead": _programs(
        (
            Outward((eq_5, Send("w", "P2"), Send("w", "P3"))),
            Outward((Receive("wd", "P2"), eq_10a, eq_10b, eq_10c)),
        ),
        (
            Outward((eq_6, Send("wd", "P1"), Send("wd", "P3"), Receive("w", "P1"))),
            Outward((eq_8a, Receive("vd", "P3"), eq_8b, Send("psi", "P3"))),
        ),
        (
            Outward((eq_7a, Receive("w", "P1"), Receive("wd", "P2"), eq_7b, Send("vd", "P2"))),
            Outward((Receive("psi", "P2"), eq_9)),
        ),
        buffered=True,
    ),
}

# ------------------------------------------------------------------- unrolled for n joints


@dataclass(frozen=True)
class Message:
    """What goes from one processor to another, and how many real numbers that is."""

    sender: str
    receiver: str
    content: str
    reals: int


def computations(processor: str, n: int, program: str = "repaired") -> list[tuple[int, Compute]]:
    """The link and the line of each computation of a processor for n joints, in the order of its program."""
    return [(i, x) for _, i, x in PROGRAMS[program].of[processor].lines(n) if isinstance(x, Compute)]


def messages(n: int, program: str = "repaired") -> list[tuple[Message, int]]:
    """All messages for n joints with the links they are about, in the order in which they are sent."""
    return [
        (message(name, send, n), i)
        for name, own in PROGRAMS[program].of.items()
        for _, i, line in own.lines(n)
        for send in (line.exchanges if isinstance(line, Par) else (line,))
        if isinstance(send, Send)
    ]


def message(sender: str, send: Send, n: int) -> Message:
    """The message that a line sends."""
    reals = {JOINTS: 3 * n, "tau": 1}.get(send.content, 3)
    return Message(sender, send.receiver, send.content, reals)


def inputs_of(line: Compute, i: int) -> tuple[Value, ...]:
    """The values that a line reads for link i."""
    beside = {"-": i - 1, "+": i + 1}
    return tuple((name.rstrip("-+"), beside.get(name[-1], i)) for name in line.inputs)
