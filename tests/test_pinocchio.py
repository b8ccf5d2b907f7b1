# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every URDF of example-robot-data against Pinocchio: fixed and floating, every function, every backend."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS, find
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.engines import DYNAMICS, STATES, Pinocchio, hold
from reference.sampling import agree, conditioning

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
pytestmark = pytest.mark.usefixtures("auto_is_numpy")  # where no backend is named

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


def case(file: Path, floating: bool, backend: str) -> Any:
    """A file on one base and one backend."""
    base = "floating" if floating else "fixed"
    return pytest.param(file, floating, backend, id=f"{file.parents[1].name}-{file.stem}-{base}-{backend}")


# NumPy meets Pinocchio on all of them. Compiling takes a while: every fifth file, fixed and floating in turn,
# and all functions only of some; XLA takes longest.
ALL_FUNCTIONS = ("kinova", "solo12", "panda", "tiago")
SOME = [f for k, f in enumerate(FILES) if k % 5 == 0 or f.stem in ALL_FUNCTIONS]
CASES = [
    *(case(file, floating, "numpy") for file in FILES for floating in (False, True)),
    *(case(file, bool(k % 2), "native") for k, file in enumerate(SOME)),
    *(case(file, file.stem == "solo12", "jax") for file in FILES if file.stem in ALL_FUNCTIONS[:2]),
]


@pytest.mark.parametrize(("file", "floating", "backend"), CASES)
def test_every_function_agrees_with_pinocchio(file: Path, floating: bool, backend: str) -> None:
    model = pinocchio_model(file, floating)
    if model is None:
        with pytest.raises(px.PhalanxError, match=f"{file.name}: "):
            loaded(file, floating)
        return
    robot = loaded(file, floating)
    assert robot.nv == model.nv
    joints = SINGULAR.get(file.stem)
    hold(
        Pinocchio(robot, model),
        backend,
        FUNCTIONS if backend == "numpy" or file.stem in ALL_FUNCTIONS else DYNAMICS,
        singular=f'nothing with inertia resists joints "{joints[0]}"' if joints else "",
        ill_conditioned=file.stem in ILL_CONDITIONED,
    )


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
