# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The lock under which kernels are made; a fork waits for it, so that no child inherits it locked."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import nullcontext
from functools import cached_property
from typing import Any

building = threading.RLock()
_held: list[Any] = []  # the other lock that a fork has taken


def _llvm() -> Any:
    """The lock of llvmlite, if it is loaded: threads that drop kernels enter LLVM without building any."""
    binding = sys.modules.get("llvmlite.binding.ffi")
    return getattr(getattr(binding, "lib", None), "_lock", None) or nullcontext()


def _wait() -> None:
    building.acquire()
    _held.append(_llvm())
    _held[-1].__enter__()


def _go_on() -> None:
    _held.pop().__exit__(None, None, None)
    building.release()


def _go_on_in_child() -> None:
    _go_on()
    if sys.version_info < (3, 12):
        _unlock_properties()


def _unlock_properties() -> None:
    """Give cached properties new locks: a thread that is not in this process may have held the old ones."""
    package = __name__.partition(".")[0]
    for module in [m for name, m in sys.modules.items() if name.partition(".")[0] == package]:
        for kind in [k for k in vars(module).values() if isinstance(k, type)]:
            for each in vars(kind).values():
                if isinstance(each, cached_property):
                    setattr(each, "lock", threading.RLock())  # noqa: B010


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_go_on, after_in_child=_go_on_in_child)
