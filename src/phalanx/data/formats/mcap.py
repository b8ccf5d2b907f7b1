# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MCAP logs of ROS 2: `sensor_msgs/msg/JointState` in, `std_msgs/msg/Float64MultiArray` out.

The mcap package reads chunks and indexes; messages are CDR, decoded here: all of a topic with the same
names have the same layout, so that numbers are at known offsets. Units are SI by ROS's own rules (REP 103).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError, listing
from ..arguments import package
from ..source import Column, LogWriter, Source, WrittenPart, explained, reason, regular_file

JOINT_STATE = ("sensor_msgs/msg/JointState", "sensor_msgs/JointState")
_FIELDS = ("position", "velocity", "effort")
_RESULT = """std_msgs/MultiArrayLayout layout
float64[] data
================================================================================
MSG: std_msgs/MultiArrayLayout
std_msgs/MultiArrayDimension[] dim
uint32 data_offset
================================================================================
MSG: std_msgs/MultiArrayDimension
string label
uint32 size
uint32 stride
"""


def open_mcap(path: Path, topic: str = "") -> tuple[list[Source], dict[str, Any]]:
    """A topic of joint states as a source; `topic` selects one of several."""
    mcap = package("mcap.reader", str(path))
    regular_file(path)
    with explained(f"{path}: no whole MCAP file"), path.open("rb") as file:
        summary = mcap.make_reader(file).get_summary()
    if summary is None or summary.statistics is None:
        raise PhalanxError(f"{path}: no whole MCAP file: it has no summary; mend it with `mcap recover`.")
    channels = {
        c.topic: summary.statistics.channel_message_counts.get(c.id, 0)
        for c in summary.channels.values()
        if c.schema_id in summary.schemas and summary.schemas[c.schema_id].name in JOINT_STATE
    }
    if topic and topic not in channels:
        raise PhalanxError(
            f"{path}: no joint states at {topic}; they are at {listing(channels) or 'no topic'}."
        )
    if not channels:
        topics = listing(c.topic for c in summary.channels.values())
        raise PhalanxError(f"{path}: no topic of {JOINT_STATE[0]}; there are {topics or 'none'}.")
    if len(channels) > 1 and not topic:
        first = next(iter(channels))
        raise PhalanxError(f"{path}: joint states at {listing(channels)}; name one: {path}:{first}.")
    chosen = topic or next(iter(channels))
    return [McapSource(path, chosen, channels[chosen])], {}


class McapSource(Source):
    """The joint states of one topic, in the order of their log time."""

    def __init__(self, path: Path, topic: str, rows: int) -> None:
        self.path, self.topic, self.rows = path, topic, rows
        self._messages: Iterator[Any] = iter(())
        self._row, self._kept, self._first = 0, dict[str, np.ndarray](), 0
        columns = {"timestamp": Column("timestamp", (), np.dtype(float))}
        columns["log_time"] = Column("log_time", (), np.dtype(np.int64))
        if rows:
            self.layout = self._layout()
            for name in _FIELDS:
                if name in self.layout.offsets:
                    width = len(self.layout.names)
                    columns[name] = Column(name, (width,), np.dtype(float), self.layout.names)
        self.columns = columns

    @property
    def where(self) -> str:
        """The file and the topic, for error messages."""
        return f"{self.path}:{self.topic}"

    def _read(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """The rows start to stop of some columns."""
        for name in names:
            self.column(name)
        if not (self._first <= start and stop <= self._row and self._kept):
            before = self._tail(start)
            self._kept = self._decoded(start + (len(before["log_time"]) if before else 0), stop, before)
            self._first = start
        return {n: self._kept[n][start - self._first : stop - self._first] for n in names}

    def _tail(self, start: int) -> dict[str, np.ndarray] | None:
        """The cached messages from `start` on; if none are cached, None, and the reader skips to `start`."""
        if self._kept and self._first <= start <= self._row:
            return {n: v[start - self._first :] for n, v in self._kept.items()}
        self._messages, self._row = self._raw(), 0
        for _ in islice(self._messages, start):
            self._row += 1
        return None

    def _decoded(self, start: int, stop: int, before: dict[str, np.ndarray] | None) -> dict[str, np.ndarray]:
        count = stop - start
        made = {n: np.empty((count, *c.shape), c.dtype) for n, c in self.columns.items()}
        at = 0
        try:
            for at, message in enumerate(islice(self._messages, count)):
                data = message.data
                numbers = self.layout.read(data, start + at)
                stamp = struct.unpack_from("<iI", data, 4)
                made["log_time"][at] = message.log_time
                made["timestamp"][at] = stamp[0] + 1e-9 * stamp[1] if any(stamp) else 1e-9 * message.log_time
                for name, values in numbers.items():
                    made[name][at] = values
                self._row = start + at + 1
        except Exception as error:  # damaged files raise anything: chunks, codecs, messages
            self._kept = {}
            if isinstance(error, PhalanxError):
                raise PhalanxError(f"{self.where}: {error}") from None
            raise PhalanxError(
                f"{self.where}: episode 0, row {start + at}: cannot be read: {reason(error)}."
            ) from None
        self.require_rows(self._row - start, count, "log_time")
        if before is None:
            return made
        return {n: np.concatenate([before[n], made[n]]) for n in made}

    def _raw(self) -> Iterator[Any]:
        """All messages of the topic."""
        with self.path.open("rb") as file:
            reader = package("mcap.reader", str(self.path)).make_reader(file)
            for _, _, message in reader.iter_messages(topics=[self.topic], log_time_order=True):
                yield message

    def _layout(self) -> _Layout:
        with explained(f"{self.where}: row 0: no joint state"):
            return _Layout(next(self._raw()).data)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_messages": iter(()), "_row": 0, "_kept": {}, "_first": 0}


class _Layout:
    """The byte offsets of the numbers in a joint state, from the first message."""

    def __init__(self, data: bytes) -> None:
        if data[:2] not in (b"\0\1", b"\0\7"):
            raise ValueError("not little-endian CDR")
        at = 12
        _, at = _text(data, at)
        count, at = _count(data, at)
        names = []
        for _ in range(count):
            name, at = _text(data, at)
            names.append(name)
        self.names, self.prefix, self.size = tuple(names), data[12:at], len(data)
        self.offsets: dict[str, int] = {}
        for field in _FIELDS:
            length, at = _count(data, at)
            if length:
                at += -(at - 4) % 8
                if length != count or at + 8 * length > len(data):
                    raise ValueError(f"{field} has {length} entries for {count} names")
                self.offsets[field] = at
                at += 8 * length
        if not count or "position" not in self.offsets:
            raise ValueError("it has no positions")

    def read(self, data: bytes, row: int) -> dict[str, np.ndarray]:
        """The numbers of a message, in the order of the first one's names."""
        if len(data) == self.size and data[12 : 12 + len(self.prefix)] == self.prefix:
            count = len(self.names)
            return {field: np.frombuffer(data, "<f8", count, at) for field, at in self.offsets.items()}
        other = _Layout(data)
        if sorted(other.names) != sorted(self.names) or set(other.offsets) < set(self.offsets):
            raise PhalanxError(
                f"episode 0, row {row}: names {listing(other.names)} with {', '.join(other.offsets)}, "
                "expected those of "
                f"the first message, {listing(self.names)} with {', '.join(self.offsets)}."
            )
        order = [other.names.index(name) for name in self.names]
        found = other.read(data, row)
        return {field: found[field][order] for field in self.offsets}


def _count(data: bytes, at: int) -> tuple[int, int]:
    at += -at % 4
    return struct.unpack_from("<I", data, at)[0], at + 4


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = _count(data, at)
    if at + size > len(data):
        raise ValueError("a text goes beyond the message")
    return data[at : at + max(size - 1, 0)].decode("utf-8", "replace"), at + size


class McapWriter(LogWriter):
    """A topic for each result, `/phalanx/<name>`, its messages at the times of the frames."""

    def convert(self, log: Path, parts: Sequence[WrittenPart], target: Path) -> None:
        """Make the file from the log."""
        mcap = package("mcap.writer", str(target))
        times = self._times(log, parts)
        with target.open("wb") as file:
            writer = mcap.Writer(file)
            writer.start(profile="ros2", library="phalanx")
            schema = writer.register_schema("std_msgs/msg/Float64MultiArray", "ros2msg", _RESULT.encode())
            writer.add_metadata("phalanx", _flat(self.metadata["phalanx"]))
            results = [c for c in self.columns if c.name not in ("timestamp", "log_time", "time", "t")]
            topics = [writer.register_channel(f"/phalanx/{c.name}", "cdr", schema) for c in results]
            heads = [_head(c) for c in results]
            row = 0
            for frames in zip(*(self.frames(log, c, parts) for c in results), strict=True):
                rows = [f.reshape(len(f), -1).astype("<f8") for f in frames]
                for k in range(len(rows[0])):
                    for topic, head, values in zip(topics, heads, rows, strict=True):
                        time = int(times[row])
                        writer.add_message(topic, time, head + values[k].tobytes(), time, row)
                    row += 1
            writer.finish()

    def _times(self, log: Path, parts: Sequence[WrittenPart]) -> np.ndarray:
        """The time of every frame in nanoseconds."""
        by_name = {c.name: c for c in self.columns}
        for name, factor in (("log_time", 1), ("timestamp", 1e9), ("time", 1e9), ("t", 1e9)):
            if name in by_name:
                times = np.concatenate([f.reshape(-1) for f in self.frames(log, by_name[name], parts)])
                return times if factor == 1 else np.rint(times * factor).astype(np.int64)
        rate, rows = self.metadata.get("rate"), sum(int(p.note["rows"]) for p in parts)
        if rate is None:
            raise PhalanxError("MCAP wants a time for each frame; say rate= (--rate HZ).")
        return np.rint(np.arange(rows) * (1e9 / rate)).astype(np.int64)


def _head(column: Column) -> bytes:
    """The bytes of a message before its numbers: one dimension with the names of the entries."""
    label = (",".join(column.labels) or column.name).encode() + b"\0"
    body = struct.pack("<II", 1, len(label)) + label
    body += b"\0" * (-len(body) % 4) + struct.pack("<IIII", column.width, column.width, 0, column.width)
    return b"\0\1\0\0" + body + b"\0" * (-len(body) % 8)


def _flat(facts: Mapping[str, Any]) -> dict[str, str]:
    import json

    return {key: json.dumps(value, sort_keys=True) for key, value in facts.items()}
