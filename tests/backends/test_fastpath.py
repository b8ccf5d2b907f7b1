# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the second call on every method goes straight to compiled code, whatever keywords it is given."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import dispatch
from reference.effort import calls_of

FEW = 40  # calls of functions, also those that make the arguments; the slow path makes hundreds
TIP = "link2"
ABA = next(a for a in px.algorithms("forward_dynamics") if a.name == "aba")
State = tuple[np.ndarray, np.ndarray, np.ndarray]


@cache
def arm() -> px.Robot:
    return px.load("two_link")


@cache
def states(count: int | tuple[int, ...] = ()) -> State:
    return arm().random_state(count, rng=1)


@cache
def ones(*shape: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape)


METHODS: dict[str, Callable[[px.Robot, State], Any]] = {
    "plain": lambda r, s: r.inverse_dynamics(*s),
    "scalar": lambda r, s: r.kinetic_energy(*s[:2]),
    "algorithm": lambda r, s: r.inverse_dynamics(*s, algorithm="newton_euler"),
    "options": lambda r, s: r.mass_matrix(s[0], algorithm=("crba", {})),
    "object": lambda r, s: r.forward_dynamics(*s, algorithm=ABA),
    "backend": lambda r, s: r.inverse_dynamics(*s, backend="native"),
    "external": lambda r, s: r.inverse_dynamics(*s, ones(2, 6)),
    "external of a link": lambda r, s: r.inverse_dynamics(*s, {TIP: ones(6)}),
    "external of two": lambda r, s: r.inverse_dynamics(*s, {TIP: ones(6), "link1": -ones(6)}),
    "inertias": lambda r, s: r.gravity_forces(s[0], inertias=r.inertial_parameters.reshape(2, 10)),
    "several": lambda r, s: r.inverse_dynamics_derivatives(*s),
    "value": lambda r, s: r.inverse_dynamics_derivatives(*s, value=True),
    "frame": lambda r, s: r.jacobian(s[0], TIP, reference="local"),
    "frame by name": lambda r, s: r.frame_velocity(*s[:2], TIP, algorithm="recursive"),
    "jvp": lambda r, s: r.jvp("inverse_dynamics", s, [np.ones(2)] * 3),
    "vjp": lambda r, s: r.vjp("inverse_dynamics", list(s), np.ones(2)),
    "vjp with external": lambda r, s: r.vjp("inverse_dynamics", s, np.ones(2), external={TIP: ones(6)}),
    "vjp of a frame": lambda r, s: r.vjp("frame_pose", s[:1], ones(4, 4), frame=TIP),
    "hvp": lambda r, s: r.hvp("inverse_dynamics", s, np.ones(2), [np.ones(2)] * 3),
    "out": lambda r, s: r.inverse_dynamics(
        *s, algorithm="newton_euler", out=np.empty((*s[0].shape[:-1], 2)), threads=1
    ),
}


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    for x, y in zip(*(each if isinstance(each, tuple) else (each,) for each in (a, b)), strict=True):
        np.testing.assert_array_equal(x, y, strict=True)


@pytest.mark.parametrize("name", METHODS)
def test_the_second_call_never_sees_the_slow_path(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = METHODS[name]
    for batch in ((), 5, (2, 3)):
        first = call(arm(), states(batch))
        with monkeypatch.context() as patch:
            patch.setattr(dispatch, "_computed", lambda *args: pytest.fail("the slow path"))
            same(call(arm(), states(batch)), first)
    robot, state = arm(), states()
    assert calls_of(lambda: call(robot, state)) <= FEW


def test_wrenches_by_name_are_those_of_all_links() -> None:
    robot, batch = px.load("panda"), 4
    wrench, several = ones(6), ones(batch, 6)
    frame = next(f for f in robot.frame_names if f not in robot.link_names and robot.frames[f].link >= 0)
    given = {"link": {frame: several}, "two": {frame: wrench, robot.link_names[2]: several}}
    for external in (*given.values(), {frame: wrench}, {frame: wrench, robot.link_names[-1]: wrench}):
        for q, qd, qdd in (robot.random_state(rng=2), robot.random_state(batch, rng=2)):
            wanted = robot.inverse_dynamics(q, qd, qdd, robot.wrenches(external), backend="numpy")
            for _ in range(2):
                np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd, external), wanted, atol=1e-12)


def test_what_is_wrong_is_said_at_every_call() -> None:
    robot, (q, qd, qdd) = arm(), states()
    wrong: list[tuple[str, Callable[[], Any]]] = [
        ("value=1, expected True or False", lambda: robot.inverse_dynamics_derivatives(q, qd, qdd, value=1)),  # type: ignore[call-overload]
        ("unknown algorithm", lambda: robot.inverse_dynamics(q, qd, qdd, algorithm="newton")),
        ("unknown algorithm", lambda: robot.inverse_dynamics(q, qd, qdd, algorithm=[])),  # type: ignore[arg-type]
        ("unknown backend", lambda: robot.inverse_dynamics(q, qd, qdd, backend="nativ")),  # type: ignore[arg-type]
        ("no frame 'hand'", lambda: robot.inverse_dynamics(q, qd, qdd, {"hand": np.ones(6)})),
        (r"shape \(5,\), expected \(…, 6\)", lambda: robot.inverse_dynamics(q, qd, qdd, {TIP: np.ones(5)})),
        ("expected a positive", lambda: robot.vjp("inverse_dynamics", (q, qd, qdd), qd, threads=0)),
        ("expected a tuple of 3", lambda: robot.jvp("inverse_dynamics", (q, qd), (q, qd, qdd, qd))),
        ("tangents are 2 arrays", lambda: robot.jvp("inverse_dynamics", (q, qd, qdd), (q, qd))),
        ("has shape", lambda: robot.vjp("inverse_dynamics", (q, qd, qdd), np.ones(3))),
    ]
    for _ in range(2):
        robot.inverse_dynamics_derivatives(q, qd, qdd, value=True)
        robot.inverse_dynamics(q, qd, qdd, {TIP: np.ones(6)})
        robot.vjp("inverse_dynamics", (q, qd, qdd), qd)
        robot.jvp("inverse_dynamics", (q, qd, qdd), (q, qd, qdd))
        for message, call in wrong:
            with pytest.raises(px.PhalanxError, match=message):
                call()


def test_options_keep_their_types() -> None:
    chain = px.chain(6)
    state = chain.random_state(rng=0)
    for _ in range(2):
        chain.inverse_dynamics(*state, algorithm=("partition", {"segments": 1}))
        with pytest.raises(px.PhalanxError, match="segments=True"):
            chain.inverse_dynamics(*state, algorithm=("partition", {"segments": True}))


def test_other_numbers_give_what_they_gave() -> None:
    robot, (q, qd, qdd) = arm(), states()
    wanted = robot.inverse_dynamics(q, qd, qdd, algorithm="newton_euler")
    for _ in range(2):
        same(robot.inverse_dynamics(q.tolist(), qd.tolist(), qdd.tolist(), algorithm="newton_euler"), wanted)
        less = robot.inverse_dynamics(*(x.astype("f4") for x in (q, qd, qdd)), algorithm="newton_euler")
        assert less.dtype == np.float32
        np.testing.assert_allclose(less, wanted, rtol=1e-4)


def test_robots_forget_words_before_there_are_too_many() -> None:
    robot = px.load("two_link")
    q = robot.neutral()
    for k in range(300):
        robot.frame_pose(q, TIP, algorithm=("recursive", {}), threads=k + 1)
    known = robot._memo["fast path with keywords: frame_pose"]
    assert len(known) == 1


def test_threads_share_what_is_remembered() -> None:
    robot, state = px.load("two_link"), states(3)
    wanted = arm().inverse_dynamics(*state, algorithm="newton_euler")
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: robot.inverse_dynamics(*state, algorithm="newton_euler"), range(200))
        for each in found:
            same(each, wanted)


def test_kernels_give_the_value_too() -> None:
    robot, state = arm(), states(3)
    kernel = robot.kernel("inverse_dynamics_derivatives", value=True)
    made = kernel(*state)
    same(made, robot.inverse_dynamics_derivatives(*state, value=True))
    np.testing.assert_allclose(made.tau, robot.inverse_dynamics(*state), rtol=1e-12)
    out = (np.empty((3, 2, 2)), np.empty((3, 2, 2)), np.empty((3, 2, 2)), np.empty((3, 2)))
    kernel.bind(*state, out=out)()
    same(out, tuple(made))
    with pytest.raises(px.PhalanxError, match="got value=True, but is no derivative"):
        robot.kernel("inverse_dynamics", value=True)


def test_kernels_of_products_are_made_once() -> None:
    kernel, state = arm().kernel("inverse_dynamics"), states(3)
    for mode, more in (("jvp", state), ("vjp", state[:1]), ("hvp", (state[0], *state))):
        product = getattr(kernel, mode)
        assert getattr(kernel, mode) is product
        assert calls_of(lambda m=mode, a=(*state, *more): getattr(kernel, m)(*a)) <= FEW


def test_negative_masses_are_left_to_the_slow_path(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, q = arm(), states()[0]
    inertias = robot.inertial_parameters.reshape(2, 10).copy()
    robot.gravity_forces(q, inertias=inertias)
    inertias[1, 0] = -1.0
    seen = []
    monkeypatch.setattr(dispatch, "_computed", lambda *args: seen.append(args))
    robot.gravity_forces(q, inertias=inertias)
    assert len(seen) == 1
