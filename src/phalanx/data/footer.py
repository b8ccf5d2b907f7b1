# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Concatenate Parquet files without decoding their row groups, by joining their footers.

A footer is a Thrift struct in the compact protocol. It holds file offsets of pages, which change
with the offset of their row group; everything else is unchanged.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAGIC = b"PAR1"

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = (_I16, _I32, _I64)
# Fields of parquet.thrift.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
_CODEC = 4  # of column metadata
_PAGES = (9, 10, 11, 14)  # of column metadata: data, index, dictionary, Bloom filter
_INDEXES = (4, 6)  # of a column chunk: offset index, column index


@dataclass
class Struct:
    """A Thrift struct: fields by number, each a type and a value."""

    fields: dict[int, tuple[int, Any]]

    def shift(self, number: int, by: int) -> None:
        """Add to an integer field, if it exists and is not 0, which means none."""
        if number in self.fields and self.fields[number][1]:
            kind, value = self.fields[number]
            self.fields[number] = kind, value + by


def joined(footers: Sequence[bytes], moves: Sequence[int]) -> bytes:
    """The footer, with length and magic, of a file with others' row groups, each moved by so many bytes."""
    merged = decode(footers[0])
    groups: list[Struct] = []
    rows = 0
    for footer, by in zip(footers, moves, strict=True):
        part = decode(footer)
        rows += part.fields[_FILE_ROWS][1]
        for group in part.fields[_FILE_GROUPS][1][1]:
            _move(group, by)
            if _GROUP_ORDINAL in group.fields:
                # It is 16 bits wide; files with more groups leave it out.
                del group.fields[_GROUP_ORDINAL]
                if len(groups) < 1 << 15:
                    group.fields[_GROUP_ORDINAL] = _I16, len(groups)
            groups.append(group)
    merged.fields[_FILE_ROWS] = _I64, rows
    merged.fields[_FILE_GROUPS] = _LIST, (_STRUCT, groups)
    footer = encode(merged)
    return footer + struct.pack("<I", len(footer)) + MAGIC


def first_codec(footer: bytes) -> int | None:
    """The number of the codec of the first column chunk, None without one; nothing after it is decoded."""
    at = number = 0
    while footer[at]:
        number, kind, at = _field(footer, at, number)
        if number != _FILE_GROUPS:
            at = at if kind in (_TRUE, _FALSE) else _read(footer, at, kind)[1]
            continue
        if kind != _LIST or not footer[at] >> 4:
            return None
        at = _varint(footer, at + 1)[1] if footer[at] >> 4 == 15 else at + 1
        group = _read_struct(footer, at)[0].fields
        chunks = group[_GROUP_COLUMNS][1][1]
        return int(chunks[0].fields[_CHUNK_METADATA][1].fields[_CODEC][1]) if chunks else None
    return None


def split(file: memoryview) -> tuple[memoryview, bytes]:
    """The bytes of the row groups of a file in memory, and its footer."""
    size = struct.unpack("<I", file[-8:-4])[0]
    end = len(file) - 8 - size
    return file[4:end], bytes(file[end : end + size])


def _move(group: Struct, by: int) -> None:
    group.shift(_GROUP_OFFSET, by)
    for chunk in group.fields[_GROUP_COLUMNS][1][1]:
        chunk.shift(_CHUNK_OFFSET, by)
        for number in _INDEXES:
            chunk.shift(number, by)
        if _CHUNK_METADATA in chunk.fields:
            for number in _PAGES:
                chunk.fields[_CHUNK_METADATA][1].shift(number, by)


# ------------------------------------------------------------------------ the compact protocol


def decode(data: bytes) -> Struct:
    """Decode a struct in the compact protocol."""
    return _read(data, 0, _STRUCT)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (_TRUE, _FALSE):  # booleans in lists; fields have them in their type
        return data[at] == _TRUE, at + 1
    if kind == _BYTE:
        return data[at], at + 1
    if kind in _INTEGERS:
        return _integer(data, at)
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    if kind == _BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (_LIST, _SET):
        return _read_list(data, at)
    if kind == _STRUCT:
        return _read_struct(data, at)
    raise ValueError(f"a footer with a field of type {kind}")


def _read_list(data: bytes, at: int) -> tuple[Any, int]:
    size, kind = data[at] >> 4, data[at] & 0x0F
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    values = []
    for _ in range(size):
        value, at = _read(data, at, kind)
        values.append(value)
    return (kind, values), at


def _read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    fields: dict[int, tuple[int, Any]] = {}
    number = 0
    while data[at]:
        number, kind, at = _field(data, at, number)
        if kind in (_TRUE, _FALSE):
            fields[number] = kind, None
        else:
            value, at = _read(data, at, kind)
            fields[number] = kind, value
    return Struct(fields), at + 1


def _field(data: bytes, at: int, last: int) -> tuple[int, int, int]:
    """Number and type of a field, and where its value is."""
    step, kind = data[at] >> 4, data[at] & 0x0F
    if step:
        return last + step, kind, at + 1
    number, at = _integer(data, at + 1)
    return number, kind, at


def encode(value: Struct) -> bytes:
    """Encode a struct in the compact protocol."""
    out = bytearray()
    _write(out, _STRUCT, value)
    return bytes(out)


def _put(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in (_TRUE, _FALSE):
        out.append(_TRUE if value else _FALSE)
    elif kind == _BYTE:
        out.append(value)
    elif kind in _INTEGERS:
        _put(out, (value << 1) if value >= 0 else ((-value << 1) - 1))
    elif kind == _DOUBLE:
        out += value
    elif kind == _BINARY:
        _put(out, len(value))
        out += value
    elif kind in (_LIST, _SET):
        inner, values = value
        if len(values) < 15:
            out.append(len(values) << 4 | inner)
        else:
            out.append(0xF0 | inner)
            _put(out, len(values))
        for each in values:
            _write(out, inner, each)
    else:
        _write_struct(out, value)


def _write_struct(out: bytearray, value: Struct) -> None:
    last = 0
    for number, (kind, inner) in sorted(value.fields.items()):
        if 0 < number - last <= 15:
            out.append((number - last) << 4 | kind)
        else:
            out.append(kind)
            _write(out, _I16, number)
        last = number
        if kind not in (_TRUE, _FALSE):
            _write(out, kind, inner)
    out.append(0)
