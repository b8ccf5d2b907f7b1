# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A serial chain in standard Denavit-Hartenberg frames, as the classic papers write it.

Link i (0 … n-1) carries frame O_{i+1}; joint i acts about or along the z axis of O_i, and
O_{i+1} = Rz(theta) Tz(d) Tx(a) Ty(w) Rx(alpha) after it. Joint variables are the user's, in the
user's order and signs.

The offset w is zero in every Denavit-Hartenberg row but one kind: where two axes are nearly
parallel, their common normal lies far away, and frames put there would lose digits with the
square of the distance. Such a frame keeps its orientation, which is well defined, and its
origin slides along its own z axis back to the robot. No equation of the papers asks for more
than an origin on the axis: they see w as part of the offset p only.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ...spatial import Array, Transform, angular, cross, linear, namespace
from ..joints import cos, sin


@dataclass(frozen=True, eq=False)
class DHChain:
    """Constants of a chain in DH frames; index i is joint i and the link it moves.

    The variable of a turning joint adds to `theta`, of a sliding joint to `d`.
    """

    n: int
    a: Array  # (n,)
    alpha: Array
    d: Array
    theta: Array
    sa: Array  # sine and cosine of alpha, exact at right angles
    ca: Array
    turns: np.ndarray  # (n,) bool: True where the joint turns
    m: Array  # (n,) masses
    s: Array  # (n, 3) from O_{i+1} to the mass centre of link i, in O_{i+1}
    J: Array  # (n, 6) packed inertia about the mass centre, in O_{i+1}
    base: Transform  # X from the world (the file's base frame) to O_0
    tool: Transform  # X from O_n to the frame of the last link in the file
    gravity: Array  # (3,) in O_0
    armature: Array  # (n,)
    w: Array  # (n,) offset normal to both x and the joint's axis; see above
    st: Array  # (n,) sine and cosine of theta, exact at right angles
    ct: Array
    slipped: np.ndarray  # (n,) bool: True where w is not zero
    links: Transform  # X from O_{i+1} to the frame of link i in the file

    def cast(self, convert: Any) -> DHChain:
        """The same chain with `convert(array)` applied to every array of real numbers."""
        changed: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Transform):
                changed[f.name] = value.map(lambda array, _: convert(array))
            elif f.name not in ("n", "turns", "slipped"):
                changed[f.name] = convert(value)
        return replace(self, **changed)

    def before(self, name: str, first: float) -> Array:
        """The constant of that name of the joint before each joint; `first` before the first one."""
        values = getattr(self, name)
        head = np.array([first]).astype(values.dtype)
        return namespace(values).concatenate([head, values[:-1]])

    @property
    def is_last(self) -> Array:
        """(n,) bool: True at the last link."""
        return np.arange(self.n) == self.n - 1

    def divisor(self, M: Array) -> Array:
        """The masses M (…, k, 1) of runs of links, 1 where nothing has mass: its mass centre is anywhere."""
        return namespace(M).where(M == 0.0, 1.0, M)


# ------------------------------------------------------------------- for the equations


def rotations(chain: DHChain, q: Array) -> Array:
    """A (…, n, 3, 3): A_i takes components from O_{i+1} to O_i."""
    ct, st = _turn(chain, q)
    sa, ca = chain.sa, chain.ca
    return _matrix(ct, -(st * ca), st * sa, st, ct * ca, -(ct * sa), _zero(ca), sa, ca)


def offsets(chain: DHChain, q: Array) -> Array:
    """p (…, n, 3): from O_i to O_{i+1}, in O_{i+1}."""
    d, sa, ca = _distance(chain, q), chain.sa, chain.ca
    y, z = d * sa, d * ca
    if chain.slipped.any():
        y, z = y + chain.w * ca, z - chain.w * sa
    return _vector(chain.a, y, z)


def axes(chain: DHChain) -> Array:
    """z (n, 3): axis of joint i, in O_{i+1}."""
    return _vector(_zero(chain.sa), chain.sa, chain.ca)


def proximal_rotations(chain: DHChain, q: Array) -> Array:
    """U (…, n, 3, 3): U_i takes components from proximal frame i to proximal frame i-1 (O_0 for i = 0).

    Proximal frame i is fixed in link i like O_{i+1}, but lies on the axis of joint i:
    O_{i+1} moved back by Tx(a) Ty(w) Rx(alpha).
    """
    ct, st = _turn(chain, q)
    sa, ca = chain.before("sa", 0.0), chain.before("ca", 1.0)
    return _matrix(ct, -st, _zero(ca), st * ca, ct * ca, -sa, st * sa, ct * sa, ca)


def proximal_offsets(chain: DHChain, q: Array) -> Array:
    """p (…, n, 3): from the origin of proximal frame i-1 to that of frame i, in frame i-1 (O_0 for i = 0)."""
    d = _distance(chain, q)
    y, z = -(d * chain.before("sa", 0.0)), d * chain.before("ca", 1.0)
    if chain.slipped.any():
        y = y + chain.before("w", 0.0)
    return _vector(chain.before("a", 0.0), y, z)


def proximal_inertias(chain: DHChain) -> tuple[Array, Array]:
    """(s, J): mass centres from the origins of the proximal frames and packed inertias, in these frames."""
    sa, ca = chain.sa, chain.ca
    x, y, z = (chain.s[..., k] for k in range(3))
    s = _vector(x + chain.a, y * ca - z * sa + chain.w, y * sa + z * ca)
    xx, xy, xz, yy, yz, zz = (chain.J[..., k] for k in range(6))
    cc, ss, cs = ca * ca, sa * sa, ca * sa
    twice = yz * (cs + cs)
    J = namespace(xx).stack(
        [
            xx, xy * ca - xz * sa, xy * sa + xz * ca,
            yy * cc + zz * ss - twice, (yy - zz) * cs + yz * (cc - ss), yy * ss + zz * cc + twice,
        ],
        axis=-1,
    )  # fmt: skip
    return s, J


def link_wrenches_dh(chain: DHChain, external: Array) -> Array:
    """Wrenches (…, n, 6) given in the file's link frames, about O_{i+1} in O_{i+1}."""
    return chain.links.T @ external


def first_axis(chain: DHChain) -> Array:
    """z0 (3,): axis of joint i, in O_i."""
    return np.array([0.0, 0.0, 1.0]).astype(chain.gravity.dtype)


def either(chain: DHChain, turning: Array, sliding: Array) -> Array:
    """Of two expressions for each joint (…, n, 3), that of its kind.

    `turning` is evaluated for a revolute joint, `sliding` for a prismatic one; both are computed for all.
    """
    return turning if chain.turns.all() else namespace(turning).where(chain.turns[:, None], turning, sliding)


def but_last(chain: DHChain, external: Array) -> Array:
    """The wrenches (…, n, 6) on all links but the last, and zero there."""
    return namespace(external).where(chain.is_last[:, None], 0.0, external)


def base_motion(chain: DHChain, velocity: Array, acceleration: Array) -> tuple[Array, Array, Array]:
    """Angular velocity and acceleration (None: zero) and acceleration less gravity of O_0, in O_0.

    `velocity` and `acceleration` are the base's twist and its derivative, component by component;
    None and 0.0 if the base is at rest.
    """
    given = not isinstance(acceleration, float)
    Vd = chain.base @ acceleration if given else None
    pdd = linear(Vd) - chain.gravity if given else -chain.gravity
    if velocity is None:
        return None, angular(Vd) if given else None, pdd
    V = chain.base @ velocity
    return angular(V), angular(Vd) if given else None, pdd + cross(angular(V), linear(V))


def _turn(chain: DHChain, q: Array) -> tuple[Array, Array]:
    """Cosine and sine of the angles theta at q."""
    angle = q + chain.theta
    if chain.turns.all():
        return cos(angle), sin(angle)
    xp = namespace(q)
    return xp.where(chain.turns, cos(angle), chain.ct), xp.where(chain.turns, sin(angle), chain.st)


def _distance(chain: DHChain, q: Array) -> Array:
    """The offsets d (…, n) at q."""
    xp = namespace(q)
    if chain.turns.all():
        return xp.broadcast_to(chain.d, q.shape)
    return xp.where(chain.turns, chain.d, chain.d + q)


def _zero(like: Array) -> Array:
    return np.zeros(like.shape).astype(like.dtype)


def _vector(*entries: Array) -> Array:
    xp = namespace(*entries)
    return xp.stack(xp.broadcast_arrays(*entries), axis=-1)


def _matrix(*entries: Array) -> Array:
    rows = _vector(*entries)
    return rows.reshape((*rows.shape[:-1], 3, 3))
