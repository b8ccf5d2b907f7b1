# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which machine measured, and when: the line that every benchmark prints above its figures."""

from __future__ import annotations

import os
import platform
import sys
from datetime import date
from pathlib import Path

import numpy as np


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def load() -> float:
    """The load average of the last minute; 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def conditions() -> str:
    """Date, processor, cores, load and versions."""
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    threads = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else " without the GIL"
    return f"{date.today()}: {processor()}, {os.cpu_count()} cores, load {load():.1f}; {versions}{threads}"
