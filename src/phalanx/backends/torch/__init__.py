# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Compiled kernels as functions of PyTorch tensors, with derivatives."""
