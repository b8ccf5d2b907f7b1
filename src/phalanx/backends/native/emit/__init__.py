# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From programs to LLVM text: straight-line code, loops over bodies, segments."""
