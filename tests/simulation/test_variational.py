# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The variational integrator: order two on every joint, momentum to rounding, energy over very many steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import phalanx as px
from phalanx.algorithms.variational import drift, iterations_for, kick
from phalanx.robot.description import Mimic
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.sampling import agree

KINDS = ("revolute", "prismatic", "helical", "universal", "planar", "spherical")
FREE: dict[str, Any] = {"damping": False, "friction": False, "limits": False, "springs": False}


def stepped(
    r: px.Robot, q: np.ndarray, qd: np.ndarray, h: float, steps: int, tau: Any = 0.0, damping: Any = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """A state after some steps, by the text on floats."""
    with ordering(Sequential(r.model.parents, r.model.pattern)):
        for _ in range(steps):
            after = drift(
                r.model, q, qd, tau, h, move=lambda q, d: r.normalize(r.integrate(q, d)), damping=damping
            )
            q, qd = after.q, kick(r.model, after, tau, h)
    return q, qd


def exact(r: px.Robot, q: np.ndarray, qd: np.ndarray, time: float, force: Any) -> tuple[Any, Any]:
    """The state after some time, by SciPy; `force(q, qd)` are joint forces."""

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        q, qd = y[: r.nq], y[r.nq :]
        rates = [c.kind.coordinate_rates(q[None, c.q], qd[None, c.v])[0] for c in r._coordinates]
        return np.concatenate([*rates, r.forward_dynamics(q, qd, force(q, qd), backend="numpy")])

    y = solve_ivp(slope, (0.0, time), np.concatenate([q, qd]), method="DOP853", rtol=1e-11, atol=1e-12).y[
        :, -1
    ]
    return y[: r.nq], y[r.nq :]


def distance(r: px.Robot, a: tuple[Any, Any], b: tuple[Any, Any]) -> float:
    return float(max(np.abs(r.difference(a[0], b[0])).max(), np.abs(a[1] - b[1]).max()))


def order(r: px.Robot, tau: Any, damping: Any, steps: int = 10, time: float = 0.1) -> float:
    """By which power of the step the error falls."""
    q, qd, _ = r.random_state(rng=1)
    end = exact(r, q, qd, time, lambda q, qd: tau - damping * qd)
    few, many = (distance(r, stepped(r, q, qd, time / n, n, tau, damping), end) for n in (steps, 2 * steps))
    return float(np.log2(few / many))


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_converges_with_order_two(kind: str, floating: bool) -> None:
    r = px.tree(3, 0.3, seed=2, joints=(kind,))
    r = r.with_floating_base() if floating else r
    r = r.replace(armature=dict.fromkeys(("",) * floating + r.joint_names, 0.1))
    tau = np.random.default_rng(3).standard_normal(r.nv)
    assert abs(order(r, tau, 0.2) - 2.0) < 0.05


def test_rotors_of_a_floating_base_may_differ_from_axis_to_axis() -> None:
    r = px.tree(2, 0.3, seed=2).with_floating_base().replace(armature={"": (0.3, 0.1, 0.2, 0.5, 0.1, 0.9)})
    assert r.model.rotor_forces(np.ones(r.nv)) is not None
    assert abs(order(r, np.zeros(r.nv), 0.0) - 2.0) < 0.05


def test_coupled_joints_converge_with_order_two() -> None:
    described = px.tree(5, 0.5, seed=3, joints=("revolute", "prismatic")).description
    follow = {"joint2": Mimic("joint1", -0.7, 0.1), "joint4": Mimic("joint3", 2.0, 0.0)}
    joints = tuple(replace(j, mimic=follow.get(j.name)) for j in described.joints)
    r = px.load(replace(described, joints=joints))
    assert r.is_coupled
    assert abs(order(r, np.ones(r.nv), 0.1) - 2.0) < 0.05


def test_a_law_keeps_the_order() -> None:
    r = px.chain(3, seed=1)
    q, qd, _ = r.random_state(rng=1)

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return 3.0 * (u - q) - 2.0 * qd + np.sin(q) * qd**2

    def push(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"link3": np.array([0.0, 0.1, 0.0, 1.0, 0.0, 2.0]) * (1.0 + q[0])}

    def force(q: np.ndarray, qd: np.ndarray) -> Any:
        J = r.jacobian(q, "link3", reference="local", backend="numpy")
        return law(0.0, q, qd, np.ones(3), r) + J.T @ push(0.0, q, qd, None, r)["link3"]

    end = exact(r, q, qd, 0.1, force)
    errors = []
    for steps in (25, 50):
        sim = r.simulation(
            dt=0.1 / steps, integrator="variational", control=law, controls=3, forces=push, **FREE
        )
        errors.append(distance(r, sim.rollout(q, qd, controls=np.ones(3), steps=steps).final, end))
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_springs_of_the_surroundings_keep_the_order() -> None:
    r = px.chain(2, seed=1)
    q, qd, _ = r.random_state(rng=1)
    spring = px.contact.spring("link2", (None, (1.0, 0.0, 1.0)), stiffness=200.0, damping=5.0, length=0.2)

    def force(q: np.ndarray, qd: np.ndarray) -> Any:
        J = r.jacobian(q, "link2", reference="local", backend="numpy")
        return J.T @ spring(0.0, q, qd, None, r)["link2"]

    end = exact(r, q, qd, 0.1, force)
    errors = []
    for steps in (50, 100):
        sim = r.simulation(dt=0.1 / steps, integrator="variational", forces=spring, **FREE)
        errors.append(distance(r, sim.rollout(q, qd, steps=steps).final, end))
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.1


def test_compiled_steps_are_those_of_the_text() -> None:
    r = px.tree(5, 0.3, seed=2, joints=("revolute", "spherical", "helical")).with_floating_base()
    q, qd, tau = r.random_state(3, rng=1)
    sim = r.simulation(dt=1e-3, integrator="variational", **FREE)
    run = sim.rollout(q, qd, controls=tau[:, None, :], steps=5)
    wanted = stepped(r, q, qd, 1e-3, 5, tau)
    agree(run.final[0], wanted[0], 1e-13)
    agree(run.final[1], wanted[1], 1e-12)


def test_momentum_of_a_free_robot_is_kept_to_rounding() -> None:
    r = px.tree(6, 0.4, seed=3, joints=("revolute", "universal", "spherical"))
    r = r.with_floating_base().replace(gravity=(0.0, 0.0, 0.0), armature=0.0)
    q, qd, _ = r.random_state(4, rng=5)
    sim = r.simulation(dt=2e-3, integrator="variational", **FREE)
    run = sim.rollout(q, qd, steps=5000, every=500, record=("centroidal_momentum",))
    start = r.centroidal_momentum(q, qd)
    drift = np.abs(run["centroidal_momentum"] - start[:, None]).max(axis=(-1, -2)) / np.abs(start).max(
        axis=-1
    )
    assert drift.max() < 1e-13


def test_internal_forces_do_not_change_momentum() -> None:
    r = px.chain(3, seed=3).with_floating_base().replace(gravity=(0.0, 0.0, 0.0))
    q, qd, _ = r.random_state(rng=5)
    sim = r.simulation(dt=2e-3, integrator="variational", **FREE)
    tau = np.r_[np.zeros(6), 1.0, -2.0, 0.5]
    final = sim.rollout(q, qd, controls=tau, steps=500, every=500).final
    assert np.abs(final[1] - qd).max() > 0.1
    agree(r.centroidal_momentum(*final), r.centroidal_momentum(q, qd), 1e-13)


@pytest.mark.parametrize("bodies", [2, 3])
def test_energy_of_an_undamped_chain_stays_over_a_million_steps(bodies: int) -> None:
    r = px.chain(bodies, seed=4)
    q = 0.4 * r.random_state(rng=2)[0]
    sim = r.simulation(dt=2e-3, integrator="variational", **FREE)
    run = sim.rollout(q, np.zeros(bodies), steps=1_000_000, every=100, record=("energy", "kinetic_energy"))
    error = np.abs(run["energy"] - r.potential_energy(q)) / run["kinetic_energy"].max()
    early, late = error[:2000].max(), error[-2000:].max()
    assert 1e-9 < late < 1e-2  # it varies with the step, and by no more
    assert late < 3.0 * early


def test_a_free_body_follows_the_known_solution() -> None:
    """The Euler top: angular velocities about the principal axes are elliptic functions of time."""
    moments = np.array([1.0, 2.0, 2.8])
    builder = px.RobotBuilder("top")
    builder.add_link("body", mass=3.0, com=(0.1, -0.2, 0.3), inertia=tuple(moments))
    r = builder.build(floating_base=True).replace(gravity=(0.0, 0.0, 0.0))
    # Turns about the mass centre, which rests: about the origin v = -w x c.
    w0 = np.array([1.2, 0.0, 0.9])
    c = np.array([0.1, -0.2, 0.3])
    time = 3.0
    wanted = elliptic(moments, w0, time)
    errors = []
    for steps in (300, 600):
        sim = r.simulation(dt=time / steps, integrator="variational", **FREE)
        qd = np.r_[w0, np.cross(c, w0)]
        final = sim.rollout(r.neutral(), qd, steps=steps, every=steps).final
        errors.append(np.abs(final[1][:3] - wanted).max())
        agree(r.centroidal_momentum(*final), r.centroidal_momentum(r.neutral(), qd), 1e-13)
        agree(r.center_of_mass(final[0]), c, 1e-13)
    assert errors[1] < 1e-4
    assert abs(np.log2(errors[0] / errors[1]) - 2.0) < 0.02


def elliptic(moments: np.ndarray, w: np.ndarray, time: float) -> np.ndarray:
    """Angular velocities of a free body that has none about its middle axis at the beginning (Landau, 37)."""
    i1, i2, i3 = moments
    energy2, square = float(moments @ w**2), float((moments * w) @ (moments * w))
    assert w[1] == 0.0
    assert square > energy2 * i2
    speed = np.sqrt((i3 - i2) * (square - energy2 * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (energy2 * i3 - square) / ((i3 - i2) * (square - energy2 * i1))
    sn, cn, dn, _ = ellipj(speed * time, m)
    sizes = (
        np.sqrt((energy2 * i3 - square) / (i1 * (i3 - i1))) * cn,
        np.sqrt((energy2 * i3 - square) / (i2 * (i3 - i2))) * sn,
        np.sqrt((square - energy2 * i1) / (i3 * (i3 - i1))) * dn,
    )
    return np.array(sizes)


def test_steps_in_single_precision_follow_those_in_double() -> None:
    r = px.tree(3, 0.3, seed=2, joints=("revolute", "spherical")).with_floating_base()
    q, qd, _ = r.random_state(5, rng=1)
    runs = [
        r.simulation(dt=1e-3, integrator="variational", dtype=dtype, **FREE).rollout(
            q, qd, steps=200, every=200
        )
        for dtype in ("float32", "float64")
    ]
    agree(runs[0].final[0], runs[1].final[0], 1e-4)
    agree(runs[0].final[1], runs[1].final[1], 1e-3)


def test_derivatives_of_a_step_are_those_of_differences() -> None:
    r = px.tree(2, 0.0, seed=2, joints=("revolute", "spherical"))
    q, qd, tau = r.random_state(rng=1)
    sim = r.simulation(dt=1e-3, integrator="variational", **FREE)
    A, B = sim.linearize(q, qd, tau)
    step = 1e-4

    def moved(dx: np.ndarray, du: np.ndarray) -> tuple[Any, Any]:
        return sim.step(r.integrate(q, dx[: r.nv]), qd + dx[r.nv :], tau + du)

    for found, place in ((A, 0), (B, 1)):
        for k in range(found.shape[1]):
            d = [np.zeros(2 * r.nv), np.zeros(r.nv)]
            d[place][k] = step
            ahead, behind = moved(*d), moved(*(-x for x in d))
            slope = np.r_[r.difference(behind[0], ahead[0]), ahead[1] - behind[1]] / (2.0 * step)
            agree(found[:, k], slope, 1e-7)


def test_iterations_follow_the_step() -> None:
    counts = [iterations_for(h) for h in (1e-4, 1e-3, 1e-2, 1e-1, 10.0)]
    assert counts == sorted(counts)
    assert counts[0] >= 4
    assert counts[-1] == counts[-2]  # no step takes more than that
