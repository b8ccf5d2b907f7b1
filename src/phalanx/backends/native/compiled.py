# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machine code on the arrays of users: one state, or a batch that threads may share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ...arrays import MOST_AXES, empty_result
from ..base import available_threads
from .threads import SMALL, Throughput, fill


class CompiledCode(ABC):
    """Machine code with inputs and outputs of some shapes for one state."""

    dtype: np.dtype
    shapes: tuple[tuple[int, ...], ...]  # inputs, then outputs
    direct: Callable[..., bool]

    @property
    @abstractmethod
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the outputs of one state."""

    @property
    @abstractmethod
    def packed(self) -> Callable[[Sequence[Any]], Any]:
        """What makes of the outputs what users get."""

    @cached_property
    def pace(self) -> Throughput:
        """How long a state takes, as far as known."""
        return Throughput()

    @cached_property
    def _has_one(self) -> bool:
        """Whether there is one output, which users get as it is."""
        return len(self.outputs) == 1 and not isinstance(self.packed([None]), tuple)

    def batch(self, inputs: tuple[Any, ...], out: Any = None, threads: int | None = None) -> Any:
        """The result for arrays that machine code can take as they are, or None: then let them be checked.

        Machine code is called first; whatever it declines, the checks explain better. Without a number of
        `threads`, a large batch may have all that are available.
        """
        if out is not None:
            if self._has_one:
                return out if type(out) is np.ndarray and self.fill((*inputs, out), threads) else None
            return out if self._are_places(inputs, out) and self.fill((*inputs, *out), threads) else None
        first = inputs[0]
        if type(first) is np.ndarray and first.shape == self.shapes[0]:  # one state, as far as seen
            alone = [np.empty(shape, self.dtype) for shape in self.outputs]
            if self.direct(*inputs, *alone):
                return self.packed(alone if self.outputs[-1] else [result[()] for result in alone])
        is_row = type(first) is np.ndarray and first.shape[1:] == self.shapes[0]
        batch = (len(first),) if is_row else self._batch_of(inputs)
        while batch is not None:
            results = [empty_result((*batch, *shape), self.dtype) for shape in self.outputs]
            if self.fill((*inputs, *results), threads):
                shown = [result if result.ndim else result[()] for result in results]
                return self.packed(shown)
            guess, batch = batch, self._batch_of(inputs) if is_row else None
            if guess == batch:  # no other input made it longer
                return None
            is_row = False
        return None

    def fill(self, arrays: tuple[Any, ...], threads: int | None) -> bool:
        """Fill outputs, the last arrays, from the others; False, and nothing touched, unless they fit."""
        if threads == 1 or arrays[-1].size < SMALL:
            return self.direct(*arrays)
        count = available_threads() if threads is None else threads
        return fill(self.direct, arrays, prod(self.shapes[-1]), count, self.pace)

    def _are_places(self, inputs: tuple[Any, ...], outs: Any) -> bool:
        """Whether arrays may take the results: of several, what machine code does not look at itself.

        It sees to the last one, and that all are writeable and of its dtype.
        """
        count = len(self.outputs)
        if not isinstance(outs, (tuple, list)) or len(outs) != count:
            return False
        arrays = (*inputs, *outs)
        for x in arrays:
            if type(x) is not np.ndarray:
                return False
        batch = outs[-1].shape[: outs[-1].ndim - len(self.outputs[-1])]
        for k, core in enumerate(self.outputs):
            out = outs[k]
            if out.shape != batch + core:
                return False
            for other in arrays[: len(inputs) + k] if k < count - 1 else outs[:k]:
                apart = out.base is None and other.base is None and out is not other
                if not apart and np.may_share_memory(out, other):
                    return False
        return True

    def _batch_of(self, inputs: tuple[Any, ...]) -> tuple[int, ...] | None:
        """The batch to which those of all inputs broadcast, None if one is no array of states."""
        batch: tuple[int, ...] = ()
        for k, x in enumerate(inputs):
            if type(x) is not np.ndarray:
                return None
            axes = x.ndim - len(self.shapes[k])
            if x.shape[axes:] != self.shapes[k]:
                return None
            own = x.shape[:axes]
            if own != batch:
                batch = _broadcast(batch, own)
        return batch if len(batch) <= MOST_AXES else None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The batch shape of two; where they do not broadcast, one that fits neither."""
    if len(a) < len(b):
        a, b = b, a
    head = len(a) - len(b)
    return (*a[:head], *(n if m == 1 else m for m, n in zip(a[head:], b, strict=True)))
