# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels on devices with memory of their own: OpenCL, CUDA."""
