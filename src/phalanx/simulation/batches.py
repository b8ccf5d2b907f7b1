# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Users' functions of one state, called on numbers for a batch: all at once where that means the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS
from ..arrays import real_numbers
from ..errors import PhalanxError
from .laws import asked_by
from .step import Settings

_TRIED = 3  # states on which both ways are compared


class Batched:
    """A function f(t, q, qd, u, robot, *, …) of one state (nq,), (nv,), for states (…, nq), (…, nv).

    One that is written for batches, too, gets them whole. Whether it is shows at random states: q[0] would
    otherwise be the first coordinate in one simulation and the first simulation in another.
    """

    def __init__(self, function: Callable[..., Any], settings: Settings, where: str) -> None:
        self._function, self._settings, self._where = function, settings, where
        self._own = asked_by(function, settings.parameters, where)
        self._at_once: bool | None = None

    def __call__(
        self, t: float, q: np.ndarray, qd: np.ndarray, u: np.ndarray, own: Mapping[str, np.ndarray]
    ) -> Any:
        """What it returns for each state, an array or a mapping of arrays, behind the axes of the batch."""
        batch = qd.shape[:-1]
        if not batch:
            return self._called(t, q, qd, u, own)
        if self._at_once is None:
            self._at_once = self._means_the_same()
        rows = (_rows(q, batch, 1), _rows(qd, batch, 1), _rows(u, batch, 1))
        more = {name: _rows(a, batch, len(self._settings.parameters[name])) for name, a in own.items()}
        made = (self._called if self._at_once else self._one_by_one)(t, *rows, more)
        return _each(lambda a: a.reshape((*batch, *a.shape[1:])), made)

    def _called(self, t: float, q: Any, qd: Any, u: Any, own: Mapping[str, np.ndarray]) -> Any:
        robot: Any = self._settings.robot
        if "inertias" in own:
            robot = _WithInertias(robot, own["inertias"])
        given = [_read_only(a) for a in (q, qd, u)]
        try:
            made = self._function(t, *given, robot, **{name: _read_only(own[name]) for name in self._own})
        except PhalanxError:
            raise
        except Exception as error:
            raise PhalanxError(f"{self._where}: it raises {type(error).__name__}: {error}.") from error
        return _each(lambda a: real_numbers(a, f"{self._where}: its result", "real numbers"), made)

    def _one_by_one(self, t: float, q: Any, qd: Any, u: Any, own: Mapping[str, np.ndarray]) -> Any:
        made = [
            self._called(t, q[k], qd[k], u[k], {name: a[k] for name, a in own.items()}) for k in range(len(q))
        ]
        if isinstance(made[0], Mapping):
            return {name: np.stack([each[name] for each in made]) for name in made[0]}
        return np.stack(made)

    def _means_the_same(self) -> bool:
        s, rng = self._settings, np.random.default_rng(0)
        robot: Any = s.robot
        q, qd, _ = robot.random_state((_TRIED,), rng)
        own = {name: rng.uniform(0.5, 1.5, (_TRIED, *shape)) for name, shape in s.parameters.items()}
        if "inertias" in own:
            own["inertias"] = own["inertias"][:, :1, :1] * robot.inertial_parameters.reshape(-1, 10)
        state = (0.37, q, qd, rng.normal(size=(_TRIED, s.controls)), own)
        apart = self._one_by_one(*state)
        try:
            return _same(self._called(*state), apart)
        except PhalanxError:
            return False


class _WithInertias:
    """A robot whose functions take other inertias than its own."""

    def __init__(self, robot: Any, inertias: np.ndarray) -> None:
        self._robot, self._inertias = robot, inertias

    def __getattr__(self, name: str) -> Any:
        if name == "inertial_parameters":
            return self._inertias
        found = getattr(self._robot, name)
        if name in FUNCTIONS and "inertias" in FUNCTIONS[name].optional:
            return partial(found, inertias=self._inertias)
        return found


def _rows(array: np.ndarray, batch: tuple[int, ...], core: int) -> np.ndarray:
    """An array of a batch with one axis in place of all of it."""
    own = array.shape[array.ndim - core :]
    return np.broadcast_to(array, (*batch, *own)).reshape((prod(batch), *own))


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view


def _each(f: Callable[[Any], Any], made: Any) -> Any:
    return {name: f(value) for name, value in made.items()} if isinstance(made, Mapping) else f(made)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, Mapping) or isinstance(other, Mapping) or one.shape != other.shape:
        return False
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))
