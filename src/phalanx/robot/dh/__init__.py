# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Serial chains in Denavit-Hartenberg frames: constants (`chain`), how to find them (`frames`), tables."""
