# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The functions of `robot.jax` against the NumPy reference, under JAX's transformations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from reference.hand import COUPLED
from reference.sampling import MOVING_TYPES, agree, pairwise

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

# A chain by another joint, trees of all joint types, and joints that follow others.
ROBOTS = ("arm", "mixed tree", "floating", "coupled", "long chain")
SCHEDULES = ("sequential", "doubling")
FRAMED = [f.name for f in FUNCTIONS.values() if f.frame]


@cache
def robot_of(kind: str) -> px.Robot:
    if kind == "arm":
        return px.load("panda")
    if kind == "coupled":
        return px.load(COUPLED)
    if kind == "long chain":
        return px.chain(20, prismatic=0.3)
    if kind == "floating":
        return px.tree(4, 0.6, seed=3).with_floating_base()
    mixed = px.tree(9, 0.6, seed=1, joints=MOVING_TYPES)
    return mixed.replace(armature=np.full(mixed.nv, 0.2))


def state(robot: px.Robot, batch: Any = ()) -> dict[str, Any]:
    q, qd, qdd = robot.random_state(batch, rng=4)
    return {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}


def call(owner: Any, function: str, values: dict[str, Any], robot: px.Robot, **more: Any) -> Any:
    frame = {"frame": robot.frame_names[-1]} if function in FRAMED else {}
    return getattr(owner, function)(*(values[n] for n in FUNCTIONS[function].inputs), **frame, **more)


DYNAMICS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


@pytest.mark.parametrize(("kind", "function", "schedule"), pairwise(ROBOTS, DYNAMICS, SCHEDULES))
def test_dynamics_equal_those_of_numpy(kind: str, function: str, schedule: str) -> None:
    robot = robot_of(kind)
    values = state(robot, (2, 3))
    wanted = call(robot, function, values, robot, backend="numpy")
    result = call(robot.jax, function, values, robot, schedule=schedule)
    assert result.dtype == np.float64
    growth = np.linalg.cond(robot.mass_matrix(values["q"], backend="numpy")).max()
    agree(np.asarray(result), wanted, 1e-12 if function != "forward_dynamics" else 1e-14 * growth + 1e-12)


@pytest.mark.parametrize(
    ("function", "kind", "schedule"), pairwise(FUNCTIONS, ["arm", "mixed tree"], SCHEDULES)
)
def test_every_function_serves_one_state(function: str, kind: str, schedule: str) -> None:
    robot = robot_of("arm" if FUNCTIONS[function].full_rank else kind)
    values = state(robot)
    wanted = call(robot, function, values, robot, backend="numpy")
    agree(np.asarray(call(robot.jax, function, values, robot, schedule=schedule)), wanted, 1e-10)


def test_vmap_equals_the_batch() -> None:
    robot = robot_of("arm")
    values = state(robot, 5)
    batch = call(robot.jax, "forward_dynamics", values, robot)
    mapped = jax.jit(jax.vmap(robot.jax.forward_dynamics))(values["q"], values["qd"], values["tau"])
    agree(np.asarray(mapped), np.asarray(batch), 1e-13)


def test_batches_broadcast_and_may_be_empty() -> None:
    robot = robot_of("arm")
    q, qd, _ = robot.random_state((3, 1), rng=0)
    result = robot.jax.bias_forces(q, qd[0, 0])
    agree(np.asarray(result), robot.bias_forces(q, qd[0, 0], backend="numpy"), 1e-13)
    assert robot.jax.mass_matrix(np.zeros((0, 7))).shape == (0, 7, 7)


def test_optional_inputs_are_those_of_the_methods() -> None:
    robot = robot_of("mixed tree")
    values, rng = state(robot), np.random.default_rng(0)
    wrench, motion = rng.standard_normal((robot.n_links, 6)), rng.standard_normal((2, 6))
    more = {"external": wrench, "base_velocity": motion[0], "base_acceleration": motion[1]}
    wanted = robot.inverse_dynamics(values["q"], values["qd"], values["qdd"], **more, backend="numpy")
    for schedule in SCHEDULES:
        result = call(robot.jax, "inverse_dynamics", values, robot, **more, schedule=schedule)
        agree(np.asarray(result), wanted, 1e-12)


def test_float32_in_float32_out() -> None:
    robot = robot_of("arm")
    values = {k: v.astype(np.float32) for k, v in state(robot, 4).items()}
    result = call(robot.jax, "inverse_dynamics", values, robot)
    assert result.dtype == np.float32
    agree(np.asarray(result), call(robot, "inverse_dynamics", values, robot, backend="numpy"), 1e-5)


def test_float64_without_x64_is_refused_with_the_remedy() -> None:
    robot = robot_of("arm")
    q = np.zeros(7)
    with jax.enable_x64(False):
        with pytest.raises(px.PhalanxError, match=r'jax\.config\.update\("jax_enable_x64", True\)'):
            robot.jax.gravity_forces(q)
        assert robot.jax.gravity_forces(q.astype(np.float32)).dtype == np.float32
        assert robot.jax.gravity_forces([0.0] * 7).dtype == np.float32
        # The backend for NumPy arrays keeps their precision whatever JAX is set to.
        assert robot.gravity_forces(q, backend="jax").dtype == np.float64


def test_functions_may_be_called_inside_jit_scan_and_remat() -> None:
    robot = robot_of("arm")
    q, qd, _ = robot.random_state((), rng=1)

    @jax.jit
    def simulate(q: Any, qd: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, qd = state
            qdd = robot.jax.forward_dynamics(q, qd, jnp.zeros(7))
            return (q + 1e-3 * qd, qd + 1e-3 * qdd), robot.jax.kinetic_energy(q, qd)

        return jax.lax.scan(step, (q, qd), None, length=3)

    (last, _), energy = simulate(q, qd)
    for _ in range(3):
        qdd = robot.forward_dynamics(q, qd, np.zeros(7), backend="numpy")
        q, qd = q + 1e-3 * qd, qd + 1e-3 * qdd
    agree(np.asarray(last), q, 1e-12)
    assert energy.shape == (3,)


@pytest.mark.parametrize("levels", [0, 100])
def test_loops_and_written_out_levels_agree(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.backends.jax import levels as module

    monkeypatch.setitem(module.UNROLLED, "cpu", levels)
    robot = px.tree(6, 0.5, seed=8)
    values = state(robot)
    for function in ("inverse_dynamics", "mass_matrix"):
        wanted = call(robot, function, values, robot, backend="numpy")
        agree(np.asarray(call(robot.jax, function, values, robot)), wanted, 1e-12)
    result = call(robot.jax, "forward_dynamics", values, robot, algorithm="aba")
    agree(np.asarray(result), call(robot, "forward_dynamics", values, robot, backend="numpy"), 1e-10)


def test_links_without_an_inverse_inertia_have_one_for_other_parameters_too() -> None:
    robot = px.load("two_link")
    q, qd, tau = robot.random_state(rng=1)
    heavy = {
        name: value * (1.0 if name == "gravity" else 1.25) for name, value in robot.jax.parameters().items()
    }
    found = robot.jax.forward_dynamics(q, qd, tau, algorithm="cfa", parameters=heavy)
    wanted = robot.jax.forward_dynamics(q, qd, tau, algorithm="aba", parameters=heavy)
    agree(np.asarray(found), np.asarray(wanted), 1e-12)


def test_doubling_refuses_recursions_and_names_those_that_can() -> None:
    robot = robot_of("arm")
    values = state(robot)
    with pytest.raises(px.PhalanxError, match=r'"aba" has no logarithmic depth.*"jsiia"'):
        call(robot.jax, "forward_dynamics", values, robot, algorithm="aba", schedule="doubling")


def test_doubling_says_why_an_algorithm_of_logarithmic_depth_does_not_help() -> None:
    builder, last = px.RobotBuilder("points"), "base"
    builder.add_link("base")
    for i, kind in enumerate(("spherical", "universal", "spherical")):
        solid = {"inertia": (0.1, 0.1, 0.2)} if i != 1 else {}
        builder.add_link(f"link{i}", mass=1.0, com=(0.1, 0.2, 0.3), **solid)
        builder.add_joint(f"joint{i}", kind, last, f"link{i}")
        last = f"link{i}"
    robot = builder.build()
    with pytest.raises(px.PhalanxError) as caught:
        call(robot.jax, "forward_dynamics", state(robot), robot, algorithm="aba", schedule="doubling")
    able, why = str(caught.value).split("; not ", 1)
    assert able.endswith('those that have for robot "points": "abia", "contraction", "jsiia"')
    assert why.startswith('"cfa": the inertia of link "link1" has no inverse; not "dca": the inertia of')
    tree = px.tree(5, 1.0, seed=1)
    with pytest.raises(px.PhalanxError, match='not "abia": it branches'):
        call(tree.jax, "forward_dynamics", state(tree), tree, algorithm="aba", schedule="doubling")


@pytest.mark.parametrize("shape", ["star", "binary", "caterpillar", "limbs"])
def test_trees_of_every_shape_have_forward_dynamics_in_logarithmic_depth(shape: str) -> None:
    index = np.arange(24)
    parents = {
        "star": np.minimum(index - 1, 0),
        "binary": (index - 1) // 2,
        "caterpillar": np.where(index % 2 == 1, index - 1, index - 2).clip(-1),
        "limbs": np.where(index % 8 == 0, -1, index - 1),
    }[shape]
    builder, rng = px.RobotBuilder(shape), np.random.default_rng(3)
    builder.add_link("base")
    for i, p in enumerate(parents.tolist()):
        builder.add_link(f"link{i}", mass=1.0 + rng.random(), com=rng.random(3), inertia=(0.1, 0.12, 0.15))
        kind = ("revolute", "spherical", "prismatic", "universal", "helical")[i % 5]
        more = {} if kind in ("spherical", "universal") else {"axis": rng.standard_normal(3)}
        more |= {"pitch": 0.1} if kind == "helical" else {}
        carrier = f"link{p}" if p >= 0 else "base"
        builder.add_joint(f"joint{i}", kind, carrier, f"link{i}", origin=rng.random(3), **more)
    robot = builder.build()
    values = state(robot, 2)
    wanted = call(robot, "forward_dynamics", values, robot, algorithm="aba", backend="numpy")
    found = call(robot.jax, "forward_dynamics", values, robot, schedule="doubling")
    agree(np.asarray(found), wanted, 1e-11)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros(3)}, r"q has shape \(3,\), expected \(…, 7\) for robot \"panda\" \(nq = 7\)"),
        ({"q": np.zeros((2, 7)), "qd": np.zeros((3, 7))}, "batch shapes .* do not broadcast"),
        ({"q": np.zeros(7, complex)}, "q has dtype complex128, expected an array of real numbers"),
        ({"q": [None] * 7}, "q has list, expected an array of real numbers"),
        ({"schedule": "fast"}, 'unknown schedule \'fast\'; known: "sequential", "doubling"'),
        ({"algorithm": "rnae"}, "unknown algorithm 'rnae'"),
    ],
)
def test_wrong_arguments_are_named(change: dict[str, Any], message: str) -> None:
    robot = robot_of("arm")
    given = {k: v for k, v in state(robot).items() if k != "tau"} | change
    with pytest.raises(px.PhalanxError, match=message):
        robot.jax.inverse_dynamics(**given)


def test_without_jax_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.backends import base

    def missing(path: str, package: str | None) -> Any:
        raise ModuleNotFoundError("No module named 'jax'", name="jax")

    monkeypatch.setattr(base, "import_module", missing)
    with pytest.raises(px.PhalanxError, match=r'pip install "\.\[jax\]" in a clone'):
        px.chain(2).jax  # noqa: B018
