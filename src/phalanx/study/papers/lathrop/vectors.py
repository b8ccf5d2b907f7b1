# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many matrix-vector processors Lathrop's structures take: one for each vector operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....algorithms import find
from ....algorithms.inverse.lathrop import Force, RunMotion, join_forces, join_motions
from ....io.generators import chain
from ....program.bookkeeping import Bookkeeping
from ....program.graph import GeneralGraph, live
from ....program.ir import Scalar
from ....program.ops import ADD, MUL, SUB
from ....program.quantities import announcing
from ....program.task import TraceTask
from ....program.trace import trace
from ....spatial import Field, cross, matvec, transpose
from ....sweeps.orders.joining import levels, runs
from ..quantities import fitted, quantity
from ..verdicts import Claim

Operations = dict[str, Counter[str]]  # by quantity and kind

_OUTWARD = ("w", "wJd", "wd", "c", "pdd", "rdd", "F", "N")
_LOCAL = ("rdd", "F", "N")
_LINKS = 5


@quantity
def processors_linear(direction: str, joints: int) -> tuple[int, int, int]:
    """vector operations that one link more adds to luh_walker_paul, and those times the joints"""
    node = linear_node()
    inside = [kinds for name, kinds in node.items() if (name in _OUTWARD) == (direction == "outward")]
    one = _total(inside)
    return one, one, one * joints


@quantity
def processors_logarithmic(direction: str, joints: int) -> tuple[int, int, int, int]:
    """vector operations of lathrop's joins and leaves, times the nodes of a tier and of the tree"""
    if direction == "outward":
        one = _total(_join(RunMotion, join_motions).values()) + _total(local_node().values())
    else:
        one = _total(_join(Force, bracketed).values()) + _total([inward_leaf()])
    tier, nodes = widest_level(joints), joins_of_scan(joints) + joints
    return one, one * tier, one * tier, one * nodes


@quantity
def joins_of_scan(leaves: int) -> int:
    """joins of the library's tree scan over so many leaves"""
    return sum(map(len, levels(leaves, "tree")))


@quantity
def widest_level(leaves: int) -> int:
    """most joins on one level of the library's tree scan"""
    return max(map(len, levels(leaves, "tree")))


@quantity
def runs_of_level(joints: int, level: int) -> str:
    """runs that the library's tree scan makes on a level, base included"""
    return " ".join(f"{first}{last}" for first, last in runs(joints + 1, "tree")[level - 1])


@quantity
def levels_of_scan() -> Any:
    """levels of the library's tree scan over the joints and the base, fitted"""
    found = {n: {len(levels(n + 1, "tree", reverse=back)) for back in (False, True)} for n in range(1, 34)}
    if any(len(counts) > 1 for counts in found.values()):
        return "different in the two directions"
    return fitted({n: counts.pop() for n, counts in found.items()}, "n+1")


@quantity
def most_operands() -> int:
    """operands of the vector operations of luh_walker_paul and lathrop"""
    texts = [inverse_dynamics(name, _LINKS) for name in ("luh_walker_paul", "lathrop")]
    return max(len(x.args) for nodes in texts for x, _ in coordinates(nodes))


@quantity
def wires_of_groups(bound: int) -> Claim:
    """operands of all vector operations of a group, a matrix product being one operation"""
    linear = linear_node()
    groups = {
        "linear outward": [linear[name] for name in _OUTWARD if name not in _LOCAL],
        "local": [linear[name] for name in _LOCAL],
        "linear inward": [linear[name] for name in ("f", "n")],
        "logarithmic outward": _join(RunMotion, join_motions).values(),
        "logarithmic inward": _join(Force, join_forces).values(),
    }
    wires = {name: _wires(parts) for name, parts in groups.items()}
    worst = max(wires, key=wires.__getitem__)
    return Claim(wires[worst] <= bound, f"{wires[worst]} at most ({worst})")


@cache
def linear_node() -> Operations:
    """What one link more adds to the linear recursion, by quantity."""
    return _difference("luh_walker_paul", ("tau", "s"))


@cache
def local_node() -> Operations:
    """What one link more adds to the quantities between the two scans."""
    return {name: kinds for name, kinds in _difference("lathrop", ()).items() if name in _LOCAL}


@cache
def inward_leaf() -> Counter[str]:
    """What forms the moment N + s x F of a single link; s = p + r is a constant."""
    nodes = inverse_dynamics("luh_walker_paul", _LINKS)
    leaf = (kind for x, kind in coordinates(nodes) if x.quantity == "n" and {"F", "N"} & _reads(x))
    return Counter({kind: c // (3 * _LINKS) for kind, c in Counter(leaf).items()})


def bracketed(left: Force, right: Force) -> Force:
    """Table 5's n_{a,b} = n_{a,k} + W (n_{k+1,b} + A' R x f_{k+1,b}), with A' R carried as U."""
    turn = left.V @ right.V
    arm = matvec(transpose(right.V), left.U) + right.U
    f = left.f + matvec(left.V, right.f)
    n = left.n + matvec(left.V, right.n + cross(left.U, right.f))
    return Force(turn, arm, f, n)


@cache
def _join(kind: Any, join: Callable[[Any, Any], Field]) -> Operations:
    graph = GeneralGraph()
    names = iter(range(1 << 30))

    def symbols(rank: int) -> np.ndarray:
        return np.reshape([graph.leaf("symbol", next(names)) for _ in range(3**rank)], (3,) * rank)

    left, right = (kind(*map(symbols, kind.ranks)) for _ in range(2))
    joined = announcing(join, graph, "join")(left, right)
    return count(live(x for array, _ in joined.arrays() for x in array.ravel()))


def _reads(x: Scalar) -> set[str]:
    """The quantities that a coordinate is made of, through the products inside it."""
    inside = [a for a in x.args if isinstance(a, Scalar)]
    inside += [b for a in inside if a.op == MUL for b in a.args if isinstance(b, Scalar)]
    return {a.quantity for a in inside}


def _difference(algorithm: str, without: Sequence[str]) -> Operations:
    long, short = (count(inverse_dynamics(algorithm, n)) for n in (_LINKS, _LINKS - 1))
    return {
        name: Counter({kind: c - short.get(name, Counter())[kind] for kind, c in kinds.items()})
        for name, kinds in long.items()
        if name not in without
    }


def _total(parts: Iterable[Counter[str]]) -> int:
    return sum(kinds.total() for kinds in parts)


def _wires(parts: Iterable[Counter[str]]) -> int:
    """Operands of all operations; the three products of a matrix product share theirs."""
    return sum(2 * (kinds.total() - 2 * (kinds["MV"] // 3)) for kinds in parts)


RATES = ("zqd", "zqdd", "rate", "rated")  # z q' and z q'': inputs, as the paper takes them
_BOOK = Bookkeeping(
    given=frozenset({"rotations", "offsets", "axes", "first_axis", "base_motion"}),
    absent=frozenset({"armature"}),
    shared=True,
)


@cache
def inverse_dynamics(algorithm: str, n: int) -> list[Scalar]:
    """The live scalars of a traced algorithm for n revolute joints on a moving base, operands first.

    Nothing is folded; rotations, constants and the motion of the base are given.
    """
    shapes = {"q": (n,), "qd": (n,), "qdd": (n,)}
    base = {"base_velocity": (6,), "base_acceleration": (6,)}
    entry = find("inverse_dynamics", algorithm)
    return trace(TraceTask(entry, chain(n).model, shapes, {"tau": (n,)}, base), "none", _BOOK).values


def coordinates(nodes: Iterable[Scalar]) -> Iterator[tuple[Scalar, str]]:
    """Each coordinate of a result with the kind of its vector operation, in the order of the program."""
    found: dict[int, tuple[Scalar, str]] = {}
    for x in nodes:
        if x.quantity in RATES or x.op not in (ADD, SUB, MUL):
            continue
        parts = [found.get(a.number, (None, ""))[1] if isinstance(a, Scalar) else "" for a in x.args]
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


def count(nodes: Iterable[Scalar]) -> dict[str, Counter[str]]:
    """Vector operations by quantity and kind."""
    counts: dict[str, Counter[str]] = {}
    for x, kind in coordinates(nodes):
        counts.setdefault(x.quantity, Counter())[kind] += 1
    return {q: Counter({kind: c // 3 for kind, c in kinds.items()}) for q, kinds in counts.items()}
