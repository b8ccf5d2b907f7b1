# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions as different users write them equal themselves on plain arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import phalanx as px

ARM, LEGS = px.load("panda"), px.tree(4, seed=3).with_floating_base()
HAND = "panda_hand"


@dataclasses.dataclass(frozen=True)
class Output:
    tau: Any
    parts: dict[str, Any]
    power: Any = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", self.tau @ self.parts["rates"])


class Terms(NamedTuple):
    mass: Any
    frames: list[Any]


def returns_a_dataclass(q: Any, qd: Any, robot: Any) -> Any:
    return Output(robot.bias_forces(q, qd), {"rates": 2.0 * qd, "energy": robot.kinetic_energy(q, qd)})


def loops_over_frames(q: Any, robot: Any) -> Any:
    return Terms(robot.mass_matrix(q), [robot.frame_pose(q, name)[:3, 3] for name in robot.link_names])


def fills_a_matrix(q: Any, qd: Any, robot: Any) -> Any:
    system = np.zeros((10, 10), like=q)
    system[:7, :7] = robot.mass_matrix(q)
    jacobian = robot.jacobian(q, HAND)[3:]
    system[7:, :7] = jacobian
    system[:7, 7:] -= jacobian.T
    np.fill_diagonal(system[7:, 7:], 1e-3)
    return np.linalg.solve(system, np.concatenate([qd, np.zeros(3)]))


def keeps_within_limits(q: Any, qd: Any, u: Any, robot: Any) -> Any:
    lower, upper = robot.limits.lower, robot.limits.upper
    near = np.minimum(q - lower, upper - q) < 0.5
    push = np.zeros_like(q)
    push[near] = 5.0
    force = np.where(q > 0.5 * (lower + upper), -push, push)
    force[~near & (np.abs(qd) > 2.0)] = 0.0
    return np.clip(u + force, -80.0, 80.0), np.count_nonzero(near), np.any(near)


def filters(q: Any, window: Any, *, decimals: int = 2, share: Any = 0.3) -> Any:
    smooth = np.median(window, axis=0)
    return {"smooth": np.round(share * smooth + (1 - share) * q, decimals), "spread": np.ptp(window, axis=0)}


def weighs(q: Any, weights: Any, robot: Any) -> Any:
    jacobian, drift = robot.jacobian(q, HAND), robot.jacobian_time_derivative(q, 2.0 * q, HAND)
    task = np.einsum("ki,kl,lj->ij", jacobian, weights, jacobian)
    return task, np.einsum("ki,kl,lj,j", jacobian, weights, drift, q), np.einsum("ii->", task)


def rewards(q: Any, qd: Any, action: Any, goal: Any, robot: Any) -> Any:
    distance = np.linalg.norm(robot.frame_pose(q, HAND)[:3, 3] - goal)
    cost = 1e-3 * np.square(action).sum() + 1e-4 * (qd**2).mean() + np.logaddexp(0.0, 50.0 * (q - 2.0)).sum()
    done = np.logical_or(distance < 0.5, np.any(np.abs(qd) > 1.5))
    return {"reward": np.exp(-(distance**2)) - cost, "done": done, "info": {"distance": distance}}


def observes(q: Any, qd: Any, robot: Any) -> Any:
    down = px.math.quaternion_to_rotation(q[3:7]).T @ [0, 0, -1]
    heights = np.stack([robot.frame_pose(q, name)[2, 3] for name in robot.link_names])
    return np.concatenate([qd[:6], down, (heights < 0.0).astype(float), [1.0]], dtype=float)


def predicts(q: Any, qd: Any, tau: Any, robot: Any) -> Any:
    after = qd + 0.01 * robot.forward_dynamics(q, qd, tau)
    ahead = robot.integrate(q, 0.01 * after)
    return robot.difference(q, ahead), robot.normalize(ahead)


def takes_wrenches_and_inertias(q: Any, qd: Any, qdd: Any, external: Any, inertias: Any, robot: Any) -> Any:
    return robot.inverse_dynamics(q, qd, qdd, external=external, inertias=inertias)


def keeps_clear(q: Any, points: Any, robot: Any) -> Any:
    pose = robot.frame_pose(q, HAND)
    away = np.abs((points - pose[:3, 3]) @ pose[:3, :3]) - np.array([0.1, 0.05, 0.05])
    signed = np.linalg.norm(np.maximum(away, 0.0), axis=1) + np.minimum(np.max(away, axis=1), 0.0)
    return signed.min(), np.sort(signed)[:2]


def linearises(q: Any, qd: Any, tau: Any, robot: Any) -> Any:
    d = robot.forward_dynamics_derivatives(q, qd, tau)
    A = np.block([[np.zeros((7, 7)), np.eye(7)], [d.dq, d.dqd]])
    return {"A": A, "B": np.vstack([np.zeros((7, 7)), d.dtau])}


def springs(stiffness: Any, rest: Any) -> Any:
    def law(q: Any, qd: Any, robot: Any) -> Any:
        return stiffness @ (rest - q) - 3.0 * qd + robot.gravity_forces(q)

    return law


class Impedance:
    def __init__(self, frame: str, stiffness: Any) -> None:
        self.frame, self.stiffness = frame, np.asarray(stiffness)

    def __call__(self, q: Any, target: Any, robot: Any) -> Any:
        error = px.math.pose_error(robot.frame_pose(q, self.frame), target)
        return robot.jacobian(q, self.frame).T @ (self.stiffness * error)

    def damping(self, qd: Any) -> Any:
        return -self.stiffness[0] * qd


def scaled(q: Any, qd: Any, gain: Any, mode: Any) -> Any:
    return gain * np.where(mode == 1, q, np.where(mode == 2, qd, -q))


CONTROL = Impedance(HAND, range(1, 7))
STYLES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "dataclass": (returns_a_dataclass, ARM, {}),
    "frames": (loops_over_frames, LEGS, {}),
    "filled": (fills_a_matrix, ARM, {}),
    "masks": (keeps_within_limits, ARM, {}),
    "defaults": (filters, ARM, {"window": (5, 7)}),
    "a default with a size": (filters, ARM, {"window": (5, 7), "share": ()}),
    "einsum": (weighs, ARM, {"weights": (6, 6)}),
    "reward": (rewards, ARM, {"action": 7, "goal": 3}),
    "observation": (observes, LEGS, {}),
    "steps": (predicts, LEGS, {}),
    "wrenches": (takes_wrenches_and_inertias, ARM, {"external": (ARM.n_links, 6)}),
    "distances": (keeps_clear, ARM, {"points": (5, 3)}),
    "derivatives": (linearises, ARM, {}),
    "closure": (springs(np.diag(np.arange(7.0)), np.ones(7)), ARM, {}),
    "callable": (CONTROL, ARM, {"target": (4, 4)}),
    "method": (CONTROL.damping, ARM, {}),
    "lambda": (lambda q, qd, robot: robot.coriolis_matrix(q, qd) @ qd, ARM, {}),
    "partial": (functools.partial(scaled, gain=2.0), ARM, {"mode": ()}),
    "integers": (scaled, ARM, {"gain": (), "mode": ()}),
}


def leaves(value: Any) -> Iterator[Any]:
    """The arrays in a result, with names or without."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for x in value:
            yield from leaves(x)
    else:
        yield np.asarray(value)


def arguments(f: Any, robot: Any) -> dict[str, Any]:
    """Arrays for a batch of three states."""
    rng = np.random.default_rng(4)
    q, qd, tau = robot.random_state(3, rng=5)
    known = {"q": q, "qd": qd, "tau": tau, "mode": np.array([1.0, 2.0, 3.0])}
    known["inertias"] = np.broadcast_to(robot.inertial_parameters.reshape(-1, 10), (3, robot.n_links, 10))
    known["target"] = ARM.frame_pose(ARM.random_state(3, rng=6)[0], HAND)
    return {
        name: known[name] if name in known else rng.uniform(0.1, 1.0, (3, *shape))
        for name, shape in f.inputs.items()
    }


@pytest.mark.parametrize("name", STYLES)
def test_it_equals_itself_on_plain_arrays(name: str) -> None:
    function, robot, sizes = STYLES[name]
    f = robot.function(function, **sizes)
    given = arguments(f, robot)
    made = f(**given) if set(f.inputs) == set(f._trace.keywords) else f(*given.values())
    for k in range(3):
        one = {n: a[k] for n, a in given.items()}
        takes_robot = (
            "robot" in (function.__code__ if hasattr(function, "__code__") else CODE[name]).co_varnames
        )
        wanted = function(**one, **({"robot": robot} if takes_robot else {}))
        assert type(wanted) is type(made) or not isinstance(wanted, (tuple, dict, Output))
        for x, y in zip(leaves(made), leaves(wanted), strict=True):
            np.testing.assert_allclose(x[k], y, rtol=1e-12, atol=1e-12)


CODE = {
    "callable": Impedance.__call__.__code__,
    "method": Impedance.damping.__code__,
    "partial": scaled.__code__,
}


def test_dataclasses_are_results_in_all_that_functions_do() -> None:
    f = ARM.function(returns_a_dataclass)
    q, qd, _ = ARM.random_state(3, rng=0)
    out = Output.__new__(Output)
    parts = {"rates": np.zeros((3, 7)), "energy": np.zeros(3)}
    for name, value in {"tau": np.zeros((3, 7)), "parts": parts, "power": np.zeros(3)}.items():
        object.__setattr__(out, name, value)
    assert list(f.outputs) == ["tau", "parts.rates", "parts.energy", "power"]
    made = f(q, qd, out=out)
    assert made is out
    np.testing.assert_array_equal(made.tau, f(q, qd).tau)
    along = f.jvp((q, qd), (None, qd))
    assert isinstance(along, Output)
    np.testing.assert_allclose(along.parts["rates"], 2.0 * qd)
    np.testing.assert_allclose(along.parts["energy"], 2.0 * parts["energy"], rtol=1e-12)
