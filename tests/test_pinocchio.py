# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every URDF of example-robot-data against Pinocchio, on a fixed and on a floating base."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.algorithms import find
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.sampling import agree, conditioning

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

# Hands without mass or inertia: nothing resists these joints and those further out.
SINGULAR = {
    "romeo": ["LHand", "LFinger12", "LFinger13"],
    "romeo_laas_small": ["l_gripper_joint", "r_gripper_joint"],
}
# The head is a point mass on three neck joints that nearly meet in one point. Where they line up, the
# mass matrix with its diagonal scaled to one has a condition number of up to 1e8 and the accelerations
# lose as many digits: against extended precision Pinocchio is off by up to 8e-8 and Phalanx by 4e-9.
# So the bound follows the condition number, and a test of its own holds Phalanx to the exact result.
ILL_CONDITIONED = {"icub"}
STATES = 4


def example_urdfs() -> list[Path]:
    """All URDF files of the package example-robot-data, none if it is not installed."""
    spec = importlib.util.find_spec("pinocchio")
    for folder in Path(spec.origin).parents if spec and spec.origin else []:
        found = sorted((folder / "share" / "example-robot-data").rglob("*.urdf"))
        if found:
            return found
    return []


FILES = example_urdfs()
if not FILES:
    pytest.skip("the package example-robot-data is not installed", allow_module_level=True)


@cache
def pinocchio_model(file: Path, floating: bool) -> Any:
    """Pinocchio's model of a file, None if it does not load it."""
    try:
        return pin.buildModelFromUrdf(str(file), *([pin.JointModelFreeFlyer()] if floating else []))
    except ValueError:
        return None


@cache
def loaded(file: Path, floating: bool, mimic: str = "independent") -> px.Robot:
    """The robot of a file; its inertias are the file's business here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(file, mimic=mimic, floating_base=floating)


def each_file(test: Any) -> Any:
    test = pytest.mark.parametrize("file", FILES, ids=[f"{f.parents[1].name}-{f.stem}" for f in FILES])(test)
    return pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])(test)


@each_file
def test_dynamics_agree_with_pinocchio(file: Path, floating: bool) -> None:
    model = pinocchio_model(file, floating)
    if model is None:
        with pytest.raises(px.PhalanxError, match=f"{file.name}: "):
            loaded(file, floating)
        return
    robot = loaded(file, floating)
    data = model.createData()
    assert robot.nv == model.nv
    q, qd, qdd = robot.random_state(STATES, rng=7)
    pq, pv, pa = convert.to_pinocchio(robot, model, q, qd, qdd)
    tau = convert.tau_to_pinocchio(robot, model, q, robot.inverse_dynamics(q, qd, qdd))
    agree(tau, [pin.rnea(model, data, *state).copy() for state in zip(pq, pv, pa, strict=True)], 1e-10)
    M = np.array([upper(pin.crba(model, data, x)) for x in pq])
    B = convert.pinocchio_basis(robot, model, q)
    agree(robot.mass_matrix(q), np.swapaxes(B, -1, -2) @ M @ B, 1e-10)
    if file.stem in SINGULAR:
        with pytest.raises(
            px.PhalanxError, match=f'nothing with inertia resists joints "{SINGULAR[file.stem][0]}"'
        ):
            robot.forward_dynamics(q, qd, qdd)
        return
    force = np.abs(tau).max(-1, keepdims=True, initial=0.0) * np.random.default_rng(8).standard_normal(
        tau.shape
    )
    ours = convert.tau_from_pinocchio(robot, model, q, force)
    wanted = np.array([pin.aba(model, data, *state).copy() for state in zip(pq, pv, force, strict=True)])
    for algorithm in ("aba", "jsiia"):
        found = robot.forward_dynamics(q, qd, ours, algorithm=algorithm)
        for k in range(STATES):
            tolerance = 1e-10
            if file.stem in ILL_CONDITIONED:
                tolerance = max(tolerance, 20.0 * np.finfo(float).eps * conditioning(M[k]))
            result = convert.to_pinocchio(robot, model, q[k], qd[k], found[k])[2]
            agree(result, wanted[k], tolerance)


SOME = [
    (file, bool(k % 2), backend)
    for k, file in enumerate(FILES[::5])
    for backend in ("native", "jax")
    if (model := pinocchio_model(file, bool(k % 2))) is not None
    if backend == "native" or model.nv <= 20  # XLA compiles larger ones too long
]


@pytest.mark.parametrize(
    ("file", "floating", "backend"), SOME, ids=[f"{f.stem}-{floats}-{name}" for f, floats, name in SOME]
)
def test_every_backend_agrees_with_pinocchio(file: Path, floating: bool, backend: str) -> None:
    """The reference meets Pinocchio above on all robots; compiled code does here, on some of them."""
    model, robot = pinocchio_model(file, floating), loaded(file, floating)
    data = model.createData()
    q, qd, qdd = robot.random_state(STATES, rng=7)
    pq, pv, pa = convert.to_pinocchio(robot, model, q, qd, qdd)
    tau = convert.tau_to_pinocchio(robot, model, q, robot.inverse_dynamics(q, qd, qdd, backend=backend))
    agree(tau, [pin.rnea(model, data, *state).copy() for state in zip(pq, pv, pa, strict=True)], 1e-10)
    M = np.array([upper(pin.crba(model, data, x)) for x in pq])
    B = convert.pinocchio_basis(robot, model, q)
    agree(robot.mass_matrix(q, backend=backend), np.swapaxes(B, -1, -2) @ M @ B, 1e-10)
    if file.stem not in {*SINGULAR, *ILL_CONDITIONED}:
        found = robot.forward_dynamics(q, qd, qdd, backend=backend)
        force = convert.tau_to_pinocchio(robot, model, q, qdd)
        wanted = [pin.aba(model, data, *state).copy() for state in zip(pq, pv, force, strict=True)]
        agree(convert.to_pinocchio(robot, model, q, qd, found)[2], wanted, 1e-9)


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="this machine has no extended precision")
@pytest.mark.parametrize("file", [f for f in FILES if f.stem in ILL_CONDITIONED], ids=lambda f: f.stem)
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_ill_conditioned_robots_agree_with_extended_precision(file: Path, floating: bool) -> None:
    robot = loaded(file, floating)
    q, qd, tau = robot.random_state(30, rng=7)
    model = robot.model.cast(lambda a: np.asarray(a).astype(np.longdouble))
    with ordering(Sequential(model.parents)):
        exact = find("forward_dynamics", "aba")(model, *(x.astype(np.longdouble) for x in (q, qd, tau)))
    M = robot.mass_matrix(q)
    for algorithm in ("aba", "jsiia"):
        found = robot.forward_dynamics(q, qd, tau, algorithm=algorithm)
        for k in range(len(q)):
            agree(found[k], exact[k].astype(float), 0.5 * np.finfo(float).eps * conditioning(M[k]))


def upper(M: np.ndarray) -> np.ndarray:
    """The symmetric matrix of which Pinocchio fills the upper triangle."""
    return np.triu(M) + np.triu(M, 1).T


@pytest.mark.parametrize("file", [f for f in FILES if f.stem in SINGULAR], ids=lambda f: f.stem)
def test_massless_joints_are_named_where_pinocchio_gives_nan(file: Path) -> None:
    model, robot = pinocchio_model(file, False), loaded(file, False)
    zero = np.zeros(model.nv)
    assert np.isnan(pin.aba(model, model.createData(), pin.neutral(model), zero, zero + 1.0)).any()
    home = robot.neutral()
    for name, inputs in (("forward_dynamics", (home, zero, zero)), ("mass_matrix_inverse", (home,))):
        with pytest.raises(px.PhalanxError) as caught:
            getattr(robot, name)(*inputs)
        message = str(caught.value)
        assert "the mass matrix is singular in every configuration" in message
        assert all(f'"{joint}"' in message for joint in SINGULAR[file.stem])
        assert "robot.replace(armature={" in message
        assert "or fix them with robot.fix(…)" in message
    helped = robot.replace(armature=1e-3)
    assert np.isfinite(helped.forward_dynamics(robot.neutral(), zero, zero)).all()


WITH_MIMIC = [f for f in FILES if "<mimic" in f.read_text(errors="replace")]


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("file", WITH_MIMIC, ids=lambda f: f.stem)
def test_coupled_joints_project_the_independent_ones(file: Path, floating: bool) -> None:
    free, coupled = loaded(file, floating), loaded(file, floating, "coupled")
    q, qd, qdd = coupled.random_state(STATES, rng=9)
    Q, offset, A = projection(coupled, free)
    full = q @ Q.T + offset
    agree(coupled.mass_matrix(q), A.T @ free.mass_matrix(full) @ A, 1e-12)
    tau = free.inverse_dynamics(full, qd @ A.T, qdd @ A.T) @ A
    agree(coupled.inverse_dynamics(q, qd, qdd), tau, 1e-12)
    poses = free.forward_kinematics(full)
    agree(coupled.forward_kinematics(q), poses, 1e-12)
    frame = free.frame_names[-1]
    agree(coupled.jacobian(q, frame), free.jacobian(full, frame) @ A, 1e-12)
    agree(coupled.kinetic_energy(q, qd), free.kinetic_energy(full, qd @ A.T), 1e-12)
    if file.stem == "romeo":
        with pytest.raises(px.PhalanxError, match='nothing with inertia resists joints "LHand", "RHand"'):
            coupled.forward_dynamics(q, qd, tau)
        return
    M = coupled.mass_matrix(q)
    back = coupled.forward_dynamics(q, qd, tau)
    agree(np.einsum("bij,bj->bi", M, back) + coupled.bias_forces(q, qd), tau, 1e-11)


def projection(coupled: px.Robot, free: px.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Q, offset, A): coordinates and rates of the independent robot from those of the coupled one."""
    mimics = {j.name: j.mimic for j in coupled.description.joints}
    Q, offset, A = np.zeros((free.nq, coupled.nq)), np.zeros(free.nq), np.zeros((free.nv, coupled.nv))
    for name in free.q_slices:
        ratio, shift, driver = 1.0, 0.0, name
        while mimic := mimics.get(driver):
            ratio, shift, driver = ratio * mimic.multiplier, shift + ratio * mimic.offset, mimic.joint
        own = free.q_slices[name]
        Q[own, coupled.q_slices[driver]] = ratio * np.eye(own.stop - own.start)
        offset[own] = shift
        rates = free.v_slices[name]
        A[rates, coupled.v_slices[driver]] = ratio * np.eye(rates.stop - rates.start)
    return Q, offset, A
