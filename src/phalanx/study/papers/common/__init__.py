# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Quantities that several papers print: operations, growth, formulas."""
