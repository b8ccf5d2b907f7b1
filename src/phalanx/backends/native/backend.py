# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native backend: compiled kernels under the common contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base import Backend, Call
from .build import native
from .extent import is_countable, serves


class NativeBackend(Backend):
    """One compiled kernel per robot, function, algorithm and precision."""

    name = "native"

    def serves(self, call: Call) -> bool:
        return serves(call)

    def cost(self, call: Call) -> Any:
        from .costs import kernel_cost  # traces

        return kernel_cost(call) if is_countable(call) else None

    def job(self, call: Call, inputs: tuple[np.ndarray, ...], out: np.ndarray) -> Callable[[], Any]:
        built = native(call, (), out.dtype)
        direct = built.direct
        if direct(*inputs, out):
            return lambda: direct(*inputs, out)
        return lambda: built.ufunc(*inputs, out=out)

    def run(
        self,
        call: Call,
        inputs: list[np.ndarray],
        optional: Mapping[str, np.ndarray],
        out: np.ndarray,
        threads: int,
    ) -> None:
        kernel = native(call, tuple(optional), out.dtype)
        given = [*inputs, *(optional[name] for name in kernel.optional)]
        arrays = [_plain(a, kernel.dtype, apart=out) for a in given]
        result = _plain(out, kernel.dtype)
        if not kernel.fill((*arrays, result), threads):
            kernel.ufunc(*arrays, out=result)
        if not np.may_share_memory(result, out):
            out[...] = result


def _plain(array: np.ndarray, dtype: np.dtype, apart: np.ndarray | None = None) -> np.ndarray:
    """An array as machine code takes it: aligned, of just that dtype, away from the memory of another."""
    if array.dtype != dtype:
        return array.astype(dtype, subok=False)
    if not array.flags.aligned or (apart is not None and np.may_share_memory(array, apart)):
        return np.array(array, dtype, subok=False)
    return array if array.dtype is dtype and type(array) is np.ndarray else array.view(dtype, np.ndarray)


BACKEND = NativeBackend()
