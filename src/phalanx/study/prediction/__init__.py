# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long a call will take: counted work, prices measured once, and what is timed instead."""
