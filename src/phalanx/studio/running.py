# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A live simulation with its history: a drop, a held pose or the control law of a file."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..robot.robot import Robot
from ..simulation.driving import FORCES, holding, laws_of

Array = np.ndarray[Any, np.dtype[Any]]

DROP, HOLD, LAW = "drop", "hold", "law"
_STEP = 1e-3  # seconds
_BANDWIDTH = 2.0  # hertz of a held pose
_LONG = 48  # degrees of freedom beyond which steps are taken one by one
_HISTORY = 600  # pictures that plots show
_RECORD = ("tau", "qdd", "kinetic_energy", "potential_energy")


class LiveSimulation:
    """A simulation from a given state; `advance` integrates it, and deques hold its history."""

    def __init__(self, robot: Robot, q: Array, qd: Array, kind: str, law: str | None = None) -> None:
        self.robot, self.kind = robot, kind
        self.q, self.qd = q.copy(), qd.copy()
        self.tau, self.qdd = np.zeros(robot.nv), np.zeros(robot.nv)
        self.steps = 0
        self.time: deque[float] = deque(maxlen=_HISTORY)
        self.rows: deque[tuple[Array, Array, Array, float, float]] = deque(maxlen=_HISTORY)
        self._sim: Any = None
        if robot.nv > _LONG and kind == DROP:  # compiling a loop over time would take minutes
            self._aims = np.zeros(0)
            return
        options = _driven(robot, q, kind, law)
        self._own = _controls(options.get("control"), robot)
        self._aims = q if kind != DROP and self._own == robot.nq else np.zeros(self._own)
        if options.get("control") is not None:  # without a law, controls are joint forces already
            options["control"] = _with_push(options["control"], robot, self._own)
        self._sim = robot.simulation(dt=_STEP, integrator="implicit", **options)
        self._advance(np.zeros(robot.nv), 1, keep=False)  # compiles, and raises if the law is broken

    @property
    def seconds(self) -> float:
        """The time of the simulation."""
        return self.steps * _STEP

    def advance(self, seconds: float, push: Array) -> None:
        """Integrate for `seconds` with joint forces `push` (nv,) added to those of the law."""
        self._advance(push, max(1, round(seconds / _STEP)), keep=True)

    def _advance(self, push: Array, steps: int, *, keep: bool) -> None:
        if self._sim is None:
            self._by_hand(push, steps)
            return
        controls = np.concatenate([self._aims, push])
        run = self._sim._rolled(self.q, self.qd, controls, steps, steps, _RECORD, None, start=self.steps)
        if not keep:
            return
        q, qd = (np.array(x) for x in run.final)
        energies = float(run["kinetic_energy"][-1]), float(run["potential_energy"][-1])
        diverged = bool(np.any(run.diverged))
        self._keep(steps, q, qd, run["tau"][-1] - push, run["qdd"][-1], energies, diverged)

    def _by_hand(self, push: Array, steps: int) -> None:
        """Take steps of semi-implicit Euler in Python, for robots with very many links."""
        robot, q, qd = self.robot, self.q, self.qd
        qdd = self.qdd
        for _ in range(steps):
            qdd = np.asarray(robot.forward_dynamics(q, qd, push - robot.damping * qd))
            qd = qd + _STEP * qdd
            q = np.asarray(robot.integrate(q, _STEP * qd))
        energies = float(robot.kinetic_energy(q, qd)), float(robot.potential_energy(q))
        self._keep(steps, q, qd, np.zeros(robot.nv), qdd, energies, False)

    def _keep(
        self,
        steps: int,
        q: Array,
        qd: Array,
        tau: Array,
        qdd: Array,
        energies: tuple[float, float],
        diverged: bool,
    ) -> None:
        if diverged or not (np.isfinite(q).all() and np.isfinite(qd).all()):
            raise PhalanxError(
                f"the simulation diverged at {self.seconds:.2f} s; lower the law's gains, or start elsewhere."
            )
        self.q, self.qd, self.tau, self.qdd = q, qd, tau, qdd
        self.steps += steps
        self.time.append(self.seconds)
        self.rows.append((q, tau, qdd, *energies))

    def history(self, most: int = 200) -> dict[str, Any]:
        """Times (T,), coordinates (T, nq), joint forces (T, nv) and energies, thinned out."""
        rows, time = list(self.rows), list(self.time)
        step = -(-len(rows) // most) if rows else 1
        chosen = range((len(rows) - 1) % step, len(rows), step) if rows else range(0)
        return {
            "time": [time[k] for k in chosen],
            "q": np.array([rows[k][0] for k in chosen]).reshape(-1, self.robot.nq),
            "tau": np.array([rows[k][1] for k in chosen]).reshape(-1, self.robot.nv),
            "kinetic": [rows[k][3] for k in chosen],
            "potential": [rows[k][4] for k in chosen],
        }


def _driven(robot: Robot, q: Array, kind: str, law: str | None) -> dict[str, Any]:
    """The options of `robot.simulation` for a kind of motion."""
    if kind == HOLD:
        return {"control": holding(robot, q[None], _BANDWIDTH, [])}
    if kind == LAW:
        if law is None:
            raise PhalanxError("no law was named; start the studio with --control law.py.")
        options = laws_of(law, where="control law")
        return {**options, FORCES: options.get(FORCES)}
    if kind != DROP:
        raise PhalanxError(f"studio: motion is {kind!r}; expected {DROP}, {HOLD} or {LAW}.")
    return {}


def _controls(law: Any, robot: Robot) -> int:
    """How many controls a law takes."""
    if law is None:
        return 0
    controls = getattr(law, "controls", robot.nv)
    return int(controls(robot) if callable(controls) else controls)


def _with_push(law: Any, robot: Robot, own: int) -> Any:
    """The law plus joint forces, which are the controls after the law's own."""

    def control(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return law(t, q, qd, u[:own], robot) + u[own:]

    control.controls = own + robot.nv  # type: ignore[attr-defined]
    return control
