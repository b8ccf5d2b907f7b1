# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elementary functions as steps of any arithmetic: every language and processor writes the same ones."""
