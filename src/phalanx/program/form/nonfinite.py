# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A pass: where a number of a state is NaN or infinite, no result of that state is finite.

Equations lose such numbers where they do not matter: the angle of a first joint that is parallel to gravity,
the position of a floating base, joints on other branches. So a program has one more number, its taint: +0, or
NaN if an input is not finite. It is subtracted: x - 0 is x to the last bit, for -0 as well. Results that
are the same for every state, such as zeros of a mass matrix, stay as they are.

In straight-line code it is known which inputs reach which results: few inputs taint, and few values on
the way to all results are tainted. Loops take all inputs first, and taint what they store. The pass runs
on the way to code, behind all counting: it is no part of an algorithm.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from typing import Any

from .. import ops
from .builder import Builder
from .program import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    Load,
    Program,
    Real,
    Select,
    SimdRegion,
    Store,
    Value,
    plus,
    statements,
    times,
)

_TURNS = (ops.SIN, ops.COS)
_ALL = (ops.ADD, ops.SUB, ops.MUL, ops.NEG, ops.FMA, ops.FMS, ops.FNMA, *_TURNS, ops.SQRT, ops.ABS)
# Operands by whose NaN or infinity a result is not finite; 1 / inf is zero, the lesser of inf and 1 is 1.
_REACHED_BY: dict[str, slice] = {op: slice(None) for op in _ALL} | {ops.DIV: slice(1)}
_CHAINS = 4  # taints side by side in loops: one after another, they would wait for each other


def spread(program: Program, only: Container[str] | None = None) -> Program:
    """The program with no finite result where an input is not finite, be it one of `only` these names."""
    watched = [r for r in program.inputs if only is None or r.name in only]
    if not any(r.size for r in watched) or not any(r.size for r in program.outputs):
        return program
    plain = all(isinstance(s, Load | Value | Select | Store) for s in program.body)
    return _straight(program, watched) if plain else _looped(program, watched)


# ------------------------------------------------------------------- straight-line code


def _straight(program: Program, watched: list[Buffer]) -> Program:
    """Inputs that fail to reach a result taint values that together reach all results."""
    body = program.body
    loads = {(s.region, s.index): s for s in body if isinstance(s, Load)}
    inputs = [loads.get((r, k)) or Load(r, k) for r in watched for k in range(r.size)]
    varying = _varying(body)
    results = list(dict.fromkeys(s.value for s in body if isinstance(s, Store) and s.value in varying))
    everywhere, reached = ~0, _reached(body, inputs)
    for x in results:
        everywhere &= reached.get(x, 0)
    missing = [x for k, x in enumerate(inputs) if not everywhere >> k & 1]
    if not missing or not results:
        return program
    # Behind the first sines and cosines: angles that are not finite are found there, at no cost.
    first = _first_turns(body)
    chosen = _chosen(body, first, results)
    b = Builder({}, {})
    for s in body[:first]:
        b.put(s)
    early = set(body[:first])
    angles = {s.args[0] for s in early if isinstance(s, Value) and s.op in _TURNS}
    # What is loaded later is loaded for the taint alone: it would stay alive for its other uses.
    loaded = [x if x in early else b.put(replace(x)) for x in missing]
    taints = _tainted(b, [0.0] * _CHAINS, [x for x in loaded if x not in angles])
    for x in loaded:
        taints[0] = b.value(ops.TAINT, x, taints[0]) if x in angles else taints[0]
    taint = _joined(b, taints)
    renamed: dict[Any, Real] = {s: b.value(ops.SUB, s, taint) for s in body[:first] if s in chosen}
    for s in body[first:]:
        if isinstance(s, Store):
            b.store(s.region, s.index, renamed.get(s.value, s.value))
            continue
        renamed[s] = b.put(s if isinstance(s, Load) else _renamed(s, renamed))
        if s in chosen:
            renamed[s] = b.value(ops.SUB, renamed[s], taint)
    return replace(program, body=b.finished().body)


def _renamed(s: Value | Select, names: dict[Any, Real]) -> Value | Select:
    if isinstance(s, Value):
        return replace(s, args=tuple(names.get(a, a) for a in s.args))
    return replace(s, a=names.get(s.a, s.a), b=names.get(s.b, s.b))


def _first_turns(body: tuple[Any, ...]) -> int:
    """The number of statements up to the end of the first sines and cosines, or all loads."""
    turns = {k: s for k, s in enumerate(body) if isinstance(s, Value) and s.op in _TURNS}
    end = next((k for k in turns if k + 1 not in turns), -1) + 1
    return end or next((k for k, s in enumerate(body) if not isinstance(s, Load)), 0)


def _varying(body: tuple[Any, ...]) -> set[Any]:
    """Values that differ from state to state."""
    found: set[Any] = set()
    for s in body:
        used = s.args if isinstance(s, Value) else (s.a, s.b) if isinstance(s, Select) else ()
        if (isinstance(s, Load) and s.region.kind == "input") or any(a in found for a in used):
            found.add(s)
    return found


def _reached(body: tuple[Any, ...], inputs: list[Load]) -> dict[Any, int]:
    """Which inputs make each value not finite: a bit for each."""
    masks: dict[Any, int] = {x: 1 << k for k, x in enumerate(inputs)}
    for s in body:
        if isinstance(s, Select) or (isinstance(s, Value) and s.op == ops.SELECT):
            either = (s.a, s.b) if isinstance(s, Select) else s.args[1:]
            masks[s] = masks.get(either[0], 0) & masks.get(either[1], 0)
        elif isinstance(s, Value):
            found = 0
            for a in _passing(s):
                found |= masks.get(a, 0)
            masks[s] = found
    return masks


def _passing(s: Any) -> tuple[Any, ...]:
    """Operands of which each alone can make a result not finite."""
    return s.args[_REACHED_BY[s.op]] if isinstance(s, Value) and s.op in _REACHED_BY else ()


def _chosen(body: tuple[Any, ...], first: int, results: list[Any]) -> set[Any]:
    """Few values that together reach all results: inputs and values behind the first sines, early ones."""
    reach = {x: 1 << k for k, x in enumerate(results)}
    for s in reversed(body[first:]):
        for a in _passing(s) if s in reach else ():
            if not isinstance(a, float):
                reach[a] = reach.get(a, 0) | reach[s]
    # The last inputs are those that are needed last.
    early = [s for s in reversed(body) if isinstance(s, Load)] + [s for s in body if not isinstance(s, Load)]
    candidates = [s for s in early if s in reach]
    # Counts only fall while results are reached, so that a number on the heap is a bound.
    heap = [(-reach[s].bit_count(), k) for k, s in enumerate(candidates)]
    heapify(heap)
    left, chosen = (1 << len(results)) - 1, set()
    while left:
        bound, k = heap[0]
        here = -(reach[candidates[k]] & left).bit_count()
        if here > bound:
            heapreplace(heap, (here, k))
        else:
            chosen.add(candidates[k])
            left &= ~reach[candidates[k]]
    return chosen


# ------------------------------------------------------------------- loops


def _looped(program: Program, watched: list[Buffer]) -> Program:
    """All inputs taint whatever is stored in an output."""
    b = Builder({}, {}, program.lanes)
    if not any(isinstance(s, SimdRegion) for s in statements(program.body)):
        total = _summed(b, watched)
        return replace(program, body=(*b.finished().body, *_subtracting(program.body, total)))
    kept = Buffer("taint", 1)  # parts are functions: what they share is in memory
    with b.part(1):
        total = _summed(b, watched)
        for lane in range(program.lanes):
            b.store(kept, lane, total)
    body = _in_parts(program.body, kept)
    return replace(program, body=(*b.finished().body, *body), scratch=(*program.scratch, kept))


def _summed(b: Builder, regions: list[Buffer]) -> Real:
    """The taint of all numbers of some regions."""
    taints: list[Real] = [0.0] * _CHAINS

    def add(region: Buffer, first: Index, count: int) -> None:
        taints[:] = _tainted(b, taints, [b.load(region, plus(first, k)) for k in range(count)])

    for region in regions:
        blocks, rest = divmod(region.size, b.together)
        if blocks:
            with b.loop(blocks) as loop:
                carried = [loop.carry(x) for x in taints]
                taints[:] = carried
                add(region, times(loop.index, b.together), b.together)
                for each, x in zip(carried, taints, strict=True):
                    loop.feed(each, x)
            taints[:] = carried
        add(region, region.size - rest, rest)
    return _joined(b, taints)


def _tainted(b: Builder, taints: list[Real], numbers: Sequence[Real]) -> list[Real]:
    """Some taints, each with a share of some numbers."""
    made = list(taints)
    for k, x in enumerate(numbers):
        made[k % _CHAINS] = b.value(ops.TAINT, x, made[k % _CHAINS])
    return made


def _joined(b: Builder, taints: list[Real]) -> Real:
    total = taints[0]
    for other in taints[1:]:
        total = total if isinstance(other, float) else b.add(total, other)
    return total


def _in_parts(body: tuple[Any, ...], kept: Buffer) -> tuple[Any, ...]:
    """Statements of which every function reads the taint by itself."""
    made: list[Any] = []
    for s in body:
        if isinstance(s, For | If | Attributed) and any(
            isinstance(x, SimdRegion) for x in statements(s.body)
        ):
            made.append(replace(s, body=_in_parts(s.body, kept)))
        elif _writes_output((s,)):
            load = Load(kept, 0)
            if isinstance(s, SimdRegion):
                made.append(replace(s, body=(load, *_subtracting(s.body, load))))
            else:
                made += [load, *_subtracting((s,), load)]
        else:
            made.append(s)
    return tuple(made)


def _subtracting(body: tuple[Any, ...], total: Real) -> tuple[Any, ...]:
    """Statements that store in outputs what they did, less the taint; neighbouring stores stay neighbours."""
    made: list[Any] = []
    stores: list[Store] = []
    for s in (*body, None):
        if isinstance(s, Store) and s.region.kind == "output" and not isinstance(s.value, float):
            value = Value(ops.SUB, (s.value, total))
            made.append(value)
            stores.append(replace(s, value=value))
            continue
        made += stores
        stores = []
        if isinstance(s, For | If | Attributed) and _writes_output((s,)):
            made.append(replace(s, body=_subtracting(s.body, total)))
        elif s is not None:
            made.append(s)
    return tuple(made)


def _writes_output(body: tuple[Any, ...]) -> bool:
    return any(isinstance(s, Store) and s.region.kind == "output" for s in statements(body))
