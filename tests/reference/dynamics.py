# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Dynamics of a description by dense 6x6 matrices, one link and one state at a time.

Nothing here is shared with the package but the description itself and the choice of the
two directions of a planar joint: links are not welded, joints keep all their degrees of
freedom, a joint's axes may vary (cJ is not zero), and M is a sum of J^T G J.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from phalanx.robot.description import Joint, Pose, ordered
from phalanx.robot.joints import frame_along, joint_type
from phalanx.robot.robot import Robot


@cache
def rotation() -> Any:
    """SciPy's rotations; tests that come here are skipped without."""
    return pytest.importorskip("scipy.spatial.transform", reason="SciPy is not installed").Rotation


def skew(v: np.ndarray) -> np.ndarray:
    """The matrix of the vector product with v."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def adjoint(T: np.ndarray) -> np.ndarray:
    """Ad(T): twists [angular; linear] from frame b to frame a, for the pose T of b in a."""
    R, p = T[:3, :3], T[:3, 3]
    return np.block([[R, np.zeros((3, 3))], [skew(p) @ R, R]])


def ad(V: np.ndarray) -> np.ndarray:
    """The matrix of the bracket of twists."""
    w, v = skew(V[:3]), skew(V[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def pose(R: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The 4x4 pose of a rotation and a translation."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def inertia(mass: float, com: np.ndarray, packed: tuple[float, ...]) -> np.ndarray:
    """The 6x6 inertia about the frame's origin; `packed` is about the mass centre."""
    xx, xy, xz, yy, yz, zz = packed
    c = skew(np.asarray(com))
    own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[own + mass * c @ c.T, mass * c], [mass * c.T, mass * np.eye(3)]])


def joint_motion(joint: Joint, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T, S, cJ): pose of the moved side in the joint's frame, axes and S' qd in the moved side."""
    a = np.array(joint.axis) / (np.linalg.norm(joint.axis) or 1.0)
    zero = np.zeros(3)
    still = np.zeros(6)
    match joint.type:
        case "fixed":
            return np.eye(4), np.zeros((6, 0)), still
        case "revolute" | "continuous":
            return pose(turn(a, q[0]), zero), np.r_[a, zero][:, None], still
        case "prismatic":
            return pose(np.eye(3), a * q[0]), np.r_[zero, a][:, None], still
        case "helical":
            T = pose(turn(a, q[0]), joint.pitch * q[0] * a)
            return T, np.r_[a, joint.pitch * a][:, None], still
        case "universal":
            b = np.array(joint.axis2) / np.linalg.norm(joint.axis2)
            first = turn(b, q[1]).T @ a
            S = np.stack([np.r_[first, zero], np.r_[b, zero]], axis=1)
            return (
                pose(turn(a, q[0]) @ turn(b, q[1]), zero),
                S,
                np.r_[-qd[1] * np.cross(b, first) * qd[0], zero],
            )
        case "planar":
            x, y, _ = frame_along(joint.axis).T
            R = turn(a, q[2])
            S = np.stack([np.r_[zero, R.T @ x], np.r_[zero, R.T @ y], np.r_[a, zero]], axis=1)
            v = S[3:, :2] @ qd[:2]
            return pose(R, x * q[0] + y * q[1]), S, np.r_[zero, -qd[2] * np.cross(a, v)]
        case "spherical":
            return pose(rotation().from_quat(q).as_matrix(), zero), np.eye(6)[:, :3], still
        case "floating":
            return pose(rotation().from_quat(q[3:]).as_matrix(), q[:3]), np.eye(6), still
    raise AssertionError(joint.type)


def turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about a unit vector."""
    return rotation().from_rotvec(axis * angle).as_matrix()


class Body(NamedTuple):
    """A link in a state: pose in the world, place in qd, and its joint's (X from the parent, S, cJ)."""

    name: str
    parent: str
    T: np.ndarray
    v: slice
    X: np.ndarray
    S: np.ndarray
    cJ: np.ndarray
    G: np.ndarray


def bodies(robot: Robot, q: np.ndarray, qd: np.ndarray) -> list[Body]:
    """All links of the description but the fixed root, parents first."""
    root, joints = ordered(robot.description)
    links = {link.name: link for link in robot.description.links}
    world = "the world"
    if robot.description.floating_base:
        joints = [Joint("", "floating", world, root), *joints]
        root = world
    poses, result, nq, nv = {root: np.eye(4)}, [], 0, 0
    for joint in joints:
        kind = joint_type(joint.type)
        v = slice(nv, nv + kind.nv)
        T, S, cJ = joint_motion(joint, q[nq : nq + kind.nq], qd[v])
        nq, nv = nq + kind.nq, nv + kind.nv
        after = joint.after.matrix
        T_p_c = joint.origin.matrix @ T @ after
        back = adjoint(np.linalg.inv(after))
        link = links[joint.child]
        poses[link.name] = poses[joint.parent] @ T_p_c
        X = adjoint(np.linalg.inv(T_p_c))
        G = inertia(link.mass, np.array(link.com), link.inertia)
        result.append(Body(link.name, joint.parent, poses[link.name], v, X, back @ S, back @ cJ, G))
    return result


def inverse_dynamics(
    robot: Robot,
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
    external: np.ndarray | None = None,
    base_velocity: np.ndarray | None = None,
    base_acceleration: np.ndarray | None = None,
) -> np.ndarray:
    """Joint forces (nv,), by Featherstone 2008, Table 5.1."""
    chain = bodies(robot, q, qd)
    zero = np.zeros(6)
    V0 = zero if base_velocity is None else base_velocity
    Vd0 = (zero if base_acceleration is None else base_acceleration) - np.r_[0.0, 0.0, 0.0, robot.gravity]
    outside = dict(zip(robot.link_names, [] if external is None else external, strict=external is not None))
    V, Vd, F = {}, {}, {}
    for b in chain:
        VJ = b.S @ qd[b.v]
        V[b.name] = b.X @ V.get(b.parent, V0) + VJ
        Vd[b.name] = b.X @ Vd.get(b.parent, Vd0) + b.S @ qdd[b.v] + b.cJ + ad(V[b.name]) @ VJ
        F[b.name] = b.G @ Vd[b.name] - ad(V[b.name]).T @ b.G @ V[b.name] - outside.get(b.name, zero)
    tau = np.zeros(robot.nv)
    for b in reversed(chain):
        tau[b.v] = b.S.T @ F[b.name]
        if b.parent in F:
            F[b.parent] = F[b.parent] + b.X.T @ F[b.name]
    return tau + robot.armature * qdd + rotor_forces(robot, qd)


def rotor_forces(robot: Robot, qd: np.ndarray) -> np.ndarray:
    """What linear armature of floating joints takes at constant rates: Kirchhoff's equations of p = A v."""
    force = np.zeros(robot.nv)
    floating = [name for name, part in robot.v_slices.items() if part.stop - part.start == 6]
    for name in floating:
        part = robot.v_slices[name]
        w, v = qd[part][:3], qd[part][3:]
        p = robot.armature[part][3:] * v
        force[part] = [*np.cross(v, p), *np.cross(w, p)]
    return force


def body_jacobians(robot: Robot, q: np.ndarray) -> dict[str, np.ndarray]:
    """J (6, nv) of every link in its own frame."""
    J: dict[str, np.ndarray] = {}
    for b in bodies(robot, q, np.zeros(robot.nv)):
        J[b.name] = b.X @ J.get(b.parent, np.zeros((6, robot.nv)))
        J[b.name][:, b.v] += b.S
    return J


def mass_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """M (nv, nv) as the sum of J^T G J over the links."""
    J = body_jacobians(robot, q)
    M = np.diag(robot.armature)
    for b in bodies(robot, q, np.zeros(robot.nv)):
        M = M + J[b.name].T @ b.G @ J[b.name]
    return M


def forward_dynamics(
    robot: Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None
) -> np.ndarray:
    """Joint accelerations (nv,) from the mass matrix and the bias forces."""
    bias = inverse_dynamics(robot, q, qd, np.zeros(robot.nv), external)
    return np.linalg.solve(mass_matrix(robot, q), tau - bias)


def bias_forces(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Joint forces (nv,) that hold qdd = 0."""
    return inverse_dynamics(robot, q, qd, np.zeros(robot.nv))


def gravity_forces(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Joint forces (nv,) that hold the robot at rest."""
    return inverse_dynamics(robot, q, np.zeros(robot.nv), np.zeros(robot.nv))


def mass_matrix_inverse(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The inverse (nv, nv) of the mass matrix."""
    return np.linalg.inv(mass_matrix(robot, q))


def frame_pose(robot: Robot, q: np.ndarray, frame: str) -> np.ndarray:
    """Pose (4, 4) of a link in the world."""
    return next((b.T for b in bodies(robot, q, np.zeros(robot.nv)) if b.name == frame), np.eye(4))


def forward_kinematics(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Poses (n_links, 4, 4) of the moving links."""
    return np.reshape([frame_pose(robot, q, name) for name in robot.link_names], (-1, 4, 4))


def jacobian(robot: Robot, q: np.ndarray, frame: str, reference: str = "world_aligned") -> np.ndarray:
    """J (6, nv) of a link in world axes at its origin, in its own axes, or at the world's origin."""
    local = body_jacobians(robot, q).get(frame, np.zeros((6, robot.nv)))
    T = frame_pose(robot, q, frame)
    seen = {"local": np.eye(4), "world_aligned": pose(T[:3, :3], np.zeros(3)), "world": T}
    return adjoint(seen[reference]) @ local


def center_of_mass(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Centre of mass (3,) of everything that moves."""
    masses, places = _mass_centres(robot, q)
    return masses @ places / masses.sum()


def potential_energy(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Potential energy of everything that moves."""
    masses, places = _mass_centres(robot, q)
    return -(masses @ places @ robot.gravity)


def kinetic_energy(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Kinetic energy of links and rotors."""
    return qd @ mass_matrix(robot, q) @ qd / 2


def _mass_centres(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    links = {link.name: link for link in robot.description.links}
    moving = [b for b in bodies(robot, q, np.zeros(robot.nv)) if robot.frames[b.name].link >= 0]
    masses = np.array([links[b.name].mass for b in moving])
    places = np.reshape([(b.T @ np.r_[links[b.name].com, 1.0])[:3] for b in moving], (-1, 3))
    return masses, places


def mounted(robot: Robot, T: np.ndarray) -> Robot:
    """The same mechanism with its first joints displaced by the pose T, gravity as it was."""
    root, _ = ordered(robot.description)
    joints = tuple(
        replace(j, origin=Pose.of(T[:3, :3], T[:3, 3]) @ j.origin) if j.parent == root else j
        for j in robot.description.joints
    )
    return Robot(replace(robot.description, joints=joints))


# ------------------------------------------------------------------- derivatives, by differences

BY_DIFFERENCES = (
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
    "coriolis_matrix",
    "regressor",
    "frame_acceleration",
    "jacobian_time_derivative",
    "kinematic_hessian",
    "centroidal_momentum_time_variation",
    "center_of_mass_acceleration",
)


def slope(f: Callable[[float], np.ndarray], step: float = 1e-2) -> np.ndarray:
    """The derivative of f at zero, by differences of the sixth order."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    return sum(w * (f(k * step) - f(-k * step)) for k, w in weights.items()) / step


def along(robot: Robot, f: Callable[[np.ndarray], np.ndarray], q: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The derivative of f(q) where q moves at a rate."""
    return slope(lambda s: f(robot.integrate(q, s * rate)))


def columns(f: Callable[[np.ndarray], np.ndarray], nv: int) -> np.ndarray:
    """What f gives for each unit vector, along a new last axis."""
    return np.stack([f(v) for v in np.eye(nv)], axis=-1)


def inverse_dynamics_derivatives(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, external: np.ndarray | None = None
) -> np.ndarray:
    """Three matrices (3, nv, nv): derivatives with respect to q, qd and qdd."""
    dq = columns(
        lambda v: along(robot, lambda x: inverse_dynamics(robot, x, qd, qdd, external), q, v), robot.nv
    )
    dqd = columns(lambda v: slope(lambda s: inverse_dynamics(robot, q, qd + s * v, qdd, external)), robot.nv)
    return np.stack([dq, dqd, mass_matrix(robot, q)])


def forward_dynamics_derivatives(
    robot: Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, external: np.ndarray | None = None
) -> np.ndarray:
    """Three matrices (3, nv, nv): derivatives with respect to q, qd and tau."""
    qdd = forward_dynamics(robot, q, qd, tau, external)
    dq, dqd, M = inverse_dynamics_derivatives(robot, q, qd, qdd, external)
    return np.stack([-np.linalg.solve(M, dq), -np.linalg.solve(M, dqd), np.linalg.inv(M)])


def jacobian_rates(robot: Robot, q: np.ndarray, qd: np.ndarray) -> dict[str, np.ndarray]:
    """dJ/dt (6, nv) of every link in its own frame."""
    return {
        name: along(robot, lambda x, name=name: body_jacobians(robot, x)[name], q, qd)
        for name in body_jacobians(robot, q)
    }


def coriolis_matrix(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """C (nv, nv) as a sum over links: J^T (G (dJ/dt + ad(V) J) + B J / 2), and that of rotors."""
    J, Jd = body_jacobians(robot, q), jacobian_rates(robot, q, qd)
    C = np.zeros((robot.nv, robot.nv))
    for b in bodies(robot, q, np.zeros(robot.nv)):
        V = J[b.name] @ qd
        f = b.G @ V
        swapped = -np.block([[skew(f[:3]), skew(f[3:])], [skew(f[3:]), np.zeros((3, 3))]])
        B = -ad(V).T @ b.G - b.G @ ad(V) + swapped
        C = C + J[b.name].T @ (b.G @ (Jd[b.name] + ad(V) @ J[b.name]) + B @ J[b.name] / 2)
    for part in robot.v_slices.values():
        if part.stop - part.start == 6:
            p = skew(robot.armature[part][3:] * qd[part][3:])
            C[part, part] -= np.block([[np.zeros((3, 3)), p], [p, np.zeros((3, 3))]])
    return C


def regressor(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Y (nv, 10 n_links), one unit inertia of one link after another."""
    J, Jd = body_jacobians(robot, q), jacobian_rates(robot, q, qd)
    parts = []
    for name in robot.link_names:
        T = frame_pose(robot, q, name)
        up = np.r_[np.zeros(3), T[:3, :3].T @ robot.gravity]
        V, Vd = J[name] @ qd, J[name] @ qdd + Jd[name] @ qd - up
        for k in range(10):
            unit = np.eye(10)[k]
            h, (xx, xy, xz, yy, yz, zz) = skew(unit[1:4]), unit[4:]
            own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            G = np.block([[own, h], [h.T, unit[0] * np.eye(3)]])
            parts.append(J[name].T @ (G @ Vd - ad(V).T @ G @ V))
    return np.stack(parts, axis=-1) if parts else np.zeros((robot.nv, 0))


def centroidal_momentum_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """A (6, nv) about the mass centre, along the world's axes."""
    J, center = body_jacobians(robot, q), center_of_mass(robot, q)
    A = np.zeros((6, robot.nv))
    for b in bodies(robot, q, np.zeros(robot.nv)):
        if robot.frames[b.name].link >= 0:
            seen = pose(b.T[:3, :3].T, b.T[:3, :3].T @ (center - b.T[:3, 3]))  # of the centre in the link
            A = A + adjoint(seen).T @ b.G @ J[b.name]
    return A


def centroidal_momentum(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Momentum (6,) about the mass centre, along the world's axes."""
    return centroidal_momentum_matrix(robot, q) @ qd


def centroidal_momentum_time_variation(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """The rate (6,) of that momentum."""
    rate = along(robot, lambda x: centroidal_momentum(robot, x, qd), q, qd)
    return rate + centroidal_momentum(robot, q, qdd)


def center_of_mass_jacobian(robot: Robot, q: np.ndarray) -> np.ndarray:
    """J (3, nv): each link's part of the mass times the Jacobian of its mass centre."""
    J, part = body_jacobians(robot, q), np.zeros((3, robot.nv))
    moving = [link for link in robot.description.links if robot.frames[link.name].link >= 0]
    for link in moving:
        of = adjoint(pose(np.eye(3), -np.array(link.com))) @ J[link.name]
        part = part + link.mass * frame_pose(robot, q, link.name)[:3, :3] @ of[3:]
    return part / sum(link.mass for link in moving)


def center_of_mass_velocity(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Velocity (3,) of the mass centre."""
    return center_of_mass_jacobian(robot, q) @ qd


def center_of_mass_acceleration(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """The rate (3,) of that velocity."""
    rate = along(robot, lambda x: center_of_mass_velocity(robot, x, qd), q, qd)
    return rate + center_of_mass_velocity(robot, q, qdd)


def operational_space_inertia(
    robot: Robot, q: np.ndarray, frame: str, reference: str = "world_aligned"
) -> np.ndarray:
    """(J M^-1 J^T)^-1 (6, 6) of a link."""
    J = jacobian(robot, q, frame, reference)
    return np.linalg.inv(J @ np.linalg.solve(mass_matrix(robot, q), J.T))


def frame_velocity(
    robot: Robot, q: np.ndarray, qd: np.ndarray, frame: str, reference: str = "world_aligned"
) -> np.ndarray:
    """Velocity (6,) of a link in world axes at its origin, or in another reference."""
    return jacobian(robot, q, frame, reference) @ qd


def frame_acceleration(
    robot: Robot,
    q: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
    frame: str,
    reference: str = "world_aligned",
) -> np.ndarray:
    """The rate (6,) of the velocity above, with the linear acceleration of a point."""
    rate = jacobian(robot, q, frame, reference) @ qdd
    rate = rate + jacobian_time_derivative(robot, q, qd, frame, reference) @ qd
    if reference != "world_aligned":
        V = frame_velocity(robot, q, qd, frame, reference)
        rate[3:] += np.cross(V[:3], V[3:])
    return rate


def jacobian_time_derivative(
    robot: Robot, q: np.ndarray, qd: np.ndarray, frame: str, reference: str = "world_aligned"
) -> np.ndarray:
    """dJ/dt (6, nv) of a link."""
    return along(robot, lambda x: jacobian(robot, x, frame, reference), q, qd)


def kinematic_hessian(
    robot: Robot, q: np.ndarray, frame: str, reference: str = "world_aligned"
) -> np.ndarray:
    """The derivative (6, nv, nv) of J along each rate."""
    return columns(lambda v: along(robot, lambda x: jacobian(robot, x, frame, reference), q, v), robot.nv)
