# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives against differences, against each other, and what they say of wrong calls."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.products import derivative_of
from phalanx.program.lowering import lowered
from reference.effort import calls_of
from reference.sampling import agree

JOINTS = ("revolute", "prismatic", "spherical", "floating", "planar", "universal", "helical")
ROBOTS = {
    "ur5": px.load("ur5"),
    "tree": px.tree(6, seed=2),
    "joints": px.tree(5, seed=5, joints=JOINTS),
    "floating": px.load("ur5").with_floating_base(),
}
STEP = 1e-6
ONE_RESULT = [f.name for f in FUNCTIONS.values() if len(f.outputs) == 1]
MATRICES = [a for f in FUNCTIONS.values() if len(f.outputs) > 1 for a in px.algorithms(f.name)]


def states(robot: px.Robot, function: str, batch: Any = 3) -> tuple[np.ndarray, ...]:
    q, qd, qdd = robot.random_state(batch, rng=1)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": 10.0 * qdd}
    return tuple(known[name] for name in FUNCTIONS[function].inputs)


def moved(robot: px.Robot, inputs: tuple[np.ndarray, ...], by: list[np.ndarray], step: float) -> list[Any]:
    """Inputs a step further along tangents."""
    rest = [x + step * d for x, d in zip(inputs[1:], by[1:], strict=True)]
    return [robot.integrate(inputs[0], step * by[0]), *rest]


def named(robot: px.Robot, function: str) -> dict[str, Any]:
    return {"frame": robot.link_names[-1]} if FUNCTIONS[function].frame else {}


def slope(f: Any, robot: px.Robot, inputs: Any, tangents: list[np.ndarray]) -> Any:
    """The central difference of a function, or of a tuple of them."""
    ahead, back = (f(*moved(robot, inputs, tangents, sign * STEP)) for sign in (1.0, -1.0))
    if isinstance(ahead, tuple):
        return tuple((a - b) / (2 * STEP) for a, b in zip(ahead, back, strict=True))
    return (ahead - back) / (2 * STEP)


# ----------------------------------------------------------------------------------- products


@pytest.mark.parametrize("function", ONE_RESULT)
@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_products_are_slopes_and_belong_together(robot: px.Robot, function: str) -> None:
    if FUNCTIONS[function].full_rank and "" not in robot.q_slices:
        robot = robot.with_floating_base()
    inputs, frame = states(robot, function), named(robot, function)
    rng = np.random.default_rng(2)
    tangents = [rng.standard_normal((3, robot.nv)) for _ in inputs]
    value = getattr(robot, function)(*inputs, **frame, backend="numpy")
    cotangent = rng.standard_normal(value.shape)
    along = robot.jvp(function, inputs, tangents, backend="numpy", **frame)
    wanted = slope(lambda *x: getattr(robot, function)(*x, **frame, backend="numpy"), robot, inputs, tangents)
    agree(along, wanted, 1e-7, least=1.0)
    back = robot.vjp(function, inputs, cotangent, backend="numpy", **frame)
    assert [x.shape for x in back] == [(3, robot.nv)] * len(inputs)
    mine = np.sum(cotangent * along, axis=tuple(range(1, value.ndim)))
    agree(sum(np.sum(b * t, axis=-1) for b, t in zip(back, tangents, strict=True)), mine, 1e-12, least=1.0)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "frame_pose"])
@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_second_derivatives_are_slopes_of_first_ones(robot: px.Robot, function: str) -> None:
    inputs, frame = states(robot, function), named(robot, function)
    rng = np.random.default_rng(3)
    tangents = [rng.standard_normal((3, robot.nv)) for _ in inputs]
    cotangent = rng.standard_normal(getattr(robot, function)(*inputs, **frame, backend="numpy").shape)
    found = robot.hvp(function, inputs, cotangent, tangents, backend="numpy", **frame)
    wanted = slope(
        lambda *x: robot.vjp(function, x, cotangent, backend="numpy", **frame), robot, inputs, tangents
    )
    for mine, theirs in zip(found, wanted, strict=True):
        agree(mine, theirs, 1e-6, least=1.0)


@pytest.mark.parametrize(
    ("robot", "function", "backend"),
    [
        ("ur5", "inverse_dynamics", "native"),
        ("ur5", "forward_dynamics", "native"),
        ("joints", "frame_pose", "native"),
        ("joints", "kinetic_energy", "native"),
        ("joints", "inverse_dynamics", "jax"),
        ("ur5", "frame_pose", "jax"),
    ],
)
def test_backends_agree_on_products(robot: Any, function: str, backend: str) -> None:
    robot = ROBOTS[robot]
    inputs, frame = states(robot, function), named(robot, function)
    rng = np.random.default_rng(4)
    tangents = [rng.standard_normal((3, robot.nv)) for _ in inputs]
    cotangent = rng.standard_normal(getattr(robot, function)(*inputs, **frame, backend="numpy").shape)
    for name, more in (("jvp", (tangents,)), ("vjp", (cotangent,)), ("hvp", (cotangent, tangents))):
        product = getattr(robot, name)
        found = product(function, inputs, *more, backend=backend, **frame)
        wanted = product(function, inputs, *more, backend="numpy", **frame)
        for mine, theirs in zip(found, wanted, strict=True):
            agree(mine, theirs, 1e-11, least=1.0)


@pytest.mark.parametrize("backend", ["numpy", "native", "jax"])
@pytest.mark.parametrize("name", ["tree", "floating"])
def test_the_value_comes_with_its_derivatives(name: str, backend: str) -> None:
    robot = ROBOTS[name].replace(armature=0.1)
    q, qd, qdd = robot.random_state(4, rng=2)
    for algorithm in ("idsva", "carpentier_mansard"):
        d = robot.inverse_dynamics_derivatives(q, qd, qdd, value=True, algorithm=algorithm, backend=backend)
        agree(d.tau, robot.inverse_dynamics(q, qd, qdd, backend="numpy"), 1e-12)
        agree(d[:3], tuple(robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")), 1e-11)
    out = (*(np.empty((4, robot.nv, robot.nv)) for _ in range(3)), np.empty((4, robot.nv)))
    *_, accelerations = robot.forward_dynamics_derivatives(q, qd, d.tau, value=True, backend=backend, out=out)
    agree(accelerations, qdd, 1e-9)
    assert accelerations is out[-1]


def test_values_of_long_robots_come_from_loops() -> None:
    robot = px.chain(60)
    q, qd, qdd = robot.random_state(3, rng=2)
    d = robot.inverse_dynamics_derivatives(q, qd, qdd, value=True)
    agree(d.tau, robot.inverse_dynamics(q, qd, qdd, backend="numpy"), 1e-12)
    agree(d[:3], tuple(robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")), 1e-11)
    f = robot.forward_dynamics_derivatives(q, qd, d.tau, value=True)
    agree(f.qdd, qdd, 1e-7)
    with pytest.raises(px.PhalanxError, match="value=3, expected True or False"):
        robot.inverse_dynamics_derivatives(q, qd, qdd, value=3)


def test_kernels_of_products_are_bound_and_pickled_like_others() -> None:
    robot = ROBOTS["ur5"]
    inputs = states(robot, "forward_dynamics", 20)
    cotangent = np.random.default_rng(5).standard_normal((20, 6))
    kernel = robot.kernel("forward_dynamics").vjp
    assert kernel.signature == "(6),(6),(6),(6)->(6),(6),(6)"
    found = kernel(*inputs, cotangent)
    for mine, theirs in zip(found, robot.vjp("forward_dynamics", inputs, cotangent), strict=True):
        assert np.array_equal(mine, theirs)
    again = pickle.loads(pickle.dumps(kernel))
    out = tuple(np.zeros(6) for _ in range(3))
    again.bind(*(x[7].copy() for x in inputs), cotangent[7].copy(), out=out)()
    assert all(np.array_equal(mine, theirs[7]) for mine, theirs in zip(out, found, strict=True))


# ----------------------------------------------------------------------------------- matrices


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize("entry", MATRICES, ids=lambda entry: entry.name)
def test_matrices_are_made_of_products(robot: px.Robot, entry: Any) -> None:
    function = entry.function.removesuffix("_derivatives")
    inputs = states(robot, function)
    external = np.random.default_rng(6).standard_normal((3, robot.n_links, 6))
    found = getattr(robot, entry.function)(*inputs, external=external, algorithm=entry.name, backend="numpy")
    for k, matrix in enumerate(found):
        for j in range(robot.nv):
            tangents = [np.zeros(robot.nv) for _ in inputs]
            tangents[k][j] = 1.0
            column = robot.jvp(function, inputs, tangents, external=external, backend="numpy")
            agree(matrix[..., j], column, 1e-10, least=float(np.abs(matrix).max()))


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_identities_of_matrices(robot: px.Robot) -> None:
    q, qd, tau = states(robot, "forward_dynamics")
    forward = robot.forward_dynamics_derivatives(q, qd, tau, backend="numpy")
    qdd = robot.forward_dynamics(q, qd, tau, backend="numpy")
    inverse = robot.inverse_dynamics_derivatives(q, qd, qdd, backend="numpy")
    M = robot.mass_matrix(q, backend="numpy")
    agree(inverse.dqdd, M, 1e-13)
    agree(forward.dtau @ M, np.broadcast_to(np.eye(robot.nv), M.shape), 1e-9)
    agree(forward.dq, -forward.dtau @ inverse.dq, 1e-9)
    agree(forward.dqd, -forward.dtau @ inverse.dqd, 1e-9)
    C = robot.coriolis_matrix(q, qd, backend="numpy")
    agree(robot.jvp("mass_matrix", (q,), (qd,), backend="numpy"), C + np.swapaxes(C, -1, -2), 1e-12)
    bias = robot.bias_forces(q, qd, backend="numpy") - robot.gravity_forces(q, backend="numpy")
    agree((C @ qd[..., None])[..., 0], bias, 1e-12)


def test_the_mass_matrix_of_a_chain_too_long_for_columns_in_lanes_is_differentiated() -> None:
    robot = px.chain(33, seed=2)
    q, qd, _ = robot.random_state(rng=1)
    by_arrays = robot.jvp("mass_matrix", (q,), (qd,), backend="numpy", algorithm="crba")
    agree(robot.jvp("mass_matrix", (q,), (qd,)), by_arrays, 1e-12)


@pytest.mark.parametrize("algorithm", [a.name for a in px.algorithms("inverse_dynamics_derivatives")])
def test_coupled_joints_are_projected(algorithm: str) -> None:
    chain = px.chain(4, seed=3)
    joints = list(chain.description.joints)
    from phalanx.robot.description import Mimic

    joints[2] = replace(joints[2], mimic=Mimic(joints[0].name, 0.5, 0.1))
    robot = px.Robot(replace(chain.description, joints=tuple(joints)))
    inputs = states(robot, "inverse_dynamics")
    found = robot.inverse_dynamics_derivatives(*inputs, algorithm=algorithm, backend="numpy")
    for k, matrix in enumerate(found):
        for j in range(robot.nv):
            tangents = [np.zeros(robot.nv) for _ in inputs]
            tangents[k][j] = 1.0
            agree(matrix[..., j], robot.jvp("inverse_dynamics", inputs, tangents, backend="numpy"), 1e-11)


# ----------------------------------------------------------------------------------- inertias


def test_a_mass_below_zero_is_refused_and_a_nan_is_its_states_own() -> None:
    robot = px.load("two_link")
    q, qd, qdd = robot.random_state(3, rng=1)
    inertias = np.tile(robot.inertial_parameters.reshape(-1, 10), (3, 1, 1))
    bad, strange = inertias.copy(), inertias.copy()
    bad[1, 1, 0], strange[1, 1, 0] = -1.0, np.nan
    where = rf'link "{robot.link_names[1]}" of robot "{robot.name}" has the mass -1 kg'
    kernel = robot.kernel("inverse_dynamics")
    expected = kernel(q, qd, qdd, inertias=inertias)
    calls = (robot.inverse_dynamics, kernel, partial(robot.inverse_dynamics, backend="numpy"))
    for call in (*calls, *calls):  # compiled by the first round, on the fast path in the second
        with pytest.raises(px.PhalanxError, match=rf"inertias: {where} at \[1\] of the batch; expected >= 0"):
            call(q, qd, qdd, inertias=bad)
        with pytest.raises(px.PhalanxError, match=rf"inertias: {where}; expected >= 0"):
            call(q[1], qd[1], qdd[1], inertias=bad[1])
        found = call(q, qd, qdd, inertias=strange)
        assert np.isnan(found[1]).any()
        agree(found[[0, 2]], expected[[0, 2]], 1e-13)
    with pytest.raises(px.PhalanxError, match=rf"^inverse_dynamics\.jvp: inertias: {where}"):
        robot.jvp("inverse_dynamics", (q, qd, qdd), (qd, qd, qd), inertias=bad)
    with pytest.raises(px.PhalanxError, match=rf"^bind: inertias: {where}"):
        kernel.bind(q, qd, qdd, inertias=bad, out=np.empty((3, 2)))
    many = np.concatenate((np.tile(strange, (20, 1, 1)), bad))  # NumPy looks for it, and for NaN
    with pytest.raises(px.PhalanxError, match=rf"{where} at \[61\] of the batch"):
        kernel(q[0], qd[0], qdd[0], inertias=many)
    kernel(q[0], qd[0], qdd[0], inertias=many[:60])
    simulation = robot.simulation(parameters=("inertias",))
    with pytest.raises(px.PhalanxError, match=rf"^rollout: parameter 'inertias': {where}"):
        simulation.rollout(q, qd, parameters={"inertias": bad}, steps=1)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_given_inertias_are_those_of_other_robots(backend: str) -> None:
    robot = px.load("panda")
    inputs = states(robot, "inverse_dynamics", 4)
    masses = np.array([0.3, 1.0, 2.0, 0.0])
    loaded = [
        robot.with_payload(robot.link_names[-1], m, (0.1, 0.0, 0.2), np.diag([0.01] * 3)) for m in masses
    ]
    inertias = np.stack([r.inertial_parameters.reshape(-1, 10) for r in loaded])
    for function in ("inverse_dynamics", "forward_dynamics", "kinetic_energy"):
        given = states(robot, function, 4)
        found = getattr(robot, function)(*given, inertias=inertias, backend=backend)
        for k, other in enumerate(loaded):
            alone = getattr(other, function)(*(x[k] for x in given), backend=backend)
            agree(found[k], alone, 1e-12)
    tau = robot.inverse_dynamics(*inputs, inertias=inertias, backend=backend)
    Y = robot.regressor(*inputs, backend=backend)
    agree((Y @ inertias.reshape(4, -1, 1))[..., 0] + robot.armature * inputs[2], tau, 1e-12)


# ----------------------------------------------------------------------------------- wrong calls


def test_wrong_calls_say_what_was_expected() -> None:
    robot = ROBOTS["ur5"]
    q, qd, tau = states(robot, "forward_dynamics")
    for wrong, message in (
        (
            lambda: robot.vjp("forward_dynamics", (q, qd), tau),
            "primals are 2 arrays, expected a tuple of 3: q, qd",
        ),
        (lambda: robot.vjp("forward", (q, qd, tau), tau), "unknown function 'forward'"),
        (lambda: robot.vjp("forward_dynamics", (q, qd, tau), tau[:, :3]), r"cotangent has shape \(3, 3\)"),
        (
            lambda: robot.jvp("forward_dynamics", (q, qd, tau), q),
            "tangents are ndarray, expected a tuple of 3",
        ),
        (lambda: robot.hvp("regressor", (q, qd, tau), tau, (q, qd, tau)), "cotangent has shape"),
        (lambda: robot.jvp("inverse_dynamics_derivatives", (q,), (q,)), "has several results"),
        (lambda: robot.kernel("inverse_dynamics_derivatives").vjp, "take that of a function with one result"),
        (lambda: robot.kernel("inverse_dynamics").vjp(q, qd), "got 2 inputs, expected q, qd, qdd, cotangent"),
        (
            lambda: robot.inverse_dynamics_derivatives(q, qd, tau, out=q),
            "out is ndarray, expected a tuple of 3",
        ),
        (
            lambda: robot.forward_dynamics(q, qd, tau, inertias=np.ones((6, 10)), algorithm="cfa"),
            'to give others, use "aba", "jsiia"',
        ),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            wrong()


def test_several_results_fill_several_arrays() -> None:
    robot = ROBOTS["ur5"]
    inputs = states(robot, "inverse_dynamics", 9)
    wanted = robot.inverse_dynamics_derivatives(*inputs)
    assert wanted._fields == ("dq", "dqd", "dqdd")
    out = tuple(np.full((9, 6, 6), np.nan) for _ in range(3))
    assert robot.inverse_dynamics_derivatives(*inputs, out=out) is out
    assert all(np.array_equal(a, b) for a, b in zip(out, wanted, strict=True))
    with pytest.raises(px.PhalanxError, match="two of its arrays share memory"):
        robot.inverse_dynamics_derivatives(*inputs, out=(out[0], out[0], out[1]))
    with pytest.raises(px.PhalanxError, match=r"out, dqdd has shape \(3, 6, 6\)"):
        robot.inverse_dynamics_derivatives(*inputs, out=(out[0], out[1], out[2][:3]))


def test_a_nan_stays_in_its_state() -> None:
    robot = ROBOTS["ur5"]
    q, qd, tau = (x.copy() for x in states(robot, "forward_dynamics", 9))
    wanted = robot.forward_dynamics_derivatives(q, qd, tau)
    q[4, 2] = np.nan
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    others = np.arange(9) != 4
    for mine, theirs in zip(found, wanted, strict=True):
        assert np.isnan(mine[4]).any()
        assert np.array_equal(mine[others], theirs[others])


def test_several_results_and_optional_inputs_are_compiled_once_and_then_need_no_checks() -> None:
    robot = px.load("panda")
    inputs = robot.random_state(9, rng=1)
    inertias = np.stack([robot.inertial_parameters.reshape(-1, 10) * s for s in np.linspace(1.0, 2.0, 9)])
    external = np.random.default_rng(2).standard_normal((9, robot.n_links, 6))
    cotangent = np.random.default_rng(3).standard_normal((9, 7))
    several, one = robot.kernel("inverse_dynamics_derivatives"), robot.kernel("inverse_dynamics")
    product = one.vjp
    for kernel, arrays in ((several, inputs), (one, inputs), (product, (*inputs, cotangent))):
        for more in ({}, {"inertias": inertias}, {"inertias": inertias, "external": external}):
            wanted = kernel(*arrays, **more)
            checked, kernel._evaluate = kernel._evaluate, None  # the slow path
            found = kernel(*arrays, **more)
            out = kernel(*arrays, **more, out=tuple(map(np.zeros_like, found)) if kernel is not one else None)
            kernel._evaluate = checked
            for mine in (found, out):
                assert np.array_equal(np.asarray(mine), np.asarray(wanted))
    lists = [x.tolist() for x in inputs]  # all of them are checked
    for more in ({"inertias": inertias}, {"external": external, "inertias": inertias}):
        assert np.array_equal(robot.inverse_dynamics(*inputs, **more), one(*inputs, **more))
        quick = calls_of(lambda more=more: robot.inverse_dynamics(*inputs, **more))
        checked = calls_of(lambda more=more: robot.inverse_dynamics(*lists, **more))
        assert quick < 0.4 * checked


def test_places_for_results_that_do_not_fit_are_refused_as_before() -> None:
    robot = ROBOTS["ur5"]
    inputs = states(robot, "inverse_dynamics", 9)
    kernel = robot.kernel("inverse_dynamics_derivatives")
    wanted = kernel(*inputs)
    good = [np.zeros((9, 6, 6)) for _ in range(3)]
    frozen = np.zeros((9, 6, 6))
    frozen.flags.writeable = False
    for out, message in (
        ((good[0], good[0], good[1]), "two of its arrays share memory"),
        ((good[0], frozen, good[1]), "dqd is read-only"),
        ((good[0], good[1][:1], good[2]), r"dqd has shape \(1, 6, 6\)"),
        ((good[0], good[1].astype(np.float32), good[2]), "dtype float32"),
        ((good[0], good[1]), "out is 2 arrays"),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            kernel(*inputs, out=out)
    # Results in the memory of an input are those of the input before.
    both = np.zeros((9, 6, 6))
    both[:, 0] = inputs[0]
    kernel(both[:, 0], *inputs[1:], out=(both, *good[:2]))
    assert all(np.array_equal(a, b) for a, b in zip((both, *good[:2]), wanted, strict=True))


@pytest.mark.parametrize("backend", ["auto", "numpy", "jax"])
@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "frame_pose", "center_of_mass", "centroidal_momentum"]
)
def test_products_of_a_robot_without_joints_are_zero_or_empty(function: str, backend: Any) -> None:
    if backend == "jax":
        pytest.importorskip("jax")
    robot = px.load("two_link")
    still = robot.fix(dict.fromkeys(robot.joint_names, 0.0))
    none = tuple(np.zeros((3, 0)) for _ in FUNCTIONS[function].inputs)
    more = {"frame": "link2"} if FUNCTIONS[function].frame else {}
    result = np.shape(getattr(still, function)(*none, **more))
    along = still.jvp(function, none, none, backend=backend, **more)
    np.testing.assert_array_equal(along, np.zeros(result))
    for made in (
        still.vjp(function, none, np.ones(result), backend=backend, **more),
        still.hvp(function, none, np.ones(result), none, backend=backend, **more),
    ):
        assert [x.shape for x in made] == [(3, 0)] * len(none)


# ----------------------------------------------------------------------------------- long robots


def test_products_without_loops_are_those_that_the_page_names() -> None:
    """`docs/howto/derivatives.md`, "Long robots"."""
    robot = px.chain(100)
    without = []
    for function in ONE_RESULT:
        frame = robot.frame_names[-1] if FUNCTIONS[function].frame else None
        try:
            made = lowered(derivative_of(robot, "jvp", function, "auto", frame), ())
        except px.PhalanxError:  # too long to compile
            without.append(function)
        else:
            assert not isinstance(made, list), function
    page = (Path(__file__).parents[1] / "docs" / "howto" / "derivatives.md").read_text(encoding="utf-8")
    told = page.partition("or more: products of ")[2].partition("straight-line code")[0]
    assert sorted(without) == sorted(re.findall(r"`(\w+)`", told))


def test_inertias_are_the_parameters_of_the_robot_in_rows() -> None:
    robot = px.load("ur5")
    told = " ".join((robot.inverse_dynamics.__doc__ or "").split())
    assert "`robot.inertial_parameters.reshape(-1, 10)`" in told
    rows = robot.inertial_parameters.reshape(-1, 10)
    assert rows.shape == (robot.n_links, 10)
    q, qd, qdd = robot.random_state(rng=0)
    agree(robot.inverse_dynamics(q, qd, qdd, inertias=rows), robot.inverse_dynamics(q, qd, qdd), 1e-12)
