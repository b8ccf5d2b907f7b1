# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native backend: compiled kernels under the common contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base import Backend, Call
from . import threads as pool
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
        arrays = [*inputs, *(optional[name] for name in kernel.optional)]
        arrays = [a if a.dtype == out.dtype else a.astype(out.dtype) for a in arrays]
        if threads > 1:
            # NumPy sees overlap within a call, not between the pieces of two threads.
            arrays = [a.copy() if np.may_share_memory(a, out) else a for a in arrays]
        *cores, core = (len(s) for s in kernel.shapes)
        pool.run(kernel.ufunc, arrays, cores, out, core, threads)


BACKEND = NativeBackend()
