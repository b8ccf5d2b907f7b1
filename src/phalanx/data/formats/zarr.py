# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Zarr: groups of arrays with frames along the first axis; `meta/episode_ends` lists where episodes end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ..arguments import package
from ..naming import ALIASES
from ..source import Arrays, LogWriter, Source, WrittenPart, episode_ends, explained, regular_file
from .npy import checked_ends

_DATA, _ENDS = ("data/", ""), ("meta/episode_ends", "episode_ends")
_STATE = {alias for aliases in ALIASES.values() for alias in aliases}
_CHUNK = 1 << 20  # bytes
_METADATA, _HEAD = (".zarray", ".zattrs", ".zgroup", "zarr.json"), 16  # bytes before a chunk of Blosc


def open_zarr(path: Path) -> tuple[list[Source], dict[str, Any]]:
    """A group of arrays, or its group `data`, as a source."""
    zarr = package("zarr", str(path))
    with explained(f"{path}: no Zarr group that can be read"):
        store = _store_class()(path, read_only=True)
        root = zarr.open_group(store, mode="r")
        arrays = {name: item for name, item in root.members(max_depth=None) if hasattr(item, "dtype")}
        store.packed = tuple(f"{item.path}/" for item in arrays.values() if _is_blosc(item.metadata))
    ends = next((arrays.pop(name) for name in _ENDS if name in arrays), None)
    prefix = next((p for p in _DATA if any(name.startswith(p) for name in arrays)), "")
    named = {
        name.removeprefix(prefix): _LazyArray(a) for name, a in arrays.items() if name.startswith(prefix)
    }
    named = {name: a for name, a in named.items() if a.ndim}
    rows = {a.shape[0] for name, a in named.items() if name.split("/")[-1] in _STATE}
    if len(rows) > 1:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in named.items())
        raise PhalanxError(f"{path}: columns of unequal length: {shapes}; all need one entry for each frame.")
    length = rows.pop() if rows else max((a.shape[0] for a in named.values()), default=0)
    source = Arrays(path, {name: a for name, a in named.items() if a.shape[0] == length})
    if ends is not None:
        with explained(f"{path}: episode_ends cannot be read"):
            source.ends = checked_ends(np.asarray(ends[:]), source.rows, str(path))
    return [source], {"prefix": prefix}


@cache
def _store_class() -> Any:
    """A Zarr store class that reads regular files only: reading a pipe instead of a chunk would never end.

    It also rejects truncated Blosc chunks: Blosc trusts the length in their header.
    """

    class Files(package("zarr.storage", "Zarr").LocalStore):  # type: ignore[misc]
        """A store that reads only regular files."""

        packed: tuple[str, ...] = ()  # arrays whose chunks are compressed by Blosc

        async def get(self, key: str, *args: Any, **options: Any) -> Any:
            """The bytes of a key."""
            path = self.root / key
            if path.exists() and not path.is_dir():
                regular_file(path)
            found = await super().get(key, *args, **options)
            if found is not None and key.startswith(self.packed) and path.name not in _METADATA:
                data = found.to_bytes()
                if len(data) < _HEAD or int.from_bytes(data[12:16], "little") != len(data):
                    raise PhalanxError(f"{path}: is no whole chunk of Blosc; the file is damaged.")
            return found

    return Files


def _is_blosc(metadata: Any) -> bool:
    """Whether the chunks of an array are compressed by Blosc."""
    compressor = getattr(metadata, "compressor", None) or next(
        reversed(getattr(metadata, "codecs", ())), None
    )
    return type(compressor).__name__ in ("Blosc", "BloscCodec")


class _LazyArray:
    """An array whose chunks are read at their first use."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = tuple(array.shape), array.dtype, len(array.shape)

    def __getitem__(self, rows: slice) -> Any:
        return self.array[rows]


class ZarrWriter(LogWriter):
    """An array for each result, beside where the input has its own, chunked along time."""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the folder from the log."""
        zarr = package("zarr", str(target))
        rows, prefix = sum(int(p.note["rows"]) for p in parts), self.metadata.get("prefix", "")
        root = zarr.open_group(str(target), mode="w", zarr_format=3)
        root.attrs["phalanx"] = json.dumps(self.metadata["phalanx"], sort_keys=True)
        for column in self.columns:
            length = max(1, min(rows, _CHUNK // max(column.nbytes, 1)))
            made = root.create_array(
                f"{prefix}{column.name}",
                shape=(rows, *column.shape),
                chunks=(length, *column.shape),
                dtype=column.dtype,
                attributes={"labels": list(column.labels)} if column.labels else None,
            )
            self._fill(made, log, column, parts, length)
        ends = episode_ends(parts)
        if len(ends) > 1:
            name = "meta/episode_ends" if prefix else "episode_ends"
            root.create_array(name, data=ends)

    def _fill(self, made: Any, log: Path, column: Any, parts: Sequence[WrittenPart], length: int) -> None:
        """Write complete chunks, so that none is read back."""
        at, rest = 0, np.zeros((0, *column.shape), column.dtype)
        for frames in self.frames(log, column, parts):
            rest = np.concatenate([rest, frames])
            full = len(rest) // length * length
            if full:
                made[at : at + full] = rest[:full]
                at, rest = at + full, rest[full:]
        if len(rest):
            made[at : at + len(rest)] = rest
