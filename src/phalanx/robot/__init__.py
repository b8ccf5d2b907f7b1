# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot is: its description, its joints, the bodies that equations see.

    Description ─► `assembly` ─► Model
    as in the file               bodies with one degree of freedom each

`description` holds links and joints as a file states them; `builder` makes one, `changes` edits one, `checks`
refuses what is no robot. `assembly` welds fixed joints and numbers coordinates. In a `Model` every joint is a
sequence of bodies, all that equations see. `Robot` (`robot`) is immutable and what users hold:
`functions` declares its methods that compute, `api` those that lead to other packages; the module `methods`
attaches the code of both. `configurations` and `formulas` are about coordinates: steps, differences, limits.
"""
