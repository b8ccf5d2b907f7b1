# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Costs of kernels that are loops over bodies: against a walk through their LLVM text."""

from __future__ import annotations

import pickle
import re
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS, algorithms
from phalanx.backends.native.compile import Target, host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.dispatch import resolve
from phalanx.program.analyses.cost import Count, cost_of_loops
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.lowering import looped
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import sincos_first
from phalanx.program.rolled import RolledProgram
from phalanx.program.rolled.segments.roll import SegmentProgram
from phalanx.program.rolled.stages.matrices import AncestorPairs
from phalanx.program.task import Call
from phalanx.program.unroll_policy import is_segmented, large_form, serves
from phalanx.study.workload import workload
from reference.llvm_counting import carried_out, counted_module

TYPES = ("revolute", "prismatic", "spherical", "universal")
# Kernels are read, not run: counts are those of registers of 512 bits on every machine.
WIDE = Target(host().triple, "skylake-avx512", "", 512, True)


def fingers(n: int) -> px.Robot:
    """Branches of 22 joints; every third joint follows the one before it."""
    builder = px.RobotBuilder("fingers")
    before = builder.add_link("base")
    for k in range(n):
        before = before if k % 22 else "base"
        link = builder.add_link(f"link{k}", mass=1.0 + 0.1 * k, com=(0.1, 0.2, 0.1), inertia=[0.1, 0.2, 0.15])
        told = {"mimic": (f"joint{k - 1}", 2.0, 0.1)} if k % 3 == 2 else {}
        axis = (1.0, 0.0, 0.0) if k % 2 else (0.0, 0.0, 1.0)
        builder.add_joint(f"joint{k}", "revolute", before, link, axis=axis, origin=(0.1, 0.0, 0.3), **told)
        before = link
    return builder.build()


@cache
def robot(name: str) -> px.Robot:
    match name:
        case "arm":
            return px.load("panda")
        case "chain":
            return px.chain(13, seed=2, prismatic=0.3)
        case "snake":
            return px.snake(107).replace(armature=0.1)
        case "tree":
            return px.tree(40, 0.5, seed=3, joints=TYPES)
        case "wrists":
            return px.tree(11, 0.0, seed=3, joints=(*TYPES, "floating"))
        case "floating":
            return px.tree(80, seed=4).with_floating_base()
        case "fingers":
            return fingers(110)
    raise AssertionError(name)


def call_of(name: str, function: str, choice: Any) -> Call:
    frame = robot(name).frame_names[-1] if FUNCTIONS[function].frame else None
    return resolve(robot(name), function, choice, frame)


def choices(name: str, function: str) -> list[Any]:
    """The algorithms that cover a robot, each with its options too."""
    found: list[Any] = []
    for a in algorithms(function):
        if not a.refusal(robot(name)):
            listed = [
                {k: v} for k, values in a.options.items() if isinstance(values, tuple) for v in values[1:]
            ]
            found += [(a.name, options) for options in ({}, *listed)]
            found += [(a.name, {"segments": 5})] if a.splits == "segments" else []
    return found


CASES = [
    (name, function, choice)
    for name in ("arm", "wrists", "snake", "tree", "floating", "fingers")
    for function in FUNCTIONS
    for choice in choices(name, function)
    for call in (call_of(name, function, choice),)
    if serves(call) and (is_segmented(call) or large_form(call))  # in loops, whatever their counts
]
CASES += [  # in loops by their counts
    ("arm", "forward_dynamics", ("dca", {})),
    ("wrists", "forward_dynamics", ("cfa", {})),
    *(
        ("chain", "forward_dynamics", choice)
        for choice in choices("chain", "forward_dynamics")
        if choice[0] == "abia"
    ),
    ("chain", "inverse_dynamics", ("scan", {})),
]


@cache
def of_one_turn() -> Counter[str]:
    """What sine and cosine of one angle take."""
    program = straight({"q": (1,)}, {"x": (1,)}, [Graph().input("q", 0).sin()])
    text = block_function(sincos_first(fuse(program)), WIDE, "double")[0]
    return carried_out(text)["block"]


def operations(seen: Counter[str]) -> np.ndarray:
    """Multiplications, additions, divisions, and sines and cosines of counted instructions."""
    left = Counter(seen)
    for kind, number in of_one_turn().items():
        left[kind] -= seen["turn"] * number
    both = left["fma"]
    return np.array([left["fmul"] + both, left["fadd"] + left["fsub"] + both, left["fdiv"], 2 * seen["turn"]])


def in_text(call: Call) -> Count:
    """The operations of one state, by a walk through the text of the kernel."""
    loops = looped(call, ())
    lanes = WIDE.lanes(8)
    total = np.zeros(4, dtype=int)
    text = counted_module(call, (), np.dtype(np.float64), WIDE)
    for function, seen in carried_out(text).items():
        found = operations(seen)
        body = text[text.index(f"@{function}(") :].partition("\n}")[0]
        if isinstance(loops, SegmentProgram) and f"<{lanes} x double>" in body:
            # Once for a group of segments, as many as there are lanes.
            count = len(loops.bodies)
            assert not (found % -(-count // lanes)).any()
            found = found // -(-count // lanes) * count
        elif isinstance(loops, RolledProgram) and loops.one_state and f"<{lanes} x double>" in body:
            found = found * lanes
        total += found
    return Count(*map(int, total))


@cache
def counted(case: int) -> tuple[Any, set[str]]:
    """What a case costs and its kinds of stages, found together: programs are long to make and large."""
    call = call_of(*CASES[case])
    loops = looped(call, ())
    assert loops is not None
    return cost_of_loops(loops.built(WIDE.lanes(8)), call.function.symbol), kinds_of_stages(loops)


@pytest.mark.parametrize(
    ("name", "function", "choice"), CASES, ids=["-".join(map(str, (*c[:2], *c[2]))) for c in CASES]
)
def test_counts_of_loops_are_the_instructions_that_the_kernel_carries_out(
    name: str, function: str, choice: Any
) -> None:
    found, _ = counted(CASES.index((name, function, choice)))
    assert Count(*found._all()) == in_text(call_of(name, function, choice))
    for parts in (found.by_quantity, found.by_link):
        assert sum(parts.values(), Count()) == Count(*found._all())
    assert "" not in found.by_quantity


def kinds_of_stages(loops: Any) -> set[str]:
    """The kinds of stages of a program, those of matrices with the shape of their columns."""
    if isinstance(loops, SegmentProgram):
        return {f"segments {type(stage).__name__}" for _, stage in loops.stages}
    found = set()
    for stage in loops.stages:
        entries = getattr(stage, "entries", None)
        shape = (
            "" if entries is None else " pairs" if isinstance(entries, AncestorPairs) else f" {entries.shape}"
        )
        found.add("coupled " * (loops.layout.joints is not None) + type(stage).__name__ + shape)
    return found


@pytest.mark.exhaustive
def test_every_kind_of_stage_is_among_the_cases() -> None:
    plain = ("BodyLoop", "Once", "Solve", "InverseOut", "MatrixOut pairs", "Factor pairs", "Factor square")
    wanted = {*plain, *(f"coupled {kind}" for kind in plain), "segments BodyLoop", "segments Once"}
    wanted |= {"EliminationLevels", "MatricesOut", "SolvedOut"}
    wanted |= {f"MatrixOut {shape}" for shape in ("columns", "rows", "square")}
    assert set().union(*(counted(case)[1] for case in range(len(CASES)))) == wanted


def test_cost_and_kernel_tell_what_loops_carry_out() -> None:
    r = robot("chain")
    found = px.cost(r, "forward_dynamics", "cfa")
    assert found.looped
    assert Count(*found._all()) == in_text(resolve(r, "forward_dynamics", "cfa"))
    assert found.span.total == len(found.width) > 0
    assert sum(found.width) == found.total
    kernel = r.kernel("forward_dynamics", algorithm="cfa").cost
    assert (kernel.total, kernel.span, kernel.by_quantity) == (found.total, found.span, found.by_quantity)
    assert found.span_with() == found.span
    assert found.span_with(multiplication=2.0, addition=2.0, division=2.0) == found.span
    assert found.span_with(division=1e6).divisions > found.span.divisions
    assert found.written_out.span_with(multiplication=2.0).total > 0
    assert set(found.by_link) <= {*r.link_names, "world"}
    straight = px.cost(r, "forward_dynamics", "aba")
    assert not straight.looped


@pytest.mark.parametrize("algorithm", ["abia", "cfa", "dca", "aba", "partition"])
def test_work_and_path_of_a_cost_are_of_one_program(algorithm: str) -> None:
    loops = px.cost(px.chain(26), "forward_dynamics", algorithm)
    assert loops.looped
    assert sum(loops.width) == loops.total
    assert len(loops.width) == loops.span.total
    tree = loops.written_out
    assert not tree.looped
    assert sum(tree.width) == tree.total
    assert len(tree.width) == tree.span.total
    assert tree.written_out is tree
    assert pickle.loads(pickle.dumps(loops)).width == loops.width
    if algorithm == "abia":  # a tree in the equations, a recursion in loops
        assert tree.total > 3 * loops.total
        assert tree.span.total < 0.6 * loops.span.total


def test_the_path_of_loops_is_at_least_that_of_equations_in_the_same_order() -> None:
    for n in (24, 25, 26):
        loops = px.cost(px.chain(n), "forward_dynamics", "aba")
        assert loops.written_out.span.total <= loops.span.total <= 1.05 * loops.written_out.span.total


def test_a_body_of_the_loops_costs_what_a_further_link_costs_straight_line_code() -> None:
    loops, long, short = (px.cost(px.chain(n), "inverse_dynamics", "newton_euler") for n in (200, 9, 8))
    assert loops.looped
    assert not long.looped
    assert set(loops.by_quantity) == set(long.by_quantity)
    for name in ("V", "Vd"):
        assert loops.by_quantity[name].total == 200 * (
            long.by_quantity[name].total - short.by_quantity[name].total
        )
    # Transforms are computed anew on the way back.
    assert loops.by_quantity["X"].total == 400 * (long.by_quantity["X"].total - short.by_quantity["X"].total)


def test_every_further_body_of_a_general_chain_costs_the_same() -> None:
    totals = [px.cost(px.chain(n), "inverse_dynamics", "newton_euler").total for n in (200, 201, 202)]
    assert totals[2] - totals[1] == totals[1] - totals[0] > 0


def test_robots_too_long_to_be_written_out_have_counts_but_no_paths() -> None:
    found = px.cost(px.snake(2000), "mass_matrix", "kane_original")
    assert found.looped
    assert found.total > 1_000_000
    assert (found.span, found.width, found.max_width) == (Count(), (), 0)
    with pytest.raises(px.PhalanxError, match=r"has about .* operations, more than 1,000,000"):
        _ = found.written_out


def test_a_robot_that_cannot_move_gives_no_warning() -> None:
    builder = px.RobotBuilder("rock")
    builder.add_link("base")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert px.cost(builder.build(), "inverse_dynamics").total == 0
        assert px.schedule(builder.build(), "inverse_dynamics").makespan == 0


def test_segments_in_several_registers_cost_what_they_cost_in_one() -> None:
    loops = looped(resolve(robot("snake"), "forward_dynamics", "partition"), ())
    assert loops is not None
    narrow, wide = (Count(*cost_of_loops(loops.built(lanes), "u")._all()) for lanes in (2, 8))
    assert narrow == wide


@pytest.mark.parametrize("algorithm", ["cfa", "dca", "abia", "partition", "aba"])
def test_predictions_count_the_same_instructions(algorithm: str) -> None:
    call = resolve(robot("snake"), "forward_dynamics", algorithm)
    text = counted_module(call, (), np.dtype(np.float64), replace(host(), fma=True))
    seen: Counter[str] = Counter()
    for function, found in carried_out(text).items():
        if not re.fullmatch("block(_phase.*)?", function) or algorithm != "partition":  # segments into lanes
            seen += found
    work = workload(call)
    assert work.divisions == seen["fdiv"]
    assert work.angles == seen["turn"]
    kinds = ("fma", "fmul", "fadd", "fsub", "choose")
    assert work.operations == sum(seen[k] - seen["turn"] * of_one_turn()[k] for k in kinds)
