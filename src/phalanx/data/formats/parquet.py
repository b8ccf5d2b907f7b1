# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parquet read by pyarrow: row groups as pieces, lists of fixed length viewed as arrays without a copy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ..arguments import package
from ..footer import first_codec
from ..naming import EPISODES
from ..source import Column, Source, explained, regular_file

_STALE = (b"huggingface", b"pandas", b"ARROW:schema")  # metadata of the input's columns, wrong for the output
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4"}  # of parquet.thrift
_DECODED = 3  # pieces that are cached decoded, for reads that need neighbours
_OPEN = 16  # files


def open_parquet(path: Path) -> tuple[list[Source], dict[str, Any]]:
    """A Parquet file as a source."""
    source = ParquetSource(path)
    return [source], source.properties()


class ParquetSource(Source):
    """One file; its row groups, or pieces of large ones, are read one by one."""

    def __init__(
        self,
        path: Path,
        shapes: Mapping[str, tuple[int, ...]] | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.path = path
        self.threads = False
        file = _opened(str(path))
        self.rows = int(file.metadata.num_rows)
        self.groups = np.cumsum([file.metadata.row_group(g).num_rows for g in range(file.num_row_groups)])
        self.units = self.groups
        self.columns = {
            field.name: _column(
                file, field, self.rows, (shapes or {}).get(field.name), (labels or {}).get(field.name)
            )
            for field in file.schema_arrow
        }
        for name in EPISODES:
            if name in self.columns and self.columns[name].is_real and self.columns[name].width == 1:
                self.episode_column = name
                break
        self._cache: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._stream: _Stream | None = None

    def properties(self) -> dict[str, Any]:
        """The compression of the file and its metadata."""
        file = _opened(str(self.path))
        own = {k: v for k, v in (file.schema_arrow.metadata or {}).items() if k not in _STALE}
        return {"compression": self._codec(), "parquet": own}

    def _codec(self) -> str:
        """The codec of the first column, read here since pyarrow crashes on a footer damaged there."""
        with self.path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            size = int.from_bytes(file.read(4), "little")
            file.seek(-8 - size, os.SEEK_END)
            footer = file.read(size)
        try:
            codec = first_codec(footer)
            return "snappy" if codec is None else _CODECS[codec]
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
            raise PhalanxError(f"{self.path}: no whole Parquet file: its footer is damaged.") from None

    def blocks(self, row_bytes: int, most: int) -> list[int]:
        """Ends of row groups; small ones are merged, large ones are cut."""
        step = max(1, most // max(row_bytes, 1))
        ends: list[int] = []
        start = 0
        for low, high in zip([0, *self.groups[:-1]], self.groups, strict=True):
            if high - start > step and low > start:
                ends.append(int(low))
                start = int(low)
            while high - start > step:
                start += step
                ends.append(start)
        if self.rows > start:
            ends.append(self.rows)
        self.units = np.array(ends)
        return ends

    def _read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns."""
        raw = self.raw(names, start, stop)
        return {name: self.array(name, raw[name], start) for name in names}

    def nothing(self, names: Sequence[str], *, raw: bool = False) -> dict[str, Any]:
        """No rows of some columns; `raw` in the file's own types."""
        if not raw:
            return super().nothing(names)
        schema = _opened(str(self.path)).schema_arrow
        return {name: _pyarrow().array([], schema.field(name).type) for name in names}

    def first(self, names: Sequence[str], count: int) -> dict[str, np.ndarray]:
        """The first rows of some columns; the rest of their row group is not decoded."""
        with self._reading(0, count):
            file = _again(str(self.path))
            batch = next(file.iter_batches(min(count, self.rows), columns=list(names), use_threads=False))
            return {name: self.array(name, batch.column(name), 0) for name in names}

    def raw(self, names: Sequence[str], start: int, stop: int) -> dict[str, Any]:
        """The rows start to stop of some columns as Arrow arrays."""
        for name in names:
            self.column(name)
        if start >= stop:
            stop = start
        first, last = (
            int(np.searchsorted(self.units, row, side="right")) for row in (start, max(start, stop - 1))
        )
        last = min(last, len(self.units) - 1)
        key = tuple(names)
        parts = []
        touched = []
        for unit in range(first, last + 1):
            low = int(self.units[unit - 1]) if unit else 0
            high = int(self.units[unit])
            where = (key, unit)
            if where not in self._cache:
                self._cache[where] = self._decoded(key, low, high)
            touched.append(where)
            a, b = max(start, low) - low, min(stop, high) - low
            table = self._cache[where]
            parts.append(
                {n: table[n] if (a, b) == (0, high - low) else table[n].slice(a, b - a) for n in names}
            )
        partial = len(touched) > 1 or stop - start != high - low
        self._cache = {k: self._cache[k] for k in touched[-_DECODED:]} if partial else {}
        if len(parts) == 1:
            return parts[0]
        pa = _pyarrow()
        return {n: one_array(pa.chunked_array([part[n] for part in parts])) for n in names}

    def _decoded(self, names: tuple[str, ...], low: int, high: int) -> dict[str, Any]:
        """One piece, as an Arrow array for each column."""
        groups = [0, *map(int, self.groups)]
        with self._reading(low, high):
            if low in groups and high in groups:
                file = _again(str(self.path))
                wanted = list(range(groups.index(low), groups.index(high)))
                table = file.read_row_groups(wanted, columns=list(names), use_threads=self.threads)
            else:
                table = self._streamed(names, low, high)
        if table.num_rows != high - low:
            raise PhalanxError(
                f"{self.path}: {table.num_rows} rows instead of {high - low} from row {low} on."
            )
        return {name: one_array(table.column(name)) for name in names}

    def _reading(self, low: int, high: int) -> Any:
        return explained(f"{self.path}: rows {low} to {min(high, self.rows)} cannot be read")

    def _streamed(self, names: tuple[str, ...], low: int, high: int) -> Any:
        """A piece of a large row group; sequential pieces continue the stream."""
        if self._stream is None or (self._stream.names, self._stream.row) != (names, low):
            group = int(np.searchsorted(self.groups, low, side="right"))
            start = int(self.groups[group - 1]) if group else 0
            self._stream = _Stream(str(self.path), names, start, group, high - low, self.threads)
        return self._stream.until(low, high)

    def array(self, name: str, array: Any, start: int) -> np.ndarray:
        """Numbers of an Arrow array, without a copy where nothing is missing."""
        column, pa = self.columns[name], _pyarrow()
        kind = array.type
        if not (pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)):
            return np.asarray(array.to_numpy(zero_copy_only=False)).reshape(len(array), *column.shape)
        if array.null_count:
            row = start + int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise PhalanxError(f'{self.where}: episode {self.episode(row)}, row {row}: "{name}" is missing.')
        if not pa.types.is_fixed_size_list(kind):
            sizes = np.diff(array.offsets.to_numpy())
            if np.any(sizes != column.width):
                row = int(np.flatnonzero(sizes != column.width)[0])
                raise PhalanxError(
                    f'{self.where}: episode {self.episode(start + row)}, row {start + row}: "{name}" has '
                    f"{sizes[row]} entries, expected {column.width}."
                )
        values = array.flatten()
        while pa.types.is_list(values.type) or pa.types.is_fixed_size_list(values.type):
            values = values.flatten()
        found = np.asarray(values.to_numpy(zero_copy_only=False))
        if len(found) != len(array) * column.width:
            raise PhalanxError(f'{self.where}: "{name}" has entries of other lengths than {column.shape}.')
        return found.reshape(len(array), *column.shape)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}, "_stream": None}


class _Stream:
    """A stream over the batches of row groups, cut at any rows."""

    def __init__(
        self, path: str, names: tuple[str, ...], start: int, group: int, size: int, threads: bool
    ) -> None:
        self.path, self.names, self.row, self.size, self.threads = path, names, start, size, threads
        self.group = group - 1
        self.batches: Any = iter(())
        self.rest: list[Any] = []

    def _next(self) -> Any:
        """The next batch; the file is reopened for each group, since pyarrow holds what it has read."""
        for batch in self.batches:
            return batch
        self.group += 1
        self.batches = iter(())
        _pyarrow().default_memory_pool().release_unused()
        file = _again(self.path)
        self.batches = file.iter_batches(
            self.size, row_groups=[self.group], columns=list(self.names), use_threads=self.threads
        )
        return self._next()

    def until(self, low: int, high: int) -> Any:
        """The rows low to high; earlier ones are skipped."""
        pa = _pyarrow()
        batches: list[Any] = []
        while self.row < high:
            batch = self.rest.pop() if self.rest else self._next()
            if self.row + batch.num_rows > high:
                self.rest.append(batch.slice(high - self.row))
                batch = batch.slice(0, high - self.row)
            skip = max(0, min(low - self.row, batch.num_rows))
            if skip < batch.num_rows:
                batches.append(batch.slice(skip))
            self.row += batch.num_rows
        return pa.Table.from_batches(batches).combine_chunks()


def _column(file: Any, field: Any, rows: int, shape: Any, labels: Any) -> Column:
    """The column of a schema field; fields without numbers have dtype object."""
    pa = _pyarrow()
    kind, sizes, lists = field.type, [], False
    while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        lists = lists or not pa.types.is_fixed_size_list(kind)
        sizes.append(kind.list_size if pa.types.is_fixed_size_list(kind) else -1)
        kind = kind.value_type
    try:
        dtype = np.dtype(kind.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        dtype = np.dtype(object)
    if pa.types.is_boolean(kind) or dtype.kind not in "fiu":
        dtype = np.dtype(object) if not pa.types.is_boolean(kind) else np.dtype(bool)
    if lists:
        sizes = list(shape) if shape else _first_lengths(file, field.name, rows)
    return Column(field.name, tuple(map(int, sizes)), dtype, tuple(labels or ()))


def _first_lengths(file: Any, name: str, rows: int) -> list[int]:
    """How long the lists of the first row are; the others must be as long."""
    if not rows:
        return [0]
    try:
        value = next(file.iter_batches(1, columns=[name], use_threads=False)).column(0)[0].as_py()
    except (OSError, ValueError, StopIteration, _pyarrow().ArrowException):
        return [0]
    sizes = []
    while isinstance(value, list):
        sizes.append(len(value))
        value = value[0] if value else None
    return sizes


def _opened(path: str) -> Any:
    """The open file with its footer; reopened if the file at this path was replaced."""
    facts = regular_file(path)
    return _footer(path, (facts.st_ino, facts.st_size, facts.st_mtime_ns))


def _again(path: str) -> Any:
    """The file reopened for one piece, so that its memory map is released afterwards."""
    pq = package("pyarrow.parquet", path)
    metadata = _opened(path).metadata
    return pq.ParquetFile(path, metadata=metadata, memory_map=True, page_checksum_verification=True)


@lru_cache(_OPEN)
def _footer(path: str, mark: tuple[int, ...]) -> Any:
    """Open a file and read its footer."""
    pq = package("pyarrow.parquet", path)
    with explained(f"{path}: no whole Parquet file"):
        return pq.ParquetFile(path, memory_map=True)


def one_array(column: Any) -> Any:
    """A chunked array as one array."""
    if not hasattr(column, "num_chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return _pyarrow().concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()


def _pyarrow() -> Any:
    return package("pyarrow", "Parquet")


def as_numbers(array: Any) -> np.ndarray | None:
    """Numbers of an Arrow array (rows, …); None where it holds none, or lists of several lengths."""
    pa = _pyarrow()
    array, sizes = one_array(array), []
    rows = len(array)
    while pa.types.is_fixed_size_list(array.type) or pa.types.is_list(array.type):
        if array.null_count:
            return None
        before, array = len(array), array.flatten()
        if before and len(array) % before:
            return None
        sizes.append(len(array) // before if before else 0)
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        return None
    return np.asarray(array.to_numpy(zero_copy_only=False)).reshape(rows, *sizes)
