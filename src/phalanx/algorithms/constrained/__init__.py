# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Dynamics of robots with constraints: closed loops, contacts, equations between coordinates.

`closures.py` is what constraints see of the motion, `dense.py` the dynamics, `derivatives.py` their
derivatives. All of them run on recording scalars; `phalanx.constraints` makes functions of them.
"""
