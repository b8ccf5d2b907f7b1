# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of one robot as source files, object code and modules for other machines."""
