# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Packages of file formats and clusters, imported where they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..errors import PhalanxError, installing

# Which extra of the project brings a package.
EXTRAS = {
    "pyarrow": "data",
    "zarr": "zarr",
    "h5py": "hdf5",
    "mcap": "mcap",
    "distributed": "cluster",
}


def package(name: str, what: str) -> Any:
    """The module of that name; raises with the extra to install where it is missing."""
    top = name.partition(".")[0]
    try:
        return import_module(name)
    except ImportError:
        raise PhalanxError(
            f"{what}: the package {top} is not installed; {installing(EXTRAS[top])}."
        ) from None
