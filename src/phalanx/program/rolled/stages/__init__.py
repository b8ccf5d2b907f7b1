# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Stages of a rolled program, which run one after another; each appends its statements to a builder."""
