# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Libraries that CasADi loads: values, exact first and second derivatives, and what Ipopt solves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")
pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def library(robot: Any, functions: Any, folder: Path, *flags: str, **options: Any) -> str:
    """The path of the library of these functions."""
    source, *_ = robot.export(folder / "arm.c", functions, casadi=True, **options)
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    made = folder / "arm.so"
    command = ["gcc", *strict, *flags, "-shared", "-fPIC", str(source), "-o", str(made), "-lm"]
    subprocess.run(command, check=True)
    return str(made)


def reach(q: Any, goal: Any, robot: Any) -> Any:
    """A matrix, so that its order in memory matters, and a vector."""
    pose = robot.frame_pose(q, robot.link_names[-1])
    return {"pose": pose[:3] * goal[0, 1], "away": goal[:, 0] - pose[:2, 3]}


def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return np.cos(t) * u - 0.3 * qd


ARM = px.load("ur5").fix({"elbow_joint": 0.3, "wrist_1_joint": 0.2})
TREE = px.tree(2, seed=2, joints=("floating", "revolute")).replace(armature=0.1)
ROBOTS = {"arm": ARM, "tree": TREE}


@pytest.mark.parametrize("name", ["tree", pytest.param("arm", marks=pytest.mark.exhaustive)])
def test_derivatives_are_those_of_differences(name: str, tmp_path: Path) -> None:
    """By all entries of all arguments, those of quaternions of any length among them."""
    robot, rng = ROBOTS[name], np.random.default_rng(0)
    q, qd, tau = robot.random_state((), rng)
    q = q * 1.1  # quaternions of another length
    plain, driven = robot.simulation(1e-2, limits=False), robot.simulation(1e-2, limits=False, control=law)
    functions = {
        "forward": "forward_dynamics",
        "jacobian": f"jacobian:{robot.link_names[-1]}",
        "reach": robot.function(reach, goal=(2, 2)),
        "step": plain,
        "driven": driven,
    }
    made = library(robot, functions, tmp_path, "-O0")
    known = {"q": q, "qd": qd, "tau": tau, "u": tau, "time": 0.3}
    known["goal"] = rng.normal(size=(2, 2))
    for each in functions:
        f = casadi.external(f"arm_{each}_casadi", made)
        arguments = [known[f.name_in(k)] for k in range(f.n_in())]
        _compare(f, arguments, rng, each)
    f = casadi.external("arm_reach_casadi", made)
    expected = reach(q, known["goal"], robot)
    for result, wanted in zip(f(q, known["goal"]), expected.values(), strict=True):
        np.testing.assert_allclose(result.full().squeeze(), wanted, rtol=1e-12, atol=1e-12)


def _compare(f: Any, arguments: list[Any], rng: Any, name: str) -> None:
    """The Jacobian, a product with it, gradient and Hessian of a weighted sum, against differences."""
    shapes = [f.size_in(k) for k in range(f.n_in())]
    sizes = np.cumsum([0, *(a * b for a, b in shapes)])
    x = casadi.MX.sym("x", int(sizes[-1]))
    parts = [
        casadi.reshape(x[int(a) : int(b)], *shape)
        for a, b, shape in zip(sizes, sizes[1:], shapes, strict=False)
    ]
    results = f(*parts)
    y = casadi.vertcat(*map(casadi.vec, results if isinstance(results, tuple) else (results,)))
    at = np.concatenate([np.ravel(a, order="F") for a in arguments])
    weights, along, h = rng.normal(size=y.numel()), rng.normal(size=at.size), 1e-6
    total = casadi.dot(casadi.DM(weights), y)
    wanted = [y, casadi.jacobian(y, x), casadi.jtimes(y, x, casadi.DM(along))]
    wanted += [casadi.gradient(total, x), casadi.hessian(total, x)[0]]
    all_of_it = casadi.Function("all", [x], wanted)
    _, J, product, gradient, H = (np.array(a.full()) for a in all_of_it(at))

    def slopes(k: int) -> np.ndarray:
        ends = [
            np.array(all_of_it(at + s * h * unit)[k].full()).ravel()
            for unit in np.eye(at.size)
            for s in (1, -1)
        ]
        return np.stack([(a - b) / (2 * h) for a, b in zip(ends[::2], ends[1::2], strict=True)], axis=-1)

    expected = slopes(0)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(J, expected, rtol=0, atol=1e-8 * scale, err_msg=name)
    np.testing.assert_allclose(product.ravel(), J @ along, rtol=1e-10, atol=1e-11 * scale, err_msg=name)
    np.testing.assert_allclose(gradient.ravel(), J.T @ weights, rtol=1e-10, atol=1e-11 * scale, err_msg=name)
    curved = slopes(3)
    np.testing.assert_allclose(H, curved, rtol=0, atol=2e-8 * max(scale, np.abs(curved).max()), err_msg=name)


def test_sparsity_is_that_of_the_function(tmp_path: Path) -> None:
    robot = px.load("ur5")
    made = library(robot, {"step": robot.simulation(1e-2, limits=False)}, tmp_path, "-O0")
    jacobian = casadi.external("jac_arm_step_casadi", made)
    assert jacobian.name_out(3) == "jac_next_q_time"
    assert jacobian.nnz_out(3) == 0  # no law reads the time
    assert jacobian.nnz_out(0) == robot.nq * robot.nq - (robot.nq - 1)  # nothing depends on the first angle
    hessian = casadi.external("jac_adj1_arm_step_casadi", made)
    sizes = {hessian.name_out(k): hessian.nnz_out(k) for k in range(hessian.n_out())}
    assert sizes["jac_adj_u_u"] == 0  # forces enter linearly
    assert 0 < sizes["jac_adj_q_u"] == sizes["jac_adj_u_q"]


def test_what_has_no_derivatives_says_so(tmp_path: Path) -> None:
    with pytest.warns(
        px.PhalanxWarning, match=r'inverse_dynamics of robot "chain.*" has no derivatives.*enable_fd'
    ):
        px.chain(700).export(tmp_path / "arm.c", "inverse_dynamics", casadi=True)
    robot = px.load("two_link")
    robot.export(tmp_path / "arm.c", "inverse_dynamics", casadi=True, derivatives=1)
    text = (tmp_path / "arm.c").read_text()
    assert "int jac_arm_inverse_dynamics_casadi(" in text
    assert "jac_adj1" not in text
    for options, told in (
        ({"derivatives": 1}, "casadi=True"),
        ({"derivatives": 3, "casadi": True}, "expected 0, 1 or 2"),
        ({"derivative": 1, "casadi": True}, "derivatives"),
    ):
        with pytest.raises(px.PhalanxError, match=told):
            robot.export(tmp_path / "arm.c", "inverse_dynamics", **options)
    with pytest.raises(px.PhalanxError, match=r"\.c files"):
        robot.export(tmp_path / "arm.h", "inverse_dynamics", casadi=True)


# ------------------------------------------------------------------- solved by Ipopt


def shooting(made: str, steps: int, q0: np.ndarray, nv: int, nu: int) -> dict[str, Any]:
    """A problem of multiple shooting from rest at q0: its variables and its constraints."""
    step = casadi.external("arm_step_casadi", made)
    q, v = (
        [casadi.MX.sym(f"{n}{k}", size) for k in range(steps + 1)] for n, size in (("q", q0.size), ("v", nv))
    )
    u = [casadi.MX.sym(f"u{k}", nu) for k in range(steps)]
    equal = [q[0] - q0, v[0]]
    for k in range(steps):
        after = step(q[k], v[k], u[k], 0.0)
        equal += [q[k + 1] - after[0], v[k + 1] - after[1]]
    return {"q": q, "v": v, "u": u, "equal": equal, "more": []}


def solved(p: dict[str, Any], cost: Any, first: np.ndarray, hessian: str) -> tuple[int, float, np.ndarray]:
    """Iterations, cost and solution."""
    x = casadi.vertcat(*p["q"], *p["v"], *p["u"])
    g = casadi.vertcat(*p["equal"], *p["more"])
    lower = np.zeros(g.numel())
    upper = np.where(np.arange(g.numel()) < casadi.vertcat(*p["equal"]).numel(), 0.0, np.inf)
    quiet = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.max_iter": 500}
    options = {**quiet, "ipopt.hessian_approximation": hessian}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, "f": cost, "g": g}, options)
    found = solver(x0=first, lbg=lower, ubg=upper)
    assert solver.stats()["success"], solver.stats()["return_status"]
    return solver.stats()["iter_count"], float(found["f"]), np.array(found["x"].full()).ravel()


def test_a_panda_reaches_above_a_table_with_exact_hessians(tmp_path: Path) -> None:
    robot, hand, steps = px.load("panda"), "panda_hand", 20
    place = robot.function(lambda q, robot: robot.frame_pose(q, hand)[:3, 3])
    sim = robot.simulation(0.05, limits=False)
    made = library(robot, {"step": sim, "place": place}, tmp_path, "-O0")
    position = casadi.external("arm_place_casadi", made)
    q0 = np.array([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8])
    p = shooting(made, steps, q0, robot.nv, robot.nv)
    goal = place(q0) + np.array([-0.1, 0.35, 0.1])
    p["equal"] += [position(p["q"][-1]) - goal, p["v"][-1]]
    p["more"] = [position(q)[2] - 0.4 for q in p["q"][1:]]  # the hand stays above the table
    cost = sum(1e-3 * casadi.sumsqr(u) for u in p["u"]) + sum(0.1 * casadi.sumsqr(v) for v in p["v"])
    hold = np.tile(robot.gravity_forces(q0), steps)
    first = np.concatenate([np.tile(q0, steps + 1), np.zeros(robot.nv * (steps + 1)), hold])
    exact, best, x = solved(p, cost, first, "exact")
    limited, other, _ = solved(p, cost, first, "limited-memory")
    assert best == pytest.approx(other, rel=1e-6)
    assert 2 * exact <= limited
    # What it found, by the simulation itself.
    n = robot.nq * (steps + 1)
    run = sim.rollout(q0, np.zeros(7), x[2 * n :].reshape(steps, 7), steps=steps)
    np.testing.assert_allclose(robot.frame_pose(run.final[0], hand)[:3, 3], goal, atol=1e-6)
    assert robot.frame_pose(run.q, hand)[..., 2, 3].min() > 0.4 - 1e-6


def quadruped() -> Any:
    """A trunk with four legs of three joints each."""
    builder = px.RobotBuilder("quadruped")
    builder.add_link("trunk", mass=8.0, inertia=(0.05, 0.15, 0.18))
    for leg, x, y in (("fl", 1, 1), ("fr", 1, -1), ("hl", -1, 1), ("hr", -1, -1)):
        names = ["trunk", *(f"{leg}_{part}" for part in ("hip", "thigh", "shank"))]
        builder.add_link(names[1], mass=0.5, com=(0, 0.03 * y, 0), inertia=(5e-4, 5e-4, 5e-4))
        builder.add_link(names[2], mass=0.7, com=(0, 0, -0.08), inertia=(3e-3, 3e-3, 5e-4))
        builder.add_link(names[3], mass=0.2, com=(0, 0, -0.1), inertia=(8e-4, 8e-4, 5e-5))
        for k, at in enumerate(((0.2 * x, 0.07 * y, 0), (0, 0.08 * y, 0), (0, 0, -0.2))):
            axis = (0, 1, 0) if k else (1, 0, 0)
            builder.add_joint(f"{leg}_{k}", "revolute", names[k], names[k + 1], origin=at, axis=axis)
        builder.add_frame(f"{leg}_foot", names[3], (0.0, 0.0, -0.2))
    return builder.build(floating_base=True)


@pytest.mark.exhaustive
def test_a_quadruped_turns_in_the_air_with_exact_hessians(tmp_path: Path) -> None:
    robot, steps = quadruped(), 10
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    place = robot.function(lambda q, robot: np.concatenate([robot.frame_pose(q, f)[:3, 3] for f in feet]))

    def joints(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.concatenate([np.zeros(6), u])

    sim = robot.simulation(0.04, limits=False, control=joints, controls=12)
    made = library(robot, {"step": sim, "place": place}, tmp_path, "-O0")
    position = casadi.external("arm_place_casadi", made)
    q0 = np.concatenate([[0, 0, 1, 0, 0, 0, 1], np.tile([0.0, 0.8, -1.6], 4)])
    p = shooting(made, steps, q0, robot.nv, 12)
    run = sim.rollout(q0, np.zeros(robot.nv), np.zeros(12), steps=steps)
    goal = place(np.concatenate([run.final[0][:7], np.tile([0.2, 1.0, -1.9], 4)]))
    p["equal"] += [p["q"][-1][4] - np.sin(0.1)]  # pitched by 0.2 radians
    cost = 1e2 * casadi.sumsqr(position(p["q"][-1]) - goal)
    cost += sum(1e-2 * casadi.sumsqr(v) for v in p["v"]) + sum(casadi.sumsqr(u) for u in p["u"])
    states = np.concatenate([q0, run.q.ravel(), np.zeros(robot.nv), run.qd.ravel()])
    first = np.concatenate([states, np.zeros(12 * steps)])
    exact, best, x = solved(p, cost, first, "exact")
    limited, other, _ = solved(p, cost, first, "limited-memory")
    assert best == pytest.approx(other, rel=1e-5)
    assert 2 * exact <= limited
    found = sim.rollout(q0, np.zeros(robot.nv), x[-12 * steps :].reshape(steps, 12), steps=steps)
    assert found.final[0][4] == pytest.approx(np.sin(0.1), abs=1e-6)
