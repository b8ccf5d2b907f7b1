# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The intermediate representation of a robot's equations, and all passes over it before code generation.

    an algorithm ─┬─ `trace` on `graph`, body by body ───► straight-line code ─┐
                  └─ `rolled/`, on one symbolic body ───► loops over bodies ──┴─► a `Program` of `ir`

`lowering` traces both and chooses one by the counts of `unroll_policy`. `passes/` have functions from a
program to a program, `analyses/` functions from a program to a fact. `interpret` defines what a program
means, `verify` says whether one is well formed, `text` prints one and reads it back. Nothing here needs a
compiler.
"""
