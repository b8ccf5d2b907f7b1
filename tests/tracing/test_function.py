# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.function`: users' functions compiled, against the same Python function on plain arrays."""

import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import phalanx as px

PANDA = px.load("panda")
HAND = "panda_hand"
TREE = px.tree(5, seed=3, joints=("floating", "revolute", "spherical", "prismatic"))
Task = namedtuple("Task", "error rate")


def osc(q: Any, qd: Any, target: Any, robot: Any, *, stiffness: Any) -> Any:
    """Operational-space control of a hand."""
    J, x = robot.jacobian(q, HAND), robot.frame_pose(q, HAND)
    M, h = robot.mass_matrix(q), robot.bias_forces(q, qd)
    E = target[:3, :3] @ x[:3, :3].T
    turn = 0.5 * np.stack([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])
    e = np.concatenate([turn, target[:3, 3] - x[:3, 3]])
    A = J @ np.linalg.solve(M, J.T)
    F = np.linalg.solve(A + 1e-6 * np.eye(6), stiffness * e - 2.0 * np.sqrt(stiffness) * (J @ qd))
    return {"tau": J.T @ F + h, "error": e}


def terms(q: Any, qd: Any, robot: Any, gain: float = 2.0) -> Any:
    """Nested results of a tree with quaternions."""
    last = robot.frame_names[-1]
    energy = robot.kinetic_energy(q, qd) + robot.potential_energy(q)
    task = Task(robot.frame_pose(q, last)[:3, 3], robot.frame_velocity(q, qd, last) * gain)
    return {"task": task, "more": (energy, [robot.bias_forces(q, qd)])}


@pytest.fixture(scope="module")
def law() -> Any:
    return PANDA.function(osc, target=(4, 4), stiffness=6)


def state(robot: Any, batch: tuple[int, ...] = (), seed: int = 0) -> tuple[Any, Any, Any]:
    made: tuple[Any, Any, Any] = robot.random_state(batch, np.random.default_rng(seed))
    return made


def given(batch: tuple[int, ...] = ()) -> tuple[Any, Any, Any, Any]:
    q, qd, _ = state(PANDA, batch)
    target = PANDA.frame_pose(state(PANDA, batch, 1)[0], HAND)
    return q, qd, target, np.linspace(50.0, 150.0, 6)


def test_a_law_equals_numpy_on_plain_arrays(law: Any) -> None:
    q, qd, target, k = given((7,))
    made = law(q, qd, target, stiffness=k)
    # Near a singularity the solve amplifies rounding: 1e-13 with fused multiply-adds, 4e-13 without.
    for i in range(7):
        expected = osc(q[i], qd[i], target[i], PANDA, stiffness=k)
        for name, array in expected.items():
            np.testing.assert_allclose(made[name][i], array, rtol=1e-12, atol=1e-12 * np.abs(array).max())


def test_one_state_a_batch_and_broadcasting_give_the_same_bits(law: Any) -> None:
    q, qd, target, k = given((3, 4))
    whole = law(q, qd, target, stiffness=k, threads=2)
    assert whole["tau"].shape == (3, 4, 7)
    assert whole["error"].shape == (3, 4, 6)
    alone = law(q[1, 2], qd[1, 2], target[1, 2], k)
    spread = law(q, qd[1, 2], target[:1], k)
    assert np.array_equal(alone["tau"], whole["tau"][1, 2])
    assert spread["tau"].shape == (3, 4, 7)
    assert np.array_equal(law(q.tolist(), qd, target, stiffness=list(k))["tau"], whole["tau"])
    strided = law(np.asfortranarray(q), qd[::-1][::-1], target, k)
    assert np.array_equal(strided["tau"], whole["tau"])


def test_out_takes_the_results_in_their_structure(law: Any) -> None:
    q, qd, target, k = given((3,))
    expected = law(q, qd, target, stiffness=k)
    out = {"error": np.zeros((3, 6)), "tau": np.zeros((3, 7))}
    assert law(q, qd, target, stiffness=k, out=out) is out
    assert np.array_equal(out["tau"], expected["tau"])
    assert np.array_equal(out["error"], expected["error"])
    with pytest.raises(px.PhalanxError, match=r"osc: out, tau has shape \(3, 6\).*expected \(3, 7\)"):
        law(q, qd, target, stiffness=k, out={"error": np.zeros((3, 6)), "tau": np.zeros((3, 6))})
    with pytest.raises(px.PhalanxError, match="out has none for tau"):
        law(q, qd, target, stiffness=k, out={"error": np.zeros((3, 6))})


def test_single_precision_stays_single(law: Any) -> None:
    arrays = [np.float32(x) for x in given((3,))]
    made = law(*arrays)
    assert made["tau"].dtype == np.float32
    expected = law(*map(np.float64, arrays))
    np.testing.assert_allclose(made["error"], expected["error"], atol=1e-5)
    np.testing.assert_allclose(law(*arrays)["tau"], made["tau"], rtol=0)


def test_a_bound_step_recomputes_in_place(law: Any) -> None:
    q, qd, target, k = given()
    out = {"tau": np.zeros(7), "error": np.zeros(6)}
    step = law.bind(q, qd, target, stiffness=k, out=out)
    q[2] += 0.3
    step()
    assert np.array_equal(out["tau"], law(q, qd, target, stiffness=k)["tau"])
    with pytest.raises(px.PhalanxError, match=r"bind: q .* is float32"):
        law.bind(np.float32(q), qd, target, stiffness=k, out=out)


def test_results_keep_their_nested_structure() -> None:
    f = TREE.function(terms)
    q, qd, _ = state(TREE, (4,))
    made = f(q, qd)
    assert list(f.outputs) == ["task.error", "task.rate", "more.0", "more.1.0"]
    assert type(made["task"]) is Task
    assert type(made["more"]) is tuple
    assert type(made["more"][1]) is list
    for i in range(4):
        expected = terms(q[i], qd[i], TREE)
        np.testing.assert_allclose(made["task"].rate[i], expected["task"].rate, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(made["more"][0][i], expected["more"][0], rtol=1e-12)
        np.testing.assert_allclose(made["more"][1][0][i], expected["more"][1][0], rtol=1e-11, atol=1e-12)
    assert f(q[0], qd[0])["more"][0].shape == ()


def tangent_of(
    f: Any, q: Any, more: tuple[Any, ...], dq: Any, along: tuple[Any, ...], h: float = 1e-5
) -> Any:
    """The derivative of a function's flat results by differences of fourth order."""
    h = 1e-5

    def at(s: float) -> Any:
        values = f(TREE.integrate(q, s * dq), *(x + s * d for x, d in zip(more, along, strict=True)))
        return np.concatenate([np.ravel(x) for x in flat(values)])

    return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [x for each in value for x in flat(each)] if isinstance(value, (list, tuple)) else [value]


def test_derivatives_on_quaternions_are_those_of_differences_and_transposed() -> None:
    f, rng = TREE.function(terms), np.random.default_rng(2)
    q, qd, _ = state(TREE)
    dq, dqd = rng.normal(size=(2, TREE.nv))
    change = np.concatenate([np.ravel(x) for x in flat(f.jvp((q, qd), (dq, dqd)))])
    np.testing.assert_allclose(change, tangent_of(f, q, (qd,), dq, (dqd,)), rtol=1e-8, atol=1e-8)
    weights = f(q, qd)
    weights = {
        "task": Task(rng.normal(size=3), rng.normal(size=6)),
        "more": (rng.normal(), [rng.normal(size=TREE.nv)]),
    }
    slopes = f.vjp((q, qd), weights)
    left = sum(np.sum(w * x) for w, x in zip(flat(weights), flat(f.jvp((q, qd), (dq, dqd))), strict=True))
    assert left == pytest.approx(slopes[0] @ dq + slopes[1] @ dqd, rel=1e-12)
    second = np.concatenate(f.hvp((q, qd), weights, (dq, dqd)))
    expected = tangent_of(lambda q, qd: list(f.vjp((q, qd), weights)), q, (qd,), dq, (dqd,))
    # Differences of vjp follow its rows, which turn with the quaternions; both are rates of the entries.
    np.testing.assert_allclose(second, expected, rtol=1e-7, atol=1e-7)


def test_tangents_and_cotangents_may_leave_out_what_is_zero(law: Any) -> None:
    q, qd, target, k = given((2,))
    primals = {"q": q, "qd": qd, "target": target, "stiffness": np.broadcast_to(k, (2, 6))}
    dq = np.random.default_rng(1).normal(size=(2, 7))
    some = law.jvp(primals, {"q": dq})
    zeros = [dq, np.zeros((2, 7)), np.zeros((2, 4, 4)), np.zeros((2, 6))]
    every = law.jvp(tuple(primals.values()), zeros)
    np.testing.assert_allclose(some["tau"], every["tau"], rtol=1e-12, atol=1e-12)
    tau = np.random.default_rng(2).normal(size=(2, 7))
    by_name = law.vjp(primals, {"tau": tau})
    assert list(by_name) == ["q", "qd", "target", "stiffness"]
    J = law.jacobian("tau", "q")(q, qd, target, stiffness=k)
    assert J.shape == (2, 7, 7)
    np.testing.assert_allclose(np.einsum("bi,bij->bj", tau, J), by_name["q"], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", J, dq), some["tau"], rtol=1e-10, atol=1e-10)
    second = law.hvp(primals, {"tau": tau}, {"q": dq})
    assert list(second) == list(primals)
    whole = law.hvp(tuple(primals.values()), {"tau": tau}, tuple(zeros))
    for name, other in zip(primals, whole, strict=True):
        np.testing.assert_allclose(second[name], other, rtol=1e-9, atol=1e-9 * (1.0 + np.abs(other).max()))
    assert np.abs(second["stiffness"]).max() > 1e-3
    gain = law.jacobian("error", "target")(q, qd, target, stiffness=k)
    assert gain.shape == (2, 6, 4, 4)


def test_more_results_than_compiled_code_fills_one_by_one_and_more_axes() -> None:
    def many(q: Any, a: Any, empty: Any, robot: Any) -> Any:
        x = np.sin(q)
        tall = np.stack([a, 2.0 * a]) * x[0]
        return {"tall": tall, "none": empty, **{f"x{k}": k * x for k in range(20)}}

    f = PANDA.function(many, a=(2, 3, 4), empty=0)
    q, _, _ = state(PANDA, (3,))
    a = np.arange(24.0).reshape(2, 3, 4)
    made = f(q, a, np.zeros(0))
    assert made["tall"].shape == (3, 2, 2, 3, 4)
    assert made["none"].shape == (3, 0)
    np.testing.assert_allclose(made["tall"][1, 1], 2.0 * a * np.sin(q[1, 0]), rtol=1e-14)
    np.testing.assert_allclose(made["x19"], 19.0 * np.sin(q), rtol=1e-14)
    out = {name: np.zeros_like(x) for name, x in made.items()}
    f.bind(q, a, np.zeros(0), out=out)()
    assert all(np.array_equal(out[name], made[name]) for name in made)


def test_arguments_replace_numbers_of_the_robot() -> None:
    def energy(q: Any, inertias: Any, gravity: Any, robot: Any) -> Any:
        return robot.potential_energy(q) + 0.0 * gravity[0], robot.gravity_forces(q)

    f = PANDA.function(energy)
    q, _, _ = state(PANDA)
    inertias = 1.5 * PANDA.inertial_parameters.reshape(-1, 10)
    value, forces = f(q, inertias, np.array([0.0, 0.0, -5.0]))
    other = PANDA.replace(gravity=(0.0, 0.0, -5.0))
    np.testing.assert_allclose(value, other.potential_energy(q, inertias=inertias), rtol=1e-12)
    np.testing.assert_allclose(forces, other.gravity_forces(q, inertias=inertias), rtol=1e-12, atol=1e-12)


def test_it_says_what_it_is_and_travels(law: Any) -> None:
    assert law.signature == "(7),(7),(4,4),(6)->(7),(6)"
    assert "osc" in repr(law)
    assert law.cost.total > 1000
    assert law.cost.trigonometric == 14
    assert "sin" in str(law.program())
    again = pickle.loads(pickle.dumps(law))
    arrays = given()
    assert np.array_equal(again(*arrays)["tau"], law(*arrays)["tau"])
    slope = pickle.loads(pickle.dumps(law.jacobian("tau", "q")))
    assert np.array_equal(slope(*arrays), law.jacobian("tau", "q")(*arrays))


def test_wrong_calls_are_explained(law: Any) -> None:
    q, qd, target, k = given((2,))
    for call, message in {
        (lambda: law(q, qd, target)): "osc: got no stiffness",
        (lambda: law(q, qd, target, stifness=k)): 'did you mean "stiffness"',
        (lambda: law(q, qd, target, k, k)): "got 5 arguments by position",
        (lambda: law(q, qd, target, k, q=q)): "got 'q' twice",
        (lambda: law(q[..., :5], qd, target, k)): r"osc: q has shape \(2, 5\), expected \(…, 7\)",
        (lambda: law(q, np.zeros((3, 7)), target, k)): "do not broadcast",
        (lambda: law(q, qd, target, ["a"] * 6)): "stiffness has dtype",
        (lambda: law.jacobian("tua", "q")): "of is 'tua'",
        (lambda: law.jvp((q, qd), (q, qd))): "primals are 2 arrays, expected a tuple of 4",
        (lambda: law.vjp((q, qd, target, k), {"tua": qd})): "'tua'",
    }.items():
        with pytest.raises(px.PhalanxError, match=message):
            call()


def test_threads_share_the_batch_of_bound_arrays() -> None:
    f = PANDA.function(lambda q, robot: robot.gravity_forces(q))
    q = PANDA.random_state((4000,), rng=3)[0]
    out = np.empty_like(q)
    f.bind(q, out=out, threads=2)()
    assert np.array_equal(out, f(q))
    with pytest.raises(px.PhalanxError, match=r"bind: threads: got 0, expected a positive integer or None"):
        f.bind(q, out=out, threads=0)


def test_determinants_of_up_to_six_rows_and_of_mass_matrices() -> None:
    numbers = np.random.default_rng(2).normal(size=(4, 6, 6))
    numbers[0, :, 2] = 0.0  # singular
    for n in range(1, 7):
        f = PANDA.function(lambda m, robot: np.linalg.det(m), m=(n, n))
        np.testing.assert_allclose(f(numbers[:, :n, :n]), np.linalg.det(numbers[:, :n, :n]), atol=1e-13)
    slope = f.jacobian()(numbers[1])  # the adjugate, transposed
    np.testing.assert_allclose(slope, np.linalg.det(numbers[1]) * np.linalg.inv(numbers[1]).T, atol=1e-11)
    q = PANDA.random_state((3,), rng=1)[0]
    mass = PANDA.function(lambda q, robot: np.linalg.det(robot.mass_matrix(q)))
    np.testing.assert_allclose(mass(q), np.linalg.det(PANDA.mass_matrix(q)), rtol=1e-11)
    with pytest.raises(px.PhalanxError, match=r"of shape \(7, 7\); expected a square one of up to 6 rows"):
        PANDA.function(lambda m, robot: np.linalg.det(m), m=(7, 7))
