# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NumPy's files: .npy (one array, mapped into memory) and .npz (several, mapped or unpacked in order)."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from ...errors import PhalanxError
from ..source import (
    Arrays,
    Column,
    FilePart,
    FormatWriter,
    LogWriter,
    Source,
    WrittenPart,
    episode_ends,
    explained,
    regular_file,
)

POSITIONS = "positions"  # the name of the only array of a file
_ENDS = ("episode_ends", "episode_end")
_DAY = (1980, 1, 1, 0, 0, 0)  # in archives, so that equal contents are equal files


def open_npy(path: Path) -> tuple[list[Source], dict[str, Any]]:
    """A .npy file as a source: its fields, or one array of positions."""
    regular_file(path)
    with explained(f"{path}: no whole .npy file"):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype.names:
        return [Arrays(path, {name: array[name] for name in array.dtype.names})], {}
    if array.ndim not in (2, 3):
        raise PhalanxError(
            f"{path}: an array of shape {array.shape}, expected (frames, joints) or (episodes, frames, "
            "joints)."
        )
    return [Arrays(path, {POSITIONS: array}, episodes=len(array) if array.ndim == 3 else 0)], {}


def open_npz(path: Path) -> tuple[list[Source], dict[str, Any]]:
    """A .npz file as a source; arrays of several episodes are (episodes, frames, …)."""
    regular_file(path)
    with explained(f"{path}: no whole .npz file"), zipfile.ZipFile(path) as archive:
        arrays = {
            info.filename.removesuffix(".npy"): _Member(path, info, archive)
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
    ends = next((arrays.pop(name) for name in _ENDS if name in arrays), None)
    several = _episodes(arrays)
    # Names, flags and other arrays without an entry for each frame are not columns.
    leading = _leading(arrays, several)
    frames = {k: a for k, a in arrays.items() if tuple(a.shape[: 2 if several else 1]) == leading}
    wrong = [k for k, a in arrays.items() if k not in frames and a.dtype.kind in "fiu" and a.ndim > 1]
    if leading and wrong and _is_state(wrong[0]):
        raise PhalanxError(
            f'{path}: column "{wrong[0]}" has shape {tuple(arrays[wrong[0]].shape)}, but the frames are '
            f"{leading}; "
            "all columns need one entry for each frame."
        )
    source = Arrays(path, frames, episodes=several)
    if ends is not None:
        with explained(f"{path}: episode_ends cannot be read"):
            source.ends = checked_ends(np.asarray(ends[0 : ends.shape[0]]), source.rows, str(path))
    return [source], {"episodes": several}


def checked_ends(ends: np.ndarray, rows: int, where: str) -> np.ndarray:
    """The rows at which episodes end; raises unless they increase to the number of rows."""
    values = ends.reshape(-1)
    fits = values.dtype.kind in "iu" and len(values) > 0 and values[0] > 0 and values[-1] == rows
    if not fits or np.any(np.diff(values.astype(np.int64)) <= 0):
        raise PhalanxError(
            f"{where}: episode_ends do not rise from a row above 0 to the last, {rows}; an episode is "
            "empty or frames "
            "are missing."
        )
    return values.astype(np.int64)


def _is_state(name: str) -> bool:
    return name in ("q", "qd", "qdd")


def _episodes(arrays: Mapping[str, Any]) -> int:
    """How many episodes the leading axis has; 0 if the first axis is time."""
    for name in ("q", "qpos", POSITIONS):
        if name in arrays:
            return int(arrays[name].shape[0]) if arrays[name].ndim == 3 else 0
    return 0


def _leading(arrays: Mapping[str, Any], several: int) -> tuple[int, ...]:
    for name in ("q", "qpos", POSITIONS, *arrays):
        if name in arrays and arrays[name].ndim >= 1 + bool(several):
            return tuple(map(int, arrays[name].shape[: 1 + bool(several)]))
    return ()


class _Member:
    """An array in an archive, read in ranges of its first axis: mapped if it is stored, else unpacked."""

    def __init__(self, path: Path, info: zipfile.ZipInfo, archive: zipfile.ZipFile) -> None:
        self.path, self.name = path, info.filename
        with archive.open(info) as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, self.fortran, self.dtype = read(stream)
            self.shape: tuple[int, ...] = tuple(shape)
            self.offset = stream.tell()
        if self.dtype.hasobject:
            raise ValueError(f"{info.filename} holds Python objects")
        self.ndim = len(self.shape)
        count = int(np.prod(self.shape, dtype=np.int64))
        if info.file_size != self.offset + self.dtype.itemsize * count:
            raise ValueError(f"{info.filename} has another size than its header says")
        self.mapped: np.ndarray | None = None
        if info.compress_type == zipfile.ZIP_STORED and count:
            with path.open("rb") as file:
                file.seek(info.header_offset + 26)
                name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            at = info.header_offset + 30 + name + extra + self.offset
            self.mapped = np.memmap(path, self.dtype, "r", at, self.shape, "F" if self.fortran else "C")
        self.stream: Any = None
        self.row = 0

    def __getitem__(self, rows: slice) -> np.ndarray:
        if self.mapped is not None:
            return self.mapped[rows]
        if self.fortran and self.ndim > 1:
            with np.load(self.path) as archive:
                return archive[self.name.removesuffix(".npy")][rows]
        return self._unpacked(rows.start, min(rows.stop, self.shape[0]))

    def _unpacked(self, start: int, stop: int) -> np.ndarray:
        """Decompress a range; sequential ranges continue the stream, others restart it."""
        size = self.dtype.itemsize * prod(self.shape[1:])
        if self.stream is None or start != self.row:
            self.stream = zipfile.ZipFile(self.path).open(self.name)  # noqa: SIM115 - it stays open
            self.stream.seek(self.offset + start * size)
        data = self.stream.read((stop - start) * size)
        self.row = stop
        return np.frombuffer(data, self.dtype).reshape(-1, *self.shape[1:])


# ------------------------------------------------------------------------ writing


class NpyWriter(FormatWriter):
    """One result as one array."""

    def __init__(self, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
        super().__init__(columns, metadata)
        if len(columns) != 1:
            raise PhalanxError(
                f"a .npy file holds one array, these are {len(columns)}: "
                f"{', '.join(c.name for c in columns)}; write a .npz file."
            )

    def head(self, rows: int) -> bytes:
        """The header of a file with the given number of frames."""
        [column] = self.columns
        return _header((rows, *column.shape), column.dtype)

    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> FilePart:
        """The bytes of a part that holds the frames of a batch."""
        [column] = self.columns
        return FilePart(bytes_of(np.ascontiguousarray(batch[column.name], column.dtype)), note)


class NpzWriter(LogWriter):
    """Every result as an array, stored without compression, so that the file can be mapped."""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the file from the log."""
        rows, ends = sum(int(p.note["rows"]) for p in parts), episode_ends(parts)
        several = int(self.metadata.get("episodes", 0))
        leading = (several, rows // several) if several and rows % several == 0 else (rows,)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
            for column in self.columns:
                with archive.open(zipfile.ZipInfo(f"{column.name}.npy", _DAY), "w", force_zip64=True) as file:
                    file.write(_header((*leading, *column.shape), column.dtype))
                    for frames in self.frames(log, column, parts):
                        file.write(bytes_of(frames))
            if len(ends) > 1 and len(leading) == 1:
                with archive.open(zipfile.ZipInfo("episode_ends.npy", _DAY), "w") as file:
                    file.write(_header(ends.shape, ends.dtype) + ends.tobytes())


def bytes_of(array: Any) -> memoryview:
    """A view of the bytes of an array."""
    return memoryview(array).cast("B")


def _header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    header = io.BytesIO()
    npy.write_array_header_1_0(
        header, {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(shape)}
    )
    return header.getvalue()
