# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What users hold of a function compiled for a device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..base import Call


class DeviceKernel(ABC):
    """A function of one robot on a device; call it with arrays of the device, or of NumPy."""

    device: str

    def __init__(self, call: Call, dtype: np.dtype) -> None:
        self._call = call
        self.dtype = dtype

    @property
    def robot(self) -> Any:
        """The robot it was compiled for."""
        return self._call.robot

    @property
    def function(self) -> str:
        """The function it computes."""
        return self._call.algorithm.function

    @property
    def algorithm(self) -> str:
        """The algorithm it uses."""
        return self._call.algorithm.name

    @abstractmethod
    def __call__(self, *inputs: Any, out: Any = None, **more: Any) -> Any:
        """The function for a batch of inputs, (…, n) each; results are of the kind that inputs are."""
