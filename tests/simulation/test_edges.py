# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rollouts at the edges of what may be asked for: many records, shared memory, empty arrays, long times."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import phalanx as px

STEPS = 12


@pytest.fixture(scope="module", name="sim")
def _sim() -> px.Simulation:
    return px.load("two_link").simulation(1e-2)


def states(count: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    q, qd, u = rng.normal(size=(3, count, 2))
    return q, qd, np.repeat(u[:, None], STEPS, axis=1)


# ------------------------------------------------------------------- records


def scaled(factor: float) -> Any:
    return lambda t, q, qd, u, robot: factor * q


@pytest.mark.parametrize("count", [8, 9, 10, 11, 20])
def test_any_number_of_records_may_be_asked_for(sim: px.Simulation, count: int) -> None:
    q, qd, u = states()
    plain = sim.rollout(q, qd, u, steps=STEPS, every=3)
    asked = {f"record{k}": scaled(float(k)) for k in range(count)} | {"qd": "qd"}
    run = sim.rollout(q, qd, u, steps=STEPS, every=3, record=asked)
    assert np.array_equal(run.qd, plain.qd)
    assert np.array_equal(run.final[0], plain.final[0])
    for k in range(count):
        assert np.array_equal(run[f"record{k}"], k * plain.q)


@pytest.mark.parametrize("name", ["final q", "q", "u", "start", "final start", "parameters", "time"])
def test_records_may_have_any_name(sim: px.Simulation, name: str) -> None:
    q, qd, u = states()
    plain = sim.rollout(q, qd, u, steps=STEPS)
    run = sim.rollout(q, qd, u, steps=STEPS, record={name: "qd", "other": "q"})
    assert np.array_equal(run[name], plain.qd)
    assert np.array_equal(run["other"], plain.q)
    assert np.array_equal(run.final[0], plain.final[0])


def test_empty_records_leave_the_others_as_they_are(sim: px.Simulation) -> None:
    def nothing(t, q, qd, u, robot):  # type: ignore[no-untyped-def]
        return q[:0]

    q, qd, u = states()
    plain = sim.rollout(q, qd, u, steps=STEPS)
    out = {"nothing": np.empty((5, STEPS, 0)), "q": np.full((5, STEPS, 2), np.nan)}
    run = sim.rollout(q, qd, u, steps=STEPS, record=(nothing, "q"), out=out)
    assert run.nothing.shape == (5, STEPS, 0)
    assert np.array_equal(run.q, plain.q)
    assert np.array_equal(run.final[1], plain.final[1])


def test_two_functions_of_one_name_are_refused(sim: px.Simulation) -> None:
    def named(factor: float) -> Any:
        def height(t, q, qd, u, robot):  # type: ignore[no-untyped-def]
            return factor * q[0]

        return height

    q, qd, _ = states()
    with pytest.raises(px.PhalanxError, match="two functions are called 'height'; give them names"):
        sim.rollout(q, qd, steps=1, record=(named(1.0), named(2.0)))
    one = named(3.0)
    run = sim.rollout(q, qd, steps=1, record=(one, one, "q", "q"))
    assert np.array_equal(run.height, 3.0 * run.q[..., 0])


# ------------------------------------------------------------------- shared memory


@pytest.mark.parametrize("name", ["q", "qd"])
@pytest.mark.parametrize("shared", ["q", "qd", "controls"])
def test_out_may_share_memory_with_what_enters(sim: px.Simulation, name: str, shared: str) -> None:
    given = dict(zip(("q", "qd", "controls"), states(), strict=True))
    plain = sim.rollout(**given, steps=STEPS)
    out = {label: np.zeros((5, STEPS, 2)) for label in ("q", "qd")}
    place = out[name] if shared == "controls" else out[name][:, 0]
    place[...] = given[shared]
    run = sim.rollout(**given | {shared: place}, steps=STEPS, out=out)
    assert run[name] is out[name]
    for label in out:
        assert np.array_equal(run[label], plain[label])


def test_records_that_share_memory_are_refused(sim: px.Simulation) -> None:
    q, qd, _ = states()
    place = np.empty((5, STEPS, 2))
    with pytest.raises(px.PhalanxError, match=r"out\['q'\] and out\['qd'\] share memory"):
        sim.rollout(q, qd, steps=STEPS, out={"q": place, "qd": place})


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.ma.zeros((5, 2)), r"float64 \(5, 2\) and masked"),
        (np.broadcast_to(0.0, (5, 2)), "read-only and not C-contiguous"),
        (np.zeros((2, 5)).T, "not C-contiguous"),
        (np.zeros(81, np.uint8)[1:].view(float).reshape(5, 2), "not aligned"),
        (np.zeros((5, 2), np.float32), r"float32 \(5, 2\)"),
        ([0.0, 0.0], r"\[0.0, 0.0\]"),
    ],
)
def test_arrays_that_compiled_code_cannot_write_to_are_refused(
    sim: px.Simulation, array: Any, text: str
) -> None:
    q, qd, _ = states()
    with pytest.raises(px.PhalanxError, match=f"bind: q is (.* and )?{text}, expected"):
        sim.bind(array, qd)
    place = array if isinstance(array, list) else array[:, None]
    with pytest.raises(px.PhalanxError, match=r"out\['q'\] is .*expected a C-contiguous"):
        sim.rollout(q, qd, steps=1, record="q", out={"q": place})


def test_arrays_with_a_dtype_object_of_their_own_are_taken(sim: px.Simulation) -> None:
    own = np.dtype(np.float64, metadata={"unit": "rad"})
    q, qd, u = pickle.loads(pickle.dumps(states()))
    plain = sim.rollout(*states(), steps=STEPS)
    assert np.array_equal(sim.rollout(q, qd, u, steps=STEPS).q, plain.q)
    out = {name: np.empty((5, STEPS, 2), own) for name in ("q", "qd")}
    run = sim.rollout(q.astype(own), qd.astype(own), u.astype(own), steps=STEPS, out=out)
    assert np.array_equal(run.q, plain.q)
    step = sim.bind(q.astype(own), qd.astype(own))
    step()


# ------------------------------------------------------------------- numbers of steps


@pytest.mark.parametrize("more", [{"steps": 10**30, "every": 10**30}, {"start": 10**400}])
def test_more_steps_than_can_be_counted_are_refused(sim: px.Simulation, more: dict[str, int]) -> None:
    q, qd, _ = states()
    with pytest.raises(px.PhalanxError, match=r"expected at most 35184372088832"):
        sim.rollout(q, qd, **{"steps": 1, **more})


def clock(t, q, qd, u, robot):  # type: ignore[no-untyped-def]
    return t


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("start", [0, (1 << 22) - 2, (1 << 24) - 1, (1 << 24) + 1, (1 << 30) + 77])
def test_time_goes_on_beyond_what_single_precision_counts(dtype: str, start: int) -> None:
    sim = px.load("two_link").simulation(0.125, dtype=dtype)
    run = sim.rollout(np.zeros(2), np.zeros(2), steps=6, every=2, start=start, record=clock)
    assert np.array_equal(run.clock, run.time.astype(dtype))
    halves = [sim.rollout(np.zeros(2), np.zeros(2), steps=3, start=start + k, record=clock) for k in (0, 3)]
    both = np.concatenate([half.clock for half in halves])
    assert np.array_equal(both[1::2], run.clock)


def test_bound_steps_count_beyond_what_single_precision_counts() -> None:
    sim = px.chain(1).simulation(1e-6, dtype="float32", control=lambda t, q, qd, u, robot: u + t)
    q, qd = np.zeros((2, 1), np.float32)
    step = sim.bind(q, qd, steps=1 << 22)
    for _ in range(4):
        step()
    qd[...] = 0.0
    q[...] = 0.0
    step()
    again = sim.rollout(np.zeros(1), np.zeros(1), steps=1 << 22, every=1 << 22, start=4 << 22, record=())
    assert np.array_equal(again.final[1], qd)


def test_more_steps_than_one_call_counts_are_refused(sim: px.Simulation) -> None:
    q, qd = np.zeros((2, 2))
    with pytest.raises(
        px.PhalanxError, match="bind: steps: got 4194305, expected at most 4194304; take fewer"
    ):
        sim.bind(q, qd, steps=(1 << 22) + 1)
    single = sim.robot.simulation(1e-2, dtype="float32")
    for derivative in (single.jvp, single.vjp):
        with pytest.raises(px.PhalanxError, match='take fewer at once, or dtype="float64"'):
            derivative((q, qd), (None, None), steps=(1 << 22) + 1)


# ------------------------------------------------------------------- bound steps


@pytest.mark.parametrize("shape", [(5, 1, 2), (3, 2)])
def test_bound_inputs_have_the_batch_or_none(sim: px.Simulation, shape: tuple[int, ...]) -> None:
    q, qd = np.zeros((2, 5, 3, 2))
    with pytest.raises(
        px.PhalanxError, match=r"controls have shape .*expected \(5, 3, 2\), the batch of q, or \(2,\)"
    ):
        sim.bind(q, qd, np.zeros(shape))
    for fits in (np.ones((5, 3, 2)), np.ones(2), np.ones((1, 1, 2))):
        q[...] = qd[...] = 0.0
        sim.bind(q, qd, fits)()
        assert np.array_equal(q[0, 0], sim.step(np.zeros(2), np.zeros(2), np.ones(2))[0])
        assert (q == q[0, 0]).all()


@pytest.mark.parametrize("own", [("gravity",), ("gravity", "damping")])
def test_bound_parameters_are_read_in_place(own: tuple[str, ...]) -> None:
    sim = px.load("two_link").simulation(1e-2, parameters=own)
    gravity = np.array([0.0, 0.0, -1.0]) * np.arange(5.0)[:, None]
    given = {"gravity": gravity, "damping": np.array([0.1, 0.2])}
    given = {name: given[name] for name in own}
    q, qd = np.full((5, 2), 0.3), np.zeros((5, 2))
    step = sim.bind(q, qd, parameters=given)
    for scale in (1.0, -3.0):
        for array in given.values():
            array *= scale
        q[...], qd[...] = 0.3, 0.7
        meant, _ = sim.step(q, qd, parameters=given)
        step()
        assert np.array_equal(q, meant)


def test_bound_parameters_that_could_not_be_read_in_place_are_refused() -> None:
    sim = px.load("two_link").simulation(1e-2, parameters=("gravity",))
    q, qd = np.zeros((5, 3, 2)), np.zeros((5, 3, 2))
    for gravity in (np.zeros((5, 1, 3)), np.zeros((5, 3, 3), np.float32), np.zeros((5, 3, 6))[..., ::2]):
        with pytest.raises(px.PhalanxError, match="bind: parameter 'gravity'"):
            sim.bind(q, qd, parameters={"gravity": gravity})
    with pytest.raises(px.PhalanxError, match="share memory"):
        sim.bind(np.zeros(2), (both := np.zeros(5))[:2], parameters={"gravity": both[1:4]})


def test_bound_parameters_are_at_most_as_many_as_compiled_code_takes() -> None:
    def law(t, q, qd, u, robot, **gains):  # type: ignore[no-untyped-def]
        return u - sum(gains.values()) * q

    names = [f"k{i}" for i in range(20)]
    sim = px.load("two_link").simulation(1e-2, control=law, parameters=dict.fromkeys(names, 2))
    with pytest.raises(px.PhalanxError, match="bind: the simulation has 20 parameters, expected at most 9"):
        sim.bind(np.zeros(2), np.zeros(2), np.zeros(2), parameters={name: np.zeros(2) for name in names})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_of_bound_steps_are_read_in_place_and_keep_their_memory(dtype: str) -> None:
    sim = px.load("two_link").simulation(1e-2, dtype=dtype)
    q, qd, u = np.zeros((3, 5, 2), dtype)
    q, qd, u = q.copy(), qd.copy(), u.copy()
    step = sim.bind(q, qd, u)
    u[...] = 1.0
    step()
    assert np.array_equal(q, sim.step(np.zeros((5, 2), dtype), np.zeros((5, 2), dtype), u)[0])
    for array in (q, qd, u):
        with pytest.raises(ValueError, match="cannot resize"):
            array.resize((50_000, 2), refcheck=False)


# ------------------------------------------------------------------- batches of derivatives


def gained(t, q, qd, u, robot, *, k):  # type: ignore[no-untyped-def]
    return u - k * q


def test_tangents_and_cotangents_may_have_a_batch_of_their_own() -> None:
    sim = px.load("two_link").simulation(1e-2, control=gained, controls=2, parameters={"k": 2})
    q, qd, k = np.array([0.1, 0.2]), np.array([0.3, -0.4]), {"k": np.array([2.0, 3.0])}
    along, _ = sim.jvp((q, qd), (None, None), steps=3, parameters=k, parameter_tangents={"k": np.eye(2)})
    back = sim.vjp((q, qd), (np.eye(2), None), steps=3, parameters=k)
    assert back.q.shape == back.qd.shape == back.controls.shape == (2, 2)
    assert np.allclose(along.T, back.parameters["k"], rtol=1e-12, atol=1e-18)
    for row, weights in zip(back.q, np.eye(2), strict=True):
        assert np.array_equal(row, sim.vjp((q, qd), (weights, None), steps=3, parameters=k).q)
    with pytest.raises(px.PhalanxError, match="do not broadcast"):
        sim.jvp(
            (np.zeros((5, 2)), qd),
            (None, None),
            parameters=k,
            parameter_tangents={"k": np.ones((4, 2))},
        )


def test_tangents_of_constant_inputs_may_change_with_time(sim: px.Simulation) -> None:
    q, qd, u = np.array([0.1, 0.2]), np.array([0.3, -0.4]), np.array([1.0, 2.0])
    du = np.random.default_rng(3).normal(size=(3, 2))
    one = sim.jvp((q, qd, u), (None, None, du), steps=6)
    other = sim.jvp((q, qd, np.tile(u, (2, 1))), (None, None, np.repeat(du, 2, axis=0)), steps=6)
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b)


def test_batches_of_too_many_axes_are_refused(sim: px.Simulation) -> None:
    with pytest.raises(px.PhalanxError, match="40 batch axes, expected at most 32"):
        sim.rollout(np.zeros((1,) * 40 + (2,)), np.zeros(2), steps=1)
    with pytest.raises(px.PhalanxError, match="40 batch axes, expected at most 32"):
        sim.linearize(np.zeros((1,) * 40 + (2,)), np.zeros(2))


# ------------------------------------------------------------------- what is not a plain function


def test_functions_without_a_hash_may_be_recorded(sim: px.Simulation) -> None:
    class Height:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, t, q, qd, u, robot):  # type: ignore[no-untyped-def]
            return q[0]

    q, qd, _ = states()
    height = Height()
    for _ in range(2):
        run = sim.rollout(q, qd, steps=2, record={"height": height, "q": "q"})
        assert np.array_equal(run.height, run.q[..., 0])


def test_functions_that_record_the_same_are_compiled_once() -> None:
    sim = px.load("two_link").simulation(1e-2)
    q, qd, _ = states()
    for _ in range(4):
        run = sim.rollout(q, qd, steps=2, record={"x": lambda t, q, qd, u, robot: 2.0 * q, "q": "q"})
        assert np.array_equal(run.x, 2.0 * run.q)
    assert len(sim._engine._compiled) == 1
    for sign in (0.0, -0.0):
        run = sim.rollout(q, qd, steps=1, record={"x": lambda t, q, qd, u, robot, s=sign: np.full(2, s)})
        assert (np.signbit(run.x) == np.signbit(sign)).all()


def test_laws_cannot_change_the_robot() -> None:
    def law(t, q, qd, u, robot):  # type: ignore[no-untyped-def]
        robot.gravity = np.zeros(3)
        return u

    with pytest.raises(
        px.PhalanxError, match="robots are immutable; 'gravity' cannot be set in a traced function"
    ):
        px.load("two_link").simulation(control=law).step(np.zeros(2), np.zeros(2))


def test_a_robot_that_cannot_move_is_refused() -> None:
    rock = px.tree(1, seed=0)
    rock = rock.fix(dict(zip(rock.joint_names, [0.0], strict=True)))
    with pytest.raises(px.PhalanxError, match=r"no degree of freedom.*with_floating_base"):
        rock.simulation()


def test_nothing_of_a_simulation_can_be_deleted(sim: px.Simulation) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        del sim._dtype
