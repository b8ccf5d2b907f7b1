# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in robots as parameter files, and generators of test robots."""

from .builtin import builtin, builtin_names, builtin_table, names_generator

__all__ = ["builtin", "builtin_names", "builtin_table", "names_generator"]
