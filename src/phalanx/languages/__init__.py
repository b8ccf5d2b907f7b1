# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as C, OpenCL C and CUDA: one code generator, and a table of what differs between them."""
