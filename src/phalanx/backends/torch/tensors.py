# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What tensors kernels can read, and errors for the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...errors import PhalanxError, listing

_REAL = (torch.float64, torch.float32)


def is_readable(value: Any) -> bool:
    """Whether a kernel can read a value in place; `require_tensor` says why not."""
    is_dense = isinstance(value, torch.Tensor) and value.is_cpu and value.layout is torch.strided
    return is_dense and value.dtype in _REAL


def require_tensor(where: str, value: Any, method: str) -> None:
    """Raise unless the value is a tensor that a kernel can read in place."""
    if not isinstance(value, torch.Tensor):
        raise PhalanxError(
            f"{where} is {type(value).__name__}, expected a torch.Tensor; torch.as_tensor makes one, and "
            f"{method} takes arrays of NumPy."
        )
    if value.device.type != "cpu":
        raise PhalanxError(f"{where} is on {value.device}, expected a tensor on the CPU; pass x.cpu().")
    if value.dtype not in _REAL:
        raise PhalanxError(
            f"{where} has dtype {value.dtype}, expected torch.float64 or torch.float32; pass x.double()."
        )
    if value.layout != torch.strided:
        raise PhalanxError(f"{where} has layout {value.layout}, expected a dense tensor; pass x.to_dense().")


def require_one_type(function: str, given: Mapping[str, Any]) -> None:
    """Raise unless all tensors have one type."""
    if len({x.dtype for x in given.values()}) > 1:
        types = listing([f"{name} {x.dtype}" for name, x in given.items()])
        raise PhalanxError(f"{function}: dtypes differ: {types}; expected one for all, as by x.double().")
