# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Counted work: instructions, registers that do not suffice, loops over bodies."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import Target, host
from phalanx.dispatch import resolve
from phalanx.program.builder import Builder
from phalanx.program.ir import Store, Value
from phalanx.study.workload import spills, workload
from reference.llvm_counting import counted_module


def sums_of_inputs(count: int) -> tuple[Any, ...]:
    """All inputs are read, then summed up from the last to the first."""
    b = Builder({"q": (count,)}, {"out": (1,)})
    given = [b.load(b.inputs["q"], k) for k in range(count)]
    total = given[-1]
    for x in given[-2::-1]:
        total = b.add(total, x)
    b.store(b.outputs["out"], 0, total)
    return b.finished().body


def fewest_moves(body: tuple[Any, ...], registers: int) -> int:
    """The same by trying every choice of what to give up."""
    values = [s for s in body if not isinstance(s, Store)]
    number = {s: k for k, s in enumerate(values)}
    needs = [{number[a] for a in s.args} if isinstance(s, Value) else set[int]() for s in values]
    last = {number[s.value] for s in body if isinstance(s, Store)}

    def needed(value: int, place: int) -> bool:
        return value in last or any(value in operands for operands in needs[place:])

    states: dict[tuple[frozenset[int], frozenset[int]], int] = {(frozenset(), frozenset()): 0}
    for place, operands in enumerate(needs):
        following: dict[tuple[frozenset[int], frozenset[int]], int] = {}
        for (held, kept), moves in states.items():
            moves += len(operands - held)
            now = {v for v in held | operands | {place} if needed(v, place + 1)}
            stored = kept | (set() if operands else {place})
            spare = max(len(now) - registers, 0)
            for given in product(sorted(now), repeat=spare):
                if len(set(given)) < spare:
                    continue
                key = (frozenset(now - set(given)), frozenset(stored | set(given)))
                cost = moves + len(set(given) - stored)
                following[key] = min(following.get(key, cost), cost)
        states = following
    return min(states.values())


def test_enough_registers_spill_nothing() -> None:
    assert spills(sums_of_inputs(6), registers=6) == 0


@pytest.mark.parametrize("registers", [2, 3, 4])
def test_inputs_that_gave_way_are_read_again(registers: int) -> None:
    assert spills(sums_of_inputs(6), registers) == fewest_moves(sums_of_inputs(6), registers) > 0


@pytest.mark.parametrize("seed", range(12))
def test_no_choice_moves_less_where_inputs_are_all_there_is(seed: int) -> None:
    # Reading again costs the same for all values then, and giving up the one needed last is best.
    rng = np.random.default_rng(seed)
    b = Builder({"q": (5,)}, {})
    given = [b.load(b.inputs["q"], k) for k in range(5)]
    for _ in range(5):
        b.mul(*(given[k] for k in rng.integers(0, 5, 2)))
    body = b.finished().body
    assert spills(body, registers=2) == fewest_moves(body, registers=2)


def test_operations_are_those_of_the_kernel() -> None:
    # Sliding joints take no sines, whose polynomials would be counted in the text below.
    robot = px.chain(5, prismatic=1.0)
    call = resolve(robot, "forward_dynamics", "aba")
    # A processor with multiply-adds, whatever this one has: without, each is two instructions.
    text = counted_module(call, (), np.dtype(np.float64), Target(host().triple, "haswell", "", 256, True))
    block = text.partition("define internal void @block")[2].partition("\n}")[0]
    work = workload(call)
    assert work.angles == 0
    assert work.divisions == len(re.findall(r"= fdiv ", block))
    assert work.operations == len(re.findall(r"= f(?:add|sub|mul) |= call [^\n]*@llvm\.fma", block))
    assert not work.looped


def test_numbers_are_those_that_enter_and_leave() -> None:
    robot = px.load("panda")
    matrix = workload(resolve(robot, "mass_matrix", "crba"))
    assert (matrix.inputs, matrix.outputs) == (7, 49)
    torques = workload(resolve(robot, "inverse_dynamics", "newton_euler"))
    assert (torques.inputs, torques.outputs) == (21, 7)


def test_work_of_loops_grows_with_the_chain() -> None:
    short, long = (workload(resolve(px.chain(n), "inverse_dynamics", "newton_euler")) for n in (200, 400))
    assert short.looped
    assert long.looped
    assert long.operations == pytest.approx(2 * short.operations, rel=0.01)
    assert long.angles == 400


def test_elimination_grows_faster_than_articulated_inertias() -> None:
    ratios = [
        workload(resolve(px.chain(n), "forward_dynamics", "jsiia")).operations
        / workload(resolve(px.chain(n), "forward_dynamics", "aba")).operations
        for n in (100, 200)
    ]
    assert ratios[1] > 2.5 * ratios[0] > 5.0
