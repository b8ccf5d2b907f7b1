# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the bodies of a serial chain to its Denavit-Hartenberg frames.

Everything is computed link by link, in the frame of the body that carries the link, so that no
error grows along the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import PhalanxError
from ...reproducible import arctan2, composed, congruent, cos_sin, length, times
from ...spatial import Inertia, Transform, dot, pack, unpack
from .chain import DHChain

# Rounding, relative to the robot's size: what is smaller is zero.
_ZERO = 1e-14
# How many lengths of the largest link a frame may lie away from its joint. The common normal of
# axes at an angle e is 1/e lengths away, and costs as many digits.
_FAR = 8.0
_Z = np.array([0.0, 0.0, 1.0])


class _Frame(NamedTuple):
    """A frame O fixed in a body's frame: its axes x and z and its origin."""

    x: np.ndarray
    z: np.ndarray
    origin: np.ndarray


class _Link(NamedTuple):
    """The geometry between two joints, in the frame of the body that the first one moves.

    `origin` and `x` are those of O_i at q = 0, `axis` is the next joint's, `point` lies on it, `file` is the
    link's frame in the file.
    """

    origin: np.ndarray
    x: np.ndarray
    axis: np.ndarray
    point: np.ndarray
    turns: bool  # the next joint
    file: _Frame
    size: float


def require_chain(model: Any, name: str, joints: Sequence[str] = ()) -> None:
    """Raise if a robot is no chain that DH frames cover, naming the reason and what to use instead."""
    if reason := refusal(model, joints):
        raise PhalanxError(
            f'robot "{name}": {reason}; Denavit-Hartenberg frames cover single chains of revolute and '
            'prismatic joints. The algorithms "newton_euler", "crba" and "aba" cover any tree.'
        )


def refusal(model: Any, joints: Sequence[str] = ()) -> str:
    """Why DH frames do not cover a model, empty if they do.

    `joints` are the names of the joints under the links, empty for that of a floating base.
    """
    if not model.n:
        return "no joint moves"
    if model.coupling is not None:
        return "its mimic joints follow other joints"
    # The coordinate of a joint is an angle theta or a distance d: nothing in between, and no multiple of it.
    covered = (model.rates == (1.0, 0.0)).all(axis=1) | (model.rates == (0.0, 1.0)).all(axis=1)
    covered &= (np.diff(model.links, prepend=-1) == 1)[np.searchsorted(model.links, np.arange(model.n))]
    for g in model.groups:
        for body in g.bodies[~covered[g.bodies]].tolist():
            k = int(np.searchsorted(model.links, body))
            if joints and not joints[k]:
                return "its base floats"
            joint = f'joint "{joints[k]}"' if joints else f"joint {k + 1}"
            return f"{joint} is neither revolute nor prismatic"
    return "" if model.is_chain else "it branches"


def chain_of(model: Any, name: str = "") -> DHChain:
    """The bodies of a model of floats in DH frames, or an error that names the reason."""
    require_chain(model, name)
    n, rest = model.n, model.rest
    turns = model.rates[:, 0] != 0.0
    size = _size(model)
    first = origin, x = _first(rest[0], bool(turns[0]), size)
    rows, frames = [], []
    for i in range(n):
        file = _Frame(model.link_frame.E[i, 0], model.link_frame.E[i, 2], model.link_frame.r[i])
        before = _turned(x, -model.offset[i])
        if i + 1 < n:
            link = _Link(origin, before, rest.E[i + 1, 2], rest.r[i + 1], bool(turns[i + 1]), file, size)
            frame = _parallel(link) if _is_parallel(link.axis) else _skew(link)
        else:
            frame = _last(_Link(origin, before, file.z, file.origin, False, file, size))
        row, frame = _row(origin, before, frame, size)
        rows.append(row)
        frames.append(frame)
        if i + 1 < n:
            origin, x = _seen_from(rest[i + 1], frame, bool(turns[i + 1]))
    return _assembled(model, turns, first, np.array(rows), frames, size)


def _size(model: Any) -> float:
    """The length of the largest link: the unit of all tolerances."""
    G = model.inertia
    centres = G.h / np.where(G.m > 0.0, G.m, 1.0)[:, None]
    points = np.concatenate([model.rest.r, model.link_frame.r, centres])
    return float(np.sqrt(dot(points, points)).max(initial=0.0)) or 1.0


def _first(rest: Transform, turns: bool, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Origin and x axis of O_0 in the first body's frame: the world's if that is a DH frame."""
    world = rest.inverse().r
    on_axis = not turns or np.abs(world[:2]).max() <= _ZERO * size
    if np.abs(rest.E[:, 2] - _Z).max() <= _ZERO and on_axis and np.abs(world).max() <= _FAR * size:
        return world * (0.0, 0.0, 1.0) if turns else world, _flat(rest.E[:, 0])
    return np.zeros(3), np.array([1.0, 0.0, 0.0])


def _is_parallel(axis: np.ndarray) -> bool:
    return bool(length(float(axis[0]), float(axis[1])) <= _ZERO)


def _parallel(link: _Link) -> _Frame:
    """O_{i+1} where the next axis is parallel: its origin along the axis is free."""
    flat = link.axis * (0.0, 0.0, 1.0)
    if _is_dh(link):
        origin = link.file.origin
    elif link.turns:
        origin = _along(link, (link.origin[2] - link.point[2]) * flat[2])
    else:
        origin = _near(link)
    normal = (origin - link.origin) * (1.0, 1.0, 0.0)
    if np.abs(normal).max() <= _ZERO * link.size:
        return _Frame(link.file.x if _is_dh(link) else link.x, flat, origin)
    x = _flat(normal)
    return _Frame(-x if _is_dh(link) and _dot(link.file.x, x) < 0.0 else x, flat, origin)


def _skew(link: _Link) -> _Frame:
    """O_{i+1} where the next axis has another direction: at the common normal, unless that is far away."""
    x = _flat(_cross(_Z, link.axis))
    if link.turns:
        x = -x if _points_back(link, x, _dot(link.point - link.origin, x)) else x
        y = _cross(_Z, x)
        t = _dot(link.point - link.origin, y) / -_dot(link.axis, y)
        if abs(t) > _FAR * link.size:
            # Level with O_i, as if the axes were parallel.
            level = (link.origin[2] - link.point[2]) / link.axis[2] if abs(link.axis[2]) > 0.5 else 0.0
            return _Frame(x, link.axis, _along(link, level))
        return _Frame(x, link.axis, link.point + t * link.axis)
    # A sliding joint's axis may pass through any point: its axis meets the one before.
    origin = link.file.origin if _is_dh(link) else _near(link)
    x = -x if _points_back(link, x, _dot(origin - link.origin, x)) else x
    y = _cross(_Z, x)
    return _Frame(x, link.axis, origin - _dot(origin - link.origin, y) * y)


def _last(link: _Link) -> _Frame:
    """O_n: the file's frame if that is a DH frame, else O_{n-1} as the last joint has turned it."""
    return link.file if _is_dh(link) else _Frame(link.x, _Z, link.origin)


def _along(link: _Link, t: float) -> np.ndarray:
    """The point of the next axis at `t` from the joint's origin in the file, or that origin if it is far."""
    return link.point + t * link.axis if abs(t) <= _FAR * link.size else link.point


def _near(link: _Link) -> np.ndarray:
    """O_i, or the next joint's origin in the file if that is far from it."""
    far = np.abs(link.point - link.origin).max() > _FAR * link.size
    return link.point if far else link.origin


def _points_back(link: _Link, x: np.ndarray, a: float) -> bool:
    """Whether to reverse a common normal: the file's frame decides, then a > 0, then the smaller theta."""
    if _is_dh(link):
        return bool(_dot(link.file.x, x) < 0.0)
    return a < 0.0 if abs(a) > _ZERO * link.size else _dot(link.x, x) < -_ZERO


def _is_dh(link: _Link) -> bool:
    """Whether the link's frame in the file is a DH frame for the next joint, which is then used."""
    x, z, origin = link.file
    off = (origin - link.point) if link.turns else np.zeros(3)
    beside = [*_cross(off, link.axis), _dot(origin - link.origin, _cross(_Z, x))]
    turned = [x[2], *(z - link.axis)]
    return max(map(abs, turned)) <= _ZERO and max(map(abs, beside)) <= _ZERO * link.size


def _row(before: np.ndarray, x: np.ndarray, frame: _Frame, size: float) -> tuple[tuple[float, ...], _Frame]:
    """(a, d, w, sine and cosine of theta, of alpha), rounding removed, and the frame that they give.

    `before` and `x` are the origin and the x axis of the frame before, at q = 0.
    """
    ex = _flat(frame.x)
    ey = _cross(_Z, ex)
    p = frame.origin - before
    a, w, d = (0.0 if abs(v) <= _ZERO * size else float(v) for v in (_dot(p, ex), _dot(p, ey), p[2]))
    sa, ca = _exact(-_dot(frame.z, ey), float(frame.z[2]))
    st, ct = _exact(float(_cross(x, ex)[2]), _dot(x, ex))
    return (a, d, w, st, ct, sa, ca), _Frame(ex, ca * _Z - sa * ey, before + a * ex + w * ey + d * _Z)


def _seen_from(rest: Transform, frame: _Frame, turns: bool) -> tuple[np.ndarray, np.ndarray]:
    """Origin and x axis of a frame in the next body's frame, on its axis if the joint turns."""
    origin = times(rest.E, frame.origin - rest.r)
    return origin * (0.0, 0.0, 1.0) if turns else origin, _flat(times(rest.E, frame.x))


def _turned(x: np.ndarray, angle: float) -> np.ndarray:
    if angle == 0.0:
        return x
    c, s = cos_sin(float(angle))
    return np.array([c * x[0] - s * x[1], c * x[1] + s * x[0], 0.0])


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The vector product, without the preparations for many of them that NumPy's own makes."""
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    (x, y, z), (u, v, w) = a.tolist(), b.tolist()
    return float(x * u + y * v + z * w)


def _angles(sines: np.ndarray, cosines: np.ndarray) -> np.ndarray:
    return np.array([arctan2(s, c) for s, c in zip(sines.tolist(), cosines.tolist(), strict=True)])


def _flat(x: np.ndarray) -> np.ndarray:
    """The direction of a vector in the plane normal to z."""
    s, c = _exact(float(x[1]), float(x[0]))
    return np.array([c, s, 0.0])


def _exact(s: float, c: float) -> tuple[float, float]:
    """Sine and cosine scaled to a unit, exact at right angles."""
    size = length(s, c)
    s, c = s / size, c / size
    if abs(s) <= _ZERO:
        return 0.0, float(np.sign(c))
    return (float(np.sign(s)), 0.0) if abs(c) <= _ZERO else (s, c)


def _assembled(
    model: Any,
    turns: np.ndarray,
    first: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    frames: list[_Frame],
    size: float,
) -> DHChain:
    """The chain of rows (a, d, w, sines and cosines of theta and alpha) and of frames in the bodies."""
    a, d, w, st, ct, sa, ca = rows.T
    base = _cleaned(composed(_transform([_Frame(first[1], _Z, first[0])], size)[0], model.rest[0]), size)
    to_frames = _transform(frames, size)
    links = _cleaned(composed(model.link_frame, to_frames.inverse()), size)
    s, J = _about_centres(model.inertia, to_frames, size)
    return DHChain(
        n=model.n,
        a=a,
        alpha=_angles(sa, ca),
        d=d,
        theta=_angles(st, ct),
        sa=sa,
        ca=ca,
        turns=turns,
        m=model.inertia.m,
        s=s,
        J=J,
        base=base,
        tool=links[model.n - 1],
        gravity=times(base.E, model.gravity),
        armature=model.armature,
        w=w,
        st=st,
        ct=ct,
        slipped=w != 0.0,
        links=links,
    )


def _transform(frames: list[_Frame], size: float) -> Transform:
    """The transform X from the frames in which DH frames are stated to the DH frames."""
    E = np.array([[f.x, _cross(f.z, f.x), f.z] for f in frames])
    return _cleaned(Transform(E, np.array([f.origin for f in frames])), size)


def _cleaned(X: Transform, size: float) -> Transform:
    """X with entries of the size of rounding errors set to zero."""
    E = np.where(np.abs(X.E) <= _ZERO, 0.0, X.E)
    E = np.where(np.count_nonzero(E, axis=-1, keepdims=True) == 1, np.sign(E), E)
    return Transform(E, np.where(np.abs(X.r) <= _ZERO * size, 0.0, X.r))


def _about_centres(G: Inertia, X: Transform, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Mass centres and packed inertias about them, in the target frames of X."""
    mass = G.m[:, None]
    centre = G.h / np.where(mass > 0.0, mass, 1.0)
    square = dot(centre, centre)[:, None, None] * np.eye(3) - centre[:, :, None] * centre[:, None, :]
    moment = unpack(G.moment)
    own = congruent(X.E, moment - mass[:, :, None] * square)
    rounding = _ZERO * np.abs(moment).max(axis=(1, 2), keepdims=True)
    own = np.where(np.abs(own) <= rounding, 0.0, own)
    s = np.where(mass > 0.0, times(X.E, centre - X.r), 0.0)
    return np.where(np.abs(s) <= _ZERO * size, 0.0, s), pack(own)
