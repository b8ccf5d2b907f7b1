# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parquet by pyarrow: row groups as pieces, lists of fixed length viewed as arrays without a copy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ..footer import MAGIC, joined, split
from ..naming import EPISODES
from ..packages import package
from ..source import Column, Source
from ..writer import Part, Writer, Written

OURS = b"phalanx"  # key of what we add to a file's metadata
_STALE = (b"huggingface", b"pandas", b"ARROW:schema")  # they describe columns that are no more
_KEPT = 3  # pieces kept decoded where reading needs neighbours
_OPEN = 16  # files


def open_parquet(path: Path) -> tuple[list[Source], dict[str, Any]]:
    """The source that a Parquet file is."""
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
        """How the file is compressed, and what it says about itself."""
        file = _opened(str(self.path))
        codec = "snappy"
        if file.num_row_groups and file.metadata.num_columns:
            codec = file.metadata.row_group(0).column(0).compression.lower()
        told = {k: v for k, v in (file.schema_arrow.metadata or {}).items() if k not in _STALE}
        return {"compression": "none" if codec == "uncompressed" else codec, "parquet": told}

    def blocks(self, row_bytes: int, most: int) -> list[int]:
        """Row groups; small ones taken together, large ones cut."""
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

    def read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns."""
        raw = self.raw(names, start, stop)
        return {name: self.array(name, raw[name], start) for name in names}

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
        self._cache = {k: self._cache[k] for k in touched[-_KEPT:]} if partial else {}
        if len(parts) == 1:
            return parts[0]
        pa = _pyarrow()
        return {n: _one(pa.chunked_array([part[n] for part in parts])) for n in names}

    def _decoded(self, names: tuple[str, ...], low: int, high: int) -> dict[str, Any]:
        """One piece, as an Arrow array for each column."""
        groups = [0, *map(int, self.groups)]
        try:
            if low in groups and high in groups:
                file = _again(str(self.path), mapped=True)
                wanted = list(range(groups.index(low), groups.index(high)))
                table = file.read_row_groups(wanted, columns=list(names), use_threads=self.threads)
            else:
                table = self._streamed(names, low, high)
        except (OSError, ValueError, MemoryError, _pyarrow().ArrowException) as error:
            raise PhalanxError(
                f"{self.path}: rows {low} to {high} cannot be read: {_reason(error)}; the file is torn or "
                "changed."
            ) from None
        if table.num_rows != high - low:
            raise PhalanxError(
                f"{self.path}: {table.num_rows} rows instead of {high - low} from row {low} on."
            )
        return {name: _one(table.column(name)) for name in names}

    def _streamed(self, names: tuple[str, ...], low: int, high: int) -> Any:
        """A piece of a large row group; what follows the last piece costs nothing extra."""
        group = int(np.searchsorted(self.groups, low, side="right"))
        if self._stream is None or (self._stream.names, self._stream.row) != (names, low):
            start = int(self.groups[group - 1]) if group else 0
            file = _again(str(self.path), mapped=False)
            self._stream = _Stream(file, names, start, self.groups, self.threads)
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
    """Batches of one file in order, cut anew."""

    def __init__(
        self, file: Any, names: tuple[str, ...], start: int, groups: np.ndarray, threads: bool
    ) -> None:
        self.names, self.row = names, start
        first = int(np.searchsorted(groups, start, side="right"))
        rows = list(range(first, len(groups)))
        self.batches = file.iter_batches(1 << 16, row_groups=rows, columns=list(names), use_threads=threads)
        self.rest: list[Any] = []

    def until(self, low: int, high: int) -> Any:
        """The rows low to high; those before them are passed over."""
        pa = _pyarrow()
        kept: list[Any] = []
        while self.row < high:
            batch = self.rest.pop() if self.rest else next(self.batches)
            if self.row + batch.num_rows > high:
                self.rest.append(batch.slice(high - self.row))
                batch = batch.slice(0, high - self.row)
            skip = max(0, min(low - self.row, batch.num_rows))
            if skip < batch.num_rows:
                kept.append(batch.slice(skip))
            self.row += batch.num_rows
        return pa.Table.from_batches(kept).combine_chunks()


def _column(file: Any, field: Any, rows: int, shape: Any, labels: Any) -> Column:
    """A field of the schema; what holds no numbers has the type of Python objects."""
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
    """The file, its footer read; another one of the same name is opened anew."""
    try:
        told = os.stat(path)
    except OSError as error:
        raise PhalanxError(f"{path}: {error.strerror}.") from None
    return _footer(path, (told.st_ino, told.st_size, told.st_mtime_ns))


def _again(path: str, *, mapped: bool) -> Any:
    """The file opened once more for one piece: what is mapped into memory is let go with it."""
    pq = package("pyarrow.parquet", path)
    told = _opened(path).metadata
    return pq.ParquetFile(path, metadata=told, memory_map=mapped, page_checksum_verification=True)


@lru_cache(_OPEN)
def _footer(path: str, mark: tuple[int, ...]) -> Any:
    """A file whose footer was read."""
    pq = package("pyarrow.parquet", path)
    try:
        return pq.ParquetFile(path, memory_map=True)
    except (OSError, ValueError, _pyarrow().ArrowException) as error:
        raise PhalanxError(f"{path}: no whole Parquet file: {_reason(error)}.") from None


def _one(column: Any) -> Any:
    """A chunked array as one array."""
    if not hasattr(column, "num_chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    return _pyarrow().concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def _pyarrow() -> Any:
    return package("pyarrow", "Parquet")


# ------------------------------------------------------------------------ writing


class ParquetWriter(Writer):
    """One row group a part; the file is the row groups behind each other and a footer made of theirs."""

    def __init__(self, columns: Sequence[Column], metadata: Mapping[str, Any]) -> None:
        super().__init__(columns, metadata)
        told = {**metadata.get("parquet", {}), OURS: json.dumps(metadata["phalanx"], sort_keys=True).encode()}
        self.told = told
        self._memory: Any = None
        self.plain = [c.name for c in columns if c.dtype.kind == "O"]

    def head(self, rows: int) -> bytes:
        """What a file of so many frames begins with."""
        return MAGIC

    def part(self, batch: Mapping[str, Any], note: dict[str, Any]) -> Part:
        """The part with these frames."""
        pa = _pyarrow()
        arrays = [self._arrow(c, batch[c.name]) for c in self.columns]
        schema = pa.schema(
            [pa.field(c.name, a.type) for c, a in zip(self.columns, arrays, strict=True)], self.told
        )
        body, footer = split(self._file(pa.Table.from_arrays(arrays, schema=schema)))
        return Part(body, {**note, "footer": footer.hex()})

    def _file(self, table: Any) -> memoryview:
        """A whole file of one row group, in memory that is recycled: fresh pages cost a fifth."""
        pa, pq = _pyarrow(), package("pyarrow.parquet", "Parquet")
        options = {
            "compression": self.metadata.get("compression", "snappy"),
            "use_dictionary": self.plain,
            "row_group_size": max(table.num_rows, 1),
        }
        size = int(1.25 * table.nbytes) + (1 << 16)
        if self._memory is None or self._memory.size < size:
            self._memory = pa.allocate_buffer(size)
        sink = _Counted(pa.FixedSizeBufferWriter(self._memory))
        try:
            pq.write_table(table, pa.PythonFile(sink, mode="w"), **options)
            return memoryview(self._memory)[: sink.size]
        except (OSError, pa.ArrowException):  # compressed it is longer than before
            grown = pa.BufferOutputStream()
            pq.write_table(table, grown, **options)
            return memoryview(grown.getvalue())

    def tail(self, parts: Sequence[Written]) -> bytes:
        """What a file ends with."""
        footers = [bytes.fromhex(p.note["footer"]) for p in parts]
        return joined(footers, [p.start - len(MAGIC) for p in parts])

    def _arrow(self, column: Column, values: Any) -> Any:
        """An Arrow array on the memory of the numbers."""
        return as_arrow(np.asarray(values, column.dtype) if isinstance(values, np.ndarray) else values)


class _Counted:
    """A file object that knows how much was written when it is closed."""

    closed = False

    def __init__(self, sink: Any) -> None:
        self.sink, self.size = sink, 0

    def write(self, data: Any) -> int:
        self.sink.write(data)
        self.size += len(data)
        return len(data)

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def as_numbers(array: Any) -> np.ndarray | None:
    """Numbers of an Arrow array (rows, …); None where it holds none, or lists of several lengths."""
    pa = _pyarrow()
    array, sizes = _one(array), []
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


def as_arrow(values: Any) -> Any:
    """An Arrow array of numbers (rows, …): of lists of fixed length where there are several."""
    if not isinstance(values, np.ndarray):
        return _one(values)
    pa = _pyarrow()
    flat = pa.array(np.ascontiguousarray(values).reshape(-1))
    width = int(np.prod(values.shape[1:], dtype=int))
    return pa.FixedSizeListArray.from_arrays(flat, width) if values.ndim > 1 else flat
