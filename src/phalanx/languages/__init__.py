# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as text of languages like C: one walk over a program, and what differs from dialect to dialect."""
