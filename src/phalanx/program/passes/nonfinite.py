# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A pass: where a number of a state is NaN or infinite, no result of that state is finite.

Equations lose such numbers where they do not matter: the angle of a first joint that is parallel to gravity,
the position of a floating base, joints on other branches. So a program has one more number, its taint: +0, or
NaN if an input is not finite. It is subtracted: x - 0 is x to the last bit, for -0 as well. Results that
are the same for every state, such as zeros of a mass matrix, stay as they are.

In straight-line code it is known which inputs reach which results: few inputs taint, and few values on
the way to all results are tainted. Programs with loops read all inputs first, and taint what they store. The
pass runs right before code generation, after all counting: it is no part of an algorithm.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from heapq import heapify, heapreplace
from typing import Any

from .. import ops
from ..builder import Builder
from ..ir import (
    Buffer,
    Containers,
    Index,
    Load,
    ParallelFor,
    Program,
    Real,
    Select,
    SimdRegion,
    Store,
    Value,
    checked,
    int_expr,
    plus,
    renamed,
    select,
    statements,
    times,
)

_SINCOS = (ops.SIN, ops.COS)
_BLOCK = 16  # inputs that a parallel iteration visits
_CHAINS = 4  # independent taints: a single one would be a long chain of dependent operations


def spread(
    program: Program,
    only: Container[str] | None = None,
    *,
    in_parallel: bool = False,
    lockstep: bool = True,
) -> Program:
    """The program with no finite result where an input is not finite, or one of `only` these names.

    With `in_parallel`, iterations of parallel loops read the inputs, as work-groups do. Unless lanes are in
    `lockstep`, as those of registers are, one lane reads them.
    """
    watched = [r for r in program.inputs if only is None or r.name in only]
    if not any(r.size for r in watched) or not any(r.size for r in program.outputs):
        return program
    plain = all(isinstance(s, Load | Value | Select | Store) for s in program.body)
    if in_parallel and not plain:
        return checked(_grouped(program, watched))
    return checked(_straight(program, watched) if plain else _looped(program, watched, lockstep=lockstep))


# ------------------------------------------------------------------- straight-line code


def _straight(program: Program, watched: list[Buffer]) -> Program:
    """Inputs that fail to reach a result taint values that together reach all results."""
    body = program.body
    loads = {(s.buffer, s.index): s for s in body if isinstance(s, Load)}
    inputs = [loads.get((r, k)) or Load(r, k) for r in watched for k in range(r.size)]
    varying = _varying(body)
    results = list(dict.fromkeys(s.value for s in body if isinstance(s, Store) and s.value in varying))
    everywhere, reached = ~0, _reached(body, inputs)
    for x in results:
        everywhere &= reached.get(x, 0)
    missing = [x for k, x in enumerate(inputs) if not everywhere >> k & 1]
    if not missing or not results:
        return program
    # After the first sines and cosines, whose code finds angles that are not finite at no cost.
    first = _first_sincos(body)
    chosen = _chosen(body, first, results)
    b = Builder({}, {})
    for s in body[:first]:
        b.put(s)
    early = set(body[:first])
    angles = {s.args[0] for s in early if isinstance(s, Value) and s.op in _SINCOS}
    # What is loaded later is loaded again for the taint: else it would be live up to its other uses.
    loaded = [x if x in early else b.put(Load(x.buffer, x.index)) for x in missing]
    taints = _tainted(b, [0.0] * _CHAINS, [x for x in loaded if x not in angles])
    for x in loaded:
        taints[0] = b.value(ops.TAINT, x, taints[0]) if x in angles else taints[0]
    taint = _joined(b, taints)
    names: dict[Any, Real] = {s: b.value(ops.SUB, s, taint) for s in body[:first] if s in chosen}
    for s in body[first:]:
        if isinstance(s, Store):
            b.put(renamed(s, names))
            continue
        names[s] = b.put(s if isinstance(s, Load) else renamed(s, names))
        if s in chosen:
            names[s] = b.value(ops.SUB, names[s], taint)
    return replace(program, body=b.finished().body)


def _first_sincos(body: tuple[Any, ...]) -> int:
    """The number of statements up to the end of the first sines and cosines, or all loads."""
    sincos = {k: s for k, s in enumerate(body) if isinstance(s, Value) and s.op in _SINCOS}
    end = next((k for k in sincos if k + 1 not in sincos), -1) + 1
    return end or next((k for k, s in enumerate(body) if not isinstance(s, Load)), 0)


def _varying(body: tuple[Any, ...]) -> set[Any]:
    """Values that differ from state to state."""
    found: set[Any] = set()
    for s in body:
        used = s.args if isinstance(s, Value) else (s.a, s.b) if isinstance(s, Select) else ()
        if (isinstance(s, Load) and s.buffer.kind == "input") or any(a in found for a in used):
            found.add(s)
    return found


def _reached(body: tuple[Any, ...], inputs: list[Load]) -> dict[Any, int]:
    """For each value, a bit mask of the inputs that make it not finite if they are not finite."""
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
    """The operands that make a result NaN or infinite on their own."""
    return s.args[: ops.OPS[s.op].reached_by] if isinstance(s, Value) else ()


def _chosen(body: tuple[Any, ...], first: int, results: list[Any]) -> set[Any]:
    """A small set of values that together reach all results, by greedy set cover."""
    reach = {x: 1 << k for k, x in enumerate(results)}
    for s in reversed(body[first:]):
        for a in _passing(s) if s in reach else ():
            if not isinstance(a, float):
                reach[a] = reach.get(a, 0) | reach[s]
    # Later loads first: their values are needed later.
    early = [s for s in reversed(body) if isinstance(s, Load)] + [s for s in body if not isinstance(s, Load)]
    candidates = [s for s in early if s in reach]
    # Gains only fall while results are covered, so that an entry of the heap is a bound.
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


def _looped(program: Program, watched: list[Buffer], *, lockstep: bool) -> Program:
    """The program with the taint of all watched inputs subtracted from whatever it stores in an output."""
    b = Builder({}, {}, program.lanes)
    if not any(isinstance(s, SimdRegion) for s in statements(program.body)):
        total = _summed(b, [(buffer, 0, buffer.size) for buffer in watched])
        return replace(program, body=(*b.finished().body, *_subtracting(program.body, total)))
    shared, lanes = Buffer("taint", 1), program.lanes  # SIMD regions are functions: memory is shared
    whole = [(buffer, 0, buffer.size // lanes * lanes if lockstep else 0) for buffer in watched]
    taints: list[Real] = [0.0] * _CHAINS
    if lockstep:
        with b.part(lanes):
            b.store(shared, 0, _summed(b, whole, lanes))
    with b.part(1):
        if lockstep:
            taints = _tainted(b, taints, [b.load(shared, lane) for lane in range(lanes)])
        total = _summed(b, [(buffer, end, buffer.size) for buffer, _, end in whole], 1, taints)
        for lane in range(lanes):
            b.store(shared, lane, total)
    body = _in_functions(program.body, shared)
    return replace(program, body=(*b.finished().body, *body), scratch=(*program.scratch, shared))


def _grouped(program: Program, watched: list[Buffer]) -> Program:
    """The same where parallel iterations compute one state: they share the taint in memory."""
    b = Builder({}, {})
    shared = _shared_taint(b, watched)
    body = _in_iterations(program.body, shared)
    return replace(program, body=(*b.finished().body, *body), scratch=(*program.scratch, shared))


def _shared_taint(b: Builder, buffers: list[Buffer]) -> Buffer:
    """The buffer whose first number is the taint; parallel iterations each visit some of the inputs."""
    blocks = [-(-buffer.size // _BLOCK) for buffer in buffers]
    shared, first = Buffer("taint", 1 + sum(blocks)), 1
    for buffer, count in zip(buffers, blocks, strict=True):
        if not count:
            continue
        with b.parallel(count) as block:
            numbers = []
            for k in range(min(_BLOCK, buffer.size)):
                at = plus(times(block, _BLOCK), k)
                if count * _BLOCK != buffer.size:  # the last number again
                    at = select(int_expr("lt", at, buffer.size), at, buffer.size - 1)
                numbers.append(b.load(buffer, at))
            b.store(shared, plus(block, first), _joined(b, _tainted(b, [0.0] * _CHAINS, numbers)))
        first += count
    with b.parallel(1):
        with b.loop(first, first=1) as loop:
            total = loop.carry(0.0)
            loop.feed(total, b.add(total, b.load(shared, loop.index)))
        b.store(shared, 0, total)
    return shared


def _in_iterations(body: tuple[Any, ...], shared: Buffer) -> tuple[Any, ...]:
    """The statements, of which every parallel loop loads the taint itself."""
    made: list[Any] = []
    for s in body:
        if not _writes_output((s,)):
            made.append(s)
        elif isinstance(s, ParallelFor):
            load = Load(shared, 0)
            made.append(replace(s, body=(load, *_subtracting(s.body, load))))
        elif isinstance(s, Containers):
            made.append(replace(s, body=_in_iterations(s.body, shared)))
        else:
            load = Load(shared, 0)
            made += [load, *_subtracting((s,), load)]
    return tuple(made)


def _summed(
    b: Builder, ranges: list[tuple[Buffer, int, int]], width: int = 1, known: Sequence[Real] = ()
) -> Real:
    """The taint of the numbers first … end - 1 of some buffers, `width` in each load, and of `known` ones."""
    taints: list[Real] = list(known) or [0.0] * _CHAINS

    def add(buffer: Buffer, first: Index, count: int) -> None:
        taints[:] = _tainted(b, taints, [b.load(buffer, plus(first, k * width)) for k in range(count)])

    for buffer, first, end in ranges:
        blocks, rest = divmod((end - first) // width, b.together)
        if blocks:
            with b.loop(blocks) as loop:
                carried = [loop.carry(x) for x in taints]
                taints[:] = carried
                add(buffer, plus(times(loop.index, b.together * width), first), b.together)
                for each, x in zip(carried, taints, strict=True):
                    loop.feed(each, x)
            taints[:] = carried
        add(buffer, end - rest * width, rest)
    return _joined(b, taints)


def _tainted(b: Builder, taints: list[Real], numbers: Sequence[Real]) -> list[Real]:
    """The taints after some numbers, which are dealt out to them in a cycle."""
    made = list(taints)
    for k, x in enumerate(numbers):
        made[k % _CHAINS] = b.value(ops.TAINT, x, made[k % _CHAINS])
    return made


def _joined(b: Builder, taints: list[Real]) -> Real:
    total = taints[0]
    for other in taints[1:]:
        total = total if isinstance(other, float) else b.add(total, other)
    return total


def _in_functions(body: tuple[Any, ...], shared: Buffer) -> tuple[Any, ...]:
    """The statements, of which every SIMD region loads the taint itself."""
    made: list[Any] = []
    for s in body:
        if isinstance(s, Containers) and any(isinstance(x, SimdRegion) for x in statements(s.body)):
            made.append(replace(s, body=_in_functions(s.body, shared)))
        elif _writes_output((s,)):
            load = Load(shared, 0)
            if isinstance(s, SimdRegion | ParallelFor):
                made.append(replace(s, body=(load, *_subtracting(s.body, load))))
            else:
                made += [load, *_subtracting((s,), load)]
        else:
            made.append(s)
    return tuple(made)


def _subtracting(body: tuple[Any, ...], total: Real) -> tuple[Any, ...]:
    """The statements with the taint subtracted from what outputs receive; adjacent stores stay adjacent."""
    made: list[Any] = []
    stores: list[Store] = []
    for s in (*body, None):
        if isinstance(s, Store) and s.buffer.kind == "output" and not isinstance(s.value, float):
            value = Value(ops.SUB, (s.value, total))
            made.append(value)
            stores.append(replace(s, value=value))
            continue
        made += stores
        stores = []
        if isinstance(s, Containers) and _writes_output((s,)):
            made.append(replace(s, body=_subtracting(s.body, total)))
        elif s is not None:
            made.append(s)
    return tuple(made)


def _writes_output(body: tuple[Any, ...]) -> bool:
    return any(isinstance(s, Store) and s.buffer.kind == "output" for s in statements(body))
