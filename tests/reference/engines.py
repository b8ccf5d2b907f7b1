# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pinocchio and MuJoCo as oracles: every function of a robot as they compute it, in our coordinates.

Each oracle takes states (count, …) and answers with arrays (count, …). What an engine has no function for
follows from what it has: the inverse of its mass matrix, inverse dynamics without acceleration.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.algorithms import FUNCTIONS
from phalanx.backends.base import backend as find_backend
from phalanx.dispatch import resolve
from phalanx.io.mjcf.tree import MujocoNames

from .sampling import agree, conditioning

try:
    import pinocchio as pin
except ImportError:
    pin = None
try:
    import mujoco
except ImportError:
    mujoco = None

ANGULAR_FIRST = [3, 4, 5, 0, 1, 2]
EPS = np.finfo(float).eps
STATES = 4
LEAST = 1e-3  # what is nothing but rounded zeros is compared with this
REFERENCES = {"world_aligned": "LOCAL_WORLD_ALIGNED", "world": "WORLD", "local": "LOCAL"}  # as Pinocchio says
DYNAMICS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


@dataclass(frozen=True)
class Oracle:
    """What both engines answer in the same way."""

    robot: px.Robot
    model: Any
    # Functions that the engine has nothing to compute with; all others it must answer.
    lacks: ClassVar[frozenset[str]] = frozenset()

    def bias_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.inverse_dynamics(q, qd, np.zeros_like(qd))

    def gravity_forces(self, q: np.ndarray) -> np.ndarray:
        still = np.zeros((len(q), self.robot.nv))
        return self.inverse_dynamics(q, still, still)

    def mass_matrix_inverse(self, q: np.ndarray) -> np.ndarray:
        return np.linalg.inv(self.mass_matrix(q))

    def operational_space_inertia(self, q: np.ndarray, frame: str) -> np.ndarray:
        J: np.ndarray = self.jacobian(q, frame)  # type: ignore[attr-defined]
        return np.linalg.inv(J @ np.linalg.solve(self.mass_matrix(q), np.swapaxes(J, -1, -2)))

    def forward_kinematics(self, q: np.ndarray) -> np.ndarray:
        poses = [self.frame_pose(q, name) for name in self.links()]
        return np.reshape(poses, (len(poses), len(q), 4, 4)).swapaxes(0, 1)

    def links(self) -> list[str]:
        """The links that the engine has as well."""
        return list(self.robot.link_names)

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def frame_pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        raise NotImplementedError


def pose(rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """The 4x4 pose of a rotation and a translation."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation, translation
    return T


def hold(
    oracle: Oracle,
    backend: str,
    functions: Iterable[str] = FUNCTIONS,
    *,
    singular: str = "",
    ill_conditioned: bool = False,
) -> None:
    """Raise unless functions of the robot on a backend give what the engine gives.

    The message `singular` is expected where the mass matrix would have to be inverted and cannot be. Where it
    is ill-conditioned, accelerations may differ by as many digits; inverses of it always may.
    """
    robot = oracle.robot
    q, qd, qdd = robot.random_state(STATES, rng=7)
    size = np.abs(oracle.inverse_dynamics(q, qd, qdd)).max(-1, keepdims=True, initial=0.0)
    tau = size * np.random.default_rng(8).standard_normal(qd.shape)
    states = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    links = oracle.links()
    frame = links[-1] if links else robot.frame_names[0]
    for name in functions:
        if name in oracle.lacks:
            continue
        function = FUNCTIONS[name]
        inputs = [*(states[i] for i in function.inputs), *([frame] if function.frame else [])]
        inverts = function.inverts
        if inverts and singular:
            with pytest.raises(px.PhalanxError, match=singular):
                getattr(robot, name)(*inputs, backend=backend)
            continue
        if function.full_rank and directions(oracle, q, frame) < 6:
            with pytest.raises(px.PhalanxError, match=f'move frame "{frame}" in . directions'):
                getattr(robot, name)(*inputs, backend=backend)
            continue
        call = resolve(robot, name, frame=frame if function.frame else None)
        if backend == "native" and robot.nv and not find_backend("native").serves(call):
            continue  # without loops, the code of long robots would compile for minutes
        found, wanted = getattr(robot, name)(*inputs, backend=backend), getattr(oracle, name)(*inputs)
        if name == "forward_kinematics":
            found = found[:, [robot.link_names.index(link) for link in links]]
        if len(function.outputs) > 1:
            # Derivatives of accelerations solve with the mass matrix twice, in both engines.
            lost = (1e4 if ill_conditioned else 1e3) * EPS
            bounds = [max(1e-9, lost * conditioning(M)) if inverts else 1e-10 for M in oracle.mass_matrix(q)]
            others = px.algorithms(name)[1:] if backend == "numpy" else []
            by_others = [getattr(robot, name)(*inputs, algorithm=a.name, backend=backend) for a in others]
            for each in (found, *by_others):
                for mine, theirs in zip(each, wanted, strict=True):
                    for k, bound in enumerate(bounds):
                        agree(mine[k], theirs[k], bound, least=LEAST)
            continue
        if not inverts:
            agree(found, wanted, 1e-10, least=LEAST)
            if "reference" in function.choices and isinstance(oracle, Pinocchio) and backend != "jax":
                for reference in REFERENCES:
                    found = getattr(robot, name)(*inputs, reference=reference, backend=backend)
                    wanted = getattr(oracle, name)(*inputs, reference=reference)
                    agree(found, wanted, 1e-10, least=LEAST)
            continue
        same = [found]
        if name == "forward_dynamics" and backend == "numpy":  # as quick as one algorithm alone
            same.append(robot.forward_dynamics(*inputs, algorithm="jsiia", backend=backend))
        for k, M in enumerate(oracle.mass_matrix(q)):
            if function.full_rank:
                agree(found[k], wanted[k], 1e3 * EPS * conditioning(M) * np.linalg.cond(wanted[k]))
                continue
            lost = 20.0 * EPS * conditioning(M) if ill_conditioned or name == "mass_matrix_inverse" else 0.0
            for each in same:
                agree(each[k], wanted[k], max(1e-10, lost))


def directions(oracle: Any, q: np.ndarray, frame: str) -> int:
    """In how many directions the joints move a frame."""
    J = oracle.jacobian(q, frame)
    return int(np.linalg.matrix_rank(J, rtol=1e-10).max(initial=0)) if J.size else 0


def copied(arrays: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Arrays apart from the memory in which an engine computes the next state."""
    return [np.array(a) for a in arrays]


class Pinocchio(Oracle):
    """A model that Pinocchio has read from the same file; its frames of links carry their names."""

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd, qdd), strict=True)
        tau = [pin.rnea(self.model, self._data, *state).copy() for state in states]
        return convert.tau_from_pinocchio(self.robot, self.model, q, np.array(tau))

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        theirs, rates = convert.to_pinocchio(self.robot, self.model, q, qd)
        forces = convert.tau_to_pinocchio(self.robot, self.model, q, tau)
        states = zip(theirs, rates, forces, strict=True)
        found = np.array([pin.aba(self.model, self._data, *state).copy() for state in states])
        return convert.from_pinocchio(self.robot, self.model, theirs, rates, found)[2]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        upper = np.array([np.triu(pin.crba(self.model, self._data, x)) for x in self._theirs(q)])
        M = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
        B = convert.pinocchio_basis(self.robot, self.model, q)
        return np.swapaxes(B, -1, -2) @ M @ B

    def frame_pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        found = []
        for x in self._theirs(q):
            pin.framesForwardKinematics(self.model, self._data, x)
            T = self._data.oMf[self._number(frame)]
            found.append(pose(T.rotation, T.translation))
        return np.array(found)

    def jacobian(self, q: np.ndarray, frame: str, reference: str = "world_aligned") -> np.ndarray:
        number, axes = self._number(frame), getattr(pin, REFERENCES[reference])
        found = [
            pin.computeFrameJacobian(self.model, self._data, x, number, axes)[ANGULAR_FIRST]
            for x in self._theirs(q)
        ]
        return np.array(found) @ convert.pinocchio_basis(self.robot, self.model, q)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        return np.array([pin.centerOfMass(self.model, self._data, x).copy() for x in self._theirs(q)])

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd), strict=True)
        return np.array([pin.computeKineticEnergy(self.model, self._data, *state) for state in states])

    def potential_energy(self, q: np.ndarray) -> np.ndarray:
        return np.array([pin.computePotentialEnergy(self.model, self._data, x) for x in self._theirs(q)])

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd, qdd), strict=True)
        return self._matrices(
            q, [copied(pin.computeRNEADerivatives(self.model, self._data, *x)) for x in states]
        )

    def forward_dynamics_derivatives(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        theirs, rates = convert.to_pinocchio(self.robot, self.model, q, qd)
        forces = convert.tau_to_pinocchio(self.robot, self.model, q, tau)
        states = zip(theirs, rates, forces, strict=True)
        return self._matrices(
            q, [copied(pin.computeABADerivatives(self.model, self._data, *x)) for x in states]
        )

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd), strict=True)
        C = np.array([pin.computeCoriolisMatrix(self.model, self._data, *x).copy() for x in states])
        B = convert.pinocchio_basis(self.robot, self.model, q)
        return np.swapaxes(B, -1, -2) @ C @ B

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd, qdd), strict=True)
        found = [pin.computeJointTorqueRegressor(self.model, self._data, *x).copy() for x in states]
        B = convert.pinocchio_basis(self.robot, self.model, q)
        Y = np.swapaxes(B, -1, -2) @ np.array(found)
        Y = Y.reshape(len(q), self.robot.nv, self.model.njoints - 1, 10)
        base = ["root_joint"] if self.robot.n_links > len(self.robot.joint_names) else []
        joints = [self.model.getJointId(name) - 1 for name in (*base, *self.robot.joint_names)]
        ours = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # theirs are xx, xy, yy, xz, yz, zz
        return Y[:, :, joints][..., ours].reshape(len(q), self.robot.nv, 10 * len(joints))

    def centroidal_momentum(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd), strict=True)
        found = [pin.computeCentroidalMomentum(self.model, self._data, *x).vector.copy() for x in states]
        return np.array(found)[:, ANGULAR_FIRST]

    def centroidal_momentum_matrix(self, q: np.ndarray) -> np.ndarray:
        still = np.zeros(self.model.nv)
        found = [pin.ccrba(self.model, self._data, x, still)[ANGULAR_FIRST] for x in self._theirs(q)]
        return np.array(found) @ convert.pinocchio_basis(self.robot, self.model, q)

    def centroidal_momentum_time_variation(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
    ) -> np.ndarray:
        states = zip(*convert.to_pinocchio(self.robot, self.model, q, qd, qdd), strict=True)
        rate = pin.computeCentroidalMomentumTimeVariation
        found = [rate(self.model, self._data, *x).vector.copy() for x in states]
        return np.array(found)[:, ANGULAR_FIRST]

    def center_of_mass_jacobian(self, q: np.ndarray) -> np.ndarray:
        found = [pin.jacobianCenterOfMass(self.model, self._data, x).copy() for x in self._theirs(q)]
        return np.array(found) @ convert.pinocchio_basis(self.robot, self.model, q)

    def center_of_mass_velocity(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self._center(1, q, qd)

    def center_of_mass_acceleration(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return self._center(2, q, qd, qdd)

    def _center(self, order: int, *state: np.ndarray) -> np.ndarray:
        found = []
        for x in zip(*convert.to_pinocchio(self.robot, self.model, *state), strict=True):
            pin.centerOfMass(self.model, self._data, *x)
            found.append((self._data.com, self._data.vcom, self._data.acom)[order][0].copy())
        return np.array(found)

    def frame_velocity(
        self, q: np.ndarray, qd: np.ndarray, frame: str, reference: str = "world_aligned"
    ) -> np.ndarray:
        return self._motion(q, qd, np.zeros_like(qd), frame, pin.getFrameVelocity, reference)

    def frame_acceleration(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, frame: str, reference: str = "world_aligned"
    ) -> np.ndarray:
        return self._motion(q, qd, qdd, frame, pin.getFrameClassicalAcceleration, reference)

    def jacobian_time_derivative(
        self, q: np.ndarray, qd: np.ndarray, frame: str, reference: str = "world_aligned"
    ) -> np.ndarray:
        if not self.model.nv:  # Pinocchio would read beyond its arrays and end the process
            return np.zeros((len(q), 6, 0))
        found = []
        for x, v in zip(*convert.to_pinocchio(self.robot, self.model, q, qd), strict=True):
            pin.computeJointJacobiansTimeVariation(self.model, self._data, x, v)
            pin.updateFramePlacements(self.model, self._data)
            axes = getattr(pin, REFERENCES[reference])
            rate = pin.getFrameJacobianTimeVariation(self.model, self._data, self._number(frame), axes)
            found.append(rate[ANGULAR_FIRST])
        return np.array(found) @ convert.pinocchio_basis(self.robot, self.model, q)

    def kinematic_hessian(self, q: np.ndarray, frame: str, reference: str = "world_aligned") -> np.ndarray:
        """Its rates along each degree of freedom."""
        if not self.model.nv:
            return np.zeros((len(q), 6, 0, 0))
        ones = np.eye(self.robot.nv)
        rates = [
            self.jacobian_time_derivative(q, np.broadcast_to(v, (len(q), len(v))), frame, reference)
            for v in ones
        ]
        return np.stack(rates, axis=-1)

    def _motion(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, frame: str, read: Any, reference: str
    ) -> np.ndarray:
        found = []
        for state in zip(*convert.to_pinocchio(self.robot, self.model, q, qd, qdd), strict=True):
            pin.forwardKinematics(self.model, self._data, *state)
            pin.updateFramePlacements(self.model, self._data)
            axes = getattr(pin, REFERENCES[reference])
            motion = read(self.model, self._data, self._number(frame), axes)
            found.append(motion.vector[ANGULAR_FIRST])
        return np.array(found)

    def _matrices(self, q: np.ndarray, found: list[Any]) -> tuple[np.ndarray, ...]:
        """Matrices in our rates; the last of three is symmetric, of which Pinocchio fills the upper half."""
        B = convert.pinocchio_basis(self.robot, self.model, q)
        made = []
        for k in range(3):
            A = np.array([each[k] for each in found])
            A = np.triu(A) + np.swapaxes(np.triu(A, 1), -1, -2) if k == 2 else A
            made.append(np.swapaxes(B, -1, -2) @ A @ B)
        return tuple(made)

    @cached_property
    def _data(self) -> Any:
        return self.model.createData()

    def _theirs(self, q: np.ndarray) -> np.ndarray:
        return convert.to_pinocchio(self.robot, self.model, q)

    def _number(self, frame: str) -> int:
        return self.model.getFrameId(frame, pin.FrameType.BODY)


class Mujoco(Oracle):
    """A model that MuJoCo has read from the same text; without contacts and constraints."""

    # Derivatives by differences only, or none.
    lacks = frozenset(
        {
            "inverse_dynamics_derivatives",
            "forward_dynamics_derivatives",
            "coriolis_matrix",
            "regressor",
            "frame_acceleration",
            "jacobian_time_derivative",
            "kinematic_hessian",
            "centroidal_momentum_time_variation",
            "center_of_mass_acceleration",
        }
    )

    def links(self) -> list[str]:
        """All but those between the joints of one body."""
        known = MujocoNames.of(self.model).bodies
        return [name for name in self.robot.link_names if name in known]

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        tau = []
        for state in zip(*convert.to_mujoco(self.robot, self.model, q, qd, qdd), strict=True):
            data = self._moved(*state)
            mujoco.mj_inverse(self.model, data)
            tau.append(data.qfrc_inverse.copy())
        return convert.tau_from_mujoco(self.robot, self.model, q, np.array(tau))

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        theirs, rates = convert.to_mujoco(self.robot, self.model, q, qd)
        forces = convert.tau_to_mujoco(self.robot, self.model, q, tau)
        found = []
        for x, v, force in zip(theirs, rates, forces, strict=True):
            data = self._moved(x, v)
            data.qfrc_applied[:] = force
            mujoco.mj_forward(self.model, data)
            found.append(data.qacc.copy())
        return convert.from_mujoco(self.robot, self.model, theirs, rates, np.array(found))[2]

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        M = np.zeros((len(q), self.model.nv, self.model.nv))
        for k, x in enumerate(self._theirs(q)):
            mujoco.mj_fullM(self.model, self._moved(x), M[k])
        B = convert.mujoco_basis(self.robot, self.model, q)
        return np.swapaxes(B, -1, -2) @ M @ B

    def frame_pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        number = MujocoNames.of(self.model).bodies.index(frame)
        data = [self._moved(x) for x in self._theirs(q)]
        return np.array([pose(d.xmat[number].reshape(3, 3), d.xpos[number]) for d in data])

    def jacobian(self, q: np.ndarray, frame: str) -> np.ndarray:
        number = MujocoNames.of(self.model).bodies.index(frame)
        found = np.zeros((len(q), 6, self.model.nv))
        for k, x in enumerate(self._theirs(q)):
            mujoco.mj_jacBody(self.model, self._moved(x), found[k, 3:], found[k, :3], number)
        return found @ convert.mujoco_basis(self.robot, self.model, q)

    def frame_velocity(self, q: np.ndarray, qd: np.ndarray, frame: str) -> np.ndarray:
        return (self.jacobian(q, frame) @ qd[..., None])[..., 0]

    def centroidal_momentum(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return (self.centroidal_momentum_matrix(q) @ qd[..., None])[..., 0]

    def centroidal_momentum_matrix(self, q: np.ndarray) -> np.ndarray:
        """The sum over bodies of their momenta about the mass centre of all."""
        found = np.zeros((len(q), 6, self.model.nv))
        turn, shift = np.zeros((2, 3, self.model.nv))
        for k, (x, centre) in enumerate(zip(self._theirs(q), self.center_of_mass(q), strict=True)):
            data = self._moved(x)
            for body in np.flatnonzero(self.model.body_weldid > 0).tolist():
                mujoco.mj_jacBodyCom(self.model, data, shift, turn, body)
                mass, axes = self.model.body_mass[body], data.ximat[body].reshape(3, 3)
                arm = data.xipos[body] - centre
                found[k, :3] += axes * self.model.body_inertia[body] @ axes.T @ turn
                found[k, :3] += mass * np.cross(arm, shift, axisb=0, axisc=0)
                found[k, 3:] += mass * shift
        return found @ convert.mujoco_basis(self.robot, self.model, q)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        moving = self.model.body_weldid > 0
        data = [self._moved(x) for x in self._theirs(q)]
        return np.array(
            [np.average(d.xipos[moving], axis=0, weights=self.model.body_mass[moving]) for d in data]
        )

    def center_of_mass_jacobian(self, q: np.ndarray) -> np.ndarray:
        return (
            self.centroidal_momentum_matrix(q)[:, 3:] / self.model.body_mass[self.model.body_weldid > 0].sum()
        )

    def center_of_mass_velocity(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return (self.center_of_mass_jacobian(q) @ qd[..., None])[..., 0]

    def kinetic_energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        states = zip(*convert.to_mujoco(self.robot, self.model, q, qd), strict=True)
        return np.array([self._energy(*state)[1] for state in states])

    def potential_energy(self, q: np.ndarray) -> np.ndarray:
        moving = self.model.body_weldid > 0
        weight = self.model.body_mass[moving, None] * self.model.opt.gravity
        return np.array([-np.sum(weight * self._moved(x).xipos[moving]) for x in self._theirs(q)])

    def _energy(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        data = self._moved(x, v)
        mujoco.mj_energyVel(self.model, data)
        return data.energy

    def _theirs(self, q: np.ndarray) -> np.ndarray:
        return convert.to_mujoco(self.robot, self.model, q)

    def _moved(self, x: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None) -> Any:
        """MuJoCo's data at one state."""
        data = mujoco.MjData(self.model)
        data.qpos[:] = x
        if v is not None:
            data.qvel[:] = v
        mujoco.mj_forward(self.model, data)
        if a is not None:
            data.qacc[:] = a
        return data
