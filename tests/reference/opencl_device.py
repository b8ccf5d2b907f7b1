# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whether this machine has an OpenCL device that compiles."""

from __future__ import annotations

from functools import cache

import phalanx as px


@cache
def missing() -> str:
    """Why kernels cannot run on OpenCL here; empty where they can."""
    try:
        from phalanx.backends.devices.opencl_programs import default_queue
    except ImportError:
        return "pyopencl is not installed"
    try:
        default_queue()
    except px.PhalanxError as error:
        return str(error)
    return ""
