# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Frames of a robot: one kernel for all of them, several at once, axes of the world and of the frame."""

from __future__ import annotations

import pickle
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import compile
from phalanx.program.unroll_policy import branch_of, branches
from phalanx.robot import frames
from phalanx.robot.frames import placement_of
from reference.sampling import MOVING_TYPES, agree

BACKENDS = ("native", "numpy", "jax")


@cache
def robots() -> dict[str, px.Robot]:
    return {
        "panda": px.load("panda"),
        "one link": px.chain(1),
        "tree": px.tree(12, 0.5, seed=3, joints=MOVING_TYPES),
        "floating": px.tree(9, 0.6, seed=1).with_floating_base(),
        "long chain": px.chain(150, seed=2),
        "long tree": px.tree(160, 0.3, seed=4, joints=MOVING_TYPES),
    }


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the modules that were compiled since."""
    px.snake(1).gravity_forces(np.zeros(1), backend="native")  # the runtime that all kernels share
    made: list[int] = []
    real = compile.object_code
    monkeypatch.setattr(compile, "object_code", lambda ir, *more: (made.append(len(ir)), real(ir, *more))[1])
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("function", ["frame_pose", "jacobian"])
@pytest.mark.parametrize("name", ["panda", "floating", "long chain", "long tree"])
def test_all_frames_of_a_robot_share_one_compiled_kernel(
    name: str, function: str, compiled: list[int]
) -> None:
    robot = robots.__wrapped__()[name]  # one that has no kernels yet
    q = robot.random_state(3, rng=0)[0]
    for frame in robot.frame_names:
        found = getattr(robot, function)(q, frame, backend="native")
        agree(found, getattr(robot, function)(q, frame, backend="numpy"), 1e-12)
    assert len(compiled) == 1


@pytest.mark.parametrize("name", robots())
@pytest.mark.parametrize("backend", BACKENDS)
def test_several_poses_are_those_of_each_frame(name: str, backend: str) -> None:
    robot = robots()[name]
    q = robot.random_state((2, 3), rng=1)[0]
    chosen = [*robot.frame_names[:9], robot.frame_names[-1], robot.frame_names[0]]
    found = robot.frame_poses(q, chosen, backend=backend)
    assert found.shape == (2, 3, len(chosen), 4, 4)
    for k, frame in enumerate(chosen):
        agree(found[..., k, :, :], robot.frame_pose(q, frame, backend="numpy"), 1e-12)


@pytest.mark.parametrize("name", ["panda", "long chain"])
def test_a_state_has_the_same_poses_alone_and_in_a_batch_and_in_out(name: str) -> None:
    robot = robots()[name]
    q = robot.random_state(37, rng=2)[0]
    names = robot.frame_names[-5:]
    found = robot.frame_poses(q, names)
    assert np.array_equal(found[20], robot.frame_poses(q[20], names))
    wide = np.empty((37, 2, len(names), 4, 4))
    assert robot.frame_poses(q, names, out=wide[:, 1]).base is wide
    assert np.array_equal(wide[:, 1], found)
    narrow = robot.frame_poses(q.astype(np.float32), names)
    assert narrow.dtype == np.float32
    agree(narrow.astype(float), found, 1e-4)


def test_poses_of_no_frames_and_of_no_states_are_empty() -> None:
    robot = px.load("panda")
    assert robot.frame_poses(robot.neutral(), []).shape == (0, 4, 4)
    assert robot.frame_poses(np.zeros((0, 7)), robot.frame_names).shape == (0, 13, 4, 4)


def test_positions_may_be_overwritten_by_their_own_poses() -> None:
    robot = px.load("panda")
    names = robot.frame_names
    memory = np.zeros(13 * 16)
    memory[:7] = robot.random_state(rng=3)[0]
    wanted = robot.frame_poses(memory[:7].copy(), names)
    assert np.array_equal(robot.frame_poses(memory[:7], names, out=memory.reshape(13, 4, 4)), wanted)


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        ("panda_hand", r"frame_poses: frames is 'panda_hand', expected several names .* use frame_pose\."),
        (None, r"frame_poses: frames is None, expected several names"),
        (["panda_hand", "nose"], r'robot "panda" has no frame .nose.'),
    ],
)
def test_wrong_frames_are_refused(frames: Any, message: str) -> None:
    robot = px.load("panda")
    with pytest.raises(px.PhalanxError, match=message):
        robot.frame_poses(robot.neutral(), frames)


def test_wrong_positions_and_results_are_refused() -> None:
    robot = px.load("panda")
    with pytest.raises(px.PhalanxError, match=r"q has shape \(6,\), expected \(…, 7\)"):
        robot.frame_poses(np.zeros(6), ["panda_hand"])
    with pytest.raises(px.PhalanxError, match=r"out has shape \(4, 4\)"):
        robot.frame_poses(np.zeros(7), ["panda_hand"], out=np.zeros((4, 4)))


# ------------------------------------------------------------------- references


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("floating", [False, True])
def test_jacobians_in_all_references_agree_with_pinocchio(floating: bool, backend: str) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from phalanx import convert
    from reference.pinocchio import model_of

    joints = ("revolute", "prismatic")
    robot = px.tree(7, 0.4, seed=5, joints=joints)
    model, place = model_of(robot.description, free_base=floating)
    for link in robot.description.links:
        joint, pose = place[link.name]
        model.addFrame(pin.Frame(f"at {link.name}", joint, pose, pin.OP_FRAME))
    robot = robot.with_floating_base() if floating else robot
    data = model.createData()
    q, qd, _ = robot.random_state(rng=6)
    q_pin, _ = convert.to_pinocchio(robot, model, q, qd)
    kinds = {"world_aligned": pin.LOCAL_WORLD_ALIGNED, "world": pin.WORLD, "local": pin.LOCAL}
    for frame in robot.frame_names:
        number = model.getFrameId(f"at {frame}")
        for reference, kind in kinds.items():
            wanted = pin.computeFrameJacobian(model, data, q_pin, number, kind)[[3, 4, 5, 0, 1, 2]]
            wanted = np.stack(
                [wanted @ convert.to_pinocchio(robot, model, q, row)[1] for row in np.eye(robot.nv)], axis=-1
            )
            agree(robot.jacobian(q, frame, reference=reference, backend=backend), wanted, 1e-12)


@pytest.mark.parametrize("name", robots())
def test_local_means_the_axes_of_the_frame(name: str) -> None:
    robot = robots()[name]
    q = robot.random_state(5, rng=7)[0]
    for frame in {robot.frame_names[0], robot.frame_names[-1]}:
        turn = np.swapaxes(robot.frame_pose(q, frame)[:, :3, :3], -1, -2)
        world = robot.jacobian(q, frame).reshape(5, 2, 3, robot.nv)
        wanted = (turn[:, None] @ world).reshape(5, 6, robot.nv)
        agree(robot.jacobian(q, frame, reference="local"), wanted, 1e-12)


def test_kernels_know_references_and_frames() -> None:
    robot = px.load("panda")
    q = robot.random_state(4, rng=8)[0]
    for reference in ("world_aligned", "world", "local"):
        k = robot.kernel("jacobian", frame="panda_hand", reference=reference)
        wanted = robot.jacobian(q, "panda_hand", reference=reference)
        out = np.empty((4, 6, 7))
        k.bind(q, out=out)()
        for found in (k(q), out, pickle.loads(pickle.dumps(k))(q), k.ufunc(q)):
            assert np.array_equal(found, wanted)
    tip, elbow = (robot.kernel("frame_pose", frame=f) for f in ("panda_hand", "panda_link4"))
    assert not np.array_equal(tip(q), elbow(q))
    assert np.array_equal(tip(q), robot.frame_pose(q, "panda_hand"))
    assert elbow.cached


@pytest.mark.parametrize("reference", ["body", None, 3, ["world"]])
def test_other_references_are_refused(reference: Any) -> None:
    robot = px.chain(2)
    told = r'jacobian: reference=.*, expected "world_aligned" or "world" or "local"'
    for ask in (robot.jacobian, *([robot.jax.jacobian] if find_spec("jax") else [])):
        with pytest.raises(px.PhalanxError, match=told):
            ask(np.zeros(2, np.float32), "link1", reference=reference)
    with pytest.raises(
        px.PhalanxError, match="mass_matrix: got reference='local', but takes none; leave it out"
    ):
        robot.kernel("mass_matrix", reference="local")


# ------------------------------------------------------------------- how it works


@pytest.mark.parametrize("name", robots())
def test_every_body_has_code_that_serves_frames_on_it(name: str) -> None:
    robot = robots()[name]
    every = branches(robot.model)
    assert np.array_equal(sum(f.carriers for f in every), np.ones(robot.model.n))
    assert sum(f.world for f in every) == 1
    for frame in robot.frame_names:
        placed = placement_of(robot, frame)
        served = every[branch_of(every, placed)]
        assert not placed.at[~served.carriers].any()
        assert not placed.moves[~served.movers].any()
        assert placed.moves[served.always].all()


def test_limbs_of_a_humanoid_are_computed_apart() -> None:
    builder = px.RobotBuilder("humanoid")
    builder.add_link("torso")
    for heavy_path in ("left leg", "right leg", "left arm", "right arm"):
        for k in range(6):
            builder.add_link(f"{heavy_path} {k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
            above = f"{heavy_path} {k - 1}" if k else "torso"
            builder.add_joint(
                f"joint {heavy_path} {k}", "revolute", above, f"{heavy_path} {k}", origin=(0.0, 0.1, 0.3)
            )
    every = branches(builder.build().model)
    assert [int(f.movers.sum()) for f in every] == [6] * 4


def test_frames_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "_CACHED_BODIES", 0)
    robot = px.chain(80)
    q = robot.random_state(2, rng=0)[0]
    first = robot.kernel("frame_pose", frame="link80")
    for frame in robot.frame_names:
        agree(robot.frame_pose(q, frame), robot.frame_pose(q, frame, backend="numpy"), 1e-12)
    kept = [key for key in robot._memo if isinstance(key, tuple) and key[0] == "compiled for a frame"]
    assert len(kept) <= 64
    agree(first(q), robot.frame_pose(q, "link80", backend="numpy"), 1e-12)


def test_jax_compiles_once_for_all_frames() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    from phalanx.backends.jax import functions

    robot = px.load("panda")
    q = robot.random_state(2, rng=0)[0]
    traced: list[str] = []
    real = functions.run
    try:
        functions.run = lambda call, *more: (traced.append(call.frame), real(call, *more))[1]
        for frame in robot.frame_names:
            found = robot.jax.frame_pose(q.astype(np.float32), frame)
            agree(np.asarray(found, float), robot.frame_pose(q, frame), 1e-5)
    finally:
        functions.run = real
    assert len(traced) == 1
    poses = robot.jax.frame_poses(q.astype(np.float32), robot.frame_names)
    agree(np.asarray(poses, float), robot.frame_poses(q, robot.frame_names), 1e-5)


def test_help_says_what_a_frame_is_and_what_the_rows_mean() -> None:
    for function in (px.Robot.frame_pose, px.Robot.jacobian):
        text = function.__doc__ or ""
        assert "robot.frame_names" in text
        assert "X_f_b" not in text
        assert "body" not in text
    text = px.Robot.jacobian.__doc__ or ""
    assert "first three rows" in text
    assert '`reference="world_aligned"`' in text
    assert '"local"' in text
