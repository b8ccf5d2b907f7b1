# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics: configurations whose frames reach their targets.

`target.py` has the kinds of targets, `residuals.py` turns it into residuals and their Jacobian,
`iteration.py` traces one iteration into a loop that ends on data, `solve.py` checks a call and runs the
compiled program, `implicit_derivatives.py` differentiates solutions.
"""
