# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The vector operations of an algorithm, read off its traced program.

Lathrop counts and times four kinds: sums (VA), products with numbers (SV), cross products (VC) and
matrix-vector products (MV), of which a matrix product is three. Each coordinate of a result is
recognised by the shape of its scalar expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from ....algorithms import find
from ....io.generators import chain
from ....program.bookkeeping import Bookkeeping
from ....program.ops import ADD, MUL, SUB
from ....program.scalar import Node
from ....program.task import TraceTask
from ....program.trace import trace

RATES = ("zqd", "zqdd", "rate", "rated")  # z q' and z q'': inputs, as the paper takes them
_BOOK = Bookkeeping(
    given=frozenset({"rotations", "offsets", "axes", "first_axis", "base_motion"}),
    absent=frozenset({"armature"}),
    shared=True,
)


@cache
def inverse_dynamics(algorithm: str, n: int) -> list[Node]:
    """The live scalars of an algorithm's text for n turning joints on a moving base, operands first.

    Nothing is folded; rotations, constants and the motion of the base are given.
    """
    shapes = {"q": (n,), "qd": (n,), "qdd": (n,)}
    base = {"base_velocity": (6,), "base_acceleration": (6,)}
    entry = find("inverse_dynamics", algorithm)
    return trace(TraceTask(entry, chain(n).model, shapes, {"tau": (n,)}, base), "none", _BOOK).nodes


def coordinates(nodes: Iterable[Node]) -> Iterator[tuple[Node, str]]:
    """Each coordinate of a result with the kind of its vector operation, in the order of the program."""
    found: dict[int, tuple[Node, str]] = {}
    for x in nodes:
        if x.quantity in RATES or x.op not in (ADD, SUB, MUL):
            continue
        parts = [found.get(a.number, (None, ""))[1] if isinstance(a, Node) else "" for a in x.args]
        kind = "SV" if x.op == MUL else "VA"
        if x.op == SUB and parts == ["SV", "SV"]:
            kind = "VC"
        elif x.op == ADD and parts == ["SV", "SV"]:
            kind = "half"  # of a row of a matrix-vector product, or a dot product
        elif x.op == ADD and sorted(parts) == ["SV", "half"]:
            kind = "MV"
        if kind in ("VC", "MV", "half"):
            for a in x.args:
                del found[a.number]
        found[x.number] = x, kind
    yield from ((x, "VA" if kind == "half" else kind) for x, kind in found.values())


def count(nodes: Iterable[Node]) -> dict[str, Counter[str]]:
    """Vector operations by quantity and kind."""
    counts: dict[str, Counter[str]] = {}
    for x, kind in coordinates(nodes):
        counts.setdefault(x.quantity, Counter())[kind] += 1
    return {q: Counter({kind: c // 3 for kind, c in kinds.items()}) for q, kinds in counts.items()}
