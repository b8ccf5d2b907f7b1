# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of a robot as a callable from batches of columns to batches of columns, for any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import UNREADABLE
from ..errors import PhalanxError, is_one_of, shown
from ..robot.robot import Robot
from .arguments import package, robot_from, words_from
from .binding import bound
from .quantities import Frames, needs_of, results_of
from .source import Column


class BatchTransform:
    """Results of functions for a batch of frames; see `transform`."""

    def __init__(self, robot: Robot, functions: Any, options: Mapping[str, Any]) -> None:
        self.robot, self.functions, self.options = robot, functions, dict(options)
        self.results = results_of(robot, functions, np.dtype(np.float64), options["frames"])
        self.needs = needs_of(self.results)

    def __reduce__(self) -> Any:
        return BatchTransform, (self.robot, self.functions, self.options)

    def __call__(self, batch: Any) -> Any:
        """The results for a batch, in the form in which it came."""
        if isinstance(batch, Mapping):
            return self._computed({k: _stacked(v) for k, v in batch.items()}, batch)
        kind = type(batch).__module__.partition(".")[0]
        if kind == "pyarrow":
            return self._arrow(batch)
        if kind == "pandas":
            return self._pandas(batch)
        raise PhalanxError(
            f"transform: got {shown(batch)}, expected a mapping of arrays, a record batch or table of "
            "PyArrow or a data frame of pandas."
        )

    def _computed(self, arrays: Mapping[str, np.ndarray], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The results by column, after the columns of the input that `keep` selects."""
        columns = {k: Column(k, v.shape[1:], v.dtype) for k, v in arrays.items()}
        o = self.options
        bindings = bound(
            self.robot, columns, "transform", joints=o["joints"], units=o["units"], names=o["columns"]
        )
        missing = [q for q in self.needs if q not in bindings]
        if missing:
            raise PhalanxError(
                f"transform: the batch has no column for {', '.join(missing)}; name it with columns=, or "
                "differentiate first: px.data.differentiate, or px.data.run, which knows where episodes end."
            )
        used = [columns[name].dtype for q in self.needs for name in bindings[q].columns]
        dtype = np.dtype(np.float32 if all(t == np.float32 for t in used) else np.float64)
        rows = {len(arrays[name]) for q in self.needs for name in bindings[q].columns}
        if len(rows) > 1:
            raise PhalanxError(
                f"transform: columns of {sorted(rows)} rows; all need one entry for each frame."
            )
        names = list(inputs) if o["keep"] == "all" else list(o["keep"])
        absent = [name for name in names if name not in inputs]
        if absent:
            raise PhalanxError(f"transform: keep names {absent}, which the batch has not.")
        found = {name: inputs[name] for name in names}
        state = {q: bindings[q].take(arrays, dtype) for q in self.needs}
        results = results_of(self.robot, self.functions, dtype, o["frames"])
        if not rows or not max(rows):
            return {**found, **{r.column.name: np.zeros((0, *r.column.shape), dtype) for r in results}}
        frames = Frames(self.robot, state, dtype)
        return {**found, **{r.column.name: r.compute(frames) for r in results}}

    def _arrow(self, batch: Any) -> Any:
        """A record batch or a table from one."""
        pa = package("pyarrow", "transform")
        from .formats.parquet import as_numbers

        arrays = {}
        for name in batch.schema.names:
            found = as_numbers(batch.column(name))
            if found is not None:
                arrays[name] = found
        made = self._computed(arrays, {name: batch.column(name) for name in batch.schema.names})
        from .formats.row_groups import as_arrow

        return (
            type(batch).from_arrays([as_arrow(v) for v in made.values()], names=list(made))
            if made
            else pa.table({})
        )

    def _pandas(self, batch: Any) -> Any:
        """A data frame from one; entries of several numbers are columns `name.entry`."""
        import pandas as pd

        arrays = {str(k): _stacked(batch[k]) for k in batch.columns}
        made = self._computed(arrays, {str(k): batch[k] for k in batch.columns})
        wide: dict[str, Any] = {}
        labels = {r.column.name: r.column for r in self.results}
        for name, values in made.items():
            if isinstance(values, np.ndarray) and values.ndim > 1:
                flat = values.reshape(len(values), -1)
                entries = labels[name].labels or tuple(map(str, range(flat.shape[1])))
                wide |= {f"{name}.{entry}": flat[:, k] for k, entry in enumerate(entries)}
            else:
                wide[name] = values
        return pd.DataFrame(wide, index=batch.index)


def _stacked(column: Any) -> np.ndarray:
    """A column as numbers; lists in it become rows."""
    try:
        values = np.asarray(column)
    except UNREADABLE:
        values = np.asarray(None)
    if not values.ndim:
        raise PhalanxError(f"transform: a column is {shown(column)}, expected an entry for each frame.")
    if values.dtype == object and len(values) and isinstance(values[0], list | tuple | np.ndarray):
        try:
            return np.stack([np.asarray(v) for v in values])
        except ValueError:
            return values
    return values


def transform(
    robot: Robot | str,
    functions: Any,
    *,
    joints: Any = None,
    units: Any = None,
    columns: Any = None,
    frames: Sequence[str] = (),
    keep: Any = (),
) -> BatchTransform:
    """A picklable callable from batches of columns to batches of columns: the results of functions by name.

    A batch is a mapping of arrays, a record batch or table of PyArrow, or a data frame of pandas, with q, and
    qd, qdd, tau as the functions need them; the result has the same form. `keep` names columns of the batch
    that stay, or is "all"; `joints`, `units` and `columns` are those of `open`, `frames` are frames of the
    robot for functions such as "frame_pose". Batches know nothing of each other: it does not
    differentiate.
    """
    names = words_from(frames, "transform: frames", "names of frames of the robot")
    selected = (
        keep
        if is_one_of(keep, ("all",))
        else words_from(keep, "transform: keep", '"all" or names of columns')
    )
    options = {"joints": joints, "units": units, "columns": columns, "frames": names, "keep": selected}
    robot = robot_from(robot)
    return BatchTransform(robot, functions, options)
