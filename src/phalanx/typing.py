# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Types of what users pass and get back, for signatures here and for annotations of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AlgorithmLike",
    "Array",
    "ArrayLike",
    "ArrayOptions",
    "Backend",
    "Bound",
    "Convention",
    "Customise",
    "Derivatives",
    "External",
    "FloatType",
    "Generator",
    "InertiaLike",
    "Mimic",
    "Path",
    "Reference",
    "Schedule",
    "Source",
    "Vector",
]

Array: TypeAlias = NDArray[Any]
"""An array of float64 or float32; for one state, energies are NumPy scalars."""

_Real: TypeAlias = np.floating[Any] | np.integer[Any] | np.bool_


class _HasArray(Protocol):
    """What NumPy reads as real numbers: arrays of other libraries on the host."""

    def __array__(self) -> NDArray[_Real]: ...


class _NamedAlgorithm(Protocol):
    """An entry of `px.algorithms(function)`."""

    @property
    def name(self) -> str: ...

    @property
    def function(self) -> str: ...


class _File(Protocol):
    """An open file, of text or bytes."""

    def read(self) -> str | bytes: ...


class _MujocoModel(Protocol):
    """`mujoco.MjModel`."""

    @property
    def nbody(self) -> int: ...


class _MujocoSpec(Protocol):
    """`mujoco.MjSpec`."""

    @property
    def worldbody(self) -> Any: ...


# Spelled out to a depth: text is a sequence of texts, and so of every depth.
_Row: TypeAlias = NDArray[_Real] | _HasArray | Sequence[float]
_Table: TypeAlias = _Row | Sequence[_Row]
ArrayLike: TypeAlias = _Table | Sequence[_Table]
"""Real numbers with at least one axis: arrays, nested lists, arrays of other libraries."""

Vector: TypeAlias = _Row
"""Real numbers in a row."""

InertiaLike: TypeAlias = _Table | Mapping[str, float]
"""A 3x3 matrix, (xx, xy, xz, yy, yz, zz), a diagonal, or some of these names with their values."""

External: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""Wrenches on all links (…, n_links, 6), or on some of them by name, (…, 6) each."""

AlgorithmLike: TypeAlias = str | _NamedAlgorithm | tuple[str, Mapping[str, Any]]
"""A name, an entry of `px.algorithms`, or a name with options: ("cfa", {"solver": "serial"})."""

Frames: TypeAlias = str | Sequence[str]
"""The name of a frame, or several: results then have one more axis, before their own."""

Reference: TypeAlias = Literal["world_aligned", "world", "local"]
Backend: TypeAlias = Literal["auto", "native", "numpy", "jax"]
Device: TypeAlias = Literal["cpu", "opencl", "cuda"]
Schedule: TypeAlias = Literal["sequential", "doubling"]
Derivatives: TypeAlias = Literal["auto", "analytic", "xla"]


class ArrayOptions(TypedDict, total=False):
    """Options of functions of JAX arrays, and of tensors (`algorithm`, `threads`)."""

    algorithm: AlgorithmLike
    schedule: Schedule
    parameters: Mapping[str, ArrayLike] | None
    derivatives: Derivatives
    threads: int | None


FloatType: TypeAlias = (
    Literal["float64", "float32"]
    | type[float]
    | type[np.float64]
    | type[np.float32]
    | np.dtype[np.float64]
    | np.dtype[np.float32]
)
Mimic: TypeAlias = Literal["coupled", "independent"]
Convention: TypeAlias = Literal["standard", "modified"]
Customise: TypeAlias = Literal["none", "semi", "full"]
Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | bytes | _File | _MujocoModel | _MujocoSpec
"""A path, a built-in name, a text, an open file, or a model of MuJoCo."""

Generator: TypeAlias = int | np.random.Generator
"""A seed, or a generator of random numbers."""

Bound: TypeAlias = Callable[[], None]
"""A kernel with its arrays: `step()` recomputes the output in place."""
