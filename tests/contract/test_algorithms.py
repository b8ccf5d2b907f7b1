# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every algorithm on every backend gives what the textbook loops give, for all joint types and batches."""

from __future__ import annotations

import inspect
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS, Algorithm
from phalanx.backends.base import installed
from reference import dynamics as textbook
from reference.sampling import MOVING_TYPES, agree, conditioning, pairwise

ENTRIES = [entry for known in ALGORITHMS.values() for entry in known.values()]
ROBOTS = (*MOVING_TYPES, "mixed", "floating base", "welded")
COVERED = {"turning": ("revolute",), "turning, sliding": ("revolute", "prismatic")}  # else all of them
QUICKEST = ("numpy", "native", "jax")  # further rows take the first
BACKENDS = sorted(installed(), key=[*QUICKEST, *installed()].index)
BATCHES = ((), (3,), (2, 1, 2), (0,))
ROWS = pairwise(ENTRIES, ROBOTS, BACKENDS, BATCHES, ("float64", "float32"), ("plain", "with optional inputs"))


@cache
def robot_of(kind: str, topology: str, joints: str, six: bool = False) -> px.Robot:
    """A small robot of one joint type, or of several, that an algorithm covers; for `six` a long chain."""
    branching = 0.5 if topology == "tree" else 0.0
    if six and kind in ("prismatic", "planar", "helical"):  # none of them turns about all axes alone
        kind = "mixed"
    types = {
        "mixed": MOVING_TYPES,
        "floating base": ("revolute", "planar"),
        "welded": ("fixed", "revolute", "fixed", "universal"),
    }.get(kind, (kind,))
    size = 9 if kind == "mixed" else 4
    size = 14 if six and kind == "welded" else max(7, size) if six else size
    robot = px.tree(size, 0.0 if six else branching, seed=5, joints=COVERED.get(joints, types))
    if kind == "floating base" and joints == "all":
        robot = robot.with_floating_base()
    # Rotors keep float32 within reach of the mass matrix's condition.
    return robot.replace(armature=np.linspace(0.2, 0.4, robot.nv))


def state(robot: px.Robot, batch: tuple[int, ...], dtype: Any = float) -> dict[str, Any]:
    """Named random inputs for every function."""
    q, qd, qdd = robot.random_state(batch, rng=11)
    rng = np.random.default_rng(12)
    inputs = {
        "q": q,
        "qd": qd,
        "qdd": qdd,
        "tau": 5.0 * rng.standard_normal(qd.shape),
        "external": rng.standard_normal((*batch, robot.n_links, 6)),
        "base_velocity": rng.standard_normal((*batch, 6)),
        "base_acceleration": rng.standard_normal((*batch, 6)),
    }
    return {name: value.astype(dtype) for name, value in inputs.items()}


def expected(robot: px.Robot, entry: Algorithm, inputs: dict[str, Any], more: dict[str, Any]) -> np.ndarray:
    """The function by the textbook loops, state by state."""
    call = getattr(textbook, entry.function)
    batch = inputs["q"].shape[:-1]
    frame = {"frame": robot.link_names[-1]} if FUNCTIONS[entry.function].frame else {}
    names = (*FUNCTIONS[entry.function].inputs, *more)
    results = [
        call(robot, **{n: inputs[n][k].astype(float) for n in names}, **frame) for k in np.ndindex(batch)
    ]
    shape = np.shape(results[0]) if results else result_shape(robot, entry)
    return np.reshape(results, (*batch, *shape))


def result_shape(robot: px.Robot, entry: Algorithm) -> tuple[int, ...]:
    sizes = {"q": robot.nq, "v": robot.nv, "l": robot.n_links, "10l": 10 * robot.n_links}
    shapes = [
        tuple(sizes[s] if s in sizes else int(s) for s in symbols)
        for symbols in FUNCTIONS[entry.function].outputs.values()
    ]
    return shapes[0] if len(shapes) == 1 else (len(shapes), *shapes[0])


@pytest.mark.parametrize(
    ("entry", "kind", "backend", "batch", "dtype", "inputs"),
    ROWS,
    ids=[f"{e.function}-{e.name}-{k}-{b}-{'x'.join(map(str, s))}-{d}-{i}" for e, k, b, s, d, i in ROWS],
)
def test_every_algorithm_gives_what_the_textbook_loops_give(
    entry: Algorithm, kind: str, backend: str, batch: tuple[int, ...], dtype: str, inputs: str
) -> None:
    function = FUNCTIONS[entry.function]
    robot = robot_of(kind, entry.topology, entry.joints, function.full_rank)
    known = state(robot, batch, dtype)
    frame = {"frame": robot.link_names[-1]} if function.frame else {}
    precise = function.inverts and math.prod(batch)
    growth = conditioning(textbook_masses(robot, known["q"])) if precise else 1.0
    more = {} if inputs == "plain" else {name: known[name] for name in function.optional if name in known}
    arguments = [known[name] for name in function.inputs]
    result = getattr(robot, entry.function)(
        *arguments, **frame, **more, algorithm=entry.name, backend=backend
    )
    if len(function.outputs) > 1:  # behind the batch
        result = np.stack(result, axis=len(batch))
    assert result.dtype == dtype
    wanted = expected(robot, entry, known, more)
    if function.full_rank and math.prod(batch):
        growth = growth * np.linalg.cond(wanted).max()
    tolerance = np.finfo(dtype).eps * (500.0 + 20.0 * float(growth))
    if entry.bodies == "definite":  # it inverts the inertia of every link, whose condition it meets squared
        tolerance *= 100.0
    tolerance = max(tolerance, 1e-9 if entry.function in textbook.BY_DIFFERENCES else 0.0)
    # Sums over links may cancel: bodies of about 1 kg and 1 m set the scale.
    agree(result, wanted, tolerance, least=1.0)


def textbook_masses(robot: px.Robot, q: np.ndarray) -> np.ndarray:
    return np.array([textbook.mass_matrix(robot, x) for x in q.reshape(-1, robot.nq).astype(float)])


def test_every_pair_of_choices_meets() -> None:
    for i in range(6):
        for j in range(i):
            met = {(id(row[i]), id(row[j])) for row in ROWS}
            assert len(met) == len({id(r[i]) for r in ROWS}) * len({id(r[j]) for r in ROWS})


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.function}-{e.name}")
def test_every_algorithm_tells_its_source_and_cost(entry: Algorithm) -> None:
    assert any(digit.isdigit() for digit in entry.source), "a source has a year"
    assert entry.work.startswith("O(")
    assert entry.span.startswith("O(")
    assert entry.run.__doc__, "the first line says what is returned"


@pytest.mark.parametrize("function", FUNCTIONS, ids=str)
def test_every_function_is_a_method_with_the_shared_keywords(function: str) -> None:
    method = getattr(px.Robot, function)
    assert method.__doc__
    parameters = inspect.signature(method).parameters.values()
    options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    keywords = {name: default for name, default in options.items() if default is not inspect.Parameter.empty}
    chosen = {name: known[0] for name, known in FUNCTIONS[function].choices.items()}
    if "inertias" in FUNCTIONS[function].optional:
        chosen["inertias"] = None
    if FUNCTIONS[function].value:
        chosen["value"] = False
    assert keywords == {**chosen, "out": None, "algorithm": "auto", "backend": "auto", "threads": None}
    assert getattr(textbook, function), "the textbook loops know every function"
