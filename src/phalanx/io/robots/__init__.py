# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in robots as parameter files, which `io.loading` reads, and generators of test robots."""
