# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The keyword choices that all functions share: algorithm, backend, threads."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import dispatch
from phalanx.algorithms import FUNCTIONS
from reference.chains import scaled

ROBOT = px.chain(3)
STATE = ROBOT.random_state(4, rng=0)


def test_the_textbook_names_are_aliases() -> None:
    np.testing.assert_array_equal(ROBOT.rnea(*STATE), ROBOT.inverse_dynamics(*STATE))
    np.testing.assert_array_equal(ROBOT.crba(STATE[0]), ROBOT.mass_matrix(STATE[0]))
    np.testing.assert_array_equal(ROBOT.aba(*STATE), ROBOT.forward_dynamics(*STATE))


def test_methods_show_their_parameters() -> None:
    names = list(inspect.signature(px.Robot.inverse_dynamics).parameters)
    assert names[:7] == ["self", "q", "qd", "qdd", "external", "base_velocity", "base_acceleration"]
    assert list(inspect.signature(px.Robot.jacobian).parameters)[:3] == ["self", "q", "frame"]
    by_name = ROBOT.inverse_dynamics(qdd=STATE[2], q=STATE[0], qd=STATE[1])
    np.testing.assert_array_equal(by_name, ROBOT.inverse_dynamics(*STATE))


def test_a_named_algorithm_may_carry_options() -> None:
    np.testing.assert_array_equal(
        ROBOT.mass_matrix(STATE[0], algorithm=("crba", {})), ROBOT.mass_matrix(STATE[0])
    )


def test_an_algorithm_is_asked_for_by_name_or_by_itself() -> None:
    for algorithm in px.algorithms("inverse_dynamics"):
        by_name = ROBOT.inverse_dynamics(*STATE, algorithm=algorithm.name)
        assert np.array_equal(ROBOT.inverse_dynamics(*STATE, algorithm=algorithm), by_name)
    with pytest.raises(px.PhalanxError, match="mass_matrix: unknown algorithm 'cartesian_tensor'"):
        ROBOT.mass_matrix(STATE[0], algorithm=px.algorithms("inverse_dynamics")[0])


ALGORITHMS: list[tuple[Any, str]] = [
    ("newton_eler", 'unknown algorithm \'newton_eler\'; did you mean "newton_euler"? algorithms: "'),
    ("", "unknown algorithm ''; algorithms: "),
    (None, "unknown algorithm None; algorithms: "),
    (3, "unknown algorithm 3; algorithms: "),
    (np.zeros(3), "unknown algorithm an array of shape (3,); algorithms: "),
    ((np.zeros(3), {}), "unknown algorithm an array of shape (3,); algorithms: "),
    (["newton_euler"], "unknown algorithm ['newton_euler']; did you mean"),
    (("newton_euler",), "algorithm=('newton_euler',); expected a name or a pair of a name and its options"),
    (
        ("newton_euler", 3),
        "algorithm=('newton_euler', 3); expected a name or a pair of a name and its options",
    ),
    (
        ("newton_euler", {"solver": 1}),
        'algorithm "newton_euler" has no option solver=1; options: "segments".',
    ),
]


@pytest.mark.parametrize(("algorithm", "message"), ALGORITHMS)
def test_unknown_algorithms_and_options_are_refused(algorithm: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        ROBOT.inverse_dynamics(*STATE, algorithm=algorithm)
    assert str(caught.value).startswith(f"inverse_dynamics: {message}")


@pytest.mark.parametrize("backend", ["nunpy", "", None, 3, ["numpy"], np.zeros(3)])
def test_unknown_backends_are_refused(backend: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r'unknown backend .*backends: "auto", .*"numpy"') as caught:
        ROBOT.inverse_dynamics(*STATE, backend=backend)
    assert not isinstance(backend, str) or backend != "nunpy" or 'did you mean "numpy"?' in str(caught.value)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_a_bad_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"threads: got .*, expected a positive integer or None"):
        ROBOT.inverse_dynamics(*STATE, threads=threads)
    with pytest.raises(px.PhalanxError, match=r"set_threads: got .*, expected a positive integer or None"):
        px.set_threads(threads)
    with pytest.raises(px.PhalanxError, match="set_threads: got True"):
        px.set_threads(True)


def test_threads_do_not_change_results() -> None:
    wanted = ROBOT.inverse_dynamics(*STATE)
    np.testing.assert_array_equal(ROBOT.inverse_dynamics(*STATE, threads=3), wanted)
    try:
        px.set_threads(2)
        np.testing.assert_array_equal(ROBOT.inverse_dynamics(*STATE), wanted)
    finally:
        px.set_threads(None)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"external": np.zeros(6)},
            r"external has shape \(6,\), expected \(…, 3, 6\).*n_links = 3, 6 components",
        ),
        ({"external": "push"}, "external has dtype <U4, expected real numbers"),
        ({"base_velocity": np.zeros(3)}, r"base_velocity has shape \(3,\), expected \(…, 6\).*6 components"),
        ({"base_acceleration": np.zeros((5, 6))}, r"do not broadcast: q \(4,\).*base_acceleration \(5,\)"),
    ],
)
def test_bad_wrenches_and_base_motions_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=f"^inverse_dynamics: .*{message}"):
        ROBOT.inverse_dynamics(*STATE, **more)


def test_shapes_that_do_not_broadcast_are_named() -> None:
    q, qd, qdd = STATE
    message = (
        'forward_dynamics: the batch shapes for robot "chain" do not broadcast: q (4,), qd (3,), tau ().'
    )
    with pytest.raises(px.PhalanxError) as caught:
        ROBOT.forward_dynamics(q, qd[:3], qdd[0])
    assert str(caught.value) == message


def test_auto_takes_what_covers_the_robot_with_the_least_work() -> None:
    assert dispatch.choose(ROBOT, "inverse_dynamics").name == "cartesian_tensor"
    assert dispatch.choose(ROBOT, "forward_dynamics").name == "jsiia"
    assert dispatch.choose(px.chain(30), "forward_dynamics").name == "aba"
    with pytest.raises(px.PhalanxError, match="unknown function 'forward'"):
        dispatch.choose(ROBOT, "forward")


def heavy_in_the_middle(n: int) -> px.Robot:
    """A chain one link of which weighs a thousand others."""
    return scaled(px.chain(n), lambda i: 1e3 if i == n // 2 else 1.0)


@pytest.mark.parametrize(
    ("make", "inverse", "forward"),
    [
        (lambda: px.chain(60), "cartesian_tensor", "aba"),  # up to 64 the batch makes no difference
        (lambda: px.chain(70), "partition", "aba"),
        (lambda: px.snake(128), "partition", "aba"),
        (lambda: px.snake(129), "partition", "partition"),
        (lambda: px.chain(250), "partition", "partition"),
        (lambda: heavy_in_the_middle(250), "partition", "aba"),
        (lambda: px.tree(250, 0.3, seed=1), "cartesian_tensor", "aba"),
    ],
)
def test_one_state_of_a_long_chain_goes_in_segments_where_digits_allow(
    make: Any, inverse: str, forward: str
) -> None:
    robot = make()
    assert dispatch.choose(robot, "inverse_dynamics", 1).name == inverse
    assert dispatch.choose(robot, "forward_dynamics", 1).name == forward
    matrix = "partition" if inverse == "partition" else "crba"
    assert dispatch.choose(robot, "mass_matrix", 1).name == matrix
    for batch in (None, 2, 4096):
        assert dispatch.choose(robot, "inverse_dynamics", batch).name == "cartesian_tensor"
        assert dispatch.choose(robot, "forward_dynamics", batch).name == "aba"
        assert dispatch.choose(robot, "mass_matrix", batch).name == "crba"


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_what_auto_computes_depends_on_the_number_of_states_alone(function: str) -> None:
    robot = px.chain(70)
    states = robot.random_state(4, rng=0)[: len(FUNCTIONS[function].inputs)]
    compute = getattr(robot, function)
    many = compute(*states, algorithm=dispatch.choose(robot, function).name)
    alone = [x[1].copy() for x in states]
    one = compute(*alone, algorithm="partition")
    assert not np.array_equal(one, many[1])
    for _ in range(3):  # the slow path, then the fast one
        np.testing.assert_array_equal(compute(*states), many)
        np.testing.assert_array_equal(compute(*states, threads=2), many)
        np.testing.assert_array_equal(compute(*alone), one)
        np.testing.assert_array_equal(compute(*alone, out=np.empty_like(one)), one)
        np.testing.assert_array_equal(compute(*(x[None] for x in alone)), one[None])
        np.testing.assert_array_equal(compute(*(x.tolist() for x in alone)), one)
        np.testing.assert_array_equal(compute(*(np.repeat(x, 2)[::2] for x in alone)), one)
        np.testing.assert_array_equal(compute(*(x[::2] for x in states)), many[::2])


def test_wrenches_of_a_batch_make_a_state_a_batch() -> None:
    robot = px.chain(70)
    state = robot.random_state(rng=0)
    wrench = {robot.link_names[-1]: np.ones((3, 6))}
    found = robot.inverse_dynamics(*state, external=wrench)
    wanted = robot.inverse_dynamics(*state, external=wrench, algorithm="cartesian_tensor")
    np.testing.assert_array_equal(found, wanted)


def test_a_kernel_for_one_state_is_asked_for() -> None:
    robot = px.chain(70)
    assert robot.kernel("inverse_dynamics").algorithm == "cartesian_tensor"
    assert robot.kernel("inverse_dynamics", batch=1).algorithm == "partition"
    assert ROBOT.kernel("inverse_dynamics", batch=1).algorithm == "cartesian_tensor"


def test_an_output_whose_elements_share_memory_is_refused() -> None:
    robot = px.load("two_link")
    q, qd, x = robot.random_state(5, rng=0)
    kernel = robot.kernel("inverse_dynamics")
    free = [np.empty((5, 2)) for _ in range(2)]
    for strides in ((0, 8), (8, 0)):
        out = np.lib.stride_tricks.as_strided(np.zeros(10), (5, 2), strides)
        calls: dict[str, Any] = {
            "numpy": lambda out=out: robot.inverse_dynamics(q, qd, x, out=out, backend="numpy"),
            "method": lambda out=out: robot.inverse_dynamics(q, qd, x, out=out),
            "kernel": lambda out=out: kernel(q, qd, x, out=out),
            "bind": lambda out=out: kernel.bind(q, qd, x, out=out),
            "jvp": lambda out=out: robot.jvp("inverse_dynamics", (q, qd, x), (x, x, x), out=out),
            "product": lambda out=out: kernel.jvp(q, qd, x, x, x, x, out=out),
            "first": lambda out=out: robot.vjp("inverse_dynamics", (q, qd, x), x, out=(out, *free)),
            "last": lambda out=out: robot.vjp("inverse_dynamics", (q, qd, x), x, out=(*free, out)),
            "poses": lambda out=out: robot.frame_poses(
                q, ["link2"], out=np.broadcast_to(np.zeros((1, 1, 4, 4)), (5, 1, 4, 4))
            ),
        }
        for name, call in calls.items():
            message = "read-only" if name == "poses" else "several elements in one place of memory"
            with pytest.raises(px.PhalanxError, match=message):
                call()
        assert not out.any()
    turned = np.empty((2, 5)).T  # strides of any other kind are taken
    np.testing.assert_array_equal(kernel(q, qd, x, out=turned), kernel(q, qd, x))
