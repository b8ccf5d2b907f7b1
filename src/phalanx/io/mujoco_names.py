# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names of what a model of MuJoCo holds, unique ones in place of those that are missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class MujocoNames:
    """Names of a compiled MuJoCo model; nameless bodies and joints get one from their place."""

    model: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    given: bytes  # all names of the model, each ending with a null byte

    def at(self, addresses: Iterable[int]) -> list[str]:
        """The names that stand at the addresses, empty where a thing has none."""
        ends = ((a, self.given.index(b"\0", a)) for a in addresses)
        return [self.given[a:end].decode("utf-8", "backslashreplace") for a, end in ends]

    @cached_property
    def taken(self) -> frozenset[str]:
        """All names of bodies and joints."""
        return frozenset((*self.bodies, *self.joints))

    @classmethod
    def of(cls, model: Any) -> MujocoNames:
        """The names of a `mujoco.MjModel`, unique among its bodies and among its joints."""
        names = cls("", (), (), bytes(model.names))
        bodies = unique_names(names.at(model.name_bodyadr), [f"body{i}" for i in range(model.nbody)])
        places = []
        for j, body in enumerate(model.jnt_bodyid):
            place = j - model.body_jntadr[body] + 1 if model.body_jntnum[body] > 1 else ""
            places.append(f"{bodies[body]}_joint{place}")
        joints = unique_names(names.at(model.name_jntadr), places)
        return cls(names.at([0])[0] or "mujoco", bodies, joints, names.given)


def unique_names(given: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """The given names; where there is none the other one, with underscores if that is taken."""
    taken = set(given)
    result = []
    for name, other in zip(given, otherwise, strict=True):
        while not name or (name is other and name in taken):
            name = other = other if not name else f"{other}_"
        taken.add(name)
        result.append(name)
    return tuple(result)


# ------------------------------------------------------------------- all joints
