# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The JAX backend under the common contract: NumPy arrays in and out, computed by XLA."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import jax
import numpy as np

from ...program.task import Call
from ..base import Backend, memo_key
from ..numpy import spread
from .functions import frame_of, run
from .levels import JaxLevels

_LEAST = 8  # states to which smaller batches are padded: XLA compiles once per length


class JaxBackend(Backend):
    """One compiled function per robot, function, algorithm, precision and power of two of the batch."""

    name = "jax"

    def run(
        self,
        call: Call,
        inputs: list[np.ndarray],
        optional: Mapping[str, np.ndarray],
        outs: tuple[np.ndarray, ...],
        threads: int,
    ) -> None:
        f, dtype = call.function, outs[0].dtype
        core = next(iter(call.output_sizes().values()))
        batch = outs[0].shape[: outs[0].ndim - len(core)]
        count = math.prod(batch)
        arrays = dict(zip(f.inputs, inputs, strict=True)) | dict(optional)
        symbols = {**f.inputs, **f.optional}
        rows = {name: _rows(a, call.sizes(symbols[name]), batch, count, dtype) for name, a in arrays.items()}
        key = ("jax", *memo_key(replace(call, frame=None), tuple(optional), dtype))  # one for all frames
        # The precision is that of the arrays, whatever `jax_enable_x64` the caller has set.
        with jax.enable_x64(True):
            compiled = call.robot._memoized(
                key, lambda: jax.jit(partial(run, call, JaxLevels, dtype, {}, False))
            )
            made = compiled(rows, None, frame_of(call, dtype))
        for out, result in zip(outs, made if isinstance(made, tuple) else (made,), strict=True):
            computed = np.array(result)[:count]
            spread([x[:count] for x in rows.values()], [computed])
            out[...] = computed.reshape(out.shape)


def _rows(
    a: np.ndarray, core: tuple[int, ...], batch: tuple[int, ...], count: int, dtype: np.dtype
) -> np.ndarray:
    """The array with one batch axis, padded to a power of two by repeating the last state."""
    rows = np.broadcast_to(a, (*batch, *core)).reshape((count, *core)).astype(dtype, copy=False)
    filled = max(_LEAST, 1 << (count - 1).bit_length())
    return np.concatenate([rows, np.broadcast_to(rows[-1:], (filled - count, *core))])


BACKEND = JaxBackend()
