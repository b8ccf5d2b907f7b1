# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Accelerations that joints and links resist, against dense linear algebra."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.algorithms.forward.implicit import implicit, implicit_aba, implicit_factor
from phalanx.program.builder import straight
from phalanx.program.graph import Graph, live
from phalanx.program.interpret import program_on_arrays
from phalanx.program.trace import BodyByBody, parameters
from phalanx.robot.description import Mimic
from phalanx.robot.model import link_wrenches, on_bodies
from phalanx.spatial import dense
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.sampling import agree, conditioning, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

KINDS = ("revolute", "prismatic", "helical", "universal", "planar", "spherical")


def mixed(n: int, seed: int) -> px.Robot:
    """A floating tree with joints of all types and rotors on all of them."""
    r = px.tree(n, 0.4, seed=seed, joints=KINDS).with_floating_base()
    return r.replace(armature=dict.fromkeys(("", *r.joint_names), 0.1))


def coupled(floating: bool) -> px.Robot:
    """A tree in which joints follow others."""
    described = px.tree(6, 0.5, seed=3, joints=("revolute", "prismatic")).description
    follow = {"joint2": Mimic("joint1", -0.7, 0.1), "joint5": Mimic("joint3", 2.0, 0.0)}
    joints = tuple(replace(j, mimic=follow.get(j.name)) for j in described.joints)
    return px.load(replace(described, joints=joints, floating_base=floating))


def resisted(r: px.Robot, rng: Any) -> dict[str, np.ndarray]:
    """Random forces and impedances, these on some links only; two states."""
    root = rng.standard_normal((2, r.n_links, 6, 4))
    root[:, ::2] = 0.0
    return {
        "diagonal": rng.uniform(0.0, 3.0, (2, r.nv)),
        "external": rng.standard_normal((2, r.n_links, 6)),
        "impedance": root @ root.swapaxes(-1, -2),  # in the frames of links
    }


def on(r: px.Robot, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same in body coordinates."""
    X = dense(r.model.link_frame)
    B = X.swapaxes(-1, -2) @ given["impedance"] @ X
    return {
        "diagonal": given["diagonal"],
        "external": link_wrenches(r.model, given["external"]),
        "impedance": on_bodies(r.model, B, rank=2),
    }


def wanted(r: px.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, given: dict[str, np.ndarray]) -> Any:
    """(qdd, condition) by dense linear algebra, from functions that know nothing of impedances."""
    M = r.mass_matrix(q) + np.eye(r.nv) * given["diagonal"][..., None]
    force = tau - r.bias_forces(q, qd)
    for k, link in enumerate(r.link_names):
        J, R = r.jacobian(q, link, reference="local"), r.frame_pose(q, link)[..., :3, :3].swapaxes(-1, -2)
        w, v = np.split((J @ qd[..., None])[..., 0], 2, axis=-1)
        wd, vd = np.split(r.frame_acceleration(q, qd, 0.0 * qd, link), 2, axis=-1)
        a = np.concatenate(
            [(R @ wd[..., None])[..., 0], (R @ vd[..., None])[..., 0] - np.cross(w, v)], axis=-1
        )
        B = given["impedance"][:, k]
        M = M + J.swapaxes(-1, -2) @ B @ J
        left = given["external"][:, k] - (B @ a[..., None])[..., 0]
        force = force + (J.swapaxes(-1, -2) @ left[..., None])[..., 0]
    return np.linalg.solve(M, force[..., None])[..., 0], conditioning(M)


@given(trees(), seeds)
def test_trees_agree_with_dense_linear_algebra(robot: px.Robot, seed: int) -> None:
    compare(robot, seed)


@pytest.mark.parametrize("seed", range(4))
def test_all_joint_types_with_rotors_agree_with_dense_linear_algebra(seed: int) -> None:
    compare(mixed(7, seed), seed)


@pytest.mark.parametrize("floating", [False, True])
def test_coupled_joints_agree_with_dense_linear_algebra(floating: bool) -> None:
    r = coupled(floating)
    assert r.is_coupled
    compare(r, 1)


def compare(r: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, tau = r.random_state((2,), rng=rng)
    told = resisted(r, rng)
    qdd, condition = wanted(r, q, qd, tau, told)
    with ordering(Sequential(r.model.parents, r.model.pattern)):
        agree(implicit(r.model, q, qd, tau, **on(r, told)), qdd, 1e-14 * condition + 1e-11)


@pytest.mark.parametrize("r", [mixed(5, 1), coupled(False)], ids=["all types", "coupled"])
def test_recording_scalars_agree_with_floats(r: px.Robot) -> None:
    rng = np.random.default_rng(2)
    q, qd, tau = r.random_state((2,), rng=rng)
    told = on(r, resisted(r, rng))
    inputs = {"q": q, "qd": qd, "tau": tau, **told}
    graph = Graph()
    symbols = {name: recorded(graph, name, x) for name, x in inputs.items()}
    with ordering(BodyByBody(graph, r.model.parents, r.model.pattern)):
        made = implicit(parameters(graph, r.model, "full"), **symbols)
    shapes = {name: x.shape[1:] for name, x in inputs.items()}
    found = program_on_arrays(straight(shapes, {"qdd": made.shape}, made.tolist()), inputs)
    with ordering(Sequential(r.model.parents, r.model.pattern)):
        agree(found, implicit(r.model, q, qd, tau, **told), 1e-10)


def recorded(graph: Graph, name: str, values: np.ndarray) -> np.ndarray:
    """Recording scalars for one of several states, zeros where these have none but zeros."""
    flat = np.empty(values[0].size, dtype=object)
    there = values.reshape(len(values), -1).any(axis=0)
    flat[:] = [graph.input(name, k) if there[k] else 0.0 for k in range(len(flat))]
    return flat.reshape(values.shape[1:])


def test_an_impedance_of_one_link_costs_where_it_acts_only() -> None:
    r = px.chain(6)
    assert lengths(r, []) == lengths(r, None) < lengths(r, [0]) < lengths(r, [2]) < lengths(r, range(6))


def lengths(r: px.Robot, links: Any) -> int:
    """How many scalars a trace has with impedances on some links."""
    graph = Graph()
    q, qd, tau = (recorded(graph, name, np.ones((1, r.nv))) for name in ("q", "qd", "tau"))
    B = None
    if links is not None:
        B = np.zeros((1, 6, 6, 6))
        B[:, list(links)] = 1.0
        B = recorded(graph, "B", B)
    with ordering(BodyByBody(graph, r.model.parents, r.model.pattern)):
        made = implicit_aba(parameters(graph, r.model, "full"), q, qd, tau, impedance=B)
    return len(live(made.tolist()))


def test_both_texts_agree_where_both_apply() -> None:
    r = mixed(6, 2)
    rng = np.random.default_rng(5)
    q, qd, tau = r.random_state((2,), rng=rng)
    told = on(r, resisted(r, rng))
    with ordering(Sequential(r.model.parents, r.model.pattern)):
        agree(implicit_factor(r.model, q, qd, tau, **told), implicit_aba(r.model, q, qd, tau, **told), 1e-10)


def test_nothing_resisted_is_forward_dynamics() -> None:
    r = mixed(6, 2)
    q, qd, tau = r.random_state((2,), rng=5)
    with ordering(Sequential(r.model.parents, r.model.pattern)):
        found = implicit(r.model, q, qd, tau)
    agree(found, r.forward_dynamics(q, qd, tau, algorithm="aba"), 1e-13)
