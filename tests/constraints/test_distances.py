# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Distances of simple shapes against coal, and their derivatives against differences."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import phalanx as px

BOX = np.array([[0.0, -0.6, 0.8, 0.4], [1.0, 0.0, 0.0, 0.1], [0.0, 0.8, 0.6, 0.3], [0.0, 0.0, 0.0, 1.0]])
MOVING = {
    "sphere": px.contact.sphere("panda_link7", 0.05, (0.02, 0.0, 0.1)),
    "capsule": px.contact.capsule("panda_link4", 0.04, (0.0, 0.0, -0.1), (-0.08, 0.1, 0.05)),
    "long capsule": px.contact.capsule("panda_link6", 0.01, (0.1, 0.0, -0.3), (0.1, 0.0, 0.4)),
}
OTHERS = {
    "sphere": px.contact.sphere("panda_link1", 0.06, (0.0, -0.1, 0.0)),
    "capsule": px.contact.capsule("panda_link2", 0.05, (0.0, -0.3, 0.0), (0.0, 0.05, 0.1)),
    "plane": px.contact.plane((0.3, -0.2, 0.9), 0.1),
    "box": px.contact.box((0.3, 0.5, 0.2), BOX),
    "box on a link": px.contact.box((0.1, 0.2, 0.05), BOX, frame="panda_link2"),
    "plane on a link": px.contact.plane((0.0, 1.0, 0.0), 0.05, frame="panda_link1"),
}
PAIRS = [(a, b) for a in MOVING.values() for b in OTHERS.values()]


def panda() -> px.Robot:
    return px.load("panda")


def by_coal(robot: px.Robot, q: Any, pair: Any) -> float:
    """The signed distance of two shapes as coal computes it."""
    coal = pytest.importorskip("coal")
    placed = []
    for shape in pair:
        pose = np.eye(4) if shape.frame is None else robot.frame_pose(q, shape.frame)
        own = np.eye(4)
        if hasattr(shape, "ends"):
            ends = np.array(shape.ends)
            made = coal.Sphere(shape.radius)
            if len(ends) == 2:
                way = ends[1] - ends[0]
                z = way / np.linalg.norm(way)
                x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
                x /= np.linalg.norm(x)
                own[:3, :3] = np.column_stack([x, np.cross(z, x), z])
                made = coal.Capsule(shape.radius, float(np.linalg.norm(way)))
            own[:3, 3] = ends.mean(axis=0)
        elif hasattr(shape, "size"):
            made, own = coal.Box(*shape.size), shape.pose.matrix
        else:
            made = coal.Halfspace(np.array(shape.normal), shape.height)
        pose = pose @ own
        placed += [made, coal.Transform3s(pose[:3, :3], pose[:3, 3])]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    return float(coal.distance(*placed, request, result))


def test_distances_are_those_of_coal_where_axes_lie_apart() -> None:
    robot = panda()
    q = robot.random_state(40, rng=1)[0]
    own = robot.distances(q, PAIRS)
    theirs = np.array([[by_coal(robot, x, pair) for pair in PAIRS] for x in q])
    apart = own > -0.009  # deeper, axes may cross, and depths are defined otherwise
    assert apart.mean() > 0.6
    assert np.abs(own - theirs)[apart].max() < 2e-6  # coal iterates to 1e-6
    assert ((own < 0) == (theirs < 0))[np.abs(theirs) > 1e-5].all()


@pytest.mark.parametrize("name", ["box", "box on a link"])
def test_the_depth_in_a_box_is_that_of_the_deepest_point_of_the_axis(name: str) -> None:
    robot, shape, other = panda(), MOVING["long capsule"], OTHERS[name]
    q = robot.random_state(300, rng=2)[0]
    ends = [robot.distances(q, [(px.contact.sphere(shape.frame, 0.0, x), other)]) for x in shape.ends]
    share = np.linspace(0.0, 1.0, 2001)[:, None]
    points = (1.0 - share) * shape.ends[0] + share * np.array(shape.ends[1])
    along = robot.frame_pose(q, shape.frame)
    world = along[:, None, :3, :3] @ points[..., None] + along[:, None, :3, 3:]
    pose = np.eye(4) if other.frame is None else robot.frame_pose(q, other.frame)
    pose = np.linalg.inv(pose @ other.pose.matrix)[..., None, :, :]
    inside = (pose[..., :3, :3] @ world)[..., 0] + pose[..., :3, 3]
    beyond = np.abs(inside) - 0.5 * np.array(other.size)
    field = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
    own = robot.distances(q, [(shape, other)])[:, 0] + shape.radius
    assert (own < 0).any()
    assert np.abs(field[:, [0, -1]] - np.concatenate(ends, axis=1)).max() < 1e-12
    assert (own <= field.min(axis=1) + 1e-12).all()
    assert np.abs(own - field.min(axis=1)).max() < 4e-4  # a step along the axis


def test_boxes_on_links_stand_above_planes_by_their_lowest_corner() -> None:
    robot, box = panda(), px.contact.box((0.1, 0.2, 0.3), BOX, frame="panda_link5")
    q = robot.random_state(20, rng=3)[0]
    plane = OTHERS["plane"]
    corners = np.array([[x, y, z, 1.0] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners[:, :3] *= 0.5 * np.array(box.size)
    world = np.einsum("...ij,kj->...ki", robot.frame_pose(q, "panda_link5") @ BOX, corners)[..., :3]
    expected = (world @ np.array(plane.normal)).min(axis=-1) - plane.height
    assert np.abs(robot.distances(q, [(plane, box)])[:, 0] - expected).max() < 1e-12


def test_jacobians_and_products_are_those_of_differences() -> None:
    robot = panda()
    f = robot.function("distances", pairs=PAIRS)
    q = robot.random_state(20, rng=4)[0]
    J = f.jacobian()(q)
    step = 1e-6 * np.eye(7)
    change = [(f(q + e) - f(q - e)) / 2e-6 for e in step]
    wrong = np.abs(J - np.stack(change, axis=-1)) > 1e-7
    assert wrong.any(axis=-1).mean() < 0.005  # but where the nearest feature changes
    v, w = np.random.default_rng(0).normal(size=(2, 20, 18))
    assert np.allclose(f.jvp((q,), (v[:, :7],)), np.einsum("bij,bj->bi", J, v[:, :7]), atol=1e-12)
    assert np.allclose(f.vjp((q,), w)[0], np.einsum("bij,bi->bj", J, w), atol=1e-12)


def test_derivatives_of_parallel_and_of_coincident_segments_are_finite() -> None:
    robot = panda()
    a = px.contact.capsule("panda_link3", 0.05, (0.0, 0.0, -0.2), (0.0, 0.0, 0.1))
    b = px.contact.capsule("panda_link1", 0.05, (0.0, 0.0, -0.2), (0.0, 0.0, 0.1))
    c = px.contact.capsule("panda_link1", 0.05, (0.3, 0.0, -0.2), (0.3, 0.0, 0.1))
    f = robot.function("distances", pairs=((a, b), (a, c)))
    q = np.zeros(7)
    assert np.allclose(f(q), [-0.084, np.hypot(0.3, 0.016) - 0.1], atol=1e-12)
    J, e = f.jacobian()(q), 1e-6
    assert np.isfinite(J).all()
    bent = e * np.eye(7)[1]
    down = f(q + bent)[1] - f(q - bent)[1]
    assert abs(J[1, 1] - down / (2 * e)) < 1e-6


def test_own_functions_call_distances_and_follow_their_derivatives() -> None:
    robot = panda()
    pairs = tuple(PAIRS[:4])

    def barrier(q: Any, robot: Any) -> Any:
        return np.sum(np.exp(-20.0 * robot.distances(q, pairs)))

    f = robot.function(barrier)
    q = robot.random_state(5, rng=5)[0]
    assert np.allclose(f(q), np.exp(-20.0 * robot.distances(q, pairs)).sum(axis=-1), rtol=1e-12)
    J = robot.function("distances", pairs=pairs).jacobian()(q)
    expected = np.einsum("bi,bij->bj", -20.0 * np.exp(-20.0 * robot.distances(q, pairs)), J)
    assert np.allclose(f.jacobian()(q), expected, rtol=1e-9, atol=1e-12)


def test_a_state_has_the_same_bits_in_any_batch_and_nan_stays_in_its_lane() -> None:
    robot = panda()
    f = robot.function("distances", pairs=PAIRS)
    q = robot.random_state(37, rng=6)[0]
    made = f(q)
    for k in (0, 17, 36):
        assert (f(q[k]) == made[k]).all()
    q[5, 0] = np.nan
    again = f(q)
    assert np.isnan(again[5]).all()
    assert (np.delete(again, 5, axis=0) == np.delete(made, 5, axis=0)).all()
    assert (pickle.loads(pickle.dumps(f))(q[0]) == made[0]).all()
    assert np.abs(f(q[0].astype(np.float32)) - made[0]).max() < 1e-5


def test_capsules_and_spheres_cover_the_visuals_of_each_frame() -> None:
    robot = panda()
    scene = px.visuals(robot)
    capsules = {shape.frame: shape for shape in px.contact.capsules(robot)}
    spheres = px.contact.spheres(robot, count=3)
    assert max(sum(s.frame == name for s in spheres) for name in capsules) == 3
    assert px.contact.capsules(robot, ["panda_hand"]) == (capsules["panda_hand"],)
    for part in scene.parts:
        pose = part.visual.pose.matrix
        for surface in part.surfaces:
            corners = surface.vertices[surface.faces].astype(float)
            mixed = np.random.default_rng(0).dirichlet(np.ones(3), size=(len(corners), 5))
            points = np.einsum("tka,tax->tkx", mixed, corners).reshape(-1, 3) @ pose[:3, :3].T + pose[:3, 3]
            own = capsules[part.visual.frame]
            start, end = np.array(own.ends[0]), np.array(own.ends[-1])
            way = end - start
            share = np.clip((points - start) @ way / max(way @ way, 1e-30), 0.0, 1.0)[:, None]
            assert np.linalg.norm(points - start - share * way, axis=1).max() < own.radius + 1e-7
            near = [
                np.linalg.norm(points - s.ends[0], axis=1) - s.radius
                for s in spheres
                if s.frame == part.visual.frame
            ]
            assert np.min(near, axis=0).max() < 1e-7


def test_the_default_pairs_are_those_of_links_that_are_not_adjacent() -> None:
    robot = panda()
    capsules = px.contact.capsules(robot)
    pairs = px.contact.pairs(robot, capsules)
    link = {shape.frame: robot.frames[shape.frame].link for shape in capsules}
    found = {(a.frame, b.frame) for a, b in pairs}
    for k, a in enumerate(capsules):
        for b in capsules[k + 1 :]:
            i, j = link[a.frame], link[b.frame]
            parents = [*robot.parents, None]  # -1 is the world
            apart = i != j and parents[i] != j and parents[j] != i
            assert ((a.frame, b.frame) in found) == apart
    q = robot.neutral()
    assert (robot.distances(q) == robot.distances(q, pairs)).all()
    assert (robot.distances(q, capsules) == robot.distances(q, pairs)).all()
    table = px.contact.box((1.0, 1.0, 0.1))
    assert len(px.contact.pairs(robot, capsules, [table])) == len(pairs) + len(capsules) - 1


def test_bodies_are_frames_or_lists_of_shapes() -> None:
    robot = panda()
    q = robot.random_state(10, rng=7)[0]
    hand = px.contact.spheres(robot, ["panda_hand"])
    floor = px.contact.plane()
    each = robot.distances(q, [(x, floor) for x in hand])
    assert (robot.distances(q, [(hand, floor)])[:, 0] == each.min(axis=-1)).all()
    capsule = px.contact.capsules(robot, ["panda_hand"])[0]
    assert (robot.distances(q, [("panda_hand", floor)]) == robot.distances(q, [(capsule, floor)])).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.distances(np.zeros(7), [("hand", "panda_link1")]), "has no frame 'hand'"),
        (
            lambda r: r.distances(np.zeros(7), [(px.contact.sphere("nose", 0.1), px.contact.plane())]),
            "no frame",
        ),
        (lambda r: r.distances(np.zeros(7), [(MOVING["sphere"], MOVING["sphere"])]), "are fixed to link"),
        (
            lambda r: r.distances(np.zeros(7), [(px.contact.sphere(None, 1.0), px.contact.plane())]),
            "the world",
        ),
        (
            lambda r: r.distances(np.zeros(7), [(OTHERS["box"], OTHERS["box on a link"])]),
            "one of them must be",
        ),
        (lambda r: r.distances(np.zeros(7), []), "is empty"),
        (lambda r: r.distances(np.zeros(7), 3), "expected pairs"),
        (lambda r: r.distances(np.zeros(7), [3]), "expected two shapes"),
        (lambda r: r.distances(np.zeros(7), [(3, 4)]), "expected shapes"),
        (lambda r: r.distances(np.zeros(6), PAIRS), "shape"),
        (lambda r: r.function("distances", pair=PAIRS), 'did you mean "pairs"'),
        (lambda r: px.contact.sphere("panda_link1", -1.0), "expected a length"),
        (lambda r: px.contact.box((1.0, 0.0, 1.0)), "three positive lengths"),
        (lambda r: px.contact.plane((0.0, 0.0, 0.0)), "expected a direction"),
        (lambda r: px.contact.capsules(r, ["nose"]), "no visuals on"),
        (lambda r: px.contact.spheres(r, count=0), "positive integer"),
    ],
)
def test_bad_shapes_and_pairs_are_refused_with_the_remedy(call: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        call(panda())
