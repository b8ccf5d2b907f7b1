# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fijany 1988: mass-matrix algorithms, serial and on processor arrays."""
