# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Laws in a simulation: what they may take and return; everything else is refused with the user's line."""

from __future__ import annotations

import itertools
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.program.graph import Graph, symbols
from phalanx.simulation.laws import run, run_function, run_law
from phalanx.tracing.arrays import Traced

KEPT: list[Any] = []
COUNT = itertools.count()
RNG = np.random.default_rng(1)


@cache
def robot() -> px.Robot:
    return px.load("two_link")


def arguments(graph: Graph) -> list[Traced]:
    shapes = {"t": (), "q": (2,), "qd": (2,), "u": (3,)}
    return [Traced(symbols(graph, name, shape)) for name, shape in shapes.items()]


def result(law: Any, **own: Traced) -> np.ndarray:
    """Joint forces of a law on fresh symbols."""
    return run_law(law, arguments(Graph()), robot(), own)


def test_a_law_gives_the_scalars_of_its_forces() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.sin(t) - 2.0 * q + u[:2] * robot.nv

    assert [x.op for x in result(law)] == ["add", "add"]


@pytest.mark.parametrize(
    "returned",
    [
        lambda q: [q[0], 1.0],
        lambda q: (q[0], q[1]),
        lambda q: np.array([q[0], 0.5]),
        lambda q: np.zeros(2),
        lambda q: q > 0,
        lambda q: np.stack([q[1], q[0]]),
    ],
)
def test_it_may_return_lists_and_arrays_of_traced_values(returned: Any) -> None:
    assert result(lambda t, q, qd, u, robot: returned(q)).shape == (2,)


def test_a_robot_of_one_joint_takes_a_number() -> None:
    pendulum, graph = px.chain(1, seed=1), Graph()
    shapes = {"t": (), "q": (1,), "qd": (1,), "u": (0,)}
    made = [Traced(symbols(graph, name, shape)) for name, shape in shapes.items()]
    assert run_law(lambda t, q, qd, u, robot: -3.0 * q[0], made, pendulum, {}).shape == (1,)


# ------------------------------------------------------------------- parameters


def test_parameters_reach_a_law_by_their_names() -> None:
    graph = Graph()
    own = {
        "kp": Traced(symbols(graph, "kp", (2,))),
        "kd": Traced(symbols(graph, "kd", (2,))),
        "other": Traced(symbols(graph, "other", (1,))),
    }

    def named(
        t: Any, q: Any, qd: Any, u: Any, robot: Any, *, kp: Any, kd: Any = 0.0, far: float = 2.0
    ) -> Any:
        return kp * q - kd * qd + far

    def all_of_them(t: Any, q: Any, qd: Any, u: Any, robot: Any, **more: Any) -> Any:
        assert set(more) == set(own)
        return more["kp"] * q

    for law in (named, all_of_them):
        found = run_law(law, arguments(graph), robot(), own)
        assert any(a is own["kp"].scalars[0] for x in graph.nodes for a in x.args), found


def test_a_parameter_that_is_not_declared_is_told_with_the_remedy() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, kp: Any) -> Any:
        return kp * q

    with pytest.raises(
        PhalanxError, match=r'takes "kp" beside t, q.*none is declared.*parameters=\{\'kp\': n\}'
    ):
        result(law)
    with pytest.raises(PhalanxError, match='declared are "kd"'):
        result(law, kd=Traced(symbols(Graph(), "kd", (2,))))


def test_other_arguments_than_five_are_refused() -> None:
    with pytest.raises(
        PhalanxError, match=r"has the arguments \(t, q, qd\), expected f\(t, q, qd, u, robot\)"
    ):
        result(lambda t, q, qd: q)
    assert result(lambda *all: all[1]).shape == (2,)
    assert result(partial(lambda k, t, q, qd, u, robot: k * q, 2.0)).shape == (2,)


# ------------------------------------------------------------------- what is refused


def too_few(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q[:1]


def nothing(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    q = -q


def word(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return "torque"


def nan(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.where(q > 0, q, np.nan)


def only_nan(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return [0.0, np.nan]


def infinite(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.full(2, np.inf)


def clock(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q * np.sin(time.perf_counter_ns())


def dice(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q + RNG.normal(size=2)


def counter(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q * float(next(COUNT))


def growing(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    KEPT.append(q)
    return np.zeros(len(KEPT))


def changing(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    q[0] = 0.0
    return q


def mistaken(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return {}["gain"]


def assigning(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    tau = np.zeros(2)
    tau[0] = -q[0]
    return tau


def among_numbers(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.sin(np.array([q[0], 1.0]))


def as_index(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.arange(5.0)[q[0]]


def beyond(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q * u[3]


def wrong_shapes(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return q + u


def deciding(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    if t < 1.0:
        return q
    return -q


def unknown(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return robot.frame_pose(q, "nowhere")[0, :2]


REFUSED = {
    too_few: r'returns an array of shape \(1,\), expected \(2,\) for robot "two_link" \(nv = 2\)',
    nothing: r"returns nothing, expected an array; is a return missing",
    word: r"its result: got 'torque', expected real numbers",
    nan: r"computes with NaN, expected numbers",
    only_nan: r"returns nan whatever the state is, expected finite numbers",
    infinite: r"returns inf whatever the state is",
    clock: r"gives another result each time it runs.*it reads a clock.*use its t for the time",
    dice: r"random numbers.*pass what changes as an argument, in a simulation as controls or parameters",
    counter: r"a state of its own",
    growing: r"gives another result each time",
    changing: r'"q\[0\] = 0\.0" changes an array in place.*x = q\.copy\(\)',
    mistaken: r"raises KeyError: 'gain'\.",
    assigning: r'"tau\[0\] = -q\[0\]" puts .* into an array of floats.*np\.zeros\(shape, like=q\)',
    among_numbers: r"raises TypeError.*no callable sin method\. np\.array leaves plain numbers.*np\.stack",
    as_index: r"raises IndexError.*np\.interp",
    beyond: r"raises IndexError.*There are 3 controls u, as robot\.simulation\(…, controls=k\)",
    wrong_shapes: r"raises ValueError: .*broadcast",
    deciding: r'"if t < 1\.0:" decides on a traced value',
    unknown: r"nowhere",
}


@pytest.mark.parametrize("law", REFUSED, ids=lambda law: law.__name__)
def test_what_a_law_must_not_do_is_told_with_its_file_and_line(law: Any) -> None:
    with pytest.raises(PhalanxError, match=REFUSED[law]) as caught:
        result(law)
    text = str(caught.value)
    first = law.__code__.co_firstlineno
    lines = range(first, max(line for *_, line in law.__code__.co_lines() if line) + 1)
    assert any(f"{Path(__file__).name}:{line}" in text for line in lines) or law is word


def test_an_error_of_the_law_is_kept_as_the_cause() -> None:
    with pytest.raises(PhalanxError, match="mistaken") as caught:
        result(mistaken)
    assert isinstance(caught.value.__cause__, KeyError)


def test_values_of_another_run_are_refused() -> None:
    kept: list[Any] = []

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        kept.append(q[0])
        return q * kept[0]

    result(law)
    with pytest.raises(PhalanxError, match="uses a traced value of another run"):
        result(law)


def test_results_beyond_all_memory_are_refused() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"all": [np.broadcast_to(q, (10**13, len(q)))]}

    with pytest.raises(
        PhalanxError, match=r"returns 20,000,000,000,000 numbers.*expected at most 10,000,000"
    ):
        result(law)


def test_an_interrupt_is_handed_on() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        result(law)


def test_other_functions_may_return_any_shape_and_mappings_too() -> None:
    given = arguments(Graph())

    def pairs(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.outer(q, qd)

    assert run_function(pairs, given, robot(), {}, 'record "pairs"').shape == (2, 2)
    found = run(lambda t, q, qd, u, robot: {"tool": [u[0], 0.0]}, given, robot(), {}, "forces")
    assert set(found) == {"tool"}
    with pytest.raises(PhalanxError, match='record "dice" gives another result'):
        run_function(dice, given, robot(), {}, 'record "dice"')


# ------------------------------------------------------------------- in a simulation


def test_a_law_in_a_simulation_gives_what_it_gives_on_arrays() -> None:
    panda = px.load("panda")

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        pose = robot.frame_pose(q, "panda_hand_tcp")
        reach = np.linalg.norm(pose[..., :3, 3], axis=-1)
        pull = np.where(np.abs(q) < 1.0, np.tanh(3.0 * q), np.sign(q)) * reach[..., None]
        lazy = np.exp(-(qd**2)) + np.minimum(q, qd) * np.clip(u, -0.2, 0.2)
        return robot.gravity_forces(q) - 20.0 * pull - 2.0 * qd + lazy + np.sqrt(1.0 + q**2) * np.cos(t)

    q, qd, _ = panda.random_state(6, rng=3)
    u = np.random.default_rng(4).normal(size=(6, 7))
    sim = panda.simulation(dt=1e-3, control=law)
    run = sim.rollout(q, qd, controls=u[:, None], steps=1, record=("tau",))
    np.testing.assert_allclose(run.tau[:, 0], law(0.0, q, qd, u, panda), rtol=1e-12, atol=1e-12)


def test_a_law_that_cannot_be_recorded_is_refused_by_the_simulation() -> None:
    state = robot().random_state(2, rng=1)[:2]
    sim = robot().simulation(control=deciding, controls=3)
    with pytest.raises(PhalanxError, match=r"test_laws\.py:\d+: \"if t < 1\.0:\" decides on a traced value"):
        sim.rollout(*state, controls=np.zeros(3), steps=1)


def test_a_step_with_a_law_of_many_functions_has_the_slopes_of_differences() -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        soft = np.where(q > 0.1, np.tanh(3.0 * q), q**3) + np.clip(qd, -0.4, 0.4) * np.exp(-(u[:2] ** 2))
        reach = np.sqrt(1.0 + np.sum(q * q)) + np.log(1.0 + np.abs(u[2])) + np.linalg.norm(qd)
        return np.minimum(soft, reach * qd[::-1]) + np.arctan2(q, 1.0 + qd**2) + np.maximum(u[:2], q)

    sim = robot().simulation(dt=1e-2, control=law, controls=3)
    q, qd = robot().random_state(8, rng=5)[:2]
    u = np.random.default_rng(6).normal(size=(8, 3))
    a, b = sim.linearize(q, qd, u)
    h = 1e-6
    state = np.concatenate([q, qd, u], axis=1)
    for k in range(7):
        step = h * np.eye(7)[k]
        ahead, behind = (
            np.concatenate(sim.step(x[:, :2], x[:, 2:4], x[:, 4:]), axis=1)
            for x in (state + step, state - step)
        )
        found = a[..., k] if k < 4 else b[..., k - 4]
        np.testing.assert_allclose(found, (ahead - behind) / (2.0 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("dt", [1e-3, 0.05])
def test_a_function_of_time_samples_it_where_numpy_does(dt: float) -> None:
    """A quotient by a constant is rounded once, so that a sample begins at the same step."""
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    robot = px.load("two_link")
    functions = {
        "floor": lambda t, q, qd, u, robot: np.floor(t / 0.05),
        "ceil": lambda t, q, qd, u, robot: np.ceil(t / 0.05),
        "rest": lambda t, q, qd, u, robot: t % 0.3,
    }
    run = (
        robot.replace(gravity=(0.0, 0.0, 0.0))
        .simulation(dt)
        .rollout(np.zeros(2), np.zeros(2), steps=10_001, record=functions)
    )
    np.testing.assert_array_equal(np.ravel(run["floor"]), np.floor(run.time / 0.05))
    np.testing.assert_array_equal(np.ravel(run["ceil"]), np.ceil(run.time / 0.05))
    np.testing.assert_allclose(np.ravel(run["rest"]), np.mod(run.time, 0.3), atol=1e-12)
