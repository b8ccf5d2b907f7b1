# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of robots with constraints: from `robot.constraints` and contacts to compiled functions.

`compiled.py` traces the equations of `algorithms/constrained/`, `api.py` has the methods of `Robot`,
`closing.py` moves loops together.
"""
