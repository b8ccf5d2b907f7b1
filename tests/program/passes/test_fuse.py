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

from phalanx.dispatch import resolve
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.ir import Program, Scalar
from phalanx.program.ops import OPS, TAINT
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import depth_first
from phalanx.program.task import Call
from phalanx.program.text import parse
from phalanx.program.trace import trace
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
    "floor": lambda a: float(math.floor(a)),
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


def run(
    program: Program, inputs: Mapping[str, Any], rules: Mapping[str, Callable[..., Any]] = RULES
) -> list[Any]:
    """The results of straight-line code, statement by statement."""
    values: dict[Any, Any] = {}
    for s in program.values:
        if s.op == "input":
            values[s] = inputs[s.buffer.name][s.index]
        else:
            values[s] = rules[s.op](*(values[a] if a in values else _number(a, rules) for a in s.args))
    return [values[x] if x in values else _number(x, rules) for x in program.results]


def _number(x: Any, rules: Any) -> Any:
    assert type(x) is float
    return Fraction(x) if rules is EXACT else x


def program(outputs: list[Any], inputs: int = 3) -> Program:
    return straight({"q": (inputs,)}, {"x": (len(outputs),)}, outputs)


def test_the_rules_here_cover_every_operation() -> None:
    assert set(RULES) == set(OPS) - {TAINT}  # which comes behind them


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
        if not isinstance(a, Scalar) and kind in ("sin", "cos"):
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
            if isinstance(a, Scalar):
                nodes.append((a.maximum(b), max(x, y)))
        elif kind == "div":
            if isinstance(b, Scalar):
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
            code = fuse(program(outputs)) if fused else depth_first(program(outputs))
            assert run(code, {"q": inputs}, EXACT) == wanted, f"seed {seed}"


def factors(args: tuple[Any, ...]) -> tuple[str, ...]:
    """Factors in one order, with constants apart from the numbers of instructions."""
    return tuple(sorted(str(a if type(a) is float else id(a)) for a in args))


def test_operands_come_first_and_a_product_vanishes_only_with_all_its_uses() -> None:
    for seed in SEEDS:
        outputs = expression(seed)[0]
        plain, fused = depth_first(program(outputs)), fuse(program(outputs))
        for code in (plain, fused):
            known: set[Any] = set()
            for s in code.values:
                assert all(type(a) is float or a in known for a in s.args)
                assert s.op == "input" or len(s.args) == OPS[s.op].arity
                known.add(s)
        before, after = (Counter(s.op for s in code.values) for code in (plain, fused))
        joined = after["fma"] + after["fms"] + after["fnma"]
        assert before["add"] + before["sub"] == after["add"] + after["sub"] + joined
        assert not any(before[op] for op in ("fma", "fms", "fnma"))
        # No work is done twice: each product stands alone or inside sums, never both.
        pairs = {factors(i.args[:2]) for i in fused.values if i.op in ("fma", "fms", "fnma")}
        alone = {factors(i.args) for i in fused.values if i.op == "mul"}
        assert not alone & pairs, f"seed {seed}"
        assert len(alone) + len(pairs) == before["mul"]


def ops(outputs: list[Any]) -> list[str]:
    return [s.op for s in fuse(program(outputs)).values if s.op != "input"]


def inputs_of(graph: Graph) -> list[Scalar]:
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
    code = fuse(program([1.5, x, x + y, x + y, 0.0]))
    assert run(code, {"q": [2.0, 3.0, 0.0]}) == [1.5, 2.0, 5.0, 5.0, 0.0]


def traced(call: Call) -> Program:
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
        found = run(fuse(made) if fused else depth_first(made), flat)
        agree(found, np.concatenate([np.ravel(x) for x in many(wanted)]), 1e-12)


def test_most_products_of_an_arm_join_sums() -> None:
    made = traced(resolve(robot("panda"), "inverse_dynamics"))
    plain, fused = (Counter(s.op for s in code.values) for code in (made, fuse(made)))
    assert fused["mul"] < 0.5 * plain["mul"]


UNFUSED = """\
program
input q[4]
output y[3]

q0 = q[0]
q1 = q[1]
q2 = q[2]
q3 = q[3]
x0 = q0 * q1
x1 = x0 + q2
x2 = q2 * q3
x3 = x2 - q0
x4 = q1 - x2
x5 = q0 * q3
x6 = x5 + x5
x7 = x3 * x4
x8 = x7 + x6
y[0] = x1
y[1] = x8
y[2] = x5
"""

FUSED = """\
program
input q[4]
output y[3]

q0 = q[0]
q1 = q[1]
q2 = q[2]
x0 = fma(q0, q1, q2)
q3 = q[3]
x1 = fms(q2, q3, q0)
x2 = fnma(q2, q3, q1)
x3 = q0 * q3
x4 = x3 + x3
x5 = fma(x1, x2, x4)
y[0] = x0
y[1] = x5
y[2] = x3
"""


def test_the_text_of_a_fused_program() -> None:
    assert fuse(parse(UNFUSED)).text() == FUSED
