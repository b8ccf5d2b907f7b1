# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Numbers from users: masks are refused wherever arrays go in or out, and so are sizes beyond memory."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import arrays

ROBOT = px.load("two_link")
PLAIN = np.array([0.1, 0.2])
MASKED = np.ma.masked_array([0.1, 0.2], mask=[False, True])
UNMASKED = np.ma.masked_array([0.1, 0.2])
THREE = np.ma.masked_array([0.0, 0.0, -9.81], mask=[False, False, True])
FLOATING = ROBOT.with_floating_base()


def _bind(*inputs: Any, **more: Any) -> Any:
    return ROBOT.kernel("inverse_dynamics").bind(*inputs, **more)


def _builder(**link: Any) -> Any:
    return px.RobotBuilder().add_link("a", **link)


def _joint(**joint: Any) -> Any:
    return px.RobotBuilder().add_joint("j", "revolute", "a", "b", **joint)


INPUTS: dict[str, Any] = {
    "a state": lambda: ROBOT.inverse_dynamics(PLAIN, MASKED, PLAIN),
    "a state after a plain one": lambda: (
        ROBOT.mass_matrix(PLAIN),
        ROBOT.mass_matrix(MASKED),
    ),
    "states in a list": lambda: ROBOT.mass_matrix([PLAIN, MASKED]),
    "a masked number": lambda: ROBOT.mass_matrix([0.1, np.ma.masked]),
    "the reference": lambda: ROBOT.gravity_forces(MASKED, backend="numpy"),
    "wrenches": lambda: ROBOT.inverse_dynamics(
        PLAIN, PLAIN, PLAIN, external=np.ma.masked_array(np.zeros((2, 6)), mask=np.eye(2, 6))
    ),
    "a kernel": lambda: ROBOT.kernel("mass_matrix")(MASKED),
    "a bound kernel": lambda: _bind(PLAIN, MASKED, PLAIN, out=np.empty(2)),
    "a bound kernel without masked entries": lambda: _bind(PLAIN, UNMASKED, PLAIN, out=np.empty(2)),
    "integrate": lambda: ROBOT.integrate(PLAIN, MASKED),
    "difference": lambda: ROBOT.difference(MASKED, PLAIN),
    "normalize": lambda: ROBOT.normalize(MASKED),
    "gravity": lambda: ROBOT.replace(gravity=THREE),
    "gravity on loading": lambda: px.load("two_link", gravity=THREE),
    "armature": lambda: ROBOT.replace(armature=MASKED),
    "fixing": lambda: ROBOT.fix({ROBOT.joint_names[0]: np.ma.masked}),
    "a payload": lambda: ROBOT.with_payload(ROBOT.link_names[0], 1.0, THREE),
    "an inertia": lambda: _builder(inertia=THREE),
    "a mass": lambda: _builder(mass=np.ma.masked),
    "an axis": lambda: _joint(axis=THREE),
    "an origin": lambda: _joint(origin=THREE),
    "limits": lambda: _joint(lower=np.ma.masked),
    "a DH row": lambda: px.Robot.from_dh([{"a": 1.0, "com": THREE}]),
}


@pytest.mark.parametrize("where", INPUTS)
def test_masked_entries_are_refused(where: str) -> None:
    with pytest.raises(px.PhalanxError, match=r"mask|Masked|expected a list of 3 finite numbers"):
        INPUTS[where]()


@pytest.mark.parametrize("backend", ["auto", "numpy"])
def test_a_masked_array_takes_no_result(backend: str) -> None:
    ROBOT.inverse_dynamics(PLAIN, PLAIN, PLAIN)
    with pytest.raises(
        px.PhalanxError, match=r"out is MaskedArray, expected a NumPy array of shape .* without a mask"
    ):
        ROBOT.inverse_dynamics(PLAIN, PLAIN, PLAIN, out=np.ma.empty(2), backend=backend)
    kernel = ROBOT.kernel("inverse_dynamics")
    with pytest.raises(px.PhalanxError, match="out is MaskedArray"):
        kernel(PLAIN, PLAIN, PLAIN, out=np.ma.empty(2))
    with pytest.raises(px.PhalanxError, match=r"out for robot .* is MaskedArray"):
        kernel.bind(PLAIN, PLAIN, PLAIN, out=np.ma.empty(2))


def test_arrays_are_looked_at_while_another_thread_imports_masked_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A module is there before its contents are."""
    q = ROBOT.neutral()
    wanted = ROBOT.mass_matrix(q)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
        np.testing.assert_array_equal(ROBOT.mass_matrix(q.tolist()), wanted)


def test_a_masked_array_without_masked_entries_is_read_as_it_is() -> None:
    assert np.array_equal(ROBOT.mass_matrix(UNMASKED), ROBOT.mass_matrix(PLAIN))


def test_masks_are_refused_in_states_of_other_libraries() -> None:
    pinocchio = pytest.importorskip("pinocchio")
    with pytest.raises(px.PhalanxError, match="convert: q has masked entries"):
        px.convert.to_pinocchio(ROBOT, _pinocchio_model(pinocchio), MASKED)


def _pinocchio_model(pinocchio: Any) -> Any:
    model = pinocchio.Model()
    parent = 0
    for name in ROBOT.joint_names:
        parent = model.addJoint(parent, pinocchio.JointModelRZ(), pinocchio.SE3.Identity(), name)
    return model


def test_masks_are_refused_on_jax() -> None:
    pytest.importorskip("jax")
    with pytest.raises(px.PhalanxError, match="masked entries"):
        ROBOT.jax.mass_matrix(MASKED.astype(np.float32))


# ------------------------------------------------------------------- memory

TOO_LARGE: dict[str, Any] = {
    "random states": lambda: ROBOT.random_state((2**40, 2**40)),
    "many random states": lambda: ROBOT.random_state(2**45),
    "random states beyond all numbers": lambda: ROBOT.random_state(10**400),
    "a result": lambda: ROBOT.mass_matrix(np.broadcast_to(PLAIN, (2**40, 2))),
    "a result on the reference": lambda: ROBOT.mass_matrix(
        np.broadcast_to(PLAIN, (2**40, 2)), backend="numpy"
    ),
    "a result of a kernel": lambda: ROBOT.kernel("mass_matrix")(np.broadcast_to(PLAIN, (2**20, 2**20, 2))),
    "a difference": lambda: ROBOT.difference(np.broadcast_to(PLAIN, (2**40, 2)), PLAIN),
    "a step": lambda: ROBOT.integrate(np.zeros((2**20, 1, 2)), np.zeros((2**20, 2))),
    "a copy": lambda: ROBOT.normalize(np.broadcast_to(PLAIN, (2**45, 2))),
    "a chain": lambda: px.chain(10**12),
    "a tree": lambda: px.tree(10**30),
    "a snake": lambda: px.snake(10**5000),
    "a coil": lambda: px.generators.coil(2**62),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_sizes_beyond_memory_are_refused(what: str) -> None:
    with pytest.raises(px.PhalanxError, match=r"would take .*of memory; take|not enough memory; take"):
        TOO_LARGE[what]()


def test_memory_that_ends_meanwhile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.backends.numpy import BACKEND

    def starved(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(type(BACKEND), "run", starved)
    with pytest.raises(px.PhalanxError, match="mass_matrix: there is not enough memory; take the states in"):
        ROBOT.mass_matrix(PLAIN, backend="numpy")


def test_a_machine_that_does_not_tell_its_memory_refuses_what_nobody_can_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(arrays.os, "sysconf")
    with pytest.raises(px.PhalanxError, match="random_state: batch"):
        ROBOT.random_state((2**40, 2**40))


# ------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "make",
    [
        lambda x: _builder(mass=x),
        lambda x: _builder(com=(0.0, 0.0, x)),
        lambda x: _builder(inertia=(x, 1, 1)),
        lambda x: _joint(axis=(0, 0, x)),
        lambda x: _joint(origin=(0, 0, x)),
        lambda x: _joint(pitch=x),
        lambda x: _joint(lower=x),
        lambda x: _joint(mimic=("other", x)),
        lambda x: ROBOT.replace(gravity=(0, 0, x)),
        lambda x: ROBOT.replace(armature=[x, 1.0]),
        lambda x: ROBOT.fix({ROBOT.joint_names[0]: x}),
        lambda x: ROBOT.with_payload(ROBOT.link_names[0], x),
        lambda x: ROBOT.with_payload(ROBOT.link_names[0], 1.0, (0, 0, x)),
        lambda x: px.chain(2, prismatic=x),
        lambda x: px.tree(2, branching=x),
        lambda x: px.load("two_link", gravity=(0, 0, x)),
    ],
)
@pytest.mark.parametrize(
    "number",
    [10**400, -(10**5000), "3", 1j, None, [1, [2]], object(), np.ones((2, 2))],
    ids=lambda x: type(x).__name__,
)
def test_what_is_no_number_is_refused(make: Any, number: Any) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        make(number)
    assert len(str(caught.value)) < 300


def test_fractions_are_numbers() -> None:
    from fractions import Fraction

    builder = px.RobotBuilder()
    builder.add_link("a", mass=Fraction(1, 2))
    assert builder.describe().links[0].mass == 0.5


@pytest.mark.parametrize("name", [5, None, b"x", ("x",), np.str_("x").encode()])
def test_names_are_text(name: Any) -> None:
    with pytest.raises(px.PhalanxError, match="expected text"):
        px.RobotBuilder(name)
    with pytest.raises(px.PhalanxError, match="expected text"):
        px.RobotBuilder().add_link(name)
    with pytest.raises(px.PhalanxError, match="expected text"):
        px.RobotBuilder().add_joint("j", "revolute", name, "b")
    if name is not None:
        with pytest.raises(px.PhalanxError, match="expected text"):
            ROBOT.replace(name=name)


@pytest.mark.parametrize("choice", ["yes", 1, None, np.ones(2)])
def test_choices_are_true_or_false(choice: Any) -> None:
    builder = px.RobotBuilder()
    builder.add_link("a", mass=1.0)
    with pytest.raises(px.PhalanxError, match=r"floating_base: got .*, expected True or False"):
        builder.build(floating_base=choice)
