# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The bookkeeping of the papers: what each one charges, as data.

A convention names functions of the algorithms whose results count as precomputed (`given`),
quantities that are not charged (`free`), and parameters that the paper does not have (`absent`).
With customisation "full" the program of the kernel is counted as it is, unless a convention is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import PhalanxError, nearest, shown
from ..program.bookkeeping import Bookkeeping

Level = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Convention:
    """What a paper charges; `given` and `free` by level of customisation ("none", "semi")."""

    name: str
    source: str
    charges: str  # in words
    given: Level = field(default_factory=dict)
    free: Level = field(default_factory=dict)
    passes: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    shared: bool = False
    turned_tool: bool = False
    results: Level = field(default_factory=dict)  # variables of the algorithm with which the count ends
    inputs: tuple[str, ...] = (
        "base_velocity",
        "base_acceleration",
        "external",
    )  # optional ones that take part
    levels: str = "n"  # the L of closed forms is ceil(log2 of this)

    def bookkeeping(self, customise: str) -> Bookkeeping:
        """What tracing assumes, shares and leaves out under this convention."""
        return Bookkeeping(
            given=frozenset(self.given.get(_level(customise), ())),
            passes=frozenset(self.passes),
            absent=frozenset(self.absent),
            shared=self.shared,
            turned_tool=self.turned_tool,
            results=frozenset(self.results.get(_level(customise), ())),
        )

    def free_quantities(self, customise: str) -> frozenset[str]:
        """The quantities that are not charged."""
        return frozenset(self.free.get(_level(customise), ()))


def _level(customise: str) -> str:
    return "none" if customise == "none" else "semi"


# Depends on the geometry alone, or on the joint's angle alone, and can be precomputed.
_ROTATIONS = ("rotations", "proximal_rotations")
_GEOMETRY = ("offsets", "proximal_offsets", "axes", "first_axis")
_MOMENTS = ("moments", "proximal_moments", "proximal_inertias")
_BASE = ("base_motion",)
# Parameters that the chains of the papers do not have: an offset of the angle, an offset that avoids distant
# frames of nearly parallel axes, a rotor.
_PLAIN = ("theta", "w", "armature")

_RATES = ("zqd", "zqdd", "rate", "rated")


def _always(names: tuple[str, ...]) -> Level:
    """The same names at every level."""
    return dict.fromkeys(("none", "semi"), names)


CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {
        c.name: c
        for c in (
            Convention(
                "program",
                "this library",
                "every operation of the program; sines and cosines are counted apart.",
            ),
            Convention(
                "zomaya_morris",
                "Zomaya and Morris 1989, Tables 2 and 3",
                'everything, if customised "none"; else neither A, p and A\' z0, formed off line, nor the '
                "projection on the axis (13). Base motion and tip wrench are vectors like any other; "
                "the tip wrench arrives in a frame n+1 and is turned by A_{n+1}.",
                given={"none": _BASE, "semi": (*_BASE, *_ROTATIONS, *_GEOMETRY)},
                results={"semi": ("f", "n")},
                absent=_PLAIN,
                turned_tool=True,
            ),
            Convention(
                "lathrop",
                "Lathrop 1985, eqs. (2), (17) and Table 1",
                "everything but A, p, A' z and the joints' rates A' z q' and A' z q'', which are inputs. The "
                "base moves, the tip is free; partial results are formed once.",
                given=_always((*_BASE, *_ROTATIONS, *_GEOMETRY)),
                free=_always((*_RATES, "s", "V", "U")),
                absent=_PLAIN,
                shared=True,
                inputs=("base_velocity", "base_acceleration"),
                levels="n+1",
            ),
            Convention(
                "lathrop_linear",
                "Lathrop 1985, eq. (1), Tables 1, 2 and 4",
                "everything but A, p, A' z, the joints' rates and the projection on the axis: the count "
                "ends when n_1 is complete. The base moves, and there is a wrench at the tip; "
                "partial results are formed once.",
                given=_always((*_BASE, *_ROTATIONS, *_GEOMETRY)),
                free=_always((*_RATES, "s")),
                results=_always(("f", "n")),
                absent=_PLAIN,
                shared=True,
                turned_tool=True,
                levels="n+1",
            ),
            Convention(
                "lathrop_online",
                "Lathrop 1985, eq. (5)",
                "everything but A, p and A' z; otherwise as lathrop_linear.",
                given=_always((*_BASE, *_ROTATIONS, *_GEOMETRY)),
                free=_always(("s",)),
                results=_always(("f", "n", "tau")),
                absent=_PLAIN,
                shared=True,
                turned_tool=True,
                levels="n+1",
            ),
            Convention(
                "kane",
                "Fijany, Serial and Parallel Computation of Kane's Equations",
                "everything but p, p + s and the moments of single links, which are constant. "
                "Composite masses and A are charged; a column of ON-EB is a full pass.",
                given=_always((*_GEOMETRY, *_MOMENTS)),
                free=_always(("s",)),
                passes=("luh_walker_paul",),
                absent=_PLAIN,
            ),
            Convention(
                "inertia_matrix",
                "Parallel Algorithms for Computation of the Manipulator Inertia Matrix, Tables 1 and 2",
                "everything but p* and the constants of single links. Composite masses, "
                "the divisions by them and U are charged.",
                given=_always((*_GEOMETRY, *_MOMENTS)),
                absent=_PLAIN,
            ),
        )
    }
)

# The convention that None selects for each algorithm, that of its source; "program" for all others.
_SOURCES = {
    "zomaya_morris": "zomaya_morris",
    "luh_walker_paul": "lathrop_linear",
    "lathrop": "lathrop",
    "kane_original": "kane",
    "kane_variant": "kane",
    "newton_euler_original": "kane",
    "newton_euler_variant": "kane",
    "composite_variant": "kane",
    "processor_array": "kane",
    "composite_original": "inertia_matrix",
    "recursive_doubling": "inertia_matrix",
}


def convention_of(name: str | None, algorithm: str, customise: str) -> Convention:
    """The convention of that name; None selects that of the algorithm's source."""
    if name is None:
        name = "program" if customise == "full" else _SOURCES.get(algorithm, "program")
    if not isinstance(name, str) or name not in CONVENTIONS:
        raise PhalanxError(
            f"cost: unknown convention {shown(name)};{nearest(name, CONVENTIONS, what='conventions')}"
        )
    return CONVENTIONS[name]
