# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Orders in which a sweep may run."""
