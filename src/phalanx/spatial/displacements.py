# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How far bodies have moved between two moments, each seen from where it was; exact however small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .operators import Field, Inertia
from .vectors import Array, angular, cross, inner, join, linear, matvec, unpack


@dataclass(frozen=True)
class Displacement(Field):
    """x -> x turned by a unit quaternion [a, w], then moved by d: of a body, in the frame it had before.

    The turn is x + 2 w (a x x) + 2 a x (a x x): nothing large cancels where a body has hardly moved.
    """

    a: Array
    w: Array  # (…, n, 1)
    d: Array
    ranks: ClassVar[tuple[int, ...]] = (1, 1, 1)

    def change(self, x: Array) -> Array:
        """By how much vectors turn."""
        ax = cross(self.a * 2.0, x)
        return self.w * ax + cross(self.a, ax)

    def momentum(self, G: Inertia) -> Array:
        """The sum of m x x dx and m dx over the particles of bodies, in the frames before: a wrench.

        Divided by the time that has passed it tends to G V. Its moment about a fixed point is that of
        m x0 x x1 and serves both ends: `after` gives it in the frames that the bodies have then.
        """
        a, w, d = self.a, self.w, self.d
        Ia = matvec(unpack(G.moment), a * 2.0)
        return join(
            w * Ia + cross(a, Ia) + cross(G.h, d),
            G.m[..., None] * d + self.change(G.h),
        )

    def after(self, F: Array) -> Array:
        """Wrenches in the frames before as seen from those after."""
        back = Displacement(-self.a, self.w, self.d)
        f = linear(F)
        moment = angular(F) - cross(self.d, f)
        return join(moment + back.change(moment), f + back.change(f))


@dataclass(frozen=True)
class DisplacementOperator(Field):
    """The operator that takes the displacement of a parent to that of a body, which has moved by [a, w], d
    against it; E and r are those of the transform from the parent before."""

    E: Array
    r: Array
    a: Array
    w: Array
    d: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1, 1, 1, 1)

    def __matmul__(self, parent: Any) -> Displacement:
        r = self.r
        a, w = matvec(self.E, parent.a), parent.w
        d = matvec(self.E, parent.d + parent.change(r))
        moved = Displacement(a, w, d)
        return Displacement(
            w * self.a + self.w * a + cross(a, self.a),
            w * self.w - inner(a, self.a),
            d + self.d + moved.change(self.d),
        )
