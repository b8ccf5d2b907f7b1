# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many matrix-vector processors Lathrop's structures take: one for each vector operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ....algorithms.inverse.lathrop import Force, RunMotion, join_forces, join_motions
from ....program.general import GeneralGraph
from ....program.ops import MUL
from ....program.quantities import announcing
from ....program.scalar import Node, live
from ....spatial import Field, cross, matvec, transpose
from ....sweeps.orders.joining import levels, runs
from ..common.forms import fitted
from ..quantities import quantity
from ..records import Claim
from .flow import coordinates, count, inverse_dynamics

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


def _reads(x: Node) -> set[str]:
    """The quantities that a coordinate is made of, through the products inside it."""
    inside = [a for a in x.args if isinstance(a, Node)]
    inside += [b for a in inside if a.op == MUL for b in a.args if isinstance(b, Node)]
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
