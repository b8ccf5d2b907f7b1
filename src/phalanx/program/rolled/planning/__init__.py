# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From scalars to loops: which value is computed in which loop, and what is kept between."""
