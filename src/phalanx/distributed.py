# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One long chain on several processes or machines: each MPI rank has a part of its links.

A state takes two messages of a kilobyte: the motion of each part as a whole, and its response to wrenches at
its ends. Every rank joins the messages of all parts, and then computes its own links.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .algorithms.banded import parts
from .algorithms.registry import ALGORITHMS, require_covered
from .backends.native.part_kernels import PartKernel
from .errors import PhalanxError, shown
from .methods import Robot
from .program.task import Call
from .ranks import Ranks, ranks
from .robot.assembly import BASE
from .robot.description import Link
from .typing import Array, ArrayLike

__all__ = ["DistributedChain"]

_WORDS = 128  # numbers of a message, the first of which says to which function it belongs
_FUNCTIONS = ("forward_dynamics", "inverse_dynamics", "potential_energy")
_WHERE = "DistributedChain"


class DistributedChain:
    """An unbranched robot whose links are spread over the ranks of an MPI job, in order.

    `part` is the robot of this rank's links: its base is the last link of the rank before, whose mass is
    that rank's, and its joints follow. No rank needs the whole robot. Every method is called by all ranks,
    each with the coordinates of its own links, and returns the values of these.
    """

    def __init__(self, part: Robot, comm: Any = None) -> None:
        if not isinstance(part, Robot):
            raise PhalanxError(f"{_WHERE}: part is {shown(part)}, expected a Robot.")
        self.robot = part
        self._ranks: Ranks = ranks(comm, _WHERE)
        self._check()
        model = part.model
        self._kernels: dict[tuple[str, bool], PartKernel] = {}
        self._tip = parts.last_frame(model)
        self._shifts = self._gather(parts.last_shift(model), "the inertias of all ranks")
        self._gravity = self._gather(model.gravity, "the gravity of all ranks")[0]

    @classmethod
    def cut(cls, robot: Robot, comm: Any = None) -> DistributedChain:
        """A robot that every rank has loaded, cut into parts of nearly as many joints, one for each rank."""
        if not isinstance(robot, Robot):
            raise PhalanxError(f"{_WHERE}.cut: robot is {shown(robot)}, expected a Robot.")
        every = ranks(comm, _WHERE)
        digests = every.gather_bytes(robot.digest.encode(), _WHERE, "the robots of all ranks")
        for rank, digest in enumerate(digests):
            if digest != digests[0]:
                raise PhalanxError(
                    f'{_WHERE}.cut: rank {rank} has another robot than rank 0 ("{robot.name}" on rank '
                    f"{every.rank}); let all ranks load the same, or give each its own part to {_WHERE}."
                )
        require_covered(robot, ALGORITHMS["forward_dynamics"]["partition"])
        if robot.n_links < every.size:
            raise PhalanxError(
                f'{_WHERE}.cut: robot "{robot.name}" has {robot.n_links} moving links for {every.size} '
                f"ranks; start the job with mpiexec -n {max(robot.n_links, 1)} or fewer."
            )
        return cls(_part(robot, every.rank, every.size) if every.size > 1 else robot, every.comm)

    # ------------------------------------------------------------- what it is

    @property
    def rank(self) -> int:
        """The number of this rank: its links follow those of lower ranks."""
        return self._ranks.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._ranks.size

    @property
    def nv(self) -> int:
        """The degrees of freedom of all ranks."""
        return int(self._counts[:, 0].sum())

    @property
    def n_links(self) -> int:
        """The moving links of all ranks."""
        return int(self._counts[:, 1].sum())

    def __repr__(self) -> str:
        return (
            f"<DistributedChain of {self.n_links} links, rank {self.rank} of {self.size} with "
            f'{self.robot.n_links}: "{self.robot.name}">'
        )

    # ------------------------------------------------------------- functions

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None
    ) -> Array:
        """Accelerations `qdd` (nv,) of this rank's joints.

        `q` (nq,), `qd` and `tau` (nv,) are of this rank; `external` (n_links, 6) are wrenches on its links.
        """
        return self._run("forward_dynamics", (q, qd, tau), external, self._yielding)

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: ArrayLike | None = None
    ) -> Array:
        """Joint forces `tau` (nv,) of this rank's joints for the accelerations `qdd` of all ranks."""
        return self._run("inverse_dynamics", (q, qd, qdd), external, self._needing(self._gravity))

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> float:
        """The kinetic energy of the whole chain, on every rank: half of qd^T M qd."""
        rates = self._checked("inverse_dynamics", "qd", qd, self.robot.nv)
        momentum = self._run(
            "inverse_dynamics", (q, rates * 0.0, rates), None, self._needing(self._gravity * 0.0)
        )
        return float(self._gather(np.array([0.5 * (rates @ momentum)]), "the energies of all ranks").sum())

    def potential_energy(self, q: ArrayLike) -> float:
        """The potential energy of the whole chain, on every rank; zero at the origin of rank 0's base."""
        robot = self.robot
        angles = self._checked("potential_energy", "q", q, robot.nq)
        still = np.zeros(robot.nv)
        kernel = self._kernel("inverse_dynamics", external=False)
        sent = parts.motion_sent(self._tip, kernel.first((angles, still, still)))
        base = parts.base_frame(self._send("potential_energy", 0, sent), self.rank)
        mass = robot.total_mass
        centre = robot.center_of_mass(angles) if mass > 0.0 else np.zeros(3)
        height = base.r + base.E.T @ centre
        own = -mass * float(height @ self._gravity)
        return float(self._gather(np.array([own]), "the energies of all ranks").sum())

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        dt: float = 1e-3,
        steps: int = 1000,
        control: Callable[[float, Array, Array], ArrayLike] | None = None,
    ) -> tuple[Array, Array]:
        """The state (q, qd) of this rank after so many steps by the classical Runge-Kutta method.

        `control(t, q, qd)` returns the joint forces of this rank's joints; without it there are none. Damping
        and friction are not applied.
        """
        robot = self.robot
        self._require_plain_coordinates()
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
            raise PhalanxError(f"{_WHERE}.rollout: steps is {shown(steps)}, expected an integer >= 0.")
        if not isinstance(dt, (int, float, np.floating)) or not 0.0 < dt < np.inf:
            raise PhalanxError(f"{_WHERE}.rollout: dt is {shown(dt)}, expected seconds above 0.")
        x, v = (
            self._checked("rollout", name, value, robot.nv).copy() for name, value in (("q", q), ("qd", qd))
        )
        still = np.zeros(robot.nv)

        def slope(t: float, q: Array, qd: Array) -> Array:
            return self.forward_dynamics(q, qd, still if control is None else control(t, q, qd))

        for k in range(int(steps)):
            t = k * dt
            a1 = slope(t, x, v)
            v2 = v + 0.5 * dt * a1
            a2 = slope(t + 0.5 * dt, x + 0.5 * dt * v, v2)
            v3 = v + 0.5 * dt * a2
            a3 = slope(t + 0.5 * dt, x + 0.5 * dt * v2, v3)
            v4 = v + dt * a3
            a4 = slope(t + dt, x + dt * v3, v4)
            x += dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v += dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return x, v

    # ------------------------------------------------------------- one state

    def _run(self, function: str, inputs: tuple[Any, ...], external: Any, exchange: Any) -> Array:
        robot = self.robot
        names = ("q", "qd", "tau" if function == "forward_dynamics" else "qdd")
        sizes: tuple[int | tuple[int, ...], ...] = (robot.nq, robot.nv, robot.nv)
        given = [self._checked(function, n, x, s) for n, x, s in zip(names, inputs, sizes, strict=True)]
        if external is not None:
            given.append(self._checked(function, "external", external, (robot.n_links, 6)))
        out = np.empty(robot.nv)
        self._kernel(function, external=external is not None).run(given, out, exchange)
        return out

    def _kernel(self, function: str, *, external: bool) -> PartKernel:
        key = function, external
        if key not in self._kernels:
            call = Call(self.robot, ALGORITHMS[function]["partition"])
            self._kernels[key] = PartKernel(call, ("external",) if external else ())
        return self._kernels[key]

    def _checked(self, function: str, name: str, x: Any, size: int | tuple[int, ...]) -> Array:
        where = f'{_WHERE}.{function}: {name} on rank {self.rank} for robot "{self.robot.name}"'
        try:
            array = np.ascontiguousarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise PhalanxError(f"{where} is {shown(x)}, expected numbers.") from None
        shape = size if isinstance(size, tuple) else (size,)
        if array.shape != shape:
            raise PhalanxError(f"{where} has shape {array.shape}, expected {shape}.")
        return array

    def _require_plain_coordinates(self) -> None:
        if self.robot.nq != self.robot.nv:
            raise PhalanxError(
                f'{_WHERE}.rollout: robot "{self.robot.name}" on rank {self.rank} has joints with '
                "quaternions; step it yourself with forward_dynamics and robot.integrate."
            )

    # ------------------------------------------------------------- messages

    def _gather(self, own: np.ndarray, what: str) -> np.ndarray:
        return self._ranks.gather(np.asarray(own, dtype=np.float64), _WHERE, what)

    def _send(self, function: str, number: int, own: np.ndarray) -> np.ndarray:
        """The messages of all ranks; raises if they belong to different functions."""
        message = np.zeros(_WORDS)
        message[0], message[1 : 1 + own.size] = 2 * _FUNCTIONS.index(function) + number, own
        every = self._gather(message, "the messages of all ranks")
        if (every[:, 0] != message[0]).any():
            other = int(np.flatnonzero(every[:, 0] != message[0])[0])
            called = _FUNCTIONS[int(every[other, 0]) // 2]
            raise PhalanxError(
                f"{_WHERE}: rank {self.rank} calls {function} while rank {other} calls {called}; all "
                "ranks call the same functions in the same order."
            )
        return every[:, 1 : 1 + own.size]

    def _yielding(self, number: int, sent: np.ndarray) -> np.ndarray:
        """Received in forward dynamics: the twist before a rank; then response and acceleration."""
        function = "forward_dynamics"
        if number == 0:
            return parts.twist_before(self._send(function, 0, parts.motion_sent(self._tip, sent)), self.rank)
        every = self._send(function, 1, parts.response_sent(self._tip, sent))
        return parts.response_around(every, self._shifts, self.rank, self._tip, self._gravity)

    def _needing(self, gravity: np.ndarray) -> Callable[[int, np.ndarray], np.ndarray]:
        """The exchange of inverse dynamics; returns the motion before a segment, then the wrench beyond."""
        motions = np.zeros(0)

        def exchange(number: int, sent: np.ndarray) -> np.ndarray:
            nonlocal motions
            function = "inverse_dynamics"
            if number == 0:
                motions = self._send(function, 0, parts.motion_sent(self._tip, sent))
                return parts.motion_before(motions, self.rank, gravity)
            return parts.wrench_beyond(motions, self._send(function, 1, sent), self.rank, self._tip)

        return exchange

    # ------------------------------------------------------------- checks

    def _refusal(self) -> str:
        """Why this rank's part cannot be served; empty if it can."""
        robot = self.robot
        if robot.n_links == 0:
            return "has no moving links"
        if robot.is_coupled:
            return "has mimic joints"
        if not robot.is_serial:
            return "branches"
        if self.rank > 0 and BASE in robot.q_slices:
            return "has a floating base, which only the part of rank 0 may have"
        return ""

    def _check(self) -> None:
        """Raise on every rank if the part of one cannot be served."""
        robot = self.robot
        own = pickle.dumps((self._refusal(), robot.name, robot.nv, robot.n_links))
        every = list(map(pickle.loads, self._ranks.gather_bytes(own, _WHERE, "the parts of all ranks")))
        for rank, (why, name, *_) in enumerate(every):
            if why:
                raise PhalanxError(
                    f'{_WHERE}: robot "{name}" of rank {rank} {why}; every rank has a part of one chain.'
                )
        self._counts = np.array([counts for _, _, *counts in every])


def _part(robot: Robot, rank: int, size: int) -> Robot:
    """The links of one rank as a robot whose base is the last link of the rank before, without its mass."""
    first, end = (k * robot.n_links // size for k in (rank, rank + 1))
    whole, frames = robot.description, robot.frames
    least = first if rank else -1
    links = tuple(link for link in whole.links if least <= frames[link.name].link < end)
    names = {link.name for link in links}
    joints = tuple(joint for joint in whole.joints if joint.child in names)
    if rank:
        base, entered = robot.link_names[first - 1], robot._assembly.moving[first]
        links = (Link(base), *links)
        joints = tuple(
            replace(joint, parent=base, origin=entered.origin) if joint.name == entered.joint.name else joint
            for joint in joints
        )
    description = replace(
        whole,
        name=f"{robot.name}, part {rank}",
        links=links,
        joints=joints,
        frames=tuple(frame for frame in whole.frames if frame.link in names),
        loops=(),
        left_out=(),
    )
    return Robot(description if rank == 0 else replace(description, floating_base=False, base_armature=()))
