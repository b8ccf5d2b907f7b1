# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the name of a device to its kernels; its packages are imported when it is first asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import PhalanxError, nearest, shown
from ..base import Call, module_of

_MODULES = {"opencl": "devices.opencl", "cuda": "devices.cuda"}


def device_kernel(device: Any, call: Call, dtype: np.dtype) -> Any:
    """The kernel of a call on a device, compiled now."""
    if not isinstance(device, str) or device not in _MODULES:
        raise PhalanxError(
            f"kernel: unknown device {shown(device)};{nearest(device, ['cpu', *_MODULES], what='devices')}"
        )
    return module_of(device, _MODULES[device]).kernel(call, dtype)
