# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Ground, springs and tendons: equilibria and motions that textbooks know, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.program.builder import straight
from phalanx.program.graph import Graph, symbols
from phalanx.program.interpret import program_on_arrays
from phalanx.simulation.external_forces import loads_of
from phalanx.simulation.integrators import INTEGRATORS
from phalanx.simulation.loads import on_links
from phalanx.tracing.arrays import Traced
from phalanx.tracing.equations import Equations, TracedRobot
from reference.sampling import agree

G = 9.81


def block(mass: float = 2.0, **frames: tuple[float, float, float]) -> px.Robot:
    """A free block with some frames."""
    builder = px.RobotBuilder("block")
    builder.add_link("block", mass=mass, inertia=(0.02, 0.03, 0.04))
    for name, position in frames.items():
        builder.add_frame(name, "block", position)
    return builder.build(floating_base=True)


def slider(axis: tuple[float, float, float] = (0.0, 0.0, 1.0), mass: float = 2.0) -> px.Robot:
    """A mass that moves along a line only."""
    builder = px.RobotBuilder("slider")
    builder.add_link("rail")
    builder.add_link("mass", mass=mass, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("slide", "prismatic", "rail", "mass", axis=axis)
    return builder.build()


def at(height: float) -> np.ndarray:
    return np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])


# ------------------------------------------------------------------- ground


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_mass_rests_where_the_ground_carries_its_weight(integrator: str) -> None:
    r = block(foot=(0.0, 0.0, -0.1))
    ground = px.contact.ground(["foot"], stiffness=5e3, damping=200.0, friction=0.5)
    sim = r.simulation(dt=1e-3, integrator=integrator, forces=ground)
    final = sim.rollout(at(0.1), np.zeros(6), steps=1500, every=1500).final
    assert final[0][2] == pytest.approx(0.1 - 2.0 * G / 5e3, abs=1e-9)
    assert np.abs(final[1]).max() < 1e-7


def test_implicit_contact_is_stable_at_any_stiffness() -> None:
    r = block(a=(0.1, 0.1, 0.0), b=(-0.1, 0.1, 0.0), c=(0.0, -0.1, 0.0))
    ground = px.contact.ground(["a", "b", "c"], stiffness=1e9, damping=1e5, friction=0.8)
    sims = {name: r.simulation(1e-3, integrator=name, forces=ground) for name in ("euler", "implicit")}
    start = at(0.05), np.array([1.0, 0.5, 0.0, 0.3, 0.0, 0.0])
    with pytest.warns(px.PhalanxWarning, match='"euler", where "implicit" stays stable.*damping of forces'):
        assert sims["euler"].rollout(*start, steps=2000, every=10).diverged
    sim = sims["implicit"]
    run = sim.rollout(*start, steps=2000, every=10)
    assert not run.diverged
    assert np.abs(run.qd).max() < 10.0
    final = sim.rollout(at(0.05), np.zeros(6), steps=1000, every=1000).final
    assert abs(final[0][2]) < 1e-6


def test_a_block_slides_on_a_slope_as_coulomb_says() -> None:
    slope, mu = 0.5, 0.3
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    r = block(foot=(0.0, 0.0, 0.0))
    ground = px.contact.ground(["foot"], stiffness=1e5, damping=1e3, friction=mu, normal=2.0 * normal)
    # Implicit friction slows what speeds up by one step more.
    for integrator, digits in (("euler", 1e-5), ("implicit", 1e-3)):
        sim = r.simulation(dt=2e-4, integrator=integrator, forces=ground)
        q = at(0.0)
        q[:3] = -normal * 2.0 * G * np.cos(slope) / 1e5  # as deep as it rests
        run = sim.rollout(q, np.zeros(6), steps=5000, every=2500)
        speed = run.qd[:, 3:] @ down  # it does not turn: the point is its mass centre
        wanted = G * (np.sin(slope) - mu * np.cos(slope))
        assert (speed[1] - speed[0]) / 0.5 == pytest.approx(wanted, rel=digits)
        assert np.abs(run.qd[:, :3]).max() < 1e-9


def test_a_block_sticks_where_friction_suffices_and_only_creeps() -> None:
    slope, mu, slip = 0.2, 0.3, 1e-3
    normal, down = [np.sin(slope), 0.0, np.cos(slope)], np.array([np.cos(slope), 0.0, -np.sin(slope)])
    r = block(foot=(0.0, 0.0, 0.0))
    ground = px.contact.ground(["foot"], 1e5, 1e3, mu, normal=normal, slip=slip)
    sim = r.simulation(dt=1e-3, integrator="implicit", forces=ground)
    final = sim.rollout(at(-1e-4), np.zeros(6), steps=2000, every=2000).final
    # Friction is linear below `slip`: it holds the weight at this speed.
    assert final[1][3:] @ down == pytest.approx(slip * np.tan(slope) / mu, rel=1e-6)


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_rebounds_of_a_dropped_ball_decay_and_energy_never_grows(integrator: str) -> None:
    r = slider()
    ground = px.contact.ground(["mass"], stiffness=1e4, damping=40.0)
    sim = r.simulation(dt=1e-4, integrator=integrator, forces=ground)
    run = sim.rollout([0.5], [0.0], steps=30_000, record=("q", "qd", "energy"))
    height = run.q[:, 0]
    tops = height[1:-1][(height[1:-1] > height[:-2]) & (height[1:-1] >= height[2:]) & (height[1:-1] > 1e-3)]
    assert len(tops) > 3
    assert np.all(np.diff(np.r_[0.5, tops]) < 0.0)
    # A linear spring and damper without pull: the part of speed that is left hardly depends on it.
    left = np.sqrt(np.r_[0.5, tops][1:] / np.r_[0.5, tops][:-1])
    assert left[:3].std() < 0.03
    spring = 0.5 * 1e4 * np.minimum(height, 0.0) ** 2
    whole = run["energy"] + spring
    assert np.all(np.diff(whole) < 2e-3 * whole[0])
    assert whole[-1] < 0.05 * whole[0]


def test_several_points_of_a_frame_carry_together() -> None:
    r = block()
    corners = [(x, y, -0.05) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    ground = px.contact.ground({"block": corners}, stiffness=1e4, damping=300.0, friction=0.5, height=0.3)
    q, _, _ = r.random_state(rng=1)
    q[:3] = (0.0, 0.0, 0.5)
    q[3:] = (0.05, 0.1, 0.0, 0.99)
    sim = r.simulation(dt=1e-3, integrator="implicit", forces=ground)
    final = sim.rollout(r.normalize(q), np.zeros(6), steps=4000, every=4000).final
    pose = r.frame_pose(final[0], "block")
    agree(pose[:3, 2], [0.0, 0.0, 1.0], 1e-6)
    assert pose[2, 3] == pytest.approx(0.35 - 2.0 * G / 4e4, abs=1e-6)


def test_a_rolling_wheel_keeps_rolling() -> None:
    """Impedances act on what is resisted, not on how axes of the body turn."""
    r = block(hub=(0.0, 0.0, 0.0))
    ground = px.contact.ground({"hub": (0.0, 0.0, 0.0)}, stiffness=1e5, damping=1e3)
    sim = r.simulation(dt=1e-3, integrator="implicit", forces=ground)
    spin = np.array([0.0, 8.0, 0.0])
    q = at(-2.0 * G / 1e5)
    run = sim.rollout(q, np.r_[spin, 2.0, 0.0, 0.0], steps=500)
    assert np.abs(run.q[:, 2] - q[2]).max() < 1e-6
    assert run.q[-1, 0] == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_implicit_wrenches_are_those_at_the_end_of_the_step(friction: float) -> None:
    r = px.chain(3, seed=2).with_floating_base()
    ground = px.contact.ground(
        {"link3": [(0.1, 0.0, 0.2), (0.0, 0.1, 0.0)]},
        1e3,
        50.0,
        friction,
        height=9.0,
        normal=(1, 1, 2),
        slip=99.0,
    )
    q, qd, qdd = r.random_state(rng=1)
    errors = []
    for h in (1e-3, 1e-4):
        qd1 = qd + h * qdd
        q1 = r.integrate(q, h * 0.5 * (qd + qd1))
        V, rate = r.frame_velocity(q, qd, "link3"), r.frame_acceleration(q, qd, qdd, "link3")
        rate[3:] -= np.cross(V[:3], V[3:])  # componentwise rate of the twist
        R = r.frame_pose(q, "link3")[:3, :3]
        worst = change = 0.0
        loads = [
            ground.loads(*state, r, h=step, parameters={})
            for state, step in (((q, qd), None), ((q, qd), h), ((q1, qd1), None))
        ]
        for first, load, last in zip(*loads, strict=True):
            ((at, force),), ((_, even),), ((along, ((_, n),)),) = load.forces, load.evenly, load.along
            a = rate[3:] + np.cross(rate[:3], R @ at)
            predicted = force - even * a - along * n * (n @ a)
            worst = max(worst, np.abs(predicted - last.forces[0][1]).max())
            change = max(change, np.abs(first.forces[0][1] - last.forces[0][1]).max())
        errors.append(worst / change)
    # Wrong by h^2 where the change is by h; friction follows the normal force a step late, by h.
    assert errors[1] < (2e-4 if friction == 0.0 else 0.5)
    if friction == 0.0:
        assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.2)


def test_parameters_make_ground_differ_from_simulation_to_simulation() -> None:
    r = slider()
    ground = px.contact.ground(["mass"], stiffness="hard", damping=100.0)
    sim = r.simulation(dt=1e-3, integrator="implicit", forces=ground, parameters={"hard": 1})
    hard = np.array([[1e3], [1e4], [1e5]])
    final = sim.rollout(
        np.zeros((3, 1)), np.zeros((3, 1)), steps=3000, every=3000, parameters={"hard": hard}
    ).final
    agree(final[0], -2.0 * G / hard, 1e-6)


# ------------------------------------------------------------------- springs


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_spring_swings_with_its_frequency(integrator: str) -> None:
    r = slider(axis=(1.0, 0.0, 0.0))
    spring = px.contact.spring("mass", (None, (3.0, 0.0, 0.0)), stiffness=50.0, length=2.5)
    sim = r.simulation(dt=1e-4, integrator=integrator, forces=spring)
    time = np.pi / np.sqrt(50.0 / 2.0)  # half a period, about x = 0.5
    steps = round(time / 1e-4)
    final = sim.rollout([0.4], [0.0], steps=steps, every=steps).final
    assert final[0][0] == pytest.approx(0.6, abs=1e-3 if INTEGRATORS[integrator].stiff else 1e-4)


def test_a_spring_between_two_links_is_an_internal_force() -> None:
    r = px.chain(4, seed=2).with_floating_base().replace(gravity=(0.0, 0.0, 0.0))
    q, qd, _ = r.random_state(rng=1)
    spring = px.contact.spring(("link1", (0.1, 0.0, 0.0)), "link4", stiffness=30.0, damping=2.0, length=0.2)
    for integrator in ("implicit", "variational"):
        sim = r.simulation(dt=1e-3, integrator=integrator, forces=spring, damping=False, limits=False)
        final = sim.rollout(q, qd, steps=300, every=300).final
        tolerance = 1e-12 if integrator == "variational" else 1e-2
        agree(r.centroidal_momentum(*final), r.centroidal_momentum(q, qd), tolerance)
    wrenches = spring(0.0, q, qd, None, r)
    force = {f: r.frame_pose(q, f)[:3, :3] @ wrenches[f][3:] for f in ("link1", "link4")}
    agree(force["link1"], -force["link4"], 1e-14)


def test_an_implicit_spring_is_stable_where_an_explicit_one_is_not() -> None:
    r = slider()
    spring = px.contact.spring("mass", None, stiffness=1e8, damping=10.0)
    sims = {name: r.simulation(1e-3, integrator=name, forces=spring) for name in ("euler", "implicit")}
    with pytest.warns(px.PhalanxWarning, match="1 of 1 simulations"):
        assert sims["euler"].rollout([0.01], [0.0], steps=500).diverged
    assert np.abs(sims["implicit"].rollout([0.01], [0.0], steps=500).q).max() < 0.01


def test_a_tendon_pulls_and_does_not_push() -> None:
    r = slider()
    tendon = px.contact.tendon([(None, (0.0, 0.0, 2.0)), "mass"], stiffness=1e4, damping=100.0, length=1.5)
    sim = r.simulation(dt=1e-4, forces=tendon)
    final = sim.rollout([1.0], [0.0], steps=30_000, every=30_000).final  # falls until the string is taut
    assert final[0][0] == pytest.approx(0.5 - 2.0 * G / 1e4, abs=1e-6)
    assert tendon(0.0, np.array([1.0]), np.zeros(1), None, r)["mass"][5] == 0.0


def test_a_tendon_over_a_pulley_holds_two_masses() -> None:
    builder = px.RobotBuilder("two")
    builder.add_link("rail")
    builder.add_link("a", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_link("b", mass=3.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("ja", "prismatic", "rail", "a", axis=(0, 0, 1), origin=(-1.0, 0.0, 0.0))
    builder.add_joint("jb", "prismatic", "rail", "b", axis=(0, 0, 1), origin=(1.0, 0.0, 0.0))
    r = builder.build()
    pulleys = [(None, (x, 0.0, 2.0)) for x in (-1.0, 1.0)]
    tendon = px.contact.tendon(["a", *pulleys, "b"], stiffness=1e5, damping=200.0, length=6.0)
    sim = r.simulation(dt=1e-4, forces=tendon)
    run = sim.rollout([0.0, 0.0], [0.0, 0.0], steps=4000, every=4000)
    # Atwood's machine: a = g (m2 - m1) / (m1 + m2).
    wanted = 0.5 * 0.5 * G * 0.4**2
    agree(run.q[-1], [wanted, -wanted], 5e-3)


# ------------------------------------------------------------------- traced and plain


def test_traced_wrenches_are_those_of_plain_arrays() -> None:
    r = px.chain(3, seed=2)
    forces: list[Any] = [
        px.contact.ground(
            {"link3": [(0.1, 0.0, 0.2), (0.0, 0.1, 0.0)]}, 100.0, 5.0, 0.5, height=0.2, normal=(1, 1, 2)
        ),
        px.contact.spring("link2", (None, (1.0, 0.0, 0.0)), 10.0, 1.0, 0.3),
        px.contact.tendon(["link1", "link3", None], 10.0, 1.0, 0.3),
    ]
    q, qd, _ = r.random_state(20, rng=1)
    graph = Graph()
    given = [
        Traced(symbols(graph, name, shape))
        for name, shape in (("t", ()), ("q", (3,)), ("qd", (3,)), ("u", (3,)))
    ]
    for force in forces:
        plain = force(0.0, q, qd, None, r)
        assert any(np.abs(w).max() > 0.01 for w in plain.values())
        equations = Equations(r, graph)
        found = loads_of([force], given, TracedRobot(equations), {}, 1e-3, implicit=False)
        assert {load.frame for load in found} == set(plain)
        wrenches = on_links(equations, given[1].scalars, found)
        program = straight({"q": (3,), "qd": (3,)}, {"w": (3, 6)}, wrenches.ravel().tolist())
        agree(program_on_arrays(program, {"q": q, "qd": qd}), r.wrenches(plain), 1e-12)


def test_wrenches_are_taken_by_the_dynamics() -> None:
    r = block(foot=(0.0, 0.0, -0.1))
    ground = px.contact.ground(["foot"], stiffness=5e3)
    q, zero = at(0.09), np.zeros(6)
    qdd = r.forward_dynamics(q, zero, zero, external=ground(0.0, q, zero, None, r))
    agree(qdd[3:], [0.0, 0.0, 5e3 * 0.01 / 2.0 - G], 1e-12)


@pytest.mark.parametrize("integrator", ["euler", "implicit"])
def test_derivatives_through_contact_are_those_of_differences(integrator: str) -> None:
    r = block(a=(0.1, 0.1, -0.1), c=(-0.1, 0.1, -0.1))
    forces = [
        px.contact.ground(["a", "c"], 2e3, 20.0, 0.5),
        px.contact.tendon(["a", (None, (1.0, 0.0, 1.0))], 100.0, 1.0, 0.5),
    ]
    q = r.normalize([0.0, 0.0, 0.06, 0.1, 0.05, 0.0, 0.99])
    qd, u = np.array([0.1, 0.2, 0.3, 0.4, 0.1, -0.2]), np.zeros(6)
    assert np.abs(forces[0](0.0, q, qd, None, r)["a"]).max() > 1.0
    sim = r.simulation(dt=1e-3, integrator=integrator, forces=forces)
    A, _ = sim.linearize(q, qd, u)
    step = 1e-5
    for k, d in enumerate(np.eye(12) * step):
        ahead, behind = (sim.step(r.integrate(q, x[:6]), qd + x[6:], u) for x in (d, -d))
        slope = np.r_[r.difference(behind[0], ahead[0]), ahead[1] - behind[1]] / (2.0 * step)
        agree(A[:, k], slope, 1e-6)


# ------------------------------------------------------------------- errors


WRONG: dict[str, tuple[Any, str]] = {
    "negative stiffness": (
        lambda: px.contact.ground(["a"], stiffness=-1.0),
        "contact.ground: stiffness is -1.0, expected a number >= 0 or a parameter.",
    ),
    "NaN": (
        lambda: px.contact.spring("a", "b", 1.0, damping=float("nan")),
        "contact.spring: damping is nan, expected a number >= 0 or a parameter.",
    ),
    "an array": (
        lambda: px.contact.ground(["a"], stiffness=np.ones(2)),
        "contact.ground: stiffness is an array of shape (2,), expected a number >= 0 or a parameter.",
    ),
    "positions": (
        lambda: px.contact.ground({"a": (1.0, 2.0)}, 1.0),
        "contact.ground: points on 'a' is (1.0, 2.0), expected positions (3,) or (k, 3) of finite numbers.",
    ),
    "no points": (
        lambda: px.contact.ground([], 1.0),
        "contact.ground: points is empty, expected one frame at least.",
    ),
    "points": (
        lambda: px.contact.ground(3, 1.0),  # type: ignore[arg-type]
        "contact.ground: points is 3, expected a list of frames, or a mapping from frames to positions in "
        'them such as {"foot": (0, 0, -0.02)}.',
    ),
    "normal": (
        lambda: px.contact.ground(["a"], 1.0, normal=(0, 0, 0)),
        "contact.ground: normal is (0, 0, 0), expected a vector (3,) that is not zero.",
    ),
    "slip": (
        lambda: px.contact.ground(["a"], 1.0, slip=0.0),
        "contact.ground: slip is 0.0, expected a number >= 1e-12.",
    ),
    "point": (
        lambda: px.contact.spring(3, None, 1.0),
        "contact.spring: frame_a is 3, expected a frame, a pair (frame, position (3,)), or None for the "
        "world.",
    ),
    "tendon": (
        lambda: px.contact.tendon(["a"], 1.0),
        "contact.tendon: frames is ['a'], expected a list of two or more points.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_no_surrounding_is_refused(case: str) -> None:
    make, message = WRONG[case]
    with pytest.raises(px.PhalanxError) as caught:
        make()
    assert str(caught.value) == message


def test_what_a_simulation_cannot_use_is_refused() -> None:
    r = block(foot=(0.0, 0.0, 0.0))

    def short(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"foot": np.zeros(3)}

    def bare(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return q[:6]

    def elsewhere(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return {"fot": np.zeros(6)}

    told = {
        'contact.ground: robot "block" has no frame \'fot\'; did you mean "foot"?': px.contact.ground(
            ["fot"], 1.0
        ),
        "contact.spring: robot \"block\" has no frame 'fot'": px.contact.spring("fot", None, 1.0),
        "contact.ground asks for the parameter 'mu', which the simulation does not have": px.contact.ground(
            ["foot"], 1.0, friction="mu"
        ),
        "forces \"short\" on 'foot' has shape (3,), expected (6,) [moment; force].": short,
        'forces "bare" returns': bare,
        'forces "elsewhere": robot "block" has no frame': elsewhere,
        "forces: got 3, expected a function f(t, q, qd, u, robot)": 3,
    }
    for message, forces in told.items():
        with pytest.raises(px.PhalanxError) as caught:
            r.simulation(dt=1e-3, forces=forces).rollout(at(1.0), np.zeros(6), steps=1)
        assert message in str(caught.value)
