# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Instructions compute what the program says, and products join sums only where they vanish for good."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from phalanx.backends.base import Call
from phalanx.dispatch import resolve
from phalanx.program.ops import INPUT, OPS, TAINT
from phalanx.program.rewrite import Code, instructions
from phalanx.program.scalar import Graph, Node
from phalanx.program.trace import TracedProgram, trace
from phalanx.robot.joints import rescale
from reference.kernels import arguments, covered, frame_of, reference, robot
from reference.sampling import agree

RULES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": math.sin,
    "cos": math.cos,
    "abs": abs,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
    "less": lambda a, b: float(a < b),
    "choose": lambda mask, a, b: a if mask else b,
    "rescale": lambda a: float(rescale(np.float64(a))),
    "exp": math.exp,
    "tanh": math.tanh,
    "log": math.log,
    "arctan2": math.atan2,
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}
# An odd and an even function that fractions can have, in place of sine and cosine.
EXACT = {**RULES, "sin": lambda a: a**3 - a, "cos": lambda a: a**2 + 1}


def run(code: Code, inputs: Mapping[str, Any], rules: Mapping[str, Callable[..., Any]] = RULES) -> list[Any]:
    """The results of the instructions, one after another."""
    values: list[Any] = []
    for i in code.instructions:
        if i.op == "input":
            values.append(inputs[i.args[0]][i.args[1]])
        else:
            values.append(rules[i.op](*(values[a] if type(a) is int else _number(a, rules) for a in i.args)))
    return [values[x] if type(x) is int else _number(x, rules) for x in code.results]


def _number(x: Any, rules: Any) -> Any:
    assert type(x) is float
    return Fraction(x) if rules is EXACT else x


def program(outputs: list[Any], inputs: int = 3) -> TracedProgram:
    return TracedProgram({"q": (inputs,)}, {"x": (len(outputs),)}, outputs)


def test_the_rules_here_cover_every_operation() -> None:
    assert {*RULES, INPUT} == set(OPS) - {TAINT}  # which comes behind them


def expression(seed: int) -> tuple[list[Any], list[Fraction], list[Fraction]]:
    """Outputs of a random program, its inputs and what it should give."""
    rng = random.Random(seed)
    graph = Graph()
    inputs = [Fraction(rng.randint(-8, 8), 4) for _ in range(3)]
    nodes: list[tuple[Any, Fraction]] = [(graph.input("q", k), x) for k, x in enumerate(inputs)]
    for _ in range(rng.randint(1, 40)):
        # Mostly recent operands: programs then grow deep enough for chains of sums.
        (a, x), (b, y) = (nodes[-1 - rng.randint(0, min(6, len(nodes) - 1))] for _ in range(2))
        kind = rng.choice(
            ["add", "sub", "mul", "mul", "neg", "sin", "cos", "div", "scale", "shift", "abs", "max"]
        )
        if x.denominator.bit_length() > 300 or y.denominator.bit_length() > 300:
            kind = "neg"
        if type(a) is not Node and kind in ("sin", "cos"):
            kind = "add"
        if kind == "scale":
            factor = rng.choice([0.0, 1.0, -1.0, 2.0, -0.5, 3.0])
            nodes.append((a * factor, x * Fraction(factor)))
        elif kind == "shift":
            term = rng.choice([0.0, 1.0, -1.5])
            nodes.append((term - a, Fraction(term) - x))
        elif kind in ("neg", "sin", "cos"):
            nodes.append((-a if kind == "neg" else getattr(a, kind)(), EXACT[kind](x)))
        elif kind == "abs":
            nodes.append((abs(a), abs(x)))
        elif kind == "max":
            if type(a) is Node:
                nodes.append((a.maximum(b), max(x, y)))
        elif kind == "div":
            if type(b) is Node:
                nodes.append((a / b.cos(), x / EXACT["cos"](y)))
        else:
            nodes.append((EXACT[kind](a, b), EXACT[kind](x, y)))
    outputs = [nodes[-1 - rng.randint(0, len(nodes) - 1)] for _ in range(rng.randint(1, 4))]
    return [o[0] for o in outputs], inputs, [o[1] for o in outputs]


SEEDS = range(400)


def test_random_programs_give_the_exact_value_fused_or_not() -> None:
    for seed in SEEDS:
        outputs, inputs, wanted = expression(seed)
        for fused in (False, True):
            code = instructions(program(outputs), fused=fused)
            assert run(code, {"q": inputs}, EXACT) == wanted, f"seed {seed}"


def factors(args: tuple[Any, ...]) -> tuple[str, ...]:
    """Factors in one order, with constants apart from the numbers of instructions."""
    return tuple(sorted(map(repr, args)))


def test_operands_come_first_and_a_product_vanishes_only_with_all_its_uses() -> None:
    for seed in SEEDS:
        outputs = expression(seed)[0]
        plain = instructions(program(outputs), fused=False)
        fused = instructions(program(outputs))
        for code in (plain, fused):
            for number, i in enumerate(code.instructions):
                if i.op != "input":
                    assert all(type(a) is float or a < number for a in i.args)
                    assert len(i.args) == OPS[i.op].arity
        before, after = (Counter(i.op for i in code.instructions) for code in (plain, fused))
        joined = after["fma"] + after["fms"] + after["fnma"]
        assert before["add"] + before["sub"] == after["add"] + after["sub"] + joined
        assert not any(before[op] for op in ("fma", "fms", "fnma"))
        # No work is done twice: each product stands alone or inside sums, never both.
        pairs = {factors(i.args[:2]) for i in fused.instructions if i.op in ("fma", "fms", "fnma")}
        alone = {factors(i.args) for i in fused.instructions if i.op == "mul"}
        assert not alone & pairs, f"seed {seed}"
        assert len(alone) + len(pairs) == before["mul"]


def ops(outputs: list[Any]) -> list[str]:
    return [i.op for i in instructions(program(outputs)).instructions if i.op != "input"]


def inputs_of(graph: Graph) -> list[Node]:
    return [graph.input("q", k) for k in range(3)]


def test_each_kind_of_sum_takes_its_multiply_add() -> None:
    x, y, z = inputs_of(Graph())
    assert ops([x * y + z]) == ["fma"]
    assert ops([z + x * y]) == ["fma"]
    graph = Graph()
    x, y, z = inputs_of(graph)
    product = x * y
    assert ops([product - z.sin()]) == ["sin", "fms"]
    x, y, z = inputs_of(Graph())
    assert ops([z - x * y]) == ["fnma"]
    x, y, z = inputs_of(Graph())
    assert ops([2.0 - x * y]) == ["fnma"]
    assert ops([x * 2.0 + z]) == ["fma"]


def test_a_product_used_by_two_sums_joins_both_or_none() -> None:
    x, y, z = inputs_of(Graph())
    product = x * y
    assert sorted(ops([product + z, product - z.sin()])) == ["fma", "fms", "sin"]
    x, y, z = inputs_of(Graph())
    product = x * y
    assert sorted(ops([product + z, product.sin()])) == ["add", "mul", "sin"]


def test_a_product_that_is_an_output_stays() -> None:
    x, y, z = inputs_of(Graph())
    product = x * y
    assert ops([product, product + z]) == ["mul", "add"]


def test_a_product_added_to_itself_stays() -> None:
    x, y, _ = inputs_of(Graph())
    product = x * y
    assert ops([product + product]) == ["mul", "add"]


def test_of_two_products_only_one_joins_their_sum() -> None:
    x, y, z = inputs_of(Graph())
    assert sorted(ops([x * y + y * z])) == ["fma", "mul"]


def test_a_product_wanted_elsewhere_leaves_the_sum_to_the_other() -> None:
    x, y, z = inputs_of(Graph())
    busy, free = x * y, y * z
    assert sorted(ops([busy + free, busy.sin()])) == ["fma", "mul", "sin"]


def test_outputs_may_be_constants_inputs_and_repetitions() -> None:
    x, y, _ = inputs_of(Graph())
    code = instructions(program([1.5, x, x + y, x + y, 0.0]))
    assert run(code, {"q": [2.0, 3.0, 0.0]}) == [1.5, 2.0, 5.0, 5.0, 0.0]


def traced(call: Call) -> TracedProgram:
    return trace(call.task(optional(call)))


def optional(call: Call) -> tuple[str, ...]:
    """What else may be given, but for inertias, which not all algorithms take."""
    return tuple(name for name in call.function.optional if name != "inertias")


def many(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


EVERY = covered("panda", "mixed")


@pytest.mark.parametrize(("name", "function", "algorithm"), EVERY, ids=["-".join(c) for c in EVERY])
def test_every_algorithm_traced_gives_what_the_equations_give(
    name: str, function: str, algorithm: str
) -> None:
    r = robot(name)
    call = resolve(r, function, algorithm, **frame_of(function, r))
    state = arguments(r, function)
    rng = np.random.default_rng(1)
    more = {k: rng.standard_normal(call.sizes(call.function.optional[k])) for k in optional(call)}
    wanted = reference(r, function, state, **more, algorithm=algorithm)
    given = dict(zip(call.function.inputs, state, strict=True)) | more
    flat = {k: np.ravel(v).tolist() for k, v in given.items()}
    made = traced(call)
    for fused in (False, True):
        found = run(instructions(made, fused=fused), flat)
        agree(found, np.concatenate([np.ravel(x) for x in many(wanted)]), 1e-12)


def test_most_products_of_an_arm_join_sums() -> None:
    made = traced(resolve(robot("panda"), "inverse_dynamics"))
    plain, fused = (Counter(i.op for i in instructions(made, fused=f).instructions) for f in (False, True))
    assert fused["mul"] < 0.5 * plain["mul"]
